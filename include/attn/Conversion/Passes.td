//===- Passes.td - kernels, of processors and GPUs alike -------*- tablegen -*-===//
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
    arguments, then the results without a destination among them. Other functions are skipped, unless `all-functions`
    makes kernels of them too. An output is `updated` if old values of its destination are read or kept. `result` is the
    index of its result, if outputs are in another order. A name is the argument's `attn.name`, or the name of the
    operand in the first attn op that uses it. The pass runs before bufferisation, after which results and arguments
    look alike.

    Dynamic sizes that the ops require to be equal share a name in `attn.sizes`. `sizes` of an argument has the name of
    each of its dimensions. `checks` of an integer argument has the conditions on its elements if an op uses them as
    lengths, prefix sums, a block table or positions. An input, or an output that is updated, is `strided` if it has
    `attn.strided`, or is a memref of layout `strided<[?, …, 1]>`: the strides of all dimensions but the last are known
    only at run time.

    A dynamic size that only results have gets a name too, and a formula of the others in `attn.size_formulas`, in
    postfix order: `{n2 = "n0 n1 *"}`. It is arithmetic on index values: sums, products, quotients rounded towards 0,
    minima and maxima. A `cf.assert` that compares two such values by `sle` becomes a pair in `attn.size_limits`,
    `[["n1", "64"]]`, which the checked entry tests; the plain entry relies on it.

    Rejects kernels whose results are not ranked tensors, have a dynamic size without such a formula, or are an argument
    itself. Rejects calls of a kernel, and attention in modules inside this one.

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
    This is the first step of bufferisation. Arguments of functions with `attn.arguments` become memrefs, contiguous
    unless they are `strided`. Each result becomes a memref argument in which it is materialised, unless it already has
    an argument as its destination. Upstream's `eliminate-empty-tensors` then replaces the `tensor.empty` of a result by
    that memref, so that nothing is copied.

    At most 16 ops of a block share a `tensor.empty` afterwards: the time of bufferisation is cubic in their number.

    Rejects a branch of an unknown dialect to a block with tensor arguments. Functions without the attribute, and those
    already on memrefs, keep their signature.

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
    `promote-buffers-to-stack`: up to 1 MB in an `scf.forall`, whose schedule bounds them, if all of a tile have at most
    2 MB; elsewhere, where their number is unbounded, up to 64 KB. Alignments are kept.

    With `tiles-only`, buffers outside of `scf.forall` stay on the heap: on a GPU they are device memory.

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

