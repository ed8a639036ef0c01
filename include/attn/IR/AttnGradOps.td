//===- AttnGradOps.td - the backward pass -------------------*- tablegen -*-===//
//
// The gradients of attn.sdpa as one op, and what it becomes: a row op on the
// outputs, and steps that add the contributions of a tile of queries and keys.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_ATTNGRADOPS_TD
#define ATTN_IR_ATTNGRADOPS_TD

include "attn/IR/AttnAttrs.td"
include "attn/IR/AttnBase.td"

def Attn_SdpaBackwardOp : Attn_StructuredOp<"sdpa_backward", [AttrSizedOperandSegments]> {
  let summary = "the gradients of scaled dot-product attention";
  let description = [{
    Of `output` and `lse` of an `attn.sdpa` with the same operands, attributes and regions, and of their cotangents
    `dout` and `dlse` (0 where it is left out): with `t` the scaled product, `s` the score, and `z` what dropout and a
    value scale multiply a weight by,

    1. `delta_i = sum_e dout[i, e] * output[i, e] - dlse[i]`;
    2. `p_ij = exp(min(s_ij - lse_i, 0) - log_sum_i)`, 0 for a removed key, and for a row whose lse is -inf. Where log_sum
       stands, `lse` is the row maximum, `max` of attn.sdpa. Without it log_sum is 0: a large lse then has lost ln l to
       rounding;
    3. `ds_ij = p_ij * (z_ij * sum_e dout[i, e] * value[j, e] - delta_i)`, `g_ij = score_grad(t_ij, ds_ij)`;
    4. `dvalue[j, :] = sum_i p_ij * z_ij * dout[i, :]`, `dquery[i, :] = scale * sum_j g_ij * key[j, :]`,
       `dkey[j, :] = scale * sum_i g_ij * query[i, :]`, the last two sums over keys and queries, and dkey and dvalue also
       over the query heads that share a head of K;
    5. `dbias = ds`, summed over the dimensions that bias broadcasts;
       `dsink[h] = -sum_{b, i} exp(min(sink[h] - lse_i, 0) - log_sum_i) * delta_i`.

    `score_grad` takes a score as `score_mod` does, and the gradient of what that yields; it yields the gradient of the
    score. `attn-differentiate` derives it. What it adds to captured tensors (`attn.accumulate`) goes to `dcaptures`. A
    row without keys has zero gradients and adds to none, whatever `dout` and `dlse` hold there. The algorithm is that
    of FlashAttention-2 (arXiv:2307.08691, algorithm 2).

    With cu_seqlens of queries alone, keys are (batch, head, key, …), as those of `attn.gather_pages`, which `attn-tile`
    reads in tiles.

    `accumulate` names outputs that the gradients are added to; the others are overwritten.

    Domain: (batch…, query, key, head, value).

    * C1 to C16, C21, C22, C27: as for `attn.sdpa`, but the two scales may be of different ranks. Outputs have the maps of
      their inputs where they are left out: that of dkey and dvalue holds heads of K.
    * C24: output, dout and dquery have the type of query; lse, log_sum and dlse that of the accumulation; dkey, dvalue
      and dbias that of key, value and bias, or that of the accumulation; dcaptures that of the accumulation.
    * C25: `score_grad` stands exactly where `score_mod` does. It takes two floats of the type of the accumulation and
      yields one, from what C10 allows and `attn.accumulate` into one of `dcaptures`.
    * C26: dbias and dsink stand beside bias and sink only.
    * C28: accumulate names some of dquery, dkey and dvalue, which then have the type of the accumulation.

    ```mlir
    %dq, %dk, %dv = attn.sdpa_backward
        ins(%q, %k, %v, %o, %lse, %do : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<4x8xf32>,
            tensor<4xf32>, tensor<4x8xf32>)
        outs(%dq0, %dk0, %dv0 : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
        -> tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$query, Attn_Shaped:$key, Attn_Shaped:$value, Attn_Shaped:$output, Attn_Shaped:$lse,
                       Attn_Shaped:$dout, Optional<Attn_Shaped>:$dlse, Optional<Attn_Shaped>:$log_sum,
                       Optional<Attn_Shaped>:$bias, Optional<Attn_Shaped>:$mask, Attn_Shaped:$dquery,
                       Attn_Shaped:$dkey, Attn_Shaped:$dvalue,
                       Optional<Attn_Shaped>:$dbias, Optional<Attn_Shaped>:$dsink, Variadic<Attn_Shaped>:$dcaptures,
                       Optional<Attn_Shaped>:$sink, Optional<Attn_Shaped>:$q_lengths,
                       Optional<Attn_Shaped>:$kv_lengths, Optional<Attn_Shaped>:$causal_offset,
                       Optional<Attn_Shaped>:$q_origin, Optional<Attn_Shaped>:$k_origin,
                       Optional<Attn_Shaped>:$cu_seqlens_q, Optional<Attn_Shaped>:$cu_seqlens_k,
                       Optional<Attn_Shaped>:$key_scale, Optional<Attn_Shaped>:$value_scale,
                       Optional<I64>:$dropout_seed, Optional<I64>:$dropout_offset, Optional<I64>:$b_origin,
                       Optional<I64>:$h_origin, Optional<I64>:$whole_hq, Optional<I64>:$whole_sq,
                       Optional<I64>:$whole_sk, Optional<AnyFloat>:$scale_value,
                       OptionalAttr<F64Attr>:$scale, OptionalAttr<AnyAttr>:$causal,
                       OptionalAttr<Attn_WindowAttr>:$window, OptionalAttr<Attn_CausalAttr>:$align,
                       OptionalAttr<I64Attr>:$chunk, OptionalAttr<I64Attr>:$prefix, OptionalAttr<F64Attr>:$softcap,
                       OptionalAttr<F64Attr>:$dropout_p, OptionalAttr<AffineMapArrayAttr>:$maps,
                       OptionalAttr<Attn_ScheduleAttr>:$schedule, OptionalAttr<StrArrayAttr>:$accumulate);
  let regions = (region MaxSizedRegion<1>:$mask_mod, MaxSizedRegion<1>:$score_mod, MaxSizedRegion<1>:$score_grad,
                        MaxSizedRegion<1>:$query_ranges);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `,` $output `,` $lse `,` $dout `:` type($query) `,` type($key) `,`
        type($value) `,` type($output) `,` type($lse) `,` type($dout) `)`
        (`dlse` `(` $dlse^ `:` type($dlse) `)`)? (`log_sum` `(` $log_sum^ `:` type($log_sum) `)`)?
        (`bias` `(` $bias^ `:` type($bias) `)`)? (`mask` `(` $mask^ `:` type($mask) `)`)?
        (`sink` `(` $sink^ `:` type($sink) `)`)? (`q_lengths` `(` $q_lengths^ `:` type($q_lengths) `)`)?
        (`kv_lengths` `(` $kv_lengths^ `:` type($kv_lengths) `)`)?
        (`causal_offset` `(` $causal_offset^ `:` type($causal_offset) `)`)?
        (`q_origin` `(` $q_origin^ `:` type($q_origin) `)`)? (`k_origin` `(` $k_origin^ `:` type($k_origin) `)`)?
        (`cu_seqlens` `(` $cu_seqlens_q^ (`,` $cu_seqlens_k^)? `:` type($cu_seqlens_q) (`,` type($cu_seqlens_k)^)? `)`)?
        (`kv_scale` `(` $key_scale^ `,` $value_scale `:` type($key_scale) `,` type($value_scale) `)`)?
        (`dropout` `(` $dropout_seed^ `,` $dropout_offset `:` type($dropout_seed) `,` type($dropout_offset) `)`)?
        (`b_origin` `(` $b_origin^ `:` type($b_origin) `)`)? (`h_origin` `(` $h_origin^ `:` type($h_origin) `)`)?
        (`whole` `(` $whole_hq^ `,` $whole_sq `,` $whole_sk `:` type($whole_hq) `,` type($whole_sq) `,` type($whole_sk) `)`)?
        (`scale_value` `(` $scale_value^ `:` type($scale_value) `)`)?
        `outs` `(` $dquery `,` $dkey `,` $dvalue `:` type($dquery) `,` type($dkey) `,` type($dvalue) `)`
        (`dbias` `(` $dbias^ `:` type($dbias) `)`)? (`dsink` `(` $dsink^ `:` type($dsink) `)`)?
        (`dcaptures` `(` $dcaptures^ `:` type($dcaptures) `)`)? attr-dict
        (`score_mod` $score_mod^)? (`score_grad` $score_grad^)? (`mask_mod` $mask_mod^)?
        (`query_ranges` $query_ranges^)? (`->` type($results)^)?
  }];
}

def Attn_RowDeltaOp : Attn_StructuredOp<"row_delta"> {
  let summary = "what the softmax takes from the gradient of each weight of a row";
  let description = [{
    `delta[i] = (lse[i] == -inf) ? 0 : sum_e dout[i, e] * output[i, e] - dlse[i]`, where dlse, the cotangent of lse, is
    0 if it is left out.

    Domain: (batch…, query, value).

    * C1, C2: as for `attn.scores`.
    * C4: all operands are floating point; delta is f32 or f64.

    ```mlir
    %d = attn.row_delta ins(%o, %do, %lse : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>)
        outs(%init : tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$output, Attn_Shaped:$dout, Attn_Shaped:$lse, Optional<Attn_Shaped>:$dlse,
                       Attn_Shaped:$delta, OptionalAttr<AffineMapArrayAttr>:$maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $output `,` $dout `,` $lse `:` type($output) `,` type($dout) `,` type($lse) `)`
        (`dlse` `(` $dlse^ `:` type($dlse) `)`)? `outs` `(` $delta `:` type($delta) `)` attr-dict
        (`->` type($results)^)?
  }];
}

