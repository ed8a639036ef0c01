// Fields of the schedule by hand, over those of the policy or of an attribute; what no kernel can have is an error.
// RUN: attn-opt %s --split-input-file --verify-diagnostics --attn-override-schedule="target=x86-64-v4 schedule='#attn.prefill<key_tile = 32, block_vectors = 2>'" | FileCheck %s

// CHECK-LABEL: func @fields
// CHECK: schedule = #attn.prefill<query_tile = 64, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 2>
func.func @fields(%q: tensor<1x2x64x16xf32>, %k: tensor<1x2x64x16xf32>, %o: tensor<1x2x64x16xf32>) -> tensor<1x2x64x16xf32> {
  %out = attn.sdpa ins(%q, %k, %k : tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>)
      outs(%o : tensor<1x2x64x16xf32>)
      {schedule = #attn.prefill<query_tile = 64, key_tile = 64, lanes = 16, block_rows = 4, block_vectors = 4>} -> tensor<1x2x64x16xf32>
  return %out : tensor<1x2x64x16xf32>
}

// -----

// No schedule yet.
func.func @none(%q: tensor<1x2x64x16xf32>, %o: tensor<1x2x64x16xf32>) -> tensor<1x2x64x16xf32> {
  // expected-error @below {{expected a schedule to write over; run attn-select-schedule}}
  %out = attn.sdpa ins(%q, %q, %q : tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>)
      outs(%o : tensor<1x2x64x16xf32>) -> tensor<1x2x64x16xf32>
  return %out : tensor<1x2x64x16xf32>
}

// -----

// Two vectors of 16 rows are more than the tile has: its only block has one.
// CHECK-LABEL: func.func @few_rows
// CHECK: #attn.prefill<query_tile = 16, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 2>
func.func @few_rows(%q: tensor<1x2x64x16xf32>, %o: tensor<1x2x64x16xf32>) -> tensor<1x2x64x16xf32> {
  %out = attn.sdpa ins(%q, %q, %q : tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>)
      outs(%o : tensor<1x2x64x16xf32>)
      {schedule = #attn.prefill<query_tile = 16, key_tile = 64, lanes = 16, block_rows = 4, block_vectors = 1>} -> tensor<1x2x64x16xf32>
  return %out : tensor<1x2x64x16xf32>
}

// -----

// The lanes of another target.
func.func @lanes(%q: tensor<1x2x64x16xf32>, %o: tensor<1x2x64x16xf32>) -> tensor<1x2x64x16xf32> {
  // expected-error @below {{schedule: expected lanes to be 16, those of a vector of 'f32' on target x86-64-v4, found 8}}
  %out = attn.sdpa ins(%q, %q, %q : tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>)
      outs(%o : tensor<1x2x64x16xf32>)
      {schedule = #attn.prefill<query_tile = 64, key_tile = 64, lanes = 8, block_rows = 4, block_vectors = 4>} -> tensor<1x2x64x16xf32>
  return %out : tensor<1x2x64x16xf32>
}

// -----

// Another kind of kernel has all its fields from the text.
func.func @kind(%q: tensor<1x2x1x16xf32>, %k: tensor<1x2x64x16xf32>, %o: tensor<1x2x1x16xf32>) -> tensor<1x2x1x16xf32> {
  // expected-error @below {{schedule: struct is missing required parameter: query_tile in '#attn.prefill<key_tile = 32, block_vectors = 2>'; write a schedule as #attn.decode<query_tile = 1, key_tile = 64, lanes = 16, block_queries = 4>}}
  %out = attn.sdpa ins(%q, %k, %k : tensor<1x2x1x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>)
      outs(%o : tensor<1x2x1x16xf32>)
      {schedule = #attn.decode<query_tile = 1, key_tile = 64, lanes = 16, block_queries = 4>} -> tensor<1x2x1x16xf32>
  return %out : tensor<1x2x1x16xf32>
}
