// RUN: attn-opt %s --attn-lower-matmul-to-vector=target=x86-64-v3 --canonicalize --cse | FileCheck %s
// RUN: not attn-opt %s --attn-lower-matmul-to-vector=target=i8086 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: attn-lower-matmul-to-vector: unknown target 'i8086'
// RUN: attn-opt %s --attn-lower-matmul-to-vector=target=znver4 --canonicalize --cse | FileCheck %s --check-prefix=PAIRS

// Two vectors of columns by six rows in registers, from a panel of B on the stack; 200 rows are 33 blocks and two rows.
// CHECK-LABEL: func @blocks_and_rest(
//       CHECK:   scf.forall (%{{.*}}, %{{.*}}) in (2, 4) {
//       CHECK:     %[[PANEL:.*]] = memref.alloca() {alignment = 64 : i64} : memref<256x16xf32>
//       CHECK:     vector.store %{{.*}}, %[[PANEL]][%{{.*}}, %c8]
//       CHECK:     scf.for %{{.*}} step %c6 {
//       CHECK:       scf.for %[[K:.*]] = %c0 to %c256 step %c1 iter_args({{.*}}) -> ({{((vector<8xf32>,? ?){12})}})
//       CHECK:         vector.load %[[PANEL]][%[[K]], %c0]
//       CHECK:         memref.load %arg0[
//       CHECK:         vector.broadcast
//       CHECK:         vector.fma
//   CHECK-NOT:   vector.masked
//       CHECK:     scf.for %{{.*}} step %c2 {
//       CHECK:       scf.for %{{.*}} = %c0 to %c256 step %c1 iter_args({{.*}}) -> ({{((vector<8xf32>,? ?){4})}})
func.func @blocks_and_rest(%a: memref<200x256xf32>, %b: memref<256x64xf32>, %c: memref<200x64xf32>) {
  linalg.matmul ins(%a, %b : memref<200x256xf32>, memref<256x64xf32>) outs(%c : memref<200x64xf32>)
  return
}

// Little work: no threads. One row: B is read where it is, six of its rows along the columns; 59 are nine such blocks
// and five rows. The next rows are asked for, the last one at most. Lanes beyond the last column are masked.
// CHECK-LABEL: func @one_row(
//   CHECK-NOT:   scf.forall
//   CHECK-NOT:   memref.alloca
//       CHECK:   scf.for %[[K:.*]] = %c0 to %c54 step %c6 {
//       CHECK:     scf.for %[[J:.*]] = %c0 to %c37 step %c16 {
//       CHECK:       vector.create_mask
//       CHECK:       %[[NEXT:.*]] = arith.addi %[[K]], %c6
//       CHECK:       %[[ROW:.*]] = arith.minsi %[[NEXT]], %c58
//       CHECK:       memref.prefetch %arg1[%[[ROW]], %[[J]]], read, locality<3>
//       CHECK:       scf.for %{{.*}} = %c0 to %c6 step %c1
//       CHECK:         vector.maskedload %arg1[%{{.*}}, %[[J]]]
//       CHECK:       vector.maskedstore %arg2[%c0, %[[J]]]
//       CHECK:   scf.for %{{.*}} = %c0 to %c37 step %c16 {
//       CHECK:       scf.for %{{.*}} = %c0 to %c5 step %c1
func.func @one_row(%a: memref<1x59xf32>, %b: memref<59x37xf32>, %c: memref<1x37xf32>) {
  linalg.matmul ins(%a, %b : memref<1x59xf32>, memref<59x37xf32>) outs(%c : memref<1x37xf32>)
  return
}

// Rows that only the call knows: what fills no block goes one by one.
// CHECK-LABEL: func @dynamic_rows(
//       CHECK:   %[[ROWS:.*]] = memref.dim %arg0, %c0
//       CHECK:   arith.ceildivui %[[ROWS]], %c126
//       CHECK:   scf.for %{{.*}} step %c6 {
//       CHECK:   scf.for %{{.*}} step %c1 {
//       CHECK:     iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>)
func.func @dynamic_rows(%a: memref<?x64xf32>, %b: memref<64x16xf32>, %c: memref<?x16xf32>) {
  linalg.matmul ins(%a, %b : memref<?x64xf32>, memref<64x16xf32>) outs(%c : memref<?x16xf32>)
  return
}

// Keys as rows (K is B transposed), heads in groups of four: the panel is a transpose of K.
// CHECK-LABEL: func @scores_of_shared_heads(
//       CHECK:   affine.apply #{{.*}}(%{{.*}})
//       CHECK:   vector.shuffle
//       CHECK:   vector.store %{{.*}}, %{{.*}} : memref<32x8xf32>, vector<8xf32>
func.func @scores_of_shared_heads(%q: memref<8x32x32xf32>, %k: memref<2x8x32xf32>, %s: memref<8x32x8xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(h, i, j, d) -> (h, i, d)>, affine_map<(h, i, j, d) -> (h floordiv 4, j, d)>,
                       affine_map<(h, i, j, d) -> (h, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : memref<8x32x32xf32>, memref<2x8x32xf32>) outs(%s : memref<8x32x8xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %t = arith.addf %z, %p : f32
    linalg.yield %t : f32
  }
  return
}