def Attn_BackwardStepOp : Attn_StructuredOp<"backward_step", [AttrSizedOperandSegments]> {
  let summary = "adds what a range of queries and keys contributes to the gradients";
  let description = [{
    With the formulas of `attn.sdpa_backward`, `delta` from `attn.row_delta`, and `z_ij` the factor that `weight_mod`,
    which is linear, multiplies a weight by: adds to dquery, dkey, dvalue and dbias. It is additive in queries, keys and
    heads: the order of steps changes rounding only. Gradients that are left out are not computed: a GPU has a kernel for
    dquery, whose tiles are rows of queries, and others for dkey and dvalue, whose tiles are rows of keys. `transposed` is
    K and V of a tile once more, as (head, key) and (value, key), 0 behind the last key: `attn-tile` packs them so that
    keys are the lanes of vectors. Where products are of pairs, these are pairs along head and value, and K in pairs
    along keys follows, (key floordiv 2, head, key mod 2). Where products are of AMX tiles, Q and dout of the tile follow
    as well, as (head, query) and (value, query).

    Domain: (batch…, query, key, head, value).

    * C1, C2, C3: as for `attn.sdpa`; dkey and dvalue hold heads of K.
    * C4: lse, log_sum, delta and the outputs are f32 or f64 of one type, dbias and the outputs also of the types of
      bias, query, key and value, dcaptures also f64: millions of scores may add to one element.
    * C6, C8, C9, C10: as for `attn.online_step`. `query_ranges` yields for a key tile the queries [lower, upper) that
      keep one of its keys, and those that keep them all.
    * C25: as for `attn.sdpa_backward`.

    ```mlir
    %dq, %dk, %dv = attn.backward_step
        ins(%q, %k, %v, %lse, %do, %delta : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<4xf32>,
            tensor<4x8xf32>, tensor<4xf32>)
        dquery(%dq0 : tensor<4x16xf32>) dkey(%dk0 : tensor<6x16xf32>) dvalue(%dv0 : tensor<6x8xf32>)
        {scale = 0.25 : f64} -> tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$query, Attn_Shaped:$key, Attn_Shaped:$value, Attn_Shaped:$lse, Attn_Shaped:$dout,
                       Attn_Shaped:$delta, Optional<Attn_Shaped>:$log_sum, Optional<Attn_Shaped>:$bias,
                       Optional<Attn_Shaped>:$mask, Optional<Attn_Shaped>:$dquery, Optional<Attn_Shaped>:$dkey,
                       Optional<Attn_Shaped>:$dvalue,
                       Optional<Attn_Shaped>:$dbias,
                       Variadic<Attn_Shaped>:$dcaptures, Optional<Attn_Shaped>:$cu_seqlens_q,
                       Optional<Attn_Shaped>:$cu_seqlens_k, Optional<AnyFloat>:$scale_value,
                       Variadic<Attn_Shaped>:$transposed, OptionalAttr<F64Attr>:$scale,
                       OptionalAttr<AffineMapArrayAttr>:$maps, OptionalAttr<Attn_ScheduleAttr>:$schedule);
  let regions = (region MaxSizedRegion<1>:$mask_mod, MaxSizedRegion<1>:$score_mod, MaxSizedRegion<1>:$score_grad,
                        MaxSizedRegion<1>:$weight_mod, MaxSizedRegion<1>:$query_ranges);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `,` $lse `,` $dout `,` $delta `:` type($query) `,` type($key) `,`
        type($value) `,` type($lse) `,` type($dout) `,` type($delta) `)`
        (`log_sum` `(` $log_sum^ `:` type($log_sum) `)`)?
        (`bias` `(` $bias^ `:` type($bias) `)`)? (`mask` `(` $mask^ `:` type($mask) `)`)?
        (`cu_seqlens` `(` $cu_seqlens_q^ (`,` $cu_seqlens_k^)? `:` type($cu_seqlens_q) (`,` type($cu_seqlens_k)^)? `)`)?
        (`scale_value` `(` $scale_value^ `:` type($scale_value) `)`)?
        (`transposed` `(` $transposed^ `:` type($transposed) `)`)?
        (`dquery` `(` $dquery^ `:` type($dquery) `)`)? (`dkey` `(` $dkey^ `:` type($dkey) `)`)?
        (`dvalue` `(` $dvalue^ `:` type($dvalue) `)`)?
        (`dbias` `(` $dbias^ `:` type($dbias) `)`)? (`dcaptures` `(` $dcaptures^ `:` type($dcaptures) `)`)? attr-dict
        (`score_mod` $score_mod^)? (`score_grad` $score_grad^)? (`mask_mod` $mask_mod^)? (`weight_mod` $weight_mod^)?
        (`query_ranges` $query_ranges^)? (`->` type($results)^)?
  }];
}

#endif // ATTN_IR_ATTNGRADOPS_TD
