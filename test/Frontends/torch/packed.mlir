// torch case packed; torch 2.15.0, ONNX opset 18; iree-base-compiler
// attentions: 1
module {
  func.func @model(%arg0: tensor<2x33x288xf32>) -> (tensor<2x33x96xf32>) {
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<4.518010e-01> : tensor<1xf32>
    %expanded = tensor.expand_shape %arg0 [[0], [1], [2, 3, 4]] output_shape [2, 33, 3, 4, 24] : tensor<2x33x288xf32> into tensor<2x33x3x4x24xf32>
    %1 = tensor.empty() : tensor<3x2x4x33x24xf32>
    %transposed = linalg.transpose ins(%expanded : tensor<2x33x3x4x24xf32>) outs(%1 : tensor<3x2x4x33x24xf32>) permutation = [2, 0, 3, 1, 4] 
    %extracted_slice = tensor.extract_slice %transposed[0, 0, 0, 0, 0] [1, 2, 4, 33, 24] [1, 1, 1, 1, 1] : tensor<3x2x4x33x24xf32> to tensor<1x2x4x33x24xf32>
    %collapsed = tensor.collapse_shape %extracted_slice [[0, 1], [2], [3], [4]] : tensor<1x2x4x33x24xf32> into tensor<2x4x33x24xf32>
    %extracted_slice_2 = tensor.extract_slice %transposed[1, 0, 0, 0, 0] [1, 2, 4, 33, 24] [1, 1, 1, 1, 1] : tensor<3x2x4x33x24xf32> to tensor<1x2x4x33x24xf32>
    %extracted_slice_3 = tensor.extract_slice %transposed[2, 0, 0, 0, 0] [1, 2, 4, 33, 24] [1, 1, 1, 1, 1] : tensor<3x2x4x33x24xf32> to tensor<1x2x4x33x24xf32>
    %collapsed_4 = tensor.collapse_shape %extracted_slice_2 [[0, 1, 2], [3], [4]] : tensor<1x2x4x33x24xf32> into tensor<8x33x24xf32>
    %2 = tensor.empty() : tensor<8x24x33xf32>
    %transposed_5 = linalg.transpose ins(%collapsed_4 : tensor<8x33x24xf32>) outs(%2 : tensor<8x24x33xf32>) permutation = [0, 2, 1] 
    %expanded_6 = tensor.expand_shape %transposed_5 [[0, 1], [2], [3]] output_shape [2, 4, 24, 33] : tensor<8x24x33xf32> into tensor<2x4x24x33xf32>
    %3 = tensor.empty() : tensor<2x4x33x24xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%collapsed, %cst_1 : tensor<2x4x33x24xf32>, tensor<1xf32>) outs(%3 : tensor<2x4x33x24xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %28 = arith.mulf %in, %in_16 : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x33x24xf32>
    %5 = tensor.empty() : tensor<2x4x24x33xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_6, %cst_1 : tensor<2x4x24x33xf32>, tensor<1xf32>) outs(%5 : tensor<2x4x24x33xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %28 = arith.mulf %in, %in_16 : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x24x33xf32>
    %collapsed_7 = tensor.collapse_shape %4 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_8 = tensor.collapse_shape %6 [[0, 1], [2], [3]] : tensor<2x4x24x33xf32> into tensor<8x24x33xf32>
    %7 = tensor.empty() : tensor<8x33x33xf32>
    %8 = linalg.fill ins(%cst : f32) outs(%7 : tensor<8x33x33xf32>) -> tensor<8x33x33xf32>
    %9 = linalg.batch_matmul ins(%collapsed_7, %collapsed_8 : tensor<8x33x24xf32>, tensor<8x24x33xf32>) outs(%8 : tensor<8x33x33xf32>) -> tensor<8x33x33xf32>
    %expanded_9 = tensor.expand_shape %9 [[0, 1], [2], [3]] output_shape [2, 4, 33, 33] : tensor<8x33x33xf32> into tensor<2x4x33x33xf32>
    %10 = tensor.empty() : tensor<2x4x33xi64>
    %11 = linalg.fill ins(%c0_i64 : i64) outs(%10 : tensor<2x4x33xi64>) -> tensor<2x4x33xi64>
    %12 = tensor.empty() : tensor<2x4x33xf32>
    %13 = linalg.fill ins(%cst_0 : f32) outs(%12 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %14:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded_9 : tensor<2x4x33x33xf32>) outs(%13, %11 : tensor<2x4x33xf32>, tensor<2x4x33xi64>) {
    ^bb0(%in: f32, %out: f32, %out_16: i64):
      %28 = linalg.index 3 : index
      %29 = arith.index_cast %28 : index to i64
      %30 = arith.maximumf %in, %out : f32
      %31 = arith.cmpf ogt, %in, %out : f32
      %32 = arith.select %31, %29, %out_16 : i64
      linalg.yield %30, %32 : f32, i64
    } -> (tensor<2x4x33xf32>, tensor<2x4x33xi64>)
    %expanded_10 = tensor.expand_shape %14#0 [[0], [1], [2, 3]] output_shape [2, 4, 33, 1] : tensor<2x4x33xf32> into tensor<2x4x33x1xf32>
    %15 = tensor.empty() : tensor<2x4x33x33xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_9, %expanded_10 : tensor<2x4x33x33xf32>, tensor<2x4x33x1xf32>) outs(%15 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %28 = arith.subf %in, %in_16 : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x33x33xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16 : tensor<2x4x33x33xf32>) outs(%15 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %28 = math.exp %in : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x33x33xf32>
    %18 = tensor.empty() : tensor<2x4x33x1xf32>
    %19 = linalg.fill ins(%cst : f32) outs(%18 : tensor<2x4x33x1xf32>) -> tensor<2x4x33x1xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%17 : tensor<2x4x33x33xf32>) outs(%19 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %28 = arith.addf %in, %out : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x33x1xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17, %20 : tensor<2x4x33x33xf32>, tensor<2x4x33x1xf32>) outs(%15 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %28 = arith.divf %in, %in_16 : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x33x33xf32>
    %collapsed_11 = tensor.collapse_shape %21 [[0, 1], [2], [3]] : tensor<2x4x33x33xf32> into tensor<8x33x33xf32>
    %collapsed_12 = tensor.collapse_shape %extracted_slice_3 [[0, 1, 2], [3], [4]] : tensor<1x2x4x33x24xf32> into tensor<8x33x24xf32>
    %22 = tensor.empty() : tensor<8x33x24xf32>
    %23 = linalg.fill ins(%cst : f32) outs(%22 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %24 = linalg.batch_matmul ins(%collapsed_11, %collapsed_12 : tensor<8x33x33xf32>, tensor<8x33x24xf32>) outs(%23 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_13 = tensor.expand_shape %24 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    %25 = tensor.empty() : tensor<2x33x4x24xf32>
    %transposed_14 = linalg.transpose ins(%expanded_13 : tensor<2x4x33x24xf32>) outs(%25 : tensor<2x33x4x24xf32>) permutation = [0, 2, 1, 3] 
    %collapsed_15 = tensor.collapse_shape %transposed_14 [[0], [1], [2, 3]] : tensor<2x33x4x24xf32> into tensor<2x33x96xf32>
    return %collapsed_15 : tensor<2x33x96xf32>
  }
}
