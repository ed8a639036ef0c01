//===- BackwardStep.cpp - the gradients of one tile of queries and keys ---===//
//
// Keys are lanes. For each panel of keys, of whole vectors:
//   S = Q K^T, dW = dO V^T
//   P = 2^((score(S) - lse) log2 e), G = scale score_grad(P (weight_mod(dW) - delta)) in their place
//   dV^T += dO^T weight_mod(P), dK^T += Q^T G
// and then dQ += G K. All five products are one register kernel: rows of scalars,
// which are the tiles as they lie, times vectors of a panel. G of all panels is
// kept, P of one. A partial tile bounds its panels by query_ranges.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "VectorTile.h"
#include "attn/IR/Decompose.h"
#include "attn/IR/ScoreFunctions.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include <limits>

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

static const double kInfinity = std::numeric_limits<double>::infinity();

namespace {

/// The panel under way.
struct Panel {
  Value index, firstKey;
  Values masks;       ///< of the lanes that are keys, by vector; empty for all of them
  Value lower, upper; ///< rows with a key in it

  Value getMask(int64_t v) const { return masks.empty() ? Value() : masks[v]; }
};

class BackwardStepLowering {
public:
  BackwardStepLowering(VectorBuilder &vb, BackwardStepOp step)
      : vb(vb), b(vb.b), loc(vb.loc), step(step), schedule(cast<BackwardAttr>(*step.getSchedule())),
        functions(ScoreFunctions::of(step)), laneCode(vb, functions, LaneAxis::Keys),
        scoreGrad(vb, &step.getScoreGrad(), LaneAxis::Keys), vectors(schedule.getBlockVectors()),
        panelKeys(schedule.getPanelKeys()), blockRows(schedule.getBlockRows()) {
    SmallVector<OpFoldResult> sizes = getDomainSizes(b, step);
    numRows = getValueOrCreateConstantIndexOp(b, loc, sizes[0]);
    numKeys = sizes[1];
    keyCount = getValueOrCreateConstantIndexOp(b, loc, numKeys);
    SmallVector<int64_t> domain = getStaticDomain(step);
    headSize = domain[2];
    valueSize = domain[3];
    if (step.getDbias())
      dbias = {step.getDbias(), getMaps(step).back()};
  }

  void emit() {
    int64_t numPanels = llvm::divideCeil(schedule.getKeyTile(), panelKeys);
    weights = vb.stackBuffer({schedule.getQueryTile(), panelKeys});
    gradients = vb.stackBuffer({numPanels, schedule.getQueryTile(), panelKeys});
    if (!step.getQueryRanges().empty())
      bounds = vb.stackBuffer({numPanels, 2}, b.getIndexType());
    wholePanels = vb.divide(keyCount, panelKeys);
    vb.loop(vb.index(0), wholePanels, 1, {}, [&](Value panel, ValueRange) {
      emitPanel(panel, /*isWhole=*/true);
      return Values();
    });
    if (hasTail())
      emitIfTail({}, [&] {
        emitPanel(wholePanels, /*isWhole=*/false);
        return Values();
      });
    emitQueryGradient();
  }

private:
  bool hasTail() {
    std::optional<int64_t> constant = getConstantIntValue(numKeys);
    return !constant || *constant % panelKeys != 0;
  }

  Value getTailKeys() { return vb.subtract(keyCount, vb.multiply(wholePanels, panelKeys)); }

  Values emitIfTail(ValueRange otherwise, function_ref<Values()> body) {
    Value condition = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, getTailKeys(), vb.index(0));
    return emitIf(condition, otherwise, body);
  }

