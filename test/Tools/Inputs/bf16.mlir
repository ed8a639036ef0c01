// Good IR for which the CPU has no kernel yet.
func.func @bf16(%q: tensor<5x6xbf16>, %k: tensor<7x6xbf16>, %v: tensor<7x3xbf16>) -> tensor<5x3xbf16> {
  %o = tensor.empty() : tensor<5x3xbf16>
  %out = attn.sdpa ins(%q, %k, %v : tensor<5x6xbf16>, tensor<7x6xbf16>, tensor<7x3xbf16>) outs(%o : tensor<5x3xbf16>)
      -> tensor<5x3xbf16>
  return %out : tensor<5x3xbf16>
}
