// RUN: attn-opt %s --attn-emit-entry | FileCheck %s

// Pointers for buffers, numbers as they are; a descriptor of static sizes and strides inside.
// CHECK-LABEL: func @kernel(
//  CHECK-SAME:     %[[Q:[a-z0-9]*]]: !llvm.ptr, %[[S:[a-z0-9]*]]: f32)
//       CHECK:   llvm.insertvalue %[[Q]], %{{.*}}[0]
//       CHECK:   llvm.insertvalue %[[Q]], %{{.*}}[1]
//       CHECK:   %[[ROWS:.*]] = llvm.mlir.constant(4 : index)
//       CHECK:   llvm.insertvalue %[[ROWS]], %{{.*}}[3, 0]
//       CHECK:   %[[STRIDE:.*]] = llvm.mlir.constant(8 : index)
//       CHECK:   llvm.insertvalue %[[STRIDE]], %{{.*}}[4, 0]
//       CHECK:   %[[MEMREF:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<4x8xf32>
//       CHECK:   memref.store %[[S]], %[[MEMREF]]
func.func @kernel(%q: memref<4x8xf32>, %s: f32) attributes {attn.arguments = [
    {name = "q", output = true, type = tensor<4x8xf32>}, {name = "s", output = false, type = f32}]} {
  %zero = arith.constant 0 : index
  memref.store %s, %q[%zero, %zero] : memref<4x8xf32>
  return
}

// CHECK-LABEL: func @helper(
//  CHECK-SAME:     memref<4xf32>
func.func @helper(%q: memref<4xf32>) {
  return
}

// Dynamic sizes are int64 parameters after the arguments; strides are their products.
// CHECK-LABEL: func @dynamic(
//  CHECK-SAME:     %[[Q:[a-z0-9]*]]: !llvm.ptr, %[[B:[a-z0-9]*]]: i64, %[[N:[a-z0-9]*]]: i64)
//       CHECK:   %[[EIGHT:.*]] = llvm.mul
//       CHECK:   llvm.insertvalue %[[N]], %{{.*}}[3, 1]
//       CHECK:   llvm.insertvalue %[[EIGHT]], %{{.*}}[4, 1]
//       CHECK:   %[[PLANE:.*]] = llvm.mul %[[EIGHT]], %[[N]]
//       CHECK:   llvm.insertvalue %[[B]], %{{.*}}[3, 0]
//       CHECK:   llvm.insertvalue %[[PLANE]], %{{.*}}[4, 0]
func.func @dynamic(%q: memref<?x?x8xf32>) attributes {attn.sizes = ["b", "n"], attn.arguments = [
    {name = "q", output = true, sizes = array<i32: 0, 1, -1>, type = tensor<?x?x8xf32>}]} {
  %zero = arith.constant 0 : index
  %value = arith.constant 0.0 : f32
  memref.store %value, %q[%zero, %zero, %zero] : memref<?x?x8xf32>
  return
}