  Values emitIf(Value condition, ValueRange otherwise, function_ref<Values()> body) {
    auto branch = scf::IfOp::create(b, loc, otherwise.getTypes(), condition, /*withElseRegion=*/!otherwise.empty());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Values results = body();
    if (otherwise.empty())
      return {};
    scf::YieldOp::create(b, loc, results);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, otherwise);
    return Values(branch.getResults());
  }

  /// body(first, rows) over [lower, upper): blocks of whole register kernels, then of powers of two, each once at most.
  void forEachRows(Value lower, Value upper, function_ref<void(Value, int64_t)> body) {
    auto emitBlocks = [&](int64_t rows) {
      Value count = vb.subtract(upper, lower);
      Value end = vb.add(lower, vb.subtract(count, vb.remainder(count, rows)));
      vb.loop(lower, end, rows, {}, [&](Value first, ValueRange) {
        body(first, rows);
        return Values();
      });
      lower = end;
    };
    emitBlocks(blockRows);
    for (int64_t rows = llvm::PowerOf2Ceil(blockRows) / 2; rows > 0; rows /= 2)
      if (rows < blockRows)
        emitBlocks(rows);
  }

  Value loadScalar(Value memref, ValueRange indices) { return memref::LoadOp::create(b, loc, memref, indices); }

  /// The rows of the tile that keep a key of the panel, from a multiple of the block's rows on.
  void setBounds(Panel &panel) {
    panel.lower = vb.index(0);
    panel.upper = numRows;
    if (!bounds)
      return;
    Value endKey = vb.minimum(vb.add(panel.firstKey, panelKeys), keyCount);
    Values range = inlineRegion(b, step.getQueryRanges(), {}, [&](IndexOp index) -> Value {
      return index.getKind() == IndexKind::FirstKey ? panel.firstKey : endKey;
    });
    auto clamp = [&](Value x) { return vb.minimum(b.createOrFold<arith::MaxSIOp>(loc, x, vb.index(0)), numRows); };
    Value lower = clamp(range[0]), upper = clamp(range[1]);
    lower = vb.subtract(lower, vb.remainder(lower, blockRows));
    panel.lower = lower;
    panel.upper = b.createOrFold<arith::MaxSIOp>(loc, lower, upper);
    memref::StoreOp::create(b, loc, panel.lower, bounds, ValueRange{panel.index, vb.index(0)});
    memref::StoreOp::create(b, loc, panel.upper, bounds, ValueRange{panel.index, vb.index(1)});
  }

  void emitPanel(Value index, bool isWhole) {
    Panel panel{index, vb.multiply(index, panelKeys), {}, {}, {}};
    if (!isWhole)
      for (int64_t v = 0; v < vectors; ++v)
        panel.masks.push_back(vb.createMask(vb.subtract(getTailKeys(), vb.index(v * vb.lanes))));
    setBounds(panel);
    auto atWeights = [&](Value row, int64_t v) -> Values { return {row, vb.index(v * vb.lanes)}; };
    auto atGradients = [&](Value row, int64_t v) -> Values { return {index, row, vb.index(v * vb.lanes)}; };
    emitRowProduct(panel, step.getQuery(), step.getTransposed()[0], headSize, weights, atWeights);
    emitRowProduct(panel, step.getDout(), step.getTransposed()[1], valueSize, gradients, atGradients);
    vb.loop(panel.lower, panel.upper, 1, {}, [&](Value row, ValueRange) {
      emitRow(panel, row);
      return Values();
    });
    emitKeyProduct(panel, step.getDout(), step.getDvalue(), valueSize, weights, atWeights);
    emitKeyProduct(panel, step.getQuery(), step.getDkey(), headSize, gradients, atGradients);
    if (!bounds)
      return;
    // Rows behind the last one, of its block, add nothing to dQ.
    Value end = vb.minimum(vb.multiply(vb.divide(vb.add(panel.upper, blockRows - 1), blockRows), blockRows), numRows);
    vb.loop(panel.upper, end, 1, {}, [&](Value row, ValueRange) {
      for (int64_t v = 0; v < vectors; ++v)
        vb.store(vb.splat(0), gradients, atGradients(row, v));
      return Values();
    });
  }

  using Position = function_ref<Values(Value, int64_t)>;

  /// target[i][j] = sum_d rows[i, d] columns[d][j]
  void emitRowProduct(const Panel &panel, Value rows, Value columns, int64_t depth, Value target, Position at) {
    forEachRows(panel.lower, panel.upper, [&](Value first, int64_t count) {
      Values sums = emitRegisterKernel(
          vb, count, vectors, vb.index(depth), Values(count * vectors, vb.splat(0)),
          [&](int64_t row, Value d) { return loadScalar(rows, {vb.add(first, row), d}); },
          [&](Value d, int64_t v) { return vb.load(columns, {d, vb.add(panel.firstKey, v * vb.lanes)}); });
      for (int64_t row = 0; row < count; ++row)
        for (int64_t v = 0; v < vectors; ++v)
          vb.store(sums[row * vectors + v], target, at(vb.add(first, row), v));
    });
  }

  /// sums[d][j] += sum_i rows[i, d] factors[i][j]
  void emitKeyProduct(const Panel &panel, Value rows, Value sums, int64_t columns, Value factors, Position at) {
    Value depth = vb.subtract(panel.upper, panel.lower);
    forEachBlock(vb, b.getIndexAttr(columns), blockRows, {}, [&](Value first, int64_t count, ValueRange) {
      Values products = emitRegisterKernel(
          vb, count, vectors, depth, Values(count * vectors, vb.splat(0)),
          [&](int64_t column, Value i) { return loadScalar(rows, {vb.add(panel.lower, i), vb.add(first, column)}); },
          [&](Value i, int64_t v) { return vb.load(factors, at(vb.add(panel.lower, i), v)); });
      for (int64_t column = 0; column < count; ++column)
        for (int64_t v = 0; v < vectors; ++v) {
          Values position = {vb.add(first, column), vb.add(panel.firstKey, v * vb.lanes)};
          Value old = vb.loadMasked(sums, position, panel.getMask(v));
          Value sum = arith::AddFOp::create(b, loc, old, products[column * vectors + v]);
          vb.storeMasked(sum, sums, position, panel.getMask(v));
        }
      return Values();
    });
  }

  /// P and G of a row, over S and dW.
  void emitRow(const Panel &panel, Value row) {
    laneCode.prepare(row);
    scoreGrad.prepare(row);
    // A row without keys: exp(s - inf) = 0.
    Value lse = loadScalar(step.getLse(), row),
          isEmpty = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, lse, getScalar(-kInfinity));
    lse = vb.broadcast(vb.select(isEmpty, getScalar(kInfinity), lse));
    Value delta = vb.broadcast(loadScalar(step.getDelta(), row));
    bool mayBeZero = laneCode.isPartial() || !panel.masks.empty();
    for (int64_t v = 0; v < vectors; ++v) {
      Value key = vb.add(panel.firstKey, v * vb.lanes), mask = panel.getMask(v), lane = vb.index(v * vb.lanes);
      Value raw = vb.load(weights, {row, lane});
      Value score = laneCode.remove(laneCode.modify(raw, key, 0, mask), key, 0, mask);
      if (mask)
        score = vb.select(mask, score, vb.splat(-kInfinity));
      Value weight = vb.expDifference(score, lse);
      // lse may be NaN by another key: -inf less that is no number.
      if (mayBeZero)
        weight = vb.select(vb.isEqual(score, -kInfinity), vb.splat(0), weight);
      Value isRemoved = mayBeZero ? vb.isEqual(weight, 0) : Value();
      // What a region or V makes of a removed key may be no number.
      auto zeroWhereRemoved = [&](Value x) { return isRemoved ? vb.select(isRemoved, vb.splat(0), x) : x; };
      Value dw = laneCode.modifyWeight(vb.load(gradients, {panel.index, row, lane}), key, 0, mask);
      Value ds = arith::MulFOp::create(b, loc, weight, arith::SubFOp::create(b, loc, dw, delta));
      ds = zeroWhereRemoved(ds);
      if (dbias.memref)
        addBiasGradient(ds, row, key, mask);
      if (!scoreGrad.isEmpty())
        ds = zeroWhereRemoved(scoreGrad.evaluate(0, key, {laneCode.scale(raw), ds}, mask));
      vb.store(laneCode.scale(ds), gradients, {panel.index, row, lane});
      if (functions.weightMod)
        weight = zeroWhereRemoved(laneCode.modifyWeight(weight, key, 0, mask));
      vb.store(weight, weights, {row, lane});
    }
  }

  Value getScalar(double value) { return arith::ConstantOp::create(b, loc, b.getFloatAttr(vb.elementType, value)); }

  /// dbias += ds, summed over the keys where the bias is one for all of them.
  void addBiasGradient(Value ds, Value row, Value key, Value mask) {
    SmallVector<Value> domain = {row, key, {}, {}};
    Values at = dbias.getIndices(vb, domain);
    if (!dbias.map.isFunctionOfDim(1)) {
      Value sum = vector::ReductionOp::create(b, loc, vector::CombiningKind::ADD, ds);
      sum = arith::AddFOp::create(b, loc, loadScalar(dbias.memref, at), sum);
      memref::StoreOp::create(b, loc, sum, dbias.memref, at);
      return;
    }
    if (dbias.isInnermost(1)) {
      Value old = vb.loadMasked(dbias.memref, at, mask);
      vb.storeMasked(arith::AddFOp::create(b, loc, old, ds), dbias.memref, at, mask);
      return;
    }
    for (int64_t lane = 0; lane < vb.lanes; ++lane) {
      auto add = [&] {
        SmallVector<Value> element = {row, vb.add(key, lane), {}, {}};
        Values position = dbias.getIndices(vb, element);
        Value sum = arith::AddFOp::create(b, loc, loadScalar(dbias.memref, position),
                                          vector::ExtractOp::create(b, loc, ds, lane));
        memref::StoreOp::create(b, loc, sum, dbias.memref, position);
        return Values();
      };
      if (mask)
        emitIf(vector::ExtractOp::create(b, loc, mask, lane), {}, add);
      else
        add();
    }
  }

  /// dQ[i][d] += sum_j G[i][j] K[j][d], panels of columns outside: they stay in the first-level cache.
  void emitQueryGradient() {
    int64_t whole = headSize / panelKeys * panelKeys, rest = headSize - whole;
    auto emitColumns = [&](Value column, ArrayRef<Value> masks) {
      forEachRows(vb.index(0), numRows, [&](Value row, int64_t rows) { emitQueryBlock(row, rows, column, masks); });
    };
    vb.loop(whole, panelKeys, {}, [&](Value column, ValueRange) {
      emitColumns(column, Values(vectors));
      return Values();
    });
    Values masks;
    for (int64_t lane = 0; lane < rest; lane += vb.lanes)
      masks.push_back(vb.getMask(rest - lane));
    if (rest > 0)
      emitColumns(vb.index(whole), masks);
  }

  void emitQueryBlock(Value firstRow, int64_t rows, Value column, ArrayRef<Value> masks) {
    int64_t count = masks.size();
    auto multiply = [&](Value panel, Value depth, ValueRange init) {
      Value firstKey = vb.multiply(panel, panelKeys);
      auto product = [&] {
        return emitRegisterKernel(
            vb, rows, count, depth, init,
            [&](int64_t row, Value k) { return loadScalar(gradients, {panel, vb.add(firstRow, row), k}); },
            [&](Value k, int64_t v) {
              return vb.loadMasked(step.getKey(), {vb.add(firstKey, k), vb.add(column, v * vb.lanes)}, masks[v]);
            });
      };
      if (!bounds)
        return product();
      Value lower = loadScalar(bounds, {panel, vb.index(0)}), upper = loadScalar(bounds, {panel, vb.index(1)});
      Value isVisited =
          arith::AndIOp::create(b, loc, arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, lower, firstRow),
                                arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, firstRow, upper));
      return emitIf(isVisited, init, product);
    };
    Values sums =
        vb.loop(vb.index(0), wholePanels, 1, Values(rows * count, vb.splat(0)),
                [&](Value panel, ValueRange carried) { return multiply(panel, vb.index(panelKeys), carried); });
    if (hasTail())
      sums = emitIfTail(sums, [&] { return multiply(wholePanels, getTailKeys(), sums); });
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < count; ++v) {
        Values position = {vb.add(firstRow, row), vb.add(column, v * vb.lanes)};
        Value old = vb.loadMasked(step.getDquery(), position, masks[v]);
        vb.storeMasked(arith::AddFOp::create(b, loc, old, sums[row * count + v]), step.getDquery(), position, masks[v]);
      }
  }

  VectorBuilder &vb;
  OpBuilder &b;
  Location loc;
  BackwardStepOp step;
  BackwardAttr schedule;
  ScoreFunctions functions;
  LaneCode laneCode;
  LaneRegion scoreGrad;
  int64_t vectors, panelKeys, blockRows, headSize, valueSize;
  Value numRows, keyCount, wholePanels;
  OpFoldResult numKeys;
  Operand dbias;
  Value weights, gradients; ///< P of a panel, G of all panels
  Value bounds;             ///< of the rows of each panel of a partial tile, null for all rows
};

} // namespace

