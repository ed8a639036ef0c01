//===- DecodeStep.cpp - a decode tile accumulates one key tile ------------===//
//
// Few rows q_r, and many keys: lanes are columns of K and V.
//   s[r][j] = q_r . k_j, lane by lane, the lanes added up for a block of rows
//             times keys at once; then, row by row over vectors of keys,
//   scores with their functions and masks; m', alpha, p = 2^((s - m') log2 e), l'
//   acc[r][:] = alpha acc[r][:] + sum_j p[r][j] v_j
// K and V are widened as they are loaded; each row of them is read once for all
// rows of the tile.
//
// If the keys come from several segments, row i of each segment is multiplied, then row
// i + 1. So each load instruction walks through memory line by line without a gap, and a
// few such walks alternate. Hardware prefetchers then keep as many lines in flight as in
// a loop that only reads. Each block of products emits a part of every attn.prefetch.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "DecodeProducts.h"
#include "attn/Schedule/Schedule.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "llvm/Support/MathExtras.h"
#include <limits>
#include <numeric>

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// Vectors of at most this many bits are much narrower than a cache line; and how many of them a step takes at most.
static constexpr unsigned kNarrowBits = 128;
static constexpr int64_t kMaxVectorsAtOnce = 4;

/// The factor of keys in blocks of narrow vectors, over those that a sum over their few lanes takes: each block loads
/// and stores all of acc.
static constexpr int64_t kNarrowOutputBlocks = 2;

static bool hasManyNarrowVectors(const TargetInfo &target) {
  return target.vectorBits <= kNarrowBits && target.vectorRegisters >= kManyRegisters;
}

static OpFoldResult multiply(VectorBuilder &vb, OpFoldResult value, int64_t factor) {
  return affine::makeComposedFoldedAffineApply(vb.b, vb.loc, vb.b.getAffineDimExpr(0) * factor, {value});
}

static int64_t getSize(const Operand &operand, unsigned position) {
  return operand.getSize(*operand.map.getResultPosition(getAffineDimExpr(position, operand.map.getContext())));
}

DecodeTile::DecodeTile(VectorBuilder &vb, OnlineStepOp step, const DecodeProducts &products)
    : vb(vb), schedule(cast<DecodeAttr>(*step.getSchedule())), products(products), rows(vb, step), prefetches(vb, step),
      maxKeys(getMaxTileKeys(step)) {
  OpBuilder &b = vb.b;
  SmallVector<AffineMap> maps = getMaps(step);
  query = {step.getQuery(), maps[0]};
  state = {{step.getAcc(), maps[maps.size() - 3]},
           {step.getRowMax(), maps[maps.size() - 2]},
           {step.getRowSum(), maps[maps.size() - 1]}};
  for (Value key : step.getKeySegments())
    keys.push_back({key, maps[1]});
  for (Value value : step.getValueSegments())
    values.push_back({value, maps[2]});
  numKeys = multiply(vb, getDomainSizes(b, step)[getNumBatchDims(step) + 1], keys.size());
  // The last block of keys may write up to one vector of scores beyond the last key.
  int64_t count = rows.getMaxCount();
  int64_t pitch =
      llvm::alignTo(maxKeys * keys.size(), std::max(vb.lanes, schedule.getInstruction().getInfo().keyMultiple));
  scores = weights = vb.stackBuffer({count, pitch});
  products.allocate(*this, step);
}

std::unique_ptr<DecodeProducts> attn::cpu::createDecodeProducts(Instruction instruction) {
  switch (instruction) {
  case Instruction::Pairs: return std::make_unique<PairDecodeProducts>();
  case Instruction::Bytes: return std::make_unique<ByteDecodeProducts>();
  case Instruction::AMX: return std::make_unique<AMXDecodeProducts>();
  default: return std::make_unique<DecodeProducts>();
  }
}

