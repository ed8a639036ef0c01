// RUN: attn-opt %s --attn-analyze-mask --attn-convert-to-online --attn-tile --remarks-filter-passed=attn \
// RUN:     --remark-format=emitRemark --verify-diagnostics

// 3 x 3 tiles of a head: the diagonal is partial, what is above it skipped.

func.func @tile_counts(%q: tensor<12x16xf32>, %k: tensor<12x16xf32>, %v: tensor<12x8xf32>,
                       %o: tensor<12x8xf32>) -> tensor<12x8xf32> {
  // expected-remark @below {{flash loop over tiles of 4 queries and 4 keys: 3 full, 3 partial, 3 skipped per head}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<12x16xf32>, tensor<12x16xf32>, tensor<12x8xf32>)
      outs(%o : tensor<12x8xf32>)
      {causal = #attn.causal<top_left>,
       schedule = #attn.prefill<query_tile = 4, key_tile = 4, lanes = 4, block_rows = 1, block_vectors = 1>}
      -> tensor<12x8xf32>
  return %r : tensor<12x8xf32>
}
