// RUN: attn-opt %s --attn-map-to-gpu=target=sm_86 --split-input-file --verify-diagnostics

#q = affine_map<(i, j, d, n) -> (i, d)>
#k = affine_map<(i, j, d, n) -> (j, d)>
#v = affine_map<(i, j, d, n) -> (j, n)>
#o = affine_map<(i, j, d, n) -> (i, n)>
#r = affine_map<(i, j, d, n) -> (i)>
!q = memref<128x256xbf16>
!k = memref<128x256xbf16>
#schedule = #attn.block<query_tile = 128, key_tile = 128, warps = 4, warp_rows = 32, instruction = mma>

// Q, K and V of 64 KiB each.
func.func @too_large(%q: !q, %k: !k, %v: !k, %acc: memref<128x256xf32>, %max: memref<128xf32>, %sum: memref<128xf32>) {
  scf.forall (%h) in (2) {
    // expected-error @below {{schedule: expected at most 99 KiB of shared memory on target sm_86, found 192; write a smaller key_tile, fewer stages or fewer warps}}
    attn.online_step ins(%q, %k, %v : !q, !k, !k) outs(%acc, %max, %sum : memref<128x256xf32>, memref<128xf32>, memref<128xf32>)
        {maps = [#q, #k, #v, #o, #r, #r], schedule = #schedule}
  }
  return
}

// -----

#q = affine_map<(i, j, d, n) -> (i, d)>
#k = affine_map<(i, j, d, n) -> (j, d)>
#v = affine_map<(i, j, d, n) -> (j, n)>
#o = affine_map<(i, j, d, n) -> (i, n)>
#r = affine_map<(i, j, d, n) -> (i)>
!t = memref<16x64xf32>
#schedule = #attn.prefill<query_tile = 16, key_tile = 16, lanes = 16, block_rows = 4, block_vectors = 1>

// A schedule of a CPU has no warps.
func.func @of_a_cpu(%q: !t, %k: !t, %v: !t, %acc: !t, %max: memref<16xf32>, %sum: memref<16xf32>) {
  scf.forall (%h) in (2) {
    // expected-error @below {{expected a schedule #attn.block<…>; run attn-select-schedule for target sm_86}}
    attn.online_step ins(%q, %k, %v : !t, !t, !t) outs(%acc, %max, %sum : !t, memref<16xf32>, memref<16xf32>)
        {maps = [#q, #k, #v, #o, #r, #r], schedule = #schedule}
  }
  return
}

// -----

// A maximum is no attention, elementwise op or sum, and would run on the host, on the device's memory.
func.func @maximum(%x: memref<4x8xf32>, %y: memref<4xf32>) attributes {attn.arguments = [
    {name = "x", output = false, type = tensor<4x8xf32>}, {name = "y", output = true, type = tensor<4xf32>}]} {
  // expected-error @below {{no GPU kernel for this op: only attention (attn.sdpa, or the chain that attn-fuse fuses), elementwise ops, sums, copies and attn.kv_append have one}}
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                  iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x8xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.maximumf %in, %out : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// Tensors have no place in a device's memory yet.
func.func @tensors(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{expected memrefs; run bufferisation before attn-map-to-gpu}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// attn-to-gpu without attn-to-flash.
func.func @whole(%q: memref<4x16xf32>, %k: memref<6x16xf32>, %v: memref<6x8xf32>, %o: memref<4x8xf32>) {
  // expected-error @below {{expected tiles, found the whole op; run attn-to-flash first, for this target}}
  attn.sdpa ins(%q, %k, %v : memref<4x16xf32>, memref<6x16xf32>, memref<6x8xf32>) outs(%o : memref<4x8xf32>)
  return
}

// -----

// Rows of gradients without a step, which would say how many a block has.
func.func @alone(%o: memref<2x16x16xbf16>, %lse: memref<2x16xf32>, %delta: memref<2x16xf32>) {
  // expected-error @below {{expected attention in this loop, or beside it; found none}}
  scf.forall (%h) in (2) {
    attn.row_delta ins(%o, %o, %lse : memref<2x16x16xbf16>, memref<2x16x16xbf16>, memref<2x16xf32>)
        outs(%delta : memref<2x16xf32>)
  }
  return
}

// -----

#q = affine_map<(i, j, d, n) -> (i, d)>
#k = affine_map<(i, j, d, n) -> (j, d)>
#v = affine_map<(i, j, d, n) -> (j, n)>
#o = affine_map<(i, j, d, n) -> (i, n)>
#r = affine_map<(i, j, d, n) -> (i)>
!q = memref<16x32xbf16>
!a = memref<16x32xf32>
#schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 1, warp_rows = 16, instruction = mma>
// A tile without a loop, whose rounds would be its blocks.
func.func @no_loop(%q: !q, %k: !q, %acc: !a, %max: memref<16xf32>, %sum: memref<16xf32>, %out: !q) {
  // expected-error @below {{expected it in an scf.forall, whose rounds are thread blocks, found it in the function; run attn-tile with a schedule #attn.block<…>}}
  attn.online_step ins(%q, %k, %k : !q, !q, !q) outs(%acc, %max, %sum : !a, memref<16xf32>, memref<16xf32>)
      {maps = [#q, #k, #v, #o, #r, #r], schedule = #schedule}
  return
}
