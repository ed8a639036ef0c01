//===- BackwardStep.cpp - the gradients of one tile of queries and keys ---===//
//
// Keys are lanes. For each panel of keys, of whole vectors:
//   S = Q K^T, dW = dO V^T
//   P = 2^((score(S) - lse) log2 e), G = scale score_grad(P (weight_mod(dW) - delta)) in their place
//   dV^T += dO^T weight_mod(P), dK^T += Q^T G
// and then dQ += G K. All five products are one register kernel: rows of scalars,
// which are the tiles as they lie, times vectors of a panel (BackwardProducts.cpp).
// With tiles of AMX the operands are those of pairs (BackwardTiles.cpp).
// G of all panels is kept, P of one. A partial tile bounds its panels by
// query_ranges. A gradient that the step does not have takes no product: without those of Q and K, the scores and
// captured tensors, dW and G fall away, too.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RowGradients.h"
#include "attn/IR/Decompose.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

namespace {

/// What the schedule and the head sizes fix.
struct StepForm {
  explicit StepForm(BackwardStepOp step)
      : schedule(cast<BackwardAttr>(*step.getSchedule())), vectors(schedule.getBlockVectors()),
        panelKeys(schedule.getPanelKeys()), headSize(getStaticSize(step, DimKind::HeadSize)),
        valueSize(getStaticSize(step, DimKind::ValueSize)),
        usesPairs(schedule.getInfo().queryLayout == OperandLayout::Pairs) {}

  BackwardAttr schedule;
  int64_t vectors, panelKeys, headSize, valueSize;
  bool usesPairs;
};

/// Pairs of rows: P and G of a panel, Q and dout.
struct PairedRows {
  Value weights, gradients, query, dout;
};

class BackwardStepLowering {
public:
  BackwardStepLowering(VectorBuilder &vb, BackwardStepOp step)
      : vb(vb), b(vb.b), loc(vb.loc), step(step), form(step), numRows(getSize(0)), keyCount(getSize(1)),
        products(vb, form.schedule, numRows), row(vb, step, products) {}

  void emit() {
    int64_t numPanels = llvm::divideCeil(form.schedule.getKeyTile(), form.panelKeys),
            rows = products.getPaddedRows(form.schedule.getQueryTile());
    Value panels = vb.divide(hasTail() ? vb.add(keyCount, form.panelKeys - 1) : keyCount, form.panelKeys);
    bounds = vb.stackBuffer({numPanels, 2}, b.getIndexType());
    // P is a panel behind those of G: products of both have one form. Pairs are of other buffers.
    scores = vb.stackBuffer({form.usesPairs ? 2 : numPanels + 1, rows, form.panelKeys});
    weights = getRows(vb.index(form.usesPairs ? 1 : numPanels));
    queryFactors = scores;
    SmallVector<Value> transposed(step.getTransposed());
    if (form.usesPairs) {
      Type bf16 = b.getBF16Type();
      queryFactors = vb.stackBuffer({numPanels, rows, form.panelKeys}, bf16);
      for (auto [sums, factors, pairs, rowsOf, columns, number] :
           {std::tuple(step.getDvalue(), &paired.weights, &paired.dout, step.getDout(), form.valueSize, 4),
            std::tuple(step.getDkey(), &paired.gradients, &paired.query, step.getQuery(), form.headSize, 3)})
        if (sums) {
          *factors = vb.stackBuffer({rows / 2, 2 * form.panelKeys}, bf16);
          *pairs = products.usesTiles() ? transposed[number] : pairRows(rowsOf, columns);
        }
      for (Value &pairs : MutableArrayRef(transposed).take_front(3))
        pairs = vb.collapsePairs(pairs);
    }
    vb.loop(vb.index(0), panels, 1, {}, [&](Value panel, ValueRange) {
      emitPanel(panel, transposed);
      return Values();
    });
    if (step.getDquery())
      products.emitQueryProduct(queryFactors, form.usesPairs ? transposed[2] : step.getKey(), step.getLse(),
                                step.getDquery(), bounds, panels, keyCount, hasTail(), form.headSize);
  }

private:
  /// The rows or the keys of the tile.
  Value getSize(unsigned dim) { return getValueOrCreateConstantIndexOp(b, loc, getDomainSizes(b, step)[dim]); }

