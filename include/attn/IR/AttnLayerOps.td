//===- AttnLayerOps.td - caches, pages and whole layers -----*- tablegen -*-===//
//
// The surroundings of attention: views of paged caches, writing to caches, and
// multi-head attention with its projections. Each is sugar for simpler ops,
// except gather_pages, which the tiler reads through.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_ATTNLAYEROPS_TD
#define ATTN_IR_ATTNLAYEROPS_TD

include "attn/IR/AttnAttrs.td"
include "attn/IR/AttnBase.td"

// Destination-passing style without indexing maps: the last operand is the destination.
class Attn_LayerOp<string mnemonic, list<Trait> traits = []> : Attn_Op<mnemonic, !listconcat(traits, [
    DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>])> {
  let hasVerifier = 1;
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutputMutable(); }
  }];
}

def Attn_GatherPagesOp : Attn_LayerOp<"gather_pages", [AttrSizedOperandSegments]> {
  let summary = "the keys or values of a paged cache, as if they lay one after the other";
  let description = [{
    `output[b, h, j, d] = cache[block_table[b, first + j floordiv page], (first + j) mod page, head + h, d]` for the j
    below the length of its batch index, 0 beyond it: entries of the table and rows past the length are never read (Kwon
    et al., "Efficient memory management for large language model serving with PagedAttention", SOSP 2023). `attn-tile`
    writes `batch`, `head` and `first_key`, the position of a tile in the whole. It reads a tile of pages at a time if K
    or V is such a view, so the whole is never in memory.

    A cache without head size holds a number a row, as the scales of quantised rows are, and one of shape (pages, Hkv) a
    number a page of `rows_per_page` rows. As a kv_scale they are read in their pages, too.

    * C17: cache has rank 4 in the order of `page_layout`, rank 3 without the head size, or rank 2, (pages, Hkv), beside
      `rows_per_page`; block_table has rank 2, lengths rank 1, of i32. Output is (B, Hkv, Sk, D), or (B, Hkv, Sk), with Sk at
      most the pages of the table times the page size.

    ```mlir
    %k = attn.gather_pages ins(%cache, %table : tensor<24x16x2x64xf32>, tensor<2x12xi32>) lengths(%n : tensor<2xi32>)
        outs(%init : tensor<2x2x192x64xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<2x2x192x64xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$cache, Attn_Shaped:$block_table, Attn_Shaped:$lengths, Optional<Index>:$batch,
                       Optional<Index>:$head, Optional<Index>:$first_key, Attn_Shaped:$output,
                       Attn_PageLayoutAttr:$page_layout, OptionalAttr<I64Attr>:$rows_per_page);
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutputMutable(); }
    ::attn::CacheDims getCacheDims(); ///< not for a cache of one value per page
    int64_t getPageSize(); ///< in rows
    /// The position in the cache of output[batch, head, key], or of its first column: (page, row, head) in the cache's
    /// order. The page is read from the table at the builder's position.
    ::llvm::SmallVector<::mlir::Value, 4> getCachePosition(::mlir::OpBuilder &builder, ::mlir::Location loc,
                                                           ::mlir::Value batch, ::mlir::Value head, ::mlir::Value key);
  }];
  let assemblyFormat = [{
    `ins` `(` $cache `,` $block_table `:` type($cache) `,` type($block_table) `)` `lengths` `(` $lengths `:` type($lengths) `)`
        (`at` `(` $batch^ `,` $head `,` $first_key `)`)? `outs` `(` $output `:` type($output) `)` attr-dict
        (`->` type($results)^)?
  }];
}

def Attn_KvAppendOp : Attn_LayerOp<"kv_append", [AttrSizedOperandSegments]> {
  let summary = "writes new rows of K or V into a cache, from a position per batch index on";
  let description = [{
    `cache[b, h, positions[b] + n, d] = input[b, h, n, d]`; with a block_table, row r of batch index b is row r mod page
    of page `block_table[b, r floordiv page]`. The rest of the cache stays as it is. A row beyond the end of the cache
    is dropped. Rows of another type are converted: to a float of 16 bits or more rounded to the nearest, ties to even; to i8,
    f8E4M3FN and f8E5M2 as `input / scale`, rounded likewise and limited to the largest finite numbers of the type, infinities
    too. A NaN stays one in f8 and is 0 in i8.

    * C19: input is (B, Hkv, N, D); the cache is (B, Hkv, capacity, D), or paged in the order of `page_layout`, which
      stands with block_table (B, pages of a batch index) of i32; positions is (B) of i32. A page has at least one row.
      Input has the type of the cache or is one of f32, bf16, f16, f64, f64 not beside a cache of 8 bits. Scale is f32,
      (Hkv), one a head, or (B, Hkv, N), one a row, beside a cache of 8 bits that input is converted to; left out, it is 1.

    ```mlir
    %new = attn.kv_append ins(%rows : tensor<2x2x1x64xf32>) positions(%p : tensor<2xi32>)
        outs(%cache : tensor<2x2x203x64xf32>) -> tensor<2x2x203x64xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$input, Attn_Shaped:$positions, Optional<Attn_Shaped>:$block_table,
                       Optional<Attn_Shaped>:$scale, Attn_Shaped:$output,
                       OptionalAttr<Attn_PageLayoutAttr>:$page_layout);
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutputMutable(); }
    ::attn::CacheDims getCacheDims();
  }];
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` `positions` `(` $positions `:` type($positions) `)`
        (`block_table` `(` $block_table^ `:` type($block_table) `)`)? (`scale` `(` $scale^ `:` type($scale) `)`)?
        `outs` `(` $output `:` type($output) `)` attr-dict (`->` type($results)^)?
  }];
}

def Attn_MultiHeadOp : Attn_LayerOp<"multi_head"> {
  let summary = "multi-head self-attention with its projections";
  let description = [{
    `output = concat_h(sdpa(x W_Q, x W_K, x W_V)_h) W_O` (Vaswani et al., arXiv:1706.03762). Heads are contiguous ranges
    of columns of the projections. They are views: no copy splits or merges them.

    * C20: x is (B, S, E), w_q (E, heads * D), w_k (E, kv_heads * D), w_v (E, kv_heads * Dv), w_o (heads * Dv, E'),
      output (B, S, E'), all of one floating-point type; heads is a multiple of kv_heads; the default of kv_heads is
      heads. Columns of weights are static.
    * C5, C6, C9, C12, C14: causal, softcap, scale, window and align as for `attn.sdpa` without causal_offset; there are
      as many queries as keys, so an alignment is not needed.

    ```mlir
    %y = attn.multi_head ins(%x, %wq, %wk, %wv, %wo : tensor<1x5x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>,
                             tensor<8x8xf32>, tensor<8x8xf32>) outs(%init : tensor<1x5x8xf32>) {heads = 2}
        -> tensor<1x5x8xf32>
    ```
  }];
  let arguments = (ins Attn_Shaped:$x, Attn_Shaped:$w_q, Attn_Shaped:$w_k, Attn_Shaped:$w_v, Attn_Shaped:$w_o,
                       Attn_Shaped:$output, I64Attr:$heads, OptionalAttr<I64Attr>:$kv_heads,
                       OptionalAttr<F64Attr>:$scale, OptionalAttr<AnyAttr>:$causal, OptionalAttr<Attn_WindowAttr>:$window,
                       OptionalAttr<Attn_CausalAttr>:$align, OptionalAttr<F64Attr>:$softcap);
  let assemblyFormat = [{
    `ins` `(` $x `,` $w_q `,` $w_k `,` $w_v `,` $w_o `:` type($x) `,` type($w_q) `,` type($w_k) `,` type($w_v) `,` type($w_o)
        `)` `outs` `(` $output `:` type($output) `)` attr-dict (`->` type($results)^)?
  }];
}

#endif // ATTN_IR_ATTNLAYEROPS_TD
