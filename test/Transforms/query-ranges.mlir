// RUN: attn-opt %s --attn-analyze-mask=query-ranges=4 --split-input-file --verify-diagnostics

// Key j is kept by queries from j on. The last tile of keys is short.
func.func @causal(%q: tensor<8x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-remark @below {{keys [0, 4): visited by queries [0, 8), full for [3, 8)}}
  // expected-remark @below {{keys [4, 6): visited by queries [4, 8), full for [5, 8)}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%o : tensor<8x8xf32>) {causal = #attn.causal<top_left>} -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// -----

func.func @dynamic(%q: tensor<?x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-remark @below {{query ranges depend on sizes at run time}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<?x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%o : tensor<?x8xf32>) {causal = #attn.causal<top_left>} -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}
