//===- IndexingMaps.cpp - maps of operands, sizes of the domain ----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Attn.h"
#include "attn/IR/Structure.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace attn {

using enum DimKind;
using enum OperandRole;

static ArrayRef<int64_t> getShape(Value value) { return cast<ShapedType>(value.getType()).getShape(); }

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

static bool isPackedOperand(Operation *op, const OperandSpec &spec) {
  if (!getPackedSequences(op) || llvm::is_contained({"acc", "row_max", "row_sum"}, spec.name))
    return false;
  if (isa<LinearOp, LinearBackwardOp>(op))
    return !spec.name.ends_with("state");
  return hasPackedKeys(op) || !llvm::is_contained({"key", "value", "dkey", "dvalue"}, spec.name);
}

/// The operand that has the heads of the domain.
static unsigned getHeadsOperand(Operation *op) { return isa<LinearOp, LinearBackwardOp>(op) ? 2 : 0; }

/// The map of an operand in the default layout: batch dimensions, then the dimensions of its row of the table.
static AffineMap getDefaultMap(Operation *op, unsigned operand, const OperandSpec &spec, unsigned numBatch) {
  MLIRContext *ctx = op->getContext();
  ArrayRef<int64_t> shape = getShape(op->getOperand(operand)),
                    queryShape = getShape(op->getOperand(getHeadsOperand(op)));
  SmallVector<AffineExpr> exprs;
  for (unsigned i = 0; i < numBatch; ++i)
    exprs.push_back(getAffineDimExpr(i, ctx));
  for (DimKind kind : spec.dims)
    exprs.push_back(getAffineDimExpr(getDomainPosition(op, kind), ctx));

  // Packed sequences: (row, head, column), and (head, row) for lse. The state of a step is not packed.
  bool isPacked = isPackedOperand(op, spec);
  unsigned head = numBatch - 1;
  if (isPacked) {
    exprs.erase(exprs.begin());
    head = 0;
    if (spec.dims.size() > 1 || isa<LinearOp, LinearBackwardOp>(op)) {
      std::swap(exprs[0], exprs[1]);
      head = 1;
    }
  }
  // Heads of K and V: h floordiv G with G = Hq / Hkv; a single head is shared by all query heads.
  if (spec.role == SharedHead && numBatch > 0 && shape.size() == exprs.size()) {
    int64_t queryHeads = queryShape[head], kvHeads = shape[head];
    bool isStatic = !ShapedType::isDynamic(queryHeads) && !ShapedType::isDynamic(kvHeads);
    if (isStatic && kvHeads > 0 && queryHeads > kvHeads)
      exprs[head] = exprs[head].floorDiv(queryHeads / kvHeads);
    else if (kvHeads == 1 && queryHeads != 1)
      exprs[head] = getAffineConstantExpr(0, ctx);
  }
  if (spec.role == Broadcast && shape.size() <= exprs.size()) {
    exprs.erase(exprs.begin(), exprs.end() - shape.size());
    for (auto [expr, size] : llvm::zip_equal(exprs, shape))
      if (size == 1)
        expr = getAffineConstantExpr(0, ctx);
  }
  return AffineMap::get(numBatch + getDomainDims(op).size(), 0, exprs, ctx);
}

ArrayAttr getExplicitMaps(Operation *op) {
  auto maps = op->getAttrOfType<ArrayAttr>("maps");
  return maps && !maps.empty() ? maps : ArrayAttr();
}

ArrayAttr getIndexingMaps(Operation *op) {
  if (ArrayAttr maps = getExplicitMaps(op))
    return maps;
  unsigned numBatch = getNumBatchDims(op);
  SmallVector<AffineMap> maps;
  for (auto [i, spec] : llvm::enumerate(getOperandSpecs(op)))
    maps.push_back(getDefaultMap(op, i, spec, numBatch));
  return Builder(op->getContext()).getAffineMapArrayAttr(maps);
}

SmallVector<AffineMap> getMaps(Operation *op) {
  return llvm::map_to_vector(getIndexingMaps(op).getAsValueRange<AffineMapAttr>(), [](AffineMap map) { return map; });
}

std::optional<unsigned> getPairedDim(AffineExpr expr, unsigned numBatch) {
  auto pair = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!pair || (pair.getKind() != AffineExprKind::FloorDiv && pair.getKind() != AffineExprKind::Mod))
    return std::nullopt;
  auto dim = dyn_cast<AffineDimExpr>(pair.getLHS());
  auto two = dyn_cast<AffineConstantExpr>(pair.getRHS());
  if (!dim || dim.getPosition() < numBatch || !two || two.getValue() != 2)
    return std::nullopt;
  return dim.getPosition();
}

bool isPaired(AffineMap map, unsigned position) {
  AffineExpr dim = getAffineDimExpr(position, map.getContext());
  return llvm::count(map.getResults(), dim.floorDiv(2)) == 1 && llvm::count(map.getResults(), dim % 2) == 1;
}

