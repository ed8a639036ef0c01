//===- PrefillStep.cpp - a prefill tile accumulates one key tile ----------===//
//
// The transposed tile, for each block of lanes:
//   S^T = K Q^T, with the score functions applied as rows are stored
//   m' = max(m, rows), alpha = 2^((m - m') log2 e)
//   P^T = 2^((S^T - m') log2 e), l' = alpha l + sum of rows
// and then O^T = alpha O^T + V^T P^T. The maximum is subtracted before the
// factor log2 e: the difference is exact where it matters, and a score near the
// most negative finite number, an ordinary number, does not overflow.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PrefillProducts.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "llvm/ADT/bit.h"
#include <numbers>

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// Rows of K or columns of V of a block of fewer vectors than the schedule's, at most: the last block may have few.
static constexpr int64_t kMaxBlockRows = 8;

/// A tile instruction multiplies whole tiles of keys.
static int64_t getProductKeys(OnlineStepOp step) {
  return llvm::alignTo(getMaxTileKeys(step), step.getSchedule()->getInfo().keyMultiple);
}

static PrefillSizes getSizes(OnlineStepOp step) {
  int64_t lanes = getStaticSize(step, DimKind::Query);
  return {ShapedType::isDynamic(lanes) ? step.getSchedule()->getQueryTile() : lanes, getProductKeys(step),
          getStaticSize(step, DimKind::HeadSize), getStaticSize(step, DimKind::ValueSize)};
}

static std::optional<double> getFoldedScale(const PrefillTile &t, const LaneCode &laneCode, OnlineStepOp step) {
  std::optional<double> scale = laneCode.getOnlyScale();
  // m log2 e is rounded like a score, but differently in the next tile: by more than f32 parts are. Its error is a
  // factor of l, which lse compensates for, but not m and ln l as separate results.
  return t.products.multipliesWholeTiles() && !step.getExactMax() && t.schedule.getParts() < kMaxElementParts &&
                 scale && *scale > 0 && *scale * std::numbers::log2e <= 1
             ? scale
             : std::nullopt;
}

PrefillTile::PrefillTile(VectorBuilder &vb, OnlineStepOp step, const LaneCode &laneCode, PrefillProducts &products)
    : vb(vb), schedule(cast<PrefillAttr>(*step.getSchedule())), prefetches(vb, step), sizes(getSizes(step)),
      products(products) {
  SmallVector<AffineMap> maps = getMaps(step);
  query = {step.getQuery(), maps[0]};
  key = {step.getKey(), maps[1]};
  value = {step.getValue(), maps[2]};
  state = {{step.getAcc(), maps[maps.size() - 3]},
           {step.getRowMax(), maps[maps.size() - 2]},
           {step.getRowSum(), maps[maps.size() - 1]}};
  endLane = getDomainSizes(vb.b, step)[getNumBatchDims(step)];
  numKeys = getDomainSizes(vb.b, step)[getNumBatchDims(step) + 1];
  keyCount = getValueOrCreateConstantIndexOp(vb.b, vb.loc, numKeys);
  scoreWeight = step.getScoreWeight();
  // Blocks narrower than a tile read columns of S^T: padding rows by a cache line spreads them over all sets of the
  // cache.
  bool isNarrow = sizes.lanes > getBlockLanes(*this) && !products.multipliesWholeTiles();
  int64_t padding = isNarrow ? kBufferAlignment / (vb.elementType.getWidth() / 8) : 0;
  foldedScale = getFoldedScale(*this, laneCode, step);
  // The code of weights is unrolled: with a region, LLVM would take minutes. Rows past a dynamic end have no bias.
  isByUnits = schedule.getOverlap() && !laneCode.modifiesWeights() && getConstantIntValue(numKeys) == sizes.keys &&
              (!hasDynamicRows(*this) || !laneCode.isPartial());
  int64_t places = isByUnits ? 2 : 1, width = isByUnits ? PrefillAttr::kUnitRows : sizes.lanes;
  scores = vb.stackBuffer({places * sizes.keys, width + padding});
  alpha = vb.stackBuffer({sizes.lanes});
  products.allocate(*this);
}

