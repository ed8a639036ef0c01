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

//===----------------------------------------------------------------------===//
// The textbook chain
//===----------------------------------------------------------------------===//

def Attn_ScoresOp : Attn_StructuredOp<"scores"> {
  let summary = "scores of every query row against every key row: Q times K transposed";
  let description = [{
    `out[b, i, j] = sum_d query[b, i, d] * key[b, j, d]`, accumulated in f32
    (f64 for f64 inputs). No scale is applied.

    Domain: (batch…, query, key, head).

    * C1: each map has the domain's dimensions and as many results as its operand has dimensions; that of an output
      holds every batch dimension.
    * C2: operands agree on the size of each dimension.
    * C3: the number of query heads is a multiple of the number of key heads.
    * C4: query, key and output are floating point; query and key have one type.

    ```mlir
    %s = attn.scores ins(%q, %k : tensor<2x8x113x64xf32>, tensor<2x2x203x64xf32>)
        outs(%init : tensor<2x8x113x203xf32>) -> tensor<2x8x113x203xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$query, Attn_Shaped:$key, Attn_Shaped:$output,
                       OptionalAttr<AffineMapArrayAttr>:$maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `:` type($query) `,` type($key) `)` `outs` `(` $output `:` type($output) `)`
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
    conjunction of the causal alignment, the window, the boolean mask (true =
    attend) and the `mask_mod` region. A removed key is selected away, never added to.

    Domain: (batch…, query, key). A mask or bias of fewer dimensions, or with
    dimensions of size 1, broadcasts as in NumPy.

    * C1, C2: as for `attn.scores`.
    * C4: input, bias and output are floating point; input and output have one type.
    * C5: `causal` needs an alignment unless the numbers of queries and keys are static and equal.
    * C8: mask has element type i1.
    * C10: `mask_mod` yields one i1 from pure arith, math and attn.index ops on scalars.

    ```mlir
    %t = attn.mask ins(%s : tensor<4x6xf32>) mask(%m : tensor<1x6xi1>) outs(%init : tensor<4x6xf32>)
        {causal = #attn.causal<bottom_right>} -> tensor<4x6xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$input, Optional<Attn_Shaped>:$bias, Optional<Attn_Shaped>:$mask,
                       Attn_Shaped:$output, OptionalAttr<AnyAttr>:$causal, OptionalAttr<Attn_WindowAttr>:$window,
                       OptionalAttr<Attn_CausalAttr>:$align, OptionalAttr<AffineMapArrayAttr>:$maps);
  let regions = (region MaxSizedRegion<1>:$mask_mod);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` (`bias` `(` $bias^ `:` type($bias) `)`)?
        (`mask` `(` $mask^ `:` type($mask) `)`)? `outs` `(` $output `:` type($output) `)` attr-dict
        (`mask_mod` $mask_mod^)? (`->` type($results)^)?
  }];
}

def Attn_SoftmaxOp : Attn_StructuredOp<"softmax"> {
  let summary = "row softmax over the keys";
  let description = [{
    `out[b, i, j] = exp(input[b, i, j] - m) / sum_j exp(input[b, i, j] - m)`
    with m the maximum of the row. A row of -inf (nothing kept) gives zeros,
    never NaN.

    Domain: (batch…, query, key).

    * C1, C2: as for `attn.scores`.
    * C4: input and output are floating point of one type.

    ```mlir
    %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%init : tensor<4x6xf32>) -> tensor<4x6xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$input, Attn_Shaped:$output, OptionalAttr<AffineMapArrayAttr>:$maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` `outs` `(` $output `:` type($output) `)` attr-dict (`->` type($results)^)?
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

    1. `s_j = scale * sum_d query[i, d] * key[j, d]`, accumulated in f32 (f64 for f64 inputs);
    2. `s_j = c * tanh(s_j / c)` with c = `softcap`;
    3. `s_j += bias[i, j]`;
    4. key j is removed unless the causal alignment, the window, the boolean mask (true = attend) and `mask_mod` all
       keep it;
       a bias of exactly -inf removes it as well;
    5. `m = max s_j`, `p_j = exp(s_j - m)`, `l = sum p_j` over the kept keys;
    6. `output = sum_j p_j * value[j, :] / l`; `lse = m + ln l`.

    A row that keeps nothing has output 0 and lse -inf. Left out, `scale` is
    1/sqrt(D). The log-sum-exp is the natural logarithm, in f32 (f64 for f64
    inputs).

    Domain: (batch…, query, key, head, value). K and V hold Hkv heads, shared by
    contiguous groups of Hq / Hkv query heads and never expanded.

    * C1: each map has the domain's dimensions and as many results as its operand has dimensions; that of an output
      holds every batch dimension.
    * C2: operands agree on the size of each dimension.
    * C3: the number of query heads is a multiple of the number of key and value heads.
    * C4: query, key, value and output are floating point of one type; bias is floating point;
      lse and scale_value have the type of the accumulation.
    * C5: `causal` needs an alignment unless the numbers of queries and keys are static and equal.
    * C6: softcap is finite and greater than 0.
    * C7: bias and mask broadcast: each of their dimensions has the size of the scores' or 1.
    * C8: mask has element type i1.
    * C9: at most one of `scale` and `scale_value` is given, one where D = 0; `scale` is finite.
    * C10: `mask_mod` yields one i1 from pure arith, math and attn.index ops on scalars.
    * C11: operands are all tensors, with one result an output, or all memrefs, with none.
    * C12: the bounds of `window` are 0 or greater; without `causal` it needs `align` unless the numbers of queries and
      keys are static and equal; `align` stands with a window and without `causal` only.

    ```mlir
    %out, %lse = attn.sdpa ins(%q, %k, %v : tensor<2x8x113x64xf32>, tensor<2x2x203x64xf32>, tensor<2x2x203x80xf32>)
        outs(%o, %l : tensor<2x8x113x80xf32>, tensor<2x8x113xf32>) {causal = #attn.causal<bottom_right>}
        -> tensor<2x8x113x80xf32>, tensor<2x8x113xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$query, Attn_Shaped:$key, Attn_Shaped:$value, Optional<Attn_Shaped>:$bias,
                       Optional<Attn_Shaped>:$mask, Attn_Shaped:$output, Optional<Attn_Shaped>:$lse,
                       Optional<AnyFloat>:$scale_value, OptionalAttr<F64Attr>:$scale, OptionalAttr<AnyAttr>:$causal,
                       OptionalAttr<Attn_WindowAttr>:$window, OptionalAttr<Attn_CausalAttr>:$align,
                       OptionalAttr<F64Attr>:$softcap, OptionalAttr<AffineMapArrayAttr>:$maps,
                       OptionalAttr<Attn_KeyRangesAttr>:$key_ranges, OptionalAttr<Attn_ScheduleAttr>:$schedule);
  let regions = (region MaxSizedRegion<1>:$mask_mod);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` type($value) `)`
        (`bias` `(` $bias^ `:` type($bias) `)`)? (`mask` `(` $mask^ `:` type($mask) `)`)?
        (`scale_value` `(` $scale_value^ `:` type($scale_value) `)`)?
        `outs` `(` $output (`,` $lse^)? `:` type($output) (`,` type($lse)^)? `)` attr-dict
        (`mask_mod` $mask_mod^)? (`->` type($results)^)?
  }];
}

//===----------------------------------------------------------------------===//
// The online state
//===----------------------------------------------------------------------===//

def Attn_InitStateOp : Attn_StructuredOp<"init_state"> {
  let summary = "the state of no keys: acc = 0, row max = -inf, row sum = 0";
  let description = [{
    The neutral element of `attn.merge_states`.

    Domain: (batch…, query, value).

    * C1, C2: as for `attn.scores`.
    * C4: acc, row_max and row_sum are f32 or f64 of one type.

    ```mlir
    %acc, %max, %sum = attn.init_state outs(%a, %m, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
        -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$acc, Attn_Shaped:$row_max, Attn_Shaped:$row_sum,
                       OptionalAttr<AffineMapArrayAttr>:$maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `outs` `(` $acc `,` $row_max `,` $row_sum `:` type($acc) `,` type($row_max) `,` type($row_sum) `)` attr-dict
        (`->` type($results)^)?
  }];
}

