// Made by model.py, jax 0.10.2. The last numbers of the result: -0.322 -0.291 -0.123
module @jit_attend {
  func.func @main(%arg0: tensor<2x96x64xf32>, %arg1: tensor<64x64xf32>, %arg2: tensor<64x64xf32>, %arg3: tensor<64x64xf32>, %arg4: tensor<64x64xf32>) -> tensor<2x96x64xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant 4.000000e+00 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2]] : tensor<2x96x64xf32> into tensor<192x64xf32>
    %0 = tensor.empty() : tensor<192x64xf32>
    %1 = linalg.fill ins(%cst_1 : f32) outs(%0 : tensor<192x64xf32>) -> tensor<192x64xf32>
    %2 = linalg.matmul ins(%collapsed, %arg1 : tensor<192x64xf32>, tensor<64x64xf32>) outs(%1 : tensor<192x64xf32>) -> tensor<192x64xf32>
    %expanded = tensor.expand_shape %2 [[0, 1], [2, 3]] output_shape [2, 96, 4, 16] : tensor<192x64xf32> into tensor<2x96x4x16xf32>
    %3 = tensor.empty() : tensor<2x4x96x16xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x96x4x16xf32>) outs(%3 : tensor<2x4x96x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x96x16xf32>
    %5 = tensor.empty() : tensor<192x64xf32>
    %6 = linalg.fill ins(%cst_1 : f32) outs(%5 : tensor<192x64xf32>) -> tensor<192x64xf32>
    %7 = linalg.matmul ins(%collapsed, %arg2 : tensor<192x64xf32>, tensor<64x64xf32>) outs(%6 : tensor<192x64xf32>) -> tensor<192x64xf32>
    %expanded_2 = tensor.expand_shape %7 [[0, 1], [2, 3]] output_shape [2, 96, 4, 16] : tensor<192x64xf32> into tensor<2x96x4x16xf32>
    %8 = tensor.empty() : tensor<2x4x96x16xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_2 : tensor<2x96x4x16xf32>) outs(%8 : tensor<2x4x96x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x96x16xf32>
    %10 = tensor.empty() : tensor<192x64xf32>
    %11 = linalg.fill ins(%cst_1 : f32) outs(%10 : tensor<192x64xf32>) -> tensor<192x64xf32>
    %12 = linalg.matmul ins(%collapsed, %arg3 : tensor<192x64xf32>, tensor<64x64xf32>) outs(%11 : tensor<192x64xf32>) -> tensor<192x64xf32>
    %expanded_3 = tensor.expand_shape %12 [[0, 1], [2, 3]] output_shape [2, 96, 4, 16] : tensor<192x64xf32> into tensor<2x96x4x16xf32>
    %13 = tensor.empty() : tensor<2x4x96x16xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_3 : tensor<2x96x4x16xf32>) outs(%13 : tensor<2x4x96x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x96x16xf32>
    %15 = tensor.empty() : tensor<2x4x16x96xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9 : tensor<2x4x96x16xf32>) outs(%15 : tensor<2x4x16x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x16x96xf32>
    %collapsed_4 = tensor.collapse_shape %4 [[0, 1], [2], [3]] : tensor<2x4x96x16xf32> into tensor<8x96x16xf32>
    %collapsed_5 = tensor.collapse_shape %16 [[0, 1], [2], [3]] : tensor<2x4x16x96xf32> into tensor<8x16x96xf32>
    %17 = tensor.empty() : tensor<8x96x96xf32>
    %18 = linalg.fill ins(%cst_1 : f32) outs(%17 : tensor<8x96x96xf32>) -> tensor<8x96x96xf32>
    %19 = linalg.batch_matmul ins(%collapsed_4, %collapsed_5 : tensor<8x96x16xf32>, tensor<8x16x96xf32>) outs(%18 : tensor<8x96x96xf32>) -> tensor<8x96x96xf32>
    %expanded_6 = tensor.expand_shape %19 [[0, 1], [2], [3]] output_shape [2, 4, 96, 96] : tensor<8x96x96xf32> into tensor<2x4x96x96xf32>
    %20 = tensor.empty() : tensor<2x4x96x96xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_6 : tensor<2x4x96x96xf32>) outs(%20 : tensor<2x4x96x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      %58 = arith.divf %in, %cst_0 : f32
      linalg.yield %58 : f32
    } -> tensor<2x4x96x96xf32>
    %22 = tensor.empty() : tensor<96x96xi32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%22 : tensor<96x96xi32>) {
    ^bb0(%out: i32):
      %58 = linalg.index 0 : index
      %59 = arith.index_cast %58 : index to i32
      linalg.yield %59 : i32
    } -> tensor<96x96xi32>
    %24 = tensor.empty() : tensor<96x96xi32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%24 : tensor<96x96xi32>) {
    ^bb0(%out: i32):
      %58 = linalg.index 1 : index
      %59 = arith.index_cast %58 : index to i32
      linalg.yield %59 : i32
    } -> tensor<96x96xi32>
    %26 = tensor.empty() : tensor<96x96xi1>
    %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%23, %25 : tensor<96x96xi32>, tensor<96x96xi32>) outs(%26 : tensor<96x96xi1>) {
    ^bb0(%in: i32, %in_12: i32, %out: i1):
      %58 = arith.cmpi sge, %in, %in_12 : i32
      linalg.yield %58 : i1
    } -> tensor<96x96xi1>
    %28 = tensor.empty() : tensor<2x4x96x96xi1>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%27 : tensor<96x96xi1>) outs(%28 : tensor<2x4x96x96xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x96x96xi1>
    %30 = tensor.empty() : tensor<2x4x96x96xf32>
    %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%29, %21 : tensor<2x4x96x96xi1>, tensor<2x4x96x96xf32>) outs(%30 : tensor<2x4x96x96xf32>) {
    ^bb0(%in: i1, %in_12: f32, %out: f32):
      %58 = arith.select %in, %in_12, %cst : f32
      linalg.yield %58 : f32
    } -> tensor<2x4x96x96xf32>
    %32 = tensor.empty() : tensor<2x4x96xf32>
    %33 = linalg.fill ins(%cst : f32) outs(%32 : tensor<2x4x96xf32>) -> tensor<2x4x96xf32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%31 : tensor<2x4x96x96xf32>) outs(%33 : tensor<2x4x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      %58 = arith.maximumf %out, %in : f32
      linalg.yield %58 : f32
    } -> tensor<2x4x96xf32>
    %35 = tensor.empty() : tensor<2x4x96x96xf32>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%34 : tensor<2x4x96xf32>) outs(%35 : tensor<2x4x96x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x96x96xf32>
    %37 = tensor.empty() : tensor<2x4x96x96xf32>
    %38 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%31, %36 : tensor<2x4x96x96xf32>, tensor<2x4x96x96xf32>) outs(%37 : tensor<2x4x96x96xf32>) {
    ^bb0(%in: f32, %in_12: f32, %out: f32):
      %58 = arith.subf %in, %in_12 : f32
      linalg.yield %58 : f32
    } -> tensor<2x4x96x96xf32>
    %39 = tensor.empty() : tensor<2x4x96x96xf32>
    %40 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%38 : tensor<2x4x96x96xf32>) outs(%39 : tensor<2x4x96x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      %58 = math.exp %in : f32
      linalg.yield %58 : f32
    } -> tensor<2x4x96x96xf32>
    %41 = tensor.empty() : tensor<2x4x96xf32>
    %42 = linalg.fill ins(%cst_1 : f32) outs(%41 : tensor<2x4x96xf32>) -> tensor<2x4x96xf32>
    %43 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%40 : tensor<2x4x96x96xf32>) outs(%42 : tensor<2x4x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      %58 = arith.addf %out, %in : f32
      linalg.yield %58 : f32
    } -> tensor<2x4x96xf32>
    %44 = tensor.empty() : tensor<2x4x96x96xf32>
    %45 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%43 : tensor<2x4x96xf32>) outs(%44 : tensor<2x4x96x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x96x96xf32>
    %46 = tensor.empty() : tensor<2x4x96x96xf32>
    %47 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%40, %45 : tensor<2x4x96x96xf32>, tensor<2x4x96x96xf32>) outs(%46 : tensor<2x4x96x96xf32>) {
    ^bb0(%in: f32, %in_12: f32, %out: f32):
      %58 = arith.divf %in, %in_12 : f32
      linalg.yield %58 : f32
    } -> tensor<2x4x96x96xf32>
    %collapsed_7 = tensor.collapse_shape %47 [[0, 1], [2], [3]] : tensor<2x4x96x96xf32> into tensor<8x96x96xf32>
    %collapsed_8 = tensor.collapse_shape %14 [[0, 1], [2], [3]] : tensor<2x4x96x16xf32> into tensor<8x96x16xf32>
    %48 = tensor.empty() : tensor<8x96x16xf32>
    %49 = linalg.fill ins(%cst_1 : f32) outs(%48 : tensor<8x96x16xf32>) -> tensor<8x96x16xf32>
    %50 = linalg.batch_matmul ins(%collapsed_7, %collapsed_8 : tensor<8x96x96xf32>, tensor<8x96x16xf32>) outs(%49 : tensor<8x96x16xf32>) -> tensor<8x96x16xf32>
    %expanded_9 = tensor.expand_shape %50 [[0, 1], [2], [3]] output_shape [2, 4, 96, 16] : tensor<8x96x16xf32> into tensor<2x4x96x16xf32>
    %51 = tensor.empty() : tensor<2x96x4x16xf32>
    %52 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_9 : tensor<2x4x96x16xf32>) outs(%51 : tensor<2x96x4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x96x4x16xf32>
    %collapsed_10 = tensor.collapse_shape %52 [[0, 1], [2, 3]] : tensor<2x96x4x16xf32> into tensor<192x64xf32>
    %53 = tensor.empty() : tensor<192x64xf32>
    %54 = linalg.fill ins(%cst_1 : f32) outs(%53 : tensor<192x64xf32>) -> tensor<192x64xf32>
    %55 = linalg.matmul ins(%collapsed_10, %arg4 : tensor<192x64xf32>, tensor<64x64xf32>) outs(%54 : tensor<192x64xf32>) -> tensor<192x64xf32>
    %expanded_11 = tensor.expand_shape %55 [[0, 1], [2]] output_shape [2, 96, 64] : tensor<192x64xf32> into tensor<2x96x64xf32>
    %56 = tensor.empty() : tensor<2x96x64xf32>
    %57 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0, %expanded_11 : tensor<2x96x64xf32>, tensor<2x96x64xf32>) outs(%56 : tensor<2x96x64xf32>) {
    ^bb0(%in: f32, %in_12: f32, %out: f32):
      %58 = arith.addf %in, %in_12 : f32
      linalg.yield %58 : f32
    } -> tensor<2x96x64xf32>
    return %57 : tensor<2x96x64xf32>
  }
}