FloatType attn::cpu::getWeightType(const PrefillTile &t) {
  if (t.schedule.getParts() > 1)
    return t.vb.elementType;
  return cast<FloatType>(getElementTypeOrSelf(t.value.memref.getType()));
}

Values attn::cpu::at(const PrefillTile &t, const Operand &operand, Value lane, Value keyIndex, Value head,
                     Value column) {
  Values domain(getNumBatch(t));
  domain.append({lane, keyIndex, head, column});
  return operand.getIndices(t.vb, domain);
}

Values attn::cpu::atPair(const PrefillTile &t, Value pairs, Value pair, Value other) {
  Values indices(cast<MemRefType>(pairs.getType()).getRank() - 2, t.vb.index(0));
  indices.append({pair, t.vb.multiply(other, 2)});
  return indices;
}

int64_t attn::cpu::getBlockRows(const PrefillTile &t, int64_t vectors) {
  int64_t rows = t.schedule.getBlockRows();
  if (!hasDynamicRows(t) || vectors == t.schedule.getBlockVectors())
    return rows;
  return std::max(rows, std::min(kMaxBlockRows, rows * t.schedule.getBlockVectors() / vectors));
}

void attn::cpu::prefetch(const PrefillTile &t, Contraction product, const LaneBlock &block, Value position,
                         int64_t positions) {
  VectorBuilder &vb = t.vb;
  // With a dynamic number of blocks, each prefetches all lines.
  int64_t blocks = 1;
  Value part = position;
  if (!hasDynamicRows(t)) {
    blocks = llvm::divideCeil(t.sizes.lanes, getBlockLanes(t));
    part = vb.add(vb.multiply(vb.divide(block.first, getBlockLanes(t)), positions), position);
  }
  for (const PrefetchTile &tile : t.prefetches.get(product))
    emitPrefetchPart(vb, tile, part, positions * blocks);
}

//===----------------------------------------------------------------------===//
// Blocks of lanes
//===----------------------------------------------------------------------===//

namespace {
/// Lanes that blocks of so many vectors take; all of a static number where `end` is null.
struct LaneRange {
  Value first, end;
  int64_t vectors;
};
} // namespace

/// With a dynamic number of rows, ever narrower blocks take the rest.
static void forEachLaneRange(const PrefillTile &t, function_ref<void(const LaneRange &)> body) {
  VectorBuilder &vb = t.vb;
  int64_t vectors = t.schedule.getBlockVectors();
  if (!hasDynamicRows(t))
    return body({{}, {}, vectors});
  Value first = vb.index(0), end = cast<Value>(t.endLane);
  for (; vectors > 0; vectors = llvm::bit_floor(uint64_t(vectors - 1))) {
    Value rest = vectors == 1 ? vb.index(0) : vb.remainder(vb.subtract(end, first), vectors * vb.lanes);
    Value last = vb.subtract(end, rest);
    body({first, last, vectors});
    first = last;
  }
}

/// The last block of a static number of lanes may have fewer vectors.
static void forEachLaneBlock(const PrefillTile &t, const LaneRange &range, function_ref<void(const LaneBlock &)> body) {
  VectorBuilder &vb = t.vb;
  if (range.end) {
    vb.loop(range.first, range.end, range.vectors * vb.lanes, {}, [&](Value lane, ValueRange) {
      body({lane, range.vectors});
      return Values();
    });
    return;
  }
  forEachBlock(vb, vb.b.getIndexAttr(t.sizes.lanes), getBlockLanes(t), {}, [&](Value lane, int64_t lanes, ValueRange) {
    body({lane, lanes / vb.lanes});
    return Values();
  });
}

Values attn::cpu::loadMaxima(const PrefillTile &t, const LaneBlock &block) {
  Values maxima;
  for (int64_t v = 0; v < block.vectors; ++v)
    maxima.push_back(t.vb.load(t.state.rowMax.memref, at(t, t.state.rowMax, getLane(t, block, v), {}, {}, {})));
  return maxima;
}

