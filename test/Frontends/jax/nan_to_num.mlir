// jax case nan_to_num; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_nan_to_num {
  func.func @model(%arg0: tensor<2x4x33x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>, %arg3: tensor<2x1x33x49xi1>) -> tensor<2x4x33x24xf32> {
    %cst = arith.constant -3.40282347E+38 : f32
    %cst_0 = arith.constant 3.40282347E+38 : f32
    %cst_1 = arith.constant 0x7F800000 : f32
    %cst_2 = arith.constant 0xFF800000 : f32
    %cst_3 = arith.constant 0.204124153 : f32
    %cst_4 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x4x24x49xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4x49x24xf32>) outs(%0 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x49xf32>
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_5 = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %2 = tensor.empty() : tensor<8x33x49xf32>
    %3 = linalg.fill ins(%cst_4 : f32) outs(%2 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %4 = linalg.batch_matmul ins(%collapsed, %collapsed_5 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%3 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded = tensor.expand_shape %4 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %5 = tensor.empty() : tensor<2x4x33x49xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x33x49xf32>) outs(%5 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %42 = arith.mulf %in, %cst_3 : f32
      linalg.yield %42 : f32
    } -> tensor<2x4x33x49xf32>
    %7 = tensor.empty() : tensor<2x4x33x49xi1>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3 : tensor<2x1x33x49xi1>) outs(%7 : tensor<2x4x33x49xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x33x49xi1>
    %9 = tensor.empty() : tensor<2x4x33x49xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8, %6 : tensor<2x4x33x49xi1>, tensor<2x4x33x49xf32>) outs(%9 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: i1, %in_9: f32, %out: f32):
      %42 = arith.select %in, %in_9, %cst_2 : f32
      linalg.yield %42 : f32
    } -> tensor<2x4x33x49xf32>
    %11 = tensor.empty() : tensor<2x4x33xf32>
    %12 = linalg.fill ins(%cst_2 : f32) outs(%11 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%10 : tensor<2x4x33x49xf32>) outs(%12 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %42 = arith.maximumf %out, %in : f32
      linalg.yield %42 : f32
    } -> tensor<2x4x33xf32>
    %14 = tensor.empty() : tensor<2x4x33x49xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13 : tensor<2x4x33xf32>) outs(%14 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %16 = tensor.empty() : tensor<2x4x33x49xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10, %15 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%16 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %42 = arith.subf %in, %in_9 : f32
      linalg.yield %42 : f32
    } -> tensor<2x4x33x49xf32>
    %18 = tensor.empty() : tensor<2x4x33x49xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17 : tensor<2x4x33x49xf32>) outs(%18 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %42 = math.exp %in : f32
      linalg.yield %42 : f32
    } -> tensor<2x4x33x49xf32>
    %20 = tensor.empty() : tensor<2x4x33xf32>
    %21 = linalg.fill ins(%cst_4 : f32) outs(%20 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%19 : tensor<2x4x33x49xf32>) outs(%21 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %42 = arith.addf %out, %in : f32
      linalg.yield %42 : f32
    } -> tensor<2x4x33xf32>
    %23 = tensor.empty() : tensor<2x4x33x49xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22 : tensor<2x4x33xf32>) outs(%23 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %25 = tensor.empty() : tensor<2x4x33x49xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19, %24 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%25 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %42 = arith.divf %in, %in_9 : f32
      linalg.yield %42 : f32
    } -> tensor<2x4x33x49xf32>
    %27 = tensor.empty() : tensor<2x4x33x49xi1>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%26 : tensor<2x4x33x49xf32>) outs(%27 : tensor<2x4x33x49xi1>) {
    ^bb0(%in: f32, %out: i1):
      %42 = arith.cmpf une, %in, %in : f32
      linalg.yield %42 : i1
    } -> tensor<2x4x33x49xi1>
    %29 = tensor.empty() : tensor<2x4x33x49xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%28, %26 : tensor<2x4x33x49xi1>, tensor<2x4x33x49xf32>) outs(%29 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: i1, %in_9: f32, %out: f32):
      %42 = arith.select %in, %cst_4, %in_9 : f32
      linalg.yield %42 : f32
    } -> tensor<2x4x33x49xf32>
    %31 = tensor.empty() : tensor<2x4x33x49xi1>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%30 : tensor<2x4x33x49xf32>) outs(%31 : tensor<2x4x33x49xi1>) {
    ^bb0(%in: f32, %out: i1):
      %42 = arith.cmpf oeq, %in, %cst_1 : f32
      linalg.yield %42 : i1
    } -> tensor<2x4x33x49xi1>
    %33 = tensor.empty() : tensor<2x4x33x49xf32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%32, %30 : tensor<2x4x33x49xi1>, tensor<2x4x33x49xf32>) outs(%33 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: i1, %in_9: f32, %out: f32):
      %42 = arith.select %in, %cst_0, %in_9 : f32
      linalg.yield %42 : f32
    } -> tensor<2x4x33x49xf32>
    %35 = tensor.empty() : tensor<2x4x33x49xi1>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%34 : tensor<2x4x33x49xf32>) outs(%35 : tensor<2x4x33x49xi1>) {
    ^bb0(%in: f32, %out: i1):
      %42 = arith.cmpf oeq, %in, %cst_2 : f32
      linalg.yield %42 : i1
    } -> tensor<2x4x33x49xi1>
    %37 = tensor.empty() : tensor<2x4x33x49xf32>
    %38 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36, %34 : tensor<2x4x33x49xi1>, tensor<2x4x33x49xf32>) outs(%37 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: i1, %in_9: f32, %out: f32):
      %42 = arith.select %in, %cst, %in_9 : f32
      linalg.yield %42 : f32
    } -> tensor<2x4x33x49xf32>
    %collapsed_6 = tensor.collapse_shape %38 [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %collapsed_7 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %39 = tensor.empty() : tensor<8x33x24xf32>
    %40 = linalg.fill ins(%cst_4 : f32) outs(%39 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %41 = linalg.batch_matmul ins(%collapsed_6, %collapsed_7 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%40 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_8 = tensor.expand_shape %41 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    return %expanded_8 : tensor<2x4x33x24xf32>
  }
}