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

// Heads of a page that lie side by side have a loop inside of that over pages: beside each head a part of the rows of
// all heads of the next page is prefetched.
// CHECK-LABEL: func @heads_of_pages(
//  CHECK-SAME:     %[[CACHE:[a-z0-9]*]]: tensor<9x8x2x16xf32>, %[[TABLE:[a-z0-9]*]]: tensor<8xi32>
//       CHECK:     scf.for %[[KEY:[a-z0-9]*]] = %c0 to %c64 step %c8
//       CHECK:       scf.for %[[HEAD:[a-z0-9]*]] = %c0 to %c2 step %c1
//       CHECK:         %[[NEXT:.*]] = arith.addi %[[KEY]], %c8
//       CHECK:         %[[ROUND:.*]] = arith.select %{{.*}}, %[[NEXT]], %[[KEY]]
//       CHECK:         %[[ENTRY:.*]] = arith.divui %[[ROUND]], %c8
//       CHECK:         %[[LOADED:.*]] = tensor.extract %[[TABLE]][%[[ENTRY]]]
//       CHECK:         %[[PAGE:.*]] = arith.index_cast %[[LOADED]]
//       CHECK:         %[[K:.*]] = tensor.extract_slice %[[CACHE]][%[[PAGE]], 0, %c0, 0]
//       CHECK:         %[[ROW:.*]] = arith.muli %[[HEAD]], %c4
//       CHECK:         attn.prefetch %[[K]][%[[ROW]], %c0] {beside = #attn.contraction<values>, columns = 32 : i64, {{.*}}rows = 4
#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (0, j, 0, d)>
#v = affine_map<(h, i, j, d, e) -> (0, j, 0, e)>
#acc = affine_map<(h, i, j, d, e) -> (h, i, e)>
#row = affine_map<(h, i, j, d, e) -> (h, i)>
!s = tensor<1x8x1x16xf32>
!a = tensor<2x1x16xf32>
!r = tensor<2x1xf32>
!a1 = tensor<1x1x16xf32>
!r1 = tensor<1x1xf32>
func.func @heads_of_pages(%q: !a1, %k: tensor<9x8x2x16xf32>, %table: tensor<8xi32>, %a0: !a, %m0: !r, %l0: !r) -> !a {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %all = scf.forall (%tile) in (1) shared_outs(%o = %a0) -> (!a) {
    %x:3 = scf.for %key = %c0 to %c64 step %c8 iter_args(%a = %o, %m = %m0, %l = %l0) -> (!a, !r, !r) {
      %y:3 = scf.for %head = %c0 to %c2 step %c1 iter_args(%b = %a, %n = %m, %s = %l) -> (!a, !r, !r) {
        %b0 = tensor.extract_slice %b[%head, 0, 0] [1, 1, 16] [1, 1, 1] : !a to !a1
        %n0 = tensor.extract_slice %n[%head, 0] [1, 1] [1, 1] : !r to !r1
        %s0 = tensor.extract_slice %s[%head, 0] [1, 1] [1, 1] : !r to !r1
        %entry = arith.divui %key, %c8 : index
        %loaded = tensor.extract %table[%entry] : tensor<8xi32>
        %page = arith.index_cast %loaded : i32 to index
        %k0 = tensor.extract_slice %k[%page, 0, %head, 0] [1, 8, 1, 16] [1, 1, 1, 1] : tensor<9x8x2x16xf32> to !s
        %z:3 = attn.online_step ins(%q, %k0, %k0 : !a1, !s, !s) outs(%b0, %n0, %s0 : !a1, !r1, !r1)
            {maps = [#q, #k, #v, #acc, #row, #row],
             schedule = #attn.decode<query_tile = 1, key_tile = 8, lanes = 4, block_queries = 1, prefetch = 8, kv_heads = 2>}
            -> !a1, !r1, !r1
        %b1 = tensor.insert_slice %z#0 into %b[%head, 0, 0] [1, 1, 16] [1, 1, 1] : !a1 into !a
        %n1 = tensor.insert_slice %z#1 into %n[%head, 0] [1, 1] [1, 1] : !r1 into !r
        %s1 = tensor.insert_slice %z#2 into %s[%head, 0] [1, 1] [1, 1] : !r1 into !r
        scf.yield %b1, %n1, %s1 : !a, !r, !r
      }
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

// -----

// The only tile of queries has no scf.forall around it, as canonicalisation folds one of a single round. Its loop over
// keys is inside of a user's, whose slice, found by a lookup, is no page.
// CHECK-LABEL: func @no_forall(
//       CHECK:     scf.for %[[LAYER:[a-z0-9]*]] =
//       CHECK:       scf.for %[[KEY:[a-z0-9]*]] =
//       CHECK:         %[[K:.*]] = tensor.extract_slice %{{.*}}[0, %[[KEY]], 0]
//  CHECK-NEXT:         attn.prefetch %[[K]][%c8, %c0] {beside = #attn.contraction<values>
//  CHECK-NEXT:         attn.prefetch %[[K]][%c0, %c0] {beside = #attn.contraction<scores>
//  CHECK-NEXT:         attn.online_step
#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (0, j, d)>
#v = affine_map<(h, i, j, d, e) -> (0, j, e)>
#acc = affine_map<(h, i, j, d, e) -> (h, i, e)>
#row = affine_map<(h, i, j, d, e) -> (h, i)>
!s = tensor<1x8x16xf32>
!a = tensor<2x1x16xf32>
!r = tensor<2x1xf32>
func.func @no_forall(%q: !a, %k: tensor<1x900x16xf32>, %table: tensor<8xi32>, %a0: !a, %m0: !r, %l0: !r) -> !a {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %all = scf.for %layer = %c0 to %c8 step %c1 iter_args(%o = %a0) -> (!a) {
    %loaded = tensor.extract %table[%layer] : tensor<8xi32>
    %first = arith.index_cast %loaded : i32 to index
    %part = tensor.extract_slice %k[0, %first, 0] [1, 64, 16] [1, 1, 1] : tensor<1x900x16xf32> to tensor<1x64x16xf32>
    %i:3 = attn.init_state outs(%o, %m0, %l0 : !a, !r, !r) {maps = [affine_map<(h, i, e) -> (h, i, e)>,
        affine_map<(h, i, e) -> (h, i)>, affine_map<(h, i, e) -> (h, i)>]} -> !a, !r, !r
    %x:3 = scf.for %key = %c0 to %c64 step %c8 iter_args(%a = %i#0, %m = %i#1, %l = %i#2) -> (!a, !r, !r) {
      %k0 = tensor.extract_slice %part[0, %key, 0] [1, 8, 16] [1, 1, 1] : tensor<1x64x16xf32> to !s
      %y:3 = attn.online_step ins(%q, %k0, %k0 : !a, !s, !s)
          outs(%a, %m, %l : !a, !r, !r) {maps = [#q, #k, #v, #acc, #row, #row],
           schedule = #attn.decode<query_tile = 1, key_tile = 8, lanes = 4, block_queries = 2, prefetch = 8>} -> !a, !r, !r
      scf.yield %y#0, %y#1, %y#2 : !a, !r, !r
    }
    scf.yield %x#0 : !a
  }
  return %all : !a
}

// -----

// A single tile without any loop: V beside the product with K. No K comes after it.
// CHECK-LABEL: func @one_tile(
//  CHECK-SAME:     %{{[a-z0-9]*}}: tensor<2x1x16xf32>, %[[K:[a-z0-9]*]]: tensor<1x8x16xf32>, %[[V:[a-z0-9]*]]: tensor<1x8x16xf32>
//   CHECK-NOT:   attn.prefetch
//       CHECK:   attn.prefetch %[[V]][%c0, %c0] {beside = #attn.contraction<scores>
//  CHECK-NEXT:   attn.online_step
// Nor does anything follow in a prefill kernel.
// CHECK-LABEL: func @one_prefill_tile(
//   CHECK-NOT:   attn.prefetch
//       CHECK:   attn.online_step
// The keys of several tiles, as no pass has tiled them, are left alone.
// CHECK-LABEL: func @no_tile(
//   CHECK-NOT:   attn.prefetch
//       CHECK:   attn.online_step
#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (0, j, d)>
#v = affine_map<(h, i, j, d, e) -> (0, j, e)>
#acc = affine_map<(h, i, j, d, e) -> (h, i, e)>
#row = affine_map<(h, i, j, d, e) -> (h, i)>
!s = tensor<1x8x16xf32>
!a = tensor<2x1x16xf32>
!r = tensor<2x1xf32>
func.func @one_tile(%q: !a, %k: !s, %v: !s, %a: !a, %m: !r, %l: !r) -> !a {
  %y:3 = attn.online_step ins(%q, %k, %v : !a, !s, !s) outs(%a, %m, %l : !a, !r, !r)
      {maps = [#q, #k, #v, #acc, #row, #row],
       schedule = #attn.decode<query_tile = 1, key_tile = 8, lanes = 4, block_queries = 2, prefetch = 8>} -> !a, !r, !r
  return %y#0 : !a
}
func.func @one_prefill_tile(%q: tensor<1x4x16xf32>, %k: !s, %v: !s, %bias: tensor<4x8xf32>, %a: tensor<1x4x16xf32>, %m: tensor<1x4xf32>, %l: tensor<1x4xf32>) -> tensor<1x4x16xf32> {
  %y:3 = attn.online_step ins(%q, %k, %v : tensor<1x4x16xf32>, !s, !s) bias(%bias : tensor<4x8xf32>)
      outs(%a, %m, %l : tensor<1x4x16xf32>, tensor<1x4xf32>, tensor<1x4xf32>)
      {maps = [#q, #k, #v, affine_map<(h, i, j, d, e) -> (i, j)>, #acc, #row, #row],
       schedule = #attn.prefill<query_tile = 4, key_tile = 8, lanes = 4, block_rows = 4, block_vectors = 1, prefetch = 8>}
      -> tensor<1x4x16xf32>, tensor<1x4xf32>, tensor<1x4xf32>
  return %y#0 : tensor<1x4x16xf32>
}
func.func @no_tile(%q: !a, %k: tensor<1x64x16xf32>, %v: tensor<1x64x16xf32>, %a0: !a, %m0: !r, %l0: !r) -> !a {
  %all = scf.forall (%head) in (2) shared_outs(%o = %a0) -> (!a) {
    %y:3 = attn.online_step ins(%q, %k, %v : !a, tensor<1x64x16xf32>, tensor<1x64x16xf32>)
        outs(%o, %m0, %l0 : !a, !r, !r) {maps = [#q, #k, #v, #acc, #row, #row],
         schedule = #attn.decode<query_tile = 1, key_tile = 8, lanes = 4, block_queries = 2, prefetch = 8>} -> !a, !r, !r
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %y#0 into %o[0, 0, 0] [2, 1, 16] [1, 1, 1] : !a into !a
    }
  }
  return %all : !a
}

// -----

// The key tile is the only one, and other query tiles follow: the bias of the next query rows, from its first key on.
// CHECK-LABEL: func @next_queries(
//       CHECK:     attn.prefetch %{{.*}}[%c4, %c15] {beside = #attn.contraction<scores>, columns = 8 : i64, map = #{{.*}}, rows = 4 : i64} : tensor<4x8xf32>
//       CHECK:     attn.prefetch %{{.*}}[%c4, %c15] {beside = #attn.contraction<values>
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#bias = affine_map<(i, j, d, e) -> (i, j)>
#acc = affine_map<(i, j, d, e) -> (i, e)>
#row = affine_map<(i, j, d, e) -> (i)>
!q = tensor<4x16xf32>
!r = tensor<4xf32>
func.func @next_queries(%q: tensor<64x16xf32>, %k: tensor<8x16xf32>, %v: tensor<8x16xf32>, %bias: tensor<64x8xf32>, %a0: tensor<64x16xf32>, %a1: !q, %m0: !r, %l0: !r) -> tensor<64x16xf32> {
  %all = scf.forall (%row) = (0) to (64) step (4) shared_outs(%o = %a0) -> (tensor<64x16xf32>) {
    %rows = tensor.extract_slice %q[%row, 0] [4, 16] [1, 1] : tensor<64x16xf32> to !q
    %part = tensor.extract_slice %bias[%row, 0] [4, 8] [1, 1] : tensor<64x8xf32> to tensor<4x8xf32>
    %y:3 = attn.online_step ins(%rows, %k, %v : !q, tensor<8x16xf32>, tensor<8x16xf32>) bias(%part : tensor<4x8xf32>)
        outs(%a1, %m0, %l0 : !q, !r, !r) {maps = [#q, #k, #v, #bias, #acc, #row, #row],
         schedule = #attn.prefill<query_tile = 4, key_tile = 8, lanes = 4, block_rows = 4, block_vectors = 1, prefetch = 8>} -> !q, !r, !r
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %y#0 into %o[%row, 0] [4, 16] [1, 1] : !q into tensor<64x16xf32>
    }
  }
  return %all : tensor<64x16xf32>
}
