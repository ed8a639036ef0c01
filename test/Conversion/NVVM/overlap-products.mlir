// RUN: attn-opt %s --attn-map-to-gpu=target=sm_90a --attn-decompose-step --attn-pipeline-copies --attn-tiles-to-registers \
// RUN:   --attn-specialize-warps --attn-overlap-products | FileCheck %s
// RUN: attn-opt %s --attn-map-to-gpu=target=sm_90a --attn-decompose-step --attn-pipeline-copies --attn-tiles-to-registers \
// RUN:   --attn-specialize-warps --attn-overlap-products --attn-split-roles --attn-verify-phase=phase=steps \
// RUN:   --attn-lower-tile-to-nvvm=target=sm_90a | FileCheck %s --check-prefix=NVVM
// RUN: attn-opt %s --attn-map-to-gpu=target=sm_90a --attn-decompose-step --attn-pipeline-copies --attn-tiles-to-registers \
// RUN:   --attn-overlap-products | FileCheck %s --check-prefix=ALONE

#rows = affine_map<(b, h, i, n) -> (b, h, i, n)>
#row = affine_map<(b, h, i, n) -> (b, h, i)>
#q = affine_map<(b, h, i, j, d, n) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d, n) -> (b, h, j, d)>
#v = affine_map<(b, h, i, j, d, n) -> (b, h, j, n)>
#o = affine_map<(b, h, i, j, d, n) -> (b, h, i, n)>
#r = affine_map<(b, h, i, j, d, n) -> (b, h, i)>
!all = memref<1x2x64x32xbf16>
!tile = memref<1x1x64x32xbf16, strided<[4096, 2048, 32, 1], offset: ?>>
!key = memref<1x1x16x32xbf16, strided<[4096, 2048, 32, 1], offset: ?>>
#schedule = #attn.block<query_tile = 64, key_tile = 16, warps = 4, warp_rows = 16, instruction = wgmma, stages = 2, producer = true>

// The first round, those that overlap, and the last values; nothing of it where there is no round. A round starts the
// values of the one before, and rounds its weights for the next one.
// CHECK-LABEL: gpu.func @sdpa_kernel
//       CHECK:   %[[INIT:.*]]:3 = attn.init_state
//       CHECK:   %[[K0:.*]] = attn.copy {{.*}}box(%arg4 :
//       CHECK:   %[[ANY:.*]] = arith.cmpi slt, %c0, %[[UPPER:.*]] : index
//       CHECK:   %[[STATE:.*]]:4 = scf.if %[[ANY]] -> (!attn.token, tensor<1x1x64x32xf32, #attn.registers>,
//       CHECK:     attn.wait %[[K0]] stages(%[[KT:.*]] : memref
//       CHECK:     %[[S0:.*]] = attn.product {{.*}}{contraction = #attn.contraction<scores>
//  CHECK-NEXT:     attn.release %[[KT]]
//       CHECK:     %[[K1:.*]] = attn.copy {{.*}}box(%arg4 :
//       CHECK:     %[[N0:.*]] = attn.row_max ins(%[[S0]], %[[INIT]]#1
//       CHECK:     %[[STATE0:[^ ]*]]:3 = attn.rescale ins(%[[N0]] {{.*}} outs(%[[INIT]]#0, %[[INIT]]#1, %[[INIT]]#2
//       CHECK:     %[[P0:.*]]:2 = attn.weights ins(%[[S0]], %[[N0]] {{.*}} outs(%[[S0]], %[[STATE0]]#2
//       CHECK:     %[[V0:.*]] = attn.copy {{.*}}box(%arg5 :
//       CHECK:     %[[R0:.*]] = arith.truncf %[[P0]]#0 : tensor<1x1x64x16xf32, #attn.registers> to tensor<1x1x64x16xbf16, #attn.registers>
//       CHECK:     %[[LAST:.*]]:6 = scf.for %{{.*}} = %c16{{.*}} to %[[UPPER]] {{.*}} iter_args(%[[K:[^ ]*]] = %[[K1]], %[[ACC:[^ ]*]] = %[[STATE0]]#0, %[[MAX:[^ ]*]] = %[[STATE0]]#1, %[[SUM:[^ ]*]] = %[[P0]]#1, %[[R:[^ ]*]] = %[[R0]], %[[V:[^ ]*]] = %[[V0]])
//       CHECK:       attn.wait %[[K]] stages(%[[KT]] : memref
//       CHECK:       %[[STARTED:.*]] = attn.product {{.*}}{async, contraction = #attn.contraction<scores>
//  CHECK-NEXT:       attn.wait %[[V]] stages(%[[VT:.*]] : memref
//  CHECK-NEXT:       %[[ADDING:.*]] = attn.product ins(%[[R]], {{.*}} outs(%[[ACC]] : {{.*}}{accumulate, async, contraction = #attn.contraction<values>
//  CHECK-NEXT:       %[[S:.*]] = attn.wait_product %[[STARTED]] :
//  CHECK-NEXT:       attn.release %[[KT]] :
//       CHECK:       %[[NEXT_K:.*]] = attn.copy {{.*}}box(%arg4 :
//       CHECK:       %[[N:.*]] = attn.row_max ins(%[[S]], %[[MAX]]
//       CHECK:       %[[FACTORS:.*]], %[[NEXT_MAX:.*]], %[[L:.*]] = attn.rescale_rows ins(%[[N]]) outs(%[[MAX]], %[[SUM]])
//       CHECK:       %[[P:.*]]:2 = attn.weights ins(%[[S]], %[[N]] {{.*}} outs(%[[S]], %[[L]]
//  CHECK-NEXT:       %[[ADDED:.*]] = attn.wait_product %[[ADDING]] :
//  CHECK-NEXT:       attn.release %[[VT]] :
//  CHECK-NEXT:       %[[NEXT_ACC:.*]] = attn.rescale_acc %[[ADDED]] by %[[FACTORS]] :
//  CHECK-NEXT:       %[[NEXT_V:.*]] = attn.copy {{.*}}box(%arg5 :
//  CHECK-NEXT:       %[[NEXT_R:.*]] = arith.truncf %[[P]]#0
//  CHECK-NEXT:       scf.yield %[[NEXT_K]], %[[NEXT_ACC]], %[[NEXT_MAX]], %[[P]]#1, %[[NEXT_R]], %[[NEXT_V]]
//       CHECK:     attn.wait %[[LAST]]#5 stages(%[[VT]] :
//  CHECK-NEXT:     %[[END:.*]] = attn.product ins(%[[LAST]]#4, {{.*}} outs(%[[LAST]]#1 : {{.*}}{accumulate, contraction
//  CHECK-NEXT:     attn.release %[[VT]] :
//  CHECK-NEXT:     scf.yield %[[LAST]]#0, %[[END]], %[[LAST]]#2, %[[LAST]]#3
//       CHECK:   } else {
//  CHECK-NEXT:     scf.yield %[[K0]], %[[INIT]]#0, %[[INIT]]#1, %[[INIT]]#2
//       CHECK:   attn.finalize ins(%[[STATE]]#1, %[[STATE]]#2, %[[STATE]]#3

