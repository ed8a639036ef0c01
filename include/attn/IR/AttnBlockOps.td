//===- AttnBlockOps.td - how the warps of a block share work -*- tablegen -*-===//
//
// Copies that bring tiles into shared memory, with the waits and releases of
// their stages; turns and roles of warps. attn-pipeline-copies,
// attn-specialize-warps, attn-overlap-products and attn-split-roles place them
// around the ops of a step.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_ATTNBLOCKOPS_TD
#define ATTN_IR_ATTNBLOCKOPS_TD

include "attn/IR/AttnAttrs.td"
include "attn/IR/AttnBase.td"

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

def Attn_TokenType : TypeDef<Attn_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "a copy that has been started";
}

def Attn_CopyOp : Attn_Op<"copy", [AttrSizedOperandSegments]> {
  let summary = "starts copying rows of global memory into a tile; the token says when they are there";
  let description = [{
    `output[b, i, c] = i < rows ? input[b, i, c] : 0` for the rows i of the tile, where rows is the number of rows of the
    input: what `attn.pack` says, but done only when `attn.wait` has returned for the token. The input may have more rows
    than the tile, which are not read. With `from`, rows are those of the input from that one on; where there are none,
    nothing is copied, and the token has arrived.

    With `box`, the rows are copied by a producer (attn-specialize-warps): the tensor map, a parameter of the kernel,
    describes a tensor of which the rows begin at `begin`. The tile is then all rows of the tensor from there on, those
    beyond the input among them, until `attn.clear_rows`.

    With `where`, one number of each row, lse, a row of -inf is 0: a row of dO without keys passes nothing on.

    Nobody may read the tile before the wait, or write it, and whoever reads what it held has to be done. Without `box`,
    a `gpu.barrier` or another wait stands between, and how rows are copied (asynchronously, or loaded, converted and
    stored) is the target's choice. With `box`, the tile has stages: the copy fills the next one, as soon as each warp
    that read it has released it (`attn.release`).

    An input in shared memory is stored: with `box` and `from`, its first row, a warp copies as many rows as the box has to
    the same rows of the output, as far as this has them. The warp goes on; the `attn.finalize` that writes the tile again
    waits until it has been read.

    Domain: (batch…, row, column).

    * C1: each map has the domain's dimensions and as many results as its operand has dimensions.
    * C2: input and output agree on the number of columns.
    * C4: input and output are of one type, or input is a narrower float or i8 and output floating point.
    * C11: a box has 2 to 5 indices, and no `where`.

    ```mlir
    %token = attn.copy ins(%k : memref<64x128xbf16>) outs(%tile : memref<64x128xbf16, #gpu.address_space<workgroup>>)
        : !attn.token
    ```
  }];
  let arguments = (ins Arg<AnyStridedMemRef, "", [MemRead]>:$input, Arg<AnyStridedMemRef, "", [MemWrite]>:$output,
                       Arg<Optional<AnyStridedMemRef>, "", [MemRead]>:$lse, Optional<Index>:$first,
                       Optional<AnyType>:$tensorMap, Variadic<Index>:$begin,
                       OptionalAttr<AffineMapArrayAttr>:$maps);
  let results = (outs Attn_TokenType:$token);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$output, "::mlir::Value":$lse,
                                 "::mlir::Value":$first, "::mlir::ArrayAttr":$maps), [{
    build($_builder, $_state, input, output, lse, first, /*tensorMap=*/::mlir::Value(), /*begin=*/::mlir::ValueRange(),
          maps);
  }]>];
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` `outs` `(` $output `:` type($output) `)`
        (`where` `(` $lse^ `:` type($lse) `)`)? (`from` $first^)?
        (`box` `(` $tensorMap^ `:` type($tensorMap) `)` `[` $begin `]`)? attr-dict `:` type($token)
  }];
  let hasVerifier = 1;
}

def Attn_WaitOp : Attn_Op<"wait", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "until copies have arrived: those of the tokens for all threads, or the next stages for one warp";
  let description = [{
    Without `stages`, all threads of a block wait together, all of the consumers where the block has a producer: what any
    of them read or wrote before is read and written, and the tiles hold what was copied. At most `pending` copies that
    were started after the last one of the tokens are still on their way: a target that counts copies waits for the
    others. Without tokens it waits for all, those of `attn.gather_pages` among them.

    With `stages`, tiles that a producer fills, each warp waits by itself, until the next stage of each of these tiles has
    arrived. From there to its `attn.release`, the tile is that stage for this warp. The tokens are those of the copies;
    the roles of `attn.warp_roles` have none, as each sees the ops of its own. With `ahead` it waits for the stage behind
    that one, which is not released yet; an op that reads it has `ahead` too, and others read the one before.

    * C9: pending is 0 or greater, and 0 without tokens.

    ```mlir
    attn.wait %k, %q {pending = 1 : i64}
    attn.wait %k stages(%kt : memref<64x128xbf16, #gpu.address_space<workgroup>>)
    ```
  }];
  let arguments = (ins Variadic<Attn_TokenType>:$tokens, Variadic<AnyStridedMemRef>:$stages,
                       DefaultValuedAttr<I64Attr, "0">:$pending, UnitAttr:$ahead);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$tokens, CArg<"int64_t", "0">:$pending), [{
    build($_builder, $_state, tokens, /*stages=*/::mlir::ValueRange(), pending);
  }]>];
  let assemblyFormat = "$tokens (`stages` `(` $stages^ `:` type($stages) `)`)? attr-dict";
  let hasVerifier = 1;
}

def Attn_ReleaseOp : Attn_Op<"release", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the warp has read a stage";
  let description = [{
    The warp has read the stage of the tile that its `attn.wait … stages` has waited for; the next wait is for the stage
    behind it. The producer fills a stage again once each warp has released it. It stands behind the last reader: behind
    an `attn.product`, or behind the `attn.wait_product` of one with `async`. `attn-verify-phase` refuses IR of the phase
    `steps` where a wait has none.

    ```mlir
    attn.wait %k stages(%kt : memref<64x128xbf16, #gpu.address_space<workgroup>>)
    attn.product ins(%qt, %kt : …) outs(%s : …) {contraction = #attn.contraction<scores>}
    attn.release %kt : memref<64x128xbf16, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins AnyStridedMemRef:$tile);
  let assemblyFormat = "$tile attr-dict `:` type($tile)";
}

def Attn_ClearRowsOp : Attn_Op<"clear_rows", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "rows of a stage that are not to be read become 0";
  let description = [{
    A box of a tensor map has rows beyond an input whose end lies in memory, and rows without keys. In the stage that
    `attn.wait … stages` has waited for, rows from `from` on become 0, and with `where`, a tile of
    `attn.copy_statistics`, those whose lse is -inf: what they hold may be NaN, and 0 times NaN is NaN. The consumers do it
    together, in front of the first reader. Tiles without such rows cost a comparison.

    ```mlir
    attn.wait %q stages(%qt : memref<64x128xbf16, #gpu.address_space<workgroup>>)
    attn.clear_rows %qt from %rows where(%st : memref<4x64xf32, #gpu.address_space<workgroup>>)
        : memref<64x128xbf16, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins AnyStridedMemRef:$tile, Index:$first, Optional<AnyStridedMemRef>:$statistics, UnitAttr:$ahead);
  let assemblyFormat = [{
    $tile `from` $first (`where` `(` $statistics^ `:` type($statistics) `)`)? attr-dict `:` type($tile)
  }];
}

def Attn_CopyStatisticsOp : Attn_Op<"copy_statistics", [AttrSizedOperandSegments,
                                                        MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "lse, log_sum and delta of queries, in shared memory, as gradients of scores take them";
  let description = [{
    A row of the tile for each of

        lse    log_sum    delta_factor * delta    -(lse + log_sum) log2 e

    and a column for each query; log_sum and delta are 0 where they are left out. A query without keys, or behind the last
    one of lse, has -inf in the first and the last row and 0 in the others, so that its weights are 0.

    With `by_producer` a warp of the producer fills a stage of the tile, for which `attn.wait … stages` waits. Otherwise
    queries are the rows of the block, and each warp fills what it reads itself.

    Domain of the maps, one of each input: (batch…, query, key).

    * C1: each map has as many results as its input has dimensions.
    * C2: the tile has 4 rows of f32.

    ```mlir
    attn.copy_statistics lse(%lse : memref<64xf32>) delta(%delta : memref<64xf32>)
        outs(%st : memref<4x64xf32, #gpu.address_space<workgroup>>)
        {by_producer, delta_factor = -1.25e-01 : f64, maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>]}
    ```
  }];
  let arguments = (ins AnyStridedMemRef:$lse, Optional<AnyStridedMemRef>:$log_sum, Optional<AnyStridedMemRef>:$delta,
                       AnyStridedMemRef:$tile, F64Attr:$delta_factor, UnitAttr:$by_producer,
                       AffineMapArrayAttr:$maps);
  let assemblyFormat = [{
    `lse` `(` $lse `:` type($lse) `)` (`log_sum` `(` $log_sum^ `:` type($log_sum) `)`)?
        (`delta` `(` $delta^ `:` type($delta) `)`)? `outs` `(` $tile `:` type($tile) `)` attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Sums of several blocks
//===----------------------------------------------------------------------===//

class Attn_OrderOp<string mnemonic> : Attn_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let arguments = (ins AnyStridedMemRef:$turns, Index:$place, Index:$turn, UnitAttr:$by_producer);
  let assemblyFormat = "$turns `[` $place `]` `at` $turn attr-dict `:` type($turns)";
}

def Attn_AwaitOrderOp : Attn_OrderOp<"await_order"> {
  let summary = "until the blocks in front of this one have added to a tile";
  let description = [{
    Several blocks add to one tile in global memory, in an order that `turns` keeps: `turns[place]` counts the blocks that
    have added to the tile. The block goes on when this is `turn`, and sees what the others have added. Sums have the same
    bits each time.

    Beside a producer, the op is in both of its roles: with `by_producer`, a thread that copies reads the count, and gives
    the turn to the consumers, which wait for that. So no warp that multiplies waits for memory.

    ```mlir
    attn.await_order %turns[%place] at %block : memref<129xi32>
    attn.add_rows ins(%part : …) outs(%dq : …) {maps = […]}
    attn.pass_order %turns[%place] at %block : memref<129xi32>
    ```
  }];
}

def Attn_PassOrderOp : Attn_OrderOp<"pass_order"> {
  let summary = "the block has added to a tile; the next one may";
  let description = [{
    `turns[place]` becomes `turn + 1`, behind what the block has added (`attn.await_order`).
  }];
}

def Attn_TakeTicketOp : Attn_Op<"take_ticket", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the number of a block by when it has started";
  let description = [{
    `turns[0]` counts the blocks of the grid that have started; the result is the count in front of this one. A block that
    waits for those of lower numbers (`attn.await_order`) waits for blocks that run, in whatever order and however many at
    a time the device starts them.

    ```mlir
    %block = attn.take_ticket %turns : memref<129xi32>
    ```
  }];
  let arguments = (ins AnyStridedMemRef:$turns);
  let results = (outs Index:$number);
  let assemblyFormat = "$turns attr-dict `:` type($turns)";
}

def Attn_ExchangeOp : Attn_Op<"exchange", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a tile in registers, transposed, in shared memory for the products of all warps";
  let description = [{
    `output[j, i] = input[i, j]`. A `gpu.barrier` stands between it and the product that reads the tile. The tile has two
    places in turn: while some warps write one, others may read the other one.

    ```mlir
    attn.exchange ins(%g : tensor<128x64xbf16, #attn.registers>)
        outs(%tile : memref<64x128xbf16, #gpu.address_space<workgroup>>)
    gpu.barrier
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyStridedMemRef:$output);
  let assemblyFormat = "`ins` `(` $input `:` type($input) `)` `outs` `(` $output `:` type($output) `)` attr-dict";
}

def Attn_AddRowsOp : Attn_Op<"add_rows", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "adds a tile in registers to rows of global memory";
  let description = [{
    `output[i, e] += input[i, e]` for the rows of output; the tile may have more. Other blocks that add to the same rows do
    so before or behind it (`attn.await_order`).

    Domain: (batch…, query, key, column), that of the product.

    ```mlir
    attn.add_rows ins(%part : tensor<64x128xf32, #attn.registers>) outs(%dq : memref<1x1x64x128xf32, …>) {maps = […]}
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyStridedMemRef:$output, AffineMapArrayAttr:$maps);
  let assemblyFormat = "`ins` `(` $input `:` type($input) `)` `outs` `(` $output `:` type($output) `)` attr-dict";
}

//===----------------------------------------------------------------------===//
// Roles of warps
//===----------------------------------------------------------------------===//

def Attn_TakeTurnOp : Attn_Op<"take_turn", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "until it is the turn of the warps that multiply together";
  let description = [{
    Groups of warps that multiply together start their products one group after the other, so that one multiplies while
    another computes its softmax. A group waits here until the one in front of it has passed the turn on
    (`attn.pass_turn`); the last group is in front of the first one. All groups execute as many of each of the two ops.

    ```mlir
    attn.take_turn
    %s0 = attn.product ins(%qt, %kt : …) outs(%e : …) {async, contraction = #attn.contraction<scores>} -> …
    %a0 = attn.product ins(%p, %vt : …) outs(%acc : …) {accumulate, async, contraction = #attn.contraction<values>} -> …
    attn.pass_turn
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Attn_PassTurnOp : Attn_Op<"pass_turn", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "gives the turn to the next warps that multiply together";
  let description = [{
    The group behind this one may go on behind its `attn.take_turn`; the first group is behind the last one. With
    `first`, the last group alone passes a turn, the first one of all.

    ```mlir
    attn.pass_turn first
    ```
  }];
  let arguments = (ins UnitAttr:$first);
  let assemblyFormat = "(`first` $first^)? attr-dict";
}

def Attn_WarpRolesOp : Attn_Op<"warp_roles", [NoTerminator, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "a program for the warps that copy, and one for the warps that multiply";
  let description = [{
    The first warps of the block, as many as the schedule says, are consumers. The others are producers, and one thread of
    them executes the region of that name. The two communicate by the tiles: each of them has so many `stages`, which
    `attn.copy … box` of the producer fills in turn and which the consumers wait for (`attn.wait … stages`) and release
    (`attn.release`). Both begin with the first stage. `registers` is what a thread of the role has, where it is given;
    otherwise each has what the kernel starts with.

    ```mlir
    attn.warp_roles stages(2 of %kt, %vt : memref<64x128xbf16, #gpu.address_space<workgroup>>, …)
        producer(registers = 40) {
      scf.for … {
        attn.copy ins(%k : …) outs(%kt : …) box(%map : !llvm.ptr) [%b, %h, %j, %c0] : !attn.token
        …
      }
    } consumer(registers = 232) {
      scf.for … {
        attn.wait stages(%kt : …)
        attn.product ins(%qt, %kt : …) outs(%s : …) {contraction = #attn.contraction<scores>}
        attn.release %kt : …
        …
      }
    }
    ```
  }];
  let arguments = (ins Variadic<AnyStridedMemRef>:$tiles, I64Attr:$stages, OptionalAttr<I64Attr>:$producer_registers,
                       OptionalAttr<I64Attr>:$consumer_registers);
  let regions = (region SizedRegion<1>:$producer, SizedRegion<1>:$consumer);
  let assemblyFormat = [{
    `stages` `(` $stages `of` $tiles `:` type($tiles) `)` attr-dict
        `producer` (`(` `registers` `=` $producer_registers^ `)`)? $producer
        `consumer` (`(` `registers` `=` $consumer_registers^ `)`)? $consumer
  }];
}

#endif // ATTN_IR_ATTNBLOCKOPS_TD