// No matmul: integers, and a C whose lanes lie apart.
// CHECK-LABEL: func @others(
//       CHECK:   linalg.matmul
//       CHECK:   linalg.matmul
func.func @others(%a: memref<4x4xi32>, %x: memref<4x4xf32>, %y: memref<4x4xf32, strided<[1, 4]>>) {
  linalg.matmul ins(%a, %a : memref<4x4xi32>, memref<4x4xi32>) outs(%a : memref<4x4xi32>)
  linalg.matmul ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%y : memref<4x4xf32, strided<[1, 4]>>)
  return
}

// A batch of short sequences: its rows are one dimension.
// CHECK-LABEL: func @rows_of_a_batch(
//       CHECK:   %[[A:.*]] = memref.collapse_shape %arg0 {{\[\[}}0, 1], [2]] : memref<?x3x32xf32> into memref<?x32xf32>
//       CHECK:   %[[C:.*]] = memref.collapse_shape %arg2 {{\[\[}}0, 1], [2]]
//       CHECK:   scf.forall (%{{.*}}) in (
//       CHECK:     memref.load %[[A]][
//       CHECK:     vector.store %{{.*}}, %[[C]][
func.func @rows_of_a_batch(%x: memref<?x3x32xf32>, %w: memref<32x16xf32>, %y: memref<?x3x16xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(b, s, f, e) -> (b, s, e)>, affine_map<(b, s, f, e) -> (e, f)>,
                       affine_map<(b, s, f, e) -> (b, s, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<?x3x32xf32>, memref<32x16xf32>) outs(%y : memref<?x3x16xf32>) {
  ^bb0(%x0: f32, %w0: f32, %z: f32):
    %p = arith.mulf %x0, %w0 : f32
    %t = arith.addf %z, %p : f32
    linalg.yield %t : f32
  }
  return
}

