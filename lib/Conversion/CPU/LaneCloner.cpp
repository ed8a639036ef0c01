//===- LaneCloner.cpp - scalar ops on vectors of lanes --------------------===//
//
// What depends on a vector becomes one; everything else stays scalar. Reads of
// memory at positions that differ from lane to lane are loads where they are
// consecutive, otherwise gathers.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "VectorTile.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

Value LaneCloner::toVector(Value value) { return isa<VectorType>(value.getType()) ? value : vb.broadcast(value); }

Value LaneCloner::getPositions(Value first) {
  Value steps = vector::StepOp::create(vb.b, vb.loc, VectorType::get({vb.lanes}, vb.b.getIndexType()));
  Value positions = arith::AddIOp::create(vb.b, vb.loc, vb.broadcast(first), steps);
  firstOf[positions] = first;
  return positions;
}

/// Lanes past the last position may divide by 0 where no other lane does, and that would end the process.
static Value replaceZeros(VectorBuilder &vb, Value divisor) {
  Type type = divisor.getType();
  Value zero = arith::ConstantOp::create(vb.b, vb.loc, vb.b.getZeroAttr(type));
  Value one = arith::ConstantOp::create(vb.b, vb.loc, vb.b.getOneAttr(type));
  return vb.select(arith::CmpIOp::create(vb.b, vb.loc, arith::CmpIPredicate::eq, divisor, zero), one, divisor);
}

void LaneCloner::clone(Operation &op, IRMapping &mapping, Value mask) {
  OpBuilder &b = vb.b;
  Location loc = vb.loc;
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
  bool isDivision = isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp, arith::CeilDivSIOp, arith::CeilDivUIOp,
                        arith::RemSIOp, arith::RemUIOp>(op);
  if (isDivision && isa<VectorType>(operands[1].getType()))
    operands[1] = replaceZeros(vb, operands[1]);
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

/// The keys of a vector start at a multiple of its lanes, so that their remainders by one follow one another too.
static std::optional<int64_t> matchLaneOfPanel(VectorBuilder &vb, Value index) {
  auto remainder = index.getDefiningOp<arith::RemUIOp>();
  if (!remainder || !remainder.getLhs().getDefiningOp<IndexOp>())
    return {};
  std::optional<int64_t> panelKeys = getConstantIntValue(remainder.getRhs());
  return panelKeys && *panelKeys % vb.lanes == 0 ? panelKeys : std::nullopt;
}

void LaneCloner::accumulate(AccumulateOp op, IRMapping &mapping, Value mask, Value isRemoved) {
  OpBuilder &b = vb.b;
  Location loc = vb.loc;
  Value memref = mapping.lookupOrDefault(op.getDestination()), value = toVector(mapping.lookupOrDefault(op.getValue()));
  if (isRemoved)
    value = vb.select(isRemoved, vb.zero(value.getType()), value);
  Values indices = llvm::map_to_vector(op.getIndices(), [&](Value index) { return mapping.lookupOrDefault(index); });
  // If lanes are consecutive: the last index of the first lane.
  Value first = indices.empty() ? Value() : firstOf.lookup(indices.back());
  std::optional<int64_t> panelKeys = indices.empty() ? std::nullopt : matchLaneOfPanel(vb, op.getIndices().back());
  bool isOfPanel = panelKeys.has_value();
  if (isOfPanel) {
    Value key = op.getIndices().back().getDefiningOp<arith::RemUIOp>().getLhs();
    first = vb.remainder(firstOf.lookup(mapping.lookup(key)), *panelKeys);
  }
  auto isVector = [](Value index) { return isa<VectorType>(index.getType()); };
  SmallVector<int64_t> strides;
  int64_t offset;
  bool isContiguous = succeeded(cast<MemRefType>(memref.getType()).getStridesAndOffset(strides, offset));
  if (first && isContiguous && strides.back() == 1 && llvm::none_of(ArrayRef(indices).drop_back(), isVector)) {
    indices.back() = first;
    Value old = vb.loadMasked(memref, indices, mask);
    vb.storeMasked(arith::AddFOp::create(b, loc, old, value), memref, indices, mask);
    return;
  }
  // Several lanes may add to one element, so they add in sequence; inactive lanes add 0 to the first element.
  auto where = [&](Value x) {
    Value zero = vb.zero(x.getType());
    x = mask ? vb.select(mask, x, zero) : x;
    return isRemoved ? vb.select(isRemoved, zero, x) : x;
  };
  auto spill = [&](Value vector) {
    Value buffer = vb.stackBuffer({vb.lanes}, getElementTypeOrSelf(vector.getType()));
    vb.store(vector, buffer, vb.index(0));
    return buffer;
  };
  Value values = spill(where(value));
  Values positions = llvm::map_to_vector(indices, [&](Value x) { return isVector(x) ? spill(where(x)) : Value(); });
  vb.loop(vb.lanes, 1, {}, [&](Value lane, ValueRange) {
    Values at(indices);
    for (auto [index, buffer] : llvm::zip(at, positions))
      if (buffer)
        index = memref::LoadOp::create(b, loc, buffer, lane);
    if (isOfPanel)
      at.back() = vb.add(first, lane);
    Value term = memref::LoadOp::create(b, loc, values, lane);
    Value sum = arith::AddFOp::create(b, loc, memref::LoadOp::create(b, loc, memref, at), term);
    memref::StoreOp::create(b, loc, sum, memref, at);
    return Values();
  });
}

/// memref[…, i, i + 1, …], one load; null where it is not one.
Value LaneCloner::emitRow(Value memref, ArrayRef<Value> indices, Value mask) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  bool isContiguous = succeeded(type.getStridesAndOffset(strides, offset)) && !strides.empty() && strides.back() == 1;
  if (!loadsRows || !isContiguous || type.getElementType().isInteger(1) || indices.empty() ||
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
Value LaneCloner::emitGather(Value memref, ArrayRef<Value> indices, Value mask) {
  OpBuilder &b = vb.b;
  Location loc = vb.loc;
  auto type = cast<MemRefType>(memref.getType());
  bool isBool = type.getElementType().isInteger(1);
  if (isBool)
    memref = viewAsBytes(b, loc, memref);
  // The linear offset from the first element.
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
