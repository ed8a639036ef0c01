// RUN: attn-opt %s --attn-map-to-gpu=target=sm_80 --attn-decompose-step --attn-pipeline-copies --attn-tiles-to-registers \
// RUN:   --attn-lower-tile-to-nvvm=target=sm_80 --canonicalize --cse | FileCheck %s

#t = affine_map<(b, i, n) -> (b, i, n)>
#q = affine_map<(b, i, j, d, n) -> (b, i, d)>
#k = affine_map<(b, i, j, d, n) -> (b, j, d)>
#v = affine_map<(b, i, j, d, n) -> (b, j, n)>
#o = affine_map<(b, i, j, d, n) -> (b, i, n)>
#r = affine_map<(b, i, j, d, n) -> (b, i)>
!all = memref<2x16x16xbf16>
!numbers = memref<2x16xf32>
!rows = memref<1x16x16xbf16, strided<[256, 16, 1], offset: ?>>
!row = memref<1x16xf32, strided<[16, 1], offset: ?>>
!tile = memref<1x16x16xbf16>
!sums = memref<1x16x16xf32>
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>

// delta: a lane a column, added up over the warp; 0 in a row without keys, written by one lane.
// CHECK-LABEL: llvm.func @queries_kernel(
//   CHECK-DAG:   %[[NONE:.*]] = arith.constant 0xFF800000 : f32
//   CHECK-DAG:   %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
//       CHECK:   scf.for
//       CHECK:     %[[PRODUCT:.*]] = llvm.intr.fma(%{{.*}}, %{{.*}}, %[[ZERO]])
//       CHECK:     arith.select %{{.*}}, %[[PRODUCT]], %[[ZERO]]
// CHECK-COUNT-5:   nvvm.shfl.sync bfly
//       CHECK:     %[[DELTA:.*]] = arith.subf
//       CHECK:     %[[EMPTY:.*]] = arith.cmpf oeq, %{{.*}}, %[[NONE]]
//       CHECK:     %[[SUM:.*]] = arith.select %[[EMPTY]], %[[ZERO]], %[[DELTA]]
//       CHECK:     scf.if
//  CHECK-NEXT:       llvm.getelementptr
//  CHECK-NEXT:       llvm.store %[[SUM]]

