// jax case alibi; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit__lambda {
  func.func @model(%arg0: tensor<2x4x33x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>) -> tensor<2x4x33x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %c0_i32 = arith.constant 0 : i32
    %cst_0 = arith.constant 2.000000e+00 : f32
    %cst_1 = arith.constant -2.000000e+00 : f32
    %c1_i32 = arith.constant 1 : i32
    %cst_2 = arith.constant 0.204124153 : f32
    %cst_3 = arith.constant 0.000000e+00 : f32
    %cst_4 = arith.constant dense<[[0], [1], [2], [3], [4], [5], [6], [7], [8], [9], [10], [11], [12], [13], [14], [15], [16], [17], [18], [19], [20], [21], [22], [23], [24], [25], [26], [27], [28], [29], [30], [31], [32]]> : tensor<33x1xi32>
    %cst_5 = arith.constant dense<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48]]> : tensor<1x49xi32>
    %0 = tensor.empty() : tensor<2x4x24x49xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4x49x24xf32>) outs(%0 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x49xf32>
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_6 = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %2 = tensor.empty() : tensor<8x33x49xf32>
    %3 = linalg.fill ins(%cst_3 : f32) outs(%2 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %4 = linalg.batch_matmul ins(%collapsed, %collapsed_6 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%3 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded = tensor.expand_shape %4 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %5 = tensor.empty() : tensor<2x4x33x49xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x33x49xf32>) outs(%5 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = arith.mulf %in, %cst_2 : f32
      linalg.yield %56 : f32
    } -> tensor<2x4x33x49xf32>
    %7 = tensor.empty() : tensor<4xi32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%7 : tensor<4xi32>) {
    ^bb0(%out: i32):
      %56 = linalg.index 0 : index
      %57 = arith.index_cast %56 : index to i32
      linalg.yield %57 : i32
    } -> tensor<4xi32>
    %9 = tensor.empty() : tensor<4xi32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%8 : tensor<4xi32>) outs(%9 : tensor<4xi32>) {
    ^bb0(%in: i32, %out: i32):
      %56 = arith.addi %in, %c1_i32 : i32
      linalg.yield %56 : i32
    } -> tensor<4xi32>
    %11 = tensor.empty() : tensor<4xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%10 : tensor<4xi32>) outs(%11 : tensor<4xf32>) {
    ^bb0(%in: i32, %out: f32):
      %56 = arith.sitofp %in : i32 to f32
      linalg.yield %56 : f32
    } -> tensor<4xf32>
    %13 = tensor.empty() : tensor<4xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%12 : tensor<4xf32>) outs(%13 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = arith.mulf %in, %cst_1 : f32
      linalg.yield %56 : f32
    } -> tensor<4xf32>
    %15 = tensor.empty() : tensor<4xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%14 : tensor<4xf32>) outs(%15 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = math.powf %cst_0, %in : f32
      linalg.yield %56 : f32
    } -> tensor<4xf32>
    %17 = tensor.empty() : tensor<33x49xi32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_4 : tensor<33x1xi32>) outs(%17 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<33x49xi32>
    %19 = tensor.empty() : tensor<33x49xi32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_5 : tensor<1x49xi32>) outs(%19 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<33x49xi32>
    %21 = tensor.empty() : tensor<33x49xi32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%18, %20 : tensor<33x49xi32>, tensor<33x49xi32>) outs(%21 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %in_10: i32, %out: i32):
      %56 = arith.subi %in, %in_10 : i32
      linalg.yield %56 : i32
    } -> tensor<33x49xi32>
    %23 = tensor.empty() : tensor<33x49xi32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%22 : tensor<33x49xi32>) outs(%23 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      %56 = arith.cmpi sge, %in, %c0_i32 : i32
      %57 = arith.subi %c0_i32, %in : i32
      %58 = arith.select %56, %in, %57 : i32
      linalg.yield %58 : i32
    } -> tensor<33x49xi32>
    %25 = tensor.empty() : tensor<33x49xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%24 : tensor<33x49xi32>) outs(%25 : tensor<33x49xf32>) {
    ^bb0(%in: i32, %out: f32):
      %56 = arith.sitofp %in : i32 to f32
      linalg.yield %56 : f32
    } -> tensor<33x49xf32>
    %27 = tensor.empty() : tensor<1x4x33x49xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16 : tensor<4xf32>) outs(%27 : tensor<1x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x4x33x49xf32>
    %29 = tensor.empty() : tensor<1x4x33x49xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%26 : tensor<33x49xf32>) outs(%29 : tensor<1x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x4x33x49xf32>
    %31 = tensor.empty() : tensor<1x4x33x49xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%28, %30 : tensor<1x4x33x49xf32>, tensor<1x4x33x49xf32>) outs(%31 : tensor<1x4x33x49xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %56 = arith.mulf %in, %in_10 : f32
      linalg.yield %56 : f32
    } -> tensor<1x4x33x49xf32>
    %33 = tensor.empty() : tensor<2x4x33x49xf32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%32 : tensor<1x4x33x49xf32>) outs(%33 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %35 = tensor.empty() : tensor<2x4x33x49xf32>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %34 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%35 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %56 = arith.subf %in, %in_10 : f32
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