// torch case gpt2_sdpa; torch 2.15.0, ONNX opset 18; iree-base-compiler
// attentions: 1
module {
  func.func @model(%arg0: tensor<1x32xi64>) -> (tensor<1x32x64xf32>) {
    %c100_i64 = arith.constant 100 : i64
    %c3_i64 = arith.constant 3 : i64
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<1.000000e-02> : tensor<100x64xf32>
    %cst_2 = arith.constant dense<1.000000e+00> : tensor<64xf32>
    %cst_3 = arith.constant dense<0.000000e+00> : tensor<64xf32>
    %cst_4 = arith.constant dense<1.000000e-02> : tensor<64x192xf32>
    %cst_5 = arith.constant dense<1.000000e-02> : tensor<64x64xf32>
    %cst_6 = arith.constant dense<1.000000e-02> : tensor<64x256xf32>
    %cst_7 = arith.constant dense<1.000000e-02> : tensor<256x64xf32>
    %cst_8 = arith.constant dense<1.000000e-02> : tensor<1x32x64xf32>
    %cst_9 = arith.constant dense<5.000000e-01> : tensor<f32>
    %cst_10 = arith.constant dense<[[[[0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -3.40282347E+38], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]]]]> : tensor<1x1x32x32xf32>
    %cst_11 = arith.constant dense<1.000000e+00> : tensor<f32>
    %cst_12 = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_13 = arith.constant dense<4.471500e-02> : tensor<f32>
    %cst_14 = arith.constant dense<0.797884583> : tensor<f32>
    %cst_15 = arith.constant 6.400000e+01 : f32
    %cst_16 = arith.constant 9.99999974E-6 : f32
    %1 = tensor.empty() : tensor<1x32xi1>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<1x32xi64>) outs(%1 : tensor<1x32xi1>) {
    ^bb0(%in: i64, %out: i1):
      %101 = arith.cmpi slt, %in, %c0_i64 : i64
      linalg.yield %101 : i1
    } -> tensor<1x32xi1>
    %3 = tensor.empty() : tensor<1x32xi64>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<1x32xi64>) outs(%3 : tensor<1x32xi64>) {
    ^bb0(%in: i64, %out: i64):
      %101 = arith.addi %in, %c100_i64 : i64
      linalg.yield %101 : i64
    } -> tensor<1x32xi64>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%2, %4, %arg0 : tensor<1x32xi1>, tensor<1x32xi64>, tensor<1x32xi64>) outs(%3 : tensor<1x32xi64>) {
    ^bb0(%in: i1, %in_49: i64, %in_50: i64, %out: i64):
      %101 = arith.select %in, %in_49, %in_50 : i64
      linalg.yield %101 : i64
    } -> tensor<1x32xi64>
    %collapsed = tensor.collapse_shape %5 [[0, 1]] : tensor<1x32xi64> into tensor<32xi64>
    %6 = tensor.empty() : tensor<32x64xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%collapsed : tensor<32xi64>) outs(%6 : tensor<32x64xf32>) {
    ^bb0(%in: i64, %out: f32):
      %101 = arith.index_cast %in : i64 to index
      %102 = linalg.index 1 : index
      %extracted = tensor.extract %cst_1[%101, %102] : tensor<100x64xf32>
      linalg.yield %extracted : f32
    } -> tensor<32x64xf32>
    %expanded = tensor.expand_shape %7 [[0, 1], [2]] output_shape [1, 32, 64] : tensor<32x64xf32> into tensor<1x32x64xf32>
    %8 = tensor.empty() : tensor<1x32x64xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded, %cst_8 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.addf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x64xf32>
    %10 = tensor.empty() : tensor<1x32x1xf32>
    %11 = linalg.fill ins(%cst : f32) outs(%10 : tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%9 : tensor<1x32x64xf32>) outs(%11 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %101 = arith.addf %in, %out : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x1xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%12 : tensor<1x32x1xf32>) outs(%10 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %101 = arith.divf %in, %cst_15 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x1xf32>
    %collapsed_17 = tensor.collapse_shape %13 [[0], [1, 2]] : tensor<1x32x1xf32> into tensor<1x32xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_17 : tensor<1x32xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32x64xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%9, %14 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.subf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x64xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%15, %15 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.mulf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x64xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%16 : tensor<1x32x64xf32>) outs(%11 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %101 = arith.addf %in, %out : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x1xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%17 : tensor<1x32x1xf32>) outs(%10 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %101 = arith.divf %in, %cst_15 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x1xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%18 : tensor<1x32x1xf32>) outs(%10 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %101 = arith.addf %in, %cst_16 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x1xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%19 : tensor<1x32x1xf32>) outs(%10 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %101 = math.rsqrt %in : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x1xf32>
    %collapsed_18 = tensor.collapse_shape %20 [[0], [1, 2]] : tensor<1x32x1xf32> into tensor<1x32xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_18 : tensor<1x32xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32x64xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%15, %21 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.mulf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x64xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%22, %cst_2 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.mulf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x64xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%23, %cst_3 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.addf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x64xf32>
    %collapsed_19 = tensor.collapse_shape %24 [[0, 1], [2]] : tensor<1x32x64xf32> into tensor<32x64xf32>
    %25 = tensor.empty() : tensor<32x192xf32>
    %26 = linalg.fill ins(%cst : f32) outs(%25 : tensor<32x192xf32>) -> tensor<32x192xf32>
    %27 = linalg.matmul ins(%collapsed_19, %cst_4 : tensor<32x64xf32>, tensor<64x192xf32>) outs(%26 : tensor<32x192xf32>) -> tensor<32x192xf32>
    %expanded_20 = tensor.expand_shape %27 [[0, 1], [2]] output_shape [1, 32, 192] : tensor<32x192xf32> into tensor<1x32x192xf32>
    %extracted_slice = tensor.extract_slice %expanded_20[0, 0, 0] [1, 32, 64] [1, 1, 1] : tensor<1x32x192xf32> to tensor<1x32x64xf32>
    %extracted_slice_21 = tensor.extract_slice %expanded_20[0, 0, 64] [1, 32, 64] [1, 1, 1] : tensor<1x32x192xf32> to tensor<1x32x64xf32>
    %extracted_slice_22 = tensor.extract_slice %expanded_20[0, 0, 128] [1, 32, 64] [1, 1, 1] : tensor<1x32x192xf32> to tensor<1x32x64xf32>
    %expanded_23 = tensor.expand_shape %extracted_slice_21 [[0], [1], [2, 3]] output_shape [1, 32, 4, 16] : tensor<1x32x64xf32> into tensor<1x32x4x16xf32>
    %28 = tensor.empty() : tensor<1x4x32x16xf32>
    %transposed = linalg.transpose ins(%expanded_23 : tensor<1x32x4x16xf32>) outs(%28 : tensor<1x4x32x16xf32>) permutation = [0, 2, 1, 3] 
    %expanded_24 = tensor.expand_shape %extracted_slice_22 [[0], [1], [2, 3]] output_shape [1, 32, 4, 16] : tensor<1x32x64xf32> into tensor<1x32x4x16xf32>
    %transposed_25 = linalg.transpose ins(%expanded_24 : tensor<1x32x4x16xf32>) outs(%28 : tensor<1x4x32x16xf32>) permutation = [0, 2, 1, 3] 
    %expanded_26 = tensor.expand_shape %extracted_slice [[0], [1], [2, 3]] output_shape [1, 32, 4, 16] : tensor<1x32x64xf32> into tensor<1x32x4x16xf32>
    %transposed_27 = linalg.transpose ins(%expanded_26 : tensor<1x32x4x16xf32>) outs(%28 : tensor<1x4x32x16xf32>) permutation = [0, 2, 1, 3] 
    %collapsed_28 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<1x4x32x16xf32> into tensor<4x32x16xf32>
    %29 = tensor.empty() : tensor<4x16x32xf32>
    %transposed_29 = linalg.transpose ins(%collapsed_28 : tensor<4x32x16xf32>) outs(%29 : tensor<4x16x32xf32>) permutation = [0, 2, 1] 
    %expanded_30 = tensor.expand_shape %transposed_29 [[0, 1], [2], [3]] output_shape [1, 4, 16, 32] : tensor<4x16x32xf32> into tensor<1x4x16x32xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_27, %cst_9 : tensor<1x4x32x16xf32>, tensor<f32>) outs(%28 : tensor<1x4x32x16xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.mulf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x4x32x16xf32>
    %31 = tensor.empty() : tensor<1x4x16x32xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_30, %cst_9 : tensor<1x4x16x32xf32>, tensor<f32>) outs(%31 : tensor<1x4x16x32xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.mulf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x4x16x32xf32>
    %collapsed_31 = tensor.collapse_shape %30 [[0, 1], [2], [3]] : tensor<1x4x32x16xf32> into tensor<4x32x16xf32>
    %collapsed_32 = tensor.collapse_shape %32 [[0, 1], [2], [3]] : tensor<1x4x16x32xf32> into tensor<4x16x32xf32>
    %33 = tensor.empty() : tensor<4x32x32xf32>
    %34 = linalg.fill ins(%cst : f32) outs(%33 : tensor<4x32x32xf32>) -> tensor<4x32x32xf32>
    %35 = linalg.batch_matmul ins(%collapsed_31, %collapsed_32 : tensor<4x32x16xf32>, tensor<4x16x32xf32>) outs(%34 : tensor<4x32x32xf32>) -> tensor<4x32x32xf32>
    %expanded_33 = tensor.expand_shape %35 [[0, 1], [2], [3]] output_shape [1, 4, 32, 32] : tensor<4x32x32xf32> into tensor<1x4x32x32xf32>
    %36 = tensor.empty() : tensor<1x4x32x32xf32>
    %37 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_33, %cst_10 : tensor<1x4x32x32xf32>, tensor<1x1x32x32xf32>) outs(%36 : tensor<1x4x32x32xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.addf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x4x32x32xf32>
    %38 = tensor.empty() : tensor<1x4x32xi64>
    %39 = linalg.fill ins(%c0_i64 : i64) outs(%38 : tensor<1x4x32xi64>) -> tensor<1x4x32xi64>
    %40 = tensor.empty() : tensor<1x4x32xf32>
    %41 = linalg.fill ins(%cst_0 : f32) outs(%40 : tensor<1x4x32xf32>) -> tensor<1x4x32xf32>
    %42:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%37 : tensor<1x4x32x32xf32>) outs(%41, %39 : tensor<1x4x32xf32>, tensor<1x4x32xi64>) {
    ^bb0(%in: f32, %out: f32, %out_49: i64):
      %101 = linalg.index 3 : index
      %102 = arith.index_cast %101 : index to i64
      %103 = arith.maximumf %in, %out : f32
      %104 = arith.cmpf ogt, %in, %out : f32
      %105 = arith.select %104, %102, %out_49 : i64
      linalg.yield %103, %105 : f32, i64
    } -> (tensor<1x4x32xf32>, tensor<1x4x32xi64>)
    %expanded_34 = tensor.expand_shape %42#0 [[0], [1], [2, 3]] output_shape [1, 4, 32, 1] : tensor<1x4x32xf32> into tensor<1x4x32x1xf32>
    %43 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%37, %expanded_34 : tensor<1x4x32x32xf32>, tensor<1x4x32x1xf32>) outs(%36 : tensor<1x4x32x32xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.subf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x4x32x32xf32>
    %44 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%43 : tensor<1x4x32x32xf32>) outs(%36 : tensor<1x4x32x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %101 = math.exp %in : f32
      linalg.yield %101 : f32
    } -> tensor<1x4x32x32xf32>
    %45 = tensor.empty() : tensor<1x4x32x1xf32>
    %46 = linalg.fill ins(%cst : f32) outs(%45 : tensor<1x4x32x1xf32>) -> tensor<1x4x32x1xf32>
    %47 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%44 : tensor<1x4x32x32xf32>) outs(%46 : tensor<1x4x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %101 = arith.addf %in, %out : f32
      linalg.yield %101 : f32
    } -> tensor<1x4x32x1xf32>
    %48 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%44, %47 : tensor<1x4x32x32xf32>, tensor<1x4x32x1xf32>) outs(%36 : tensor<1x4x32x32xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.divf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x4x32x32xf32>
    %49 = tensor.empty() : tensor<1x4x32x32xi1>
    %50 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%48, %48 : tensor<1x4x32x32xf32>, tensor<1x4x32x32xf32>) outs(%49 : tensor<1x4x32x32xi1>) {
    ^bb0(%in: f32, %in_49: f32, %out: i1):
      %101 = arith.cmpf une, %in, %in_49 : f32
      linalg.yield %101 : i1
    } -> tensor<1x4x32x32xi1>
    %51 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%50, %cst_12, %48 : tensor<1x4x32x32xi1>, tensor<f32>, tensor<1x4x32x32xf32>) outs(%36 : tensor<1x4x32x32xf32>) {
    ^bb0(%in: i1, %in_49: f32, %in_50: f32, %out: f32):
      %101 = arith.select %in, %in_49, %in_50 : f32
      linalg.yield %101 : f32
    } -> tensor<1x4x32x32xf32>
    %collapsed_35 = tensor.collapse_shape %51 [[0, 1], [2], [3]] : tensor<1x4x32x32xf32> into tensor<4x32x32xf32>
    %collapsed_36 = tensor.collapse_shape %transposed_25 [[0, 1], [2], [3]] : tensor<1x4x32x16xf32> into tensor<4x32x16xf32>
    %52 = tensor.empty() : tensor<4x32x16xf32>
    %53 = linalg.fill ins(%cst : f32) outs(%52 : tensor<4x32x16xf32>) -> tensor<4x32x16xf32>
    %54 = linalg.batch_matmul ins(%collapsed_35, %collapsed_36 : tensor<4x32x32xf32>, tensor<4x32x16xf32>) outs(%53 : tensor<4x32x16xf32>) -> tensor<4x32x16xf32>
    %expanded_37 = tensor.expand_shape %54 [[0, 1], [2], [3]] output_shape [1, 4, 32, 16] : tensor<4x32x16xf32> into tensor<1x4x32x16xf32>
    %55 = tensor.empty() : tensor<1x32x4x16xf32>
    %transposed_38 = linalg.transpose ins(%expanded_37 : tensor<1x4x32x16xf32>) outs(%55 : tensor<1x32x4x16xf32>) permutation = [0, 2, 1, 3] 
    %collapsed_39 = tensor.collapse_shape %transposed_38 [[0, 1], [2, 3]] : tensor<1x32x4x16xf32> into tensor<32x64xf32>
    %56 = linalg.fill ins(%cst : f32) outs(%6 : tensor<32x64xf32>) -> tensor<32x64xf32>
    %57 = linalg.matmul ins(%collapsed_39, %cst_5 : tensor<32x64xf32>, tensor<64x64xf32>) outs(%56 : tensor<32x64xf32>) -> tensor<32x64xf32>
    %expanded_40 = tensor.expand_shape %57 [[0, 1], [2]] output_shape [1, 32, 64] : tensor<32x64xf32> into tensor<1x32x64xf32>
    %58 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_40, %9 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.addf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x64xf32>
    %59 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%58 : tensor<1x32x64xf32>) outs(%11 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %101 = arith.addf %in, %out : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x1xf32>
    %60 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%59 : tensor<1x32x1xf32>) outs(%10 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %101 = arith.divf %in, %cst_15 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x1xf32>
    %collapsed_41 = tensor.collapse_shape %60 [[0], [1, 2]] : tensor<1x32x1xf32> into tensor<1x32xf32>
    %61 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_41 : tensor<1x32xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32x64xf32>
    %62 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%58, %61 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.subf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x64xf32>
    %63 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%62, %62 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.mulf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x64xf32>
    %64 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%63 : tensor<1x32x64xf32>) outs(%11 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %101 = arith.addf %in, %out : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x1xf32>
    %65 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%64 : tensor<1x32x1xf32>) outs(%10 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %101 = arith.divf %in, %cst_15 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x1xf32>
    %66 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%65 : tensor<1x32x1xf32>) outs(%10 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %101 = arith.addf %in, %cst_16 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x1xf32>
    %67 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%66 : tensor<1x32x1xf32>) outs(%10 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %101 = math.rsqrt %in : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x1xf32>
    %collapsed_42 = tensor.collapse_shape %67 [[0], [1, 2]] : tensor<1x32x1xf32> into tensor<1x32xf32>
    %68 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_42 : tensor<1x32xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32x64xf32>
    %69 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%62, %68 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.mulf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x64xf32>
    %70 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%69, %cst_2 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.mulf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x64xf32>
    %71 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%70, %cst_3 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.addf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x64xf32>
    %collapsed_43 = tensor.collapse_shape %71 [[0, 1], [2]] : tensor<1x32x64xf32> into tensor<32x64xf32>
    %72 = tensor.empty() : tensor<32x256xf32>
    %73 = linalg.fill ins(%cst : f32) outs(%72 : tensor<32x256xf32>) -> tensor<32x256xf32>
    %74 = linalg.matmul ins(%collapsed_43, %cst_6 : tensor<32x64xf32>, tensor<64x256xf32>) outs(%73 : tensor<32x256xf32>) -> tensor<32x256xf32>
    %expanded_44 = tensor.expand_shape %74 [[0, 1], [2]] output_shape [1, 32, 256] : tensor<32x256xf32> into tensor<1x32x256xf32>
    %75 = tensor.empty() : tensor<1x32x256xf32>
    %76 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_44, %cst_9 : tensor<1x32x256xf32>, tensor<f32>) outs(%75 : tensor<1x32x256xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.mulf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x256xf32>
    %77 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_44 : tensor<1x32x256xf32>) outs(%75 : tensor<1x32x256xf32>) {
    ^bb0(%in: f32, %out: f32):
      %101 = math.fpowi %in, %c3_i64 : f32, i64
      linalg.yield %101 : f32
    } -> tensor<1x32x256xf32>
    %78 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%77, %cst_13 : tensor<1x32x256xf32>, tensor<f32>) outs(%75 : tensor<1x32x256xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.mulf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x256xf32>
    %79 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_44, %78 : tensor<1x32x256xf32>, tensor<1x32x256xf32>) outs(%75 : tensor<1x32x256xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.addf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x256xf32>
    %80 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%79, %cst_14 : tensor<1x32x256xf32>, tensor<f32>) outs(%75 : tensor<1x32x256xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.mulf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x256xf32>
    %81 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%80 : tensor<1x32x256xf32>) outs(%75 : tensor<1x32x256xf32>) {
    ^bb0(%in: f32, %out: f32):
      %101 = math.tanh %in : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x256xf32>
    %82 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%81, %cst_11 : tensor<1x32x256xf32>, tensor<f32>) outs(%75 : tensor<1x32x256xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.addf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x256xf32>
    %83 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%76, %82 : tensor<1x32x256xf32>, tensor<1x32x256xf32>) outs(%75 : tensor<1x32x256xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.mulf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x256xf32>
    %collapsed_45 = tensor.collapse_shape %83 [[0, 1], [2]] : tensor<1x32x256xf32> into tensor<32x256xf32>
    %84 = linalg.matmul ins(%collapsed_45, %cst_7 : tensor<32x256xf32>, tensor<256x64xf32>) outs(%56 : tensor<32x64xf32>) -> tensor<32x64xf32>
    %expanded_46 = tensor.expand_shape %84 [[0, 1], [2]] output_shape [1, 32, 64] : tensor<32x64xf32> into tensor<1x32x64xf32>
    %85 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%58, %expanded_46 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.addf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x64xf32>
    %86 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%85 : tensor<1x32x64xf32>) outs(%11 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %101 = arith.addf %in, %out : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x1xf32>
    %87 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%86 : tensor<1x32x1xf32>) outs(%10 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %101 = arith.divf %in, %cst_15 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x1xf32>
    %collapsed_47 = tensor.collapse_shape %87 [[0], [1, 2]] : tensor<1x32x1xf32> into tensor<1x32xf32>
    %88 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_47 : tensor<1x32xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32x64xf32>
    %89 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%85, %88 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.subf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x64xf32>
    %90 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%89, %89 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.mulf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x64xf32>
    %91 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%90 : tensor<1x32x64xf32>) outs(%11 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %101 = arith.addf %in, %out : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x1xf32>
    %92 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%91 : tensor<1x32x1xf32>) outs(%10 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %101 = arith.divf %in, %cst_15 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x1xf32>
    %93 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%92 : tensor<1x32x1xf32>) outs(%10 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %101 = arith.addf %in, %cst_16 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x1xf32>
    %94 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%93 : tensor<1x32x1xf32>) outs(%10 : tensor<1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %101 = math.rsqrt %in : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x1xf32>
    %collapsed_48 = tensor.collapse_shape %94 [[0], [1, 2]] : tensor<1x32x1xf32> into tensor<1x32xf32>
    %95 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_48 : tensor<1x32xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32x64xf32>
    %96 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%89, %95 : tensor<1x32x64xf32>, tensor<1x32x64xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.mulf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x64xf32>
    %97 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%96, %cst_2 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.mulf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x64xf32>
    %98 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%97, %cst_3 : tensor<1x32x64xf32>, tensor<64xf32>) outs(%8 : tensor<1x32x64xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %101 = arith.addf %in, %in_49 : f32
      linalg.yield %101 : f32
    } -> tensor<1x32x64xf32>
    return %98 : tensor<1x32x64xf32>
  }
}
