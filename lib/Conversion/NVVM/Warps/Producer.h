//===- Producer.h - kernels with warps that only copy -----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_NVVM_PRODUCER_H
#define ATTN_LIB_CONVERSION_NVVM_PRODUCER_H

#include "WarpTile.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace attn::nvvm {

/// Threads that have the producer's role, one of which copies: setmaxnreg is of four warps.
constexpr int64_t kProducerThreads = 128;
/// Barriers of the block: 0 is of all threads, 1 of those that are no producer; those of four warps that multiply
/// together, eight groups at most; and those by which groups take turns.
constexpr int64_t kFirstGroupBarrier = 2, kFirstTurnBarrier = 10;
/// Groups that take turns at most.
constexpr int64_t kMaxTurns = 3;
/// Of a launch: its blocks go through the tiles of the grid, and no more of them start than the device holds at once.
constexpr llvm::StringLiteral kPersistentAttr = "attn.persistent";
/// What encodes a tensor map on the host (attn_cuda.h).
constexpr llvm::StringLiteral kEncodeMap = "attn_cuda_encode_map";
/// Bytes of a tensor map, and what its address is a multiple of.
constexpr int64_t kMapBytes = 128, kMapAlignment = 64;

/// Registers of a thread of each role, by the warps that consume, where a multiprocessor holds so many blocks.
struct RoleRegisters {
  Instruction instruction;
  int64_t consumers, blocks, ofProducer, ofConsumer;
};
/// Null where each role has what the kernel starts with.
const RoleRegisters *findRoleRegisters(BlockAttr schedule);
/// Registers of a thread that multiplies.
int64_t getConsumerRegisters(BlockAttr schedule);

/// True where the place or the size of a view depends on what lies in memory.
bool readsMemory(mlir::Value view);
/// True for a kernel whose copies of K and V are those of a producer.
bool hasProducer(mlir::gpu::GPUFuncOp kernel);

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_PRODUCER_H
