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
// are one block of products, each tile takes its keys from as many places as a block
// has keys, a part of all keys apart: row i of each of them, then row i + 1. So each
// load instruction walks through memory line by line without a gap, and a few do in
// turn, which is what hardware prefetchers need to keep as many lines on their way
// while this multiplies as while nothing else is done. Where the schedule has a distance
// for it, V is prefetched while K is multiplied, and K of a later tile while V is.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "DecodeStep.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// Keys of a block, at most: as many places are read in turn as the read has whose bandwidth is the ceiling of decode.
static constexpr int64_t kMaxKeyBlock = 4;
/// A page of which so many are a distance of prefetches, or more, is short.
static constexpr int64_t kShortPageRounds = 4;

static int64_t getNumRows(OnlineStepOp step) {
  unsigned numBatch = getNumBatchDims(step);
  SmallVector<int64_t> domain = getStaticDomain(step);
  return domain[numBatch] * (numBatch > 0 ? domain[numBatch - 1] : 1);
}

int64_t attn::cpu::getKeyBlock(OnlineStepOp step) {
  auto schedule = cast<DecodeAttr>(*step.getSchedule());
  int64_t rows = std::min(getNumRows(step), schedule.getBlockQueries());
  return std::min<int64_t>(schedule.getLanes() / llvm::PowerOf2Ceil(rows), kMaxKeyBlock);
}

scf::ForOp attn::cpu::getKeyLoop(OnlineStepOp step) {
  Operation *loop = step->getParentOp();
  return dyn_cast<scf::ForOp>(step.getSchedule()->getKvHeads() > 1 ? loop->getParentOp() : loop);
}

int64_t attn::cpu::getNumPlaces(OnlineStepOp step) {
  auto schedule = cast<DecodeAttr>(*step.getSchedule());
  int64_t block = getKeyBlock(step);
  // A second row block would read what the first has left in the cache. Products of dense K and V of 8 bits take about
  // as long as memory does, and are fastest from one place that prefetch instructions run ahead of.
  bool isOneBlock = getNumRows(step) <= schedule.getBlockQueries();
  bool isNarrow = getElementTypeOrSelf(step.getKey().getType()).getIntOrFloatBitWidth() <= 8;
  return isOneBlock && (!isNarrow || step.getPaged()) && schedule.getKeyTile() % block == 0 ? block : 1;
}

DecodeStepLowering::DecodeStepLowering(VectorBuilder &vb, ArrayRef<OnlineStepOp> steps)
    : vb(vb), b(vb.b), loc(vb.loc), laneCode(vb, steps[0], LaneAxis::Keys), numBatch(getNumBatchDims(steps[0])),
      schedule(cast<DecodeAttr>(*OnlineStepOp(steps[0]).getSchedule())), rows(vb, steps[0]) {
  OnlineStepOp step = steps[0];
  SmallVector<AffineMap> maps = getMaps(step);
  query = {step.getQuery(), maps[0]};
  for (OnlineStepOp page : steps) {
    keyPages.push_back({page.getKey(), maps[1]});
    valuePages.push_back({page.getValue(), maps[2]});
  }
  acc = {step.getAcc(), maps[maps.size() - 3]};
  rowMax = {step.getRowMax(), maps[maps.size() - 2]};
  rowSum = {step.getRowSum(), maps[maps.size() - 1]};
  keys = getDomainSizes(b, step)[numBatch + 1];
  keyBlock = getKeyBlock(step);
  numPlaces = getNumPlaces(step);
  isLong = foldsManyTiles(step);
  SmallVector<int64_t> domain = getStaticDomain(step);
  headSize = domain[numBatch + 2];
  valueSize = domain[numBatch + 3];
  usesBytes = usesByteDot(step);
  usesPairs = schedule.getInstruction().getInfo().depth == 2;
  // A register holds the weights of one key, or of a pair.
  outputBlock = usesPairs ? std::min(2 * keyBlock, kMaxKeyBlock) : keyBlock;
  tileKeys = keyTile = schedule.getKeyTile();
  isPaged = step.getPaged();
  // What follows for the same head comes after all other heads.
  isInterleaved = schedule.getKvHeads() > 1;
  if (!isPaged || schedule.getPrefetch() == 0)
    return;
  // Products of a short page's K are too short for its V to come meanwhile, and those of V for the next page.
  int64_t rounds = schedule.getPrefetch() / tileKeys;
  bool isAlone = steps.size() == 1, isShort = isAlone && !isInterleaved && rounds >= kShortPageRounds;
  nextPages = findNextPages(step, keyPages, isShort ? rounds : 1);
  if (isShort || isInterleaved)
    nextValuePages = findNextPages(step, valuePages, isShort ? rounds : 1);
  if (isAlone)
    return;
  // Each tile asks for the next one: the distance is the keys of a tile.
  for (int64_t all = tileKeys * numPlaces; tileKeys < schedule.getPrefetch() && all % (2 * tileKeys) == 0;)
    tileKeys *= 2;
}

