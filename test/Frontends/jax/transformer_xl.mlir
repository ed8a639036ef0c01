// jax case transformer_xl; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_transformer_xl {
  func.func @model(%arg0: tensor<2x4x33x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>, %arg3: tensor<4x81x24xf32>) -> tensor<2x4x33x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant 0.204124153 : f32
    %cst_1 = arith.constant 0x7FC00000 : f32
    %c80 = arith.constant 80 : index
    %c0 = arith.constant 0 : index
    %true = arith.constant true
    %c80_i32 = arith.constant 80 : i32
    %c81_i32 = arith.constant 81 : i32
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c33_i32 = arith.constant 33 : i32
    %cst_2 = arith.constant 0.000000e+00 : f32
    %cst_3 = arith.constant dense<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48]]> : tensor<1x49xi32>
    %cst_4 = arith.constant dense<[[0], [1], [2], [3], [4], [5], [6], [7], [8], [9], [10], [11], [12], [13], [14], [15], [16], [17], [18], [19], [20], [21], [22], [23], [24], [25], [26], [27], [28], [29], [30], [31], [32]]> : tensor<33x1xi32>
    %0 = tensor.empty() : tensor<4x24x2x33xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d0, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x4x33x24xf32>) outs(%0 : tensor<4x24x2x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x24x2x33xf32>
    %collapsed = tensor.collapse_shape %1 [[0], [1], [2, 3]] : tensor<4x24x2x33xf32> into tensor<4x24x66xf32>
    %2 = tensor.empty() : tensor<4x81x66xf32>
    %3 = linalg.fill ins(%cst_2 : f32) outs(%2 : tensor<4x81x66xf32>) -> tensor<4x81x66xf32>
    %4 = linalg.batch_matmul ins(%arg3, %collapsed : tensor<4x81x24xf32>, tensor<4x24x66xf32>) outs(%3 : tensor<4x81x66xf32>) -> tensor<4x81x66xf32>
    %expanded = tensor.expand_shape %4 [[0], [1], [2, 3]] output_shape [4, 81, 2, 33] : tensor<4x81x66xf32> into tensor<4x81x2x33xf32>
    %5 = tensor.empty() : tensor<2x4x33x81xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d3, d0, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<4x81x2x33xf32>) outs(%5 : tensor<2x4x33x81xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x81xf32>
    %7 = tensor.empty() : tensor<33x49xi32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_3 : tensor<1x49xi32>) outs(%7 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<33x49xi32>
    %9 = tensor.empty() : tensor<33x49xi32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_4 : tensor<33x1xi32>) outs(%9 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<33x49xi32>
    %11 = tensor.empty() : tensor<33x49xi32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%8, %10 : tensor<33x49xi32>, tensor<33x49xi32>) outs(%11 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %in_12: i32, %out: i32):
      %66 = arith.subi %in, %in_12 : i32
      linalg.yield %66 : i32
    } -> tensor<33x49xi32>
    %13 = tensor.empty() : tensor<33x49xi32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%12 : tensor<33x49xi32>) outs(%13 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      %66 = arith.addi %in, %c33_i32 : i32
      linalg.yield %66 : i32
    } -> tensor<33x49xi32>
    %15 = tensor.empty() : tensor<33x49xi32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%14 : tensor<33x49xi32>) outs(%15 : tensor<33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      %66 = arith.subi %in, %c1_i32 : i32
      linalg.yield %66 : i32
    } -> tensor<33x49xi32>
    %17 = tensor.empty() : tensor<2x4x33x49xi32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16 : tensor<33x49xi32>) outs(%17 : tensor<2x4x33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<2x4x33x49xi32>
    %19 = tensor.empty() : tensor<2x4x33x49xi1>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18 : tensor<2x4x33x49xi32>) outs(%19 : tensor<2x4x33x49xi1>) {
    ^bb0(%in: i32, %out: i1):
      %66 = arith.cmpi slt, %in, %c0_i32 : i32
      linalg.yield %66 : i1
    } -> tensor<2x4x33x49xi1>
    %21 = tensor.empty() : tensor<2x4x33x49xi32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18 : tensor<2x4x33x49xi32>) outs(%21 : tensor<2x4x33x49xi32>) {
    ^bb0(%in: i32, %out: i32):
      %66 = arith.addi %in, %c81_i32 : i32
      linalg.yield %66 : i32
    } -> tensor<2x4x33x49xi32>
    %23 = tensor.empty() : tensor<2x4x33x49xi32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20, %22, %18 : tensor<2x4x33x49xi1>, tensor<2x4x33x49xi32>, tensor<2x4x33x49xi32>) outs(%23 : tensor<2x4x33x49xi32>) {
    ^bb0(%in: i1, %in_12: i32, %in_13: i32, %out: i32):
      %66 = arith.select %in, %in_12, %in_13 : i32
      linalg.yield %66 : i32
    } -> tensor<2x4x33x49xi32>
    %expanded_5 = tensor.expand_shape %24 [[0], [1], [2], [3, 4]] output_shape [2, 4, 33, 49, 1] : tensor<2x4x33x49xi32> into tensor<2x4x33x49x1xi32>
    %25 = tensor.empty() : tensor<2x4x33x49x1xi1>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<2x4x33x49x1xi32>) outs(%25 : tensor<2x4x33x49x1xi1>) {
    ^bb0(%in: i32, %out: i1):
      %66 = arith.cmpi sge, %in, %c0_i32 : i32
      linalg.yield %66 : i1
    } -> tensor<2x4x33x49x1xi1>
    %27 = tensor.empty() : tensor<2x4x33x49x1xi1>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<2x4x33x49x1xi32>) outs(%27 : tensor<2x4x33x49x1xi1>) {
    ^bb0(%in: i32, %out: i1):
      %66 = arith.cmpi sle, %in, %c80_i32 : i32
      linalg.yield %66 : i1
    } -> tensor<2x4x33x49x1xi1>
    %29 = tensor.empty() : tensor<2x4x33x49x1xi1>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%26, %28 : tensor<2x4x33x49x1xi1>, tensor<2x4x33x49x1xi1>) outs(%29 : tensor<2x4x33x49x1xi1>) {
    ^bb0(%in: i1, %in_12: i1, %out: i1):
      %66 = arith.andi %in, %in_12 : i1
      linalg.yield %66 : i1
    } -> tensor<2x4x33x49x1xi1>
    %31 = tensor.empty() : tensor<2x4x33x49xi1>
    %32 = linalg.fill ins(%true : i1) outs(%31 : tensor<2x4x33x49xi1>) -> tensor<2x4x33x49xi1>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%30 : tensor<2x4x33x49x1xi1>) outs(%32 : tensor<2x4x33x49xi1>) {
    ^bb0(%in: i1, %out: i1):
      %66 = arith.andi %out, %in : i1
      linalg.yield %66 : i1
    } -> tensor<2x4x33x49xi1>
    %34 = tensor.empty() : tensor<2x4x33x49xf32>
    %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%34 : tensor<2x4x33x49xf32>) {
    ^bb0(%out: f32):
      %66 = linalg.index 0 : index
      %67 = linalg.index 1 : index
      %68 = linalg.index 2 : index
      %69 = linalg.index 3 : index
      %extracted = tensor.extract %expanded_5[%66, %67, %68, %69, %c0] : tensor<2x4x33x49x1xi32>
      %70 = arith.index_cast %extracted : i32 to index
      %71 = arith.maxsi %70, %c0 : index
      %72 = arith.minsi %71, %c80 : index
      %extracted_12 = tensor.extract %6[%66, %67, %68, %72] : tensor<2x4x33x81xf32>
      linalg.yield %extracted_12 : f32
    } -> tensor<2x4x33x49xf32>
    %36 = tensor.empty() : tensor<2x4x33x49xf32>
    %37 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%33, %35 : tensor<2x4x33x49xi1>, tensor<2x4x33x49xf32>) outs(%36 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: i1, %in_12: f32, %out: f32):
      %66 = arith.select %in, %in_12, %cst_1 : f32
      linalg.yield %66 : f32
    } -> tensor<2x4x33x49xf32>
    %38 = tensor.empty() : tensor<2x4x24x49xf32>
    %39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4x49x24xf32>) outs(%38 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x49xf32>
    %collapsed_6 = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_7 = tensor.collapse_shape %39 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %40 = tensor.empty() : tensor<8x33x49xf32>
    %41 = linalg.fill ins(%cst_2 : f32) outs(%40 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %42 = linalg.batch_matmul ins(%collapsed_6, %collapsed_7 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%41 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded_8 = tensor.expand_shape %42 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %43 = tensor.empty() : tensor<2x4x33x49xf32>
    %44 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_8, %37 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%43 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_12: f32, %out: f32):
      %66 = arith.addf %in, %in_12 : f32
      linalg.yield %66 : f32
    } -> tensor<2x4x33x49xf32>
    %45 = tensor.empty() : tensor<2x4x33x49xf32>
    %46 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%44 : tensor<2x4x33x49xf32>) outs(%45 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %66 = arith.mulf %in, %cst_0 : f32
      linalg.yield %66 : f32
    } -> tensor<2x4x33x49xf32>
    %47 = tensor.empty() : tensor<2x4x33xf32>
    %48 = linalg.fill ins(%cst : f32) outs(%47 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%46 : tensor<2x4x33x49xf32>) outs(%48 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %66 = arith.maximumf %out, %in : f32
      linalg.yield %66 : f32
    } -> tensor<2x4x33xf32>
    %50 = tensor.empty() : tensor<2x4x33x49xf32>
    %51 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%49 : tensor<2x4x33xf32>) outs(%50 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %52 = tensor.empty() : tensor<2x4x33x49xf32>
    %53 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%46, %51 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%52 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_12: f32, %out: f32):
      %66 = arith.subf %in, %in_12 : f32
      linalg.yield %66 : f32
    } -> tensor<2x4x33x49xf32>
    %54 = tensor.empty() : tensor<2x4x33x49xf32>
    %55 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%53 : tensor<2x4x33x49xf32>) outs(%54 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %66 = math.exp %in : f32
      linalg.yield %66 : f32
    } -> tensor<2x4x33x49xf32>
    %56 = tensor.empty() : tensor<2x4x33xf32>
    %57 = linalg.fill ins(%cst_2 : f32) outs(%56 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %58 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%55 : tensor<2x4x33x49xf32>) outs(%57 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %66 = arith.addf %out, %in : f32
      linalg.yield %66 : f32
    } -> tensor<2x4x33xf32>
    %59 = tensor.empty() : tensor<2x4x33x49xf32>
    %60 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%58 : tensor<2x4x33xf32>) outs(%59 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %61 = tensor.empty() : tensor<2x4x33x49xf32>
    %62 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%55, %60 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%61 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_12: f32, %out: f32):
      %66 = arith.divf %in, %in_12 : f32
      linalg.yield %66 : f32
    } -> tensor<2x4x33x49xf32>
    %collapsed_9 = tensor.collapse_shape %62 [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %collapsed_10 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %63 = tensor.empty() : tensor<8x33x24xf32>
    %64 = linalg.fill ins(%cst_2 : f32) outs(%63 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %65 = linalg.batch_matmul ins(%collapsed_9, %collapsed_10 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%64 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_11 = tensor.expand_shape %65 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    return %expanded_11 : tensor<2x4x33x24xf32>
  }
}