//===- Passes.td - passes on the attn dialect ---------------*- tablegen -*-===//
//
// In the order in which the pipelines run them. A pass is found by its flag:
// attn-fuse is FusePass in Fuse.cpp with the tests fuse*.mlir.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TRANSFORMS_PASSES_TD
#define ATTN_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandLayersPass : Pass<"attn-expand-layers", "::mlir::func::FuncOp"> {
  let summary = "expand multi-head attention and projected scores into products around plain ops";
  let description = [{
    `attn.multi_head` becomes three products X W_Q, X W_K, X W_V, an `attn.sdpa`
    on the heads as views of their columns (`tensor.expand_shape` and maps: no
    transposes, no copies), and the product of the concatenated heads with W_O.
    `attn.scores` of kind general becomes the dot product with q^T W; of kind
    additive with W_q and W_k, additive scores of projected rows. Products are
    accumulated as scores are, and rounded once.

    Queries and keys of `attn.multi_head` are the same rows, so all alignments are equal. Mask sugar
    without an alignment gets `top_left`.

    Rejects nothing; ops on memrefs are left alone.

    ```mlir
    // before
    %y = attn.multi_head ins(%x, %wq, %wk, %wv, %wo : …) outs(%init : tensor<2x5x8xf32>) {heads = 2} -> …
    // after
    %p = linalg.generic … ins(%x, %wq : tensor<2x5x8xf32>, tensor<8x8xf32>) …
    %q = tensor.expand_shape %p [[0], [1], [2, 3]] … : tensor<2x5x8xf32> into tensor<2x5x2x4xf32>
    …
    %o = attn.sdpa ins(%q, %k, %v : …) outs(%e : tensor<2x5x2x4xf32>) {maps = […]} -> tensor<2x5x2x4xf32>
    %c = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<2x5x2x4xf32> into tensor<2x5x8xf32>
    %y = linalg.generic … ins(%c, %wo : …) …
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def MemrefToTensorPass : Pass<"attn-memref-to-tensor", "::mlir::func::FuncOp"> {
  let summary = "rewrite attn ops on memrefs as ops on tensors, which read and write these memrefs";
  let description = [{
    All other passes are on tensors. Each memref that an op reads becomes a `bufferization.to_tensor`.
    `bufferization.materialize_in_destination` writes each result where the op wrote it; bufferisation then computes in
    place. Arguments, views and allocations stay where they are. A read of what an earlier op has written, with no other
    write between, takes the tensor itself. So a chain on memrefs becomes a chain on tensors. A write to an allocation
    that nothing reads any more is removed together with it.

    Rejects memory spaces other than the default one.

    ```mlir
    // before
    attn.sdpa ins(%q, %k, %v : memref<4x8xf32>, …) outs(%out : memref<4x8xf32>)
    // after
    %0 = bufferization.to_tensor %q restrict : memref<4x8xf32> to tensor<4x8xf32>
    …
    %3 = bufferization.to_tensor %out restrict writable : memref<4x8xf32> to tensor<4x8xf32>
    %4 = attn.sdpa ins(%0, %1, %2 : tensor<4x8xf32>, …) outs(%3 : tensor<4x8xf32>) -> tensor<4x8xf32>
    bufferization.materialize_in_destination %4 in restrict writable %out
    ```
  }];
  let dependentDialects = ["::attn::AttnDialect", "::mlir::bufferization::BufferizationDialect"];
}

def CanonicalizePass : Pass<"attn-canonicalize", "::mlir::func::FuncOp"> {
  let summary = "bring attn ops into the form that later passes match";
  let description = [{
    These rewrites are exact:

    * the default scale of `attn.sdpa` is written out as 1/sqrt(D);
    * a `linalg.transpose` of an input is folded into the input's indexing map;
    * a boolean mask that is constantly true and a bias that is constantly zero are dropped;
    * an `attn.mask` without effect is replaced by its input;
    * a `linalg.softmax` over the keys between scores of a chain and `attn.apply` becomes `attn.softmax`, which gives
      zeros for a row of -inf, not NaN.

    Rejects nothing: what does not match is left as it is.

    ```mlir
    // before
    %kt = linalg.transpose ins(%k : tensor<16x6xf32>) outs(%e : tensor<6x16xf32>) permutation = [1, 0]
    %o = attn.sdpa ins(%q, %kt, %v : …) outs(%init : …)
    // after
    %o = attn.sdpa ins(%q, %k, %v : …) outs(%init : …)
        {maps = [(i, j, d, e) -> (i, d), (i, j, d, e) -> (d, j), …], scale = 2.5e-01 : f64}
    ```
  }];
  let dependentDialects = ["::attn::AttnDialect", "::mlir::tensor::TensorDialect"];
}

def BoundPositionsPass : Pass<"attn-bound-positions", "::mlir::func::FuncOp"> {
  let summary = "keep the positions in regions inside of their tensors";
  let description = [{
    A region of an attn op reads a tensor at a position that it computes, and `attn.accumulate` adds at one. This pass
    finds the range of each position by interval arithmetic on `attn.index`, static sizes and constants
    (docs/Semantics.md, "Regions"):

    * a position that lies inside stays as it is;
    * one that nothing but these decide, and that is not shown to lie inside, is an error (C10), as is one that is always
      outside;
    * any other one, read from a tensor or given from outside, or in a dimension of dynamic size, is clamped to the
      nearest position inside.

    A dynamic dimension of an argument that `attn.index` itself indexes has as many elements as there are positions:
    the checked entry tests that. Rejects the errors above. Run it on what a user writes, in front of what copies or
    differentiates a region: phase canonicalize does. Tiles that `attn-tile` has made stay as they are.

    ```mlir
    // before
    %n = tensor.extract %bucket[%j] : tensor<64xi32>
    %p = arith.index_cast %n : i32 to index
    %x = tensor.extract %table[%p] : tensor<32xf32>
    // after
    %n = tensor.extract %bucket[%j] : tensor<64xi32>
    %p = arith.index_cast %n : i32 to index
    %below = arith.minsi %p, %c31 : index
    %inside = arith.maxsi %below, %c0 : index
    %x = tensor.extract %table[%inside] : tensor<32xf32>
    ```
  }];
  let dependentDialects = ["::attn::AttnDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::tensor::TensorDialect"];
}

def DefineDivisionPass : Pass<"attn-define-division", "::mlir::func::FuncOp"> {
  let summary = "give integer division in regions by 0 and -1 its meaning";
  let description = [{
    In the regions of attn ops, a quotient or a remainder by 0 is 0, and the smallest number divided by -1 is itself
    (docs/Semantics.md). MLIR does not define the first, and processors end the process on both. So a divisor of
    `arith.floordivsi`, `arith.remsi` or `arith.remui` that may be 0 or -1 is replaced by 1. The quotient is replaced by
    the product, which is 0 for 0 and -x for -1.

    Rejects nothing: other divisions are in regions by known divisors only
    (C10). Run it in front of whatever lowers a region; both phases that may be
    the first one, canonicalize and bufferize, start with it.

    ```mlir
    // before
    %q = arith.floordivsi %x, %y : index
    // after
    %n = arith.addi %y, %c1 : index
    %s = arith.cmpi ult, %n, %c2 : index
    %d = arith.select %s, %c1, %y : index
    %p = arith.muli %x, %y : index
    %t = arith.floordivsi %x, %d : index
    %q = arith.select %s, %p, %t : index
    ```
  }];
  let dependentDialects = ["::attn::AttnDialect", "::mlir::arith::ArithDialect"];
}

def DifferentiatePass : Pass<"attn-differentiate", "::mlir::ModuleOp"> {
  let summary = "the forward and the backward pass of functions that ask for gradients";
  let description = [{
    Of a function with `attn.grad = ["q", "k", …]`, names (`attn.name`) or numbers of arguments, makes two:

    * `NAME_forward` is the function itself, which returns the two terms of the log-sum-exp too, `max` and `log_sum`;
    * `NAME_backward` takes its arguments, `out`, `max`, `log_sum` and the cotangent `dout`, and returns the gradients in
      the order of `attn.grad`. Where the function returned lse itself, the cotangent `dlse` is the last argument; max
      and log_sum have none.

    Both have `attn.kind` and `attn.pair`, by which the manifest tells them. Query, key, value, bias, sink, `kv_scale`
    and `scale_value` of `attn.sdpa` have gradients, the last one as a tensor without dimensions, and tensors of floats
    that `score_mod` reads. Reshapes between arguments, the op and results are undone. A chain is fused first, and `attn.multi_head` and projected scores are expanded.

    Other functions are differentiated op by op. The backward pass computes again what it needs, but for the results of
    the forward pass, and what `attn.sdpa` and products have made, which the forward pass returns as `saved`. Each op of
    a chain that does not fuse has its rule: so have returned weights, general and additive scores. `linalg` ops that
    are elementwise or sums have theirs, projections among them. In the pipeline attention in linalg is raised first.

    Rejects, with the reason: pages and `attn.kv_append`; other ops between an argument that wants a gradient and a
    result; gradients of integers and booleans, of what no result depends on, and of tensors that a region of a chain
    that does not fuse reads; a `score_mod` with an op that has no derivative.

    ```mlir
    // before
    func.func @f(%q: … {attn.name = "q"}, %k: …, %v: …) -> … attributes {attn.grad = ["q"]} {
      %o = attn.sdpa ins(%q, %k, %v : …) outs(%init : …) -> …
    // after
    func.func @f_forward(%q: …, %k: …, %v: …) -> (…, …, …) attributes {attn.kind = "forward", attn.pair = "f"} {
      %o, %m, %l = attn.sdpa ins(%q, %k, %v : …) outs(%init : …) max(%empty : …) log_sum(%empty : …) -> …
    func.func @f_backward(%q: …, %k: …, %v: …, %o: …, %m: …, %l: …, %do: …) -> … attributes {attn.kind = "backward", …} {
      %dq, %dk, %dv = attn.sdpa_backward ins(%q, %k, %v, %o, %lse, %do : …) outs(…) -> …
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
}

def FuseElementwisePass : Pass<"attn-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "make one linalg op of elementwise ones";
  let description = [{
    Elementwise `linalg.generic` ops on tensors become one op for each result that has other uses; what several of them
    use is computed in each. Splat constants become scalars. On a GPU every op that is left is a kernel, its other
    results are in the workspace, and a constant has no memory on the device. (Upstream's
    `linalg-fuse-elementwise-ops` keeps an op whose result has two uses.)

    With `chains`, as on a CPU, an op becomes part of the only one that reads its result, at the same indices: nothing
    is computed twice, and what is between them needs no memory. These are ops that
    `attn-lower-elementwise-to-vector` takes, also those with names, such as `linalg.add`.

    An op has at most 64 scalar ops, so that a long chain becomes several. Rejects nothing.

    ```mlir
    // before
    %m = linalg.generic ins(%x, %y) {maximumf}
    %a = linalg.generic ins(%x, %m) {subf, exp}
    %b = linalg.generic ins(%y, %m) {subf, exp}
    // after
    %a = linalg.generic ins(%x, %y) {maximumf, subf, exp}
    %b = linalg.generic ins(%x, %y) {maximumf, subf, exp}
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::affine::AffineDialect"];
  let options = [Option<"chains", "chains", "bool", "false", "Only results with one use, at the same indices">];
}

def FusePass : Pass<"attn-fuse", "::mlir::func::FuncOp"> {
  let summary = "fuse the textbook chain into attn.sdpa";
  let description = [{
    Walks from each `attn.apply` back over `attn.softmax`, any `attn.mask`, `attn.softcap` and `attn.scale`, to
    `attn.scores`, and replaces the chain by one `attn.sdpa`. A scale may stand before the product (on Q or K) or after
    it. Batch dimensions stay as they are, and so do transposed operands in the maps.

    A chain is left alone, with a missed remark that names the reason, where

    * an intermediate has another use (it would be computed twice);
    * the steps are not in the order product, scale, softcap, bias, masks; fusion reorders no step;
    * there are two biases or two boolean masks;
    * an intermediate is not in the layout (batch…, query, key);
    * the chain calculates in a wider type than that of Q's accumulation, or in a narrower one that its log-sum-exp or
      `score_mod` shows;
    * an operand of the chain depends on its log-sum-exp;
    * the softmax is a `linalg.softmax` over another dimension than the keys.

    ```mlir
    // before
    %s = attn.scores ins(%q, %k : …) outs(%e : …) -> tensor<4x6xf32>
    %t = attn.scale ins(%s : …) outs(%e : …) {scale = 0.25 : f64} -> tensor<4x6xf32>
    %p = attn.softmax ins(%t : …) outs(%e : …) -> tensor<4x6xf32>
    %o = attn.apply ins(%p, %v : …) outs(%init : …) -> tensor<4x8xf32>
    // after
    %o = attn.sdpa ins(%q, %k, %v : …) outs(%init : …) {scale = 0.25 : f64} -> tensor<4x8xf32>
    ```
  }];
  let dependentDialects = ["::attn::AttnDialect"];
}

def TileChainPass : Pass<"attn-tile-chain", "::mlir::func::FuncOp"> {
  let summary = "cut chains that are not fused into blocks of query rows";
  let description = [{
    A chain that could not be fused is tiled as a whole, by upstream's tile and fuse through the ops' TilingInterface.
    The result is one `scf.forall` over batch indices, heads and blocks of rows, which has the scores of one block. The
    loop assembles results that are used behind the chain, as returned weights and lse. An elementwise op between those
    of the chain is tiled with it, if the others read the same rows of it. An op that is read otherwise (transposed, by
    a region, in front of the last op of the chain) stays where it is, and so does a chain with little work.

    Rejects nothing.

    ```mlir
    // before
    %s = attn.scores ins(%q, %k : tensor<8x1024x64xf32>, tensor<8x1024x64xf32>) outs(…)
    %p = attn.softmax ins(%s : tensor<8x1024x1024xf32>) outs(…)
    %o = attn.apply ins(%p, %v : tensor<8x1024x1024xf32>, tensor<8x1024x64xf32>) outs(…)
    // after
    %r = scf.forall (%h, %i) in (8, 16) shared_outs(…) {
      %s = attn.scores ins(%q_rows, %k_head : tensor<1x64x64xf32>, tensor<1x1024x64xf32>) outs(…)
      %p = attn.softmax ins(%s : tensor<1x64x1024xf32>) outs(…)
      %o = attn.apply ins(%p, %v_head : tensor<1x64x1024xf32>, tensor<1x1024x64xf32>) outs(…)
      scf.forall.in_parallel { … }
    }
    ```
  }];
  let dependentDialects = ["::attn::AttnDialect", "::mlir::scf::SCFDialect", "::mlir::affine::AffineDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"", "Target as --target of attnc names it">];
}

def AnalyzeMaskPass : Pass<"attn-analyze-mask", "::mlir::func::FuncOp"> {
  let summary = "turn the masks of attn.sdpa into one predicate and find the key ranges of a query tile";
  let description = [{
    Mask sugar (`causal`, `window`, `chunk`, lengths) becomes one `mask_mod` region. The analysis solves conjuncts that
    are linear in the query and key index, their quotients by constants, and run-time values (lengths, offsets), joined
    by and, or, not and select. It finds the keys that a query tile visits, and the keys that all its rows keep: the
    region `key_ranges`. A conjunct that it cannot solve, as on document ids, sets `block_map`: the kernel finds out
    once a call which tiles are empty or full. A boolean mask and a bias leave every key partial. A conjunct that holds
    for every query and key of the problem is dropped. A sink becomes the region `start`. No later pass knows which mask
    it was.

    Rejects nothing; an analysis remark says what became of the conjuncts. With `query-ranges=N`, a remark for each tile
    of N keys says which queries visit it and which keep all its keys. This is the same analysis for the other axis, as
    a backward pass needs it.

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

def SplitValuesPass : Pass<"attn-split-values", "::mlir::func::FuncOp"> {
  let summary = "split attn.sdpa by columns of V into as many as the registers of a GPU's block hold";
  let description = [{
    A block keeps its output in registers, 256 columns at most. An `attn.sdpa` of more columns of V becomes several, on
    slices of V and of the output, as for the 512 columns of latent attention (DeepSeek-V2). Each computes the scores
    again, which a remark says. The first one writes the log-sum-exp. Pages of a cache stay pages.

    Rejects more than 16384 columns, which would be more than 64 kernels; fewer than 257, dynamic ones and memrefs are
    left alone.

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
}

def SpecializeQueriesPass : Pass<"attn-specialize-queries", "::mlir::func::FuncOp"> {
  let summary = "branch on a dynamic number of queries: one, few or many";
  let description = [{
    One query and few of them have another kind of kernel than many (`#attn.decode`). Where the number of queries is
    dynamic, this pass makes three of an `attn.sdpa` of a CPU, in an `scf.if` on that number. In the first it is
    static, 1. The second has a decode schedule, whose tiles have as many rows as there are queries. The third, for more
    queries, is as before. Which numbers are few follows from the cycles of both kinds. Few keys are left to the third.

    An `attn.sdpa` stays as it is where it has a schedule, where the number of queries is static, and where there is no
    decode kernel: packed sequences, additive scores. int8 keys have no branch of few queries. An unknown target is an
    error.

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
    A decode kernel reads memory fastest in its own order. Where K and V are arguments with the strides of a call
    (`attn.strided`), that order is known at run time alone: rows of all heads of a key lie side by side in a view of
    (B, S, H, D), the rows of a head in a slice of a cache (B, H, S, D). This pass makes two of an `attn.sdpa`, in an
    `scf.if` on these strides. In the first, which is taken where heads are less far apart than keys, a tile covers
    several heads of K (`kv_heads`); the second goes through K head by head.

    An `attn.sdpa` stays as it is where it has a schedule or no decode kernel, where K or V is no such argument, and
    where several heads of K gain nothing or cannot share a loop over keys: one head, short rows, K of 8 bits, masks
    that depend on the head. An unknown target, and what `attn-select-schedule` rejects, are errors.

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
    passes over K and V. Q, the scores and the accumulator of a tile stay in their share of the second-level cache. Few
    query rows get a decode kernel.

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
    Fields that it leaves out stay as they are if both are of the same kind of kernel.

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

    An sdpa on memrefs is left as it is; one whose head size is dynamic and
    that has no scale is an error.

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
    The recurrence of the online softmax, an op a formula, for any target:

        s = q k^T                                       attn.product
        s = scale, score_mod, softcap, bias, masks      attn.map_scores, where there are any
        n = max(m, max_j s_j)                           attn.row_max
        alpha = exp(m - n): acc = alpha acc, l = alpha l, m = n     attn.rescale
        p = exp(s - n), l = l + sum_j p, p = weight_mod(p)          attn.weights
        acc = acc + p v                                 attn.product

    A positive scale to which nothing but masks is added stands in row_max and weights, not in a map: it does not change
    which score is the largest. The products have the instruction of the step's schedule. On memrefs, scores and the new
    maximum get buffers of their own (a target keeps them in registers); on tensors they are new tensors.

    Rejects steps of packed sequences, which attn-tile makes steps of one sequence first.

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
    An `scf.forall` over batch dimensions and query tiles holds the whole of a
    tile: Q packed with query rows as lanes, an empty state, loops over key
    tiles that carry the state, `attn.finalize` into the tile's slice of the
    outputs. The keys follow `key_ranges`: no key outside of the visited range is
    read, partial tiles keep the predicate, full ones are without it. With
    `block_map`, `attn.classify_tile` says in front of the loop what each tile
    is. Batch, heads and lengths may be dynamic; K and V may be views of pages
    (`attn.gather_pages`), packed sequences, or of 16-bit elements, which are
    widened tile by tile.

    Where the number of rows is dynamic, or that of each packed sequence, a tile
    of a prefill kernel is a branch: one of at most half its rows, of a sequence
    of at most one key tile, is made of vectors of rows, one after the other.

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
                           "::mlir::linalg::LinalgDialect"];
}

def AddPrefetchesPass : Pass<"attn-add-prefetches", "::mlir::func::FuncOp"> {
  let summary = "in front of each step of a CPU kernel, attn.prefetch of what a later one reads";
  let description = [{
    Behind `attn-tile`, while its loops are known. The schedule says how many rows
    ahead; 0 leaves prefetching to the processor. Beside the products of K go
    requests for V, beside those of V for the next K; in a prefill kernel also
    for Q of the next query tile, and for the bias and mask of the next key
    tile. Rows of a dense K go on in memory; those of a page end with it, so what
    finds it is cloned for the next round of the loop. The first rows of segments
    are asked for in front of the loop. A single tile without a loop asks for
    its own V alone. Steps that have prefetches, those of a GPU and those of more
    rows or keys than their schedule's tile stay as they are; nothing is rejected.

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

def LowerToReferencePass : Pass<"attn-lower-to-reference", "::mlir::func::FuncOp"> {
  let summary = "lower every attn op to plain linalg, scores materialised: the oracle";
  let description = [{
    Decomposes each op by its formula (AggregatedOpInterface) until none is left. It tiles nothing and skips nothing.
    With `compute-type=f64` the intermediates of `attn.sdpa` are f64 whatever the inputs are. `attnc run --check`
    compares with this reference, and an op without a fast path runs by it.

    With `chain-only`, `attn.sdpa` stays for the flash path and only what could
    not be fused is lowered, each with a missed remark; with `fail-on-fallback`
    that is an error.

    Ops on memrefs are an error: run the pass before bufferisation.

    ```mlir
    // before
    %p = attn.softmax ins(%s : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
    // after: row maximum, exponentials, row sum, quotient
    %m = linalg.generic …
    %x = linalg.generic …
    %l = linalg.generic …
    %p = linalg.generic …
    ```
  }];
  let dependentDialects = ["::attn::AttnDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::math::MathDialect", "::mlir::arith::ArithDialect", "::mlir::affine::AffineDialect",
                           "::mlir::scf::SCFDialect"];
  let options = [Option<"computeType", "compute-type", "std::string", "\"\"",
                        "Type of the intermediates: f32, f64, or empty for the accumulation type of each op">,
                 Option<"chainOnly", "chain-only", "bool", "false", "Leave attn.sdpa to the flash path">,
                 Option<"failOnFallback", "fail-on-fallback", "bool", "false",
                        "With chain-only, an error where an op falls back">,
                 Option<"gpu", "gpu", "bool", "false", "With chain-only, lower the gradients, which have no GPU kernel">];
}

def WidenFloatsPass : Pass<"attn-widen-floats", "::mlir::func::FuncOp"> {
  let summary = "compute every float in f64: what the reference is made of";
  let description = [{
    f16, bf16 and f32 become f64 wherever the IR computes: in attn ops and their regions, in `arith`, `math`, `linalg`,
    `tensor`, and in values that loops carry. Values that are only moved (arguments, slices, pages) keep their type and
    are extended where they are read. Constants keep their values. `arith.truncf` still rounds to the type that it
    names. Arguments and results of a function keep their types. With `outputs`, the outputs of a kernel become f64 as
    well, and `attn.arguments` says so.

    Ops of other dialects, bit casts, calls and writes to memory keep their types. Each of them that computes causes a
    warning, as the result is then not that of f64.

    ```mlir
    // before
    %y = arith.mulf %x, %c : f32
    // after
    %w = arith.extf %x : f32 to f64
    %y = arith.mulf %w, %c : f64
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [Option<"outputs", "outputs", "bool", "false", "Make what a kernel returns f64 as well">];
}

def VerifyPhasePass : Pass<"attn-verify-phase"> {
  let summary = "check the contract at the end of a phase";
  let description = [{
    After each phase of a pipeline some ops must be gone and some attributes present. This pass reports the op that
    breaks the contract of `phase`. So a missing pass is an error where it is missing, not a crash three passes later.

    Rejects: an `attn.sdpa` without scale after `canonicalize`, any op of a
    chain after `fallback`, an `attn.sdpa` without key ranges or with a
    spelled-out mask after `analyze-mask`, without schedule after
    `select-schedule`, and any after `online`; an untiled `attn.online_step` after `tile`, a tensor after
    `bufferize`, any attn op after `vector` or `nvvm`. In a kernel with a producer, rejects after `steps` an `attn.wait`
    of a stage without an `attn.release` behind it, in front of the next wait of that tile, and an `attn.product` that
    reads a stage which is not waited for or already released, and a copy of a box that is not in the role of the
    producer.

    ```mlir
    // attn-verify-phase{phase=select-schedule}
    // error: 'attn.sdpa' op expected a schedule after phase select-schedule; run attn-select-schedule
    ```
  }];
  let options = [Option<"phase", "phase", "std::string", "\"\"", "Name of the phase that has just run">];
}

#endif // ATTN_TRANSFORMS_PASSES_TD
