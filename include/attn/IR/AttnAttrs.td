//===- AttnAttrs.td - attributes of the attn dialect --------*- tablegen -*-===//
//
// Alignment of causal masks, windows, kinds of scores, page layouts, and the
// schedule of a kernel.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_ATTNATTRS_TD
#define ATTN_IR_ATTNATTRS_TD

include "attn/IR/AttnBase.td"

def Attn_CausalAlignment : I32EnumAttr<"CausalAlignment", "where the diagonal of a causal mask ends", [
    I32EnumAttrCase<"TopLeft", 0, "top_left">,
    I32EnumAttrCase<"BottomRight", 1, "bottom_right">,
    I32EnumAttrCase<"Offset", 2, "offset">]> {
  let cppNamespace = "::attn";
  let genSpecializedAttr = 0;
}

def Attn_CausalAttr : EnumAttr<Attn_Dialect, Attn_CausalAlignment, "causal"> {
  let summary = "a causal mask: keeps key j for query i iff j <= i + off";
  let description = [{
    `#attn.causal<top_left>` has off = 0, `#attn.causal<bottom_right>` has
    off = Sk - Sq with the effective lengths of the batch index, and
    `#attn.causal<offset>` has off = causal_offset[b]. There is no default:
    other systems disagree about it.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Attn_WindowAttr : AttrDef<Attn_Dialect, "Window"> {
  let mnemonic = "window";
  let summary = "a sliding window, inclusive: keeps key j for query i iff i + off - left <= j <= i + off + right";
  let description = [{
    off is that of the causal alignment, or of `align` where there is no causal
    mask. A side left out is unbounded. A window of W keys that ends at the
    query is left = W - 1, right = 0.

    ```mlir
    #attn.window<left = 127, right = 0>
    #attn.window<left = 127>
    ```
  }];
  let parameters = (ins OptionalParameter<"std::optional<int64_t>">:$left,
                        OptionalParameter<"std::optional<int64_t>">:$right);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Attn_IndexKind : I32EnumAttr<"IndexKind", "a position in the score matrix", [
    I32EnumAttrCase<"Batch", 0, "batch">, I32EnumAttrCase<"Head", 1, "head">,
    I32EnumAttrCase<"KvHead", 2, "kv_head">, I32EnumAttrCase<"Query", 3, "query">,
    I32EnumAttrCase<"Key", 4, "key">, I32EnumAttrCase<"FirstQuery", 5, "first_query">,
    I32EnumAttrCase<"EndQuery", 6, "end_query">]> {
  let cppNamespace = "::attn";
}

def Attn_KernelKind : I32EnumAttr<"KernelKind", "the family of a tile's kernel", [
    I32EnumAttrCase<"Prefill", 0, "prefill">, I32EnumAttrCase<"Decode", 1, "decode">]> {
  let cppNamespace = "::attn";
  let genSpecializedAttr = 0;
}

def Attn_ProductKind : I32EnumAttr<"ProductKind", "the instruction of the two products of a tile", [
    I32EnumAttrCase<"FMA", 0, "fma">, I32EnumAttrCase<"Dot", 1, "dot">, I32EnumAttrCase<"MMA", 2, "mma">,
    I32EnumAttrCase<"TF32", 3, "tf32">, I32EnumAttrCase<"AMX", 4, "amx">]> {
  let cppNamespace = "::attn";
  let genSpecializedAttr = 0;
}

def Attn_ScheduleAttr : AttrDef<Attn_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "tile sizes of a kernel: policy, written by attn-select-schedule or by hand";
  let description = [{
    `query_tile` rows of Q and `key_tile` keys make one tile; `lanes` elements fill a vector register. Two kernels:

    * `prefill`, the transposed tile: lanes are query rows. The register kernels hold `row_block` rows of the tile (keys,
      or columns of V) times `lane_vectors` vectors of query rows as accumulators, and fewer vectors where less is left of
      `query_tile`, a multiple of `lanes`.
    * `decode`, for few query rows: lanes are columns of K and V. A tile holds the query heads that share a head of K,
      `query_tile` rows of each; the register kernels hold `row_block` keys, but at most 4 at once, times `lane_vectors`
      query rows. With `split_keys` greater than 0, ranges of so many keys are folded independently and merged
      (`attn.merge_states`). `kv_heads` greater than 1 puts so many heads of K, and those of Q that share them, into one
      tile, and goes through them inside of the loop over key tiles: where a key's heads lie side by side, memory is then
      read line by line. `attn-tile` refuses it where heads visit keys of their own.

    `product = dot` multiplies pairs of bf16 in one instruction where the target has it, and in decode kernels four bytes
    of int8 K and V beside a Q of 16 bits; `fma` widens to the type of the accumulation. `product = amx`, for `prefill`
    and bf16 in heads of multiples of 32, multiplies tiles of 16 rows by pairs (tdpbf16ps) where a key tile is whole, and
    does others as `dot`; `lanes` are 16 and `key_tile` is a multiple of 32. It is never selected, as the process has to
    ask the system for the tiles first. Kernels ask for rows of K and V `prefetch` rows ahead; 0 leaves that to the
    processor, but for the first row of each place that is read at once.

    On a GPU `warps` is greater than 0: a block of so many warps of `lanes` threads has a tile. Rows stay rows: each warp
    holds `row_block` of them, all heads' and queries' together, and takes the products in fragments of 16 rows by
    `product = mma` (m16n8k16 of 16-bit inputs), `tf32` (m16n8k8 of rounded f32) or `fma`. `prefill` and `decode` then say
    whether a tile has one head or those that share a head of K.

    ```mlir
    #attn.schedule<query_tile = 64, key_tile = 64, lanes = 16, row_block = 4, lane_vectors = 4>
    #attn.schedule<query_tile = 1, key_tile = 64, lanes = 16, row_block = 4, lane_vectors = 4, kernel = decode,
                   split_keys = 1024>
    #attn.schedule<query_tile = 128, key_tile = 64, lanes = 32, row_block = 32, lane_vectors = 1, product = mma, warps = 4>
    ```
  }];
  let parameters = (ins "int64_t":$query_tile, "int64_t":$key_tile, "int64_t":$lanes, "int64_t":$row_block,
                        "int64_t":$lane_vectors,
                        DefaultValuedParameter<"::attn::KernelKind", "::attn::KernelKind::Prefill">:$kernel,
                        DefaultValuedParameter<"::attn::ProductKind", "::attn::ProductKind::FMA">:$product,
                        DefaultValuedParameter<"int64_t", "0">:$split_keys, DefaultValuedParameter<"int64_t", "0">:$prefetch,
                        DefaultValuedParameter<"int64_t", "0">:$warps, DefaultValuedParameter<"int64_t", "1">:$kv_heads);
  let extraClassDeclaration = [{
    /// Rows of a block's fragments: as many as the tile has, or more.
    int64_t getBlockRows() const { return getRowBlock() * getWarps(); }
    bool isGpu() const { return getWarps() > 0; }
    /// A prefill tile holds Q in pairs of bf16.
    bool usesPairs() const {
      return getKernel() == KernelKind::Prefill &&
             (getProduct() == ProductKind::Dot || getProduct() == ProductKind::AMX);
    }
    ScheduleAttr withProduct(ProductKind product) const {
      return get(getContext(), getQueryTile(), getKeyTile(), getLanes(), getRowBlock(), getLaneVectors(), getKernel(),
                 product, getSplitKeys(), getPrefetch(), getWarps(), getKvHeads());
    }
  }];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Attn_ScoreKind : I32EnumAttr<"ScoreKind", "how a query row scores a key row", [
    I32EnumAttrCase<"General", 0, "general">, I32EnumAttrCase<"Additive", 1, "additive">]> {
  let cppNamespace = "::attn";
  let genSpecializedAttr = 0;
}

def Attn_ScoreKindAttr : EnumAttr<Attn_Dialect, Attn_ScoreKind, "score_kind"> {
  let summary = "general: q^T W k; additive: w^T tanh(W_q q + W_k k)";
  let assemblyFormat = "`<` $value `>`";
}

def Attn_PageLayout : I32EnumAttr<"PageLayout", "the order of dimensions in a page of a cache", [
    I32EnumAttrCase<"NHD", 0, "nhd">, I32EnumAttrCase<"HND", 1, "hnd">]> {
  let cppNamespace = "::attn";
  let genSpecializedAttr = 0;
}

def Attn_PageLayoutAttr : EnumAttr<Attn_Dialect, Attn_PageLayout, "page_layout"> {
  let summary = "nhd: cache [pages, page, Hkv, D]; hnd: cache [pages, Hkv, page, D]";
  let assemblyFormat = "`<` $value `>`";
}

#endif // ATTN_IR_ATTNATTRS_TD
