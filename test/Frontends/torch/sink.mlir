// torch case sink; torch 2.15.0, ONNX opset 18; iree-base-compiler
// attentions: 1
module {
  func.func @model(%arg0: tensor<2x4x33x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>, %arg3: tensor<4xf32>) -> (tensor<2x4x33x24xf32>) {
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<4.89897966> : tensor<f32>
    %4 = tensor.empty() : tensor<2x4x24x49xf32>
    %transposed = linalg.transpose ins(%arg1 : tensor<2x4x49x24xf32>) outs(%4 : tensor<2x4x24x49xf32>) permutation = [0, 1, 3, 2] 
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_2 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %5 = tensor.empty() : tensor<8x33x49xf32>
    %6 = linalg.fill ins(%cst : f32) outs(%5 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %7 = linalg.batch_matmul ins(%collapsed, %collapsed_2 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%6 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded = tensor.expand_shape %7 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %8 = tensor.empty() : tensor<2x4x33x49xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded, %cst_1 : tensor<2x4x33x49xf32>, tensor<f32>) outs(%8 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %28 = arith.divf %in, %in_8 : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x33x49xf32>
    %10 = tensor.empty() : tensor<2x4x33x1xf32>
    %expanded_3 = tensor.expand_shape %arg3 [[0, 1]] output_shape [4, 1] : tensor<4xf32> into tensor<4x1xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_3 : tensor<4x1xf32>) outs(%10 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x1xf32>
    %concat = tensor.concat dim(3) %9, %11 : (tensor<2x4x33x49xf32>, tensor<2x4x33x1xf32>) -> tensor<2x4x33x50xf32>
    %12 = tensor.empty() : tensor<2x4x33xi64>
    %13 = linalg.fill ins(%c0_i64 : i64) outs(%12 : tensor<2x4x33xi64>) -> tensor<2x4x33xi64>
    %14 = tensor.empty() : tensor<2x4x33xf32>
    %15 = linalg.fill ins(%cst_0 : f32) outs(%14 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %16:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%concat : tensor<2x4x33x50xf32>) outs(%15, %13 : tensor<2x4x33xf32>, tensor<2x4x33xi64>) {
    ^bb0(%in: f32, %out: f32, %out_8: i64):
      %28 = linalg.index 3 : index
      %29 = arith.index_cast %28 : index to i64
      %30 = arith.maximumf %in, %out : f32
      %31 = arith.cmpf ogt, %in, %out : f32
      %32 = arith.select %31, %29, %out_8 : i64
      linalg.yield %30, %32 : f32, i64
    } -> (tensor<2x4x33xf32>, tensor<2x4x33xi64>)
    %expanded_4 = tensor.expand_shape %16#0 [[0], [1], [2, 3]] output_shape [2, 4, 33, 1] : tensor<2x4x33xf32> into tensor<2x4x33x1xf32>
    %17 = tensor.empty() : tensor<2x4x33x50xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat, %expanded_4 : tensor<2x4x33x50xf32>, tensor<2x4x33x1xf32>) outs(%17 : tensor<2x4x33x50xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %28 = arith.subf %in, %in_8 : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x33x50xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18 : tensor<2x4x33x50xf32>) outs(%17 : tensor<2x4x33x50xf32>) {
    ^bb0(%in: f32, %out: f32):
      %28 = math.exp %in : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x33x50xf32>
    %20 = linalg.fill ins(%cst : f32) outs(%10 : tensor<2x4x33x1xf32>) -> tensor<2x4x33x1xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%19 : tensor<2x4x33x50xf32>) outs(%20 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %28 = arith.addf %in, %out : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x33x1xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19, %21 : tensor<2x4x33x50xf32>, tensor<2x4x33x1xf32>) outs(%17 : tensor<2x4x33x50xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %28 = arith.divf %in, %in_8 : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x33x50xf32>
    %extracted_slice = tensor.extract_slice %22[0, 0, 0, 0] [2, 4, 33, 49] [1, 1, 1, 1] : tensor<2x4x33x50xf32> to tensor<2x4x33x49xf32>
    %collapsed_5 = tensor.collapse_shape %extracted_slice [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %collapsed_6 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %23 = tensor.empty() : tensor<8x33x24xf32>
    %24 = linalg.fill ins(%cst : f32) outs(%23 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %25 = linalg.batch_matmul ins(%collapsed_5, %collapsed_6 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%24 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_7 = tensor.expand_shape %25 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    return %expanded_7 : tensor<2x4x33x24xf32>
  }
}
