//===- Producer.h - kernels with a producer warpgroup -----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_NVVM_PRODUCER_H
#define ATTN_LIB_CONVERSION_NVVM_PRODUCER_H

#include "WarpTile.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace attn::nvvm {

/// Threads with the producer's role, one of which copies: setmaxnreg applies to four warps.
constexpr int64_t kProducerThreads = 128;
/// Barrier ids of the block: 0 is for all threads, 1 for the consumers. Then come those of each consumer warpgroup (at
/// most eight), and those by which groups take turns.
constexpr int64_t kFirstGroupBarrier = 2, kFirstTurnBarrier = 10;
/// Most groups that take turns.
constexpr int64_t kMaxTurns = 3;
/// Attribute of a launch whose blocks loop over the tiles of the grid: only as many blocks start as the device can hold
/// at once.
constexpr llvm::StringLiteral kPersistentAttr = "attn.persistent";
/// Attribute of a lowered kernel that waits for the launch in front of it before it accesses memory.
constexpr llvm::StringLiteral kDependentAttr = "attn.dependent";
/// The host function that encodes a tensor map (attn_cuda.h).
constexpr llvm::StringLiteral kEncodeMap = "attn_cuda_encode_map";
/// Size and alignment of a tensor map in bytes.
constexpr int64_t kMapBytes = 128, kMapAlignment = 64;

/// Registers per thread of each role, by the number of consumer warps and of blocks per multiprocessor.
struct RoleRegisters {
  Instruction instruction;
  int64_t consumers, blocks, ofProducer, ofConsumer;
};
/// Null where the roles keep the registers that the kernel starts with.
const RoleRegisters *findRoleRegisters(BlockAttr schedule);
/// Registers per thread of a consumer.
int64_t getConsumerRegisters(BlockAttr schedule);

/// True where the offset or size of a view depends on memory contents.
bool readsMemory(mlir::Value view);
/// True for a copy from a tile in shared memory to rows in memory.
bool storesTile(CopyOp copy);
/// True for a kernel whose copies of K and V are issued by a producer.
bool hasProducer(mlir::gpu::GPUFuncOp kernel);
/// True where it copies Q too, which then has stages.
bool copiesQueries(mlir::gpu::GPUFuncOp kernel);

/// Where the box of a copy begins.
Values getBegin(WarpBuilder &wb, CopyOp op);
/// Starts the copies of the panels of a box to shared memory at `first`, whose bytes arrive at `barrier`; from there to
/// the tensor where that is null. `begin` has the outermost dimension first.
void copyPanels(WarpBuilder &wb, const SharedTileLayout &layout, mlir::Value first, mlir::Value map,
                llvm::ArrayRef<mlir::Value> begin, int64_t elementBytes, mlir::Value barrier);
/// Waits until the boxes that the warp stores have been read from shared memory.
void waitForStores(WarpBuilder &wb);

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_PRODUCER_H
