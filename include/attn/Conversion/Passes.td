//===- Passes.td - from tiles to target code ----------------*- tablegen -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_CONVERSION_PASSES_TD
#define ATTN_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def DescribeKernelsPass : Pass<"attn-describe-kernels", "::mlir::ModuleOp"> {
  let summary = "record what the C entry of each public function takes";
  let description = [{
    Attaches `attn.arguments` to each public function on tensors that has attention, or that calls a private function
    with attention. The attribute lists name, type and role of each buffer of the C entry: first the function's
    arguments, then the results without a destination among them. Other functions stay as they are, unless
    `all-functions` makes kernels of them too. An output is `updated` if old values of its destination are read or kept.
    `result` is the number of the result that it holds, if outputs are in another order. A name is the argument's
    `attn.name`, or the name of the operand in the first attn op that uses it. The pass runs before bufferisation, which
    no longer tells results from arguments.

    Dynamic sizes that the ops require to be equal share a name in `attn.sizes`. `sizes` of an argument has the name of
    each of its dimensions. `checks` of an argument of integers has the conditions on them if an op uses them as
    lengths, prefix sums, a block table or positions. An input, or an output that is updated, is `strided` if it has
    `attn.strided`, or is a memref of layout `strided<[?, …, 1]>`: the call says the strides of all dimensions but the
    last.

    A dynamic size that only results have gets a name too, and in `attn.size_formulas` how it follows from the others,
    in postfix order: `{n2 = "n0 n1 *"}`. It is arithmetic on index values: sums, products, quotients rounded towards
    0, minima and maxima. A `cf.assert` that compares two such values by `sle` becomes a pair in `attn.size_limits`,
    `[["n1", "64"]]`, which the checked entry tests; the plain entry relies on it.

    Rejects kernels whose results are not ranked tensors, have a dynamic size that is no such arithmetic, or are an
    argument itself. Rejects calls of a kernel, and attention in modules inside this one.

    ```mlir
    // after: attn.arguments lists query, key, value, output with their types
    func.func @f(%q: tensor<4x8xf32>, …) -> tensor<4x8xf32> attributes {attn.arguments = […]}
    ```
  }];
  let options = [
    Option<"allFunctions", "all-functions", "bool", /*default=*/"false",
           "Make kernels of public functions without attention as well">,
  ];
}

