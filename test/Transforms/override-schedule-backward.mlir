// RUN: attn-opt %s --attn-select-schedule=target=x86-64-v3 '--attn-override-schedule=target=x86-64-v3 schedule=#attn.backward<key_tile=32>' \
// RUN:   | FileCheck %s

// The schedule of gradients is none for the forward pass beside them.
// CHECK-LABEL: func @f
//       CHECK: attn.sdpa {{.*}}schedule = #attn.prefill<
//       CHECK: attn.sdpa_backward {{.*}}schedule = #attn.backward<query_tile = 96, key_tile = 32, lanes = 8, block_rows = 6, block_vectors = 2>
func.func @f(%q: tensor<400x16xf32>, %l: tensor<400xf32>)
    -> (tensor<400x16xf32>, tensor<400x16xf32>, tensor<400x16xf32>, tensor<400x16xf32>) {
  %o = attn.sdpa ins(%q, %q, %q : tensor<400x16xf32>, tensor<400x16xf32>, tensor<400x16xf32>) outs(%q : tensor<400x16xf32>)
      {scale = 0.25 : f64} -> tensor<400x16xf32>
  %r:3 = attn.sdpa_backward
      ins(%q, %q, %q, %o, %l, %q : tensor<400x16xf32>, tensor<400x16xf32>, tensor<400x16xf32>, tensor<400x16xf32>, tensor<400xf32>, tensor<400x16xf32>)
      outs(%q, %q, %q : tensor<400x16xf32>, tensor<400x16xf32>, tensor<400x16xf32>)
      {scale = 0.25 : f64} -> tensor<400x16xf32>, tensor<400x16xf32>, tensor<400x16xf32>
  return %o, %r#0, %r#1, %r#2 : tensor<400x16xf32>, tensor<400x16xf32>, tensor<400x16xf32>, tensor<400x16xf32>
}
