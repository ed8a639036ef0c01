//===- AttnOps.td - operations of the attn dialect ----------*- tablegen -*-===//
//
// Three groups: the textbook chain, the fused op, the online state; then the
// ops of predicate regions and of tiles. Constraint numbers (C1 …) stand in the
// verifiers' messages and in the tests that prove them.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_ATTNOPS_TD
#define ATTN_IR_ATTNOPS_TD

include "attn/IR/AttnAttrs.td"
include "attn/IR/AttnBase.td"
include "attn/IR/AttnLayerOps.td"

//===----------------------------------------------------------------------===//
// The textbook chain
//===----------------------------------------------------------------------===//

def Attn_ScoresOp : Attn_StructuredOp<"scores"> {
  let summary = "scores of every query row against every key row: Q times K transposed";
  let description = [{
    `out[b, i, j] = sum_d query[b, i, d] * key[b, j, d]`, accumulated in f32
    (f64 for f64 inputs). No scale is applied. `kind` changes the formula:

    * `general`, weights W (D, D): `query^T W key` (Luong et al., arXiv:1508.04025);
    * `additive`, weights w (D): `sum_d w[d] * tanh(query[d] + key[d])`; with weights W_q (D, A), W_k (D, A), w (A) the
      rows are projected first (Bahdanau et al., arXiv:1409.0473).

    Domain: (batch…, query, key, head).

    * C1: each map has the domain's dimensions and as many results as its operand has dimensions; that of an output
      holds every batch dimension.
    * C2: operands agree on the size of each dimension.
    * C3: the number of query heads is a multiple of the number of key heads.
    * C4: query, key and output are floating point; query and key have one type, and so have the weights.
    * C18: weights as `kind` has them.

    ```mlir
    %s = attn.scores ins(%q, %k : tensor<2x8x113x64xf32>, tensor<2x2x203x64xf32>)
        outs(%init : tensor<2x8x113x203xf32>) -> tensor<2x8x113x203xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$query, Attn_Shaped:$key, Attn_Shaped:$output, Variadic<Attn_Shaped>:$weights,
                       OptionalAttr<Attn_ScoreKindAttr>:$kind, OptionalAttr<AffineMapArrayAttr>:$maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `:` type($query) `,` type($key) `)`
        (`weights` `(` $weights^ `:` type($weights) `)`)? `outs` `(` $output `:` type($output) `)`
        attr-dict (`->` type($results)^)?
  }];
}

def Attn_ScaleOp : Attn_StructuredOp<"scale"> {
  let summary = "multiplies scores (or Q) by a real number";
  let description = [{
    `out[b, i, j] = scale * input[b, i, j]`. Any real scale is legal, zero and
    negative included.

    Domain: (batch…, query, key).

    * C1, C2: as for `attn.scores`.
    * C4: input and output are floating point of one type; scale_value has the type of the accumulation.
    * C9: exactly one of `scale` and `scale_value` is given; `scale` is finite.

    ```mlir
    %t = attn.scale ins(%s : tensor<4x6xf32>) outs(%init : tensor<4x6xf32>) {scale = 0.125 : f64} -> tensor<4x6xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$input, Attn_Shaped:$output, Optional<AnyFloat>:$scale_value,
                       OptionalAttr<F64Attr>:$scale, OptionalAttr<AffineMapArrayAttr>:$maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` (`scale_value` `(` $scale_value^ `:` type($scale_value) `)`)?
        `outs` `(` $output `:` type($output) `)` attr-dict (`->` type($results)^)?
  }];
}

def Attn_ModifyOp : Attn_StructuredOp<"modify"> {
  let summary = "changes each score by a function of it and of its position";
  let description = [{
    `out[b, i, j] = score_mod(input[b, i, j])`; the region may ask for its
    position with `attn.index` and read captured tensors with `tensor.extract`.

    Domain: (batch…, query, key).

    * C1, C2: as for `attn.scores`.
    * C4: input and output are floating point of one type.
    * C10: `score_mod` takes and yields one float of the accumulation type, from pure arith, math, attn.index and
      tensor.extract ops on scalars.

    ```mlir
    %t = attn.modify ins(%s : tensor<4x6xf32>) outs(%init : tensor<4x6xf32>) score_mod {
    ^bb0(%score: f32):
      %double = arith.addf %score, %score : f32
      attn.yield %double : f32
    } -> tensor<4x6xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$input, Attn_Shaped:$output, OptionalAttr<AffineMapArrayAttr>:$maps);
  let regions = (region SizedRegion<1>:$score_mod);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` `outs` `(` $output `:` type($output) `)` attr-dict `score_mod` $score_mod
        (`->` type($results)^)?
  }];
}

def Attn_SoftcapOp : Attn_StructuredOp<"softcap"> {
  let summary = "limits scores smoothly to (-c, c)";
  let description = [{
    `out[b, i, j] = c * tanh(input[b, i, j] / c)` with c = `softcap`.

    Domain: (batch…, query, key).

    * C1, C2: as for `attn.scores`.
    * C4: input and output are floating point of one type.
    * C6: softcap is finite and greater than 0.

    ```mlir
    %t = attn.softcap ins(%s : tensor<4x6xf32>) outs(%init : tensor<4x6xf32>) {softcap = 30.0 : f64} -> tensor<4x6xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$input, Attn_Shaped:$output, F64Attr:$softcap,
                       OptionalAttr<AffineMapArrayAttr>:$maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` `outs` `(` $output `:` type($output) `)` attr-dict (`->` type($results)^)?
  }];
}

def Attn_MaskOp : Attn_StructuredOp<"mask", [AttrSizedOperandSegments]> {
  let summary = "adds a bias to scores and removes keys by a predicate";
  let description = [{
    `s = input[b, i, j] + bias[b, i, j]`;
    `out[b, i, j] = predicate(b, i, j) ? s : -inf`, where the predicate is the
    conjunction of the lengths, the causal alignment, the window, the boolean
    mask (true = attend) and the `mask_mod` region. A removed key is selected
    away, never added to.

    Domain: (batch…, query, key). A mask or bias of fewer dimensions, or with
    dimensions of size 1, broadcasts as in NumPy.

    * C1, C2: as for `attn.scores`.
    * C4: input, bias and output are floating point; input and output have one type.
    * C5: `causal` needs an alignment unless the numbers of queries and keys are static and equal.
    * C8: mask has element type i1.
    * C10: `mask_mod` yields one i1 from pure arith, math, attn.index and tensor.extract ops on scalars.
    * C13: lengths and causal_offset are integers, one a batch index.

    ```mlir
    %t = attn.mask ins(%s : tensor<4x6xf32>) mask(%m : tensor<1x6xi1>) outs(%init : tensor<4x6xf32>)
        {causal = #attn.causal<bottom_right>} -> tensor<4x6xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$input, Optional<Attn_Shaped>:$bias, Optional<Attn_Shaped>:$mask,
                       Attn_Shaped:$output, Optional<Attn_Shaped>:$q_lengths, Optional<Attn_Shaped>:$kv_lengths,
                       Optional<Attn_Shaped>:$causal_offset, OptionalAttr<AnyAttr>:$causal, OptionalAttr<Attn_WindowAttr>:$window,
                       OptionalAttr<Attn_CausalAttr>:$align, OptionalAttr<I64Attr>:$chunk, OptionalAttr<AffineMapArrayAttr>:$maps);
  let regions = (region MaxSizedRegion<1>:$mask_mod);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` (`bias` `(` $bias^ `:` type($bias) `)`)?
        (`mask` `(` $mask^ `:` type($mask) `)`)? (`q_lengths` `(` $q_lengths^ `:` type($q_lengths) `)`)?
        (`kv_lengths` `(` $kv_lengths^ `:` type($kv_lengths) `)`)?
        (`causal_offset` `(` $causal_offset^ `:` type($causal_offset) `)`)?
        `outs` `(` $output `:` type($output) `)` attr-dict (`mask_mod` $mask_mod^)? (`->` type($results)^)?
  }];
}

def Attn_SoftmaxOp : Attn_StructuredOp<"softmax", [AttrSizedOperandSegments]> {
  let summary = "row softmax over the keys";
  let description = [{
    `out[b, i, j] = exp(input[b, i, j] - m) / sum_j exp(input[b, i, j] - m)`
    with m the maximum of the row. A row of -inf (nothing kept) gives zeros,
    never NaN. A sink is one more score of the row that takes part in maximum
    and sum and has no weight of its own; rows from q_lengths on have none.
    `lse = m + ln sum`.

    Domain: (batch…, query, key).

    * C1, C2: as for `attn.scores`.
    * C4: input and output are floating point of one type; sink is floating point; lse has the type of the accumulation.

    ```mlir
    %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%init : tensor<4x6xf32>) -> tensor<4x6xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$input, Attn_Shaped:$output, Optional<Attn_Shaped>:$lse, Optional<Attn_Shaped>:$sink,
                       Optional<Attn_Shaped>:$q_lengths, OptionalAttr<AffineMapArrayAttr>:$maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` (`sink` `(` $sink^ `:` type($sink) `)`)?
        (`q_lengths` `(` $q_lengths^ `:` type($q_lengths) `)`)?
        `outs` `(` $output (`,` $lse^)? `:` type($output) (`,` type($lse)^)? `)` attr-dict (`->` type($results)^)?
  }];
}

def Attn_DropoutOp : Attn_StructuredOp<"dropout"> {
  let summary = "drops weights at random, as a function of their position alone";
  let description = [{
    `out[b, i, j] = keep(b, i, j) ? input[b, i, j] / (1 - p) : 0` with p =
    `dropout_p`. With n the index of the element in the score matrix (batch
    dimensions, query, key; row-major), keep iff
    `Philox4x32-10(offset, n & ~3; seed)[n & 3] > p * (2^32 - 1)`
    (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).

    Domain: (batch…, query, key).

    * C1, C2: as for `attn.scores`.
    * C4: input and output are floating point of one type.
    * C16: dropout_p is in [0, 1].

    ```mlir
    %t = attn.dropout ins(%p : tensor<4x6xf32>) dropout(%seed, %offset : i64, i64) outs(%init : tensor<4x6xf32>)
        {dropout_p = 0.1 : f64} -> tensor<4x6xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$input, Attn_Shaped:$output, I64:$dropout_seed, I64:$dropout_offset,
                       F64Attr:$dropout_p, OptionalAttr<AffineMapArrayAttr>:$maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)`
        `dropout` `(` $dropout_seed `,` $dropout_offset `:` type($dropout_seed) `,` type($dropout_offset) `)`
        `outs` `(` $output `:` type($output) `)` attr-dict (`->` type($results)^)?
  }];
}

def Attn_ApplyOp : Attn_StructuredOp<"apply"> {
  let summary = "the weighted sum of the value rows";
  let description = [{
    `out[b, i, e] = sum_j weights[b, i, j] * value[b, j, e]`, accumulated in f32
    (f64 for f64 inputs).

    Domain: (batch…, query, key, value).

    * C1, C2, C3: as for `attn.scores`, with value in the place of key.
    * C4: weights, value and output are floating point; value and output have one type.

    ```mlir
    %o = attn.apply ins(%p, %v : tensor<2x8x113x203xf32>, tensor<2x2x203x80xf32>)
        outs(%init : tensor<2x8x113x80xf32>) -> tensor<2x8x113x80xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$weights, Attn_Shaped:$value, Attn_Shaped:$output,
                       OptionalAttr<AffineMapArrayAttr>:$maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $weights `,` $value `:` type($weights) `,` type($value) `)` `outs` `(` $output `:` type($output) `)`
        attr-dict (`->` type($results)^)?
  }];
}

