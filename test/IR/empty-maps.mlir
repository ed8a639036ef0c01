// An empty array of maps means the default ones, as none does.
// RUN: attn-opt %s | FileCheck %s
// RUN: attnc run %s --check | FileCheck %s --check-prefix=RIGHT
// RIGHT-COUNT-2: : ok

// CHECK: func
func.func @chain(%q: tensor<4x6xf32>, %k: tensor<5x6xf32>, %o: tensor<4x5xf32>, %v: tensor<5x7xf32>, %oo: tensor<4x7xf32>) -> tensor<4x7xf32> {
  %0 = attn.scores ins(%q, %k : tensor<4x6xf32>, tensor<5x6xf32>) outs(%o : tensor<4x5xf32>) {maps = []} -> tensor<4x5xf32>
  %1 = attn.scale ins(%0 : tensor<4x5xf32>) outs(%o : tensor<4x5xf32>) {maps = [], scale = 0.5 : f64} -> tensor<4x5xf32>
  %2 = attn.mask ins(%1 : tensor<4x5xf32>) outs(%o : tensor<4x5xf32>) {maps = [], causal = #attn.causal<top_left>} -> tensor<4x5xf32>
  %3 = attn.softmax ins(%2 : tensor<4x5xf32>) outs(%o : tensor<4x5xf32>) {maps = []} -> tensor<4x5xf32>
  %4 = attn.apply ins(%3, %v : tensor<4x5xf32>, tensor<5x7xf32>) outs(%oo : tensor<4x7xf32>) {maps = []} -> tensor<4x7xf32>
  return %4 : tensor<4x7xf32>
}
// CHECK: func
func.func @whole(%q: tensor<4x6xf32>, %k: tensor<5x6xf32>, %v: tensor<5x7xf32>, %oo: tensor<4x7xf32>) -> tensor<4x7xf32> {
  %4 = attn.sdpa ins(%q, %k, %v : tensor<4x6xf32>, tensor<5x6xf32>, tensor<5x7xf32>) outs(%oo : tensor<4x7xf32>) {maps = []} -> tensor<4x7xf32>
  return %4 : tensor<4x7xf32>
}
