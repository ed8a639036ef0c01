// torch case bias; torch 2.15.0, ONNX opset 18; iree-base-compiler
// attentions: 1
module {
  func.func @model(%arg0: tensor<2x4x33x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>, %arg3: tensor<1x4x33x49xf32>) -> (tensor<2x4x33x24xf32>) {
    %cst = arith.constant 0.000000e+00 : f32
    %c0_i64 = arith.constant 0 : i64
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<4.518010e-01> : tensor<1xf32>
    %collapsed = tensor.collapse_shape %arg1 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %4 = tensor.empty() : tensor<8x24x49xf32>
    %transposed = linalg.transpose ins(%collapsed : tensor<8x49x24xf32>) outs(%4 : tensor<8x24x49xf32>) permutation = [0, 2, 1] 
    %expanded = tensor.expand_shape %transposed [[0, 1], [2], [3]] output_shape [2, 4, 24, 49] : tensor<8x24x49xf32> into tensor<2x4x24x49xf32>
    %5 = tensor.empty() : tensor<2x4x33x24xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %cst_1 : tensor<2x4x33x24xf32>, tensor<1xf32>) outs(%5 : tensor<2x4x33x24xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %30 = arith.mulf %in, %in_9 : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x33x24xf32>
    %7 = tensor.empty() : tensor<2x4x24x49xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded, %cst_1 : tensor<2x4x24x49xf32>, tensor<1xf32>) outs(%7 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %30 = arith.mulf %in, %in_9 : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x24x49xf32>
    %collapsed_2 = tensor.collapse_shape %6 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_3 = tensor.collapse_shape %8 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %9 = tensor.empty() : tensor<8x33x49xf32>
    %10 = linalg.fill ins(%cst : f32) outs(%9 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %11 = linalg.batch_matmul ins(%collapsed_2, %collapsed_3 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%10 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded_4 = tensor.expand_shape %11 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %12 = tensor.empty() : tensor<2x4x33x49xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4, %arg3 : tensor<2x4x33x49xf32>, tensor<1x4x33x49xf32>) outs(%12 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %30 = arith.addf %in, %in_9 : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x33x49xf32>
    %14 = tensor.empty() : tensor<2x4x33xi64>
    %15 = linalg.fill ins(%c0_i64 : i64) outs(%14 : tensor<2x4x33xi64>) -> tensor<2x4x33xi64>
    %16 = tensor.empty() : tensor<2x4x33xf32>
    %17 = linalg.fill ins(%cst_0 : f32) outs(%16 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %18:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%13 : tensor<2x4x33x49xf32>) outs(%17, %15 : tensor<2x4x33xf32>, tensor<2x4x33xi64>) {
    ^bb0(%in: f32, %out: f32, %out_9: i64):
      %30 = linalg.index 3 : index
      %31 = arith.index_cast %30 : index to i64
      %32 = arith.maximumf %in, %out : f32
      %33 = arith.cmpf ogt, %in, %out : f32
      %34 = arith.select %33, %31, %out_9 : i64
      linalg.yield %32, %34 : f32, i64
    } -> (tensor<2x4x33xf32>, tensor<2x4x33xi64>)
    %expanded_5 = tensor.expand_shape %18#0 [[0], [1], [2, 3]] output_shape [2, 4, 33, 1] : tensor<2x4x33xf32> into tensor<2x4x33x1xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13, %expanded_5 : tensor<2x4x33x49xf32>, tensor<2x4x33x1xf32>) outs(%12 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %30 = arith.subf %in, %in_9 : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x33x49xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19 : tensor<2x4x33x49xf32>) outs(%12 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = math.exp %in : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x33x49xf32>
    %21 = tensor.empty() : tensor<2x4x33x1xf32>
    %22 = linalg.fill ins(%cst : f32) outs(%21 : tensor<2x4x33x1xf32>) -> tensor<2x4x33x1xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%20 : tensor<2x4x33x49xf32>) outs(%22 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = arith.addf %in, %out : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x33x1xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20, %23 : tensor<2x4x33x49xf32>, tensor<2x4x33x1xf32>) outs(%12 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %30 = arith.divf %in, %in_9 : f32
      linalg.yield %30 : f32
    } -> tensor<2x4x33x49xf32>
    %collapsed_6 = tensor.collapse_shape %24 [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %collapsed_7 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %25 = tensor.empty() : tensor<8x33x24xf32>
    %26 = linalg.fill ins(%cst : f32) outs(%25 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %27 = linalg.batch_matmul ins(%collapsed_6, %collapsed_7 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%26 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_8 = tensor.expand_shape %27 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    return %expanded_8 : tensor<2x4x33x24xf32>
  }
}
