//===- TilePasses.td - from attn.sdpa to tiles --------------*- tablegen -*-===//
//
// What phases analyze-mask to tile run, and attn-decompose-step on tiles.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TRANSFORMS_TILEPASSES_TD
#define ATTN_TRANSFORMS_TILEPASSES_TD

include "mlir/Pass/PassBase.td"

def AnalyzeMaskPass : Pass<"attn-analyze-mask", "::mlir::func::FuncOp"> {
  let summary = "turn the masks of attn.sdpa into one predicate and find the key ranges of a query tile";
  let description = [{
    Mask sugar (`causal`, `window`, `chunk`, lengths) becomes one `mask_mod` region. The analysis solves conjuncts that
    are linear in the query and key index, their quotients by constants, and run-time values (lengths, offsets), joined
    by and, or, not and select. The region `key_ranges` yields the keys that a query tile visits, and the keys that all
    its rows keep. A conjunct that it cannot solve, as on document ids, sets `block_map`: each call of the kernel first
    classifies the tiles as empty, partial or full. A boolean mask and a bias leave every key partial. A conjunct that
    holds for every query and key of the problem is removed. A sink becomes the region `start`. Later passes do not know
    the original mask.

    Rejects nothing; an analysis remark reports the result for the conjuncts. With `query-ranges=N`, a remark for each
    tile of N keys reports which queries visit it and which keep all its keys: the same analysis for the other axis, as
    in a backward pass.

    ```mlir
    // before
    attn.sdpa … {causal = #attn.causal<top_left>}
    // after
    attn.sdpa … mask_mod {
      %i = attn.index query : index
      %j = attn.index key : index
      %keep = arith.cmpi sle, %j, %i : index
      attn.yield %keep : i1
    } key_ranges {
      %first = attn.index first_query : index
      …
      attn.yield %c0, %end, %c0, %after : index, index, index, index // visited [0, end), full [0, first + 1)
    }
    ```
  }];
  let dependentDialects = ["::attn::AttnDialect"];
  let options = [Option<"queryRanges", "query-ranges", "int64_t", "0",
                        "Keys of a tile whose query ranges are reported; 0: none">];
}

