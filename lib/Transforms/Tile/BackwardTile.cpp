//===- BackwardTile.cpp - tiles of gradients ------------------------------===//
//
// The step of a tile, and on a CPU its operands: slices without batch dimensions, copies of rows in the order and type
// of the register kernel, and regions with positions within the tile.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BackwardTile.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <limits>

using namespace mlir;
using namespace attn;

/// Rows of tiles are padded by a cache line, so that columns map to all sets of the L1 cache.
static constexpr int64_t kLineBytes = 64;
/// Columns that attn.pack moves in whole vectors of every target.
static constexpr int64_t kPackedColumns = 16;

BackwardShape::BackwardShape(OpBuilder &b, BackwardStepOp step)
    : StepShape(b, step, *step.getSchedule(), step.getQuery(), step.getDelta()), step(step) {
  for (auto [spec, operand, map] : llvm::zip(getOperandSpecs(step), step->getOperands(), getMaps(step)))
    operands[spec.name] = {operand, map};
  if (numBatch > 0)
    groupSize = getSharingHeads(getMap("dkey"), numBatch - 1);
}

SmallVector<OpFoldResult> attn::getBatchOfKeys(OpBuilder &b, const BackwardShape &s) {
  SmallVector<OpFoldResult> sizes(ArrayRef(s.domainSizes).take_front(s.numBatch));
  if (s.numBatch > 0)
    sizes.back() = s.groupSize ? affine::makeComposedFoldedAffineApply(
                                     b, s.loc, b.getAffineDimExpr(0).floorDiv(s.groupSize), {sizes.back()})
                               : OpFoldResult(b.getIndexAttr(1));
  return sizes;
}

BackwardStepOp attn::createBackwardTile(OpBuilder &b, const BackwardShape &s, const Operands &operands,
                                        ValueRange dcaptures, ValueRange transposed) {
  auto get = [&](StringRef name) { return operands.lookup(name).value; };
  SmallVector<AffineMap> maps;
  for (const OperandSpec &spec : getOperandSpecs(s.step))
    if (AffineMap map = operands.lookup(spec.name).map)
      maps.push_back(map);
  SmallVector<Type> types;
  for (StringRef name : {"dquery", "dkey", "dvalue", "dbias"})
    if (Value sum = get(name))
      types.push_back(sum.getType());
  llvm::append_range(types, dcaptures.getTypes());
  return BackwardStepOp::create(b, s.loc, types, get("query"), get("key"), get("value"), get("lse"), get("dout"),
                                get("delta"), get("log_sum"), get("bias"), get("mask"), get("dquery"), get("dkey"),
                                get("dvalue"), get("dbias"), dcaptures,
                                /*cu_seqlens_q=*/Value(), /*cu_seqlens_k=*/Value(), s.step.getScaleValue(), transposed,
                                s.step.getScaleAttr(), b.getAffineMapArrayAttr(maps), s.step.getScheduleAttr());
}

//===----------------------------------------------------------------------===//
// Operands of a CPU
//===----------------------------------------------------------------------===//

Part attn::getPart(OpBuilder &b, const TaskShape &s, const DomainTile &at, Value operand, StringRef name) {
  AffineMap map = s.getMap(name);
  Part part;
  part.source = operand;
  part.slice = getSlice(b, s.loc, at, map);
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> exprs;
  for (auto [expr, size] : llvm::zip(map.getResults(), part.slice.sizes))
    if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && dim.getPosition() >= s.numBatch) {
      shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
      exprs.push_back(b.getAffineDimExpr(dim.getPosition() - s.numBatch));
    }
  part.map = AffineMap::get(4, 0, exprs, b.getContext());
  auto partType = RankedTensorType::get(shape, getElementTypeOrSelf(operand.getType()));
  part.value = tensor::ExtractSliceOp::create(b, s.loc, partType, operand, part.slice.offsets, part.slice.sizes,
                                              part.slice.strides);
  return part;
}

