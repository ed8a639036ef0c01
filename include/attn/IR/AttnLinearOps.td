//===- AttnLinearOps.td - linear attention ------------------*- tablegen -*-===//
//
// The gated delta rule and its family as one op, and the triangular solve of a
// chunk of its tokens. Constraints have numbers L1 ….
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_ATTNLINEAROPS_TD
#define ATTN_IR_ATTNLINEAROPS_TD

include "attn/IR/AttnBase.td"

def Attn_LinearOp : Attn_StructuredOp<"linear", [AttrSizedOperandSegments]> {
  let summary = "linear attention: a state that each token decays, erases from, writes to and reads";
  let description = [{
    For each token of a sequence in turn, with the state `S` (D, Dv) of a batch index and head:

    1. `D = diag(exp decay) S`, `S` where there is no decay; -inf resets;
    2. `e = D^T erase`, or `S^T erase` with `before`;
    3. `S' = D + write e^T + key value^T`;
    4. `output = scale * S'^T query`.

    `beta` is short for the delta rule: `erase = -beta key`, `write = key`, and `beta value` in place of value. Without
    `beta` and `erase` nothing is erased. `write` is key where it is left out. With `normalize = eps` query and key are divided
    by `sqrt(sum x^2 + eps)` first. The default of `scale` is `1/sqrt(D)`.

    State is read, and holds the state behind the last token afterwards. With `slots` it is a pool: batch index b has
    the state `slots[b]`; -1 is none, where the state starts at 0 and is not kept. With `cu_seqlens` the tokens of sequence
    b are `cu_seqlens[b]` to `cu_seqlens[b + 1] - 1`, and a state is one of a sequence.

    One head of query and key serves a group of heads of value: head h reads `h floordiv G`. Decay, beta, erase and write
    have the heads of value.

    Domain: (batch…, query, head, value), where query is the token.

    * L1: maps and sizes as C1, C2 and C11. The number of heads of value is a multiple of that of query and key, which
      have as many heads and one element type.
    * L2: query, key, value, erase, write and output have one type, f32, f64, bf16 or f16; state has that of the
      accumulation, f32 or f64; decay and beta have that or a narrower one.
    * L3: beta does not stand beside erase; write and before stand beside erase.
    * L4: decay is one number a token and head, or a token, head and channel of key.
    * L5: cu_seqlens has one dimension, of i32, with one element more than there are sequences.
    * L6: slots has one dimension, of i32, one element a batch index; state then has a dimension of places first.
    * L7: head sizes are static and at least 1; normalize is above 0 and scale finite.

    ```mlir
    %o, %s = attn.linear ins(%q, %k, %v : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x4x5x6xf32>)
        decay(%g : tensor<1x4x5xf32>) beta(%b : tensor<1x4x5xf32>)
        outs(%init, %state : tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>) {normalize = 1.0e-6 : f64}
        -> tensor<1x4x5x6xf32>, tensor<1x4x8x6xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$query, Attn_Shaped:$key, Attn_Shaped:$value, Optional<Attn_Shaped>:$decay,
                       Optional<Attn_Shaped>:$beta, Optional<Attn_Shaped>:$erase, Optional<Attn_Shaped>:$write,
                       Attn_Shaped:$output, Attn_Shaped:$state, Optional<Attn_Shaped>:$cu_seqlens,
                       Optional<Attn_Shaped>:$slots, UnitAttr:$before, OptionalAttr<F64Attr>:$normalize,
                       OptionalAttr<F64Attr>:$scale, OptionalAttr<AffineMapArrayAttr>:$maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let extraClassDeclaration = structuredDeclaration # [{
    /// `scale`, or 1/sqrt(D).
    double getScaleNumber();
    /// True where decay has a channel of key.
    bool hasChannelDecay();
  }];
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` type($value) `)`
        (`decay` `(` $decay^ `:` type($decay) `)`)? (`beta` `(` $beta^ `:` type($beta) `)`)?
        (`erase` `(` $erase^ `:` type($erase) `)`)? (`write` `(` $write^ `:` type($write) `)`)?
        (`cu_seqlens` `(` $cu_seqlens^ `:` type($cu_seqlens) `)`)? (`slots` `(` $slots^ `:` type($slots) `)`)?
        `outs` `(` $output `,` $state `:` type($output) `,` type($state) `)` attr-dict (`->` type($results)^)?
  }];
}

def Attn_SolveOp : Attn_Op<"solve"> {
  let summary = "a unit lower triangular solve of a tile, in place";
  let description = [{
    `x[t] = x[t] + sum_{i < t} lower[t, i] * x[i]` for the rows t of x in turn: x becomes `(I - lower)^-1 x`. Elements of
    lower on and above the diagonal are not read.

    * L8: lower is (C, C) and x (C, N), of one type, f32 or f64, static; rows of x are contiguous.

    ```mlir
    attn.solve ins(%lower : memref<32x32xf32>) outs(%x : memref<32x64xf32>)
    ```
  }];
  let arguments = (ins Arg<AnyStridedMemRef, "", [MemRead]>:$lower, Arg<AnyStridedMemRef, "", [MemRead, MemWrite]>:$x);
  let assemblyFormat = "`ins` `(` $lower `:` type($lower) `)` `outs` `(` $x `:` type($x) `)` attr-dict";
  let hasVerifier = 1;
}

#endif // ATTN_IR_ATTNLINEAROPS_TD
