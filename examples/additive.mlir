// Additive scoring (Bahdanau et al., arXiv:1409.0473): s = w . tanh(W_q q + W_k k) instead of a dot product.
//
// Everything after the scores is the same, so masks, softmax and values are the ops that a dot product has. The chain
// below fuses as the dot product does: the projections W_q q and W_k k are two products, and the op that remains scores
// rows of 16 numbers with `score_weight`, tile by tile. `kind = #attn.score_kind<general>` with one matrix W is
// q^T W k (Luong et al., arXiv:1508.04025).
//
//   attnc run examples/additive.mlir --check
//
// RUN: attnc run %s --check | FileCheck %s
// CHECK: output: largest error {{.*}}: ok
func.func @additive(%q: tensor<2x4x33x64xf32>, %k: tensor<2x4x57x64xf32>, %v: tensor<2x4x57x64xf32>,
                    %w_q: tensor<64x16xf32> {attn.name = "w_q"}, %w_k: tensor<64x16xf32> {attn.name = "w_k"},
                    %w: tensor<16xf32> {attn.name = "w"}) -> tensor<2x4x33x64xf32> {
  %s = tensor.empty() : tensor<2x4x33x57xf32>
  %o = tensor.empty() : tensor<2x4x33x64xf32>
  %scores = attn.scores ins(%q, %k : tensor<2x4x33x64xf32>, tensor<2x4x57x64xf32>)
      weights(%w_q, %w_k, %w : tensor<64x16xf32>, tensor<64x16xf32>, tensor<16xf32>)
      outs(%s : tensor<2x4x33x57xf32>) {kind = #attn.score_kind<additive>} -> tensor<2x4x33x57xf32>
  %p = attn.softmax ins(%scores : tensor<2x4x33x57xf32>) outs(%s : tensor<2x4x33x57xf32>) -> tensor<2x4x33x57xf32>
  %out = attn.apply ins(%p, %v : tensor<2x4x33x57xf32>, tensor<2x4x57x64xf32>) outs(%o : tensor<2x4x33x64xf32>)
      -> tensor<2x4x33x64xf32>
  return %out : tensor<2x4x33x64xf32>
}
