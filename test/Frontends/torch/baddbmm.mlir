// torch case baddbmm; torch 2.15.0, ONNX opset 18; iree-base-compiler
// attentions: 1
module {
  func.func @model(%arg0: tensor<4x33x24xf32>, %arg1: tensor<4x49x24xf32>, %arg2: tensor<4x49x24xf32>, %arg3: tensor<4x33x49xf32>) -> (tensor<4x33x24xf32>) {
    %cst = arith.constant 0.000000e+00 : f32
    %c0_i64 = arith.constant 0 : i64
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<2.000000e-01> : tensor<f32>
    %4 = tensor.empty() : tensor<4x24x49xf32>
    %transposed = linalg.transpose ins(%arg1 : tensor<4x49x24xf32>) outs(%4 : tensor<4x24x49xf32>) permutation = [0, 2, 1] 
    %5 = tensor.empty() : tensor<4x33x49xf32>
    %6 = linalg.fill ins(%cst : f32) outs(%5 : tensor<4x33x49xf32>) -> tensor<4x33x49xf32>
    %7 = linalg.batch_matmul ins(%arg0, %transposed : tensor<4x33x24xf32>, tensor<4x24x49xf32>) outs(%6 : tensor<4x33x49xf32>) -> tensor<4x33x49xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%7, %cst_1 : tensor<4x33x49xf32>, tensor<f32>) outs(%5 : tensor<4x33x49xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %26 = arith.mulf %in, %in_2 : f32
      linalg.yield %26 : f32
    } -> tensor<4x33x49xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%8, %arg3 : tensor<4x33x49xf32>, tensor<4x33x49xf32>) outs(%5 : tensor<4x33x49xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %26 = arith.addf %in, %in_2 : f32
      linalg.yield %26 : f32
    } -> tensor<4x33x49xf32>
    %10 = tensor.empty() : tensor<4x33xi64>
    %11 = linalg.fill ins(%c0_i64 : i64) outs(%10 : tensor<4x33xi64>) -> tensor<4x33xi64>
    %12 = tensor.empty() : tensor<4x33xf32>
    %13 = linalg.fill ins(%cst_0 : f32) outs(%12 : tensor<4x33xf32>) -> tensor<4x33xf32>
    %14:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%9 : tensor<4x33x49xf32>) outs(%13, %11 : tensor<4x33xf32>, tensor<4x33xi64>) {
    ^bb0(%in: f32, %out: f32, %out_2: i64):
      %26 = linalg.index 2 : index
      %27 = arith.index_cast %26 : index to i64
      %28 = arith.maximumf %in, %out : f32
      %29 = arith.cmpf ogt, %in, %out : f32
      %30 = arith.select %29, %27, %out_2 : i64
      linalg.yield %28, %30 : f32, i64
    } -> (tensor<4x33xf32>, tensor<4x33xi64>)
    %expanded = tensor.expand_shape %14#0 [[0], [1, 2]] output_shape [4, 33, 1] : tensor<4x33xf32> into tensor<4x33x1xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%9, %expanded : tensor<4x33x49xf32>, tensor<4x33x1xf32>) outs(%5 : tensor<4x33x49xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %26 = arith.subf %in, %in_2 : f32
      linalg.yield %26 : f32
    } -> tensor<4x33x49xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%15 : tensor<4x33x49xf32>) outs(%5 : tensor<4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %26 = math.exp %in : f32
      linalg.yield %26 : f32
    } -> tensor<4x33x49xf32>
    %17 = tensor.empty() : tensor<4x33x1xf32>
    %18 = linalg.fill ins(%cst : f32) outs(%17 : tensor<4x33x1xf32>) -> tensor<4x33x1xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%16 : tensor<4x33x49xf32>) outs(%18 : tensor<4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %26 = arith.addf %in, %out : f32
      linalg.yield %26 : f32
    } -> tensor<4x33x1xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%16, %19 : tensor<4x33x49xf32>, tensor<4x33x1xf32>) outs(%5 : tensor<4x33x49xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %26 = arith.divf %in, %in_2 : f32
      linalg.yield %26 : f32
    } -> tensor<4x33x49xf32>
    %21 = tensor.empty() : tensor<4x33x24xf32>
    %22 = linalg.fill ins(%cst : f32) outs(%21 : tensor<4x33x24xf32>) -> tensor<4x33x24xf32>
    %23 = linalg.batch_matmul ins(%20, %arg2 : tensor<4x33x49xf32>, tensor<4x49x24xf32>) outs(%22 : tensor<4x33x24xf32>) -> tensor<4x33x24xf32>
    return %23 : tensor<4x33x24xf32>
  }
}
