//===- AttnStepOps.td - what an online_step is made of ------*- tablegen -*-===//
//
// Small ops on one tile each: products, the map of scores, the new maximum, the
// rescale of the state and the weights; the gradients of scores.
// attn-decompose-step makes them of an online_step or a backward_step; a target
// lowers each by itself.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_ATTNSTEPOPS_TD
#define ATTN_IR_ATTNSTEPOPS_TD

include "attn/IR/AttnAttrs.td"
include "attn/IR/AttnBase.td"

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

def Attn_ProductOp : Attn_StructuredOp<"product"> {
  let summary = "one product of tiles: Q K^T or P V, into a tile or added to it";
  let description = [{
    With the contraction `scores`, `output[b, i, j] = sum_d lhs[b, i, d] * rhs[b, j, d]`; with `values`,
    `output[b, i, e] = sum_j lhs[b, i, j] * rhs[b, j, e]`, where a weight of 0 takes nothing of `rhs`: a removed key may
    hold NaN. A `score_weight` w makes additive scores, `sum_d w[d] * tanh(lhs[b, i, d] + rhs[b, j, d])`. With
    `accumulate` the sum is added to what output holds. `instruction` is the schedule's: what a target multiplies with,
    and so what the operands are rounded to. The executable meaning is exact.

    With `async` the product is only started: `attn.wait_product`, the only use of its result, in the same block, gives
    what has been computed; or `attn.score_gradients` waits, of which it is dweights. Until then nobody may write lhs or
    rhs. Several may be on their way, and end in their order. With `ahead`, rhs is the stage of an `attn.wait` with it.

    Domain: (batch…, query, key, head) for `scores`, (batch…, query, key, value) for `values`. The names are those of the
    forward pass: what stands for queries are the rows of the tile, which are keys where gradients of K and V are added up.

    * C1, C2, C3: as for `attn.scores`.
    * C4: lhs is floating point, rhs of its type or narrower, as the keys and values of `attn.sdpa`; lhs of `values` and
      output are f32 or f64. In registers or in memory, lhs of `values` may be of the type of rhs: what it is rounded
      to.
    * C9: async is of tiles in registers alone, and its result has one use, an `attn.wait_product` in the same block
      or dweights of an `attn.score_gradients` there.

    ```mlir
    %s = attn.product ins(%q, %k : tensor<4x16xf32>, tensor<6x16xf32>) outs(%init : tensor<4x6xf32>)
        {contraction = #attn.contraction<scores>} -> tensor<4x6xf32>
    %a = attn.product ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%acc : tensor<4x8xf32>)
        {accumulate, contraction = #attn.contraction<values>} -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$lhs, Attn_Shaped:$rhs, Attn_Shaped:$output, Optional<Attn_Shaped>:$score_weight,
                       Attn_ContractionAttr:$contraction, UnitAttr:$accumulate, OptionalAttr<Attn_InstructionAttr>:$instruction,
                       OptionalAttr<AffineMapArrayAttr>:$maps, UnitAttr:$async, UnitAttr:$ahead);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $lhs `,` $rhs `:` type($lhs) `,` type($rhs) `)`
        (`score_weight` `(` $score_weight^ `:` type($score_weight) `)`)? `outs` `(` $output `:` type($output) `)` attr-dict
        (`->` type($results)^)?
  }];
}

def Attn_WaitProductOp : Attn_Op<"wait_product", [SameOperandsAndResultType, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "what an asynchronous product has computed";
  let description = [{
    Waits for an `attn.product … {async}` of the same block. Those that were started before it have been computed as well,
    those after it may still be on their way.

    * C9: the operand is the result of an asynchronous product.

    ```mlir
    %s0 = attn.product ins(%qt, %kt : …) outs(%e : !scores) {async, contraction = #attn.contraction<scores>} -> !scores
    %a0 = attn.product ins(%p, %vt : …) outs(%acc : !acc) {accumulate, async, contraction = #attn.contraction<values>}
        -> !acc
    %s = attn.wait_product %s0 : !scores
    …
    %a = attn.wait_product %a0 : !acc
    attn.release %vt : …
    ```
  }];
  let arguments = (ins AnyRankedTensor:$product);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$product attr-dict `:` type($product)";
  let hasVerifier = 1;
}

def Attn_MapScoresOp : Attn_StructuredOp<"map_scores", [AttrSizedOperandSegments]> {
  let summary = "what happens to each score of a tile: scale, score_mod, bias, masks";
  let description = [{
    In this order, as in `attn.sdpa`, each where it is given: `s = scale * s`, `s = score_mod(s)`, `s = s + bias`; and
    -inf for a key that a bias of -inf, `mask` or `mask_mod` removes. Regions know the position (`attn.index`);
    `kv_head` maps a head to the head of K, where a region asks for it.

    Domain: (batch…, query, key).

    * C1, C2: as for `attn.scores`.
    * C4: input and output are of one floating-point type, in which `score_mod` calculates, or in that of the
      accumulation.
    * C8, C9, C10: as for `attn.online_step`.

    ```mlir
    %t = attn.map_scores ins(%s : tensor<4x6xf32>) outs(%init : tensor<4x6xf32>) {scale = 0.25 : f64} mask_mod {
      %i = attn.index query : index
      %j = attn.index key : index
      %keep = arith.cmpi sle, %j, %i : index
      attn.yield %keep : i1
    } -> tensor<4x6xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$input, Optional<Attn_Shaped>:$bias, Optional<Attn_Shaped>:$mask,
                       Attn_Shaped:$output, Optional<AnyFloat>:$scale_value, OptionalAttr<F64Attr>:$scale,
                       OptionalAttr<AffineMapAttr>:$kv_head, OptionalAttr<AffineMapArrayAttr>:$maps);
  let regions = (region MaxSizedRegion<1>:$mask_mod, MaxSizedRegion<1>:$score_mod);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)`
        (`bias` `(` $bias^ `:` type($bias) `)`)? (`mask` `(` $mask^ `:` type($mask) `)`)?
        (`scale_value` `(` $scale_value^ `:` type($scale_value) `)`)?
        `outs` `(` $output `:` type($output) `)` attr-dict
        (`score_mod` $score_mod^)? (`mask_mod` $mask_mod^)? (`->` type($results)^)?
  }];
}

def Attn_RowMaxOp : Attn_StructuredOp<"row_max"> {
  let summary = "the maximum of each row and of what it was: n = max(m, scale * max_j s_j)";
  let description = [{
    `output[i] = max(row_max[i], scale * max_j scores[i, j])`, the scale 1 where it is left out. With a `scale`, the factor
    stands in the exponent alone: of scores that are products as they are, or removed; 1 of scores with a bias. `partial`
    says that a row may have no key yet, and a maximum of -inf; without it there is none. `exact_max` is that of
    attn.online_step.

    Domain: (batch…, query, key).

    * C1, C2: as for `attn.scores`.
    * C4: all operands are f32 or f64 of one type.
    * C9: scale is finite and greater than 0.

    ```mlir
    %n = attn.row_max ins(%s, %m : tensor<4x6xf32>, tensor<4xf32>) outs(%init : tensor<4xf32>) {partial} -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$scores, Attn_Shaped:$row_max, Attn_Shaped:$output, OptionalAttr<F64Attr>:$scale,
                       UnitAttr:$partial, UnitAttr:$exact_max, OptionalAttr<AffineMapArrayAttr>:$maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $scores `,` $row_max `:` type($scores) `,` type($row_max) `)` `outs` `(` $output `:` type($output) `)`
        attr-dict (`->` type($results)^)?
  }];
}

