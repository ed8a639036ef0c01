//===- RowState.cpp - init_state, merge_states, finalize, row by row ------===//
//
// The states of decode tiles: few rows, their value columns innermost.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RowTile.h"
#include "attn/IR/Decompose.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

static const double kMinusInf = -std::numeric_limits<double>::infinity();

/// Batch dimensions but the heads of size 1, heads and columns static.
static LogicalResult verifyRows(Operation *op) {
  SmallVector<int64_t> domain = getStaticDomain(op);
  unsigned numBatch = getNumBatchDims(op);
  for (unsigned i = 0; i + 1 < numBatch; ++i)
    if (domain[i] != 1)
      return op->emitOpError("expected a tile of one batch index, found ") << domain[i] << "; run attn-tile";
  domain[numBatch] = 0; // of queries
  if (llvm::any_of(domain, ShapedType::isDynamic))
    return op->emitOpError("expected static heads and columns of a decode tile; run attn-tile");
  return success();
}

LogicalResult attn::cpu::lowerRowInit(RewriterBase &rewriter, InitStateOp op, const TargetInfo &target) {
  if (failed(verifyRows(op)))
    return failure();
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  VectorBuilder vb(rewriter, loc, target, cast<FloatType>(getElementTypeOrSelf(op.getAcc().getType())));
  SmallVector<AffineMap> maps = getMaps(op);
  Operand acc{op.getAcc(), maps[0]}, max{op.getRowMax(), maps[1]}, sum{op.getRowSum(), maps[2]};
  TileRows rows(vb, op);
  rows.forEach({}, [&](Value row, ValueRange) {
    forEachVector(vb, getStaticSize(op, DimKind::ValueSize), {}, [&](Value column, Value mask, ValueRange) {
      vb.storeMasked(vb.splat(0), acc.memref, acc.getIndices(vb, rows.getDomain(row, column)), mask);
      return Values();
    });
    // m = start, l = (m == -inf) ? 0 : 1
    Value start = vb.splat(kMinusInf), one = vb.splat(0);
    if (!op.getStart().empty()) {
      Value head = rows.getHead(row), query = rows.getQuery(row);
      Value scalar = inlineRegion(rewriter, op.getStart(), {}, [&](IndexOp index) {
                       if (index.getKind() == IndexKind::Query)
                         return query;
                       return index.getKind() == IndexKind::Head && head ? head : vb.index(0);
                     }).front();
      start = vb.broadcast(vb.convert(scalar, vb.elementType));
      one = vb.select(vb.isEqual(start, kMinusInf), vb.splat(0), vb.splat(1));
    }
    storeRowScalar(vb, start, max, rows.getDomain(row, Value()));
    storeRowScalar(vb, one, sum, rows.getDomain(row, Value()));
    return Values();
  });
  rewriter.eraseOp(op);
  return success();
}

LogicalResult attn::cpu::lowerMergeStates(RewriterBase &rewriter, MergeStatesOp op, const TargetInfo &target) {
  SmallVector<AffineMap> maps = getMaps(op);
  if (failed(verifyRows(op)))
    return failure();
  if (!isRowMajorState(op, op.getAcc(), maps[3]) || !isRowMajorState(op, op.getOtherAcc(), maps[0]))
    return op.emitOpError("expected states with the value columns innermost, as those of a decode tile");
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  VectorBuilder vb(rewriter, loc, target, cast<FloatType>(getElementTypeOrSelf(op.getAcc().getType())));
  Operand otherAcc{op.getOtherAcc(), maps[0]}, otherMax{op.getOtherMax(), maps[1]}, otherSum{op.getOtherSum(), maps[2]},
      acc{op.getAcc(), maps[3]}, max{op.getRowMax(), maps[4]}, sum{op.getRowSum(), maps[5]};
  TileRows rows(vb, op);
  rows.forEach({}, [&](Value row, ValueRange) {
    Values at = rows.getDomain(row, Value());
    Value mine = loadRowScalar(vb, max, at), other = loadRowScalar(vb, otherMax, at), both = vb.max(mine, other);
    // f = (m == -inf) ? 0 : 2^((m - n) log2 e)
    auto getFactor = [&](Value m) {
      return vb.select(vb.isEqual(m, kMinusInf), vb.splat(0), vb.expDifference(m, both));
    };
    Value factor = getFactor(mine), otherFactor = getFactor(other);
    auto merge = [&](Value x, Value y) {
      return vb.multiplyAdd(x, factor, arith::MulFOp::create(rewriter, loc, y, otherFactor));
    };
    storeRowScalar(vb, merge(loadRowScalar(vb, sum, at), loadRowScalar(vb, otherSum, at)), sum, at);
    storeRowScalar(vb, both, max, at);
    forEachVector(vb, getStaticSize(op, DimKind::ValueSize), {}, [&](Value column, Value mask, ValueRange) {
      Values position = rows.getDomain(row, column), indices = acc.getIndices(vb, position);
      Value x = vb.loadMasked(acc.memref, indices, mask);
      Value y = vb.loadMasked(otherAcc.memref, otherAcc.getIndices(vb, position), mask);
      vb.storeMasked(merge(x, y), acc.memref, indices, mask);
      return Values();
    });
    return Values();
  });
  rewriter.eraseOp(op);
  return success();
}

