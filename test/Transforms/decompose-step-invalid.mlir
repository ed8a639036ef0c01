// RUN: attn-opt %s --attn-decompose-step --verify-diagnostics

// The rows of several sequences are no tile.
func.func @packed(%q: tensor<8x2x16xf32>, %k: tensor<8x2x16xf32>, %v: tensor<8x2x8xf32>, %n: tensor<3xi32>,
                  %a: tensor<2x2x?x8xf32>, %m: tensor<2x2x?xf32>, %l: tensor<2x2x?xf32>) -> tensor<2x2x?x8xf32> {
  // expected-error @below {{expected a step of one sequence, found packed sequences; run attn-tile}}
  %s:3 = attn.online_step ins(%q, %k, %v : tensor<8x2x16xf32>, tensor<8x2x16xf32>, tensor<8x2x8xf32>)
      cu_seqlens(%n, %n : tensor<3xi32>, tensor<3xi32>)
      outs(%a, %m, %l : tensor<2x2x?x8xf32>, tensor<2x2x?xf32>, tensor<2x2x?xf32>) {scale = 0.25 : f64}
      -> tensor<2x2x?x8xf32>, tensor<2x2x?xf32>, tensor<2x2x?xf32>
  return %s#0 : tensor<2x2x?x8xf32>
}
