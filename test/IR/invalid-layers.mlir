// RUN: attn-opt %s --split-input-file --verify-diagnostics

// Rows of three dimensions have no heads.
func.func @append_1(%new: tensor<2x1x8xf32>, %p: tensor<2xi32>, %c: tensor<2x2x9x8xf32>) -> tensor<2x2x9x8xf32> {
  // expected-error@+1 {{'attn.kv_append' op C19: expected new rows (B, Hkv, N, D) and a cache of 4 dimensions, found}}
  %r = attn.kv_append ins(%new : tensor<2x1x8xf32>) positions(%p : tensor<2xi32>)
      outs(%c : tensor<2x2x9x8xf32>) -> tensor<2x2x9x8xf32>
  return %r : tensor<2x2x9x8xf32>
}

// -----

// Integers have no scale to be floats by.
func.func @append_2(%new: tensor<2x2x1x8xi8>, %p: tensor<2xi32>, %c: tensor<2x2x9x8xf32>) -> tensor<2x2x9x8xf32> {
  // expected-error@+1 {{'attn.kv_append' op C19: expected new rows of the cache's element type 'f32', or f32, bf16 or f16, or f64, beside a cache of these, found 'i8'}}
  %r = attn.kv_append ins(%new : tensor<2x2x1x8xi8>) positions(%p : tensor<2xi32>)
      outs(%c : tensor<2x2x9x8xf32>) -> tensor<2x2x9x8xf32>
  return %r : tensor<2x2x9x8xf32>
}

// -----

// The quotient by the scale is f32, to which an f64 would be rounded first.
func.func @append_f64(%new: tensor<2x2x1x8xf64>, %p: tensor<2xi32>, %c: tensor<2x2x9x8xi8>) -> tensor<2x2x9x8xi8> {
  // expected-error@+1 {{'attn.kv_append' op C19: expected new rows of the cache's element type 'i8', or f32, bf16 or f16, found 'f64'}}
  %r = attn.kv_append ins(%new : tensor<2x2x1x8xf64>) positions(%p : tensor<2xi32>)
      outs(%c : tensor<2x2x9x8xi8>) -> tensor<2x2x9x8xi8>
  return %r : tensor<2x2x9x8xi8>
}

// -----

// What is copied has no scale.
func.func @append_scale(%new: tensor<2x2x1x8xi8>, %p: tensor<2xi32>, %s: tensor<2xf32>, %c: tensor<2x2x9x8xi8>) -> tensor<2x2x9x8xi8> {
  // expected-error@+1 {{'attn.kv_append' op C19: expected a scale only beside rows that are converted to i8, f8E4M3FN or f8E5M2, found 'i8' to 'i8'}}
  %r = attn.kv_append ins(%new : tensor<2x2x1x8xi8>) positions(%p : tensor<2xi32>) scale(%s : tensor<2xf32>)
      outs(%c : tensor<2x2x9x8xi8>) -> tensor<2x2x9x8xi8>
  return %r : tensor<2x2x9x8xi8>
}

// -----

// There are two heads.
func.func @append_scales(%new: tensor<2x2x1x8xf32>, %p: tensor<2xi32>, %s: tensor<3xf32>, %c: tensor<2x2x9x8xi8>) -> tensor<2x2x9x8xi8> {
  // expected-error@+1 {{'attn.kv_append' op C19: expected a scale of f32, (Hkv) or (B, Hkv, N) of the new rows 'tensor<2x2x1x8xf32>', found 'tensor<3xf32>'}}
  %r = attn.kv_append ins(%new : tensor<2x2x1x8xf32>) positions(%p : tensor<2xi32>) scale(%s : tensor<3xf32>)
      outs(%c : tensor<2x2x9x8xi8>) -> tensor<2x2x9x8xi8>
  return %r : tensor<2x2x9x8xi8>
}

// -----

// One position a batch index.
func.func @append_3(%new: tensor<2x2x1x8xf32>, %p: tensor<2xi64>, %c: tensor<2x2x9x8xf32>) -> tensor<2x2x9x8xf32> {
  // expected-error@+1 {{'attn.kv_append' op C19: expected positions of one dimension of i32, found 'tensor<2xi64>'}}
  %r = attn.kv_append ins(%new : tensor<2x2x1x8xf32>) positions(%p : tensor<2xi64>)
      outs(%c : tensor<2x2x9x8xf32>) -> tensor<2x2x9x8xf32>
  return %r : tensor<2x2x9x8xf32>
}

// -----