void DecodeStepLowering::emit() {
  std::optional<int64_t> numKeys = getConstantIntValue(keys);
  if (numKeys == 0)
    return;
  // One vector of scores more than fits may be written: blocks of keys are as long as vectors, at most.
  int64_t pitch = llvm::alignTo(numKeys && keyPages.size() == 1 ? std::min(*numKeys, tileKeys) : tileKeys, vb.lanes);
  scores = weights = vb.stackBuffer({rows.getCount(), pitch});
  if (usesPairs)
    weights = vb.stackBuffer({rows.getCount(), pitch}, b.getBF16Type());
  laneSums = vb.stackBuffer({rows.getCount(), vb.lanes});
  beginSums();
  if (usesBytes)
    emitQueryDigits(pitch);
  if (keyPages.size() > 1)
    foldPages();
  else
    foldKeys();
  endSums();
}

void DecodeStepLowering::foldKeys() {
  std::optional<int64_t> numKeys = getConstantIntValue(keys);
  if (!isLong || (numKeys && *numKeys <= keyTile)) {
    Values starts{vb.index(0)};
    while (isLong && numKeys == keyTile && int64_t(starts.size()) < numPlaces)
      starts.push_back(vb.index(keyTile / numPlaces * starts.size()));
    setTile(starts, keys);
    if (!nextPages.empty()) {
      nextKeyPages = nextPages;
      nextPlaces = {vb.index(0)};
      if (!nextValuePages.empty())
        askedValuePages = nextValuePages;
    }
    return emitTile();
  }
  OpFoldResult tileCount = divide(keys, keyTile), perPlace = multiply(tileCount, keyTile / numPlaces);
  Values starts;
  for (int64_t place = 0; place < numPlaces; ++place)
    starts.push_back(getValueOrCreateConstantIndexOp(b, loc, multiply(perPlace, place)));
  if (numPlaces > 1)
    prefetchFirstRows(starts);
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

OpFoldResult DecodeStepLowering::divide(OpFoldResult value, int64_t divisor) {
  return affine::makeComposedFoldedAffineApply(b, loc, b.getAffineDimExpr(0).floorDiv(divisor), {value});
}

OpFoldResult DecodeStepLowering::multiply(OpFoldResult value, int64_t factor) {
  return affine::makeComposedFoldedAffineApply(b, loc, b.getAffineDimExpr(0) * factor, {value});
}

void DecodeStepLowering::setTile(Values starts, OpFoldResult count) {
  places = std::move(starts);
  numKeys = getConstantIntValue(count);
  keyCount = getValueOrCreateConstantIndexOp(b, loc, count);
  nextKeyPages.clear();
  askedValuePages = valuePages;
  askedPlaces = places;
  // The rows of a page end with it; those of a dense tensor go on in the next tile.
  if (isPaged)
    return;
  nextKeyPages = keyPages;
  // A place is a part of all keys, of which a tile takes its share, or of the only tile of a step.
  int64_t rowsAhead = schedule.getPrefetch() / (isInterleaved ? 1 : places.size());
  nextPlaces = llvm::map_to_vector(places, [&](Value start) { return vb.add(start, rowsAhead); });
  if (isInterleaved)
    askedPlaces = nextPlaces;
}

Value DecodeStepLowering::getKey(Value row, int64_t k) {
  int64_t numPlaces = places.size();
  return vb.add(places[k % numPlaces], vb.add(row, k / numPlaces));
}

Value DecodeStepLowering::getLastKey(int64_t block) {
  bool isWhole = numKeys && *numKeys % block == 0;
  return isWhole ? Value() : vb.add(places[0], vb.subtract(keyCount, vb.index(1)));
}

Value DecodeStepLowering::limitKey(Value key, Value lastKey) { return lastKey ? vb.minimum(key, lastKey) : key; }

Value DecodeStepLowering::getRowsOfPlace() {
  return getValueOrCreateConstantIndexOp(
      b, loc, divide(numKeys ? OpFoldResult(b.getIndexAttr(*numKeys)) : OpFoldResult(keyCount), places.size()));
}

Value DecodeStepLowering::getScore(Value row, int64_t place) {
  return vb.add(getValueOrCreateConstantIndexOp(b, loc, multiply(row, places.size())), place);
}

void DecodeStepLowering::forEachRowBlock(function_ref<void(Value, int64_t)> body) {
  int64_t count = rows.getCount(), first = std::min(count, schedule.getBlockQueries());
  body(vb.index(0), first);
  if (count > first)
    forEachBlock(vb, b.getIndexAttr(count - first), first, {}, [&](Value row, int64_t some, ValueRange) {
      body(vb.add(row, first), some);
      return Values();
    });
}

void DecodeStepLowering::forEachKeyRow(Value first, Value end, int64_t step, function_ref<void(Value)> body) {
  vb.loop(first, end, step, {}, [&](Value row, ValueRange) {
    body(row);
    return Values();
  });
  if (auto loop = dyn_cast<scf::ForOp>(*std::prev(b.getInsertionPoint())))
    attn::keepRolled(loop);
}

void DecodeStepLowering::emitTile() {
  emitScores();
  Value nothing = vb.splat(-std::numeric_limits<double>::infinity());
  // The peak is carried as a vector as well: addresses take up the other registers.
  Values results = vb.loop(rows.getCount(), 1, {nothing, vb.splat(0)}, [&](Value row, ValueRange carried) {
    Value best = vb.max(emitSoftmax(row), carried[0]);
    return Values{best, usesBytes ? vb.max(emitWeightDigits(row), carried[1]) : carried[1]};
  });
  Value best = results[0];
  peak = results[1];
  if (!laneCode.isPartial())
    return emitOutput();
  // V of keys that no row keeps is not read: NaN may stand there.
  auto branch = scf::IfOp::create(b, loc, isAnyGreater(best, nothing), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  emitOutput();
}

Values DecodeStepLowering::at(Value row, Value keyIndex, Value head, Value column) {
  if (row)
    return rows.getDomain(row, {keyIndex, head, column});
  Values domain(numBatch + 1);
  domain.append({keyIndex, head, column});
  return domain;
}

Value DecodeStepLowering::loadColumns(const Operand &operand, unsigned dim, ArrayRef<Value> position, Value mask) {
  Value narrow = operand.isInnermost(dim) ? vb.loadMasked(operand.memref, operand.getIndices(vb, position), mask)
                                          : vb.loadStrided(operand, dim, position, mask);
  return vb.convert(narrow, vb.elementType);
}

Value DecodeStepLowering::loadPairsOfColumns(const Operand &operand, ArrayRef<Value> position) {
  return vb.loadPairs(operand.memref, operand.getIndices(vb, position));
}

/// Rows of K or V lie one behind the other.
bool DecodeStepLowering::isDense(const Operand &rows) {
  auto type = cast<MemRefType>(rows.memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  std::optional<unsigned> row = rows.map.getResultPosition(b.getAffineDimExpr(numBatch + 1));
  return row && succeeded(type.getStridesAndOffset(strides, offset)) && strides[*row] == type.getShape().back();
}

void DecodeStepLowering::prefetch(ArrayRef<Operand> pages, ValueRange starts, unsigned column, Value row, int64_t block,
                                  Value firstTileRow, Value round, int64_t rounds) {
  if (schedule.getPrefetch() == 0 || pages.empty() || !pages.front().isInnermost(column))
    return;
  int64_t rowBlock = schedule.getBlockQueries(), passes = llvm::divideCeil(rows.getCount(), rowBlock);
  Value pass = vb.divide(firstTileRow, rowBlock);
  Value part = vb.add(vb.multiply(pass, rounds), round);
  for (auto [place, start] : llvm::enumerate(starts)) {
    const Operand &page = getPage(pages, place);
    PrefetchTile tile{page, numBatch + 1, column, int64_t(block / places.size()),
                      column == numBatch + 2 ? headSize : valueSize};
    tile.firstRow = vb.add(start, row);
    // Rows far apart compete for the same few lines of the first-level cache.
    tile.locality = isDense(page) && !vb.target.prefetchesIntoL2 ? 3 : 2;
    emitPrefetchPart(vb, tile, part, passes * rounds);
  }
}

void DecodeStepLowering::prefetchFirstRows(ArrayRef<Value> starts) {
  auto prefetchRow = [&](const Operand &operand, unsigned column, int64_t columns, Value start) {
    PrefetchTile tile{operand, numBatch + 1, column, /*rows=*/1, columns};
    tile.firstRow = start;
    tile.locality = 3;
    if (operand.isInnermost(column))
      emitPrefetchPart(vb, tile, vb.index(0), /*parts=*/1);
  };
  for (Value start : starts)
    prefetchRow(keyPages.front(), numBatch + 2, headSize, start);
  for (Value start : starts)
    prefetchRow(valuePages.front(), numBatch + 3, valueSize, start);
}

LogicalResult attn::cpu::lowerDecodeSteps(RewriterBase &rewriter, ArrayRef<OnlineStepOp> steps,
                                          const TargetInfo &target) {
  for (OnlineStepOp step : steps)
    if (failed(verifyDecodeStep(step)))
      return failure();
  OnlineStepOp last = steps.back();
  auto type = cast<FloatType>(getElementTypeOrSelf(last.getAcc().getType()));
  rewriter.setInsertionPoint(last);
  VectorBuilder vb(rewriter, last.getLoc(), target, type);
  DecodeStepLowering(vb, steps).emit();
  for (OnlineStepOp step : steps)
    rewriter.eraseOp(step);
  return success();
}
