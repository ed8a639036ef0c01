//===- BackwardBlocks.cpp - the gradients of a block of a GPU -------------===//
//
// A block has a tile of rows, queries or keys, packs their operands once, and loops over tiles of columns: each is a
// backward_step. TileBackwardBlocks.cpp builds the kernels of these blocks.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BackwardBlocks.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static Value slice(OpBuilder &b, const KernelShape &s, const BlockTile &at, StringRef name) {
  return createSlice(b, s.loc, s.getOperand(name), getSlice(b, s.loc, at, s.getMap(name)));
}

/// The map of a tile's operand, with one batch index and head, over (batch…, row, column).
static AffineMap getBlockRowMap(Builder &b, const KernelShape &s, StringRef name, unsigned row) {
  SmallVector<AffineExpr> exprs;
  for (AffineExpr expr : s.getMap(name).getResults()) {
    AffineExpr position = b.getAffineConstantExpr(0);
    for (unsigned i = 0; i < s.numBatch; ++i)
      if (expr.isFunctionOfDim(i))
        position = b.getAffineDimExpr(i);
    exprs.push_back(expr == b.getAffineDimExpr(row)                ? b.getAffineDimExpr(s.numBatch)
                    : expr == b.getAffineDimExpr(s.getWidth(name)) ? b.getAffineDimExpr(s.numBatch + 1)
                                                                   : position);
  }
  return AffineMap::get(s.numBatch + 2, 0, exprs, b.getContext());
}

static Value createBlockSpace(OpBuilder &b, const KernelShape &s, int64_t tileRows, StringRef name, Type elementType) {
  SmallVector<int64_t> shape(s.numBatch, 1);
  shape.append({tileRows, s.getColumns(s.getWidth(name))});
  auto tileType = RankedTensorType::get(shape, elementType);
  // Not tensor.empty: CSE would merge two of them, and bufferisation would share one tile between two kernels, or copy
  // sums.
  return bufferization::AllocTensorOp::create(b, s.loc, tileType, /*dynamicSizes=*/ValueRange());
}

/// The first `count` rows of a tile.
static Value sliceRows(OpBuilder &b, const KernelShape &s, Value tile, OpFoldResult count) {
  return createSlice(b, s.loc, tile, getDimSlice(b, s.loc, tile, s.numBatch, b.getIndexAttr(0), count));
}

Value attn::packRows(OpBuilder &b, const KernelShape &s, const BlockTile &at, StringRef name, unsigned row,
                     int64_t tileRows, bool asFew) {
  Value rows = slice(b, s, at, name), tile = createBlockSpace(b, s, tileRows, name, s.rowType);
  if (asFew)
    tile = sliceRows(b, s, tile, at.sizes[row]);
  ArrayAttr maps = b.getAffineMapArrayAttr({getBlockRowMap(b, s, name, row), b.getMultiDimIdentityMap(s.numBatch + 2)});
  return PackOp::create(b, s.loc, tile.getType(), rows, tile, maps)->getResult(0);
}

