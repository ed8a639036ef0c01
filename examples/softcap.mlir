// A soft cap, as in Gemma 2: scores are limited smoothly to (-50, 50) by 50 tanh(s / 50), before bias and mask.
//
// The second function writes the same cap out in a score_mod region: what an attribute says, a region can say, and both
// are the same arithmetic. A model that adds its bias before the cap has to write it so, since no pass swaps the two.
//
//   attnc run examples/softcap.mlir --kernel=softcap --check
//   attnc run examples/softcap.mlir --kernel=written_out --check
//
// RUN: attnc run %s --kernel=softcap --check --fail-on-fallback | FileCheck %s
// RUN: attnc run %s --kernel=written_out --check --fail-on-fallback | FileCheck %s
// CHECK: output: largest error {{.*}}: ok
//
// A cap of 0 would divide by 0.
// RUN: sed -e 's/softcap = 50.0/softcap = 0.0/' %s | not attn-opt 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: error: {{.*}}C6: expected softcap to be finite and greater than 0, found 0
func.func @softcap(%q: tensor<1x8x113x64xf32>, %k: tensor<1x4x113x64xf32>, %v: tensor<1x4x113x64xf32>)
    -> tensor<1x8x113x64xf32> {
  %o = tensor.empty() : tensor<1x8x113x64xf32>
  %out = attn.sdpa ins(%q, %k, %v : tensor<1x8x113x64xf32>, tensor<1x4x113x64xf32>, tensor<1x4x113x64xf32>)
      outs(%o : tensor<1x8x113x64xf32>) {causal = #attn.causal<top_left>, softcap = 50.0 : f64}
      -> tensor<1x8x113x64xf32>
  return %out : tensor<1x8x113x64xf32>
}

func.func @written_out(%q: tensor<1x8x113x64xf32>, %k: tensor<1x4x113x64xf32>, %v: tensor<1x4x113x64xf32>)
    -> tensor<1x8x113x64xf32> {
  %cap = arith.constant 50.0 : f32
  %o = tensor.empty() : tensor<1x8x113x64xf32>
  %out = attn.sdpa ins(%q, %k, %v : tensor<1x8x113x64xf32>, tensor<1x4x113x64xf32>, tensor<1x4x113x64xf32>)
      outs(%o : tensor<1x8x113x64xf32>) {causal = #attn.causal<top_left>} score_mod {
  ^bb0(%score: f32):
    %scaled = arith.divf %score, %cap : f32
    %bounded = math.tanh %scaled : f32
    %capped = arith.mulf %bounded, %cap : f32
    attn.yield %capped : f32
  } -> tensor<1x8x113x64xf32>
  return %out : tensor<1x8x113x64xf32>
}