Part attn::gatherPart(OpBuilder &b, const TaskShape &s, const DomainTile &at, GatherPagesOp gather, StringRef name) {
  Location loc = s.loc;
  Slice slice = getSlice(b, loc, at, s.getMap(name)); // (batch, kv head, key, column)
  int64_t columns = cast<RankedTensorType>(gather.getOutput().getType()).getDimSize(3);
  auto spaceType = RankedTensorType::get({1, 1, s.schedule.getKeyTile(), columns}, s.rowType);
  Value space = bufferization::AllocTensorOp::create(b, loc, spaceType, /*dynamicSizes=*/ValueRange());
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  SmallVector<OpFoldResult> origin(4, zero), unit(4, one), sizes = {one, one, slice.sizes[2], b.getIndexAttr(columns)};
  Value rows = tensor::ExtractSliceOp::create(b, loc, space, origin, sizes, unit);
  auto tiled =
      GatherPagesOp::create(b, loc, rows.getType(), gather.getCache(), gather.getBlockTable(), gather.getLengths(),
                            toValue(b, loc, slice.offsets[0]), toValue(b, loc, slice.offsets[1]),
                            toValue(b, loc, slice.offsets[2]), rows, gather.getPageLayoutAttr(), IntegerAttr());
  Part part;
  part.source = tiled->getResult(0);
  part.slice = {origin, sizes, unit};
  AffineExpr exprs[] = {b.getAffineDimExpr(1), b.getAffineDimExpr(s.getWidth(name) - s.numBatch)};
  part.map = AffineMap::get(4, 0, exprs, b.getContext());
  auto partType =
      RankedTensorType::get({getConstantIntValue(slice.sizes[2]).value_or(ShapedType::kDynamic), columns}, s.rowType);
  part.value = tensor::ExtractSliceOp::create(b, loc, partType, part.source, origin, sizes, unit);
  return part;
}

Value attn::insert(OpBuilder &b, Location loc, const Part &part, Value value) {
  return tensor::InsertSliceOp::create(b, loc, value, part.source, part.slice.offsets, part.slice.sizes,
                                       part.slice.strides);
}