// Three positions for two batch indices.
func.func @append_4(%new: tensor<2x2x1x8xf32>, %p: tensor<3xi32>, %c: tensor<2x2x9x8xf32>) -> tensor<2x2x9x8xf32> {
  // expected-error@+1 {{'attn.kv_append' op C19: expected 2 positions, one a batch index, found 'tensor<3xi32>'}}
  %r = attn.kv_append ins(%new : tensor<2x2x1x8xf32>) positions(%p : tensor<3xi32>)
      outs(%c : tensor<2x2x9x8xf32>) -> tensor<2x2x9x8xf32>
  return %r : tensor<2x2x9x8xf32>
}

// -----

// A table says where pages are, page_layout what is in them.
func.func @append_5(%new: tensor<2x2x1x8xf32>, %p: tensor<2xi32>, %t: tensor<2x3xi32>, %c: tensor<6x4x2x8xf32>) -> tensor<6x4x2x8xf32> {
  // expected-error@+1 {{'attn.kv_append' op C19: expected page_layout beside block_table, found block_table alone}}
  %r = attn.kv_append ins(%new : tensor<2x2x1x8xf32>) positions(%p : tensor<2xi32>) block_table(%t : tensor<2x3xi32>)
      outs(%c : tensor<6x4x2x8xf32>) -> tensor<6x4x2x8xf32>
  return %r : tensor<6x4x2x8xf32>
}

// -----

