//===- LaneRegion.cpp - scalar regions on vectors of lanes ----------------===//
//
// Lanes are query rows, or keys: that index is a vector, and everything that does
// not depend on it stays scalar. What knows neither the key nor the argument is
// evaluated once a block, in front of the loop over keys.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "VectorTile.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

LaneRegion::LaneRegion(VectorBuilder &vb, Region &region, LaneAxis axis) : vb(vb), region(region), axis(axis) {
  if (region.empty())
    return;
  for (BlockArgument argument : region.getArguments())
    late.insert(argument);
  for (Operation &op : region.front().without_terminator()) {
    auto index = dyn_cast<IndexOp>(op);
    bool isLate = (index && index.getKind() == IndexKind::Key) ||
                  llvm::any_of(op.getOperands(), [&](Value operand) { return late.contains(operand); });
    if (isLate)
      late.insert(op.getResults().begin(), op.getResults().end());
  }
}

Value LaneRegion::toVector(Value value) { return isa<VectorType>(value.getType()) ? value : vb.broadcast(value); }

void LaneRegion::prepare(ArrayRef<Value> queries, Value headOfTile) {
  prepared.clear();
  head = headOfTile;
  if (region.empty())
    return;
  for (Value query : queries) {
    IRMapping mapping;
    for (Operation &op : region.front().without_terminator())
      if (!late.contains(op.getResult(0)))
        emit(op, mapping, query, /*key=*/Value(), /*mask=*/Value());
    prepared.push_back(std::move(mapping));
  }
}

Value LaneRegion::evaluate(unsigned v, Value key, Value argument, Value mask) {
  IRMapping mapping = prepared[v];
  if (argument)
    mapping.map(region.getArgument(0), argument);
  for (Operation &op : region.front().without_terminator())
    if (late.contains(op.getResult(0)))
      emit(op, mapping, /*query=*/Value(), key, mask);
  return toVector(mapping.lookupOrDefault(cast<YieldOp>(region.front().getTerminator()).getValue()));
}

/// first, first + 1, …
Value LaneRegion::emitVectorOf(Value first) {
  Value steps = vector::StepOp::create(vb.b, vb.loc, VectorType::get({vb.lanes}, vb.b.getIndexType()));
  Value positions = arith::AddIOp::create(vb.b, vb.loc, vb.broadcast(first), steps);
  firstOf[positions] = first;
  return positions;
}

void LaneRegion::emit(Operation &op, IRMapping &mapping, Value query, Value key, Value mask) {
  OpBuilder &b = vb.b;
  Location loc = vb.loc;
  if (auto index = dyn_cast<IndexOp>(op)) {
    Value value = vb.index(0); // a tile holds one batch index; attn-tile added the offsets
    if (index.getKind() == IndexKind::Key)
      value = axis == LaneAxis::Keys ? emitVectorOf(key) : key;
    else if (index.getKind() == IndexKind::Query)
      value = axis == LaneAxis::Queries ? emitVectorOf(query) : query;
    else if (index.getKind() == IndexKind::Head && head)
      value = head;
    mapping.map(index.getResult(), value);
    return;
  }
  SmallVector<Value> operands =
      llvm::map_to_vector(op.getOperands(), [&](Value operand) { return mapping.lookupOrDefault(operand); });
  bool isVector = llvm::any_of(operands, [](Value value) { return isa<VectorType>(value.getType()); });
  if (!isVector) {
    b.clone(op, mapping);
    return;
  }
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    ArrayRef<Value> indices = ArrayRef(operands).drop_front();
    Value row = emitRow(operands.front(), indices, mask);
    mapping.map(load.getResult(), row ? row : emitGather(operands.front(), indices, mask));
    return;
  }
  for (Value &operand : operands)
    operand = toVector(operand);
  SmallVector<Type> types =
      llvm::map_to_vector(op.getResultTypes(), [&](Type type) -> Type { return VectorType::get({vb.lanes}, type); });
  OperationState state(loc, op.getName(), operands, types, op.getAttrs());
  mapping.map(op.getResults(), b.create(state)->getResults());
  // Consecutive positions plus an offset are consecutive.
  if (auto sum = dyn_cast<arith::AddIOp>(op))
    for (auto [x, y] : {std::pair(sum.getLhs(), sum.getRhs()), std::pair(sum.getRhs(), sum.getLhs())}) {
      Value offset = mapping.lookupOrDefault(y);
      if (Value first = firstOf.lookup(mapping.lookupOrDefault(x)); first && !isa<VectorType>(offset.getType()))
        firstOf[mapping.lookup(op.getResult(0))] = vb.add(first, offset);
    }
}

