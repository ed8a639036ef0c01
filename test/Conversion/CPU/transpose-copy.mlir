// RUN: attn-opt %s --attn-lower-tile-to-vector=target=x86-64 --canonicalize --cse | FileCheck %s

// Squares of 4 x 4 in registers: two rounds of shuffles. Columns that fill no square go one by one.
// CHECK-LABEL: func @squares(
//       CHECK:   vector.load
// CHECK-COUNT-3:   vector.load %{{.*}} : memref<4x6xf32>, vector<4xf32>
// CHECK-COUNT-8:   vector.shuffle
// CHECK-COUNT-4:   vector.store %{{.*}} : memref<6x4xf32>, vector<4xf32>
//       CHECK:   scf.for %{{.*}} = %c4 to %c6 step %c1
//       CHECK:     memref.load
//       CHECK:     memref.store
func.func @squares(%q: memref<4x6xf32>, %t: memref<6x4xf32>) {
  attn.pack ins(%q : memref<4x6xf32>) outs(%t : memref<6x4xf32>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (d, i)>]}
  return
}

// Rows that are not there become zero: the last one is read in their place, and their lanes are cleared. A vector of
// none at all reads nothing.
// CHECK-LABEL: func @padding(
//       CHECK:   %[[ROWS:.*]] = memref.dim %{{.*}}, %c0
//       CHECK:   %[[ANY:.*]] = arith.cmpi sgt, %[[ROWS]], %c0
//       CHECK:   scf.if %[[ANY]]
//       CHECK:     %[[MASK:.*]] = vector.create_mask %[[ROWS]] : vector<4xi1>
//       CHECK:     %[[LAST:.*]] = arith.subi %[[ROWS]], %c1
//       CHECK:     arith.minsi %[[LAST]], %c3
//       CHECK:     scf.for %{{.*}} = %c0 to %c16 step %c4
// CHECK-COUNT-4:       vector.load %{{.*}} : memref<?x16xf32>, vector<4xf32>
//       CHECK:       arith.select %[[MASK]]
//       CHECK:   } else {
//   CHECK-NOT:     load
//       CHECK:     vector.store %cst, %{{.*}} : memref<16x4xf32>, vector<4xf32>
func.func @padding(%q: memref<?x16xf32>, %t: memref<16x4xf32>) {
  attn.pack ins(%q : memref<?x16xf32>) outs(%t : memref<16x4xf32>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (d, i)>]}
  return
}
