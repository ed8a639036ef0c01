// RUN: attn-opt %s --attn-lower-copies --split-input-file | FileCheck %s

// Into the rows of a larger buffer: one run of memory a head.
// CHECK-LABEL: func @strided(
//   CHECK-NOT:   memref.copy
//       CHECK:   linalg.generic {{.*}} ins(%{{.*}} : memref<2x6x8xf32>) outs(%{{.*}} : memref<2x6x8xf32, strided<[144, 8, 1]
func.func @strided(%new: memref<2x6x8xf32>, %present: memref<2x6x8xf32, strided<[144, 8, 1], offset: 96>>) {
  memref.copy %new, %present : memref<2x6x8xf32> to memref<2x6x8xf32, strided<[144, 8, 1], offset: 96>>
  return
}

// -----

// CHECK-LABEL: func @contiguous(
//       CHECK:   memref.copy %{{.*}} : memref<?x8xf32> to memref<?x8xf32>
//       CHECK:   memref.copy %{{.*}} : memref<6x8xf32> to memref<6x8xf32, strided<[8, 1], offset: 96>>
func.func @contiguous(%a: memref<?x8xf32>, %b: memref<?x8xf32>, %c: memref<6x8xf32>,
                      %d: memref<6x8xf32, strided<[8, 1], offset: 96>>) {
  memref.copy %a, %b : memref<?x8xf32> to memref<?x8xf32>
  memref.copy %c, %d : memref<6x8xf32> to memref<6x8xf32, strided<[8, 1], offset: 96>>
  return
}
