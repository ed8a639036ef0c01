// RUN: attn-opt %s --attn-map-to-gpu=target=sm_90a --attn-decompose-step --attn-pipeline-copies --attn-tiles-to-registers \
// RUN:   --attn-specialize-warps --remarks-filter-missed=attn --remark-format=emitRemark --verify-diagnostics \
// RUN:   | FileCheck %s --implicit-check-not='box('

// Kernels that can have no producer: all threads copy, into one stage.

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
!acc = memref<1x1x64x32xf32, strided<[4096, 2048, 32, 1], offset: ?>>
!part = memref<1x1x16x32xbf16, strided<[2048, 2048, 32, 1], offset: ?>>
!bytes = memref<1x2x64x32xi8>
!key_bytes = memref<1x1x16x32xi8, strided<[4096, 2048, 32, 1], offset: ?>>
!wide = memref<1x2x64x36xbf16>
!wide_key = memref<1x1x16x32xbf16, strided<[4608, 2304, 36, 1], offset: ?>>
!head = memref<64x32xbf16, strided<[32, 1], offset: ?>>
!reshaped = memref<1x1x64x32xbf16, strided<[2048, 2048, 32, 1], offset: ?>>
!packed = memref<1x1x64x32xbf16>
!sums = memref<1x1x64x32xf32>
!numbers = memref<1x1x64xf32>
#schedule = #attn.block<query_tile = 64, key_tile = 16, warps = 4, warp_rows = 16, instruction = wgmma, stages = 2, producer = true>

// Bytes become bf16 on their way.
// CHECK-LABEL: gpu.func @converted_kernel(
//  CHECK-SAME:     instruction = wgmma>
func.func @converted(%q: !all, %k: !bytes, %v: !bytes, %out: !all) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  // expected-remark @below {{rows are converted}}
  scf.forall (%h) in (2) {
    %rows = memref.subview %q[0, %h, 0, 0] [1, 1, 64, 32] [1, 1, 1, 1] : !all to !tile
    %packed = memref.alloca() : !packed
    attn.pack ins(%rows : !tile) outs(%packed : !packed) {maps = [#rows, #rows]}
    %acc = memref.alloca() : !sums
    %max = memref.alloca() : !numbers
    %sum = memref.alloca() : !numbers
    attn.init_state outs(%acc, %max, %sum : !sums, !numbers, !numbers) {maps = [#rows, #row, #row]}
    scf.for %j = %c0 to %c64 step %c16 {
      %key = memref.subview %k[0, %h, %j, 0] [1, 1, 16, 32] [1, 1, 1, 1] : !bytes to !key_bytes
      %value = memref.subview %v[0, %h, %j, 0] [1, 1, 16, 32] [1, 1, 1, 1] : !bytes to !key_bytes
      attn.online_step ins(%packed, %key, %value : !packed, !key_bytes, !key_bytes)
          outs(%acc, %max, %sum : !sums, !numbers, !numbers)
          {maps = [#q, #k, #v, #o, #r, #r], scale = 0.125 : f64, schedule = #schedule}
    } {attn.consecutive}
    %result = memref.subview %out[0, %h, 0, 0] [1, 1, 64, 32] [1, 1, 1, 1] : !all to !tile
    attn.finalize ins(%acc, %max, %sum : !sums, !numbers, !numbers)
        outs(%result : !tile) {maps = [#rows, #row, #row, #rows]}
  }
  return
}

// Rows of 72 bytes.
// CHECK-LABEL: gpu.func @strided_kernel(
//  CHECK-SAME:     instruction = wgmma>
func.func @strided(%q: !all, %k: !wide, %v: !wide, %out: !all) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  // expected-remark @below {{rows do not lie as one of five dimensions, at multiples of 16 bytes}}
  scf.forall (%h) in (2) {
    %rows = memref.subview %q[0, %h, 0, 0] [1, 1, 64, 32] [1, 1, 1, 1] : !all to !tile
    %packed = memref.alloca() : !packed
    attn.pack ins(%rows : !tile) outs(%packed : !packed) {maps = [#rows, #rows]}
    %acc = memref.alloca() : !sums
    %max = memref.alloca() : !numbers
    %sum = memref.alloca() : !numbers
    attn.init_state outs(%acc, %max, %sum : !sums, !numbers, !numbers) {maps = [#rows, #row, #row]}
    scf.for %j = %c0 to %c64 step %c16 {
      %key = memref.subview %k[0, %h, %j, 0] [1, 1, 16, 32] [1, 1, 1, 1] : !wide to !wide_key
      %value = memref.subview %v[0, %h, %j, 0] [1, 1, 16, 32] [1, 1, 1, 1] : !wide to !wide_key
      attn.online_step ins(%packed, %key, %value : !packed, !wide_key, !wide_key)
          outs(%acc, %max, %sum : !sums, !numbers, !numbers)
          {maps = [#q, #k, #v, #o, #r, #r], scale = 0.125 : f64, schedule = #schedule}
    } {attn.consecutive}
    %result = memref.subview %out[0, %h, 0, 0] [1, 1, 64, 32] [1, 1, 1, 1] : !all to !tile
    attn.finalize ins(%acc, %max, %sum : !sums, !numbers, !numbers)
        outs(%result : !tile) {maps = [#rows, #row, #row, #rows]}
  }
  return
}

// Slices of a reshape that depends on the block.
// CHECK-LABEL: gpu.func @reshaped_kernel(
//  CHECK-SAME:     instruction = wgmma>
func.func @reshaped(%q: !all, %k: !all, %v: !all, %out: !all) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  // expected-remark @below {{rows do not come from slices of a tensor of the call}}
  scf.forall (%h) in (2) {
    %rows = memref.subview %q[0, %h, 0, 0] [1, 1, 64, 32] [1, 1, 1, 1] : !all to !tile
    %packed = memref.alloca() : !packed
    attn.pack ins(%rows : !tile) outs(%packed : !packed) {maps = [#rows, #rows]}
    %acc = memref.alloca() : !sums
    %max = memref.alloca() : !numbers
    %sum = memref.alloca() : !numbers
    attn.init_state outs(%acc, %max, %sum : !sums, !numbers, !numbers) {maps = [#rows, #row, #row]}
    %one = memref.subview %k[0, %h, 0, 0] [1, 1, 64, 32] [1, 1, 1, 1] : !all to !head
    %kh = memref.expand_shape %one [[0, 1, 2], [3]] output_shape [1, 1, 64, 32] : !head into !reshaped
    scf.for %j = %c0 to %c64 step %c16 {
      %key = memref.subview %kh[0, 0, %j, 0] [1, 1, 16, 32] [1, 1, 1, 1] : !reshaped to !part
      %value = memref.subview %kh[0, 0, %j, 0] [1, 1, 16, 32] [1, 1, 1, 1] : !reshaped to !part
      attn.online_step ins(%packed, %key, %value : !packed, !part, !part)
          outs(%acc, %max, %sum : !sums, !numbers, !numbers)
          {maps = [#q, #k, #v, #o, #r, #r], scale = 0.125 : f64, schedule = #schedule}
    } {attn.consecutive}
    %result = memref.subview %out[0, %h, 0, 0] [1, 1, 64, 32] [1, 1, 1, 1] : !all to !tile
    attn.finalize ins(%acc, %max, %sum : !sums, !numbers, !numbers)
        outs(%result : !tile) {maps = [#rows, #row, #row, #rows]}
  }
  return
}
