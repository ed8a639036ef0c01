//===- Predicate.cpp - spelled-out masks become one mask_mod region -------===//
//
// The sugar of sdpa and mask (causal …) is turned into arith on attn.index, in
// conjunction with the region that the op already has. After this nothing
// knows the word causal.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"

using namespace mlir;
using namespace attn;

static Region *getMaskMod(Operation *op) { return op->getNumRegions() ? &op->getRegion(0) : nullptr; }

bool attn::hasPredicate(Operation *op) {
  Region *region = getMaskMod(op);
  return op->hasAttr("causal") || (region && !region->empty());
}

Value attn::inlinePredicate(OpBuilder &builder, Region &region, function_ref<Value(IndexOp)> getIndex) {
  IRMapping mapping;
  for (Operation &op : region.front().without_terminator()) {
    if (auto index = dyn_cast<IndexOp>(op))
      mapping.map(index.getResult(), getIndex(index));
    else
      builder.clone(op, mapping);
  }
  return mapping.lookupOrDefault(cast<YieldOp>(region.front().getTerminator()).getValue());
}

/// off of a causal alignment: 0 for top_left, Sk - Sq for bottom_right. Built outside of the region, which captures it.
static OpFoldResult getCausalOffset(OpBuilder &builder, Operation *op, Attribute causal) {
  auto attr = dyn_cast<CausalAlignmentAttr>(causal);
  // Without an alignment (a unit attribute) the verifier has made sure that Sq = Sk.
  if (!attr || attr.getValue() == CausalAlignment::TopLeft)
    return builder.getIndexAttr(0);
  SmallVector<OpFoldResult> sizes = getDomainSizes(builder, op);
  OpFoldResult queries = sizes[getDomainPosition(op, DimKind::Query)], keys = sizes[getDomainPosition(op, DimKind::Key)];
  auto staticQueries = getConstantIntValue(queries), staticKeys = getConstantIntValue(keys);
  if (staticQueries && staticKeys)
    return builder.getIndexAttr(*staticKeys - *staticQueries);
  Location loc = op->getLoc();
  return arith::SubIOp::create(builder, loc, getValueOrCreateConstantIndexOp(builder, loc, keys),
                               getValueOrCreateConstantIndexOp(builder, loc, queries))
      .getResult();
}

void attn::buildPredicate(OpBuilder &builder, Operation *op, Region &region) {
  Location loc = op->getLoc();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  Attribute causal = op->getAttr("causal");
  OpFoldResult offset;
  if (causal)
    offset = getCausalOffset(builder, op, causal);

  builder.createBlock(&region);
  SmallVector<Value> conjuncts;
  if (causal) {
    // keep iff j <= i + off
    Value query = IndexOp::create(builder, loc, builder.getIndexType(), IndexKind::Query);
    Value key = IndexOp::create(builder, loc, builder.getIndexType(), IndexKind::Key);
    Value last = query;
    if (!isConstantIntValue(offset, 0))
      last = arith::AddIOp::create(builder, loc, query, getValueOrCreateConstantIndexOp(builder, loc, offset));
    conjuncts.push_back(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, key, last));
  }
  if (Region *maskMod = getMaskMod(op); maskMod && !maskMod->empty())
    conjuncts.push_back(inlinePredicate(builder, *maskMod, [&](IndexOp index) -> Value {
      return builder.clone(*index)->getResult(0);
    }));
  Value keep = conjuncts.front();
  for (Value conjunct : ArrayRef(conjuncts).drop_front())
    keep = arith::AndIOp::create(builder, loc, keep, conjunct);
  YieldOp::create(builder, loc, keep);
}
