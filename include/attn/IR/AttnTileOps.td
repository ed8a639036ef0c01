//===- AttnTileOps.td - online softmax and tiles ------------*- tablegen -*-===//
//
// What attention becomes: a state over the keys seen so far, and copies of tiles.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_ATTNTILEOPS_TD
#define ATTN_IR_ATTNTILEOPS_TD

include "attn/IR/AttnAttrs.td"
include "attn/IR/AttnBase.td"

//===----------------------------------------------------------------------===//
// The online state
//===----------------------------------------------------------------------===//

def Attn_InitStateOp : Attn_StructuredOp<"init_state"> {
  let summary = "the state of no keys: acc = 0, row max = -inf, row sum = 0";
  let description = [{
    The neutral element of `attn.merge_states`. With a `start` region, which
    yields a score m for each row (an attention sink): row max = m, row sum = 1,
    and the empty state where m is -inf.

    Domain: (batch…, query, value).

    * C1, C2: as for `attn.scores`.
    * C4: acc, row_max and row_sum are f32 or f64 of one type.
    * C10: `start` yields one float of the state's type, from pure arith, math, attn.index and tensor.extract ops on
      scalars; it knows no key.

    ```mlir
    %acc, %max, %sum = attn.init_state outs(%a, %m, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
        -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$acc, Attn_Shaped:$row_max, Attn_Shaped:$row_sum,
                       OptionalAttr<AffineMapArrayAttr>:$maps);
  let regions = (region MaxSizedRegion<1>:$start);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `outs` `(` $acc `,` $row_max `,` $row_sum `:` type($acc) `,` type($row_max) `,` type($row_sum) `)` attr-dict
        (`start` $start^)? (`->` type($results)^)?
  }];
}

def Attn_OnlineStepOp : Attn_StructuredOp<"online_step", [AttrSizedOperandSegments]> {
  let summary = "folds one range of keys into a running state";
  let description = [{
    With `s_j` the score of key j after scale, score_mod, bias and predicate:

    1. `m' = max(row_max, max_j s_j)`;
    2. `alpha = (row_max == -inf) ? 0 : exp(row_max - m')`, `p_j = exp(s_j - m')`, 0 for a removed key;
    3. `row_sum' = alpha * row_sum + sum_j p_j`;
    4. `acc' = alpha * acc + sum_j weight_mod(p_j) * value[j, :]`.

    The online softmax of Milakov and Gimelshein (arXiv:1805.02867) with the
    product by V of FlashAttention (arXiv:2205.14135). A schedule turns it into
    the loop over key tiles, where each step folds one tile.

    The keys of a tile may come from several segments in turn: parts of all keys,
    or pages of a cache. `key` and `value` are the first segment, `segments` has
    the others. All have the sizes and maps of the first one, and all their keys are folded;
    `attn.index key` counts those of a segment. `query_bytes` is Q as `attn.pack_bytes`
    has made it, for products of bytes; the formula does not need it. `exact_max`: the row maximum is a result of the
    kernel. Without it a kernel may keep one that is a little less, which changes rounding only. `min_queries`: as of
    `attn.sdpa`.

    Domain: (batch…, query, key, head, value).

    * C22: as many further segments of K as of V, of the type and sizes of the first; with them, keys may come in
      any order: no bias, mask or mask_mod, and no region asks for the key.
    * C1 to C15: as for `attn.sdpa`; the state has the type of the accumulation or a wider one, and mask may be i8,
      a packed tile of booleans; `score_mod` and `weight_mod` take and yield a float of the type of the accumulation or
      of the state. The scales of i8, f8E4M3FN and f8E5M2 keys and values are in these two regions.

    ```mlir
    %a, %m, %l = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
        outs(%a0, %m0, %l0 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) {scale = 0.25 : f64}
        -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$query, Attn_Shaped:$key, Attn_Shaped:$value, Optional<Attn_Shaped>:$bias,
                       Optional<Attn_Shaped>:$mask, Attn_Shaped:$acc, Attn_Shaped:$row_max, Attn_Shaped:$row_sum,
                       Optional<Attn_Shaped>:$cu_seqlens_q, Optional<Attn_Shaped>:$cu_seqlens_k,
                       Optional<Attn_Shaped>:$score_weight, Optional<AnyFloat>:$scale_value,
                       Variadic<Attn_Shaped>:$more_keys, Variadic<Attn_Shaped>:$more_values,
                       Variadic<Attn_Shaped>:$query_bytes,
                       OptionalAttr<F64Attr>:$scale,
                       OptionalAttr<AffineMapArrayAttr>:$maps, UnitAttr:$block_map, UnitAttr:$exact_max,
                       OptionalAttr<I64Attr>:$min_queries,
                       OptionalAttr<Attn_ScheduleAttr>:$schedule);
  let regions = (region MaxSizedRegion<1>:$mask_mod, MaxSizedRegion<1>:$score_mod, MaxSizedRegion<1>:$key_ranges,
                        MaxSizedRegion<1>:$weight_mod);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` type($value) `)`
        (`bias` `(` $bias^ `:` type($bias) `)`)? (`mask` `(` $mask^ `:` type($mask) `)`)?
        (`cu_seqlens` `(` $cu_seqlens_q^ (`,` $cu_seqlens_k^)? `:` type($cu_seqlens_q) (`,` type($cu_seqlens_k)^)? `)`)?
        (`score_weight` `(` $score_weight^ `:` type($score_weight) `)`)?
        (`scale_value` `(` $scale_value^ `:` type($scale_value) `)`)?
        (`segments` `keys` `(` $more_keys^ `:` type($more_keys) `)` `values` `(` $more_values `:`
            type($more_values) `)`)?
        (`query_bytes` `(` $query_bytes^ `:` type($query_bytes) `)`)?
        `outs` `(` $acc `,` $row_max `,` $row_sum `:` type($acc) `,` type($row_max) `,` type($row_sum) `)` attr-dict
        (`score_mod` $score_mod^)? (`mask_mod` $mask_mod^)? (`key_ranges` $key_ranges^)?
        (`weight_mod` $weight_mod^)? (`->` type($results)^)?
  }];
  let extraClassDeclaration = structuredDeclaration # [{
    /// All segments of K and of V: the first and the further ones.
    ::llvm::SmallVector<::mlir::Value> getKeySegments();
    ::llvm::SmallVector<::mlir::Value> getValueSegments();
  }];
}