// Rows are queries: a thread has lse and delta of two. Of a plain score p = 2^((scale s - lse) log2 e) is one
// multiply-add, and g = scale p (dw - delta). Weights are no operand of dQ: G alone is packed for it. Sums of a row are
// rounded two at a time.
// CHECK-LABEL: llvm.func @queries_kernel_1(
//   CHECK-DAG:   %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
//   CHECK-DAG:   %[[SCALE:.*]] = arith.constant 2.500000e-01 : f32
//   CHECK-DAG:   %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
// CHECK-COUNT-4:   nvvm.mma.sync
//   CHECK-NOT:   nvvm.mma.sync
// CHECK-COUNT-4:   llvm.load %{{.*}} : !llvm.ptr<1> -> f32
//       CHECK:   %[[MINUS_LSE:.*]] = arith.subf %[[ZERO]], %{{.*}}
//  CHECK-NEXT:   %[[DIFFERENCE:.*]] = llvm.intr.fma(%{{.*}}, %[[SCALE]], %[[MINUS_LSE]])
//  CHECK-NEXT:   %[[AT_MOST_0:.*]] = llvm.intr.minimum(%[[DIFFERENCE]], %{{.*}})
//  CHECK-NEXT:   %[[EXPONENT:.*]] = arith.mulf %[[AT_MOST_0]], %[[LOG2E]]
//  CHECK-NEXT:   %[[P:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"(%[[EXPONENT]])
//  CHECK-NEXT:   %[[LESS:.*]] = arith.subf
//  CHECK-NEXT:   %[[DS:.*]] = arith.mulf %[[P]], %[[LESS]]
//  CHECK-NEXT:   %[[G:.*]] = arith.mulf %[[DS]], %[[SCALE]]
//       CHECK:   llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"(%{{.*}}, %[[G]])
// CHECK-COUNT-2:   nvvm.mma.sync
//   CHECK-NOT:   nvvm.mma.sync
//       CHECK:   scf.if
//       CHECK:     %[[PAIR:.*]] = vector.from_elements %{{.*}}, %{{.*}} : vector<2xbf16>
//       CHECK:     llvm.store %[[PAIR]], %{{.*}} : vector<2xbf16>, !llvm.ptr<1>
func.func @queries(%q: !all, %k: !all, %v: !all, %o: !all, %lse: !numbers, %do: !all, %dlse: !numbers, %delta: !numbers,
                   %dq: !all) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%h) in (2) {
    %oh = memref.subview %o[%h, 0, 0] [1, 16, 16] [1, 1, 1] : !all to !rows
    %doh = memref.subview %do[%h, 0, 0] [1, 16, 16] [1, 1, 1] : !all to !rows
    %l = memref.subview %lse[%h, 0] [1, 16] [1, 1] : !numbers to !row
    %dl = memref.subview %dlse[%h, 0] [1, 16] [1, 1] : !numbers to !row
    %d = memref.subview %delta[%h, 0] [1, 16] [1, 1] : !numbers to !row
    attn.row_delta ins(%oh, %doh, %l : !rows, !rows, !row) dlse(%dl : !row) outs(%d : !row)
  }
  scf.forall (%h) in (2) {
    %qh = memref.subview %q[%h, 0, 0] [1, 16, 16] [1, 1, 1] : !all to !rows
    %kh = memref.subview %k[%h, 0, 0] [1, 16, 16] [1, 1, 1] : !all to !rows
    %vh = memref.subview %v[%h, 0, 0] [1, 16, 16] [1, 1, 1] : !all to !rows
    %doh = memref.subview %do[%h, 0, 0] [1, 16, 16] [1, 1, 1] : !all to !rows
    %dqh = memref.subview %dq[%h, 0, 0] [1, 16, 16] [1, 1, 1] : !all to !rows
    %l = memref.subview %lse[%h, 0] [1, 16] [1, 1] : !numbers to !row
    %d = memref.subview %delta[%h, 0] [1, 16] [1, 1] : !numbers to !row
    %qt = memref.alloca() : !tile
    %kt = memref.alloca() : !tile
    %vt = memref.alloca() : !tile
    %dot = memref.alloca() : !tile
    %sums = memref.alloca() : !sums
    attn.pack ins(%qh : !rows) outs(%qt : !tile) {maps = [#t, #t]}
    attn.pack ins(%doh : !rows) outs(%dot : !tile) {maps = [#t, #t]}
    linalg.fill ins(%zero : f32) outs(%sums : !sums)
    attn.pack ins(%kh : !rows) outs(%kt : !tile) {maps = [#t, #t]}
    attn.pack ins(%vh : !rows) outs(%vt : !tile) {maps = [#t, #t]}
    attn.backward_step ins(%qt, %kt, %vt, %l, %dot, %d : !tile, !tile, !tile, !row, !tile, !row) dquery(%sums : !sums)
        {maps = [#q, #k, #v, #r, #o, #r, #q], scale = 0.25 : f64, schedule = #schedule}
    attn.pack ins(%sums : !sums) outs(%dqh : !rows) {maps = [#t, #t]}
  }
  return
}

// Rows are keys: lse and delta belong to columns, and are read once for each. A row of Q or dO without keys is copied
// as zeros. Removed keys and queries without keys have weight 0 and gradient 0; P and G are operands of a product each.
// CHECK-LABEL: llvm.func @keys_kernel(
//   CHECK-DAG:   %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
//   CHECK-DAG:   %[[NONE:.*]] = arith.constant 0xFF800000 : f32
//       CHECK:   %[[HAS_KEYS:.*]] = arith.cmpf une, %{{.*}}, %[[NONE]]
//       CHECK:   arith.select %[[HAS_KEYS]], %c16_i32, %c0_i32
// CHECK-COUNT-4:   nvvm.mma.sync
//       CHECK:   %[[LSE:.*]] = llvm.load
//       CHECK:   %[[DELTA:.*]] = llvm.load
//       CHECK:   %[[EMPTY:.*]] = arith.cmpf oeq, %[[LSE]], %[[NONE]]
//       CHECK:   %[[KEEP:.*]] = arith.cmpi sle
//       CHECK:   %[[SCORE:.*]] = arith.select %[[KEEP]], %{{.*}}, %[[NONE]]
//  CHECK-NEXT:   arith.subf %[[SCORE]], %[[LSE]]
//  CHECK-NEXT:   %[[REMOVED:.*]] = arith.cmpf oeq, %[[SCORE]], %[[NONE]]
//  CHECK-NEXT:   %[[EITHER:.*]] = arith.ori %[[REMOVED]], %[[EMPTY]]
//       CHECK:   %[[P:.*]] = arith.select %[[EITHER]], %[[ZERO]], %{{.*}}
//  CHECK-NEXT:   %[[IS_ZERO:.*]] = arith.cmpf oeq, %[[P]], %[[ZERO]]
//  CHECK-NEXT:   arith.subf %{{.*}}, %[[DELTA]]
//       CHECK:   arith.select %[[IS_ZERO]], %[[ZERO]], %{{.*}}
//       CHECK:   llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"
// CHECK-COUNT-2:   nvvm.mma.sync
//       CHECK:   llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"(%{{.*}}, %[[P]])
// CHECK-COUNT-2:   nvvm.mma.sync
func.func @keys(%q: !all, %k: !all, %v: !all, %lse: !numbers, %do: !all, %delta: !numbers, %dk: !all, %dv: !all) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%h) in (2) {
    %qh = memref.subview %q[%h, 0, 0] [1, 16, 16] [1, 1, 1] : !all to !rows
    %kh = memref.subview %k[%h, 0, 0] [1, 16, 16] [1, 1, 1] : !all to !rows
    %vh = memref.subview %v[%h, 0, 0] [1, 16, 16] [1, 1, 1] : !all to !rows
    %doh = memref.subview %do[%h, 0, 0] [1, 16, 16] [1, 1, 1] : !all to !rows
    %dkh = memref.subview %dk[%h, 0, 0] [1, 16, 16] [1, 1, 1] : !all to !rows
    %dvh = memref.subview %dv[%h, 0, 0] [1, 16, 16] [1, 1, 1] : !all to !rows
    %l = memref.subview %lse[%h, 0] [1, 16] [1, 1] : !numbers to !row
    %d = memref.subview %delta[%h, 0] [1, 16] [1, 1] : !numbers to !row
    %qt = memref.alloca() : !tile
    %kt = memref.alloca() : !tile
    %vt = memref.alloca() : !tile
    %dot = memref.alloca() : !tile
    %sk = memref.alloca() : !sums
    %sv = memref.alloca() : !sums
    attn.pack ins(%kh : !rows) outs(%kt : !tile) {maps = [#t, #t]}
    attn.pack ins(%vh : !rows) outs(%vt : !tile) {maps = [#t, #t]}
    linalg.fill ins(%zero : f32) outs(%sk : !sums)
    linalg.fill ins(%zero : f32) outs(%sv : !sums)
    attn.pack ins(%qh : !rows) outs(%qt : !tile) {maps = [#t, #t]}
    attn.pack ins(%doh : !rows) outs(%dot : !tile) {maps = [#t, #t]}
    attn.backward_step ins(%qt, %kt, %vt, %l, %dot, %d : !tile, !tile, !tile, !row, !tile, !row)
        dkey(%sk : !sums) dvalue(%sv : !sums)
        {maps = [#q, #k, #v, #r, #o, #r, #k, #v], scale = 0.25 : f64, schedule = #schedule} mask_mod {
      %j = attn.index key : index
      %i = attn.index query : index
      %keep = arith.cmpi sle, %j, %i : index
      attn.yield %keep : i1
    }
    attn.pack ins(%sk : !sums) outs(%dkh : !rows) {maps = [#t, #t]}
    attn.pack ins(%sv : !sums) outs(%dvh : !rows) {maps = [#t, #t]}
  }
  return
}