def Attn_RescaleOp : Attn_StructuredOp<"rescale"> {
  let summary = "a state with another maximum: acc and row sum times exp(m - n)";
  let description = [{
    With `alpha = (row_max == -inf) ? 0 : exp(row_max - new_max)`: `acc' = alpha * acc`, `row_max' = new_max`,
    `row_sum' = alpha * row_sum`. The state stands for the same keys; `new_max` is no less than row_max.

    Domain: (batch…, query, value).

    * C1, C2: as for `attn.scores`.
    * C4: all operands are f32 or f64 of one type.

    ```mlir
    %a1, %m1, %l1 = attn.rescale ins(%n : tensor<4xf32>)
        outs(%a, %m, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
        -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$new_max, Attn_Shaped:$acc, Attn_Shaped:$row_max, Attn_Shaped:$row_sum,
                       OptionalAttr<AffineMapArrayAttr>:$maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $new_max `:` type($new_max) `)`
        `outs` `(` $acc `,` $row_max `,` $row_sum `:` type($acc) `,` type($row_max) `,` type($row_sum) `)` attr-dict
        (`->` type($results)^)?
  }];
}

def Attn_RescaleRowsOp : Attn_Op<"rescale_rows", [Pure, AllTypesMatch<["new_max", "row_max", "row_sum", "factors",
                                                                        "result_max", "result_sum"]>]> {
  let summary = "a state with another maximum, but for acc: the factors that it is to be multiplied by";
  let description = [{
    `factors = (row_max == -inf) ? 0 : exp(row_max - new_max)`, `row_max' = new_max`, `row_sum' = factors * row_sum`: what
    `attn.rescale` does where acc is the output of an asynchronous product that is still on its way. `attn.rescale_acc`
    multiplies it by the factors once it is there.

    * C9: an attn.rescale_acc uses the factors.

    ```mlir
    %f, %m1, %l1 = attn.rescale_rows ins(%n) outs(%m, %l) : !rows
    …
    %a = attn.wait_product %a0 : !acc
    %a1 = attn.rescale_acc %a by %f : !acc, !rows
    ```
  }];
  let arguments = (ins AnyRankedTensor:$new_max, AnyRankedTensor:$row_max, AnyRankedTensor:$row_sum);
  let results = (outs AnyRankedTensor:$factors, AnyRankedTensor:$result_max, AnyRankedTensor:$result_sum);
  let assemblyFormat = "`ins` `(` $new_max `)` `outs` `(` $row_max `,` $row_sum `)` attr-dict `:` type($new_max)";
  let hasVerifier = 1;
}

def Attn_RescaleAccOp : Attn_Op<"rescale_acc", [Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc times the factors of an attn.rescale_rows";
  let description = [{
    `result[i, e] = factors[i] * acc[i, e]`.

    * C9: the factors are those of an attn.rescale_rows.

    ```mlir
    %a1 = attn.rescale_acc %a by %f : tensor<64x128xf32, #attn.registers>, tensor<64xf32, #attn.registers>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$acc, AnyRankedTensor:$factors);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$acc `by` $factors attr-dict `:` type($acc) `,` type($factors)";
  let hasVerifier = 1;
}

def Attn_WeightsOp : Attn_StructuredOp<"weights"> {
  let summary = "the weights of a tile, p = exp(scale * s - m), and their sum";
  let description = [{
    With `p[i, j] = (row_max[i] == -inf) ? 0 : exp(scale * scores[i, j] - row_max[i])`, where `scale` is that of
    `attn.row_max`: `row_sum'[i] = row_sum[i] + sum_j p[i, j]` and `output[i, j] = weight_mod(p[i, j])`. A weight of 0
    stays one, whatever the region yields. `kv_head` is that of `attn.map_scores`.

    Domain: (batch…, query, key).

    * C1, C2: as for `attn.scores`.
    * C4: all operands are f32 or f64 of one type, in which `weight_mod` calculates, or in that of the accumulation.
    * C9: scale is finite and greater than 0.
    * C10: `weight_mod` as for `attn.online_step`.

    ```mlir
    %p, %l1 = attn.weights ins(%s, %n : tensor<4x6xf32>, tensor<4xf32>) outs(%init, %l : tensor<4x6xf32>, tensor<4xf32>)
        -> tensor<4x6xf32>, tensor<4xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$scores, Attn_Shaped:$row_max, Attn_Shaped:$output, Attn_Shaped:$row_sum,
                       OptionalAttr<F64Attr>:$scale, OptionalAttr<AffineMapAttr>:$kv_head,
                       OptionalAttr<AffineMapArrayAttr>:$maps);
  let regions = (region MaxSizedRegion<1>:$weight_mod);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $scores `,` $row_max `:` type($scores) `,` type($row_max) `)`
        `outs` `(` $output `,` $row_sum `:` type($output) `,` type($row_sum) `)` attr-dict
        (`weight_mod` $weight_mod^)? (`->` type($results)^)?
  }];
}

def Attn_ScoreGradientsOp : Attn_StructuredOp<"score_gradients", [AttrSizedOperandSegments]> {
  let summary = "the weights of a tile, and the gradients of its products with Q";
  let description = [{
    With `s` the score that `attn.map_scores` makes of `t = scores[i, j]`, `p = exp(min(s - lse[i], 0) - log_sum[i])`, 0
    for a removed key and for a row whose lse is -inf (log_sum is 0 where it is left out), and `z` the factor that
    `weight_mod` multiplies a weight by: `weights[i, j] = p * z`,
    `gradients[i, j] = scale * score_grad(scale * t, p * (z * dweights[i, j] - delta[i]))`, where p is not 0, otherwise 0.
    Each output may be left out, and with gradients also dweights and delta. dweights may be an asynchronous product,
    which runs while p is computed. `statistics`, a tile of `attn.copy_statistics`, has lse, log_sum and delta too, and is
    read instead of them.

    Domain: (batch…, query, key). Scores, dweights and the outputs have one map; where it has keys in front of queries,
    keys are the rows of the tile.

    * C1, C2: as for `attn.scores`.
    * C4: scores, dweights and the outputs are f32 or f64 of one type, lse, delta and log_sum floats.
    * C6, C8, C9, C10, C25: as for `attn.backward_step`.

    ```mlir
    %g = attn.score_gradients ins(%s, %lse : tensor<4x6xf32>, tensor<4xf32>)
        dweights(%dw, %delta : tensor<4x6xf32>, tensor<4xf32>) gradients(%init : tensor<4x6xf32>) {scale = 0.25 : f64}
        -> tensor<4x6xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$scores, Attn_Shaped:$lse, Optional<Attn_Shaped>:$dweights,
                       Optional<Attn_Shaped>:$delta, Optional<Attn_Shaped>:$log_sum, Optional<Attn_Shaped>:$bias,
                       Optional<Attn_Shaped>:$mask, Optional<Attn_Shaped>:$weights, Optional<Attn_Shaped>:$gradients,
                       Optional<AnyFloat>:$scale_value, Optional<AnyStridedMemRef>:$statistics,
                       OptionalAttr<F64Attr>:$scale, OptionalAttr<AffineMapAttr>:$kv_head,
                       OptionalAttr<AffineMapArrayAttr>:$maps);
  let regions = (region MaxSizedRegion<1>:$mask_mod, MaxSizedRegion<1>:$score_mod, MaxSizedRegion<1>:$score_grad,
                        MaxSizedRegion<1>:$weight_mod);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let extraClassDeclaration = structuredDeclaration # [{
    /// True where keys are the rows of the tile.
    bool hasKeyRows();
  }];
  let assemblyFormat = [{
    `ins` `(` $scores `,` $lse `:` type($scores) `,` type($lse) `)`
        (`dweights` `(` $dweights^ `,` $delta `:` type($dweights) `,` type($delta) `)`)?
        (`log_sum` `(` $log_sum^ `:` type($log_sum) `)`)?
        (`bias` `(` $bias^ `:` type($bias) `)`)? (`mask` `(` $mask^ `:` type($mask) `)`)?
        (`scale_value` `(` $scale_value^ `:` type($scale_value) `)`)?
        (`statistics` `(` $statistics^ `:` type($statistics) `)`)?
        (`weights` `(` $weights^ `:` type($weights) `)`)? (`gradients` `(` $gradients^ `:` type($gradients) `)`)?
        attr-dict (`score_mod` $score_mod^)? (`score_grad` $score_grad^)? (`mask_mod` $mask_mod^)?
        (`weight_mod` $weight_mod^)? (`->` type($results)^)?
  }];
}

