// torch case bert_eager; torch 2.15.0, ONNX opset 18; iree-base-compiler
// attentions: 1
module {
  func.func @model(%arg0: tensor<1x32xi64>, %arg1: tensor<1x32xi64>) -> (tensor<1x32x64xf32>) {
    %c100_i64 = arith.constant 100 : i64
    %c32_i64 = arith.constant 32 : i64
    %c2_i64 = arith.constant 2 : i64
    %c64_i64 = arith.constant 64 : i64
    %c1_i64 = arith.constant 1 : i64
    %c0_i64 = arith.constant 0 : i64
    %c64 = arith.constant 64 : index
    %cst = arith.constant 0.000000e+00 : f32
    %c32 = arith.constant 32 : index
    %false = arith.constant false
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<1.000000e-02> : tensor<100x64xf32>
    %cst_2 = arith.constant dense<[[0.00681796483, 0.0239901226, -0.0152410883, -3.05561523E-4, -0.0203746557, -0.0112975044, 0.0369496085, -0.0120794009, 0.029287545, -0.0548707172, 0.0410615727, -0.0326800868, -0.0214030016, 0.0397206843, -0.0129515165, -0.0362885967, -0.0364498682, 0.00901808403, -0.00333585753, -0.0305732023, 0.0417124629, -0.00777415605, 0.0112582957, -0.0372351445, -0.00630886527, -0.0155318482, 3.299720e-02, 0.0341277383, -0.0121828038, 0.00775833241, 0.0426714458, 0.00292520644, -0.0225276817, -0.0178785063, -0.0408298858, -0.00939764454, 0.0235171821, 0.00296390615, -0.026151428, 2.004990e-02, 0.026840426, -0.00492797047, -0.025936557, 0.00139552332, 0.0134003516, -0.00734391483, -0.0199914929, 0.00156781345, -0.00494843302, 0.00499982154, 0.00204262859, -0.0171401333, -0.00758207543, 0.0229501594, 0.00316078751, -0.00193828426, 0.00192851922, 0.0264161322, 0.0018468292, 0.00884343218, -0.0200253073, -0.0166914165, -0.0304286405, 0.0107451268], [0.0166387949, -0.0395857021, -0.00851036049, -0.00471094763, 0.00379278394, 0.0144557934, -0.00875094254, -0.00113435171, -0.00404765783, 0.0146360081, 0.0193280093, -0.00562665844, 0.0301911253, -0.00513686426, 0.0250202809, -0.00834885705, 0.00838091596, -0.0077397637, 0.0424637459, -6.458800e-03, -0.0229121987, -0.0356709249, -0.022141356, -0.0133646764, 0.0264390819, 0.0102183092, 0.0285835899, 0.0197526552, 0.0390352905, -0.0283422656, -0.0131000346, 0.00774710765, -0.0142415734, 0.0360442214, -8.64755071E-4, 0.0505245253, 0.0275838599, 0.00939780101, -0.0394393876, -0.00909831561, -0.00335013377, 0.0157189108, 0.0200066529, -0.0281910338, 0.00468142843, 0.0347380862, 0.010157451, 0.00823082216, 0.0215272941, 0.0286931358, -0.00492523564, -0.0196834151, -0.00461419532, -0.0085432725, -0.00226382725, 0.0370155126, 0.0103382766, 0.00878830254, 0.0136268754, -0.0220123716, 0.0118269688, 0.0368324891, -0.0142276753, -0.0290228575]]> : tensor<2x64xf32>
    %cst_3 = arith.constant dense<1.000000e+00> : tensor<64xf32>
    %cst_4 = arith.constant dense<0.000000e+00> : tensor<64xf32>
    %cst_5 = arith.constant dense<0.000000e+00> : tensor<128xf32>
    %cst_6 = arith.constant dense<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]]> : tensor<1x32xi64>
    %cst_7 = arith.constant dense<1.000000e-02> : tensor<1x32x64xf32>
    %cst_8 = arith.constant dense<true> : tensor<1x1x32x1xi1>
    %cst_9 = arith.constant dense<[[[[[0, 0], [0, 1], [0, 2], [0, 3], [0, 4], [0, 5], [0, 6], [0, 7], [0, 8], [0, 9], [0, 10], [0, 11], [0, 12], [0, 13], [0, 14], [0, 15], [0, 16], [0, 17], [0, 18], [0, 19], [0, 20], [0, 21], [0, 22], [0, 23], [0, 24], [0, 25], [0, 26], [0, 27], [0, 28], [0, 29], [0, 30], [0, 31]]]]]> : tensor<1x1x1x32x2xi64>
    %cst_10 = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_11 = arith.constant dense<1.000000e-02> : tensor<64x64xf32>
    %cst_12 = arith.constant dense<1.000000e-02> : tensor<64x64xf32>
    %cst_13 = arith.constant dense<1.000000e-02> : tensor<64x64xf32>
    %cst_14 = arith.constant dense<1.000000e-02> : tensor<64x64xf32>
    %cst_15 = arith.constant dense<1.000000e-02> : tensor<64x128xf32>
    %cst_16 = arith.constant dense<1.000000e-02> : tensor<128x64xf32>
    %cst_17 = arith.constant dense<-3.40282347E+38> : tensor<f32>
    %cst_18 = arith.constant dense<2.500000e-01> : tensor<f32>
    %cst_19 = arith.constant dense<1.41421354> : tensor<f32>
    %cst_20 = arith.constant dense<1.000000e+00> : tensor<f32>
    %cst_21 = arith.constant dense<5.000000e-01> : tensor<f32>
    %cst_22 = arith.constant 6.400000e+01 : f32
    %cst_23 = arith.constant 9.99999996E-13 : f32
    %2 = tensor.empty() : tensor<1x32xi64>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_6 : tensor<1x32xi64>) outs(%2 : tensor<1x32xi64>) {
    ^bb0(%in: i64, %out: i64):
      %135 = arith.addi %in, %c64_i64 : i64
      linalg.yield %135 : i64
    } -> tensor<1x32xi64>
    %4 = tensor.empty() : tensor<1x32xi1>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_6 : tensor<1x32xi64>) outs(%4 : tensor<1x32xi1>) {
    ^bb0(%in: i64, %out: i1):
      %135 = arith.cmpi slt, %in, %c0_i64 : i64
      linalg.yield %135 : i1
    } -> tensor<1x32xi1>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%5, %3, %cst_6 : tensor<1x32xi1>, tensor<1x32xi64>, tensor<1x32xi64>) outs(%2 : tensor<1x32xi64>) {
    ^bb0(%in: i1, %in_50: i64, %in_51: i64, %out: i64):
      %135 = arith.select %in, %in_50, %in_51 : i64
      linalg.yield %135 : i64
    } -> tensor<1x32xi64>
    %7 = linalg.fill ins(%c0_i64 : i64) outs(%2 : tensor<1x32xi64>) -> tensor<1x32xi64>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%6 : tensor<1x32xi64>) outs(%7 : tensor<1x32xi64>) {
    ^bb0(%in: i64, %out: i64):
      %135 = arith.index_cast %in : i64 to index
      %136 = arith.cmpi slt, %135, %c64 : index
      cf.assert %136, "index must be smaller than dim size"
      %137 = arith.cmpi sge, %in, %c0_i64 : i64
      cf.assert %137, "index must be larger or equal to 0"
      linalg.yield %c0_i64 : i64
    } -> tensor<1x32xi64>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<1x32xi64>) outs(%4 : tensor<1x32xi1>) {
    ^bb0(%in: i64, %out: i1):
      %135 = arith.cmpi slt, %in, %c0_i64 : i64
      linalg.yield %135 : i1
    } -> tensor<1x32xi1>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<1x32xi64>) outs(%2 : tensor<1x32xi64>) {
    ^bb0(%in: i64, %out: i64):
      %135 = arith.addi %in, %c100_i64 : i64
      linalg.yield %135 : i64
    } -> tensor<1x32xi64>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%9, %10, %arg0 : tensor<1x32xi1>, tensor<1x32xi64>, tensor<1x32xi64>) outs(%2 : tensor<1x32xi64>) {
    ^bb0(%in: i1, %in_50: i64, %in_51: i64, %out: i64):
      %135 = arith.select %in, %in_50, %in_51 : i64
      linalg.yield %135 : i64
    } -> tensor<1x32xi64>
    %collapsed = tensor.collapse_shape %11 [[0, 1]] : tensor<1x32xi64> into tensor<32xi64>
    %12 = tensor.empty() : tensor<32x64xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%collapsed : tensor<32xi64>) outs(%12 : tensor<32x64xf32>) {
    ^bb0(%in: i64, %out: f32):
      %135 = arith.index_cast %in : i64 to index
      %136 = linalg.index 1 : index
      %extracted = tensor.extract %cst_1[%135, %136] : tensor<100x64xf32>
      linalg.yield %extracted : f32
    } -> tensor<32x64xf32>
    %expanded = tensor.expand_shape %13 [[0, 1], [2]] output_shape [1, 32, 64] : tensor<32x64xf32> into tensor<1x32x64xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%8 : tensor<1x32xi64>) outs(%4 : tensor<1x32xi1>) {
    ^bb0(%in: i64, %out: i1):
      %135 = arith.cmpi slt, %in, %c0_i64 : i64
      linalg.yield %135 : i1
    } -> tensor<1x32xi1>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%8 : tensor<1x32xi64>) outs(%2 : tensor<1x32xi64>) {
    ^bb0(%in: i64, %out: i64):
      %135 = arith.addi %in, %c2_i64 : i64
      linalg.yield %135 : i64
    } -> tensor<1x32xi64>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%14, %15, %8 : tensor<1x32xi1>, tensor<1x32xi64>, tensor<1x32xi64>) outs(%2 : tensor<1x32xi64>) {
    ^bb0(%in: i1, %in_50: i64, %in_51: i64, %out: i64):
      %135 = arith.select %in, %in_50, %in_51 : i64
      linalg.yield %135 : i64
    } -> tensor<1x32xi64>
    %collapsed_24 = tensor.collapse_shape %16 [[0, 1]] : tensor<1x32xi64> into tensor<32xi64>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%collapsed_24 : tensor<32xi64>) outs(%12 : tensor<32x64xf32>) {
    ^bb0(%in: i64, %out: f32):
      %135 = arith.index_cast %in : i64 to index
      %136 = linalg.index 1 : index
      %extracted = tensor.extract %cst_2[%135, %136] : tensor<2x64xf32>
      linalg.yield %extracted : f32
    } -> tensor<32x64xf32>
    %expanded_25 = tensor.expand_shape %17 [[0, 1], [2]] output_shape [1, 32, 64] : tensor<32x64xf32> into tensor<1x32x64xf32>
    %18 = tensor.empty() : tensor<1x32x64xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded, %expanded_25 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.addf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%19, %cst_7 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.addf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %21 = tensor.empty() : tensor<1x32x1xf32>
    %22 = linalg.fill ins(%cst : f32) outs(%21 : tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%20 : tensor<1x32x64xf32>) outs(%22 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %135 = arith.addf %in, %out : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x1xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%23 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %135 = arith.divf %in, %cst_22 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x1xf32>
    %collapsed_26 = tensor.collapse_shape %24 [[0], [1, 2]] : tensor<1x32x1xf32> into tensor<1x32xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_26 : tensor<1x32xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32x64xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%20, %25 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.subf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%26, %26 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.mulf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%27 : tensor<1x32x64xf32>) outs(%22 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %135 = arith.addf %in, %out : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x1xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%28 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %135 = arith.divf %in, %cst_22 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x1xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%29 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %135 = arith.addf %in, %cst_23 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x1xf32>
    %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%30 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %135 = math.rsqrt %in : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x1xf32>
    %collapsed_27 = tensor.collapse_shape %31 [[0], [1, 2]] : tensor<1x32x1xf32> into tensor<1x32xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_27 : tensor<1x32xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32x64xf32>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%26, %32 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.mulf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%33, %cst_3 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.mulf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%34, %cst_4 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.addf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg1 : tensor<1x32xi64>) outs(%4 : tensor<1x32xi1>) {
    ^bb0(%in: i64, %out: i1):
      %135 = arith.cmpi ne, %in, %c0_i64 : i64
      linalg.yield %135 : i1
    } -> tensor<1x32xi1>
    %extracted_slice = tensor.extract_slice %cst_9[0, 0, 0, 0, 0] [1, 1, 1, 32, 1] [1, 1, 1, 1, 1] : tensor<1x1x1x32x2xi64> to tensor<1x1x1x32x1xi64>
    %37 = tensor.empty() : tensor<1x1x1x32x1xi1>
    %38 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice : tensor<1x1x1x32x1xi64>) outs(%37 : tensor<1x1x1x32x1xi1>) {
    ^bb0(%in: i64, %out: i1):
      %135 = arith.cmpi slt, %in, %c0_i64 : i64
      linalg.yield %135 : i1
    } -> tensor<1x1x1x32x1xi1>
    %39 = tensor.empty() : tensor<1x1x1x32x1xi64>
    %40 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice : tensor<1x1x1x32x1xi64>) outs(%39 : tensor<1x1x1x32x1xi64>) {
    ^bb0(%in: i64, %out: i64):
      %135 = arith.addi %in, %c1_i64 : i64
      linalg.yield %135 : i64
    } -> tensor<1x1x1x32x1xi64>
    %41 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%38, %40, %extracted_slice : tensor<1x1x1x32x1xi1>, tensor<1x1x1x32x1xi64>, tensor<1x1x1x32x1xi64>) outs(%39 : tensor<1x1x1x32x1xi64>) {
    ^bb0(%in: i1, %in_50: i64, %in_51: i64, %out: i64):
      %135 = arith.select %in, %in_50, %in_51 : i64
      linalg.yield %135 : i64
    } -> tensor<1x1x1x32x1xi64>
    %extracted_slice_28 = tensor.extract_slice %cst_9[0, 0, 0, 0, 1] [1, 1, 1, 32, 1] [1, 1, 1, 1, 1] : tensor<1x1x1x32x2xi64> to tensor<1x1x1x32x1xi64>
    %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_28 : tensor<1x1x1x32x1xi64>) outs(%37 : tensor<1x1x1x32x1xi1>) {
    ^bb0(%in: i64, %out: i1):
      %135 = arith.cmpi slt, %in, %c0_i64 : i64
      linalg.yield %135 : i1
    } -> tensor<1x1x1x32x1xi1>
    %43 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_28 : tensor<1x1x1x32x1xi64>) outs(%39 : tensor<1x1x1x32x1xi64>) {
    ^bb0(%in: i64, %out: i64):
      %135 = arith.addi %in, %c32_i64 : i64
      linalg.yield %135 : i64
    } -> tensor<1x1x1x32x1xi64>
    %44 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%42, %43, %extracted_slice_28 : tensor<1x1x1x32x1xi1>, tensor<1x1x1x32x1xi64>, tensor<1x1x1x32x1xi64>) outs(%39 : tensor<1x1x1x32x1xi64>) {
    ^bb0(%in: i1, %in_50: i64, %in_51: i64, %out: i64):
      %135 = arith.select %in, %in_50, %in_51 : i64
      linalg.yield %135 : i64
    } -> tensor<1x1x1x32x1xi64>
    %45 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%44, %41 : tensor<1x1x1x32x1xi64>, tensor<1x1x1x32x1xi64>) outs(%39 : tensor<1x1x1x32x1xi64>) {
    ^bb0(%in: i64, %in_50: i64, %out: i64):
      %135 = arith.muli %in_50, %c32_i64 : i64
      %136 = arith.addi %in, %135 : i64
      linalg.yield %136 : i64
    } -> tensor<1x1x1x32x1xi64>
    %collapsed_29 = tensor.collapse_shape %45 [[0, 1, 2, 3, 4]] : tensor<1x1x1x32x1xi64> into tensor<32xi64>
    %collapsed_30 = tensor.collapse_shape %36 [[0, 1]] : tensor<1x32xi1> into tensor<32xi1>
    %46 = tensor.empty() : tensor<32xi1>
    %47 = linalg.fill ins(%false : i1) outs(%46 : tensor<32xi1>) -> tensor<32xi1>
    %48 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%collapsed_29 : tensor<32xi64>) outs(%47 : tensor<32xi1>) {
    ^bb0(%in: i64, %out: i1):
      %135 = arith.index_cast %in : i64 to index
      %136 = arith.cmpi slt, %135, %c32 : index
      cf.assert %136, "index must be smaller than dim size"
      %137 = arith.cmpi sge, %in, %c0_i64 : i64
      cf.assert %137, "index must be larger or equal to 0"
      %extracted = tensor.extract %collapsed_30[%135] : tensor<32xi1>
      linalg.yield %extracted : i1
    } -> tensor<32xi1>
    %expanded_31 = tensor.expand_shape %48 [[0, 1, 2, 3]] output_shape [1, 1, 1, 32] : tensor<32xi1> into tensor<1x1x1x32xi1>
    %49 = tensor.empty() : tensor<1x1x32x32xi1>
    %50 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_8, %expanded_31 : tensor<1x1x32x1xi1>, tensor<1x1x1x32xi1>) outs(%49 : tensor<1x1x32x32xi1>) {
    ^bb0(%in: i1, %in_50: i1, %out: i1):
      %135 = arith.andi %in, %in_50 : i1
      linalg.yield %135 : i1
    } -> tensor<1x1x32x32xi1>
    %51 = tensor.empty() : tensor<1x1x32x32xf32>
    %52 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%50, %cst_10, %cst_17 : tensor<1x1x32x32xi1>, tensor<f32>, tensor<f32>) outs(%51 : tensor<1x1x32x32xf32>) {
    ^bb0(%in: i1, %in_50: f32, %in_51: f32, %out: f32):
      %135 = arith.select %in, %in_50, %in_51 : f32
      linalg.yield %135 : f32
    } -> tensor<1x1x32x32xf32>
    %53 = tensor.empty() : tensor<1x64x64xf32>
    %54 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_11 : tensor<64x64xf32>) outs(%53 : tensor<1x64x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x64x64xf32>
    %55 = linalg.fill ins(%cst : f32) outs(%18 : tensor<1x32x64xf32>) -> tensor<1x32x64xf32>
    %56 = linalg.batch_matmul ins(%35, %54 : tensor<1x32x64xf32>, tensor<1x64x64xf32>) outs(%55 : tensor<1x32x64xf32>) -> tensor<1x32x64xf32>
    %57 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%56, %cst_4 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.addf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %expanded_32 = tensor.expand_shape %57 [[0], [1], [2, 3]] output_shape [1, 32, 4, 16] : tensor<1x32x64xf32> into tensor<1x32x4x16xf32>
    %58 = tensor.empty() : tensor<1x4x32x16xf32>
    %transposed = linalg.transpose ins(%expanded_32 : tensor<1x32x4x16xf32>) outs(%58 : tensor<1x4x32x16xf32>) permutation = [0, 2, 1, 3] 
    %59 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_12 : tensor<64x64xf32>) outs(%53 : tensor<1x64x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x64x64xf32>
    %60 = linalg.batch_matmul ins(%35, %59 : tensor<1x32x64xf32>, tensor<1x64x64xf32>) outs(%55 : tensor<1x32x64xf32>) -> tensor<1x32x64xf32>
    %61 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%60, %cst_4 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.addf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %expanded_33 = tensor.expand_shape %61 [[0], [1], [2, 3]] output_shape [1, 32, 4, 16] : tensor<1x32x64xf32> into tensor<1x32x4x16xf32>
    %62 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_13 : tensor<64x64xf32>) outs(%53 : tensor<1x64x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x64x64xf32>
    %63 = linalg.batch_matmul ins(%35, %62 : tensor<1x32x64xf32>, tensor<1x64x64xf32>) outs(%55 : tensor<1x32x64xf32>) -> tensor<1x32x64xf32>
    %64 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%63, %cst_4 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.addf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %expanded_34 = tensor.expand_shape %64 [[0], [1], [2, 3]] output_shape [1, 32, 4, 16] : tensor<1x32x64xf32> into tensor<1x32x4x16xf32>
    %transposed_35 = linalg.transpose ins(%expanded_34 : tensor<1x32x4x16xf32>) outs(%58 : tensor<1x4x32x16xf32>) permutation = [0, 2, 1, 3] 
    %65 = tensor.empty() : tensor<1x4x16x32xf32>
    %transposed_36 = linalg.transpose ins(%expanded_33 : tensor<1x32x4x16xf32>) outs(%65 : tensor<1x4x16x32xf32>) permutation = [0, 2, 3, 1] 
    %collapsed_37 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<1x4x32x16xf32> into tensor<4x32x16xf32>
    %collapsed_38 = tensor.collapse_shape %transposed_36 [[0, 1], [2], [3]] : tensor<1x4x16x32xf32> into tensor<4x16x32xf32>
    %66 = tensor.empty() : tensor<4x32x32xf32>
    %67 = linalg.fill ins(%cst : f32) outs(%66 : tensor<4x32x32xf32>) -> tensor<4x32x32xf32>
    %68 = linalg.batch_matmul ins(%collapsed_37, %collapsed_38 : tensor<4x32x16xf32>, tensor<4x16x32xf32>) outs(%67 : tensor<4x32x32xf32>) -> tensor<4x32x32xf32>
    %expanded_39 = tensor.expand_shape %68 [[0, 1], [2], [3]] output_shape [1, 4, 32, 32] : tensor<4x32x32xf32> into tensor<1x4x32x32xf32>
    %69 = tensor.empty() : tensor<1x4x32x32xf32>
    %70 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_39, %cst_18 : tensor<1x4x32x32xf32>, tensor<f32>) outs(%69 : tensor<1x4x32x32xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.mulf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x4x32x32xf32>
    %71 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%70, %52 : tensor<1x4x32x32xf32>, tensor<1x1x32x32xf32>) outs(%69 : tensor<1x4x32x32xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.addf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x4x32x32xf32>
    %72 = tensor.empty() : tensor<1x4x32xi64>
    %73 = linalg.fill ins(%c0_i64 : i64) outs(%72 : tensor<1x4x32xi64>) -> tensor<1x4x32xi64>
    %74 = tensor.empty() : tensor<1x4x32xf32>
    %75 = linalg.fill ins(%cst_0 : f32) outs(%74 : tensor<1x4x32xf32>) -> tensor<1x4x32xf32>
    %76:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%71 : tensor<1x4x32x32xf32>) outs(%75, %73 : tensor<1x4x32xf32>, tensor<1x4x32xi64>) {
    ^bb0(%in: f32, %out: f32, %out_50: i64):
      %135 = linalg.index 3 : index
      %136 = arith.index_cast %135 : index to i64
      %137 = arith.maximumf %in, %out : f32
      %138 = arith.cmpf ogt, %in, %out : f32
      %139 = arith.select %138, %136, %out_50 : i64
      linalg.yield %137, %139 : f32, i64
    } -> (tensor<1x4x32xf32>, tensor<1x4x32xi64>)
    %expanded_40 = tensor.expand_shape %76#0 [[0], [1], [2, 3]] output_shape [1, 4, 32, 1] : tensor<1x4x32xf32> into tensor<1x4x32x1xf32>
    %77 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%71, %expanded_40 : tensor<1x4x32x32xf32>, tensor<1x4x32x1xf32>) outs(%69 : tensor<1x4x32x32xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.subf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x4x32x32xf32>
    %78 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%77 : tensor<1x4x32x32xf32>) outs(%69 : tensor<1x4x32x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %135 = math.exp %in : f32
      linalg.yield %135 : f32
    } -> tensor<1x4x32x32xf32>
    %79 = tensor.empty() : tensor<1x4x32x1xf32>
    %80 = linalg.fill ins(%cst : f32) outs(%79 : tensor<1x4x32x1xf32>) -> tensor<1x4x32x1xf32>
    %81 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%78 : tensor<1x4x32x32xf32>) outs(%80 : tensor<1x4x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %135 = arith.addf %in, %out : f32
      linalg.yield %135 : f32
    } -> tensor<1x4x32x1xf32>
    %82 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%78, %81 : tensor<1x4x32x32xf32>, tensor<1x4x32x1xf32>) outs(%69 : tensor<1x4x32x32xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.divf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x4x32x32xf32>
    %collapsed_41 = tensor.collapse_shape %82 [[0, 1], [2], [3]] : tensor<1x4x32x32xf32> into tensor<4x32x32xf32>
    %collapsed_42 = tensor.collapse_shape %transposed_35 [[0, 1], [2], [3]] : tensor<1x4x32x16xf32> into tensor<4x32x16xf32>
    %83 = tensor.empty() : tensor<4x32x16xf32>
    %84 = linalg.fill ins(%cst : f32) outs(%83 : tensor<4x32x16xf32>) -> tensor<4x32x16xf32>
    %85 = linalg.batch_matmul ins(%collapsed_41, %collapsed_42 : tensor<4x32x32xf32>, tensor<4x32x16xf32>) outs(%84 : tensor<4x32x16xf32>) -> tensor<4x32x16xf32>
    %expanded_43 = tensor.expand_shape %85 [[0, 1], [2], [3]] output_shape [1, 4, 32, 16] : tensor<4x32x16xf32> into tensor<1x4x32x16xf32>
    %86 = tensor.empty() : tensor<1x32x4x16xf32>
    %transposed_44 = linalg.transpose ins(%expanded_43 : tensor<1x4x32x16xf32>) outs(%86 : tensor<1x32x4x16xf32>) permutation = [0, 2, 1, 3] 
    %collapsed_45 = tensor.collapse_shape %transposed_44 [[0], [1], [2, 3]] : tensor<1x32x4x16xf32> into tensor<1x32x64xf32>
    %87 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_14 : tensor<64x64xf32>) outs(%53 : tensor<1x64x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x64x64xf32>
    %88 = linalg.batch_matmul ins(%collapsed_45, %87 : tensor<1x32x64xf32>, tensor<1x64x64xf32>) outs(%55 : tensor<1x32x64xf32>) -> tensor<1x32x64xf32>
    %89 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%88, %cst_4 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.addf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %90 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%89, %35 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.addf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %91 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%90 : tensor<1x32x64xf32>) outs(%22 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %135 = arith.addf %in, %out : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x1xf32>
    %92 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%91 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %135 = arith.divf %in, %cst_22 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x1xf32>
    %collapsed_46 = tensor.collapse_shape %92 [[0], [1, 2]] : tensor<1x32x1xf32> into tensor<1x32xf32>
    %93 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_46 : tensor<1x32xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32x64xf32>
    %94 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%90, %93 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.subf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %95 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%94, %94 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.mulf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %96 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%95 : tensor<1x32x64xf32>) outs(%22 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %135 = arith.addf %in, %out : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x1xf32>
    %97 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%96 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %135 = arith.divf %in, %cst_22 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x1xf32>
    %98 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%97 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %135 = arith.addf %in, %cst_23 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x1xf32>
    %99 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%98 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %135 = math.rsqrt %in : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x1xf32>
    %collapsed_47 = tensor.collapse_shape %99 [[0], [1, 2]] : tensor<1x32x1xf32> into tensor<1x32xf32>
    %100 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_47 : tensor<1x32xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32x64xf32>
    %101 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%94, %100 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.mulf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %102 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%101, %cst_3 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.mulf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %103 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%102, %cst_4 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.addf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %104 = tensor.empty() : tensor<1x64x128xf32>
    %105 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_15 : tensor<64x128xf32>) outs(%104 : tensor<1x64x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x64x128xf32>
    %106 = tensor.empty() : tensor<1x32x128xf32>
    %107 = linalg.fill ins(%cst : f32) outs(%106 : tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
    %108 = linalg.batch_matmul ins(%103, %105 : tensor<1x32x64xf32>, tensor<1x64x128xf32>) outs(%107 : tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
    %109 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%108, %cst_5 : tensor<1x32x128xf32>, tensor<128xf32>) outs(%106 : tensor<1x32x128xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.addf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x128xf32>
    %110 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%109, %cst_19 : tensor<1x32x128xf32>, tensor<f32>) outs(%106 : tensor<1x32x128xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.divf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x128xf32>
    %111 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%110 : tensor<1x32x128xf32>) outs(%106 : tensor<1x32x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %135 = math.erf %in : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x128xf32>
    %112 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%111, %cst_20 : tensor<1x32x128xf32>, tensor<f32>) outs(%106 : tensor<1x32x128xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.addf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x128xf32>
    %113 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_21, %112 : tensor<f32>, tensor<1x32x128xf32>) outs(%106 : tensor<1x32x128xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.mulf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x128xf32>
    %114 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%109, %113 : tensor<1x32x128xf32>, tensor<1x32x128xf32>) outs(%106 : tensor<1x32x128xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.mulf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x128xf32>
    %115 = tensor.empty() : tensor<1x128x64xf32>
    %116 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_16 : tensor<128x64xf32>) outs(%115 : tensor<1x128x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x128x64xf32>
    %117 = linalg.batch_matmul ins(%114, %116 : tensor<1x32x128xf32>, tensor<1x128x64xf32>) outs(%55 : tensor<1x32x64xf32>) -> tensor<1x32x64xf32>
    %118 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%117, %cst_4 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.addf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %119 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%118, %103 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.addf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %120 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%119 : tensor<1x32x64xf32>) outs(%22 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %135 = arith.addf %in, %out : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x1xf32>
    %121 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%120 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %135 = arith.divf %in, %cst_22 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x1xf32>
    %collapsed_48 = tensor.collapse_shape %121 [[0], [1, 2]] : tensor<1x32x1xf32> into tensor<1x32xf32>
    %122 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_48 : tensor<1x32xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32x64xf32>
    %123 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%119, %122 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.subf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %124 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%123, %123 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.mulf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %125 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%124 : tensor<1x32x64xf32>) outs(%22 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %135 = arith.addf %in, %out : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x1xf32>
    %126 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%125 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %135 = arith.divf %in, %cst_22 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x1xf32>
    %127 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%126 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %135 = arith.addf %in, %cst_23 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x1xf32>
    %128 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%127 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %135 = math.rsqrt %in : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x1xf32>
    %collapsed_49 = tensor.collapse_shape %128 [[0], [1, 2]] : tensor<1x32x1xf32> into tensor<1x32xf32>
    %129 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_49 : tensor<1x32xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32x64xf32>
    %130 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%123, %129 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.mulf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %131 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%130, %cst_3 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.mulf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    %132 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%131, %cst_4 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_50: f32, %out: f32):
      %135 = arith.addf %in, %in_50 : f32
      linalg.yield %135 : f32
    } -> tensor<1x32x64xf32>
    return %132 : tensor<1x32x64xf32>
  }
}
