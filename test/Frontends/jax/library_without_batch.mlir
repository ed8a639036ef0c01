// jax case library_without_batch; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_library_without_batch {
  func.func @model(%arg0: tensor<33x4x24xf32>, %arg1: tensor<49x4x24xf32>, %arg2: tensor<49x4x24xf32>) -> tensor<33x4x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant 0.204124153 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<1x33x4x24xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<33x4x24xf32>) outs(%0 : tensor<1x33x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x33x4x24xf32>
    %2 = tensor.empty() : tensor<1x49x4x24xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<49x4x24xf32>) outs(%2 : tensor<1x49x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x49x4x24xf32>
    %4 = tensor.empty() : tensor<1x49x4x24xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<49x4x24xf32>) outs(%4 : tensor<1x49x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x49x4x24xf32>
    %expanded = tensor.expand_shape %1 [[0], [1], [2], [3, 4]] output_shape [1, 33, 4, 1, 24] : tensor<1x33x4x24xf32> into tensor<1x33x4x1x24xf32>
    %6 = tensor.empty() : tensor<1x4x33x1x24xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<1x33x4x1x24xf32>) outs(%6 : tensor<1x4x33x1x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x4x33x1x24xf32>
    %8 = tensor.empty() : tensor<1x4x24x49xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%3 : tensor<1x49x4x24xf32>) outs(%8 : tensor<1x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x4x24x49xf32>
    %collapsed = tensor.collapse_shape %7 [[0, 1], [2], [3, 4]] : tensor<1x4x33x1x24xf32> into tensor<4x33x24xf32>
    %collapsed_2 = tensor.collapse_shape %9 [[0, 1], [2], [3]] : tensor<1x4x24x49xf32> into tensor<4x24x49xf32>
    %10 = tensor.empty() : tensor<4x33x49xf32>
    %11 = linalg.fill ins(%cst_1 : f32) outs(%10 : tensor<4x33x49xf32>) -> tensor<4x33x49xf32>
    %12 = linalg.batch_matmul ins(%collapsed, %collapsed_2 : tensor<4x33x24xf32>, tensor<4x24x49xf32>) outs(%11 : tensor<4x33x49xf32>) -> tensor<4x33x49xf32>
    %expanded_3 = tensor.expand_shape %12 [[0, 1], [2], [3, 4]] output_shape [1, 4, 33, 1, 49] : tensor<4x33x49xf32> into tensor<1x4x33x1x49xf32>
    %13 = tensor.empty() : tensor<1x4x33x1x49xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_3 : tensor<1x4x33x1x49xf32>) outs(%13 : tensor<1x4x33x1x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = arith.mulf %in, %cst_0 : f32
      linalg.yield %40 : f32
    } -> tensor<1x4x33x1x49xf32>
    %15 = tensor.empty() : tensor<1x4x33x1xf32>
    %16 = linalg.fill ins(%cst : f32) outs(%15 : tensor<1x4x33x1xf32>) -> tensor<1x4x33x1xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%14 : tensor<1x4x33x1x49xf32>) outs(%16 : tensor<1x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = arith.maximumf %out, %in : f32
      linalg.yield %40 : f32
    } -> tensor<1x4x33x1xf32>
    %collapsed_4 = tensor.collapse_shape %17 [[0, 1, 2, 3]] : tensor<1x4x33x1xf32> into tensor<132xf32>
    %expanded_5 = tensor.expand_shape %collapsed_4 [[0, 1, 2, 3]] output_shape [1, 1, 4, 33] : tensor<132xf32> into tensor<1x1x4x33xf32>
    %collapsed_6 = tensor.collapse_shape %14 [[0, 1, 2, 3, 4]] : tensor<1x4x33x1x49xf32> into tensor<6468xf32>
    %expanded_7 = tensor.expand_shape %collapsed_6 [[0, 1, 2, 3, 4]] output_shape [1, 1, 4, 33, 49] : tensor<6468xf32> into tensor<1x1x4x33x49xf32>
    %18 = tensor.empty() : tensor<1x1x4x33x49xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<1x1x4x33xf32>) outs(%18 : tensor<1x1x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x4x33x49xf32>
    %20 = tensor.empty() : tensor<1x1x4x33x49xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_7, %19 : tensor<1x1x4x33x49xf32>, tensor<1x1x4x33x49xf32>) outs(%20 : tensor<1x1x4x33x49xf32>) {
    ^bb0(%in: f32, %in_12: f32, %out: f32):
      %40 = arith.subf %in, %in_12 : f32
      linalg.yield %40 : f32
    } -> tensor<1x1x4x33x49xf32>
    %22 = tensor.empty() : tensor<1x1x4x33x49xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%21 : tensor<1x1x4x33x49xf32>) outs(%22 : tensor<1x1x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = math.exp %in : f32
      linalg.yield %40 : f32
    } -> tensor<1x1x4x33x49xf32>
    %24 = tensor.empty() : tensor<1x1x4x33xf32>
    %25 = linalg.fill ins(%cst_1 : f32) outs(%24 : tensor<1x1x4x33xf32>) -> tensor<1x1x4x33xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%23 : tensor<1x1x4x33x49xf32>) outs(%25 : tensor<1x1x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = arith.addf %out, %in : f32
      linalg.yield %40 : f32
    } -> tensor<1x1x4x33xf32>
    %27 = tensor.empty() : tensor<1x1x4x33x49xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%26 : tensor<1x1x4x33xf32>) outs(%27 : tensor<1x1x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x4x33x49xf32>
    %29 = tensor.empty() : tensor<1x1x4x33x49xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%23, %28 : tensor<1x1x4x33x49xf32>, tensor<1x1x4x33x49xf32>) outs(%29 : tensor<1x1x4x33x49xf32>) {
    ^bb0(%in: f32, %in_12: f32, %out: f32):
      %40 = arith.divf %in, %in_12 : f32
      linalg.yield %40 : f32
    } -> tensor<1x1x4x33x49xf32>
    %31 = tensor.empty() : tensor<1x4x24x49xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%5 : tensor<1x49x4x24xf32>) outs(%31 : tensor<1x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x4x24x49xf32>
    %33 = tensor.empty() : tensor<1x4x49x1x33xf32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%30 : tensor<1x1x4x33x49xf32>) outs(%33 : tensor<1x4x49x1x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x4x49x1x33xf32>
    %collapsed_8 = tensor.collapse_shape %32 [[0, 1], [2], [3]] : tensor<1x4x24x49xf32> into tensor<4x24x49xf32>
    %collapsed_9 = tensor.collapse_shape %34 [[0, 1], [2], [3, 4]] : tensor<1x4x49x1x33xf32> into tensor<4x49x33xf32>
    %35 = tensor.empty() : tensor<4x24x33xf32>
    %36 = linalg.fill ins(%cst_1 : f32) outs(%35 : tensor<4x24x33xf32>) -> tensor<4x24x33xf32>
    %37 = linalg.batch_matmul ins(%collapsed_8, %collapsed_9 : tensor<4x24x49xf32>, tensor<4x49x33xf32>) outs(%36 : tensor<4x24x33xf32>) -> tensor<4x24x33xf32>
    %expanded_10 = tensor.expand_shape %37 [[0, 1], [2], [3, 4]] output_shape [1, 4, 24, 1, 33] : tensor<4x24x33xf32> into tensor<1x4x24x1x33xf32>
    %38 = tensor.empty() : tensor<1x1x33x4x24xf32>
    %39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4, d0, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_10 : tensor<1x4x24x1x33xf32>) outs(%38 : tensor<1x1x33x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x33x4x24xf32>
    %collapsed_11 = tensor.collapse_shape %39 [[0, 1, 2], [3], [4]] : tensor<1x1x33x4x24xf32> into tensor<33x4x24xf32>
    return %collapsed_11 : tensor<33x4x24xf32>
  }
}