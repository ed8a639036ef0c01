//===- ElementViews.cpp - elements of views as elements of their sources --===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Elements.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn::raise;

static ArrayRef<int64_t> getShape(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getShape(); }

/// Converts indices of the expanded side of a reshape to those of its collapsed side.
static FailureOr<SmallVector<LinearIndex>> collapse(ArrayRef<LinearIndex> indices, ArrayRef<int64_t> shape,
                                                    ArrayRef<ReassociationIndices> groups) {
  SmallVector<LinearIndex> collapsed;
  for (const ReassociationIndices &group : groups) {
    FailureOr<LinearIndex> index =
        IterationSpace::linearize(indices.slice(group.front(), group.size()), shape.slice(group.front(), group.size()));
    if (failed(index))
      return failure();
    collapsed.push_back(*index);
  }
  return collapsed;
}

static FailureOr<SmallVector<LinearIndex>> expandIndices(IterationSpace &space, ArrayRef<LinearIndex> indices,
                                                         ArrayRef<int64_t> shape,
                                                         ArrayRef<ReassociationIndices> groups) {
  if (groups.empty()) // a tensor of rank 0
    return SmallVector<LinearIndex>(shape.size());
  SmallVector<LinearIndex> expanded;
  for (auto [index, group] : llvm::zip(indices, groups)) {
    FailureOr<SmallVector<LinearIndex>> parts = space.delinearize(index, shape.slice(group.front(), group.size()));
    if (failed(parts))
      return failure();
    llvm::append_range(expanded, *parts);
  }
  return expanded;
}

LogicalResult Elements::stepBack(Value &tensor, SmallVector<LinearIndex> &indices) {
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return failure();
  FailureOr<SmallVector<LinearIndex>> source = failure();
  Value sourceTensor;
  if (auto castOp = dyn_cast<tensor::CastOp>(op); castOp && isa<RankedTensorType>(castOp.getSource().getType())) {
    sourceTensor = castOp.getSource();
    source = indices;
  } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    sourceTensor = expand.getSrc();
    source = collapse(indices, getShape(tensor), expand.getReassociationIndices());
    if (expand.getReassociation().empty())
      source = SmallVector<LinearIndex>();
  } else if (auto collapseOp = dyn_cast<tensor::CollapseShapeOp>(op)) {
    sourceTensor = collapseOp.getSrc();
    source = expandIndices(space, indices, getShape(sourceTensor), collapseOp.getReassociationIndices());
  } else if (auto reshape = dyn_cast<tensor::ReshapeOp>(op)) {
    sourceTensor = reshape.getSource();
    auto type = dyn_cast<RankedTensorType>(sourceTensor.getType());
    if (!type || !type.hasStaticShape() || !mlir::cast<RankedTensorType>(tensor.getType()).hasStaticShape())
      return failure();
    FailureOr<LinearIndex> position = IterationSpace::linearize(indices, getShape(tensor));
    if (succeeded(position))
      source = space.delinearize(*position, type.getShape());
  } else if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    unsigned result = cast<OpResult>(tensor).getResultNumber();
    auto yielded = dyn_cast<BlockArgument>(linalgOp.getBlock()->getTerminator()->getOperand(result));
    if (!linalgOp.hasPureTensorSemantics() || linalgOp.getNumParallelLoops() != linalgOp.getNumLoops() || !yielded ||
        yielded.getOwner() != linalgOp.getBlock())
      return failure();
    OpOperand *operand = linalgOp.getMatchingOpOperand(yielded);
    if (!isa<RankedTensorType>(operand->get().getType()))
      return failure(); // a fill
    FailureOr<SmallVector<LinearIndex>> loops = getLoops(linalgOp, result, indices, nullptr);
    if (failed(loops))
      return failure();
    sourceTensor = operand->get();
    ExprRef element = getBodyValue(linalgOp, yielded, *loops);
    if (!element)
      return failure();
    if (!element->isElement())
      return failure();
    tensor = element->value;
    indices.assign(element->indices.begin(), element->indices.end());
    return success();
  }
  if (failed(source))
    return failure();
  tensor = sourceTensor;
  indices = std::move(*source);
  return success();
}

ExprRef Elements::get(Value tensor, ArrayRef<LinearIndex> indices) {
  SmallVector<LinearIndex> current(indices);
  while (succeeded(stepBack(tensor, current)))
    ;
  // In a dimension of size 1, the index is 0, however it is written.
  for (auto [index, size] : llvm::zip(current, getShape(tensor)))
    if (size == 1)
      index = LinearIndex();
  DenseElementsAttr constant;
  if (matchPattern(tensor, m_Constant(&constant)) && constant.isSplat() &&
      constant.getElementType().isIntOrIndexOrFloat())
    return intern({.kind = Expr::Kind::Constant,
                   .type = constant.getElementType(),
                   .constant = constant.getSplatValue<Attribute>()});
  return getMade(tensor, current);
}

ExprRef Elements::getMade(Value tensor, ArrayRef<LinearIndex> indices) {
  return intern({.kind = Expr::Kind::Element,
                 .type = cast<RankedTensorType>(tensor.getType()).getElementType(),
                 .value = tensor,
                 .indices = SmallVector<LinearIndex, 4>(indices)});
}

/// The operand element of a slice or concatenation that `expr` is; null where it may be of more than one operand.
ExprRef Elements::getSliced(ExprRef expr) {
  if (auto concat = expr->value.getDefiningOp<tensor::ConcatOp>()) {
    SmallVector<LinearIndex> indices(expr->indices.begin(), expr->indices.end());
    LinearIndex &index = indices[concat.getDim()];
    std::optional<int64_t> last = space.getLast(index);
    for (Value part : concat.getInputs()) {
      int64_t size = getShape(part)[concat.getDim()];
      if (!last || ShapedType::isDynamic(size))
        return nullptr;
      if (index.constant >= 0 && *last < size)
        return get(part, indices);
      index.constant -= size;
      *last -= size;
    }
    return nullptr;
  }
  auto slice = expr->value.getDefiningOp<OffsetSizeAndStrideOpInterface>();
  if (!slice || !isa<tensor::ExtractSliceOp, tensor::InsertSliceOp>(slice) || !slice.hasUnitStride() ||
      llvm::any_of(slice.getStaticOffsets(), ShapedType::isDynamic))
    return nullptr;
  SmallVector<LinearIndex> indices(expr->indices.begin(), expr->indices.end());
  if (auto extract = dyn_cast<tensor::ExtractSliceOp>(*slice)) {
    if (extract.getSourceType().getRank() != extract.getType().getRank())
      return nullptr;
    for (auto [index, offset] : llvm::zip(indices, slice.getStaticOffsets()))
      index.constant += offset;
    return get(extract.getSource(), indices);
  }
  auto insert = cast<tensor::InsertSliceOp>(*slice);
  if (insert.getSourceType().getRank() != insert.getDestType().getRank())
    return nullptr;
  bool isInside = true;
  for (auto [index, offset, size] : llvm::zip(indices, slice.getStaticOffsets(), insert.getSourceType().getShape())) {
    std::optional<int64_t> last = space.getLast(index);
    if (!last || ShapedType::isDynamic(size))
      return nullptr;
    if (*last < offset || index.constant >= offset + size)
      return get(insert.getDest(), indices);
    isInside &= index.constant >= offset && *last < offset + size;
    index.constant -= offset;
  }
  return isInside ? get(insert.getSource(), indices) : nullptr;
}