int64_t getNumParts(Value operand, AffineMap map) {
  if (!getElementTypeOrSelf(operand.getType()).isBF16())
    return 1;
  for (auto [expr, size] : llvm::zip_equal(map.getResults(), cast<ShapedType>(operand.getType()).getShape()))
    if (isa<AffineConstantExpr>(expr) && size > 1 && size <= kMaxElementParts)
      return size;
  return 1;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

namespace {
/// The source of the size of a dimension of the domain: dimension `dim` of an operand, less `excess`.
struct DimSource {
  Value operand;
  unsigned dim;
  int64_t excess = 0;
  int64_t getStaticSize() const {
    int64_t size = getShape(operand)[dim];
    return ShapedType::isDynamic(size) ? size : size - excess;
  }
};
} // namespace

/// The operand and its dimension that hold dimension `position` of the domain, not grouped or broadcast; one of static
/// size if any has. A padded state comes last, as it may be larger than the domain. The number of packed sequences is
/// the size of their prefix sums, less one.
static std::optional<DimSource> findDim(Operation *op, unsigned position) {
  SmallVector<AffineMap> maps = getMaps(op);
  SmallVector<OperandSpec> specs = getOperandSpecs(op);
  std::optional<DimSource> dynamic;
  for (bool allowState : {false, true}) {
    if (dynamic)
      break;
    for (auto [i, map] : llvm::enumerate(maps)) {
      if ((specs[i].role == State) != allowState)
        continue;
      for (auto [j, expr] : llvm::enumerate(map.getResults())) {
        if (expr != getAffineDimExpr(position, op->getContext()) || (specs[i].role == Pool && position == 0))
          continue;
        DimSource found{op->getOperand(i), unsigned(j)};
        if (!ShapedType::isDynamic(found.getStaticSize()))
          return found;
        dynamic = dynamic ? dynamic : found;
      }
    }
  }
  if (Value sequences = getPackedSequences(op); sequences && position == 0 && !dynamic)
    return DimSource{sequences, 0, 1};
  return dynamic;
}

SmallVector<int64_t> getStaticDomain(Operation *op) {
  SmallVector<int64_t> sizes;
  for (unsigned i = 0, e = getNumBatchDims(op) + getDomainDims(op).size(); i < e; ++i) {
    auto dim = findDim(op, i);
    sizes.push_back(dim ? dim->getStaticSize() : ShapedType::kDynamic);
  }
  return sizes;
}

int64_t getStaticSize(Operation *op, DimKind kind) { return getStaticDomain(op)[getDomainPosition(op, kind)]; }

SmallVector<OpFoldResult> getDomainSizes(OpBuilder &builder, Operation *op) {
  SmallVector<OpFoldResult> sizes;
  for (unsigned i = 0, e = getNumBatchDims(op) + getDomainDims(op).size(); i < e; ++i) {
    auto dim = findDim(op, i);
    if (!dim) {
      sizes.push_back(builder.getIndexAttr(1));
      continue;
    }
    if (int64_t size = dim->getStaticSize(); !ShapedType::isDynamic(size)) {
      sizes.push_back(builder.getIndexAttr(size));
      continue;
    }
    OpFoldResult size = isa<RankedTensorType>(dim->operand.getType())
                            ? tensor::getMixedSize(builder, op->getLoc(), dim->operand, dim->dim)
                            : memref::getMixedSize(builder, op->getLoc(), dim->operand, dim->dim);
    if (dim->excess)
      size = affine::makeComposedFoldedAffineApply(builder, op->getLoc(), builder.getAffineDimExpr(0) - dim->excess,
                                                   {size});
    sizes.push_back(size);
  }
  return sizes;
}

/// The origin of the size of dimension `dim`, traced through destinations and tensor.empty: a tensor and its dimension.
/// If the size is another value, that value in place of the tensor.
static std::pair<Value, int64_t> findSizeSource(Value tensor, int64_t dim) {
  while (true) {
    tensor = getDestination(tensor);
    auto empty = tensor.getDefiningOp<tensor::EmptyOp>();
    auto size = empty ? dyn_cast<Value>(empty.getMixedSizes()[dim]) : Value();
    auto sizeOp = size ? size.getDefiningOp<tensor::DimOp>() : tensor::DimOp();
    std::optional<int64_t> source = sizeOp ? sizeOp.getConstantIndex() : std::nullopt;
    if (!source)
      return size ? std::pair(size, int64_t(-1)) : std::pair(tensor, dim);
    tensor = sizeOp.getSource();
    dim = *source;
  }
}

bool coversDim(Operation *op, unsigned position, OpFoldResult offset, OpFoldResult size) {
  if (!isConstantIntValue(offset, 0))
    return false;
  auto dim = findDim(op, position);
  if (!dim)
    return isConstantIntValue(size, 1);
  int64_t staticSize = dim->getStaticSize();
  if (!ShapedType::isDynamic(staticSize))
    return isConstantIntValue(size, staticSize);
  if (dim->excess)
    return false;
  // The sizes may have been read elsewhere: equal sources mean equal sizes.
  auto value = dyn_cast<Value>(size);
  auto sizeOp = value ? value.getDefiningOp<ShapedDimOpInterface>() : ShapedDimOpInterface();
  std::optional<int64_t> sizeDim = sizeOp ? getConstantIntValue(sizeOp.getDimension()) : std::nullopt;
  return sizeDim && findSizeSource(sizeOp.getShapedValue(), *sizeDim) == findSizeSource(dim->operand, dim->dim);
}

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

AffineMap getKvHeadMap(Operation *op) {
  // An op without K has this attribute.
  if (auto map = op->getAttrOfType<AffineMapAttr>("kv_head"))
    return map.getAffineMap();
  unsigned head = getNumBatchDims(op) - 1;
  for (auto [map, spec] : llvm::zip_equal(getMaps(op), getOperandSpecs(op)))
    if (spec.role == SharedHead)
      for (AffineExpr expr : map.getResults())
        if (expr.isFunctionOfDim(head))
          return AffineMap::get(
              1, 0, expr.replace(getAffineDimExpr(head, op->getContext()), getAffineDimExpr(0, op->getContext())));
  return AffineMap::get(1, 0, getAffineConstantExpr(0, op->getContext())); // K is the same for all heads
}

int64_t getGroupSize(Operation *op) {
  auto group = dyn_cast<AffineBinaryOpExpr>(getKvHeadMap(op).getResult(0));
  return group ? cast<AffineConstantExpr>(group.getRHS()).getValue() : 1;
}

} // namespace attn
