// RUN: attn-opt %s --attn-add-prefetches --cse --split-input-file | FileCheck %s
// Twice is once.
// RUN: attn-opt %s --attn-add-prefetches --attn-add-prefetches --cse --split-input-file | FileCheck %s

// Two segments of a dense K: their first rows in front of the loop; K of the next tile, half the distance on in each of
// them, beside the product with V; V of this tile beside that with K.
// CHECK-LABEL: func @segments(
//  CHECK-SAME:     %[[K:[a-z0-9]*]]: tensor<1x64x16xf32>
//       CHECK:   scf.forall
//       CHECK:     %[[F0:.*]] = tensor.extract_slice %[[K]][0, %c0, 0]
//       CHECK:     %[[SECOND:.*]] = arith.addi %c0, %c32
//       CHECK:     %[[F1:.*]] = tensor.extract_slice %[[K]][0, %[[SECOND]], 0]
//       CHECK:     attn.prefetch %[[F0]], %[[F1]][%c0, %c0] {columns = 16 : i64, map = #{{.*}}, rows = 1 : i64}
//       CHECK:     attn.prefetch {{.*}} rows = 1 : i64}
//       CHECK:     scf.for
//       CHECK:       %[[K0:.*]] = tensor.extract_slice %[[K]]
//       CHECK:       %[[K1:.*]] = tensor.extract_slice %[[K]]
//       CHECK:       attn.prefetch %[[K0]], %[[K1]][%c8, %c0] {beside = #attn.contraction<values>, columns = 16 : i64, map = #{{.*}}, rows = 8 : i64}
//       CHECK:       attn.prefetch %{{.*}}, %{{.*}}[%c0, %c0] {beside = #attn.contraction<scores>,
//   CHECK-NOT:       attn.prefetch
//       CHECK:       attn.online_step
#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (0, j, d)>
#v = affine_map<(h, i, j, d, e) -> (0, j, e)>
#acc = affine_map<(h, i, j, d, e) -> (h, i, e)>
#row = affine_map<(h, i, j, d, e) -> (h, i)>
!s = tensor<1x8x16xf32>
!a = tensor<2x1x16xf32>
!r = tensor<2x1xf32>
func.func @segments(%q: !a, %k: tensor<1x64x16xf32>, %v: tensor<1x64x16xf32>, %a0: !a, %m0: !r, %l0: !r) -> !a {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %all = scf.forall (%head) in (1) shared_outs(%o = %a0) -> (!a) {
    %x:3 = scf.for %row = %c0 to %c32 step %c8 iter_args(%a = %o, %m = %m0, %l = %l0) -> (!a, !r, !r) {
      %second = arith.addi %row, %c32 : index
      %k0 = tensor.extract_slice %k[0, %row, 0] [1, 8, 16] [1, 1, 1] : tensor<1x64x16xf32> to !s
      %k1 = tensor.extract_slice %k[0, %second, 0] [1, 8, 16] [1, 1, 1] : tensor<1x64x16xf32> to !s
      %v0 = tensor.extract_slice %v[0, %row, 0] [1, 8, 16] [1, 1, 1] : tensor<1x64x16xf32> to !s
      %v1 = tensor.extract_slice %v[0, %second, 0] [1, 8, 16] [1, 1, 1] : tensor<1x64x16xf32> to !s
      %y:3 = attn.online_step ins(%q, %k0, %v0 : !a, !s, !s) segments keys(%k1 : !s) values(%v1 : !s)
          outs(%a, %m, %l : !a, !r, !r) {maps = [#q, #k, #v, #acc, #row, #row],
           schedule = #attn.decode<query_tile = 1, key_tile = 16, lanes = 4, block_queries = 2, prefetch = 16>} -> !a, !r, !r
      scf.yield %y#0, %y#1, %y#2 : !a, !r, !r
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %x#0 into %o[0, 0, 0] [2, 1, 16] [1, 1, 1] : !a into !a
    }
  }
  return %all : !a
}

// -----

// A page ends: K of the next tile is that of the next round's page, which is looked up; in the last round this one.
// CHECK-LABEL: func @pages(
//  CHECK-SAME:     %[[CACHE:[a-z0-9]*]]: tensor<9x8x16xf32>, %[[TABLE:[a-z0-9]*]]: tensor<8xi32>
//       CHECK:     scf.for %[[KEY:[a-z0-9]*]] = %c0 to %c64 step %c8
//       CHECK:       %[[NEXT:.*]] = arith.addi %[[KEY]], %c8
//       CHECK:       %[[IS_THERE:.*]] = arith.cmpi slt, %[[NEXT]], %c64
//       CHECK:       %[[ROUND:.*]] = arith.select %[[IS_THERE]], %[[NEXT]], %[[KEY]]
//       CHECK:       %[[ENTRY:.*]] = arith.divui %[[ROUND]], %c8
//       CHECK:       %[[LOADED:.*]] = tensor.extract %[[TABLE]][%[[ENTRY]]]
//       CHECK:       %[[PAGE:.*]] = arith.index_cast %[[LOADED]]
//       CHECK:       %[[K:.*]] = tensor.extract_slice %[[CACHE]][%[[PAGE]], 0, 0]
//       CHECK:       attn.prefetch %[[K]][%c0, %c0] {beside = #attn.contraction<values>
//       CHECK:       attn.prefetch %{{.*}}[%c0, %c0] {beside = #attn.contraction<scores>
#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (0, j, d)>
#v = affine_map<(h, i, j, d, e) -> (0, j, e)>
#acc = affine_map<(h, i, j, d, e) -> (h, i, e)>
#row = affine_map<(h, i, j, d, e) -> (h, i)>
!s = tensor<1x8x16xf32>
!a = tensor<2x1x16xf32>
!r = tensor<2x1xf32>
func.func @pages(%q: !a, %k: tensor<9x8x16xf32>, %table: tensor<8xi32>, %a0: !a, %m0: !r, %l0: !r) -> !a {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %all = scf.forall (%head) in (1) shared_outs(%o = %a0) -> (!a) {
    %x:3 = scf.for %key = %c0 to %c64 step %c8 iter_args(%a = %o, %m = %m0, %l = %l0) -> (!a, !r, !r) {
      %entry = arith.divui %key, %c8 : index
      %loaded = tensor.extract %table[%entry] : tensor<8xi32>
      %page = arith.index_cast %loaded : i32 to index
      %k0 = tensor.extract_slice %k[%page, 0, 0] [1, 8, 16] [1, 1, 1] : tensor<9x8x16xf32> to !s
      %y:3 = attn.online_step ins(%q, %k0, %k0 : !a, !s, !s)
          outs(%a, %m, %l : !a, !r, !r) {maps = [#q, #k, #v, #acc, #row, #row],
           schedule = #attn.decode<query_tile = 1, key_tile = 8, lanes = 4, block_queries = 2, prefetch = 8>} -> !a, !r, !r
      scf.yield %y#0, %y#1, %y#2 : !a, !r, !r
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %x#0 into %o[0, 0, 0] [2, 1, 16] [1, 1, 1] : !a into !a
    }
  }
  return %all : !a
}

// -----

// A user's own slice, found by a lookup in front of the loops, is no page: its rows go on.
// CHECK-LABEL: func @slice(
//       CHECK:     scf.for
//       CHECK:       attn.prefetch %{{.*}}[%c8, %c0] {beside = #attn.contraction<values>
#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (0, j, d)>
#v = affine_map<(h, i, j, d, e) -> (0, j, e)>
#acc = affine_map<(h, i, j, d, e) -> (h, i, e)>
#row = affine_map<(h, i, j, d, e) -> (h, i)>
!s = tensor<1x8x16xf32>
!a = tensor<2x1x16xf32>
!r = tensor<2x1xf32>
func.func @slice(%q: !a, %k: tensor<1x900x16xf32>, %table: tensor<8xi32>, %a0: !a, %m0: !r, %l0: !r) -> !a {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %loaded = tensor.extract %table[%c0] : tensor<8xi32>
  %first = arith.index_cast %loaded : i32 to index
  %part = tensor.extract_slice %k[0, %first, 0] [1, 64, 16] [1, 1, 1] : tensor<1x900x16xf32> to tensor<1x64x16xf32>
  %all = scf.forall (%head) in (1) shared_outs(%o = %a0) -> (!a) {
    %x:3 = scf.for %key = %c0 to %c64 step %c8 iter_args(%a = %o, %m = %m0, %l = %l0) -> (!a, !r, !r) {
      %k0 = tensor.extract_slice %part[0, %key, 0] [1, 8, 16] [1, 1, 1] : tensor<1x64x16xf32> to !s
      %y:3 = attn.online_step ins(%q, %k0, %k0 : !a, !s, !s)
          outs(%a, %m, %l : !a, !r, !r) {maps = [#q, #k, #v, #acc, #row, #row],
           schedule = #attn.decode<query_tile = 1, key_tile = 8, lanes = 4, block_queries = 2, prefetch = 8>} -> !a, !r, !r
      scf.yield %y#0, %y#1, %y#2 : !a, !r, !r
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %x#0 into %o[0, 0, 0] [2, 1, 16] [1, 1, 1] : !a into !a
    }
  }
  return %all : !a
}
