// jax case library_window_causal; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_library_window_causal {
  func.func @model(%arg0: tensor<2x33x4x24xf32>, %arg1: tensor<2x33x4x24xf32>, %arg2: tensor<2x33x4x24xf32>) -> tensor<2x33x4x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant -2.38197633E+38 : f32
    %c5_i32 = arith.constant 5 : i32
    %cst_1 = arith.constant 0.204124153 : f32
    %cst_2 = arith.constant 0.000000e+00 : f32
    %cst_3 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32]> : tensor<33xi32>
    %expanded = tensor.expand_shape %arg0 [[0], [1], [2], [3, 4]] output_shape [2, 33, 4, 1, 24] : tensor<2x33x4x24xf32> into tensor<2x33x4x1x24xf32>
    %0 = tensor.empty() : tensor<2x4x33x1x24xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x33x4x1x24xf32>) outs(%0 : tensor<2x4x33x1x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x1x24xf32>
    %2 = tensor.empty() : tensor<2x4x24x33xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x33x4x24xf32>) outs(%2 : tensor<2x4x24x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x33xf32>
    %collapsed = tensor.collapse_shape %1 [[0, 1], [2], [3, 4]] : tensor<2x4x33x1x24xf32> into tensor<8x33x24xf32>
    %collapsed_4 = tensor.collapse_shape %3 [[0, 1], [2], [3]] : tensor<2x4x24x33xf32> into tensor<8x24x33xf32>
    %4 = tensor.empty() : tensor<8x33x33xf32>
    %5 = linalg.fill ins(%cst_2 : f32) outs(%4 : tensor<8x33x33xf32>) -> tensor<8x33x33xf32>
    %6 = linalg.batch_matmul ins(%collapsed, %collapsed_4 : tensor<8x33x24xf32>, tensor<8x24x33xf32>) outs(%5 : tensor<8x33x33xf32>) -> tensor<8x33x33xf32>
    %expanded_5 = tensor.expand_shape %6 [[0, 1], [2], [3, 4]] output_shape [2, 4, 33, 1, 33] : tensor<8x33x33xf32> into tensor<2x4x33x1x33xf32>
    %7 = tensor.empty() : tensor<2x4x33x1x33xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<2x4x33x1x33xf32>) outs(%7 : tensor<2x4x33x1x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %66 = arith.mulf %in, %cst_1 : f32
      linalg.yield %66 : f32
    } -> tensor<2x4x33x1x33xf32>
    %9 = tensor.empty() : tensor<33x33xi32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%9 : tensor<33x33xi32>) {
    ^bb0(%out: i32):
      %66 = linalg.index 0 : index
      %67 = arith.index_cast %66 : index to i32
      linalg.yield %67 : i32
    } -> tensor<33x33xi32>
    %11 = tensor.empty() : tensor<33x33xi32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%11 : tensor<33x33xi32>) {
    ^bb0(%out: i32):
      %66 = linalg.index 1 : index
      %67 = arith.index_cast %66 : index to i32
      linalg.yield %67 : i32
    } -> tensor<33x33xi32>
    %13 = tensor.empty() : tensor<33x33xi1>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%10, %12 : tensor<33x33xi32>, tensor<33x33xi32>) outs(%13 : tensor<33x33xi1>) {
    ^bb0(%in: i32, %in_12: i32, %out: i1):
      %66 = arith.cmpi sge, %in, %in_12 : i32
      linalg.yield %66 : i1
    } -> tensor<33x33xi1>
    %15 = tensor.empty() : tensor<2x4x33x33xi1>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14 : tensor<33x33xi1>) outs(%15 : tensor<2x4x33x33xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x33x33xi1>
    %17 = tensor.empty() : tensor<1x33xi32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_3 : tensor<33xi32>) outs(%17 : tensor<1x33xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<1x33xi32>
    %19 = tensor.empty() : tensor<1x33xi32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%18 : tensor<1x33xi32>) outs(%19 : tensor<1x33xi32>) {
    ^bb0(%in: i32, %out: i32):
      %66 = arith.addi %in, %c5_i32 : i32
      linalg.yield %66 : i32
    } -> tensor<1x33xi32>
    %21 = tensor.empty() : tensor<33x33xi32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_3 : tensor<33xi32>) outs(%21 : tensor<33x33xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<33x33xi32>
    %23 = tensor.empty() : tensor<33x33xi32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%20 : tensor<1x33xi32>) outs(%23 : tensor<33x33xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<33x33xi32>
    %25 = tensor.empty() : tensor<33x33xi1>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%22, %24 : tensor<33x33xi32>, tensor<33x33xi32>) outs(%25 : tensor<33x33xi1>) {
    ^bb0(%in: i32, %in_12: i32, %out: i1):
      %66 = arith.cmpi sle, %in, %in_12 : i32
      linalg.yield %66 : i1
    } -> tensor<33x33xi1>
    %27 = tensor.empty() : tensor<33x33xi32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_3 : tensor<33xi32>) outs(%27 : tensor<33x33xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<33x33xi32>
    %29 = tensor.empty() : tensor<33x33xi1>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%22, %28 : tensor<33x33xi32>, tensor<33x33xi32>) outs(%29 : tensor<33x33xi1>) {
    ^bb0(%in: i32, %in_12: i32, %out: i1):
      %66 = arith.cmpi sge, %in, %in_12 : i32
      linalg.yield %66 : i1
    } -> tensor<33x33xi1>
    %31 = tensor.empty() : tensor<33x33xi1>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%30, %26 : tensor<33x33xi1>, tensor<33x33xi1>) outs(%31 : tensor<33x33xi1>) {
    ^bb0(%in: i1, %in_12: i1, %out: i1):
      %66 = arith.andi %in, %in_12 : i1
      linalg.yield %66 : i1
    } -> tensor<33x33xi1>
    %33 = tensor.empty() : tensor<2x4x33x33xi1>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%32 : tensor<33x33xi1>) outs(%33 : tensor<2x4x33x33xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x33x33xi1>
    %35 = tensor.empty() : tensor<2x4x33x33xi1>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16, %34 : tensor<2x4x33x33xi1>, tensor<2x4x33x33xi1>) outs(%35 : tensor<2x4x33x33xi1>) {
    ^bb0(%in: i1, %in_12: i1, %out: i1):
      %66 = arith.andi %in, %in_12 : i1
      linalg.yield %66 : i1
    } -> tensor<2x4x33x33xi1>
    %37 = tensor.empty() : tensor<1x2x4x33x33xi1>
    %38 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%36 : tensor<2x4x33x33xi1>) outs(%37 : tensor<1x2x4x33x33xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<1x2x4x33x33xi1>
    %collapsed_6 = tensor.collapse_shape %8 [[0, 1, 2, 3, 4]] : tensor<2x4x33x1x33xf32> into tensor<8712xf32>
    %expanded_7 = tensor.expand_shape %collapsed_6 [[0, 1, 2, 3, 4]] output_shape [1, 2, 4, 33, 33] : tensor<8712xf32> into tensor<1x2x4x33x33xf32>
    %39 = tensor.empty() : tensor<1x2x4x33x33xf32>
    %40 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%38, %expanded_7 : tensor<1x2x4x33x33xi1>, tensor<1x2x4x33x33xf32>) outs(%39 : tensor<1x2x4x33x33xf32>) {
    ^bb0(%in: i1, %in_12: f32, %out: f32):
      %66 = arith.select %in, %in_12, %cst_0 : f32
      linalg.yield %66 : f32
    } -> tensor<1x2x4x33x33xf32>
    %41 = tensor.empty() : tensor<1x2x4x33xf32>
    %42 = linalg.fill ins(%cst : f32) outs(%41 : tensor<1x2x4x33xf32>) -> tensor<1x2x4x33xf32>
    %43 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%40 : tensor<1x2x4x33x33xf32>) outs(%42 : tensor<1x2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %66 = arith.maximumf %out, %in : f32
      linalg.yield %66 : f32
    } -> tensor<1x2x4x33xf32>
    %44 = tensor.empty() : tensor<1x2x4x33x33xf32>
    %45 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%43 : tensor<1x2x4x33xf32>) outs(%44 : tensor<1x2x4x33x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x33x33xf32>
    %46 = tensor.empty() : tensor<1x2x4x33x33xf32>
    %47 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%40, %45 : tensor<1x2x4x33x33xf32>, tensor<1x2x4x33x33xf32>) outs(%46 : tensor<1x2x4x33x33xf32>) {
    ^bb0(%in: f32, %in_12: f32, %out: f32):
      %66 = arith.subf %in, %in_12 : f32
      linalg.yield %66 : f32
    } -> tensor<1x2x4x33x33xf32>
    %48 = tensor.empty() : tensor<1x2x4x33x33xf32>
    %49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%47 : tensor<1x2x4x33x33xf32>) outs(%48 : tensor<1x2x4x33x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %66 = math.exp %in : f32
      linalg.yield %66 : f32
    } -> tensor<1x2x4x33x33xf32>
    %50 = tensor.empty() : tensor<1x2x4x33xf32>
    %51 = linalg.fill ins(%cst_2 : f32) outs(%50 : tensor<1x2x4x33xf32>) -> tensor<1x2x4x33xf32>
    %52 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%49 : tensor<1x2x4x33x33xf32>) outs(%51 : tensor<1x2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %66 = arith.addf %out, %in : f32
      linalg.yield %66 : f32
    } -> tensor<1x2x4x33xf32>
    %53 = tensor.empty() : tensor<1x2x4x33x33xf32>
    %54 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%52 : tensor<1x2x4x33xf32>) outs(%53 : tensor<1x2x4x33x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x33x33xf32>
    %55 = tensor.empty() : tensor<1x2x4x33x33xf32>
    %56 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%49, %54 : tensor<1x2x4x33x33xf32>, tensor<1x2x4x33x33xf32>) outs(%55 : tensor<1x2x4x33x33xf32>) {
    ^bb0(%in: f32, %in_12: f32, %out: f32):
      %66 = arith.divf %in, %in_12 : f32
      linalg.yield %66 : f32
    } -> tensor<1x2x4x33x33xf32>
    %57 = tensor.empty() : tensor<2x4x24x33xf32>
    %58 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x33x4x24xf32>) outs(%57 : tensor<2x4x24x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x33xf32>
    %59 = tensor.empty() : tensor<2x4x33x1x33xf32>
    %60 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%56 : tensor<1x2x4x33x33xf32>) outs(%59 : tensor<2x4x33x1x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x1x33xf32>
    %collapsed_8 = tensor.collapse_shape %58 [[0, 1], [2], [3]] : tensor<2x4x24x33xf32> into tensor<8x24x33xf32>
    %collapsed_9 = tensor.collapse_shape %60 [[0, 1], [2], [3, 4]] : tensor<2x4x33x1x33xf32> into tensor<8x33x33xf32>
    %61 = tensor.empty() : tensor<8x24x33xf32>
    %62 = linalg.fill ins(%cst_2 : f32) outs(%61 : tensor<8x24x33xf32>) -> tensor<8x24x33xf32>
    %63 = linalg.batch_matmul ins(%collapsed_8, %collapsed_9 : tensor<8x24x33xf32>, tensor<8x33x33xf32>) outs(%62 : tensor<8x24x33xf32>) -> tensor<8x24x33xf32>
    %expanded_10 = tensor.expand_shape %63 [[0, 1], [2], [3, 4]] output_shape [2, 4, 24, 1, 33] : tensor<8x24x33xf32> into tensor<2x4x24x1x33xf32>
    %64 = tensor.empty() : tensor<1x2x33x4x24xf32>
    %65 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4, d0, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_10 : tensor<2x4x24x1x33xf32>) outs(%64 : tensor<1x2x33x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x33x4x24xf32>
    %collapsed_11 = tensor.collapse_shape %65 [[0, 1], [2], [3], [4]] : tensor<1x2x33x4x24xf32> into tensor<2x33x4x24xf32>
    return %collapsed_11 : tensor<2x33x4x24xf32>
  }
}