// torch case bert_sdpa; torch 2.15.0, ONNX opset 18; iree-base-compiler
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
    %cst_2 = arith.constant dense<[[-0.0231196955, -0.0187699869, 0.0103318049, 0.0311792623, 0.0200183652, -0.0199297983, 0.0148819992, 0.00167209608, 0.0254533216, 0.0146767516, -0.0196685251, 0.0142616769, 0.0141345225, -0.00957389083, 0.0353224538, 0.0305003058, -0.0208494738, -2.778740e-04, 0.00887875445, 0.0124464761, -6.38374476E-4, 0.00135273125, -0.0152556598, 0.023412386, 0.0304608718, 8.31353594E-4, -0.0080078151, 0.00464431429, -0.0144935977, -0.026547322, 0.0348576196, -0.00514247129, -0.0126507366, -0.0486047119, 0.00178017863, -0.00353292818, -0.00290274946, -0.0323101021, -0.0393796302, 0.00678463792, -0.0136658698, -0.0103642149, -0.00999776739, -0.0112338802, 0.0271624271, -0.0135619957, -0.00791400857, -0.0161919761, -0.0103873285, 0.0216932073, 0.00589570077, 0.0461450145, 0.0257945172, -0.0316946767, -1.205200e-02, 0.00801383145, 0.0128553556, -0.00941555202, -0.00923201535, -0.0086477669, 0.0181515813, -0.0461888164, -0.0247238278, -0.00285070552], [-0.0180166215, 0.0121842297, -0.0212992933, -0.00770129077, -0.018686967, 0.00730151776, 0.011009831, 0.0207405724, 0.0224001445, -0.00569971371, -0.00835306477, 2.13021704E-5, 0.0103960438, -0.0216258336, -8.71691809E-5, -0.0432190076, -0.0325556435, -0.00384462439, -0.01488504, 0.00102063059, 3.03488894E-4, 0.0333531238, -0.0219652653, -0.00370883429, 0.00884867739, -0.00636502541, 0.0134768747, -0.0292692091, -0.00142281957, -0.0115143079, -0.022059435, 0.0189522579, 0.0040055397, -0.0185274389, 0.00696874363, -0.0155755635, 0.0170881562, -0.011803207, 0.00179311133, 0.0341964848, 0.0110453805, 0.0234299581, -0.0111721158, 0.0239096284, 0.0123620564, -0.0118396254, 0.0142596615, -0.0133568086, 0.0110566281, -0.0040912074, -0.0255455468, -0.00322496844, -8.91112722E-4, -3.725460e-02, -0.007370973, 0.0268412419, -0.0119910287, -0.0434209891, 0.0155586731, -0.0249846224, -0.0277942028, 0.0481206216, 0.0224749092, -0.0187976509]]> : tensor<2x64xf32>
    %cst_3 = arith.constant dense<1.000000e+00> : tensor<64xf32>
    %cst_4 = arith.constant dense<0.000000e+00> : tensor<64xf32>
    %cst_5 = arith.constant dense<0.000000e+00> : tensor<128xf32>
    %cst_6 = arith.constant dense<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]]> : tensor<1x32xi64>
    %cst_7 = arith.constant dense<1.000000e-02> : tensor<1x32x64xf32>
    %cst_8 = arith.constant dense<true> : tensor<1x1x32x1xi1>
    %cst_9 = arith.constant dense<[[[[[0, 0], [0, 1], [0, 2], [0, 3], [0, 4], [0, 5], [0, 6], [0, 7], [0, 8], [0, 9], [0, 10], [0, 11], [0, 12], [0, 13], [0, 14], [0, 15], [0, 16], [0, 17], [0, 18], [0, 19], [0, 20], [0, 21], [0, 22], [0, 23], [0, 24], [0, 25], [0, 26], [0, 27], [0, 28], [0, 29], [0, 30], [0, 31]]]]]> : tensor<1x1x1x32x2xi64>
    %cst_10 = arith.constant dense<1.000000e-02> : tensor<64x64xf32>
    %cst_11 = arith.constant dense<1.000000e-02> : tensor<64x64xf32>
    %cst_12 = arith.constant dense<1.000000e-02> : tensor<64x64xf32>
    %cst_13 = arith.constant dense<5.000000e-01> : tensor<f32>
    %cst_14 = arith.constant dense<1.000000e-02> : tensor<64x64xf32>
    %cst_15 = arith.constant dense<1.000000e-02> : tensor<64x128xf32>
    %cst_16 = arith.constant dense<1.000000e-02> : tensor<128x64xf32>
    %cst_17 = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_18 = arith.constant dense<-3.40282347E+38> : tensor<f32>
    %cst_19 = arith.constant dense<1.41421354> : tensor<f32>
    %cst_20 = arith.constant dense<1.000000e+00> : tensor<f32>
    %cst_21 = arith.constant 6.400000e+01 : f32
    %cst_22 = arith.constant 9.99999996E-13 : f32
    %2 = tensor.empty() : tensor<1x32xi64>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_6 : tensor<1x32xi64>) outs(%2 : tensor<1x32xi64>) {
    ^bb0(%in: i64, %out: i64):
      %140 = arith.addi %in, %c64_i64 : i64
      linalg.yield %140 : i64
    } -> tensor<1x32xi64>
    %4 = tensor.empty() : tensor<1x32xi1>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%cst_6 : tensor<1x32xi64>) outs(%4 : tensor<1x32xi1>) {
    ^bb0(%in: i64, %out: i1):
      %140 = arith.cmpi slt, %in, %c0_i64 : i64
      linalg.yield %140 : i1
    } -> tensor<1x32xi1>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%5, %3, %cst_6 : tensor<1x32xi1>, tensor<1x32xi64>, tensor<1x32xi64>) outs(%2 : tensor<1x32xi64>) {
    ^bb0(%in: i1, %in_52: i64, %in_53: i64, %out: i64):
      %140 = arith.select %in, %in_52, %in_53 : i64
      linalg.yield %140 : i64
    } -> tensor<1x32xi64>
    %7 = linalg.fill ins(%c0_i64 : i64) outs(%2 : tensor<1x32xi64>) -> tensor<1x32xi64>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%6 : tensor<1x32xi64>) outs(%7 : tensor<1x32xi64>) {
    ^bb0(%in: i64, %out: i64):
      %140 = arith.index_cast %in : i64 to index
      %141 = arith.cmpi slt, %140, %c64 : index
      cf.assert %141, "index must be smaller than dim size"
      %142 = arith.cmpi sge, %in, %c0_i64 : i64
      cf.assert %142, "index must be larger or equal to 0"
      linalg.yield %c0_i64 : i64
    } -> tensor<1x32xi64>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<1x32xi64>) outs(%4 : tensor<1x32xi1>) {
    ^bb0(%in: i64, %out: i1):
      %140 = arith.cmpi slt, %in, %c0_i64 : i64
      linalg.yield %140 : i1
    } -> tensor<1x32xi1>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<1x32xi64>) outs(%2 : tensor<1x32xi64>) {
    ^bb0(%in: i64, %out: i64):
      %140 = arith.addi %in, %c100_i64 : i64
      linalg.yield %140 : i64
    } -> tensor<1x32xi64>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%9, %10, %arg0 : tensor<1x32xi1>, tensor<1x32xi64>, tensor<1x32xi64>) outs(%2 : tensor<1x32xi64>) {
    ^bb0(%in: i1, %in_52: i64, %in_53: i64, %out: i64):
      %140 = arith.select %in, %in_52, %in_53 : i64
      linalg.yield %140 : i64
    } -> tensor<1x32xi64>
    %collapsed = tensor.collapse_shape %11 [[0, 1]] : tensor<1x32xi64> into tensor<32xi64>
    %12 = tensor.empty() : tensor<32x64xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%collapsed : tensor<32xi64>) outs(%12 : tensor<32x64xf32>) {
    ^bb0(%in: i64, %out: f32):
      %140 = arith.index_cast %in : i64 to index
      %141 = linalg.index 1 : index
      %extracted = tensor.extract %cst_1[%140, %141] : tensor<100x64xf32>
      linalg.yield %extracted : f32
    } -> tensor<32x64xf32>
    %expanded = tensor.expand_shape %13 [[0, 1], [2]] output_shape [1, 32, 64] : tensor<32x64xf32> into tensor<1x32x64xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%8 : tensor<1x32xi64>) outs(%4 : tensor<1x32xi1>) {
    ^bb0(%in: i64, %out: i1):
      %140 = arith.cmpi slt, %in, %c0_i64 : i64
      linalg.yield %140 : i1
    } -> tensor<1x32xi1>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%8 : tensor<1x32xi64>) outs(%2 : tensor<1x32xi64>) {
    ^bb0(%in: i64, %out: i64):
      %140 = arith.addi %in, %c2_i64 : i64
      linalg.yield %140 : i64
    } -> tensor<1x32xi64>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%14, %15, %8 : tensor<1x32xi1>, tensor<1x32xi64>, tensor<1x32xi64>) outs(%2 : tensor<1x32xi64>) {
    ^bb0(%in: i1, %in_52: i64, %in_53: i64, %out: i64):
      %140 = arith.select %in, %in_52, %in_53 : i64
      linalg.yield %140 : i64
    } -> tensor<1x32xi64>
    %collapsed_23 = tensor.collapse_shape %16 [[0, 1]] : tensor<1x32xi64> into tensor<32xi64>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%collapsed_23 : tensor<32xi64>) outs(%12 : tensor<32x64xf32>) {
    ^bb0(%in: i64, %out: f32):
      %140 = arith.index_cast %in : i64 to index
      %141 = linalg.index 1 : index
      %extracted = tensor.extract %cst_2[%140, %141] : tensor<2x64xf32>
      linalg.yield %extracted : f32
    } -> tensor<32x64xf32>
    %expanded_24 = tensor.expand_shape %17 [[0, 1], [2]] output_shape [1, 32, 64] : tensor<32x64xf32> into tensor<1x32x64xf32>
    %18 = tensor.empty() : tensor<1x32x64xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded, %expanded_24 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.addf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%19, %cst_7 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.addf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %21 = tensor.empty() : tensor<1x32x1xf32>
    %22 = linalg.fill ins(%cst : f32) outs(%21 : tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%20 : tensor<1x32x64xf32>) outs(%22 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %140 = arith.addf %in, %out : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x1xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%23 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %140 = arith.divf %in, %cst_21 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x1xf32>
    %collapsed_25 = tensor.collapse_shape %24 [[0], [1, 2]] : tensor<1x32x1xf32> into tensor<1x32xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_25 : tensor<1x32xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32x64xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%20, %25 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.subf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%26, %26 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.mulf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%27 : tensor<1x32x64xf32>) outs(%22 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %140 = arith.addf %in, %out : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x1xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%28 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %140 = arith.divf %in, %cst_21 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x1xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%29 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %140 = arith.addf %in, %cst_22 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x1xf32>
    %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%30 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %140 = math.rsqrt %in : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x1xf32>
    %collapsed_26 = tensor.collapse_shape %31 [[0], [1, 2]] : tensor<1x32x1xf32> into tensor<1x32xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_26 : tensor<1x32xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32x64xf32>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%26, %32 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.mulf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%33, %cst_3 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.mulf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%34, %cst_4 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.addf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg1 : tensor<1x32xi64>) outs(%4 : tensor<1x32xi1>) {
    ^bb0(%in: i64, %out: i1):
      %140 = arith.cmpi ne, %in, %c0_i64 : i64
      linalg.yield %140 : i1
    } -> tensor<1x32xi1>
    %extracted_slice = tensor.extract_slice %cst_9[0, 0, 0, 0, 0] [1, 1, 1, 32, 1] [1, 1, 1, 1, 1] : tensor<1x1x1x32x2xi64> to tensor<1x1x1x32x1xi64>
    %37 = tensor.empty() : tensor<1x1x1x32x1xi1>
    %38 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice : tensor<1x1x1x32x1xi64>) outs(%37 : tensor<1x1x1x32x1xi1>) {
    ^bb0(%in: i64, %out: i1):
      %140 = arith.cmpi slt, %in, %c0_i64 : i64
      linalg.yield %140 : i1
    } -> tensor<1x1x1x32x1xi1>
    %39 = tensor.empty() : tensor<1x1x1x32x1xi64>
    %40 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice : tensor<1x1x1x32x1xi64>) outs(%39 : tensor<1x1x1x32x1xi64>) {
    ^bb0(%in: i64, %out: i64):
      %140 = arith.addi %in, %c1_i64 : i64
      linalg.yield %140 : i64
    } -> tensor<1x1x1x32x1xi64>
    %41 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%38, %40, %extracted_slice : tensor<1x1x1x32x1xi1>, tensor<1x1x1x32x1xi64>, tensor<1x1x1x32x1xi64>) outs(%39 : tensor<1x1x1x32x1xi64>) {
    ^bb0(%in: i1, %in_52: i64, %in_53: i64, %out: i64):
      %140 = arith.select %in, %in_52, %in_53 : i64
      linalg.yield %140 : i64
    } -> tensor<1x1x1x32x1xi64>
    %extracted_slice_27 = tensor.extract_slice %cst_9[0, 0, 0, 0, 1] [1, 1, 1, 32, 1] [1, 1, 1, 1, 1] : tensor<1x1x1x32x2xi64> to tensor<1x1x1x32x1xi64>
    %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_27 : tensor<1x1x1x32x1xi64>) outs(%37 : tensor<1x1x1x32x1xi1>) {
    ^bb0(%in: i64, %out: i1):
      %140 = arith.cmpi slt, %in, %c0_i64 : i64
      linalg.yield %140 : i1
    } -> tensor<1x1x1x32x1xi1>
    %43 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_27 : tensor<1x1x1x32x1xi64>) outs(%39 : tensor<1x1x1x32x1xi64>) {
    ^bb0(%in: i64, %out: i64):
      %140 = arith.addi %in, %c32_i64 : i64
      linalg.yield %140 : i64
    } -> tensor<1x1x1x32x1xi64>
    %44 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%42, %43, %extracted_slice_27 : tensor<1x1x1x32x1xi1>, tensor<1x1x1x32x1xi64>, tensor<1x1x1x32x1xi64>) outs(%39 : tensor<1x1x1x32x1xi64>) {
    ^bb0(%in: i1, %in_52: i64, %in_53: i64, %out: i64):
      %140 = arith.select %in, %in_52, %in_53 : i64
      linalg.yield %140 : i64
    } -> tensor<1x1x1x32x1xi64>
    %45 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%44, %41 : tensor<1x1x1x32x1xi64>, tensor<1x1x1x32x1xi64>) outs(%39 : tensor<1x1x1x32x1xi64>) {
    ^bb0(%in: i64, %in_52: i64, %out: i64):
      %140 = arith.muli %in_52, %c32_i64 : i64
      %141 = arith.addi %in, %140 : i64
      linalg.yield %141 : i64
    } -> tensor<1x1x1x32x1xi64>
    %collapsed_28 = tensor.collapse_shape %45 [[0, 1, 2, 3, 4]] : tensor<1x1x1x32x1xi64> into tensor<32xi64>
    %collapsed_29 = tensor.collapse_shape %36 [[0, 1]] : tensor<1x32xi1> into tensor<32xi1>
    %46 = tensor.empty() : tensor<32xi1>
    %47 = linalg.fill ins(%false : i1) outs(%46 : tensor<32xi1>) -> tensor<32xi1>
    %48 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%collapsed_28 : tensor<32xi64>) outs(%47 : tensor<32xi1>) {
    ^bb0(%in: i64, %out: i1):
      %140 = arith.index_cast %in : i64 to index
      %141 = arith.cmpi slt, %140, %c32 : index
      cf.assert %141, "index must be smaller than dim size"
      %142 = arith.cmpi sge, %in, %c0_i64 : i64
      cf.assert %142, "index must be larger or equal to 0"
      %extracted = tensor.extract %collapsed_29[%140] : tensor<32xi1>
      linalg.yield %extracted : i1
    } -> tensor<32xi1>
    %expanded_30 = tensor.expand_shape %48 [[0, 1, 2, 3]] output_shape [1, 1, 1, 32] : tensor<32xi1> into tensor<1x1x1x32xi1>
    %49 = tensor.empty() : tensor<1x1x32x32xi1>
    %50 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_8, %expanded_30 : tensor<1x1x32x1xi1>, tensor<1x1x1x32xi1>) outs(%49 : tensor<1x1x32x32xi1>) {
    ^bb0(%in: i1, %in_52: i1, %out: i1):
      %140 = arith.andi %in, %in_52 : i1
      linalg.yield %140 : i1
    } -> tensor<1x1x32x32xi1>
    %51 = tensor.empty() : tensor<1x64x64xf32>
    %52 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_10 : tensor<64x64xf32>) outs(%51 : tensor<1x64x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x64x64xf32>
    %53 = linalg.fill ins(%cst : f32) outs(%18 : tensor<1x32x64xf32>) -> tensor<1x32x64xf32>
    %54 = linalg.batch_matmul ins(%35, %52 : tensor<1x32x64xf32>, tensor<1x64x64xf32>) outs(%53 : tensor<1x32x64xf32>) -> tensor<1x32x64xf32>
    %55 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%54, %cst_4 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.addf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %expanded_31 = tensor.expand_shape %55 [[0], [1], [2, 3]] output_shape [1, 32, 4, 16] : tensor<1x32x64xf32> into tensor<1x32x4x16xf32>
    %56 = tensor.empty() : tensor<1x4x32x16xf32>
    %transposed = linalg.transpose ins(%expanded_31 : tensor<1x32x4x16xf32>) outs(%56 : tensor<1x4x32x16xf32>) permutation = [0, 2, 1, 3] 
    %57 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_11 : tensor<64x64xf32>) outs(%51 : tensor<1x64x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x64x64xf32>
    %58 = linalg.batch_matmul ins(%35, %57 : tensor<1x32x64xf32>, tensor<1x64x64xf32>) outs(%53 : tensor<1x32x64xf32>) -> tensor<1x32x64xf32>
    %59 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%58, %cst_4 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.addf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %expanded_32 = tensor.expand_shape %59 [[0], [1], [2, 3]] output_shape [1, 32, 4, 16] : tensor<1x32x64xf32> into tensor<1x32x4x16xf32>
    %transposed_33 = linalg.transpose ins(%expanded_32 : tensor<1x32x4x16xf32>) outs(%56 : tensor<1x4x32x16xf32>) permutation = [0, 2, 1, 3] 
    %60 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_12 : tensor<64x64xf32>) outs(%51 : tensor<1x64x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x64x64xf32>
    %61 = linalg.batch_matmul ins(%35, %60 : tensor<1x32x64xf32>, tensor<1x64x64xf32>) outs(%53 : tensor<1x32x64xf32>) -> tensor<1x32x64xf32>
    %62 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%61, %cst_4 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.addf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %expanded_34 = tensor.expand_shape %62 [[0], [1], [2, 3]] output_shape [1, 32, 4, 16] : tensor<1x32x64xf32> into tensor<1x32x4x16xf32>
    %transposed_35 = linalg.transpose ins(%expanded_34 : tensor<1x32x4x16xf32>) outs(%56 : tensor<1x4x32x16xf32>) permutation = [0, 2, 1, 3] 
    %collapsed_36 = tensor.collapse_shape %transposed_33 [[0, 1], [2], [3]] : tensor<1x4x32x16xf32> into tensor<4x32x16xf32>
    %63 = tensor.empty() : tensor<4x16x32xf32>
    %transposed_37 = linalg.transpose ins(%collapsed_36 : tensor<4x32x16xf32>) outs(%63 : tensor<4x16x32xf32>) permutation = [0, 2, 1] 
    %expanded_38 = tensor.expand_shape %transposed_37 [[0, 1], [2], [3]] output_shape [1, 4, 16, 32] : tensor<4x16x32xf32> into tensor<1x4x16x32xf32>
    %64 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed, %cst_13 : tensor<1x4x32x16xf32>, tensor<f32>) outs(%56 : tensor<1x4x32x16xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.mulf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x4x32x16xf32>
    %65 = tensor.empty() : tensor<1x4x16x32xf32>
    %66 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_38, %cst_13 : tensor<1x4x16x32xf32>, tensor<f32>) outs(%65 : tensor<1x4x16x32xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.mulf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x4x16x32xf32>
    %67 = tensor.empty() : tensor<1x1x32x32xf32>
    %68 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%50, %cst_17, %cst_18 : tensor<1x1x32x32xi1>, tensor<f32>, tensor<f32>) outs(%67 : tensor<1x1x32x32xf32>) {
    ^bb0(%in: i1, %in_52: f32, %in_53: f32, %out: f32):
      %140 = arith.select %in, %in_52, %in_53 : f32
      linalg.yield %140 : f32
    } -> tensor<1x1x32x32xf32>
    %collapsed_39 = tensor.collapse_shape %64 [[0, 1], [2], [3]] : tensor<1x4x32x16xf32> into tensor<4x32x16xf32>
    %collapsed_40 = tensor.collapse_shape %66 [[0, 1], [2], [3]] : tensor<1x4x16x32xf32> into tensor<4x16x32xf32>
    %69 = tensor.empty() : tensor<4x32x32xf32>
    %70 = linalg.fill ins(%cst : f32) outs(%69 : tensor<4x32x32xf32>) -> tensor<4x32x32xf32>
    %71 = linalg.batch_matmul ins(%collapsed_39, %collapsed_40 : tensor<4x32x16xf32>, tensor<4x16x32xf32>) outs(%70 : tensor<4x32x32xf32>) -> tensor<4x32x32xf32>
    %expanded_41 = tensor.expand_shape %71 [[0, 1], [2], [3]] output_shape [1, 4, 32, 32] : tensor<4x32x32xf32> into tensor<1x4x32x32xf32>
    %72 = tensor.empty() : tensor<1x4x32x32xf32>
    %73 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_41, %68 : tensor<1x4x32x32xf32>, tensor<1x1x32x32xf32>) outs(%72 : tensor<1x4x32x32xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.addf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x4x32x32xf32>
    %74 = tensor.empty() : tensor<1x4x32xi64>
    %75 = linalg.fill ins(%c0_i64 : i64) outs(%74 : tensor<1x4x32xi64>) -> tensor<1x4x32xi64>
    %76 = tensor.empty() : tensor<1x4x32xf32>
    %77 = linalg.fill ins(%cst_0 : f32) outs(%76 : tensor<1x4x32xf32>) -> tensor<1x4x32xf32>
    %78:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%73 : tensor<1x4x32x32xf32>) outs(%77, %75 : tensor<1x4x32xf32>, tensor<1x4x32xi64>) {
    ^bb0(%in: f32, %out: f32, %out_52: i64):
      %140 = linalg.index 3 : index
      %141 = arith.index_cast %140 : index to i64
      %142 = arith.maximumf %in, %out : f32
      %143 = arith.cmpf ogt, %in, %out : f32
      %144 = arith.select %143, %141, %out_52 : i64
      linalg.yield %142, %144 : f32, i64
    } -> (tensor<1x4x32xf32>, tensor<1x4x32xi64>)
    %expanded_42 = tensor.expand_shape %78#0 [[0], [1], [2, 3]] output_shape [1, 4, 32, 1] : tensor<1x4x32xf32> into tensor<1x4x32x1xf32>
    %79 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%73, %expanded_42 : tensor<1x4x32x32xf32>, tensor<1x4x32x1xf32>) outs(%72 : tensor<1x4x32x32xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.subf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x4x32x32xf32>
    %80 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%79 : tensor<1x4x32x32xf32>) outs(%72 : tensor<1x4x32x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %140 = math.exp %in : f32
      linalg.yield %140 : f32
    } -> tensor<1x4x32x32xf32>
    %81 = tensor.empty() : tensor<1x4x32x1xf32>
    %82 = linalg.fill ins(%cst : f32) outs(%81 : tensor<1x4x32x1xf32>) -> tensor<1x4x32x1xf32>
    %83 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%80 : tensor<1x4x32x32xf32>) outs(%82 : tensor<1x4x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %140 = arith.addf %in, %out : f32
      linalg.yield %140 : f32
    } -> tensor<1x4x32x1xf32>
    %84 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%80, %83 : tensor<1x4x32x32xf32>, tensor<1x4x32x1xf32>) outs(%72 : tensor<1x4x32x32xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.divf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x4x32x32xf32>
    %85 = tensor.empty() : tensor<1x4x32x32xi1>
    %86 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%84, %84 : tensor<1x4x32x32xf32>, tensor<1x4x32x32xf32>) outs(%85 : tensor<1x4x32x32xi1>) {
    ^bb0(%in: f32, %in_52: f32, %out: i1):
      %140 = arith.cmpf une, %in, %in_52 : f32
      linalg.yield %140 : i1
    } -> tensor<1x4x32x32xi1>
    %87 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%86, %cst_17, %84 : tensor<1x4x32x32xi1>, tensor<f32>, tensor<1x4x32x32xf32>) outs(%72 : tensor<1x4x32x32xf32>) {
    ^bb0(%in: i1, %in_52: f32, %in_53: f32, %out: f32):
      %140 = arith.select %in, %in_52, %in_53 : f32
      linalg.yield %140 : f32
    } -> tensor<1x4x32x32xf32>
    %collapsed_43 = tensor.collapse_shape %87 [[0, 1], [2], [3]] : tensor<1x4x32x32xf32> into tensor<4x32x32xf32>
    %collapsed_44 = tensor.collapse_shape %transposed_35 [[0, 1], [2], [3]] : tensor<1x4x32x16xf32> into tensor<4x32x16xf32>
    %88 = tensor.empty() : tensor<4x32x16xf32>
    %89 = linalg.fill ins(%cst : f32) outs(%88 : tensor<4x32x16xf32>) -> tensor<4x32x16xf32>
    %90 = linalg.batch_matmul ins(%collapsed_43, %collapsed_44 : tensor<4x32x32xf32>, tensor<4x32x16xf32>) outs(%89 : tensor<4x32x16xf32>) -> tensor<4x32x16xf32>
    %expanded_45 = tensor.expand_shape %90 [[0, 1], [2], [3]] output_shape [1, 4, 32, 16] : tensor<4x32x16xf32> into tensor<1x4x32x16xf32>
    %91 = tensor.empty() : tensor<1x32x4x16xf32>
    %transposed_46 = linalg.transpose ins(%expanded_45 : tensor<1x4x32x16xf32>) outs(%91 : tensor<1x32x4x16xf32>) permutation = [0, 2, 1, 3] 
    %collapsed_47 = tensor.collapse_shape %transposed_46 [[0], [1], [2, 3]] : tensor<1x32x4x16xf32> into tensor<1x32x64xf32>
    %92 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_14 : tensor<64x64xf32>) outs(%51 : tensor<1x64x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x64x64xf32>
    %93 = linalg.batch_matmul ins(%collapsed_47, %92 : tensor<1x32x64xf32>, tensor<1x64x64xf32>) outs(%53 : tensor<1x32x64xf32>) -> tensor<1x32x64xf32>
    %94 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%93, %cst_4 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.addf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %95 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%94, %35 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.addf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %96 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%95 : tensor<1x32x64xf32>) outs(%22 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %140 = arith.addf %in, %out : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x1xf32>
    %97 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%96 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %140 = arith.divf %in, %cst_21 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x1xf32>
    %collapsed_48 = tensor.collapse_shape %97 [[0], [1, 2]] : tensor<1x32x1xf32> into tensor<1x32xf32>
    %98 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_48 : tensor<1x32xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32x64xf32>
    %99 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%95, %98 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.subf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %100 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%99, %99 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.mulf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %101 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%100 : tensor<1x32x64xf32>) outs(%22 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %140 = arith.addf %in, %out : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x1xf32>
    %102 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%101 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %140 = arith.divf %in, %cst_21 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x1xf32>
    %103 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%102 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %140 = arith.addf %in, %cst_22 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x1xf32>
    %104 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%103 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %140 = math.rsqrt %in : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x1xf32>
    %collapsed_49 = tensor.collapse_shape %104 [[0], [1, 2]] : tensor<1x32x1xf32> into tensor<1x32xf32>
    %105 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_49 : tensor<1x32xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32x64xf32>
    %106 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%99, %105 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.mulf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %107 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%106, %cst_3 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.mulf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %108 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%107, %cst_4 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.addf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %109 = tensor.empty() : tensor<1x64x128xf32>
    %110 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_15 : tensor<64x128xf32>) outs(%109 : tensor<1x64x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x64x128xf32>
    %111 = tensor.empty() : tensor<1x32x128xf32>
    %112 = linalg.fill ins(%cst : f32) outs(%111 : tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
    %113 = linalg.batch_matmul ins(%108, %110 : tensor<1x32x64xf32>, tensor<1x64x128xf32>) outs(%112 : tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
    %114 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%113, %cst_5 : tensor<1x32x128xf32>, tensor<128xf32>) outs(%111 : tensor<1x32x128xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.addf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x128xf32>
    %115 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%114, %cst_19 : tensor<1x32x128xf32>, tensor<f32>) outs(%111 : tensor<1x32x128xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.divf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x128xf32>
    %116 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%115 : tensor<1x32x128xf32>) outs(%111 : tensor<1x32x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %140 = math.erf %in : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x128xf32>
    %117 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%116, %cst_20 : tensor<1x32x128xf32>, tensor<f32>) outs(%111 : tensor<1x32x128xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.addf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x128xf32>
    %118 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_13, %117 : tensor<f32>, tensor<1x32x128xf32>) outs(%111 : tensor<1x32x128xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.mulf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x128xf32>
    %119 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%114, %118 : tensor<1x32x128xf32>, tensor<1x32x128xf32>) outs(%111 : tensor<1x32x128xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.mulf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x128xf32>
    %120 = tensor.empty() : tensor<1x128x64xf32>
    %121 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_16 : tensor<128x64xf32>) outs(%120 : tensor<1x128x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x128x64xf32>
    %122 = linalg.batch_matmul ins(%119, %121 : tensor<1x32x128xf32>, tensor<1x128x64xf32>) outs(%53 : tensor<1x32x64xf32>) -> tensor<1x32x64xf32>
    %123 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%122, %cst_4 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.addf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %124 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%123, %108 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.addf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %125 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%124 : tensor<1x32x64xf32>) outs(%22 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %140 = arith.addf %in, %out : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x1xf32>
    %126 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%125 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %140 = arith.divf %in, %cst_21 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x1xf32>
    %collapsed_50 = tensor.collapse_shape %126 [[0], [1, 2]] : tensor<1x32x1xf32> into tensor<1x32xf32>
    %127 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_50 : tensor<1x32xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32x64xf32>
    %128 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%124, %127 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.subf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %129 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%128, %128 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.mulf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %130 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%129 : tensor<1x32x64xf32>) outs(%22 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %140 = arith.addf %in, %out : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x1xf32>
    %131 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%130 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %140 = arith.divf %in, %cst_21 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x1xf32>
    %132 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%131 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %140 = arith.addf %in, %cst_22 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x1xf32>
    %133 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%132 : tensor<1x32x1xf32>) outs(%21 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %140 = math.rsqrt %in : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x1xf32>
    %collapsed_51 = tensor.collapse_shape %133 [[0], [1, 2]] : tensor<1x32x1xf32> into tensor<1x32xf32>
    %134 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_51 : tensor<1x32xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32x64xf32>
    %135 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%128, %134 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.mulf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %136 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%135, %cst_3 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.mulf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    %137 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%136, %cst_4 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%18 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_52: f32, %out: f32):
      %140 = arith.addf %in, %in_52 : f32
      linalg.yield %140 : f32
    } -> tensor<1x32x64xf32>
    return %137 : tensor<1x32x64xf32>
  }
}
