// jax case any_key_guard; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_any_key_guard {
  func.func @model(%arg0: tensor<2x4x33x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>, %arg3: tensor<2x1x33x49xi1>) -> tensor<2x4x33x24xf32> {
    %false = arith.constant false
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant -3.40282347E+38 : f32
    %cst_1 = arith.constant 0.204124153 : f32
    %cst_2 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x4x24x49xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4x49x24xf32>) outs(%0 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x49xf32>
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_3 = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %2 = tensor.empty() : tensor<8x33x49xf32>
    %3 = linalg.fill ins(%cst_2 : f32) outs(%2 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %4 = linalg.batch_matmul ins(%collapsed, %collapsed_3 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%3 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded = tensor.expand_shape %4 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %5 = tensor.empty() : tensor<2x4x33x49xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x33x49xf32>) outs(%5 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %37 = arith.mulf %in, %cst_1 : f32
      linalg.yield %37 : f32
    } -> tensor<2x4x33x49xf32>
    %7 = tensor.empty() : tensor<2x4x33x49xi1>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3 : tensor<2x1x33x49xi1>) outs(%7 : tensor<2x4x33x49xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x33x49xi1>
    %9 = tensor.empty() : tensor<2x4x33x49xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8, %6 : tensor<2x4x33x49xi1>, tensor<2x4x33x49xf32>) outs(%9 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: i1, %in_8: f32, %out: f32):
      %37 = arith.select %in, %in_8, %cst_0 : f32
      linalg.yield %37 : f32
    } -> tensor<2x4x33x49xf32>
    %11 = tensor.empty() : tensor<2x4x33xf32>
    %12 = linalg.fill ins(%cst : f32) outs(%11 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%10 : tensor<2x4x33x49xf32>) outs(%12 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %37 = arith.maximumf %out, %in : f32
      linalg.yield %37 : f32
    } -> tensor<2x4x33xf32>
    %14 = tensor.empty() : tensor<2x4x33x49xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13 : tensor<2x4x33xf32>) outs(%14 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %16 = tensor.empty() : tensor<2x4x33x49xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10, %15 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%16 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %37 = arith.subf %in, %in_8 : f32
      linalg.yield %37 : f32
    } -> tensor<2x4x33x49xf32>
    %18 = tensor.empty() : tensor<2x4x33x49xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17 : tensor<2x4x33x49xf32>) outs(%18 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %37 = math.exp %in : f32
      linalg.yield %37 : f32
    } -> tensor<2x4x33x49xf32>
    %20 = tensor.empty() : tensor<2x4x33xf32>
    %21 = linalg.fill ins(%cst_2 : f32) outs(%20 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%19 : tensor<2x4x33x49xf32>) outs(%21 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %37 = arith.addf %out, %in : f32
      linalg.yield %37 : f32
    } -> tensor<2x4x33xf32>
    %23 = tensor.empty() : tensor<2x4x33x49xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22 : tensor<2x4x33xf32>) outs(%23 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %25 = tensor.empty() : tensor<2x4x33x49xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19, %24 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%25 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %37 = arith.divf %in, %in_8 : f32
      linalg.yield %37 : f32
    } -> tensor<2x4x33x49xf32>
    %27 = tensor.empty() : tensor<2x1x33xi1>
    %28 = linalg.fill ins(%false : i1) outs(%27 : tensor<2x1x33xi1>) -> tensor<2x1x33xi1>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%arg3 : tensor<2x1x33x49xi1>) outs(%28 : tensor<2x1x33xi1>) {
    ^bb0(%in: i1, %out: i1):
      %37 = arith.ori %out, %in : i1
      linalg.yield %37 : i1
    } -> tensor<2x1x33xi1>
    %expanded_4 = tensor.expand_shape %29 [[0], [1], [2, 3]] output_shape [2, 1, 33, 1] : tensor<2x1x33xi1> into tensor<2x1x33x1xi1>
    %30 = tensor.empty() : tensor<2x4x33x49xi1>
    %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4 : tensor<2x1x33x1xi1>) outs(%30 : tensor<2x4x33x49xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x33x49xi1>
    %32 = tensor.empty() : tensor<2x4x33x49xf32>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%31, %26 : tensor<2x4x33x49xi1>, tensor<2x4x33x49xf32>) outs(%32 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: i1, %in_8: f32, %out: f32):
      %37 = arith.select %in, %in_8, %cst_2 : f32
      linalg.yield %37 : f32
    } -> tensor<2x4x33x49xf32>
    %collapsed_5 = tensor.collapse_shape %33 [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %collapsed_6 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %34 = tensor.empty() : tensor<8x33x24xf32>
    %35 = linalg.fill ins(%cst_2 : f32) outs(%34 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %36 = linalg.batch_matmul ins(%collapsed_5, %collapsed_6 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%35 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_7 = tensor.expand_shape %36 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    return %expanded_7 : tensor<2x4x33x24xf32>
  }
}