// RUN: attn-opt %s --attn-tile --split-input-file --verify-diagnostics

// A state from elsewhere.
func.func @f(%a: tensor<4x8xf32>, %m: tensor<4xf32>, %l: tensor<4xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{expected the state of an attn.online_step; run attn-convert-to-online, or leave the schedule out of steps whose states are merged by hand}}
  %r = attn.finalize ins(%a, %m, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// No tile sizes.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %a: tensor<4x8xf32>, %m: tensor<4xf32>,
             %l: tensor<4xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %i:3 = attn.init_state outs(%a, %m, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  // expected-error @below {{expected a schedule; run attn-select-schedule or write schedule = #attn.prefill<…>}}
  %s:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%i#0, %i#1, %i#2 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  %r = attn.finalize ins(%s#0, %s#1, %s#2 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// A state that has folded keys already cannot be split by rows of one step.
func.func @f(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %a: tensor<4x8xf32>, %m: tensor<4xf32>,
             %l: tensor<4xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{expected the state of attn.init_state, found another one: it cannot be tiled by query rows alone; leave the schedule out}}
  %s:3 = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%a, %m, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      {schedule = #attn.prefill<query_tile = 4, key_tile = 2, lanes = 4, block_rows = 1, block_vectors = 1>}
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  %r = attn.finalize ins(%s#0, %s#1, %s#2 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// A head size that is not known.
func.func @f(%q: tensor<4x?xf32>, %k: tensor<6x?xf32>, %v: tensor<6x8xf32>, %a: tensor<4x8xf32>, %m: tensor<4xf32>,
             %l: tensor<4xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %i:3 = attn.init_state outs(%a, %m, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  // expected-error @below {{expected static head sizes, found dynamic ones}}
  %s:3 = attn.online_step ins(%q, %k, %v : tensor<4x?xf32>, tensor<6x?xf32>, tensor<6x8xf32>)
      outs(%i#0, %i#1, %i#2 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
      {schedule = #attn.prefill<query_tile = 4, key_tile = 2, lanes = 4, block_rows = 1, block_vectors = 1>}
      -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  %r = attn.finalize ins(%s#0, %s#1, %s#2 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) outs(%o : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// Pairs of f32 have no product.
func.func @f(%q: tensor<16x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %a: tensor<16x8xf32>, %m: tensor<16xf32>,
             %l: tensor<16xf32>, %o: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %i:3 = attn.init_state outs(%a, %m, %l : tensor<16x8xf32>, tensor<16xf32>, tensor<16xf32>)
      -> tensor<16x8xf32>, tensor<16xf32>, tensor<16xf32>
  // expected-error @below {{schedule: instruction = pairs: found Q of}}
  %s:3 = attn.online_step ins(%q, %k, %v : tensor<16x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
      outs(%i#0, %i#1, %i#2 : tensor<16x8xf32>, tensor<16xf32>, tensor<16xf32>)
      {schedule = #attn.prefill<query_tile = 16, key_tile = 2, lanes = 16, block_rows = 1, block_vectors = 1, instruction = pairs>}
      -> tensor<16x8xf32>, tensor<16xf32>, tensor<16xf32>
  %r = attn.finalize ins(%s#0, %s#1, %s#2 : tensor<16x8xf32>, tensor<16xf32>, tensor<16xf32>) outs(%o : tensor<16x8xf32>)
      -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}

// -----

func.func @f(%q: tensor<16x16xbf16>, %k: tensor<64x16xbf16>, %v: tensor<64x32xbf16>, %a: tensor<16x32xf32>, %m: tensor<16xf32>,
             %l: tensor<16xf32>, %o: tensor<16x32xbf16>) -> tensor<16x32xbf16> {
  %i:3 = attn.init_state outs(%a, %m, %l : tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>)
      -> tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>
  // expected-error @below {{schedule: instruction = amx: found Q of}}
  %s:3 = attn.online_step ins(%q, %k, %v : tensor<16x16xbf16>, tensor<64x16xbf16>, tensor<64x32xbf16>)
      outs(%i#0, %i#1, %i#2 : tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>)
      {schedule = #attn.prefill<query_tile = 16, key_tile = 32, lanes = 16, block_rows = 1, block_vectors = 1, instruction = amx>}
      -> tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>
  %r = attn.finalize ins(%s#0, %s#1, %s#2 : tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>) outs(%o : tensor<16x32xbf16>)
      -> tensor<16x32xbf16>
  return %r : tensor<16x32xbf16>
}

// -----

// Three heads of a tile of K, which has four; and heads that visit keys of their own.
func.func @f(%q: tensor<4x1x16xf32>, %k: tensor<4x6x16xf32>, %a: tensor<4x1x16xf32>, %m: tensor<4x1xf32>, %l: tensor<4x1xf32>,
             %o: tensor<4x1x16xf32>) -> tensor<4x1x16xf32> {
  %i:3 = attn.init_state outs(%a, %m, %l : tensor<4x1x16xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
      -> tensor<4x1x16xf32>, tensor<4x1xf32>, tensor<4x1xf32>
  // expected-error @below {{schedule: expected kv_heads to divide the heads of K, all of which visit the same keys, found 3; write kv_heads = 1}}
  %s:3 = attn.online_step ins(%q, %k, %k : tensor<4x1x16xf32>, tensor<4x6x16xf32>, tensor<4x6x16xf32>)
      outs(%i#0, %i#1, %i#2 : tensor<4x1x16xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
      {schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 4, block_queries = 4, kv_heads = 3>}
      -> tensor<4x1x16xf32>, tensor<4x1xf32>, tensor<4x1xf32>
  %r = attn.finalize ins(%s#0, %s#1, %s#2 : tensor<4x1x16xf32>, tensor<4x1xf32>, tensor<4x1xf32>) outs(%o : tensor<4x1x16xf32>)
      -> tensor<4x1x16xf32>
  return %r : tensor<4x1x16xf32>
}

// -----

func.func @f(%q: tensor<4x1x16xf32>, %k: tensor<4x6x16xf32>, %a: tensor<4x1x16xf32>, %m: tensor<4x1xf32>, %l: tensor<4x1xf32>,
             %o: tensor<4x1x16xf32>) -> tensor<4x1x16xf32> {
  %i:3 = attn.init_state outs(%a, %m, %l : tensor<4x1x16xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
      -> tensor<4x1x16xf32>, tensor<4x1xf32>, tensor<4x1xf32>
  // expected-error @below {{schedule: expected kv_heads to divide the heads of K, all of which visit the same keys, found 2; write kv_heads = 1}}
  %s:3 = attn.online_step ins(%q, %k, %k : tensor<4x1x16xf32>, tensor<4x6x16xf32>, tensor<4x6x16xf32>)
      outs(%i#0, %i#1, %i#2 : tensor<4x1x16xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
      {schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 4, block_queries = 4, kv_heads = 2>}
      mask_mod {
        %head = attn.index batch : index
        %key = attn.index key : index
        %kept = arith.cmpi ule, %key, %head : index
        attn.yield %kept : i1
      } -> tensor<4x1x16xf32>, tensor<4x1xf32>, tensor<4x1xf32>
  %r = attn.finalize ins(%s#0, %s#1, %s#2 : tensor<4x1x16xf32>, tensor<4x1xf32>, tensor<4x1xf32>) outs(%o : tensor<4x1x16xf32>)
      -> tensor<4x1x16xf32>
  return %r : tensor<4x1x16xf32>
}

// -----

// A decode tile has all query rows.
func.func @f(%q: tensor<4x1x16xf32>, %k: tensor<4x6x16xf32>, %a: tensor<4x1x16xf32>, %m: tensor<4x1xf32>, %l: tensor<4x1xf32>,
             %o: tensor<4x1x16xf32>) -> tensor<4x1x16xf32> {
  %i:3 = attn.init_state outs(%a, %m, %l : tensor<4x1x16xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
      -> tensor<4x1x16xf32>, tensor<4x1xf32>, tensor<4x1xf32>
  // expected-error @below {{schedule: expected query_tile to be 1, the number of query rows, found 2; write query_tile = 1}}
  %s:3 = attn.online_step ins(%q, %k, %k : tensor<4x1x16xf32>, tensor<4x6x16xf32>, tensor<4x6x16xf32>)
      outs(%i#0, %i#1, %i#2 : tensor<4x1x16xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
      {schedule = #attn.decode<query_tile = 2, key_tile = 4, lanes = 4, block_queries = 4>}
      -> tensor<4x1x16xf32>, tensor<4x1xf32>, tensor<4x1xf32>
  %r = attn.finalize ins(%s#0, %s#1, %s#2 : tensor<4x1x16xf32>, tensor<4x1xf32>, tensor<4x1xf32>) outs(%o : tensor<4x1x16xf32>)
      -> tensor<4x1x16xf32>
  return %r : tensor<4x1x16xf32>
}

// -----

// Scores of a tile are on the stack.
func.func @f(%q: tensor<4x1x16xf32>, %k: tensor<4x6x16xf32>, %a: tensor<4x1x16xf32>, %m: tensor<4x1xf32>, %l: tensor<4x1xf32>,
             %o: tensor<4x1x16xf32>) -> tensor<4x1x16xf32> {
  %i:3 = attn.init_state outs(%a, %m, %l : tensor<4x1x16xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
      -> tensor<4x1x16xf32>, tensor<4x1xf32>, tensor<4x1xf32>
  // expected-error @below {{schedule: expected query_tile and key_tile of at most 524288 bytes of Q, scores and accumulators, found 1 and 1000000 that need 4000192; write smaller ones}}
  %s:3 = attn.online_step ins(%q, %k, %k : tensor<4x1x16xf32>, tensor<4x6x16xf32>, tensor<4x6x16xf32>)
      outs(%i#0, %i#1, %i#2 : tensor<4x1x16xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
      {schedule = #attn.decode<query_tile = 1, key_tile = 1000000, lanes = 4, block_queries = 4>}
      -> tensor<4x1x16xf32>, tensor<4x1xf32>, tensor<4x1xf32>
  %r = attn.finalize ins(%s#0, %s#1, %s#2 : tensor<4x1x16xf32>, tensor<4x1xf32>, tensor<4x1xf32>) outs(%o : tensor<4x1x16xf32>)
      -> tensor<4x1x16xf32>
  return %r : tensor<4x1x16xf32>
}

// -----

// Two heads of a group of four make no tile of a whole group.
func.func @f(%q: tensor<2x1x16xf32>, %k: tensor<1x6x16xf32>, %a: tensor<2x1x16xf32>, %m: tensor<2x1xf32>, %l: tensor<2x1xf32>,
             %o: tensor<2x1x16xf32>) -> tensor<2x1x16xf32> {
  %i:3 = attn.init_state outs(%a, %m, %l : tensor<2x1x16xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
      -> tensor<2x1x16xf32>, tensor<2x1xf32>, tensor<2x1xf32>
  // expected-error @below {{cannot be tiled: expected a multiple of the 4 query heads that share one head of K in its map, found 2; write 0 in its place where all heads share one}}
  %s:3 = attn.online_step ins(%q, %k, %k : tensor<2x1x16xf32>, tensor<1x6x16xf32>, tensor<1x6x16xf32>)
      outs(%i#0, %i#1, %i#2 : tensor<2x1x16xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
      {schedule = #attn.decode<query_tile = 1, key_tile = 4, lanes = 4, block_queries = 4>,
       maps = [affine_map<(h, i, j, d, e) -> (h, i, d)>, affine_map<(h, i, j, d, e) -> (h floordiv 4, j, d)>,
               affine_map<(h, i, j, d, e) -> (h floordiv 4, j, e)>, affine_map<(h, i, j, d, e) -> (h, i, e)>,
               affine_map<(h, i, j, d, e) -> (h, i)>, affine_map<(h, i, j, d, e) -> (h, i)>]}
      -> tensor<2x1x16xf32>, tensor<2x1xf32>, tensor<2x1xf32>
  %r = attn.finalize ins(%s#0, %s#1, %s#2 : tensor<2x1x16xf32>, tensor<2x1xf32>, tensor<2x1xf32>) outs(%o : tensor<2x1x16xf32>)
      -> tensor<2x1x16xf32>
  return %r : tensor<2x1x16xf32>
}

// -----

// Each packed sequence would take rows 0 and on.
#acc = affine_map<(b, h, i, e) -> (b, h, e, i)>
#row = affine_map<(b, h, i, e) -> (b, h, i)>
#out = affine_map<(b, h, i, e) -> (i, h, e)>
func.func @f(%q: tensor<4x2x16xf32>, %k: tensor<20x2x16xf32>, %at: tensor<3xi32>, %a: tensor<2x2x16x4xf32>,
             %m: tensor<2x2x4xf32>, %o: tensor<4x2x16xf32>) -> tensor<4x2x16xf32> {
  %i:3 = attn.init_state outs(%a, %m, %m : tensor<2x2x16x4xf32>, tensor<2x2x4xf32>, tensor<2x2x4xf32>)
      {maps = [#acc, #row, #row]} -> tensor<2x2x16x4xf32>, tensor<2x2x4xf32>, tensor<2x2x4xf32>
  // expected-error @below {{schedule: expected #attn.prefill<…> for packed sequences}}
  %s:3 = attn.online_step ins(%q, %k, %k : tensor<4x2x16xf32>, tensor<20x2x16xf32>, tensor<20x2x16xf32>)
      cu_seqlens(%at, %at : tensor<3xi32>, tensor<3xi32>)
      outs(%i#0, %i#1, %i#2 : tensor<2x2x16x4xf32>, tensor<2x2x4xf32>, tensor<2x2x4xf32>)
      {maps = [affine_map<(b, h, i, j, d, e) -> (i, h, d)>, affine_map<(b, h, i, j, d, e) -> (j, h, d)>,
               affine_map<(b, h, i, j, d, e) -> (j, h, e)>, affine_map<(b, h, i, j, d, e) -> (b, h, e, i)>,
               affine_map<(b, h, i, j, d, e) -> (b, h, i)>, affine_map<(b, h, i, j, d, e) -> (b, h, i)>],
       schedule = #attn.decode<query_tile = 4, key_tile = 16, lanes = 8, block_queries = 4>}
      -> tensor<2x2x16x4xf32>, tensor<2x2x4xf32>, tensor<2x2x4xf32>
  %r = attn.finalize ins(%s#0, %s#1, %s#2 : tensor<2x2x16x4xf32>, tensor<2x2x4xf32>, tensor<2x2x4xf32>)
      cu_seqlens(%at : tensor<3xi32>) outs(%o : tensor<4x2x16xf32>) {maps = [#acc, #row, #row, #out]} -> tensor<4x2x16xf32>
  return %r : tensor<4x2x16xf32>
}
