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

// -----

func.func @parts(%q: memref<2x16x16x2xbf16>, %k: memref<32x32xbf16>, %v: memref<2x32x32xbf16>, %a: memref<32x16xf32>,
                 %m: memref<16xf32>, %l: memref<16xf32>) {
  // expected-error @below {{expected Q, K and V of 2 parts, found 1; run attn-tile}}
  attn.online_step ins(%q, %k, %v : memref<2x16x16x2xbf16>, memref<32x32xbf16>, memref<2x32x32xbf16>)
      outs(%a, %m, %l : memref<32x16xf32>, memref<16xf32>, memref<16xf32>)
      {maps = [affine_map<(i, j, d, e) -> (0, d floordiv 2, i, d mod 2)>, affine_map<(i, j, d, e) -> (j, d)>,
               affine_map<(i, j, d, e) -> (0, e, j)>, affine_map<(i, j, d, e) -> (e, i)>,
               affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       schedule = #attn.prefill<query_tile = 16, key_tile = 32, lanes = 16, block_rows = 2, block_vectors = 1, instruction = amx, parts = 2>}
  return
}

// -----

func.func @parts_apart(%q: memref<2x16x16x2xbf16>, %k: memref<2x32x32xbf16, strided<[2048, 32, 1]>>, %v: memref<2x32x32xbf16>,
                       %a: memref<32x16xf32>, %m: memref<16xf32>, %l: memref<16xf32>) {
  // expected-error @below {{expected contiguous tiles of K as (part, j, d) and of V as (part, e, j); run attn-tile}}
  attn.online_step ins(%q, %k, %v : memref<2x16x16x2xbf16>, memref<2x32x32xbf16, strided<[2048, 32, 1]>>, memref<2x32x32xbf16>)
      outs(%a, %m, %l : memref<32x16xf32>, memref<16xf32>, memref<16xf32>)
      {maps = [affine_map<(i, j, d, e) -> (0, d floordiv 2, i, d mod 2)>, affine_map<(i, j, d, e) -> (0, j, d)>,
               affine_map<(i, j, d, e) -> (0, e, j)>, affine_map<(i, j, d, e) -> (e, i)>,
               affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       schedule = #attn.prefill<query_tile = 16, key_tile = 32, lanes = 16, block_rows = 2, block_vectors = 1, instruction = amx, parts = 2>}
  return
}

// -----

func.func @parts_of_parts(%x: memref<3x16x32xbf16>, %p: memref<2x16x32xbf16>) {
  // expected-error @below {{expected as many parts as its input has, 3, found 2}}
  attn.pack ins(%x : memref<3x16x32xbf16>) outs(%p : memref<2x16x32xbf16>)
      {maps = [affine_map<(i, d) -> (0, i, d)>, affine_map<(i, d) -> (0, i, d)>]}
  return
}

// -----

func.func @parts_of_f64(%x: memref<16x32xf64>, %p: memref<2x16x32xbf16>) {
  // expected-error @below {{expected rows of floats, of a static size and at most 32 bits, and parts of bf16 with columns innermost; run attn-tile}}
  attn.pack ins(%x : memref<16x32xf64>) outs(%p : memref<2x16x32xbf16>)
      {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (0, i, d)>]}
  return
}
