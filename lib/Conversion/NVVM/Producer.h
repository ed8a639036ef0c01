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
/// Of a kernel with a producer: stages of K, and of V.
constexpr llvm::StringLiteral kStagesAttr = "attn.stages";
/// Of a copy by the producer: the number of the kernel's parameter that is its tensor map.
constexpr llvm::StringLiteral kMapAttr = "attn.tensor_map";
/// What encodes a tensor map on the host (attn_cuda.h).
constexpr llvm::StringLiteral kEncodeMap = "attn_cuda_encode_map";
/// Bytes of a tensor map, and what its address is a multiple of.
constexpr int64_t kMapBytes = 128, kMapAlignment = 64;

/// The tensor that `view` is a chain of slices with unit strides of, as MapToGpu has built it from the parameters of
/// the kernel; null where it is none.
mlir::UnrealizedConversionCastOp findTensor(mlir::Value view);
/// Where the chain begins in each dimension of the tensor, i32.
Values getBegin(WarpBuilder &wb, mlir::Value view);

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_PRODUCER_H