void attn::storeRows(OpBuilder &b, const KernelShape &s, const BlockTile &at, StringRef name, Value sum, Value whole,
                     scf::ForallOp forall) {
  if (s.isOfAllBlocks(name))
    return insertInParallel(b, forall, sum, whole, s.whole);
  Slice where = getSlice(b, s.loc, at, s.getMap(name));
  Value part = createSlice(b, s.loc, whole, where);
  Value rows = sliceRows(b, s, sum, at.sizes[s.rowPos()]);
  ArrayAttr maps =
      b.getAffineMapArrayAttr({b.getMultiDimIdentityMap(s.numBatch + 2), getBlockRowMap(b, s, name, s.rowPos())});
  Value stored = PackOp::create(b, s.loc, part.getType(), rows, part, maps)->getResult(0);
  insertInParallel(b, forall, stored, whole, where);
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

/// Query tiles of a head, of all packed sequences.
static Value countTurns(OpBuilder &b, const KernelShape &s) {
  OpFoldResult rows = s.domainSizes[s.queryPos()];
  int64_t size = s.schedule.getKeyTile();
  if (s.step.getCuSeqlensQ())
    return toValue(b, s.loc, countPackedTiles(b, s.loc, rows, s.domainSizes[0], size));
  return divideUp(b, s.loc, toValue(b, s.loc, rows), index(b, s.loc, size));
}

/// The batch dimensions that have turns of their own.
static auto getDimsOfTurns(const KernelShape &s) {
  return llvm::seq<unsigned>(s.step.getCuSeqlensQ() ? 1 : 0, s.numBatch);
}

/// Index in s.turns of the count of blocks that have added to a query tile; the count of tickets comes first.
static Value getPlaceOfTurn(OpBuilder &b, const KernelShape &s, const BlockTile &at) {
  Location loc = s.loc;
  int64_t size = s.schedule.getKeyTile();
  Value place = index(b, loc, 0);
  for (unsigned i : getDimsOfTurns(s))
    place = add(b, loc, multiply(b, loc, place, toValue(b, loc, s.domainSizes[i])), toValue(b, loc, at.offsets[i]));
  Value tile = divide(b, loc, toValue(b, loc, at.offsets[s.queryPos()]), index(b, loc, size));
  if (Value sequences = s.step.getCuSeqlensQ())
    tile = add(b, loc, getFirstPackedTile(b, loc, sequences, toValue(b, loc, at.offsets[0]), size), tile);
  return add(b, loc, add(b, loc, multiply(b, loc, place, countTurns(b, s)), tile), index(b, loc, 1));
}

Value attn::createTurns(OpBuilder &b, const KernelShape &s) {
  Location loc = s.loc;
  Value tiles = countTurns(b, s);
  for (unsigned i : getDimsOfTurns(s))
    tiles = multiply(b, loc, tiles, toValue(b, loc, s.domainSizes[i]));
  OpFoldResult count = getAsOpFoldResult(add(b, loc, tiles, index(b, loc, 1)));
  auto [shape, dynamicSizes] = decomposeMixedValues({count});
  Value turns = memref::AllocOp::create(b, loc, MemRefType::get(shape, b.getI32Type()), dynamicSizes);
  Value zero = arith::ConstantIntOp::create(b, loc, 0, 32);
  linalg::GenericOp::create(
      b, loc, /*resultTensorTypes=*/TypeRange(), ValueRange(), turns, ArrayRef<AffineMap>{b.getMultiDimIdentityMap(1)},
      ArrayRef<utils::IteratorType>{utils::IteratorType::parallel},
      [&](OpBuilder &nested, Location at, ValueRange) { linalg::YieldOp::create(nested, at, zero); });
  return turns;
}

//===----------------------------------------------------------------------===//
// A block
//===----------------------------------------------------------------------===//

/// The step of `count` columns from `column` on; `rows` are the tiles that the block keeps.
static TileState createBlockStep(OpBuilder &b, const KernelShape &s, BlockTile at, const llvm::StringMap<Value> &rows,
                                 Value column, OpFoldResult count, bool isPartial, ValueRange sums) {
  at.offsets[s.columnPos()] = column;
  at.sizes[s.columnPos()] = count;
  Value place = s.turns ? getPlaceOfTurn(b, s, at) : Value();
  if (place)
    AwaitOrderOp::create(b, s.loc, s.turns, place, at.tile, /*by_producer=*/false);
  Operands tiles;
  auto addTile = [&](StringRef name, Value tile) {
    bool isOfQueries = name == "query" || name == "dout" || name == "dquery";
    tiles[name] = {tile, getTileMap(s, {isOfQueries ? s.queryPos() : s.keyPos(), s.getWidth(name)})};
  };
  auto addSlice = [&](StringRef name) { tiles[name] = {slice(b, s, at, name), s.getMap(name)}; };
  for (StringRef name : {"query", "key", "value", "dout"})
    if (Value tile = rows.lookup(name))
      addTile(name, tile);
    else if (name == "value" && !s.hasQueryRows()) // only P is used: V is not read, but needs the type of K
      if (getElementTypeOrSelf(s.getOperand(name).getType()) == s.rowType)
        addSlice(name);
      else
        addTile(name, createBlockSpace(b, s, s.tileRows, name, s.rowType));
    else
      addTile(name, packRows(b, s, at, name, s.columnPos(), s.schedule.getKeyTile(), /*asFew=*/true));
  for (StringRef name : {"lse", "delta", "log_sum", "bias", "mask"})
    if (s.getOperand(name))
      addSlice(name);
  for (auto [name, sum] : llvm::zip(s.gradients, sums))
    if (s.isOfAllBlocks(name))
      tiles[name] = {createSlice(b, s.loc, sum, getSlice(b, s.loc, at, s.getMap(name))), s.getMap(name)};
    else
      addTile(name, sum);
  BackwardStepOp tiled = createBackwardTile(b, s, tiles, sums.drop_front(s.gradients.size()));
  tiled.setScheduleAttr(s.schedule);
  // Rows after the last one read what the last one reads: captured tensors end there.
  auto getEndRow = [&] {
    return add(b, s.loc, toValue(b, s.loc, at.offsets[s.rowPos()]), toValue(b, s.loc, at.sizes[s.rowPos()]));
  };
  bool isWhole = getConstantIntValue(at.sizes[s.rowPos()]).has_value();
  auto clone = [&](Region &from, Region &to) {
    cloneTileRegion(b, from, to, tiled, s.step, at.offsets, s.hasQueryRows() ? IndexKind::Query : IndexKind::Key,
                    isWhole ? function_ref<Value()>() : function_ref<Value()>(getEndRow));
  };
  if (isPartial)
    clone(s.step.getMaskMod(), tiled.getMaskMod());
  clone(s.step.getScoreMod(), tiled.getScoreMod());
  clone(s.step.getScoreGrad(), tiled.getScoreGrad());
  redirectScoreSums(b, s, tiled);
  clone(s.step.getWeightMod(), tiled.getWeightMod());
  TileState results(tiled->getResults());
  for (auto [name, sum, result] : llvm::zip(s.gradients, sums, results))
    if (s.isOfAllBlocks(name)) {
      Slice where = getSlice(b, s.loc, at, s.getMap(name));
      result = tensor::InsertSliceOp::create(b, s.loc, result, sum, where.offsets, where.sizes, where.strides);
    }
  if (place)
    PassOrderOp::create(b, s.loc, s.turns, place, at.tile, /*by_producer=*/false);
  return results;
}

/// Column tiles at multiples of their size; the block map says whether each is skipped, full or partial.
static TileState accumulateMapped(OpBuilder &b, const KernelShape &s, BlockTile at, const llvm::StringMap<Value> &rows,
                                  const ColumnRanges &ranges, TileState sums) {
  Location loc = s.loc;
  int64_t size = s.schedule.getKeyTile();
  Value whole = index(b, loc, size);
  return createLoop(b, loc, ranges.lower, ranges.upper, size, sums, [&](Value column, TileState carried) {
    Value count = min(b, loc, whole, subtract(b, loc, ranges.upper, column));
    at.offsets[s.columnPos()] = column;
    at.sizes[s.columnPos()] = count;
    auto step = [&](bool isPartial) {
      OpFoldResult columns = isPartial ? OpFoldResult(count) : b.getIndexAttr(size);
      return createBlockStep(b, s, at, rows, column, columns, isPartial, carried);
    };
    bool isDense = s.step.getBias() || s.step.getMask();
    return createStepOfKind(b, loc, getKindOfTile(b, s, at), isDense, carried, step, [&]() -> Value {
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, count, whole);
    });
  });
}