/// memref[…, i, i + 1, …], a load of consecutive keys; null where it is not one.
Value LaneRegion::emitRow(Value memref, ArrayRef<Value> indices, Value mask) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  bool isContiguous = succeeded(type.getStridesAndOffset(strides, offset)) && !strides.empty() && strides.back() == 1;
  // Query rows beyond the last one read what the last one reads: their positions are not consecutive.
  if (axis != LaneAxis::Keys || !isContiguous || type.getElementType().isInteger(1) || indices.empty() ||
      llvm::any_of(indices.drop_back(), [](Value index) { return isa<VectorType>(index.getType()); }))
    return {};
  Value first = firstOf.lookup(indices.back());
  if (!first)
    return {};
  Values at(indices);
  at.back() = first;
  return vb.loadMasked(memref, at, mask);
}

/// memref[indices], where some of the indices are vectors.
Value LaneRegion::emitGather(Value memref, ArrayRef<Value> indices, Value mask) {
  OpBuilder &b = vb.b;
  Location loc = vb.loc;
  auto type = cast<MemRefType>(memref.getType());
  bool isBool = type.getElementType().isInteger(1);
  if (isBool)
    memref = viewAsBytes(b, loc, memref);
  // The number of the element from the first one on.
  auto metadata = memref::ExtractStridedMetadataOp::create(b, loc, memref);
  Value position;
  for (auto [index, stride] : llvm::zip_equal(indices, metadata.getConstifiedMixedStrides())) {
    Value scaled = index;
    if (!isConstantIntValue(stride, 1)) {
      Value factor = getValueOrCreateConstantIndexOp(b, loc, stride);
      if (isa<VectorType>(index.getType()))
        factor = vb.broadcast(factor);
      scaled = arith::MulIOp::create(b, loc, index, factor);
    }
    if (!position)
      position = scaled;
    else if (isa<VectorType>(position.getType()) || isa<VectorType>(scaled.getType()))
      position = arith::AddIOp::create(b, loc, toVector(position), toVector(scaled));
    else
      position = arith::AddIOp::create(b, loc, position, scaled);
  }
  Type elementType = getElementTypeOrSelf(memref.getType());
  auto vectorType = VectorType::get({vb.lanes}, elementType);
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(vectorType));
  auto maskType = VectorType::get({vb.lanes}, b.getI1Type());
  if (!mask)
    mask = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(maskType, true));
  SmallVector<Value> origin(indices.size(), vb.index(0));
  Value result = vector::GatherOp::create(b, loc, vectorType, memref, origin, toVector(position), mask, zero);
  if (isBool)
    result = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, result, zero);
  return result;
}

//===----------------------------------------------------------------------===//
// Kinds of tiles
//===----------------------------------------------------------------------===//

LogicalResult attn::cpu::lowerClassifyTile(RewriterBase &rewriter, ClassifyTileOp op, const TargetInfo &target) {
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  VectorBuilder vb(rewriter, loc, target, rewriter.getF32Type());
  vb.setLanes(op.getLanes());
  if (op.getQueryTile() % op.getLanes() != 0)
    return op.emitOpError("expected query_tile to be a multiple of lanes");
  auto flags = VectorType::get({vb.lanes}, rewriter.getI1Type());
  Value none = arith::ConstantOp::create(rewriter, loc, DenseElementsAttr::get(flags, false));
  Value all = arith::ConstantOp::create(rewriter, loc, DenseElementsAttr::get(flags, true));
  LaneRegion region(vb, op.getMaskMod());
  Values kept = vb.loop(op.getQueryTile(), vb.lanes, {none, all}, [&](Value lane, ValueRange outer) {
    region.prepare(lane);
    // Lanes beyond the last row keep what the others do.
    Value row = arith::AddIOp::create(
        rewriter, loc, vb.broadcast(lane),
        vector::StepOp::create(rewriter, loc, VectorType::get({vb.lanes}, rewriter.getIndexType())).getResult());
    Value isRow = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt, row, vb.broadcast(op.getRows()));
    Value noRow = arith::XOrIOp::create(rewriter, loc, isRow, all);
    return vb.loop(vb.index(0), op.getKeys(), 1, outer, [&](Value key, ValueRange inner) {
      Value keep = region.evaluate(0, key, Value());
      Value any = arith::OrIOp::create(rewriter, loc, inner[0], arith::AndIOp::create(rewriter, loc, keep, isRow));
      Value every = arith::AndIOp::create(rewriter, loc, inner[1], arith::OrIOp::create(rewriter, loc, keep, noRow));
      return Values{any, every};
    });
  });
  // 0 for none, otherwise 1, and 2 for all
  Value any = vector::ReductionOp::create(rewriter, loc, vector::CombiningKind::OR, kept[0]);
  Value every = vector::ReductionOp::create(rewriter, loc, vector::CombiningKind::AND, kept[1]);
  Type i8 = rewriter.getI8Type();
  Value kind = arith::AddIOp::create(rewriter, loc, arith::ExtUIOp::create(rewriter, loc, i8, any),
                                     arith::ExtUIOp::create(rewriter, loc, i8, every));
  Value zero = arith::ConstantOp::create(rewriter, loc, rewriter.getI8IntegerAttr(0));
  rewriter.replaceOpWithNewOp<arith::SelectOp>(op, any, kind, zero);
  return success();
}
