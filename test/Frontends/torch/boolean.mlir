// torch case boolean; torch 2.15.0, ONNX opset 18; iree-base-compiler
// attentions: 1
module {
  func.func @model(%arg0: tensor<2x4x33x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>, %arg3: tensor<2x1x33x49xi1>) -> (tensor<2x4x33x24xf32>) {
    %cst = arith.constant 0.000000e+00 : f32
    %c0_i64 = arith.constant 0 : i64
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<4.518010e-01> : tensor<1xf32>
    %cst_2 = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_3 = arith.constant dense<-3.40282347E+38> : tensor<f32>
    %collapsed = tensor.collapse_shape %arg1 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %4 = tensor.empty() : tensor<8x24x49xf32>
    %transposed = linalg.transpose ins(%collapsed : tensor<8x49x24xf32>) outs(%4 : tensor<8x24x49xf32>) permutation = [0, 2, 1] 
    %expanded = tensor.expand_shape %transposed [[0, 1], [2], [3]] output_shape [2, 4, 24, 49] : tensor<8x24x49xf32> into tensor<2x4x24x49xf32>
    %5 = tensor.empty() : tensor<2x4x33x24xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %cst_1 : tensor<2x4x33x24xf32>, tensor<1xf32>) outs(%5 : tensor<2x4x33x24xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %35 = arith.mulf %in, %in_11 : f32
      linalg.yield %35 : f32
    } -> tensor<2x4x33x24xf32>
    %7 = tensor.empty() : tensor<2x4x24x49xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded, %cst_1 : tensor<2x4x24x49xf32>, tensor<1xf32>) outs(%7 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %35 = arith.mulf %in, %in_11 : f32
      linalg.yield %35 : f32
    } -> tensor<2x4x24x49xf32>
    %9 = tensor.empty() : tensor<2x1x33x49xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3, %cst_2, %cst_3 : tensor<2x1x33x49xi1>, tensor<f32>, tensor<f32>) outs(%9 : tensor<2x1x33x49xf32>) {
    ^bb0(%in: i1, %in_11: f32, %in_12: f32, %out: f32):
      %35 = arith.select %in, %in_11, %in_12 : f32
      linalg.yield %35 : f32
    } -> tensor<2x1x33x49xf32>
    %collapsed_4 = tensor.collapse_shape %6 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_5 = tensor.collapse_shape %8 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %11 = tensor.empty() : tensor<8x33x49xf32>
    %12 = linalg.fill ins(%cst : f32) outs(%11 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %13 = linalg.batch_matmul ins(%collapsed_4, %collapsed_5 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%12 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded_6 = tensor.expand_shape %13 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %14 = tensor.empty() : tensor<2x4x33x49xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_6, %10 : tensor<2x4x33x49xf32>, tensor<2x1x33x49xf32>) outs(%14 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %35 = arith.addf %in, %in_11 : f32
      linalg.yield %35 : f32
    } -> tensor<2x4x33x49xf32>
    %16 = tensor.empty() : tensor<2x4x33xi64>
    %17 = linalg.fill ins(%c0_i64 : i64) outs(%16 : tensor<2x4x33xi64>) -> tensor<2x4x33xi64>
    %18 = tensor.empty() : tensor<2x4x33xf32>
    %19 = linalg.fill ins(%cst_0 : f32) outs(%18 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %20:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%15 : tensor<2x4x33x49xf32>) outs(%19, %17 : tensor<2x4x33xf32>, tensor<2x4x33xi64>) {
    ^bb0(%in: f32, %out: f32, %out_11: i64):
      %35 = linalg.index 3 : index
      %36 = arith.index_cast %35 : index to i64
      %37 = arith.maximumf %in, %out : f32
      %38 = arith.cmpf ogt, %in, %out : f32
      %39 = arith.select %38, %36, %out_11 : i64
      linalg.yield %37, %39 : f32, i64
    } -> (tensor<2x4x33xf32>, tensor<2x4x33xi64>)
    %expanded_7 = tensor.expand_shape %20#0 [[0], [1], [2, 3]] output_shape [2, 4, 33, 1] : tensor<2x4x33xf32> into tensor<2x4x33x1xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15, %expanded_7 : tensor<2x4x33x49xf32>, tensor<2x4x33x1xf32>) outs(%14 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %35 = arith.subf %in, %in_11 : f32
      linalg.yield %35 : f32
    } -> tensor<2x4x33x49xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21 : tensor<2x4x33x49xf32>) outs(%14 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %35 = math.exp %in : f32
      linalg.yield %35 : f32
    } -> tensor<2x4x33x49xf32>
    %23 = tensor.empty() : tensor<2x4x33x1xf32>
    %24 = linalg.fill ins(%cst : f32) outs(%23 : tensor<2x4x33x1xf32>) -> tensor<2x4x33x1xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%22 : tensor<2x4x33x49xf32>) outs(%24 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %35 = arith.addf %in, %out : f32
      linalg.yield %35 : f32
    } -> tensor<2x4x33x1xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22, %25 : tensor<2x4x33x49xf32>, tensor<2x4x33x1xf32>) outs(%14 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %35 = arith.divf %in, %in_11 : f32
      linalg.yield %35 : f32
    } -> tensor<2x4x33x49xf32>
    %27 = tensor.empty() : tensor<2x4x33x49xi1>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%26, %26 : tensor<2x4x33x49xf32>, tensor<2x4x33x49xf32>) outs(%27 : tensor<2x4x33x49xi1>) {
    ^bb0(%in: f32, %in_11: f32, %out: i1):
      %35 = arith.cmpf une, %in, %in_11 : f32
      linalg.yield %35 : i1
    } -> tensor<2x4x33x49xi1>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%28, %cst_2, %26 : tensor<2x4x33x49xi1>, tensor<f32>, tensor<2x4x33x49xf32>) outs(%14 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: i1, %in_11: f32, %in_12: f32, %out: f32):
      %35 = arith.select %in, %in_11, %in_12 : f32
      linalg.yield %35 : f32
    } -> tensor<2x4x33x49xf32>
    %collapsed_8 = tensor.collapse_shape %29 [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %collapsed_9 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %30 = tensor.empty() : tensor<8x33x24xf32>
    %31 = linalg.fill ins(%cst : f32) outs(%30 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %32 = linalg.batch_matmul ins(%collapsed_8, %collapsed_9 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%31 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_10 = tensor.expand_shape %32 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    return %expanded_10 : tensor<2x4x33x24xf32>
  }
}
