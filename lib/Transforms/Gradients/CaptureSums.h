//===- CaptureSums.h - sums of captured tensors in tiles --------*- C++ -*-===//
//
// The tensors in which attn-tile of a backward_step accumulates gradients of captured tensors: one part per task, as
// getCaptureParts defines.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_CAPTURESUMS_H
#define ATTN_LIB_TRANSFORMS_CAPTURESUMS_H

#include "attn/IR/CaptureParts.h"
#include "attn/IR/Structure.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attn {

/// Functions build at the builder's position.
class CaptureSums {
public:
  CaptureSums(mlir::OpBuilder &b, BackwardStepOp step);

  /// Appends the parts for `bounds` tasks, with dimensions (task…, those of the capture, lane).
  void createParts(llvm::ArrayRef<mlir::OpFoldResult> bounds, llvm::SmallVectorImpl<mlir::Value> &inits);
  /// Appends the slices of a task of `forall`, which covers `sizes` positions from `offsets` on in the step's domain.
  void addSlices(mlir::scf::ForallOp forall, llvm::ArrayRef<mlir::OpFoldResult> offsets,
                 llvm::ArrayRef<mlir::OpFoldResult> sizes, llvm::SmallVectorImpl<Slice> &slices,
                 llvm::SmallVectorImpl<mlir::Value> &parts);
  /// Redirects a tile's accumulations into captured tensors to the task's slices, the last destinations of the tile;
  /// `head` is the head within the task.
  void redirect(BackwardStepOp tile, mlir::Value head);
  /// The results of the tasks, with the parts of each capture summed.
  llvm::SmallVector<mlir::Value> sumParts(mlir::ValueRange results);

private:
  struct Capture {
    CaptureParts parts;
    llvm::SmallVector<unsigned> taskDims; ///< of the domain, before the tensor's own dimensions
    bool isPart() const { return parts.hasLanes || !taskDims.empty(); }
  };

  mlir::OpBuilder &b;
  mlir::Location loc;
  BackwardStepOp step;
  unsigned numBatch;
  int64_t panelKeys;
  llvm::SmallVector<Capture> captures;
};

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_CAPTURESUMS_H