  bool hasTail() {
    std::optional<int64_t> constant = getConstantIntValue(keyCount);
    return !constant || *constant % form.panelKeys != 0;
  }

  /// The scores of a panel, in a type that all panels share.
  Value getRows(Value panel) {
    auto type = cast<MemRefType>(scores.getType());
    SmallVector<int64_t> shape(type.getShape().drop_front());
    auto layout = StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, {form.panelKeys, 1});
    auto rows = MemRefType::get(shape, type.getElementType(), layout);
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
    SmallVector<OpFoldResult> sizes = {one, b.getIndexAttr(shape[0]), b.getIndexAttr(shape[1])};
    return memref::SubViewOp::create(b, loc, rows, scores, ArrayRef<OpFoldResult>{panel, zero, zero}, sizes,
                                     ArrayRef<OpFoldResult>{one, one, one});
  }

  /// Pairs of rows of the tile, (row floordiv 2, 2 * column + row mod 2).
  Value pairRows(Value rows, int64_t columns) {
    Value pairs =
        vb.stackBuffer({int64_t(llvm::divideCeil(form.schedule.getQueryTile(), 2)), columns, 2}, b.getBF16Type());
    AffineMap map = b.getMultiDimIdentityMap(2);
    TransposeSide side{{rows, map}, [](Value row, Value column) { return Values{row, column}; }};
    side.columnsContiguous = true;
    emitPairRows(vb, side, numRows, pairs, columns);
    return vb.collapsePairs(pairs);
  }

  Value loadScalar(Value memref, ValueRange indices) { return memref::LoadOp::create(b, loc, memref, indices); }

  /// The rows of the tile that keep a key of the panel, from a multiple of the block's rows on.
  void setBounds(Panel &panel) {
    panel.lower = vb.index(0);
    panel.upper = numRows;
    if (!step.getQueryRanges().empty()) {
      Value endKey = vb.minimum(vb.add(panel.firstKey, form.panelKeys), keyCount);
      Values range = inlineRegion(b, step.getQueryRanges(), {}, [&](IndexOp index) -> Value {
        return index.getKind() == IndexKind::FirstKey ? panel.firstKey : endKey;
      });
      auto clamp = [&](Value x) { return vb.minimum(b.createOrFold<arith::MaxSIOp>(loc, x, vb.index(0)), numRows); };
      Value lower = clamp(range[0]), upper = clamp(range[1]);
      panel.lower = vb.subtract(lower, vb.remainder(lower, products.getRowMultiple()));
      panel.upper = b.createOrFold<arith::MaxSIOp>(loc, panel.lower, upper);
    }
    // Read again, they are no constants of full tiles, whose products are then those of partial ones.
    for (auto [i, bound] : llvm::enumerate(std::array<Value *, 2>{&panel.lower, &panel.upper})) {
      Values at = {panel.index, vb.index(i)};
      memref::StoreOp::create(b, loc, *bound, bounds, at);
      *bound = loadScalar(bounds, at);
    }
  }

