// RUN: attn-opt %s --attn-lower-tile-to-vector=target=sapphirerapids --split-input-file --verify-diagnostics

func.func @part_of_a_tile(%q: memref<16x16x2xbf16>, %k: memref<31x32xbf16>, %v: memref<32x31xbf16>, %a: memref<32x16xf32>,
                          %m: memref<16xf32>, %l: memref<16xf32>) {
  // expected-error @below {{expected a whole key tile of 32 keys, or the first ones of it, for its instruction; run attn-tile}}
  attn.online_step ins(%q, %k, %v : memref<16x16x2xbf16>, memref<31x32xbf16>, memref<32x31xbf16>)
      outs(%a, %m, %l : memref<32x16xf32>, memref<16xf32>, memref<16xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d floordiv 2, i, d mod 2)>, affine_map<(i, j, d, e) -> (j, d)>,
               affine_map<(i, j, d, e) -> (e, j)>, affine_map<(i, j, d, e) -> (e, i)>,
               affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       schedule = #attn.prefill<query_tile = 16, key_tile = 32, lanes = 16, block_rows = 2, block_vectors = 1, instruction = amx>}
  return
}

// -----

func.func @small_head(%q: memref<8x16x2xbf16>, %k: memref<32x16xbf16>, %v: memref<32x32xbf16>, %a: memref<32x16xf32>,
                      %m: memref<16xf32>, %l: memref<16xf32>) {
  // expected-error @below {{expected head sizes that are multiples of 32 for its instruction}}
  attn.online_step ins(%q, %k, %v : memref<8x16x2xbf16>, memref<32x16xbf16>, memref<32x32xbf16>)
      outs(%a, %m, %l : memref<32x16xf32>, memref<16xf32>, memref<16xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d floordiv 2, i, d mod 2)>, affine_map<(i, j, d, e) -> (j, d)>,
               affine_map<(i, j, d, e) -> (e, j)>, affine_map<(i, j, d, e) -> (e, i)>,
               affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       schedule = #attn.prefill<query_tile = 16, key_tile = 32, lanes = 16, block_rows = 2, block_vectors = 1, instruction = amx>}
  return
}

// -----

func.func @rows_of_v(%q: memref<16x16x2xbf16>, %k: memref<32x32xbf16>, %v: memref<32x32xbf16>, %a: memref<32x16xf32>,
                     %m: memref<16xf32>, %l: memref<16xf32>) {
  // expected-error @below {{expected pairs of Q as (d floordiv 2, i, d mod 2), rows of K, and V as (e, j); run attn-tile}}
  attn.online_step ins(%q, %k, %v : memref<16x16x2xbf16>, memref<32x32xbf16>, memref<32x32xbf16>)
      outs(%a, %m, %l : memref<32x16xf32>, memref<16xf32>, memref<16xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d floordiv 2, i, d mod 2)>, affine_map<(i, j, d, e) -> (j, d)>,
               affine_map<(i, j, d, e) -> (j, e)>, affine_map<(i, j, d, e) -> (e, i)>,
               affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       schedule = #attn.prefill<query_tile = 16, key_tile = 32, lanes = 16, block_rows = 2, block_vectors = 1, instruction = amx>}
  return
}
