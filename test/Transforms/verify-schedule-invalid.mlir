// A schedule in IR is checked as one of --schedule is, against the op and the target.
// RUN: attn-opt %s --attn-select-schedule=target=x86-64-v3 --split-input-file --verify-diagnostics

// A tile begins where a sequence does; a decode tile would begin at row 0.
func.func @packed_decode(%q: tensor<4x4x16xf32>, %k: tensor<20x4x16xf32>, %at: tensor<3xi32>,
                         %o: tensor<4x4x16xf32>) -> tensor<4x4x16xf32> {
  // expected-error @below {{schedule: expected #attn.prefill<…> for packed sequences, whose tiles begin where a sequence does; write #attn.prefill<…>}}
  %r = attn.sdpa ins(%q, %k, %k : tensor<4x4x16xf32>, tensor<20x4x16xf32>, tensor<20x4x16xf32>)
      cu_seqlens(%at, %at : tensor<3xi32>, tensor<3xi32>) outs(%o : tensor<4x4x16xf32>)
      {schedule = #attn.decode<query_tile = 4, key_tile = 16, lanes = 8, block_queries = 4>} -> tensor<4x4x16xf32>
  return %r : tensor<4x4x16xf32>
}

// -----

// A vector of another processor.
func.func @lanes(%q: tensor<16x64xf32>, %o: tensor<16x64xf32>) -> tensor<16x64xf32> {
  // expected-error @below {{schedule: expected lanes to be 8, those of a vector of 'f32' on target x86-64-v3, found 16; write lanes = 8}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>) outs(%o : tensor<16x64xf32>)
      {schedule = #attn.prefill<query_tile = 16, key_tile = 16, lanes = 16, block_rows = 1, block_vectors = 1>} -> tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}

// -----

// The blocks of a GPU.
func.func @warps(%q: tensor<16x64xf32>, %o: tensor<16x64xf32>) -> tensor<16x64xf32> {
  // expected-error @below {{schedule: expected one of a processor on target x86-64-v3, found #attn.block<query_tile = 16, key_tile = 16, warps = 2, warp_rows = 16>; write #attn.prefill<…>, or compile for a GPU}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>) outs(%o : tensor<16x64xf32>)
      {schedule = #attn.block<query_tile = 16, key_tile = 16, warps = 2, warp_rows = 16>} -> tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}

// -----

// Accumulators far beyond the registers: the code would take minutes to compile.
func.func @unrolled(%q: tensor<16x64xf32>, %o: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>) outs(%o : tensor<16x64xf32>)
  // expected-error @below {{expected block_rows times block_vectors to be at most 128, found 1000 times 2; write block_rows = 4, block_vectors = 4}}
      {schedule = #attn.prefill<query_tile = 16, key_tile = 16, lanes = 8, block_rows = 1000, block_vectors = 2>} -> tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}

// -----

// Only tiles multiply beside vectors.
func.func @overlap(%q: tensor<32x64xf32>, %o: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>) outs(%o : tensor<32x64xf32>)
  // expected-error @below {{expected instruction to be amx with overlap = true, found fma; write overlap = false}}
      {schedule = #attn.prefill<query_tile = 32, key_tile = 32, lanes = 8, block_rows = 4, block_vectors = 4, overlap = true>} -> tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}

// -----

// Other instructions read V as it lies, or pack it while they multiply.
func.func @pack_first(%q: tensor<32x64xbf16>, %o: tensor<32x64xbf16>) -> tensor<32x64xbf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<32x64xbf16>, tensor<32x64xbf16>, tensor<32x64xbf16>) outs(%o : tensor<32x64xbf16>)
  // expected-error @below {{expected instruction to be amx with pack_first = true, found pairs; write pack_first = false}}
      {schedule = #attn.prefill<query_tile = 32, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 2, instruction = pairs, pack_first = true>} -> tensor<32x64xbf16>
  return %r : tensor<32x64xbf16>
}

// -----

// One unit and a half.
func.func @units(%q: tensor<48x64xbf16>, %o: tensor<48x64xbf16>) -> tensor<48x64xbf16> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<48x64xbf16>, tensor<48x64xbf16>, tensor<48x64xbf16>) outs(%o : tensor<48x64xbf16>)
  // expected-error @below {{expected query_tile to be a multiple of 32 with overlap = true, found 48; write overlap = false or query_tile = 64}}
      {schedule = #attn.prefill<query_tile = 48, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 3, instruction = amx, overlap = true>} -> tensor<48x64xbf16>
  return %r : tensor<48x64xbf16>
}

// -----

// Only tiles multiply parts.
func.func @parts_of_fma(%q: tensor<32x64xf32>, %o: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>) outs(%o : tensor<32x64xf32>)
  // expected-error @below {{expected instruction to be amx with parts = 3, found fma; write parts = 1}}
      {schedule = #attn.prefill<query_tile = 32, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 2, parts = 3>} -> tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}

// -----

// Three parts hold any f32.
func.func @four_parts(%q: tensor<32x64xf32>, %o: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %r = attn.sdpa ins(%q, %q, %q : tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>) outs(%o : tensor<32x64xf32>)
  // expected-error @below {{expected parts to be a number from 1 to 3, found 4; write parts = 3}}
      {schedule = #attn.prefill<query_tile = 32, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 2, instruction = amx, parts = 4>} -> tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}

// -----

// Additive scores have a kernel for many rows alone.
func.func @additive(%q: tensor<4x16xf32>, %w: tensor<16xf32>, %o: tensor<4x16xf32>) -> tensor<4x16xf32> {
  // expected-error @below {{schedule: expected #attn.prefill<…> for additive scores (score_weight); write #attn.prefill<…>}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) score_weight(%w : tensor<16xf32>)
      outs(%o : tensor<4x16xf32>)
      {scale = 1.0 : f64, schedule = #attn.decode<query_tile = 4, key_tile = 16, lanes = 8, block_queries = 4>} -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// A decode kernel adds up as many products of rows and keys together as a vector has lanes.
func.func @square(%q: tensor<2x1x16xf32>, %k: tensor<2x64x16xf32>, %o: tensor<2x1x16xf32>) -> tensor<2x1x16xf32> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<2x1x16xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>) outs(%o : tensor<2x1x16xf32>)
      // expected-error @below {{expected block_queries to be at most the lanes, 8, both powers of two, found 16; write block_queries = 1}}
      {schedule = #attn.decode<query_tile = 1, key_tile = 64, lanes = 8, block_queries = 16>} -> tensor<2x1x16xf32>
  return %r : tensor<2x1x16xf32>
}

// -----

// An instruction of another kind of kernel.
func.func @kind(%q: tensor<2x1x16xf32>, %k: tensor<2x64x16xf32>, %o: tensor<2x1x16xf32>) -> tensor<2x1x16xf32> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<2x1x16xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>) outs(%o : tensor<2x1x16xf32>)
      // expected-error @below {{expected instruction to be fma, pairs, bytes or amx, found mma; write instruction = fma}}
      {schedule = #attn.decode<query_tile = 1, key_tile = 64, lanes = 8, block_queries = 8, instruction = mma>} -> tensor<2x1x16xf32>
  return %r : tensor<2x1x16xf32>
}

// -----

// Four heads of Q share one of K.
func.func @heads(%q: tensor<8x1x64xf32>, %k: tensor<2x60x64xf32>, %o: tensor<8x1x64xf32>) -> tensor<8x1x64xf32> {
  // expected-error @below {{schedule: expected heads to divide the 4 query heads that share a head of K, found 3; write heads = 0}}
  %r = attn.sdpa ins(%q, %k, %k : tensor<8x1x64xf32>, tensor<2x60x64xf32>, tensor<2x60x64xf32>)
      outs(%o : tensor<8x1x64xf32>)
      {schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 8, block_queries = 1, heads = 3>}
      -> tensor<8x1x64xf32>
  return %r : tensor<8x1x64xf32>
}

// -----

// A tile of two heads of K has all heads of Q that share them.
func.func @both(%q: tensor<8x1x64xf32>, %k: tensor<2x60x64xf32>, %o: tensor<8x1x64xf32>) -> tensor<8x1x64xf32> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<8x1x64xf32>, tensor<2x60x64xf32>, tensor<2x60x64xf32>)
      outs(%o : tensor<8x1x64xf32>)
      // expected-error @below {{expected all heads of a group beside kv_heads greater than 1, found heads = 2; write heads = 0}}
      {schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 8, block_queries = 1, heads = 2, kv_heads = 2>}
      -> tensor<8x1x64xf32>
  return %r : tensor<8x1x64xf32>
}

// -----

// A tile holds whole rows.
func.func @dyn(%q: tensor<8x?xf32>, %k: tensor<60x?xf32>, %v: tensor<60x8xf32>, %s: f32, %o: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @below {{cannot be tiled: expected static head sizes, found dynamic ones}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x?xf32>, tensor<60x?xf32>, tensor<60x8xf32>) scale_value(%s : f32)
      outs(%o : tensor<8x8xf32>)
      {schedule = #attn.prefill<query_tile = 8, key_tile = 6, lanes = 8, block_rows = 4, block_vectors = 1>}
      -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// -----

// Values of no columns.
func.func @none(%q: tensor<8x8xf32>, %k: tensor<60x8xf32>, %v: tensor<60x0xf32>, %o: tensor<8x0xf32>) -> tensor<8x0xf32> {
  // expected-error @below {{cannot be tiled: expected at least one column of V, found none; run attn-lower-to-reference on the attn.sdpa}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x8xf32>, tensor<60x8xf32>, tensor<60x0xf32>) outs(%o : tensor<8x0xf32>)
      {schedule = #attn.prefill<query_tile = 8, key_tile = 6, lanes = 8, block_rows = 4, block_vectors = 1>}
      -> tensor<8x0xf32>
  return %r : tensor<8x0xf32>
}
