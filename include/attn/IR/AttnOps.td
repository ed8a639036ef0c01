//===- AttnOps.td - operations of the attn dialect ----------*- tablegen -*-===//
//
// The textbook chain and the fused op; tiles and the ops around attention have
// files of their own. Constraint numbers (C1 …) appear in the verifiers'
// messages and in the tests that prove them.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_ATTNOPS_TD
#define ATTN_IR_ATTNOPS_TD

include "attn/IR/AttnAttrs.td"
include "attn/IR/AttnBase.td"
include "attn/IR/AttnGradOps.td"
include "attn/IR/AttnLayerOps.td"
include "attn/IR/AttnLinearGradOps.td"
include "attn/IR/AttnLinearOps.td"
include "attn/IR/AttnStepOps.td"
include "attn/IR/AttnBlockOps.td"
include "attn/IR/AttnTileOps.td"
include "attn/IR/AttnRegionOps.td"

//===----------------------------------------------------------------------===//
// The textbook chain
//===----------------------------------------------------------------------===//

def Attn_ScoresOp : Attn_StructuredOp<"scores"> {
  let summary = "scores of every query row against every key row: Q times K transposed";
  let description = [{
    `out[b, i, j] = sum_d query[b, i, d] * key[b, j, d]`, accumulated in f32 (f64 for f64 inputs). The op applies no
    scale. `kind` changes the formula:

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
    `out[b, i, j] = score_mod(input[b, i, j])`; in the region `attn.index` gives the position, and `tensor.extract`
    reads captured tensors.

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
    `s = input[b, i, j] + bias[b, i, j]`; `out[b, i, j] = predicate(b, i, j) ? s : -inf`, where the predicate is the
    conjunction of the lengths, the causal alignment, the window, the chunk, the boolean mask (true = attend) and the
    `mask_mod` region. A removed key is removed by selection, never by adding a number to its score. Row i stands at
    position i + `q_origin[b]` of these, key j at j + `k_origin[b]`, as for `attn.sdpa`.

    Domain: (batch…, query, key). A mask or bias of fewer dimensions, or with
    dimensions of size 1, broadcasts as in NumPy.

    * C1, C2: as for `attn.scores`.
    * C4: input, bias and output are floating point; input and output have one type.
    * C5: `causal` needs an alignment unless the numbers of queries and keys are static and equal.
    * C8: mask has element type i1.
    * C10: `mask_mod` yields one i1 from pure arith, math, attn.index and tensor.extract ops on scalars.
    * C13: lengths, causal_offset, q_origin and k_origin are integers, one a batch index.
    * C22: `prefix` stands beside `causal`, `window` or `chunk`.
    * C27: q_origin and k_origin as for `attn.sdpa`.

    ```mlir
    %t = attn.mask ins(%s : tensor<4x6xf32>) mask(%m : tensor<1x6xi1>) outs(%init : tensor<4x6xf32>)
        {causal = #attn.causal<bottom_right>} -> tensor<4x6xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$input, Optional<Attn_Shaped>:$bias, Optional<Attn_Shaped>:$mask,
                       Attn_Shaped:$output, Optional<Attn_Shaped>:$q_lengths, Optional<Attn_Shaped>:$kv_lengths,
                       Optional<Attn_Shaped>:$causal_offset, Optional<Attn_Shaped>:$q_origin,
                       Optional<Attn_Shaped>:$k_origin, OptionalAttr<AnyAttr>:$causal, OptionalAttr<Attn_WindowAttr>:$window,
                       OptionalAttr<Attn_CausalAttr>:$align, OptionalAttr<I64Attr>:$chunk, OptionalAttr<I64Attr>:$prefix,
                       OptionalAttr<AffineMapArrayAttr>:$maps);
  let regions = (region MaxSizedRegion<1>:$mask_mod);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  // What masks of tensors of scores have, `bias` and `mask` where they are not null. The rest is set on the op.
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$bias, "::mlir::Value":$mask,
                             "::mlir::Value":$output, "::mlir::ArrayAttr":$maps)>];
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` (`bias` `(` $bias^ `:` type($bias) `)`)?
        (`mask` `(` $mask^ `:` type($mask) `)`)? (`q_lengths` `(` $q_lengths^ `:` type($q_lengths) `)`)?
        (`kv_lengths` `(` $kv_lengths^ `:` type($kv_lengths) `)`)?
        (`causal_offset` `(` $causal_offset^ `:` type($causal_offset) `)`)?
        (`q_origin` `(` $q_origin^ `:` type($q_origin) `)`)? (`k_origin` `(` $k_origin^ `:` type($k_origin) `)`)?
        `outs` `(` $output `:` type($output) `)` attr-dict (`mask_mod` $mask_mod^)? (`->` type($results)^)?
  }];
}

