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

// Rows that are not there become zero.
// CHECK-LABEL: func @padding(
//       CHECK:   %[[ROWS:.*]] = memref.dim %{{.*}}, %c0
//       CHECK:   arith.cmpi sge, %[[ROWS]], %c4
//       CHECK:   } else {
//       CHECK:     %[[INSIDE:.*]] = arith.cmpi slt, %{{.*}}, %[[ROWS]]
//       CHECK:     scf.if %[[INSIDE]] -> (f32)
//       CHECK:       memref.load
//       CHECK:     } else {
//       CHECK:       scf.yield %cst
func.func @padding(%q: memref<?x16xf32>, %t: memref<16x4xf32>) {
  attn.pack ins(%q : memref<?x16xf32>) outs(%t : memref<16x4xf32>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (d, i)>]}
  return
}
