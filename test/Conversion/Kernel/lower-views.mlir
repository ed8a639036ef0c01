// One dimension becomes several of dynamic size: sizes and strides are those of the op. Upstream's patterns take all
// others, and ops that are no views stay as they are.
// RUN: attn-opt %s --attn-lower-views --canonicalize | FileCheck %s
// RUN: attn-opt %s --attn-lower-views | FileCheck %s --check-prefix=ALONE

// CHECK-LABEL: func.func @two
//  CHECK-SAME:   (%[[M:.*]]: memref<?xf32>, %[[A:.*]]: index, %[[B:.*]]: index)
//       CHECK:   memref.reinterpret_cast {{.*}} offset: [0], sizes: [%[[A]], 1, %[[B]]], strides: [%[[B]], %[[B]], 1]
func.func @two(%m: memref<?xf32>, %a: index, %b: index) -> memref<?x1x?xf32> {
  %r = memref.expand_shape %m [[0, 1, 2]] output_shape [%a, 1, %b] : memref<?xf32> into memref<?x1x?xf32>
  return %r : memref<?x1x?xf32>
}

// Of a slice, whose strides are dynamic; the other dimension becomes none.
// CHECK-LABEL: func.func @strided
//  CHECK-SAME:   (%[[M:.*]]: memref<?x?xf32, strided<[?, ?], offset: ?>>, %[[A:.*]]: index, %[[B:.*]]: index, %[[N:.*]]: index)
//       CHECK:   %[[BASE:.*]], %[[OFFSET:.*]], %{{.*}}:2, %[[S:.*]]:2 = memref.extract_strided_metadata %[[M]]
//   CHECK-DAG:   %[[S2:.*]] = affine.apply {{.*}}()[%[[S]]#0]
//   CHECK-DAG:   %[[S1:.*]] = affine.apply {{.*}}()[{{.*}}%[[B]]{{.*}}]
//       CHECK:   memref.reinterpret_cast %{{.*}} to offset: [%[[OFFSET]]], sizes: [%[[A]], %[[B]], 4, %[[N]]], strides: [%[[S1]], %[[S2]], %[[S]]#0, %[[S]]#1]
func.func @strided(%m: memref<?x?xf32, strided<[?, ?], offset: ?>>, %a: index, %b: index, %n: index)
    -> memref<?x?x4x?xf32, strided<[?, ?, ?, ?], offset: ?>> {
  %r = memref.expand_shape %m [[0, 1, 2], [3]] output_shape [%a, %b, 4, %n]
      : memref<?x?xf32, strided<[?, ?], offset: ?>> into memref<?x?x4x?xf32, strided<[?, ?, ?, ?], offset: ?>>
  return %r : memref<?x?x4x?xf32, strided<[?, ?, ?, ?], offset: ?>>
}

// CHECK-LABEL: func.func @of_upstream
//       CHECK:   memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [%{{.*}}, 4], strides: [4, 1]
func.func @of_upstream(%m: memref<?xf32>, %a: index) -> memref<?x4xf32> {
  %r = memref.expand_shape %m [[0, 1]] output_shape [%a, 4] : memref<?xf32> into memref<?x4xf32>
  return %r : memref<?x4xf32>
}

// ALONE-LABEL: func.func @no_view
//       ALONE:   arith.addi
func.func @no_view() -> index {
  %c1 = arith.constant 1 : index
  %two = arith.addi %c1, %c1 : index
  return %two : index
}