TileState attn::accumulateColumns(OpBuilder &b, const KernelShape &s, const BlockTile &at,
                                  const llvm::StringMap<Value> &rows, TileState sums) {
  Location loc = s.loc;
  if (isConstantIntValue(s.domainSizes[s.columnPos()], 0))
    return sums;
  Region built, *known = &s.step.getQueryRanges();
  if (s.hasQueryRows() || known->empty()) {
    known = &built;
    buildMaskRanges(b, s.step, s.step.getMaskMod(), s.columns, /*isDense=*/s.step.getBias() || s.step.getMask(), built);
  }
  SmallVector<Value> bounds = inlineRegion(b, *known, {}, [&](IndexOp op) { return evaluateIndex(b, s.step, at, op); });
  Value zero = index(b, loc, 0);
  ColumnRanges ranges(b, loc, bounds, zero, s.hasQueryRows() ? at.numKeys : at.numQueries);
  int64_t tile = s.schedule.getKeyTile();
  if (s.turns || s.blockMap.kinds) { // all blocks have the same tiles
    ranges.startMultiple = tile;
    ranges.lower = multiply(b, loc, divide(b, loc, ranges.lower, index(b, loc, tile)), index(b, loc, tile));
  }
  if (at.queryStart) { // without rows there are no columns: the bounds of a mask assume a tile with rows
    Value isEmpty =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, toValue(b, loc, at.sizes[s.rowPos()]), zero);
    isEmpty = arith::OrIOp::create(b, loc, isEmpty, at.isRest);
    ranges.upper = arith::SelectOp::create(b, loc, isEmpty, ranges.lower, ranges.upper);
  }
  if (s.blockMap.kinds)
    return accumulateMapped(b, s, at, rows, ranges, sums);
  auto tiles = [&](Value lower, Value upper, bool isPartial, TileState state) {
    auto step = [&](Value column, OpFoldResult count, TileState carried) {
      return createBlockStep(b, s, at, rows, column, count, isPartial, carried);
    };
    return createTiles(b, loc, tile, lower, upper, state, step, /*isConsecutive=*/true);
  };
  return createColumnTiles(b, loc, ranges, sums, tiles, [&](Value lower, Value upper, TileState state, Value &end) {
    end = upper;
    if (ranges.endsPartial) { // whole tiles
      AffineExpr length = b.getAffineDimExpr(0), start = b.getAffineDimExpr(1);
      end = toValue(b, loc,
                    affine::makeComposedFoldedAffineApply(
                        b, loc, start + length.floorDiv(tile) * tile,
                        {OpFoldResult(clampedDifference(b, loc, upper, lower, kNoBound)), OpFoldResult(lower)}));
    }
    return tiles(lower, end, /*isPartial=*/false, state);
  });
}

