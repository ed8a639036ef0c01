//===- WarpScores.cpp - attn.map_scores for a block of warps --------------===//
//
// A thread has a few scores of a few rows; the code of each is scalar. What
// depends on the row alone is the same for all of its scores, and LLVM finds it.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WarpTile.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include <limits>
#include <numbers>

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

static const double kMinusInf = -std::numeric_limits<double>::infinity();

ScoreTile::ScoreTile(WarpBuilder &wb, Operation *op) : fragments(wb.warpRows / kFragmentRows), block(op->getBlock()) {
  OpFoldResult count = getDomainSizes(wb.b, op)[getDomainPosition(op, DimKind::Key)];
  // Of a known number of keys, no more than the depths of the second product that they reach into.
  int64_t depth = kFragmentRows, keys = getConstantIntValue(count).value_or(wb.keyTile);
  keyBlocks = llvm::alignTo(keys, depth) / kBlockColumns;
  bool isWhole = getConstantIntValue(count) && keys % depth == 0;
  keyCount = isWhole ? Value() : wb.fromIndex(count);
  hasPadding = !isWhole;
}

void ScoreTile::forEach(WarpBuilder &wb, function_ref<void(size_t i, int64_t row, Value key)> body) const {
  for (int64_t fragment = 0; fragment < fragments; ++fragment)
    for (int64_t keyBlock = 0; keyBlock < keyBlocks; ++keyBlock)
      for (int64_t element = 0; element < kFragmentElements; ++element)
        body(at(fragment, keyBlock, element), TileState::rowIndex(fragment, element / 2),
             wb.add(wb.multiply(wb.quadLane, 2), keyBlock * kBlockColumns + element % 2));
}

ScorePositions::ScorePositions(WarpBuilder &wb, Operation *op, const ScoreTile &tile,
                               ArrayRef<const GlobalView *> dense)
    : wb(wb), tileRows(wb, op), keyCount(tile.keyCount) {
  unsigned queryDim = tileRows.numBatch;
  for (int64_t i = 0; i < tile.fragments * kThreadRows; ++i) {
    Value row = wb.add(wb.add(wb.firstRow, wb.quad), i / kThreadRows * kFragmentRows + i % kThreadRows * 8);
    auto [head, query] = tileRows.split(wb, row);
    for (const GlobalView *view : dense)
      if (*view && query && view->getStride(queryDim) && view->getStaticSize(queryDim) != tileRows.queries) {
        query = wb.minimum(query, wb.add(view->getSize(wb, queryDim), -1));
        break;
      }
    rows.push_back({head, query});
  }
}

Value ScorePositions::clampKey(Value key) { return keyCount ? wb.minimum(key, wb.add(keyCount, -1)) : key; }

Value ScorePositions::evaluate(Region &region, int64_t row, Value key, ValueRange arguments) {
  bool readsMemory = false;
  region.walk([&](memref::LoadOp) { readsMemory = true; });
  if (readsMemory)
    key = clampKey(key);
  return evaluateRegion(wb, region, arguments, [&](IndexOp index) -> Value {
    switch (index.getKind()) {
    case IndexKind::Key: return key;
    case IndexKind::Query: return rows[row].query;
    case IndexKind::Head: return rows[row].head;
    default: return Value();
    }
  });
}

Value ScorePositions::load(const GlobalView &view, int64_t row, Value key) {
  unsigned queryDim = tileRows.numBatch;
  SmallVector<std::pair<unsigned, Value>> indices = {{queryDim, rows[row].query}, {queryDim + 1, clampKey(key)}};
  if (rows[row].head)
    indices.push_back({queryDim - 1, rows[row].head});
  Type type = view.getElementType();
  Value address = view.getAddress(wb, view.getOffset(wb, indices));
  return wb.load(type.isInteger(1) ? Type(wb.b.getI8Type()) : type, address, view.getElementBytes());
}

/// c tanh(s / c), tanh x = 1 - 2 / (2^(2 x log2 e) + 1): 2^x overflows to inf and underflows to 0, where tanh is 1, -1.
/// Near 0 the difference cancels: there, as on the CPU, a polynomial in x^2 (relative error 1.3e-8).
static Value applySoftcap(WarpBuilder &wb, Value score, double cap) {
  static constexpr double kSmallRatio = 0.5;
  static constexpr double kSmallTanh[] = {0.0171349114, -0.052986034, 0.133247788, -0.333330694, 0.999999987};
  Value ratio = wb.mulf(score, wb.real(1 / cap));
  Value square = wb.mulf(ratio, ratio), polynomial = wb.real(kSmallTanh[0]);
  for (double coefficient : ArrayRef(kSmallTanh).drop_front())
    polynomial = wb.fma(polynomial, square, wb.real(coefficient));
  Value power = wb.exp2(wb.mulf(ratio, wb.real(2 * std::numbers::log2e)));
  Value quotient = arith::DivFOp::create(wb.b, wb.loc, wb.real(2), wb.addf(power, wb.real(1)));
  Value large = wb.mulf(wb.subf(wb.real(1), quotient), wb.real(cap));
  Value isSmall =
      arith::CmpFOp::create(wb.b, wb.loc, arith::CmpFPredicate::OLT, square, wb.real(kSmallRatio * kSmallRatio));
  return wb.select(isSmall, wb.mulf(score, polynomial), large);
}

LogicalResult KernelLowering::lowerMapScores(MapScoresOp op) {
  ScoreTile *input = findScores(op.getInput(), op);
  if (!input)
    return failure();
  ScoreTile tile = *input;
  SmallVector<AffineMap> maps = getMaps(op);
  unsigned next = 1;
  GlobalView bias, mask;
  if (op.getBias())
    bias = GlobalView(wb, op.getBias(), maps[next++]);
  if (op.getMask())
    mask = GlobalView(wb, op.getMask(), maps[next++]);
  ScorePositions positions(wb, op, tile, {&bias, &mask});
  Type f32 = wb.b.getF32Type();
  Value removed = wb.real(kMinusInf);
  tile.forEach(wb, [&](size_t i, int64_t row, Value key) {
    Value &s = tile.values[i];
    if (op.getScaleValue())
      s = wb.mulf(s, wb.convert(op.getScaleValue(), f32));
    else if (op.getScale() && !op.getScale()->isExactlyValue(1))
      s = wb.mulf(s, wb.real(op.getScale()->convertToDouble()));
    if (!op.getScoreMod().empty())
      s = wb.convert(positions.evaluate(op.getScoreMod(), row, key, s), f32);
    if (op.getSoftcap())
      s = applySoftcap(wb, s, op.getSoftcap()->convertToDouble());
    // s + bias, and -inf for a bias of -inf whatever s is: such a key is removed, a NaN in it reaches nothing
    if (bias) {
      Value added = wb.convert(positions.load(bias, row, key), f32);
      s = wb.select(wb.isEqual(added, kMinusInf), removed, wb.addf(s, added));
    }
    if (mask) {
      Value kept = positions.load(mask, row, key);
      Value zero = arith::ConstantOp::create(wb.b, wb.loc, wb.b.getZeroAttr(kept.getType()));
      s = wb.select(arith::CmpIOp::create(wb.b, wb.loc, arith::CmpIPredicate::ne, kept, zero), s, removed);
    }
    if (!op.getMaskMod().empty())
      s = wb.select(positions.evaluate(op.getMaskMod(), row, key, {}), s, removed);
    if (tile.hasPadding)
      s = wb.select(wb.isLess(key, tile.keyCount), s, removed);
  });
  tile.hasPadding = false;
  scoreTiles[op.getOutput()] = tile;
  return success();
}
