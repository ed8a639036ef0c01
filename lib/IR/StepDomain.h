//===- StepDomain.h - what the small ops of a step have in common -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_IR_STEPDOMAIN_H
#define ATTN_LIB_IR_STEPDOMAIN_H

#include "attn/IR/Decompose.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace attn {

/// Maps over parts of a step's domain, and tiles: tensors if the step is on tensors, buffers if it is on memrefs.
struct StepDomain {
  StepDomain(mlir::OpBuilder &builder, mlir::Operation *step, mlir::Type type)
      : b(builder), step(step), isOnTensors(mlir::isa<mlir::RankedTensorType>(step->getOperand(0).getType())),
        type(type), sizes(getDomainSizes(builder, step)) {}

  llvm::SmallVector<unsigned> getPositions(llvm::ArrayRef<DimKind> dims) const {
    auto positions = llvm::to_vector(llvm::seq<unsigned>(0, getNumBatchDims(step)));
    for (DimKind kind : dims)
      positions.push_back(getDomainPosition(step, kind));
    return positions;
  }
  /// The map of a tile (batch…, dims…) over the domain of the step.
  mlir::AffineMap getMap(llvm::ArrayRef<DimKind> dims) const {
    return mlir::AffineMap::getMultiDimMapWithTargets(sizes.size(), getPositions(dims), step->getContext());
  }
  /// The same maps over (batch…, dims…).
  mlir::ArrayAttr restrict(llvm::ArrayRef<DimKind> dims, llvm::ArrayRef<mlir::AffineMap> maps) const {
    llvm::SmallVector<unsigned> kept = getPositions(dims);
    return b.getAffineMapArrayAttr(
        llvm::map_to_vector(maps, [&](mlir::AffineMap map) { return restrictDomain(map, kept); }));
  }
  mlir::Value createTile(llvm::ArrayRef<DimKind> dims) const {
    auto shape = llvm::map_to_vector(getPositions(dims), [&](unsigned position) { return sizes[position]; });
    if (isOnTensors)
      return mlir::tensor::EmptyOp::create(b, step->getLoc(), shape, type);
    auto [staticShape, dynamicSizes] = mlir::decomposeMixedValues(shape);
    return mlir::memref::AllocaOp::create(b, step->getLoc(), mlir::MemRefType::get(staticShape, type), dynamicSizes);
  }
  /// A tile that replaces `tile`, which has no more readers: a buffer is reused.
  mlir::Value createTileAfter(mlir::Value tile, llvm::ArrayRef<DimKind> dims) const {
    return isOnTensors ? createTile(dims) : tile;
  }
  llvm::SmallVector<mlir::Type> getResultTypes(mlir::ValueRange outputs) const {
    return isOnTensors ? llvm::to_vector(outputs.getTypes()) : llvm::SmallVector<mlir::Type>();
  }
  /// The value of output `i` of `op` after the op: its result, or the buffer itself.
  mlir::Value getResult(mlir::Operation *op, unsigned i, mlir::Value output) const {
    return isOnTensors ? op->getResult(i) : output;
  }
  /// The map from heads to key heads if one of `regions` reads kv_head: the ops of scores have no K.
  mlir::AffineMapAttr getKvHead(llvm::ArrayRef<mlir::Region *> regions) const {
    bool isRead = llvm::any_of(regions, [](mlir::Region *region) {
      return llvm::any_of(region->getOps<IndexOp>(),
                          [](IndexOp index) { return index.getKind() == IndexKind::KvHead; });
    });
    return isRead ? mlir::AffineMapAttr::get(getKvHeadMap(step)) : mlir::AffineMapAttr();
  }

  mlir::OpBuilder &b;
  mlir::Operation *step;
  bool isOnTensors;
  mlir::Type type; ///< element type of the state or the sums
  llvm::SmallVector<mlir::OpFoldResult> sizes;
};

} // namespace attn

#endif // ATTN_LIB_IR_STEPDOMAIN_H
