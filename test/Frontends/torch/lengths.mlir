// torch case lengths; torch 2.15.0, ONNX opset 18; iree-base-compiler
// attentions: 1
module {
  func.func @model(%arg0: tensor<2x4x1x24xf32>, %arg1: tensor<2x4x49x24xf32>, %arg2: tensor<2x4x49x24xf32>, %arg3: tensor<2xi64>) -> (tensor<2x4x1x24xf32>) {
    %cst = arith.constant 0.000000e+00 : f32
    %c0_i64 = arith.constant 0 : i64
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<[[[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48]]]]> : tensor<1x1x1x49xi64>
    %cst_2 = arith.constant dense<4.518010e-01> : tensor<1xf32>
    %cst_3 = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_4 = arith.constant dense<-3.40282347E+38> : tensor<f32>
    %expanded = tensor.expand_shape %arg3 [[0, 1, 2, 3]] output_shape [2, 1, 1, 1] : tensor<2xi64> into tensor<2x1x1x1xi64>
    %4 = tensor.empty() : tensor<2x1x1x49xi1>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1, %expanded : tensor<1x1x1x49xi64>, tensor<2x1x1x1xi64>) outs(%4 : tensor<2x1x1x49xi1>) {
    ^bb0(%in: i64, %in_13: i64, %out: i1):
      %37 = arith.cmpi slt, %in, %in_13 : i64
      linalg.yield %37 : i1
    } -> tensor<2x1x1x49xi1>
    %collapsed = tensor.collapse_shape %arg1 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %6 = tensor.empty() : tensor<8x24x49xf32>
    %transposed = linalg.transpose ins(%collapsed : tensor<8x49x24xf32>) outs(%6 : tensor<8x24x49xf32>) permutation = [0, 2, 1] 
    %expanded_5 = tensor.expand_shape %transposed [[0, 1], [2], [3]] output_shape [2, 4, 24, 49] : tensor<8x24x49xf32> into tensor<2x4x24x49xf32>
    %7 = tensor.empty() : tensor<2x4x1x24xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %cst_2 : tensor<2x4x1x24xf32>, tensor<1xf32>) outs(%7 : tensor<2x4x1x24xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %37 = arith.mulf %in, %in_13 : f32
      linalg.yield %37 : f32
    } -> tensor<2x4x1x24xf32>
    %9 = tensor.empty() : tensor<2x4x24x49xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5, %cst_2 : tensor<2x4x24x49xf32>, tensor<1xf32>) outs(%9 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %37 = arith.mulf %in, %in_13 : f32
      linalg.yield %37 : f32
    } -> tensor<2x4x24x49xf32>
    %11 = tensor.empty() : tensor<2x1x1x49xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%5, %cst_3, %cst_4 : tensor<2x1x1x49xi1>, tensor<f32>, tensor<f32>) outs(%11 : tensor<2x1x1x49xf32>) {
    ^bb0(%in: i1, %in_13: f32, %in_14: f32, %out: f32):
      %37 = arith.select %in, %in_13, %in_14 : f32
      linalg.yield %37 : f32
    } -> tensor<2x1x1x49xf32>
    %collapsed_6 = tensor.collapse_shape %8 [[0, 1], [2], [3]] : tensor<2x4x1x24xf32> into tensor<8x1x24xf32>
    %collapsed_7 = tensor.collapse_shape %10 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %13 = tensor.empty() : tensor<8x1x49xf32>
    %14 = linalg.fill ins(%cst : f32) outs(%13 : tensor<8x1x49xf32>) -> tensor<8x1x49xf32>
    %15 = linalg.batch_matmul ins(%collapsed_6, %collapsed_7 : tensor<8x1x24xf32>, tensor<8x24x49xf32>) outs(%14 : tensor<8x1x49xf32>) -> tensor<8x1x49xf32>
    %expanded_8 = tensor.expand_shape %15 [[0, 1], [2], [3]] output_shape [2, 4, 1, 49] : tensor<8x1x49xf32> into tensor<2x4x1x49xf32>
    %16 = tensor.empty() : tensor<2x4x1x49xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_8, %12 : tensor<2x4x1x49xf32>, tensor<2x1x1x49xf32>) outs(%16 : tensor<2x4x1x49xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %37 = arith.addf %in, %in_13 : f32
      linalg.yield %37 : f32
    } -> tensor<2x4x1x49xf32>
    %18 = tensor.empty() : tensor<2x4x1xi64>
    %19 = linalg.fill ins(%c0_i64 : i64) outs(%18 : tensor<2x4x1xi64>) -> tensor<2x4x1xi64>
    %20 = tensor.empty() : tensor<2x4x1xf32>
    %21 = linalg.fill ins(%cst_0 : f32) outs(%20 : tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %22:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%17 : tensor<2x4x1x49xf32>) outs(%21, %19 : tensor<2x4x1xf32>, tensor<2x4x1xi64>) {
    ^bb0(%in: f32, %out: f32, %out_13: i64):
      %37 = linalg.index 3 : index
      %38 = arith.index_cast %37 : index to i64
      %39 = arith.maximumf %in, %out : f32
      %40 = arith.cmpf ogt, %in, %out : f32
      %41 = arith.select %40, %38, %out_13 : i64
      linalg.yield %39, %41 : f32, i64
    } -> (tensor<2x4x1xf32>, tensor<2x4x1xi64>)
    %expanded_9 = tensor.expand_shape %22#0 [[0], [1], [2, 3]] output_shape [2, 4, 1, 1] : tensor<2x4x1xf32> into tensor<2x4x1x1xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17, %expanded_9 : tensor<2x4x1x49xf32>, tensor<2x4x1x1xf32>) outs(%16 : tensor<2x4x1x49xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %37 = arith.subf %in, %in_13 : f32
      linalg.yield %37 : f32
    } -> tensor<2x4x1x49xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<2x4x1x49xf32>) outs(%16 : tensor<2x4x1x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %37 = math.exp %in : f32
      linalg.yield %37 : f32
    } -> tensor<2x4x1x49xf32>
    %25 = tensor.empty() : tensor<2x4x1x1xf32>
    %26 = linalg.fill ins(%cst : f32) outs(%25 : tensor<2x4x1x1xf32>) -> tensor<2x4x1x1xf32>
    %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%24 : tensor<2x4x1x49xf32>) outs(%26 : tensor<2x4x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %37 = arith.addf %in, %out : f32
      linalg.yield %37 : f32
    } -> tensor<2x4x1x1xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%24, %27 : tensor<2x4x1x49xf32>, tensor<2x4x1x1xf32>) outs(%16 : tensor<2x4x1x49xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %37 = arith.divf %in, %in_13 : f32
      linalg.yield %37 : f32
    } -> tensor<2x4x1x49xf32>
    %29 = tensor.empty() : tensor<2x4x1x49xi1>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%28, %28 : tensor<2x4x1x49xf32>, tensor<2x4x1x49xf32>) outs(%29 : tensor<2x4x1x49xi1>) {
    ^bb0(%in: f32, %in_13: f32, %out: i1):
      %37 = arith.cmpf une, %in, %in_13 : f32
      linalg.yield %37 : i1
    } -> tensor<2x4x1x49xi1>
    %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%30, %cst_3, %28 : tensor<2x4x1x49xi1>, tensor<f32>, tensor<2x4x1x49xf32>) outs(%16 : tensor<2x4x1x49xf32>) {
    ^bb0(%in: i1, %in_13: f32, %in_14: f32, %out: f32):
      %37 = arith.select %in, %in_13, %in_14 : f32
      linalg.yield %37 : f32
    } -> tensor<2x4x1x49xf32>
    %collapsed_10 = tensor.collapse_shape %31 [[0, 1], [2], [3]] : tensor<2x4x1x49xf32> into tensor<8x1x49xf32>
    %collapsed_11 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x49x24xf32> into tensor<8x49x24xf32>
    %32 = tensor.empty() : tensor<8x1x24xf32>
    %33 = linalg.fill ins(%cst : f32) outs(%32 : tensor<8x1x24xf32>) -> tensor<8x1x24xf32>
    %34 = linalg.batch_matmul ins(%collapsed_10, %collapsed_11 : tensor<8x1x49xf32>, tensor<8x49x24xf32>) outs(%33 : tensor<8x1x24xf32>) -> tensor<8x1x24xf32>
    %expanded_12 = tensor.expand_shape %34 [[0, 1], [2], [3]] output_shape [2, 4, 1, 24] : tensor<8x1x24xf32> into tensor<2x4x1x24xf32>
    return %expanded_12 : tensor<2x4x1x24xf32>
  }
}
