//===- ScheduleAttrs.td - one schedule for each kind of kernel -*- tablegen -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_SCHEDULE_SCHEDULEATTRS_TD
#define ATTN_SCHEDULE_SCHEDULEATTRS_TD

include "attn/IR/AttnBase.td"
include "attn/Schedule/ScheduleInterface.td"

def Attn_Instruction : I32EnumAttr<"Instruction", "the instruction of the two products of a tile", [
    I32EnumAttrCase<"FMA", 0, "fma">, I32EnumAttrCase<"Pairs", 1, "pairs">, I32EnumAttrCase<"Bytes", 2, "bytes">,
    I32EnumAttrCase<"AMX", 3, "amx">, I32EnumAttrCase<"MMA", 4, "mma">, I32EnumAttrCase<"TF32", 5, "tf32">,
    I32EnumAttrCase<"WGMMA", 6, "wgmma">, I32EnumAttrCase<"FMALanes", 7, "fma_lanes">,
    I32EnumAttrCase<"Quads", 8, "quads">]> {
  let cppNamespace = "::attn";
  let genSpecializedAttr = 0;
}

def Attn_InstructionAttr : EnumAttr<Attn_Dialect, Attn_Instruction, "instruction"> {
  let description = [{
    * `fma`: multiply-add in the type of the accumulation, to which narrower elements are widened. On a GPU, f32.
    * `fma_lanes`: multiply-add of f32 whose factor is an element of a vector (fmla by element), in prefill kernels.
    * `pairs`: pairs of bf16 (vdpbf16ps, bfdot), also in kernels for gradients.
    * `quads`: 2 x 2 sums of quads of bf16 (bfmmla), in prefill kernels.
    * `bytes`: four bytes of int8 K and V beside a Q of 16 bits (vpdpbusd), in decode kernels.
    * `amx`: tiles of 16 rows by pairs (tdpbf16ps), in prefill kernels, of wider elements as `parts` of bf16, in decode
      kernels whose tiles have a multiple of 16 rows, and for gradients. Keys that are short of a whole tile are
      multiplied as one, in which the rest of K has any value and the rest of V and of the weights is 0.
    * `mma`: m16n8k16 of 16-bit inputs, on a GPU. `tf32`: m16n8k8 of rounded f32.
    * `wgmma`: m64nNk16 of 16-bit inputs by four warps, which read K and V from shared memory, on sm_90a. A warp has 16
      rows.

    `getInfo` has what the rest of the compiler needs of an instruction, as data.
  }];
  let returnType = "::attn::InstructionAttr";
  let convertFromStorage = "$_self";
  let extraClassDeclaration = [{
    const InstructionInfo &getInfo() const;
    static InstructionAttr getFMA(::mlir::MLIRContext *context) { return get(context, Instruction::FMA); }
  }];
}