// A dense cache has no pages.
func.func @append_6(%new: tensor<2x2x1x8xf32>, %p: tensor<2xi32>, %c: tensor<2x2x9x8xf32>) -> tensor<2x2x9x8xf32> {
  // expected-error@+1 {{'attn.kv_append' op C19: expected page_layout beside block_table, found page_layout alone}}
  %r = attn.kv_append ins(%new : tensor<2x2x1x8xf32>) positions(%p : tensor<2xi32>)
      outs(%c : tensor<2x2x9x8xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<2x2x9x8xf32>
  return %r : tensor<2x2x9x8xf32>
}

// -----

// A cache for three batch indices.
func.func @append_7(%new: tensor<2x2x1x8xf32>, %p: tensor<2xi32>, %c: tensor<3x2x9x8xf32>) -> tensor<3x2x9x8xf32> {
  // expected-error@+1 {{'attn.kv_append' op C19: expected a cache (B, Hkv, capacity, D) of 2 batch indices, found}}
  %r = attn.kv_append ins(%new : tensor<2x2x1x8xf32>) positions(%p : tensor<2xi32>)
      outs(%c : tensor<3x2x9x8xf32>) -> tensor<3x2x9x8xf32>
  return %r : tensor<3x2x9x8xf32>
}

// -----

// The table has a row a batch index.
func.func @append_8(%new: tensor<2x2x1x8xf32>, %p: tensor<2xi32>, %t: tensor<3x3xi32>, %c: tensor<6x4x2x8xf32>) -> tensor<6x4x2x8xf32> {
  // expected-error@+1 {{'attn.kv_append' op C19: expected block_table of two dimensions of i32, a row a batch index, found 'tensor<3x3xi32>'}}
  %r = attn.kv_append ins(%new : tensor<2x2x1x8xf32>) positions(%p : tensor<2xi32>) block_table(%t : tensor<3x3xi32>)
      outs(%c : tensor<6x4x2x8xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<6x4x2x8xf32>
  return %r : tensor<6x4x2x8xf32>
}

// -----

// No row fits in a page of none.
func.func @append_9(%new: tensor<2x2x1x8xf32>, %p: tensor<2xi32>, %t: tensor<2x3xi32>, %c: tensor<6x0x2x8xf32>) -> tensor<6x0x2x8xf32> {
  // expected-error@+1 {{'attn.kv_append' op C19: expected a static page size of at least 1, found}}
  %r = attn.kv_append ins(%new : tensor<2x2x1x8xf32>) positions(%p : tensor<2xi32>) block_table(%t : tensor<2x3xi32>)
      outs(%c : tensor<6x0x2x8xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<6x0x2x8xf32>
  return %r : tensor<6x0x2x8xf32>
}

// -----

// In hnd the heads come first.
func.func @append_10(%new: tensor<2x2x1x8xf32>, %p: tensor<2xi32>, %t: tensor<2x3xi32>, %c: tensor<6x4x2x8xf32>) -> tensor<6x4x2x8xf32> {
  // expected-error@+1 {{'attn.kv_append' op C19: expected new rows of the cache's heads and columns, found}}
  %r = attn.kv_append ins(%new : tensor<2x2x1x8xf32>) positions(%p : tensor<2xi32>) block_table(%t : tensor<2x3xi32>)
      outs(%c : tensor<6x4x2x8xf32>) {page_layout = #attn.page_layout<hnd>} -> tensor<6x4x2x8xf32>
  return %r : tensor<6x4x2x8xf32>
}

// -----

// Rows of eight columns, a cache of nine.
func.func @append_11(%new: tensor<2x2x1x8xf32>, %p: tensor<2xi32>, %c: tensor<2x2x9x9xf32>) -> tensor<2x2x9x9xf32> {
  // expected-error@+1 {{'attn.kv_append' op C19: expected new rows of the cache's heads and columns, found}}
  %r = attn.kv_append ins(%new : tensor<2x2x1x8xf32>) positions(%p : tensor<2xi32>)
      outs(%c : tensor<2x2x9x9xf32>) -> tensor<2x2x9x9xf32>
  return %r : tensor<2x2x9x9xf32>
}

// -----

// A batch of sequences, even of one.
func.func @layer_1(%x: tensor<5x8xf32>, %wq: tensor<8x8xf32>, %wk: tensor<8x8xf32>, %wv: tensor<8x8xf32>, %wo: tensor<8x6xf32>, %y: tensor<2x5x6xf32>) -> tensor<2x5x6xf32> {
  // expected-error@+1 {{'attn.multi_head' op C20: expected x and output of three dimensions and weights of two, of one floating-point type, found 'tensor<5x8xf32>'}}
  %r = attn.multi_head ins(%x, %wq, %wk, %wv, %wo : tensor<5x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x6xf32>)
      outs(%y : tensor<2x5x6xf32>) {heads = 2} -> tensor<2x5x6xf32>
  return %r : tensor<2x5x6xf32>
}

// -----

// Weights are not converted.
func.func @layer_2(%x: tensor<2x5x8xf32>, %wq: tensor<8x8xf32>, %wk: tensor<8x8xf64>, %wv: tensor<8x8xf32>, %wo: tensor<8x6xf32>, %y: tensor<2x5x6xf32>) -> tensor<2x5x6xf32> {
  // expected-error@+1 {{'attn.multi_head' op C20: expected x and output of three dimensions and weights of two, of one floating-point type, found 'tensor<8x8xf64>'}}
  %r = attn.multi_head ins(%x, %wq, %wk, %wv, %wo : tensor<2x5x8xf32>, tensor<8x8xf32>, tensor<8x8xf64>, tensor<8x8xf32>, tensor<8x6xf32>)
      outs(%y : tensor<2x5x6xf32>) {heads = 2} -> tensor<2x5x6xf32>
  return %r : tensor<2x5x6xf32>
}

// -----

// Three heads cannot share two.
func.func @layer_3(%x: tensor<2x5x8xf32>, %wq: tensor<8x8xf32>, %wk: tensor<8x8xf32>, %wv: tensor<8x8xf32>, %wo: tensor<8x6xf32>, %y: tensor<2x5x6xf32>) -> tensor<2x5x6xf32> {
  // expected-error@+1 {{'attn.multi_head' op C20: expected heads to be a multiple of kv_heads, both at least 1, found 3 and 2}}
  %r = attn.multi_head ins(%x, %wq, %wk, %wv, %wo : tensor<2x5x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x6xf32>)
      outs(%y : tensor<2x5x6xf32>) {heads = 3, kv_heads = 2} -> tensor<2x5x6xf32>
  return %r : tensor<2x5x6xf32>
}

// -----

// No heads at all.
func.func @layer_4(%x: tensor<2x5x8xf32>, %wq: tensor<8x8xf32>, %wk: tensor<8x8xf32>, %wv: tensor<8x8xf32>, %wo: tensor<8x6xf32>, %y: tensor<2x5x6xf32>) -> tensor<2x5x6xf32> {
  // expected-error@+1 {{'attn.multi_head' op C20: expected heads to be a multiple of kv_heads, both at least 1, found 0 and 0}}
  %r = attn.multi_head ins(%x, %wq, %wk, %wv, %wo : tensor<2x5x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x6xf32>)
      outs(%y : tensor<2x5x6xf32>) {heads = 0} -> tensor<2x5x6xf32>
  return %r : tensor<2x5x6xf32>
}

// -----

// Head sizes are static.
func.func @layer_5(%x: tensor<2x5x8xf32>, %wq: tensor<8x8xf32>, %wk: tensor<8x8xf32>, %wv: tensor<8x?xf32>, %wo: tensor<8x6xf32>, %y: tensor<2x5x6xf32>) -> tensor<2x5x6xf32> {
  // expected-error@+1 {{'attn.multi_head' op C20: expected a static number of columns of w_v, found 'tensor<8x?xf32>'}}
  %r = attn.multi_head ins(%x, %wq, %wk, %wv, %wo : tensor<2x5x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x?xf32>, tensor<8x6xf32>)
      outs(%y : tensor<2x5x6xf32>) {heads = 2} -> tensor<2x5x6xf32>
  return %r : tensor<2x5x6xf32>
}

// -----

// The rows of a projection are the columns of x.
func.func @layer_6(%x: tensor<2x5x8xf32>, %wq: tensor<8x8xf32>, %wk: tensor<7x8xf32>, %wv: tensor<8x8xf32>, %wo: tensor<8x6xf32>, %y: tensor<2x5x6xf32>) -> tensor<2x5x6xf32> {
  // expected-error@+1 {{'attn.multi_head' op C20: expected w_k to have 8 rows, the columns of x, found 7}}
  %r = attn.multi_head ins(%x, %wq, %wk, %wv, %wo : tensor<2x5x8xf32>, tensor<8x8xf32>, tensor<7x8xf32>, tensor<8x8xf32>, tensor<8x6xf32>)
      outs(%y : tensor<2x5x6xf32>) {heads = 2} -> tensor<2x5x6xf32>
  return %r : tensor<2x5x6xf32>
}

// -----

// Heads of two and a half columns.
func.func @layer_7(%x: tensor<2x5x8xf32>, %wq: tensor<8x5xf32>, %wk: tensor<8x8xf32>, %wv: tensor<8x8xf32>, %wo: tensor<8x6xf32>, %y: tensor<2x5x6xf32>) -> tensor<2x5x6xf32> {
  // expected-error@+1 {{'attn.multi_head' op C20: expected the columns of w_q to be a multiple of 2 heads, found 5}}
  %r = attn.multi_head ins(%x, %wq, %wk, %wv, %wo : tensor<2x5x8xf32>, tensor<8x5xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x6xf32>)
      outs(%y : tensor<2x5x6xf32>) {heads = 2} -> tensor<2x5x6xf32>
  return %r : tensor<2x5x6xf32>
}

// -----

// One key head has four columns.
func.func @layer_8(%x: tensor<2x5x8xf32>, %wq: tensor<8x8xf32>, %wk: tensor<8x8xf32>, %wv: tensor<8x8xf32>, %wo: tensor<8x6xf32>, %y: tensor<2x5x6xf32>) -> tensor<2x5x6xf32> {
  // expected-error@+1 {{'attn.multi_head' op C20: expected w_k to have 4 columns, 1 heads of 4, found 8}}
  %r = attn.multi_head ins(%x, %wq, %wk, %wv, %wo : tensor<2x5x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x6xf32>)
      outs(%y : tensor<2x5x6xf32>) {heads = 2, kv_heads = 1} -> tensor<2x5x6xf32>
  return %r : tensor<2x5x6xf32>
}

// -----

// Two value heads of seven columns.
func.func @layer_9(%x: tensor<2x5x8xf32>, %wq: tensor<8x8xf32>, %wk: tensor<8x8xf32>, %wv: tensor<8x7xf32>, %wo: tensor<8x6xf32>, %y: tensor<2x5x6xf32>) -> tensor<2x5x6xf32> {
  // expected-error@+1 {{'attn.multi_head' op C20: expected the columns of w_v to be a multiple of 2 heads, found 7}}
  %r = attn.multi_head ins(%x, %wq, %wk, %wv, %wo : tensor<2x5x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x7xf32>, tensor<8x6xf32>)
      outs(%y : tensor<2x5x6xf32>) {heads = 2} -> tensor<2x5x6xf32>
  return %r : tensor<2x5x6xf32>
}

// -----

// W_O takes all heads.
func.func @layer_10(%x: tensor<2x5x8xf32>, %wq: tensor<8x8xf32>, %wk: tensor<8x8xf32>, %wv: tensor<8x8xf32>, %wo: tensor<4x6xf32>, %y: tensor<2x5x6xf32>) -> tensor<2x5x6xf32> {
  // expected-error@+1 {{'attn.multi_head' op C20: expected w_o to have 8 rows, 2 heads of 4, found 4}}
  %r = attn.multi_head ins(%x, %wq, %wk, %wv, %wo : tensor<2x5x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<4x6xf32>)
      outs(%y : tensor<2x5x6xf32>) {heads = 2} -> tensor<2x5x6xf32>
  return %r : tensor<2x5x6xf32>
}

// -----

// The output has the columns of W_O.
func.func @layer_11(%x: tensor<2x5x8xf32>, %wq: tensor<8x8xf32>, %wk: tensor<8x8xf32>, %wv: tensor<8x8xf32>, %wo: tensor<8x6xf32>, %y: tensor<2x5x8xf32>) -> tensor<2x5x8xf32> {
  // expected-error@+1 {{'attn.multi_head' op C20: expected an output (B, S, E') with the rows of x and the columns of w_o, found}}
  %r = attn.multi_head ins(%x, %wq, %wk, %wv, %wo : tensor<2x5x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x6xf32>)
      outs(%y : tensor<2x5x8xf32>) {heads = 2} -> tensor<2x5x8xf32>
  return %r : tensor<2x5x8xf32>
}

// -----

// An alignment is no string.
func.func @layer_12(%x: tensor<2x5x8xf32>, %wq: tensor<8x8xf32>, %wk: tensor<8x8xf32>, %wv: tensor<8x8xf32>, %wo: tensor<8x6xf32>, %y: tensor<2x5x6xf32>) -> tensor<2x5x6xf32> {
  // expected-error@+1 {{'attn.multi_head' op C5: expected causal alone, #attn.causal<top_left> or #attn.causal<bottom_right>, found}}
  %r = attn.multi_head ins(%x, %wq, %wk, %wv, %wo : tensor<2x5x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x6xf32>)
      outs(%y : tensor<2x5x6xf32>) {heads = 2, causal = "yes"} -> tensor<2x5x6xf32>
  return %r : tensor<2x5x6xf32>
}

// -----

// An offset would be an operand.
func.func @layer_13(%x: tensor<2x5x8xf32>, %wq: tensor<8x8xf32>, %wk: tensor<8x8xf32>, %wv: tensor<8x8xf32>, %wo: tensor<8x6xf32>, %y: tensor<2x5x6xf32>) -> tensor<2x5x6xf32> {
  // expected-error@+1 {{'attn.multi_head' op C14: expected no alignment #attn.causal<offset>, as there is no causal_offset}}
  %r = attn.multi_head ins(%x, %wq, %wk, %wv, %wo : tensor<2x5x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x6xf32>)
      outs(%y : tensor<2x5x6xf32>) {heads = 2, causal = #attn.causal<offset>} -> tensor<2x5x6xf32>
  return %r : tensor<2x5x6xf32>
}

// -----

// A cap of 0 divides by it.
func.func @layer_14(%x: tensor<2x5x8xf32>, %wq: tensor<8x8xf32>, %wk: tensor<8x8xf32>, %wv: tensor<8x8xf32>, %wo: tensor<8x6xf32>, %y: tensor<2x5x6xf32>) -> tensor<2x5x6xf32> {
  // expected-error@+1 {{'attn.multi_head' op C6: expected softcap to be finite and greater than 0, found 0}}
  %r = attn.multi_head ins(%x, %wq, %wk, %wv, %wo : tensor<2x5x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x6xf32>)
      outs(%y : tensor<2x5x6xf32>) {heads = 2, softcap = 0.0 : f64} -> tensor<2x5x6xf32>
  return %r : tensor<2x5x6xf32>
}

// -----

// Every score would be infinite.
func.func @layer_15(%x: tensor<2x5x8xf32>, %wq: tensor<8x8xf32>, %wk: tensor<8x8xf32>, %wv: tensor<8x8xf32>, %wo: tensor<8x6xf32>, %y: tensor<2x5x6xf32>) -> tensor<2x5x6xf32> {
  // expected-error@+1 {{'attn.multi_head' op C9: expected a finite scale, found}}
  %r = attn.multi_head ins(%x, %wq, %wk, %wv, %wo : tensor<2x5x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x6xf32>)
      outs(%y : tensor<2x5x6xf32>) {heads = 2, scale = 0x7FF0000000000000 : f64} -> tensor<2x5x6xf32>
  return %r : tensor<2x5x6xf32>
}

// -----

// Nothing to align.
func.func @layer_16(%x: tensor<2x5x8xf32>, %wq: tensor<8x8xf32>, %wk: tensor<8x8xf32>, %wv: tensor<8x8xf32>, %wo: tensor<8x6xf32>, %y: tensor<2x5x6xf32>) -> tensor<2x5x6xf32> {
  // expected-error@+1 {{'attn.multi_head' op C12: expected align only for a window without causal, found it without a window}}
  %r = attn.multi_head ins(%x, %wq, %wk, %wv, %wo : tensor<2x5x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x6xf32>)
      outs(%y : tensor<2x5x6xf32>) {heads = 2, align = #attn.causal<top_left>} -> tensor<2x5x6xf32>
  return %r : tensor<2x5x6xf32>
}
