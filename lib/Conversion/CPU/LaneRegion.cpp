//===- LaneRegion.cpp - scalar regions on vectors of lanes ----------------===//
//
// Lanes are query rows, or keys: that index is a vector, and everything that does
// not depend on it stays scalar. Ops that depend on neither the key nor the
// argument are evaluated once per block, before the loop over keys.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "VectorTile.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

LaneRegion::LaneRegion(VectorBuilder &vb, Region *region, LaneAxis axis)
    : vb(vb), cloner(vb, /*loadsRows=*/axis == LaneAxis::Keys), region(region), axis(axis) {
  if (isEmpty())
    return;
  for (Operation &op : region->front().without_terminator()) {
    auto index = dyn_cast<IndexOp>(op);
    bool isLate = (index && index.getKind() == IndexKind::Key) || isa<AccumulateOp>(op) ||
                  llvm::any_of(op.getOperands(), [&](Value operand) {
                    return isa<BlockArgument>(operand) ? operand.getParentRegion() == region
                                                       : late.contains(operand.getDefiningOp());
                  });
    if (isLate)
      late.insert(&op);
  }
}

void LaneRegion::prepare(ArrayRef<Value> queries, Value headOfTile) {
  prepared.clear();
  head = headOfTile;
  if (isEmpty())
    return;
  for (Value query : queries) {
    IRMapping mapping;
    for (Operation &op : region->front().without_terminator())
      if (!late.contains(&op))
        emit(op, mapping, query, /*key=*/Value(), /*mask=*/Value());
    prepared.push_back(std::move(mapping));
  }
}

Values LaneRegion::evaluate(ArrayRef<LanePosition> at, function_ref<Values(size_t)> getArguments, Value isRemoved) {
  SmallVector<IRMapping> mappings = llvm::map_to_vector(at, [&](LanePosition each) { return prepared[each.v]; });
  // The ops before a score function vector by vector, then the function on all vectors.
  auto ops = region->front().without_terminator();
  auto isFunction = [&](Operation &op) { return isa<ScoreFunction>(op) && late.contains(&op); };
  for (auto next = ops.begin(), first = next; true; ++next, first = next) {
    next = std::find_if(next, ops.end(), isFunction);
    for (auto [i, mapping] : llvm::enumerate(mappings)) {
      if (first == ops.begin())
        mapping.map(region->getArguments(), getArguments(i));
      for (Operation &op : llvm::make_range(first, next))
        if (auto accumulate = dyn_cast<AccumulateOp>(op))
          cloner.accumulate(accumulate, mapping, at[i].mask, isRemoved);
        else if (late.contains(&op))
          emit(op, mapping, /*query=*/Value(), at[i].key, at[i].mask);
    }
    if (next == ops.end())
      break;
    Values scores = llvm::map_to_vector(
        mappings, [&](IRMapping &mapping) { return cloner.toVector(mapping.lookup(next->getOperand(0))); });
    scores = applyScoreFunction(vb, cast<ScoreFunction>(*next), scores);
    for (auto [mapping, score] : llvm::zip_equal(mappings, scores))
      mapping.map(next->getResult(0), score);
  }
  Value result = cast<YieldOp>(region->front().getTerminator()).getValue();
  return llvm::map_to_vector(mappings,
                             [&](IRMapping &mapping) { return cloner.toVector(mapping.lookupOrDefault(result)); });
}

Value LaneRegion::evaluate(LanePosition at, ValueRange arguments, Value isRemoved) {
  return evaluate(at, [&](size_t) { return Values(arguments); }, isRemoved).front();
}

void LaneRegion::emit(Operation &op, IRMapping &mapping, Value query, Value key, Value mask) {
  if (auto index = dyn_cast<IndexOp>(op)) {
    Value value = vb.index(0); // a tile holds one batch index; attn-tile added the offsets
    if (index.getKind() == IndexKind::Key)
      value = axis == LaneAxis::Keys ? cloner.getPositions(key) : key;
    else if (index.getKind() == IndexKind::Query)
      value = axis == LaneAxis::Queries ? cloner.getPositions(query) : query;
    else if (index.getKind() == IndexKind::Head && head)
      value = head;
    mapping.map(index.getResult(), value);
    return;
  }
  if (auto function = dyn_cast<ScoreFunction>(op)) {
    Value score = cloner.toVector(mapping.lookupOrDefault(op.getOperand(0)));
    mapping.map(op.getResult(0), applyScoreFunction(vb, function, score).front());
    return;
  }
  cloner.clone(op, mapping, mask);
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
  LaneRegion region(vb, &op.getMaskMod());
  Values kept = vb.loop(op.getQueryTile(), vb.lanes, {none, all}, [&](Value lane, ValueRange outer) {
    region.prepare(lane);
    // Lanes past the last row do not affect the result.
    Value row = arith::AddIOp::create(
        rewriter, loc, vb.broadcast(lane),
        vector::StepOp::create(rewriter, loc, VectorType::get({vb.lanes}, rewriter.getIndexType())).getResult());
    Value isRow = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt, row, vb.broadcast(op.getRows()));
    Value noRow = arith::XOrIOp::create(rewriter, loc, isRow, all);
    return vb.loop(vb.index(0), op.getKeys(), 1, outer, [&](Value key, ValueRange inner) {
      Value keep = region.evaluate({0, key}, {});
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
