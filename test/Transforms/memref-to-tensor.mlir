// Numbers are in test/python/test_memrefs.py.
// RUN: attn-opt %s --attn-memref-to-tensor --split-input-file | FileCheck %s

// CHECK-LABEL: func @in_place(
//  CHECK-SAME:     %[[Q:.*]]: memref<4x8xf32>, %[[K:.*]]: memref<?x8xf32>
//       CHECK:   %[[INPUT:.*]] = bufferization.to_tensor %[[Q]] restrict writable
//       CHECK:   %[[KEYS:.*]] = bufferization.to_tensor %[[K]] restrict : memref<?x8xf32>
//       CHECK:   %[[RESULT:.*]] = attn.sdpa ins(%[[INPUT]], %[[KEYS]], %[[KEYS]] : {{.*}}) outs(%[[INPUT]] : tensor<4x8xf32>)
//       CHECK:   bufferization.materialize_in_destination %[[RESULT]] in restrict writable %[[Q]]
//   CHECK-NOT:   bufferization
func.func @in_place(%q: memref<4x8xf32>, %k: memref<?x8xf32>) {
  attn.sdpa ins(%q, %k, %k : memref<4x8xf32>, memref<?x8xf32>, memref<?x8xf32>) outs(%q : memref<4x8xf32>)
  return
}

// -----

// What lies in an allocation between the steps, of dynamic size too, is no memory any more.
// CHECK-LABEL: func @chain(
//       CHECK:   %[[SCORES:.*]] = attn.scores
//       CHECK:   %[[WEIGHTS:.*]] = attn.softmax ins(%[[SCORES]] :
//   CHECK-NOT:   outs(%[[SCORES]]
//       CHECK:   attn.apply ins(%[[WEIGHTS]],
//   CHECK-NOT:   memref.dealloc
func.func @chain(%q: memref<4x8xf32>, %k: memref<?x8xf32>, %n: index, %o: memref<4x8xf32>) {
  %s = memref.alloc(%n) : memref<4x?xf32>
  attn.scores ins(%q, %k : memref<4x8xf32>, memref<?x8xf32>) outs(%s : memref<4x?xf32>)
  attn.softmax ins(%s : memref<4x?xf32>) outs(%s : memref<4x?xf32>)
  attn.apply ins(%s, %k : memref<4x?xf32>, memref<?x8xf32>) outs(%o : memref<4x8xf32>)
  memref.dealloc %s : memref<4x?xf32>
  return
}

// -----

// Of a call nobody knows what it writes.
// CHECK-LABEL: func @call(
//       CHECK:   attn.scores
//       CHECK:   bufferization.materialize_in_destination
//       CHECK:   call @unknown
//       CHECK:   %[[READ:.*]] = bufferization.to_tensor %[[S:.*]] restrict writable
//       CHECK:   attn.softmax ins(%[[READ]] :
func.func private @unknown()
func.func @call(%q: memref<4x8xf32>, %k: memref<6x8xf32>, %s: memref<4x6xf32>) {
  attn.scores ins(%q, %k : memref<4x8xf32>, memref<6x8xf32>) outs(%s : memref<4x6xf32>)
  call @unknown() : () -> ()
  attn.softmax ins(%s : memref<4x6xf32>) outs(%s : memref<4x6xf32>)
  return
}

// -----

// Tiles are on memrefs after bufferisation, and so is a kernel that an earlier run has brought there.
// CHECK-LABEL: func @tile(
//   CHECK-NOT:   bufferization
func.func @tile(%a: memref<4x8xf32>, %m: memref<4xf32>, %l: memref<4xf32>) {
  attn.init_state outs(%a, %m, %l : memref<4x8xf32>, memref<4xf32>, memref<4xf32>)
  return
}
