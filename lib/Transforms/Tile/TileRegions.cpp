//===- TileRegions.cpp - regions and indices relative to a tile -----------===//
//
// A region of a step is cloned into a tile. Indices there are relative to the first element of the tile, so the tile's
// offsets are added to them.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TileBuilder.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

/// Clamps positions of `kind` that `region` reads to at most `last`.
static void clampIndex(OpBuilder &b, Region &region, IndexKind kind, Value last) {
  SmallVector<IndexOp> indices;
  region.walk([&](IndexOp op) {
    if (op.getKind() == kind)
      indices.push_back(op);
  });
  for (IndexOp op : indices) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfter(op);
    auto clamped = arith::MinSIOp::create(b, op.getLoc(), op, last);
    op.getResult().replaceAllUsesExcept(clamped, clamped);
  }
}

void attn::cloneTileRegion(OpBuilder &b, Region &from, Region &to, Operation *before, Operation *step,
                           ArrayRef<OpFoldResult> offsets, IndexKind row, function_ref<Value()> getEndRow) {
  if (from.empty())
    return;
  IRMapping mapping;
  from.cloneInto(&to, mapping);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(before);
  bool readsRows = false;
  to.walk([&](tensor::ExtractOp) { readsRows = true; });
  if (readsRows && getEndRow) {
    Location loc = step->getLoc();
    Value lastRow = b.createOrFold<arith::SubIOp>(loc, getEndRow(), index(b, loc, 1));
    lastRow = b.createOrFold<arith::MaxSIOp>(loc, lastRow, index(b, loc, 0));
    clampIndex(b, to, row, lastRow);
  }
  shiftIndex(b, to, offsets, step);
}

/// Clones a region with the positions of the current tile.
void attn::cloneRegion(OpBuilder &b, const TileShape &s, const TilePosition &at, Region &from, Region &to,
                       Operation *before) {
  auto getEndRow = [&] { return at.endQuery; };
  bool isWhole = isConstantIntValue(at.rows, getTileSize(s, s.queryPos()));
  cloneTileRegion(b, from, to, before, s.step, at.offsets, IndexKind::Query,
                  isWhole ? function_ref<Value()>() : function_ref<Value()>(getEndRow));
}

Value attn::evaluateIndex(OpBuilder &b, Operation *step, const DomainTile &at, IndexOp op) {
  Location loc = step->getLoc();
  auto first = [&](unsigned position) { return toValue(b, loc, at.offsets[position]); };
  auto end = [&](unsigned position) { return add(b, loc, first(position), toValue(b, loc, at.sizes[position])); };
  switch (op.getKind()) {
  case IndexKind::FirstQuery: return first(at.queryPos());
  case IndexKind::EndQuery: return end(at.queryPos());
  case IndexKind::FirstKey: return first(at.keyPos());
  case IndexKind::EndKey: return end(at.keyPos());
  case IndexKind::Batch: return first(0);
  case IndexKind::Head: return first(at.queryPos() - 1);
  case IndexKind::KvHead:
    return affine::makeComposedAffineApply(b, loc, getKvHeadMap(step), {at.offsets[at.queryPos() - 1]});
  case IndexKind::Query:
  case IndexKind::Key: break;
  }
  llvm_unreachable("refused by the verifier");
}
