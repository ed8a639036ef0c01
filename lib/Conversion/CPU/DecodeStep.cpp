//===- DecodeStep.cpp - one key tile folded into the rows of a decode tile ===//
//
// Few rows q_r, and many keys: lanes are columns of K and V.
//   s[r][j] = q_r . k_j, lane by lane, the lanes added up for a block of rows
//             times keys at once; then, row by row over vectors of keys,
//   scale, score_mod, softcap, bias and masks; m', alpha, p = 2^((s - m') log2 e), l'
//   acc[r][:] = alpha acc[r][:] + sum_j p[r][j] v_j
// K and V are widened as they are loaded; each row of them is read once for all
// rows of the tile.
//
// A step of more keys than a tile has folds them tile by tile itself. Where the rows
// are one block of products, each tile takes its keys from several places, a part of
// all keys apart: row i of each of them, then row i + 1. So every load walks through
// memory at an even stride, and several loads do at once, which is what hardware
// prefetchers need to keep as many lines on their way while this multiplies as while
// nothing else is done. Otherwise V is prefetched while K is multiplied, and K of
// the next tile while V is.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RowTile.h"
#include "attn/IR/Decompose.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "llvm/Support/MathExtras.h"
#include <limits>
#include <numbers>

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

static constexpr int64_t kCacheLineBytes = 64;
/// Enough for the coefficients of 2^x beside several vectors.
static constexpr unsigned kManyRegisters = 32;
static const double kMinusInf = -std::numeric_limits<double>::infinity();

namespace {

class DecodeStepLowering {
public:
  DecodeStepLowering(VectorBuilder &vb, OnlineStepOp step)
      : vb(vb), b(vb.b), loc(vb.loc), laneCode(vb, step, LaneAxis::Keys), numBatch(getNumBatchDims(step)),
        schedule(*step.getSchedule()), rows(vb, step) {
    SmallVector<AffineMap> maps = getMaps(step);
    query = {step.getQuery(), maps[0]};
    key = {step.getKey(), maps[1]};
    value = {step.getValue(), maps[2]};
    acc = {step.getAcc(), maps[maps.size() - 3]};
    rowMax = {step.getRowMax(), maps[maps.size() - 2]};
    rowSum = {step.getRowSum(), maps[maps.size() - 1]};
    keys = getDomainSizes(b, step)[numBatch + 1];
    isLong = foldsManyTiles(step);
    SmallVector<int64_t> domain = getStaticDomain(step);
    headSize = domain[numBatch + 2];
    valueSize = domain[numBatch + 3];
  }

  void emit() {
    std::optional<int64_t> numKeys = getConstantIntValue(keys);
    if (numKeys == 0)
      return;
    int64_t keyTile = schedule.getKeyTile();
    // One vector of scores more than fits may be written: blocks of keys are as long as vectors, at most.
    pitch = llvm::alignTo(numKeys ? std::min(*numKeys, keyTile) : keyTile, vb.lanes);
    scores = vb.stackBuffer({rows.getCount(), pitch});
    alpha = vb.stackBuffer({rows.getCount()});
    if (!isLong || (numKeys && *numKeys <= keyTile)) {
      setTile({vb.index(0)}, keys);
      return emitTile();
    }
    int64_t numPlaces = getNumPlaces(rows.getCount(), vb.lanes, schedule.getLaneVectors());
    // Widening K and V of 8 bits takes longer than memory does.
    if (keyTile % numPlaces != 0 || getElementTypeOrSelf(key.memref.getType()).getIntOrFloatBitWidth() <= 8)
      numPlaces = 1;
    OpFoldResult tileCount = divide(keys, keyTile), perPlace = multiply(tileCount, keyTile / numPlaces);
    Values starts;
    for (int64_t place = 0; place < numPlaces; ++place)
      starts.push_back(getValueOrCreateConstantIndexOp(b, loc, multiply(perPlace, place)));
    vb.loop(vb.index(0), getValueOrCreateConstantIndexOp(b, loc, perPlace), keyTile / numPlaces, {},
            [&](Value row, ValueRange) {
              setTile(llvm::map_to_vector(starts, [&](Value start) { return vb.add(start, row); }),
                      b.getIndexAttr(keyTile));
              emitTile();
              return Values();
            });
    AffineExpr dim = b.getAffineDimExpr(0);
    OpFoldResult rest = affine::makeComposedFoldedAffineApply(b, loc, dim % keyTile, {keys});
    if (isConstantIntValue(rest, 0))
      return;
    Value first = getValueOrCreateConstantIndexOp(b, loc, multiply(tileCount, keyTile));
    Value isThere = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt,
                                          getValueOrCreateConstantIndexOp(b, loc, rest), vb.index(0));
    auto branch = scf::IfOp::create(b, loc, isThere, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    setTile({first}, rest);
    emitTile();
  }

private:
  OpFoldResult divide(OpFoldResult value, int64_t divisor) {
    return affine::makeComposedFoldedAffineApply(b, loc, b.getAffineDimExpr(0).floorDiv(divisor), {value});
  }
  OpFoldResult multiply(OpFoldResult value, int64_t factor) {
    return affine::makeComposedFoldedAffineApply(b, loc, b.getAffineDimExpr(0) * factor, {value});
  }

