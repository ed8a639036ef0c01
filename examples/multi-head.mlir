// A whole attention layer: projections, heads, attention, output projection, as one op.
//
// multi_head is sugar: it expands to matrix products around one attn.sdpa. Heads are ranges of the columns of a
// projection, which the maps of attn.sdpa describe, so splitting and joining them moves nothing. Here 8 query heads
// share 2 heads of keys and values, and d_model is 256. Trained weights are of size 1/16 there; those that attnc run
// draws are of size 1, so the scale, 1/sqrt(32) by default, makes up for them with another 1/256.
//
//   attnc run examples/multi-head.mlir --check
//
// RUN: attnc run %s --check --fail-on-fallback | FileCheck %s
// CHECK: output: largest error {{.*}}: ok
func.func @multi_head(%x: tensor<2x113x256xf32> {attn.name = "x"}, %w_q: tensor<256x256xf32> {attn.name = "w_q"},
                      %w_k: tensor<256x64xf32> {attn.name = "w_k"}, %w_v: tensor<256x64xf32> {attn.name = "w_v"},
                      %w_o: tensor<256x256xf32> {attn.name = "w_o"}) -> tensor<2x113x256xf32> {
  %o = tensor.empty() : tensor<2x113x256xf32>
  %out = attn.multi_head ins(%x, %w_q, %w_k, %w_v, %w_o : tensor<2x113x256xf32>, tensor<256x256xf32>,
                             tensor<256x64xf32>, tensor<256x64xf32>, tensor<256x256xf32>)
      outs(%o : tensor<2x113x256xf32>) {heads = 8, kv_heads = 2, causal = #attn.causal<top_left>, scale = 6.9e-4 : f64}
      -> tensor<2x113x256xf32>
  return %out : tensor<2x113x256xf32>
}
