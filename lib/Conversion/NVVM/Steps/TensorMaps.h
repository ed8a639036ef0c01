//===- TensorMaps.h - tensor maps that the host encodes for a producer -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_NVVM_TENSORMAPS_H
#define ATTN_LIB_CONVERSION_NVVM_TENSORMAPS_H

#include "Warps/Producer.h"
#include "llvm/ADT/SetVector.h"

namespace attn::nvvm {

/// The ops that compute `value`, in order; failure if they contain control flow.
mlir::FailureOr<llvm::SetVector<mlir::Operation *>> getComputation(mlir::Value value);
/// The kernel's pointer parameter of a memref descriptor; null where there is none.
mlir::BlockArgument findPointer(mlir::Value tensor);

/// Encodes tensor maps on the host before a launch, on its stack.
class TensorMapEncoder {
public:
  TensorMapEncoder(mlir::OpBuilder &b, mlir::gpu::GPUFuncOp kernel, mlir::gpu::LaunchFuncOp launch)
      : b(b), kernel(kernel), launch(launch), loc(launch.getLoc()),
        pointerType(mlir::LLVM::LLVMPointerType::get(b.getContext())) {}

  /// The map of `tensor`, a view in the kernel that the host can compute, for copies of `box`. attn-lower-launches
  /// inserts the return on failure.
  mlir::Value encode(mlir::Value tensor, llvm::ArrayRef<int64_t> box);

private:
  mlir::Value createArray(llvm::ArrayRef<mlir::OpFoldResult> values);
  mlir::Value allocate(mlir::Type type, unsigned alignment);
  mlir::Value toI64(mlir::OpFoldResult number);
  mlir::OpFoldResult toBytes(mlir::OpFoldResult elements, int64_t elementBytes);
  mlir::memref::ExtractStridedMetadataOp cloneToHost(mlir::Value tensor);
  mlir::LLVM::LLVMFuncOp declareEncode();

  mlir::OpBuilder &b;
  mlir::gpu::GPUFuncOp kernel;
  mlir::gpu::LaunchFuncOp launch;
  mlir::Location loc;
  mlir::LLVM::LLVMPointerType pointerType;
  llvm::SmallVector<mlir::Operation *> clones; ///< of the kernel's ops, on the host
};

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_TENSORMAPS_H