LogicalResult attn::cpu::lowerBackwardStep(RewriterBase &rewriter, BackwardStepOp op, const TargetInfo &target) {
  auto type = cast<FloatType>(getElementTypeOrSelf(op.getDquery().getType()));
  auto schedule = dyn_cast_or_null<BackwardAttr>(op.getScheduleAttr());
  if (!schedule || failed(schedule.verifyTarget(op, type, target)))
    return schedule ? failure()
                    : op.emitOpError("expected a schedule #attn.backward<…>; run attn-select-schedule and attn-tile");
  SmallVector<int64_t> domain = getStaticDomain(op);
  bool hasAll = op.getDquery() && op.getDkey() && op.getDvalue();
  if (!hasAll || getNumBatchDims(op) != 0 || op.getTransposed().size() != 2 || ShapedType::isDynamic(domain[2]) ||
      ShapedType::isDynamic(domain[3]))
    return op.emitOpError("expected the tile of one head, with K and V transposed beside them; run attn-tile");
  SmallVector<AffineMap> maps = getMaps(op);
  auto isForm = [&](Value memref, AffineMap map, unsigned row, unsigned column) {
    return getElementTypeOrSelf(memref.getType()) == type && Operand{memref, map}.isInnermost(column) &&
           map.getNumResults() == 2 && map.getResult(0) == getAffineDimExpr(row, op.getContext());
  };
  unsigned gradient = op.getDqueryMutable()[0].getOperandNumber();
  if (!isForm(op.getQuery(), maps[0], 0, 2) || !isForm(op.getKey(), maps[1], 1, 2) ||
      !isForm(op.getDout(), maps[4], 0, 3) || !isForm(op.getDquery(), maps[gradient], 0, 2) ||
      !isForm(op.getDkey(), maps[gradient + 1], 2, 1) || !isForm(op.getDvalue(), maps[gradient + 2], 3, 1))
    return op.emitOpError("expected rows of Q, K, dout and dquery, and dkey and dvalue with keys innermost, all of ")
           << type << "; run attn-tile";
  for (auto [memref, size] : llvm::zip(op.getTransposed(), ArrayRef(domain).take_back(2))) {
    auto memrefType = cast<MemRefType>(memref.getType());
    SmallVector<int64_t> expected = {size, schedule.getKeyTile()};
    if (memrefType.getShape() != ArrayRef(expected) || memrefType.getElementType() != type)
      return op.emitOpError("expected transposed to be of ")
             << size << " x " << schedule.getKeyTile() << " elements of " << type << ", found " << memrefType;
  }
  rewriter.setInsertionPoint(op);
  VectorBuilder vb(rewriter, op.getLoc(), target, type);
  BackwardStepLowering(vb, op).emit();
  rewriter.eraseOp(op);
  return success();
}