  void emitPanel(Value index, ArrayRef<Value> transposed) {
    Panel panel;
    panel.index = index;
    panel.firstKey = vb.multiply(index, form.panelKeys);
    if (hasTail())
      panel.keys = vb.subtract(keyCount, panel.firstKey);
    setBounds(panel);
    gradients = getRows(form.usesPairs ? vb.index(0) : index);
    products.emitRowProduct(panel, step.getQuery(), transposed[0], weights, form.headSize);
    if (row.hasGradients())
      products.emitRowProduct(panel, step.getDout(), transposed[1], gradients, form.valueSize);
    if (hasTail())
      products.emitIf(
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, panel.keys, vb.index(form.panelKeys)),
          [&] { emitRows(panel); },
          [&] {
            for (int64_t v = 0; v < form.vectors; ++v)
              panel.masks.push_back(vb.createMask(vb.subtract(panel.keys, vb.index(v * vb.lanes))));
            emitRows(panel);
          });
    else
      emitRows(panel);
    if (step.getDvalue())
      products.emitKeyProduct(panel, form.usesPairs ? paired.dout : step.getDout(),
                              form.usesPairs ? paired.weights : weights, step.getDvalue(), form.valueSize);
    if (step.getDkey())
      products.emitKeyProduct(panel, form.usesPairs ? paired.query : step.getQuery(),
                              form.usesPairs ? paired.gradients : gradients, step.getDkey(), form.headSize);
    if (step.getQueryRanges().empty() || !step.getDquery())
      return;
    // Rows behind the last one, of its block, add nothing to dQ.
    Value end =
        vb.minimum(vb.multiply(vb.divide(vb.add(panel.upper, products.getBlockRows() - 1), products.getBlockRows()),
                               products.getBlockRows()),
                   numRows);
    vb.loop(panel.upper, end, 1, {}, [&](Value row, ValueRange) {
      auto type = VectorType::get({vb.lanes}, getElementTypeOrSelf(queryFactors.getType()));
      for (int64_t v = 0; v < form.vectors; ++v)
        vb.store(vb.zero(type), queryFactors, {panel.index, row, vb.index(v * vb.lanes)});
      return Values();
    });
  }

  void emitRows(const Panel &panel) {
    if (!form.usesPairs) {
      vb.loop(panel.lower, panel.upper, 1, {}, [&](Value row, ValueRange) {
        auto [p, g] = emitRow(panel, row);
        for (auto [factors, target] : {std::pair(p, weights), std::pair(g, gradients)})
          for (auto [v, vector] : llvm::enumerate(factors))
            vb.store(vector, target, {row, vb.index(v * vb.lanes)});
        return Values();
      });
      return;
    }
    Value even = vb.subtract(panel.upper, vb.remainder(vb.subtract(panel.upper, panel.lower), 2));
    vb.loop(panel.lower, even, 2, {}, [&](Value row, ValueRange) {
      emitRowPair(panel, row, /*hasOdd=*/true);
      return Values();
    });
    vb.loop(even, panel.upper, 2, {}, [&](Value row, ValueRange) {
      emitRowPair(panel, row, /*hasOdd=*/false);
      return Values();
    });
    if (products.usesTiles())
      emitZeroPairs(panel);
  }

  /// What a block of tiles reads behind the last pair.
  void emitZeroPairs(const Panel &panel) {
    Value pairs = vb.divide(vb.add(panel.upper, 1), 2), block = vb.index(BackwardProducts::kTileBlock / 2);
    Value end = arith::MulIOp::create(b, loc, arith::CeilDivUIOp::create(b, loc, pairs, block), block);
    vb.loop(pairs, end, 1, {}, [&](Value pair, ValueRange) {
      for (Value factors : {paired.weights, paired.gradients})
        for (int64_t lane = 0; factors && lane < 2 * form.panelKeys; lane += 2 * vb.lanes)
          vb.store(vb.zero(VectorType::get({2 * vb.lanes}, b.getBF16Type())), factors, {pair, vb.index(lane)});
      return Values();
    });
  }

  std::pair<Values, Values> emitRow(const Panel &panel, Value at) { return row.emit(panel, at, weights, gradients); }

  /// P and G of two rows, or of one beside zeros, as pairs of rows; G also as rows.
  void emitRowPair(const Panel &panel, Value row, bool hasOdd) {
    auto [p, g] = emitRow(panel, row);
    Values oddP(form.vectors, vb.splat(0)), oddG = oddP;
    if (hasOdd)
      std::tie(oddP, oddG) = emitRow(panel, vb.add(row, 1));
    Value pair = vb.divide(row, 2);
    auto makePairs = [&](Value even, Value odd) {
      return products.usesTiles() ? vb.makePairsByIntegers(even, odd) : vb.makePairs(even, odd);
    };
    for (int64_t v = 0; v < form.vectors; ++v) {
      Values at = {pair, vb.index(2 * v * vb.lanes)};
      if (step.getDvalue())
        vb.store(makePairs(p[v], oddP[v]), paired.weights, at);
      if (step.getDkey())
        vb.store(makePairs(g[v], oddG[v]), paired.gradients, at);
      if (!step.getDquery())
        continue;
      vb.store(vb.narrow(g[v]), queryFactors, {panel.index, row, vb.index(v * vb.lanes)});
      if (hasOdd)
        vb.store(vb.narrow(oddG[v]), queryFactors, {panel.index, vb.add(row, 1), vb.index(v * vb.lanes)});
    }
  }

  VectorBuilder &vb;
  OpBuilder &b;
  Location loc;
  BackwardStepOp step;
  StepForm form;
  Value numRows, keyCount;
  BackwardProducts products;
  RowGradients row;
  Value scores;             ///< (panel, row, key): G of all panels, then P of one; as pairs, S and dW of one
  Value weights, gradients; ///< P and G of the panel under way, where S and dW were
  Value queryFactors;       ///< (panel, row, key): G of all panels
  PairedRows paired;
  Value bounds; ///< of the rows of each panel
};

} // namespace

