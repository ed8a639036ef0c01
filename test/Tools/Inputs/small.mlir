// Two heads of queries share one of keys; sizes that are no multiple of a vector; what the driver's tests compile.
func.func @small(%q: tensor<2x5x6xf32> {attn.name = "q"}, %k: tensor<1x7x6xf32> {attn.name = "k"},
                 %v: tensor<1x7x3xf32> {attn.name = "v"})
    -> (tensor<2x5x3xf32> {attn.name = "out"}, tensor<2x5xf32> {attn.name = "lse"}) {
  %o = tensor.empty() : tensor<2x5x3xf32>
  %l = tensor.empty() : tensor<2x5xf32>
  %out, %lse = attn.sdpa ins(%q, %k, %v : tensor<2x5x6xf32>, tensor<1x7x6xf32>, tensor<1x7x3xf32>)
      outs(%o, %l : tensor<2x5x3xf32>, tensor<2x5xf32>)
      {causal = #attn.causal<bottom_right>, scale = 0.5 : f64, softcap = 30.0 : f64}
      -> tensor<2x5x3xf32>, tensor<2x5xf32>
  return %out, %lse : tensor<2x5x3xf32>, tensor<2x5xf32>
}