def Attn_SoftmaxOp : Attn_StructuredOp<"softmax", [AttrSizedOperandSegments]> {
  let summary = "row softmax over the keys";
  let description = [{
    `out[b, i, j] = exp(input[b, i, j] - m) / sum_j exp(input[b, i, j] - m)` with m the maximum of the row. A row of
    -inf, which keeps no key, gives zeros, never NaN. A sink is one more score of the row. It takes part in maximum and
    sum and has no weight of its own. Rows from q_lengths on have no sink. `lse = m + ln sum`.

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
    * C16: dropout_p is in [0, 1]; there are at most two batch dimensions.

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
       j floordiv `chunk`), the boolean mask (true = attend) and `mask_mod` all keep it; keys j < `prefix` are kept
       whatever causal alignment, window and chunk say; a bias of exactly -inf removes a key as well;
    5. `m = max s_j`, `p_j = exp(s_j - m)`, `l = sum p_j` over the kept keys; a sink is one more score in m and l;
    6. `output = sum_j dropout(p_j) * value[j, :] / l`; `lse = m + ln l`; `max = m`; `log_sum = ln l`.

    A row that keeps no key has output 0; its lse, max and log_sum are -inf. The default of `scale` is 1/sqrt(D). The
    log-sum-exp is the
    natural logarithm, in f32 (f64 for f64 inputs). Lengths are counts, one a batch index; rows from q_lengths on have
    output 0 and lse -inf. With cu_seqlens, B + 1 exclusive prefix sums, sequences lie one after the other: query
    (total_q, Hq, D), key and value (total_k, Hkv, …), output (total_q, Hq, Dv), lse (Hq, total_q); i and j count within
    a sequence. Where only the queries have prefix sums, key and value are (B, Hkv, Sk, …), as `attn.gather_pages` gives
    them, and kv_lengths counts their keys. Sequences of fewer queries than `min_queries` are left out: their rows of the
    outputs stay as they were.

    With `accumulate` the outputs hold the results of other keys, and become those of both: `attn.finalize` has the
    formula. A row that keeps no key, and one from q_lengths on, stays as it was; where it had none either, output is 0.

    Operands that are a part of a whole, as a device has it, say where they begin in it: causal alignment, window, chunk,
    prefix, `mask_mod`, `score_mod` and dropout take row i for i + `q_origin[b]`, key j for j + `k_origin[b]`, batch index b
    for b + `b_origin`, head h for h + `h_origin`. `whole` has the Hq, Sq and Sk that dropout counts its weights by. So
    masks and the pattern of dropout are those of the whole. Lengths, bias, mask, sink and scales count the operands.

    Domain: (batch…, query, key, head, value). K and V hold Hkv heads, shared by
    contiguous groups of Hq / Hkv query heads and never expanded. Quantised K and
    V stand for `key_scale * key` and `value_scale * value`, which are never in
    memory: the key scale multiplies the score, before score_mod, and the value
    scale the weight that multiplies V.

    * C1: each map has the domain's dimensions and as many results as its operand has dimensions; that of an output
      holds every batch dimension.
    * C2: operands agree on the size of each dimension.
    * C3: the number of query heads is a multiple of the number of key and value heads.
    * C4: query is floating point, output of its type or that of the accumulation; key and value are of one type, that of
      query, f16 or bf16 beside an f32 query, or i8, f8E4M3FN or f8E5M2 with kv_scale; bias, sink and score_weight are
      floating point; lse, max, log_sum and scale_value have the type of the accumulation.
    * C5: `causal` needs an alignment unless the numbers of queries and keys are static and equal.
    * C6: softcap is finite and greater than 0.
    * C7: bias and mask broadcast: each of their dimensions has the size of the scores' or 1.
    * C8: mask has element type i1.
    * C9: at most one of `scale` and `scale_value` is given, one where D = 0; `scale` is finite.
    * C10: `mask_mod` yields one i1 and `score_mod` takes and yields one float of the accumulation type, from pure
      arith, math, attn.index and tensor.extract ops on scalars. `attn-analyze-mask` writes `key_ranges`, which yields
      for a query tile the keys [lower, upper) that it visits and those that all its rows keep. It also writes `start`,
      which yields the first row maximum of `attn.init_state`, one float of the accumulation type. A sink becomes
      `start`, so the two never stand together.
    * C11: operands are all tensors, with one result an output, or all memrefs, with none.
    * C12: the bounds of `window` are 0 or greater and `chunk` is 1 or greater; without `causal` each needs `align`
      unless the numbers of queries and keys are static and equal; `align` stands with one of them and without `causal`
      only.
    * C13: lengths, offsets, q_origin, k_origin and cu_seqlens are integers, one a batch index (cu_seqlens: one more).
    * C14: causal_offset stands with the alignment `#attn.causal<offset>`, and it with causal_offset.
    * C15: cu_seqlens stands without lengths, bias and mask, and with the batch dimensions (sequence, head); that of
      queries alone may stand with kv_lengths. min_queries is 1 or greater and stands with cu_seqlens.
    * C16: dropout_p is in [0, 1] and stands with dropout(%seed, %offset), beside at most two batch dimensions.
    * C21: kv_scale stands with keys and values of type i8, f8E4M3FN or f8E5M2 and they with it; its two operands are
      f32 of one shape: (kv_heads), or (batch, kv_heads, keys) for a scale a token, which is not for packed sequences.
    * C22: `prefix` is 1 or greater and stands beside `causal`, `window` or `chunk`.
    * C28: `accumulate` stands with lse alone, or with max and log_sum, without sink and start; the output then has the
      type of the accumulation.
    * C27: q_origin and k_origin stand without the alignment `#attn.causal<bottom_right>`, and beside `causal`, `window` or
      `chunk` with an alignment. An origin beside dropout stands with `whole`, and `whole` with dropout.

    ```mlir
    %out, %lse = attn.sdpa ins(%q, %k, %v : tensor<2x8x113x64xf32>, tensor<2x2x203x64xf32>, tensor<2x2x203x80xf32>)
        kv_lengths(%n : tensor<2xi32>)
        outs(%o, %l : tensor<2x8x113x80xf32>, tensor<2x8x113xf32>) {causal = #attn.causal<bottom_right>}
        -> tensor<2x8x113x80xf32>, tensor<2x8x113xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$query, Attn_Shaped:$key, Attn_Shaped:$value, Optional<Attn_Shaped>:$bias,
                       Optional<Attn_Shaped>:$mask, Attn_Shaped:$output, Optional<Attn_Shaped>:$lse,
                       Optional<Attn_Shaped>:$max, Optional<Attn_Shaped>:$log_sum,
                       Optional<Attn_Shaped>:$sink, Optional<Attn_Shaped>:$q_lengths,
                       Optional<Attn_Shaped>:$kv_lengths, Optional<Attn_Shaped>:$causal_offset,
                       Optional<Attn_Shaped>:$q_origin, Optional<Attn_Shaped>:$k_origin,
                       Optional<Attn_Shaped>:$cu_seqlens_q, Optional<Attn_Shaped>:$cu_seqlens_k,
                       Optional<Attn_Shaped>:$score_weight, Optional<Attn_Shaped>:$key_scale,
                       Optional<Attn_Shaped>:$value_scale, Optional<I64>:$dropout_seed, Optional<I64>:$dropout_offset,
                       Optional<I64>:$b_origin, Optional<I64>:$h_origin, Optional<I64>:$whole_hq,
                       Optional<I64>:$whole_sq, Optional<I64>:$whole_sk, Optional<AnyFloat>:$scale_value,
                       OptionalAttr<F64Attr>:$scale, OptionalAttr<AnyAttr>:$causal,
                       OptionalAttr<Attn_WindowAttr>:$window, OptionalAttr<Attn_CausalAttr>:$align, OptionalAttr<I64Attr>:$chunk,
                       OptionalAttr<I64Attr>:$prefix, OptionalAttr<F64Attr>:$softcap, OptionalAttr<F64Attr>:$dropout_p,
                       OptionalAttr<AffineMapArrayAttr>:$maps, UnitAttr:$block_map,
                       OptionalAttr<I64Attr>:$min_queries, OptionalAttr<Attn_ScheduleAttr>:$schedule,
                       UnitAttr:$accumulate);
  let regions = (region MaxSizedRegion<1>:$mask_mod, MaxSizedRegion<1>:$score_mod, MaxSizedRegion<1>:$key_ranges,
                        MaxSizedRegion<1>:$start);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  // The operands of every sdpa; `lse` may be null. The rest is set on the op.
  let builders = [OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key, "::mlir::Value":$value,
                             "::mlir::Value":$output, "::mlir::Value":$lse, "::mlir::ArrayRef<::mlir::AffineMap>":$maps)>];
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` type($value) `)`
        (`bias` `(` $bias^ `:` type($bias) `)`)? (`mask` `(` $mask^ `:` type($mask) `)`)?
        (`sink` `(` $sink^ `:` type($sink) `)`)? (`q_lengths` `(` $q_lengths^ `:` type($q_lengths) `)`)?
        (`kv_lengths` `(` $kv_lengths^ `:` type($kv_lengths) `)`)?
        (`causal_offset` `(` $causal_offset^ `:` type($causal_offset) `)`)?
        (`q_origin` `(` $q_origin^ `:` type($q_origin) `)`)? (`k_origin` `(` $k_origin^ `:` type($k_origin) `)`)?
        (`cu_seqlens` `(` $cu_seqlens_q^ (`,` $cu_seqlens_k^)? `:` type($cu_seqlens_q) (`,` type($cu_seqlens_k)^)? `)`)?
        (`score_weight` `(` $score_weight^ `:` type($score_weight) `)`)?
        (`kv_scale` `(` $key_scale^ `,` $value_scale `:` type($key_scale) `,` type($value_scale) `)`)?
        (`dropout` `(` $dropout_seed^ `,` $dropout_offset `:` type($dropout_seed) `,` type($dropout_offset) `)`)?
        (`b_origin` `(` $b_origin^ `:` type($b_origin) `)`)? (`h_origin` `(` $h_origin^ `:` type($h_origin) `)`)?
        (`whole` `(` $whole_hq^ `,` $whole_sq `,` $whole_sk `:` type($whole_hq) `,` type($whole_sq) `,` type($whole_sk) `)`)?
        (`scale_value` `(` $scale_value^ `:` type($scale_value) `)`)?
        `outs` `(` $output (`,` $lse^)? `:` type($output) (`,` type($lse)^)? `)`
        (`max` `(` $max^ `:` type($max) `)`)? (`log_sum` `(` $log_sum^ `:` type($log_sum) `)`)? attr-dict
        (`score_mod` $score_mod^)? (`mask_mod` $mask_mod^)? (`key_ranges` $key_ranges^)? (`start` $start^)?
        (`->` type($results)^)?
  }];
}

#endif // ATTN_IR_ATTNOPS_TD
