func.func @f(%q: tensor<1x2x16x64xf16>, %k: tensor<1x2x32x64xf16>, %v: tensor<1x2x32x64xf16>) -> tensor<1x2x16x64xf16> {
  %e = tensor.empty() : tensor<1x2x16x64xf16>
  %sink = arith.constant dense<[0.5, 1.5]> : tensor<2xf32>
  %r = attn.sdpa ins(%q, %k, %v : tensor<1x2x16x64xf16>, tensor<1x2x32x64xf16>, tensor<1x2x32x64xf16>)
      sink(%sink : tensor<2xf32>) outs(%e : tensor<1x2x16x64xf16>) -> tensor<1x2x16x64xf16>
  return %r : tensor<1x2x16x64xf16>
}
