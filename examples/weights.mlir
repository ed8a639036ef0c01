// Returning the attention weights: the chain whose softmax is a result of the function.
//
// No flash kernel has weights to return: it never holds a whole row of them. Asking for them keeps the chain from
// fusing, so it runs step by step with the score matrix in memory, and a remark says so. The weights are those that
// multiply V. In Python, attn.sdpa(q, k, v, return_weights=True) returns them, and attn.plot.weights draws a heat map.
//
//   attnc run examples/weights.mlir --check
//   attnc run examples/weights.mlir --remarks=missed
//
// RUN: attnc run %s --check | FileCheck %s --check-prefix=NUMBERS
// RUN: attnc %s -o %t.o --remarks=missed 2>&1 | FileCheck %s
//
// NUMBERS:      output: largest error {{.*}}: ok
// NUMBERS-NEXT: weights: largest error {{.*}}: ok
// CHECK: remark: missed
func.func @weights(%q: tensor<1x4x32x64xf32>, %k: tensor<1x4x48x64xf32>, %v: tensor<1x4x48x64xf32>)
    -> (tensor<1x4x32x64xf32> {attn.name = "output"}, tensor<1x4x32x48xf32> {attn.name = "weights"}) {
  %s = tensor.empty() : tensor<1x4x32x48xf32>
  %o = tensor.empty() : tensor<1x4x32x64xf32>
  %scores = attn.scores ins(%q, %k : tensor<1x4x32x64xf32>, tensor<1x4x48x64xf32>)
      outs(%s : tensor<1x4x32x48xf32>) -> tensor<1x4x32x48xf32>
  %scaled = attn.scale ins(%scores : tensor<1x4x32x48xf32>) outs(%s : tensor<1x4x32x48xf32>) {scale = 0.125 : f64}
      -> tensor<1x4x32x48xf32>
  %masked = attn.mask ins(%scaled : tensor<1x4x32x48xf32>) outs(%s : tensor<1x4x32x48xf32>)
      {causal = #attn.causal<bottom_right>} -> tensor<1x4x32x48xf32>
  %weights = attn.softmax ins(%masked : tensor<1x4x32x48xf32>) outs(%s : tensor<1x4x32x48xf32>)
      -> tensor<1x4x32x48xf32>
  %out = attn.apply ins(%weights, %v : tensor<1x4x32x48xf32>, tensor<1x4x48x64xf32>)
      outs(%o : tensor<1x4x32x64xf32>) -> tensor<1x4x32x64xf32>
  return %out, %weights : tensor<1x4x32x64xf32>, tensor<1x4x32x48xf32>
}