def Attn_MergeStatesOp : Attn_StructuredOp<"merge_states"> {
  let summary = "merges the states of two disjoint ranges of keys";
  let description = [{
    With (acc, m, l) the inputs and (acc', m', l') the outputs' old contents:

    1. `n = max(m, m')`, `f = (m == -inf) ? 0 : exp(m - n)`, and f' likewise;
    2. the new state is `(f * acc + f' * acc', n, f * l + f' * l')`.

    Associative up to rounding; `attn.init_state` is its neutral element. This
    is what joins keys split over threads, and shared prefixes.

    Domain: (batch…, query, value).

    * C1, C2: as for `attn.scores`.
    * C4: all operands are f32 or f64 of one type.

    ```mlir
    %a, %m, %l = attn.merge_states ins(%a1, %m1, %l1 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
        outs(%a2, %m2, %l2 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
        -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$other_acc, Attn_Shaped:$other_max, Attn_Shaped:$other_sum, Attn_Shaped:$acc,
                       Attn_Shaped:$row_max, Attn_Shaped:$row_sum, OptionalAttr<AffineMapArrayAttr>:$maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $other_acc `,` $other_max `,` $other_sum `:`
        type($other_acc) `,` type($other_max) `,` type($other_sum) `)`
        `outs` `(` $acc `,` $row_max `,` $row_sum `:` type($acc) `,` type($row_max) `,` type($row_sum) `)` attr-dict
        (`->` type($results)^)?
  }];
}

def Attn_FinalizeOp : Attn_StructuredOp<"finalize", [AttrSizedOperandSegments]> {
  let summary = "state to result: output = acc / row_sum, lse = row_max + ln row_sum";
  let description = [{
    `output[i, e] = (row_sum[i] == 0) ? 0 : acc[i, e] / row_sum[i]` and
    `lse[i] = (row_sum[i] == 0) ? -inf : row_max[i] + ln row_sum[i]`. `max[i]` and `log_sum[i]` are the two terms of
    that sum, likewise -inf where row_sum is 0.

    With `accumulate` the outputs hold a state as well, of other keys: its row maximum m and row sum l are max and
    exp(log_sum) where both stand, otherwise lse and 1, and l is 0 where m is -inf; its acc is `l * output`, and what
    output holds is not read where l is 0. What is written is of the two states merged, as by `attn.merge_states`. A row
    without keys keeps what the outputs hold.

    Domain: (batch…, query, value). The state may hold more query rows than the
    outputs (lanes that pad a tile); those rows are dropped. With cu_seqlens the
    outputs are packed as those of `attn.sdpa`.

    * C1, C2: as for `attn.scores`, but for the padding rows.
    * C4: the state is f32 or f64 of one type; output, lse, max and log_sum are floating
      point.
    * C28: as for `attn.sdpa`.

    ```mlir
    %o, %lse = attn.finalize ins(%a, %m, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
        outs(%init, %linit : tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>, tensor<4xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$acc, Attn_Shaped:$row_max, Attn_Shaped:$row_sum,
                       Attn_Shaped:$output, Optional<Attn_Shaped>:$lse, Optional<Attn_Shaped>:$max,
                       Optional<Attn_Shaped>:$log_sum, Optional<Attn_Shaped>:$cu_seqlens_q,
                       OptionalAttr<AffineMapArrayAttr>:$maps, UnitAttr:$accumulate);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $acc `,` $row_max `,` $row_sum `:` type($acc) `,` type($row_max) `,` type($row_sum) `)`
        (`cu_seqlens` `(` $cu_seqlens_q^ `:` type($cu_seqlens_q) `)`)?
        `outs` `(` $output (`,` $lse^)? `:` type($output) (`,` type($lse)^)? `)`
        (`max` `(` $max^ `:` type($max) `)`)? (`log_sum` `(` $log_sum^ `:` type($log_sum) `)`)? attr-dict
        (`->` type($results)^)?
  }];
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

def Attn_PackOp : Attn_StructuredOp<"pack"> {
  let summary = "copies rows into another layout, padding the query rows with zeros";
  let description = [{
    `output[b, i, c] = i < rows ? input[b, i, c] : 0`, where rows is the number
    of query rows of the input and the maps say in which order each side holds
    its dimensions; the input may broadcast. The tiler uses it to transpose a
    tile of Q, a bias or a mask, so that query rows become vector lanes.

    Domain: (batch…, query, head).

    The output may hold one dimension in pairs, as two results of its map, `d floordiv 2` and `d mod 2`: the layout that
    products of pairs of bf16 take (`instruction = pairs`); what an odd size leaves of the last pair is 0.

    An output of bf16 may hold 2 or 3 parts of each element of an input without, in a dimension for which its map has 0
    (`parts` of `#attn.prefill`): the upper 8 bits of the significand, those of what is left, and so on, the last part
    rounded. A part has the sign of its element and is 0 only if that is, and those of an infinity are infinities: the
    sum of products of parts is infinite or NaN where the product is. Beside an input with parts, part p of the output
    is a copy of part p.

    * C1, C2: as for `attn.scores`, but that output may have more query rows than input.
    * C4: input and output are floating point or have one element type; or input is i8 and output floating point, an
      integer widened; or input is i1 and output is i8, a boolean as a byte, 0 or 1.

    ```mlir
    %t = attn.pack ins(%q : tensor<?x64xf32>) outs(%init : tensor<64x64xf32>)
        {maps = [affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (d, i)>]} -> tensor<64x64xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$input, Attn_Shaped:$output, OptionalAttr<AffineMapArrayAttr>:$maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` `outs` `(` $output `:` type($output) `)` attr-dict (`->` type($results)^)?
  }];
}

def Attn_PackBytesOp : Attn_Op<"pack_bytes", [DestinationStyleOpInterface,
                                              DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "rows of Q as integers of two signed digits, for products of bytes";
  let description = [{
    `round(input[r, c] / scale[r]) = 256 digits[r, 0, c] + digits[r, 1, c]`, 0 for
    columns that input does not have; `scale` is a power of two, and
    `offset[r] = 128 sum_c round(input[r, c] / scale[r])`, which is what a product has too
    much where the other side's bytes have 128 added. A tile's Q is packed once,
    in front of its loops over keys.

    * C23: input is (batch…, row, column) of floats, digits (batch…, row, 2, column) of i8 with at least as many
      columns, scales (batch…, row) of f32, offsets likewise of i32.

    ```mlir
    %d, %s, %o = attn.pack_bytes ins(%q : tensor<4x80xf32>)
        outs(%d0, %s0, %o0 : tensor<4x2x128xi8>, tensor<4xf32>, tensor<4xi32>)
        -> tensor<4x2x128xi8>, tensor<4xf32>, tensor<4xi32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$input, Attn_Shaped:$digits, Attn_Shaped:$scales, Attn_Shaped:$offsets);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` `outs` `(` $digits `,` $scales `,` $offsets `:` type($digits) `,`
        type($scales) `,` type($offsets) `)` attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return ::mlir::MutableOperandRange(*this, 1, 3); }
  }];
  let hasVerifier = 1;
}

def Attn_PrefetchOp : Attn_Op<"prefetch"> {
  let summary = "asks memory for what a later step reads";
  let description = [{
    For `rows` times `columns` elements of each of `tiles` from (`row`, `column`)
    on, where `map` says what of a tile (row, column) is. They may lie beyond it:
    nothing is read. Beside `scores` or `values`, the requests are spread over these
    products of the next `attn.online_step` of the block; without, they are made at once.

    * C24: `map` has two dimensions, and as many results as each tile has dimensions.

    ```mlir
    attn.prefetch %k[%ahead, %c0] {rows = 16, columns = 64, beside = #attn.contraction<values>,
        map = affine_map<(r, c) -> (0, r, c)>} : tensor<1x16x64xf32>
    ```
  }];
  let arguments = (ins Variadic<Attn_Shaped>:$tiles, Index:$row, Index:$column, I64Attr:$rows, I64Attr:$columns,
                       OptionalAttr<Attn_ContractionAttr>:$beside, AffineMapAttr:$map);
  let assemblyFormat = "$tiles `[` $row `,` $column `]` attr-dict `:` type($tiles)";
  let hasVerifier = 1;
}

// Once its captures are buffers, the region reads memory.
def Attn_ClassifyTileOp : Attn_Op<"classify_tile", [RecursiveMemoryEffects, RecursivelySpeculatable]> {
  let summary = "whether a tile of the score matrix keeps no key (0), some (1) or all (2)";
  let description = [{
    Evaluates `mask_mod` for the first `rows` of `query_tile` rows and for
    `keys` keys. Where no range of keys can be found at compile time, the tiler
    asks it once for each tile and skips those of 0.

    * C10: `mask_mod` as for `attn.sdpa`; `query_tile` and `lanes` are at least 1.

    ```mlir
    %kind = attn.classify_tile rows(%rows) keys(%count) {query_tile = 64, lanes = 16} mask_mod {
      %doc = tensor.extract %docs[%i] : tensor<113xi32>
      …
    } : i8
    ```
  }];
  let arguments = (ins Index:$rows, Index:$keys, I64Attr:$query_tile, I64Attr:$lanes);
  let regions = (region SizedRegion<1>:$mask_mod);
  let results = (outs I8:$result);
  let assemblyFormat = [{
    `rows` `(` $rows `)` `keys` `(` $keys `)` attr-dict `mask_mod` $mask_mod `:` type($result)
  }];
  let hasVerifier = 1;
}

#endif // ATTN_IR_ATTNTILEOPS_TD
