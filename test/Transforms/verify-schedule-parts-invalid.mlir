// Parts of elements that AMX tiles multiply; that instruction and parts fit is said in verify-schedule-invalid.mlir.
// RUN: attn-opt %s --attn-select-schedule=target=sapphirerapids --split-input-file --verify-diagnostics

// The products of one part would be those of bf16.
func.func @f32_is_no_part(%q: tensor<32x64xf32>, %o: tensor<32x64xf32>) -> tensor<32x64xf32> {
  // expected-error @below {{schedule: expected parts to be 3 or 2 for instruction = amx and a Q of 'f32', found 1; write parts = 3}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>) outs(%o : tensor<32x64xf32>)
      {schedule = #attn.prefill<query_tile = 32, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 2, instruction = amx>} -> tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}

// -----

// Two parts of f16 leave nothing to a third.
func.func @f16_has_two(%q: tensor<32x64xf16>, %o: tensor<32x64xf16>) -> tensor<32x64xf16> {
  // expected-error @below {{schedule: expected parts to be 2 for instruction = amx and a Q of 'f16', found 3; write parts = 2}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<32x64xf16>, tensor<32x64xf16>, tensor<32x64xf16>) outs(%o : tensor<32x64xf16>)
      {schedule = #attn.prefill<query_tile = 32, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 2, instruction = amx, parts = 3>} -> tensor<32x64xf16>
  return %r : tensor<32x64xf16>
}

// -----

// A part is a bf16.
func.func @bf16_is_a_part(%q: tensor<32x64xbf16>, %o: tensor<32x64xbf16>) -> tensor<32x64xbf16> {
  // expected-error @below {{schedule: expected parts to be 1 for instruction = amx and a Q of 'bf16', found 2; write parts = 1}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<32x64xbf16>, tensor<32x64xbf16>, tensor<32x64xbf16>) outs(%o : tensor<32x64xbf16>)
      {schedule = #attn.prefill<query_tile = 32, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 2, instruction = amx, parts = 2>} -> tensor<32x64xbf16>
  return %r : tensor<32x64xbf16>
}

// -----

// Parts of K and V are more than K and V.
func.func @stack_of_parts(%q: tensor<32x512xf32>, %o: tensor<32x512xf32>) -> tensor<32x512xf32> {
  // expected-error @below {{schedule: expected query_tile and key_tile of at most 1048576 bytes of parts of Q, K and V, found 32 and 256 that need 1671168; write smaller ones}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<32x512xf32>, tensor<32x512xf32>, tensor<32x512xf32>) outs(%o : tensor<32x512xf32>)
      {schedule = #attn.prefill<query_tile = 32, key_tile = 256, lanes = 16, block_rows = 4, block_vectors = 2, instruction = amx, parts = 3>} -> tensor<32x512xf32>
  return %r : tensor<32x512xf32>
}
