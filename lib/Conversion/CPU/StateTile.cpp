//===- StateTile.cpp - pack, init_state and finalize of a tile ------------===//
//
// The work once per query tile: Q (or a tile of a bias or mask) transposed so
// that rows are lanes, the empty state, and the quotient transposed back.
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

TransposeSide attn::cpu::getSide(VectorBuilder &vb, Operand operand, unsigned numBatch) {
  TransposeSide side{operand, {}, operand.isInnermost(numBatch + 1)};
  side.getIndices = [&vb, operand, numBatch](Value row, Value column) {
    SmallVector<Value> domain(numBatch);
    domain.append({row, column});
    return operand.getIndices(vb, domain);
  };
  return side;
}

Value attn::cpu::getNumRows(VectorBuilder &vb, const Operand &operand, unsigned numBatch) {
  AffineExpr query = getAffineDimExpr(numBatch, operand.map.getContext());
  for (auto [i, expr] : llvm::enumerate(operand.map.getResults()))
    if (expr == query)
      return vb.b.createOrFold<memref::DimOp>(vb.loc, operand.memref, i);
  return {};
}

static int64_t getStaticRows(const Operand &operand, unsigned numBatch) {
  AffineExpr query = getAffineDimExpr(numBatch, operand.map.getContext());
  for (auto [i, expr] : llvm::enumerate(operand.map.getResults()))
    if (expr == query)
      return operand.getSize(i);
  return ShapedType::kDynamic;
}

Value attn::cpu::viewAsBytes(OpBuilder &b, Location loc, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.getElementType().isInteger(1))
    return memref;
  auto bytes = MemRefType::get(type.getShape(), b.getI8Type(), type.getLayout(), type.getMemorySpace());
  return UnrealizedConversionCastOp::create(b, loc, bytes, memref).getResult(0);
}

/// Copies a row of `columns` elements, widened: vectors, then single elements.
static void copyRow(VectorBuilder &vb, Value from, function_ref<Values(Value)> fromAt, Value to,
                    function_ref<Values(Value)> toAt, int64_t columns, bool isContiguous) {
  Type type = getElementTypeOrSelf(to.getType());
  int64_t whole = isContiguous ? columns / vb.lanes * vb.lanes : 0;
  if (whole > 0)
    vb.loop(whole, vb.lanes, {}, [&](Value column, ValueRange) {
      vb.store(vb.convert(vb.load(from, fromAt(column)), type), to, toAt(column));
      return Values();
    });
  if (columns > whole)
    vb.loop(vb.index(whole), vb.index(columns), 1, {}, [&](Value column, ValueRange) {
      Value element = memref::LoadOp::create(vb.b, vb.loc, from, fromAt(column));
      memref::StoreOp::create(vb.b, vb.loc, vb.convert(element, type), to, toAt(column));
      return Values();
    });
}

/// A row of `columns` zeros.
static void clearRow(VectorBuilder &vb, Value memref, function_ref<Values(Value)> at, int64_t columns) {
  Type type = getElementTypeOrSelf(memref.getType());
  int64_t whole = columns / vb.lanes * vb.lanes;
  vb.loop(whole, vb.lanes, {}, [&](Value column, ValueRange) {
    vb.store(vb.zero(VectorType::get({vb.lanes}, type)), memref, at(column));
    return Values();
  });
  for (int64_t column = whole; column < columns; ++column)
    memref::StoreOp::create(vb.b, vb.loc, vb.zero(type), memref, at(vb.index(column)));
}

