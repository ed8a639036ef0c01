//===- CpuPasses.td - from tiles to code of processors --------*- tablegen -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_CONVERSION_CPUPASSES_TD
#define ATTN_CONVERSION_CPUPASSES_TD

include "mlir/Pass/PassBase.td"

def TileMatmulPass : Pass<"attn-tile-matmul", "::mlir::func::FuncOp"> {
  let summary = "tile products with weights, together with what follows them";
  let description = [{
    A product of rows with a matrix, on tensors, becomes an `scf.forall` over tiles of at most 128 rows by a panel of
    columns (see `attn-lower-matmul-to-vector`). If a single elementwise op reads the result, at the same indices, it is
    fused into the loop, along with all products that it reads: the operands of a bias, an activation, a gate or a
    residual are then in the cache. The part of a product that a tile computes is in a buffer of the tile. Dimensions of
    rows that all of these ops have next to each other, such as (batch, sequence), become one first. A tile of an open
    number of rows has whole register blocks.

    Quantised weights, the elementwise product of a constant of 8-bit integers and scales, move into the product that
    reads them: `sum += x * (float(w) * scale)`. It then reads a byte a weight.

    Handles contractions with f32 or f64 results and one matrix without batch dimensions on the right, whose columns are
    a static number of whole panels. Skips products with little work, with fewer than 16 rows beside a matrix that is no
    constant, and those in parallel loops.
    Rejects nothing.

    ```mlir
    // before
    %p = linalg.matmul ins(%x, %w : tensor<512x768xf32>, tensor<768x3072xf32>) outs(%zero : tensor<512x3072xf32>)
    %y = linalg.generic ins(%p, %bias) outs(%empty) {addf}
    // after
    %y = scf.forall (%i, %j) = (0, 0) to (512, 3072) step (128, 64) shared_outs(%out = %empty) {
      %xs = tensor.extract_slice %x[%i, 0] [128, 768] [1, 1]
      %ws = tensor.extract_slice %w[0, %j] [768, 64] [1, 1]
      %p = linalg.matmul ins(%xs, %ws) outs(%zeros : tensor<128x64xf32>)
      %y = linalg.generic ins(%p, %biases) outs(%outs) {addf}
      scf.forall.in_parallel { tensor.parallel_insert_slice %y into %out[%i, %j] [128, 64] [1, 1] }
    }
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"", "Target as --target of attnc names it">];
}

def TileLinearPass : Pass<"attn-tile-linear", "::mlir::func::FuncOp"> {
  let summary = "linear attention by chunks of tokens, as loops of products";
  let description = [{
    An `attn.linear` on memrefs becomes an `scf.forall` over batch indices and heads of key, and in it a loop over chunks of
    tokens. With G the sum of decay in a chunk, of which only `e^(G_t - G_i)`, i <= t, is formed, as running products of
    one exponential a token, a chunk is, for each head of value and panel of its columns (rows of tokens, `a` what is
    erased by, S the state, masked elements by selection):

    1. `L_ti = e^(G_t - G_i) a_t . k_i` for i < t, `P_ti = scale e^(G_t - G_i) q_t . k_i` for i <= t;
    2. `U = V + (e^G a) S`, then `U = (I - L)^-1 U` by `attn.solve`;
    3. `O = (scale e^G q) S + P U`;
    4. `S = e^(G_C) S + (e^(G_C - G) k)^T U`.

    A short last chunk has rows of zeros. Heads of a group share `k . k` and `q . k` where decay is a number a head. Panels
    of the state are copied into buffers in front of the loop, and back behind it. A static number of at most 8 tokens is
    one chunk, whose products read and write the state where it lies.

    With `write` there are two right factors, keys beside V and writes beside `E = (I - L)^-1 ((e^G a) S + L' V)`.

    An `attn.linear_backward` becomes an `scf.forall` over batch indices and heads of value. A task goes through its chunks
    twice. Forward it keeps U and the state in front of each chunk. Back, with dS that of the state behind the chunk:

    1. `dU = P^T dO + (e^(G_C - G) k) dS`, `dX = (I - L)^-T dU`;
    2. `d(e^G a, e^G q) = (dX, dO) S^T`, `d(e^(G_C - G) k) = U dS^T`, `d(L, P) = (dX, dO) U^T`;
    3. `dS = e^(G_C) dS + (e^G a, e^G q)^T (dX, dO)`;
    4. from these the gradients of rows, and of decays as sums over the tokens in between, where nothing is subtracted.

    Rejects nothing that the verifier accepts.

    ```mlir
    // before
    attn.linear ins(%q, %k, %v : memref<1x1x64x32xf32>, …) beta(%b : …) outs(%out, %state : …)
    // after
    scf.forall (%batch, %head) in (1, 1) {
      scf.for %t = %c0 to %c64 step %c32 {
        linalg.generic ins(%rows, %panel : memref<64x32xf32>, memref<32x32xf32>) outs(%u : memref<64x32xf32>)
        attn.solve ins(%lower : memref<32x32xf32>) outs(%u_rows : …)
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::attn::AttnDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"", "Target as --target of attnc names it">];
}

def PackWeightsPass : Pass<"attn-pack-weights", "::mlir::func::FuncOp"> {
  let summary = "lay constant weights out as the panels that tiles read";
  let description = [{
    Where a tile of `attn-tile-matmul` multiplies by a panel of columns of a constant matrix, the matrix becomes a
    constant of consecutive panels. A tile then reads a panel sequentially, and no call packs or transposes it. A matrix
    with other uses is kept in addition.

    Handles constants in the accumulation type of the product, and quantised weights with their scales; others are
    widened when a tile copies its panel. Of quantised weights from -8 to 7 a byte has rows 2k and 2k + 1, in its low and
    high 4 bits, and the product takes them apart by `linalg.index`. Rejects nothing.

    ```mlir
    // before
    %w = arith.constant dense<…> : tensor<768x3072xf32>
    scf.forall (%i, %j) = (0, 0) to (512, 3072) step (128, 64) …
      %ws = tensor.extract_slice %w[0, %j] [768, 64] [1, 1]
    // after
    %w = arith.constant dense<…> : tensor<48x768x64xf32>
    scf.forall (%i, %j) = (0, 0) to (512, 3072) step (128, 64) …
      %p = affine.apply affine_map<(d0) -> (d0 floordiv 64)>(%j)
      %ws = tensor.extract_slice %w[%p, 0, 0] [1, 768, 64] [1, 1, 1]
    ```
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect", "::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect"];
}

def LowerMatmulToVectorPass : Pass<"attn-lower-matmul-to-vector", "::mlir::func::FuncOp"> {
  let summary = "lower contractions of matmul form on memrefs to loops over vectors";
  let description = [{
    `C[i][j] += sum_k A[i][k] B[k][j]` with columns j as lanes: the projections around attention, and the two products
    of a chain that runs materialised. A tile is a block of rows by a panel of columns; an `scf.forall` loops over the
    tiles. B's part of a panel is copied to the stack for a block of the depth, so that it is in the L1 cache for all
    rows of the tile. With few rows, B is read in place. Remainders of rows and columns have separate loops and masks. The
    indices of B may be calculated from column, depth and batch, as `x[n, k floordiv 3, 2 * j + k mod 3]` of a
    convolution: its panels are then gathered (im2col, a tile at a time).
    Any number of batch dimensions and any dynamic size is accepted. Where the target multiplies pairs faster, bf16
    stays bf16 in a panel, in pairs of its rows; denormals are 0 there. Weights of 0 are skipped only in panels with NaN
    or infinity.

    Handles `linalg.matmul`, `linalg.batch_matmul` and every `linalg.generic` of that form whose C is f32 or f64 with j
    innermost; B may be transposed, A and B narrower than C. Rejects nothing: other ops are left to
    `convert-linalg-to-loops`.

    ```mlir
    // before
    linalg.matmul ins(%a, %b : memref<113x59xf32>, memref<59x64xf32>) outs(%c : memref<113x64xf32>)
    // after
    scf.for %tile = … {
      scf.for %k = … { … vector.load %b … vector.store %panel … }
      scf.for %i = … step %c6 {
        %sum:24 = scf.for %k = … iter_args(…) {
          %p = vector.load %panel[%k, %c0] : memref<59x64xf32>, vector<16xf32>
          %s = memref.load %a[%i, %k] : memref<113x59xf32>
          %sb = vector.broadcast %s : f32 to vector<16xf32>
          %x = vector.fma %sb, %p, %acc : vector<16xf32>
          …
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect", "::mlir::affine::AffineDialect",
                           "::mlir::x86vector::X86VectorDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"", "Target as --target of attnc names it">];
}

def LowerTileToVectorPass : Pass<"attn-lower-tile-to-vector", "::mlir::func::FuncOp"> {
  let summary = "lower tile-sized attn ops on memrefs to loops over vectors";
  let description = [{
    The transposed CPU tile: lanes are query rows. S^T = K Q^T and O^T += V^T P^T are register kernels that broadcast
    elements of K and V; the softmax runs down the rows of S^T lane by lane, so there is no horizontal reduction; exp is
    a polynomial for 2^x. A predicate, a boolean mask, a bias and the score functions are lane-wise code on the scores.
    With `instruction = amx`, products use tiles, and with `overlap`, the softmax of 32 rows overlaps the products of
    others.

    Handles `attn.pack`, `attn.init_state`, `attn.online_step` and `attn.finalize` on memrefs with static tile sizes,
    the output of `attn-tile` and bufferisation; `attn.gather_pages` and `attn.classify_tile` of such tiles; and
    `attn.kv_append` of any size, which writes new rows into the cache in place. Any other attn op on memrefs is an
    error, as it has no CPU lowering. So is an unregistered op. `buffer-deallocation-pipeline` comes after this pass: it
    refuses ops with several regions, such as `attn.online_step`.

    ```mlir
    // before
    attn.online_step ins(%qt, %k, %v : memref<64x64xf32>, …) outs(%acc, %max, %sum : …) {schedule = …}
    // after
    scf.for %j = … {
      %s:16 = scf.for %d = … iter_args(…) {
        %q = vector.load %qt[%d, %lane] : memref<64x64xf32>, vector<16xf32>
        %k = memref.load %key[%j, %d] : memref<…>
        %kb = vector.broadcast %k : f32 to vector<16xf32>
        %x = vector.fma %kb, %q, %acc : vector<16xf32>
        …
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::x86vector::X86VectorDialect", "::mlir::amx::AMXDialect",
                           "::mlir::LLVM::LLVMDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"", "Target as --target of attnc names it">];
}

def LowerElementwiseToVectorPass : Pass<"attn-lower-elementwise-to-vector", "::mlir::func::FuncOp"> {
  let summary = "lower elementwise linalg and row reductions on memrefs to loops over vectors";
  let description = [{
    Lowers the steps of a chain that runs materialised (scale, masks, softmax) and a user's own elementwise ops. Lanes
    are the innermost dimension of the result, or the one dimension that a sum or a maximum reduces. Other reductions
    keep the results of several vectors of lanes in registers while they loop over what is reduced. Values that do not
    depend on the lanes stay scalar. Lanes that are every second element are two loads and a shuffle; other reads whose
    lanes are not contiguous are gathers. Lanes beyond the last element have a mask. A large op outside of parallel loops
    becomes an `scf.forall`.

    Rejects nothing: ops of another form are left to `convert-linalg-to-loops`.

    ```mlir
    // before
    linalg.generic {…} ins(%s, %m : memref<64x1024xf32>, memref<64xf32>) outs(%p : memref<64x1024xf32>) { … math.exp … }
    // after
    scf.for %i = … {
      scf.for %j = … step %c16 {
        %x = vector.load %s[%i, %j] : memref<64x1024xf32>, vector<16xf32>
        …
        vector.store %y, %p[%i, %j] : memref<64x1024xf32>, vector<16xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect", "::mlir::affine::AffineDialect", "::mlir::math::MathDialect",
                           "::mlir::LLVM::LLVMDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"", "Target as --target of attnc names it">];
}

def LowerCopiesPass : Pass<"attn-lower-copies", "::mlir::func::FuncOp"> {
  let summary = "turn copies between strided buffers into linalg";
  let description = [{
    `memref.copy` from or to a buffer that is not contiguous (new rows into a cache, one head out of packed heads)
    becomes a `linalg.generic`, which the next pass lowers to loops. Upstream would lower it to a call of `memrefCopy`,
    a function of MLIR's runner library, which no kernel links. Copies of contiguous buffers stay; they become memcpy.

    Rejects nothing.

    ```mlir
    // before
    memref.copy %new, %present : memref<2x6x8xf32> to memref<2x6x8xf32, strided<[144, 8, 1], offset: 96>>
    // after
    linalg.generic {…} ins(%new : memref<2x6x8xf32>) outs(%present : memref<2x6x8xf32, strided<…>>) { … }
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def OutlineParallelPass : Pass<"attn-outline-parallel", "::mlir::ModuleOp"> {
  let summary = "outline parallel loops and call attn_parallel_for";
  let description = [{
    Each `scf.forall` on memrefs becomes a function of one index, and a call of the runtime's
    `attn_parallel_for(function, context, count)`. Captured values are passed in a context structure on the caller's
    stack. With `parallel=false` the loop becomes nested `scf.for` loops in place, and the object needs no runtime.

    Stack buffers of the body move to the entry of the function that contains them, so that a loop never grows the
    stack. Those of a user's own parallel loop move to the entry of its body.

    Rejects a forall that still has results (tensors): bufferise first; and, unless
    `parallel=false`, one outside of func.func.

    ```mlir
    // before
    scf.forall (%b, %h, %t) in (2, 8, 4) { … }
    // after
    llvm.call @attn_parallel_for(%body, %context, %c64) : (!llvm.ptr, !llvm.ptr, i64) -> ()
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect"];
  let options = [Option<"parallel", "parallel", "bool", "true", "Call the runtime; false leaves serial loops">];
}

def OutlineRegionsPass : Pass<"attn-outline-regions", "::mlir::ModuleOp"> {
  let summary = "outline regions that are not to be inlined";
  let description = [{
    Each `scf.execute_region` with `no_inline` and without results becomes a private function of the values that it
    captures, and a call of it. Constants are cloned. LLVM does not inline these functions. Products that a kernel
    contains several times, in full and partial tiles, become equal functions, which attn-merge-functions merges.

    With `repeats`, parallel loops on memrefs that look like another one of the module are outlined too, as the layers
    of a model have them: merged, they are lowered once.

    Skips regions with results and those of several blocks.

    ```mlir
    // before
    scf.execute_region no_inline { … %x … }
    // after
    func.call @f_part(%x) : (index) -> ()
    ```
  }];
  let options = [Option<"repeats", "repeats", "bool", "false", "Parallel loops that the module has several times, too">];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::scf::SCFDialect"];
}

#endif // ATTN_CONVERSION_CPUPASSES_TD
