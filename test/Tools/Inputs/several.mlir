// Two kernels and a function that is none.
func.func private @helper() {
  return
}

// Arguments without names are query, key, value and output.
func.func @one(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %o = tensor.empty() : tensor<4x8xf32>
  %out = attn.sdpa ins(%q, %k, %v : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) outs(%o : tensor<4x8xf32>)
      {scale = 0.5 : f64} -> tensor<4x8xf32>
  return %out : tensor<4x8xf32>
}

func.func @two(%q: tensor<5x3xf64> {attn.name = "q"}, %k: tensor<7x3xf64> {attn.name = "k"},
               %v: tensor<7x2xf64> {attn.name = "v"}, %m: tensor<5x7xi1> {attn.name = "m"})
    -> (tensor<5x2xf64> {attn.name = "out"}, tensor<5xf64> {attn.name = "lse"}) {
  %o = tensor.empty() : tensor<5x2xf64>
  %l = tensor.empty() : tensor<5xf64>
  %out, %lse = attn.sdpa ins(%q, %k, %v : tensor<5x3xf64>, tensor<7x3xf64>, tensor<7x2xf64>) mask(%m : tensor<5x7xi1>)
      outs(%o, %l : tensor<5x2xf64>, tensor<5xf64>) {causal = #attn.causal<bottom_right>, softcap = 2.0 : f64}
      -> tensor<5x2xf64>, tensor<5xf64>
  return %out, %lse : tensor<5x2xf64>, tensor<5xf64>
}
