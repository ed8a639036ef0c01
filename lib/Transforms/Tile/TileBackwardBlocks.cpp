//===- TileBackwardBlocks.cpp - attn-tile of the gradients for a GPU ------===//
//
// Before: a backward_step over all queries and keys, with a schedule of blocks. After: a scf.forall for each kernel.
// One sums dQ: its rows are queries, and it loops over keys. Another sums dK and dV: its rows are keys, and it loops
// over the queries of the heads that share them. A block has a tile of rows, keeps its sums and writes each once, so
// the order of blocks does not change a bit. If the two sums of a head exceed the registers, each has a kernel.
//
// With `fused` in the schedule, one kernel has all gradients: blocks of keys add their parts of dQ to memory, the tile
// of the lower keys first.
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
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace attn;

/// Columns of dK and dV together that a thread's registers hold, with 16 rows per warp.
static constexpr int64_t kMaxSumColumns = 256;

/// True for an op that only converts elements.
static bool isRounding(linalg::GenericOp generic) {
  return generic.getNumReductionLoops() == 0 && generic.getInputs().size() == 1 &&
         llvm::all_of(generic.getBody()->without_terminator(), llvm::IsaPred<arith::TruncFOp, arith::ExtFOp>);
}

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

//===----------------------------------------------------------------------===//
// A block
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