def Attn_StoreStateOp : Attn_Op<"store_state"> {
  let summary = "the state of a range of keys from registers to memory";
  let description = [{
    Another kernel reads it there (`attn.merge_states`). Rows of the tile beyond those of the outputs are not stored.

    Domain: (batch…, query, value).

    ```mlir
    attn.store_state ins(%a, %m, %l : !acc, !rows, !rows)
        outs(%x, %y, %z : memref<1x4x1x128xf32>, memref<1x4x1xf32>, memref<1x4x1xf32>) {maps = […]}
    ```
  }];
  let arguments = (ins AnyRankedTensor:$acc, AnyRankedTensor:$row_max, AnyRankedTensor:$row_sum,
                       Arg<AnyStridedMemRef, "", [MemWrite]>:$output_acc,
                       Arg<AnyStridedMemRef, "", [MemWrite]>:$output_max,
                       Arg<AnyStridedMemRef, "", [MemWrite]>:$output_sum,
                       OptionalAttr<AffineMapArrayAttr>:$maps);
  let assemblyFormat = [{
    `ins` `(` $acc `,` $row_max `,` $row_sum `:` type($acc) `,` type($row_max) `,` type($row_sum) `)`
        `outs` `(` $output_acc `,` $output_max `,` $output_sum `:` type($output_acc) `,` type($output_max) `,`
        type($output_sum) `)` attr-dict
  }];
}

#endif // ATTN_IR_ATTNSTEPOPS_TD