  /// From here on keys are `count` rows, in turn one from each of the places that start at `starts`.
  void setTile(Values starts, OpFoldResult count) {
    places = std::move(starts);
    numKeys = getConstantIntValue(count);
    keyCount = getValueOrCreateConstantIndexOp(b, loc, count);
  }

  /// The `k`-th key after the `row`-th ones of all places.
  Value getKey(Value row, int64_t k) {
    int64_t numPlaces = places.size();
    return vb.add(places[k % numPlaces], vb.add(row, k / numPlaces));
  }

  /// for blocks of up to `block` rows of the tile: body(first, count). The first pass is the one that waits for memory;
  /// it has code of its own, so that its loads walk evenly.
  void forEachPass(int64_t block, function_ref<void(Value, int64_t)> body) {
    int64_t count = rows.getCount(), first = std::min(count, block);
    body(vb.index(0), first);
    if (count == first)
      return;
    forEachBlock(vb, b.getIndexAttr(count - first), block, {}, [&](Value row, int64_t some, ValueRange) {
      body(vb.add(row, first), some);
      return Values();
    });
  }

  /// Folds the keys of setTile.
  void emitTile() {
    forEachPass(schedule.getLaneVectors(), [&](Value first, int64_t block) { emitScores(first, block); });
    Value best = vb.loop(rows.getCount(), 1, vb.splat(kMinusInf), [&](Value row, ValueRange carried) {
                     return Values{vb.max(emitSoftmax(row), carried.front())};
                   }).front();
    auto output = [&] { forEachPass(getOutputRows(), [&](Value first, int64_t block) { emitOutput(first, block); }); };
    if (!laneCode.isPartial())
      return output();
    // V of keys that no row keeps is not read: NaN may stand there.
    Value first = vector::ExtractOp::create(b, loc, vb.isEqual(best, kMinusInf), 0);
    Value none = arith::XOrIOp::create(
        b, loc, first, arith::ConstantOp::create(b, loc, b.getIntegerAttr(b.getI1Type(), 1)).getResult());
    auto branch = scf::IfOp::create(b, loc, none, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    output();
  }

  /// A position in the domain (batch…, query, key, head, value).
  Values at(Value row, Value keyIndex, Value head, Value column) {
    if (row)
      return rows.getDomain(row, {keyIndex, head, column});
    Values domain(numBatch + 1);
    domain.append({keyIndex, head, column});
    return domain;
  }

  /// A vector of columns of K or V from `position` on, widened.
  Value loadColumns(const Operand &operand, unsigned dim, ArrayRef<Value> position, Value mask) {
    Value narrow = operand.isInnermost(dim) ? vb.loadMasked(operand.memref, operand.getIndices(vb, position), mask)
                                            : vb.loadStrided(operand, dim, position, mask);
    return vb.convert(narrow, vb.elementType);
  }

  /// Asks for the row of K or V that is read `rowsAhead` rows after `keyIndex`. Each of the passes over the rows of the
  /// tile, `count` from `first` on, asks for its share of the columns.
  void prefetch(const Operand &operand, Value keyIndex, int64_t rowsAhead, int64_t columns, Value first,
                int64_t count) {
    bool goesOn = numBatch == 0 || operand.map.isFunctionOfDim(0);
    // The rows of a page end with it; those of a dense tensor go on in the next tile. Of several places the hardware
    // has the next rows on their way.
    if (schedule.getPrefetch() == 0 || places.size() > 1 || (rowsAhead > 0 && !goesOn))
      return;
    int64_t perLine = kCacheLineBytes * 8 / getElementTypeOrSelf(operand.memref.getType()).getIntOrFloatBitWidth();
    int64_t share = llvm::divideCeil(columns * count, rows.getCount());
    Value start = arith::MulIOp::create(b, loc, first, vb.index(share / count)), row = vb.add(keyIndex, rowsAhead);
    for (int64_t line = 0; line < share; line += perLine) {
      Value column = vb.add(start, line);
      SmallVector<Value> position(numBatch + 1);
      position.append({row, column, column});
      memref::PrefetchOp::create(b, loc, operand.memref, operand.getIndices(vb, position), /*isWrite=*/false,
                                 /*localityHint=*/3, /*isDataCache=*/true);
    }
  }

  /// The rows that each place has, and where the score of the `place`-th key of a row of them is.
  Value getRowsOfPlace() {
    return getValueOrCreateConstantIndexOp(
        b, loc, divide(numKeys ? OpFoldResult(b.getIndexAttr(*numKeys)) : OpFoldResult(keyCount), places.size()));
  }
  Value getScore(Value row, int64_t place) {
    return vb.add(getValueOrCreateConstantIndexOp(b, loc, multiply(row, places.size())), place);
  }

  /// s[r][j] for `count` rows from `first` on and all keys.
  void emitScores(Value first, int64_t count) {
    int64_t paddedRows = llvm::PowerOf2Ceil(count), block = vb.lanes / paddedRows;
    int64_t numPlaces = places.size();
    bool isWhole = numKeys && *numKeys % block == 0;
    // Beside the sums and a row of K.
    int64_t freeRegisters = vb.target.vectorRegisters - vb.lanes - 2;
    Value lastKey = isWhole ? Value() : vb.add(places[0], arith::SubIOp::create(b, loc, keyCount, vb.index(1)));
    vb.loop(vb.index(0), getRowsOfPlace(), block / numPlaces, {}, [&](Value firstRow, ValueRange) {
      Values keys;
      for (int64_t k = 0; k < block; ++k) {
        keys.push_back(getKey(firstRow, k));
        // Beyond the last key the last one once more.
        if (lastKey)
          keys.back() = arith::MinSIOp::create(b, loc, keys.back(), lastKey);
      }
      for (int64_t k = 0; k < block; ++k)
        prefetch(value, getKey(firstRow, k), 0, valueSize, first, count);
      Values zeros(vb.lanes, vb.splat(0));
      Values products = forEachVector(vb, headSize, zeros, [&](Value column, Value mask, ValueRange sums) {
        Values keyVectors, next(sums);
        for (Value k : keys)
          keyVectors.push_back(loadColumns(key, numBatch + 2, at({}, k, column, {}), mask));
        for (int64_t r = 0; r < count; ++r) {
          Values position = at(vb.add(first, r), {}, column, {});
          Value queryVector = vb.loadMasked(query.memref, query.getIndices(vb, position), mask);
          for (int64_t k = 0; k < block; ++k)
            next[r * block + k] = vb.multiplyAdd(queryVector, keyVectors[k], sums[r * block + k]);
        }
        return next;
      });
      // Q of so many rows is read again for each block of keys.
      if (auto loop = products.front().getDefiningOp<scf::ForOp>(); loop && count * headSize / vb.lanes > freeRegisters)
        attn::keepRolled(loop);
      Value sums = sumLanes(vb, products);
      for (int64_t r = 0; r < count; ++r) {
        Value part = block == vb.lanes
                         ? sums
                         : vector::ExtractStridedSliceOp::create(b, loc, sums, r * block, block, 1).getResult();
        vb.store(part, scores, {vb.add(first, r), getScore(firstRow, 0)});
      }
      return Values();
    });
  }

  /// for each vector of keys: body(first key, mask of the keys that there are, carried).
  Values forEachKeyVector(ValueRange init, function_ref<Values(Value, Value, ValueRange)> body) {
    if (numKeys)
      return keepRolled(forEachVector(vb, *numKeys, init, body));
    return keepRolled(vb.loop(vb.index(0), keyCount, vb.lanes, init, [&](Value first, ValueRange carried) {
      Value rest = arith::SubIOp::create(b, loc, keyCount, first);
      Value mask = vector::CreateMaskOp::create(b, loc, VectorType::get({vb.lanes}, b.getI1Type()), rest);
      return body(first, mask, carried);
    }));
  }

  /// The polynomial's coefficients fill a small register file: there, one vector at a time.
  Values keepRolled(Values results) {
    if (auto loop = results.front().getDefiningOp<scf::ForOp>(); loop && vb.target.vectorRegisters < kManyRegisters)
      attn::keepRolled(loop);
    return results;
  }

  /// p of one row in the place of s; its new maximum, sum and alpha. Returns the largest score of the tile.
  Value emitSoftmax(Value row) {
    Value head = rows.getHead(row);
    laneCode.prepare(rows.getQuery(row), head);
    Values position = at(row, {}, {}, {});
    Values best = forEachKeyVector(vb.splat(kMinusInf), [&](Value first, Value mask, ValueRange carried) {
      Value score = laneCode.apply(vb.load(scores, {row, first}), vb.add(places[0], first), 0, mask);
      if (mask)
        score = vb.select(mask, score, vb.splat(kMinusInf));
      vb.store(score, scores, {row, first});
      return Values{vb.max(score, carried.front())};
    });
    auto larger = [&](Value x, Value y) { return vb.max(x, y); };
    Value tileMax = reduceLanes(vb, best.front(), larger);
    Value oldMax = loadRowScalar(vb, rowMax, position), newMax = vb.max(tileMax, oldMax);
    // A row that has kept nothing yet: any finite maximum will do, as every p of it is selected to 0.
    Value max = newMax;
    if (laneCode.isPartial())
      max = vb.select(vb.isEqual(newMax, kMinusInf), vb.splat(0), newMax);
    auto scaledExp = [&](Value x) {
      Value difference = arith::SubFOp::create(b, loc, x, max);
      return vb.exp2(arith::MulFOp::create(b, loc, difference, vb.splat(std::numbers::log2e)));
    };
    Values sums = forEachKeyVector(vb.splat(0), [&](Value first, Value mask, ValueRange carried) {
      Value score = vb.load(scores, {row, first}), weight = scaledExp(score);
      if (mask || laneCode.isPartial())
        weight = vb.select(vb.isEqual(score, kMinusInf), vb.splat(0), weight);
      vb.store(laneCode.modifyWeight(weight, vb.add(places[0], first), 0, mask), scores, {row, first});
      return Values{arith::AddFOp::create(b, loc, carried.front(), weight)};
    });
    Value factor = scaledExp(oldMax);
    Value added =
        reduceLanes(vb, sums.front(), [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, loc, x, y); });
    storeRowScalar(vb, vb.multiplyAdd(loadRowScalar(vb, rowSum, position), factor, added), rowSum, position);
    storeRowScalar(vb, newMax, rowMax, position);
    memref::StoreOp::create(b, loc, vector::ExtractOp::create(b, loc, factor, 0), alpha, row);
    return tileMax;
  }

