// torch case layer_padding; torch 2.15.0, ONNX opset 18; iree-base-compiler
// attentions: 1
module {
  func.func @model(%arg0: tensor<2x33x96xf32>, %arg1: tensor<2x33xi1>) -> (tensor<2x33x96xf32>) {
    %cst = arith.constant 0.000000e+00 : f32
    %c0_i64 = arith.constant 0 : i64
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<2> : tensor<1xi64>
    %cst_2 = arith.constant dense<1> : tensor<1xi64>
    %cst_3 = arith.constant dense<0> : tensor<1xi64>
    %cst_4 = arith.constant dense<0.000000e+00> : tensor<288xf32>
    %cst_5 = arith.constant dense<1.000000e-02> : tensor<96x96xf32>
    %cst_6 = arith.constant dense<0.000000e+00> : tensor<2x33xf32>
    %cst_7 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_8 = arith.constant dense<1.000000e-02> : tensor<96x288xf32>
    %cst_9 = arith.constant dense<4.518010e-01> : tensor<1xf32>
    %2 = tensor.empty() : tensor<2x33xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg1, %cst_7, %cst_6 : tensor<2x33xi1>, tensor<f32>, tensor<2x33xf32>) outs(%2 : tensor<2x33xf32>) {
    ^bb0(%in: i1, %in_35: f32, %in_36: f32, %out: f32):
      %50 = arith.select %in, %in_35, %in_36 : f32
      linalg.yield %50 : f32
    } -> tensor<2x33xf32>
    %4 = tensor.empty() : tensor<33x2x96xf32>
    %transposed = linalg.transpose ins(%arg0 : tensor<2x33x96xf32>) outs(%4 : tensor<33x2x96xf32>) permutation = [1, 0, 2] 
    %5 = tensor.empty() : tensor<33x96x288xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_8 : tensor<96x288xf32>) outs(%5 : tensor<33x96x288xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<33x96x288xf32>
    %7 = tensor.empty() : tensor<33x2x288xf32>
    %8 = linalg.fill ins(%cst : f32) outs(%7 : tensor<33x2x288xf32>) -> tensor<33x2x288xf32>
    %9 = linalg.batch_matmul ins(%transposed, %6 : tensor<33x2x96xf32>, tensor<33x96x288xf32>) outs(%8 : tensor<33x2x288xf32>) -> tensor<33x2x288xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%9, %cst_4 : tensor<33x2x288xf32>, tensor<288xf32>) outs(%7 : tensor<33x2x288xf32>) {
    ^bb0(%in: f32, %in_35: f32, %out: f32):
      %50 = arith.addf %in, %in_35 : f32
      linalg.yield %50 : f32
    } -> tensor<33x2x288xf32>
    %expanded = tensor.expand_shape %10 [[0, 1], [2], [3, 4]] output_shape [1, 33, 2, 3, 96] : tensor<33x2x288xf32> into tensor<1x33x2x3x96xf32>
    %11 = tensor.empty() : tensor<3x33x2x1x96xf32>
    %transposed_10 = linalg.transpose ins(%expanded : tensor<1x33x2x3x96xf32>) outs(%11 : tensor<3x33x2x1x96xf32>) permutation = [3, 1, 2, 0, 4] 
    %collapsed = tensor.collapse_shape %transposed_10 [[0], [1], [2, 3], [4]] : tensor<3x33x2x1x96xf32> into tensor<3x33x2x96xf32>
    %12 = tensor.empty() : tensor<1x33x2x96xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<1xi64>) outs(%12 : tensor<1x33x2x96xf32>) {
    ^bb0(%in: i64, %out: f32):
      %50 = arith.index_cast %in : i64 to index
      %51 = linalg.index 1 : index
      %52 = linalg.index 2 : index
      %53 = linalg.index 3 : index
      %extracted = tensor.extract %collapsed[%50, %51, %52, %53] : tensor<3x33x2x96xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x33x2x96xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<1xi64>) outs(%12 : tensor<1x33x2x96xf32>) {
    ^bb0(%in: i64, %out: f32):
      %50 = arith.index_cast %in : i64 to index
      %51 = linalg.index 1 : index
      %52 = linalg.index 2 : index
      %53 = linalg.index 3 : index
      %extracted = tensor.extract %collapsed[%50, %51, %52, %53] : tensor<3x33x2x96xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x33x2x96xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<1xi64>) outs(%12 : tensor<1x33x2x96xf32>) {
    ^bb0(%in: i64, %out: f32):
      %50 = arith.index_cast %in : i64 to index
      %51 = linalg.index 1 : index
      %52 = linalg.index 2 : index
      %53 = linalg.index 3 : index
      %extracted = tensor.extract %collapsed[%50, %51, %52, %53] : tensor<3x33x2x96xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x33x2x96xf32>
    %collapsed_11 = tensor.collapse_shape %13 [[0, 1], [2, 3]] : tensor<1x33x2x96xf32> into tensor<33x192xf32>
    %expanded_12 = tensor.expand_shape %collapsed_11 [[0], [1, 2]] output_shape [33, 8, 24] : tensor<33x192xf32> into tensor<33x8x24xf32>
    %16 = tensor.empty() : tensor<8x33x24xf32>
    %transposed_13 = linalg.transpose ins(%expanded_12 : tensor<33x8x24xf32>) outs(%16 : tensor<8x33x24xf32>) permutation = [1, 0, 2] 
    %collapsed_14 = tensor.collapse_shape %14 [[0, 1], [2, 3]] : tensor<1x33x2x96xf32> into tensor<33x192xf32>
    %expanded_15 = tensor.expand_shape %collapsed_14 [[0], [1, 2]] output_shape [33, 8, 24] : tensor<33x192xf32> into tensor<33x8x24xf32>
    %collapsed_16 = tensor.collapse_shape %15 [[0, 1], [2, 3]] : tensor<1x33x2x96xf32> into tensor<33x192xf32>
    %expanded_17 = tensor.expand_shape %collapsed_16 [[0], [1, 2]] output_shape [33, 8, 24] : tensor<33x192xf32> into tensor<33x8x24xf32>
    %transposed_18 = linalg.transpose ins(%expanded_17 : tensor<33x8x24xf32>) outs(%16 : tensor<8x33x24xf32>) permutation = [1, 0, 2] 
    %expanded_19 = tensor.expand_shape %3 [[0], [1, 2, 3]] output_shape [2, 1, 1, 33] : tensor<2x33xf32> into tensor<2x1x1x33xf32>
    %17 = tensor.empty() : tensor<2x4x1x33xf32>
    %collapsed_20 = tensor.collapse_shape %expanded_19 [[0, 1], [2], [3]] : tensor<2x1x1x33xf32> into tensor<2x1x33xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%collapsed_20 : tensor<2x1x33xf32>) outs(%17 : tensor<2x4x1x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x1x33xf32>
    %expanded_21 = tensor.expand_shape %transposed_13 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    %19 = tensor.empty() : tensor<8x24x33xf32>
    %transposed_22 = linalg.transpose ins(%expanded_15 : tensor<33x8x24xf32>) outs(%19 : tensor<8x24x33xf32>) permutation = [1, 2, 0] 
    %expanded_23 = tensor.expand_shape %transposed_22 [[0, 1], [2], [3]] output_shape [2, 4, 24, 33] : tensor<8x24x33xf32> into tensor<2x4x24x33xf32>
    %20 = tensor.empty() : tensor<2x4x33x24xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_21, %cst_9 : tensor<2x4x33x24xf32>, tensor<1xf32>) outs(%20 : tensor<2x4x33x24xf32>) {
    ^bb0(%in: f32, %in_35: f32, %out: f32):
      %50 = arith.mulf %in, %in_35 : f32
      linalg.yield %50 : f32
    } -> tensor<2x4x33x24xf32>
    %22 = tensor.empty() : tensor<2x4x24x33xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_23, %cst_9 : tensor<2x4x24x33xf32>, tensor<1xf32>) outs(%22 : tensor<2x4x24x33xf32>) {
    ^bb0(%in: f32, %in_35: f32, %out: f32):
      %50 = arith.mulf %in, %in_35 : f32
      linalg.yield %50 : f32
    } -> tensor<2x4x24x33xf32>
    %collapsed_24 = tensor.collapse_shape %21 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_25 = tensor.collapse_shape %23 [[0, 1], [2], [3]] : tensor<2x4x24x33xf32> into tensor<8x24x33xf32>
    %24 = tensor.empty() : tensor<8x33x33xf32>
    %25 = linalg.fill ins(%cst : f32) outs(%24 : tensor<8x33x33xf32>) -> tensor<8x33x33xf32>
    %26 = linalg.batch_matmul ins(%collapsed_24, %collapsed_25 : tensor<8x33x24xf32>, tensor<8x24x33xf32>) outs(%25 : tensor<8x33x33xf32>) -> tensor<8x33x33xf32>
    %expanded_26 = tensor.expand_shape %26 [[0, 1], [2], [3]] output_shape [2, 4, 33, 33] : tensor<8x33x33xf32> into tensor<2x4x33x33xf32>
    %27 = tensor.empty() : tensor<2x4x33x33xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_26, %18 : tensor<2x4x33x33xf32>, tensor<2x4x1x33xf32>) outs(%27 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %in_35: f32, %out: f32):
      %50 = arith.addf %in, %in_35 : f32
      linalg.yield %50 : f32
    } -> tensor<2x4x33x33xf32>
    %29 = tensor.empty() : tensor<2x4x33xi64>
    %30 = linalg.fill ins(%c0_i64 : i64) outs(%29 : tensor<2x4x33xi64>) -> tensor<2x4x33xi64>
    %31 = tensor.empty() : tensor<2x4x33xf32>
    %32 = linalg.fill ins(%cst_0 : f32) outs(%31 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %33:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%28 : tensor<2x4x33x33xf32>) outs(%32, %30 : tensor<2x4x33xf32>, tensor<2x4x33xi64>) {
    ^bb0(%in: f32, %out: f32, %out_35: i64):
      %50 = linalg.index 3 : index
      %51 = arith.index_cast %50 : index to i64
      %52 = arith.maximumf %in, %out : f32
      %53 = arith.cmpf ogt, %in, %out : f32
      %54 = arith.select %53, %51, %out_35 : i64
      linalg.yield %52, %54 : f32, i64
    } -> (tensor<2x4x33xf32>, tensor<2x4x33xi64>)
    %expanded_27 = tensor.expand_shape %33#0 [[0], [1], [2, 3]] output_shape [2, 4, 33, 1] : tensor<2x4x33xf32> into tensor<2x4x33x1xf32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%28, %expanded_27 : tensor<2x4x33x33xf32>, tensor<2x4x33x1xf32>) outs(%27 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %in_35: f32, %out: f32):
      %50 = arith.subf %in, %in_35 : f32
      linalg.yield %50 : f32
    } -> tensor<2x4x33x33xf32>
    %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%34 : tensor<2x4x33x33xf32>) outs(%27 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %50 = math.exp %in : f32
      linalg.yield %50 : f32
    } -> tensor<2x4x33x33xf32>
    %36 = tensor.empty() : tensor<2x4x33x1xf32>
    %37 = linalg.fill ins(%cst : f32) outs(%36 : tensor<2x4x33x1xf32>) -> tensor<2x4x33x1xf32>
    %38 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%35 : tensor<2x4x33x33xf32>) outs(%37 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %50 = arith.addf %in, %out : f32
      linalg.yield %50 : f32
    } -> tensor<2x4x33x1xf32>
    %39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%35, %38 : tensor<2x4x33x33xf32>, tensor<2x4x33x1xf32>) outs(%27 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %in_35: f32, %out: f32):
      %50 = arith.divf %in, %in_35 : f32
      linalg.yield %50 : f32
    } -> tensor<2x4x33x33xf32>
    %collapsed_28 = tensor.collapse_shape %39 [[0, 1], [2], [3]] : tensor<2x4x33x33xf32> into tensor<8x33x33xf32>
    %40 = linalg.fill ins(%cst : f32) outs(%16 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %41 = linalg.batch_matmul ins(%collapsed_28, %transposed_18 : tensor<8x33x33xf32>, tensor<8x33x24xf32>) outs(%40 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_29 = tensor.expand_shape %41 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    %42 = tensor.empty() : tensor<33x2x4x24xf32>
    %transposed_30 = linalg.transpose ins(%expanded_29 : tensor<2x4x33x24xf32>) outs(%42 : tensor<33x2x4x24xf32>) permutation = [2, 0, 1, 3] 
    %collapsed_31 = tensor.collapse_shape %transposed_30 [[0, 1], [2, 3]] : tensor<33x2x4x24xf32> into tensor<66x96xf32>
    %43 = tensor.empty() : tensor<96x96xf32>
    %transposed_32 = linalg.transpose ins(%cst_5 : tensor<96x96xf32>) outs(%43 : tensor<96x96xf32>) permutation = [1, 0] 
    %44 = tensor.empty() : tensor<66x96xf32>
    %45 = linalg.fill ins(%cst : f32) outs(%44 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %46 = linalg.matmul ins(%collapsed_31, %transposed_32 : tensor<66x96xf32>, tensor<96x96xf32>) outs(%45 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %expanded_33 = tensor.expand_shape %46 [[0, 1], [2]] output_shape [33, 2, 96] : tensor<66x96xf32> into tensor<33x2x96xf32>
    %47 = tensor.empty() : tensor<2x33x96xf32>
    %transposed_34 = linalg.transpose ins(%expanded_33 : tensor<33x2x96xf32>) outs(%47 : tensor<2x33x96xf32>) permutation = [1, 0, 2] 
    return %transposed_34 : tensor<2x33x96xf32>
  }
}
