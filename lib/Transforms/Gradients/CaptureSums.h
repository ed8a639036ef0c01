//===- CaptureSums.h - sums of captured tensors in tiles --------*- C++ -*-===//
//
// What attn-tile of a backward_step adds to gradients of captured tensors in: a part
// for each task, as getCaptureParts says.
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

  /// Appends the parts, in dimensions (task…, those of the capture, lane), for `bounds` tasks.
  void createParts(llvm::ArrayRef<mlir::OpFoldResult> bounds, llvm::SmallVectorImpl<mlir::Value> &inits);
  /// Appends the slices of a task of `forall`, which has `sizes` positions from `offsets` on in the step's domain.
  void addSlices(mlir::scf::ForallOp forall, llvm::ArrayRef<mlir::OpFoldResult> offsets,
                 llvm::ArrayRef<mlir::OpFoldResult> sizes, llvm::SmallVectorImpl<Slice> &slices,
                 llvm::SmallVectorImpl<mlir::Value> &parts);
  /// What the region of a tile adds to captured tensors goes to the task's slices, the last destinations of the tile;
  /// `head` is the head in the task.
  void redirect(BackwardStepOp tile, mlir::Value head);
  /// The results of the tasks, the parts summed to what they are parts of.
  llvm::SmallVector<mlir::Value> sumParts(mlir::ValueRange results);

private:
  struct Capture {
    CaptureParts parts;
    llvm::SmallVector<unsigned> taskDims; ///< of the domain, in front of the tensor's own dimensions
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