//===----------------------------------------------------------------------===//
// The fused op
//===----------------------------------------------------------------------===//

def Attn_SdpaOp : Attn_StructuredOp<"sdpa", [AttrSizedOperandSegments]> {
  let summary = "scaled dot-product attention, the whole forward pass as one op";
  let description = [{
    For every batch index, head and query row i, in this order:

    1. `s_j = scale * sum_d query[i, d] * key[j, d]`, accumulated in f32 (f64 for f64 inputs); with score_weight w,
       `s_j = scale * sum_d w[d] * tanh(query[i, d] + key[j, d])`;
    2. `s_j = score_mod(s_j)`, then `s_j = c * tanh(s_j / c)` with c = `softcap`;
    3. `s_j += bias[i, j]`;
    4. key j is removed unless lengths, the causal alignment, the window, the chunk ((i + off) floordiv `chunk` =
       j floordiv `chunk`), the boolean mask (true = attend) and `mask_mod` all keep it; a bias of exactly -inf removes
       it as well;
    5. `m = max s_j`, `p_j = exp(s_j - m)`, `l = sum p_j` over the kept keys; a sink is one more score in m and l;
    6. `output = sum_j dropout(p_j) * value[j, :] / l`; `lse = m + ln l`.

    A row that keeps nothing has output 0 and lse -inf. Left out, `scale` is
    1/sqrt(D). The log-sum-exp is the natural logarithm, in f32 (f64 for f64
    inputs). Lengths are counts, one a batch index; rows from q_lengths on have
    output 0 and lse -inf. With cu_seqlens (exclusive prefix sums, B + 1 of
    them) sequences lie one after the other: query (total_q, Hq, D), key and
    value (total_k, Hkv, …), output (total_q, Hq, Dv), lse (Hq, total_q); i and
    j count within a sequence.

    Domain: (batch…, query, key, head, value). K and V hold Hkv heads, shared by
    contiguous groups of Hq / Hkv query heads and never expanded. Quantised K and
    V stand for `key_scale * key` and `value_scale * value`, which are never in
    memory: the key scale multiplies the score, before score_mod, and the value
    scale the weight that multiplies V.

    * C1: each map has the domain's dimensions and as many results as its operand has dimensions; that of an output
      holds every batch dimension.
    * C2: operands agree on the size of each dimension.
    * C3: the number of query heads is a multiple of the number of key and value heads.
    * C4: query and output are floating point of one type; key and value are of one type, that of query, f16 or bf16
      beside an f32 query, or i8 or f8E4M3FN with kv_scale; bias, sink and score_weight are floating point; lse and
      scale_value have the type of the accumulation.
    * C5: `causal` needs an alignment unless the numbers of queries and keys are static and equal.
    * C6: softcap is finite and greater than 0.
    * C7: bias and mask broadcast: each of their dimensions has the size of the scores' or 1.
    * C8: mask has element type i1.
    * C9: at most one of `scale` and `scale_value` is given, one where D = 0; `scale` is finite.
    * C10: `mask_mod` yields one i1 and `score_mod` takes and yields one float of the accumulation type, from pure arith,
      math, attn.index and tensor.extract ops on scalars. `attn-analyze-mask` writes `key_ranges`, which yields for a
      tile of queries the keys [lower, upper) that it visits and those that all its rows keep, and `start`, which
      yields what `attn.init_state` starts a row with.
    * C11: operands are all tensors, with one result an output, or all memrefs, with none.
    * C12: the bounds of `window` are 0 or greater and `chunk` is 1 or greater; without `causal` each needs `align`
      unless the numbers of queries and keys are static and equal; `align` stands with one of them and without `causal`
      only.
    * C13: lengths, offsets and cu_seqlens are integers, one a batch index (cu_seqlens: one more).
    * C14: causal_offset stands with the alignment `#attn.causal<offset>`, and it with causal_offset.
    * C15: cu_seqlens stands without lengths, bias and mask, and with the batch dimensions (sequence, head).
    * C16: dropout_p is in [0, 1] and stands with dropout(%seed, %offset).
    * C21: kv_scale stands with keys and values of type i8 or f8E4M3FN and they with it; its two operands are f32 of one
      shape: (kv_heads), or (batch, kv_heads, keys) for a scale a token, which is not for packed sequences.

    ```mlir
    %out, %lse = attn.sdpa ins(%q, %k, %v : tensor<2x8x113x64xf32>, tensor<2x2x203x64xf32>, tensor<2x2x203x80xf32>)
        kv_lengths(%n : tensor<2xi32>)
        outs(%o, %l : tensor<2x8x113x80xf32>, tensor<2x8x113xf32>) {causal = #attn.causal<bottom_right>}
        -> tensor<2x8x113x80xf32>, tensor<2x8x113xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$query, Attn_Shaped:$key, Attn_Shaped:$value, Optional<Attn_Shaped>:$bias,
                       Optional<Attn_Shaped>:$mask, Attn_Shaped:$output, Optional<Attn_Shaped>:$lse,
                       Optional<Attn_Shaped>:$sink, Optional<Attn_Shaped>:$q_lengths,
                       Optional<Attn_Shaped>:$kv_lengths, Optional<Attn_Shaped>:$causal_offset,
                       Optional<Attn_Shaped>:$cu_seqlens_q, Optional<Attn_Shaped>:$cu_seqlens_k,
                       Optional<Attn_Shaped>:$score_weight, Optional<Attn_Shaped>:$key_scale,
                       Optional<Attn_Shaped>:$value_scale, Optional<I64>:$dropout_seed, Optional<I64>:$dropout_offset,
                       Optional<AnyFloat>:$scale_value,
                       OptionalAttr<F64Attr>:$scale, OptionalAttr<AnyAttr>:$causal,
                       OptionalAttr<Attn_WindowAttr>:$window, OptionalAttr<Attn_CausalAttr>:$align, OptionalAttr<I64Attr>:$chunk,
                       OptionalAttr<F64Attr>:$softcap, OptionalAttr<F64Attr>:$dropout_p,
                       OptionalAttr<AffineMapArrayAttr>:$maps, UnitAttr:$block_map,
                       OptionalAttr<Attn_ScheduleAttr>:$schedule);
  let regions = (region MaxSizedRegion<1>:$mask_mod, MaxSizedRegion<1>:$score_mod, MaxSizedRegion<1>:$key_ranges,
                        MaxSizedRegion<1>:$start);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  // What every sdpa has; `lse` may be null. The rest is set on the op.
  let builders = [OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key, "::mlir::Value":$value,
                             "::mlir::Value":$output, "::mlir::Value":$lse, "::mlir::ArrayRef<::mlir::AffineMap>":$maps)>];
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` type($value) `)`
        (`bias` `(` $bias^ `:` type($bias) `)`)? (`mask` `(` $mask^ `:` type($mask) `)`)?
        (`sink` `(` $sink^ `:` type($sink) `)`)? (`q_lengths` `(` $q_lengths^ `:` type($q_lengths) `)`)?
        (`kv_lengths` `(` $kv_lengths^ `:` type($kv_lengths) `)`)?
        (`causal_offset` `(` $causal_offset^ `:` type($causal_offset) `)`)?
        (`cu_seqlens` `(` $cu_seqlens_q^ `,` $cu_seqlens_k `:` type($cu_seqlens_q) `,` type($cu_seqlens_k) `)`)?
        (`score_weight` `(` $score_weight^ `:` type($score_weight) `)`)?
        (`kv_scale` `(` $key_scale^ `,` $value_scale `:` type($key_scale) `,` type($value_scale) `)`)?
        (`dropout` `(` $dropout_seed^ `,` $dropout_offset `:` type($dropout_seed) `,` type($dropout_offset) `)`)?
        (`scale_value` `(` $scale_value^ `:` type($scale_value) `)`)?
        `outs` `(` $output (`,` $lse^)? `:` type($output) (`,` type($lse)^)? `)` attr-dict
        (`score_mod` $score_mod^)? (`mask_mod` $mask_mod^)? (`key_ranges` $key_ranges^)? (`start` $start^)?
        (`->` type($results)^)?
  }];
}

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
    With `s_j` the score of key j after scale, score_mod, softcap, bias and predicate:

    1. `m' = max(row_max, max_j s_j)`;
    2. `alpha = (row_max == -inf) ? 0 : exp(row_max - m')`, `p_j = exp(s_j - m')`, 0 for a removed key;
    3. `row_sum' = alpha * row_sum + sum_j p_j`;
    4. `acc' = alpha * acc + sum_j weight_mod(p_j) * value[j, :]`.

    The online softmax of Milakov and Gimelshein (arXiv:1805.02867) with the
    product by V of FlashAttention (arXiv:2205.14135). A schedule turns it into
    the loop over key tiles.

    Domain: (batch…, query, key, head, value).

    * C1 to C15: as for `attn.sdpa`; the state has the type of the accumulation or a wider one, and mask may be i8,
      a packed tile of booleans; `score_mod` and `weight_mod` take and yield a float of the type of the accumulation or
      of the state. The scales of i8 and f8E4M3FN keys and values are in these two regions.

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
                       OptionalAttr<F64Attr>:$scale, OptionalAttr<F64Attr>:$softcap,
                       OptionalAttr<AffineMapArrayAttr>:$maps, UnitAttr:$block_map,
                       OptionalAttr<Attn_ScheduleAttr>:$schedule);
  let regions = (region MaxSizedRegion<1>:$mask_mod, MaxSizedRegion<1>:$score_mod, MaxSizedRegion<1>:$key_ranges,
                        MaxSizedRegion<1>:$weight_mod);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` type($value) `)`
        (`bias` `(` $bias^ `:` type($bias) `)`)? (`mask` `(` $mask^ `:` type($mask) `)`)?
        (`cu_seqlens` `(` $cu_seqlens_q^ `,` $cu_seqlens_k `:` type($cu_seqlens_q) `,` type($cu_seqlens_k) `)`)?
        (`score_weight` `(` $score_weight^ `:` type($score_weight) `)`)?
        (`scale_value` `(` $scale_value^ `:` type($scale_value) `)`)?
        `outs` `(` $acc `,` $row_max `,` $row_sum `:` type($acc) `,` type($row_max) `,` type($row_sum) `)` attr-dict
        (`score_mod` $score_mod^)? (`mask_mod` $mask_mod^)? (`key_ranges` $key_ranges^)?
        (`weight_mod` $weight_mod^)? (`->` type($results)^)?
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
    `lse[i] = (row_sum[i] == 0) ? -inf : row_max[i] + ln row_sum[i]`.

    Domain: (batch…, query, value). The state may hold more query rows than the
    outputs (lanes that pad a tile); those rows are dropped. With cu_seqlens the
    outputs are packed as those of `attn.sdpa`.

    * C1, C2: as for `attn.scores`, but for the padding rows.
    * C4: the state is f32 or f64 of one type; output and lse are floating point.

    ```mlir
    %o, %lse = attn.finalize ins(%a, %m, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
        outs(%init, %linit : tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>, tensor<4xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$acc, Attn_Shaped:$row_max, Attn_Shaped:$row_sum,
                       Attn_Shaped:$output, Optional<Attn_Shaped>:$lse, Optional<Attn_Shaped>:$cu_seqlens_q,
                       OptionalAttr<AffineMapArrayAttr>:$maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $acc `,` $row_max `,` $row_sum `:` type($acc) `,` type($row_max) `,` type($row_sum) `)`
        (`cu_seqlens` `(` $cu_seqlens_q^ `:` type($cu_seqlens_q) `)`)? `outs` `(` $output (`,` $lse^)? `:` type($output) (`,` type($lse)^)? `)` attr-dict (`->` type($results)^)?
  }];
}

