// RUN: attn-opt %s --attn-lower-tile-to-vector=target=sapphirerapids --split-input-file --verify-diagnostics

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (0, j, d)>
#v = affine_map<(h, i, j, d, e) -> (0, j, e)>
#acc = affine_map<(h, i, j, d, e) -> (h, i, e)>
#row = affine_map<(h, i, j, d, e) -> (h, i)>
#schedule = #attn.decode<query_tile = 1, key_tile = 32, lanes = 16, block_queries = 1, instruction = amx>

// Tiles are whole ones.
func.func @tiles_of_few_columns(%q: memref<16x1x16xbf16>, %k: memref<1x32x16xbf16>, %a: memref<16x1x16xf32>, %m: memref<16x1xf32>) {
  // expected-error @below {{expected Q, K and V of bf16, or K and V of 8 bits, columns innermost, a multiple of 32, for products by tiles, found 'memref<16x1x16xbf16>'; run attn-tile}}
  attn.online_step ins(%q, %k, %k : memref<16x1x16xbf16>, memref<1x32x16xbf16>, memref<1x32x16xbf16>)
      outs(%a, %m, %m : memref<16x1x16xf32>, memref<16x1xf32>, memref<16x1xf32>)
      {maps = [#q, #k, #v, #acc, #row, #row], schedule = #schedule}
  return
}

// -----

#q = affine_map<(h, i, j, d, e) -> (h, i, d)>
#k = affine_map<(h, i, j, d, e) -> (0, j, d)>
#v = affine_map<(h, i, j, d, e) -> (0, j, e)>
#acc = affine_map<(h, i, j, d, e) -> (h, i, e)>
#row = affine_map<(h, i, j, d, e) -> (h, i)>
#schedule = #attn.decode<query_tile = 1, key_tile = 32, lanes = 16, block_queries = 1, instruction = amx>

func.func @tiles_of_few_rows(%q: memref<8x1x32xbf16>, %k: memref<1x32x32xbf16>, %a: memref<8x1x32xf32>, %m: memref<8x1xf32>) {
  // expected-error @below {{expected keys of one segment and a static number of rows, a multiple of 16, for products by tiles}}
  attn.online_step ins(%q, %k, %k : memref<8x1x32xbf16>, memref<1x32x32xbf16>, memref<1x32x32xbf16>)
      outs(%a, %m, %m : memref<8x1x32xf32>, memref<8x1xf32>, memref<8x1xf32>)
      {maps = [#q, #k, #v, #acc, #row, #row], schedule = #schedule}
  return
}
