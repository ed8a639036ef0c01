// What the verifiers say of lengths, offsets, packed sequences, sinks, dropout, pages and kinds of scores.
// RUN: attn-opt %s --split-input-file --verify-diagnostics

// C13: lengths of another batch.
func.func @f(%q: tensor<2x3x4x8xf32>, %n: tensor<3xi32>) {
  // expected-error @below {{C13: expected kv_lengths to have 2 elements, one a batch index, found 3}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>)
      kv_lengths(%n : tensor<3xi32>) outs(%q : tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  return
}

// -----

// C13: lengths that are no integers.
func.func @f(%q: tensor<2x3x4x8xf32>, %n: tensor<2xf32>) {
  // expected-error @below {{C13: expected q_lengths to have one dimension of i32 or i64, found 'tensor<2xf32>'}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>)
      q_lengths(%n : tensor<2xf32>) outs(%q : tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  return
}

// -----

// C13: no batch for the lengths.
func.func @f(%q: tensor<4x8xf32>, %n: tensor<1xi32>) {
  // expected-error @below {{C13: expected a batch dimension beside kv_lengths, found none}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
      kv_lengths(%n : tensor<1xi32>) outs(%q : tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// C14: an alignment by offsets that are not there.
func.func @f(%q: tensor<2x3x4x8xf32>) {
  // expected-error @below {{C14: expected causal_offset(%v) beside the alignment #attn.causal<offset>, found the alignment alone}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>)
      outs(%q : tensor<2x3x4x8xf32>) {causal = #attn.causal<offset>} -> tensor<2x3x4x8xf32>
  return
}

// -----

// C14: offsets of nothing.
func.func @f(%s: tensor<2x3x4x4xf32>, %n: tensor<2xi32>) {
  // expected-error @below {{C14: expected causal_offset(%v) beside the alignment #attn.causal<offset>, found causal_offset alone}}
  %r = attn.mask ins(%s : tensor<2x3x4x4xf32>) causal_offset(%n : tensor<2xi32>) outs(%s : tensor<2x3x4x4xf32>)
      -> tensor<2x3x4x4xf32>
  return
}

// -----

// C5: equal sizes say nothing where lengths differ.
func.func @f(%q: tensor<2x3x4x8xf32>, %n: tensor<2xi32>) {
  // expected-error @below {{C5: causal needs an alignment unless the numbers of queries and keys are static and equal, found Sq = 4 and Sk = 4 with lengths of their own}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>)
      kv_lengths(%n : tensor<2xi32>) outs(%q : tensor<2x3x4x8xf32>) {causal} -> tensor<2x3x4x8xf32>
  return
}

// -----

// C12: a chunk of nothing.
func.func @f(%q: tensor<4x8xf32>) {
  // expected-error @below {{C12: expected chunk to be at least 1, found 0}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
      outs(%q : tensor<4x8xf32>) {chunk = 0 : i64} -> tensor<4x8xf32>
  return
}

// -----

// A chunk beyond all positions is none.
func.func @f(%q: tensor<4x8xf32>) {
  // expected-error @below {{C12: expected chunk to be at most 2^40, found 1099511627777; leave it out for no such bound}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
      outs(%q : tensor<4x8xf32>) {chunk = 1099511627777 : i64} -> tensor<4x8xf32>
  return
}

// -----

// C15: lengths twice.
func.func @f(%q: tensor<9x3x8xf32>, %c: tensor<3xi32>, %n: tensor<2xi32>) {
  // expected-error @below {{C15: expected no kv_lengths with packed sequences, whose cu_seqlens say the lengths; leave it out}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<9x3x8xf32>, tensor<9x3x8xf32>, tensor<9x3x8xf32>)
      kv_lengths(%n : tensor<2xi32>) cu_seqlens(%c, %c : tensor<3xi32>, tensor<3xi32>)
      outs(%q : tensor<9x3x8xf32>) -> tensor<9x3x8xf32>
  return
}

// -----

// C15: lengths of packed queries.
func.func @f(%q: tensor<9x3x8xf32>, %k: tensor<2x3x7x8xf32>, %c: tensor<3xi32>, %n: tensor<2xi32>) {
  // expected-error @below {{C15: expected no q_lengths with packed sequences, whose cu_seqlens say the lengths; leave it out}}
  %r = attn.sdpa ins(%q, %k, %k : tensor<9x3x8xf32>, tensor<2x3x7x8xf32>, tensor<2x3x7x8xf32>)
      q_lengths(%n : tensor<2xi32>) kv_lengths(%n : tensor<2xi32>) cu_seqlens(%c : tensor<3xi32>)
      outs(%q : tensor<9x3x8xf32>) -> tensor<9x3x8xf32>
  return
}

// -----

// C15: min_queries of sequences that are not packed, and none at all.
func.func @f(%q: tensor<2x3x9x8xf32>) {
  // expected-error @below {{C15: expected min_queries of 1 or greater beside cu_seqlens, found 2 without cu_seqlens; leave min_queries out}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<2x3x9x8xf32>, tensor<2x3x9x8xf32>, tensor<2x3x9x8xf32>)
      outs(%q : tensor<2x3x9x8xf32>) {min_queries = 2 : i64} -> tensor<2x3x9x8xf32>
  return
}

// -----

func.func @f(%q: tensor<9x3x8xf32>, %k: tensor<2x3x7x8xf32>, %c: tensor<3xi32>) {
  // expected-error @below {{C15: expected min_queries of 1 or greater beside cu_seqlens, found 0; leave min_queries out}}
  %r = attn.sdpa ins(%q, %k, %k : tensor<9x3x8xf32>, tensor<2x3x7x8xf32>, tensor<2x3x7x8xf32>)
      cu_seqlens(%c : tensor<3xi32>) outs(%q : tensor<9x3x8xf32>) {min_queries = 0 : i64} -> tensor<9x3x8xf32>
  return
}

// -----

// C13: sequences of queries and of keys.
func.func @f(%q: tensor<9x3x8xf32>, %c: tensor<3xi32>, %d: tensor<5xi32>) {
  // expected-error @below {{C13: expected cu_seqlens of keys to have 3 elements, one a batch index and one more, found 5}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<9x3x8xf32>, tensor<9x3x8xf32>, tensor<9x3x8xf32>)
      cu_seqlens(%c, %d : tensor<3xi32>, tensor<5xi32>) outs(%q : tensor<9x3x8xf32>) -> tensor<9x3x8xf32>
  return
}

// -----

// C16: a probability above 1.
func.func @f(%s: tensor<4x6xf32>, %x: i64) {
  // expected-error @below {{C16: expected dropout_p in [0, 1], found 1.5}}
  %r = attn.dropout ins(%s : tensor<4x6xf32>) dropout(%x, %x : i64, i64) outs(%s : tensor<4x6xf32>)
      {dropout_p = 1.5 : f64} -> tensor<4x6xf32>
  return
}

// -----

// C16: a probability without a seed.
func.func @f(%q: tensor<4x8xf32>) {
  // expected-error @below {{C16: expected dropout_p beside dropout(%seed, %offset), found dropout_p alone}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
      outs(%q : tensor<4x8xf32>) {dropout_p = 0.5 : f64} -> tensor<4x8xf32>
  return
}

// -----

// C17: a table that ends before the keys.
func.func @f(%c: tensor<7x16x2x8xf32>, %t: tensor<2x3xi32>, %n: tensor<2xi32>, %o: tensor<2x2x49x8xf32>) {
  // expected-error @below {{C17: expected at most 48 keys, the pages of block_table times the page size, found 49}}
  %r = attn.gather_pages ins(%c, %t : tensor<7x16x2x8xf32>, tensor<2x3xi32>) lengths(%n : tensor<2xi32>)
      outs(%o : tensor<2x2x49x8xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<2x2x49x8xf32>
  return
}

// -----

// C17: the cache in another order than it says.
func.func @f(%c: tensor<7x16x2x8xf32>, %t: tensor<2x3xi32>, %n: tensor<2xi32>, %o: tensor<2x2x6x8xf32>) {
  // expected-error @below {{C17: expected an output (B, Hkv, Sk, D) of the cache 'tensor<7x16x2x8xf32>' and the block_table 'tensor<2x3xi32>', found}}
  %r = attn.gather_pages ins(%c, %t : tensor<7x16x2x8xf32>, tensor<2x3xi32>) lengths(%n : tensor<2xi32>)
      outs(%o : tensor<2x2x6x8xf32>) {page_layout = #attn.page_layout<hnd>} -> tensor<2x2x6x8xf32>
  return
}

// -----

// C18: weights of no kind.
func.func @f(%q: tensor<4x8xf32>, %w: tensor<8xf32>, %o: tensor<4x4xf32>) {
  // expected-error @below {{C18: expected kind = #attn.score_kind<general> or <additive> for weights, found 'tensor<8xf32>'}}
  %r = attn.scores ins(%q, %q : tensor<4x8xf32>, tensor<4x8xf32>) weights(%w : tensor<8xf32>) outs(%o : tensor<4x4xf32>)
      -> tensor<4x4xf32>
  return
}

// -----

// C18: a general weight that is a vector.
func.func @f(%q: tensor<4x8xf32>, %w: tensor<8xf32>, %o: tensor<4x4xf32>) {
  // expected-error @below {{C18: expected one weight W of the head size squared and the type of query, found 'tensor<8xf32>'}}
  %r = attn.scores ins(%q, %q : tensor<4x8xf32>, tensor<4x8xf32>) weights(%w : tensor<8xf32>) outs(%o : tensor<4x4xf32>)
      {kind = #attn.score_kind<general>} -> tensor<4x4xf32>
  return
}

// -----

// C2: a sink a head.
func.func @f(%q: tensor<2x3x4x8xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{C2: expected sink to have 3 elements, one a query head, found 4}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>)
      sink(%s : tensor<4xf32>) outs(%q : tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  return
}

// -----

// C10: a score_mod without its score.
func.func @f(%s: tensor<4x6xf32>) {
  // expected-error @below {{C10: expected score_mod to take one argument, the score: write ^bb0(%score: f32), found nothing}}
  %r = attn.modify ins(%s : tensor<4x6xf32>) outs(%s : tensor<4x6xf32>) score_mod {
    %one = arith.constant 1.0 : f32
    attn.yield %one : f32
  } -> tensor<4x6xf32>
  return
}

// -----

// C10: a score_mod with a side effect.
func.func @f(%s: tensor<4x6xf32>, %seen: memref<1xf32>) {
  // expected-error @below {{C10: expected only pure arith, math and attn.index ops on scalars, and tensor.extract of tensors from outside, in score_mod, found memref.store}}
  %r = attn.modify ins(%s : tensor<4x6xf32>) outs(%s : tensor<4x6xf32>) score_mod {
  ^bb0(%score: f32):
    %zero = arith.constant 0 : index
    // expected-note @below {{the op is here}}
    memref.store %score, %seen[%zero] : memref<1xf32>
    attn.yield %score : f32
  } -> tensor<4x6xf32>
  return
}

// -----

// C22: a prefix of what is kept anyway.
func.func @f(%q: tensor<4x8xf32>) {
  // expected-error @below {{C22: expected prefix beside causal, window or chunk, found it alone}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
      outs(%q : tensor<4x8xf32>) {prefix = 2 : i64} -> tensor<4x8xf32>
  return
}

// -----

// C12: a prefix of nothing.
func.func @f(%s: tensor<4x8xf32>) {
  // expected-error @below {{C12: expected prefix to be at least 1, found 0}}
  %r = attn.mask ins(%s : tensor<4x8xf32>) outs(%s : tensor<4x8xf32>)
      {causal = #attn.causal<top_left>, prefix = 0 : i64} -> tensor<4x8xf32>
  return
}

// -----

// C17: a cache without heads.
func.func @cache(%c: tensor<7xf32>, %t: tensor<1x3xi32>, %n: tensor<1xi32>, %o: tensor<1x2x48x8xf32>) {
  // expected-error @below {{C17: expected a cache of 4 dimensions in the order of page_layout, of 3 without the head size, or of 2, (pages, Hkv), found 'tensor<7xf32>'}}
  %r = attn.gather_pages ins(%c, %t : tensor<7xf32>, tensor<1x3xi32>) lengths(%n : tensor<1xi32>)
      outs(%o : tensor<1x2x48x8xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<1x2x48x8xf32>
  return
}

// -----

// C17: numbers of rows have no columns.
func.func @columns(%c: tensor<7x16x2xf32>, %t: tensor<1x3xi32>, %n: tensor<1xi32>, %o: tensor<1x2x48x8xf32>) {
  // expected-error @below {{C17: expected an output (B, Hkv, Sk) of the cache 'tensor<7x16x2xf32>', found 'tensor<1x2x48x8xf32>'}}
  %r = attn.gather_pages ins(%c, %t : tensor<7x16x2xf32>, tensor<1x3xi32>) lengths(%n : tensor<1xi32>)
      outs(%o : tensor<1x2x48x8xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<1x2x48x8xf32>
  return
}

// -----

// C17: a number a page does not tell how many rows a page has.
func.func @rows(%c: tensor<7x2xf32>, %t: tensor<1x3xi32>, %n: tensor<1xi32>, %o: tensor<1x2x48xf32>) {
  // expected-error @below {{C17: expected rows_per_page beside a cache (pages, Hkv) alone, found 'tensor<7x2xf32>' without it; write rows_per_page = 16 : i64}}
  %r = attn.gather_pages ins(%c, %t : tensor<7x2xf32>, tensor<1x3xi32>) lengths(%n : tensor<1xi32>)
      outs(%o : tensor<1x2x48xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<1x2x48xf32>
  return
}

// -----

// C17: pages of no rows by their attribute.
func.func @no_rows(%c: tensor<7x2xf32>, %t: tensor<1x3xi32>, %n: tensor<1xi32>, %o: tensor<1x2x0xf32>) {
  // expected-error @below {{C17: expected a page size of at least 1, found 0}}
  %r = attn.gather_pages ins(%c, %t : tensor<7x2xf32>, tensor<1x3xi32>) lengths(%n : tensor<1xi32>)
      outs(%o : tensor<1x2x0xf32>) {page_layout = #attn.page_layout<nhd>, rows_per_page = 0 : i64} -> tensor<1x2x0xf32>
  return
}

// -----

// C17: pages are numbers of 32 bits.
func.func @table(%c: tensor<7x16x2x8xf32>, %t: tensor<1x3xi64>, %n: tensor<1xi32>, %o: tensor<1x2x48x8xf32>) {
  // expected-error @below {{C17: expected block_table of two dimensions and lengths of one, of i32, found 'tensor<1x3xi64>' and 'tensor<1xi32>'}}
  %r = attn.gather_pages ins(%c, %t : tensor<7x16x2x8xf32>, tensor<1x3xi64>) lengths(%n : tensor<1xi32>)
      outs(%o : tensor<1x2x48x8xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<1x2x48x8xf32>
  return
}

// -----

// C17: the position in a page is a remainder of the page size.
func.func @dynamic_page(%c: tensor<7x?x2x8xf32>, %t: tensor<1x3xi32>, %n: tensor<1xi32>, %o: tensor<1x2x48x8xf32>) {
  // expected-error @below {{C17: expected a static page size, heads and head size, found 'tensor<7x?x2x8xf32>'}}
  %r = attn.gather_pages ins(%c, %t : tensor<7x?x2x8xf32>, tensor<1x3xi32>) lengths(%n : tensor<1xi32>)
      outs(%o : tensor<1x2x48x8xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<1x2x48x8xf32>
  return
}

// -----

// C17: pages of no rows.
func.func @empty_page(%c: tensor<7x0x2x8xf32>, %t: tensor<1x3xi32>, %n: tensor<1xi32>, %o: tensor<1x2x0x8xf32>) {
  // expected-error @below {{C17: expected a page size of at least 1, found 0}}
  %r = attn.gather_pages ins(%c, %t : tensor<7x0x2x8xf32>, tensor<1x3xi32>) lengths(%n : tensor<1xi32>)
      outs(%o : tensor<1x2x0x8xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<1x2x0x8xf32>
  return
}

// -----

// C2: sinks of nobody's heads.
func.func @sink_without_heads(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %s: tensor<1xf32>,
                              %o: tensor<4x8xf32>) {
  // expected-error @below {{C2: expected sink to have one dimension, the query heads, found 'tensor<1xf32>'}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) sink(%s : tensor<1xf32>)
      outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// C2: a weight for each column of Q and K.
func.func @score_weight(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %w: tensor<8xf32>,
                        %o: tensor<4x8xf32>) {
  // expected-error @below {{C2: expected score_weight to have 16 elements, one a column of query and key, found 'tensor<8xf32>'}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) score_weight(%w : tensor<8xf32>)
      outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// C18: two of the three tensors of projections.
func.func @projections(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %w: tensor<16x8xf32>, %o: tensor<4x6xf32>) {
  // expected-error @below {{weights w (D), or W_q (D, A), W_k (D, A) and w (A), of the type of query}}
  %r = attn.scores ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>)
      weights(%w, %w : tensor<16x8xf32>, tensor<16x8xf32>) outs(%o : tensor<4x6xf32>)
      {kind = #attn.score_kind<additive>} -> tensor<4x6xf32>
  return
}

// -----

// Queries of a tile are bounds of it, first_query and end_query.
func.func @key_ranges(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      key_ranges {
    // expected-error @below {{expected first_query and end_query in key_ranges, found query}}
    %i = attn.index query : index
    attn.yield %i, %i, %i, %i : index, index, index, index
  } -> tensor<4x8xf32>
  return
}

// -----

func.func @first_query(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      mask_mod {
    // expected-error @below {{expected first_query in key_ranges; write attn.index query}}
    %i = attn.index first_query : index
    %j = attn.index key : index
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  } -> tensor<4x8xf32>
  return
}

// -----

func.func @first_key(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>) {
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) outs(%o : tensor<4x8xf32>)
      key_ranges {
    // expected-error @below {{expected first_query or end_query in key_ranges, or query or key elsewhere, found first_key, which bounds a key tile in query_ranges of attn.sdpa_backward}}
    %i = attn.index first_key : index
    attn.yield %i, %i, %i, %i : index, index, index, index
  } -> tensor<4x8xf32>
  return
}

// -----

// C7: a bias of 4 rows that its map reads at row 0.
func.func @broadcast(%q: tensor<4x16xf32>, %k: tensor<6x16xf32>, %v: tensor<6x8xf32>, %b: tensor<4x6xf32>,
                     %o: tensor<4x8xf32>) {
  // expected-error @below {{C7: expected dimension 0 of bias to have size 1, as its map broadcasts it, found 4}}
  %r = attn.sdpa ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>) bias(%b : tensor<4x6xf32>)
      outs(%o : tensor<4x8xf32>)
      {maps = [affine_map<(i, j, d, e) -> (i, d)>, affine_map<(i, j, d, e) -> (j, d)>, affine_map<(i, j, d, e) -> (j, e)>,
               affine_map<(i, j, d, e) -> (0, j)>, affine_map<(i, j, d, e) -> (i, e)>]} -> tensor<4x8xf32>
  return
}

// -----

// C15: sequences of rows without heads.
func.func @sequences_without_heads(%q: tensor<8x16xf32>, %n: tensor<3xi32>) {
  // expected-error @below {{C15: expected the batch dimensions (sequence, head) beside cu_seqlens, found 1}}
  %r = attn.sdpa ins(%q, %q, %q : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>)
      cu_seqlens(%n, %n : tensor<3xi32>, tensor<3xi32>) outs(%q : tensor<8x16xf32>)
      {maps = [affine_map<(s, i, j, d, e) -> (i, d)>, affine_map<(s, i, j, d, e) -> (j, d)>,
               affine_map<(s, i, j, d, e) -> (j, e)>, affine_map<(s, i, j, d, e) -> (i, e)>]} -> tensor<8x16xf32>
  return
}
