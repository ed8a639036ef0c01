// torch case layer_weights; torch 2.15.0, ONNX opset 18; iree-base-compiler
// attentions: 1
module {
  func.func @model(%arg0: tensor<2x33x96xf32>) -> (tensor<2x33x96xf32>, tensor<2x33x33xf32>) {
    %cst = arith.constant 0.000000e+00 : f32
    %c0_i64 = arith.constant 0 : i64
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<2> : tensor<1xi64>
    %cst_2 = arith.constant dense<1> : tensor<1xi64>
    %cst_3 = arith.constant dense<0> : tensor<1xi64>
    %cst_4 = arith.constant dense<0.000000e+00> : tensor<288xf32>
    %cst_5 = arith.constant dense<1.000000e-02> : tensor<96x96xf32>
    %cst_6 = arith.constant dense<1.000000e-02> : tensor<96x288xf32>
    %cst_7 = arith.constant dense<0.204124153> : tensor<f32>
    %cst_8 = arith.constant 4.000000e+00 : f32
    %1 = tensor.empty() : tensor<33x2x96xf32>
    %transposed = linalg.transpose ins(%arg0 : tensor<2x33x96xf32>) outs(%1 : tensor<33x2x96xf32>) permutation = [1, 0, 2] 
    %2 = tensor.empty() : tensor<33x96x288xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_6 : tensor<96x288xf32>) outs(%2 : tensor<33x96x288xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<33x96x288xf32>
    %4 = tensor.empty() : tensor<33x2x288xf32>
    %5 = linalg.fill ins(%cst : f32) outs(%4 : tensor<33x2x288xf32>) -> tensor<33x2x288xf32>
    %6 = linalg.batch_matmul ins(%transposed, %3 : tensor<33x2x96xf32>, tensor<33x96x288xf32>) outs(%5 : tensor<33x2x288xf32>) -> tensor<33x2x288xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%6, %cst_4 : tensor<33x2x288xf32>, tensor<288xf32>) outs(%4 : tensor<33x2x288xf32>) {
    ^bb0(%in: f32, %in_27: f32, %out: f32):
      %45 = arith.addf %in, %in_27 : f32
      linalg.yield %45 : f32
    } -> tensor<33x2x288xf32>
    %expanded = tensor.expand_shape %7 [[0, 1], [2], [3, 4]] output_shape [1, 33, 2, 3, 96] : tensor<33x2x288xf32> into tensor<1x33x2x3x96xf32>
    %8 = tensor.empty() : tensor<3x33x2x1x96xf32>
    %transposed_9 = linalg.transpose ins(%expanded : tensor<1x33x2x3x96xf32>) outs(%8 : tensor<3x33x2x1x96xf32>) permutation = [3, 1, 2, 0, 4] 
    %collapsed = tensor.collapse_shape %transposed_9 [[0], [1], [2, 3], [4]] : tensor<3x33x2x1x96xf32> into tensor<3x33x2x96xf32>
    %9 = tensor.empty() : tensor<1x33x2x96xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<1xi64>) outs(%9 : tensor<1x33x2x96xf32>) {
    ^bb0(%in: i64, %out: f32):
      %45 = arith.index_cast %in : i64 to index
      %46 = linalg.index 1 : index
      %47 = linalg.index 2 : index
      %48 = linalg.index 3 : index
      %extracted = tensor.extract %collapsed[%45, %46, %47, %48] : tensor<3x33x2x96xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x33x2x96xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<1xi64>) outs(%9 : tensor<1x33x2x96xf32>) {
    ^bb0(%in: i64, %out: f32):
      %45 = arith.index_cast %in : i64 to index
      %46 = linalg.index 1 : index
      %47 = linalg.index 2 : index
      %48 = linalg.index 3 : index
      %extracted = tensor.extract %collapsed[%45, %46, %47, %48] : tensor<3x33x2x96xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x33x2x96xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<1xi64>) outs(%9 : tensor<1x33x2x96xf32>) {
    ^bb0(%in: i64, %out: f32):
      %45 = arith.index_cast %in : i64 to index
      %46 = linalg.index 1 : index
      %47 = linalg.index 2 : index
      %48 = linalg.index 3 : index
      %extracted = tensor.extract %collapsed[%45, %46, %47, %48] : tensor<3x33x2x96xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x33x2x96xf32>
    %collapsed_10 = tensor.collapse_shape %10 [[0, 1], [2, 3]] : tensor<1x33x2x96xf32> into tensor<33x192xf32>
    %expanded_11 = tensor.expand_shape %collapsed_10 [[0], [1, 2]] output_shape [33, 8, 24] : tensor<33x192xf32> into tensor<33x8x24xf32>
    %13 = tensor.empty() : tensor<8x33x24xf32>
    %transposed_12 = linalg.transpose ins(%expanded_11 : tensor<33x8x24xf32>) outs(%13 : tensor<8x33x24xf32>) permutation = [1, 0, 2] 
    %collapsed_13 = tensor.collapse_shape %11 [[0, 1], [2, 3]] : tensor<1x33x2x96xf32> into tensor<33x192xf32>
    %expanded_14 = tensor.expand_shape %collapsed_13 [[0], [1, 2]] output_shape [33, 8, 24] : tensor<33x192xf32> into tensor<33x8x24xf32>
    %collapsed_15 = tensor.collapse_shape %12 [[0, 1], [2, 3]] : tensor<1x33x2x96xf32> into tensor<33x192xf32>
    %expanded_16 = tensor.expand_shape %collapsed_15 [[0], [1, 2]] output_shape [33, 8, 24] : tensor<33x192xf32> into tensor<33x8x24xf32>
    %transposed_17 = linalg.transpose ins(%expanded_16 : tensor<33x8x24xf32>) outs(%13 : tensor<8x33x24xf32>) permutation = [1, 0, 2] 
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%transposed_12, %cst_7 : tensor<8x33x24xf32>, tensor<f32>) outs(%13 : tensor<8x33x24xf32>) {
    ^bb0(%in: f32, %in_27: f32, %out: f32):
      %45 = arith.mulf %in, %in_27 : f32
      linalg.yield %45 : f32
    } -> tensor<8x33x24xf32>
    %15 = tensor.empty() : tensor<8x24x33xf32>
    %transposed_18 = linalg.transpose ins(%expanded_14 : tensor<33x8x24xf32>) outs(%15 : tensor<8x24x33xf32>) permutation = [1, 2, 0] 
    %16 = tensor.empty() : tensor<8x33x33xf32>
    %17 = linalg.fill ins(%cst : f32) outs(%16 : tensor<8x33x33xf32>) -> tensor<8x33x33xf32>
    %18 = linalg.batch_matmul ins(%14, %transposed_18 : tensor<8x33x24xf32>, tensor<8x24x33xf32>) outs(%17 : tensor<8x33x33xf32>) -> tensor<8x33x33xf32>
    %19 = tensor.empty() : tensor<8x33xi64>
    %20 = linalg.fill ins(%c0_i64 : i64) outs(%19 : tensor<8x33xi64>) -> tensor<8x33xi64>
    %21 = tensor.empty() : tensor<8x33xf32>
    %22 = linalg.fill ins(%cst_0 : f32) outs(%21 : tensor<8x33xf32>) -> tensor<8x33xf32>
    %23:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%18 : tensor<8x33x33xf32>) outs(%22, %20 : tensor<8x33xf32>, tensor<8x33xi64>) {
    ^bb0(%in: f32, %out: f32, %out_27: i64):
      %45 = linalg.index 2 : index
      %46 = arith.index_cast %45 : index to i64
      %47 = arith.maximumf %in, %out : f32
      %48 = arith.cmpf ogt, %in, %out : f32
      %49 = arith.select %48, %46, %out_27 : i64
      linalg.yield %47, %49 : f32, i64
    } -> (tensor<8x33xf32>, tensor<8x33xi64>)
    %expanded_19 = tensor.expand_shape %23#0 [[0], [1, 2]] output_shape [8, 33, 1] : tensor<8x33xf32> into tensor<8x33x1xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%18, %expanded_19 : tensor<8x33x33xf32>, tensor<8x33x1xf32>) outs(%16 : tensor<8x33x33xf32>) {
    ^bb0(%in: f32, %in_27: f32, %out: f32):
      %45 = arith.subf %in, %in_27 : f32
      linalg.yield %45 : f32
    } -> tensor<8x33x33xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%24 : tensor<8x33x33xf32>) outs(%16 : tensor<8x33x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %45 = math.exp %in : f32
      linalg.yield %45 : f32
    } -> tensor<8x33x33xf32>
    %26 = tensor.empty() : tensor<8x33x1xf32>
    %27 = linalg.fill ins(%cst : f32) outs(%26 : tensor<8x33x1xf32>) -> tensor<8x33x1xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%25 : tensor<8x33x33xf32>) outs(%27 : tensor<8x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %45 = arith.addf %in, %out : f32
      linalg.yield %45 : f32
    } -> tensor<8x33x1xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%25, %28 : tensor<8x33x33xf32>, tensor<8x33x1xf32>) outs(%16 : tensor<8x33x33xf32>) {
    ^bb0(%in: f32, %in_27: f32, %out: f32):
      %45 = arith.divf %in, %in_27 : f32
      linalg.yield %45 : f32
    } -> tensor<8x33x33xf32>
    %30 = linalg.fill ins(%cst : f32) outs(%13 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %31 = linalg.batch_matmul ins(%29, %transposed_17 : tensor<8x33x33xf32>, tensor<8x33x24xf32>) outs(%30 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %32 = tensor.empty() : tensor<33x8x24xf32>
    %transposed_20 = linalg.transpose ins(%31 : tensor<8x33x24xf32>) outs(%32 : tensor<33x8x24xf32>) permutation = [1, 0, 2] 
    %collapsed_21 = tensor.collapse_shape %transposed_20 [[0, 1, 2]] : tensor<33x8x24xf32> into tensor<6336xf32>
    %expanded_22 = tensor.expand_shape %collapsed_21 [[0, 1]] output_shape [66, 96] : tensor<6336xf32> into tensor<66x96xf32>
    %33 = tensor.empty() : tensor<96x96xf32>
    %transposed_23 = linalg.transpose ins(%cst_5 : tensor<96x96xf32>) outs(%33 : tensor<96x96xf32>) permutation = [1, 0] 
    %34 = tensor.empty() : tensor<66x96xf32>
    %35 = linalg.fill ins(%cst : f32) outs(%34 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %36 = linalg.matmul ins(%expanded_22, %transposed_23 : tensor<66x96xf32>, tensor<96x96xf32>) outs(%35 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %expanded_24 = tensor.expand_shape %36 [[0, 1], [2]] output_shape [33, 2, 96] : tensor<66x96xf32> into tensor<33x2x96xf32>
    %expanded_25 = tensor.expand_shape %29 [[0, 1], [2], [3]] output_shape [2, 4, 33, 33] : tensor<8x33x33xf32> into tensor<2x4x33x33xf32>
    %37 = tensor.empty() : tensor<2x33x33xf32>
    %38 = linalg.fill ins(%cst : f32) outs(%37 : tensor<2x33x33xf32>) -> tensor<2x33x33xf32>
    %39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>], iterator_types = ["parallel", "reduction", "parallel", "parallel"]} ins(%expanded_25 : tensor<2x4x33x33xf32>) outs(%38 : tensor<2x33x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %45 = arith.addf %in, %out : f32
      linalg.yield %45 : f32
    } -> tensor<2x33x33xf32>
    %40 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%39 : tensor<2x33x33xf32>) outs(%37 : tensor<2x33x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %45 = arith.divf %in, %cst_8 : f32
      linalg.yield %45 : f32
    } -> tensor<2x33x33xf32>
    %41 = tensor.empty() : tensor<2x33x96xf32>
    %transposed_26 = linalg.transpose ins(%expanded_24 : tensor<33x2x96xf32>) outs(%41 : tensor<2x33x96xf32>) permutation = [1, 0, 2] 
    return %transposed_26, %40 : tensor<2x33x96xf32>, tensor<2x33x33xf32>
  }
}
