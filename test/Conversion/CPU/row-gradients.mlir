// RUN: attn-opt %s --attn-lower-tile-to-vector=target=x86-64-v3 --canonicalize --cse | FileCheck %s

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#r = affine_map<(i, j, d, e) -> (i)>
#o = affine_map<(i, j, d, e) -> (i, e)>
#b = affine_map<(i, j, d, e) -> (i, j)>
#bt = affine_map<(i, j, d, e) -> (j, i)>
#schedule = #attn.backward<query_tile = 4, key_tile = 8, lanes = 8, block_rows = 2, block_vectors = 1>
!q = memref<4x8xf32>
!k = memref<8x8xf32>
!r = memref<4xf32>

// p = 2^((s - lse) log2 e - log_sum log2 e) and g = scale p (dw - delta). In a row without keys lse is inf, and p 0.
// CHECK-LABEL: func @row(
//  CHECK-SAME:     memref<4x8xf32>, %[[DELTAS:[a-z0-9]*]]: memref<4xf32>, %{{[a-z0-9]*}}: memref<8x8xf32>
//   CHECK-DAG:   %[[NONE:.*]] = arith.constant 0xFF800000 : f32
//   CHECK-DAG:   %[[INF:.*]] = arith.constant 0x7F800000 : f32
//   CHECK-DAG:   %[[SCALE:.*]] = arith.constant dense<5.000000e-01> : vector<8xf32>
//   CHECK-DAG:   %[[LOG2E:.*]] = arith.constant dense<1.44269502> : vector<8xf32>
//       CHECK:   scf.for %[[ROW:[a-z0-9]*]] = %{{.*}} to %{{.*}} step %c1 {
//       CHECK:     %[[READ:.*]] = memref.load %{{.*}}[%[[ROW]]]
//       CHECK:     %[[EMPTY:.*]] = arith.cmpf oeq, %[[READ]], %[[NONE]]
//       CHECK:     arith.select %[[EMPTY]], %[[INF]], %[[READ]]
//       CHECK:     arith.select %[[EMPTY]], %{{.*}}, %{{.*}} : f32
//       CHECK:     %[[OF_ROW:.*]] = memref.load %[[DELTAS]][%[[ROW]]]
//  CHECK-NEXT:     %[[DELTA:.*]] = vector.broadcast %[[OF_ROW]]
//       CHECK:     %[[RAW:.*]] = vector.load
//       CHECK:     arith.mulf %[[RAW]], %[[SCALE]]
//       CHECK:     math.fma %{{.*}}, %[[LOG2E]], %{{.*}}
//       CHECK:     %[[P:.*]] = arith.mulf
//  CHECK-NEXT:     %[[DW:.*]] = vector.load
//  CHECK-NEXT:     %[[DIFFERENCE:.*]] = arith.subf %[[DW]], %[[DELTA]]
//  CHECK-NEXT:     %[[DS:.*]] = arith.mulf %[[P]], %[[DIFFERENCE]]
//  CHECK-NEXT:     %[[G:.*]] = arith.mulf %[[DS]], %[[SCALE]]
//  CHECK-NEXT:     vector.store %[[G]]
func.func @row(%q: !q, %k: !k, %lse: !r, %do: !q, %delta: !r, %kt: !k, %vt: !k, %dq: !q, %logsum: !r) {
  attn.backward_step ins(%q, %k, %k, %lse, %do, %delta : !q, !k, !k, !r, !q, !r) log_sum(%logsum : !r)
      transposed(%kt, %vt : !k, !k) dquery(%dq : !q)
      {maps = [#q, #k, #v, #r, #o, #r, #r, #q], scale = 0.5 : f64, schedule = #schedule}
  return
}

// score_grad takes the scaled score and p (dw - delta). What it or V makes of a removed key is 0.
// CHECK-LABEL: func @functions(
//   CHECK-DAG:   %[[MINUSINF:.*]] = arith.constant dense<0xFF800000> : vector<8xf32>
//   CHECK-DAG:   %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<8xf32>
//   CHECK-DAG:   %[[SCALE:.*]] = arith.constant dense<5.000000e-01> : vector<8xf32>
//       CHECK:   %[[SCORE:.*]] = arith.mulf %{{.*}}, %[[SCALE]]
//       CHECK:   %[[MODIFIED:.*]] = math.absf %[[SCORE]]
//       CHECK:   %[[KEEP:.*]] = arith.cmpi sle
//       CHECK:   arith.select %[[KEEP]], %[[MODIFIED]], %[[MINUSINF]]
//       CHECK:   %[[REMOVED:.*]] = arith.cmpf oeq, %{{.*}}, %[[ZERO]]
//       CHECK:   %[[DS:.*]] = arith.select %[[REMOVED]], %[[ZERO]], %{{.*}}
//  CHECK-NEXT:   %[[GRAD:.*]] = math.copysign %[[DS]], %[[SCORE]]
//  CHECK-NEXT:   %[[KEPT:.*]] = arith.select %[[REMOVED]], %[[ZERO]], %[[GRAD]]
//  CHECK-NEXT:   arith.mulf %[[KEPT]], %[[SCALE]]
func.func @functions(%q: !q, %k: !k, %lse: !r, %do: !q, %delta: !r, %kt: !k, %vt: !k, %dq: !q) {
  attn.backward_step ins(%q, %k, %k, %lse, %do, %delta : !q, !k, !k, !r, !q, !r)
      transposed(%kt, %vt : !k, !k) dquery(%dq : !q)
      {maps = [#q, #k, #v, #r, #o, #r, #q], scale = 0.5 : f64, schedule = #schedule} score_mod {
  ^bb0(%s: f32):
    %x = math.absf %s : f32
    attn.yield %x : f32
  } score_grad {
  ^bb0(%s: f32, %g: f32):
    %x = math.copysign %g, %s : f32
    attn.yield %x : f32
  } mask_mod {
    %j = attn.index key : index
    %i = attn.index query : index
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }
  return
}

// The bias has the scores' gradient in front of their scale.
// CHECK-LABEL: func @bias(
//  CHECK-SAME:     %[[DB:[a-z0-9]*]]: memref<4x8xf32>) {
//       CHECK:   %[[OLD:.*]] = vector.load %[[DB]][%[[ROW:.*]], %c0]
//  CHECK-NEXT:   %[[NEW:.*]] = arith.addf %[[OLD]], %[[DS:.*]] : vector<8xf32>
//  CHECK-NEXT:   vector.store %[[NEW]], %[[DB]][%[[ROW]], %c0]
//  CHECK-NEXT:   arith.mulf %[[DS]],
func.func @bias(%q: !q, %k: !k, %lse: !r, %do: !q, %delta: !r, %kt: !k, %vt: !k, %bias: !q, %db: !q) {
  attn.backward_step ins(%q, %k, %k, %lse, %do, %delta : !q, !k, !k, !r, !q, !r) bias(%bias : !q)
      transposed(%kt, %vt : !k, !k) dbias(%db : !q)
      {maps = [#q, #k, #v, #r, #o, #r, #b, #b], scale = 0.5 : f64, schedule = #schedule}
  return
}

// All keys of a row have one bias.
// CHECK-LABEL: func @bias_of_rows(
//  CHECK-SAME:     %[[DB:[a-z0-9]*]]: memref<4xf32>) {
//       CHECK:   %[[SUM:.*]] = vector.reduction <add>
//  CHECK-NEXT:   %[[OLD:.*]] = memref.load %[[DB]][%[[ROW:.*]]]
//  CHECK-NEXT:   %[[NEW:.*]] = arith.addf %[[OLD]], %[[SUM]]
//  CHECK-NEXT:   memref.store %[[NEW]], %[[DB]][%[[ROW]]]
func.func @bias_of_rows(%q: !q, %k: !k, %lse: !r, %do: !q, %delta: !r, %kt: !k, %vt: !k, %bias: !r, %db: !r) {
  attn.backward_step ins(%q, %k, %k, %lse, %do, %delta : !q, !k, !k, !r, !q, !r) bias(%bias : !r)
      transposed(%kt, %vt : !k, !k) dbias(%db : !r)
      {maps = [#q, #k, #v, #r, #o, #r, #r, #r], scale = 0.5 : f64, schedule = #schedule}
  return
}

// Keys of a bias that do not follow each other are added to one by one.
// CHECK-LABEL: func @transposed_bias(
//  CHECK-SAME:     %[[DB:[a-z0-9]*]]: memref<8x4xf32>) {
//       CHECK:   vector.extract %[[DS:.*]][0]
//       CHECK:   memref.store %{{.*}}, %[[DB]][%c0, %[[ROW:.*]]]
//       CHECK:   vector.extract %[[DS]][7]
//       CHECK:   memref.store %{{.*}}, %[[DB]][%c7, %[[ROW]]]
//   CHECK-NOT:   vector.store %{{.*}}, %[[DB]]
func.func @transposed_bias(%q: !q, %k: !k, %lse: !r, %do: !q, %delta: !r, %kt: !k, %vt: !k,
                           %bias: memref<8x4xf32>, %db: memref<8x4xf32>) {
  attn.backward_step ins(%q, %k, %k, %lse, %do, %delta : !q, !k, !k, !r, !q, !r) bias(%bias : memref<8x4xf32>)
      transposed(%kt, %vt : !k, !k) dbias(%db : memref<8x4xf32>)
      {maps = [#q, #k, #v, #r, #o, #r, #bt, #bt], scale = 0.5 : f64, schedule = #schedule}
  return
}