Value attn::createSpace(OpBuilder &b, Location loc, ArrayRef<int64_t> shape, ArrayRef<OpFoldResult> used,
                        Type elementType) {
  int64_t elements = shape.size() > 2 ? shape[2] : 1;
  int64_t line = kLineBytes / (elements * elementType.getIntOrFloatBitWidth() / 8);
  SmallVector<int64_t> padded(shape);
  padded[1] = llvm::alignTo(shape[1], line) + line;
  // Not tensor.empty: CSE would merge two of them, and bufferisation would give one of two destinations another buffer.
  Value space = bufferization::AllocTensorOp::create(b, loc, RankedTensorType::get(padded, elementType),
                                                     /*dynamicSizes=*/ValueRange());
  SmallVector<OpFoldResult> origin(shape.size(), b.getIndexAttr(0)), unit(shape.size(), b.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(b, loc, space, origin, used, unit);
}

/// From a map over (query, key, head, value) to one over (row, column).
static AffineMap restrictToRows(OpBuilder &b, AffineMap map, unsigned row, unsigned column) {
  SmallVector<AffineExpr> dims(4, b.getAffineConstantExpr(0));
  dims[row] = b.getAffineDimExpr(0);
  dims[column] = b.getAffineDimExpr(1);
  return map.replaceDimsAndSymbols(dims, {}, 2, 0);
}

Operand attn::copyRows(OpBuilder &b, const TaskShape &s, const Part &rows, unsigned row, unsigned column,
                       int64_t tileRows, OpFoldResult count, Value lse) {
  int64_t columns = s.getColumns(s.numBatch + column);
  Value space = createSpace(b, s.loc, {tileRows, columns}, {count, b.getIndexAttr(columns)}, s.rowType);
  SmallVector<Value> inputs = {rows.value};
  SmallVector<AffineMap> copyMaps = {restrictToRows(b, rows.map, row, column)};
  if (lse) {
    inputs.push_back(lse);
    copyMaps.push_back(AffineMap::get(2, 0, b.getAffineDimExpr(0)));
  }
  copyMaps.push_back(b.getMultiDimIdentityMap(2));
  SmallVector<utils::IteratorType> parallel(2, utils::IteratorType::parallel);
  auto build = [&](OpBuilder &nested, Location at, ValueRange x) {
    Value element = isQuantised(x[0].getType()) ? convertQuantised(nested, at, x[0], s.rowType)
                                                : convertFloat(nested, at, x[0], s.rowType);
    if (lse) {
      Value none = createFloatConstant(nested, at, x[1].getType(), -std::numeric_limits<double>::infinity());
      Value isEmpty = arith::CmpFOp::create(nested, at, arith::CmpFPredicate::OEQ, x[1], none);
      element = arith::SelectOp::create(nested, at, isEmpty, createFloatConstant(nested, at, s.rowType, 0), element);
    }
    linalg::YieldOp::create(nested, at, element);
  };
  auto copy = linalg::GenericOp::create(b, s.loc, space.getType(), inputs, space, copyMaps, parallel, build);
  AffineExpr exprs[] = {b.getAffineDimExpr(row), b.getAffineDimExpr(column)};
  return {copy.getResult(0), AffineMap::get(4, 0, exprs, b.getContext())};
}

static Value createPack(OpBuilder &b, Location loc, Value source, AffineMap map, Value target,
                        ArrayRef<AffineExpr> exprs) {
  ArrayAttr maps = b.getAffineMapArrayAttr({map, AffineMap::get(2, 0, exprs, b.getContext())});
  return PackOp::create(b, loc, target.getType(), source, target, maps)->getResult(0);
}

Value attn::packRows(OpBuilder &b, const TaskShape &s, const Part &rows, unsigned column, ArrayRef<int64_t> shape,
                     ArrayRef<AffineExpr> target, Type elementType, OpFoldResult used) {
  SmallVector<OpFoldResult> sizes = getAsIndexOpFoldResult(b.getContext(), shape);
  if (used)
    sizes.front() = used;
  Value space = createSpace(b, s.loc, shape, sizes, elementType);
  return createPack(b, s.loc, rows.value, restrictToRows(b, rows.map, 1, column), space, target);
}

Value attn::transposeCopy(OpBuilder &b, const TaskShape &s, const Operand &rows, int64_t tileRows) {
  SmallVector<int64_t> shape = {cast<RankedTensorType>(rows.value.getType()).getDimSize(1), tileRows};
  Value space = createSpace(b, s.loc, shape, getAsIndexOpFoldResult(b.getContext(), shape), s.rowType);
  return createPack(b, s.loc, rows.value, b.getMultiDimIdentityMap(2), space,
                    {b.getAffineDimExpr(1), b.getAffineDimExpr(0)});
}

Value attn::writeRows(OpBuilder &b, const TaskShape &s, Value sums, const Part &part, unsigned column) {
  AffineExpr row = b.getAffineDimExpr(0), other = b.getAffineDimExpr(1);
  int64_t columns = cast<RankedTensorType>(sums.getType()).getDimSize(0);
  if (columns % kPackedColumns == 0 && part.map.getResults().back() == b.getAffineDimExpr(column) &&
      getElementTypeOrSelf(part.source.getType()) ==
          s.stateType) // columns are the rows of attn.pack: whole vectors of them
    return insert(b, s.loc, part, createPack(b, s.loc, sums, b.getMultiDimIdentityMap(2), part.value, {other, row}));
  SmallVector<AffineMap> copyMaps = {AffineMap::get(2, 0, {other, row}, b.getContext()),
                                     restrictToRows(b, part.map, 1, column)};
  SmallVector<utils::IteratorType> parallel(2, utils::IteratorType::parallel);
  auto copy = [](OpBuilder &nested, Location where, ValueRange x) { linalg::YieldOp::create(nested, where, x[0]); };
  auto written = linalg::GenericOp::create(b, s.loc, part.value.getType(), sums, part.value, copyMaps, parallel, copy);
  return insert(b, s.loc, part, written.getResult(0));
}

void attn::cloneRegion(OpBuilder &b, const TaskShape &s, const DomainTile &at, Region &from, Region &to,
                       Operation *before) {
  if (from.empty())
    return;
  IRMapping mapping;
  from.cloneInto(&to, mapping);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(before);
  SmallVector<IndexOp> indices;
  to.walk([&](IndexOp op) { indices.push_back(op); });
  for (IndexOp op : indices)
    if (llvm::is_contained({IndexKind::Batch, IndexKind::Head, IndexKind::KvHead}, op.getKind())) {
      op.getResult().replaceAllUsesWith(evaluateIndex(b, s.step, at, op));
      op.erase();
    }
  shiftIndex(b, to, at.offsets, s.step);
}
