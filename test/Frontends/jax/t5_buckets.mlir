// jax case t5_buckets; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit__lambda {
  func.func @model(%arg0: tensor<2x4x33x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>, %arg3: tensor<16x4xf32>) -> tensor<2x4x33x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %c16_i32 = arith.constant 16 : i32
    %c15_i32 = arith.constant 15 : i32
    %c8_i32 = arith.constant 8 : i32
    %c31_i32 = arith.constant 31 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %c4_i32 = arith.constant 4 : i32
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
      %72 = arith.mulf %in, %cst_0 : f32
      linalg.yield %72 : f32
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
    ^bb0(%in: i32, %in_10: i32, %out: i32):
      %72 = arith.subi %in, %in_10 : i32
      linalg.yield %72 : i32
    } -> tensor<33x49xi32>
    %13 = tensor.empty() : tensor<33x49xi32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%12 : tensor<33x49xi32>) outs(%13 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      %72 = arith.divsi %in, %c4_i32 : i32
      linalg.yield %72 : i32
    } -> tensor<33x49xi32>
    %15 = tensor.empty() : tensor<33x49xi32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%12 : tensor<33x49xi32>) outs(%15 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      %72 = arith.cmpi eq, %in, %c0_i32 : i32
      %73 = arith.shrsi %in, %c31_i32 : i32
      %74 = arith.ori %73, %c1_i32 : i32
      %75 = arith.select %72, %c0_i32, %74 : i32
      linalg.yield %75 : i32
    } -> tensor<33x49xi32>
    %17 = tensor.empty() : tensor<i32>
    %18 = linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []} outs(%17 : tensor<i32>) {
    ^bb0(%out: i32):
      linalg.yield %c1_i32 : i32
    } -> tensor<i32>
    %19 = tensor.empty() : tensor<33x49xi32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%18 : tensor<i32>) outs(%19 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<33x49xi32>
    %21 = tensor.empty() : tensor<33x49xi1>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%16, %20 : tensor<33x49xi32>, tensor<33x49xi32>) outs(%21 : tensor<33x49xi1>) {
    ^bb0(%in: i32, %in_10: i32, %out: i1):
      %72 = arith.cmpi ne, %in, %in_10 : i32
      linalg.yield %72 : i1
    } -> tensor<33x49xi1>
    %23 = tensor.empty() : tensor<33x49xi32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%12 : tensor<33x49xi32>) outs(%23 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      %72 = arith.remsi %in, %c4_i32 : i32
      linalg.yield %72 : i32
    } -> tensor<33x49xi32>
    %25 = tensor.empty() : tensor<33x49xi1>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%24 : tensor<33x49xi32>) outs(%25 : tensor<33x49xi1>) {
    ^bb0(%in: i32, %out: i1):
      %72 = arith.cmpi ne, %in, %c0_i32 : i32
      linalg.yield %72 : i1
    } -> tensor<33x49xi1>
    %27 = tensor.empty() : tensor<33x49xi1>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%22, %26 : tensor<33x49xi1>, tensor<33x49xi1>) outs(%27 : tensor<33x49xi1>) {
    ^bb0(%in: i1, %in_10: i1, %out: i1):
      %72 = arith.andi %in, %in_10 : i1
      linalg.yield %72 : i1
    } -> tensor<33x49xi1>
    %29 = tensor.empty() : tensor<33x49xi32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%14 : tensor<33x49xi32>) outs(%29 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      %72 = arith.subi %in, %c1_i32 : i32
      linalg.yield %72 : i32
    } -> tensor<33x49xi32>
    %31 = tensor.empty() : tensor<33x49xi32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%28, %30, %14 : tensor<33x49xi1>, tensor<33x49xi32>, tensor<33x49xi32>) outs(%31 : tensor<33x49xi32>) {
    ^bb0(%in: i1, %in_10: i32, %in_11: i32, %out: i32):
      %72 = arith.select %in, %in_10, %in_11 : i32
      linalg.yield %72 : i32
    } -> tensor<33x49xi32>
    %33 = tensor.empty() : tensor<33x49xi32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%32 : tensor<33x49xi32>) outs(%33 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      %72 = arith.addi %in, %c8_i32 : i32
      linalg.yield %72 : i32
    } -> tensor<33x49xi32>
    %35 = tensor.empty() : tensor<33x49xi32>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%34 : tensor<33x49xi32>) outs(%35 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      %72 = arith.maxsi %in, %c0_i32 : i32
      linalg.yield %72 : i32
    } -> tensor<33x49xi32>
    %37 = tensor.empty() : tensor<33x49xi32>
    %38 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%36 : tensor<33x49xi32>) outs(%37 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      %72 = arith.minsi %in, %c15_i32 : i32
      linalg.yield %72 : i32
    } -> tensor<33x49xi32>
    %39 = tensor.empty() : tensor<33x49xi1>
    %40 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%38 : tensor<33x49xi32>) outs(%39 : tensor<33x49xi1>) {
    ^bb0(%in: i32, %out: i1):
      %72 = arith.cmpi slt, %in, %c0_i32 : i32
      linalg.yield %72 : i1
    } -> tensor<33x49xi1>
    %41 = tensor.empty() : tensor<33x49xi32>
    %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%38 : tensor<33x49xi32>) outs(%41 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      %72 = arith.addi %in, %c16_i32 : i32
      linalg.yield %72 : i32
    } -> tensor<33x49xi32>
    %43 = tensor.empty() : tensor<33x49xi32>
    %44 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%40, %42, %38 : tensor<33x49xi1>, tensor<33x49xi32>, tensor<33x49xi32>) outs(%43 : tensor<33x49xi32>) {
    ^bb0(%in: i1, %in_10: i32, %in_11: i32, %out: i32):
      %72 = arith.select %in, %in_10, %in_11 : i32
      linalg.yield %72 : i32
    } -> tensor<33x49xi32>
    %expanded_5 = tensor.expand_shape %44 [[0], [1, 2]] output_shape [33, 49, 1] : tensor<33x49xi32> into tensor<33x49x1xi32>
    %45 = tensor.empty() : tensor<33x49x1x4xf32>
    %46 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<33x49x1xi32>) outs(%45 : tensor<33x49x1x4xf32>) {
    ^bb0(%in: i32, %out: f32):
      %72 = arith.index_cast %in : i32 to index
      %73 = linalg.index 3 : index
      %extracted = tensor.extract %arg3[%72, %73] : tensor<16x4xf32>
      linalg.yield %extracted : f32
    } -> tensor<33x49x1x4xf32>
    %collapsed_6 = tensor.collapse_shape %46 [[0], [1], [2, 3]] : tensor<33x49x1x4xf32> into tensor<33x49x4xf32>
    %47 = tensor.empty() : tensor<4x33x49xf32>
    %48 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2, d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_6 : tensor<33x49x4xf32>) outs(%47 : tensor<4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x33x49xf32>
    %49 = tensor.empty() : tensor<2x4x33x49xf32>
    %50 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%48 : tensor<4x33x49xf32>) outs(%49 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %51 = tensor.empty() : tensor<2x4x33x49xf32>
    %52 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %50 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%51 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %72 = arith.addf %in, %in_10 : f32
      linalg.yield %72 : f32
    } -> tensor<2x4x33x49xf32>
    %53 = tensor.empty() : tensor<2x4x33xf32>
    %54 = linalg.fill ins(%cst : f32) outs(%53 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %55 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%52 : tensor<2x4x33x49xf32>) outs(%54 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %72 = arith.maximumf %out, %in : f32
      linalg.yield %72 : f32
    } -> tensor<2x4x33xf32>
    %56 = tensor.empty() : tensor<2x4x33x49xf32>
    %57 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%55 : tensor<2x4x33xf32>) outs(%56 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %58 = tensor.empty() : tensor<2x4x33x49xf32>
    %59 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%52, %57 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%58 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %72 = arith.subf %in, %in_10 : f32
      linalg.yield %72 : f32
    } -> tensor<2x4x33x49xf32>
    %60 = tensor.empty() : tensor<2x4x33x49xf32>
    %61 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%59 : tensor<2x4x33x49xf32>) outs(%60 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %72 = math.exp %in : f32
      linalg.yield %72 : f32
    } -> tensor<2x4x33x49xf32>
    %62 = tensor.empty() : tensor<2x4x33xf32>
    %63 = linalg.fill ins(%cst_1 : f32) outs(%62 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %64 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%61 : tensor<2x4x33x49xf32>) outs(%63 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %72 = arith.addf %out, %in : f32
      linalg.yield %72 : f32
    } -> tensor<2x4x33xf32>
    %65 = tensor.empty() : tensor<2x4x33x49xf32>
    %66 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%64 : tensor<2x4x33xf32>) outs(%65 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %67 = tensor.empty() : tensor<2x4x33x49xf32>
    %68 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%61, %66 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%67 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %72 = arith.divf %in, %in_10 : f32
      linalg.yield %72 : f32
    } -> tensor<2x4x33x49xf32>
    %collapsed_7 = tensor.collapse_shape %68 [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %collapsed_8 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %69 = tensor.empty() : tensor<8x33x24xf32>
    %70 = linalg.fill ins(%cst_1 : f32) outs(%69 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %71 = linalg.batch_matmul ins(%collapsed_7, %collapsed_8 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%70 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_9 = tensor.expand_shape %71 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    return %expanded_9 : tensor<2x4x33x24xf32>
  }
}