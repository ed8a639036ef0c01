// jax case sink_in_the_sum; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_sink_in_the_sum {
  func.func @model(%arg0: tensor<2x4x33x24xf32>, %arg1: tensor<2x2x49x24xf32>, %arg2: tensor<2x2x49x24xf32>, %arg3: tensor<4xf32>) -> tensor<2x4x33x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant 0.204124153 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x2x2x49x24xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x2x49x24xf32>) outs(%0 : tensor<2x2x2x49x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x49x24xf32>
    %collapsed = tensor.collapse_shape %1 [[0], [1, 2], [3], [4]] : tensor<2x2x2x49x24xf32> into tensor<2x4x49x24xf32>
    %2 = tensor.empty() : tensor<2x4x24x49xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%collapsed : tensor<2x4x49x24xf32>) outs(%2 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x49xf32>
    %collapsed_2 = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_3 = tensor.collapse_shape %3 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %4 = tensor.empty() : tensor<8x33x49xf32>
    %5 = linalg.fill ins(%cst_1 : f32) outs(%4 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %6 = linalg.batch_matmul ins(%collapsed_2, %collapsed_3 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%5 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded = tensor.expand_shape %6 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %7 = tensor.empty() : tensor<2x4x33x49xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x33x49xf32>) outs(%7 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = arith.mulf %in, %cst_0 : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x33x49xf32>
    %9 = tensor.empty() : tensor<2x4x33xf32>
    %10 = linalg.fill ins(%cst : f32) outs(%9 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%8 : tensor<2x4x33x49xf32>) outs(%10 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = arith.maximumf %out, %in : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x33xf32>
    %expanded_4 = tensor.expand_shape %11 [[0], [1], [2, 3]] output_shape [2, 4, 33, 1] : tensor<2x4x33xf32> into tensor<2x4x33x1xf32>
    %12 = tensor.empty() : tensor<2x4x33x1xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3 : tensor<4xf32>) outs(%12 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x1xf32>
    %14 = tensor.empty() : tensor<2x4x33x1xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4, %13 : tensor<2x4x33x1xf32>, tensor<2x4x33x1xf32>) outs(%14 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %40 = arith.maximumf %in, %in_9 : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x33x1xf32>
    %16 = tensor.empty() : tensor<2x4x33x49xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<2x4x33x1xf32>) outs(%16 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %18 = tensor.empty() : tensor<2x4x33x49xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8, %17 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%18 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %40 = arith.subf %in, %in_9 : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x33x49xf32>
    %20 = tensor.empty() : tensor<2x4x33x49xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19 : tensor<2x4x33x49xf32>) outs(%20 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = math.exp %in : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x33x49xf32>
    %22 = tensor.empty() : tensor<2x4x33xf32>
    %23 = linalg.fill ins(%cst_1 : f32) outs(%22 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%21 : tensor<2x4x33x49xf32>) outs(%23 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = arith.addf %out, %in : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x33xf32>
    %expanded_5 = tensor.expand_shape %24 [[0], [1], [2, 3]] output_shape [2, 4, 33, 1] : tensor<2x4x33xf32> into tensor<2x4x33x1xf32>
    %25 = tensor.empty() : tensor<2x4x33x1xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13, %15 : tensor<2x4x33x1xf32>, tensor<2x4x33x1xf32>) outs(%25 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %40 = arith.subf %in, %in_9 : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x33x1xf32>
    %27 = tensor.empty() : tensor<2x4x33x1xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%26 : tensor<2x4x33x1xf32>) outs(%27 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = math.exp %in : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x33x1xf32>
    %29 = tensor.empty() : tensor<2x4x33x1xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5, %28 : tensor<2x4x33x1xf32>, tensor<2x4x33x1xf32>) outs(%29 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %40 = arith.addf %in, %in_9 : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x33x1xf32>
    %31 = tensor.empty() : tensor<2x4x33x49xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%30 : tensor<2x4x33x1xf32>) outs(%31 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %33 = tensor.empty() : tensor<2x4x33x49xf32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21, %32 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%33 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %40 = arith.divf %in, %in_9 : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x33x49xf32>
    %35 = tensor.empty() : tensor<2x2x2x49x24xf32>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x2x49x24xf32>) outs(%35 : tensor<2x2x2x49x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x49x24xf32>
    %collapsed_6 = tensor.collapse_shape %34 [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %collapsed_7 = tensor.collapse_shape %36 [[0, 1, 2], [3], [4]] : tensor<2x2x2x49x24xf32> into tensor<8x49x24xf32>
    %37 = tensor.empty() : tensor<8x33x24xf32>
    %38 = linalg.fill ins(%cst_1 : f32) outs(%37 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %39 = linalg.batch_matmul ins(%collapsed_6, %collapsed_7 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%38 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_8 = tensor.expand_shape %39 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    return %expanded_8 : tensor<2x4x33x24xf32>
  }
}