// Chains that become one attn.sdpa; test/Pipelines/reference.mlir compares the values.
// RUN: attn-opt %s --attn-fuse | FileCheck %s --implicit-check-not=attn.scores --implicit-check-not=attn.softmax

// CHECK-DAG: #[[$QUERY:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d2)>
// CHECK-DAG: #[[$KEYT:.*]] = affine_map<(d0, d1, d2, d3) -> (d2, d1)>
// CHECK-DAG: #[[$VALUE:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, d3)>
// CHECK-DAG: #[[$OUT:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d3)>

// CHECK-LABEL: func @scale_after_product(
//  CHECK-SAME:     %[[Q:[a-z0-9]*]]: tensor<4x16xf32>, %[[K:[a-z0-9]*]]: tensor<6x16xf32>, %[[V:[a-z0-9]*]]: tensor<6x8xf32>
//  CHECK-NEXT:   %[[R:.*]] = attn.sdpa ins(%[[Q]], %[[K]], %[[V]] : {{[^)]*}}) outs(%{{.*}}) {scale = 2.500000e-01 : f64}
//  CHECK-NEXT:   return %[[R]]
func.func @scale_after_product(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<4x6xf32>,
                               %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %t = attn.scale ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {scale = 0.25 : f64} -> tensor<4x6xf32>
  %p = attn.softmax ins(%t : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// Factors on Q and on K multiply; their product is what the scores are scaled by.
// CHECK-LABEL: func @scales_before_product(
//  CHECK-SAME:     %[[Q:[a-z0-9]*]]: tensor<4x16xf32>, %[[K:[a-z0-9]*]]: tensor<6x16xf32>
//       CHECK:   attn.sdpa ins(%[[Q]], %[[K]], {{.*}} {scale = 1.250000e-01 : f64}
func.func @scales_before_product(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>,
                                 %e: tensor<4x6xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %x = attn.scale ins(%q : tensor<4x16xf32>) outs(%q : tensor<4x16xf32>) {scale = 0.5 : f64} -> tensor<4x16xf32>
  %y = attn.scale ins(%k : tensor<6x16xf32>) outs(%k : tensor<6x16xf32>) {scale = 0.25 : f64} -> tensor<6x16xf32>
  %s = attn.scores ins(%x, %y : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// Additive scores of a scaled Q are no multiple of those of Q: it stays scaled.
// CHECK-LABEL: func @scale_before_additive_scores(
//  CHECK-SAME:     %[[Q:[a-z0-9]*]]: tensor<4x16xf32>, %[[K:[a-z0-9]*]]: tensor<6x16xf32>
//       CHECK:   %[[X:.*]] = attn.scale ins(%[[Q]] : {{.*}} {scale = 5.000000e-01 : f64}
//       CHECK:   %[[Y:.*]] = attn.scale ins(%[[K]] : {{.*}} {scale = 2.500000e-01 : f64}
//       CHECK:   attn.sdpa ins(%[[X]], %[[Y]], {{.*}} score_weight({{.*}} {scale = 1.000000e+00 : f64}
func.func @scale_before_additive_scores(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>,
                                        %w: tensor<16xf32>, %e: tensor<4x6xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %x = attn.scale ins(%q : tensor<4x16xf32>) outs(%q : tensor<4x16xf32>) {scale = 0.5 : f64} -> tensor<4x16xf32>
  %y = attn.scale ins(%k : tensor<6x16xf32>) outs(%k : tensor<6x16xf32>) {scale = 0.25 : f64} -> tensor<6x16xf32>
  %s = attn.scores ins(%x, %y : tensor<4x16xf32>, tensor<6x16xf32>) weights(%w : tensor<16xf32>)
      outs(%e : tensor<4x6xf32>) {kind = #attn.score_kind<additive>} -> tensor<4x6xf32>
  %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// The chain has no default scale: without one it is 1.
// CHECK-LABEL: func @no_scale(
//       CHECK:   attn.sdpa {{.*}} {scale = 1.000000e+00 : f64}
func.func @no_scale(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<4x6xf32>,
                    %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// A scale value of f32 scores, on f64 inputs, becomes one of the accumulation.
// CHECK-LABEL: func @scale_values_of_two_types(
//       CHECK:   %[[X:.*]] = arith.extf %{{.*}} : f32 to f64
//       CHECK:   %[[XY:.*]] = arith.mulf %[[X]], %{{.*}} : f64
//       CHECK:   attn.sdpa {{.*}} scale_value(%[[XY]] : f64)
func.func @scale_values_of_two_types(%q: tensor<4x16xf64>, %v: tensor<4x8xf64>, %x: f32, %y: f64,
                                     %e: tensor<4x4xf32>, %o: tensor<4x8xf64>) -> tensor<4x8xf64> {
  %z = attn.scale ins(%q : tensor<4x16xf64>) scale_value(%y : f64) outs(%q : tensor<4x16xf64>) -> tensor<4x16xf64>
  %s = attn.scores ins(%z, %q : tensor<4x16xf64>, tensor<4x16xf64>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = attn.scale ins(%s : tensor<4x4xf32>) scale_value(%x : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = attn.softmax ins(%t : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = attn.apply ins(%p, %v : tensor<4x4xf32>, tensor<4x8xf64>) outs(%o : tensor<4x8xf64>) -> tensor<4x8xf64>
  return %r : tensor<4x8xf64>
}

// Every step, with grouped heads, a mask of lower rank and a bias that broadcasts.
// CHECK-LABEL: func @every_step(
//       CHECK:   attn.sdpa ins({{.*}} : tensor<2x8x4x16xf32>, tensor<2x2x6x16xf32>, tensor<2x2x6x8xf32>)
//  CHECK-SAME:     bias(%{{.*}} : tensor<8x1x6xf32>) mask(%{{.*}} : tensor<4x6xi1>) outs(%{{.*}} : tensor<2x8x4x8xf32>)
//  CHECK-SAME:     {causal = #attn.causal<bottom_right>, scale = 2.500000e-01 : f64, softcap = 3.000000e+01 : f64}
func.func @every_step(%q: tensor<2x8x4x16xf32>, %k: tensor<2x2x6x16xf32>, %v: tensor<2x2x6x8xf32>,
                      %b: tensor<8x1x6xf32>, %m: tensor<4x6xi1>, %e: tensor<2x8x4x6xf32>, %o: tensor<2x8x4x8xf32>) -> tensor<2x8x4x8xf32> {
  %s = attn.scores ins(%q, %k : tensor<2x8x4x16xf32>, tensor<2x2x6x16xf32>) outs(%e : tensor<2x8x4x6xf32>)
      -> tensor<2x8x4x6xf32>
  %t = attn.scale ins(%s : tensor<2x8x4x6xf32>) outs(%e : tensor<2x8x4x6xf32>) {scale = 0.25 : f64}
      -> tensor<2x8x4x6xf32>
  %c = attn.softcap ins(%t : tensor<2x8x4x6xf32>) outs(%e : tensor<2x8x4x6xf32>) {softcap = 30.0 : f64}
      -> tensor<2x8x4x6xf32>
  %u = attn.mask ins(%c : tensor<2x8x4x6xf32>) bias(%b : tensor<8x1x6xf32>) outs(%e : tensor<2x8x4x6xf32>)
      -> tensor<2x8x4x6xf32>
  %w = attn.mask ins(%u : tensor<2x8x4x6xf32>) mask(%m : tensor<4x6xi1>)
      outs(%e : tensor<2x8x4x6xf32>) {causal = #attn.causal<bottom_right>} -> tensor<2x8x4x6xf32>
  %p = attn.softmax ins(%w : tensor<2x8x4x6xf32>) outs(%e : tensor<2x8x4x6xf32>) -> tensor<2x8x4x6xf32>
  %r = attn.apply ins(%p, %v : tensor<2x8x4x6xf32>, tensor<2x2x6x8xf32>) outs(%o : tensor<2x8x4x8xf32>)
      -> tensor<2x8x4x8xf32>
  return %r : tensor<2x8x4x8xf32>
}

// Two predicates become one region, their conjunction.
// CHECK-LABEL: func @two_predicates(
//       CHECK:   attn.sdpa {{.*}} mask_mod {
//       CHECK:     %[[FIRST:.*]] = arith.cmpi sle
//       CHECK:     %[[SECOND:.*]] = arith.cmpi ne
//       CHECK:     %[[BOTH:.*]] = arith.andi %[[FIRST]], %[[SECOND]]
//       CHECK:     attn.yield %[[BOTH]]
func.func @two_predicates(%q: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<6x6xf32>,
                          %o: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %s = attn.scores ins(%q, %q : tensor<6x16xf32>, tensor<6x16xf32>) outs(%e : tensor<6x6xf32>) -> tensor<6x6xf32>
  %t = attn.mask ins(%s : tensor<6x6xf32>) outs(%e : tensor<6x6xf32>) {causal} -> tensor<6x6xf32>
  %u = attn.mask ins(%t : tensor<6x6xf32>) outs(%e : tensor<6x6xf32>) mask_mod {
    %i = attn.index query : index
    %j = attn.index key : index
    %keep = arith.cmpi ne, %i, %j : index
    attn.yield %keep : i1
  } -> tensor<6x6xf32>
  %p = attn.softmax ins(%u : tensor<6x6xf32>) outs(%e : tensor<6x6xf32>) -> tensor<6x6xf32>
  %r = attn.apply ins(%p, %v : tensor<6x6xf32>, tensor<6x8xf32>) outs(%o : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}

// K transposed by its map stays where it lies.
// CHECK-LABEL: func @transposed_key(
//       CHECK:   attn.sdpa {{.*}} {maps = [#[[$QUERY]], #[[$KEYT]], #[[$VALUE]], #[[$OUT]]]
func.func @transposed_key(%q: tensor<4x16xf32>, %k: tensor<16x6xf32>, %v: tensor<6x8xf32>, %e: tensor<4x6xf32>,
                          %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<16x6xf32>) outs(%e : tensor<4x6xf32>)
      {maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (d, j)>, affine_map<(i, j, d) -> (i, j)>]}
      -> tensor<4x6xf32>
  %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = attn.apply ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// The log-sum-exp is read between softmax and apply: the fused op stands in front of that, and so does what makes V.
// CHECK-LABEL: func @lse_read_between(
//       CHECK:   %[[V:.*]] = linalg.copy
//       CHECK:   %[[R:.*]]:2 = attn.sdpa ins(%{{.*}}, %{{.*}}, %[[V]] :
//       CHECK:   %[[SUM:.*]] = linalg.exp ins(%[[R]]#1 :
//       CHECK:   return %[[R]]#0, %[[SUM]]
func.func @lse_read_between(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %e: tensor<4x6xf32>,
                            %l: tensor<4xf32>, %o: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %s = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p, %lse = attn.softmax ins(%s : tensor<4x6xf32>) outs(%e, %l : tensor<4x6xf32>, tensor<4xf32>)
      -> tensor<4x6xf32>, tensor<4xf32>
  %sum = linalg.exp ins(%lse : tensor<4xf32>) outs(%l : tensor<4xf32>) -> tensor<4xf32>
  %init = tensor.empty() : tensor<6x8xf32>
  %copy = linalg.copy ins(%v : tensor<6x8xf32>) outs(%init : tensor<6x8xf32>) -> tensor<6x8xf32>
  %r = attn.apply ins(%p, %copy : tensor<4x6xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r, %sum : tensor<4x8xf32>, tensor<4xf32>
}

// Only the matrix of scores knows that there are as many queries as keys.
// CHECK-LABEL: func @causal_of_static_scores(
//       CHECK:   attn.sdpa {{.*}} {causal = #attn.causal<top_left>, scale
func.func @causal_of_static_scores(%q: tensor<?x16xf32>, %k: tensor<?x16xf32>, %v: tensor<?x8xf32>, %e: tensor<4x4xf32>,
                                   %o: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %s = attn.scores ins(%q, %k : tensor<?x16xf32>, tensor<?x16xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %m = attn.mask ins(%s : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {causal} -> tensor<4x4xf32>
  %p = attn.softmax ins(%m : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = attn.apply ins(%p, %v : tensor<4x4xf32>, tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}

// The sizes that two masks ask for are those of Q and K: no matrix of scores stays for its sizes.
// CHECK-LABEL: func @two_masks_of_dynamic_sizes(
//  CHECK-SAME:     %[[Q:[^:]*]]: tensor<?x16xf32>, %[[K:[^:]*]]: tensor<?x16xf32>
//   CHECK-NOT:   attn.scores
//   CHECK-NOT:   attn.mask
//   CHECK-DAG:   tensor.dim %[[Q]]
//   CHECK-DAG:   tensor.dim %[[K]]
//       CHECK:   attn.sdpa
func.func @two_masks_of_dynamic_sizes(%q: tensor<?x16xf32>, %k: tensor<?x16xf32>, %v: tensor<?x8xf32>, %e: tensor<?x?xf32>,
                                      %o: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %s = attn.scores ins(%q, %k : tensor<?x16xf32>, tensor<?x16xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %m = attn.mask ins(%s : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) {causal = #attn.causal<bottom_right>} -> tensor<?x?xf32>
  %n = attn.mask ins(%m : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>)
      {window = #attn.window<left = 3>, align = #attn.causal<bottom_right>} -> tensor<?x?xf32>
  %p = attn.softmax ins(%n : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %r = attn.apply ins(%p, %v : tensor<?x?xf32>, tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}