/// S^T, then P^T in its place, of one block.
static void emitBlockWeights(const PrefillTile &t, LaneCode &laneCode, const LaneBlock &block) {
  laneCode.prepare(getLanes(t, block));
  Values oldMax = loadMaxima(t, block);
  Values max = emitScores(t, laneCode, block, startMaxima(t, oldMax));
  emitSoftmax(t, laneCode, block, oldMax, finishMaxima(t, max, oldMax));
}

Value attn::cpu::getKeyMatrix(const PrefillTile &t) {
  unsigned key = getNumBatch(t) + 1;
  return t.schedule.getParts() > 1 ? getPartsMatrix(t.vb, t.key.memref)
                                   : getMatrix(t.vb, getWholeTile(t.vb, t.key, key, t.sizes.keys), key, key + 1);
}

Value attn::cpu::getQueryMatrix(const PrefillTile &t) {
  return getPairMatrix(t.vb, t.pairs.query, t.schedule.getParts());
}

Value attn::cpu::getValueMatrix(const PrefillTile &t) {
  unsigned key = getNumBatch(t) + 1;
  return t.schedule.getParts() > 1 ? getPartsMatrix(t.vb, t.value.memref)
                                   : getMatrix(t.vb, getWholeTile(t.vb, t.value, key, t.sizes.keys), key + 2, key);
}

static void emitStep(const PrefillTile &t, LaneCode &laneCode) {
  VectorBuilder &vb = t.vb;
  t.products.begin(t);
  forEachLaneRange(t, [&](const LaneRange &range) {
    forEachLaneBlock(t, range, [&](const LaneBlock &block) {
      emitBlockWeights(t, laneCode, block);
      t.products.endWeights(t, block);
    });
  });
  forEachLaneRange(t, [&](const LaneRange &range) {
    int64_t blockRows = getBlockRows(t, range.vectors);
    forEachBlock(vb, vb.b.getIndexAttr(t.sizes.value), blockRows, {}, [&](Value column, int64_t rows, ValueRange) {
      forEachLaneBlock(t, range, [&](const LaneBlock &block) { emitOutput(t, column, rows, block); });
      return Values();
    });
  });
  t.products.end(t);
}

//===----------------------------------------------------------------------===//
// The form that attn-tile leaves
//===----------------------------------------------------------------------===//

/// True for (…, paired floordiv 2, other, paired mod 2).
static bool isPairMap(AffineMap map, unsigned paired, unsigned other) {
  AffineExpr dim = getAffineDimExpr(paired, map.getContext());
  return map.getNumResults() >= 3 &&
         map.getResults().take_back(3) ==
             ArrayRef<AffineExpr>({dim.floorDiv(2), getAffineDimExpr(other, map.getContext()), dim % 2});
}

