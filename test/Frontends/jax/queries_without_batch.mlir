// jax case queries_without_batch; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_queries_without_batch {
  func.func @model(%arg0: tensor<4x11x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>) -> tensor<2x4x11x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant 0.204124153 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<4x2x49x24xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4x49x24xf32>) outs(%0 : tensor<4x2x49x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x2x49x24xf32>
    %2 = tensor.empty() : tensor<4x24x11xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0 : tensor<4x11x24xf32>) outs(%2 : tensor<4x24x11xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x24x11xf32>
    %collapsed = tensor.collapse_shape %1 [[0], [1, 2], [3]] : tensor<4x2x49x24xf32> into tensor<4x98x24xf32>
    %4 = tensor.empty() : tensor<4x98x11xf32>
    %5 = linalg.fill ins(%cst_1 : f32) outs(%4 : tensor<4x98x11xf32>) -> tensor<4x98x11xf32>
    %6 = linalg.batch_matmul ins(%collapsed, %3 : tensor<4x98x24xf32>, tensor<4x24x11xf32>) outs(%5 : tensor<4x98x11xf32>) -> tensor<4x98x11xf32>
    %expanded = tensor.expand_shape %6 [[0], [1, 2], [3]] output_shape [4, 2, 49, 11] : tensor<4x98x11xf32> into tensor<4x2x49x11xf32>
    %7 = tensor.empty() : tensor<2x4x11x49xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<4x2x49x11xf32>) outs(%7 : tensor<2x4x11x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x11x49xf32>
    %9 = tensor.empty() : tensor<2x4x11x49xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8 : tensor<2x4x11x49xf32>) outs(%9 : tensor<2x4x11x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = arith.mulf %in, %cst_0 : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x11x49xf32>
    %11 = tensor.empty() : tensor<2x4x11xf32>
    %12 = linalg.fill ins(%cst : f32) outs(%11 : tensor<2x4x11xf32>) -> tensor<2x4x11xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%10 : tensor<2x4x11x49xf32>) outs(%12 : tensor<2x4x11xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = arith.maximumf %out, %in : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x11xf32>
    %14 = tensor.empty() : tensor<2x4x11x49xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13 : tensor<2x4x11xf32>) outs(%14 : tensor<2x4x11x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x11x49xf32>
    %16 = tensor.empty() : tensor<2x4x11x49xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10, %15 : tensor<2x4x11x49xf32>, tensor<2x4x11x49xf32>) outs(%16 : tensor<2x4x11x49xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %30 = arith.subf %in, %in_5 : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x11x49xf32>
    %18 = tensor.empty() : tensor<2x4x11x49xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17 : tensor<2x4x11x49xf32>) outs(%18 : tensor<2x4x11x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = math.exp %in : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x11x49xf32>
    %20 = tensor.empty() : tensor<2x4x11xf32>
    %21 = linalg.fill ins(%cst_1 : f32) outs(%20 : tensor<2x4x11xf32>) -> tensor<2x4x11xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%19 : tensor<2x4x11x49xf32>) outs(%21 : tensor<2x4x11xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = arith.addf %out, %in : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x11xf32>
    %23 = tensor.empty() : tensor<2x4x11x49xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22 : tensor<2x4x11xf32>) outs(%23 : tensor<2x4x11x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x11x49xf32>
    %25 = tensor.empty() : tensor<2x4x11x49xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19, %24 : tensor<2x4x11x49xf32>, tensor<2x4x11x49xf32>) outs(%25 : tensor<2x4x11x49xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %30 = arith.divf %in, %in_5 : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x11x49xf32>
    %collapsed_2 = tensor.collapse_shape %26 [[0, 1], [2], [3]] : tensor<2x4x11x49xf32> into tensor<8x11x49xf32>
    %collapsed_3 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %27 = tensor.empty() : tensor<8x11x24xf32>
    %28 = linalg.fill ins(%cst_1 : f32) outs(%27 : tensor<8x11x24xf32>) -> tensor<8x11x24xf32>
    %29 = linalg.batch_matmul ins(%collapsed_2, %collapsed_3 : tensor<8x11x49xf32>, tensor<8x49x24xf32>) outs(%28 : tensor<8x11x24xf32>) -> tensor<8x11x24xf32>
    %expanded_4 = tensor.expand_shape %29 [[0, 1], [2], [3]] output_shape [2, 4, 11, 24] : tensor<8x11x24xf32> into tensor<2x4x11x24xf32>
    return %expanded_4 : tensor<2x4x11x24xf32>
  }
}