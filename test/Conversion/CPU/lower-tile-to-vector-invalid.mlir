// RUN: attn-opt %s --attn-lower-tile-to-vector=target=x86-64 --split-input-file --verify-diagnostics
// RUN: not attn-opt %s --attn-lower-tile-to-vector=target=pdp11 --split-input-file 2>&1 | FileCheck %s

// CHECK: attn-lower-tile-to-vector: unknown target 'pdp11'

// The pass comes after bufferisation.
func.func @tensor(%s: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // expected-error @below {{expected memrefs; run bufferisation before attn-lower-tile-to-vector}}
  %r = attn.softmax ins(%s : tensor<4x6xf32>) outs(%s : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// -----

// An op of the chain.
func.func @chain(%s: memref<4x6xf32>) {
  // expected-error @below {{no CPU lowering takes this op on memrefs; fuse it into attn.sdpa (attn-fuse)}}
  attn.softmax ins(%s : memref<4x6xf32>) outs(%s : memref<4x6xf32>)
  return
}

// -----

// No tile sizes.
func.func @no_schedule(%q: memref<16x4xf32>, %k: memref<6x16xf32>, %v: memref<6x8xf32>,
                       %a: memref<8x4xf32>, %m: memref<4xf32>, %l: memref<4xf32>) {
  // expected-error @below {{expected a schedule on a tile; run attn-tile}}
  attn.online_step ins(%q, %k, %v : memref<16x4xf32>, memref<6x16xf32>, memref<6x8xf32>)
      outs(%a, %m, %l : memref<8x4xf32>, memref<4xf32>, memref<4xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d, i)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
               affine_map<(i, j, d, e) -> (e, i)>, affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>]}
  return
}

// -----

// A schedule of another target.
func.func @lanes(%q: memref<16x8xf32>, %k: memref<6x16xf32>, %v: memref<6x8xf32>,
                 %a: memref<8x8xf32>, %m: memref<8xf32>, %l: memref<8xf32>) {
  // expected-error @below {{schedule: expected lanes to be 4}}
  attn.online_step ins(%q, %k, %v : memref<16x8xf32>, memref<6x16xf32>, memref<6x8xf32>)
      outs(%a, %m, %l : memref<8x8xf32>, memref<8xf32>, memref<8xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d, i)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
               affine_map<(i, j, d, e) -> (e, i)>, affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       scale = 0.5 : f64, schedule = #attn.prefill<query_tile = 8, key_tile = 6, lanes = 8, block_rows = 4, block_vectors = 1>}
  return
}

// -----

// Rows that fill no vector.
func.func @rows(%q: memref<16x3xf32>, %k: memref<6x16xf32>, %v: memref<6x8xf32>,
                %a: memref<8x3xf32>, %m: memref<3xf32>, %l: memref<3xf32>) {
  // expected-error @below {{expected query rows to be a multiple of 4, found 3}}
  attn.online_step ins(%q, %k, %v : memref<16x3xf32>, memref<6x16xf32>, memref<6x8xf32>)
      outs(%a, %m, %l : memref<8x3xf32>, memref<3xf32>, memref<3xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d, i)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
               affine_map<(i, j, d, e) -> (e, i)>, affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       scale = 0.5 : f64, schedule = #attn.prefill<query_tile = 4, key_tile = 6, lanes = 4, block_rows = 4, block_vectors = 1>}
  return
}

// -----

// A tile is of static size, but for its keys.
func.func @dynamic(%q: memref<?x4xf32>, %k: memref<6x?xf32>, %v: memref<6x8xf32>,
                   %a: memref<8x4xf32>, %m: memref<4xf32>, %l: memref<4xf32>) {
  // expected-error @below {{expected a tile of static size but for its keys and queries; run attn-tile}}
  attn.online_step ins(%q, %k, %v : memref<?x4xf32>, memref<6x?xf32>, memref<6x8xf32>)
      outs(%a, %m, %l : memref<8x4xf32>, memref<4xf32>, memref<4xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d, i)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
               affine_map<(i, j, d, e) -> (e, i)>, affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       scale = 0.5 : f64, schedule = #attn.prefill<query_tile = 4, key_tile = 6, lanes = 4, block_rows = 4, block_vectors = 1>}
  return
}

// -----

// More keys than the tile has scores for.
func.func @keys(%q: memref<16x4xf32>, %k: memref<7x16xf32>, %v: memref<7x8xf32>,
                %a: memref<8x4xf32>, %m: memref<4xf32>, %l: memref<4xf32>) {
  // expected-error @below {{expected at most 6 keys, those of the schedule's tile, found 7}}
  attn.online_step ins(%q, %k, %v : memref<16x4xf32>, memref<7x16xf32>, memref<7x8xf32>)
      outs(%a, %m, %l : memref<8x4xf32>, memref<4xf32>, memref<4xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d, i)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
               affine_map<(i, j, d, e) -> (e, i)>, affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       scale = 0.5 : f64, schedule = #attn.prefill<query_tile = 4, key_tile = 6, lanes = 4, block_rows = 4, block_vectors = 1>}
  return
}

