// RUN: attn-opt %s --attn-lower-tile-to-vector=target=znver4 | FileCheck %s

// Blocks of as many rows as fill the registers: what earlier rows add is a product of that depth, then the triangle of
// the block, whose last row has one multiply-add for each row above it.
// CHECK-LABEL: func @solve(
//  CHECK-SAME:   %[[L:.*]]: memref<13x13xf32>, %[[X:.*]]: memref<13x20xf32>
//       CHECK:   scf.for %[[FIRST:.*]] =
//       CHECK:     vector.load %[[X]]
//       CHECK:     vector.maskedload %[[X]]
//       CHECK:     scf.for %{{.*}} = %{{.*}} to %[[FIRST]]
//       CHECK:       vector.fma
//       CHECK:     memref.load %[[L]]
//       CHECK:     vector.fma
//       CHECK:     vector.store %{{.*}}, %[[X]]
//       CHECK:     vector.maskedstore %[[X]]
//   CHECK-NOT:   attn.solve
func.func @solve(%l: memref<13x13xf32>, %x: memref<13x20xf32>) {
  attn.solve ins(%l : memref<13x13xf32>) outs(%x : memref<13x20xf32>)
  return
}
