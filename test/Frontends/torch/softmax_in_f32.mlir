// torch case softmax_in_f32; torch 2.15.0, ONNX opset 18; iree-base-compiler
// attentions: 1
module {
  func.func @model(%arg0: tensor<2x4x33x24xf16>, %arg1: tensor<2x4x49x24xf16>, %arg2: tensor<2x4x49x24xf16>) -> (tensor<2x4x33x24xf16>) {
    %cst = arith.constant 0.000000e+00 : f32
    %c0_i64 = arith.constant 0 : i64
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<4.898440e+00> : tensor<f16>
    %3 = tensor.empty() : tensor<2x4x24x49xf16>
    %transposed = linalg.transpose ins(%arg1 : tensor<2x4x49x24xf16>) outs(%3 : tensor<2x4x24x49xf16>) permutation = [0, 1, 3, 2] 
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x33x24xf16> into tensor<8x33x24xf16>
    %collapsed_2 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x4x24x49xf16> into tensor<8x24x49xf16>
    %4 = tensor.empty() : tensor<8x33x49xf32>
    %5 = linalg.fill ins(%cst : f32) outs(%4 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %6 = linalg.batch_matmul ins(%collapsed, %collapsed_2 : tensor<8x33x24xf16>, tensor<8x24x49xf16>) outs(%5 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %7 = tensor.empty() : tensor<8x33x49xf16>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%6 : tensor<8x33x49xf32>) outs(%7 : tensor<8x33x49xf16>) {
    ^bb0(%in: f32, %out: f16):
      %32 = arith.truncf %in : f32 to f16
      linalg.yield %32 : f16
    } -> tensor<8x33x49xf16>
    %expanded = tensor.expand_shape %8 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf16> into tensor<2x4x33x49xf16>
    %9 = tensor.empty() : tensor<2x4x33x49xf16>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded, %cst_1 : tensor<2x4x33x49xf16>, tensor<f16>) outs(%9 : tensor<2x4x33x49xf16>) {
    ^bb0(%in: f16, %in_7: f16, %out: f16):
      %32 = arith.divf %in, %in_7 : f16
      linalg.yield %32 : f16
    } -> tensor<2x4x33x49xf16>
    %11 = tensor.empty() : tensor<2x4x33x49xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10 : tensor<2x4x33x49xf16>) outs(%11 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f16, %out: f32):
      %32 = arith.extf %in : f16 to f32
      linalg.yield %32 : f32
    } -> tensor<2x4x33x49xf32>
    %13 = tensor.empty() : tensor<2x4x33xi64>
    %14 = linalg.fill ins(%c0_i64 : i64) outs(%13 : tensor<2x4x33xi64>) -> tensor<2x4x33xi64>
    %15 = tensor.empty() : tensor<2x4x33xf32>
    %16 = linalg.fill ins(%cst_0 : f32) outs(%15 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %17:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%12 : tensor<2x4x33x49xf32>) outs(%16, %14 : tensor<2x4x33xf32>, tensor<2x4x33xi64>) {
    ^bb0(%in: f32, %out: f32, %out_7: i64):
      %32 = linalg.index 3 : index
      %33 = arith.index_cast %32 : index to i64
      %34 = arith.maximumf %in, %out : f32
      %35 = arith.cmpf ogt, %in, %out : f32
      %36 = arith.select %35, %33, %out_7 : i64
      linalg.yield %34, %36 : f32, i64
    } -> (tensor<2x4x33xf32>, tensor<2x4x33xi64>)
    %expanded_3 = tensor.expand_shape %17#0 [[0], [1], [2, 3]] output_shape [2, 4, 33, 1] : tensor<2x4x33xf32> into tensor<2x4x33x1xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%12, %expanded_3 : tensor<2x4x33x49xf32>, tensor<2x4x33x1xf32>) outs(%11 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %32 = arith.subf %in, %in_7 : f32
      linalg.yield %32 : f32
    } -> tensor<2x4x33x49xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18 : tensor<2x4x33x49xf32>) outs(%11 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = math.exp %in : f32
      linalg.yield %32 : f32
    } -> tensor<2x4x33x49xf32>
    %20 = tensor.empty() : tensor<2x4x33x1xf32>
    %21 = linalg.fill ins(%cst : f32) outs(%20 : tensor<2x4x33x1xf32>) -> tensor<2x4x33x1xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%19 : tensor<2x4x33x49xf32>) outs(%21 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = arith.addf %in, %out : f32
      linalg.yield %32 : f32
    } -> tensor<2x4x33x1xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19, %22 : tensor<2x4x33x49xf32>, tensor<2x4x33x1xf32>) outs(%11 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %32 = arith.divf %in, %in_7 : f32
      linalg.yield %32 : f32
    } -> tensor<2x4x33x49xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<2x4x33x49xf32>) outs(%9 : tensor<2x4x33x49xf16>) {
    ^bb0(%in: f32, %out: f16):
      %32 = arith.truncf %in : f32 to f16
      linalg.yield %32 : f16
    } -> tensor<2x4x33x49xf16>
    %collapsed_4 = tensor.collapse_shape %24 [[0, 1], [2], [3]] : tensor<2x4x33x49xf16> into tensor<8x33x49xf16>
    %collapsed_5 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf16> into tensor<8x49x24xf16>
    %25 = tensor.empty() : tensor<8x33x24xf32>
    %26 = linalg.fill ins(%cst : f32) outs(%25 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %27 = linalg.batch_matmul ins(%collapsed_4, %collapsed_5 : tensor<8x33x49xf16>, tensor<8x49x24xf16>) outs(%26 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %28 = tensor.empty() : tensor<8x33x24xf16>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%27 : tensor<8x33x24xf32>) outs(%28 : tensor<8x33x24xf16>) {
    ^bb0(%in: f32, %out: f16):
      %32 = arith.truncf %in : f32 to f16
      linalg.yield %32 : f16
    } -> tensor<8x33x24xf16>
    %expanded_6 = tensor.expand_shape %29 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf16> into tensor<2x4x33x24xf16>
    return %expanded_6 : tensor<2x4x33x24xf16>
  }
}