def DeallocateBuffersPass : Pass<"attn-deallocate-buffers", "::mlir::ModuleOp"> {
  let summary = "free what the module allocates";
  let description = [{
    Runs upstream's `buffer-deallocation-pipeline` where a function allocates on the heap, calls one that returns a
    buffer, or returns one. Most kernels do nothing of this, and the pipeline canonicalizes the module three times.

    Rejects what the pipeline rejects: control flow that is not structured, ops with several regions that it does not
    know.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

def PlanWorkspacePass : Pass<"attn-plan-workspace", "::mlir::ModuleOp"> {
  let summary = "place buffers of kernels in the caller's workspace";
  let description = [{
    Functions with `attn.arguments` that launch GPU kernels take, after their arguments, a workspace, its bytes and the
    stream, and return a code, 0 for success. Their `memref.alloc` become views of the workspace at offsets that are
    multiples of 256, after a check that it is large enough; a public function `NAME_workspace_bytes` of the dynamic
    sizes returns the required size. The same is done for stack buffers, which kernels cannot access.

    With `processor` the functions are kernels of a processor. They take no stream, offsets are multiples of 64, and
    stack buffers stay there. If the workspace is too small or not aligned to 64 bytes, they return ATTN_NO_MEMORY and
    write nothing.

    Rejects buffers whose sizes do not follow from those of the arguments; on a GPU, host ops that access memory, as it
    is device memory; on a processor, buffers of each thread, and those that outlive their loop iteration.

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
  let options = [Option<"processor", "processor", "bool", "false", "Kernels of a processor, not of a GPU">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::cf::ControlFlowDialect"];
}

def LowerViewsPass : Pass<"attn-lower-views"> {
  let summary = "compute the offsets, sizes and strides of views";
  let description = [{
    Views of memrefs become `memref.reinterpret_cast`, by the patterns of upstream's `expand-strided-metadata`. These are
    applied to views alone, where that pass tries to fold every op of the module, which takes longer than all views.

    A `memref.expand_shape` that splits one dimension into two or more of dynamic size takes its sizes from the op, and
    strides that are products of them. Upstream computes a dynamic size from the static ones, which is impossible here,
    and crashes.

    Rejects nothing.

    ```mlir
    // before
    %r = memref.expand_shape %m [[0, 1]] output_shape [%a, %b] : memref<?xf32> into memref<?x?xf32>
    // after
    %base, %offset, %size, %stride = memref.extract_strided_metadata %m : memref<?xf32> -> …
    %r = memref.reinterpret_cast %base to offset: [0], sizes: [%a, %b], strides: [%b, 1] : … to memref<?x?xf32>
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def MergeFunctionsPass : Pass<"attn-merge-functions", "::mlir::ModuleOp"> {
  let summary = "merge private functions that do the same";
  let description = [{
    Private functions with equal bodies, types and attributes are merged, until no two are equal. The bodies of parallel
    loops are such functions. Those of the same attention in every layer of a model are equal, so they are lowered to
    the LLVM dialect and optimised once. Locations are those of the first one.

    Public functions stay, as they may have callers elsewhere.

    ```mlir
    // before
    func.func private @a(%x: index) { … }
    func.func private @b(%x: index) { … }
    // after, where both do the same: uses of @b are uses of @a
    func.func private @a(%x: index) { … }
    ```
  }];
}

def EmitEntryPass : Pass<"attn-emit-entry", "::mlir::ModuleOp"> {
  let summary = "give each kernel its C entry: plain pointers and sizes";
  let description = [{
    Replaces the memref arguments of each function with `attn.arguments` by pointers, from which it builds memref
    descriptors. An int64 for each name in `attn.sizes` follows, then one for each stride of strided arguments, all
    dimensions but the last. Buffers without elements are accepted; their pointers may be null.

    Rejects a kernel whose arguments are not those that `attn-describe-kernels` recorded, and one that another function
    calls. The arguments that `attn-plan-workspace` has added for a GPU kernel follow the sizes. The kernel of a
    processor returns an i32, which is 0 here (`attn-check-allocations`).

    ```mlir
    // before
    func.func @f(%q: memref<4x8xf32>, …) attributes {attn.arguments = …}
    // after
    func.func @f(%q: !llvm.ptr, …) -> i32 attributes {attn.arguments = …}
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def CheckAllocationsPass : Pass<"attn-check-allocations", "::mlir::ModuleOp"> {
  let summary = "have kernels return a code where malloc gives no memory";
  let description = [{
    Tests the result of each call of `malloc` in kernels (`attn.arguments`), and in internal functions that only kernels
    run, by a call or as the body of `attn_parallel_for`. If it is null, the function and its callers free their memory
    and return; the kernel returns ATTN_NO_MEMORY. A function that a kernel calls takes the address of the kernel's
    status as an additional argument; the body of a parallel loop finds it before its context.

    Skips foreign functions, and modules that already have their checked entries. Rejects nothing.

    ```mlir
    // before
    %m = llvm.call @malloc(%bytes) : (i64) -> !llvm.ptr
    // after
    %m = llvm.call @malloc(%bytes) : (i64) -> !llvm.ptr
    %isNull = llvm.icmp "eq" %m, %null : !llvm.ptr
    llvm.cond_br %isNull, ^refuse, ^next
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def EmitCheckedEntryPass : Pass<"attn-emit-checked-entry", "::mlir::ModuleOp"> {
  let summary = "add to each kernel an entry that checks DLPack tensors";
  let description = [{
    For each public function on the LLVM dialect with `attn.arguments`, the description of its buffers, adds `i32
    NAME_checked(const DLTensor *const *arguments, i64 count, char *message, i64 size)`. It calls `attn_check_arguments`
    with a constant table of the specifications of all arguments. If that refuses, it returns the code. Otherwise it
    calls the kernel with the tensors' data pointers and the dynamic sizes, and returns its code, with a message where
    that is not 0.

    The checked entry of a GPU kernel takes workspace, its bytes and the stream before the message, requires tensors on
    a CUDA device, aligned to 16 bytes unless they are integers, and returns the kernel's code; scalars are on the CPU.
    Values in device memory are not tested. In addition, `i64 NAME_workspace_bytes_checked(arguments, count, message,
    size)` returns the bytes of workspace, or the code of a refusal, negated.

    Rejects nothing; skips functions without the attribute.

    ```mlir
    llvm.func @sdpa_checked(%arguments: !llvm.ptr, %count: i64, %message: !llvm.ptr, %size: i64) -> i32 {
      %code = llvm.call @attn_check_arguments(%arguments, %count, %specs, %expected, %message, %size) : …
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

include "attn/Conversion/CpuPasses.td"
include "attn/Conversion/GpuPasses.td"

#endif // ATTN_CONVERSION_PASSES_TD
