//===- BackwardStep.cpp - the gradients of one tile of queries and keys ---===//
//
// Keys are lanes. For each panel of keys, of whole vectors:
//   S = Q K^T, dW = dO V^T
//   P = 2^((score(S) - lse) log2 e), G = scale score_grad(P (weight_mod(dW) - delta)) in place
//   dV^T += dO^T weight_mod(P), dK^T += Q^T G
// and then dQ += G K. All five products are one register kernel: rows of scalars, read from the tiles in place,
// times vectors of a panel, or blocks of AMX tiles (BackwardProducts.h). G of all panels is kept, P of one. In a
// partial tile, query_ranges bounds the panels. A gradient that the step lacks takes no product: without those of
// Q, K, the scores and captured tensors, dW and G are not computed either.
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

class BackwardStepLowering {
public:
  BackwardStepLowering(VectorBuilder &vb, BackwardStepOp step)
      : vb(vb), b(vb.b), loc(vb.loc), step(step), schedule(cast<BackwardAttr>(*step.getSchedule())),
        panelKeys(schedule.getPanelKeys()), numRows(getSize(0)), keyCount(getSize(1)),
        products(createBackwardProducts(vb, step, numRows, keyCount)), row(vb, step, *products) {}

  void emit() {
    int64_t numPanels = llvm::divideCeil(schedule.getKeyTile(), panelKeys);
    Value count = vb.divide(products->hasTail() ? vb.add(keyCount, panelKeys - 1) : keyCount, panelKeys);
    panels = {vb.stackBuffer({numPanels, 2}, b.getIndexType()), count};
    products->allocate(numPanels);
    vb.loop(vb.index(0), count, 1, {}, [&](Value panel, ValueRange) {
      emitPanel(panel);
      return Values();
    });
    if (step.getDquery())
      products->multiplyQueries(panels);
  }

private:
  /// The rows or the keys of the tile.
  Value getSize(unsigned dim) { return getValueOrCreateConstantIndexOp(b, loc, getDomainSizes(b, step)[dim]); }

  /// The rows of the tile that keep a key of the panel, from a multiple of the block's rows on.
  void setBounds(Panel &panel) {
    panel.lower = vb.index(0);
    panel.upper = numRows;
    if (!step.getQueryRanges().empty()) {
      Value endKey = vb.minimum(vb.add(panel.firstKey, panelKeys), keyCount);
      Values range = inlineRegion(b, step.getQueryRanges(), {}, [&](IndexOp index) -> Value {
        return index.getKind() == IndexKind::FirstKey ? panel.firstKey : endKey;
      });
      auto clamp = [&](Value x) { return vb.minimum(b.createOrFold<arith::MaxSIOp>(loc, x, vb.index(0)), numRows); };
      Value lower = clamp(range[0]), upper = clamp(range[1]);
      panel.lower = vb.subtract(lower, vb.remainder(lower, products->getRowMultiple()));
      panel.upper = b.createOrFold<arith::MaxSIOp>(loc, panel.lower, upper);
    }
    // Through memory, so that they are no constants in full tiles: products of full and partial tiles are then one
    // function.
    for (auto [i, bound] : llvm::enumerate(std::array<Value *, 2>{&panel.lower, &panel.upper})) {
      Values at = {panel.index, vb.index(i)};
      memref::StoreOp::create(b, loc, *bound, panels.bounds, at);
      *bound = memref::LoadOp::create(b, loc, panels.bounds, at);
    }
  }

  void emitPanel(Value index) {
    Panel panel;
    panel.index = index;
    panel.firstKey = vb.multiply(index, panelKeys);
    if (products->hasTail())
      panel.keys = vb.subtract(keyCount, panel.firstKey);
    setBounds(panel);
    products->multiplyRows(panel, row.hasGradients());
    auto storeRows = [&] {
      products->storeRows(
          panel, [&](Value at) { return row.emit(panel, at, products->getWeights(), products->getGradients()); });
    };
    if (products->hasTail())
      products->emitIf(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, panel.keys, vb.index(panelKeys)),
                       storeRows, [&] {
                         for (int64_t v = 0; v < schedule.getBlockVectors(); ++v)
                           panel.masks.push_back(vb.createMask(vb.subtract(panel.keys, vb.index(v * vb.lanes))));
                         storeRows();
                       });
    else
      storeRows();
    products->multiplyKeys(panel);
    if (!step.getQueryRanges().empty() && step.getDquery())
      products->clearRows(panel);
  }

  VectorBuilder &vb;
  OpBuilder &b;
  Location loc;
  BackwardStepOp step;
  BackwardAttr schedule;
  int64_t panelKeys;
  Value numRows, keyCount;
  std::unique_ptr<BackwardProducts> products;
  RowGradients row;
  PanelBounds panels;
};

} // namespace

LogicalResult attn::cpu::lowerBackwardStep(RewriterBase &rewriter, BackwardStepOp op, const TargetInfo &target) {
  auto type = cast<FloatType>(getElementTypeOrSelf(op.getLse().getType()));
  auto schedule = dyn_cast_or_null<BackwardAttr>(op.getScheduleAttr());
  if (!schedule || failed(schedule.verifyTarget(op, type, target)))
    return schedule ? failure()
                    : op.emitOpError("expected a schedule #attn.backward<…>; run attn-select-schedule and attn-tile");
  SmallVector<int64_t> domain = getStaticDomain(op);
  const InstructionInfo &info = schedule.getInfo();
  int64_t pairSize = info.getPairSize();
  Type rowType = info.takesNarrow ? rewriter.getBF16Type() : Type(type);
  if (getNumBatchDims(op) != 0 || op.getTransposed().size() != info.numTransposed || ShapedType::isDynamic(domain[2]) ||
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
  if (!isForm(op.getQuery(), maps[0], 0, 2, rowType) ||
      (pairSize == 1 && !isForm(op.getKey(), maps[1], 1, 2, rowType)) ||
      !isForm(op.getDout(), maps[4], 0, 3, rowType) || !isGradient(op.getDqueryMutable(), 0, 2) ||
      !isGradient(op.getDkeyMutable(), 2, 1) || !isGradient(op.getDvalueMutable(), 3, 1))
    return op.emitOpError("expected rows of Q, K and dout of ")
           << rowType << ", and dquery, dkey and dvalue with keys innermost of " << type << "; run attn-tile";
  for (auto [memref, size] : llvm::zip(op.getTransposed(), ArrayRef(domain).take_back(2))) {
    auto memrefType = cast<MemRefType>(memref.getType());
    SmallVector<int64_t> expected = {size / pairSize, schedule.getKeyTile()};
    if (pairSize > 1)
      expected.push_back(pairSize);
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
