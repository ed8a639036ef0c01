// RUN: attn-opt %s --attn-lower-tile-to-vector=target=x86-64-v3 --split-input-file --verify-diagnostics

// No tile sizes.
func.func @no_schedule(%q: memref<4x8xf32>, %k: memref<16x8xf32>, %r: memref<4xf32>) {
  // expected-error @below {{expected a schedule #attn.backward<…>; run attn-select-schedule and attn-tile}}
  attn.backward_step ins(%q, %k, %k, %r, %q, %r : memref<4x8xf32>, memref<16x8xf32>, memref<16x8xf32>, memref<4xf32>,
      memref<4x8xf32>, memref<4xf32>) dquery(%q : memref<4x8xf32>)
  return
}

// -----

// K and V are columns for the products with Q and dout.
func.func @not_transposed(%q: memref<4x8xf32>, %k: memref<16x8xf32>, %r: memref<4xf32>) {
  // expected-error @below {{expected the tile of one head, with K and V transposed beside them; run attn-tile}}
  attn.backward_step ins(%q, %k, %k, %r, %q, %r : memref<4x8xf32>, memref<16x8xf32>, memref<16x8xf32>, memref<4xf32>,
      memref<4x8xf32>, memref<4xf32>) dquery(%q : memref<4x8xf32>)
      {schedule = #attn.backward<query_tile = 4, key_tile = 16, lanes = 8, block_rows = 2, block_vectors = 1>}
  return
}

// -----

// Sums of keys have the keys innermost.
func.func @rows_of_keys(%q: memref<4x8xf32>, %k: memref<16x8xf32>, %r: memref<4xf32>, %t: memref<8x16xf32>) {
  // expected-error @below {{expected rows of Q, K and dout of 'f32', and dquery, dkey and dvalue with keys innermost of 'f32'; run attn-tile}}
  attn.backward_step ins(%q, %k, %k, %r, %q, %r : memref<4x8xf32>, memref<16x8xf32>, memref<16x8xf32>, memref<4xf32>,
      memref<4x8xf32>, memref<4xf32>) transposed(%t, %t : memref<8x16xf32>, memref<8x16xf32>)
      dkey(%k : memref<16x8xf32>)
      {schedule = #attn.backward<query_tile = 4, key_tile = 16, lanes = 8, block_rows = 2, block_vectors = 1>}
  return
}

// -----

// The transposes have a column for each key of the tile, also where there are fewer keys.
func.func @narrow_transpose(%q: memref<4x8xf32>, %k: memref<12x8xf32>, %r: memref<4xf32>, %t: memref<8x12xf32>) {
  // expected-error @below {{expected transposed to be of 'memref<8x16xf32>', found 'memref<8x12xf32>'}}
  attn.backward_step ins(%q, %k, %k, %r, %q, %r : memref<4x8xf32>, memref<12x8xf32>, memref<12x8xf32>, memref<4xf32>,
      memref<4x8xf32>, memref<4xf32>) transposed(%t, %t : memref<8x12xf32>, memref<8x12xf32>)
      dquery(%q : memref<4x8xf32>)
      {schedule = #attn.backward<query_tile = 4, key_tile = 16, lanes = 8, block_rows = 2, block_vectors = 1>}
  return
}
