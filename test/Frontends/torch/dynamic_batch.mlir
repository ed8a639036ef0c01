// torch case dynamic_batch; torch 2.15.0, ONNX opset 18; iree-base-compiler
// attentions: 1
module {
  func.func @model(%arg0: tensor<?x4x?x24xf32>, %arg1: tensor<?x4x?x24xf32>, %arg2: tensor<?x4x?x24xf32>) -> (tensor<?x4x?x24xf32>) {
    %size0 = arith.constant 0 : index
    %size2 = arith.constant 2 : index
    %c4_i64 = arith.constant 4 : i64
    %c24_i64 = arith.constant 24 : i64
    %c0_i64 = arith.constant 0 : i64
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<4.518010e-01> : tensor<1xf32>
    %0 = tensor.dim %arg0, %size0 : tensor<?x4x?x24xf32>
    %1 = tensor.dim %arg0, %size2 : tensor<?x4x?x24xf32>
    %3 = tensor.dim %arg1, %size0 : tensor<?x4x?x24xf32>
    %4 = tensor.dim %arg1, %size2 : tensor<?x4x?x24xf32>
    %6 = tensor.dim %arg2, %size0 : tensor<?x4x?x24xf32>
    %7 = tensor.dim %arg2, %size2 : tensor<?x4x?x24xf32>
    %dim = tensor.dim %arg1, %c0 : tensor<?x4x?x24xf32>
    %9 = arith.index_cast %dim : index to i64
    %dim_2 = tensor.dim %arg1, %c2 : tensor<?x4x?x24xf32>
    %10 = arith.index_cast %dim_2 : index to i64
    %11 = arith.cmpi sgt, %10, %c0_i64 : i64
    cf.assert %11, "Expected dim size > 0."
    %collapsed = tensor.collapse_shape %arg1 [[0, 1], [2], [3]] : tensor<?x4x?x24xf32> into tensor<?x?x24xf32>
    %12 = affine.apply affine_map<()[s0] -> (s0 * 4)>()[%dim]
    %13 = tensor.empty(%12, %dim_2) : tensor<?x24x?xf32>
    %transposed = linalg.transpose ins(%collapsed : tensor<?x?x24xf32>) outs(%13 : tensor<?x24x?xf32>) permutation = [0, 2, 1] 
    %14 = arith.cmpi sgt, %9, %c0_i64 : i64
    cf.assert %14, "Expected dim size > 0."
    %from_elements = tensor.from_elements %9, %c4_i64, %c24_i64, %10 : tensor<4xi64>
    %reshape = tensor.reshape %transposed(%from_elements) : (tensor<?x24x?xf32>, tensor<4xi64>) -> tensor<?x4x24x?xf32>
    %dim_3 = tensor.dim %arg0, %c0 : tensor<?x4x?x24xf32>
    %dim_4 = tensor.dim %arg0, %c2 : tensor<?x4x?x24xf32>
    %15 = tensor.empty(%dim_3, %dim_4) : tensor<?x4x?x24xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %cst_1 : tensor<?x4x?x24xf32>, tensor<1xf32>) outs(%15 : tensor<?x4x?x24xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %47 = arith.mulf %in, %in_15 : f32
      linalg.yield %47 : f32
    } -> tensor<?x4x?x24xf32>
    %17 = tensor.empty(%dim, %dim_2) : tensor<?x4x24x?xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%reshape, %cst_1 : tensor<?x4x24x?xf32>, tensor<1xf32>) outs(%17 : tensor<?x4x24x?xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %47 = arith.mulf %in, %in_15 : f32
      linalg.yield %47 : f32
    } -> tensor<?x4x24x?xf32>
    %19 = arith.maxui %dim_3, %dim : index
    %collapsed_5 = tensor.collapse_shape %16 [[0, 1], [2], [3]] : tensor<?x4x?x24xf32> into tensor<?x?x24xf32>
    %collapsed_6 = tensor.collapse_shape %18 [[0, 1], [2], [3]] : tensor<?x4x24x?xf32> into tensor<?x24x?xf32>
    %20 = arith.muli %19, %c4 : index
    %21 = tensor.empty(%20, %dim_4, %dim_2) : tensor<?x?x?xf32>
    %22 = linalg.fill ins(%cst : f32) outs(%21 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %23 = linalg.batch_matmul ins(%collapsed_5, %collapsed_6 : tensor<?x?x24xf32>, tensor<?x24x?xf32>) outs(%22 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %24 = arith.divsi %20, %c4 : index
    %expanded = tensor.expand_shape %23 [[0, 1], [2], [3]] output_shape [%24, 4, %dim_4, %dim_2] : tensor<?x?x?xf32> into tensor<?x4x?x?xf32>
    %25 = tensor.empty(%24, %dim_4) : tensor<?x4x?xi64>
    %26 = linalg.fill ins(%c0_i64 : i64) outs(%25 : tensor<?x4x?xi64>) -> tensor<?x4x?xi64>
    %27 = tensor.empty(%24, %dim_4) : tensor<?x4x?xf32>
    %28 = linalg.fill ins(%cst_0 : f32) outs(%27 : tensor<?x4x?xf32>) -> tensor<?x4x?xf32>
    %29:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<?x4x?x?xf32>) outs(%28, %26 : tensor<?x4x?xf32>, tensor<?x4x?xi64>) {
    ^bb0(%in: f32, %out: f32, %out_15: i64):
      %47 = linalg.index 3 : index
      %48 = arith.index_cast %47 : index to i64
      %49 = arith.maximumf %in, %out : f32
      %50 = arith.cmpf ogt, %in, %out : f32
      %51 = arith.select %50, %48, %out_15 : i64
      linalg.yield %49, %51 : f32, i64
    } -> (tensor<?x4x?xf32>, tensor<?x4x?xi64>)
    %expanded_7 = tensor.expand_shape %29#0 [[0], [1], [2, 3]] output_shape [%24, 4, %dim_4, 1] : tensor<?x4x?xf32> into tensor<?x4x?x1xf32>
    %30 = tensor.empty(%24, %dim_4, %dim_2) : tensor<?x4x?x?xf32>
    %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded, %expanded_7 : tensor<?x4x?x?xf32>, tensor<?x4x?x1xf32>) outs(%30 : tensor<?x4x?x?xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %47 = arith.subf %in, %in_15 : f32
      linalg.yield %47 : f32
    } -> tensor<?x4x?x?xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%31 : tensor<?x4x?x?xf32>) outs(%30 : tensor<?x4x?x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %47 = math.exp %in : f32
      linalg.yield %47 : f32
    } -> tensor<?x4x?x?xf32>
    %33 = tensor.empty(%24, %dim_4) : tensor<?x4x?x1xf32>
    %34 = linalg.fill ins(%cst : f32) outs(%33 : tensor<?x4x?x1xf32>) -> tensor<?x4x?x1xf32>
    %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%32 : tensor<?x4x?x?xf32>) outs(%34 : tensor<?x4x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %47 = arith.addf %in, %out : f32
      linalg.yield %47 : f32
    } -> tensor<?x4x?x1xf32>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%32, %35 : tensor<?x4x?x?xf32>, tensor<?x4x?x1xf32>) outs(%30 : tensor<?x4x?x?xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %47 = arith.divf %in, %in_15 : f32
      linalg.yield %47 : f32
    } -> tensor<?x4x?x?xf32>
    %dim_8 = tensor.dim %arg2, %c0 : tensor<?x4x?x24xf32>
    %37 = arith.maxui %24, %dim_8 : index
    %dim_9 = tensor.dim %arg2, %c2 : tensor<?x4x?x24xf32>
    %38 = arith.index_cast %dim_9 : index to i64
    %39 = arith.cmpi eq, %10, %38 : i64
    cf.assert %39, "mismatching contracting dimension"
    %collapsed_10 = tensor.collapse_shape %36 [[0, 1], [2], [3]] : tensor<?x4x?x?xf32> into tensor<?x?x?xf32>
    %collapsed_11 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<?x4x?x24xf32> into tensor<?x?x24xf32>
    %40 = arith.muli %37, %c4 : index
    %41 = tensor.empty(%40, %dim_4) : tensor<?x?x24xf32>
    %42 = linalg.fill ins(%cst : f32) outs(%41 : tensor<?x?x24xf32>) -> tensor<?x?x24xf32>
    %43 = linalg.batch_matmul ins(%collapsed_10, %collapsed_11 : tensor<?x?x?xf32>, tensor<?x?x24xf32>) outs(%42 : tensor<?x?x24xf32>) -> tensor<?x?x24xf32>
    %44 = arith.divsi %40, %c4 : index
    %expanded_12 = tensor.expand_shape %43 [[0, 1], [2], [3]] output_shape [%44, 4, %dim_4, 24] : tensor<?x?x24xf32> into tensor<?x4x?x24xf32>
    %dim_13 = tensor.dim %expanded_12, %c0 : tensor<?x4x?x24xf32>
    %dim_14 = tensor.dim %expanded_12, %c2 : tensor<?x4x?x24xf32>
    return %expanded_12 : tensor<?x4x?x24xf32>
  }
}
