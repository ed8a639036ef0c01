//===- GpuPasses.td - from tiles to GPU kernels -------------*- tablegen -*-===//
//
// Kernels first, then their host side: workspace and launches.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_CONVERSION_GPUPASSES_TD
#define ATTN_CONVERSION_GPUPASSES_TD

include "mlir/Pass/PassBase.td"

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
    tile is read. Where loops say that tiles follow each other (`attn.consecutive`), K is one tile ahead and V is copied
    while scores are multiplied, from one loop over keys to the next; the token of the keys to come goes from round to
    round:

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

def TilesToRegistersPass : Pass<"attn-tiles-to-registers", "::mlir::gpu::GPUModuleOp"> {
  let summary = "tiles of GPU kernels that threads hold in registers become values";
  let description = [{
    Scores, weights, the running state and sums of gradients are buffers behind bufferization, but nobody takes their
    address: they become tensors with the encoding `#attn.registers`, which loops and branches carry. What was in front
    of an op and behind it then are two values, and who reads which is in the IR. A state that goes to memory is stored
    by `attn.store_state` at the end of its block.

    Leaves the tiles in shared memory alone, and kernels without a schedule.

    ```mlir
    // before
    %s = memref.alloca() : memref<1x1x64x64xf32>
    attn.product ins(%qt, %kt : …) outs(%s : memref<1x1x64x64xf32>) {…}
    attn.weights ins(%s, %n : …) outs(%s, %l : …) {…}
    // after
    %e = tensor.empty() : tensor<1x1x64x64xf32, #attn.registers>
    %s = attn.product ins(%qt, %kt : …) outs(%e : tensor<1x1x64x64xf32, #attn.registers>) {…} -> …
    %p, %l1 = attn.weights ins(%s, %n : …) outs(%s, %l : …) {…} -> …
    ```
  }];
  let dependentDialects = ["::attn::AttnDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def SpecializeWarpsPass : Pass<"attn-specialize-warps", "::mlir::ModuleOp"> {
  let summary = "give GPU kernels with stages four warps that copy K and V";
  let description = [{
    Where the schedule says `producer`, one thread of them copies: a box of a tensor map at a time, into one of the
    stages of K or V that the schedule counts (`stages`), as soon as all have released what the stage held. The other
    warps wait for a stage alone, and not for each other, and release it behind the last product that reads it. So
    barriers are erased, and Q has a wait of its own. Rows that a box has too many of, beyond an end in memory or, of
    gradients, without keys, become 0 (`attn.clear_rows`). Gradients read lse, log_sum and delta in shared memory
    (`attn.copy_statistics`).
    The kernel gets a parameter for each tensor map, and each copy of K and V its map and where its rows begin in the
    tensor. The host encodes the maps in front of the launch, which has four more warps. What each warp executes is split
    later, by attn-split-roles.

    Skips, with a remark, kernels whose rows no tensor map describes: converted ones, pages, and views that are no
    slices of what the host knows. Their schedule then has one stage and no producer.

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

def ExchangeGradientsPass : Pass<"attn-exchange-gradients", "::mlir::gpu::GPUModuleOp"> {
  let summary = "let the warps of a GPU kernel of all gradients multiply the gradients of all of them";
  let description = [{
    A kernel of all gradients (`fused` in the schedule) has keys as rows, and each warp some of them; dQ sums over all keys
    of the block. Its product, which adds to global memory, becomes a product of a tile in shared memory, which all warps
    have written (`attn.exchange`), into registers, and those are added to global memory when it is the block's turn.

    ```mlir
    // before
    attn.await_order %turns[%place] at %block : …
    attn.product ins(%g, %kt : …) outs(%dq : …) {accumulate, contraction = #attn.contraction<values>, …}
    attn.pass_order %turns[%place] at %block : …
    // after
    %rounded = arith.truncf %g : …
    attn.exchange ins(%rounded : …) outs(%tile : …)
    gpu.barrier
    %part = attn.product ins(%tile, %kt : …) outs(%e : …) {contraction = #attn.contraction<values>, …} -> …
    attn.await_order %turns[%place] at %block : …
    attn.add_rows ins(%part : …) outs(%dq : …) {…}
    attn.pass_order %turns[%place] at %block : …
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def OverlapProductsPass : Pass<"attn-overlap-products", "::mlir::gpu::GPUModuleOp"> {
  let summary = "let the products of GPU kernels with wgmma run beside the softmax";
  let description = [{
    Of kernels with a producer, each loop that holds one step is rotated: a round starts the scores of its
    keys and the values of the round before, and computes its softmax while these run. What is in front of the first
    round and behind the last one is not executed where the loop has no round:

        products  │ S0 │    │ S1 = Q K1 │ acc += P0 V0 │ S2 = Q K2 │ acc += P1 V1 │ …
        threads   │    │ P0 │           │ P1           │           │ P2

    Loops carry the weights of a round, rounded as the product takes them. acc is rescaled once it has been added to.
    Groups of warps take turns to start their products, where the head size is small enough for the softmax to be as long.
    Of gradients, S and dP are started together, and weights are computed while dP runs; the sums are started together, of
    rounded weights and gradients, and beside S and dP of the next round where the registers hold both.

    ```mlir
    // before
    %s = attn.product ins(%qt, %kt : …) outs(%e : …) {…} -> …
    attn.row_max … attn.rescale … attn.weights …
    %a2 = attn.product ins(%p, %vt : …) outs(%a1 : …) {accumulate, …} -> …
    // after
    attn.take_turn
    %s0 = attn.product ins(%qt, %kt : …) outs(%e : …) {async, …} -> …
    %a0 = attn.product ins(%before, %vt : …) outs(%acc : …) {accumulate, async, …} -> …
    attn.pass_turn
    %s = attn.wait_product %s0 : …
    attn.release %kt
    attn.row_max … attn.rescale_rows … attn.weights …
    %a1 = attn.wait_product %a0 : …
    attn.release %vt
    %a2 = attn.rescale_acc %a1 by %f : …
    %rounded = arith.truncf %p : …
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
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

#endif // ATTN_CONVERSION_GPUPASSES_TD