/// A copy that keeps the row layout: K or V, widened. A whole tile is padded with zero rows.
static LogicalResult copyRows(RewriterBase &rewriter, PackOp op, const TargetInfo &target) {
  auto type = dyn_cast<FloatType>(getElementTypeOrSelf(op.getOutput().getType()));
  int64_t columns = getStaticSize(op, DimKind::HeadSize);
  if (!type || ShapedType::isDynamic(columns))
    return op.emitOpError("expected rows of floats, of a static size; run attn-tile");
  SmallVector<AffineMap> maps = getMaps(op);
  unsigned numBatch = getNumBatchDims(op);
  Operand input{op.getInput(), maps[0]}, output{op.getOutput(), maps[1]};
  VectorBuilder vb(rewriter, op.getLoc(), target, type);
  int64_t inputRows = getStaticRows(input, numBatch), outputRows = getStaticRows(output, numBatch);
  bool isPadded = !ShapedType::isDynamic(outputRows) && inputRows != outputRows && getNumRows(vb, input, numBatch);
  // The heads of a decode tile, or one.
  int64_t heads = numBatch > 0 ? getStaticDomain(op)[numBatch - 1] : 1;
  vb.loop(heads, 1, {}, [&](Value head, ValueRange) {
    auto getIndices = [&](const Operand &side, Value row, Value column) {
      SmallVector<Value> domain(numBatch);
      if (heads != 1)
        domain.back() = head;
      domain.append({row, column});
      return side.getIndices(vb, domain);
    };
    Value all = getNumRows(vb, output, numBatch), rows = isPadded ? getNumRows(vb, input, numBatch) : all;
    vb.loop(vb.index(0), rows, 1, {}, [&](Value row, ValueRange) {
      copyRow(
          vb, input.memref, [&](Value column) { return getIndices(input, row, column); }, output.memref,
          [&](Value column) { return getIndices(output, row, column); }, columns, input.isInnermost(numBatch + 1));
      return Values();
    });
    if (isPadded)
      vb.loop(rows, all, 1, {}, [&](Value row, ValueRange) {
        clearRow(vb, output.memref, [&](Value column) { return getIndices(output, row, column); }, columns);
        return Values();
      });
    return Values();
  });
  rewriter.eraseOp(op);
  return success();
}

LogicalResult attn::cpu::lowerGatherPages(RewriterBase &rewriter, GatherPagesOp op, const TargetInfo &target) {
  Location loc = op.getLoc();
  auto cache = cast<MemRefType>(op.getCache().getType()), output = cast<MemRefType>(op.getOutput().getType());
  auto type = dyn_cast<FloatType>(output.getElementType());
  int64_t page = op.getPageSize(), columns = cache.getDimSize(3);
  if (!op.getBatch() || !type || output.getRank() != 4 || output.getDimSize(3) != columns)
    return op.emitOpError("expected a tile of keys (1, 1, keys, D); run attn-tile, which reads pages through the view");
  rewriter.setInsertionPoint(op);
  VectorBuilder vb(rewriter, loc, target, type);
  auto toIndex = [&](Value value) -> Value {
    return arith::IndexCastOp::create(rewriter, loc, rewriter.getIndexType(), value);
  };
  Value length = toIndex(memref::LoadOp::create(rewriter, loc, op.getLengths(), op.getBatch()));
  Value rows = vb.b.createOrFold<memref::DimOp>(loc, op.getOutput(), 2), size = vb.index(page), zero = vb.index(0);
  SmallVector<int64_t> strides;
  int64_t offset;
  bool isContiguous = succeeded(cache.getStridesAndOffset(strides, offset)) && strides.back() == 1;
  vb.loop(vb.index(0), rows, 1, {}, [&](Value row, ValueRange) {
    Value key = vb.add(op.getFirstKey(), row);
    auto toAt = [&](Value column) { return Values{zero, zero, row, column}; };
    Value isInside = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt, key, length);
    auto branch = scf::IfOp::create(rewriter, loc, isInside, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    Value entry = arith::DivUIOp::create(rewriter, loc, key, size),
          place = arith::RemUIOp::create(rewriter, loc, key, size);
    Value pageIndex =
        toIndex(memref::LoadOp::create(rewriter, loc, op.getBlockTable(), ValueRange{op.getBatch(), entry}));
    auto fromAt = [&](Value column) {
      return Values(op.getCacheDims().getPosition<Value>(pageIndex, place, op.getHead(), column));
    };
    copyRow(vb, op.getCache(), fromAt, op.getOutput(), toAt, columns, isContiguous);
    rewriter.setInsertionPointToStart(branch.elseBlock());
    Value nothing = arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(type));
    vb.loop(columns, 1, {}, [&](Value column, ValueRange) {
      memref::StoreOp::create(rewriter, loc, nothing, op.getOutput(), toAt(column));
      return Values();
    });
    return Values();
  });
  rewriter.eraseOp(op);
  return success();
}

/// Zero pairs after those of `rows` rows, if `pairs` has a static number of them.
static void emitZeroPairs(VectorBuilder &vb, Value rows, Value pairs) {
  auto type = cast<MemRefType>(pairs.getType());
  int64_t rank = type.getRank(), count = type.getDimSize(rank - 3);
  std::optional<int64_t> constant = getConstantIntValue(rows);
  if (ShapedType::isDynamic(count) || (constant && llvm::divideCeil(*constant, 2) == uint64_t(count)))
    return;
  pairs = vb.collapsePairs(pairs);
  vb.loop(vb.divide(vb.add(rows, 1), 2), vb.index(count), 1, {}, [&](Value pair, ValueRange) {
    vb.loop(2 * type.getDimSize(rank - 2), 2, {}, [&](Value column, ValueRange) {
      Values indices(rank - 1, vb.index(0));
      indices[rank - 3] = pair;
      indices[rank - 2] = column;
      vb.store(vb.zero(VectorType::get({2}, vb.b.getBF16Type())), pairs, indices);
      return Values();
    });
    return Values();
  });
}

