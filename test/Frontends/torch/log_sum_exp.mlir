// torch case log_sum_exp; torch 2.15.0, ONNX opset 18; iree-base-compiler
// attentions: 1
module {
  func.func @model(%arg0: tensor<2x4x33x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>) -> (tensor<2x4x33x24xf32>) {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0.000000e+00 : f32
    %cst_1 = arith.constant dense<4.89897966> : tensor<f32>
    %3 = tensor.empty() : tensor<2x4x24x49xf32>
    %transposed = linalg.transpose ins(%arg1 : tensor<2x4x49x24xf32>) outs(%3 : tensor<2x4x24x49xf32>) permutation = [0, 1, 3, 2] 
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_2 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %4 = tensor.empty() : tensor<8x33x49xf32>
    %5 = linalg.fill ins(%cst : f32) outs(%4 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %6 = linalg.batch_matmul ins(%collapsed, %collapsed_2 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%5 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded = tensor.expand_shape %6 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %7 = tensor.empty() : tensor<2x4x33x49xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded, %cst_1 : tensor<2x4x33x49xf32>, tensor<f32>) outs(%7 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %25 = arith.divf %in, %in_6 : f32
      linalg.yield %25 : f32
    } -> tensor<2x4x33x49xf32>
    %9 = tensor.empty() : tensor<2x4x33x49xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8 : tensor<2x4x33x49xf32>) outs(%9 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x49xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10 : tensor<2x4x33x49xf32>) outs(%9 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %25 = math.exp %in : f32
      linalg.yield %25 : f32
    } -> tensor<2x4x33x49xf32>
    %12 = tensor.empty() : tensor<2x4x33x1xf32>
    %13 = linalg.fill ins(%cst_0 : f32) outs(%12 : tensor<2x4x33x1xf32>) -> tensor<2x4x33x1xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%11 : tensor<2x4x33x49xf32>) outs(%13 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %25 = arith.addf %in, %out : f32
      linalg.yield %25 : f32
    } -> tensor<2x4x33x1xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14 : tensor<2x4x33x1xf32>) outs(%12 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %25 = math.log %in : f32
      linalg.yield %25 : f32
    } -> tensor<2x4x33x1xf32>
    %16 = tensor.empty() : tensor<2x4x33x1xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<2x4x33x1xf32>) outs(%16 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x33x1xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8, %17 : tensor<2x4x33x49xf32>, tensor<2x4x33x1xf32>) outs(%7 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %25 = arith.subf %in, %in_6 : f32
      linalg.yield %25 : f32
    } -> tensor<2x4x33x49xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18 : tensor<2x4x33x49xf32>) outs(%7 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %25 = math.exp %in : f32
      linalg.yield %25 : f32
    } -> tensor<2x4x33x49xf32>
    %collapsed_3 = tensor.collapse_shape %19 [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %collapsed_4 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %20 = tensor.empty() : tensor<8x33x24xf32>
    %21 = linalg.fill ins(%cst : f32) outs(%20 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %22 = linalg.batch_matmul ins(%collapsed_3, %collapsed_4 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%21 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_5 = tensor.expand_shape %22 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    return %expanded_5 : tensor<2x4x33x24xf32>
  }
}
