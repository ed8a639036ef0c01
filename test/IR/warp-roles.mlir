// What warps of two roles say to each other, printed and parsed again.
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s

!tile = memref<16x32xbf16, #gpu.address_space<workgroup>>

// CHECK-LABEL: func @roles(
//       CHECK:   attn.warp_roles stages(2 of %[[K:.*]] : memref<16x32xbf16, #gpu.address_space<workgroup>>) producer(registers = 40) {
//       CHECK:     attn.copy {{.*}} box(%{{.*}} : !llvm.ptr) [%{{.*}}, %{{.*}}] : !attn.token
//       CHECK:   } consumer(registers = 232) {
//  CHECK-NEXT:     attn.pass_turn first
//  CHECK-NEXT:     attn.wait stages(%[[K]] : memref<16x32xbf16, #gpu.address_space<workgroup>>)
//  CHECK-NEXT:     attn.copy_statistics lse(%{{.*}} : memref<16xf32>) outs(%[[ST:.*]] : memref<4x16xf32>) {delta_factor = -2.500000e-01 : f64, maps = [#{{.*}}]}
//  CHECK-NEXT:     attn.clear_rows %[[K]] from %{{.*}} where(%[[ST]] : memref<4x16xf32>) : memref<16x32xbf16, #gpu.address_space<workgroup>>
//  CHECK-NEXT:     attn.clear_rows %[[K]] from %{{.*}} : memref<16x32xbf16, #gpu.address_space<workgroup>>
//  CHECK-NEXT:     attn.take_turn
//       CHECK:     attn.product
//  CHECK-NEXT:     attn.pass_turn{{$}}
//  CHECK-NEXT:     attn.release %[[K]] : memref<16x32xbf16, #gpu.address_space<workgroup>>
//  CHECK-NEXT:   }
func.func @roles(%k: memref<16x32xbf16>, %map: !llvm.ptr, %i: index, %qt: !tile, %kt: !tile, %s: memref<16x16xf32>, %lse: memref<16xf32>, %st: memref<4x16xf32>) {
  attn.warp_roles stages(2 of %kt : !tile) producer(registers = 40) {
    %token = attn.copy ins(%k : memref<16x32xbf16>) outs(%kt : !tile) box(%map : !llvm.ptr) [%i, %i] : !attn.token
  } consumer(registers = 232) {
    attn.pass_turn first
    attn.wait stages(%kt : !tile)
    attn.copy_statistics lse(%lse : memref<16xf32>) outs(%st : memref<4x16xf32>) {delta_factor = -0.25 : f64, maps = [affine_map<(i, j) -> (i)>]}
    attn.clear_rows %kt from %i where(%st : memref<4x16xf32>) : !tile
    attn.clear_rows %kt from %i : !tile
    attn.take_turn
    attn.product ins(%qt, %kt : !tile, !tile) outs(%s : memref<16x16xf32>) {contraction = #attn.contraction<scores>}
    attn.pass_turn
    attn.release %kt : !tile
  }
  return
}

// Roles that keep the registers of the kernel, and a wait with its tokens.
// CHECK-LABEL: func @plain(
//       CHECK:   attn.warp_roles stages(3 of %[[K:.*]], %[[V:.*]] : {{.*}}) producer {
//       CHECK:   } consumer {
//       CHECK:   attn.wait %[[FIRST:.*]], %[[SECOND:.*]] stages(%[[K]], %[[V]] : memref
func.func @plain(%first: !attn.token, %second: !attn.token, %kt: !tile, %vt: !tile) {
  attn.warp_roles stages(3 of %kt, %vt : !tile, !tile) producer {
  } consumer {
  }
  attn.wait %first, %second stages(%kt, %vt : !tile, !tile)
  return
}

// Sums of several blocks.
// CHECK-LABEL: func @order(
//       CHECK:   %[[BLOCK:.*]] = attn.take_ticket %[[TURNS:.*]] : memref<5xi32>
//       CHECK:   attn.exchange ins(%{{.*}} : tensor<128x64xbf16, #attn.registers>) outs(%{{.*}} : memref<64x128xbf16, #gpu.address_space<workgroup>>)
//       CHECK:   attn.await_order %[[TURNS]][%[[BLOCK]]] at %[[BLOCK]] {by_producer} : memref<5xi32>
//       CHECK:   attn.add_rows ins(%{{.*}} : tensor<64x32xf32, #attn.registers>) outs(%{{.*}} : memref<60x32xf32>) {maps = [#{{.*}}, #{{.*}}]}
//       CHECK:   attn.pass_order %[[TURNS]][%[[BLOCK]]] at %[[BLOCK]] : memref<5xi32>
func.func @order(%turns: memref<5xi32>, %g: tensor<128x64xbf16, #attn.registers>, %ds: memref<64x128xbf16, #gpu.address_space<workgroup>>,
                 %part: tensor<64x32xf32, #attn.registers>, %dq: memref<60x32xf32>) {
  %block = attn.take_ticket %turns : memref<5xi32>
  attn.exchange ins(%g : tensor<128x64xbf16, #attn.registers>) outs(%ds : memref<64x128xbf16, #gpu.address_space<workgroup>>)
  attn.await_order %turns[%block] at %block {by_producer} : memref<5xi32>
  attn.add_rows ins(%part : tensor<64x32xf32, #attn.registers>) outs(%dq : memref<60x32xf32>)
      {maps = [affine_map<(i, j, e) -> (i, e)>, affine_map<(i, j, e) -> (i, e)>]}
  attn.pass_order %turns[%block] at %block : memref<5xi32>
  return
}