/// A copy that makes pairs of bf16: along a row, transposed so that rows are lanes, or along a column.
static LogicalResult packPairs(RewriterBase &rewriter, PackOp op, const TargetInfo &target) {
  SmallVector<AffineMap> maps = getMaps(op);
  unsigned numBatch = getNumBatchDims(op);
  bool isTransposed = isPaired(maps[1], numBatch + 1);
  auto type = cast<MemRefType>(op.getOutput().getType());
  AffineExpr other = rewriter.getAffineDimExpr(isTransposed ? numBatch : numBatch + 1),
             paired = rewriter.getAffineDimExpr(isTransposed ? numBatch + 1 : numBatch);
  ArrayRef<AffineExpr> order = maps[1].getResults().take_back(3);
  Operand input{op.getInput(), maps[0]};
  int64_t columns = getStaticSize(op, DimKind::HeadSize), rank = type.getRank(), others = type.getDimSize(rank - 2);
  VectorBuilder vb(rewriter, op.getLoc(), target, rewriter.getF32Type());
  Value rows = getNumRows(vb, input, numBatch);
  if (!type.getElementType().isBF16() || !getElementTypeOrSelf(input.memref.getType()).isBF16() || !rows ||
      order[0] != paired.floorDiv(2) || order[1] != other || order[2] != paired % 2 || ShapedType::isDynamic(columns) ||
      ShapedType::isDynamic(others))
    return op.emitOpError("expected pairs of bf16 as (pair, other, 2), of static size but for rows; run attn-tile");
  TransposeSide from = getSide(vb, input, numBatch);
  if (!isTransposed) {
    emitPairRows(vb, from, rows, op.getOutput(), columns);
    emitZeroPairs(vb, rows, op.getOutput());
    rewriter.eraseOp(op);
    return success();
  }
  if (!from.columnsContiguous || columns % 2 != 0 || others % vb.lanes != 0)
    return op.emitOpError("expected rows of an even size, contiguous, and a multiple of ")
           << vb.lanes << " of them; run attn-tile";
  // Pairs are the columns of the transpose.
  TransposeSide source = from, lanes{{vb.collapsePairs(op.getOutput()), {}}, {}};
  source.getIndices = [&](Value row, Value pair) {
    return from.getIndices(row, vb.b.createOrFold<arith::MulIOp>(vb.loc, pair, vb.index(2)));
  };
  lanes.getIndices = [&](Value row, Value pair) {
    Values indices(rank - 1, vb.index(0));
    indices[rank - 3] = pair;
    indices[rank - 2] = vb.b.createOrFold<arith::MulIOp>(vb.loc, row, vb.index(2));
    return indices;
  };
  source.holdsPairs = lanes.holdsPairs = true;
  emitPack(vb, source, lanes, rows, others, rewriter.getIndexAttr(columns / 2));
  rewriter.eraseOp(op);
  return success();
}

LogicalResult attn::cpu::lowerPack(RewriterBase &rewriter, PackOp op, const TargetInfo &target) {
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  SmallVector<AffineMap> maps = getMaps(op);
  unsigned numBatch = getNumBatchDims(op);
  if (getNumParts(op.getOutput(), maps[1]) > 1)
    return packParts(rewriter, op, target);
  auto type = cast<MemRefType>(op.getOutput().getType());
  Operand input{viewAsBytes(rewriter, loc, op.getInput()), maps[0]}, output{op.getOutput(), maps[1]};
  OpFoldResult columns = getDomainSizes(rewriter, op)[numBatch + 1];
  if (isPaired(maps[1], numBatch) || isPaired(maps[1], numBatch + 1))
    return packPairs(rewriter, op, target);
  if (!output.isInnermost(numBatch) && output.isInnermost(numBatch + 1))
    return copyRows(rewriter, op, target);
  int64_t paddedRows = getStaticRows(output, numBatch);
  // Any element type (a mask's bytes, a narrow bias) moves in vectors of as many elements as the scores that it is
  // combined with: f32, or f64, whose tiles may have fewer rows than f32 has lanes.
  bool isSingle = type.getElementTypeBitWidth() <= 32 && paddedRows % target.getLanes(32) == 0;
  VectorBuilder vb(rewriter, loc, target, isSingle ? rewriter.getF32Type() : rewriter.getF64Type());
  if (!output.isInnermost(numBatch) || ShapedType::isDynamic(paddedRows) || paddedRows % vb.lanes != 0)
    return op.emitOpError("expected a static output with query rows innermost, a multiple of ")
           << vb.lanes << "; run attn-tile";
  Value rows = getNumRows(vb, input, numBatch);
  TransposeSide source = getSide(vb, input, numBatch);
  emitPack(vb, source, getSide(vb, output, numBatch), rows ? rows : vb.index(paddedRows), paddedRows, columns);
  rewriter.eraseOp(op);
  return success();
}

