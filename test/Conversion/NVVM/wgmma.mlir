// RUN: attn-opt %s --attn-map-to-gpu=target=sm_90a --attn-decompose-step --attn-pipeline-copies --attn-tiles-to-registers \
// RUN:   --attn-lower-tile-to-nvvm=target=sm_90a --canonicalize | FileCheck %s
// RUN: attn-opt %s --attn-map-to-gpu=target=sm_90a --attn-decompose-step --attn-pipeline-copies --attn-tiles-to-registers \
// RUN:   --attn-specialize-warps | FileCheck %s --check-prefix=STEPS
// RUN: attn-opt %s --attn-map-to-gpu=target=sm_90a --attn-decompose-step --attn-pipeline-copies --attn-tiles-to-registers \
// RUN:   --attn-specialize-warps --attn-split-roles --attn-lower-tile-to-nvvm=target=sm_90a | FileCheck %s --check-prefix=ROLES

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

// Four warps have 64 queries. What cp.async has written is published in front of each barrier. D 32 is two products of
// 16 keys; the first one reads no accumulators.
// CHECK-LABEL: gpu.module @sdpa_gpu
//       CHECK:   llvm.mlir.global external @attn_shared() {addr_space = 3 : i32, alignment = 1024
//       CHECK:     %[[ANY:.*]] = llvm.mlir.undef : f32
//       CHECK:     scf.for
//       CHECK:       nvvm.cp.async.wait.group 0
//  CHECK-NEXT:       nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
//  CHECK-NEXT:       nvvm.barrier
//       CHECK:       nvvm.wgmma.fence.aligned
//       CHECK:       llvm.inline_asm has_side_effects "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {$0, $1, $2, $3, $4, $5, $6, $7}, $16, $17, 0, 1, 1, 0, 0;", "=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7,l,l" %[[ANY]], %[[ANY]]
//       CHECK:       llvm.inline_asm has_side_effects "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {{.*}}, $16, $17, 1, 1, 1, 0, 0;"
//       CHECK:       nvvm.wgmma.commit.group.sync.aligned
//  CHECK-NEXT:       nvvm.wgmma.wait.group.sync.aligned 0
//  CHECK-NEXT:       llvm.inline_asm has_side_effects "", "=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7"
// Weights are packed in front of the fence; V is across the depth. One product has its 16 keys and 32 columns.
// CHECK-COUNT-4:     llvm.inline_asm has_side_effects "cvt.rn.bf16x2.f32 $0, $2, $1;", "=r,f,f"
//       CHECK:       llvm.inline_asm has_side_effects ""
//       CHECK:       nvvm.wgmma.fence.aligned
//       CHECK:       llvm.inline_asm has_side_effects "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {{.*}}, {$32, $33, $34, $35}, $36, 1, 1, 1, 1;"
//   CHECK-NOT:       "wgmma.mma_async
//       CHECK:       nvvm.wgmma.commit.group.sync.aligned
//  CHECK-NEXT:       nvvm.wgmma.wait.group.sync.aligned 0
//  CHECK-NEXT:       llvm.inline_asm has_side_effects ""
//       CHECK:     llvm.return

// The maps of K, V and Q are the fifth parameter and those behind it. Boxes of K and V have 16 rows of a panel.
// STEPS-LABEL: gpu.module @sdpa_gpu
//       STEPS:   %arg4: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>}, %arg5: !llvm.ptr
//       STEPS:   attn.copy ins({{.*}}) outs({{.*}}) box(%arg6 : !llvm.ptr)
//       STEPS:   attn.copy {{.*}}from %{{.*}} box(%arg4 : !llvm.ptr) [%{{.*}}, %[[HEAD:.*]], %{{.*}}, %{{.*}}]
//       STEPS:   scf.for %[[KEY:[a-z0-9]+]] =
//       STEPS:     attn.copy {{.*}}box(%arg5 : !llvm.ptr) [%{{.*}}, %[[HEAD]], %[[KEY]], %{{.*}}]
//       STEPS:     %[[NEXT:.*]] = arith.addi %[[KEY]],
//       STEPS:     attn.copy {{.*}}from %{{.*}} box(%arg4 : !llvm.ptr) [%{{.*}}, %[[HEAD]], %[[NEXT]], %{{.*}}]
// STEPS-LABEL: func.func @sdpa(
//  STEPS-SAME:   %[[Q:[a-z0-9]+]]: memref<{{.*}}>, %[[K:[a-z0-9]+]]: memref
//       STEPS:   llvm.call @attn_cuda_encode_map(%[[MAP:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
//       STEPS:   llvm.call @attn_cuda_encode_map(%[[OTHER:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
//       STEPS:   llvm.call @attn_cuda_encode_map(%[[LAST:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
//       STEPS:   %[[THREADS:.*]] = arith.constant 256 : index
//       STEPS:   gpu.launch_func {{.*}} threads in (%[[THREADS]], {{.*}} args({{.*}}, %[[MAP]] : !llvm.ptr, %[[OTHER]] : !llvm.ptr, %[[LAST]] : !llvm.ptr)

// The first thread makes twelve barriers. Four warps multiply, and wait for stages; one thread of the others fills them.
// ROLES-LABEL: llvm.func @sdpa_kernel
//  ROLES-SAME:   llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant
// ROLES-COUNT-12:   "mbarrier.init.shared::cta.b64 [$0], $1;"
//       ROLES:   fence.mbarrier_init
//       ROLES:   nvvm.barrier
//       ROLES:   scf.if
//   ROLES-NOT:     nvvm.cp.async.shared.global
//       ROLES:     mbarrier.try_wait
//       ROLES:     scf.for
//       ROLES:       mbarrier.try_wait
//       ROLES:       m64n16k16
//       ROLES:       @p mbarrier.arrive
//       ROLES:       mbarrier.try_wait
//       ROLES:       m64n32k16
//       ROLES:       @p mbarrier.arrive
//       ROLES:   } else {
//       ROLES:     scf.for
//   ROLES-NOT:       wgmma
// ROLES-COUNT-2:     cp.async.bulk.tensor.4d
//       ROLES:   llvm.return
func.func @sdpa(%q: !all, %k: !all, %v: !all, %out: !all) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  scf.forall (%h) in (2) {
    %rows = memref.subview %q[0, %h, 0, 0] [1, 1, 64, 32] [1, 1, 1, 1] : !all to !tile
    %packed = memref.alloca() : memref<1x1x64x32xbf16>
    attn.pack ins(%rows : !tile) outs(%packed : memref<1x1x64x32xbf16>) {maps = [#rows, #rows]}
    %acc = memref.alloca() : memref<1x1x64x32xf32>
    %max = memref.alloca() : memref<1x1x64xf32>
    %sum = memref.alloca() : memref<1x1x64xf32>
    attn.init_state outs(%acc, %max, %sum : memref<1x1x64x32xf32>, memref<1x1x64xf32>, memref<1x1x64xf32>)
        {maps = [#rows, #row, #row]}
    scf.for %j = %c0 to %c64 step %c16 {
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
