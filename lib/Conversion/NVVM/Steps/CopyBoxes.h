//===- CopyBoxes.h - copies of a producer as boxes of tensors ---*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_NVVM_COPYBOXES_H
#define ATTN_LIB_CONVERSION_NVVM_COPYBOXES_H

#include "TensorMaps.h"

namespace attn::nvvm {

/// A copy whose rows in memory are a box of a tensor.
struct BoxCopy {
  CopyOp copy;
  int64_t rows, rowBytes;               ///< of a panel of its tile
  llvm::SmallVector<mlir::Value> views; ///< nested slices, the innermost one last
  mlir::Value tensor;                   ///< one of them, or their source: the map describes it
  llvm::SmallVector<int64_t> box;
  /// The map of the rows in memory.
  mlir::AffineMap getMap() const {
    CopyOp op = copy;
    return attn::getMaps(op)[storesTile(op)];
  }
  friend bool operator==(const BoxCopy &x, const BoxCopy &y) { return x.tensor == y.tensor && x.box == y.box; }
};

/// The copies of a kernel that a producer makes, and the maps of their tensors.
class CopyBoxes {
public:
  explicit CopyBoxes(mlir::gpu::GPUFuncOp kernel) : kernel(kernel), b(kernel.getContext()) {}

  /// A copy that fills a tile in panels, or stores one, with as many rows and bytes of a row.
  void add(CopyOp copy, int64_t rows, int64_t rowBytes = kPanelChunks * kChunkBytes);
  void append(const CopyBoxes &other) { llvm::append_range(copies, other.copies); }
  llvm::ArrayRef<BoxCopy> get() const { return copies; }
  /// Why no tensor map can describe the rows of a copy; empty where one can for all of them.
  llvm::StringRef findObstacle();
  /// Adds a parameter of the kernel for each map. Copies name their map, and the coordinates in its tensor.
  void place();
  /// Adds the maps to the operands of a launch, which the host encodes before it.
  void encode(mlir::gpu::LaunchFuncOp launch);

private:
  llvm::StringRef findTensor(BoxCopy &source);
  unsigned getRowDim(const BoxCopy &source, llvm::ArrayRef<unsigned> dims);
  llvm::SmallVector<unsigned> followSlices(const BoxCopy &source,
                                           llvm::function_ref<void(unsigned, mlir::OpFoldResult)> addOffset);
  void addBox(const BoxCopy &source, mlir::Value map);

  mlir::gpu::GPUFuncOp kernel;
  mlir::OpBuilder b;
  llvm::SmallVector<BoxCopy> copies, maps; ///< the first copy of each map
};

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_COPYBOXES_H
