// RUN: attn-opt %s --attn-map-to-gpu=target=sm_80 --attn-decompose-step --attn-pipeline-copies --attn-tiles-to-registers \
// RUN:   --attn-lower-tile-to-nvvm=target=sm_80 | FileCheck %s

#rows = affine_map<(b, h, i, n) -> (b, h, i, n)>
#row = affine_map<(b, h, i, n) -> (b, h, i)>
#q = affine_map<(b, h, i, j, d, n) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d, n) -> (b, h, j, d)>
#v = affine_map<(b, h, i, j, d, n) -> (b, h, j, n)>
#o = affine_map<(b, h, i, j, d, n) -> (b, h, i, n)>
#r = affine_map<(b, h, i, j, d, n) -> (b, h, i)>
!all = memref<1x2x16x32xbf16>
!keys = memref<1x2x64x32xbf16>
!tile = memref<1x1x16x32xbf16, strided<[1024, 512, 32, 1], offset: ?>>
!key = memref<1x1x16x32xbf16, strided<[4096, 2048, 32, 1], offset: ?>>
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>

// One warp has 16 queries. Q and K of the first tile are on their way before the loop; in the loop V is copied while
// scores are multiplied, and the next K while weights are. 16 keys of D 32 are 4 mma for scores and 4 for V.
// CHECK-LABEL: gpu.module @sdpa_gpu
//       CHECK:   llvm.mlir.global external @attn_shared() {addr_space = 3 : i32
//       CHECK:   llvm.func @sdpa_kernel({{.*}} nvvm.kernel, nvvm.maxntid = array<i32: 32, 1, 1>
//       CHECK:     nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg
//       CHECK:     nvvm.cp.async.commit.group
//       CHECK:     scf.for
//       CHECK:       nvvm.cp.async.wait.group 0
//  CHECK-NEXT:       nvvm.barrier
//       CHECK:       nvvm.cp.async.shared.global
//       CHECK:       nvvm.cp.async.commit.group
//   CHECK-NOT:       nvvm.cp.async.wait.group
// CHECK-COUNT-2:     nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<row>
// CHECK-COUNT-4:     nvvm.mma.sync
//       CHECK:       nvvm.cp.async.wait.group 0
//  CHECK-NEXT:       nvvm.barrier
// The maximum of a row is that of the quad, in two steps. Where one is large, it is subtracted at once; where one moves,
// acc is rescaled: two scales and 8 weights are powers of two.
// CHECK-COUNT-4:     nvvm.shfl.sync bfly
//       CHECK:       %[[LARGE:.*]] = nvvm.vote.sync any
//       CHECK:       %[[SHIFTED:.*]]:10 = scf.if %[[LARGE]]
//   CHECK-NOT:       llvm.nvvm.ex2.approx.ftz.f
//       CHECK:       %[[MOVES:.*]] = nvvm.vote.sync any
//  CHECK-NEXT:       scf.if %[[MOVES]]
// CHECK-COUNT-2:       llvm.nvvm.ex2.approx.ftz.f
// CHECK-COUNT-8:     llvm.nvvm.ex2.approx.ftz.f
//   CHECK-NOT:       llvm.nvvm.ex2.approx.ftz.f
// Weights go to the next product in registers, V comes transposed.
// CHECK-COUNT-4:     llvm.nvvm.ff2bf16x2.rn
//       CHECK:       nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<col>
// CHECK-COUNT-2:     nvvm.mma.sync
//       CHECK:       nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<col>
// CHECK-COUNT-2:     nvvm.mma.sync
//   CHECK-NOT:       nvvm.shfl.sync
// The sum of a row is added up when all is done.
//       CHECK:     nvvm.shfl.sync bfly
//       CHECK:     llvm.return
func.func @sdpa(%q: !all, %k: !keys, %v: !keys, %out: !all) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  scf.forall (%h) in (2) {
    %rows = memref.subview %q[0, %h, 0, 0] [1, 1, 16, 32] [1, 1, 1, 1] : !all to !tile
    %packed = memref.alloca() : memref<1x1x16x32xbf16>
    attn.pack ins(%rows : !tile) outs(%packed : memref<1x1x16x32xbf16>) {maps = [#rows, #rows]}
    %acc = memref.alloca() : memref<1x1x16x32xf32>
    %max = memref.alloca() : memref<1x1x16xf32>
    %sum = memref.alloca() : memref<1x1x16xf32>
    attn.init_state outs(%acc, %max, %sum : memref<1x1x16x32xf32>, memref<1x1x16xf32>, memref<1x1x16xf32>)
        {maps = [#rows, #row, #row]}
    scf.for %j = %c0 to %c64 step %c16 {
      %key = memref.subview %k[0, %h, %j, 0] [1, 1, 16, 32] [1, 1, 1, 1] : !keys to !key
      %value = memref.subview %v[0, %h, %j, 0] [1, 1, 16, 32] [1, 1, 1, 1] : !keys to !key
      attn.online_step ins(%packed, %key, %value : memref<1x1x16x32xbf16>, !key, !key)
          outs(%acc, %max, %sum : memref<1x1x16x32xf32>, memref<1x1x16xf32>, memref<1x1x16xf32>)
          {maps = [#q, #k, #v, #o, #r, #r], scale = 0.125 : f64, schedule = #schedule}
    } {attn.consecutive}
    %result = memref.subview %out[0, %h, 0, 0] [1, 1, 16, 32] [1, 1, 1, 1] : !all to !tile
    attn.finalize ins(%acc, %max, %sum : memref<1x1x16x32xf32>, memref<1x1x16xf32>, memref<1x1x16xf32>)
        outs(%result : !tile) {maps = [#rows, #row, #row, #rows]}
  }
  return
}
