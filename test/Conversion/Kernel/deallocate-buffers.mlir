// What a function allocates is freed; a module that allocates nothing on the heap stays as it is.
// RUN: attn-opt %s --attn-deallocate-buffers --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @allocates
//       CHECK:   %[[BUFFER:.*]] = memref.alloc
//       CHECK:   memref.store
//       CHECK:   memref.dealloc %[[BUFFER]]
func.func @allocates(%n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %buffer = memref.alloc(%n) : memref<?xf32>
  memref.store %x, %buffer[%c0] : memref<?xf32>
  return
}

// -----

// CHECK-LABEL: func.func @on_the_stack
//       CHECK:   arith.addi
//   CHECK-NOT:   memref.dealloc
func.func @on_the_stack(%m: memref<4xf32>, %x: f32) {
  %c1 = arith.constant 1 : index
  %two = arith.addi %c1, %c1 : index
  %buffer = memref.alloca() : memref<4xf32>
  memref.store %x, %buffer[%two] : memref<4xf32>
  memref.copy %buffer, %m : memref<4xf32> to memref<4xf32>
  return
}

// -----

// The caller owns what is returned: an argument is cloned, and a result is freed.
// CHECK-LABEL: func.func private @returns
//       CHECK:   bufferization.clone
// CHECK-LABEL: func.func @calls
//       CHECK:   %[[MADE:.*]] = call @returns
//       CHECK:   memref.extract_strided_metadata %[[MADE]]
//       CHECK:   memref.dealloc
func.func private @returns(%m: memref<4xf32>) -> memref<4xf32> {
  return %m : memref<4xf32>
}
func.func @calls(%m: memref<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %made = call @returns(%m) : (memref<4xf32>) -> memref<4xf32>
  %x = memref.load %made[%c0] : memref<4xf32>
  return %x : f32
}