def Attn_OnlineStepOp : Attn_StructuredOp<"online_step", [AttrSizedOperandSegments]> {
  let summary = "folds one range of keys into a running state";
  let description = [{
    With `s_j` the score of key j after scale, softcap, bias and predicate:

    1. `m' = max(row_max, max_j s_j)`;
    2. `alpha = (row_max == -inf) ? 0 : exp(row_max - m')`, `p_j = exp(s_j - m')`, 0 for a removed key;
    3. `row_sum' = alpha * row_sum + sum_j p_j`;
    4. `acc' = alpha * acc + sum_j p_j * value[j, :]`.

    The online softmax of Milakov and Gimelshein (arXiv:1805.02867) with the
    product by V of FlashAttention (arXiv:2205.14135). A schedule turns it into
    the loop over key tiles.

    Domain: (batch…, query, key, head, value).

    * C1 to C11: as for `attn.sdpa`; the state has the type of the accumulation or a wider one, and mask may be i8,
      a packed tile of booleans.

    ```mlir
    %a, %m, %l = attn.online_step ins(%q, %k, %v : tensor<4x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>)
        outs(%a0, %m0, %l0 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) {scale = 0.25 : f64}
        -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$query, Attn_Shaped:$key, Attn_Shaped:$value, Optional<Attn_Shaped>:$bias,
                       Optional<Attn_Shaped>:$mask, Attn_Shaped:$acc, Attn_Shaped:$row_max, Attn_Shaped:$row_sum,
                       Optional<AnyFloat>:$scale_value, OptionalAttr<F64Attr>:$scale, OptionalAttr<F64Attr>:$softcap,
                       OptionalAttr<AffineMapArrayAttr>:$maps, OptionalAttr<Attn_KeyRangesAttr>:$key_ranges,
                       OptionalAttr<Attn_ScheduleAttr>:$schedule);
  let regions = (region MaxSizedRegion<1>:$mask_mod);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` type($value) `)`
        (`bias` `(` $bias^ `:` type($bias) `)`)? (`mask` `(` $mask^ `:` type($mask) `)`)?
        (`scale_value` `(` $scale_value^ `:` type($scale_value) `)`)?
        `outs` `(` $acc `,` $row_max `,` $row_sum `:` type($acc) `,` type($row_max) `,` type($row_sum) `)` attr-dict
        (`mask_mod` $mask_mod^)? (`->` type($results)^)?
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

def Attn_FinalizeOp : Attn_StructuredOp<"finalize"> {
  let summary = "state to result: output = acc / row_sum, lse = row_max + ln row_sum";
  let description = [{
    `output[i, e] = (row_sum[i] == 0) ? 0 : acc[i, e] / row_sum[i]` and
    `lse[i] = (row_sum[i] == 0) ? -inf : row_max[i] + ln row_sum[i]`.

    Domain: (batch…, query, value). The state may hold more query rows than the
    outputs (lanes that pad a tile); those rows are dropped.

    * C1, C2: as for `attn.scores`, but for the padding rows.
    * C4: the state is f32 or f64 of one type; output and lse are floating point.

    ```mlir
    %o, %lse = attn.finalize ins(%a, %m, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
        outs(%init, %linit : tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>, tensor<4xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$acc, Attn_Shaped:$row_max, Attn_Shaped:$row_sum, Attn_Shaped:$output,
                       Optional<Attn_Shaped>:$lse, OptionalAttr<AffineMapArrayAttr>:$maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $acc `,` $row_max `,` $row_sum `:` type($acc) `,` type($row_max) `,` type($row_sum) `)`
        `outs` `(` $output (`,` $lse^)? `:` type($output) (`,` type($lse)^)? `)` attr-dict (`->` type($results)^)?
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

    * C1, C2: as for `attn.scores`, but that output may have more query rows than input.
    * C4: input and output have one element type, or input is i1 and output is i8: a boolean as a byte, 0 or 1.

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

def Attn_IndexOp : Attn_Op<"index", [Pure]> {
  let summary = "the position of the current score: batch, head, kv_head, query or key";
  let description = [{
    Only inside `mask_mod` regions. `batch` and `head` are the first and the
    last batch dimension of the enclosing op's domain; `kv_head`, the head of K
    that this head reads, is not for `attn.mask`, which has no K.

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
  let summary = "ends a region: true where the key is kept";
  let description = [{
    ```mlir
    attn.yield %keep : i1
    ```
  }];
  let arguments = (ins AnyType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

#endif // ATTN_IR_ATTNOPS_TD
