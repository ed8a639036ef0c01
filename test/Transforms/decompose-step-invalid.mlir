// RUN: attn-opt %s --attn-decompose-step --split-input-file --verify-diagnostics

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

// -----

// Warps that have the rows of Q have no sums of the rows of K.
func.func @all_gradients(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %lse: tensor<4xf32>,
                         %do: tensor<4x8xf32>, %dv0: tensor<6x8xf32>)
    -> (tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) {
  // expected-error @below {{expected a step that adds to dquery alone, or to dkey and dvalue, of one sequence, found others; run attn-tile for a GPU}}
  %d:3 = attn.backward_step ins(%q, %k, %v, %lse, %do, %lse : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>,
      tensor<4xf32>, tensor<4x8xf32>, tensor<4xf32>)
      dquery(%q : tensor<4x16xf32>) dkey(%k : tensor<6x16xf32>) dvalue(%dv0 : tensor<6x8xf32>)
      -> tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>
  return %d#0, %d#1, %d#2 : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>
}