def BindDestinationsPass : Pass<"attn-bind-destinations", "::mlir::ModuleOp"> {
  let summary = "turn the tensors of a kernel's signature into memrefs, results into destinations";
  let description = [{
    This is the first step of bufferisation. Arguments of functions with `attn.arguments` become memrefs, contiguous unless they are `strided`.
    Each result becomes a memref argument in which it is materialised, unless an argument is its destination already.
    Upstream's `eliminate-empty-tensors` then replaces the `tensor.empty` of a result by that memref, and nothing is
    copied.

    At most 16 ops of a block share a `tensor.empty` afterwards: bufferisation takes the third power of their number.

    Rejects a branch of no known dialect in front of a block that takes tensors. Functions without the attribute, and
    those on memrefs already, keep their signature.

    ```mlir
    // before
    func.func @f(%q: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {attn.arguments = …}
    // after
    func.func @f(%q: memref<4x8xf32>, %out: memref<4x8xf32>) attributes {attn.arguments = …} {
      %t = bufferization.to_tensor %q restrict : memref<4x8xf32> to tensor<4x8xf32>
      …
      bufferization.materialize_in_destination %r in restrict writable %out : …
    ```
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect"];
}

def PromoteBuffersPass : Pass<"attn-promote-buffers", "::mlir::func::FuncOp"> {
  let summary = "put the buffers of tiles, and small ones of a function, on the stack";
  let description = [{
    Buffers of static size that do not leave their block become `memref.alloca`, as by upstream's
    `promote-buffers-to-stack`: in an `scf.forall`, whose schedule bounds them, up to 1 MB where all of a tile are at
    most 2 MB; elsewhere, where nothing bounds their number, up to 64 KB. Alignments stay.

    With `tiles-only` those outside of `scf.forall` stay on the heap: on a GPU they are memory of the device.

    ```mlir
    // before
    scf.forall (%i) in (4) { %t = memref.alloc() {alignment = 64 : i64} : memref<128x64xf32> … }
    // after
    scf.forall (%i) in (4) { %t = memref.alloca() {alignment = 64 : i64} : memref<128x64xf32> … }
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
  let options = [Option<"tilesOnly", "tiles-only", "bool", "false", "Only buffers in parallel loops">];
}

def LowerExpandShapePass : Pass<"attn-lower-expand-shape"> {
  let summary = "lower views that make several dynamic dimensions of one";
  let description = [{
    A `memref.expand_shape` that makes two or more dimensions of dynamic size of one becomes a `memref.reinterpret_cast`
    with the sizes that the op gives, and strides that are products of them. Upstream's `expand-strided-metadata` takes
    all others. It computes a dynamic size from the static ones, which is not known here, and ends the process.

    Rejects nothing.

    ```mlir
    // before
    %r = memref.expand_shape %m [[0, 1]] output_shape [%a, %b] : memref<?xf32> into memref<?x?xf32>
    // after
    %base, %offset, %size, %stride = memref.extract_strided_metadata %m : memref<?xf32> -> …
    %r = memref.reinterpret_cast %base to offset: [0], sizes: [%a, %b], strides: [%b, 1] : … to memref<?x?xf32>
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::memref::MemRefDialect"];
}

def TileMatmulPass : Pass<"attn-tile-matmul", "::mlir::func::FuncOp"> {
  let summary = "tile products with weights, together with what follows them";
  let description = [{
    A product of rows with a matrix, on tensors, becomes an `scf.forall` over tiles of at most 128 rows by a panel of
    columns (see `attn-lower-matmul-to-vector`). Where one elementwise op alone reads the result, at its own indices, it
    is in the same loop, as are all products that it reads: a bias, an activation, a gate or a residual finds what it
    needs in the cache. The part of a product that a tile computes is in a buffer of the tile.

    Takes contractions with f32 or f64 results and one matrix without batch dimensions on the right, whose columns are
    a known number of whole panels. Leaves products with fewer than 16 rows or little work, and those in parallel loops,
    as they are. Rejects nothing.

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

def PackWeightsPass : Pass<"attn-pack-weights", "::mlir::func::FuncOp"> {
  let summary = "lay constant weights out as the panels that tiles read";
  let description = [{
    Where a tile of `attn-tile-matmul` multiplies with a panel of columns of a constant matrix, the matrix becomes a
    constant of its panels, one after the other. A tile then reads a panel from its start to its end, and no call packs
    or transposes it. A matrix that something else reads stays beside it.

    Takes constants in the type of the product's sums; others are widened when a tile copies its panel. Rejects nothing.

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
    of a chain that runs materialised. A tile is a block of rows by a panel of columns; an `scf.forall` goes over the
    tiles. B's part of a panel is copied to the stack for a block of the depth, so all rows of the tile find it in the
    first-level cache. With few rows B is read where it lies. Remainders of rows and columns have loops and masks of
    their own. Any number of batch dimensions and any dynamic size is accepted. Where the target multiplies pairs
    faster, bf16 stays bf16 in a panel, in pairs of its rows; denormals are 0 there. Weights of 0 are skipped only in
    panels with NaN or infinity.

    Takes `linalg.matmul`, `linalg.batch_matmul` and every `linalg.generic` of
    that form whose C is f32 or f64 with j innermost; B may be transposed, A and
    B narrower than C. Rejects nothing: other ops are left to
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
    The transposed CPU tile: lanes are query rows. S^T = K Q^T and
    O^T += V^T P^T are register kernels whose broadcast operand is read straight
    from K and V; the softmax runs down the rows of S^T lane by lane, so there
    is no horizontal reduction; exp is a polynomial of 2^x. A predicate, a
    boolean mask, a bias and the score functions are lane-wise code on the scores.
    With `instruction = amx` the products are those of tiles, and with `overlap`
    the softmax of 32 rows runs beside the products of others.

    Takes `attn.pack`, `attn.init_state`, `attn.online_step` and
    `attn.finalize` on memrefs with static tile sizes, as `attn-tile` and
    bufferisation leave them; `attn.gather_pages` and `attn.classify_tile` of
    such tiles; and `attn.kv_append` of any size, which writes new rows into
    the cache in place. Any other attn op on memrefs is an error: no CPU
    lowering took it. So is an op that no dialect has, as nothing makes code of it. `buffer-deallocation-pipeline` comes after this pass: it
    takes no op with several regions, as `attn.online_step` has.

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
    Lowers the steps of a chain that runs materialised (scale, masks, softmax) and a user's own elementwise
    ops. Lanes are the innermost dimension of the result, or the dimension that a sum or a maximum reduces. Values that
    do not depend on the lanes stay scalar. A read whose lanes do not lie side by side is a gather. Lanes beyond the
    last element have a mask. A large op outside of parallel loops becomes an `scf.forall`.

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
    `memref.copy` from or to a buffer that is not one piece of memory (new rows into a cache, one head out of packed
    heads) becomes a `linalg.generic`, and with the next pass loops. Upstream would lower it to a call of `memrefCopy`,
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

def MergeFunctionsPass : Pass<"attn-merge-functions", "::mlir::ModuleOp"> {
  let summary = "merge private functions that do the same";
  let description = [{
    Private functions with equal bodies, types and attributes become one, until no two are equal. The bodies of parallel
    loops are such functions. Those of the same attention in every layer of a model are equal, so they are lowered to
    the LLVM dialect and optimised once. Locations are those of the first.

    Public functions stay, as they have a caller elsewhere.

    ```mlir
    // before
    func.func private @a(%x: index) { … }
    func.func private @b(%x: index) { … }
    // after, where both do the same: uses of @b are uses of @a
    func.func private @a(%x: index) { … }
    ```
  }];
}

def OutlineParallelPass : Pass<"attn-outline-parallel", "::mlir::ModuleOp"> {
  let summary = "outline parallel loops and call attn_parallel_for";
  let description = [{
    Each `scf.forall` on memrefs becomes a function of one index, and a call of
    the runtime's `attn_parallel_for(function, context, count)`. What the body
    captures goes through a context structure on the caller's stack. With
    `parallel=false` the loop becomes nested `scf.for` loops in place, and the
    object needs no runtime.

    Stack buffers of the body move to the entry of the function that then contains them, so a loop never grows the
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
    Each `scf.execute_region` with `no_inline` and without results becomes a private function of what it captures, and
    a call of it. Constants go along. LLVM does not inline these functions. Products that a kernel has several times,
    in full and partial tiles, are then equal functions, of which attn-merge-functions keeps one.

    Skips regions with results and those of several blocks.

    ```mlir
    // before
    scf.execute_region no_inline { … %x … }
    // after
    func.call @f_part(%x) : (index) -> ()
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def EmitEntryPass : Pass<"attn-emit-entry", "::mlir::ModuleOp"> {
  let summary = "give each kernel its C entry: plain pointers and sizes";
  let description = [{
    Replaces the memref arguments of each function with `attn.arguments` by pointers, of which it builds memref
    descriptors. An int64 for each name in `attn.sizes` follows, then one for each stride of strided arguments, all
    dimensions but the last. Buffers without elements are accepted; their pointers
    may be null.

    Rejects a kernel whose arguments are not those that `attn-describe-kernels`
    recorded, and one that another function calls. What `attn-plan-workspace` has
    added for a GPU kernel stays behind the sizes.

    ```mlir
    // before
    func.func @f(%q: memref<4x8xf32>, …) attributes {attn.arguments = …}
    // after
    func.func @f(%q: !llvm.ptr, …) attributes {attn.arguments = …}
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def EmitCheckedEntryPass : Pass<"attn-emit-checked-entry", "::mlir::ModuleOp"> {
  let summary = "add to each kernel an entry that checks DLPack tensors";
  let description = [{
    For each public function on the LLVM dialect with `attn.arguments`, the description of its buffers, adds `i32
    NAME_checked(const DLTensor *const *arguments, i64 count, char *message, i64 size)`. It calls `attn_check_arguments`
    with a constant table of what each argument must be. If that refuses, it returns the code. Otherwise it calls the
    kernel with the tensors' data pointers and the dynamic sizes.

    The checked entry of a GPU kernel takes workspace, its bytes and the stream
    before the message, wants tensors on a CUDA device, aligned to 16 bytes
    unless they are integers, and returns the kernel's code; scalars are on the
    CPU. Values in device memory are not tested. Beside it,
    `i64 NAME_workspace_bytes_checked(arguments, count, message, size)` returns
    the bytes of workspace, or the code of a refusal, negated.

    Rejects nothing; functions without the attribute are left alone.

    ```mlir
    llvm.func @sdpa_checked(%arguments: !llvm.ptr, %count: i64, %message: !llvm.ptr, %size: i64) -> i32 {
      %code = llvm.call @attn_check_arguments(%arguments, %count, %specs, %expected, %message, %size) : …
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

include "attn/Conversion/GpuPasses.td"

#endif // ATTN_CONVERSION_PASSES_TD
