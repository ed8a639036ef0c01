//===- AttnRegionOps.td - ops of regions on scores ----------*- tablegen -*-===//
//
// What stands in the regions of attn ops: the position of a score, score
// functions, dropout, what a region adds to a tensor, and its values.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_ATTNREGIONOPS_TD
#define ATTN_IR_ATTNREGIONOPS_TD

include "attn/IR/AttnAttrs.td"
include "attn/IR/AttnBase.td"

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

def Attn_CapOp : Attn_Op<"cap", [Pure, SameOperandsAndResultType, DeclareOpInterfaceMethods<Attn_ScoreFunction>]> {
  let summary = "limits a score smoothly to (-limit, limit)";
  let description = [{
    `limit * tanh(score / limit)`, what the word `softcap` of `attn.sdpa` becomes at the end of `score_mod`.

    * C6: limit is a normal number of the type of the score, greater than 0.

    ```mlir
    %t = attn.cap %score {limit = 30.0 : f64} : f32
    ```
  }];
  let arguments = (ins AnyFloat:$score, F64Attr:$limit);
  let results = (outs AnyFloat:$result);
  let assemblyFormat = "$score attr-dict `:` type($score)";
  let hasVerifier = 1;
}

def Attn_RandomKeepOp : Attn_Op<"random_keep", [Pure]> {
  let summary = "true where dropout keeps the weight of this index";
  let description = [{
    `r > threshold` for the 32-bit number r of `index` by Philox4x32-10 (Salmon et al., "Parallel random numbers: as
    easy as 1, 2, 3", SC 2011): word `index mod 4` of the counter (offset, index - index mod 4) with the key `seed`, of
    which each is 64 bits, the low word first. So one call has the numbers of four indices. In `weight_mod`.

    * C16: threshold is in [0, 2^32).

    ```mlir
    %keep = attn.random_keep %index seed(%seed) offset(%offset) {threshold = 1288490188 : i64}
    ```
  }];
  let arguments = (ins Index:$index, I64:$seed, I64:$offset, I64Attr:$threshold);
  let results = (outs I1:$result);
  let assemblyFormat = "$index `seed` `(` $seed `)` `offset` `(` $offset `)` attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether r is larger than the threshold.
    ::mlir::Value buildComparison(::mlir::OpBuilder &builder, ::mlir::Location loc, ::mlir::Value random);
    /// The result for these operands, in integers: what every target computes.
    ::mlir::Value buildFormula(::mlir::OpBuilder &builder, ::mlir::Location loc, ::mlir::ValueRange operands);
  }];
}

def Attn_AccumulateOp : Attn_Op<"accumulate", [
    TypesMatchWith<"value has the element type of destination", "destination", "value",
                   "::llvm::cast<::mlir::ShapedType>($_self).getElementType()">]> {
  let summary = "adds to one element of a tensor from inside of a region";
  let description = [{
    `destination[indices] += value` for each score that the region is evaluated for. So a region of gradients passes
    on the gradient of a tensor that the region of scores reads: it adds where the other one reads.

    Stands directly in a region of an attn op, with an index for each dimension of the destination.

    ```mlir
    attn.accumulate %g into %d_slopes[%h] : tensor<8xf32>
    ```
  }];
  let arguments = (ins AnyFloat:$value, Arg<Attn_Shaped, "", [MemRead, MemWrite]>:$destination,
                       Variadic<Index>:$indices);
  let assemblyFormat = "$value `into` $destination `[` $indices `]` attr-dict `:` type($destination)";
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

#endif // ATTN_IR_ATTNREGIONOPS_TD
