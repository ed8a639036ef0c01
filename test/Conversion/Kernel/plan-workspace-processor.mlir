// RUN: attn-opt %s --attn-plan-workspace=processor=true --split-input-file | FileCheck %s

// No stream, multiples of 64; small buffers stay on the stack. The workspace is tested before all else.
// CHECK-LABEL: func.func @two(
//  CHECK-SAME:     %{{.*}}: memref<?xf32>, %[[WORKSPACE:.*]]: !llvm.ptr, %[[BYTES:.*]]: i64) -> i32
//  CHECK-SAME:     attn.workspace
//       CHECK:   arith.constant -64 : index
//       CHECK:   %[[ADDRESS:.*]] = llvm.ptrtoint %[[WORKSPACE]]
//       CHECK:   arith.andi %[[ADDRESS]]
//       CHECK:   arith.cmpi slt, %[[BYTES]]
//       CHECK:   %[[NO_MEMORY:.*]] = arith.constant 12 : i32
//       CHECK:   arith.select %{{.*}}, %[[NO_MEMORY]]
//       CHECK:   memref.alloca() : memref<4xf32>
//       CHECK:   memref.view
//   CHECK-NOT:   memref.dealloc
// CHECK-LABEL: func.func @two_workspace_bytes(
func.func @two(%x: memref<?xf32>) attributes {attn.sizes = ["n"],
    attn.arguments = [{name = "x", output = true, sizes = array<i32: 0>, type = tensor<?xf32>}]} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %s = memref.alloca() : memref<4xf32>
  %a = memref.alloc(%n) : memref<?xf32>
  memref.copy %a, %x : memref<?xf32> to memref<?xf32>
  memref.dealloc %a : memref<?xf32>
  return
}

// -----

// A round of a loop that frees its buffer can leave the place to the next one.
// CHECK-LABEL: func.func @rounds(
//       CHECK:   scf.for
//       CHECK:     memref.view
func.func @rounds(%x: memref<4xf32>) attributes {
    attn.arguments = [{name = "x", output = true, type = tensor<4xf32>}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %a = memref.alloc() : memref<4xf32>
    memref.copy %a, %x : memref<4xf32> to memref<4xf32>
    memref.dealloc %a : memref<4xf32>
  }
  return
}