static void emitStep(const DecodeTile &t, LaneCode &laneCode) {
  VectorBuilder &vb = t.vb;
  t.products.emitScores(t);
  Value nothing = vb.splat(-std::numeric_limits<double>::infinity());
  // The peak is carried as a vector as well, since addresses occupy the scalar registers.
  Values results = t.rows.forEach({nothing, vb.splat(0)}, [&](Value row, ValueRange carried) {
    Value best = vb.max(emitSoftmax(t, laneCode, row), carried[0]);
    return Values{best, t.products.finishWeights(t, row, carried[1])};
  });
  Value best = results[0], peak = results[1];
  if (!laneCode.isPartial())
    return t.products.emitOutput(t, peak);
  // V of keys that no row keeps is not read, as it may be NaN.
  auto branch = scf::IfOp::create(vb.b, vb.loc, isAnyGreater(vb, best, nothing), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(vb.b);
  vb.b.setInsertionPointToStart(branch.thenBlock());
  t.products.emitOutput(t, peak);
}

int64_t attn::cpu::getHeadSize(const DecodeTile &t) { return getSize(t.query, getHeadPos(t)); }

int64_t attn::cpu::getValueSize(const DecodeTile &t) { return getSize(t.state.acc, getValuePos(t)); }

std::optional<int64_t> attn::cpu::getStaticKeys(const DecodeTile &t) { return getConstantIntValue(t.numKeys); }

Value attn::cpu::getKeyCount(const DecodeTile &t) {
  return getValueOrCreateConstantIndexOp(t.vb.b, t.vb.loc, t.numKeys);
}

int64_t attn::cpu::getKeyBlock(const DecodeTile &t) { return t.schedule.getKeyBlock(t.rows.getMaxCount()); }

int64_t DecodeProducts::getOutputBlock(const DecodeTile &t) const {
  return hasManyNarrowVectors(t.vb.target) ? getKeyBlock(t) * kNarrowOutputBlocks : getKeyBlock(t);
}

Value attn::cpu::getLastKey(const DecodeTile &t, int64_t block) {
  VectorBuilder &vb = t.vb;
  bool isWhole = getStaticKeys(t) && *getStaticKeys(t) % block == 0;
  return isWhole ? Value() : vb.subtract(getKeyCount(t), vb.index(1));
}

Value attn::cpu::limitKey(VectorBuilder &vb, Value key, Value lastKey) {
  return lastKey ? vb.minimum(key, lastKey) : key;
}

Value attn::cpu::getRowsOfSegment(const DecodeTile &t) {
  AffineExpr rows = t.vb.b.getAffineDimExpr(0).floorDiv(getNumSegments(t));
  return getValueOrCreateConstantIndexOp(t.vb.b, t.vb.loc,
                                         affine::makeComposedFoldedAffineApply(t.vb.b, t.vb.loc, rows, {t.numKeys}));
}

Value attn::cpu::getScore(const DecodeTile &t, Value row, int64_t segment) {
  VectorBuilder &vb = t.vb;
  return vb.add(getValueOrCreateConstantIndexOp(vb.b, vb.loc, multiply(vb, row, getNumSegments(t))), segment);
}

void attn::cpu::forEachRowBlock(const DecodeTile &t, function_ref<void(Value, int64_t)> body) {
  VectorBuilder &vb = t.vb;
  int64_t count = t.rows.getMaxCount(), first = std::min(count, t.schedule.getBlockQueries());
  if (!t.rows.isStatic()) {
    // Blocks of fewer and fewer rows, powers of two.
    Value from = vb.index(0), total = t.rows.getCount();
    for (int64_t block = t.schedule.getBlockQueries(); block > 0; block /= 2) {
      Value to = block == 1 ? total : vb.multiply(vb.divide(total, block), block);
      vb.loop(from, to, block, {}, [&](Value row, ValueRange) {
        body(row, block);
        return Values();
      });
      from = to;
    }
    return;
  }
  body(vb.index(0), first);
  if (count > first)
    forEachBlock(vb, vb.b.getIndexAttr(count - first), first, {}, [&](Value row, int64_t some, ValueRange) {
      body(vb.add(row, first), some);
      return Values();
    });
}

void attn::cpu::forEachKeyRow(VectorBuilder &vb, Value first, Value end, int64_t step, function_ref<void(Value)> body) {
  vb.loop(first, end, step, {}, [&](Value row, ValueRange) {
    body(row);
    return Values();
  });
  if (auto loop = dyn_cast<scf::ForOp>(*std::prev(vb.b.getInsertionPoint())))
    attn::keepRolled(loop);
}

Values attn::cpu::at(const DecodeTile &t, Value row, Value keyIndex, Value head, Value column) {
  if (row)
    return t.rows.getDomain(row, {keyIndex, head, column});
  Values domain(getHeadPos(t) - 1);
  domain.append({keyIndex, head, column});
  return domain;
}

Value attn::cpu::loadColumns(VectorBuilder &vb, const Operand &operand, unsigned dim, ArrayRef<Value> position,
                             Value mask) {
  Value narrow = operand.isInnermost(dim) ? vb.loadMasked(operand.memref, operand.getIndices(vb, position), mask)
                                          : vb.loadStrided(operand, dim, position, mask);
  return vb.convert(narrow, vb.elementType);
}

Value attn::cpu::loadPairsOfColumns(VectorBuilder &vb, const Operand &operand, ArrayRef<Value> position) {
  return vb.loadPairs(operand.memref, operand.getIndices(vb, position));
}

int64_t attn::cpu::getVectorsAtOnce(VectorBuilder &vb, int64_t count, int64_t bytes) {
  if (!hasManyNarrowVectors(vb.target) || count == 0)
    return 1;
  return std::gcd(count, std::clamp<int64_t>(vb.target.lineBytes / bytes, 1, kMaxVectorsAtOnce));
}

/// True if the rows of K or V are contiguous.
static bool isDense(const Operand &rows) {
  auto type = cast<MemRefType>(rows.memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  std::optional<unsigned> row = rows.map.getResultPosition(getAffineDimExpr(0, type.getContext()));
  return row && succeeded(type.getStridesAndOffset(strides, offset)) && strides[*row] == type.getShape().back();
}

void attn::cpu::prefetch(const DecodeTile &t, Contraction product, Value row, int64_t block, Value firstTileRow,
                         Value round, int64_t rounds) {
  VectorBuilder &vb = t.vb;
  int64_t rowBlock = t.schedule.getBlockQueries(), passes = llvm::divideCeil(t.rows.getMaxCount(), rowBlock);
  for (PrefetchTile tile : t.prefetches.get(product)) {
    // Each pass requests its share of the lines; one of a dynamic number of passes requests all of them.
    Value part = round;
    if (t.rows.isStatic())
      part = vb.add(vb.multiply(vb.divide(firstTileRow, rowBlock), rounds), round);
    else
      passes = 1;
    int64_t blockRows = block / getNumSegments(t), parts = passes * rounds;
    if (tile.rows == t.maxKeys) {
      tile.rows = blockRows;
      tile.firstRow = vb.add(tile.firstRow, row);
    } else { // All blocks share the tile.
      part = vb.add(vb.multiply(vb.divide(row, blockRows), parts), part);
      parts *= llvm::divideCeil(t.maxKeys, blockRows);
    }
    // Strided rows compete for few sets of the L1 cache.
    tile.locality = isDense(tile.operand) && !vb.target.prefetchesIntoL2 ? 3 : 2;
    emitPrefetchPart(vb, tile, part, parts);
  }
}

LogicalResult attn::cpu::lowerDecodeStep(RewriterBase &rewriter, OnlineStepOp step, const TargetInfo &target) {
  if (failed(verifyDecodeStep(step)))
    return failure();
  rewriter.setInsertionPoint(step);
  VectorBuilder vb(rewriter, step.getLoc(), target, cast<FloatType>(getElementTypeOrSelf(step.getAcc().getType())));
  if (getStaticSize(step, DimKind::Key) != 0) {
    std::unique_ptr<DecodeProducts> products = createDecodeProducts(step.getSchedule()->getInfo().instruction);
    DecodeTile tile(vb, step, *products);
    LaneCode laneCode(vb, ScoreFunctions::of(step), LaneAxis::Keys);
    emitStep(tile, laneCode);
  }
  rewriter.eraseOp(step);
  return success();
}
