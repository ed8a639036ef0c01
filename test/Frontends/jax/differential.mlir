// jax case differential; jax 0.10.2; iree-base-compiler
// attentions: 2
module @jit_differential {
  func.func @model(%arg0: tensor<2x4x33x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>) -> tensor<2x4x33x24xf32> {
    %cst = arith.constant 3.000000e-01 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant 0.204124153 : f32
    %cst_2 = arith.constant 0.000000e+00 : f32
    %extracted_slice = tensor.extract_slice %arg0[0, 0, 0, 0] [2, 4, 33, 12] [1, 1, 1, 1] : tensor<2x4x33x24xf32> to tensor<2x4x33x12xf32>
    %extracted_slice_3 = tensor.extract_slice %arg1[0, 0, 0, 0] [2, 4, 49, 12] [1, 1, 1, 1] : tensor<2x4x49x24xf32> to tensor<2x4x49x12xf32>
    %0 = tensor.empty() : tensor<2x4x12x49xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_3 : tensor<2x4x49x12xf32>) outs(%0 : tensor<2x4x12x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x12x49xf32>
    %collapsed = tensor.collapse_shape %extracted_slice [[0, 1], [2], [3]] : tensor<2x4x33x12xf32> into tensor<8x33x12xf32>
    %collapsed_4 = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<2x4x12x49xf32> into tensor<8x12x49xf32>
    %2 = tensor.empty() : tensor<8x33x49xf32>
    %3 = linalg.fill ins(%cst_2 : f32) outs(%2 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %4 = linalg.batch_matmul ins(%collapsed, %collapsed_4 : tensor<8x33x12xf32>, tensor<8x12x49xf32>) outs(%3 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded = tensor.expand_shape %4 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %5 = tensor.empty() : tensor<2x4x33x49xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x33x49xf32>) outs(%5 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = arith.mulf %in, %cst_1 : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33x49xf32>
    %7 = tensor.empty() : tensor<2x4x33xf32>
    %8 = linalg.fill ins(%cst_0 : f32) outs(%7 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%6 : tensor<2x4x33x49xf32>) outs(%8 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = arith.maximumf %out, %in : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33xf32>
    %10 = tensor.empty() : tensor<2x4x33x49xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9 : tensor<2x4x33xf32>) outs(%10 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %12 = tensor.empty() : tensor<2x4x33x49xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %11 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%12 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %56 = arith.subf %in, %in_15 : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33x49xf32>
    %14 = tensor.empty() : tensor<2x4x33x49xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13 : tensor<2x4x33x49xf32>) outs(%14 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = math.exp %in : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33x49xf32>
    %16 = tensor.empty() : tensor<2x4x33xf32>
    %17 = linalg.fill ins(%cst_2 : f32) outs(%16 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%15 : tensor<2x4x33x49xf32>) outs(%17 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = arith.addf %out, %in : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33xf32>
    %19 = tensor.empty() : tensor<2x4x33x49xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18 : tensor<2x4x33xf32>) outs(%19 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %21 = tensor.empty() : tensor<2x4x33x49xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15, %20 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%21 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %56 = arith.divf %in, %in_15 : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33x49xf32>
    %extracted_slice_5 = tensor.extract_slice %arg0[0, 0, 0, 12] [2, 4, 33, 12] [1, 1, 1, 1] : tensor<2x4x33x24xf32> to tensor<2x4x33x12xf32>
    %extracted_slice_6 = tensor.extract_slice %arg1[0, 0, 0, 12] [2, 4, 49, 12] [1, 1, 1, 1] : tensor<2x4x49x24xf32> to tensor<2x4x49x12xf32>
    %23 = tensor.empty() : tensor<2x4x12x49xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_6 : tensor<2x4x49x12xf32>) outs(%23 : tensor<2x4x12x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x12x49xf32>
    %collapsed_7 = tensor.collapse_shape %extracted_slice_5 [[0, 1], [2], [3]] : tensor<2x4x33x12xf32> into tensor<8x33x12xf32>
    %collapsed_8 = tensor.collapse_shape %24 [[0, 1], [2], [3]] : tensor<2x4x12x49xf32> into tensor<8x12x49xf32>
    %25 = tensor.empty() : tensor<8x33x49xf32>
    %26 = linalg.fill ins(%cst_2 : f32) outs(%25 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %27 = linalg.batch_matmul ins(%collapsed_7, %collapsed_8 : tensor<8x33x12xf32>, tensor<8x12x49xf32>) outs(%26 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded_9 = tensor.expand_shape %27 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %28 = tensor.empty() : tensor<2x4x33x49xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_9 : tensor<2x4x33x49xf32>) outs(%28 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = arith.mulf %in, %cst_1 : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33x49xf32>
    %30 = tensor.empty() : tensor<2x4x33xf32>
    %31 = linalg.fill ins(%cst_0 : f32) outs(%30 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%29 : tensor<2x4x33x49xf32>) outs(%31 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = arith.maximumf %out, %in : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33xf32>
    %33 = tensor.empty() : tensor<2x4x33x49xf32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%32 : tensor<2x4x33xf32>) outs(%33 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %35 = tensor.empty() : tensor<2x4x33x49xf32>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%29, %34 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%35 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %56 = arith.subf %in, %in_15 : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33x49xf32>
    %37 = tensor.empty() : tensor<2x4x33x49xf32>
    %38 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36 : tensor<2x4x33x49xf32>) outs(%37 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = math.exp %in : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33x49xf32>
    %39 = tensor.empty() : tensor<2x4x33xf32>
    %40 = linalg.fill ins(%cst_2 : f32) outs(%39 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %41 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%38 : tensor<2x4x33x49xf32>) outs(%40 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = arith.addf %out, %in : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33xf32>
    %42 = tensor.empty() : tensor<2x4x33x49xf32>
    %43 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%41 : tensor<2x4x33xf32>) outs(%42 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %44 = tensor.empty() : tensor<2x4x33x49xf32>
    %45 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%38, %43 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%44 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %56 = arith.divf %in, %in_15 : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33x49xf32>
    %collapsed_10 = tensor.collapse_shape %22 [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %collapsed_11 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %46 = tensor.empty() : tensor<8x33x24xf32>
    %47 = linalg.fill ins(%cst_2 : f32) outs(%46 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %48 = linalg.batch_matmul ins(%collapsed_10, %collapsed_11 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%47 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_12 = tensor.expand_shape %48 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    %collapsed_13 = tensor.collapse_shape %45 [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %49 = tensor.empty() : tensor<8x33x24xf32>
    %50 = linalg.fill ins(%cst_2 : f32) outs(%49 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %51 = linalg.batch_matmul ins(%collapsed_13, %collapsed_11 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%50 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_14 = tensor.expand_shape %51 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    %52 = tensor.empty() : tensor<2x4x33x24xf32>
    %53 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_14 : tensor<2x4x33x24xf32>) outs(%52 : tensor<2x4x33x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = arith.mulf %in, %cst : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33x24xf32>
    %54 = tensor.empty() : tensor<2x4x33x24xf32>
    %55 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_12, %53 : tensor<2x4x33x24xf32>, tensor<2x4x33x24xf32>) outs(%54 : tensor<2x4x33x24xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %56 = arith.subf %in, %in_15 : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33x24xf32>
    return %55 : tensor<2x4x33x24xf32>
  }
}