  /// acc[r][:] = alpha acc[r][:] + sum_j p[r][j] v_j for `count` rows from `first` on.
  void emitOutput(Value first, int64_t count) {
    // Accumulators leave registers for the broadcast weights and a vector of V.
    int64_t vectors = std::max<int64_t>(1, vb.target.vectorRegisters / 2 / count), lanes = vb.lanes;
    int64_t whole = valueSize / lanes * lanes;
    forEachBlock(vb, b.getIndexAttr(whole / lanes), vectors, {}, [&](Value vector, int64_t block, ValueRange) {
      emitColumns(first, count, arith::MulIOp::create(b, loc, vector, vb.index(lanes)), block, Value());
      return Values();
    });
    if (valueSize > whole)
      emitColumns(first, count, vb.index(whole), 1, vb.getMask(valueSize - whole));
  }

  /// Rows whose sums are in registers at once: whole rows of V at a time where they fit, so that memory is read in its
  /// order.
  int64_t getOutputRows() {
    int64_t columns = llvm::divideCeil(valueSize, vb.lanes), sums = vb.target.vectorRegisters / 2;
    return std::max<int64_t>(1, std::min(schedule.getLaneVectors(), sums / std::min<int64_t>(columns, 8)));
  }

  /// sums[r][v] += p[r][j] v_j[v] for the key of `place` at `row`.
  void addRow(Value first, int64_t count, Value row, unsigned place, ValueRange columns, Value mask, Values &sums) {
    Values valueVectors;
    for (Value c : columns)
      valueVectors.push_back(loadColumns(value, numBatch + 3, at({}, getKey(row, place), {}, c), mask));
    for (int64_t r = 0; r < count; ++r) {
      Values position = {vb.add(first, r), getScore(row, place)};
      Value weight = vb.broadcast(memref::LoadOp::create(b, loc, scores, position).getResult());
      for (auto [v, vector] : llvm::enumerate(valueVectors)) {
        Value &sum = sums[r * columns.size() + v];
        sum = vb.multiplyAdd(weight, vector, sum);
      }
    }
  }