def PadKeySumsPass : Pass<"attn-pad-key-sums", "::mlir::func::FuncOp"> {
  let summary = "give sums of weights a key as many columns as a GPU copies at a time";
  let description = [{
    Sums of weights per key (`key_sums`) are the gradient of a V that is a column of ones. GPU kernels copy rows in
    chunks of 16 bytes, so V, the output and its cotangent are widened to one chunk, and only the first column of the
    gradient is used.

    Skips ops with more columns, or with uses of another result.

    ```mlir
    // before
    %dq, %dk, %sums = attn.sdpa_backward ins(%q, %k, %ones, … : …, tensor<2x99x1xf16>, …) outs(… %init : tensor<2x99x1xf32>)
    // after
    %dq, %dk, %all = attn.sdpa_backward ins(%q, %k, %wide, … : …, tensor<2x99x8xf16>, …) outs(… %0 : tensor<2x99x8xf32>)
    %1 = tensor.extract_slice %all[0, 0, 0] [2, 99, 1] [1, 1, 1] : tensor<2x99x8xf32> to tensor<2x99x1xf32>
    %sums = linalg.generic … ins(%1 : tensor<2x99x1xf32>) outs(%init : tensor<2x99x1xf32>)
    ```
  }];
  let dependentDialects = ["::attn::AttnDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def SplitAccumulationPass : Pass<"attn-split-accumulation", "::mlir::func::FuncOp"> {
  let summary = "merge what attn.sdpa accumulates into its outputs behind it, for a GPU";
  let description = [{
    GPU kernels overwrite their outputs. An `attn.sdpa` with `accumulate` becomes one without, into new tensors, and
    elementwise ops that merge its state with that of the outputs: these are kernels with one thread per element. The
    formula is that of `attn.finalize` with `accumulate`.

    Skips memrefs, and ops without `accumulate`. `attn-select-schedule` rejects an `attn.finalize` with `accumulate` for
    a GPU.

    ```mlir
    // before
    %0:2 = attn.sdpa ins(%q, %k, %v : …) outs(%out, %lse : tensor<2x16x64xf32>, tensor<2x16xf32>) {accumulate} -> …
    // after
    %1:2 = attn.sdpa ins(%q, %k, %v : …) outs(%2, %3 : tensor<2x16x64xf32>, tensor<2x16xf32>) -> …
    %4 = linalg.generic … ins(%1#1, …, %lse : …)
    %5 = linalg.generic … ins(%1#0, %4 : …) outs(%out : tensor<2x16x64xf32>)
    …
    ```
  }];
  let dependentDialects = ["::attn::AttnDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def SplitValuesPass : Pass<"attn-split-values", "::mlir::func::FuncOp"> {
  let summary = "split attn.sdpa by columns of V into as many as the registers of a GPU's block hold";
  let description = [{
    A block keeps its output in registers, 256 columns at most. An `attn.sdpa` of more columns of V becomes several, on
    slices of V and of the output, as for the 512 columns of latent attention (DeepSeek-V2). Each computes the scores
    again, as a remark reports. The first one writes the log-sum-exp. Pages of a cache stay pages. Where warpgroups of a
    block share rows, as in decode of latent heads on sm_90a, up to 512 columns stay.

    Rejects more than 16384 columns, which would be more than 64 kernels; skips fewer than 257, dynamic ones and
    memrefs.

    ```mlir
    // before
    %0 = attn.sdpa ins(%q, %k, %v : tensor<16x1x576xbf16>, …, tensor<16x99x512xbf16>) outs(%o : …) -> tensor<16x1x512xbf16>
    // after
    %v0 = tensor.extract_slice %v[0, 0, 0] [16, 99, 256] [1, 1, 1] : …
    %1 = attn.sdpa ins(%q, %k, %v0 : …) outs(%o0 : tensor<16x1x256xbf16>) -> tensor<16x1x256xbf16>
    %2 = tensor.insert_slice %1 into %o[0, 0, 0] [16, 1, 256] [1, 1, 1] : …
    …
    ```
  }];
  let dependentDialects = ["::attn::AttnDialect", "::mlir::tensor::TensorDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"", "Target as --target of attnc names it">];
}

def SpecializeSequencesPass : Pass<"attn-specialize-sequences", "::mlir::func::FuncOp"> {
  let summary = "compute packed sequences of one or a few queries apart from longer ones";
  let description = [{
    A step of a serving engine packs the queries of all sequences: prompts, single tokens on long caches, and drafts of
    a few tokens. Prompts need another kind of kernel than the others. This pass splits an `attn.sdpa` for a CPU whose
    queries alone are packed (K and V are in pages) into four. The rows of sequences of one query are gathered into a
    dense tensor, (B, Hq, 1, D), with 0 keys for all other sequences; the results of its `attn.sdpa` are copied to their
    rows of the outputs. The same is done for sequences of 2 to 4 and of 5 to 8 queries, (B, Hq, 4, D) and (B, Hq, 8, D)
    with `q_lengths`, in a step that has such sequences. The last `attn.sdpa` skips these rows: `min_queries = 9`.

    Skips an `attn.sdpa` with a schedule, and one whose K and V are packed too. An unknown target is an error.

    ```mlir
    %o = attn.sdpa ins(%q, %k, %v : tensor<?x8x64xf32>, tensor<3x2x?x64xf32>, …) cu_seqlens(%c : tensor<4xi32>) outs(%init …
    // becomes
    %rows = scf.for …  // %q[%c[b]] where %c[b + 1] - %c[b] = 1 : tensor<3x8x1x64xf32>
    %single = attn.sdpa ins(%rows, %k, %v : tensor<3x8x1x64xf32>, …
    %some = scf.for …  // its rows in %init
    %more = scf.if %any4 …  // the same for tensor<3x8x4x64xf32>
    %most = scf.if %any8 …  // and for tensor<3x8x8x64xf32>
    %o = attn.sdpa ins(%q, %k, %v … cu_seqlens(%c : tensor<4xi32>) outs(%most … {min_queries = 9 : i64}
    ```
  }];
  let dependentDialects = ["::attn::AttnDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"", "Target whose kernels are meant.">];
}

def SpecializeQueriesPass : Pass<"attn-specialize-queries", "::mlir::func::FuncOp"> {
  let summary = "branch on a dynamic number of queries: one, few or many";
  let description = [{
    One or a few queries need another kind of kernel than many (`#attn.decode`). Where the number of queries is dynamic,
    this pass splits an `attn.sdpa` for a CPU into three branches of an `scf.if` on that number. In the first it is
    static, 1. The second has a decode schedule, whose tiles have as many rows as there are queries. The third, for more
    queries, is unchanged. The cycles of both kinds determine which numbers are few. Few keys are left to the third.

    Skips an `attn.sdpa` with a schedule, with a static number of queries, or without a decode kernel: packed sequences,
    additive scores. int8 keys have no branch for few queries. An unknown target is an error.

    ```mlir
    %r = attn.sdpa ins(%q, %k, %v : tensor<2x8x?x64xf32>, …
    // becomes
    %n = tensor.dim %q, %c2 : tensor<2x8x?x64xf32>
    %is_one = arith.cmpi eq, %n, %c1 : index
    %r = scf.if %is_one -> (tensor<2x8x?x64xf32>) {
      attn.sdpa ins(%q1, %k, %v : tensor<2x8x1x64xf32>, …
    } else {
      %is_few = …  // %n <= 23, and more keys than a prefill tile has
      scf.if %is_few -> (tensor<2x8x?x64xf32>) {
        attn.sdpa … {schedule = #attn.decode<…>}
      } else {
        attn.sdpa …
    ```
  }];
  let dependentDialects = ["::attn::AttnDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"", "Target as --target of attnc names it">];
}

def SpecializeStridesPass : Pass<"attn-specialize-strides", "::mlir::func::FuncOp"> {
  let summary = "branch on the strides of K and V: all heads of a key together, or head by head";
  let description = [{
    A decode kernel is fastest if it reads memory in order. Where K and V are arguments with run-time strides
    (`attn.strided`), that order is known only at run time: rows of all heads of a key are adjacent in a view of (B, S,
    H, D), the rows of a head in a slice of a cache (B, H, S, D). This pass splits an `attn.sdpa` into two branches of
    an `scf.if` on these strides. In the first, for a smaller stride over heads than over keys, a tile covers several
    heads of K (`kv_heads`); the second loops over K head by head.

    Skips an `attn.sdpa` with a schedule or without a decode kernel, one whose K or V is not such an argument, and one
    where several heads of K gain nothing or cannot share a loop over keys: one head, short rows, K of 8 bits, masks
    that depend on the head. An unknown target, and ops that `attn-select-schedule` rejects, are errors.

    ```mlir
    %r = attn.sdpa ins(%q, %k, %v : tensor<8x1x64xf32>, …  // %k and %v with attn.strided
    // becomes
    %memory = bufferization.to_buffer %k read_only : tensor<8x?x64xf32> to memref<8x?x64xf32, strided<[?, ?, ?], …
    %base, %offset, %sizes:3, %strides:3 = memref.extract_strided_metadata %memory : …
    %of_key = arith.cmpi slt, %strides#0, %strides#1 : index
    …
    %r = scf.if %both -> (tensor<8x1x64xf32>) {
      attn.sdpa … {schedule = #attn.decode<…, kv_heads = 8>}
    } else {
      attn.sdpa … {schedule = #attn.decode<…>}
    ```
  }];
  let dependentDialects = ["::attn::AttnDialect", "::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"", "Target as --target of attnc names it">];
}

def SelectSchedulePass : Pass<"attn-select-schedule", "::mlir::func::FuncOp"> {
  let summary = "choose tile sizes for each attn.sdpa from the target's facts and the shape";
  let description = [{
    This pass is policy only. It attaches a schedule to each `attn.sdpa` that has none, so a schedule written by hand
    stays. Lanes fill a vector register. A model of the target's cycles chooses the register kernel and the query tile
    made of it. The model counts multiply-adds, instructions, latency, free registers, padded rows of the last tile, and
    passes over K and V. Q, the scores and the accumulator of a tile stay in their share of the L2 cache. Few query rows
    get a decode kernel.

    An unknown target, an element type that no CPU kernel supports, and heads
    that do not fit a thread's stack are errors.

    ```mlir
    // after, for target=x86-64-v4, f32, D = 64
    attn.sdpa … {schedule = #attn.prefill<query_tile = 64, key_tile = 64, lanes = 16, block_rows = 4, block_vectors = 4>}
    ```
  }];
  let dependentDialects = ["::attn::AttnDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"", "Target as --target of attnc names it">];
}

def OverrideSchedulePass : Pass<"attn-override-schedule", "::mlir::func::FuncOp"> {
  let summary = "write fields of the schedule of each attn.sdpa by hand";
  let description = [{
    Replaces the schedule of an op by the attribute `schedule`, for `--schedule` and for the candidates of `attnc tune`.
    Omitted fields keep their values if both are for the same kind of kernel.

    A schedule that no kernel can have is an error, which names the field, its value and the expected value. Examples
    are lanes other than those of the target's vectors, tiles that are no multiple of the register kernel or exceed a
    thread's stack, and a decode kernel of some of the query rows.

    ```mlir
    // --attn-override-schedule="schedule='#attn.prefill<key_tile = 32>'"
    attn.sdpa … {schedule = #attn.prefill<query_tile = 64, key_tile = 64, lanes = 16, block_rows = 4, block_vectors = 4>}
    // becomes
    attn.sdpa … {schedule = #attn.prefill<query_tile = 64, key_tile = 32, lanes = 16, block_rows = 4, block_vectors = 4>}
    ```
  }];
  let dependentDialects = ["::attn::AttnDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"", "Target as --target of attnc names it">,
                 Option<"schedule", "schedule", "std::string", "\"\"", "Schedule, as '#attn.prefill<key_tile = 32>'">];
}

def ConvertToOnlinePass : Pass<"attn-convert-to-online", "::mlir::func::FuncOp"> {
  let summary = "rewrite attn.sdpa as init_state, online_step and finalize";
  let description = [{
    The result is the online form of the softmax: one step that accumulates all keys into an empty running state, ready
    to be tiled over the keys. In the state, query rows are innermost, which are the lanes of the CPU kernels. Its type
    is the accumulation type. Schedule and key ranges move to the step.

    Skips an sdpa on memrefs; a dynamic head size without a scale is an error.

    ```mlir
    // before
    %o = attn.sdpa ins(%q, %k, %v : …) outs(%init : …) {scale = 0.25 : f64} -> tensor<4x8xf32>
    // after
    %s:3 = attn.init_state outs(…) -> tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>
    %t:3 = attn.online_step ins(%q, %k, %v : …) outs(%s#0, %s#1, %s#2 : …) {scale = 0.25 : f64} -> …
    %o = attn.finalize ins(%t#0, %t#1, %t#2 : …) outs(%init : …) -> tensor<4x8xf32>
    ```
  }];
  let dependentDialects = ["::attn::AttnDialect"];
}

def DecomposeStepPass : Pass<"attn-decompose-step"> {
  let summary = "rewrite attn.online_step as two products, the map of scores, the new maximum, rescale and weights";
  let description = [{
    The recurrence of the online softmax, one op per formula, for any target:

        s = q k^T                                       attn.product
        s = scale, score_mod, bias, masks               attn.map_scores, where there are any
        n = max(m, max_j s_j)                           attn.row_max
        alpha = exp(m - n): acc = alpha acc, l = alpha l, m = n     attn.rescale
        p = exp(s - n), l = l + sum_j p, p = weight_mod(p)          attn.weights
        acc = acc + p v                                 attn.product

    A positive scale that is followed only by masks is an attribute of row_max and weights, not a map: it does not
    change which score is the largest. The products have the instruction of the step's schedule. On memrefs, scores and
    the new maximum get new buffers (a target keeps them in registers); on tensors they are new tensors.

    Rejects steps of packed sequences: attn-tile must split them by sequence first.

    ```mlir
    // before
    attn.online_step ins(%q, %k, %v : …) outs(%acc, %m, %l : …) {scale = 0.25 : f64}
    // after
    attn.product ins(%q, %k : …) outs(%s : memref<4x6xf32>) {contraction = #attn.contraction<scores>}
    attn.row_max ins(%s, %m : …) outs(%n : memref<4xf32>) {scale = 0.25 : f64}
    attn.rescale ins(%n : …) outs(%acc, %m, %l : …)
    attn.weights ins(%s, %n : …) outs(%s, %l : …) {scale = 0.25 : f64}
    attn.product ins(%s, %v : …) outs(%acc : …) {accumulate, contraction = #attn.contraction<values>}
    ```
  }];
  let dependentDialects = ["::attn::AttnDialect", "::mlir::tensor::TensorDialect", "::mlir::memref::MemRefDialect"];
}

def TilePass : Pass<"attn-tile", "::mlir::func::FuncOp"> {
  let summary = "tile the online form into a parallel loop over query tiles and loops over key tiles";
  let description = [{
    An `scf.forall` over batch dimensions and query tiles holds the whole of a tile: Q packed with query rows as lanes,
    an empty state, loops over key tiles that carry the state, `attn.finalize` into the tile's slice of the outputs. The
    keys follow `key_ranges`: no key outside of the visited range is read, partial tiles keep the predicate, full ones
    are without it. With `block_map`, `attn.classify_tile` classifies the tiles before the loop. The gradients of a CPU
    (`attn.backward_step`) have such a map where their predicate has a conjunct that ranges cannot express; a key tile
    reads a column of it. Batch, heads and lengths may be dynamic; K and V may be views of pages (`attn.gather_pages`),
    packed sequences, or of 16-bit elements, which are widened tile by tile.

    Where the number of rows is dynamic, or that of each packed sequence, a tile of a prefill kernel is a branch: with
    at most half its rows, and at most one key tile in the sequence, it is processed vector by vector.

    For a GPU, a loop has `attn.consecutive` where each iteration has one column tile, which begins where the previous
    one ends: `attn-pipeline-copies` then copies the next one ahead.

    Needs a schedule on `attn.online_step`; a step without one, or with dynamic
    head sizes, is an error.

    ```mlir
    // after
    scf.forall (%b, %h, %t) in (2, 8, 4) shared_outs(%out = %init) -> (tensor<2x8x256x64xf32>) {
      %qt = attn.pack ins(%q_tile : …) outs(…) -> tensor<1x1x64x64xf32>
      %s0:3 = attn.init_state …
      %s1:3 = scf.for %j = %c0 to %c256 step %c64 iter_args(…) { attn.online_step … }
      %o = attn.finalize ins(%s1#0, %s1#1, %s1#2 : …) outs(%out_tile : …)
      scf.forall.in_parallel { tensor.parallel_insert_slice %o into %out[…] }
    }
    ```
  }];
  let dependentDialects = ["::attn::AttnDialect", "::mlir::scf::SCFDialect", "::mlir::affine::AffineDialect",
                           "::mlir::tensor::TensorDialect", "::mlir::bufferization::BufferizationDialect",
                           "::mlir::gpu::GPUDialect", "::mlir::linalg::LinalgDialect"];
}

def AddPrefetchesPass : Pass<"attn-add-prefetches", "::mlir::func::FuncOp"> {
  let summary = "in front of each step of a CPU kernel, attn.prefetch of what a later one reads";
  let description = [{
    Runs after `attn-tile`, while its loops are known. The schedule has the prefetch distance in rows; 0 leaves
    prefetching to the processor. V is prefetched during the products of K, and the next K during those of V; in a
    prefill kernel also Q of the next query tile, and the bias and mask of the next key tile. Rows of a dense K are
    contiguous; those of a page end with it, so the look-up of the page is cloned for the next iteration of the loop.
    The first rows of segments are prefetched before the loop. A single tile without a loop prefetches only its own V.
    Skips steps with prefetches, those of a GPU, and those with more rows or keys than their schedule's tile; nothing is
    rejected.

    ```mlir
    // after
    scf.for %j = %c0 to %c1024 step %c4 iter_args(…) {
      %k = tensor.extract_slice %keys[0, %j, 0] [1, 4, 16] [1, 1, 1] : …
      %v = tensor.extract_slice %values[0, %j, 0] [1, 4, 16] [1, 1, 1] : …
      attn.prefetch %k[%c8, %c0] {beside = #attn.contraction<values>, …} : tensor<1x4x16xf32>
      attn.prefetch %v[%c0, %c0] {beside = #attn.contraction<scores>, …} : tensor<1x4x16xf32>
      attn.online_step …
    }
    ```
  }];
  let dependentDialects = ["::attn::AttnDialect", "::mlir::arith::ArithDialect"];
}

#endif // ATTN_TRANSFORMS_TILEPASSES_TD
