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

/// The attributes that buildPredicate turns into arith.
static constexpr llvm::StringLiteral kSpelledOutMasks[] = {"causal", "window", "align"};

static Region *getMaskMod(Operation *op) { return op->getNumRegions() ? &op->getRegion(0) : nullptr; }

bool attn::hasSpelledOutMask(Operation *op) { return op->hasAttr("causal") || op->hasAttr("window"); }

bool attn::hasPredicate(Operation *op) {
  Region *region = getMaskMod(op);
  return hasSpelledOutMask(op) || (region && !region->empty());
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

/// off of an alignment: 0 for top_left, Sk - Sq for bottom_right. Built outside of the region, which captures it.
static OpFoldResult getOffset(OpBuilder &builder, Operation *op, Attribute alignment) {
  auto attr = dyn_cast_or_null<CausalAlignmentAttr>(alignment);
  // Without an alignment the verifier has made sure that Sq = Sk.
  if (!attr || attr.getValue() == CausalAlignment::TopLeft)
    return builder.getIndexAttr(0);
  SmallVector<OpFoldResult> sizes = getDomainSizes(builder, op);
  OpFoldResult queries = sizes[getDomainPosition(op, DimKind::Query)],
               keys = sizes[getDomainPosition(op, DimKind::Key)];
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
  auto window = op->getAttrOfType<WindowAttr>("window");
  OpFoldResult offset;
  if (causal || window)
    offset = getOffset(builder, op, causal ? causal : op->getAttr("align"));

  builder.createBlock(&region);
  SmallVector<Value> conjuncts;
  if (causal || window) {
    Value query = IndexOp::create(builder, loc, builder.getIndexType(), IndexKind::Query);
    Value key = IndexOp::create(builder, loc, builder.getIndexType(), IndexKind::Key);
    // The key on the query's diagonal, i + off, and distances from it.
    Value diagonal = query;
    if (!isConstantIntValue(offset, 0))
      diagonal = arith::AddIOp::create(builder, loc, query, getValueOrCreateConstantIndexOp(builder, loc, offset));
    auto keepIf = [&](arith::CmpIPredicate predicate, int64_t distance) {
      Value bound = diagonal;
      if (distance != 0)
        bound = arith::AddIOp::create(builder, loc, diagonal, arith::ConstantIndexOp::create(builder, loc, distance));
      conjuncts.push_back(arith::CmpIOp::create(builder, loc, predicate, key, bound));
    };
    // causal: j <= i + off; window: i + off - left <= j <= i + off + right
    if (causal)
      keepIf(arith::CmpIPredicate::sle, 0);
    if (window && window.getLeft())
      keepIf(arith::CmpIPredicate::sge, -*window.getLeft());
    if (window && window.getRight())
      keepIf(arith::CmpIPredicate::sle, *window.getRight());
  }
  if (Region *maskMod = getMaskMod(op); maskMod && !maskMod->empty())
    conjuncts.push_back(inlinePredicate(builder, *maskMod,
                                        [&](IndexOp index) -> Value { return builder.clone(*index)->getResult(0); }));
  // A window without bounds, alone, keeps everything.
  if (conjuncts.empty())
    conjuncts.push_back(arith::ConstantIntOp::create(builder, loc, 1, 1));
  Value keep = conjuncts.front();
  for (Value conjunct : ArrayRef(conjuncts).drop_front())
    keep = arith::AndIOp::create(builder, loc, keep, conjunct);
  YieldOp::create(builder, loc, keep);
}

void attn::copySpelledOutMasks(Operation *from, Operation *to) {
  for (StringRef name : kSpelledOutMasks)
    if (Attribute attribute = from->getAttr(name))
      to->setAttr(name, attribute);
}

void attn::removeSpelledOutMasks(Operation *op) {
  for (StringRef name : kSpelledOutMasks)
    op->removeAttr(name);
}