//===----------------------------------------------------------------------===//
// Tiles and regions
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
    products of pairs of bf16 take (`#attn.schedule<…, product = dot>`); what an odd size leaves of the last pair is 0.

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

def Attn_ClassifyTileOp : Attn_Op<"classify_tile", [Pure]> {
  let summary = "whether a tile of the score matrix keeps no key (0), some (1) or all (2)";
  let description = [{
    Evaluates `mask_mod` for the first `rows` of `query_tile` rows and for
    `keys` keys. Where no range of keys can be found at compile time, the tiler
    asks it once for each tile and skips those of 0.

    * C10: `mask_mod` as for `attn.sdpa`.

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

def Attn_IndexOp : Attn_Op<"index", [Pure]> {
  let summary = "the position of the current score: batch, head, kv_head, query or key";
  let description = [{
    Only inside regions of attn ops. `batch` and `head` are the first and the
    last batch dimension of the enclosing op's domain; `kv_head`, the head of K
    that this head reads, is for ops that have K. `first_query` and `end_query`
    are the rows [first, end) of the tile of queries, in `key_ranges` only.

    ```mlir
    %i = attn.index query : index
    ```
  }];
  let arguments = (ins Attn_IndexKind:$kind);
  let results = (outs Index:$result);
  let assemblyFormat = "$kind attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Attn_YieldOp : Attn_Op<"yield", [Pure, Terminator]> {
  let summary = "ends a region with its values";
  let description = [{
    ```mlir
    attn.yield %keep : i1
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
  let extraClassDeclaration = [{
    /// The only value of a region that has one.
    ::mlir::Value getValue() { return getValues().front(); }
  }];
}

#endif // ATTN_IR_ATTNOPS_TD