/// Counts for all query tiles, after one of tickets: zeros.
static Value createTurns(OpBuilder &b, const KernelShape &s) {
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

/// The sums of the gradients of a block; `whole` are their tensors.
static TileState createBlock(OpBuilder &b, const KernelShape &s, const BlockTile &at, ValueRange whole) {
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

//===----------------------------------------------------------------------===//
// The grid
//===----------------------------------------------------------------------===//

/// Start and length of packed rows: of sequence `batch`, or of the rows after the last one.
static std::pair<Value, Value> getSequence(OpBuilder &b, const KernelShape &s, Value sequences, Value batch,
                                           Value isRest, OpFoldResult numRows) {
  Value last = toValue(b, s.loc, s.domainSizes[0]), start = getSequenceStart(b, s.loc, sequences, batch);
  Value next = min(b, s.loc, add(b, s.loc, batch, index(b, s.loc, 1)), last);
  Value end = getSequenceStart(b, s.loc, sequences, next);
  end = arith::SelectOp::create(b, s.loc, isRest, toValue(b, s.loc, numRows), end);
  return {start, arith::SubIOp::create(b, s.loc, end, start)};
}

BlockTile attn::getBlockTile(OpBuilder &b, const KernelShape &s, ArrayRef<Value> batch, Value tile) {
  Location loc = s.loc;
  BlockTile at{{b, s.domainSizes, batch}, tile, {}, {}, {}};
  AffineExpr dim = b.getAffineDimExpr(0);
  if (s.numBatch > 0 && !s.hasQueryRows()) // the first of the heads that share a key head
    at.offsets[s.numBatch - 1] =
        affine::makeComposedFoldedAffineApply(b, loc, dim * s.groupSize, {at.offsets[s.numBatch - 1]});
  at.numQueries = toValue(b, loc, s.domainSizes[s.queryPos()]);
  at.numKeys = toValue(b, loc, s.domainSizes[s.keyPos()]);
  if (Value sequences = s.step.getCuSeqlensQ()) {
    Value last = toValue(b, loc, s.domainSizes[0]);
    at.isRest = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, batch[0], last);
    std::tie(at.queryStart, at.numQueries) =
        getSequence(b, s, sequences, batch[0], at.isRest, s.domainSizes[s.queryPos()]);
    std::tie(at.keyStart, at.numKeys) =
        getSequence(b, s, s.step.getCuSeqlensK(), batch[0], at.isRest, s.domainSizes[s.keyPos()]);
    // For the rest, a mask reads the values of the last sequence.
    at.offsets[0] = min(b, loc, batch[0], arith::SubIOp::create(b, loc, last, index(b, loc, 1)));
  }
  Value first = affine::makeComposedAffineApply(b, loc, dim * s.tileRows, {OpFoldResult(tile)});
  at.offsets[s.rowPos()] = first;
  at.sizes[s.rowPos()] = getTileRows(b, loc, first, s.hasQueryRows() ? at.numQueries : at.numKeys, s.tileRows);
  return at;
}

/// The destination of a gradient: that of the zeros that the step adds to, or of the op that rounds its result.
static std::pair<Value, Value> getDestinationAndResult(OpBuilder &b, const KernelShape &s, StringRef name) {
  unsigned number = name == "dquery" ? 0 : name == "dkey" ? 1 : 2;
  Value result = s.step->getResult(number);
  if (s.isOfAllBlocks(name)) { // accumulated, and rounded after the kernel
    Value init = s.getOperand(name);
    if (init.getDefiningOp<linalg::FillOp>())
      init = createZeros(b, s.loc, tensor::getMixedSizes(b, s.loc, init), getElementTypeOrSelf(init.getType()));
    return {init, result};
  }
  if (result.hasOneUse())
    if (auto round = dyn_cast<linalg::GenericOp>(*result.user_begin()); round && isRounding(round))
      return {round.getDpsInits()[0], round.getResult(0)};
  Value init = s.getOperand(name);
  if (auto zeros = init.getDefiningOp<linalg::FillOp>())
    return {zeros.getOutputs()[0], result};
  // Existing values are added after the kernel.
  Value own =
      tensor::EmptyOp::create(b, s.loc, tensor::getMixedSizes(b, s.loc, init), getElementTypeOrSelf(init.getType()));
  return {own, result};
}

/// The sums of a kernel, plus the previous contents of the destination where the step adds to it.
static Value addToDestination(OpBuilder &b, const KernelShape &s, StringRef name, Value sums) {
  Value init = s.getOperand(name);
  if (init.getDefiningOp<linalg::FillOp>())
    return sums;
  auto type = cast<RankedTensorType>(init.getType());
  SmallVector<AffineMap> maps(2, b.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> parallel(type.getRank(), utils::IteratorType::parallel);
  return linalg::GenericOp::create(b, s.loc, type, sums, init, maps, parallel,
                                   [](OpBuilder &nested, Location at, ValueRange x) {
                                     Value sum = arith::AddFOp::create(nested, at, x[1], x[0]);
                                     linalg::YieldOp::create(nested, at, sum);
                                   })
      .getResult(0);
}

/// Rounds the existing rows of `sum` to their destination. Sums that all blocks add to are stored already.
static void store(OpBuilder &b, const KernelShape &s, const BlockTile &at, StringRef name, Value sum, Value whole,
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

/// Builds a kernel whose results replace those of the step, or of the ops that round them.
static void createKernel(RewriterBase &b, const BackwardShape &shape, RangeAxis columns,
                         ArrayRef<StringRef> gradients) {
  KernelShape s(shape, columns, gradients);
  b.setInsertionPoint(s.step);
  SmallVector<Value> destinations, replaced;
  for (StringRef name : gradients) {
    auto [destination, result] = getDestinationAndResult(b, s, name);
    destinations.push_back(destination);
    replaced.push_back(result);
  }
  // Before any use of a result.
  bool areInFront = succeeded(moveValueDefinitions(b, destinations, s.step));
  assert(areInFront && "destinations do not depend on gradients");
  (void)areInFront;
  b.setInsertionPoint(s.step);
  AffineExpr dim = b.getAffineDimExpr(0);
  SmallVector<OpFoldResult> bounds(ArrayRef(s.domainSizes).take_front(s.numBatch));
  if (!s.hasQueryRows())
    bounds = getBatchOfKeys(b, s);
  OpFoldResult rows = s.domainSizes[s.rowPos()], numSequences, tiles;
  Value sequences = s.hasQueryRows() ? s.step.getCuSeqlensQ() : s.step.getCuSeqlensK();
  if (sequences) { // and the rows after the last sequence
    numSequences = affine::makeComposedFoldedAffineApply(b, s.loc, dim + 1, {bounds.front()});
    bounds.erase(bounds.begin());
    tiles = countPackedTiles(b, s.loc, rows, numSequences, s.tileRows);
  } else {
    tiles = affine::makeComposedFoldedAffineApply(b, s.loc, dim.ceilDiv(s.tileRows), {rows});
  }
  // Blocks start in order: those that wait for each other have the same head and are far apart.
  bool isFused = s.isOfAllBlocks(gradients.front());
  bounds.insert(isFused ? bounds.begin() : bounds.end(), tiles);
  if (isFused) {
    s.turns = createTurns(b, s);
    s.whole.sizes = tensor::getMixedSizes(b, s.loc, destinations.front());
    s.whole.offsets.assign(s.whole.sizes.size(), b.getIndexAttr(0));
    s.whole.strides.assign(s.whole.sizes.size(), b.getIndexAttr(1));
  }
  auto forall = createParallelTiles(b, s.loc, bounds, destinations, s.schedule);
  b.setInsertionPointToStart(forall.getBody());
  SmallVector<Value> ivs = forall.getInductionVars();
  Value tile = isFused ? ivs.front() : ivs.back();
  ivs.erase(isFused ? ivs.begin() : ivs.end() - 1);
  // With masks, later queries tend to keep more keys, so their tiles come first.
  if (s.hasQueryRows() && !s.step.getMaskMod().empty())
    tile = affine::makeComposedAffineApply(b, s.loc, AffineMap::get(1, 1, b.getAffineSymbolExpr(0) - 1 - dim),
                                           {OpFoldResult(tile), tiles});
  if (sequences) {
    PackedTile found = findPackedTile(b, s.loc, sequences, numSequences, tile, s.tileRows);
    ivs.insert(ivs.begin(), found.sequence);
    tile = found.tile;
  }
  BlockTile at = getBlockTile(b, s, ivs, tile);
  ValueRange outputs = forall.getRegionIterArgs();
  for (auto [name, sum, whole] : llvm::zip(gradients, createBlock(b, s, at, outputs), outputs))
    store(b, s, at, name, sum, whole, forall);
  b.setInsertionPointAfter(forall);
  for (auto [name, result, value] : llvm::zip(gradients, replaced, forall.getResults())) {
    if (result.getDefiningOp() == s.step)
      b.replaceAllUsesWith(result, s.isOfAllBlocks(name) ? value : addToDestination(b, s, name, value));
    else
      b.replaceOp(result.getDefiningOp(), value);
  }
}

void attn::tileBackwardBlocks(RewriterBase &rewriter, BackwardStepOp step) {
  auto schedule = cast<BlockAttr>(*step.getSchedule());
  int64_t blockRows = schedule.getBlockRows();
  const char *text = schedule.getFused()
                         ? "gradients in blocks of {0} keys by tiles of {1} queries, to which the blocks add in order"
                         : "gradients of queries in blocks of {0} by tiles of {1} keys, of keys in blocks of {0} by "
                           "tiles of {1} queries";
  emitRemark(step, RemarkOutcome::Passed, "tiled") << llvm::formatv(text, blockRows, schedule.getKeyTile()).str();
  if (auto row = step.getDelta().getDefiningOp<RowDeltaOp>())
    tileRowDelta(rewriter, row, schedule);
  rewriter.setInsertionPoint(step);
  BackwardShape s(rewriter, step);
  s.blockMap = createBlockMap(rewriter, s);
  // Gradients without uses are not computed.
  SmallVector<StringRef> ofKeys;
  for (auto [name, result] : llvm::zip(ArrayRef<StringRef>{"dkey", "dvalue"}, step->getResults().slice(1, 2)))
    if (!result.use_empty())
      ofKeys.push_back(name);
  bool hasQueries = getStaticSize(step, DimKind::Query) != 0;
  if (schedule.getFused() && !step->getResult(0).use_empty() && ofKeys.size() == 2 && hasQueries) {
    createKernel(rewriter, s, RangeAxis::Queries, {"dquery", "dkey", "dvalue"});
    return createScoreSums(rewriter, step);
  }
  if (!step->getResult(0).use_empty())
    createKernel(rewriter, s, RangeAxis::Keys, {"dquery"});
  if (s.getColumns(s.headPos()) + s.getColumns(s.valuePos()) <= kMaxSumColumns && !ofKeys.empty())
    createKernel(rewriter, s, RangeAxis::Queries, ofKeys);
  else
    for (StringRef name : ofKeys)
      createKernel(rewriter, s, RangeAxis::Queries, name);
  createScoreSums(rewriter, step);
}