// Scores may end while values run; K is released then, and V when acc is there.
// NVVM-LABEL: llvm.func @sdpa_kernel
//       NVVM:   scf.for
//       NVVM:     m64n16k16
//       NVVM:     nvvm.wgmma.commit.group.sync.aligned
//       NVVM:     mbarrier.try_wait
//       NVVM:     m64n32k16
//       NVVM:     nvvm.wgmma.commit.group.sync.aligned
//  NVVM-NEXT:     nvvm.wgmma.wait.group.sync.aligned 1
//  NVVM-NEXT:     llvm.inline_asm has_side_effects ""
//       NVVM:     @p mbarrier.arrive
//       NVVM:     ex2.approx
//   NVVM-NOT:     cvt.rn.bf16x2
//       NVVM:     nvvm.wgmma.wait.group.sync.aligned 0
//  NVVM-NEXT:     llvm.inline_asm has_side_effects ""
//       NVVM:     @p mbarrier.arrive
// NVVM-COUNT-4:     cvt.rn.bf16x2

// Kernels without a producer stay as they are.
// ALONE-LABEL: gpu.func @sdpa_kernel
//   ALONE-NOT:   async
func.func @sdpa(%q: !all, %k: !all, %v: !all, %out: !all) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  scf.forall (%h) in (2) {
    %rows = memref.subview %q[0, %h, 0, 0] [1, 1, 64, 32] [1, 1, 1, 1] : !all to !tile
    %packed = memref.alloca() : memref<1x1x64x32xbf16>
    attn.pack ins(%rows : !tile) outs(%packed : memref<1x1x64x32xbf16>) {maps = [#rows, #rows]}
    %acc = memref.alloca() : memref<1x1x64x32xf32>
    %max = memref.alloca() : memref<1x1x64xf32>
    %sum = memref.alloca() : memref<1x1x64xf32>
    attn.init_state outs(%acc, %max, %sum : memref<1x1x64x32xf32>, memref<1x1x64xf32>, memref<1x1x64xf32>)
        {maps = [#rows, #row, #row]}
    %end = arith.muli %h, %c16 : index
    scf.for %j = %c0 to %end step %c16 {
      %key = memref.subview %k[0, %h, %j, 0] [1, 1, 16, 32] [1, 1, 1, 1] : !all to !key
      %value = memref.subview %v[0, %h, %j, 0] [1, 1, 16, 32] [1, 1, 1, 1] : !all to !key
      attn.online_step ins(%packed, %key, %value : memref<1x1x64x32xbf16>, !key, !key)
          outs(%acc, %max, %sum : memref<1x1x64x32xf32>, memref<1x1x64xf32>, memref<1x1x64xf32>)
          {maps = [#q, #k, #v, #o, #r, #r], scale = 0.125 : f64, schedule = #schedule}
    } {attn.consecutive}
    %result = memref.subview %out[0, %h, 0, 0] [1, 1, 64, 32] [1, 1, 1, 1] : !all to !tile
    attn.finalize ins(%acc, %max, %sum : memref<1x1x64x32xf32>, memref<1x1x64xf32>, memref<1x1x64xf32>)
        outs(%result : !tile) {maps = [#rows, #row, #row, #rows]}
  }
  return
}
