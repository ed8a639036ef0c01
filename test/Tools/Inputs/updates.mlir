// sum += attention: the destination's old values are read.
func.func @accumulate(%q: tensor<2x5x6xf32>, %k: tensor<2x7x6xf32>, %sum: tensor<2x5x6xf32>) -> tensor<2x5x6xf32> {
  %init = tensor.empty() : tensor<2x5x6xf32>
  %out = attn.sdpa ins(%q, %k, %k : tensor<2x5x6xf32>, tensor<2x7x6xf32>, tensor<2x7x6xf32>)
      outs(%init : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  %r = linalg.add ins(%sum, %out : tensor<2x5x6xf32>, tensor<2x5x6xf32>) outs(%sum : tensor<2x5x6xf32>)
      -> tensor<2x5x6xf32>
  return %r : tensor<2x5x6xf32>
}

// A cache keeps all rows but the new ones.
func.func @append(%cache: tensor<2x2x8x16xf32>, %rows: tensor<2x2x1x16xf32>, %p: tensor<2xi32>)
    -> tensor<2x2x8x16xf32> {
  %r = attn.kv_append ins(%rows : tensor<2x2x1x16xf32>) positions(%p : tensor<2xi32>)
      outs(%cache : tensor<2x2x8x16xf32>) -> tensor<2x2x8x16xf32>
  return %r : tensor<2x2x8x16xf32>
}

// Neither of these is written, whichever of them upstream makes the destination.
func.func @difference(%a: tensor<?x4xf32>, %b: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %r = arith.subf %a, %b : tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}
