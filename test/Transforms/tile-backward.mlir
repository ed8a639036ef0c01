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

// Heads share a bias: in a phase no two of them have the same tile of its keys.
// CHECK-LABEL: func @shared_bias
//       CHECK: scf.for %[[PHASE:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args
//       CHECK:   scf.forall (%[[INDEX:.*]]) in (%{{.*}})
//       CHECK:     %[[SUM:.*]] = arith.addi %[[INDEX]], %[[PHASE]]
//       CHECK:     %[[TILE:.*]] = arith.remsi %[[SUM]], %{{.*}}
//       CHECK:     %[[FIRST:.*]] = arith.muli %[[TILE]], %{{.*}}
//       CHECK:     %[[KEY:.*]] = arith.minsi %[[FIRST]], %{{.*}}
//       CHECK:     tensor.extract_slice %{{.*}}[0, 0, 0, %[[KEY]]] [1, 1, 300, %{{.*}}]
//       CHECK:       attn.backward_step
func.func @shared_bias(%q: tensor<1x8x300x32xf32>, %l: tensor<1x8x300xf32>, %k: tensor<1x8x1024x32xf32>,
                       %bias: tensor<1x1x300x1024xf32>)
    -> (tensor<1x8x300x32xf32>, tensor<1x8x1024x32xf32>, tensor<1x8x1024x32xf32>, tensor<1x1x300x1024xf32>) {
  %e0 = tensor.empty() : tensor<1x8x300x32xf32>
  %e1 = tensor.empty() : tensor<1x8x1024x32xf32>
  %e2 = tensor.empty() : tensor<1x1x300x1024xf32>
  %r:4 = attn.sdpa_backward
      ins(%q, %k, %k, %q, %l, %q : tensor<1x8x300x32xf32>, tensor<1x8x1024x32xf32>, tensor<1x8x1024x32xf32>,
          tensor<1x8x300x32xf32>, tensor<1x8x300xf32>, tensor<1x8x300x32xf32>)
      bias(%bias : tensor<1x1x300x1024xf32>)
      outs(%e0, %e1, %e1 : tensor<1x8x300x32xf32>, tensor<1x8x1024x32xf32>, tensor<1x8x1024x32xf32>)
      dbias(%e2 : tensor<1x1x300x1024xf32>)
      {scale = 0.25 : f64}
      -> tensor<1x8x300x32xf32>, tensor<1x8x1024x32xf32>, tensor<1x8x1024x32xf32>, tensor<1x1x300x1024xf32>
  return %r#0, %r#1, %r#2, %r#3
      : tensor<1x8x300x32xf32>, tensor<1x8x1024x32xf32>, tensor<1x8x1024x32xf32>, tensor<1x1x300x1024xf32>
}

// One head: phases of pairs of chunks. What an earlier phase has added to the gradients of K and V is taken up.
// CHECK-LABEL: func @chunks
//       CHECK: scf.for %[[PHASE:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args
//       CHECK:   scf.forall (%{{.*}}, %[[CHUNK:.*]]) in (1, 4)
//       CHECK:     %[[SUM:.*]] = arith.addi %[[PHASE]], %{{.*}}
//       CHECK:     %[[DIFFERENCE:.*]] = arith.subi %[[SUM]], %[[CHUNK]]
//       CHECK:     arith.remsi %[[DIFFERENCE]], %{{.*}}
//       CHECK:     scf.for
//       CHECK:       attn.pack
//       CHECK:       attn.pack
//       CHECK:       attn.pack
//       CHECK:       attn.pack
//       CHECK:       attn.backward_step
//       CHECK:     tensor.parallel_insert_slice
func.func @chunks(%q: tensor<400x32xf32>, %l: tensor<400xf32>)
    -> (tensor<400x32xf32>, tensor<400x32xf32>, tensor<400x32xf32>) {
  %e = tensor.empty() : tensor<400x32xf32>
  %r:3 = attn.sdpa_backward
      ins(%q, %q, %q, %q, %l, %q : tensor<400x32xf32>, tensor<400x32xf32>, tensor<400x32xf32>, tensor<400x32xf32>,
          tensor<400xf32>, tensor<400x32xf32>)
      outs(%e, %e, %e : tensor<400x32xf32>, tensor<400x32xf32>, tensor<400x32xf32>)
      {scale = 0.25 : f64, schedule = #attn.backward<query_tile = 96, key_tile = 32, lanes = 8, block_rows = 6,
                                                     block_vectors = 2, chunks = 4>}
      -> tensor<400x32xf32>, tensor<400x32xf32>, tensor<400x32xf32>
  return %r#0, %r#1, %r#2 : tensor<400x32xf32>, tensor<400x32xf32>, tensor<400x32xf32>
}

