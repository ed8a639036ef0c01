// jax case bfloat16_softmax_in_f32; jax 0.10.2; iree-base-compiler
// attentions: 1
module @jit_bfloat16_softmax_in_f32 {
  func.func @model(%arg0: tensor<2x4x33x24xbf16>, %arg1: tensor<2x4x49x24xbf16>, %arg2: tensor<2x4x49x24xbf16>) -> tensor<2x4x33x24xbf16> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant 2.001950e-01 : bf16
    %cst_2 = arith.constant 0.000000e+00 : bf16
    %0 = tensor.empty() : tensor<2x4x24x49xbf16>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4x49x24xbf16>) outs(%0 : tensor<2x4x24x49xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<2x4x24x49xbf16>
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x33x24xbf16> into tensor<8x33x24xbf16>
    %collapsed_3 = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<2x4x24x49xbf16> into tensor<8x24x49xbf16>
    %2 = tensor.empty() : tensor<8x33x49xbf16>
    %3 = linalg.fill ins(%cst_2 : bf16) outs(%2 : tensor<8x33x49xbf16>) -> tensor<8x33x49xbf16>
    %4 = linalg.batch_matmul ins(%collapsed, %collapsed_3 : tensor<8x33x24xbf16>, tensor<8x24x49xbf16>) outs(%3 : tensor<8x33x49xbf16>) -> tensor<8x33x49xbf16>
    %expanded = tensor.expand_shape %4 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xbf16> into tensor<2x4x33x49xbf16>
    %5 = tensor.empty() : tensor<2x4x33x49xbf16>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x33x49xbf16>) outs(%5 : tensor<2x4x33x49xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %30 = arith.mulf %in, %cst_1 : bf16
      linalg.yield %30 : bf16
    } -> tensor<2x4x33x49xbf16>
    %7 = tensor.empty() : tensor<2x4x33x49xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6 : tensor<2x4x33x49xbf16>) outs(%7 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %30 = arith.extf %in : bf16 to f32
      linalg.yield %30 : f32
    } -> tensor<2x4x33x49xf32>
    %9 = tensor.empty() : tensor<2x4x33xf32>
    %10 = linalg.fill ins(%cst_0 : f32) outs(%9 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%8 : tensor<2x4x33x49xf32>) outs(%10 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = arith.maximumf %out, %in : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x33xf32>
    %12 = tensor.empty() : tensor<2x4x33x49xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11 : tensor<2x4x33xf32>) outs(%12 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %14 = tensor.empty() : tensor<2x4x33x49xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8, %13 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%14 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %30 = arith.subf %in, %in_7 : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x33x49xf32>
    %16 = tensor.empty() : tensor<2x4x33x49xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<2x4x33x49xf32>) outs(%16 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = math.exp %in : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x33x49xf32>
    %18 = tensor.empty() : tensor<2x4x33xf32>
    %19 = linalg.fill ins(%cst : f32) outs(%18 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%17 : tensor<2x4x33x49xf32>) outs(%19 : tensor<2x4x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = arith.addf %out, %in : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x33xf32>
    %21 = tensor.empty() : tensor<2x4x33x49xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20 : tensor<2x4x33xf32>) outs(%21 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %23 = tensor.empty() : tensor<2x4x33x49xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17, %22 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%23 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %30 = arith.divf %in, %in_7 : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x33x49xf32>
    %25 = tensor.empty() : tensor<2x4x33x49xbf16>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%24 : tensor<2x4x33x49xf32>) outs(%25 : tensor<2x4x33x49xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %30 = arith.truncf %in : f32 to bf16
      linalg.yield %30 : bf16
    } -> tensor<2x4x33x49xbf16>
    %collapsed_4 = tensor.collapse_shape %26 [[0, 1], [2], [3]] : tensor<2x4x33x49xbf16> into tensor<8x33x49xbf16>
    %collapsed_5 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xbf16> into tensor<8x49x24xbf16>
    %27 = tensor.empty() : tensor<8x33x24xbf16>
    %28 = linalg.fill ins(%cst_2 : bf16) outs(%27 : tensor<8x33x24xbf16>) -> tensor<8x33x24xbf16>
    %29 = linalg.batch_matmul ins(%collapsed_4, %collapsed_5 : tensor<8x33x49xbf16>, tensor<8x49x24xbf16>) outs(%28 : tensor<8x33x24xbf16>) -> tensor<8x33x24xbf16>
    %expanded_6 = tensor.expand_shape %29 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xbf16> into tensor<2x4x33x24xbf16>
    return %expanded_6 : tensor<2x4x33x24xbf16>
  }
}