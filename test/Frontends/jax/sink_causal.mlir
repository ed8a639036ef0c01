// jax case sink_causal; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_sink_causal {
  func.func @model(%arg0: tensor<2x4x33x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>, %arg3: tensor<4xf32>) -> tensor<2x4x33x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant 0.204124153 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %cst_2 = arith.constant dense<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48]]> : tensor<1x49xi32>
    %cst_3 = arith.constant dense<[[16], [17], [18], [19], [20], [21], [22], [23], [24], [25], [26], [27], [28], [29], [30], [31], [32], [33], [34], [35], [36], [37], [38], [39], [40], [41], [42], [43], [44], [45], [46], [47], [48]]> : tensor<33x1xi32>
    %0 = tensor.empty() : tensor<33x49xi32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_3 : tensor<33x1xi32>) outs(%0 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<33x49xi32>
    %2 = tensor.empty() : tensor<33x49xi32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<1x49xi32>) outs(%2 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<33x49xi32>
    %4 = tensor.empty() : tensor<33x49xi1>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%1, %3 : tensor<33x49xi32>, tensor<33x49xi32>) outs(%4 : tensor<33x49xi1>) {
    ^bb0(%in: i32, %in_9: i32, %out: i1):
      %46 = arith.cmpi sge, %in, %in_9 : i32
      linalg.yield %46 : i1
    } -> tensor<33x49xi1>
    %6 = tensor.empty() : tensor<2x4x24x49xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4x49x24xf32>) outs(%6 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x49xf32>
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_4 = tensor.collapse_shape %7 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %8 = tensor.empty() : tensor<8x33x49xf32>
    %9 = linalg.fill ins(%cst_1 : f32) outs(%8 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %10 = linalg.batch_matmul ins(%collapsed, %collapsed_4 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%9 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded = tensor.expand_shape %10 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %11 = tensor.empty() : tensor<2x4x33x49xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x33x49xf32>) outs(%11 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %46 = arith.mulf %in, %cst_0 : f32
      linalg.yield %46 : f32
    } -> tensor<2x4x33x49xf32>
    %13 = tensor.empty() : tensor<2x4x33x49xi1>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%5 : tensor<33x49xi1>) outs(%13 : tensor<2x4x33x49xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x33x49xi1>
    %15 = tensor.empty() : tensor<2x4x33x49xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14, %12 : tensor<2x4x33x49xi1>, tensor<2x4x33x49xf32>) outs(%15 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: i1, %in_9: f32, %out: f32):
      %46 = arith.select %in, %in_9, %cst : f32
      linalg.yield %46 : f32
    } -> tensor<2x4x33x49xf32>
    %17 = tensor.empty() : tensor<2x4x33x1xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3 : tensor<4xf32>) outs(%17 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x1xf32>
    %19 = tensor.empty() : tensor<2x4x33x50xf32>
    %inserted_slice = tensor.insert_slice %16 into %19[0, 0, 0, 0] [2, 4, 33, 49] [1, 1, 1, 1] : tensor<2x4x33x49xf32> into tensor<2x4x33x50xf32>
    %inserted_slice_5 = tensor.insert_slice %18 into %inserted_slice[0, 0, 0, 49] [2, 4, 33, 1] [1, 1, 1, 1] : tensor<2x4x33x1xf32> into tensor<2x4x33x50xf32>
    %20 = tensor.empty() : tensor<2x4x33xf32>
    %21 = linalg.fill ins(%cst : f32) outs(%20 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%inserted_slice_5 : tensor<2x4x33x50xf32>) outs(%21 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %46 = arith.maximumf %out, %in : f32
      linalg.yield %46 : f32
    } -> tensor<2x4x33xf32>
    %23 = tensor.empty() : tensor<2x4x33x50xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22 : tensor<2x4x33xf32>) outs(%23 : tensor<2x4x33x50xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x50xf32>
    %25 = tensor.empty() : tensor<2x4x33x50xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%inserted_slice_5, %24 : tensor<2x4x33x50xf32>, tensor<2x4x33x50xf32>) outs(%25 : tensor<2x4x33x50xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %46 = arith.subf %in, %in_9 : f32
      linalg.yield %46 : f32
    } -> tensor<2x4x33x50xf32>
    %27 = tensor.empty() : tensor<2x4x33xf32>
    %28 = linalg.fill ins(%cst : f32) outs(%27 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%26 : tensor<2x4x33x50xf32>) outs(%28 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %46 = arith.maximumf %out, %in : f32
      linalg.yield %46 : f32
    } -> tensor<2x4x33xf32>
    %30 = tensor.empty() : tensor<2x4x33x50xf32>
    %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%29 : tensor<2x4x33xf32>) outs(%30 : tensor<2x4x33x50xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x50xf32>
    %32 = tensor.empty() : tensor<2x4x33x50xf32>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%26, %31 : tensor<2x4x33x50xf32>, tensor<2x4x33x50xf32>) outs(%32 : tensor<2x4x33x50xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %46 = arith.subf %in, %in_9 : f32
      linalg.yield %46 : f32
    } -> tensor<2x4x33x50xf32>
    %34 = tensor.empty() : tensor<2x4x33x50xf32>
    %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%33 : tensor<2x4x33x50xf32>) outs(%34 : tensor<2x4x33x50xf32>) {
    ^bb0(%in: f32, %out: f32):
      %46 = math.exp %in : f32
      linalg.yield %46 : f32
    } -> tensor<2x4x33x50xf32>
    %36 = tensor.empty() : tensor<2x4x33xf32>
    %37 = linalg.fill ins(%cst_1 : f32) outs(%36 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %38 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%35 : tensor<2x4x33x50xf32>) outs(%37 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %46 = arith.addf %out, %in : f32
      linalg.yield %46 : f32
    } -> tensor<2x4x33xf32>
    %39 = tensor.empty() : tensor<2x4x33x50xf32>
    %40 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%38 : tensor<2x4x33xf32>) outs(%39 : tensor<2x4x33x50xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x50xf32>
    %41 = tensor.empty() : tensor<2x4x33x50xf32>
    %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%35, %40 : tensor<2x4x33x50xf32>, tensor<2x4x33x50xf32>) outs(%41 : tensor<2x4x33x50xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %46 = arith.divf %in, %in_9 : f32
      linalg.yield %46 : f32
    } -> tensor<2x4x33x50xf32>
    %extracted_slice = tensor.extract_slice %42[0, 0, 0, 0] [2, 4, 33, 49] [1, 1, 1, 1] : tensor<2x4x33x50xf32> to tensor<2x4x33x49xf32>
    %collapsed_6 = tensor.collapse_shape %extracted_slice [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %collapsed_7 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %43 = tensor.empty() : tensor<8x33x24xf32>
    %44 = linalg.fill ins(%cst_1 : f32) outs(%43 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %45 = linalg.batch_matmul ins(%collapsed_6, %collapsed_7 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%44 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_8 = tensor.expand_shape %45 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    return %expanded_8 : tensor<2x4x33x24xf32>
  }
}