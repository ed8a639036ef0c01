// What rows start with, and numbers that an unsigned getter would hide.
// RUN: attn-opt %s --split-input-file --verify-diagnostics

// C10: a sink is a start; of two, one would be lost.
func.func @f(%q: tensor<2x4x16xf32>, %k: tensor<2x6x16xf32>, %v: tensor<2x6x8xf32>, %s: tensor<2xf32>, %o: tensor<2x4x8xf32>) {
  // expected-error @below {{C10: expected one of sink and start, which attn-analyze-mask makes of a sink, found both}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<2x4x16xf32>, tensor<2x6x16xf32>, tensor<2x6x8xf32>) sink(%s : tensor<2xf32>)
      outs(%o : tensor<2x4x8xf32>) start {
    %x = arith.constant 3.0 : f32
    attn.yield %x : f32
  } -> tensor<2x4x8xf32>
  return
}

// -----

// C10: a start of f64 for rows of f32.
func.func @f(%q: tensor<2x4x16xf32>, %k: tensor<2x6x16xf32>, %v: tensor<2x6x8xf32>, %o: tensor<2x4x8xf32>) {
  // expected-error @below {{C10: expected start to yield f32, the type of the accumulation, found 'f64'}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<2x4x16xf32>, tensor<2x6x16xf32>, tensor<2x6x8xf32>)
      outs(%o : tensor<2x4x8xf32>) start {
    %x = arith.constant 3.0 : f64
    attn.yield %x : f64
  } -> tensor<2x4x8xf32>
  return
}

// -----

// attn.init_state, which will have the region, knows no heads of K.
func.func @f(%q: tensor<8x4x16xf32>, %k: tensor<2x6x16xf32>, %v: tensor<2x6x8xf32>, %w: tensor<2xf32>, %o: tensor<8x4x8xf32>) {
  %r = attn.sdpa ins(%q, %k, %v : tensor<8x4x16xf32>, tensor<2x6x16xf32>, tensor<2x6x8xf32>)
      outs(%o : tensor<8x4x8xf32>) start {
    // expected-error @below {{expected no kv_head in start, which becomes a region of attn.init_state, without key heads; write attn.index head}}
    %h = attn.index kv_head : index
    %x = tensor.extract %w[%h] : tensor<2xf32>
    attn.yield %x : f32
  } -> tensor<8x4x8xf32>
  return
}

// -----

// Nor keys.
func.func @f(%q: tensor<2x4x16xf32>, %k: tensor<2x6x16xf32>, %v: tensor<2x6x8xf32>, %w: tensor<6xf32>, %o: tensor<2x4x8xf32>) {
  %r = attn.sdpa ins(%q, %k, %v : tensor<2x4x16xf32>, tensor<2x6x16xf32>, tensor<2x6x8xf32>)
      outs(%o : tensor<2x4x8xf32>) start {
    // expected-error @below {{expected no key in a region that is evaluated once a row or tile}}
    %j = attn.index key : index
    %x = tensor.extract %w[%j] : tensor<6xf32>
    attn.yield %x : f32
  } -> tensor<2x4x8xf32>
  return
}

// -----

// C12: a chunk of fewer than one key.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<4x16xf32>, %v: tensor<4x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{C12: expected chunk to be at least 1, found -4}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x8xf32>) outs(%o : tensor<4x8xf32>)
      {chunk = -4 : i64, causal = #attn.causal<top_left>} -> tensor<4x8xf32>
  return
}

// -----

// C10: a tile of no rows, in vectors of no lanes.
func.func @f(%rows: index, %keys: index) -> i8 {
  // expected-error @below {{C10: expected query_tile and lanes to be at least 1, found -5 and 0}}
  %kind = attn.classify_tile rows(%rows) keys(%keys) {query_tile = -5 : i64, lanes = 0 : i64} mask_mod {
    %true = arith.constant true
    attn.yield %true : i1
  } : i8
  return %kind : i8
}