// A gradient that nothing reads is not computed, nor what rounds it.
// CHECK-LABEL: func @query_alone
//       CHECK: scf.forall (%{{.*}}, %{{.*}}) in (2, 2) shared_outs(%{{[^,)]*}})
//       CHECK:   attn.backward_step
//  CHECK-SAME:     dquery(
//   CHECK-NOT:     dkey
//   CHECK-NOT:     dvalue
//       CHECK:   tensor.parallel_insert_slice
//   CHECK-NOT:   tensor.parallel_insert_slice
//       CHECK: return
func.func @query_alone(%q: tensor<2x4x300x32xbf16>, %k: tensor<2x2x300x32xbf16>, %l: tensor<2x4x300xf32>)
    -> tensor<2x4x300x32xbf16> {
  %e0 = tensor.empty() : tensor<2x4x300x32xbf16>
  %e1 = tensor.empty() : tensor<2x2x300x32xbf16>
  %r:3 = attn.sdpa_backward
      ins(%q, %k, %k, %q, %l, %q : tensor<2x4x300x32xbf16>, tensor<2x2x300x32xbf16>, tensor<2x2x300x32xbf16>,
          tensor<2x4x300x32xbf16>, tensor<2x4x300xf32>, tensor<2x4x300x32xbf16>)
      outs(%e0, %e1, %e1 : tensor<2x4x300x32xbf16>, tensor<2x2x300x32xbf16>, tensor<2x2x300x32xbf16>)
      {scale = 0.25 : f64}
      -> tensor<2x4x300x32xbf16>, tensor<2x2x300x32xbf16>, tensor<2x2x300x32xbf16>
  return %r#0 : tensor<2x4x300x32xbf16>
}

// Of a predicate that no range tells, a map is made in front of the tasks, for all heads at once: of parts of tiles, 32
// rows by a panel of keys. A tile whose parts keep no key is skipped, one whose parts keep all has no predicate, and the
// panels of another one visit the rows of parts that are not empty.
// CHECK-LABEL: func @documents
//       CHECK: %[[MAP:.*]] = scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (1, 1, 12) {{.*}} -> (tensor<1x1x12x19xi8>)
//       CHECK:   attn.classify_tile
//       CHECK: scf.forall (%{{.*}}) in (4)
//   CHECK-NOT:   attn.classify_tile
//       CHECK:   %[[EXTREMES:.*]]:2 = scf.for
//       CHECK:     tensor.extract %[[MAP]]
//       CHECK:   %[[IS_SAME:.*]] = arith.cmpi eq, %[[EXTREMES]]#0, %[[EXTREMES]]#1
//       CHECK:   %[[KIND:.*]] = arith.select %[[IS_SAME]], %[[EXTREMES]]#0, %c1_i8
//       CHECK:   %[[EMPTY:.*]] = arith.cmpi eq, %[[KIND]], %c0_i8
//       CHECK:   scf.if %[[EMPTY]]
//  CHECK-NEXT:     scf.yield
//       CHECK:   else
//       CHECK:     %[[FULL:.*]] = arith.cmpi eq, %[[KIND]], %c2_i8
//       CHECK:     scf.if %[[FULL]]
//       CHECK:       attn.backward_step
//   CHECK-NOT:         mask_mod
//       CHECK:     else
//       CHECK:       attn.backward_step
//       CHECK:         mask_mod
//       CHECK:         query_ranges
// CHECK-COUNT-3:         tensor.extract %[[MAP]]
//       CHECK:         %[[THIRD:.*]] = arith.select %{{.*}}, %c64{{.*}}, %c96
//       CHECK:         %[[SECOND:.*]] = arith.select %{{.*}}, %c32{{.*}}, %[[THIRD]]
//       CHECK:         arith.select %{{.*}}, %c0{{.*}}, %[[SECOND]]
func.func @documents(%q: tensor<4x300x32xf32>, %l: tensor<4x300xf32>, %documents: tensor<300xi32>)
    -> (tensor<4x300x32xf32>, tensor<4x300x32xf32>, tensor<4x300x32xf32>) {
  %e0 = tensor.empty() : tensor<4x300x32xf32>
  %e1 = tensor.empty() : tensor<4x300x32xf32>
  %e2 = tensor.empty() : tensor<4x300x32xf32>
  %r:3 = attn.sdpa_backward
      ins(%q, %q, %q, %q, %l, %q : tensor<4x300x32xf32>, tensor<4x300x32xf32>, tensor<4x300x32xf32>,
          tensor<4x300x32xf32>, tensor<4x300xf32>, tensor<4x300x32xf32>)
      outs(%e0, %e1, %e2 : tensor<4x300x32xf32>, tensor<4x300x32xf32>, tensor<4x300x32xf32>)
      {scale = 0.25 : f64}
      mask_mod {
        %i = attn.index query : index
        %j = attn.index key : index
        %mine = tensor.extract %documents[%i] : tensor<300xi32>
        %other = tensor.extract %documents[%j] : tensor<300xi32>
        %keep = arith.cmpi eq, %mine, %other : i32
        attn.yield %keep : i1
      }
      -> tensor<4x300x32xf32>, tensor<4x300x32xf32>, tensor<4x300x32xf32>
  return %r#0, %r#1, %r#2 : tensor<4x300x32xf32>, tensor<4x300x32xf32>, tensor<4x300x32xf32>
}
