// jax case library_one_head_of_keys; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_library_one_head_of_keys {
  func.func @model(%arg0: tensor<2x33x4x24xf32>, %arg1: tensor<2x49x1x24xf32>, %arg2: tensor<2x49x1x24xf32>) -> tensor<2x33x4x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant 0.204124153 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x1x24x49xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x49x1x24xf32>) outs(%0 : tensor<2x1x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x1x24x49xf32>
    %collapsed = tensor.collapse_shape %arg0 [[0], [1, 2], [3]] : tensor<2x33x4x24xf32> into tensor<2x132x24xf32>
    %collapsed_2 = tensor.collapse_shape %1 [[0], [1, 2], [3]] : tensor<2x1x24x49xf32> into tensor<2x24x49xf32>
    %2 = tensor.empty() : tensor<2x132x49xf32>
    %3 = linalg.fill ins(%cst_1 : f32) outs(%2 : tensor<2x132x49xf32>) -> tensor<2x132x49xf32>
    %4 = linalg.batch_matmul ins(%collapsed, %collapsed_2 : tensor<2x132x24xf32>, tensor<2x24x49xf32>) outs(%3 : tensor<2x132x49xf32>) -> tensor<2x132x49xf32>
    %expanded = tensor.expand_shape %4 [[0], [1, 2, 3], [4]] output_shape [2, 1, 33, 4, 49] : tensor<2x132x49xf32> into tensor<2x1x33x4x49xf32>
    %5 = tensor.empty() : tensor<2x1x33x4x49xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x1x33x4x49xf32>) outs(%5 : tensor<2x1x33x4x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %38 = arith.mulf %in, %cst_0 : f32
      linalg.yield %38 : f32
    } -> tensor<2x1x33x4x49xf32>
    %7 = tensor.empty() : tensor<2x1x33x4xf32>
    %8 = linalg.fill ins(%cst : f32) outs(%7 : tensor<2x1x33x4xf32>) -> tensor<2x1x33x4xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%6 : tensor<2x1x33x4x49xf32>) outs(%8 : tensor<2x1x33x4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %38 = arith.maximumf %out, %in : f32
      linalg.yield %38 : f32
    } -> tensor<2x1x33x4xf32>
    %10 = tensor.empty() : tensor<4x2x1x33xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2, d3, d0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9 : tensor<2x1x33x4xf32>) outs(%10 : tensor<4x2x1x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x2x1x33xf32>
    %12 = tensor.empty() : tensor<4x2x1x33x49xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d0, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%6 : tensor<2x1x33x4x49xf32>) outs(%12 : tensor<4x2x1x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x2x1x33x49xf32>
    %14 = tensor.empty() : tensor<4x2x1x33x49xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%11 : tensor<4x2x1x33xf32>) outs(%14 : tensor<4x2x1x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x2x1x33x49xf32>
    %16 = tensor.empty() : tensor<4x2x1x33x49xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%13, %15 : tensor<4x2x1x33x49xf32>, tensor<4x2x1x33x49xf32>) outs(%16 : tensor<4x2x1x33x49xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %38 = arith.subf %in, %in_7 : f32
      linalg.yield %38 : f32
    } -> tensor<4x2x1x33x49xf32>
    %18 = tensor.empty() : tensor<4x2x1x33x49xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%17 : tensor<4x2x1x33x49xf32>) outs(%18 : tensor<4x2x1x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %38 = math.exp %in : f32
      linalg.yield %38 : f32
    } -> tensor<4x2x1x33x49xf32>
    %20 = tensor.empty() : tensor<4x2x1x33xf32>
    %21 = linalg.fill ins(%cst_1 : f32) outs(%20 : tensor<4x2x1x33xf32>) -> tensor<4x2x1x33xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%19 : tensor<4x2x1x33x49xf32>) outs(%21 : tensor<4x2x1x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %38 = arith.addf %out, %in : f32
      linalg.yield %38 : f32
    } -> tensor<4x2x1x33xf32>
    %23 = tensor.empty() : tensor<4x2x1x33x49xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%22 : tensor<4x2x1x33xf32>) outs(%23 : tensor<4x2x1x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x2x1x33x49xf32>
    %25 = tensor.empty() : tensor<4x2x1x33x49xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%19, %24 : tensor<4x2x1x33x49xf32>, tensor<4x2x1x33x49xf32>) outs(%25 : tensor<4x2x1x33x49xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %38 = arith.divf %in, %in_7 : f32
      linalg.yield %38 : f32
    } -> tensor<4x2x1x33x49xf32>
    %27 = tensor.empty() : tensor<2x1x24x49xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x49x1x24xf32>) outs(%27 : tensor<2x1x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x1x24x49xf32>
    %29 = tensor.empty() : tensor<2x1x49x4x33xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%26 : tensor<4x2x1x33x49xf32>) outs(%29 : tensor<2x1x49x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x1x49x4x33xf32>
    %collapsed_3 = tensor.collapse_shape %28 [[0], [1, 2], [3]] : tensor<2x1x24x49xf32> into tensor<2x24x49xf32>
    %collapsed_4 = tensor.collapse_shape %30 [[0], [1, 2], [3, 4]] : tensor<2x1x49x4x33xf32> into tensor<2x49x132xf32>
    %31 = tensor.empty() : tensor<2x24x132xf32>
    %32 = linalg.fill ins(%cst_1 : f32) outs(%31 : tensor<2x24x132xf32>) -> tensor<2x24x132xf32>
    %33 = linalg.batch_matmul ins(%collapsed_3, %collapsed_4 : tensor<2x24x49xf32>, tensor<2x49x132xf32>) outs(%32 : tensor<2x24x132xf32>) -> tensor<2x24x132xf32>
    %expanded_5 = tensor.expand_shape %33 [[0], [1, 2], [3, 4]] output_shape [2, 1, 24, 4, 33] : tensor<2x24x132xf32> into tensor<2x1x24x4x33xf32>
    %34 = tensor.empty() : tensor<4x2x33x1x24xf32>
    %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4, d0, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<2x1x24x4x33xf32>) outs(%34 : tensor<4x2x33x1x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x2x33x1x24xf32>
    %36 = tensor.empty() : tensor<2x33x1x4x24xf32>
    %37 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%35 : tensor<4x2x33x1x24xf32>) outs(%36 : tensor<2x33x1x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x1x4x24xf32>
    %collapsed_6 = tensor.collapse_shape %37 [[0], [1], [2, 3], [4]] : tensor<2x33x1x4x24xf32> into tensor<2x33x4x24xf32>
    return %collapsed_6 : tensor<2x33x4x24xf32>
  }
}