// jax case library_bias_mask; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_library_bias_mask {
  func.func @model(%arg0: tensor<2x33x4x24xf32>, %arg1: tensor<2x49x4x24xf32>, %arg2: tensor<2x49x4x24xf32>, %arg3: tensor<2x4x33x49xf32>, %arg4: tensor<2x1x33x49xi1>) -> tensor<2x33x4x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant -2.38197633E+38 : f32
    %cst_1 = arith.constant 0.204124153 : f32
    %cst_2 = arith.constant 0.000000e+00 : f32
    %expanded = tensor.expand_shape %arg0 [[0], [1], [2], [3, 4]] output_shape [2, 33, 4, 1, 24] : tensor<2x33x4x24xf32> into tensor<2x33x4x1x24xf32>
    %0 = tensor.empty() : tensor<2x1x1x33x49xi1>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg4 : tensor<2x1x33x49xi1>) outs(%0 : tensor<2x1x1x33x49xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x1x1x33x49xi1>
    %2 = tensor.empty() : tensor<2x4x33x1x24xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x33x4x1x24xf32>) outs(%2 : tensor<2x4x33x1x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x1x24xf32>
    %4 = tensor.empty() : tensor<2x4x24x49xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x49x4x24xf32>) outs(%4 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x49xf32>
    %collapsed = tensor.collapse_shape %3 [[0, 1], [2], [3, 4]] : tensor<2x4x33x1x24xf32> into tensor<8x33x24xf32>
    %collapsed_3 = tensor.collapse_shape %5 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %6 = tensor.empty() : tensor<8x33x49xf32>
    %7 = linalg.fill ins(%cst_2 : f32) outs(%6 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %8 = linalg.batch_matmul ins(%collapsed, %collapsed_3 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%7 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded_4 = tensor.expand_shape %8 [[0, 1], [2], [3, 4]] output_shape [2, 4, 33, 1, 49] : tensor<8x33x49xf32> into tensor<2x4x33x1x49xf32>
    %9 = tensor.empty() : tensor<2x4x33x1x49xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4 : tensor<2x4x33x1x49xf32>) outs(%9 : tensor<2x4x33x1x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %42 = arith.mulf %in, %cst_1 : f32
      linalg.yield %42 : f32
    } -> tensor<2x4x33x1x49xf32>
    %collapsed_5 = tensor.collapse_shape %10 [[0, 1, 2, 3, 4]] : tensor<2x4x33x1x49xf32> into tensor<12936xf32>
    %expanded_6 = tensor.expand_shape %collapsed_5 [[0, 1, 2, 3, 4]] output_shape [1, 2, 4, 33, 49] : tensor<12936xf32> into tensor<1x2x4x33x49xf32>
    %expanded_7 = tensor.expand_shape %arg3 [[0, 1], [2], [3], [4]] output_shape [1, 2, 4, 33, 49] : tensor<2x4x33x49xf32> into tensor<1x2x4x33x49xf32>
    %11 = tensor.empty() : tensor<1x2x4x33x49xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_6, %expanded_7 : tensor<1x2x4x33x49xf32>, tensor<1x2x4x33x49xf32>) outs(%11 : tensor<1x2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_14: f32, %out: f32):
      %42 = arith.addf %in, %in_14 : f32
      linalg.yield %42 : f32
    } -> tensor<1x2x4x33x49xf32>
    %collapsed_8 = tensor.collapse_shape %1 [[0, 1, 2, 3, 4]] : tensor<2x1x1x33x49xi1> into tensor<3234xi1>
    %expanded_9 = tensor.expand_shape %collapsed_8 [[0, 1, 2, 3, 4]] output_shape [1, 2, 1, 33, 49] : tensor<3234xi1> into tensor<1x2x1x33x49xi1>
    %13 = tensor.empty() : tensor<1x2x4x33x49xi1>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, 0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_9 : tensor<1x2x1x33x49xi1>) outs(%13 : tensor<1x2x4x33x49xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<1x2x4x33x49xi1>
    %15 = tensor.empty() : tensor<1x2x4x33x49xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%14, %12 : tensor<1x2x4x33x49xi1>, tensor<1x2x4x33x49xf32>) outs(%15 : tensor<1x2x4x33x49xf32>) {
    ^bb0(%in: i1, %in_14: f32, %out: f32):
      %42 = arith.select %in, %in_14, %cst_0 : f32
      linalg.yield %42 : f32
    } -> tensor<1x2x4x33x49xf32>
    %17 = tensor.empty() : tensor<1x2x4x33xf32>
    %18 = linalg.fill ins(%cst : f32) outs(%17 : tensor<1x2x4x33xf32>) -> tensor<1x2x4x33xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%16 : tensor<1x2x4x33x49xf32>) outs(%18 : tensor<1x2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %42 = arith.maximumf %out, %in : f32
      linalg.yield %42 : f32
    } -> tensor<1x2x4x33xf32>
    %20 = tensor.empty() : tensor<1x2x4x33x49xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%19 : tensor<1x2x4x33xf32>) outs(%20 : tensor<1x2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x33x49xf32>
    %22 = tensor.empty() : tensor<1x2x4x33x49xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%16, %21 : tensor<1x2x4x33x49xf32>, tensor<1x2x4x33x49xf32>) outs(%22 : tensor<1x2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_14: f32, %out: f32):
      %42 = arith.subf %in, %in_14 : f32
      linalg.yield %42 : f32
    } -> tensor<1x2x4x33x49xf32>
    %24 = tensor.empty() : tensor<1x2x4x33x49xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<1x2x4x33x49xf32>) outs(%24 : tensor<1x2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %42 = math.exp %in : f32
      linalg.yield %42 : f32
    } -> tensor<1x2x4x33x49xf32>
    %26 = tensor.empty() : tensor<1x2x4x33xf32>
    %27 = linalg.fill ins(%cst_2 : f32) outs(%26 : tensor<1x2x4x33xf32>) -> tensor<1x2x4x33xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%25 : tensor<1x2x4x33x49xf32>) outs(%27 : tensor<1x2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %42 = arith.addf %out, %in : f32
      linalg.yield %42 : f32
    } -> tensor<1x2x4x33xf32>
    %29 = tensor.empty() : tensor<1x2x4x33x49xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%28 : tensor<1x2x4x33xf32>) outs(%29 : tensor<1x2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x33x49xf32>
    %31 = tensor.empty() : tensor<1x2x4x33x49xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%25, %30 : tensor<1x2x4x33x49xf32>, tensor<1x2x4x33x49xf32>) outs(%31 : tensor<1x2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_14: f32, %out: f32):
      %42 = arith.divf %in, %in_14 : f32
      linalg.yield %42 : f32
    } -> tensor<1x2x4x33x49xf32>
    %33 = tensor.empty() : tensor<2x4x24x49xf32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x49x4x24xf32>) outs(%33 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x49xf32>
    %35 = tensor.empty() : tensor<2x4x49x1x33xf32>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%32 : tensor<1x2x4x33x49xf32>) outs(%35 : tensor<2x4x49x1x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x49x1x33xf32>
    %collapsed_10 = tensor.collapse_shape %34 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %collapsed_11 = tensor.collapse_shape %36 [[0, 1], [2], [3, 4]] : tensor<2x4x49x1x33xf32> into tensor<8x49x33xf32>
    %37 = tensor.empty() : tensor<8x24x33xf32>
    %38 = linalg.fill ins(%cst_2 : f32) outs(%37 : tensor<8x24x33xf32>) -> tensor<8x24x33xf32>
    %39 = linalg.batch_matmul ins(%collapsed_10, %collapsed_11 : tensor<8x24x49xf32>, tensor<8x49x33xf32>) outs(%38 : tensor<8x24x33xf32>) -> tensor<8x24x33xf32>
    %expanded_12 = tensor.expand_shape %39 [[0, 1], [2], [3, 4]] output_shape [2, 4, 24, 1, 33] : tensor<8x24x33xf32> into tensor<2x4x24x1x33xf32>
    %40 = tensor.empty() : tensor<1x2x33x4x24xf32>
    %41 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4, d0, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_12 : tensor<2x4x24x1x33xf32>) outs(%40 : tensor<1x2x33x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x33x4x24xf32>
    %collapsed_13 = tensor.collapse_shape %41 [[0, 1], [2], [3], [4]] : tensor<1x2x33x4x24xf32> into tensor<2x33x4x24xf32>
    return %collapsed_13 : tensor<2x33x4x24xf32>
  }
}