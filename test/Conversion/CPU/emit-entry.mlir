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