LogicalResult attn::cpu::lowerInitState(RewriterBase &rewriter, InitStateOp op, const TargetInfo &target) {
  if (isRowMajorState(op, op.getAcc(), getMaps(op)[0]))
    return lowerRowInit(rewriter, op, target);
  rewriter.setInsertionPoint(op);
  VectorBuilder vb(rewriter, op.getLoc(), target, cast<FloatType>(getElementTypeOrSelf(op.getAcc().getType())));
  double minusInf = -std::numeric_limits<double>::infinity();
  LaneRegion start(vb, &op.getStart());
  for (auto [memref, value] :
       {std::pair<Value, double>(op.getAcc(), 0.0), {op.getRowMax(), minusInf}, {op.getRowSum(), 0.0}}) {
    auto type = cast<MemRefType>(memref.getType());
    if (!type.hasStaticShape() || !type.getLayout().isIdentity() || type.getShape().back() == 0 ||
        type.getShape().back() % vb.lanes != 0)
      return op.emitOpError(
          "expected a static contiguous state with rows innermost, in vectors of the target; run attn-tile, and "
          "give this pass the target of attn-select-schedule");
    // The state as rows of lanes: leading dimensions of size 1, one loop for the value columns of acc.
    int64_t columns = type.getNumElements() / type.getShape().back(), rank = type.getRank();
    if (rank > 1 && columns != type.getDimSize(rank - 2))
      return op.emitOpError("expected the state of one batch index and head; run attn-tile");
    Value buffer = memref;
    bool isMax = memref == op.getRowMax(), isSum = memref == op.getRowSum();
    vb.loop(columns, 1, {}, [&](Value column, ValueRange) {
      vb.loop(type.getShape().back(), vb.lanes, {}, [&](Value lane, ValueRange) {
        Value vector = vb.splat(value);
        if (!start.isEmpty() && (isMax || isSum)) {
          // m = start, l = (m == -inf) ? 0 : 1
          start.prepare(lane);
          Value max = vb.convert(start.evaluate(LanePosition(), /*arguments=*/{}), vb.elementType);
          vector = isMax ? max : vb.select(vb.isEqual(max, minusInf), vb.splat(0), vb.splat(1));
        }
        Values indices(rank, vb.index(0));
        if (rank > 1)
          indices[rank - 2] = column;
        indices[rank - 1] = lane;
        vb.store(vector, buffer, indices);
        return Values();
      });
      return Values();
    });
  }
  rewriter.eraseOp(op);
  return success();
}

/// lse and its terms, row by row: once a tile, so a call of the C library's logarithm is fine.
static void emitRowResult(VectorBuilder &vb, RowResult kind, const Operand &output, const Operand &max,
                          const Operand &sum, unsigned numBatch, Value rows) {
  OpBuilder &b = vb.b;
  Location loc = vb.loc;
  vb.loop(vb.index(0), rows, 1, {}, [&](Value row, ValueRange) {
    SmallVector<Value> domain(numBatch);
    domain.append({row, Value()});
    Value m = memref::LoadOp::create(b, loc, max.memref, max.getIndices(vb, domain));
    Value l = memref::LoadOp::create(b, loc, sum.memref, sum.getIndices(vb, domain));
    Value result = vb.convert(buildRowResult(b, loc, kind, m, l), getElementTypeOrSelf(output.memref.getType()));
    memref::StoreOp::create(b, loc, result, output.memref, output.getIndices(vb, domain));
    return Values();
  });
}

