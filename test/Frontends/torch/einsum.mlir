// torch case einsum; torch 2.15.0, ONNX opset 18; iree-base-compiler
// attentions: 1
module {
  func.func @model(%arg0: tensor<2x33x4x24xf32>, %arg1: tensor<2x49x4x24xf32>, %arg2: tensor<2x49x4x24xf32>) -> (tensor<2x33x4x24xf32>) {
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<2.000000e-01> : tensor<f32>
    %3 = tensor.empty() : tensor<2x4x33x24xf32>
    %transposed = linalg.transpose ins(%arg0 : tensor<2x33x4x24xf32>) outs(%3 : tensor<2x4x33x24xf32>) permutation = [0, 2, 1, 3] 
    %4 = tensor.empty() : tensor<2x4x24x49xf32>
    %transposed_2 = linalg.transpose ins(%arg1 : tensor<2x49x4x24xf32>) outs(%4 : tensor<2x4x24x49xf32>) permutation = [0, 2, 3, 1] 
    %collapsed = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_3 = tensor.collapse_shape %transposed_2 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %5 = tensor.empty() : tensor<8x33x49xf32>
    %6 = linalg.fill ins(%cst : f32) outs(%5 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %7 = linalg.batch_matmul ins(%collapsed, %collapsed_3 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%6 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded = tensor.expand_shape %7 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %8 = tensor.empty() : tensor<2x4x33x49xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded, %cst_1 : tensor<2x4x33x49xf32>, tensor<f32>) outs(%8 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %28 = arith.mulf %in, %in_10 : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x33x49xf32>
    %10 = tensor.empty() : tensor<2x4x33xi64>
    %11 = linalg.fill ins(%c0_i64 : i64) outs(%10 : tensor<2x4x33xi64>) -> tensor<2x4x33xi64>
    %12 = tensor.empty() : tensor<2x4x33xf32>
    %13 = linalg.fill ins(%cst_0 : f32) outs(%12 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %14:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%9 : tensor<2x4x33x49xf32>) outs(%13, %11 : tensor<2x4x33xf32>, tensor<2x4x33xi64>) {
    ^bb0(%in: f32, %out: f32, %out_10: i64):
      %28 = linalg.index 3 : index
      %29 = arith.index_cast %28 : index to i64
      %30 = arith.maximumf %in, %out : f32
      %31 = arith.cmpf ogt, %in, %out : f32
      %32 = arith.select %31, %29, %out_10 : i64
      linalg.yield %30, %32 : f32, i64
    } -> (tensor<2x4x33xf32>, tensor<2x4x33xi64>)
    %expanded_4 = tensor.expand_shape %14#0 [[0], [1], [2, 3]] output_shape [2, 4, 33, 1] : tensor<2x4x33xf32> into tensor<2x4x33x1xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9, %expanded_4 : tensor<2x4x33x49xf32>, tensor<2x4x33x1xf32>) outs(%8 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %28 = arith.subf %in, %in_10 : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x33x49xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<2x4x33x49xf32>) outs(%8 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %28 = math.exp %in : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x33x49xf32>
    %17 = tensor.empty() : tensor<2x4x33x1xf32>
    %18 = linalg.fill ins(%cst : f32) outs(%17 : tensor<2x4x33x1xf32>) -> tensor<2x4x33x1xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%16 : tensor<2x4x33x49xf32>) outs(%18 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %28 = arith.addf %in, %out : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x33x1xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16, %19 : tensor<2x4x33x49xf32>, tensor<2x4x33x1xf32>) outs(%8 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %28 = arith.divf %in, %in_10 : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x33x49xf32>
    %21 = tensor.empty() : tensor<2x4x49x24xf32>
    %transposed_5 = linalg.transpose ins(%arg2 : tensor<2x49x4x24xf32>) outs(%21 : tensor<2x4x49x24xf32>) permutation = [0, 2, 1, 3] 
    %collapsed_6 = tensor.collapse_shape %20 [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %collapsed_7 = tensor.collapse_shape %transposed_5 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %22 = tensor.empty() : tensor<8x33x24xf32>
    %23 = linalg.fill ins(%cst : f32) outs(%22 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %24 = linalg.batch_matmul ins(%collapsed_6, %collapsed_7 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%23 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_8 = tensor.expand_shape %24 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    %25 = tensor.empty() : tensor<2x33x4x24xf32>
    %transposed_9 = linalg.transpose ins(%expanded_8 : tensor<2x4x33x24xf32>) outs(%25 : tensor<2x33x4x24xf32>) permutation = [0, 2, 1, 3] 
    return %transposed_9 : tensor<2x33x4x24xf32>
  }
}