  /// Those of `vectors` vectors of columns from `column` on; all of them masked where there is a mask.
  void emitColumns(Value first, int64_t count, Value column, int64_t vectors, Value mask) {
    Values init, columns;
    for (int64_t v = 0; v < vectors; ++v)
      columns.push_back(vb.add(column, v * vb.lanes));
    auto accAt = [&](int64_t r, int64_t v) { return acc.getIndices(vb, at(vb.add(first, r), {}, {}, columns[v])); };
    for (int64_t r = 0; r < count; ++r) {
      Value factor = vb.broadcast(memref::LoadOp::create(b, loc, alpha, vb.add(first, r)).getResult());
      for (int64_t v = 0; v < vectors; ++v)
        init.push_back(arith::MulFOp::create(b, loc, vb.loadMasked(acc.memref, accAt(r, v), mask), factor));
    }
    Values result = vb.loop(vb.index(0), getRowsOfPlace(), 1, init, [&](Value row, ValueRange carried) {
      Values sums(carried);
      for (unsigned place = 0; place < places.size(); ++place) {
        prefetch(key, getKey(row, place), schedule.getPrefetch(), headSize, first, count);
        addRow(first, count, row, place, columns, mask, sums);
      }
      return sums;
    });
    for (int64_t r = 0; r < count; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        vb.storeMasked(result[r * vectors + v], acc.memref, accAt(r, v), mask);
  }

  VectorBuilder &vb;
  OpBuilder &b;
  Location loc;
  LaneCode laneCode;
  unsigned numBatch;
  ScheduleAttr schedule;
  TileRows rows;
  Operand query, key, value, acc, rowMax, rowSum;
  OpFoldResult keys;
  bool isLong;
  // Of the current tile.
  std::optional<int64_t> numKeys;
  Value keyCount;
  Values places;
  int64_t headSize, valueSize, pitch;
  Value scores, alpha;
};

} // namespace

LogicalResult attn::cpu::lowerDecodeStep(RewriterBase &rewriter, OnlineStepOp op, const TargetInfo &target) {
  if (failed(verifyDecodeStep(op, target)))
    return failure();
  auto type = cast<FloatType>(getElementTypeOrSelf(op.getAcc().getType()));
  rewriter.setInsertionPoint(op);
  VectorBuilder vb(rewriter, op.getLoc(), target, type);
  DecodeStepLowering(vb, op).emit();
  rewriter.eraseOp(op);
  return success();
}