// -----

// Query rows are the lanes.
func.func @rows_outermost(%q: memref<4x16xf32>, %k: memref<6x16xf32>, %v: memref<6x8xf32>, %a: memref<4x8xf32>,
                          %m: memref<4xf32>, %l: memref<4xf32>) {
  // expected-error @below {{expected query rows to be the innermost dimension of Q and the state; run attn-tile}}
  attn.online_step ins(%q, %k, %v : memref<4x16xf32>, memref<6x16xf32>, memref<6x8xf32>)
      outs(%a, %m, %l : memref<4x8xf32>, memref<4xf32>, memref<4xf32>)
      {schedule = #attn.prefill<query_tile = 4, key_tile = 6, lanes = 4, block_rows = 4, block_vectors = 1>}
  return
}

// -----

// A state without rows has no lanes.
func.func @no_rows(%a: memref<8x0xf32>, %m: memref<0xf32>) {
  // expected-error @below {{expected a static contiguous state with rows innermost, in vectors of the target; run attn-tile, and give this pass the target of attn-select-schedule}}
  attn.init_state outs(%a, %m, %m : memref<8x0xf32>, memref<0xf32>, memref<0xf32>)
      {maps = [affine_map<(i, d) -> (d, i)>, affine_map<(i, d) -> (i)>, affine_map<(i, d) -> (i)>]}
  return
}

// -----

// A packed tile has its rows innermost, or its columns.
func.func @pack(%q: memref<4x16xf32>, %t: memref<4x16xf32, strided<[32, 2]>>) {
  // expected-error @below {{expected a static output with query rows innermost, a multiple of 4; run attn-tile}}
  attn.pack ins(%q : memref<4x16xf32>) outs(%t : memref<4x16xf32, strided<[32, 2]>>)
  return
}

// -----

// Two heads are two tiles.
func.func @heads(%q: memref<2x16x4xf32>, %k: memref<2x6x16xf32>, %v: memref<2x6x8xf32>, %a: memref<2x8x4xf32>,
                 %m: memref<2x4xf32>, %l: memref<2x4xf32>) {
  // expected-error @below {{expected a tile of one batch index and head, found 2; run attn-tile}}
  attn.online_step ins(%q, %k, %v : memref<2x16x4xf32>, memref<2x6x16xf32>, memref<2x6x8xf32>)
      outs(%a, %m, %l : memref<2x8x4xf32>, memref<2x4xf32>, memref<2x4xf32>)
      {maps = [affine_map<(h, i, j, d, e) -> (h, d, i)>, affine_map<(h, i, j, d, e) -> (h, j, d)>,
               affine_map<(h, i, j, d, e) -> (h, j, e)>, affine_map<(h, i, j, d, e) -> (h, e, i)>,
               affine_map<(h, i, j, d, e) -> (h, i)>, affine_map<(h, i, j, d, e) -> (h, i)>],
       schedule = #attn.prefill<query_tile = 4, key_tile = 6, lanes = 4, block_rows = 4, block_vectors = 1>}
  return
}

// -----

// This target has no products of pairs.
func.func @dot(%q: memref<4x16x2xbf16>, %k: memref<3x8xbf16>, %v: memref<2x6x2xbf16>, %a: memref<6x16xf32>,
               %m: memref<16xf32>, %l: memref<16xf32>) {
  // expected-error @below {{schedule: expected instruction = pairs only on targets that have it, with sums of 'f32', found x86-64 and 'f32'; write instruction = fma}}
  attn.online_step ins(%q, %k, %v : memref<4x16x2xbf16>, memref<3x8xbf16>, memref<2x6x2xbf16>)
      outs(%a, %m, %l : memref<6x16xf32>, memref<16xf32>, memref<16xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d floordiv 2, i, d mod 2)>, affine_map<(i, j, d, e) -> (j, d)>,
               affine_map<(i, j, d, e) -> (j floordiv 2, e, j mod 2)>, affine_map<(i, j, d, e) -> (e, i)>,
               affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       schedule = #attn.prefill<query_tile = 16, key_tile = 3, lanes = 16, block_rows = 2, block_vectors = 1, instruction = pairs>}
  return
}

// -----

// Nor has it tiles.
func.func @amx(%q: memref<16x16x2xbf16>, %k: memref<32x32xbf16>, %v: memref<32x32xbf16>, %a: memref<32x16xf32>,
               %m: memref<16xf32>, %l: memref<16xf32>) {
  // expected-error @below {{schedule: expected instruction = amx only on targets that have it, with sums of 'f32', found x86-64 and 'f32'; write instruction = fma}}
  attn.online_step ins(%q, %k, %v : memref<16x16x2xbf16>, memref<32x32xbf16>, memref<32x32xbf16>)
      outs(%a, %m, %l : memref<32x16xf32>, memref<16xf32>, memref<16xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d floordiv 2, i, d mod 2)>, affine_map<(i, j, d, e) -> (j, d)>,
               affine_map<(i, j, d, e) -> (e, j)>, affine_map<(i, j, d, e) -> (e, i)>,
               affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       schedule = #attn.prefill<query_tile = 16, key_tile = 32, lanes = 16, block_rows = 2, block_vectors = 1, instruction = amx>}
  return
}

// -----

// The way begins on tensors.
func.func @sdpa(%q: memref<4x16xf32>, %k: memref<6x16xf32>, %v: memref<6x8xf32>, %o: memref<4x8xf32>) {
  // expected-error @below {{expected tiles, found an attn.sdpa on memrefs; run attn-to-flash on its tensors first}}
  attn.sdpa ins(%q, %k, %v : memref<4x16xf32>, memref<6x16xf32>, memref<6x8xf32>) outs(%o : memref<4x8xf32>)
  return
}

// -----

// Only arith.extf knows floats of 8 bits.
func.func @f8(%x: f32) -> f8E4M3FN {
  // expected-error @below {{has no code for a CPU: expected floats of at least 16 bits, or f8E4M3FN or f8E5M2 that arith.extf widens, found 'f8E4M3FN'}}
  %y = arith.truncf %x : f32 to f8E4M3FN
  return %y : f8E4M3FN
}

// -----

// No function for powers of integers.
func.func @ipowi(%x: i32, %y: i32) -> i32 {
  // expected-error @below {{has no code for a CPU; write the product, arith.muli}}
  %z = math.ipowi %x, %y : i32
  return %z : i32
}

// -----

// attn-tile packs rows in the type of the state.
func.func @narrow_query(%q: memref<16x4xbf16>, %k: memref<6x16xbf16>, %v: memref<6x8xbf16>,
                        %a: memref<8x4xf32>, %m: memref<4xf32>, %l: memref<4xf32>) {
  // expected-error @below {{no CPU kernel for inputs of type 'bf16' with a state of type 'f32'}}
  attn.online_step ins(%q, %k, %v : memref<16x4xbf16>, memref<6x16xbf16>, memref<6x8xbf16>)
      outs(%a, %m, %l : memref<8x4xf32>, memref<4xf32>, memref<4xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d, i)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
               affine_map<(i, j, d, e) -> (e, i)>, affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       schedule = #attn.prefill<query_tile = 4, key_tile = 6, lanes = 4, block_rows = 4, block_vectors = 1>}
  return
}

// -----

// So it does with keys.
func.func @narrow_keys(%q: memref<16x4xf32>, %k: memref<6x16xbf16>, %v: memref<6x8xbf16>,
                       %a: memref<8x4xf32>, %m: memref<4xf32>, %l: memref<4xf32>) {
  // expected-error @below {{expected keys and values of type 'f32'; run attn-tile}}
  attn.online_step ins(%q, %k, %v : memref<16x4xf32>, memref<6x16xbf16>, memref<6x8xbf16>)
      outs(%a, %m, %l : memref<8x4xf32>, memref<4xf32>, memref<4xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d, i)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
               affine_map<(i, j, d, e) -> (e, i)>, affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       schedule = #attn.prefill<query_tile = 4, key_tile = 6, lanes = 4, block_rows = 4, block_vectors = 1>}
  return
}

// -----

// Segments are for decode.
func.func @segments(%q: memref<16x4xf32>, %k: memref<6x16xf32>, %v: memref<6x8xf32>,
                    %a: memref<8x4xf32>, %m: memref<4xf32>, %l: memref<4xf32>) {
  // expected-error @below {{expected keys of one segment in a prefill tile, found 2}}
  attn.online_step ins(%q, %k, %v : memref<16x4xf32>, memref<6x16xf32>, memref<6x8xf32>)
      segments keys(%k : memref<6x16xf32>) values(%v : memref<6x8xf32>)
      outs(%a, %m, %l : memref<8x4xf32>, memref<4xf32>, memref<4xf32>)
      {maps = [affine_map<(i, j, d, e) -> (d, i)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
               affine_map<(i, j, d, e) -> (e, i)>, affine_map<(i, j, d, e) -> (i)>, affine_map<(i, j, d, e) -> (i)>],
       schedule = #attn.prefill<query_tile = 4, key_tile = 6, lanes = 4, block_rows = 4, block_vectors = 1>}
  return
}

// -----

// A prefetch beside the products of a step that is not there.
func.func @prefetch(%k: memref<4x8xf32>) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected a step behind it in its block, beside whose products it is to stand}}
  attn.prefetch %k[%c0, %c0] {rows = 4 : i64, columns = 8 : i64, beside = #attn.contraction<scores>,
      map = affine_map<(r, c) -> (r, c)>} : memref<4x8xf32>
  return
}
