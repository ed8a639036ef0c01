// RUN: attn-opt %s --attn-lower-tile-to-vector=target=x86-64 --canonicalize --cse --split-input-file | FileCheck %s

// A row of each of four segments, as many as a block of products has keys; then the next row of each. Beside the rows
// of V the next K is asked for, a segment after the other.
// CHECK-LABEL: func @segments(
//  CHECK-SAME:     %[[Q:[a-z0-9]*]]: memref<1x1x8xf32>, %[[K0:[a-z0-9]*]]: memref<1x4x8xf32>, %[[K1:[a-z0-9]*]]: memref<1x4x8xf32>, %[[K2:[a-z0-9]*]]: memref<1x4x8xf32>, %[[K3:[a-z0-9]*]]: memref<1x4x8xf32>, %[[V0:[a-z0-9]*]]: memref<1x4x8xf32>, %[[V1:[a-z0-9]*]]: memref<1x4x8xf32>
//       CHECK:   scf.for %[[ROW:[a-z0-9]*]] = %c0 to %c4 step %c1
//       CHECK:     vector.load %[[K0]][%c0, %[[ROW]], %[[D:[a-z0-9]*]]]
//  CHECK-NEXT:     vector.load %[[K1]][%c0, %[[ROW]], %[[D]]]
//  CHECK-NEXT:     vector.load %[[K2]][%c0, %[[ROW]], %[[D]]]
//  CHECK-NEXT:     vector.load %[[K3]][%c0, %[[ROW]], %[[D]]]
//       CHECK:   scf.for %[[ROW:[a-z0-9]*]] = %c0 to %c4 step %c1
//       CHECK:     %[[NEXT:.*]] = arith.addi %[[ROW]], %c4
//       CHECK:     memref.prefetch %[[K0]][%c0, %[[NEXT]], %c0], read, locality<3>, data
//       CHECK:     memref.prefetch %[[K1]][%c0, %[[NEXT]], %c0], read, locality<3>, data
//       CHECK:     vector.load %[[V0]]
//  CHECK-NEXT:     vector.load %[[V1]]
//   CHECK-NOT:   attn.
#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (0, j, d)>
#v = affine_map<(h, i, j, d, e) -> (0, j, e)>
#acc = affine_map<(h, i, j, d, e) -> (h, i, e)>
#row = affine_map<(h, i, j, d, e) -> (h, i)>
!t = memref<1x4x8xf32>
func.func @segments(%q: memref<1x1x8xf32>, %k0: !t, %k1: !t, %k2: !t, %k3: !t, %v0: !t, %v1: !t, %v2: !t, %v3: !t,
                    %a: memref<1x1x8xf32>, %m: memref<1x1xf32>, %l: memref<1x1xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  attn.prefetch %k0, %k1, %k2, %k3 [%c4, %c0] {rows = 4 : i64, columns = 8 : i64, beside = #attn.contraction<values>,
      map = affine_map<(r, c) -> (0, r, c)>} : !t, !t, !t, !t
  attn.online_step ins(%q, %k0, %v0 : memref<1x1x8xf32>, !t, !t)
      segments keys(%k1, %k2, %k3 : !t, !t, !t) values(%v1, %v2, %v3 : !t, !t, !t)
      outs(%a, %m, %l : memref<1x1x8xf32>, memref<1x1xf32>, memref<1x1xf32>)
      {maps = [#q, #k, #v, #acc, #row, #row], scale = 0.5 : f64,
       schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 4, block_queries = 1, prefetch = 4>}
  return
}