/// `type` is that of the state.
static LogicalResult verifyPrefillStep(OnlineStepOp op, Type type) {
  ScheduleAttr schedule = *op.getSchedule();
  const InstructionInfo &info = schedule.getInfo();
  bool arePairs = info.queryLayout == OperandLayout::Pairs, areColumns = info.valueLayout == OperandLayout::Columns;
  Type rowType = arePairs ? BFloat16Type::get(op.getContext()) : Type(type);
  if (getElementTypeOrSelf(op.getQuery().getType()) != rowType)
    return op.emitOpError("no CPU kernel for inputs of type ")
           << getElementTypeOrSelf(op.getQuery().getType()) << " with a state of type " << type;
  SmallVector<int64_t> domain = getStaticDomain(op);
  unsigned numBatch = getNumBatchDims(op);
  for (auto [position, size] : llvm::enumerate(domain))
    if (ShapedType::isDynamic(size) && position != numBatch + 1 && position != numBatch)
      return op.emitOpError("expected a tile of static size but for its keys and queries; run attn-tile");
  if (!op.getMoreKeys().empty())
    return op.emitOpError("expected keys of one segment in a prefill tile, found ") << op.getMoreKeys().size() + 1;
  if (failed(verifyTileKeys(op)))
    return failure();
  for (int64_t size : ArrayRef(domain).take_front(numBatch))
    if (size != 1)
      return op.emitOpError("expected a tile of one batch index and head, found ") << size << "; run attn-tile";
  SmallVector<AffineMap> maps = getMaps(op);
  for (Value rows : {op.getKey(), op.getValue()})
    if (getElementTypeOrSelf(rows.getType()) != rowType)
      return op.emitOpError("expected keys and values of type ") << rowType << "; run attn-tile";
  bool isValuePacked = areColumns ? Operand{op.getValue(), maps[2]}.isInnermost(numBatch + 1)
                                  : isPairMap(maps[2], numBatch + 1, numBatch + 3);
  if (arePairs && (!isPairMap(maps[0], numBatch + 2, numBatch) || !isValuePacked ||
                   !(Operand{op.getKey(), maps[1]}.isInnermost(numBatch + 2))))
    return op.emitOpError("expected pairs of Q as (d floordiv 2, i, d mod 2), rows of K, and V as ")
           << (areColumns ? "(e, j)" : "pairs (j floordiv 2, e, j mod 2)") << "; run attn-tile";
  int64_t parts = cast<PrefillAttr>(schedule).getParts();
  for (auto [i, map] : llvm::enumerate(ArrayRef(maps).take_front(3)))
    if (int64_t found = getNumParts(op->getOperand(i), map); found != parts)
      return op.emitOpError("expected Q, K and V of ") << parts << " parts, found " << found << "; run attn-tile";
  if (domain[numBatch + 2] % info.headMultiple != 0 || (areColumns && domain[numBatch + 3] % info.headMultiple != 0))
    return op.emitOpError("expected head sizes that are multiples of ") << info.headMultiple << " for its instruction";
  for (unsigned i : {1u, 2u})
    if (areColumns && !hasWholeTile({op->getOperand(i), maps[i]}, numBatch + 1, getProductKeys(op)))
      return op.emitOpError("expected a whole key tile of ")
             << getProductKeys(op) << " keys, or the first ones of it, for its instruction; run attn-tile";
  if (parts > 1 && (!hasPartsInOrder({op.getKey(), maps[1]}, numBatch + 1, numBatch + 2) ||
                    !hasPartsInOrder({op.getValue(), maps[2]}, numBatch + 3, numBatch + 1)))
    return op.emitOpError("expected contiguous tiles of K as (part, j, d) and of V as (part, e, j); run attn-tile");
  for (unsigned i : {0u, unsigned(maps.size() - 3), unsigned(maps.size() - 2), unsigned(maps.size() - 1)})
    if (!(arePairs && i == 0) && !(Operand{op->getOperand(i), maps[i]}.isInnermost(numBatch)))
      return op.emitOpError("expected query rows to be the innermost dimension of Q and the state; run attn-tile");
  int64_t lanes = schedule.getLanes();
  if (!ShapedType::isDynamic(domain[numBatch]) && domain[numBatch] % lanes != 0)
    return op.emitOpError("expected query rows to be a multiple of ") << lanes << ", found " << domain[numBatch];
  return success();
}

LogicalResult attn::cpu::lowerPrefillStep(RewriterBase &rewriter, OnlineStepOp op, const TargetInfo &target) {
  auto type = cast<FloatType>(getElementTypeOrSelf(op.getAcc().getType()));
  if (failed(verifyPrefillStep(op, type)))
    return failure();
  rewriter.setInsertionPoint(op);
  VectorBuilder vb(rewriter, op.getLoc(), target, type);
  LaneCode laneCode(vb, ScoreFunctions::of(op));
  std::unique_ptr<PrefillProducts> products = createPrefillProducts(op.getSchedule()->getInfo().instruction);
  PrefillTile tile(vb, op, laneCode, *products);
  tile.isByUnits ? emitUnits(tile, laneCode) : emitStep(tile, laneCode);
  rewriter.eraseOp(op);
  return success();
}
