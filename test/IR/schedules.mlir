// The schedule of each kind of kernel; what is the default is not printed.
// RUN: attn-opt %s | attn-opt | FileCheck %s --strict-whitespace

// CHECK: prefill = #attn.prefill<query_tile = 64, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 4, instruction = amx, prefetch = 128>
// CHECK: decode = #attn.decode<query_tile = 1, key_tile = 64, lanes = 16, block_queries = 4, instruction = bytes, split_keys = 1024, prefetch = 64, kv_heads = 2>
// CHECK: block = #attn.block<query_tile = 1, key_tile = 64, warps = 1, warp_rows = 16, instruction = mma, shared_keys = true, split_keys = 256>
// CHECK: plain = #attn.block<query_tile = 64, key_tile = 32, warps = 4, warp_rows = 16>
// CHECK: stages = #attn.block<query_tile = 64, key_tile = 32, warps = 4, warp_rows = 16, instruction = wgmma, stages = 2, producer = true>
// CHECK: instruction = #attn<instruction tf32>
// CHECK: overlap = #attn.prefill<query_tile = 64, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 4, instruction = amx, overlap = true>
// CHECK: sequence = #attn.prefill<query_tile = 48, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 4, instruction = amx>
// CHECK: first = #attn.prefill<query_tile = 48, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 4, instruction = amx, pack_first = true>
// CHECK: parts = #attn.prefill<query_tile = 64, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 4, instruction = amx, overlap = true, parts = 3>
module attributes {
  t.a.prefill = #attn.prefill<query_tile = 64, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 4, instruction = amx, prefetch = 128>,
  t.b.decode = #attn.decode<lanes = 16, block_queries = 4, query_tile = 1, key_tile = 64, instruction = bytes, split_keys = 1024, kv_heads = 2, prefetch = 64>,
  t.c.block = #attn.block<query_tile = 1, key_tile = 64, warps = 1, warp_rows = 16, instruction = mma, shared_keys = true, split_keys = 256>,
  t.d.plain = #attn.block<query_tile = 64, key_tile = 32, warps = 4, warp_rows = 16, instruction = fma, shared_keys = false, split_keys = 0, stages = 1>,
  t.e.stages = #attn.block<query_tile = 64, key_tile = 32, warps = 4, warp_rows = 16, instruction = wgmma, stages = 2, producer = true>,
  t.f.instruction = #attn<instruction tf32>,
  t.g.overlap = #attn.prefill<query_tile = 64, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 4, instruction = amx, overlap = true>,
  t.h.sequence = #attn.prefill<query_tile = 48, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 4, instruction = amx, overlap = false>,
  t.i.first = #attn.prefill<query_tile = 48, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 4, instruction = amx, pack_first = true>,
  t.j.parts = #attn.prefill<query_tile = 64, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 4, parts = 3, instruction = amx, overlap = true>
} {}
