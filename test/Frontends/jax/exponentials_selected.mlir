// jax case exponentials_selected; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_exponentials_selected {
  func.func @model(%arg0: tensor<2x4x33x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>, %arg3: tensor<2x1x33x49xi1>) -> tensor<2x4x33x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant 2.000000e-01 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x4x24x49xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4x49x24xf32>) outs(%0 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x49xf32>
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_2 = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %2 = tensor.empty() : tensor<8x33x49xf32>
    %3 = linalg.fill ins(%cst_1 : f32) outs(%2 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %4 = linalg.batch_matmul ins(%collapsed, %collapsed_2 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%3 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded = tensor.expand_shape %4 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %5 = tensor.empty() : tensor<2x4x33x49xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x33x49xf32>) outs(%5 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %34 = arith.mulf %in, %cst_0 : f32
      linalg.yield %34 : f32
    } -> tensor<2x4x33x49xf32>
    %7 = tensor.empty() : tensor<2x4x33xf32>
    %8 = linalg.fill ins(%cst : f32) outs(%7 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%6 : tensor<2x4x33x49xf32>) outs(%8 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %34 = arith.maximumf %out, %in : f32
      linalg.yield %34 : f32
    } -> tensor<2x4x33xf32>
    %10 = tensor.empty() : tensor<2x4x33x49xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9 : tensor<2x4x33xf32>) outs(%10 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %12 = tensor.empty() : tensor<2x4x33x49xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %11 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%12 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %34 = arith.subf %in, %in_6 : f32
      linalg.yield %34 : f32
    } -> tensor<2x4x33x49xf32>
    %14 = tensor.empty() : tensor<2x4x33x49xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13 : tensor<2x4x33x49xf32>) outs(%14 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %34 = math.exp %in : f32
      linalg.yield %34 : f32
    } -> tensor<2x4x33x49xf32>
    %16 = tensor.empty() : tensor<f32>
    %17 = linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []} outs(%16 : tensor<f32>) {
    ^bb0(%out: f32):
      linalg.yield %cst_1 : f32
    } -> tensor<f32>
    %18 = tensor.empty() : tensor<2x4x33x49xi1>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3 : tensor<2x1x33x49xi1>) outs(%18 : tensor<2x4x33x49xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x33x49xi1>
    %20 = tensor.empty() : tensor<2x4x33x49xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17 : tensor<f32>) outs(%20 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %22 = tensor.empty() : tensor<2x4x33x49xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19, %15, %21 : tensor<2x4x33x49xi1>, tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%22 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: i1, %in_6: f32, %in_7: f32, %out: f32):
      %34 = arith.select %in, %in_6, %in_7 : f32
      linalg.yield %34 : f32
    } -> tensor<2x4x33x49xf32>
    %collapsed_3 = tensor.collapse_shape %23 [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %collapsed_4 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %24 = tensor.empty() : tensor<8x33x24xf32>
    %25 = linalg.fill ins(%cst_1 : f32) outs(%24 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %26 = linalg.batch_matmul ins(%collapsed_3, %collapsed_4 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%25 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_5 = tensor.expand_shape %26 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    %27 = tensor.empty() : tensor<2x4x33xf32>
    %28 = linalg.fill ins(%cst_1 : f32) outs(%27 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%23 : tensor<2x4x33x49xf32>) outs(%28 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %34 = arith.addf %out, %in : f32
      linalg.yield %34 : f32
    } -> tensor<2x4x33xf32>
    %30 = tensor.empty() : tensor<2x4x33x24xf32>
    %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%29 : tensor<2x4x33xf32>) outs(%30 : tensor<2x4x33x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x24xf32>
    %32 = tensor.empty() : tensor<2x4x33x24xf32>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5, %31 : tensor<2x4x33x24xf32>, tensor<2x4x33x24xf32>) outs(%32 : tensor<2x4x33x24xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %34 = arith.divf %in, %in_6 : f32
      linalg.yield %34 : f32
    } -> tensor<2x4x33x24xf32>
    return %33 : tensor<2x4x33x24xf32>
  }
}