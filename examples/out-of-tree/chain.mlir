// The textbook chain, of which attn-fuse makes one op.
func.func @chain(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %s = tensor.empty() : tensor<4x6xf32>
  %o = tensor.empty() : tensor<4x8xf32>
  %scores = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%s : tensor<4x6xf32>) -> tensor<4x6xf32>
  %weights = attn.softmax ins(%scores : tensor<4x6xf32>) outs(%s : tensor<4x6xf32>) -> tensor<4x6xf32>
  %out = attn.apply ins(%weights, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %out : tensor<4x8xf32>
}
