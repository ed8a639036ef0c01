// torch case decoder_layer; torch 2.15.0, ONNX opset 18; iree-base-compiler
// attentions: 2
module {
  func.func @model(%arg0: tensor<2x33x96xf32>, %arg1: tensor<2x49x96xf32>) -> (tensor<2x33x96xf32>) {
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<0.000000e+00> : tensor<192xf32>
    %cst_2 = arith.constant dense<2> : tensor<1xi64>
    %cst_3 = arith.constant dense<1> : tensor<1xi64>
    %cst_4 = arith.constant dense<0> : tensor<1xi64>
    %cst_5 = arith.constant dense<0.000000e+00> : tensor<288xf32>
    %cst_6 = arith.constant dense<1.000000e-02> : tensor<96x96xf32>
    %cst_7 = arith.constant dense<1.000000e-02> : tensor<288x96xf32>
    %cst_8 = arith.constant dense<1.000000e-02> : tensor<96x96xf32>
    %cst_9 = arith.constant dense<[-0.0845808088, 0.0360560231, -0.08018855, -0.0605268814, -0.0120850969, 0.0109753795, 0.0474088863, -0.00958536565, -0.092988722, -0.056302052, -0.0133438194, -0.0726424083, 0.0308424626, -7.177770e-02, -0.0457800776, 0.0840714573, -0.0138551397, -0.0664394199, -0.00360663771, -0.0971685722, 0.0613473207, -0.0207230244, -0.0709242299, 0.0501956828, 0.0226694122, 0.00498954672, -0.0947522074, -0.0303991903, -0.0194198079, 0.0632983595, 0.0610841289, -0.100571916, 0.0944252982, 0.0117019657, 0.0178135056, -0.0390203521, 0.0382123366, -7.720570e-02, 0.024695918, -0.0763444901, -0.0388894379, -0.0864902958, 0.0319704786, 0.023951374, 0.0131325806, 0.0415989235, 0.0330462977, -0.00114092464, -0.0132177481, -4.388220e-02, 0.00613750378, -0.0255420674, 0.0340105742, 0.0685214549, -0.0134703657, -0.0889082402, -0.025602255, 0.0658271164, 0.0110272225, -0.0997080802, 0.0616227649, 0.0722815618, -0.088812694, 0.0528774634, -0.057865344, -0.0384510718, -0.0621577613, -0.043091543, -0.088238433, 0.0841338112, 9.67463245E-4, 0.0286647845, 0.0374537744, -0.00645720912, -0.0132435048, -0.0649927184, -0.0150528587, -0.0987514778, 0.084501028, -0.0301300138, 0.0380717739, 0.0854975134, 0.0587334894, 0.0993405729, 0.0113723073, 0.0699449554, -0.0616402589, -0.0456580333, 0.0269318745, -0.0434602685, 0.07597512, -0.0150841512, -0.0273287781, -0.0795352608, -0.050384827, 0.0873798504, 0.0490712076, 0.0615644492, 0.0850982144, 0.0107843978, -0.00762331905, 0.0792828798, 0.0106949974, -0.0182382353, 0.0104136774, 0.0244023222, -0.0881516039, 0.0388119966, -0.0347528793, -0.086852692, 6.32610056E-4, 0.0148518877, 0.0821495652, -0.0260719527, 0.0685213357, 0.0458792858, 0.0463583022, 0.0487250127, -0.066409856, -0.0024899249, 0.101359583, 0.078218691, -0.0385468118, -0.00373924314, 0.0390972234, -0.0709879473, 0.0677711815, -0.059271127, 0.0563768521, -0.074014768, 0.053778071, 0.078979373, -0.00748708798, -0.0616448223, 0.0830005779, 1.645010e-02, -0.0573040545, -0.00376437954, 0.0691955537, -0.0780777409, -0.0387200788, 0.0382193066, -0.0479061082, 0.0673905313, 0.085745044, -0.0287135374, -0.0565332174, -0.0870631784, 0.0596316382, -0.0284970663, 0.0503980033, -0.0456805415, 0.0679392144, 0.0922057554, -0.101837188, 0.0372828096, -0.0866988822, -0.0274197608, -6.04079047E-4, -0.0590127781, 0.0266088471, -0.00133677269, 0.0510884523, 0.0760240331, 0.080697745, -0.0353889316, 0.0120338993, -0.0512783267, 0.015794117, -0.0749113857, -0.0972304642, 7.069060e-02, 0.0766121373, -0.00962617248, 1.00375664E-5, 0.0585222282, 0.0718663484, 0.0885234773, -0.0893373861, 5.29509038E-4, -0.0412973464, 9.666400e-02, -0.0113629755, -0.0496425554, 0.0601878427, -0.0356846936, 0.0211516712, -0.0291892812, -0.0246746391, 0.0429974794, 0.0708386526, 0.0718102381]> : tensor<192xf32>
    %cst_10 = arith.constant dense<[0.0345873162, -0.0118173752, -0.00449009053, 0.0221607238, 0.0200780202, 0.0720942244, 0.0414491855, 0.0485104769, -0.0420805402, -9.246880e-03, 0.0351728499, -0.0225159582, -5.209120e-02, -0.00836855453, 0.0488915816, -0.0685042962, -0.059928406, 0.0044176518, 0.0628020167, 6.851990e-02, 0.0560628027, -0.0666122064, 0.0588786192, -0.0254362412, -0.00420671888, 0.0320544168, -0.00588781619, 0.0517990552, -0.0610319637, 0.0537418611, 0.0241324194, -0.0312014446, -0.015927162, 0.0412289873, 0.0113472193, -0.0715411603, -0.00988035835, -0.0563825853, 0.010634549, 0.0450432785, -0.0582969561, -0.0124986535, -0.0580817237, -0.0374645405, 0.0434559062, -9.97376278E-4, 0.0285600927, 0.0672774911, -0.0208941363, -0.00669990573, 0.0666723922, -0.0296058375, -0.0231804159, 0.0218270402, -0.0477509685, 0.0313797966, -0.0206697639, -0.0417657308, -0.0287474021, -0.0173405707, 0.0540093854, -4.311230e-02, 0.0518814549, -0.0485704653, 0.0677081496, -0.0181463026, 0.0133319665, 0.0701684952, -0.0197496023, 2.08868223E-4, 0.00658918265, 0.0246510357, 0.0158287752, -0.0612414852, -0.0306132529, 0.0432271361, -0.0233614184, 0.0351212658, 0.0568055175, 0.0276206769, 0.0428387225, -0.0308104046, 0.0219567753, 0.0442056544, 0.00909034442, -0.0378871821, -0.0106681529, 6.411940e-03, -0.0307810418, 7.014890e-02, 0.0508730486, 0.00462240772, -0.0242192596, 0.0255950391, 4.509500e-02, -8.58254148E-4]> : tensor<96xf32>
    %cst_11 = arith.constant dense<1.000000e+00> : tensor<96xf32>
    %cst_12 = arith.constant dense<0.000000e+00> : tensor<96xf32>
    %cst_13 = arith.constant dense<1.000000e-02> : tensor<96x288xf32>
    %cst_14 = arith.constant dense<4.518010e-01> : tensor<1xf32>
    %cst_15 = arith.constant dense<1.000000e-02> : tensor<96x192xf32>
    %cst_16 = arith.constant dense<1.000000e-02> : tensor<192x96xf32>
    %cst_17 = arith.constant 9.600000e+01 : f32
    %cst_18 = arith.constant 9.99999974E-6 : f32
    %2 = tensor.empty() : tensor<33x2x96xf32>
    %transposed = linalg.transpose ins(%arg0 : tensor<2x33x96xf32>) outs(%2 : tensor<33x2x96xf32>) permutation = [1, 0, 2] 
    %3 = tensor.empty() : tensor<33x96x288xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_13 : tensor<96x288xf32>) outs(%3 : tensor<33x96x288xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<33x96x288xf32>
    %5 = tensor.empty() : tensor<33x2x288xf32>
    %6 = linalg.fill ins(%cst : f32) outs(%5 : tensor<33x2x288xf32>) -> tensor<33x2x288xf32>
    %7 = linalg.batch_matmul ins(%transposed, %4 : tensor<33x2x96xf32>, tensor<33x96x288xf32>) outs(%6 : tensor<33x2x288xf32>) -> tensor<33x2x288xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%7, %cst_5 : tensor<33x2x288xf32>, tensor<288xf32>) outs(%5 : tensor<33x2x288xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.addf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<33x2x288xf32>
    %expanded = tensor.expand_shape %8 [[0, 1], [2], [3, 4]] output_shape [1, 33, 2, 3, 96] : tensor<33x2x288xf32> into tensor<1x33x2x3x96xf32>
    %9 = tensor.empty() : tensor<3x33x2x1x96xf32>
    %transposed_19 = linalg.transpose ins(%expanded : tensor<1x33x2x3x96xf32>) outs(%9 : tensor<3x33x2x1x96xf32>) permutation = [3, 1, 2, 0, 4] 
    %collapsed = tensor.collapse_shape %transposed_19 [[0], [1], [2, 3], [4]] : tensor<3x33x2x1x96xf32> into tensor<3x33x2x96xf32>
    %10 = tensor.empty() : tensor<1x33x2x96xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_4 : tensor<1xi64>) outs(%10 : tensor<1x33x2x96xf32>) {
    ^bb0(%in: i64, %out: f32):
      %134 = arith.index_cast %in : i64 to index
      %135 = linalg.index 1 : index
      %136 = linalg.index 2 : index
      %137 = linalg.index 3 : index
      %extracted = tensor.extract %collapsed[%134, %135, %136, %137] : tensor<3x33x2x96xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x33x2x96xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<1xi64>) outs(%10 : tensor<1x33x2x96xf32>) {
    ^bb0(%in: i64, %out: f32):
      %134 = arith.index_cast %in : i64 to index
      %135 = linalg.index 1 : index
      %136 = linalg.index 2 : index
      %137 = linalg.index 3 : index
      %extracted = tensor.extract %collapsed[%134, %135, %136, %137] : tensor<3x33x2x96xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x33x2x96xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<1xi64>) outs(%10 : tensor<1x33x2x96xf32>) {
    ^bb0(%in: i64, %out: f32):
      %134 = arith.index_cast %in : i64 to index
      %135 = linalg.index 1 : index
      %136 = linalg.index 2 : index
      %137 = linalg.index 3 : index
      %extracted = tensor.extract %collapsed[%134, %135, %136, %137] : tensor<3x33x2x96xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x33x2x96xf32>
    %collapsed_20 = tensor.collapse_shape %11 [[0, 1], [2, 3]] : tensor<1x33x2x96xf32> into tensor<33x192xf32>
    %expanded_21 = tensor.expand_shape %collapsed_20 [[0], [1, 2]] output_shape [33, 8, 24] : tensor<33x192xf32> into tensor<33x8x24xf32>
    %14 = tensor.empty() : tensor<8x33x24xf32>
    %transposed_22 = linalg.transpose ins(%expanded_21 : tensor<33x8x24xf32>) outs(%14 : tensor<8x33x24xf32>) permutation = [1, 0, 2] 
    %collapsed_23 = tensor.collapse_shape %12 [[0, 1], [2, 3]] : tensor<1x33x2x96xf32> into tensor<33x192xf32>
    %expanded_24 = tensor.expand_shape %collapsed_23 [[0], [1, 2]] output_shape [33, 8, 24] : tensor<33x192xf32> into tensor<33x8x24xf32>
    %collapsed_25 = tensor.collapse_shape %13 [[0, 1], [2, 3]] : tensor<1x33x2x96xf32> into tensor<33x192xf32>
    %expanded_26 = tensor.expand_shape %collapsed_25 [[0], [1, 2]] output_shape [33, 8, 24] : tensor<33x192xf32> into tensor<33x8x24xf32>
    %transposed_27 = linalg.transpose ins(%expanded_26 : tensor<33x8x24xf32>) outs(%14 : tensor<8x33x24xf32>) permutation = [1, 0, 2] 
    %expanded_28 = tensor.expand_shape %transposed_22 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    %15 = tensor.empty() : tensor<8x24x33xf32>
    %transposed_29 = linalg.transpose ins(%expanded_24 : tensor<33x8x24xf32>) outs(%15 : tensor<8x24x33xf32>) permutation = [1, 2, 0] 
    %expanded_30 = tensor.expand_shape %transposed_29 [[0, 1], [2], [3]] output_shape [2, 4, 24, 33] : tensor<8x24x33xf32> into tensor<2x4x24x33xf32>
    %16 = tensor.empty() : tensor<2x4x33x24xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_28, %cst_14 : tensor<2x4x33x24xf32>, tensor<1xf32>) outs(%16 : tensor<2x4x33x24xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.mulf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x4x33x24xf32>
    %18 = tensor.empty() : tensor<2x4x24x33xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_30, %cst_14 : tensor<2x4x24x33xf32>, tensor<1xf32>) outs(%18 : tensor<2x4x24x33xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.mulf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x4x24x33xf32>
    %collapsed_31 = tensor.collapse_shape %17 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_32 = tensor.collapse_shape %19 [[0, 1], [2], [3]] : tensor<2x4x24x33xf32> into tensor<8x24x33xf32>
    %20 = tensor.empty() : tensor<8x33x33xf32>
    %21 = linalg.fill ins(%cst : f32) outs(%20 : tensor<8x33x33xf32>) -> tensor<8x33x33xf32>
    %22 = linalg.batch_matmul ins(%collapsed_31, %collapsed_32 : tensor<8x33x24xf32>, tensor<8x24x33xf32>) outs(%21 : tensor<8x33x33xf32>) -> tensor<8x33x33xf32>
    %expanded_33 = tensor.expand_shape %22 [[0, 1], [2], [3]] output_shape [2, 4, 33, 33] : tensor<8x33x33xf32> into tensor<2x4x33x33xf32>
    %23 = tensor.empty() : tensor<2x4x33xi64>
    %24 = linalg.fill ins(%c0_i64 : i64) outs(%23 : tensor<2x4x33xi64>) -> tensor<2x4x33xi64>
    %25 = tensor.empty() : tensor<2x4x33xf32>
    %26 = linalg.fill ins(%cst_0 : f32) outs(%25 : tensor<2x4x33xf32>) -> tensor<2x4x33xf32>
    %27:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded_33 : tensor<2x4x33x33xf32>) outs(%26, %24 : tensor<2x4x33xf32>, tensor<2x4x33xi64>) {
    ^bb0(%in: f32, %out: f32, %out_78: i64):
      %134 = linalg.index 3 : index
      %135 = arith.index_cast %134 : index to i64
      %136 = arith.maximumf %in, %out : f32
      %137 = arith.cmpf ogt, %in, %out : f32
      %138 = arith.select %137, %135, %out_78 : i64
      linalg.yield %136, %138 : f32, i64
    } -> (tensor<2x4x33xf32>, tensor<2x4x33xi64>)
    %expanded_34 = tensor.expand_shape %27#0 [[0], [1], [2, 3]] output_shape [2, 4, 33, 1] : tensor<2x4x33xf32> into tensor<2x4x33x1xf32>
    %28 = tensor.empty() : tensor<2x4x33x33xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_33, %expanded_34 : tensor<2x4x33x33xf32>, tensor<2x4x33x1xf32>) outs(%28 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.subf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x4x33x33xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%29 : tensor<2x4x33x33xf32>) outs(%28 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = math.exp %in : f32
      linalg.yield %134 : f32
    } -> tensor<2x4x33x33xf32>
    %31 = tensor.empty() : tensor<2x4x33x1xf32>
    %32 = linalg.fill ins(%cst : f32) outs(%31 : tensor<2x4x33x1xf32>) -> tensor<2x4x33x1xf32>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%30 : tensor<2x4x33x33xf32>) outs(%32 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = arith.addf %in, %out : f32
      linalg.yield %134 : f32
    } -> tensor<2x4x33x1xf32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%30, %33 : tensor<2x4x33x33xf32>, tensor<2x4x33x1xf32>) outs(%28 : tensor<2x4x33x33xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.divf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x4x33x33xf32>
    %collapsed_35 = tensor.collapse_shape %34 [[0, 1], [2], [3]] : tensor<2x4x33x33xf32> into tensor<8x33x33xf32>
    %35 = linalg.fill ins(%cst : f32) outs(%14 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %36 = linalg.batch_matmul ins(%collapsed_35, %transposed_27 : tensor<8x33x33xf32>, tensor<8x33x24xf32>) outs(%35 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_36 = tensor.expand_shape %36 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    %37 = tensor.empty() : tensor<33x2x4x24xf32>
    %transposed_37 = linalg.transpose ins(%expanded_36 : tensor<2x4x33x24xf32>) outs(%37 : tensor<33x2x4x24xf32>) permutation = [2, 0, 1, 3] 
    %collapsed_38 = tensor.collapse_shape %transposed_37 [[0, 1], [2, 3]] : tensor<33x2x4x24xf32> into tensor<66x96xf32>
    %38 = tensor.empty() : tensor<96x96xf32>
    %transposed_39 = linalg.transpose ins(%cst_6 : tensor<96x96xf32>) outs(%38 : tensor<96x96xf32>) permutation = [1, 0] 
    %39 = tensor.empty() : tensor<66x96xf32>
    %40 = linalg.fill ins(%cst : f32) outs(%39 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %41 = linalg.matmul ins(%collapsed_38, %transposed_39 : tensor<66x96xf32>, tensor<96x96xf32>) outs(%40 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %expanded_40 = tensor.expand_shape %41 [[0, 1], [2]] output_shape [33, 2, 96] : tensor<66x96xf32> into tensor<33x2x96xf32>
    %42 = tensor.empty() : tensor<2x33x96xf32>
    %transposed_41 = linalg.transpose ins(%expanded_40 : tensor<33x2x96xf32>) outs(%42 : tensor<2x33x96xf32>) permutation = [1, 0, 2] 
    %43 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0, %transposed_41 : tensor<2x33x96xf32>, tensor<2x33x96xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.addf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x96xf32>
    %44 = tensor.empty() : tensor<2x33x1xf32>
    %45 = linalg.fill ins(%cst : f32) outs(%44 : tensor<2x33x1xf32>) -> tensor<2x33x1xf32>
    %46 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%43 : tensor<2x33x96xf32>) outs(%45 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = arith.addf %in, %out : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x1xf32>
    %47 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%46 : tensor<2x33x1xf32>) outs(%44 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = arith.divf %in, %cst_17 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x1xf32>
    %collapsed_42 = tensor.collapse_shape %47 [[0], [1, 2]] : tensor<2x33x1xf32> into tensor<2x33xf32>
    %48 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_42 : tensor<2x33xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x96xf32>
    %49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%43, %48 : tensor<2x33x96xf32>, tensor<2x33x96xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.subf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x96xf32>
    %50 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%49, %49 : tensor<2x33x96xf32>, tensor<2x33x96xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.mulf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x96xf32>
    %51 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%50 : tensor<2x33x96xf32>) outs(%45 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = arith.addf %in, %out : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x1xf32>
    %52 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%51 : tensor<2x33x1xf32>) outs(%44 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = arith.divf %in, %cst_17 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x1xf32>
    %53 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%52 : tensor<2x33x1xf32>) outs(%44 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = arith.addf %in, %cst_18 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x1xf32>
    %54 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%53 : tensor<2x33x1xf32>) outs(%44 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = math.rsqrt %in : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x1xf32>
    %collapsed_43 = tensor.collapse_shape %54 [[0], [1, 2]] : tensor<2x33x1xf32> into tensor<2x33xf32>
    %55 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_43 : tensor<2x33xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x96xf32>
    %56 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%49, %55 : tensor<2x33x96xf32>, tensor<2x33x96xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.mulf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x96xf32>
    %57 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%56, %cst_11 : tensor<2x33x96xf32>, tensor<96xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.mulf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x96xf32>
    %58 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%57, %cst_12 : tensor<2x33x96xf32>, tensor<96xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.addf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x96xf32>
    %transposed_44 = linalg.transpose ins(%58 : tensor<2x33x96xf32>) outs(%2 : tensor<33x2x96xf32>) permutation = [1, 0, 2] 
    %59 = tensor.empty() : tensor<49x2x96xf32>
    %transposed_45 = linalg.transpose ins(%arg1 : tensor<2x49x96xf32>) outs(%59 : tensor<49x2x96xf32>) permutation = [1, 0, 2] 
    %extracted_slice = tensor.extract_slice %cst_7[0, 0] [96, 96] [1, 1] : tensor<288x96xf32> to tensor<96x96xf32>
    %extracted_slice_46 = tensor.extract_slice %cst_7[96, 0] [192, 96] [1, 1] : tensor<288x96xf32> to tensor<192x96xf32>
    %transposed_47 = linalg.transpose ins(%extracted_slice : tensor<96x96xf32>) outs(%38 : tensor<96x96xf32>) permutation = [1, 0] 
    %60 = tensor.empty() : tensor<33x96x96xf32>
    %61 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%transposed_47 : tensor<96x96xf32>) outs(%60 : tensor<33x96x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<33x96x96xf32>
    %62 = linalg.fill ins(%cst : f32) outs(%2 : tensor<33x2x96xf32>) -> tensor<33x2x96xf32>
    %63 = linalg.batch_matmul ins(%transposed_44, %61 : tensor<33x2x96xf32>, tensor<33x96x96xf32>) outs(%62 : tensor<33x2x96xf32>) -> tensor<33x2x96xf32>
    %64 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%63, %cst_12 : tensor<33x2x96xf32>, tensor<96xf32>) outs(%2 : tensor<33x2x96xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.addf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<33x2x96xf32>
    %65 = tensor.empty() : tensor<96x192xf32>
    %transposed_48 = linalg.transpose ins(%extracted_slice_46 : tensor<192x96xf32>) outs(%65 : tensor<96x192xf32>) permutation = [1, 0] 
    %66 = tensor.empty() : tensor<49x96x192xf32>
    %67 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%transposed_48 : tensor<96x192xf32>) outs(%66 : tensor<49x96x192xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<49x96x192xf32>
    %68 = tensor.empty() : tensor<49x2x192xf32>
    %69 = linalg.fill ins(%cst : f32) outs(%68 : tensor<49x2x192xf32>) -> tensor<49x2x192xf32>
    %70 = linalg.batch_matmul ins(%transposed_45, %67 : tensor<49x2x96xf32>, tensor<49x96x192xf32>) outs(%69 : tensor<49x2x192xf32>) -> tensor<49x2x192xf32>
    %71 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%70, %cst_1 : tensor<49x2x192xf32>, tensor<192xf32>) outs(%68 : tensor<49x2x192xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.addf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<49x2x192xf32>
    %expanded_49 = tensor.expand_shape %71 [[0, 1], [2], [3, 4]] output_shape [1, 49, 2, 2, 96] : tensor<49x2x192xf32> into tensor<1x49x2x2x96xf32>
    %72 = tensor.empty() : tensor<2x49x2x1x96xf32>
    %transposed_50 = linalg.transpose ins(%expanded_49 : tensor<1x49x2x2x96xf32>) outs(%72 : tensor<2x49x2x1x96xf32>) permutation = [3, 1, 2, 0, 4] 
    %collapsed_51 = tensor.collapse_shape %transposed_50 [[0], [1], [2, 3], [4]] : tensor<2x49x2x1x96xf32> into tensor<2x49x2x96xf32>
    %73 = tensor.empty() : tensor<1x49x2x96xf32>
    %74 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_4 : tensor<1xi64>) outs(%73 : tensor<1x49x2x96xf32>) {
    ^bb0(%in: i64, %out: f32):
      %134 = arith.index_cast %in : i64 to index
      %135 = linalg.index 1 : index
      %136 = linalg.index 2 : index
      %137 = linalg.index 3 : index
      %extracted = tensor.extract %collapsed_51[%134, %135, %136, %137] : tensor<2x49x2x96xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x49x2x96xf32>
    %75 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<1xi64>) outs(%73 : tensor<1x49x2x96xf32>) {
    ^bb0(%in: i64, %out: f32):
      %134 = arith.index_cast %in : i64 to index
      %135 = linalg.index 1 : index
      %136 = linalg.index 2 : index
      %137 = linalg.index 3 : index
      %extracted = tensor.extract %collapsed_51[%134, %135, %136, %137] : tensor<2x49x2x96xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x49x2x96xf32>
    %collapsed_52 = tensor.collapse_shape %64 [[0], [1, 2]] : tensor<33x2x96xf32> into tensor<33x192xf32>
    %expanded_53 = tensor.expand_shape %collapsed_52 [[0], [1, 2]] output_shape [33, 8, 24] : tensor<33x192xf32> into tensor<33x8x24xf32>
    %transposed_54 = linalg.transpose ins(%expanded_53 : tensor<33x8x24xf32>) outs(%14 : tensor<8x33x24xf32>) permutation = [1, 0, 2] 
    %collapsed_55 = tensor.collapse_shape %74 [[0, 1], [2, 3]] : tensor<1x49x2x96xf32> into tensor<49x192xf32>
    %expanded_56 = tensor.expand_shape %collapsed_55 [[0], [1, 2]] output_shape [49, 8, 24] : tensor<49x192xf32> into tensor<49x8x24xf32>
    %76 = tensor.empty() : tensor<8x49x24xf32>
    %collapsed_57 = tensor.collapse_shape %75 [[0, 1], [2, 3]] : tensor<1x49x2x96xf32> into tensor<49x192xf32>
    %expanded_58 = tensor.expand_shape %collapsed_57 [[0], [1, 2]] output_shape [49, 8, 24] : tensor<49x192xf32> into tensor<49x8x24xf32>
    %transposed_59 = linalg.transpose ins(%expanded_58 : tensor<49x8x24xf32>) outs(%76 : tensor<8x49x24xf32>) permutation = [1, 0, 2] 
    %expanded_60 = tensor.expand_shape %transposed_54 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    %77 = tensor.empty() : tensor<8x24x49xf32>
    %transposed_61 = linalg.transpose ins(%expanded_56 : tensor<49x8x24xf32>) outs(%77 : tensor<8x24x49xf32>) permutation = [1, 2, 0] 
    %expanded_62 = tensor.expand_shape %transposed_61 [[0, 1], [2], [3]] output_shape [2, 4, 24, 49] : tensor<8x24x49xf32> into tensor<2x4x24x49xf32>
    %78 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_60, %cst_14 : tensor<2x4x33x24xf32>, tensor<1xf32>) outs(%16 : tensor<2x4x33x24xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.mulf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x4x33x24xf32>
    %79 = tensor.empty() : tensor<2x4x24x49xf32>
    %80 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_62, %cst_14 : tensor<2x4x24x49xf32>, tensor<1xf32>) outs(%79 : tensor<2x4x24x49xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.mulf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x4x24x49xf32>
    %collapsed_63 = tensor.collapse_shape %78 [[0, 1], [2], [3]] : tensor<2x4x33x24xf32> into tensor<8x33x24xf32>
    %collapsed_64 = tensor.collapse_shape %80 [[0, 1], [2], [3]] : tensor<2x4x24x49xf32> into tensor<8x24x49xf32>
    %81 = tensor.empty() : tensor<8x33x49xf32>
    %82 = linalg.fill ins(%cst : f32) outs(%81 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %83 = linalg.batch_matmul ins(%collapsed_63, %collapsed_64 : tensor<8x33x24xf32>, tensor<8x24x49xf32>) outs(%82 : tensor<8x33x49xf32>) -> tensor<8x33x49xf32>
    %expanded_65 = tensor.expand_shape %83 [[0, 1], [2], [3]] output_shape [2, 4, 33, 49] : tensor<8x33x49xf32> into tensor<2x4x33x49xf32>
    %84:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded_65 : tensor<2x4x33x49xf32>) outs(%26, %24 : tensor<2x4x33xf32>, tensor<2x4x33xi64>) {
    ^bb0(%in: f32, %out: f32, %out_78: i64):
      %134 = linalg.index 3 : index
      %135 = arith.index_cast %134 : index to i64
      %136 = arith.maximumf %in, %out : f32
      %137 = arith.cmpf ogt, %in, %out : f32
      %138 = arith.select %137, %135, %out_78 : i64
      linalg.yield %136, %138 : f32, i64
    } -> (tensor<2x4x33xf32>, tensor<2x4x33xi64>)
    %expanded_66 = tensor.expand_shape %84#0 [[0], [1], [2, 3]] output_shape [2, 4, 33, 1] : tensor<2x4x33xf32> into tensor<2x4x33x1xf32>
    %85 = tensor.empty() : tensor<2x4x33x49xf32>
    %86 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_65, %expanded_66 : tensor<2x4x33x49xf32>, tensor<2x4x33x1xf32>) outs(%85 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.subf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x4x33x49xf32>
    %87 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%86 : tensor<2x4x33x49xf32>) outs(%85 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = math.exp %in : f32
      linalg.yield %134 : f32
    } -> tensor<2x4x33x49xf32>
    %88 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%87 : tensor<2x4x33x49xf32>) outs(%32 : tensor<2x4x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = arith.addf %in, %out : f32
      linalg.yield %134 : f32
    } -> tensor<2x4x33x1xf32>
    %89 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%87, %88 : tensor<2x4x33x49xf32>, tensor<2x4x33x1xf32>) outs(%85 : tensor<2x4x33x49xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.divf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x4x33x49xf32>
    %collapsed_67 = tensor.collapse_shape %89 [[0, 1], [2], [3]] : tensor<2x4x33x49xf32> into tensor<8x33x49xf32>
    %90 = linalg.batch_matmul ins(%collapsed_67, %transposed_59 : tensor<8x33x49xf32>, tensor<8x49x24xf32>) outs(%35 : tensor<8x33x24xf32>) -> tensor<8x33x24xf32>
    %expanded_68 = tensor.expand_shape %90 [[0, 1], [2], [3]] output_shape [2, 4, 33, 24] : tensor<8x33x24xf32> into tensor<2x4x33x24xf32>
    %transposed_69 = linalg.transpose ins(%expanded_68 : tensor<2x4x33x24xf32>) outs(%37 : tensor<33x2x4x24xf32>) permutation = [2, 0, 1, 3] 
    %collapsed_70 = tensor.collapse_shape %transposed_69 [[0, 1], [2, 3]] : tensor<33x2x4x24xf32> into tensor<66x96xf32>
    %transposed_71 = linalg.transpose ins(%cst_8 : tensor<96x96xf32>) outs(%38 : tensor<96x96xf32>) permutation = [1, 0] 
    %91 = linalg.matmul ins(%collapsed_70, %transposed_71 : tensor<66x96xf32>, tensor<96x96xf32>) outs(%40 : tensor<66x96xf32>) -> tensor<66x96xf32>
    %expanded_72 = tensor.expand_shape %91 [[0, 1], [2]] output_shape [33, 2, 96] : tensor<66x96xf32> into tensor<33x2x96xf32>
    %transposed_73 = linalg.transpose ins(%expanded_72 : tensor<33x2x96xf32>) outs(%42 : tensor<2x33x96xf32>) permutation = [1, 0, 2] 
    %92 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%58, %transposed_73 : tensor<2x33x96xf32>, tensor<2x33x96xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.addf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x96xf32>
    %93 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%92 : tensor<2x33x96xf32>) outs(%45 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = arith.addf %in, %out : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x1xf32>
    %94 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%93 : tensor<2x33x1xf32>) outs(%44 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = arith.divf %in, %cst_17 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x1xf32>
    %collapsed_74 = tensor.collapse_shape %94 [[0], [1, 2]] : tensor<2x33x1xf32> into tensor<2x33xf32>
    %95 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_74 : tensor<2x33xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x96xf32>
    %96 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%92, %95 : tensor<2x33x96xf32>, tensor<2x33x96xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.subf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x96xf32>
    %97 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%96, %96 : tensor<2x33x96xf32>, tensor<2x33x96xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.mulf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x96xf32>
    %98 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%97 : tensor<2x33x96xf32>) outs(%45 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = arith.addf %in, %out : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x1xf32>
    %99 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%98 : tensor<2x33x1xf32>) outs(%44 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = arith.divf %in, %cst_17 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x1xf32>
    %100 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%99 : tensor<2x33x1xf32>) outs(%44 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = arith.addf %in, %cst_18 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x1xf32>
    %101 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%100 : tensor<2x33x1xf32>) outs(%44 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = math.rsqrt %in : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x1xf32>
    %collapsed_75 = tensor.collapse_shape %101 [[0], [1, 2]] : tensor<2x33x1xf32> into tensor<2x33xf32>
    %102 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_75 : tensor<2x33xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x96xf32>
    %103 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%96, %102 : tensor<2x33x96xf32>, tensor<2x33x96xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.mulf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x96xf32>
    %104 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%103, %cst_11 : tensor<2x33x96xf32>, tensor<96xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.mulf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x96xf32>
    %105 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%104, %cst_12 : tensor<2x33x96xf32>, tensor<96xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.addf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x96xf32>
    %106 = tensor.empty() : tensor<2x96x192xf32>
    %107 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_15 : tensor<96x192xf32>) outs(%106 : tensor<2x96x192xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x96x192xf32>
    %108 = tensor.empty() : tensor<2x33x192xf32>
    %109 = linalg.fill ins(%cst : f32) outs(%108 : tensor<2x33x192xf32>) -> tensor<2x33x192xf32>
    %110 = linalg.batch_matmul ins(%105, %107 : tensor<2x33x96xf32>, tensor<2x96x192xf32>) outs(%109 : tensor<2x33x192xf32>) -> tensor<2x33x192xf32>
    %111 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%110, %cst_9 : tensor<2x33x192xf32>, tensor<192xf32>) outs(%108 : tensor<2x33x192xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.addf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x192xf32>
    %112 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%111 : tensor<2x33x192xf32>) outs(%108 : tensor<2x33x192xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = arith.cmpf ugt, %in, %cst : f32
      %135 = arith.select %134, %in, %cst : f32
      linalg.yield %135 : f32
    } -> tensor<2x33x192xf32>
    %113 = tensor.empty() : tensor<2x192x96xf32>
    %114 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_16 : tensor<192x96xf32>) outs(%113 : tensor<2x192x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x192x96xf32>
    %115 = linalg.fill ins(%cst : f32) outs(%42 : tensor<2x33x96xf32>) -> tensor<2x33x96xf32>
    %116 = linalg.batch_matmul ins(%112, %114 : tensor<2x33x192xf32>, tensor<2x192x96xf32>) outs(%115 : tensor<2x33x96xf32>) -> tensor<2x33x96xf32>
    %117 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%116, %cst_10 : tensor<2x33x96xf32>, tensor<96xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.addf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x96xf32>
    %118 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%105, %117 : tensor<2x33x96xf32>, tensor<2x33x96xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.addf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x96xf32>
    %119 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%118 : tensor<2x33x96xf32>) outs(%45 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = arith.addf %in, %out : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x1xf32>
    %120 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%119 : tensor<2x33x1xf32>) outs(%44 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = arith.divf %in, %cst_17 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x1xf32>
    %collapsed_76 = tensor.collapse_shape %120 [[0], [1, 2]] : tensor<2x33x1xf32> into tensor<2x33xf32>
    %121 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_76 : tensor<2x33xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x96xf32>
    %122 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%118, %121 : tensor<2x33x96xf32>, tensor<2x33x96xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.subf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x96xf32>
    %123 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%122, %122 : tensor<2x33x96xf32>, tensor<2x33x96xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.mulf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x96xf32>
    %124 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%123 : tensor<2x33x96xf32>) outs(%45 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = arith.addf %in, %out : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x1xf32>
    %125 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%124 : tensor<2x33x1xf32>) outs(%44 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = arith.divf %in, %cst_17 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x1xf32>
    %126 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%125 : tensor<2x33x1xf32>) outs(%44 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = arith.addf %in, %cst_18 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x1xf32>
    %127 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%126 : tensor<2x33x1xf32>) outs(%44 : tensor<2x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %134 = math.rsqrt %in : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x1xf32>
    %collapsed_77 = tensor.collapse_shape %127 [[0], [1, 2]] : tensor<2x33x1xf32> into tensor<2x33xf32>
    %128 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_77 : tensor<2x33xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x33x96xf32>
    %129 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%122, %128 : tensor<2x33x96xf32>, tensor<2x33x96xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.mulf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x96xf32>
    %130 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%129, %cst_11 : tensor<2x33x96xf32>, tensor<96xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.mulf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x96xf32>
    %131 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%130, %cst_12 : tensor<2x33x96xf32>, tensor<96xf32>) outs(%42 : tensor<2x33x96xf32>) {
    ^bb0(%in: f32, %in_78: f32, %out: f32):
      %134 = arith.addf %in, %in_78 : f32
      linalg.yield %134 : f32
    } -> tensor<2x33x96xf32>
    return %131 : tensor<2x33x96xf32>
  }
}