LogicalResult attn::cpu::lowerRowFinalize(RewriterBase &rewriter, FinalizeOp op, const TargetInfo &target) {
  if (failed(verifyRows(op)))
    return failure();
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  auto type = cast<FloatType>(getElementTypeOrSelf(op.getAcc().getType()));
  VectorBuilder vb(rewriter, loc, target, type);
  SmallVector<AffineMap> maps = getMaps(op);
  Operand acc{op.getAcc(), maps[0]}, max{op.getRowMax(), maps[1]}, sum{op.getRowSum(), maps[2]},
      output{op.getOutput(), maps[3]};
  Type outputType = getElementTypeOrSelf(output.memref.getType());
  bool isContiguous = output.isInnermost(getDomainPosition(op, DimKind::ValueSize));
  TileRows rows(vb, op);
  if (op.getAccumulate()) {
    rows.forEach({}, [&](Value row, ValueRange) {
      auto [factor, oldFactor] = mergeOldRow(vb, op, rows.getDomain(row, Value()));
      Value own = vb.broadcast(factor), isNone = vb.isEqual(own, 0);
      auto getDomain = [&](Value column) { return rows.getDomain(row, column); };
      addOldOutput(vb, output, getStaticSize(op, DimKind::ValueSize), isContiguous, getDomain, oldFactor,
                   [&](Value column, Value mask) {
                     Value x = vb.loadMasked(acc.memref, acc.getIndices(vb, getDomain(column)), mask);
                     return vb.select(isNone, vb.splat(0), arith::MulFOp::create(rewriter, loc, x, own));
                   });
      return Values();
    });
    rewriter.eraseOp(op);
    return success();
  }
  rows.forEach({}, [&](Value row, ValueRange) {
    Values at = rows.getDomain(row, Value());
    Value l = loadRowScalar(vb, sum, at), isEmpty = vb.isEqual(l, 0);
    forEachVector(vb, getStaticSize(op, DimKind::ValueSize), {}, [&](Value column, Value mask, ValueRange) {
      Values position = rows.getDomain(row, column);
      Value x = vb.loadMasked(acc.memref, acc.getIndices(vb, position), mask);
      Value quotient = vb.select(isEmpty, vb.splat(0), arith::DivFOp::create(rewriter, loc, x, l));
      quotient = vb.convert(quotient, outputType);
      if (isContiguous) {
        vb.storeMasked(quotient, output.memref, output.getIndices(vb, position), mask);
        return Values();
      }
      int64_t count = vb.lanes;
      if (mask)
        count = getStaticSize(op, DimKind::ValueSize) % vb.lanes;
      for (int64_t lane = 0; lane < count; ++lane) {
        Value element = vector::ExtractOp::create(rewriter, loc, quotient, lane);
        memref::StoreOp::create(rewriter, loc, element, output.memref,
                                output.getIndices(vb, rows.getDomain(row, vb.add(column, lane))));
      }
      return Values();
    });
    // lse and its terms, by the C library's logarithm: once a row
    for (auto [map, result] : llvm::zip_equal(ArrayRef(maps).drop_front(4), getRowResults(op))) {
      Operand target{result.second, map};
      Value sumScalar = vector::ExtractOp::create(rewriter, loc, l, 0);
      Value maxScalar = memref::LoadOp::create(rewriter, loc, max.memref, max.getIndices(vb, at));
      Value value = buildRowResult(rewriter, loc, result.first, maxScalar, sumScalar);
      memref::StoreOp::create(rewriter, loc, vb.convert(value, getElementTypeOrSelf(target.memref.getType())),
                              target.memref, target.getIndices(vb, at));
    }
    return Values();
  });
  rewriter.eraseOp(op);
  return success();
}