TileState attn::createBlock(OpBuilder &b, const KernelShape &s, const BlockTile &at, ValueRange whole) {
  SmallVector<StringRef> rowNames = {"key", "value"};
  if (s.hasQueryRows())
    rowNames = {"query", "dout"};
  else if (s.gradients == ArrayRef<StringRef>{"dvalue"})
    rowNames.pop_back(); // only P is used
  llvm::StringMap<Value> rows;
  for (StringRef name : rowNames)
    rows[name] = packRows(b, s, at, name, s.rowPos(), s.tileRows, /*asFew=*/false);
  TileState sums;
  for (auto [name, tensor] : llvm::zip(s.gradients, whole)) {
    if (s.isOfAllBlocks(name)) {
      sums.push_back(createSlice(b, s.loc, tensor, s.whole));
      continue;
    }
    Value space = createBlockSpace(b, s, s.tileRows, name, s.stateType);
    sums.push_back(linalg::FillOp::create(b, s.loc, createFloatConstant(b, s.loc, s.stateType, 0), space).getResult(0));
  }
  if (s.numBatch == 0 || s.hasQueryRows() || s.groupSize == 1)
    return accumulateColumns(b, s, at, rows, sums);
  Value first = toValue(b, s.loc, at.offsets[s.numBatch - 1]);
  Value heads = s.groupSize == 0 ? toValue(b, s.loc, s.domainSizes[s.numBatch - 1]) : index(b, s.loc, s.groupSize);
  return createLoop(b, s.loc, index(b, s.loc, 0), heads, 1, sums, [&](Value head, TileState carried) {
    BlockTile inGroup = at;
    inGroup.offsets[s.numBatch - 1] = add(b, s.loc, first, head);
    return accumulateColumns(b, s, inGroup, rows, carried);
  });
}
