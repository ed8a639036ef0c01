//===- BackwardTiles.cpp - the five products of a backward step by AMX ----===//
//
// Blocks of 32 x 32 sums:
//   S = Q K^T, dW = dO V^T       rows of Q and dO by pairs of K and V along their columns
//   dV^T += dO^T P, dK^T += Q^T G   rows of dO^T and Q^T by pairs of rows of P and G
//   dQ += G K                     rows of G by pairs of keys of K
// A block that reaches beyond the last row or key is added through a buffer.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BackwardProducts.h"
#include "TileProducts.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

static_assert(kBlockRows == TargetInfo::kTileDepth);

BackwardTiles::BackwardTiles(VectorBuilder &vb, BackwardStepOp step, Value numRows, Value keyCount)
    : BackwardPairs(vb, step, numRows, keyCount), scratch(vb.stackBuffer({kBlockRows, kBlockRows})) {
  blockRows = kBlockRows;
}

int64_t BackwardTiles::getPaddedRows(int64_t rows) const { return llvm::alignTo(rows, kBlockRows); }

void BackwardTiles::storeRows(const Panel &panel, GetRow getRow) {
  BackwardPairs::storeRows(panel, getRow);
  // Clears the rows that a block of tiles reads past the last pair.
  Value pairs = vb.divide(vb.add(panel.upper, 1), 2), block = vb.index(kBlockRows / 2);
  Value end = arith::MulIOp::create(vb.b, vb.loc, arith::CeilDivUIOp::create(vb.b, vb.loc, pairs, block), block);
  vb.loop(pairs, end, 1, {}, [&](Value pair, ValueRange) {
    for (Value factors : {weightFactors, gradientFactors})
      for (int64_t lane = 0; factors && lane < 2 * panelKeys; lane += 2 * vb.lanes)
        vb.store(vb.zero(VectorType::get({2 * vb.lanes}, vb.b.getBF16Type())), factors, {pair, vb.index(lane)});
    return Values();
  });
}

void BackwardTiles::forEachBlock(Value lower, Value upper, function_ref<void(Value)> body) {
  vb.loop(lower, upper, kBlockRows, {}, [&](Value first, ValueRange) {
    body(first);
    return Values();
  });
}

/// Rounds of `block` for k in [lower, upper), of `sums`.
static Values emitRounds(VectorBuilder &vb, const TileBlock &block, Value lower, Value upper, ValueRange sums) {
  return vb.loop(lower, upper, TargetInfo::kTileDepth, sums, [&](Value k, ValueRange carried) {
    Values next(carried);
    multiplyTiles(vb, block, k, next, [](int64_t) {});
    return next;
  });
}

void BackwardTiles::emitRowProduct(const Panel &panel, Value rows, Value columns, Value target, int64_t size) {
  outline([&] {
    forEachBlock(panel.lower, panel.upper, [&](Value row) {
      forEachBlock(vb.index(0), vb.index(panelKeys), [&](Value lane) {
        Value key = vb.add(panel.firstKey, lane), zero = vb.index(0);
        TileBlock block{{rows, row, zero}, {columns, zero, vb.multiply(key, 2)}, {target, row, lane}, false};
        storeTiles(vb, block, emitRounds(vb, block, zero, vb.index(size), startTiles(vb, block)));
      });
    });
  });
}

