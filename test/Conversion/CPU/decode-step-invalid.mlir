// RUN: attn-opt %s --attn-lower-tile-to-vector=target=znver5 --split-input-file --verify-diagnostics

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (0, j, d)>
#v = affine_map<(h, i, j, d, e) -> (0, j, e)>
#acc = affine_map<(h, i, j, d, e) -> (h, i, e)>
#row = affine_map<(h, i, j, d, e) -> (h, i)>
#schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 16, block_queries = 1>

// A tile has whole rows.
func.func @dynamic_columns(%q: memref<1x1x?xf32>, %k: memref<1x4x?xf32>, %v: memref<1x4x16xf32>,
                           %a: memref<1x1x16xf32>, %m: memref<1x1xf32>) {
  // expected-error @below {{expected a decode tile of one batch index, of static size but for its keys and queries; run attn-tile}}
  attn.online_step ins(%q, %k, %v : memref<1x1x?xf32>, memref<1x4x?xf32>, memref<1x4x16xf32>)
      outs(%a, %m, %m : memref<1x1x16xf32>, memref<1x1xf32>, memref<1x1xf32>)
      {maps = [#q, #k, #v, #acc, #row, #row], schedule = #schedule}
  return
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (0, j, d)>
#v = affine_map<(h, i, j, d, e) -> (0, j, e)>
#acc = affine_map<(h, i, j, d, e) -> (h, i, e)>
#row = affine_map<(h, i, j, d, e) -> (h, i)>
#schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 16, block_queries = 1>

// A block of products takes a key of each segment.
func.func @two_segments(%q: memref<1x1x16xf32>, %k: memref<1x4x16xf32>, %a: memref<1x1x16xf32>, %m: memref<1x1xf32>) {
  // expected-error @below {{expected keys of one segment, or of 4, as many as a block of products has keys, of static size, found 2}}
  attn.online_step ins(%q, %k, %k : memref<1x1x16xf32>, memref<1x4x16xf32>, memref<1x4x16xf32>)
      segments keys(%k : memref<1x4x16xf32>) values(%k : memref<1x4x16xf32>)
      outs(%a, %m, %m : memref<1x1x16xf32>, memref<1x1xf32>, memref<1x1xf32>)
      {maps = [#q, #k, #v, #acc, #row, #row], schedule = #schedule}
  return
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (0, j, d)>
#v = affine_map<(h, i, j, d, e) -> (0, j, e)>
#acc = affine_map<(h, i, j, d, e) -> (h, i, e)>
#row = affine_map<(h, i, j, d, e) -> (h, i)>
#schedule = #attn.decode<query_tile = 1, key_tile = 64, lanes = 16, block_queries = 4, instruction = bytes>

// Q has to become digits in front of the step.
func.func @no_digits(%q: memref<1x1x64xf32>, %k: memref<1x64x64xi8>, %a: memref<1x1x64xf32>, %m: memref<1x1xf32>) {
  // expected-error @below {{expected query_bytes for products of bytes; run attn-tile}}
  attn.online_step ins(%q, %k, %k : memref<1x1x64xf32>, memref<1x64x64xi8>, memref<1x64x64xi8>)
      outs(%a, %m, %m : memref<1x1x64xf32>, memref<1x1xf32>, memref<1x1xf32>)
      {maps = [#q, #k, #v, #acc, #row, #row], schedule = #schedule}
  return
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (0, j, d)>
#v = affine_map<(h, i, j, d, e) -> (0, j, e)>
#acc = affine_map<(h, i, j, d, e) -> (h, i, e)>
#row = affine_map<(h, i, j, d, e) -> (h, i)>
#schedule = #attn.decode<query_tile = 1, key_tile = 64, lanes = 16, block_queries = 4, instruction = bytes>

// Keys of floats beside digits.
func.func @keys_of_floats(%q: memref<1x1x64xf32>, %k: memref<1x64x64xf32>, %a: memref<1x1x64xf32>, %m: memref<1x1xf32>,
                          %d: memref<1x1x2x64xi8>, %s: memref<1x1xf32>, %o: memref<1x1xi32>) {
  // expected-error @below {{expected K and V of int8 for products of bytes, columns innermost, a multiple of 16 and at most}}
  attn.online_step ins(%q, %k, %k : memref<1x1x64xf32>, memref<1x64x64xf32>, memref<1x64x64xf32>)
      query_bytes(%d, %s, %o : memref<1x1x2x64xi8>, memref<1x1xf32>, memref<1x1xi32>)
      outs(%a, %m, %m : memref<1x1x64xf32>, memref<1x1xf32>, memref<1x1xf32>)
      {maps = [#q, #k, #v, #acc, #row, #row], schedule = #schedule}
  return
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (0, j, d)>
#v = affine_map<(h, i, j, d, e) -> (0, j, e)>
#acc = affine_map<(h, i, j, d, e) -> (h, i, e)>
#row = affine_map<(h, i, j, d, e) -> (h, i)>
#schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 16, block_queries = 1, instruction = pairs>

// Pairs are of bf16.
func.func @pairs_of_f32(%q: memref<1x1x16xf32>, %k: memref<1x4x16xbf16>, %a: memref<1x1x16xf32>, %m: memref<1x1xf32>) {
  // expected-error @below {{expected Q, K and V of bf16, columns innermost, for products of pairs, found 'memref<1x1x16xf32>'; run attn-tile}}
  attn.online_step ins(%q, %k, %k : memref<1x1x16xf32>, memref<1x4x16xbf16>, memref<1x4x16xbf16>)
      outs(%a, %m, %m : memref<1x1x16xf32>, memref<1x1xf32>, memref<1x1xf32>)
      {maps = [#q, #k, #v, #acc, #row, #row], schedule = #schedule}
  return
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (0, j, d)>
#v = affine_map<(h, i, j, d, e) -> (0, j, e)>
#acc = affine_map<(h, i, j, d, e) -> (h, i, e)>
#row = affine_map<(h, i, j, d, e) -> (h, i)>
#schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 16, block_queries = 1>

// attn-tile widens Q once.
func.func @narrow_query(%q: memref<1x1x16xbf16>, %k: memref<1x4x16xbf16>, %a: memref<1x1x16xf32>, %m: memref<1x1xf32>) {
  // expected-error @below {{expected Q of the type of the state, 'f32', and columns innermost; run attn-tile}}
  attn.online_step ins(%q, %k, %k : memref<1x1x16xbf16>, memref<1x4x16xbf16>, memref<1x4x16xbf16>)
      outs(%a, %m, %m : memref<1x1x16xf32>, memref<1x1xf32>, memref<1x1xf32>)
      {maps = [#q, #k, #v, #acc, #row, #row], schedule = #schedule}
  return
}

// -----

// Digits are made of floats.
func.func @digits_of_bf16(%q: memref<1x1x64xbf16>, %d: memref<1x1x2x64xi8>, %s: memref<1x1xf32>, %o: memref<1x1xi32>) {
  // expected-error @below {{expected rows of f32, of static size, columns innermost, found 'memref<1x1x64xbf16>'; run attn-tile}}
  attn.pack_bytes ins(%q : memref<1x1x64xbf16>) outs(%d, %s, %o : memref<1x1x2x64xi8>, memref<1x1xf32>, memref<1x1xi32>)
  return
}

// -----

// A row fills whole vectors.
func.func @columns(%q: memref<1x1x40xf32>, %d: memref<1x1x2x64xi8>, %s: memref<1x1xf32>, %o: memref<1x1xi32>) {
  // expected-error @below {{expected multiples of 16 columns, found 40; run attn-tile}}
  attn.pack_bytes ins(%q : memref<1x1x40xf32>) outs(%d, %s, %o : memref<1x1x2x64xi8>, memref<1x1xf32>, memref<1x1xi32>)
  return
}
