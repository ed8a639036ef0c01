// RUN: attn-opt %s --attn-map-to-gpu=target=sm_80 | FileCheck %s

#tile = affine_map<(d0) -> (d0 * 128)>
#rows = affine_map<(b, h, i, n) -> (b, h, i, n)>
#row = affine_map<(b, h, i, n) -> (b, h, i)>
#q = affine_map<(b, h, i, j, d, n) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d, n) -> (b, h, j, d)>
#v = affine_map<(b, h, i, j, d, n) -> (b, h, j, n)>
#o = affine_map<(b, h, i, j, d, n) -> (b, h, i, n)>
#r = affine_map<(b, h, i, j, d, n) -> (b, h, i)>
!all = memref<1x2x256x64xbf16>
!queries = memref<1x1x128x64xbf16, strided<[32768, 16384, 64, 1], offset: ?>>
!keys = memref<1x1x64x64xbf16, strided<[32768, 16384, 64, 1], offset: ?>>
#schedule = #attn.block<query_tile = 128, key_tile = 64, warps = 4, warp_rows = 32, instruction = mma>

// A loop over 2 heads and 2 tiles of queries is a grid of 4 blocks of 4 warps; tiles of Q, K and V are in 32 KiB. The
// kernel has a pointer for each buffer, and its body is that of the loop.
// CHECK-LABEL: gpu.module @sdpa_gpu
//       CHECK:   gpu.func @sdpa_kernel(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) kernel
//  CHECK-SAME:     known_block_size = array<i32: 128, 1, 1>
//       CHECK:     %[[BLOCK:.*]] = nvvm.read.ptx.sreg.ctaid.x
//       CHECK:     arith.remui
//       CHECK:     arith.divui
//   CHECK-NOT:     scf.forall
//       CHECK:     attn.pack
//       CHECK:     scf.for
//       CHECK:       attn.online_step
//       CHECK:     attn.finalize
//       CHECK:     gpu.return
// CHECK-LABEL: func.func @sdpa(
//   CHECK-NOT:   scf.forall
//   CHECK-DAG:   %[[BLOCKS:.*]] = arith.constant 4 : index
//   CHECK-DAG:   %[[THREADS:.*]] = arith.constant 128 : index
//   CHECK-DAG:   %[[BYTES:.*]] = arith.constant 32768 : i32
//       CHECK:   gpu.launch_func @sdpa_gpu::@sdpa_kernel blocks in (%[[BLOCKS]], %{{.*}}, %{{.*}}) threads in (%[[THREADS]], %{{.*}}, %{{.*}}) dynamic_shared_memory_size %[[BYTES]]
func.func @sdpa(%q: !all, %k: !all, %v: !all, %out: !all) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  scf.forall (%h, %tile) in (2, 2) {
    %first = affine.apply #tile(%tile)
    %rows = memref.subview %q[0, %h, %first, 0] [1, 1, 128, 64] [1, 1, 1, 1] : !all to !queries
    %packed = memref.alloca() : memref<1x1x128x64xbf16>
    attn.pack ins(%rows : !queries) outs(%packed : memref<1x1x128x64xbf16>) {maps = [#rows, #rows]}
    %acc = memref.alloca() : memref<1x1x128x64xf32>
    %max = memref.alloca() : memref<1x1x128xf32>
    %sum = memref.alloca() : memref<1x1x128xf32>
    attn.init_state outs(%acc, %max, %sum : memref<1x1x128x64xf32>, memref<1x1x128xf32>, memref<1x1x128xf32>)
        {maps = [#rows, #row, #row]}
    scf.for %j = %c0 to %c256 step %c64 {
      %key = memref.subview %k[0, %h, %j, 0] [1, 1, 64, 64] [1, 1, 1, 1] : !all to !keys
      %value = memref.subview %v[0, %h, %j, 0] [1, 1, 64, 64] [1, 1, 1, 1] : !all to !keys
      attn.online_step ins(%packed, %key, %value : memref<1x1x128x64xbf16>, !keys, !keys)
          outs(%acc, %max, %sum : memref<1x1x128x64xf32>, memref<1x1x128xf32>, memref<1x1x128xf32>)
          {maps = [#q, #k, #v, #o, #r, #r], scale = 0.125 : f64, schedule = #schedule}
    }
    %result = memref.subview %out[0, %h, %first, 0] [1, 1, 128, 64] [1, 1, 1, 1] : !all to !queries
    attn.finalize ins(%acc, %max, %sum : memref<1x1x128x64xf32>, memref<1x1x128xf32>, memref<1x1x128xf32>)
        outs(%result : !queries) {maps = [#rows, #row, #row, #rows]}
  }
  return
}
