// A schedule in IR is checked as one of --schedule is, against the op and the target.
// RUN: attn-opt %s --attn-select-schedule=target=x86-64-v3 --split-input-file --verify-diagnostics

// A tile begins where a sequence does; a decode tile would begin at row 0.
func.func @packed_decode(%q: tensor<4x4x16xf32>, %k: tensor<20x4x16xf32>, %at: tensor<3xi32>,
                         %o: tensor<4x4x16xf32>) -> tensor<4x4x16xf32> {
  // expected-error @below {{schedule: expected kernel=prefill for packed sequences, whose tiles begin where a sequence does, found kernel=decode; write kernel=prefill}}
  %r = attn.sdpa ins(%q, %k, %k : tensor<4x4x16xf32>, tensor<20x4x16xf32>, tensor<20x4x16xf32>)
      cu_seqlens(%at, %at : tensor<3xi32>, tensor<3xi32>) outs(%o : tensor<4x4x16xf32>)
      {schedule = #attn.schedule<query_tile = 4, key_tile = 16, lanes = 8, row_block = 2, lane_vectors = 4, kernel = decode>} -> tensor<4x4x16xf32>
  return %r : tensor<4x4x16xf32>
}

// -----

// A vector of another processor.
func.func @lanes(%q: tensor<16x64xf32>, %o: tensor<16x64xf32>) -> tensor<16x64xf32> {
  // expected-error @below {{schedule: expected lanes to be 8, those of a vector of 'f32' on target x86-64-v3, found 16; write lanes=8}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>) outs(%o : tensor<16x64xf32>)
      {schedule = #attn.schedule<query_tile = 16, key_tile = 16, lanes = 16, row_block = 1, lane_vectors = 1>} -> tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}

// -----

// The blocks of a GPU.
func.func @warps(%q: tensor<16x64xf32>, %o: tensor<16x64xf32>) -> tensor<16x64xf32> {
  // expected-error @below {{schedule: expected no warps on target x86-64-v3, found 2; write warps=0, or compile for a GPU}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>) outs(%o : tensor<16x64xf32>)
      {schedule = #attn.schedule<query_tile = 16, key_tile = 16, lanes = 32, row_block = 16, lane_vectors = 1, warps = 2>} -> tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}

// -----

// Accumulators far beyond the registers: the code would take minutes to compile.
func.func @unrolled(%q: tensor<16x64xf32>, %o: tensor<16x64xf32>) -> tensor<16x64xf32> {
  // expected-error @below {{schedule: expected row_block times lane_vectors to be at most 128, found 1000 times 2; write row_block=4 lane_vectors=4}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>) outs(%o : tensor<16x64xf32>)
      {schedule = #attn.schedule<query_tile = 16, key_tile = 16, lanes = 8, row_block = 1000, lane_vectors = 2>} -> tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}

// -----

// Additive scores have a kernel for many rows alone.
func.func @additive(%q: tensor<4x16xf32>, %w: tensor<16xf32>, %o: tensor<4x16xf32>) -> tensor<4x16xf32> {
  // expected-error @below {{schedule: expected kernel=prefill for additive scores (score_weight), found kernel=decode; write kernel=prefill}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) score_weight(%w : tensor<16xf32>)
      outs(%o : tensor<4x16xf32>)
      {scale = 1.0 : f64, schedule = #attn.schedule<query_tile = 4, key_tile = 16, lanes = 8, row_block = 2, lane_vectors = 4, kernel = decode>} -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}
