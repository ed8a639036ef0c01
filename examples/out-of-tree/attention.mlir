// Not attention alone: the residual that a model adds to it is linalg, and stays this compiler's own business.
func.func @block(%q: tensor<8x128x64xf32>, %k: tensor<8x256x64xf32>, %v: tensor<8x256x64xf32>,
                 %x: tensor<8x128x64xf32>) -> tensor<8x128x64xf32> {
  %o = tensor.empty() : tensor<8x128x64xf32>
  %attended = attn.sdpa ins(%q, %k, %v : tensor<8x128x64xf32>, tensor<8x256x64xf32>, tensor<8x256x64xf32>)
      outs(%o : tensor<8x128x64xf32>) -> tensor<8x128x64xf32>
  %sum = linalg.add ins(%attended, %x : tensor<8x128x64xf32>, tensor<8x128x64xf32>)
      outs(%o : tensor<8x128x64xf32>) -> tensor<8x128x64xf32>
  return %sum : tensor<8x128x64xf32>
}