LogicalResult attn::cpu::lowerBackwardStep(RewriterBase &rewriter, BackwardStepOp op, const TargetInfo &target) {
  auto type = cast<FloatType>(getElementTypeOrSelf(op.getLse().getType()));
  auto schedule = dyn_cast_or_null<BackwardAttr>(op.getScheduleAttr());
  if (!schedule || failed(schedule.verifyTarget(op, type, target)))
    return schedule ? failure()
                    : op.emitOpError("expected a schedule #attn.backward<…>; run attn-select-schedule and attn-tile");
  SmallVector<int64_t> domain = getStaticDomain(op);
  bool usesPairs = schedule.getInfo().queryLayout == OperandLayout::Pairs;
  size_t numTransposed = schedule.getInfo().keyMultiple > 1 ? 5 : usesPairs ? 3 : 2;
  Type rowType = usesPairs ? rewriter.getBF16Type() : Type(type);
  if (getNumBatchDims(op) != 0 || op.getTransposed().size() != numTransposed || ShapedType::isDynamic(domain[2]) ||
      ShapedType::isDynamic(domain[3]))
    return op.emitOpError("expected the tile of one head, with K and V transposed beside them; run attn-tile");
  SmallVector<AffineMap> maps = getMaps(op);
  auto isForm = [&](Value memref, AffineMap map, unsigned row, unsigned column, Type type) {
    return getElementTypeOrSelf(memref.getType()) == type && Operand{memref, map}.isInnermost(column) &&
           map.getNumResults() == 2 && map.getResult(0) == getAffineDimExpr(row, op.getContext());
  };
  auto isGradient = [&](MutableOperandRange gradient, unsigned row, unsigned column) {
    return gradient.empty() || isForm(gradient[0].get(), maps[gradient[0].getOperandNumber()], row, column, type);
  };
  if (!isForm(op.getQuery(), maps[0], 0, 2, rowType) || (!usesPairs && !isForm(op.getKey(), maps[1], 1, 2, rowType)) ||
      !isForm(op.getDout(), maps[4], 0, 3, rowType) || !isGradient(op.getDqueryMutable(), 0, 2) ||
      !isGradient(op.getDkeyMutable(), 2, 1) || !isGradient(op.getDvalueMutable(), 3, 1))
    return op.emitOpError("expected rows of Q, K and dout of ")
           << rowType << ", and dquery, dkey and dvalue with keys innermost of " << type << "; run attn-tile";
  for (auto [memref, size] : llvm::zip(op.getTransposed(), ArrayRef(domain).take_back(2))) {
    auto memrefType = cast<MemRefType>(memref.getType());
    SmallVector<int64_t> expected = {size, schedule.getKeyTile()};
    if (usesPairs)
      expected = {size / 2, schedule.getKeyTile(), 2};
    if (memrefType.getShape() != ArrayRef(expected) || memrefType.getElementType() != rowType)
      return op.emitOpError("expected transposed to be of ")
             << MemRefType::get(expected, rowType) << ", found " << memrefType;
  }
  rewriter.setInsertionPoint(op);
  VectorBuilder vb(rewriter, op.getLoc(), target, type);
  BackwardStepLowering(vb, op).emit();
  rewriter.eraseOp(op);
  return success();
}
