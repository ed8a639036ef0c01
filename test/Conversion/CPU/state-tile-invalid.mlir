// RUN: attn-opt %s --attn-lower-tile-to-vector=target=znver5 --split-input-file --verify-diagnostics

// Rows of a decode tile, columns innermost, are of static size; how many there are may be dynamic.
func.func @dynamic_state(%a: memref<4x?xf32>, %m: memref<4xf32>) {
  // expected-error @below {{expected static heads and columns of a decode tile; run attn-tile}}
  attn.init_state outs(%a, %m, %m : memref<4x?xf32>, memref<4xf32>, memref<4xf32>)
  return
}

// -----

// The state of a prefill tile, rows innermost, is not merged.
func.func @merge(%a: memref<16x16xf32>, %m: memref<16xf32>) {
  // expected-error @below {{expected states with the value columns innermost, as those of a decode tile}}
  attn.merge_states ins(%a, %m, %m : memref<16x16xf32>, memref<16xf32>, memref<16xf32>)
      outs(%a, %m, %m : memref<16x16xf32>, memref<16xf32>, memref<16xf32>)
      {maps = [affine_map<(i, e) -> (e, i)>, affine_map<(i, e) -> (i)>, affine_map<(i, e) -> (i)>,
               affine_map<(i, e) -> (e, i)>, affine_map<(i, e) -> (i)>, affine_map<(i, e) -> (i)>]}
  return
}

// -----

// Two heads are two states.
func.func @heads(%a: memref<2x8x16xf32>, %m: memref<2x16xf32>) {
  // expected-error @below {{expected the state of one batch index and head; run attn-tile}}
  attn.init_state outs(%a, %m, %m : memref<2x8x16xf32>, memref<2x16xf32>, memref<2x16xf32>)
      {maps = [affine_map<(h, i, e) -> (h, e, i)>, affine_map<(h, i, e) -> (h, i)>, affine_map<(h, i, e) -> (h, i)>]}
  return
}

// -----

// An output is no wider than its sums.
func.func @wide_output(%a: memref<16x16xf32>, %m: memref<16xf32>, %o: memref<16x16xf64>) {
  // expected-error @below {{no CPU kernel for an output of type 'f64' with a state of type 'f32'}}
  attn.finalize ins(%a, %m, %m : memref<16x16xf32>, memref<16xf32>, memref<16xf32>) outs(%o : memref<16x16xf64>)
  return
}

// -----

// Eight rows are half a vector.
func.func @rows(%a: memref<16x8xf32>, %m: memref<8xf32>, %o: memref<8x16xf32>) {
  // expected-error @below {{expected a static state with query rows innermost; run attn-tile, and give this pass the target of attn-select-schedule}}
  attn.finalize ins(%a, %m, %m : memref<16x8xf32>, memref<8xf32>, memref<8xf32>) outs(%o : memref<8x16xf32>)
      {maps = [affine_map<(i, e) -> (e, i)>, affine_map<(i, e) -> (i)>, affine_map<(i, e) -> (i)>,
               affine_map<(i, e) -> (i, e)>]}
  return
}

// -----

// Bytes that stay bytes are copied by nobody.
func.func @bytes(%k: memref<4x16xi8>, %t: memref<4x16xi8>) {
  // expected-error @below {{expected rows of floats, of a static size; run attn-tile}}
  attn.pack ins(%k : memref<4x16xi8>) outs(%t : memref<4x16xi8>)
  return
}

// -----

// Pairs are of bf16.
func.func @pairs(%k: memref<4x16xf32>, %t: memref<2x16x2xf32>) {
  // expected-error @below {{expected pairs of bf16 as (pair, other, 2), of static size but for rows; run attn-tile}}
  attn.pack ins(%k : memref<4x16xf32>) outs(%t : memref<2x16x2xf32>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (i floordiv 2, d, i mod 2)>]}
  return
}

// -----

// A row of an odd size has a last element without another.
func.func @odd(%q: memref<16x31xbf16>, %t: memref<16x16x2xbf16>) {
  // expected-error @below {{expected rows of an even size, contiguous, and a multiple of 16 of them; run attn-tile}}
  attn.pack ins(%q : memref<16x31xbf16>) outs(%t : memref<16x16x2xbf16>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (d floordiv 2, i, d mod 2)>]}
  return
}

// -----

// All pages of a cache are no tile.
func.func @pages(%cache: memref<3x8x2x16xf32>, %table: memref<1x2xi32>, %n: memref<1xi32>, %o: memref<1x2x16x16xf32>) {
  // expected-error @below {{expected a tile of keys (1, 1, keys, D); run attn-tile, which reads pages through the view}}
  attn.gather_pages ins(%cache, %table : memref<3x8x2x16xf32>, memref<1x2xi32>) lengths(%n : memref<1xi32>)
      outs(%o : memref<1x2x16x16xf32>) {page_layout = #attn.page_layout<nhd>}
  return
}