void BackwardTiles::emitKeyProduct(const Panel &panel, Value rows, Value factors, Value sums, int64_t columns) {
  auto emitBlock = [&](Value column, Value lane, Corner target, bool isAdded) {
    TileBlock block{{rows, column, vb.index(0)}, {factors, vb.index(0), vb.multiply(lane, 2)}, target, isAdded};
    storeTiles(vb, block, emitRounds(vb, block, panel.lower, panel.upper, startTiles(vb, block)));
  };
  // Keys past the last one have no sums.
  auto addFromScratch = [&](Value column, Value lane) {
    emitBlock(column, lane, {scratch, vb.index(0), vb.index(0)}, /*isAdded=*/false);
    vb.loop(kBlockRows, 1, {}, [&](Value row, ValueRange) {
      for (int64_t v = 0; v < kBlockRows / vb.lanes; ++v) {
        Value key = vb.add(lane, v * vb.lanes), mask = vb.createMask(vb.subtract(panel.keys, key));
        Values position = {vb.add(column, row), vb.add(panel.firstKey, key)};
        Value sum = vb.load(scratch, {row, vb.index(v * vb.lanes)});
        vb.storeMasked(addTo(vb.loadMasked(sums, position, mask), sum), sums, position, mask);
      }
      return Values();
    });
  };
  outline([&] {
    forEachBlock(vb.index(0), vb.index(columns), [&](Value column) {
      forEachBlock(vb.index(0), vb.index(panelKeys), [&](Value lane) {
        Corner target{sums, column, vb.add(panel.firstKey, lane)};
        if (!panel.keys)
          return emitBlock(column, lane, target, /*isAdded=*/true);
        Value isWhole = compare(arith::CmpIPredicate::sge, panel.keys, vb.index(panelKeys));
        emitIf(
            isWhole, [&] { emitBlock(column, lane, target, /*isAdded=*/true); }, [&] { addFromScratch(column, lane); });
      });
    });
  });
}

void BackwardTiles::emitQueryProduct(const PanelBounds &panels, int64_t columns) {
  Value sums = step.getDquery();
  int64_t paddedRows = cast<MemRefType>(queryFactors.getType()).getDimSize(1);
  Value matrix =
      memref::CollapseShapeOp::create(vb.b, vb.loc, queryFactors, ArrayRef<ReassociationIndices>{{0, 1}, {2}});
  auto addPanel = [&](Value panel, Value row, Value column, ValueRange init) {
    Value lower = load(panels.bounds, {panel, vb.index(0)}), upper = load(panels.bounds, {panel, vb.index(1)});
    Value isVisited = arith::AndIOp::create(vb.b, vb.loc, compare(arith::CmpIPredicate::sle, lower, row),
                                            compare(arith::CmpIPredicate::slt, row, upper));
    // No rounds of a panel that the rows do not visit.
    Value end = vb.select(isVisited, vb.index(panelKeys), vb.index(0));
    Value firstPair = vb.divide(vb.multiply(panel, panelKeys), 2);
    TileBlock block{{matrix, vb.add(vb.multiply(panel, paddedRows), row), vb.index(0)},
                    {keys, firstPair, vb.multiply(column, 2)},
                    {scratch, vb.index(0), vb.index(0)},
                    /*isAdded=*/false};
    return emitRounds(vb, block, vb.index(0), end, init);
  };
  outline([&] {
    forEachBlock(vb.index(0), vb.index(columns), [&](Value column) {
      forEachBlock(vb.index(0), numRows, [&](Value row) {
        TileBlock block{{}, {}, {scratch, vb.index(0), vb.index(0)}, /*isAdded=*/false};
        storeTiles(vb, block,
                   vb.loop(vb.index(0), panels.numPanels, 1, startTiles(vb, block),
                           [&](Value panel, ValueRange carried) { return addPanel(panel, row, column, carried); }));
        Value count = vb.minimum(vb.index(kBlockRows), vb.subtract(numRows, row));
        vb.loop(vb.index(0), count, 1, {}, [&](Value inBlock, ValueRange) {
          Value at = vb.add(row, inBlock), isEmpty = isEmptyRow(load(step.getLse(), at));
          for (int64_t v = 0; v < kBlockRows / vb.lanes; ++v) {
            Values position = {at, vb.add(column, v * vb.lanes)};
            Value sum = vb.select(isEmpty, vb.splat(0), vb.load(scratch, {inBlock, vb.index(v * vb.lanes)}));
            vb.store(addTo(vb.load(sums, position), sum), sums, position);
          }
          return Values();
        });
      });
    });
  });
}
