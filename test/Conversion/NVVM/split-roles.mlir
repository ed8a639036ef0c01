// RUN: attn-opt %s --attn-split-roles --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-split-roles --attn-split-roles --split-input-file | FileCheck %s

#schedule = #attn.block<query_tile = 128, key_tile = 16, warps = 8, warp_rows = 16, instruction = wgmma, stages = 2, producer = true>
!rows = memref<?x32xbf16, strided<[32, 1], offset: ?>>
!query = memref<128x32xbf16, #gpu.address_space<workgroup>>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>

// The producer has the copies, and the loop with its positions; the consumers have all the rest, and no tokens.
// CHECK-LABEL: gpu.func @one_tile(
//  CHECK-SAME:   %[[X:.*]]: memref<64x32xbf16>, %[[MAP:.*]]: !llvm.ptr
//       CHECK:   %[[Q:.*]] = memref.alloc() : memref<128x32xbf16
//       CHECK:   %[[K:.*]] = memref.alloc() : memref<16x32xbf16
//   CHECK-NOT:   attn.pass_turn
//       CHECK:   attn.warp_roles stages(2 of %[[K]] : memref<16x32xbf16, #gpu.address_space<workgroup>>) producer(registers = 40) {
//       CHECK:     attn.copy {{.*}} outs(%[[K]] : {{.*}} box(%[[MAP]] : !llvm.ptr) [%c0, %c0]
//  CHECK-NEXT:     scf.for %[[J:.*]] = %c0 to %c64 step %c16 {
//   CHECK-NOT:       attn.wait
//       CHECK:       %[[NEXT:.*]] = arith.addi %[[J]], %c16
//       CHECK:       attn.copy {{.*}} outs(%[[K]] : {{.*}} from %c16 box(%[[MAP]] : !llvm.ptr) [%[[NEXT]], %c0]
//  CHECK-NEXT:     }
//  CHECK-NEXT:   } consumer(registers = 232) {
//  CHECK-NEXT:     attn.pass_turn first
//  CHECK-NEXT:     %[[TOKEN:.*]] = attn.copy {{.*}} outs(%[[Q]] :
//  CHECK-NEXT:     attn.wait %[[TOKEN]]{{$}}
//  CHECK-NEXT:     scf.for
//  CHECK-NEXT:       attn.wait stages(%[[K]] :
//  CHECK-NEXT:       attn.product
//  CHECK-NEXT:       attn.release %[[K]]
//  CHECK-NEXT:     }
//  CHECK-NEXT:   }
//  CHECK-NEXT:   gpu.return
gpu.module @kernels {
  gpu.func @one_tile(%x: memref<64x32xbf16>, %map: !llvm.ptr, %y: memref<128x32xbf16>, %s: memref<128x16xf32>)
      kernel attributes {attn.schedule = #schedule} {
    attn.pass_turn first
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %q = memref.alloc() : !query
    %k = memref.alloc() : !tile
    %query = attn.copy ins(%y : memref<128x32xbf16>) outs(%q : !query) : !attn.token
    attn.wait %query
    %first = attn.copy ins(%x : memref<64x32xbf16>) outs(%k : !tile) box(%map : !llvm.ptr) [%c0, %c0] : !attn.token
    scf.for %j = %c0 to %c64 step %c16 iter_args(%token = %first) -> (!attn.token) {
      attn.wait %token stages(%k : !tile)
      attn.product ins(%q, %k : !query, !tile) outs(%s : memref<128x16xf32>) {contraction = #attn.contraction<scores>}
      attn.release %k : !tile
      %left = arith.subi %c64, %j : index
      %rest = memref.subview %x[%j, 0] [%left, 32] [1, 1] : memref<64x32xbf16> to !rows
      %begin = arith.addi %j, %c16 : index
      %next = attn.copy ins(%rest : !rows) outs(%k : !tile) from %c16 box(%map : !llvm.ptr) [%begin, %c0] : !attn.token
      scf.yield %next : !attn.token
    }
    gpu.return
  }
}

// -----

#schedule = #attn.block<query_tile = 64, key_tile = 16, warps = 4, warp_rows = 16, instruction = wgmma, stages = 2, producer = true>
!query = memref<64x32xbf16, #gpu.address_space<workgroup>>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>

// Four warps that multiply leave registers enough. Both roles take a branch; what else it yields stays.
// CHECK-LABEL: gpu.func @branch(
//       CHECK:   attn.warp_roles {{.*}} producer {
//  CHECK-NEXT:     %{{.*}} = scf.if %[[ANY:.*]] -> (index) {
//  CHECK-NEXT:       attn.copy
//       CHECK:   } consumer {
//  CHECK-NEXT:     %[[LAST:.*]] = scf.if %[[ANY]] -> (index) {
//  CHECK-NEXT:       scf.yield %c16 : index
//  CHECK-NEXT:     } else {
//  CHECK-NEXT:       scf.yield %c0 : index
//  CHECK-NEXT:     }
//  CHECK-NEXT:     attn.copy {{.*}} from %[[LAST]] :
//  CHECK-NEXT:     attn.wait stages
gpu.module @kernels {
  gpu.func @branch(%x: memref<64x32xbf16>, %map: !llvm.ptr, %s: memref<64x16xf32>, %any: i1, %none: !attn.token)
      kernel attributes {attn.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %q = memref.alloc() : !query
    %k = memref.alloc() : !tile
    %token, %last = scf.if %any -> (!attn.token, index) {
      %first = attn.copy ins(%x : memref<64x32xbf16>) outs(%k : !tile) box(%map : !llvm.ptr) [%c0, %c0] : !attn.token
      scf.yield %first, %c16 : !attn.token, index
    } else {
      scf.yield %none, %c0 : !attn.token, index
    }
    %query = attn.copy ins(%x : memref<64x32xbf16>) outs(%q : !query) from %last : !attn.token
    attn.wait %token stages(%k : !tile)
    attn.product ins(%q, %k : !query, !tile) outs(%s : memref<64x16xf32>) {contraction = #attn.contraction<scores>}
    attn.release %k : !tile
    gpu.return
  }
}

// -----

#schedule = #attn.block<query_tile = 64, key_tile = 16, warps = 4, warp_rows = 16, instruction = wgmma, stages = 2, producer = true>
!query = memref<64x32xbf16, #gpu.address_space<workgroup>>
!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>
!weights = tensor<64x16xbf16, #attn.registers>
!acc = tensor<64x32xf32, #attn.registers>

// Tiles in registers are of the consumers: the producer's loop carries none.
// CHECK-LABEL: gpu.func @registers(
//       CHECK:   attn.warp_roles {{.*}} producer {
//  CHECK-NEXT:     scf.for %{{.*}} = %c0 to %c64 step %c16 {
//  CHECK-NEXT:       attn.copy
//       CHECK:   } consumer {
//   CHECK-NOT:     attn.copy
//       CHECK:     %{{.*}}:2 = scf.for {{.*}} iter_args(%[[P:.*]] = %{{.*}}, %[[ACC:.*]] = %{{.*}}) -> (tensor<64x16xbf16, #attn.registers>, tensor<64x32xf32, #attn.registers>) {
//       CHECK:       attn.product ins(%[[P]], {{.*}} outs(%[[ACC]]
//       CHECK:       arith.truncf
gpu.module @kernels {
  gpu.func @registers(%x: memref<64x32xbf16>, %map: !llvm.ptr, %p: !weights, %a: !acc, %none: !attn.token)
      kernel attributes {attn.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %v = memref.alloc() : !tile
    %r:3 = scf.for %j = %c0 to %c64 step %c16 iter_args(%token = %none, %q = %p, %acc = %a) -> (!attn.token, !weights, !acc) {
      attn.wait %token stages(%v : !tile)
      %acc1 = attn.product ins(%q, %v : !weights, !tile) outs(%acc : !acc)
          {accumulate, contraction = #attn.contraction<values>} -> !acc
      attn.release %v : !tile
      %next = attn.copy ins(%x : memref<64x32xbf16>) outs(%v : !tile) box(%map : !llvm.ptr) [%c0, %c0] : !attn.token
      %e = tensor.empty() : tensor<64x16xf32, #attn.registers>
      %q1 = arith.truncf %e : tensor<64x16xf32, #attn.registers> to !weights
      scf.yield %next, %q1, %acc1 : !attn.token, !weights, !acc
    }
    gpu.return
  }
}
