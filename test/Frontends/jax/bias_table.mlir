// jax case bias_table; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit__lambda {
  func.func @model(%arg0: tensor<2x4x33x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>, %arg3: tensor<4x32xf32>) -> tensor<2x4x33x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %c31 = arith.constant 31 : index
    %c0 = arith.constant 0 : index
    %c32_i32 = arith.constant 32 : i32
    %c31_i32 = arith.constant 31 : i32
    %c0_i32 = arith.constant 0 : i32
    %c16_i32 = arith.constant 16 : i32
    %cst_0 = arith.constant 0.204124153 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %cst_2 = arith.constant dense<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48]]> : tensor<1x49xi32>
    %cst_3 = arith.constant dense<[[0], [1], [2], [3], [4], [5], [6], [7], [8], [9], [10], [11], [12], [13], [14], [15], [16], [17], [18], [19], [20], [21], [22], [23], [24], [25], [26], [27], [28], [29], [30], [31], [32]]> : tensor<33x1xi32>
    %0 = tensor.empty() : tensor<2x4x24x49xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4x49x24xf32>) outs(%0 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x49xf32>
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_4 = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %2 = tensor.empty() : tensor<8x33x49xf32>
    %3 = linalg.fill ins(%cst_1 : f32) outs(%2 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %4 = linalg.batch_matmul ins(%collapsed, %collapsed_4 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%3 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded = tensor.expand_shape %4 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %5 = tensor.empty() : tensor<2x4x33x49xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x33x49xf32>) outs(%5 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %50 = arith.mulf %in, %cst_0 : f32
      linalg.yield %50 : f32
    } -> tensor<2x4x33x49xf32>
    %7 = tensor.empty() : tensor<33x49xi32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<1x49xi32>) outs(%7 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<33x49xi32>
    %9 = tensor.empty() : tensor<33x49xi32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_3 : tensor<33x1xi32>) outs(%9 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<33x49xi32>
    %11 = tensor.empty() : tensor<33x49xi32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%8, %10 : tensor<33x49xi32>, tensor<33x49xi32>) outs(%11 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %in_9: i32, %out: i32):
      %50 = arith.subi %in, %in_9 : i32
      linalg.yield %50 : i32
    } -> tensor<33x49xi32>
    %13 = tensor.empty() : tensor<33x49xi32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%12 : tensor<33x49xi32>) outs(%13 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      %50 = arith.addi %in, %c16_i32 : i32
      linalg.yield %50 : i32
    } -> tensor<33x49xi32>
    %15 = tensor.empty() : tensor<33x49xi32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%14 : tensor<33x49xi32>) outs(%15 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      %50 = arith.maxsi %in, %c0_i32 : i32
      linalg.yield %50 : i32
    } -> tensor<33x49xi32>
    %17 = tensor.empty() : tensor<33x49xi32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%16 : tensor<33x49xi32>) outs(%17 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      %50 = arith.minsi %in, %c31_i32 : i32
      linalg.yield %50 : i32
    } -> tensor<33x49xi32>
    %19 = tensor.empty() : tensor<33x49xi1>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%18 : tensor<33x49xi32>) outs(%19 : tensor<33x49xi1>) {
    ^bb0(%in: i32, %out: i1):
      %50 = arith.cmpi slt, %in, %c0_i32 : i32
      linalg.yield %50 : i1
    } -> tensor<33x49xi1>
    %21 = tensor.empty() : tensor<33x49xi32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%18 : tensor<33x49xi32>) outs(%21 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      %50 = arith.addi %in, %c32_i32 : i32
      linalg.yield %50 : i32
    } -> tensor<33x49xi32>
    %23 = tensor.empty() : tensor<33x49xi32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%20, %22, %18 : tensor<33x49xi1>, tensor<33x49xi32>, tensor<33x49xi32>) outs(%23 : tensor<33x49xi32>) {
    ^bb0(%in: i1, %in_9: i32, %in_10: i32, %out: i32):
      %50 = arith.select %in, %in_9, %in_10 : i32
      linalg.yield %50 : i32
    } -> tensor<33x49xi32>
    %expanded_5 = tensor.expand_shape %24 [[0], [1, 2]] output_shape [33, 49, 1] : tensor<33x49xi32> into tensor<33x49x1xi32>
    %25 = tensor.empty() : tensor<4x33x49xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%25 : tensor<4x33x49xf32>) {
    ^bb0(%out: f32):
      %50 = linalg.index 0 : index
      %51 = linalg.index 1 : index
      %52 = linalg.index 2 : index
      %extracted = tensor.extract %expanded_5[%51, %52, %c0] : tensor<33x49x1xi32>
      %53 = arith.index_cast %extracted : i32 to index
      %54 = arith.maxsi %53, %c0 : index
      %55 = arith.minsi %54, %c31 : index
      %extracted_9 = tensor.extract %arg3[%50, %55] : tensor<4x32xf32>
      linalg.yield %extracted_9 : f32
    } -> tensor<4x33x49xf32>
    %27 = tensor.empty() : tensor<2x4x33x49xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%26 : tensor<4x33x49xf32>) outs(%27 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %29 = tensor.empty() : tensor<2x4x33x49xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %28 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%29 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %50 = arith.addf %in, %in_9 : f32
      linalg.yield %50 : f32
    } -> tensor<2x4x33x49xf32>
    %31 = tensor.empty() : tensor<2x4x33xf32>
    %32 = linalg.fill ins(%cst : f32) outs(%31 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%30 : tensor<2x4x33x49xf32>) outs(%32 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %50 = arith.maximumf %out, %in : f32
      linalg.yield %50 : f32
    } -> tensor<2x4x33xf32>
    %34 = tensor.empty() : tensor<2x4x33x49xf32>
    %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%33 : tensor<2x4x33xf32>) outs(%34 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %36 = tensor.empty() : tensor<2x4x33x49xf32>
    %37 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%30, %35 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%36 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %50 = arith.subf %in, %in_9 : f32
      linalg.yield %50 : f32
    } -> tensor<2x4x33x49xf32>
    %38 = tensor.empty() : tensor<2x4x33x49xf32>
    %39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%37 : tensor<2x4x33x49xf32>) outs(%38 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %50 = math.exp %in : f32
      linalg.yield %50 : f32
    } -> tensor<2x4x33x49xf32>
    %40 = tensor.empty() : tensor<2x4x33xf32>
    %41 = linalg.fill ins(%cst_1 : f32) outs(%40 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%39 : tensor<2x4x33x49xf32>) outs(%41 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %50 = arith.addf %out, %in : f32
      linalg.yield %50 : f32
    } -> tensor<2x4x33xf32>
    %43 = tensor.empty() : tensor<2x4x33x49xf32>
    %44 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%42 : tensor<2x4x33xf32>) outs(%43 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %45 = tensor.empty() : tensor<2x4x33x49xf32>
    %46 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%39, %44 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%45 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %50 = arith.divf %in, %in_9 : f32
      linalg.yield %50 : f32
    } -> tensor<2x4x33x49xf32>
    %collapsed_6 = tensor.collapse_shape %46 [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %collapsed_7 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %47 = tensor.empty() : tensor<8x33x24xf32>
    %48 = linalg.fill ins(%cst_1 : f32) outs(%47 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %49 = linalg.batch_matmul ins(%collapsed_6, %collapsed_7 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%48 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_8 = tensor.expand_shape %49 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    return %expanded_8 : tensor<2x4x33x24xf32>
  }
}