// jax case normalized_queries; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_normalized_queries {
  func.func @model(%arg0: tensor<2x4x33x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>) -> tensor<2x4x33x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant 0.204124153 : f32
    %cst_1 = arith.constant 9.99999997E-7 : f32
    %cst_2 = arith.constant 2.400000e+01 : f32
    %cst_3 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x4x33x24xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x4x33x24xf32>) outs(%0 : tensor<2x4x33x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = arith.mulf %in, %in : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33x24xf32>
    %2 = tensor.empty() : tensor<2x4x33xf32>
    %3 = linalg.fill ins(%cst_3 : f32) outs(%2 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%1 : tensor<2x4x33x24xf32>) outs(%3 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = arith.addf %out, %in : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33xf32>
    %expanded = tensor.expand_shape %4 [[0], [1], [2, 3]] output_shape [2, 4, 33, 1] : tensor<2x4x33xf32> into tensor<2x4x33x1xf32>
    %5 = tensor.empty() : tensor<2x4x33x1xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x33x1xf32>) outs(%5 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = arith.divf %in, %cst_2 : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33x1xf32>
    %7 = tensor.empty() : tensor<2x4x33x1xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6 : tensor<2x4x33x1xf32>) outs(%7 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = arith.addf %in, %cst_1 : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33x1xf32>
    %9 = tensor.empty() : tensor<2x4x33x1xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8 : tensor<2x4x33x1xf32>) outs(%9 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = math.rsqrt %in : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33x1xf32>
    %11 = tensor.empty() : tensor<2x4x33x24xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10 : tensor<2x4x33x1xf32>) outs(%11 : tensor<2x4x33x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x24xf32>
    %13 = tensor.empty() : tensor<2x4x33x24xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %12 : tensor<2x4x33x24xf32>, tensor<2x4x33x24xf32>) outs(%13 : tensor<2x4x33x24xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %56 = arith.mulf %in, %in_10 : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33x24xf32>
    %15 = tensor.empty() : tensor<2x4x49x24xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4x49x24xf32>) outs(%15 : tensor<2x4x49x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = arith.mulf %in, %in : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x49x24xf32>
    %17 = tensor.empty() : tensor<2x4x49xf32>
    %18 = linalg.fill ins(%cst_3 : f32) outs(%17 : tensor<2x4x49xf32>) -> tensor<2x4x49xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%16 : tensor<2x4x49x24xf32>) outs(%18 : tensor<2x4x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = arith.addf %out, %in : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x49xf32>
    %expanded_4 = tensor.expand_shape %19 [[0], [1], [2, 3]] output_shape [2, 4, 49, 1] : tensor<2x4x49xf32> into tensor<2x4x49x1xf32>
    %20 = tensor.empty() : tensor<2x4x49x1xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4 : tensor<2x4x49x1xf32>) outs(%20 : tensor<2x4x49x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = arith.divf %in, %cst_2 : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x49x1xf32>
    %22 = tensor.empty() : tensor<2x4x49x1xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21 : tensor<2x4x49x1xf32>) outs(%22 : tensor<2x4x49x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = arith.addf %in, %cst_1 : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x49x1xf32>
    %24 = tensor.empty() : tensor<2x4x49x1xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<2x4x49x1xf32>) outs(%24 : tensor<2x4x49x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = math.rsqrt %in : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x49x1xf32>
    %26 = tensor.empty() : tensor<2x4x49x24xf32>
    %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%25 : tensor<2x4x49x1xf32>) outs(%26 : tensor<2x4x49x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x49x24xf32>
    %28 = tensor.empty() : tensor<2x4x49x24xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1, %27 : tensor<2x4x49x24xf32>, tensor<2x4x49x24xf32>) outs(%28 : tensor<2x4x49x24xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %56 = arith.mulf %in, %in_10 : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x49x24xf32>
    %30 = tensor.empty() : tensor<2x4x24x49xf32>
    %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%29 : tensor<2x4x49x24xf32>) outs(%30 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x49xf32>
    %collapsed = tensor.collapse_shape %14 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_5 = tensor.collapse_shape %31 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %32 = tensor.empty() : tensor<8x33x49xf32>
    %33 = linalg.fill ins(%cst_3 : f32) outs(%32 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %34 = linalg.batch_matmul ins(%collapsed, %collapsed_5 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%33 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded_6 = tensor.expand_shape %34 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %35 = tensor.empty() : tensor<2x4x33x49xf32>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_6 : tensor<2x4x33x49xf32>) outs(%35 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = arith.mulf %in, %cst_0 : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33x49xf32>
    %37 = tensor.empty() : tensor<2x4x33xf32>
    %38 = linalg.fill ins(%cst : f32) outs(%37 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%36 : tensor<2x4x33x49xf32>) outs(%38 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = arith.maximumf %out, %in : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33xf32>
    %40 = tensor.empty() : tensor<2x4x33x49xf32>
    %41 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%39 : tensor<2x4x33xf32>) outs(%40 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %42 = tensor.empty() : tensor<2x4x33x49xf32>
    %43 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36, %41 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%42 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %56 = arith.subf %in, %in_10 : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33x49xf32>
    %44 = tensor.empty() : tensor<2x4x33x49xf32>
    %45 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%43 : tensor<2x4x33x49xf32>) outs(%44 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = math.exp %in : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33x49xf32>
    %46 = tensor.empty() : tensor<2x4x33xf32>
    %47 = linalg.fill ins(%cst_3 : f32) outs(%46 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %48 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%45 : tensor<2x4x33x49xf32>) outs(%47 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = arith.addf %out, %in : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33xf32>
    %49 = tensor.empty() : tensor<2x4x33x49xf32>
    %50 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%48 : tensor<2x4x33xf32>) outs(%49 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %51 = tensor.empty() : tensor<2x4x33x49xf32>
    %52 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%45, %50 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%51 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %56 = arith.divf %in, %in_10 : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33x49xf32>
    %collapsed_7 = tensor.collapse_shape %52 [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %collapsed_8 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %53 = tensor.empty() : tensor<8x33x24xf32>
    %54 = linalg.fill ins(%cst_3 : f32) outs(%53 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %55 = linalg.batch_matmul ins(%collapsed_7, %collapsed_8 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%54 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_9 = tensor.expand_shape %55 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    return %expanded_9 : tensor<2x4x33x24xf32>
  }
}