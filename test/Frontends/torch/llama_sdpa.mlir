// torch case llama_sdpa; torch 2.15.0, ONNX opset 18; iree-base-compiler
// attentions: 1
module {
  func.func @model(%arg0: tensor<1x32xi64>, %arg1: tensor<1x32xi64>) -> (tensor<1x32x64xf32>) {
    %c100_i64 = arith.constant 100 : i64
    %c32_i64 = arith.constant 32 : i64
    %c2_i64 = arith.constant 2 : i64
    %c0_i64 = arith.constant 0 : i64
    %c1_i64 = arith.constant 1 : i64
    %c32 = arith.constant 32 : index
    %false = arith.constant false
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.000000e+00 : f32
    %cst_1 = arith.constant 0xFF800000 : f32
    %cst_2 = arith.constant dense<1.000000e-02> : tensor<100x64xf32>
    %cst_3 = arith.constant dense<1.000000e+00> : tensor<64xf32>
    %cst_4 = arith.constant dense<[[[[true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false], [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false], [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true]]]]> : tensor<1x1x32x32xi1>
    %cst_5 = arith.constant dense<[[[[[0, 0], [0, 1], [0, 2], [0, 3], [0, 4], [0, 5], [0, 6], [0, 7], [0, 8], [0, 9], [0, 10], [0, 11], [0, 12], [0, 13], [0, 14], [0, 15], [0, 16], [0, 17], [0, 18], [0, 19], [0, 20], [0, 21], [0, 22], [0, 23], [0, 24], [0, 25], [0, 26], [0, 27], [0, 28], [0, 29], [0, 30], [0, 31]]]]]> : tensor<1x1x1x32x2xi64>
    %cst_6 = arith.constant dense<1.000000e-02> : tensor<64x64xf32>
    %cst_7 = arith.constant dense<1.000000e-02> : tensor<64x32xf32>
    %cst_8 = arith.constant dense<1.000000e-02> : tensor<64x32xf32>
    %cst_9 = arith.constant dense<[[[[1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00], [0.540302277, 0.950415253, 0.995004177, 0.999500036, 0.999949991, 0.999994993, 0.999999523, 0.99999994, 0.540302277, 0.950415253, 0.995004177, 0.999500036, 0.999949991, 0.999994993, 0.999999523, 0.99999994], [-0.416146815, 0.806578398, 0.980066597, 0.998000681, 9.998000e-01, 0.999979972, 0.999997973, 0.999999821, -0.416146815, 0.806578398, 0.980066597, 0.998000681, 9.998000e-01, 0.999979972, 0.999997973, 0.999999821], [-0.989992499, 0.582753599, 0.955336511, 0.995503365, 0.999550044, 0.999954998, 0.999995529, 0.999999523, -0.989992499, 0.582753599, 0.955336511, 0.995503365, 0.999550044, 0.999954998, 0.999995529, 0.999999523], [-0.653643608, 0.301137477, 0.921060979, 0.992010653, 0.999200105, 9.999200e-01, 9.999920e-01, 0.999999225, -0.653643608, 0.301137477, 0.921060979, 0.992010653, 0.999200105, 9.999200e-01, 9.999920e-01, 0.999999225], [0.28366217, -0.0103423381, 0.87758255, 0.987525999, 0.998750269, 9.998750e-01, 0.999987483, 0.999998748, 0.28366217, -0.0103423381, 0.87758255, 0.987525999, 0.998750269, 9.998750e-01, 0.999987483, 0.999998748], [0.960170269, -0.320796371, 0.825335621, 0.982053935, 0.998200535, 0.999819993, 0.999981999, 0.999998211, 0.960170269, -0.320796371, 0.825335621, 0.982053935, 0.998200535, 0.999819993, 0.999981999, 0.999998211], [0.753902256, -0.599437475, 0.764842212, 0.975599884, 9.975510e-01, 9.997550e-01, 0.999975502, 0.999997556, 0.753902256, -0.599437475, 0.764842212, 0.975599884, 9.975510e-01, 9.997550e-01, 0.999975502, 0.999997556], [-0.145500034, -0.818632423, 0.696706712, 0.968170285, 0.996801733, 0.999680042, 0.999967992, 0.999996781, -0.145500034, -0.818632423, 0.696706712, 0.968170285, 0.996801733, 0.999680042, 0.999967992, 0.999996781], [-0.911130249, -0.956644177, 0.621609926, 0.959772646, 0.995952725, 0.999595046, 0.999959528, 0.999995946, -0.911130249, -0.956644177, 0.621609926, 0.959772646, 0.995952725, 0.999595046, 0.999959528, 0.999995946], [-0.839071512, -0.999786078, 0.540302277, 0.950415253, 0.995004177, 0.999500036, 0.999949991, 0.999994993, -0.839071512, -0.999786078, 0.540302277, 0.950415253, 0.995004177, 0.999500036, 0.999949991, 0.999994993], [0.00442569796, -0.943779707, 0.453596115, 0.940107584, 0.993956089, 0.999395072, 0.999939501, 0.99999392, 0.00442569796, -0.943779707, 0.453596115, 0.940107584, 0.993956089, 0.999395072, 0.999939501, 0.99999392], [0.84385395, -0.794179379, 0.362357736, 0.928859889, 0.99280864, 0.999280095, 0.999927997, 0.999992787, 0.84385395, -0.794179379, 0.362357736, 0.928859889, 0.99280864, 0.999280095, 0.999927997, 0.999992787], [0.907446801, -0.565820515, 0.267498761, 0.916683316, 0.991561889, 0.999155104, 0.99991548, 0.999991536, 0.907446801, -0.565820515, 0.267498761, 0.916683316, 0.991561889, 0.999155104, 0.99991548, 0.999991536], [0.136737227, -0.28134948, 0.16996716, 0.903590261, 9.902160e-01, 0.999020159, 9.999020e-01, 0.999990224, 0.136737227, -0.28134948, 0.16996716, 0.903590261, 9.902160e-01, 0.999020159, 9.999020e-01, 0.999990224], [-0.7596879, 0.0310223494, 7.073720e-02, 0.889593601, 0.98877108, 0.9988752, 0.999887526, 0.999988734, -0.7596879, 0.0310223494, 7.073720e-02, 0.889593601, 0.98877108, 0.9988752, 0.999887526, 0.999988734], [-0.957659482, 0.340318143, -0.0291995443, 0.87470746, 0.987227261, 0.998720288, 9.998720e-01, 0.999987185, -0.957659482, 0.340318143, -0.0291995443, 0.87470746, 0.987227261, 0.998720288, 9.998720e-01, 0.999987185], [-0.275163352, 0.615864754, -0.128844544, 0.858946681, 0.985584795, 0.998555362, 0.999855518, 0.999985575, -0.275163352, 0.615864754, -0.128844544, 0.858946681, 0.985584795, 0.998555362, 0.999855518, 0.999985575], [0.660316706, 0.830336153, -0.227202162, 0.842326998, 0.983843684, 0.998380422, 0.999837994, 0.999983787, 0.660316706, 0.830336153, -0.227202162, 0.842326998, 0.983843684, 0.998380422, 0.999837994, 0.999983787], [0.988704621, 0.962463796, -0.323289543, 0.824865103, 0.982004225, 0.998195528, 0.999819517, 0.999981939, 0.988704621, 0.962463796, -0.323289543, 0.824865103, 0.982004225, 0.998195528, 0.999819517, 0.999981939], [0.408082068, 0.999144375, -0.416146815, 0.806578398, 0.980066597, 0.998000681, 9.998000e-01, 0.999979972, 0.408082068, 0.999144375, -0.416146815, 0.806578398, 0.980066597, 0.998000681, 9.998000e-01, 0.999979972], [-0.547729254, 0.936740458, -0.504846215, 0.787485123, 0.97803092, 0.99779582, 0.999779522, 0.999977946, -0.547729254, 0.936740458, -0.504846215, 0.787485123, 0.97803092, 0.99779582, 0.999779522, 0.999977946], [-0.999960839, 0.781440377, -0.588501155, 0.767604529, 0.975897431, 9.975810e-01, 9.997580e-01, 0.9999758, -0.999960839, 0.781440377, -0.588501155, 0.767604529, 0.975897431, 9.975810e-01, 9.997580e-01, 0.9999758], [-0.53283304, 0.548645258, -6.662760e-01, 0.746956348, 0.973666369, 0.997356176, 0.999735534, 0.999973535, -0.53283304, 0.548645258, -6.662760e-01, 0.746956348, 0.973666369, 0.997356176, 0.999735534, 0.999973535], [0.424179018, 0.261441708, -0.737393796, 0.725561261, 0.971337974, 0.997121393, 0.99971199, 0.99997121, 0.424179018, 0.261441708, -0.737393796, 0.725561261, 0.971337974, 0.997121393, 0.99971199, 0.99997121], [0.991202831, -0.0516893305, -0.801143586, 0.703440666, 0.968912422, 0.996876597, 0.999687492, 0.999968767, 0.991202831, -0.0516893305, -0.801143586, 0.703440666, 0.968912422, 0.996876597, 0.999687492, 0.999968767], [0.64691937, -0.359694332, -0.85688883, 0.680616676, 0.966389954, 0.996621906, 0.999662041, 0.999966204, 0.64691937, -0.359694332, -0.85688883, 0.680616676, 0.966389954, 0.996621906, 0.999662041, 0.999966204], [-0.292138815, -0.632028639, -0.904072165, 0.657112181, 0.963770925, 0.996357202, 0.999635517, 0.999963521, -0.292138815, -0.632028639, -0.904072165, 0.657112181, 0.963770925, 0.996357202, 0.999635517, 0.999963521], [-0.962605893, -0.841684937, -0.942222297, 0.632950603, 0.961055457, 0.996082544, 0.999608039, 0.99996078, -0.962605893, -0.841684937, -0.942222297, 0.632950603, 0.961055457, 0.996082544, 0.999608039, 0.99996078], [-0.748057544, -0.967871487, -0.970958173, 0.608156144, 0.958243906, 0.995797932, 0.999579548, 0.999957978, -0.748057544, -0.967871487, -0.970958173, 0.608156144, 0.958243906, 0.995797932, 0.999579548, 0.999957978], [0.154251456, -0.998075246, -0.989992499, 0.582753539, 0.955336511, 0.995503365, 0.999550044, 0.999954998, 0.154251456, -0.998075246, -0.989992499, 0.582753539, 0.955336511, 0.995503365, 0.999550044, 0.999954998], [0.91474235, -0.929300308, -0.999135136, 0.556768239, 0.952333569, 0.995198845, 0.999519526, 0.999951958, 0.91474235, -0.929300308, -0.999135136, 0.556768239, 0.952333569, 0.995198845, 0.999519526, 0.999951958]]]]> : tensor<1x1x32x16xf32>
    %cst_10 = arith.constant dense<[[[[0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [8.414710e-01, 0.310983598, 0.0998334214, 0.0316175073, 0.00999983306, 0.00316227251, 9.99999931E-4, 3.16227786E-4, 8.414710e-01, 0.310983598, 0.0998334214, 0.0316175073, 0.00999983306, 0.00316227251, 9.99999931E-4, 3.16227786E-4], [0.909297406, 0.591127098, 0.198669329, 6.320340e-02, 0.0199986659, 0.00632451335, 0.0019999987, 6.32455514E-4, 0.909297406, 0.591127098, 0.198669329, 6.320340e-02, 0.0199986659, 0.00632451335, 0.0019999987, 6.32455514E-4], [1.411200e-01, 0.812648892, 0.295520216, 0.0947260931, 2.999550e-02, 0.00948669109, 0.0029999956, 9.48683242E-4, 1.411200e-01, 0.812648892, 0.295520216, 0.0947260931, 2.999550e-02, 0.00948669109, 0.0029999956, 9.48683242E-4], [-0.756802499, 0.953580737, 0.389418334, 0.12615408, 0.0399893336, 0.0126487743, 0.00399998948, 0.0012649108, -0.756802499, 0.953580737, 0.389418334, 0.12615408, 0.0399893336, 0.0126487743, 0.00399998948, 0.0012649108], [-0.958924293, 0.999946534, 0.47942555, 0.157455906, 0.0499791652, 0.0158107299, 0.0049999794, 0.00158113823, -0.958924293, 0.999946534, 0.47942555, 0.157455906, 0.0499791652, 0.0158107299, 0.0049999794, 0.00158113823], [-0.279415488, 0.947148203, 0.564642489, 0.188600287, 0.0599640049, 0.0189725291, 0.0059999642, 0.00189736555, -0.279415488, 0.947148203, 0.564642489, 0.188600287, 0.0599640049, 0.0189725291, 0.0059999642, 0.00189736555], [0.656986594, 0.800421595, 0.644217669, 0.219556108, 0.0699428469, 0.0221341364, 0.00699994294, 0.00221359264, 0.656986594, 0.800421595, 0.644217669, 0.219556108, 0.0699428469, 0.0221341364, 0.00699994294, 0.00221359264], [0.989358246, 0.574317813, 0.717356086, 0.250292361, 0.0799146891, 0.0252955239, 0.0079999147, 0.0025298195, 0.989358246, 0.574317813, 0.717356086, 0.250292361, 0.0799146891, 0.0252955239, 0.0079999147, 0.0025298195], [0.412118465, 0.291259229, 0.783326923, 0.280778348, 0.0898785442, 0.0284566581, 0.00899987947, 0.00284604612, 0.412118465, 0.291259229, 0.783326923, 0.280778348, 0.0898785442, 0.0284566581, 0.00899987947, 0.00284604612], [-0.54402107, -0.0206835698, 8.414710e-01, 0.310983628, 0.0998334139, 0.0316175073, 0.009999834, 0.00316227251, -0.54402107, -0.0206835698, 8.414710e-01, 0.310983628, 0.0998334139, 0.0316175073, 0.009999834, 0.00316227251], [-0.999990224, -0.33057496, 0.891207337, 0.340877891, 0.1097783, 0.0347780399, 0.0109997792, 0.00347849866, -0.999990224, -0.33057496, 0.891207337, 0.340877891, 0.1097783, 0.0347780399, 0.0109997792, 0.00347849866], [-0.536572933, -0.60768342, 0.932039082, 0.370431304, 0.119712204, 0.037938226, 0.0119997123, 0.00379472435, -0.536572933, -0.60768342, 0.932039082, 0.370431304, 0.119712204, 0.037938226, 0.0119997123, 0.00379472435], [0.420167059, -0.824528456, 0.963558197, 0.399614364, 0.129634142, 0.0410980359, 0.0129996343, 0.00411094958, 0.420167059, -0.824528456, 0.963558197, 0.399614364, 0.129634142, 0.0410980359, 0.0129996343, 0.00411094958], [0.99060738, -0.959605395, 0.985449731, 0.428397804, 0.139543116, 0.0442574285, 0.0139995432, 0.00442717457, 0.99060738, -0.959605395, 0.985449731, 0.428397804, 0.139543116, 0.0442574285, 0.0139995432, 0.00442717457], [0.650287867, -0.999518692, 0.997494995, 0.456752926, 0.149438128, 0.0474163815, 0.0149994381, 0.0047433991, 0.650287867, -0.999518692, 0.997494995, 0.456752926, 0.149438128, 0.0474163815, 0.0149994381, 0.0047433991], [-0.287903339, -0.940310359, 0.999573588, 0.484651297, 0.159318209, 0.0505748615, 0.015999319, 0.00505962316, -0.287903339, -0.940310359, 0.999573588, 0.484651297, 0.159318209, 0.0505748615, 0.015999319, 0.00505962316], [-0.961397469, -0.78785187, 0.991664826, 0.512065053, 0.169182345, 0.0537328348, 0.0169991814, 0.00537584629, -0.961397469, -0.78785187, 0.991664826, 0.512065053, 0.169182345, 0.0537328348, 0.0169991814, 0.00537584629], [-0.750987231, -0.557262897, 0.973847627, 0.538966775, 0.179029569, 0.0568902679, 0.0179990288, 0.00569206942, -0.750987231, -0.557262897, 0.973847627, 0.538966775, 0.179029569, 0.0568902679, 0.0179990288, 0.00569206942], [0.149877205, -0.271410108, 0.946300089, 0.565329611, 0.188858896, 0.0600471348, 0.0189988576, 0.00600829162, 0.149877205, -0.271410108, 0.946300089, 0.565329611, 0.188858896, 0.0600471348, 0.0189988576, 0.00600829162], [0.91294527, 0.0413582921, 0.909297406, 0.591127157, 0.198669314, 6.320340e-02, 0.0199986678, 0.00632451335, 0.91294527, 0.0413582921, 0.909297406, 0.591127157, 0.198669314, 6.320340e-02, 0.0199986678, 0.00632451335], [0.836655616, 0.35002476, 0.863209307, 0.616333604, 0.208459899, 0.0663590357, 0.0209984574, 0.00664073462, 0.836655616, 0.35002476, 0.863209307, 0.616333604, 0.208459899, 0.0663590357, 0.0209984574, 0.00664073462], [-0.00885130931, 0.623979926, 0.808496356, 0.640923798, 0.218229622, 0.0695140063, 0.0219982266, 0.00695695495, -0.00885130931, 0.623979926, 0.808496356, 0.640923798, 0.218229622, 0.0695140063, 0.0219982266, 0.00695695495], [-0.846220374, 0.836055278, 0.745705247, 0.664873063, 0.227977514, 0.0726682767, 0.0229979735, 0.00727317482, -0.846220374, 0.836055278, 0.745705247, 0.664873063, 0.227977514, 0.0726682767, 0.0229979735, 0.00727317482], [-0.905578375, 0.965219259, 0.67546314, 0.688157558, 0.237702623, 0.0758218318, 0.0239976961, 0.00758939422, -0.905578375, 0.965219259, 0.67546314, 0.688157558, 0.237702623, 0.0758218318, 0.0239976961, 0.00758939422], [-0.132351756, 0.998663187, 0.598472178, 0.710753977, 0.247403964, 0.0789746195, 0.0249973964, 0.0079056127, -0.132351756, 0.998663187, 0.598472178, 0.710753977, 0.247403964, 0.0789746195, 0.0249973964, 0.0079056127], [0.7625584, 0.933070182, 0.515501261, 0.73263967, 0.257080555, 0.0821266248, 0.0259970706, 8.221830e-03, 0.7625584, 0.933070182, 0.515501261, 0.73263967, 0.257080555, 0.0821266248, 0.0259970706, 8.221830e-03], [0.956375956, 7.749450e-01, 0.427379847, 0.753792822, 0.266731411, 8.527780e-02, 0.0269967206, 0.00853804685, 0.956375956, 7.749450e-01, 0.427379847, 0.753792822, 0.266731411, 8.527780e-02, 0.0269967206, 0.00853804685], [0.270905793, 0.539968967, 0.334988207, 0.774192154, 0.276355654, 0.0884281248, 0.0279963426, 0.00885426253, 0.270905793, 0.539968967, 0.334988207, 0.774192154, 0.276355654, 0.0884281248, 0.0279963426, 0.00885426253], [-0.663633882, 0.251445293, 0.239249229, 0.7938174, 0.28595221, 0.0915775746, 0.0289959367, 0.00917047728, -0.663633882, 0.251445293, 0.239249229, 0.7938174, 0.28595221, 0.0915775746, 0.0289959367, 0.00917047728], [-0.988031625, -0.0620148368, 1.411200e-01, 0.812648952, 0.295520186, 0.0947260931, 0.029995501, 0.00948669109, -0.988031625, -0.0620148368, 1.411200e-01, 0.812648952, 0.295520186, 0.0947260931, 0.029995501, 0.00948669109], [-0.404037654, -3.693250e-01, 0.0415805206, 0.830667853, 0.305058628, 0.0978736728, 0.0309950355, 0.00980290398, -0.404037654, -3.693250e-01, 0.0415805206, 0.830667853, 0.305058628, 0.0978736728, 0.0309950355, 0.00980290398]]]]> : tensor<1x1x32x16xf32>
    %cst_11 = arith.constant dense<5.000000e-01> : tensor<f32>
    %cst_12 = arith.constant dense<1.000000e-02> : tensor<64x64xf32>
    %cst_13 = arith.constant dense<1.000000e-02> : tensor<64x128xf32>
    %cst_14 = arith.constant dense<1.000000e-02> : tensor<64x128xf32>
    %cst_15 = arith.constant dense<1.000000e-02> : tensor<128x64xf32>
    %cst_16 = arith.constant dense<9.99999997E-7> : tensor<f32>
    %cst_17 = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_18 = arith.constant dense<-3.40282347E+38> : tensor<f32>
    %cst_19 = arith.constant 6.400000e+01 : f32
    %2 = tensor.empty() : tensor<1x32xi1>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<1x32xi64>) outs(%2 : tensor<1x32xi1>) {
    ^bb0(%in: i64, %out: i1):
      %125 = arith.cmpi slt, %in, %c0_i64 : i64
      linalg.yield %125 : i1
    } -> tensor<1x32xi1>
    %4 = tensor.empty() : tensor<1x32xi64>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<1x32xi64>) outs(%4 : tensor<1x32xi64>) {
    ^bb0(%in: i64, %out: i64):
      %125 = arith.addi %in, %c100_i64 : i64
      linalg.yield %125 : i64
    } -> tensor<1x32xi64>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%3, %5, %arg0 : tensor<1x32xi1>, tensor<1x32xi64>, tensor<1x32xi64>) outs(%4 : tensor<1x32xi64>) {
    ^bb0(%in: i1, %in_46: i64, %in_47: i64, %out: i64):
      %125 = arith.select %in, %in_46, %in_47 : i64
      linalg.yield %125 : i64
    } -> tensor<1x32xi64>
    %collapsed = tensor.collapse_shape %6 [[0, 1]] : tensor<1x32xi64> into tensor<32xi64>
    %7 = tensor.empty() : tensor<32x64xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%collapsed : tensor<32xi64>) outs(%7 : tensor<32x64xf32>) {
    ^bb0(%in: i64, %out: f32):
      %125 = arith.index_cast %in : i64 to index
      %126 = linalg.index 1 : index
      %extracted = tensor.extract %cst_2[%125, %126] : tensor<100x64xf32>
      linalg.yield %extracted : f32
    } -> tensor<32x64xf32>
    %expanded = tensor.expand_shape %8 [[0, 1], [2]] output_shape [1, 32, 64] : tensor<32x64xf32> into tensor<1x32x64xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg1 : tensor<1x32xi64>) outs(%2 : tensor<1x32xi1>) {
    ^bb0(%in: i64, %out: i1):
      %125 = arith.cmpi ne, %in, %c0_i64 : i64
      linalg.yield %125 : i1
    } -> tensor<1x32xi1>
    %extracted_slice = tensor.extract_slice %cst_5[0, 0, 0, 0, 0] [1, 1, 1, 32, 1] [1, 1, 1, 1, 1] : tensor<1x1x1x32x2xi64> to tensor<1x1x1x32x1xi64>
    %10 = tensor.empty() : tensor<1x1x1x32x1xi1>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice : tensor<1x1x1x32x1xi64>) outs(%10 : tensor<1x1x1x32x1xi1>) {
    ^bb0(%in: i64, %out: i1):
      %125 = arith.cmpi slt, %in, %c0_i64 : i64
      linalg.yield %125 : i1
    } -> tensor<1x1x1x32x1xi1>
    %12 = tensor.empty() : tensor<1x1x1x32x1xi64>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice : tensor<1x1x1x32x1xi64>) outs(%12 : tensor<1x1x1x32x1xi64>) {
    ^bb0(%in: i64, %out: i64):
      %125 = arith.addi %in, %c1_i64 : i64
      linalg.yield %125 : i64
    } -> tensor<1x1x1x32x1xi64>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%11, %13, %extracted_slice : tensor<1x1x1x32x1xi1>, tensor<1x1x1x32x1xi64>, tensor<1x1x1x32x1xi64>) outs(%12 : tensor<1x1x1x32x1xi64>) {
    ^bb0(%in: i1, %in_46: i64, %in_47: i64, %out: i64):
      %125 = arith.select %in, %in_46, %in_47 : i64
      linalg.yield %125 : i64
    } -> tensor<1x1x1x32x1xi64>
    %extracted_slice_20 = tensor.extract_slice %cst_5[0, 0, 0, 0, 1] [1, 1, 1, 32, 1] [1, 1, 1, 1, 1] : tensor<1x1x1x32x2xi64> to tensor<1x1x1x32x1xi64>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_20 : tensor<1x1x1x32x1xi64>) outs(%10 : tensor<1x1x1x32x1xi1>) {
    ^bb0(%in: i64, %out: i1):
      %125 = arith.cmpi slt, %in, %c0_i64 : i64
      linalg.yield %125 : i1
    } -> tensor<1x1x1x32x1xi1>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_20 : tensor<1x1x1x32x1xi64>) outs(%12 : tensor<1x1x1x32x1xi64>) {
    ^bb0(%in: i64, %out: i64):
      %125 = arith.addi %in, %c32_i64 : i64
      linalg.yield %125 : i64
    } -> tensor<1x1x1x32x1xi64>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%15, %16, %extracted_slice_20 : tensor<1x1x1x32x1xi1>, tensor<1x1x1x32x1xi64>, tensor<1x1x1x32x1xi64>) outs(%12 : tensor<1x1x1x32x1xi64>) {
    ^bb0(%in: i1, %in_46: i64, %in_47: i64, %out: i64):
      %125 = arith.select %in, %in_46, %in_47 : i64
      linalg.yield %125 : i64
    } -> tensor<1x1x1x32x1xi64>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%17, %14 : tensor<1x1x1x32x1xi64>, tensor<1x1x1x32x1xi64>) outs(%12 : tensor<1x1x1x32x1xi64>) {
    ^bb0(%in: i64, %in_46: i64, %out: i64):
      %125 = arith.muli %in_46, %c32_i64 : i64
      %126 = arith.addi %in, %125 : i64
      linalg.yield %126 : i64
    } -> tensor<1x1x1x32x1xi64>
    %collapsed_21 = tensor.collapse_shape %18 [[0, 1, 2, 3, 4]] : tensor<1x1x1x32x1xi64> into tensor<32xi64>
    %collapsed_22 = tensor.collapse_shape %9 [[0, 1]] : tensor<1x32xi1> into tensor<32xi1>
    %19 = tensor.empty() : tensor<32xi1>
    %20 = linalg.fill ins(%false : i1) outs(%19 : tensor<32xi1>) -> tensor<32xi1>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%collapsed_21 : tensor<32xi64>) outs(%20 : tensor<32xi1>) {
    ^bb0(%in: i64, %out: i1):
      %125 = arith.index_cast %in : i64 to index
      %126 = arith.cmpi slt, %125, %c32 : index
      cf.assert %126, "index must be smaller than dim size"
      %127 = arith.cmpi sge, %in, %c0_i64 : i64
      cf.assert %127, "index must be larger or equal to 0"
      %extracted = tensor.extract %collapsed_22[%125] : tensor<32xi1>
      linalg.yield %extracted : i1
    } -> tensor<32xi1>
    %expanded_23 = tensor.expand_shape %21 [[0, 1, 2, 3]] output_shape [1, 1, 1, 32] : tensor<32xi1> into tensor<1x1x1x32xi1>
    %22 = tensor.empty() : tensor<1x1x32x32xi1>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_4, %expanded_23 : tensor<1x1x32x32xi1>, tensor<1x1x1x32xi1>) outs(%22 : tensor<1x1x32x32xi1>) {
    ^bb0(%in: i1, %in_46: i1, %out: i1):
      %125 = arith.andi %in, %in_46 : i1
      linalg.yield %125 : i1
    } -> tensor<1x1x32x32xi1>
    %24 = tensor.empty() : tensor<1x32x64xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded : tensor<1x32x64xf32>) outs(%24 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %125 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %125 : f32
    } -> tensor<1x32x64xf32>
    %26 = tensor.empty() : tensor<1x32x1xf32>
    %27 = linalg.fill ins(%cst : f32) outs(%26 : tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%25 : tensor<1x32x64xf32>) outs(%27 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %125 = arith.addf %in, %out : f32
      linalg.yield %125 : f32
    } -> tensor<1x32x1xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%28 : tensor<1x32x1xf32>) outs(%26 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %125 = arith.divf %in, %cst_19 : f32
      linalg.yield %125 : f32
    } -> tensor<1x32x1xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%29, %cst_16 : tensor<1x32x1xf32>, tensor<f32>) outs(%26 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.addf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x32x1xf32>
    %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%30 : tensor<1x32x1xf32>) outs(%26 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %125 = math.sqrt %in : f32
      linalg.yield %125 : f32
    } -> tensor<1x32x1xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%31 : tensor<1x32x1xf32>) outs(%26 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %125 = arith.cmpf one, %in, %cst : f32
      cf.assert %125, "unimplemented: tensor with zero element"
      %126 = arith.divf %cst_0, %in : f32
      linalg.yield %126 : f32
    } -> tensor<1x32x1xf32>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded, %32 : tensor<1x32x64xf32>, tensor<1x32x1xf32>) outs(%24 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.mulf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x32x64xf32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_3, %33 : tensor<64xf32>, tensor<1x32x64xf32>) outs(%24 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.mulf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x32x64xf32>
    %35 = tensor.empty() : tensor<1x64x64xf32>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_6 : tensor<64x64xf32>) outs(%35 : tensor<1x64x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x64x64xf32>
    %37 = linalg.fill ins(%cst : f32) outs(%24 : tensor<1x32x64xf32>) -> tensor<1x32x64xf32>
    %38 = linalg.batch_matmul ins(%34, %36 : tensor<1x32x64xf32>, tensor<1x64x64xf32>) outs(%37 : tensor<1x32x64xf32>) -> tensor<1x32x64xf32>
    %expanded_24 = tensor.expand_shape %38 [[0], [1], [2, 3]] output_shape [1, 32, 4, 16] : tensor<1x32x64xf32> into tensor<1x32x4x16xf32>
    %39 = tensor.empty() : tensor<1x4x32x16xf32>
    %transposed = linalg.transpose ins(%expanded_24 : tensor<1x32x4x16xf32>) outs(%39 : tensor<1x4x32x16xf32>) permutation = [0, 2, 1, 3] 
    %40 = tensor.empty() : tensor<1x64x32xf32>
    %41 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_7 : tensor<64x32xf32>) outs(%40 : tensor<1x64x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x64x32xf32>
    %42 = tensor.empty() : tensor<1x32x32xf32>
    %43 = linalg.fill ins(%cst : f32) outs(%42 : tensor<1x32x32xf32>) -> tensor<1x32x32xf32>
    %44 = linalg.batch_matmul ins(%34, %41 : tensor<1x32x64xf32>, tensor<1x64x32xf32>) outs(%43 : tensor<1x32x32xf32>) -> tensor<1x32x32xf32>
    %expanded_25 = tensor.expand_shape %44 [[0], [1], [2, 3]] output_shape [1, 32, 2, 16] : tensor<1x32x32xf32> into tensor<1x32x2x16xf32>
    %45 = tensor.empty() : tensor<1x2x32x16xf32>
    %transposed_26 = linalg.transpose ins(%expanded_25 : tensor<1x32x2x16xf32>) outs(%45 : tensor<1x2x32x16xf32>) permutation = [0, 2, 1, 3] 
    %46 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_8 : tensor<64x32xf32>) outs(%40 : tensor<1x64x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x64x32xf32>
    %47 = linalg.batch_matmul ins(%34, %46 : tensor<1x32x64xf32>, tensor<1x64x32xf32>) outs(%43 : tensor<1x32x32xf32>) -> tensor<1x32x32xf32>
    %expanded_27 = tensor.expand_shape %47 [[0], [1], [2, 3]] output_shape [1, 32, 2, 16] : tensor<1x32x32xf32> into tensor<1x32x2x16xf32>
    %transposed_28 = linalg.transpose ins(%expanded_27 : tensor<1x32x2x16xf32>) outs(%45 : tensor<1x2x32x16xf32>) permutation = [0, 2, 1, 3] 
    %48 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed, %cst_9 : tensor<1x4x32x16xf32>, tensor<1x1x32x16xf32>) outs(%39 : tensor<1x4x32x16xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.mulf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x4x32x16xf32>
    %extracted_slice_29 = tensor.extract_slice %transposed[0, 0, 0, 0] [1, 4, 32, 8] [1, 1, 1, 1] : tensor<1x4x32x16xf32> to tensor<1x4x32x8xf32>
    %extracted_slice_30 = tensor.extract_slice %transposed[0, 0, 0, 8] [1, 4, 32, 8] [1, 1, 1, 1] : tensor<1x4x32x16xf32> to tensor<1x4x32x8xf32>
    %49 = tensor.empty() : tensor<1x4x32x8xf32>
    %50 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_30 : tensor<1x4x32x8xf32>) outs(%49 : tensor<1x4x32x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %125 = arith.negf %in : f32
      linalg.yield %125 : f32
    } -> tensor<1x4x32x8xf32>
    %concat = tensor.concat dim(3) %50, %extracted_slice_29 : (tensor<1x4x32x8xf32>, tensor<1x4x32x8xf32>) -> tensor<1x4x32x16xf32>
    %51 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat, %cst_10 : tensor<1x4x32x16xf32>, tensor<1x1x32x16xf32>) outs(%39 : tensor<1x4x32x16xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.mulf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x4x32x16xf32>
    %52 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%48, %51 : tensor<1x4x32x16xf32>, tensor<1x4x32x16xf32>) outs(%39 : tensor<1x4x32x16xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.addf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x4x32x16xf32>
    %53 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_26, %cst_9 : tensor<1x2x32x16xf32>, tensor<1x1x32x16xf32>) outs(%45 : tensor<1x2x32x16xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.mulf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x2x32x16xf32>
    %extracted_slice_31 = tensor.extract_slice %transposed_26[0, 0, 0, 0] [1, 2, 32, 8] [1, 1, 1, 1] : tensor<1x2x32x16xf32> to tensor<1x2x32x8xf32>
    %extracted_slice_32 = tensor.extract_slice %transposed_26[0, 0, 0, 8] [1, 2, 32, 8] [1, 1, 1, 1] : tensor<1x2x32x16xf32> to tensor<1x2x32x8xf32>
    %54 = tensor.empty() : tensor<1x2x32x8xf32>
    %55 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_32 : tensor<1x2x32x8xf32>) outs(%54 : tensor<1x2x32x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %125 = arith.negf %in : f32
      linalg.yield %125 : f32
    } -> tensor<1x2x32x8xf32>
    %concat_33 = tensor.concat dim(3) %55, %extracted_slice_31 : (tensor<1x2x32x8xf32>, tensor<1x2x32x8xf32>) -> tensor<1x2x32x16xf32>
    %56 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_33, %cst_10 : tensor<1x2x32x16xf32>, tensor<1x1x32x16xf32>) outs(%45 : tensor<1x2x32x16xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.mulf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x2x32x16xf32>
    %57 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%53, %56 : tensor<1x2x32x16xf32>, tensor<1x2x32x16xf32>) outs(%45 : tensor<1x2x32x16xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.addf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x2x32x16xf32>
    %58 = tensor.empty() : tensor<1x2x2x32x16xf32>
    %59 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%57 : tensor<1x2x32x16xf32>) outs(%58 : tensor<1x2x2x32x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x2x32x16xf32>
    %60 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%transposed_28 : tensor<1x2x32x16xf32>) outs(%58 : tensor<1x2x2x32x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x2x32x16xf32>
    %collapsed_34 = tensor.collapse_shape %59 [[0, 1, 2], [3], [4]] : tensor<1x2x2x32x16xf32> into tensor<4x32x16xf32>
    %61 = tensor.empty() : tensor<4x16x32xf32>
    %transposed_35 = linalg.transpose ins(%collapsed_34 : tensor<4x32x16xf32>) outs(%61 : tensor<4x16x32xf32>) permutation = [0, 2, 1] 
    %expanded_36 = tensor.expand_shape %transposed_35 [[0, 1], [2], [3]] output_shape [1, 4, 16, 32] : tensor<4x16x32xf32> into tensor<1x4x16x32xf32>
    %62 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%52, %cst_11 : tensor<1x4x32x16xf32>, tensor<f32>) outs(%39 : tensor<1x4x32x16xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.mulf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x4x32x16xf32>
    %63 = tensor.empty() : tensor<1x4x16x32xf32>
    %64 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_36, %cst_11 : tensor<1x4x16x32xf32>, tensor<f32>) outs(%63 : tensor<1x4x16x32xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.mulf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x4x16x32xf32>
    %65 = tensor.empty() : tensor<1x1x32x32xf32>
    %66 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23, %cst_17, %cst_18 : tensor<1x1x32x32xi1>, tensor<f32>, tensor<f32>) outs(%65 : tensor<1x1x32x32xf32>) {
    ^bb0(%in: i1, %in_46: f32, %in_47: f32, %out: f32):
      %125 = arith.select %in, %in_46, %in_47 : f32
      linalg.yield %125 : f32
    } -> tensor<1x1x32x32xf32>
    %collapsed_37 = tensor.collapse_shape %62 [[0, 1], [2], [3]] : tensor<1x4x32x16xf32> into tensor<4x32x16xf32>
    %collapsed_38 = tensor.collapse_shape %64 [[0, 1], [2], [3]] : tensor<1x4x16x32xf32> into tensor<4x16x32xf32>
    %67 = tensor.empty() : tensor<4x32x32xf32>
    %68 = linalg.fill ins(%cst : f32) outs(%67 : tensor<4x32x32xf32>) -> tensor<4x32x32xf32>
    %69 = linalg.batch_matmul ins(%collapsed_37, %collapsed_38 : tensor<4x32x16xf32>, tensor<4x16x32xf32>) outs(%68 : tensor<4x32x32xf32>) -> tensor<4x32x32xf32>
    %expanded_39 = tensor.expand_shape %69 [[0, 1], [2], [3]] output_shape [1, 4, 32, 32] : tensor<4x32x32xf32> into tensor<1x4x32x32xf32>
    %70 = tensor.empty() : tensor<1x4x32x32xf32>
    %71 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_39, %66 : tensor<1x4x32x32xf32>, tensor<1x1x32x32xf32>) outs(%70 : tensor<1x4x32x32xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.addf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x4x32x32xf32>
    %72 = tensor.empty() : tensor<1x4x32xi64>
    %73 = linalg.fill ins(%c0_i64 : i64) outs(%72 : tensor<1x4x32xi64>) -> tensor<1x4x32xi64>
    %74 = tensor.empty() : tensor<1x4x32xf32>
    %75 = linalg.fill ins(%cst_1 : f32) outs(%74 : tensor<1x4x32xf32>) -> tensor<1x4x32xf32>
    %76:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%71 : tensor<1x4x32x32xf32>) outs(%75, %73 : tensor<1x4x32xf32>, tensor<1x4x32xi64>) {
    ^bb0(%in: f32, %out: f32, %out_46: i64):
      %125 = linalg.index 3 : index
      %126 = arith.index_cast %125 : index to i64
      %127 = arith.maximumf %in, %out : f32
      %128 = arith.cmpf ogt, %in, %out : f32
      %129 = arith.select %128, %126, %out_46 : i64
      linalg.yield %127, %129 : f32, i64
    } -> (tensor<1x4x32xf32>, tensor<1x4x32xi64>)
    %expanded_40 = tensor.expand_shape %76#0 [[0], [1], [2, 3]] output_shape [1, 4, 32, 1] : tensor<1x4x32xf32> into tensor<1x4x32x1xf32>
    %77 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%71, %expanded_40 : tensor<1x4x32x32xf32>, tensor<1x4x32x1xf32>) outs(%70 : tensor<1x4x32x32xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.subf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x4x32x32xf32>
    %78 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%77 : tensor<1x4x32x32xf32>) outs(%70 : tensor<1x4x32x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %125 = math.exp %in : f32
      linalg.yield %125 : f32
    } -> tensor<1x4x32x32xf32>
    %79 = tensor.empty() : tensor<1x4x32x1xf32>
    %80 = linalg.fill ins(%cst : f32) outs(%79 : tensor<1x4x32x1xf32>) -> tensor<1x4x32x1xf32>
    %81 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%78 : tensor<1x4x32x32xf32>) outs(%80 : tensor<1x4x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %125 = arith.addf %in, %out : f32
      linalg.yield %125 : f32
    } -> tensor<1x4x32x1xf32>
    %82 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%78, %81 : tensor<1x4x32x32xf32>, tensor<1x4x32x1xf32>) outs(%70 : tensor<1x4x32x32xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.divf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x4x32x32xf32>
    %83 = tensor.empty() : tensor<1x4x32x32xi1>
    %84 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%82, %82 : tensor<1x4x32x32xf32>, tensor<1x4x32x32xf32>) outs(%83 : tensor<1x4x32x32xi1>) {
    ^bb0(%in: f32, %in_46: f32, %out: i1):
      %125 = arith.cmpf une, %in, %in_46 : f32
      linalg.yield %125 : i1
    } -> tensor<1x4x32x32xi1>
    %85 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%84, %cst_17, %82 : tensor<1x4x32x32xi1>, tensor<f32>, tensor<1x4x32x32xf32>) outs(%70 : tensor<1x4x32x32xf32>) {
    ^bb0(%in: i1, %in_46: f32, %in_47: f32, %out: f32):
      %125 = arith.select %in, %in_46, %in_47 : f32
      linalg.yield %125 : f32
    } -> tensor<1x4x32x32xf32>
    %collapsed_41 = tensor.collapse_shape %85 [[0, 1], [2], [3]] : tensor<1x4x32x32xf32> into tensor<4x32x32xf32>
    %collapsed_42 = tensor.collapse_shape %60 [[0, 1, 2], [3], [4]] : tensor<1x2x2x32x16xf32> into tensor<4x32x16xf32>
    %86 = tensor.empty() : tensor<4x32x16xf32>
    %87 = linalg.fill ins(%cst : f32) outs(%86 : tensor<4x32x16xf32>) -> tensor<4x32x16xf32>
    %88 = linalg.batch_matmul ins(%collapsed_41, %collapsed_42 : tensor<4x32x32xf32>, tensor<4x32x16xf32>) outs(%87 : tensor<4x32x16xf32>) -> tensor<4x32x16xf32>
    %expanded_43 = tensor.expand_shape %88 [[0, 1], [2], [3]] output_shape [1, 4, 32, 16] : tensor<4x32x16xf32> into tensor<1x4x32x16xf32>
    %89 = tensor.empty() : tensor<1x32x4x16xf32>
    %transposed_44 = linalg.transpose ins(%expanded_43 : tensor<1x4x32x16xf32>) outs(%89 : tensor<1x32x4x16xf32>) permutation = [0, 2, 1, 3] 
    %collapsed_45 = tensor.collapse_shape %transposed_44 [[0], [1], [2, 3]] : tensor<1x32x4x16xf32> into tensor<1x32x64xf32>
    %90 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_12 : tensor<64x64xf32>) outs(%35 : tensor<1x64x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x64x64xf32>
    %91 = linalg.batch_matmul ins(%collapsed_45, %90 : tensor<1x32x64xf32>, tensor<1x64x64xf32>) outs(%37 : tensor<1x32x64xf32>) -> tensor<1x32x64xf32>
    %92 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded, %91 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%24 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.addf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x32x64xf32>
    %93 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%92 : tensor<1x32x64xf32>) outs(%24 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %125 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %125 : f32
    } -> tensor<1x32x64xf32>
    %94 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%93 : tensor<1x32x64xf32>) outs(%27 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %125 = arith.addf %in, %out : f32
      linalg.yield %125 : f32
    } -> tensor<1x32x1xf32>
    %95 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%94 : tensor<1x32x1xf32>) outs(%26 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %125 = arith.divf %in, %cst_19 : f32
      linalg.yield %125 : f32
    } -> tensor<1x32x1xf32>
    %96 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%95, %cst_16 : tensor<1x32x1xf32>, tensor<f32>) outs(%26 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.addf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x32x1xf32>
    %97 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%96 : tensor<1x32x1xf32>) outs(%26 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %125 = math.sqrt %in : f32
      linalg.yield %125 : f32
    } -> tensor<1x32x1xf32>
    %98 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%97 : tensor<1x32x1xf32>) outs(%26 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %125 = arith.cmpf one, %in, %cst : f32
      cf.assert %125, "unimplemented: tensor with zero element"
      %126 = arith.divf %cst_0, %in : f32
      linalg.yield %126 : f32
    } -> tensor<1x32x1xf32>
    %99 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%92, %98 : tensor<1x32x64xf32>, tensor<1x32x1xf32>) outs(%24 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.mulf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x32x64xf32>
    %100 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_3, %99 : tensor<64xf32>, tensor<1x32x64xf32>) outs(%24 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.mulf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x32x64xf32>
    %101 = tensor.empty() : tensor<1x64x128xf32>
    %102 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_13 : tensor<64x128xf32>) outs(%101 : tensor<1x64x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x64x128xf32>
    %103 = tensor.empty() : tensor<1x32x128xf32>
    %104 = linalg.fill ins(%cst : f32) outs(%103 : tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
    %105 = linalg.batch_matmul ins(%100, %102 : tensor<1x32x64xf32>, tensor<1x64x128xf32>) outs(%104 : tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
    %106 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%105 : tensor<1x32x128xf32>) outs(%103 : tensor<1x32x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %125 = arith.negf %in : f32
      %126 = math.exp %125 : f32
      %127 = arith.addf %126, %cst_0 : f32
      %128 = arith.divf %cst_0, %127 : f32
      linalg.yield %128 : f32
    } -> tensor<1x32x128xf32>
    %107 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%105, %106 : tensor<1x32x128xf32>, tensor<1x32x128xf32>) outs(%103 : tensor<1x32x128xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.mulf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x32x128xf32>
    %108 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_14 : tensor<64x128xf32>) outs(%101 : tensor<1x64x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x64x128xf32>
    %109 = linalg.batch_matmul ins(%100, %108 : tensor<1x32x64xf32>, tensor<1x64x128xf32>) outs(%104 : tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
    %110 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%107, %109 : tensor<1x32x128xf32>, tensor<1x32x128xf32>) outs(%103 : tensor<1x32x128xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.mulf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x32x128xf32>
    %111 = tensor.empty() : tensor<1x128x64xf32>
    %112 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_15 : tensor<128x64xf32>) outs(%111 : tensor<1x128x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x128x64xf32>
    %113 = linalg.batch_matmul ins(%110, %112 : tensor<1x32x128xf32>, tensor<1x128x64xf32>) outs(%37 : tensor<1x32x64xf32>) -> tensor<1x32x64xf32>
    %114 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%92, %113 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%24 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.addf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x32x64xf32>
    %115 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%114 : tensor<1x32x64xf32>) outs(%24 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %125 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %125 : f32
    } -> tensor<1x32x64xf32>
    %116 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%115 : tensor<1x32x64xf32>) outs(%27 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %125 = arith.addf %in, %out : f32
      linalg.yield %125 : f32
    } -> tensor<1x32x1xf32>
    %117 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%116 : tensor<1x32x1xf32>) outs(%26 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %125 = arith.divf %in, %cst_19 : f32
      linalg.yield %125 : f32
    } -> tensor<1x32x1xf32>
    %118 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%117, %cst_16 : tensor<1x32x1xf32>, tensor<f32>) outs(%26 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.addf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x32x1xf32>
    %119 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%118 : tensor<1x32x1xf32>) outs(%26 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %125 = math.sqrt %in : f32
      linalg.yield %125 : f32
    } -> tensor<1x32x1xf32>
    %120 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%119 : tensor<1x32x1xf32>) outs(%26 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %125 = arith.cmpf one, %in, %cst : f32
      cf.assert %125, "unimplemented: tensor with zero element"
      %126 = arith.divf %cst_0, %in : f32
      linalg.yield %126 : f32
    } -> tensor<1x32x1xf32>
    %121 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%114, %120 : tensor<1x32x64xf32>, tensor<1x32x1xf32>) outs(%24 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.mulf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x32x64xf32>
    %122 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_3, %121 : tensor<64xf32>, tensor<1x32x64xf32>) outs(%24 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_46: f32, %out: f32):
      %125 = arith.mulf %in, %in_46 : f32
      linalg.yield %125 : f32
    } -> tensor<1x32x64xf32>
    return %122 : tensor<1x32x64xf32>
  }
}
