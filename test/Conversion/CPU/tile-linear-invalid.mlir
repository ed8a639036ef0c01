// RUN: attn-opt %s --attn-tile-linear --verify-diagnostics

// Chunks are loops on memory.
func.func @tensors(%q: tensor<4x5x16xf32>, %k: tensor<4x5x16xf32>, %v: tensor<4x5x16xf32>, %o: tensor<4x5x16xf32>,
                   %s: tensor<4x16x16xf32>) -> (tensor<4x5x16xf32>, tensor<4x16x16xf32>) {
  // expected-error @below {{expected memrefs; run bufferisation before attn-tile-linear}}
  %r:2 = attn.linear ins(%q, %k, %v : tensor<4x5x16xf32>, tensor<4x5x16xf32>, tensor<4x5x16xf32>)
      outs(%o, %s : tensor<4x5x16xf32>, tensor<4x16x16xf32>) -> tensor<4x5x16xf32>, tensor<4x16x16xf32>
  return %r#0, %r#1 : tensor<4x5x16xf32>, tensor<4x16x16xf32>
}
