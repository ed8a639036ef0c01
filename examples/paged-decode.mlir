// A decoding step on a paged cache: one new query a sequence, keys and values in pages of 16 rows.
//
// gather_pages is a view: it says where row j of sequence b lies, and the tiler reads a tile of keys straight out of
// the pages. Nothing is gathered in memory, and no entry of the table past a sequence's length is looked at. The
// lengths make the causal mask per sequence: the query stands at the end of its own keys.
//
//   attnc run examples/paged-decode.mlir --check
//   attnc examples/paged-decode.mlir -o decode.o --header=decode.h
//
// RUN: attnc run %s --check --fail-on-fallback | FileCheck %s
// CHECK: output: largest error {{.*}}: ok
//
// A table may be longer than the output, never shorter: 12 pages of 16 rows are 192 keys.
// RUN: sed -e 's/192x64/193x64/g' %s | not attn-opt 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: error: {{.*}}C17: expected at most 192 keys, the pages of block_table times the page size, found 193
func.func @paged_decode(%q: tensor<2x8x1x64xf32>, %k_cache: tensor<24x16x2x64xf32> {attn.name = "k_cache"},
                        %v_cache: tensor<24x16x2x64xf32> {attn.name = "v_cache"},
                        %table: tensor<2x12xi32> {attn.name = "block_table"},
                        %lengths: tensor<2xi32> {attn.name = "lengths"}) -> tensor<2x8x1x64xf32> {
  %empty = tensor.empty() : tensor<2x2x192x64xf32>
  %k = attn.gather_pages ins(%k_cache, %table : tensor<24x16x2x64xf32>, tensor<2x12xi32>)
      lengths(%lengths : tensor<2xi32>) outs(%empty : tensor<2x2x192x64xf32>) {page_layout = #attn.page_layout<nhd>}
      -> tensor<2x2x192x64xf32>
  %v = attn.gather_pages ins(%v_cache, %table : tensor<24x16x2x64xf32>, tensor<2x12xi32>)
      lengths(%lengths : tensor<2xi32>) outs(%empty : tensor<2x2x192x64xf32>) {page_layout = #attn.page_layout<nhd>}
      -> tensor<2x2x192x64xf32>
  %o = tensor.empty() : tensor<2x8x1x64xf32>
  %out = attn.sdpa ins(%q, %k, %v : tensor<2x8x1x64xf32>, tensor<2x2x192x64xf32>, tensor<2x2x192x64xf32>)
      kv_lengths(%lengths : tensor<2xi32>) outs(%o : tensor<2x8x1x64xf32>) {causal = #attn.causal<bottom_right>}
      -> tensor<2x8x1x64xf32>
  return %out : tensor<2x8x1x64xf32>
}
