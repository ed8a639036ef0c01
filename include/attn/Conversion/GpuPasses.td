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
    Each `scf.forall` on memrefs becomes a kernel of the gpu.module NAME_gpu: one block of threads per tile, in a
    one-dimensional grid in the order of the loop. The kernel takes only scalars: for each buffer a pointer and its
    dynamic sizes, for an index an i64. Constants and views are rebuilt inside. The tile's ops are unchanged;
    `attn.schedule` on the kernel has the number of warps, and the launch the shared memory.

    Rejects functions with other ops than attention (they have no kernel), schedules of a CPU, tiles that need more
    shared memory than the target has, and unregistered ops in a kernel.

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
    Q, K and V of the products get tiles in workgroup memory, with `attn.copy` instead of packs, and `attn.wait` before
    a tile is read. Where loops have consecutive tiles (`attn.consecutive`), K is copied one tile ahead, and V during
    the product of the scores, also from one loop over keys to the next; the loop carries the token of the next keys:

        copies    K0 │ V0        K1           │ V1        K2           │
        products     │ S0 = Q K0 │ softmax, P0 V0 │ S1 = Q K1 │ softmax, P1 V1

    With `stages` in the schedule, K and V have that many tiles each, in a dimension of their own, and 2 stages - 1
    copies are in flight at each wait, as its `pending` says. Columns of gradients are copied one iteration ahead.

    Where tiles may be skipped (block maps), or rows are packed or come from pages, each step fills its own tiles.

    Rejects kernels whose Q is not in a tile of its own.

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
    Scores, weights, the running state and sums of gradients are buffers after bufferisation, but their address is never
    taken: they become tensors with the encoding `#attn.registers`, which loops and branches carry. The contents before
    and after an op are then two values, and the IR shows which one each op reads. `attn.store_state` stores a state to
    memory at the end of its block.

    Skips tiles in shared memory, and kernels without a schedule.

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
    Where the schedule has `producer`, one thread of these warps copies, one box of a tensor map at a time, into one of
    the `stages` of K or V, as soon as all consumers have released it. The other warps wait only for stages, not for
    each other, and release a stage after the last product that reads it. So barriers are erased, and Q has a wait of
    its own. Extra rows of a box, beyond the end of a view or, for gradients, without keys, become 0
    (`attn.clear_rows`). Gradients read lse, log_sum and delta from shared memory (`attn.copy_statistics`). The kernel
    gets a parameter for each tensor map, and each copy of K and V its map and the coordinates of its rows. The host
    encodes the maps before the launch, which has four more warps. attn-split-roles later splits the code by role.

    Biases and masks of scores, which `attn.map_scores` reads from memory, get tiles with stages and copies of that kind,
    where maps can describe them and shared memory holds them; a remark says why not (`operand-in-memory`). So does Q,
    where it is copied once in front of the loops: it is released in front of the output.

    Skips, with a remark, kernels whose rows no tensor map can describe: converted rows, pages, and views that are not
    slices of a tensor known to the host. Their schedule then has one stage and no producer.

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
    In a kernel of all gradients (`fused` in the schedule), rows are keys, and each warp has some of them; dQ sums over
    all keys of the block. Its product, which accumulates into global memory, is replaced by a product in registers of a
    tile in shared memory that all warps have written (`attn.exchange`). The result is added to global memory when the
    block's turn comes.

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
    In kernels with a producer, each loop with one step is rotated: an iteration issues the scores of its keys and the P
    V product of the previous iteration, and computes its softmax while these run. The prologue and the epilogue are
    skipped if the loop has no iteration:

        products  │ S0 │    │ S1 = Q K1 │ acc += P0 V0 │ S2 = Q K2 │ acc += P1 V1 │ …
        threads   │    │ P0 │           │ P1           │           │ P2

    Loops carry the weights of an iteration, rounded for the product. acc is rescaled after the accumulation. Warpgroups
    take turns in issuing their products, if the head size is so small that the softmax takes as long. For gradients, S
    and dP are issued together, and weights are computed while dP runs; the sums of rounded weights and gradients are
    issued together, and overlap S and dP of the next iteration if the registers hold both.

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
    The body of such a kernel becomes a loop. In round i, block b of n computes tile i n + b, or i n + n - 1 - b where i
    is odd. So the producer copies K and V of the next tile while the consumers store the output of this one. They
    synchronise at the end of a round, as the next Q overwrites the staged output. The grid of the launch stays the
    number of tiles. Its mark (`attn.persistent`) makes the launcher start no more blocks than the device can hold at
    once.

    Skips other kernels, and those that read the size of their grid.

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
    The ops of a kernel with a producer are split into the two regions of an `attn.warp_roles`: the copies of K and V,
    with their loops and branches, and all other ops with the same loops. Each role counts its stages itself, so no
    tokens are left. The four copying warps need few registers, so the others get more.

    Skips kernels without a producer.

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
    Lowers the ops of phase `steps` one by one: copies become cp.async to swizzled shared memory, products ldmatrix and
    mma.sync (or multiply-adds), and scores and the running state stay in registers (docs/GPU.md). The loops over key
    tiles are unchanged. Kernels become llvm.func.

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
    Each `gpu.launch_func` of a C entry becomes a call of `attn_cuda_launch` with the kernel, grid, block, dynamic
    shared memory, the entry's stream and an array of pointers to the arguments; where it returns a code, the entry
    returns it. A kernel is a global with its name and its module's image, which is only declared here: the compiler
    defines it with PTX and cubin. The `gpu.module` stays. Runs after structured control flow is gone.

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
