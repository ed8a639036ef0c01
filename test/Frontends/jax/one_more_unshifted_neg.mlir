// jax case one_more_unshifted_neg; jax 0.10.2; iree-base-compiler
// attentions: 0
module @jit_one_more_unshifted_neg {
  func.func @model(%arg0: tensor<2x4x33x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>) -> tensor<2x4x33x24xf32> {
    %cst = arith.constant 1.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant 2.000000e-01 : f32
    %cst_2 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x4x24x49xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4x49x24xf32>) outs(%0 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x49xf32>
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_3 = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %2 = tensor.empty() : tensor<8x33x49xf32>
    %3 = linalg.fill ins(%cst_2 : f32) outs(%2 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %4 = linalg.batch_matmul ins(%collapsed, %collapsed_3 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%3 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded = tensor.expand_shape %4 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %5 = tensor.empty() : tensor<2x4x33x49xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x33x49xf32>) outs(%5 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = arith.mulf %in, %cst_1 : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x33x49xf32>
    %7 = tensor.empty() : tensor<2x4x33xf32>
    %8 = linalg.fill ins(%cst_0 : f32) outs(%7 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%6 : tensor<2x4x33x49xf32>) outs(%8 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = arith.maximumf %out, %in : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x33xf32>
    %expanded_4 = tensor.expand_shape %9 [[0], [1], [2, 3]] output_shape [2, 4, 33, 1] : tensor<2x4x33xf32> into tensor<2x4x33x1xf32>
    %10 = tensor.empty() : tensor<2x4x33x1xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4 : tensor<2x4x33x1xf32>) outs(%10 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = arith.maximumf %in, %cst_2 : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x33x1xf32>
    %12 = tensor.empty() : tensor<2x4x33x49xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11 : tensor<2x4x33x1xf32>) outs(%12 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %14 = tensor.empty() : tensor<2x4x33x49xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %13 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%14 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %30 = arith.subf %in, %in_9 : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x33x49xf32>
    %16 = tensor.empty() : tensor<2x4x33x49xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<2x4x33x49xf32>) outs(%16 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = math.exp %in : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x33x49xf32>
    %18 = tensor.empty() : tensor<2x4x33xf32>
    %19 = linalg.fill ins(%cst_2 : f32) outs(%18 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%17 : tensor<2x4x33x49xf32>) outs(%19 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = arith.addf %out, %in : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x33xf32>
    %expanded_5 = tensor.expand_shape %20 [[0], [1], [2, 3]] output_shape [2, 4, 33, 1] : tensor<2x4x33xf32> into tensor<2x4x33x1xf32>
    %21 = tensor.empty() : tensor<2x4x33x1xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<2x4x33x1xf32>) outs(%21 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = arith.addf %in, %cst : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x33x1xf32>
    %23 = tensor.empty() : tensor<2x4x33x49xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22 : tensor<2x4x33x1xf32>) outs(%23 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %25 = tensor.empty() : tensor<2x4x33x49xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17, %24 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%25 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %30 = arith.divf %in, %in_9 : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x33x49xf32>
    %collapsed_6 = tensor.collapse_shape %26 [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %collapsed_7 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %27 = tensor.empty() : tensor<8x33x24xf32>
    %28 = linalg.fill ins(%cst_2 : f32) outs(%27 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %29 = linalg.batch_matmul ins(%collapsed_6, %collapsed_7 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%28 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_8 = tensor.expand_shape %29 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    return %expanded_8 : tensor<2x4x33x24xf32>
  }
}