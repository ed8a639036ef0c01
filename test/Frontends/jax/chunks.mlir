// jax case chunks; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit__lambda {
  func.func @model(%arg0: tensor<2x4x33x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>) -> tensor<2x4x33x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %c31_i32 = arith.constant 31 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %c8_i32 = arith.constant 8 : i32
    %cst_0 = arith.constant 0.204124153 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %cst_2 = arith.constant dense<[[0], [1], [2], [3], [4], [5], [6], [7], [8], [9], [10], [11], [12], [13], [14], [15], [16], [17], [18], [19], [20], [21], [22], [23], [24], [25], [26], [27], [28], [29], [30], [31], [32]]> : tensor<33x1xi32>
    %cst_3 = arith.constant dense<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48]]> : tensor<1x49xi32>
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
      %82 = arith.mulf %in, %cst_0 : f32
      linalg.yield %82 : f32
    } -> tensor<2x4x33x49xf32>
    %7 = tensor.empty() : tensor<33x49xi32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<33x1xi32>) outs(%7 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<33x49xi32>
    %9 = tensor.empty() : tensor<33x49xi32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_3 : tensor<1x49xi32>) outs(%9 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<33x49xi32>
    %11 = tensor.empty() : tensor<33x49xi1>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%8, %10 : tensor<33x49xi32>, tensor<33x49xi32>) outs(%11 : tensor<33x49xi1>) {
    ^bb0(%in: i32, %in_8: i32, %out: i1):
      %82 = arith.cmpi sge, %in, %in_8 : i32
      linalg.yield %82 : i1
    } -> tensor<33x49xi1>
    %13 = tensor.empty() : tensor<33x1xi32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<33x1xi32>) outs(%13 : tensor<33x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      %82 = arith.divsi %in, %c8_i32 : i32
      linalg.yield %82 : i32
    } -> tensor<33x1xi32>
    %15 = tensor.empty() : tensor<33x1xi32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<33x1xi32>) outs(%15 : tensor<33x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      %82 = arith.cmpi eq, %in, %c0_i32 : i32
      %83 = arith.shrsi %in, %c31_i32 : i32
      %84 = arith.ori %83, %c1_i32 : i32
      %85 = arith.select %82, %c0_i32, %84 : i32
      linalg.yield %85 : i32
    } -> tensor<33x1xi32>
    %17 = tensor.empty() : tensor<i32>
    %18 = linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []} outs(%17 : tensor<i32>) {
    ^bb0(%out: i32):
      linalg.yield %c1_i32 : i32
    } -> tensor<i32>
    %19 = tensor.empty() : tensor<33x1xi32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%18 : tensor<i32>) outs(%19 : tensor<33x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<33x1xi32>
    %21 = tensor.empty() : tensor<33x1xi1>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%16, %20 : tensor<33x1xi32>, tensor<33x1xi32>) outs(%21 : tensor<33x1xi1>) {
    ^bb0(%in: i32, %in_8: i32, %out: i1):
      %82 = arith.cmpi ne, %in, %in_8 : i32
      linalg.yield %82 : i1
    } -> tensor<33x1xi1>
    %23 = tensor.empty() : tensor<33x1xi32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<33x1xi32>) outs(%23 : tensor<33x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      %82 = arith.remsi %in, %c8_i32 : i32
      linalg.yield %82 : i32
    } -> tensor<33x1xi32>
    %25 = tensor.empty() : tensor<33x1xi1>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%24 : tensor<33x1xi32>) outs(%25 : tensor<33x1xi1>) {
    ^bb0(%in: i32, %out: i1):
      %82 = arith.cmpi ne, %in, %c0_i32 : i32
      linalg.yield %82 : i1
    } -> tensor<33x1xi1>
    %27 = tensor.empty() : tensor<33x1xi1>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%22, %26 : tensor<33x1xi1>, tensor<33x1xi1>) outs(%27 : tensor<33x1xi1>) {
    ^bb0(%in: i1, %in_8: i1, %out: i1):
      %82 = arith.andi %in, %in_8 : i1
      linalg.yield %82 : i1
    } -> tensor<33x1xi1>
    %29 = tensor.empty() : tensor<33x1xi32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%14 : tensor<33x1xi32>) outs(%29 : tensor<33x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      %82 = arith.subi %in, %c1_i32 : i32
      linalg.yield %82 : i32
    } -> tensor<33x1xi32>
    %31 = tensor.empty() : tensor<33x1xi32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%28, %30, %14 : tensor<33x1xi1>, tensor<33x1xi32>, tensor<33x1xi32>) outs(%31 : tensor<33x1xi32>) {
    ^bb0(%in: i1, %in_8: i32, %in_9: i32, %out: i32):
      %82 = arith.select %in, %in_8, %in_9 : i32
      linalg.yield %82 : i32
    } -> tensor<33x1xi32>
    %33 = tensor.empty() : tensor<1x49xi32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_3 : tensor<1x49xi32>) outs(%33 : tensor<1x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      %82 = arith.divsi %in, %c8_i32 : i32
      linalg.yield %82 : i32
    } -> tensor<1x49xi32>
    %35 = tensor.empty() : tensor<1x49xi32>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_3 : tensor<1x49xi32>) outs(%35 : tensor<1x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      %82 = arith.cmpi eq, %in, %c0_i32 : i32
      %83 = arith.shrsi %in, %c31_i32 : i32
      %84 = arith.ori %83, %c1_i32 : i32
      %85 = arith.select %82, %c0_i32, %84 : i32
      linalg.yield %85 : i32
    } -> tensor<1x49xi32>
    %37 = tensor.empty() : tensor<1x49xi32>
    %38 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%18 : tensor<i32>) outs(%37 : tensor<1x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<1x49xi32>
    %39 = tensor.empty() : tensor<1x49xi1>
    %40 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%36, %38 : tensor<1x49xi32>, tensor<1x49xi32>) outs(%39 : tensor<1x49xi1>) {
    ^bb0(%in: i32, %in_8: i32, %out: i1):
      %82 = arith.cmpi ne, %in, %in_8 : i32
      linalg.yield %82 : i1
    } -> tensor<1x49xi1>
    %41 = tensor.empty() : tensor<1x49xi32>
    %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_3 : tensor<1x49xi32>) outs(%41 : tensor<1x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      %82 = arith.remsi %in, %c8_i32 : i32
      linalg.yield %82 : i32
    } -> tensor<1x49xi32>
    %43 = tensor.empty() : tensor<1x49xi1>
    %44 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%42 : tensor<1x49xi32>) outs(%43 : tensor<1x49xi1>) {
    ^bb0(%in: i32, %out: i1):
      %82 = arith.cmpi ne, %in, %c0_i32 : i32
      linalg.yield %82 : i1
    } -> tensor<1x49xi1>
    %45 = tensor.empty() : tensor<1x49xi1>
    %46 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%40, %44 : tensor<1x49xi1>, tensor<1x49xi1>) outs(%45 : tensor<1x49xi1>) {
    ^bb0(%in: i1, %in_8: i1, %out: i1):
      %82 = arith.andi %in, %in_8 : i1
      linalg.yield %82 : i1
    } -> tensor<1x49xi1>
    %47 = tensor.empty() : tensor<1x49xi32>
    %48 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%34 : tensor<1x49xi32>) outs(%47 : tensor<1x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      %82 = arith.subi %in, %c1_i32 : i32
      linalg.yield %82 : i32
    } -> tensor<1x49xi32>
    %49 = tensor.empty() : tensor<1x49xi32>
    %50 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%46, %48, %34 : tensor<1x49xi1>, tensor<1x49xi32>, tensor<1x49xi32>) outs(%49 : tensor<1x49xi32>) {
    ^bb0(%in: i1, %in_8: i32, %in_9: i32, %out: i32):
      %82 = arith.select %in, %in_8, %in_9 : i32
      linalg.yield %82 : i32
    } -> tensor<1x49xi32>
    %51 = tensor.empty() : tensor<33x49xi32>
    %52 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%32 : tensor<33x1xi32>) outs(%51 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<33x49xi32>
    %53 = tensor.empty() : tensor<33x49xi32>
    %54 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%50 : tensor<1x49xi32>) outs(%53 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<33x49xi32>
    %55 = tensor.empty() : tensor<33x49xi1>
    %56 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%52, %54 : tensor<33x49xi32>, tensor<33x49xi32>) outs(%55 : tensor<33x49xi1>) {
    ^bb0(%in: i32, %in_8: i32, %out: i1):
      %82 = arith.cmpi eq, %in, %in_8 : i32
      linalg.yield %82 : i1
    } -> tensor<33x49xi1>
    %57 = tensor.empty() : tensor<33x49xi1>
    %58 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%12, %56 : tensor<33x49xi1>, tensor<33x49xi1>) outs(%57 : tensor<33x49xi1>) {
    ^bb0(%in: i1, %in_8: i1, %out: i1):
      %82 = arith.andi %in, %in_8 : i1
      linalg.yield %82 : i1
    } -> tensor<33x49xi1>
    %59 = tensor.empty() : tensor<2x4x33x49xi1>
    %60 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%58 : tensor<33x49xi1>) outs(%59 : tensor<2x4x33x49xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x33x49xi1>
    %61 = tensor.empty() : tensor<2x4x33x49xf32>
    %62 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%60, %6 : tensor<2x4x33x49xi1>, tensor<2x4x33x49xf32>) outs(%61 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: i1, %in_8: f32, %out: f32):
      %82 = arith.select %in, %in_8, %cst : f32
      linalg.yield %82 : f32
    } -> tensor<2x4x33x49xf32>
    %63 = tensor.empty() : tensor<2x4x33xf32>
    %64 = linalg.fill ins(%cst : f32) outs(%63 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %65 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%62 : tensor<2x4x33x49xf32>) outs(%64 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %82 = arith.maximumf %out, %in : f32
      linalg.yield %82 : f32
    } -> tensor<2x4x33xf32>
    %66 = tensor.empty() : tensor<2x4x33x49xf32>
    %67 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%65 : tensor<2x4x33xf32>) outs(%66 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %68 = tensor.empty() : tensor<2x4x33x49xf32>
    %69 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%62, %67 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%68 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %82 = arith.subf %in, %in_8 : f32
      linalg.yield %82 : f32
    } -> tensor<2x4x33x49xf32>
    %70 = tensor.empty() : tensor<2x4x33x49xf32>
    %71 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%69 : tensor<2x4x33x49xf32>) outs(%70 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %82 = math.exp %in : f32
      linalg.yield %82 : f32
    } -> tensor<2x4x33x49xf32>
    %72 = tensor.empty() : tensor<2x4x33xf32>
    %73 = linalg.fill ins(%cst_1 : f32) outs(%72 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %74 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%71 : tensor<2x4x33x49xf32>) outs(%73 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %82 = arith.addf %out, %in : f32
      linalg.yield %82 : f32
    } -> tensor<2x4x33xf32>
    %75 = tensor.empty() : tensor<2x4x33x49xf32>
    %76 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%74 : tensor<2x4x33xf32>) outs(%75 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %77 = tensor.empty() : tensor<2x4x33x49xf32>
    %78 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%71, %76 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%77 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %82 = arith.divf %in, %in_8 : f32
      linalg.yield %82 : f32
    } -> tensor<2x4x33x49xf32>
    %collapsed_5 = tensor.collapse_shape %78 [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %collapsed_6 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %79 = tensor.empty() : tensor<8x33x24xf32>
    %80 = linalg.fill ins(%cst_1 : f32) outs(%79 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %81 = linalg.batch_matmul ins(%collapsed_5, %collapsed_6 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%80 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_7 = tensor.expand_shape %81 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    return %expanded_7 : tensor<2x4x33x24xf32>
  }
}