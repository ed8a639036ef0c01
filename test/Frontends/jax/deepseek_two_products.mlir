// jax case deepseek_two_products; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_deepseek_two_products {
  func.func @model(%arg0: tensor<2x4x33x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>, %arg3: tensor<2x4x33x8xf32>, %arg4: tensor<2x49x8xf32>) -> tensor<2x4x33x24xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant 1.500000e-01 : f32
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
    %5 = tensor.empty() : tensor<2x8x49xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg4 : tensor<2x49x8xf32>) outs(%5 : tensor<2x8x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x8x49xf32>
    %collapsed_3 = tensor.collapse_shape %arg3 [[0], [1, 2], [3]] : tensor<2x4x33x8xf32> into tensor<2x132x8xf32>
    %7 = tensor.empty() : tensor<2x132x49xf32>
    %8 = linalg.fill ins(%cst_1 : f32) outs(%7 : tensor<2x132x49xf32>) -> tensor<2x132x49xf32>
    %9 = linalg.batch_matmul ins(%collapsed_3, %6 : tensor<2x132x8xf32>, tensor<2x8x49xf32>) outs(%8 : tensor<2x132x49xf32>) -> tensor<2x132x49xf32>
    %expanded_4 = tensor.expand_shape %9 [[0], [1, 2], [3]] output_shape [2, 4, 33, 49] : tensor<2x132x49xf32> into tensor<2x4x33x49xf32>
    %10 = tensor.empty() : tensor<2x4x33x49xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded, %expanded_4 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%10 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %33 = arith.addf %in, %in_8 : f32
      linalg.yield %33 : f32
    } -> tensor<2x4x33x49xf32>
    %12 = tensor.empty() : tensor<2x4x33x49xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11 : tensor<2x4x33x49xf32>) outs(%12 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %33 = arith.mulf %in, %cst_0 : f32
      linalg.yield %33 : f32
    } -> tensor<2x4x33x49xf32>
    %14 = tensor.empty() : tensor<2x4x33xf32>
    %15 = linalg.fill ins(%cst : f32) outs(%14 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%13 : tensor<2x4x33x49xf32>) outs(%15 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %33 = arith.maximumf %out, %in : f32
      linalg.yield %33 : f32
    } -> tensor<2x4x33xf32>
    %17 = tensor.empty() : tensor<2x4x33x49xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16 : tensor<2x4x33xf32>) outs(%17 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %19 = tensor.empty() : tensor<2x4x33x49xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13, %18 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%19 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %33 = arith.subf %in, %in_8 : f32
      linalg.yield %33 : f32
    } -> tensor<2x4x33x49xf32>
    %21 = tensor.empty() : tensor<2x4x33x49xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20 : tensor<2x4x33x49xf32>) outs(%21 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %33 = math.exp %in : f32
      linalg.yield %33 : f32
    } -> tensor<2x4x33x49xf32>
    %23 = tensor.empty() : tensor<2x4x33xf32>
    %24 = linalg.fill ins(%cst_1 : f32) outs(%23 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%22 : tensor<2x4x33x49xf32>) outs(%24 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %33 = arith.addf %out, %in : f32
      linalg.yield %33 : f32
    } -> tensor<2x4x33xf32>
    %26 = tensor.empty() : tensor<2x4x33x49xf32>
    %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%25 : tensor<2x4x33xf32>) outs(%26 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %28 = tensor.empty() : tensor<2x4x33x49xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22, %27 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%28 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %33 = arith.divf %in, %in_8 : f32
      linalg.yield %33 : f32
    } -> tensor<2x4x33x49xf32>
    %collapsed_5 = tensor.collapse_shape %29 [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %collapsed_6 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %30 = tensor.empty() : tensor<8x33x24xf32>
    %31 = linalg.fill ins(%cst_1 : f32) outs(%30 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %32 = linalg.batch_matmul ins(%collapsed_5, %collapsed_6 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%31 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_7 = tensor.expand_shape %32 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    return %expanded_7 : tensor<2x4x33x24xf32>
  }
}