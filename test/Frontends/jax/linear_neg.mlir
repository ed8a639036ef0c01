// jax case linear_neg; jax 0.10.2; iree-base-compiler
// attentions: 0
module @jit_linear_neg {
  func.func @model(%arg0: tensor<2x4x33x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>) -> tensor<2x4x33x24xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x4x33x24xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x4x33x24xf32>) outs(%0 : tensor<2x4x33x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %19 = math.exp %in : f32
      linalg.yield %19 : f32
    } -> tensor<2x4x33x24xf32>
    %2 = tensor.empty() : tensor<2x4x49x24xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4x49x24xf32>) outs(%2 : tensor<2x4x49x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %19 = math.exp %in : f32
      linalg.yield %19 : f32
    } -> tensor<2x4x49x24xf32>
    %4 = tensor.empty() : tensor<2x4x24x49xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%3 : tensor<2x4x49x24xf32>) outs(%4 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x49xf32>
    %collapsed = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_0 = tensor.collapse_shape %5 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %6 = tensor.empty() : tensor<8x33x49xf32>
    %7 = linalg.fill ins(%cst : f32) outs(%6 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %8 = linalg.batch_matmul ins(%collapsed, %collapsed_0 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%7 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded = tensor.expand_shape %8 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %collapsed_1 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %9 = tensor.empty() : tensor<8x33x24xf32>
    %10 = linalg.fill ins(%cst : f32) outs(%9 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %11 = linalg.batch_matmul ins(%8, %collapsed_1 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%10 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_2 = tensor.expand_shape %11 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    %12 = tensor.empty() : tensor<2x4x33xf32>
    %13 = linalg.fill ins(%cst : f32) outs(%12 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<2x4x33x49xf32>) outs(%13 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %19 = arith.addf %out, %in : f32
      linalg.yield %19 : f32
    } -> tensor<2x4x33xf32>
    %15 = tensor.empty() : tensor<2x4x33x24xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14 : tensor<2x4x33xf32>) outs(%15 : tensor<2x4x33x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x24xf32>
    %17 = tensor.empty() : tensor<2x4x33x24xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_2, %16 : tensor<2x4x33x24xf32>, tensor<2x4x33x24xf32>) outs(%17 : tensor<2x4x33x24xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %19 = arith.divf %in, %in_3 : f32
      linalg.yield %19 : f32
    } -> tensor<2x4x33x24xf32>
    return %18 : tensor<2x4x33x24xf32>
  }
}