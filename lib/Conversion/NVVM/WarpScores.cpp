//===- WarpScores.cpp - scale, softcap, bias and masks of one score -------===//
//
// A thread has a few scores of a few rows; the code of each is scalar. What
// depends on the row alone is the same for all of its scores, and LLVM finds it.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WarpTile.h"
#include <limits>
#include <numbers>

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

static const double kMinusInf = -std::numeric_limits<double>::infinity();

ScoreCode::ScoreCode(WarpBuilder &wb, OnlineStepOp op, Value keyCount) : wb(wb), op(op), rows(op), keyCount(keyCount) {
  SmallVector<AffineMap> maps = getMaps(op);
  unsigned next = 3;
  if (op.getBias())
    bias = GlobalView(wb, op.getBias(), maps[next++]);
  if (op.getMask())
    mask = GlobalView(wb, op.getMask(), maps[next++]);
  scale = op.getScale() ? op.getScale()->convertToDouble() : 1;
  raw = !op.getScaleValue() && scale > 0 && op.getScoreMod().empty() && !op.getSoftcap() && !bias;
  partial = bias || mask || keyCount || !op.getMaskMod().empty() || !op.getScoreMod().empty();
}

void ScoreCode::prepareRow(int64_t index, Value row) {
  prepared.resize(std::max<size_t>(prepared.size(), index + 1));
  auto [head, query] = rows.split(wb, row);
  // Rows that are not there read what the last one reads.
  for (const GlobalView *view : {&bias, &mask})
    if (*view && query && view->getStride(rows.numBatch) && view->getStaticSize(rows.numBatch) != rows.queries) {
      query = wb.minimum(query, wb.add(view->getSize(wb, rows.numBatch), -1));
      break;
    }
  prepared[index] = {head, query};
}

Value ScoreCode::evaluate(Region &region, const Row &row, Value key, ValueRange arguments) {
  bool readsMemory = false;
  region.walk([&](memref::LoadOp) { readsMemory = true; });
  // Keys that are not there read what the last one reads.
  if (readsMemory && keyCount)
    key = wb.minimum(key, wb.add(keyCount, -1));
  return evaluateRegion(wb, region, arguments, [&](IndexOp index) -> Value {
    switch (index.getKind()) {
    case IndexKind::Key: return key;
    case IndexKind::Query: return row.query;
    case IndexKind::Head: return row.head;
    default: return Value();
    }
  });
}

Value ScoreCode::loadDense(const GlobalView &view, const Row &row, Value key) {
  if (keyCount)
    key = wb.minimum(key, wb.add(keyCount, -1));
  SmallVector<std::pair<unsigned, Value>> indices = {{rows.numBatch, row.query}, {rows.numBatch + 1, key}};
  if (row.head)
    indices.push_back({rows.numBatch - 1, row.head});
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

Value ScoreCode::apply(Value product, int64_t index, Value key) {
  const Row &row = prepared[index];
  Value s = product, removed = wb.real(kMinusInf);
  Type f32 = wb.b.getF32Type();
  if (!raw) {
    if (op.getScaleValue())
      s = wb.mulf(s, wb.convert(op.getScaleValue(), f32));
    else if (scale != 1)
      s = wb.mulf(s, wb.real(scale));
    if (!op.getScoreMod().empty())
      s = wb.convert(evaluate(op.getScoreMod(), row, key, s), f32);
    if (op.getSoftcap())
      s = applySoftcap(wb, s, op.getSoftcap()->convertToDouble());
  }
  // s + bias, and -inf for a bias of -inf whatever s is: such a key is removed, a NaN in it reaches nothing
  if (bias) {
    Value added = wb.convert(loadDense(bias, row, key), f32);
    s = wb.select(wb.isEqual(added, kMinusInf), removed, wb.addf(s, added));
  }
  if (mask) {
    Value kept = loadDense(mask, row, key);
    Value zero = arith::ConstantOp::create(wb.b, wb.loc, wb.b.getZeroAttr(kept.getType()));
    s = wb.select(arith::CmpIOp::create(wb.b, wb.loc, arith::CmpIPredicate::ne, kept, zero), s, removed);
  }
  if (!op.getMaskMod().empty())
    s = wb.select(evaluate(op.getMaskMod(), row, key, {}), s, removed);
  if (keyCount)
    s = wb.select(wb.isLess(key, keyCount), s, removed);
  return s;
}

Value ScoreCode::modifyWeight(Value weight, int64_t index, Value key) {
  if (op.getWeightMod().empty())
    return weight;
  return wb.convert(evaluate(op.getWeightMod(), prepared[index], key, weight), wb.b.getF32Type());
}
