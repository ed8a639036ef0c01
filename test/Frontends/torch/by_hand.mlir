// torch case by_hand; torch 2.15.0, ONNX opset 18; iree-base-compiler
// attentions: 1
module {
  func.func @model(%arg0: tensor<?x4x?x24xf32>, %arg1: tensor<?x4x?x24xf32>, %arg2: tensor<?x4x?x24xf32>) -> (tensor<?x4x?x24xf32>) {
    %size0 = arith.constant 0 : index
    %size2 = arith.constant 2 : index
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %cst = arith.constant 0.000000e+00 : f32
    %c0_i64 = arith.constant 0 : i64
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<4.89897966> : tensor<f32>
    %0 = tensor.dim %arg0, %size0 : tensor<?x4x?x24xf32>
    %1 = tensor.dim %arg0, %size2 : tensor<?x4x?x24xf32>
    %3 = tensor.dim %arg1, %size0 : tensor<?x4x?x24xf32>
    %4 = tensor.dim %arg1, %size2 : tensor<?x4x?x24xf32>
    %6 = tensor.dim %arg2, %size0 : tensor<?x4x?x24xf32>
    %7 = tensor.dim %arg2, %size2 : tensor<?x4x?x24xf32>
    %dim = tensor.dim %arg1, %c0 : tensor<?x4x?x24xf32>
    %dim_2 = tensor.dim %arg1, %c2 : tensor<?x4x?x24xf32>
    %9 = tensor.empty(%dim, %dim_2) : tensor<?x4x24x?xf32>
    %transposed = linalg.transpose ins(%arg1 : tensor<?x4x?x24xf32>) outs(%9 : tensor<?x4x24x?xf32>) permutation = [0, 1, 3, 2] 
    %dim_3 = tensor.dim %arg0, %c0 : tensor<?x4x?x24xf32>
    %10 = arith.maxui %dim_3, %dim : index
    %dim_4 = tensor.dim %arg0, %c2 : tensor<?x4x?x24xf32>
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<?x4x?x24xf32> into tensor<?x?x24xf32>
    %collapsed_5 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<?x4x24x?xf32> into tensor<?x24x?xf32>
    %11 = arith.muli %10, %c4 : index
    %12 = tensor.empty(%11, %dim_4, %dim_2) : tensor<?x?x?xf32>
    %13 = linalg.fill ins(%cst : f32) outs(%12 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %14 = linalg.batch_matmul ins(%collapsed, %collapsed_5 : tensor<?x?x24xf32>, tensor<?x24x?xf32>) outs(%13 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %15 = arith.divsi %11, %c4 : index
    %expanded = tensor.expand_shape %14 [[0, 1], [2], [3]] output_shape [%15, 4, %dim_4, %dim_2] : tensor<?x?x?xf32> into tensor<?x4x?x?xf32>
    %16 = tensor.empty(%15, %dim_4, %dim_2) : tensor<?x4x?x?xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded, %cst_1 : tensor<?x4x?x?xf32>, tensor<f32>) outs(%16 : tensor<?x4x?x?xf32>) {
    ^bb0(%in: f32, %in_14: f32, %out: f32):
      %40 = arith.divf %in, %in_14 : f32
      linalg.yield %40 : f32
    } -> tensor<?x4x?x?xf32>
    %18 = tensor.empty(%15, %dim_4) : tensor<?x4x?xi64>
    %19 = linalg.fill ins(%c0_i64 : i64) outs(%18 : tensor<?x4x?xi64>) -> tensor<?x4x?xi64>
    %20 = tensor.empty(%15, %dim_4) : tensor<?x4x?xf32>
    %21 = linalg.fill ins(%cst_0 : f32) outs(%20 : tensor<?x4x?xf32>) -> tensor<?x4x?xf32>
    %22:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%17 : tensor<?x4x?x?xf32>) outs(%21, %19 : tensor<?x4x?xf32>, tensor<?x4x?xi64>) {
    ^bb0(%in: f32, %out: f32, %out_14: i64):
      %40 = linalg.index 3 : index
      %41 = arith.index_cast %40 : index to i64
      %42 = arith.maximumf %in, %out : f32
      %43 = arith.cmpf ogt, %in, %out : f32
      %44 = arith.select %43, %41, %out_14 : i64
      linalg.yield %42, %44 : f32, i64
    } -> (tensor<?x4x?xf32>, tensor<?x4x?xi64>)
    %expanded_6 = tensor.expand_shape %22#0 [[0], [1], [2, 3]] output_shape [%15, 4, %dim_4, 1] : tensor<?x4x?xf32> into tensor<?x4x?x1xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17, %expanded_6 : tensor<?x4x?x?xf32>, tensor<?x4x?x1xf32>) outs(%16 : tensor<?x4x?x?xf32>) {
    ^bb0(%in: f32, %in_14: f32, %out: f32):
      %40 = arith.subf %in, %in_14 : f32
      linalg.yield %40 : f32
    } -> tensor<?x4x?x?xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<?x4x?x?xf32>) outs(%16 : tensor<?x4x?x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = math.exp %in : f32
      linalg.yield %40 : f32
    } -> tensor<?x4x?x?xf32>
    %25 = tensor.empty(%15, %dim_4) : tensor<?x4x?x1xf32>
    %26 = linalg.fill ins(%cst : f32) outs(%25 : tensor<?x4x?x1xf32>) -> tensor<?x4x?x1xf32>
    %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%24 : tensor<?x4x?x?xf32>) outs(%26 : tensor<?x4x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = arith.addf %in, %out : f32
      linalg.yield %40 : f32
    } -> tensor<?x4x?x1xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%24, %27 : tensor<?x4x?x?xf32>, tensor<?x4x?x1xf32>) outs(%16 : tensor<?x4x?x?xf32>) {
    ^bb0(%in: f32, %in_14: f32, %out: f32):
      %40 = arith.divf %in, %in_14 : f32
      linalg.yield %40 : f32
    } -> tensor<?x4x?x?xf32>
    %dim_7 = tensor.dim %arg2, %c0 : tensor<?x4x?x24xf32>
    %29 = arith.maxui %15, %dim_7 : index
    %dim_8 = tensor.dim %arg2, %c2 : tensor<?x4x?x24xf32>
    %30 = arith.index_cast %dim_2 : index to i64
    %31 = arith.index_cast %dim_8 : index to i64
    %32 = arith.cmpi eq, %30, %31 : i64
    cf.assert %32, "mismatching contracting dimension"
    %collapsed_9 = tensor.collapse_shape %28 [[0, 1], [2], [3]] : tensor<?x4x?x?xf32> into tensor<?x?x?xf32>
    %collapsed_10 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<?x4x?x24xf32> into tensor<?x?x24xf32>
    %33 = arith.muli %29, %c4 : index
    %34 = tensor.empty(%33, %dim_4) : tensor<?x?x24xf32>
    %35 = linalg.fill ins(%cst : f32) outs(%34 : tensor<?x?x24xf32>) -> tensor<?x?x24xf32>
    %36 = linalg.batch_matmul ins(%collapsed_9, %collapsed_10 : tensor<?x?x?xf32>, tensor<?x?x24xf32>) outs(%35 : tensor<?x?x24xf32>) -> tensor<?x?x24xf32>
    %37 = arith.divsi %33, %c4 : index
    %expanded_11 = tensor.expand_shape %36 [[0, 1], [2], [3]] output_shape [%37, 4, %dim_4, 24] : tensor<?x?x24xf32> into tensor<?x4x?x24xf32>
    %dim_12 = tensor.dim %expanded_11, %c0 : tensor<?x4x?x24xf32>
    %dim_13 = tensor.dim %expanded_11, %c2 : tensor<?x4x?x24xf32>
    return %expanded_11 : tensor<?x4x?x24xf32>
  }
}
