// torch case half; torch 2.15.0, ONNX opset 18; iree-base-compiler
// attentions: 1
module {
  func.func @model(%arg0: tensor<2x4x33x24xf16>, %arg1: tensor<2x4x49x24xf16>, %arg2: tensor<2x4x49x24xf16>) -> (tensor<2x4x33x24xf16>) {
    %cst = arith.constant 0.000000e+00 : f32
    %c0_i64 = arith.constant 0 : i64
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<4.516600e-01> : tensor<1xf16>
    %collapsed = tensor.collapse_shape %arg1 [[0, 1], [2], [3]] : tensor<2x4x49x24xf16> into tensor<8x49x24xf16>
    %3 = tensor.empty() : tensor<8x24x49xf16>
    %transposed = linalg.transpose ins(%collapsed : tensor<8x49x24xf16>) outs(%3 : tensor<8x24x49xf16>) permutation = [0, 2, 1] 
    %expanded = tensor.expand_shape %transposed [[0, 1], [2], [3]] output_shape [2, 4, 24, 49] : tensor<8x24x49xf16> into tensor<2x4x24x49xf16>
    %4 = tensor.empty() : tensor<2x4x33x24xf16>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %cst_1 : tensor<2x4x33x24xf16>, tensor<1xf16>) outs(%4 : tensor<2x4x33x24xf16>) {
    ^bb0(%in: f16, %in_9: f16, %out: f16):
      %35 = arith.mulf %in, %in_9 : f16
      linalg.yield %35 : f16
    } -> tensor<2x4x33x24xf16>
    %6 = tensor.empty() : tensor<2x4x24x49xf16>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded, %cst_1 : tensor<2x4x24x49xf16>, tensor<1xf16>) outs(%6 : tensor<2x4x24x49xf16>) {
    ^bb0(%in: f16, %in_9: f16, %out: f16):
      %35 = arith.mulf %in, %in_9 : f16
      linalg.yield %35 : f16
    } -> tensor<2x4x24x49xf16>
    %collapsed_2 = tensor.collapse_shape %5 [[0, 1], [2], [3]] : tensor<2x4x33x24xf16> into tensor<8x33x24xf16>
    %collapsed_3 = tensor.collapse_shape %7 [[0, 1], [2], [3]] : tensor<2x4x24x49xf16> into tensor<8x24x49xf16>
    %8 = tensor.empty() : tensor<8x33x49xf32>
    %9 = linalg.fill ins(%cst : f32) outs(%8 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %10 = linalg.batch_matmul ins(%collapsed_2, %collapsed_3 : tensor<8x33x24xf16>, tensor<8x24x49xf16>) outs(%9 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %11 = tensor.empty() : tensor<8x33x49xf16>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%10 : tensor<8x33x49xf32>) outs(%11 : tensor<8x33x49xf16>) {
    ^bb0(%in: f32, %out: f16):
      %35 = arith.truncf %in : f32 to f16
      linalg.yield %35 : f16
    } -> tensor<8x33x49xf16>
    %expanded_4 = tensor.expand_shape %12 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf16> into tensor<2x4x33x49xf16>
    %13 = tensor.empty() : tensor<2x4x33x49xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4 : tensor<2x4x33x49xf16>) outs(%13 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f16, %out: f32):
      %35 = arith.extf %in : f16 to f32
      linalg.yield %35 : f32
    } -> tensor<2x4x33x49xf32>
    %15 = tensor.empty() : tensor<2x4x33xi64>
    %16 = linalg.fill ins(%c0_i64 : i64) outs(%15 : tensor<2x4x33xi64>) -> tensor<2x4x33xi64>
    %17 = tensor.empty() : tensor<2x4x33xf32>
    %18 = linalg.fill ins(%cst_0 : f32) outs(%17 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %19:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%14 : tensor<2x4x33x49xf32>) outs(%18, %16 : tensor<2x4x33xf32>, tensor<2x4x33xi64>) {
    ^bb0(%in: f32, %out: f32, %out_9: i64):
      %35 = linalg.index 3 : index
      %36 = arith.index_cast %35 : index to i64
      %37 = arith.maximumf %in, %out : f32
      %38 = arith.cmpf ogt, %in, %out : f32
      %39 = arith.select %38, %36, %out_9 : i64
      linalg.yield %37, %39 : f32, i64
    } -> (tensor<2x4x33xf32>, tensor<2x4x33xi64>)
    %expanded_5 = tensor.expand_shape %19#0 [[0], [1], [2, 3]] output_shape [2, 4, 33, 1] : tensor<2x4x33xf32> into tensor<2x4x33x1xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14, %expanded_5 : tensor<2x4x33x49xf32>, tensor<2x4x33x1xf32>) outs(%13 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %35 = arith.subf %in, %in_9 : f32
      linalg.yield %35 : f32
    } -> tensor<2x4x33x49xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20 : tensor<2x4x33x49xf32>) outs(%13 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %35 = math.exp %in : f32
      linalg.yield %35 : f32
    } -> tensor<2x4x33x49xf32>
    %22 = tensor.empty() : tensor<2x4x33x1xf32>
    %23 = linalg.fill ins(%cst : f32) outs(%22 : tensor<2x4x33x1xf32>) -> tensor<2x4x33x1xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%21 : tensor<2x4x33x49xf32>) outs(%23 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %35 = arith.addf %in, %out : f32
      linalg.yield %35 : f32
    } -> tensor<2x4x33x1xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21, %24 : tensor<2x4x33x49xf32>, tensor<2x4x33x1xf32>) outs(%13 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %35 = arith.divf %in, %in_9 : f32
      linalg.yield %35 : f32
    } -> tensor<2x4x33x49xf32>
    %26 = tensor.empty() : tensor<2x4x33x49xf16>
    %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%25 : tensor<2x4x33x49xf32>) outs(%26 : tensor<2x4x33x49xf16>) {
    ^bb0(%in: f32, %out: f16):
      %35 = arith.truncf %in : f32 to f16
      linalg.yield %35 : f16
    } -> tensor<2x4x33x49xf16>
    %collapsed_6 = tensor.collapse_shape %27 [[0, 1], [2], [3]] : tensor<2x4x33x49xf16> into tensor<8x33x49xf16>
    %collapsed_7 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf16> into tensor<8x49x24xf16>
    %28 = tensor.empty() : tensor<8x33x24xf32>
    %29 = linalg.fill ins(%cst : f32) outs(%28 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %30 = linalg.batch_matmul ins(%collapsed_6, %collapsed_7 : tensor<8x33x49xf16>, tensor<8x49x24xf16>) outs(%29 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %31 = tensor.empty() : tensor<8x33x24xf16>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%30 : tensor<8x33x24xf32>) outs(%31 : tensor<8x33x24xf16>) {
    ^bb0(%in: f32, %out: f16):
      %35 = arith.truncf %in : f32 to f16
      linalg.yield %35 : f16
    } -> tensor<8x33x24xf16>
    %expanded_8 = tensor.expand_shape %32 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf16> into tensor<2x4x33x24xf16>
    return %expanded_8 : tensor<2x4x33x24xf16>
  }
}