// Weights by values: a weight of zero takes nothing, whatever V holds.
// CHECK-LABEL: func @zeros_take_nothing(
//       CHECK:   %[[P:.*]] = vector.broadcast
//       CHECK:   %[[IS_TAKEN:.*]] = arith.cmpf une, %[[P]], %{{.*}} : vector<8xf32>
//       CHECK:   %[[SUM:.*]] = vector.fma %[[P]], %{{.*}}, %[[OLD:.*]] : vector<8xf32>
//       CHECK:   arith.select %[[IS_TAKEN]], %[[SUM]], %[[OLD]]
func.func @zeros_take_nothing(%p: memref<4x16xf32>, %v: memref<16x8xf32>, %o: memref<4x8xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {
      indexing_maps = [affine_map<(i, e, j) -> (i, j)>, affine_map<(i, e, j) -> (j, e)>, affine_map<(i, e, j) -> (i, e)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p, %v : memref<4x16xf32>, memref<16x8xf32>) outs(%o : memref<4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %is_zero = arith.cmpf oeq, %x, %zero : f32
    %product = arith.mulf %x, %y : f32
    %taken = arith.select %is_zero, %zero, %product : f32
    %t = arith.addf %z, %taken : f32
    linalg.yield %t : f32
  }
  return
}

// With enough rows for a panel: those panels that hold no NaN are multiplied without a look at the weights.
// CHECK-LABEL: func @zeros_of_many_rows(
//       CHECK:   %[[PANEL:.*]] = memref.alloca()
//       CHECK:   %[[SUM:.*]] = scf.for {{.*}} -> (vector<8xf32>)
//       CHECK:     vector.fma
//       CHECK:   %[[IS_ZERO:.*]] = arith.cmpf oeq, %[[SUM]]
//       CHECK:   %[[IS_FINITE:.*]] = vector.reduction <and>, %[[IS_ZERO]]
//       CHECK:   scf.if %[[IS_FINITE]] {
//   CHECK-NOT:     arith.select
//       CHECK:   } else {
//       CHECK:     arith.select
func.func @zeros_of_many_rows(%p: memref<16x16xf32>, %v: memref<16x8xf32>, %o: memref<16x8xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {
      indexing_maps = [affine_map<(i, e, j) -> (i, j)>, affine_map<(i, e, j) -> (j, e)>, affine_map<(i, e, j) -> (i, e)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p, %v : memref<16x16xf32>, memref<16x8xf32>) outs(%o : memref<16x8xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %is_zero = arith.cmpf oeq, %x, %zero : f32
    %product = arith.mulf %x, %y : f32
    %taken = arith.select %is_zero, %zero, %product : f32
    %t = arith.addf %z, %taken : f32
    linalg.yield %t : f32
  }
  return
}

// bf16 where the target multiplies pairs: 59 rows of B are 29 pairs and one beside 0.
// PAIRS-LABEL: func @pairs_of_rows(
//       PAIRS:   %[[PANEL:.*]] = memref.alloca() {alignment = 64 : i64} : memref<30x64xbf16>
//       PAIRS:   scf.for %{{.*}} = %c0 to %c29 step %c1 {
//       PAIRS:     vector.maskedload %arg1
//       PAIRS:     vector.interleave
//       PAIRS:     vector.store %{{.*}}, %[[PANEL]]
//       PAIRS:   scf.for %{{.*}} = %c0 to %c29 step %c1 iter_args
//       PAIRS:     vector.load %arg0[{{.*}}] : memref<24x59xbf16>, vector<2xbf16>
//       PAIRS:     x86vector.avx512.dot
//       PAIRS:   memref.load %arg0[{{.*}}] : memref<24x59xbf16>
//       PAIRS:   arith.extui
//       PAIRS:   x86vector.avx512.dot
func.func @pairs_of_rows(%a: memref<24x59xbf16>, %b: memref<59x20xbf16>, %c: memref<24x20xf32>) {
  linalg.matmul ins(%a, %b : memref<24x59xbf16>, memref<59x20xbf16>) outs(%c : memref<24x20xf32>)
  return
}

// Rows of B transposed: a pair is two elements that lie together.
// PAIRS-LABEL: func @pairs_of_a_transpose(
//       PAIRS:   vector.load %arg1[{{.*}}] : memref<16x32xbf16>, vector<8xbf16>
//       PAIRS:   vector.bitcast %{{.*}} : vector<8xbf16> to vector<4xi32>
//       PAIRS:   x86vector.avx512.dot
func.func @pairs_of_a_transpose(%a: memref<24x32xbf16>, %b: memref<16x32xbf16>, %c: memref<24x16xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<24x32xbf16>, memref<16x32xbf16>) outs(%c : memref<24x16xf32>) {
  ^bb0(%x: bf16, %y: bf16, %z: f32):
    %x0 = arith.extf %x : bf16 to f32
    %y0 = arith.extf %y : bf16 to f32
    %p = arith.mulf %x0, %y0 : f32
    %t = arith.addf %z, %p : f32
    linalg.yield %t : f32
  }
  return
}

// B is one panel of the target's width (attn-pack-weights): it is read where it is.
// CHECK-LABEL: func @panel(
//   CHECK-NOT:   memref.alloca
//       CHECK:   scf.for %[[K:.*]] = %c0 to %c256 step %c1 iter_args({{.*}}) -> ({{((vector<8xf32>,? ?){12})}})
//       CHECK:     vector.load %arg1[%[[K]], %c0]
//       CHECK:     vector.load %arg1[%[[K]], %c8]
func.func @panel(%a: memref<128x256xf32>, %b: memref<256x16xf32, strided<[16, 1], offset: ?>>, %c: memref<128x16xf32>) {
  linalg.matmul ins(%a, %b : memref<128x256xf32>, memref<256x16xf32, strided<[16, 1], offset: ?>>)
      outs(%c : memref<128x16xf32>)
  return
}

// B is gathered from an image, as im2col: row k of the panel is channel k / 3, moved by k mod 3.
// CHECK-LABEL: func @gathered(
//       CHECK:   %[[PANEL:.*]] = memref.alloca() {{.*}} : memref<12x16xf32>
//       CHECK:   scf.for %[[K:.*]] = %c0 to %c12 step %c1 {
//   CHECK-DAG:     affine.apply {{.*}}(%{{.*}}, %[[K]])
//       CHECK:     vector.load %arg1[%{{.*}}, %{{.*}}] : memref<4x34xf32>, vector<8xf32>
//       CHECK:     vector.store %{{.*}}, %[[PANEL]][%[[K]], %c0]
//       CHECK:   scf.for %{{.*}} = %c0 to %c12 step %c1 iter_args({{.*}}) -> ({{((vector<8xf32>,? ?){12})}})
//       CHECK:     vector.load %[[PANEL]]
func.func @gathered(%w: memref<24x12xf32>, %x: memref<4x34xf32>, %y: memref<24x32xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(o, i, k) -> (o, k)>, affine_map<(o, i, k) -> (k floordiv 3, i + k mod 3)>,
                       affine_map<(o, i, k) -> (o, i)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%w, %x : memref<24x12xf32>, memref<4x34xf32>) outs(%y : memref<24x32xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %old, %p : f32
    linalg.yield %s : f32
  }
  return
}
