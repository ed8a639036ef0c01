// What the regions of an op read of buffers is an effect of the op.
// RUN: attn-opt %s --cse --loop-invariant-code-motion | FileCheck %s

// The buffer changes between the two: neither can stand for the other. Without a write, one can.
// CHECK-LABEL: func @masks(
//       CHECK:   %[[FIRST:.*]] = attn.sdpa
//       CHECK:   memref.store
//       CHECK:   %[[SECOND:.*]] = attn.sdpa
//   CHECK-NOT:   attn.sdpa
//       CHECK:   return %[[FIRST]], %[[SECOND]], %[[SECOND]]
func.func @masks(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>, %m: memref<6xi1>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %true = arith.constant true
  %c0 = arith.constant 0 : index
  %0 = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) mask_mod {
    %j = attn.index key : index
    %x = memref.load %m[%j] : memref<6xi1>
    attn.yield %x : i1
  } -> tensor<4x8xf32>
  memref.store %true, %m[%c0] : memref<6xi1>
  %1 = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) mask_mod {
    %j = attn.index key : index
    %x = memref.load %m[%j] : memref<6xi1>
    attn.yield %x : i1
  } -> tensor<4x8xf32>
  %2 = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) mask_mod {
    %j = attn.index key : index
    %x = memref.load %m[%j] : memref<6xi1>
    attn.yield %x : i1
  } -> tensor<4x8xf32>
  return %0, %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// A tile is asked again for each content of the buffer.
// CHECK-LABEL: func @tiles(
//       CHECK:   scf.for
//       CHECK:     attn.classify_tile
//       CHECK:     memref.store %false
//       CHECK:     attn.classify_tile
func.func @tiles(%rows: index, %m: memref<6xi1>, %out: memref<6x2xi8>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %false = arith.constant false
  scf.for %i = %c0 to %c6 step %c1 {
    %first = attn.classify_tile rows(%rows) keys(%c6) {query_tile = 64, lanes = 16} mask_mod {
      %j = attn.index key : index
      %x = memref.load %m[%j] : memref<6xi1>
      attn.yield %x : i1
    } : i8
    memref.store %first, %out[%i, %c0] : memref<6x2xi8>
    memref.store %false, %m[%i] : memref<6xi1>
    %second = attn.classify_tile rows(%rows) keys(%c6) {query_tile = 64, lanes = 16} mask_mod {
      %j = attn.index key : index
      %x = memref.load %m[%j] : memref<6xi1>
      attn.yield %x : i1
    } : i8
    memref.store %second, %out[%i, %c1] : memref<6x2xi8>
  }
  return
}

// One that reads nothing is the same in every iteration.
// CHECK-LABEL: func @pure_tile(
//       CHECK:   attn.classify_tile
//       CHECK:   scf.for
func.func @pure_tile(%rows: index, %out: memref<6xi8>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  scf.for %i = %c0 to %c6 step %c1 {
    %kind = attn.classify_tile rows(%rows) keys(%c6) {query_tile = 64, lanes = 16} mask_mod {
      %j = attn.index key : index
      %x = arith.cmpi slt, %j, %c1 : index
      attn.yield %x : i1
    } : i8
    memref.store %kind, %out[%i] : memref<6xi8>
  }
  return
}