class Attn_Schedule<string name, string text> : AttrDef<Attn_Dialect, name, [Attn_ScheduleAttr]> {
  let mnemonic = text;
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

class Attn_Default<string value> : DefaultValuedParameter<"int64_t", value>;
def Attn_DefaultFMA : DefaultValuedParameter<"::attn::InstructionAttr", "::attn::InstructionAttr::getFMA($_ctxt)"> {
  let printer = "$_printer << ::attn::stringifyInstruction($_self.getValue())";
}

def Attn_PrefillAttr : Attn_Schedule<"Prefill", "prefill"> {
  let summary = "schedule of a CPU kernel for many query rows, which are the lanes of vectors";
  let description = [{
    `query_tile` rows of Q, a multiple of `lanes`, and `key_tile` keys make one tile; `lanes` elements fill a vector
    register. The register kernels hold `block_rows` rows of the tile (keys, or columns of V) times `block_vectors`
    vectors of query rows as accumulators, and fewer vectors where less is left of `query_tile`. Kernels prefetch rows of
    K and V `prefetch` rows ahead; 0 leaves that to the processor.

    With `overlap`, a step that tiles multiply (`instruction = amx`) is made of units of 32 query rows, of which
    `query_tile` has a whole number. While tiles multiply the scores of one unit and the output of another, vectors make
    the weights of a third. Steps have no units, and their parts follow each other, if they modify weights (`weight_mod`,
    dropout), have less than a whole key tile, or have score functions beside a dynamic number of rows.

    With `pack_first`, V is packed in front of the loop over query tiles, once for all of them, into memory of its own
    size, and so is K where it is widened or gathered. Without, each query tile packs what it visits. Only
    `instruction = amx` has it.

    With `parts` = N, 2 or 3, tiles multiply wider elements as the sum of N parts of bf16 that add up to them: of f16
    always 2, of f32 3, which are exact, or 2 of 16 bits together. A product is the sum of those of parts i and j with
    i + j <= 2, 4 or 6 in all. f32 of 3 parts (bf16x6) is as exact as `instruction = fma`, so that it is policy; of 2
    it is not, and is a choice by hand, as `tf32` is on a GPU.

    ```mlir
    #attn.prefill<query_tile = 64, key_tile = 64, lanes = 16, block_rows = 4, block_vectors = 4>
    #attn.prefill<query_tile = 128, key_tile = 128, lanes = 16, block_rows = 4, block_vectors = 4, instruction = amx,
                  overlap = true, pack_first = true>
    #attn.prefill<query_tile = 128, key_tile = 128, lanes = 16, block_rows = 4, block_vectors = 4, instruction = amx,
                  overlap = true, parts = 3>
    ```
  }];
  let parameters = (ins "int64_t":$query_tile, "int64_t":$key_tile, "int64_t":$lanes, "int64_t":$block_rows,
                        "int64_t":$block_vectors, Attn_DefaultFMA:$instruction, Attn_Default<"0">:$prefetch,
                        DefaultValuedParameter<"bool", "false">:$overlap,
                        DefaultValuedParameter<"bool", "false">:$pack_first, Attn_Default<"1">:$parts);
  let extraClassDeclaration = [{
    /// Query rows of a unit of an overlapped step.
    static constexpr int64_t kUnitRows = 32;
    ::llvm::LogicalResult verifyFor(::mlir::Operation *op, const ::attn::TargetInfo *target) const;
    ::llvm::LogicalResult verifyTarget(::mlir::Operation *op, ::mlir::Type sum, const ::attn::TargetInfo &target) const;
  }];
}

def Attn_DecodeAttr : Attn_Schedule<"Decode", "decode"> {
  let summary = "schedule of a CPU kernel for few query rows; lanes are columns of K and V";
  let description = [{
    A tile has `query_tile` rows of each query head that shares a head of K. These are all query rows. With `heads`
    greater than 0, so many of these heads are a tile, and the others of a group are other tiles. The register
    kernels hold `block_queries` of these rows, a power of two, times as many keys as then fill `lanes` products, but at
    most 4 at once. With `split_keys` greater than 0, ranges of so many keys have running states of their own, which are
    merged (`attn.merge_states`). `kv_heads` greater than 1 puts so many heads of K, and those of Q that share them,
    into one tile. The loop over heads is then inside of the loop over key tiles: where the heads of a key lie side by
    side, memory is read line by line. K and V are prefetched `prefetch` rows ahead. 0 leaves that to the processor,
    except for the first row of each segment.

    ```mlir
    #attn.decode<query_tile = 1, key_tile = 64, lanes = 16, block_queries = 4, split_keys = 1024>
    ```
  }];
  let parameters = (ins "int64_t":$query_tile, "int64_t":$key_tile, "int64_t":$lanes, "int64_t":$block_queries,
                        Attn_DefaultFMA:$instruction, Attn_Default<"0">:$split_keys, Attn_Default<"0">:$prefetch,
                        Attn_Default<"1">:$kv_heads, Attn_Default<"0">:$heads);
  let extraClassDeclaration = [{
    bool sharesKeys() const { return true; }
    /// Query heads of a tile that share a key head, in a group of `groupSize`: std::gcd(0, n) is n.
    int64_t getHeadsOfGroup(int64_t groupSize) const { return std::gcd(getHeads(), groupSize); }
    /// Keys of a block of products with Q, for a tile of `rows` rows: also its number of segments, if keys may be in
    /// any order.
    int64_t getKeyBlock(int64_t rows) const;
    ::llvm::LogicalResult verifyFor(::mlir::Operation *op, const ::attn::TargetInfo *target) const;
    ::llvm::LogicalResult verifyTarget(::mlir::Operation *op, ::mlir::Type sum, const ::attn::TargetInfo &target) const;
  }];
}

def Attn_BackwardAttr : Attn_Schedule<"Backward", "backward"> {
  let summary = "schedule of a CPU kernel for gradients, whose lanes are keys";
  let description = [{
    `query_tile` rows of Q and `key_tile` keys make one tile. The loop over key tiles is the outer one: the gradients of
    K and V of a tile stay in the cache, that of Q is added to in memory. The register kernels of the five products hold
    `block_rows` rows times `block_vectors` vectors of `lanes` keys (in the product with K, columns) as accumulators. So
    many keys are a panel, of which `key_tile` has a whole number. With `instruction = amx` a block is 32 rows by 32 keys
    or columns, of which `query_tile` and panels have a whole number.

    A task is a batch index and a head of K. With `chunks` = N greater than 1, queries and keys are N chunks each, of
    whole tiles, and a task has one pair of chunks. Tasks run in N phases: in phase f, chunk c of the keys meets chunk
    (f - c) mod N of the queries, so no two tasks of a phase add to the same rows. A shared bias whose gradient is asked
    for has phases of its own, and no chunks.

    ```mlir
    #attn.backward<query_tile = 96, key_tile = 128, lanes = 8, block_rows = 6, block_vectors = 2>
    #attn.backward<query_tile = 96, key_tile = 128, lanes = 16, block_rows = 12, block_vectors = 2, instruction = pairs,
                   chunks = 8>
    #attn.backward<query_tile = 128, key_tile = 128, lanes = 16, block_rows = 32, block_vectors = 2, instruction = amx>
    ```
  }];
  let parameters = (ins "int64_t":$query_tile, "int64_t":$key_tile, "int64_t":$lanes, "int64_t":$block_rows,
                        "int64_t":$block_vectors, Attn_DefaultFMA:$instruction, Attn_Default<"1">:$chunks);
  let extraClassDeclaration = [{
    /// Keys of a panel.
    int64_t getPanelKeys() const { return getBlockVectors() * getLanes(); }
    ::llvm::LogicalResult verifyFor(::mlir::Operation *op, const ::attn::TargetInfo *target) const;
    ::llvm::LogicalResult verifyTarget(::mlir::Operation *op, ::mlir::Type sum, const ::attn::TargetInfo &target) const;
  }];
}

def Attn_BlockAttr : Attn_Schedule<"Block", "block"> {
  let summary = "schedule of a GPU kernel: a block of warps has a tile";
  let description = [{
    A block of `warps` warps has a tile of `query_tile` rows of Q and `key_tile` keys. Each warp holds `warp_rows` rows,
    all heads' and queries' together, and multiplies in fragments of 16 rows. With `shared_keys` a tile has all query
    rows of the heads that share a head of K; only then keys may be split (`split_keys`), as in `#attn.decode`.

    K and V have `stages` tiles each in shared memory. With `producer`, four more warps copy them by tensor maps, as far
    ahead as there are tiles: those of `instruction = wgmma`, and columns of gradients that are keys, or queries of which
    no mask leaves one without keys. One tile is left, and no producer, where no tensor map describes the rows, and a
    remark says why. Otherwise the warps that multiply copy, and 2 `stages` - 1 tiles are copied at any time; one of them
    is used where each step fills its own (block maps, pages, converted rows).

    With `fused`, one kernel has all gradients, by five products a tile where two kernels have seven: a block of keys adds
    its part of dQ to memory, in the order of the key tiles, so that the bits are the same each time. It is of
    `instruction = wgmma` and 8 warps.

    ```mlir
    #attn.block<query_tile = 128, key_tile = 64, warps = 4, warp_rows = 32, instruction = mma>
    #attn.block<query_tile = 128, key_tile = 128, warps = 8, warp_rows = 16, instruction = wgmma, stages = 2,
                producer = true>
    #attn.block<query_tile = 1, key_tile = 32, warps = 1, warp_rows = 16, instruction = mma, shared_keys = true,
                stages = 2>
    ```
  }];
  let parameters = (ins "int64_t":$query_tile, "int64_t":$key_tile, "int64_t":$warps, "int64_t":$warp_rows,
                        Attn_DefaultFMA:$instruction, DefaultValuedParameter<"bool", "false">:$shared_keys,
                        Attn_Default<"0">:$split_keys, Attn_Default<"1">:$stages,
                        DefaultValuedParameter<"bool", "false">:$producer,
                        DefaultValuedParameter<"bool", "false">:$fused);
  let builders = [AttrBuilder<(ins "int64_t":$query_tile, "int64_t":$key_tile, "int64_t":$warps, "int64_t":$warp_rows,
                                   "::attn::InstructionAttr":$instruction, "bool":$shared_keys, "int64_t":$split_keys,
                                   "int64_t":$stages, "bool":$producer), [{
    return $_get($_ctxt, query_tile, key_tile, warps, warp_rows, instruction, shared_keys, split_keys, stages, producer,
                 /*fused=*/false);
  }]>];
  let extraClassDeclaration = [{
    /// Threads of a warp.
    static int64_t getLanes() { return 32; }
    int64_t getThreads() const { return getLanes() * getWarps(); }
    /// Rows of a block's fragments: at least those of the tile.
    int64_t getBlockRows() const { return getWarpRows() * getWarps(); }
    bool sharesKeys() const { return getSharedKeys(); }
    /// The same without a producer, with `stages` stages.
    BlockAttr withoutProducer(int64_t stages) const;
    /// Shared memory of the tile of `op`, an sdpa or online_step.
    int64_t getSharedBytes(::mlir::Operation *op) const;
    ::llvm::LogicalResult verifyFor(::mlir::Operation *op, const ::attn::TargetInfo *target) const;
    ::llvm::LogicalResult verifyTarget(::mlir::Operation *op, ::mlir::Type sum, const ::attn::TargetInfo &target) const;
  }];
}

#endif // ATTN_SCHEDULE_SCHEDULEATTRS_TD
