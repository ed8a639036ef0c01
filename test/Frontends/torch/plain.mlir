// torch case plain; torch 2.15.0, ONNX opset 18; iree-base-compiler
// attentions: 1
module {
  func.func @model(%arg0: tensor<2x4x33x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>) -> (tensor<2x4x33x24xf32>) {
    %cst = arith.constant 0.000000e+00 : f32
    %c0_i64 = arith.constant 0 : i64
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<4.518010e-01> : tensor<1xf32>
    %collapsed = tensor.collapse_shape %arg1 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %3 = tensor.empty() : tensor<8x24x49xf32>
    %transposed = linalg.transpose ins(%collapsed : tensor<8x49x24xf32>) outs(%3 : tensor<8x24x49xf32>) permutation = [0, 2, 1] 
    %expanded = tensor.expand_shape %transposed [[0, 1], [2], [3]] output_shape [2, 4, 24, 49] : tensor<8x24x49xf32> into tensor<2x4x24x49xf32>
    %4 = tensor.empty() : tensor<2x4x33x24xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %cst_1 : tensor<2x4x33x24xf32>, tensor<1xf32>) outs(%4 : tensor<2x4x33x24xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %28 = arith.mulf %in, %in_9 : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x33x24xf32>
    %6 = tensor.empty() : tensor<2x4x24x49xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded, %cst_1 : tensor<2x4x24x49xf32>, tensor<1xf32>) outs(%6 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %28 = arith.mulf %in, %in_9 : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x24x49xf32>
    %collapsed_2 = tensor.collapse_shape %5 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_3 = tensor.collapse_shape %7 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %8 = tensor.empty() : tensor<8x33x49xf32>
    %9 = linalg.fill ins(%cst : f32) outs(%8 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %10 = linalg.batch_matmul ins(%collapsed_2, %collapsed_3 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%9 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded_4 = tensor.expand_shape %10 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %11 = tensor.empty() : tensor<2x4x33xi64>
    %12 = linalg.fill ins(%c0_i64 : i64) outs(%11 : tensor<2x4x33xi64>) -> tensor<2x4x33xi64>
    %13 = tensor.empty() : tensor<2x4x33xf32>
    %14 = linalg.fill ins(%cst_0 : f32) outs(%13 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %15:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded_4 : tensor<2x4x33x49xf32>) outs(%14, %12 : tensor<2x4x33xf32>, tensor<2x4x33xi64>) {
    ^bb0(%in: f32, %out: f32, %out_9: i64):
      %28 = linalg.index 3 : index
      %29 = arith.index_cast %28 : index to i64
      %30 = arith.maximumf %in, %out : f32
      %31 = arith.cmpf ogt, %in, %out : f32
      %32 = arith.select %31, %29, %out_9 : i64
      linalg.yield %30, %32 : f32, i64
    } -> (tensor<2x4x33xf32>, tensor<2x4x33xi64>)
    %expanded_5 = tensor.expand_shape %15#0 [[0], [1], [2, 3]] output_shape [2, 4, 33, 1] : tensor<2x4x33xf32> into tensor<2x4x33x1xf32>
    %16 = tensor.empty() : tensor<2x4x33x49xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4, %expanded_5 : tensor<2x4x33x49xf32>, tensor<2x4x33x1xf32>) outs(%16 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %28 = arith.subf %in, %in_9 : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x33x49xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17 : tensor<2x4x33x49xf32>) outs(%16 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %28 = math.exp %in : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x33x49xf32>
    %19 = tensor.empty() : tensor<2x4x33x1xf32>
    %20 = linalg.fill ins(%cst : f32) outs(%19 : tensor<2x4x33x1xf32>) -> tensor<2x4x33x1xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%18 : tensor<2x4x33x49xf32>) outs(%20 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %28 = arith.addf %in, %out : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x33x1xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18, %21 : tensor<2x4x33x49xf32>, tensor<2x4x33x1xf32>) outs(%16 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %28 = arith.divf %in, %in_9 : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x33x49xf32>
    %collapsed_6 = tensor.collapse_shape %22 [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %collapsed_7 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %23 = tensor.empty() : tensor<8x33x24xf32>
    %24 = linalg.fill ins(%cst : f32) outs(%23 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %25 = linalg.batch_matmul ins(%collapsed_6, %collapsed_7 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%24 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_8 = tensor.expand_shape %25 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    return %expanded_8 : tensor<2x4x33x24xf32>
  }
}
