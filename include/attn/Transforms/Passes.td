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
    All other passes work on tensors. Each memref that an op reads becomes a `bufferization.to_tensor`.
    `bufferization.materialize_in_destination` writes each result where the op wrote it, so bufferisation computes in
    place. Arguments, views and allocations stay where they are. A read of an earlier op's result, with no other write
    in between, uses the tensor itself. So a chain on memrefs becomes a chain on tensors. Writes to an allocation
    without reads are removed together with it.

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
    * a boolean mask that is always true and a bias that is always zero are removed;
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

    * a position in bounds stays as it is;
    * one that depends only on these and is not provably in bounds is an error (C10), as is one that is always out of
      bounds;
    * any other one, read from a tensor or defined outside of the region, or in a dimension of dynamic size, is clamped
      to the nearest position in bounds.

    A dynamic dimension of an argument that `attn.index` itself indexes has as many elements as there are positions: the
    checked entry tests that. Rejects the errors above. Run it on user code, before passes that copy or differentiate a
    region: phase canonicalize does. Tiles of `attn-tile` stay as they are.

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
    In the regions of attn ops, a quotient or a remainder by 0 is 0, and the least integer divided by -1 is itself
    (docs/Semantics.md). MLIR leaves the first undefined, and processors trap on both. So a divisor of
    `arith.floordivsi`, `arith.remsi` or `arith.remui` that may be 0 or -1 is replaced by 1. The quotient is replaced by
    the product, which is 0 for 0 and -x for -1.

    Rejects nothing: other divisions in regions have constant divisors (C10). Run it before passes that lower a region;
    both possible first phases, canonicalize and bufferize, start with it.

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
    Makes two functions of one with `attn.grad = ["q", "k", …]`, names (`attn.name`) or indices of arguments:

    * `NAME_forward` is the function itself, which also returns the two terms of the log-sum-exp, `max` and `log_sum`;
    * `NAME_backward` takes its arguments, `out`, `max`, `log_sum` and the cotangent `dout`, and returns the gradients in
      the order of `attn.grad`. Where the function returned lse itself, the cotangent `dlse` is the last argument; max
      and log_sum have none.

    Both have `attn.kind` and `attn.pair`, by which the manifest identifies them. Query, key, value, bias, sink,
    `kv_scale` and `scale_value` of `attn.sdpa` have gradients, the last one as a tensor of rank 0; so do float tensors
    that `score_mod` reads. Reshapes between arguments, the op and results are undone. A chain is fused first, and
    `attn.multi_head` and projected scores are expanded.

    Other functions are differentiated op by op. The backward pass recomputes the values that it needs, except the
    results of the forward pass and those of `attn.sdpa` and products, which the forward pass returns as `saved`. Each
    op of a chain that does not fuse has a rule, including returned weights, general and additive scores. So have
    `linalg` ops that are elementwise or sums, including projections. In the pipeline, attention in linalg is raised
    first.

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
    Elementwise `linalg.generic` ops on tensors become one op for each result that has other uses; values that several
    of them use are computed in each. Splat constants become scalars. On a GPU every remaining op is a kernel,
    intermediate results are in the workspace, and a constant has no memory on the device. (Upstream's
    `linalg-fuse-elementwise-ops` keeps an op whose result has two uses.)

    With `chains`, as on a CPU, an op is fused into the only reader of its result, at the same indices: nothing is
    computed twice, and the intermediate result needs no memory. These are the ops that
    `attn-lower-elementwise-to-vector` lowers, including named ones such as `linalg.add`.

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
    `attn.scores`, and replaces the chain by one `attn.sdpa`. A scale may be before the product (on Q or K) or after it.
    Batch dimensions are kept, and so are transposed operands in the maps.

    A chain stays unchanged, with a missed remark that gives the reason, where

    * an intermediate has another use (it would be computed twice);
    * the steps are not in the order product, scale, softcap, bias, masks; fusion reorders no step;
    * there are two biases or two boolean masks;
    * an intermediate is not in the layout (batch…, query, key);
    * the chain computes in a wider type than Q's accumulation type, or in a narrower one that is visible in its
      log-sum-exp or `score_mod`;
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
    loop assembles results that are used after the chain, such as returned weights and lse. An elementwise op between
    those of the chain is tiled with it, if the others read the same rows of it. An op with other uses (transposed, by a
    region, before the last op of the chain) stays where it is, and so does a chain with little work.

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

include "attn/Transforms/TilePasses.td"

def LowerToReferencePass : Pass<"attn-lower-to-reference", "::mlir::func::FuncOp"> {
  let summary = "lower every attn op to plain linalg, scores materialised: the oracle";
  let description = [{
    Decomposes each op by its formula (AggregatedOpInterface) until none is left. It tiles nothing and skips nothing.
    With `compute-type=f64`, the intermediates of `attn.sdpa` are f64 for all input types. `attnc run --check` compares
    with this reference, and ops without a fast path use it.

    With `chain-only`, `attn.sdpa` is left to the flash path and only ops that could not be fused are lowered, each with
    a missed remark; with `fail-on-fallback` that is an error.

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
    f16, bf16 and f32 become f64 in all computations: in attn ops and their regions, in `arith`, `math`, `linalg`,
    `tensor`, and in values that loops carry. Values that are only moved (arguments, slices, pages) keep their type and
    are extended where they are read. Constants keep their values. `arith.truncf` still rounds to its type. Arguments
    and results of a function keep their types. With `outputs`, the outputs of a kernel become f64 as well, and
    `attn.arguments` is updated.

    Ops of other dialects, bit casts, calls and writes to memory keep their types. Those that compute get a warning, as
    the result then differs from f64.

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
    breaks the contract of `phase`. So a missing pass is an error at its place, not a crash three passes later.

    Rejects: an `attn.sdpa` without scale after `canonicalize`, any op of a chain after `fallback`, an `attn.sdpa`
    without key ranges or with a word of masks, sinks, origins or score functions after `analyze-mask`, without schedule
    after `select-schedule`, and any after `online`; an untiled `attn.online_step` after `tile`, a tensor after `bufferize`, any attn op after
    `vector` or `nvvm`. After `gpu`, rejects an `scf.forall`, an attn op outside of a kernel, a kernel of attn ops
    without `attn.schedule`, a step with another schedule than its kernel, and a kernel that takes memrefs or indices.

    In kernels, each of the phases `gpu` and `steps` has a list of the ops that it allows, and any other op is an error.
    After `steps`, tensors are in registers, and the roles of a kernel keep a protocol. A stage is waited for, read and
    released, once each. The producer alone copies boxes. `attn.take_turn` and `attn.pass_turn` alternate in a block.
    `attn.add_rows` stands between `attn.await_order` and `attn.pass_order`. A `gpu.barrier` stands between an
    `attn.exchange` and the products that read it. The result of a product is used, and no barrier, wait or copy stands
    twice in a row.

    ```mlir
    // attn-verify-phase{phase=select-schedule}
    // error: 'attn.sdpa' op expected a schedule after phase select-schedule; run attn-select-schedule
    ```
  }];
  let options = [Option<"phase", "phase", "std::string", "\"\"", "Name of the phase that has just run">];
}

#endif // ATTN_TRANSFORMS_PASSES_TD
