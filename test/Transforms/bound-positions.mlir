// RUN: attn-opt %s --split-input-file --attn-bound-positions | FileCheck %s
// RUN: attn-opt %s --split-input-file --attn-bound-positions --attn-bound-positions | FileCheck %s

// What lies inside stays as it is, in each way that one may write it.
// CHECK-LABEL: @inside
//       CHECK:   arith.minsi
//   CHECK-NOT:   arith.minsi
//       CHECK: return
func.func @inside(%s: tensor<2x4x6xf32>, %o: tensor<2x4x6xf32>, %t: tensor<9xf32>, %n: tensor<2x6xi32>) -> tensor<2x4x6xf32> {
  %r = attn.modify ins(%s : tensor<2x4x6xf32>) outs(%o : tensor<2x4x6xf32>) score_mod {
  ^bb0(%x: f32):
    %c0 = arith.constant 0 : index
    %c5 = arith.constant 5 : index
    %c8 = arith.constant 8 : index
    %c9 = arith.constant 9 : index
    %h = attn.index head : index
    %i = attn.index query : index
    %j = attn.index key : index
    // i - j + 5
    %d = arith.subi %i, %j : index
    %distance = arith.addi %d, %c5 : index
    %x0 = tensor.extract %t[%distance] : tensor<9xf32>
    // |i - j|
    %negated = arith.subi %c0, %d : index
    %absolute = arith.maxsi %d, %negated : index
    %x1 = tensor.extract %t[%absolute] : tensor<9xf32>
    // of what is read: clamped, a remainder, the floor modulo of a tracer
    %number = tensor.extract %n[%h, %j] : tensor<2x6xi32>
    %p = arith.index_cast %number : i32 to index
    %low = arith.maxsi %p, %c0 : index
    %clamped = arith.minsi %low, %c8 : index
    %x2 = tensor.extract %t[%clamped] : tensor<9xf32>
    %rest = arith.remui %p, %c9 : index
    %x3 = tensor.extract %t[%rest] : tensor<9xf32>
    %quotient = arith.floordivsi %p, %c9 : index
    %product = arith.muli %quotient, %c9 : index
    %modulo = arith.subi %p, %product : index
    %x4 = tensor.extract %t[%modulo] : tensor<9xf32>
    %bits = arith.andi %p, %c8 : index
    %x5 = tensor.extract %t[%bits] : tensor<9xf32>
    // of a branch that is taken where it is inside
    %isLow = arith.cmpi sge, %d, %c0 : index
    %past = arith.select %isLow, %d, %c0 : index
    %x6 = tensor.extract %t[%past] : tensor<9xf32>
    %signed = arith.remsi %p, %c9 : index
    %isNegative = arith.cmpi slt, %signed, %c0 : index
    %shifted = arith.addi %signed, %c9 : index
    %positive = arith.select %isNegative, %shifted, %signed : index
    %x7 = tensor.extract %t[%positive] : tensor<9xf32>
    %y0 = arith.addf %x0, %x1 : f32
    %y1 = arith.addf %x2, %x3 : f32
    %y2 = arith.addf %x4, %x5 : f32
    %y3 = arith.addf %x6, %x7 : f32
    %z0 = arith.addf %y0, %y1 : f32
    %z1 = arith.addf %y2, %y3 : f32
    %z = arith.addf %z0, %z1 : f32
    attn.yield %z : f32
  } -> tensor<2x4x6xf32>
  return %r : tensor<2x4x6xf32>
}

// -----

// A position that is read is clamped.
// CHECK-LABEL: @read
//       CHECK: score_mod
//   CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
//   CHECK-DAG: %[[LAST:.*]] = arith.constant 3 : index
//       CHECK:   %[[P:.*]] = tensor.extract %{{.*}}[%{{.*}}] : tensor<6xindex>
//  CHECK-NEXT:   %[[BELOW:.*]] = arith.minsi %[[P]], %[[LAST]] : index
//  CHECK-NEXT:   %[[INSIDE:.*]] = arith.maxsi %[[BELOW]], %[[ZERO]] : index
//  CHECK-NEXT:   tensor.extract %{{.*}}[%[[INSIDE]]] : tensor<4xf32>
func.func @read(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>, %n: tensor<6xindex>, %t: tensor<4xf32>) -> tensor<4x6xf32> {
  %r = attn.modify ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) score_mod {
  ^bb0(%x: f32):
    %j = attn.index key : index
    %p = tensor.extract %n[%j] : tensor<6xindex>
    %y = tensor.extract %t[%p] : tensor<4xf32>
    attn.yield %y : f32
  } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// -----