/// out = factor * acc + old factor * out, row by row: the tile of the state is transposed first.
static void emitMerge(VectorBuilder &vb, FinalizeOp op, const TransposeSide &state, const Operand &output,
                      int64_t paddedRows, int64_t columns) {
  unsigned numBatch = getNumBatchDims(op);
  Value buffer = vb.stackBuffer({paddedRows, columns}), rows = getNumRows(vb, output, numBatch);
  AffineMap rowMap =
      AffineMap::getMultiDimMapWithTargets(state.operand.map.getNumDims(), {numBatch, numBatch + 1}, op.getContext());
  Operand added{buffer, rowMap};
  emitUnpack(vb, state, getSide(vb, added, numBatch), rows, paddedRows, vb.b.getIndexAttr(columns));
  bool isContiguous = output.isInnermost(numBatch + 1);
  vb.loop(vb.index(0), rows, 1, {}, [&](Value row, ValueRange) {
    Values at(numBatch);
    at.append({row, Value()});
    auto [factor, oldFactor] = mergeOldRow(vb, op, at);
    Value own = vb.broadcast(factor), isEmpty = vb.isEqual(own, 0);
    auto getDomain = [&](Value column) {
      Values domain(numBatch);
      domain.append({row, column});
      return domain;
    };
    addOldOutput(vb, output, columns, isContiguous, getDomain, oldFactor, [&](Value column, Value mask) {
      Value acc = vb.loadMasked(buffer, {row, column}, mask);
      return vb.select(isEmpty, vb.splat(0), arith::MulFOp::create(vb.b, vb.loc, acc, own));
    });
    return Values();
  });
}

LogicalResult attn::cpu::lowerFinalize(RewriterBase &rewriter, FinalizeOp op, const TargetInfo &target) {
  rewriter.setInsertionPoint(op);
  auto type = cast<FloatType>(getElementTypeOrSelf(op.getAcc().getType()));
  if (getElementTypeOrSelf(op.getOutput().getType()).getIntOrFloatBitWidth() > type.getWidth())
    return op.emitOpError("no CPU kernel for an output of type ")
           << getElementTypeOrSelf(op.getOutput().getType()) << " with a state of type " << type;
  if (isRowMajorState(op, op.getAcc(), getMaps(op)[0]))
    return lowerRowFinalize(rewriter, op, target);
  VectorBuilder vb(rewriter, op.getLoc(), target, type);
  SmallVector<AffineMap> maps = getMaps(op);
  unsigned numBatch = getNumBatchDims(op);
  Operand acc{op.getAcc(), maps[0]}, max{op.getRowMax(), maps[1]}, sum{op.getRowSum(), maps[2]},
      output{op.getOutput(), maps[3]};
  int64_t paddedRows = getStaticRows(acc, numBatch), columns = getStaticSize(op, DimKind::ValueSize);
  if (!acc.isInnermost(numBatch) || ShapedType::isDynamic(paddedRows) || ShapedType::isDynamic(columns) ||
      paddedRows % vb.lanes != 0)
    return op.emitOpError(
        "expected a static state with query rows innermost; run attn-tile, and give this pass the target of "
        "attn-select-schedule");

  if (op.getAccumulate()) {
    emitMerge(vb, op, getSide(vb, acc, numBatch), output, paddedRows, columns);
    rewriter.eraseOp(op);
    return success();
  }

  // quotient = (l == 0) ? 0 : acc / l, in the layout of the state, which is an input and stays as it is
  AffineMap quotientMap =
      AffineMap::getMultiDimMapWithTargets(acc.map.getNumDims(), {numBatch + 1, numBatch}, op.getContext());
  Operand quotients{vb.stackBuffer({columns, paddedRows}), quotientMap};
  TransposeSide state = getSide(vb, acc, numBatch), lanes = getSide(vb, quotients, numBatch);
  vb.loop(paddedRows, vb.lanes, {}, [&](Value lane, ValueRange) {
    SmallVector<Value> domain(numBatch);
    domain.append({lane, Value()});
    Value l = vb.load(sum.memref, sum.getIndices(vb, domain)), isEmpty = vb.isEqual(l, 0);
    // One division a row, not one an element.
    Value inverse = arith::DivFOp::create(rewriter, vb.loc, vb.splat(1), l);
    vb.loop(columns, 1, {}, [&](Value column, ValueRange) {
      Value quotient =
          arith::MulFOp::create(rewriter, vb.loc, vb.load(acc.memref, state.getIndices(lane, column)), inverse);
      vb.store(vb.select(isEmpty, vb.splat(0), quotient), quotients.memref, lanes.getIndices(lane, column));
      return Values();
    });
    return Values();
  });
  Value rows = getNumRows(vb, output, numBatch);
  emitUnpack(vb, lanes, getSide(vb, output, numBatch), rows, paddedRows, rewriter.getIndexAttr(columns));
  for (auto [map, result] : llvm::zip_equal(ArrayRef(maps).drop_front(4), getRowResults(op)))
    emitRowResult(vb, result.first, {result.second, map}, max, sum, numBatch, rows);
  rewriter.eraseOp(op);
  return success();
}
