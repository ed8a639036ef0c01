// RUN: attn-opt %s --pass-pipeline='builtin.module(func.func(attn-analyze-mask,attn-select-schedule{target=x86-64-v3},attn-convert-to-online,attn-tile,attn-verify-phase{phase=tile}))' \
// RUN:   | FileCheck %s

// A task has a head of K; its two heads of Q follow one another. Queries in front of a key tile are not visited, and
// only tiles on the diagonal have a predicate.
// CHECK-LABEL: func @f
//       CHECK: scf.forall (%{{.*}}, %{{.*}}) in (2, 2)
//       CHECK:   scf.for {{.*}} iter_args
//       CHECK:     attn.pack
//       CHECK:     attn.pack
//       CHECK:     scf.for %[[HEAD:.*]] = %{{.*}} to %{{.*}}
//       CHECK:       scf.for
//       CHECK:         attn.backward_step
//  CHECK-SAME:           transposed
//  CHECK-SAME:           schedule = #attn.backward<query_tile = 96, key_tile = 128, lanes = 8, block_rows = 6, block_vectors = 2>
//       CHECK:           mask_mod
//       CHECK:           query_ranges
//       CHECK:       scf.for
//       CHECK:         attn.backward_step
//   CHECK-NOT:           mask_mod
//       CHECK:     attn.pack
//       CHECK:   tensor.parallel_insert_slice
func.func @f(%q: tensor<2x4x300x32xf32>, %k: tensor<2x2x300x32xf32>, %o: tensor<2x4x300x32xf32>,
             %l: tensor<2x4x300xf32>) -> (tensor<2x4x300x32xf32>, tensor<2x2x300x32xf32>, tensor<2x2x300x32xf32>) {
  %e0 = tensor.empty() : tensor<2x4x300x32xf32>
  %e1 = tensor.empty() : tensor<2x2x300x32xf32>
  %e2 = tensor.empty() : tensor<2x2x300x32xf32>
  %r:3 = attn.sdpa_backward
      ins(%q, %k, %k, %o, %l, %o : tensor<2x4x300x32xf32>, tensor<2x2x300x32xf32>, tensor<2x2x300x32xf32>,
          tensor<2x4x300x32xf32>, tensor<2x4x300xf32>, tensor<2x4x300x32xf32>)
      outs(%e0, %e1, %e2 : tensor<2x4x300x32xf32>, tensor<2x2x300x32xf32>, tensor<2x2x300x32xf32>)
      {causal = #attn.causal<top_left>, scale = 0.25 : f64}
      -> tensor<2x4x300x32xf32>, tensor<2x2x300x32xf32>, tensor<2x2x300x32xf32>
  return %r#0, %r#1, %r#2 : tensor<2x4x300x32xf32>, tensor<2x2x300x32xf32>, tensor<2x2x300x32xf32>
}