// Only the side that may be outside.
// CHECK-LABEL: @one_side
//       CHECK:   %[[P:.*]] = arith.index_castui
//  CHECK-NEXT:   %[[BELOW:.*]] = arith.minsi %[[P]], %{{.*}} : index
//  CHECK-NEXT:   tensor.extract %{{.*}}[%[[BELOW]]] : tensor<4xf32>
func.func @one_side(%s: tensor<4x6xf32>, %o: tensor<4x6xf32>, %n: tensor<6xi8>, %t: tensor<4xf32>) -> tensor<4x6xf32> {
  %r = attn.modify ins(%s : tensor<4x6xf32>) outs(%o : tensor<4x6xf32>) score_mod {
  ^bb0(%x: f32):
    %j = attn.index key : index
    %byte = tensor.extract %n[%j] : tensor<6xi8>
    %p = arith.index_castui %byte : i8 to index
    %y = tensor.extract %t[%p] : tensor<4xf32>
    attn.yield %y : f32
  } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// -----

// An offset of the caller in a tensor of any size; the key itself has as many elements.
// CHECK-LABEL: @dynamic
//  CHECK-SAME:   %[[T:[^ ]*]]: tensor<?xf32>
//       CHECK:   %[[SIZE:.*]] = tensor.dim %[[T]]
//       CHECK:   %[[LAST:.*]] = arith.subi %[[SIZE]]
//       CHECK:   %[[J:.*]] = attn.index key
//       CHECK:   tensor.extract %[[T]][%[[J]]]
//       CHECK:   %[[BELOW:.*]] = arith.minsi %{{.*}}, %[[LAST]] : index
//  CHECK-NEXT:   %[[INSIDE:.*]] = arith.maxsi %[[BELOW]], %{{.*}} : index
//  CHECK-NEXT:   tensor.extract %[[T]][%[[INSIDE]]]
//   CHECK-NOT:   arith.minsi
func.func @dynamic(%s: tensor<4x?xf32>, %o: tensor<4x?xf32>, %t: tensor<?xf32>, %offset: index) -> tensor<4x?xf32> {
  %r = attn.modify ins(%s : tensor<4x?xf32>) outs(%o : tensor<4x?xf32>) score_mod {
  ^bb0(%x: f32):
    %j = attn.index key : index
    %p = arith.addi %j, %offset : index
    %y = tensor.extract %t[%j] : tensor<?xf32>
    %z = tensor.extract %t[%p] : tensor<?xf32>
    %w = arith.addf %y, %z : f32
    attn.yield %w : f32
  } -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// -----

// Any number of keys in a tensor of 6 elements.
// CHECK-LABEL: @longer
//       CHECK:   %[[J:.*]] = attn.index key
//  CHECK-NEXT:   %[[BELOW:.*]] = arith.minsi %[[J]], %{{.*}} : index
//  CHECK-NEXT:   tensor.extract %{{.*}}[%[[BELOW]]] : tensor<6xf32>
func.func @longer(%s: tensor<4x?xf32>, %o: tensor<4x?xf32>, %t: tensor<6xf32>) -> tensor<4x?xf32> {
  %r = attn.modify ins(%s : tensor<4x?xf32>) outs(%o : tensor<4x?xf32>) score_mod {
  ^bb0(%x: f32):
    %j = attn.index key : index
    %y = tensor.extract %t[%j] : tensor<6xf32>
    attn.yield %y : f32
  } -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// -----

// Nobody checks what a private function is called with.
// CHECK-LABEL: @private
//       CHECK:   tensor.dim
//       CHECK:   arith.minsi
//       CHECK:   arith.maxsi
func.func private @private(%s: tensor<4x?xf32>, %o: tensor<4x?xf32>, %t: tensor<?xf32>) -> tensor<4x?xf32> {
  %r = attn.modify ins(%s : tensor<4x?xf32>) outs(%o : tensor<4x?xf32>) score_mod {
  ^bb0(%x: f32):
    %j = attn.index key : index
    %y = tensor.extract %t[%j] : tensor<?xf32>
    attn.yield %y : f32
  } -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// -----

// No key, no position.
// CHECK-LABEL: @nothing
//   CHECK-NOT:   arith.
func.func @nothing(%s: tensor<4x0xf32>, %o: tensor<4x0xf32>, %t: tensor<0xf32>) -> tensor<4x0xf32> {
  %r = attn.modify ins(%s : tensor<4x0xf32>) outs(%o : tensor<4x0xf32>) score_mod {
  ^bb0(%x: f32):
    %j = attn.index key : index
    %y = tensor.extract %t[%j] : tensor<0xf32>
    attn.yield %y : f32
  } -> tensor<4x0xf32>
  return %r : tensor<4x0xf32>
}
