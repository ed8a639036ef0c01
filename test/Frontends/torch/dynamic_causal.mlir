// torch case dynamic_causal; torch 2.15.0, ONNX opset 18; iree-base-compiler
// attentions: 1
module {
  func.func @model(%arg2: tensor<2x4x?x24xf32>) -> (tensor<2x4x?x24xf32>) {
    %size2 = arith.constant 2 : index
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %c2 = arith.constant 2 : index
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<4.518010e-01> : tensor<1xf32>
    %cst_2 = arith.constant dense<1.000000e+00> : tensor<f32>
    %cst_3 = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_4 = arith.constant dense<-3.40282347E+38> : tensor<f32>
    %0 = tensor.dim %arg2, %size2 : tensor<2x4x?x24xf32>
    %dim = tensor.dim %arg2, %c2 : tensor<2x4x?x24xf32>
    %2 = arith.index_cast %dim : index to i64
    %3 = tensor.empty(%dim, %dim) : tensor<?x?xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%3 : tensor<?x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<?x?xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<?x?xf32>) outs(%3 : tensor<?x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %36 = linalg.index 0 : index
      %37 = arith.index_cast %36 : index to i64
      %38 = linalg.index 1 : index
      %39 = arith.index_cast %38 : index to i64
      %40 = arith.cmpi sle, %39, %37 : i64
      %41 = arith.select %40, %in, %cst : f32
      linalg.yield %41 : f32
    } -> tensor<?x?xf32>
    %6 = tensor.empty(%dim, %dim) : tensor<?x?xi1>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%5, %cst_3 : tensor<?x?xf32>, tensor<f32>) outs(%6 : tensor<?x?xi1>) {
    ^bb0(%in: f32, %in_12: f32, %out: i1):
      %36 = arith.cmpf oeq, %in, %in_12 : f32
      linalg.yield %36 : i1
    } -> tensor<?x?xi1>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%7, %cst_4, %cst_3 : tensor<?x?xi1>, tensor<f32>, tensor<f32>) outs(%3 : tensor<?x?xf32>) {
    ^bb0(%in: i1, %in_12: f32, %in_13: f32, %out: f32):
      %36 = arith.select %in, %in_12, %in_13 : f32
      linalg.yield %36 : f32
    } -> tensor<?x?xf32>
    %9 = arith.cmpi sgt, %2, %c0_i64 : i64
    cf.assert %9, "Expected dim size > 0."
    %collapsed = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x?x24xf32> into tensor<8x?x24xf32>
    %10 = tensor.empty(%dim) : tensor<8x24x?xf32>
    %transposed = linalg.transpose ins(%collapsed : tensor<8x?x24xf32>) outs(%10 : tensor<8x24x?xf32>) permutation = [0, 2, 1] 
    %expanded = tensor.expand_shape %transposed [[0, 1], [2], [3]] output_shape [2, 4, 24, %dim] : tensor<8x24x?xf32> into tensor<2x4x24x?xf32>
    %11 = tensor.empty(%dim) : tensor<2x4x?x24xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2, %cst_1 : tensor<2x4x?x24xf32>, tensor<1xf32>) outs(%11 : tensor<2x4x?x24xf32>) {
    ^bb0(%in: f32, %in_12: f32, %out: f32):
      %36 = arith.mulf %in, %in_12 : f32
      linalg.yield %36 : f32
    } -> tensor<2x4x?x24xf32>
    %13 = tensor.empty(%dim) : tensor<2x4x24x?xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded, %cst_1 : tensor<2x4x24x?xf32>, tensor<1xf32>) outs(%13 : tensor<2x4x24x?xf32>) {
    ^bb0(%in: f32, %in_12: f32, %out: f32):
      %36 = arith.mulf %in, %in_12 : f32
      linalg.yield %36 : f32
    } -> tensor<2x4x24x?xf32>
    %collapsed_5 = tensor.collapse_shape %12 [[0, 1], [2], [3]] : tensor<2x4x?x24xf32> into tensor<8x?x24xf32>
    %collapsed_6 = tensor.collapse_shape %14 [[0, 1], [2], [3]] : tensor<2x4x24x?xf32> into tensor<8x24x?xf32>
    %15 = tensor.empty(%dim, %dim) : tensor<8x?x?xf32>
    %16 = linalg.fill ins(%cst : f32) outs(%15 : tensor<8x?x?xf32>) -> tensor<8x?x?xf32>
    %17 = linalg.batch_matmul ins(%collapsed_5, %collapsed_6 : tensor<8x?x24xf32>, tensor<8x24x?xf32>) outs(%16 : tensor<8x?x?xf32>) -> tensor<8x?x?xf32>
    %expanded_7 = tensor.expand_shape %17 [[0, 1], [2], [3]] output_shape [2, 4, %dim, %dim] : tensor<8x?x?xf32> into tensor<2x4x?x?xf32>
    %18 = tensor.empty(%dim, %dim) : tensor<2x4x?x?xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_7, %8 : tensor<2x4x?x?xf32>, tensor<?x?xf32>) outs(%18 : tensor<2x4x?x?xf32>) {
    ^bb0(%in: f32, %in_12: f32, %out: f32):
      %36 = arith.addf %in, %in_12 : f32
      linalg.yield %36 : f32
    } -> tensor<2x4x?x?xf32>
    %20 = tensor.empty(%dim) : tensor<2x4x?xi64>
    %21 = linalg.fill ins(%c0_i64 : i64) outs(%20 : tensor<2x4x?xi64>) -> tensor<2x4x?xi64>
    %22 = tensor.empty(%dim) : tensor<2x4x?xf32>
    %23 = linalg.fill ins(%cst_0 : f32) outs(%22 : tensor<2x4x?xf32>) -> tensor<2x4x?xf32>
    %24:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%19 : tensor<2x4x?x?xf32>) outs(%23, %21 : tensor<2x4x?xf32>, tensor<2x4x?xi64>) {
    ^bb0(%in: f32, %out: f32, %out_12: i64):
      %36 = linalg.index 3 : index
      %37 = arith.index_cast %36 : index to i64
      %38 = arith.maximumf %in, %out : f32
      %39 = arith.cmpf ogt, %in, %out : f32
      %40 = arith.select %39, %37, %out_12 : i64
      linalg.yield %38, %40 : f32, i64
    } -> (tensor<2x4x?xf32>, tensor<2x4x?xi64>)
    %expanded_8 = tensor.expand_shape %24#0 [[0], [1], [2, 3]] output_shape [2, 4, %dim, 1] : tensor<2x4x?xf32> into tensor<2x4x?x1xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19, %expanded_8 : tensor<2x4x?x?xf32>, tensor<2x4x?x1xf32>) outs(%18 : tensor<2x4x?x?xf32>) {
    ^bb0(%in: f32, %in_12: f32, %out: f32):
      %36 = arith.subf %in, %in_12 : f32
      linalg.yield %36 : f32
    } -> tensor<2x4x?x?xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%25 : tensor<2x4x?x?xf32>) outs(%18 : tensor<2x4x?x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %36 = math.exp %in : f32
      linalg.yield %36 : f32
    } -> tensor<2x4x?x?xf32>
    %27 = tensor.empty(%dim) : tensor<2x4x?x1xf32>
    %28 = linalg.fill ins(%cst : f32) outs(%27 : tensor<2x4x?x1xf32>) -> tensor<2x4x?x1xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%26 : tensor<2x4x?x?xf32>) outs(%28 : tensor<2x4x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %36 = arith.addf %in, %out : f32
      linalg.yield %36 : f32
    } -> tensor<2x4x?x1xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%26, %29 : tensor<2x4x?x?xf32>, tensor<2x4x?x1xf32>) outs(%18 : tensor<2x4x?x?xf32>) {
    ^bb0(%in: f32, %in_12: f32, %out: f32):
      %36 = arith.divf %in, %in_12 : f32
      linalg.yield %36 : f32
    } -> tensor<2x4x?x?xf32>
    %collapsed_9 = tensor.collapse_shape %30 [[0, 1], [2], [3]] : tensor<2x4x?x?xf32> into tensor<8x?x?xf32>
    %31 = tensor.empty(%dim) : tensor<8x?x24xf32>
    %32 = linalg.fill ins(%cst : f32) outs(%31 : tensor<8x?x24xf32>) -> tensor<8x?x24xf32>
    %33 = linalg.batch_matmul ins(%collapsed_9, %collapsed : tensor<8x?x?xf32>, tensor<8x?x24xf32>) outs(%32 : tensor<8x?x24xf32>) -> tensor<8x?x24xf32>
    %expanded_10 = tensor.expand_shape %33 [[0, 1], [2], [3]] output_shape [2, 4, %dim, 24] : tensor<8x?x24xf32> into tensor<2x4x?x24xf32>
    %dim_11 = tensor.dim %expanded_10, %c2 : tensor<2x4x?x24xf32>
    return %expanded_10 : tensor<2x4x?x24xf32>
  }
}
