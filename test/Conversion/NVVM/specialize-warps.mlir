// RUN: attn-opt %s --attn-map-to-gpu=target=sm_90a --attn-decompose-step --attn-pipeline-copies --attn-tiles-to-registers \
// RUN:   --attn-specialize-warps --canonicalize | FileCheck %s
// RUN: not attn-opt %s --attn-specialize-warps=target=sm_42 2>&1 | FileCheck %s --check-prefix=TARGET

// TARGET: attn-specialize-warps: no kernels for target 'sm_42', expected one of

#rows = affine_map<(b, h, i, n) -> (b, h, i, n)>
#row = affine_map<(b, h, i, n) -> (b, h, i)>
#q = affine_map<(b, h, i, j, d, n) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d, n) -> (b, h, j, d)>
#v = affine_map<(b, h, i, j, d, n) -> (b, h, j, n)>
#o = affine_map<(b, h, i, j, d, n) -> (b, h, i, n)>
#r = affine_map<(b, h, i, j, d, n) -> (b, h, i)>
!all = memref<1x2x64x64xbf16>
!tile = memref<1x1x64x64xbf16, strided<[8192, 4096, 64, 1], offset: ?>>
!key = memref<1x1x16x64xbf16, strided<[8192, 4096, 64, 1], offset: ?>>
#schedule = #attn.block<query_tile = 64, key_tile = 16, warps = 4, warp_rows = 16, instruction = wgmma, stages = 2, producer = true>

// Four warps multiply and four more produce. Boxes of K and V are of the maps' parameters and begin where the slices
// do; the next K is 16 rows further. Stages stand in the place of barriers: a warp waits for one of K or V, and releases it
// behind the product that reads it; it waits for Q in front of the loop, and releases it in front of the output, of
// which it stores its own 16 rows as a box.
// CHECK-LABEL: gpu.func @sdpa_kernel(
//  CHECK-SAME:     %[[K_MAP:[a-z0-9]*]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>}, %[[V_MAP:[a-z0-9]*]]: !llvm.ptr {llvm.align{{[^%]*}} %[[Q_MAP:[a-z0-9]*]]: !llvm.ptr {llvm.align{{[^%]*}} %[[O_MAP:[a-z0-9]*]]: !llvm.ptr {llvm.align
//  CHECK-SAME:     known_block_size = array<i32: 256, 1, 1>
//   CHECK-NOT:   gpu.barrier
//       CHECK:   %[[HEAD:.*]] = arith.index_castui
//       CHECK:   attn.copy ins(%{{.*}}) outs(%[[QT:.*]] : memref<1x1x64x64xbf16, #gpu.address_space<workgroup>>) box(%[[Q_MAP]] : !llvm.ptr) [%c0, %[[HEAD]], %c0, %c0]
//  CHECK-NEXT:   attn.wait stages(%[[QT]] :
//       CHECK:   %[[FIRST:.*]] = attn.copy {{.*}} from %c0 box(%[[K_MAP]] : !llvm.ptr) [%c0, %[[HEAD]], %c0, %c0]
//       CHECK:   scf.for %[[KEY:[a-z0-9]*]] = %c0 to %c64 step %c16 iter_args(%[[K:[^ ]*]] = %[[FIRST]],
//       CHECK:     attn.wait %[[K]] stages(%[[KT:.*]] : memref<1x1x16x64xbf16, #gpu.address_space<workgroup>>)
//       CHECK:     %[[V:.*]] = attn.copy {{.*}} box(%[[V_MAP]] : !llvm.ptr) [%c0, %[[HEAD]], %[[KEY]], %c0]
//       CHECK:     attn.product {{.*}}, %[[KT]] :
//  CHECK-NEXT:     attn.release %[[KT]] : memref<1x1x16x64xbf16, #gpu.address_space<workgroup>>
//       CHECK:     attn.wait %[[V]] stages(%[[VT:.*]] : memref
//       CHECK:     %[[NEXT:.*]] = arith.addi %[[KEY]], %c16
//       CHECK:     attn.copy {{.*}} box(%[[K_MAP]] : !llvm.ptr) [%c0, %[[HEAD]], %[[NEXT]], %c0]
//       CHECK:     attn.product {{.*}}, %[[VT]] :
//  CHECK-NEXT:     attn.release %[[VT]] :
//   CHECK-NOT:   gpu.barrier
//       CHECK:   attn.release %[[QT]] :
//  CHECK-NEXT:   attn.finalize {{.*}} outs(%[[OT:.*]] : memref<1x1x64x64xbf16, #gpu.address_space<workgroup>>)
//       CHECK:   %[[WARP:.*]] = arith.divui %{{.*}}, %c32_i32
//       CHECK:   %[[ROW:.*]] = arith.muli %[[WARP]], %c16_i32
//       CHECK:   %[[FROM:.*]] = arith.index_castui %[[ROW]]
//       CHECK:   attn.copy ins(%[[OT]] : {{.*}} from %[[FROM]] box(%[[O_MAP]] : !llvm.ptr) [%c0, %[[HEAD]], %[[FROM]], %c0]
// The host encodes a map of all of K, one of V, one of Q and one of the output, and launches 256 threads.
// CHECK-LABEL: func.func @sdpa(
// CHECK-COUNT-4:   llvm.call @attn_cuda_encode_map(
//       CHECK:   gpu.launch_func @sdpa_gpu::@sdpa_kernel {{.*}} threads in (%c256
func.func @sdpa(%q: !all, %k: !all, %v: !all, %out: !all) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  scf.forall (%h) in (2) {
    %rows = memref.subview %q[0, %h, 0, 0] [1, 1, 64, 64] [1, 1, 1, 1] : !all to !tile
    %packed = memref.alloca() : memref<1x1x64x64xbf16>
    attn.pack ins(%rows : !tile) outs(%packed : memref<1x1x64x64xbf16>) {maps = [#rows, #rows]}
    %acc = memref.alloca() : memref<1x1x64x64xf32>
    %max = memref.alloca() : memref<1x1x64xf32>
    %sum = memref.alloca() : memref<1x1x64xf32>
    attn.init_state outs(%acc, %max, %sum : memref<1x1x64x64xf32>, memref<1x1x64xf32>, memref<1x1x64xf32>)
        {maps = [#rows, #row, #row]}
    scf.for %j = %c0 to %c64 step %c16 {
      %key = memref.subview %k[0, %h, %j, 0] [1, 1, 16, 64] [1, 1, 1, 1] : !all to !key
      %value = memref.subview %v[0, %h, %j, 0] [1, 1, 16, 64] [1, 1, 1, 1] : !all to !key
      attn.online_step ins(%packed, %key, %value : memref<1x1x64x64xbf16>, !key, !key)
          outs(%acc, %max, %sum : memref<1x1x64x64xf32>, memref<1x1x64xf32>, memref<1x1x64xf32>)
          {maps = [#q, #k, #v, #o, #r, #r], scale = 0.125 : f64, schedule = #schedule}
    } {attn.consecutive}
    %result = memref.subview %out[0, %h, 0, 0] [1, 1, 64, 64] [1, 1, 1, 1] : !all to !tile
    attn.finalize ins(%acc, %max, %sum : memref<1x1x64x64xf32>, memref<1x1x64xf32>, memref<1x1x64xf32>)
        outs(%result : !tile) {maps = [#rows, #row, #row, #rows]}
  }
  return
}
