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

    Rejects kernels whose results are not ranked tensors, have a dynamic size that is a size of no argument, or are an
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

//===----------------------------------------------------------------------===//
// GPU
//===----------------------------------------------------------------------===//

def MapToGpuPass : Pass<"attn-map-to-gpu", "::mlir::ModuleOp"> {
  let summary = "turn parallel loops over tiles into GPU kernels and launches of them";
  let description = [{
    Each `scf.forall` on memrefs becomes a kernel of the gpu.module NAME_gpu: one
    block of threads a tile, one dimension of blocks in the order of the loop.
    The kernel takes scalars alone: for each buffer a pointer and its dynamic
    sizes, for an index an i64. Constants and views are built again inside. The
    tile's ops are as they were; `attn.schedule` on the kernel says how many warps
    have them, and the launch how much shared memory they need.

    Rejects functions that do anything but attention (there is no kernel for the
    rest), schedules of a CPU, tiles that need more shared memory than the
    target has, and in a kernel ops that no dialect has.

    ```mlir
    // before
    scf.forall (%h, %i) in (4, 2) { attn.pack … attn.online_step … attn.finalize … }
    // after
    gpu.launch_func @sdpa_gpu::@sdpa_kernel blocks in (%c8, %c1, %c1) threads in (%c128, %c1, %c1)
        dynamic_shared_memory_size %bytes args(%q : !llvm.ptr, …)
    ```
  }];
  let options = [Option<"target", "target", "std::string", "\"sm_80\"", "Target as --target of attnc names it">];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::NVVM::NVVMDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def PipelineCopiesPass : Pass<"attn-pipeline-copies", "::mlir::gpu::GPUModuleOp"> {
  let summary = "put the tiles of GPU kernels into shared memory, with the copies that fill them and the waits";
  let description = [{
    Q, K and V of the products get tiles in workgroup memory, `attn.copy` in the place of packs, and `attn.wait` where a
    tile is read. Where key tiles follow each other, K is one tile ahead and V is copied while scores are multiplied, from
    one loop over keys to the next; the token of the keys to come goes from round to round:

        copies    K0 │ V0        K1           │ V1        K2           │
        products     │ S0 = Q K0 │ softmax, P0 V0 │ S1 = Q K1 │ softmax, P1 V1

    With `stages` of the schedule, K and V have so many tiles each, a dimension of theirs, and 2 stages - 1 copies are
    under way at each wait, which has them as `pending`. Columns of gradients are copied one round ahead.

    Where tiles may be skipped (block maps), or rows are packed or come from pages, each step fills its own tiles.

    Rejects kernels whose Q is in no tile of its own.

    ```mlir
    // before
    attn.product ins(%q, %k : memref<128x64xbf16>, memref<64x64xbf16, strided<…>>) outs(%s : …) {…}
    // after
    attn.wait %query, %keys
    %values = attn.copy ins(%v : …) outs(%vt : memref<64x64xbf16, #gpu.address_space<workgroup>>) : !attn.token
    attn.product ins(%qt, %kt : …) outs(%s : …) {…}
    attn.wait %values
    %next = attn.copy ins(%rest : …) outs(%kt : …) from %c64 : !attn.token
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def SpecializeWarpsPass : Pass<"attn-specialize-warps", "::mlir::ModuleOp"> {
  let summary = "give GPU kernels with stages four warps that copy K and V";
  let description = [{
    One thread of them copies: a box of a tensor map at a time, into one of the stages of K or V that the schedule
    counts (`stages`), as soon as all have released what the stage held. The other warps wait for a stage alone, and not
    for each other, and release it behind the product that reads it. So barriers are erased, and Q has a wait of its own.
    The kernel gets a parameter for each tensor map, and each copy of K and V its map and where its rows begin in the
    tensor. The host encodes the maps in front of the launch, which has four more warps. What each warp executes is split
    later, by attn-split-roles.

    Skips, with a remark, kernels whose rows no tensor map describes: converted ones, pages, and views that are no
    slices of what the host knows. Their schedule then has one stage.

    ```mlir
    // before
    attn.wait %q, %k
    attn.product ins(%qt, %kt : …) outs(%s : …) {…}
    %next = attn.copy ins(%rest : …) outs(%kt : …) from %c64 : !attn.token
    // after
    attn.wait %k stages(%kt : …)
    attn.product ins(%qt, %kt : …) outs(%s : …) {…}
    attn.release %kt : …
    %next = attn.copy ins(%rest : …) outs(%kt : …) from %c64 box(%arg4 : !llvm.ptr)[%b, %h, %j, %c0] : !attn.token
    ```
  }];
  let options = [Option<"target", "target", "std::string", "\"sm_90a\"", "Target as --target of attnc names it">];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def OverlapProductsPass : Pass<"attn-overlap-products", "::mlir::gpu::GPUModuleOp"> {
  let summary = "let the products of GPU kernels with wgmma run beside the softmax";
  let description = [{
    Of kernels with a producer, each loop that holds one step is rotated: a round starts the scores of its
    keys and the values of the round before, and computes its softmax while these run. What is in front of the first
    round and behind the last one is not executed where the loop has no round:

        products  │ S0 │    │ S1 = Q K1 │ acc += P0 V0 │ S2 = Q K2 │ acc += P1 V1 │ …
        threads   │    │ P0 │           │ P1           │           │ P2

    Weights are kept from round to round in a tile of their own. acc is rescaled once it has been added to. Groups of
    warps take turns to start their products, where the head size is small enough for the softmax to be as long.

    ```mlir
    // before
    attn.product ins(%qt, %kt : …) outs(%s : …) {…}
    attn.row_max … attn.rescale … attn.weights …
    attn.product ins(%s, %vt : …) outs(%acc : …) {accumulate, …}
    // after
    attn.take_turn
    attn.product ins(%qt, %kt : …) outs(%s : …) {async, …}
    attn.product ins(%p, %vt : …) outs(%acc : …) {accumulate, async, …}
    attn.pass_turn
    attn.wait_product %s
    attn.release %kt
    attn.row_max … attn.rescale … {deferred} attn.weights …
    attn.wait_product %acc
    attn.release %vt
    attn.rescale_acc %acc
    memref.copy %s, %p
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def MakePersistentPass : Pass<"attn-make-persistent", "::mlir::ModuleOp"> {
  let summary = "let blocks of GPU kernels with a producer go through several tiles";
  let description = [{
    The body of such a kernel becomes a loop. Block b of n has, in round i, tile i n + b, or i n + n - 1 - b where i is
    odd. So the producer copies K and V of the next tile while the consumers store the output of this one; they wait for
    each other at the end of a round, since the next Q goes where the output was. The grid of the launch stays the
    number of tiles. Its mark (`attn.persistent`) makes the launcher start no more blocks than the device holds at once.

    Leaves other kernels alone, and those that read the size of their grid.

    ```mlir
    // before
    %tile = nvvm.read.ptx.sreg.ctaid.x : i32
    …
    // after
    scf.for %round = %c0_i32 to %rounds step %c1_i32 : i32 {
      …
      gpu.barrier
    }
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
                           "::mlir::arith::ArithDialect"];
}

def SplitRolesPass : Pass<"attn-split-roles", "::mlir::gpu::GPUModuleOp"> {
  let summary = "a program for each role of the warps of a GPU kernel";
  let description = [{
    The ops of a kernel with a producer become the two regions of an `attn.warp_roles`: the copies of K and V, with the
    loops and branches around them, and all the rest with the same loops. Each role counts its stages by itself, so no
    tokens are left. Four warps that only copy need few registers, and the others get them.

    Leaves kernels without a producer alone.

    ```mlir
    // before
    attn.wait %k stages(%kt : …)
    %next = attn.copy ins(%rest : …) outs(%kt : …) from %c64 box(%arg4 : !llvm.ptr)[%b, %h, %j, %c0] : !attn.token
    // after
    attn.warp_roles stages(2 of %kt, %vt : …) producer(registers = 40) {
      %next = attn.copy ins(%rest : …) outs(%kt : …) from %c64 box(%arg4 : !llvm.ptr)[%b, %h, %j, %c0] : !attn.token
    } consumer(registers = 232) {
      attn.wait stages(%kt : …)
    }
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}

def LowerTileToNvvmPass : Pass<"attn-lower-tile-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "lower tile-sized attn ops to the code of one thread of a block of warps";
  let description = [{
    An op of the phase `steps` at a time: copies become cp.async to swizzled
    shared memory, products ldmatrix and mma.sync (or multiply-adds), and scores
    and the running state stay in registers (docs/GPU.md). The loops over key
    tiles are as they were. Kernels are llvm.func after it.

    Rejects tiles whose rows are not contiguous or do not fit the schedule's
    block, and ops that have no GPU lowering.

    ```mlir
    // before
    attn.product ins(%qt, %kt : memref<1x1x128x64xbf16, #gpu.address_space<workgroup>>, …) outs(%s : …) {…}
    // after
    nvvm.cp.async.shared.global … nvvm.ldmatrix … nvvm.mma.sync … nvvm.shfl.sync …
    ```
  }];
  let options = [Option<"target", "target", "std::string", "\"sm_80\"", "Target as --target of attnc names it">];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect", "::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
                           "::mlir::math::MathDialect"];
}

//===----------------------------------------------------------------------===//
// The host side of GPU kernels
//===----------------------------------------------------------------------===//

def PlanWorkspacePass : Pass<"attn-plan-workspace", "::mlir::ModuleOp"> {
  let summary = "place the buffers between GPU launches in the caller's workspace";
  let description = [{
    Functions with `attn.arguments` that launch GPU kernels take, after their
    arguments, a workspace, its bytes and the stream, and return a code, 0 where
    all went well. Their `memref.alloc` become views of the workspace at offsets
    that are multiples of 256, after a check that it is large enough; a public
    function `NAME_workspace_bytes` of the dynamic sizes says how large that is.
    Buffers on the stack are placed likewise: kernels cannot reach them.

    Rejects buffers whose sizes do not follow from those of the arguments, and
    ops of the host that touch memory: it is the device's.

    ```mlir
    // before
    func.func @f(%q: memref<?x64xf16>) attributes {attn.arguments = …} {
      %states = memref.alloc(%n) : memref<?x16xf32>
      …
    // after
    func.func @f(%q: memref<?x64xf16>, %workspace: !llvm.ptr, %bytes: i64, %stream: !llvm.ptr) -> i32 {
      %code = llvm.call @attn_cuda_check_workspace(%workspace, %bytes, %needed) : …
      cf.cond_br %fine, ^bb1, ^bb2
    ^bb1:
      %states = memref.view %all[%offset][%n] : memref<?xi8> to memref<?x16xf32>
      …
    func.func @f_workspace_bytes(%n: i64) -> i64
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::cf::ControlFlowDialect"];
}

def LowerLaunchesPass : Pass<"attn-lower-launches", "::mlir::ModuleOp"> {
  let summary = "turn GPU launches into calls of the runtime's launcher";
  let description = [{
    Each `gpu.launch_func` of a C entry becomes a call of `attn_cuda_launch`
    with the kernel, grid, block, dynamic shared memory, the entry's stream and
    an array of pointers to the arguments; where it returns a code, the entry
    returns it. A kernel is a global of its name and its module's image, which
    is only declared here: the compiler defines it with PTX and cubin. The
    `gpu.module` stays. Runs after structured control flow is gone.

    Rejects arguments that are neither pointers nor scalars, clusters and tokens.

    ```mlir
    // before
    gpu.launch_func @f_gpu::@f_kernel blocks in (%n, %c1, %c1) threads in (%c128, %c1, %c1) args(%q : !llvm.ptr)
    // after
    %kernel = llvm.mlir.addressof @f_gpu_image_f_kernel
    %code = llvm.call @attn_cuda_launch(%kernel, %n, …, %stream, %parameters) : …
    cf.cond_br %fine, ^next, ^exit(%code : i32)
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect"];
}

#endif // ATTN_CONVERSION_PASSES_TD
