// Attention in the five steps of the textbook, and what attn makes of them.
//
// A kernel is a public function: its arguments are the inputs, its results are the outputs. Shapes are (batch, heads,
// rows, columns): here one batch of 8 heads, 1024 queries and 1024 keys of 64 numbers each. Every op writes into the
// tensor in its `outs`, here an empty one.
//
// One flag fuses the five ops into one, which never holds the 8 x 1024 x 1024 scores in memory:
//
//   attn-opt --attn-fuse examples/chain.mlir
//
// and attnc takes it all the way: to an object with a C header, or straight to numbers, compared with the reference.
//
//   attnc examples/chain.mlir -o attention.o --header=attention.h
//   attnc run examples/chain.mlir --check
//
// RUN: attn-opt --attn-fuse %s | FileCheck %s
// RUN: attnc run %s --check --fail-on-fallback | FileCheck %s --check-prefix=NUMBERS
//
// RUN: attnc %s -o %t.o --header=%t.h --fail-on-fallback
// RUN: FileCheck %s --check-prefix=HEADER < %t.h
// HEADER: void attention(const float *query, const float *key, const float *value, float *output);
//
// NUMBERS: output: largest error {{.*}}: ok
//
// CHECK-LABEL: func.func @attention
// CHECK-NOT:     attn.scores
// CHECK:         %[[OUT:.*]] = attn.sdpa ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<1x8x1024x64xf32>
// CHECK-SAME:      causal = #attn.causal<top_left>
// CHECK-SAME:      scale = 1.250000e-01
// CHECK-NOT:     attn.apply
// CHECK:         return %[[OUT]]
func.func @attention(%q: tensor<1x8x1024x64xf32>, %k: tensor<1x8x1024x64xf32>, %v: tensor<1x8x1024x64xf32>)
    -> tensor<1x8x1024x64xf32> {
  %s = tensor.empty() : tensor<1x8x1024x1024xf32>
  %o = tensor.empty() : tensor<1x8x1024x64xf32>

  // 1. Every query against every key: Q times K transposed.
  %scores = attn.scores ins(%q, %k : tensor<1x8x1024x64xf32>, tensor<1x8x1024x64xf32>)
      outs(%s : tensor<1x8x1024x1024xf32>) -> tensor<1x8x1024x1024xf32>

  // 2. Divided by the square root of the head size, 64.
  %scaled = attn.scale ins(%scores : tensor<1x8x1024x1024xf32>)
      outs(%s : tensor<1x8x1024x1024xf32>) {scale = 0.125 : f64} -> tensor<1x8x1024x1024xf32>

  // 3. A query sees no key that comes after it.
  %masked = attn.mask ins(%scaled : tensor<1x8x1024x1024xf32>)
      outs(%s : tensor<1x8x1024x1024xf32>) {causal = #attn.causal<top_left>} -> tensor<1x8x1024x1024xf32>

  // 4. Scores to weights: exp of each, over the sum of its row.
  %weights = attn.softmax ins(%masked : tensor<1x8x1024x1024xf32>)
      outs(%s : tensor<1x8x1024x1024xf32>) -> tensor<1x8x1024x1024xf32>

  // 5. The weighted sum of the values.
  %out = attn.apply ins(%weights, %v : tensor<1x8x1024x1024xf32>, tensor<1x8x1024x64xf32>)
      outs(%o : tensor<1x8x1024x64xf32>) -> tensor<1x8x1024x64xf32>
  return %out : tensor<1x8x1024x64xf32>
}
