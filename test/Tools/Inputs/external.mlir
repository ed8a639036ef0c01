// A function that is linked later.
func.func private @residual(tensor<4x4xf32>) -> tensor<4x4xf32>
func.func @kernel(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = call @residual(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}
