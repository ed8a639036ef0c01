//===- AttnAttrs.td - attributes of the attn dialect --------*- tablegen -*-===//
//
// Alignment of causal masks, windows, kinds of scores and page layouts; the
// schedules are in attn/Schedule.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_ATTNATTRS_TD
#define ATTN_IR_ATTNATTRS_TD

include "attn/IR/AttnBase.td"
include "attn/Schedule/ScheduleAttrs.td"

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
    I32EnumAttrCase<"EndQuery", 6, "end_query">, I32EnumAttrCase<"FirstKey", 7, "first_key">,
    I32EnumAttrCase<"EndKey", 8, "end_key">]> {
  let cppNamespace = "::attn";
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

def Attn_Contraction : I32EnumAttr<"Contraction", "which dimension a product sums over", [
    I32EnumAttrCase<"Scores", 0, "scores">, I32EnumAttrCase<"Values", 1, "values">]> {
  let cppNamespace = "::attn";
  let genSpecializedAttr = 0;
}

def Attn_ContractionAttr : EnumAttr<Attn_Dialect, Attn_Contraction, "contraction"> {
  let summary = "scores: Q K^T, over the head size; values: P V, over the keys";
  let assemblyFormat = "`<` $value `>`";
}

def Attn_RegistersAttr : AttrDef<Attn_Dialect, "Registers"> {
  let mnemonic = "registers";
  let summary = "encoding of a tile that the threads of a block hold in registers";
  let description = [{
    `tensor<1x1x128x64xf32, #attn.registers>` is a tile of scores, weights or the running state of a GPU kernel
    (attn-tiles-to-registers). Warps have rows of it, as the schedule says, and the instruction says which thread has
    which element (docs/GPU.md). It may stand beside memrefs in one op, which reads or writes memory by these alone. A
    tile that an op writes is not used behind it: the result takes its registers.
  }];
}

#endif // ATTN_IR_ATTNATTRS_TD
