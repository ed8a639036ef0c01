// What attn_tsan_tests calls: tiles of different cost, pages with lengths, ranges of keys that are folded apart and merged.
func.func @causal(%arg0: tensor<1x3x70x20xf32> {attn.name = "q"}, %arg1: tensor<1x3x70x20xf32> {attn.name = "k"}, %arg2: tensor<1x3x70x20xf32> {attn.name = "v"}) -> (tensor<1x3x70x20xf32> {attn.name = "out"}) {
  %0 = tensor.empty() : tensor<1x3x70x20xf32>
  %1 = attn.sdpa ins(%arg0, %arg1, %arg2 : tensor<1x3x70x20xf32>, tensor<1x3x70x20xf32>, tensor<1x3x70x20xf32>) outs(%0 : tensor<1x3x70x20xf32>) {causal = #attn.causal<top_left>} -> tensor<1x3x70x20xf32>
  return %1 : tensor<1x3x70x20xf32>
}
func.func @pages(%arg0: tensor<2x3x5x20xf32> {attn.name = "q"}, %arg1: tensor<8x16x1x20xf32> {attn.name = "k"}, %arg2: tensor<8x16x1x20xf32> {attn.name = "v"}, %arg3: tensor<2xi32> {attn.name = "kv_lengths"}, %arg4: tensor<2x4xi32> {attn.name = "block_table"}) -> (tensor<2x3x5x20xf32> {attn.name = "out"}) {
  %0 = tensor.empty() : tensor<2x1x64x20xf32>
  %1 = attn.gather_pages ins(%arg1, %arg4 : tensor<8x16x1x20xf32>, tensor<2x4xi32>) lengths(%arg3 : tensor<2xi32>) outs(%0 : tensor<2x1x64x20xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<2x1x64x20xf32>
  %2 = tensor.empty() : tensor<2x1x64x20xf32>
  %3 = attn.gather_pages ins(%arg2, %arg4 : tensor<8x16x1x20xf32>, tensor<2x4xi32>) lengths(%arg3 : tensor<2xi32>) outs(%2 : tensor<2x1x64x20xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<2x1x64x20xf32>
  %4 = tensor.empty() : tensor<2x3x5x20xf32>
  %5 = attn.sdpa ins(%arg0, %1, %3 : tensor<2x3x5x20xf32>, tensor<2x1x64x20xf32>, tensor<2x1x64x20xf32>) kv_lengths(%arg3 : tensor<2xi32>) outs(%4 : tensor<2x3x5x20xf32>) {causal = #attn.causal<bottom_right>} -> tensor<2x3x5x20xf32>
  return %5 : tensor<2x3x5x20xf32>
}
func.func @ranges(%arg0: tensor<1x4x2x16xf32> {attn.name = "q"}, %arg1: tensor<1x2x2500x16xf32> {attn.name = "k"}, %arg2: tensor<1x2x2500x16xf32> {attn.name = "v"}) -> (tensor<1x4x2x16xf32> {attn.name = "out"}) {
  %0 = tensor.empty() : tensor<1x4x2x16xf32>
  %1 = attn.sdpa ins(%arg0, %arg1, %arg2 : tensor<1x4x2x16xf32>, tensor<1x2x2500x16xf32>, tensor<1x2x2500x16xf32>) outs(%0 : tensor<1x4x2x16xf32>) -> tensor<1x4x2x16xf32>
  return %1 : tensor<1x4x2x16xf32>
}
