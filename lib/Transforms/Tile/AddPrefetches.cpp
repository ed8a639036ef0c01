//===- AddPrefetches.cpp - attn-add-prefetches ----------------------------===//
//
// Before: loops over key tiles from attn-tile. After: before each step, attn.prefetch of the data of a later step.
// Consecutive rows continue in memory, so the next tile is a number of rows ahead. Rows of a page end with it. So the
// ops that find a page, the lookup in the block table and its slice, are cloned for the next iteration of the loop.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
#include "attn/Schedule/Schedule.h"
#include "attn/Transforms/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

namespace attn {
#define GEN_PASS_DEF_ADDPREFETCHESPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// A page is short if at least this many make up the prefetch distance. The products of its K then take too little time
/// to hide its V, and those of V to hide the next page.
static constexpr int64_t kShortPageRounds = 4;
/// Bits of a cache line.
static constexpr int64_t kLineBits = 512;

namespace {

/// The elements that a step reads, as (row, column) of tiles.
struct Source {
  SmallVector<Value> tiles;
  AffineMap map;
};

/// The loops over keys: those that carry the step's running state, innermost first. None around a single tile.
SmallVector<scf::ForOp> getKeyLoops(OnlineStepOp step) {
  SmallVector<scf::ForOp> loops;
  Value state = step.getDpsInits().front();
  while (true) {
    if (auto part = state.getDefiningOp<tensor::ExtractSliceOp>()) // the heads that share a key head
      state = part.getSource();
    auto carried = dyn_cast<BlockArgument>(state);
    if (!carried)
      break;
    auto loop = dyn_cast<scf::ForOp>(carried.getOwner()->getParentOp());
    if (!loop)
      break;
    loops.push_back(loop);
    state = loop.getTiedLoopInit(carried)->get();
  }
  return loops;
}

/// Adds prefetches before a step.
class PrefetchBuilder {
public:
  PrefetchBuilder(OnlineStepOp step)
      : b(step), step(step), maps(getMaps(step)), domain(getStaticDomain(step)), query(getNumBatchDims(step)),
        loops(getKeyLoops(step)), hasOtherTiles(step->getParentOfType<scf::ForallOp>()) {}

  void addToPrefill(PrefillAttr schedule);
  void addToDecode(DecodeAttr schedule);

private:
  unsigned keyPos() const { return query + 1; }
  unsigned headPos() const { return query + 2; }
  unsigned valuePos() const { return query + 3; }
  /// False for the only tile of a kernel: the memory after it is not its own.
  bool hasNextTile() const { return hasOtherTiles || !loops.empty(); }

  void create(const Source &source, Value row, Value column, int64_t rows, int64_t columns,
              std::optional<Contraction> beside);
  void addDense(Value operand, AffineMap map);
  void addFirstRows(scf::ForOp loop, const Source &source, int64_t columns);
  void addHeadsInOrder(scf::ForOp loop, scf::ForOp heads, const Source &source, int64_t numHeads, int64_t rows,
                       int64_t columns, Contraction product);
  void addSegments(DecodeAttr schedule, Contraction product);

  OpBuilder b;
  OnlineStepOp step;
  SmallVector<AffineMap> maps;
  SmallVector<int64_t> domain;
  unsigned query;
  SmallVector<scf::ForOp> loops;
  bool hasOtherTiles;
};

Value index(OpBuilder &b, Location loc, int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }

Value add(OpBuilder &b, Location loc, Value x, Value y) { return b.createOrFold<arith::AddIOp>(loc, x, y); }

Value isBefore(OpBuilder &b, Location loc, Value x, Value end) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, x, end);
}

Value select(OpBuilder &b, Location loc, Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, loc, condition, x, y);
}

/// `map` over the dimensions `row` and `column` only: all others of a tile have size 1.
AffineMap restrictToRows(AffineMap map, unsigned row, unsigned column) {
  MLIRContext *ctx = map.getContext();
  SmallVector<AffineExpr> dims(map.getNumDims(), getAffineConstantExpr(0, ctx));
  dims[row] = getAffineDimExpr(0, ctx);
  dims[column] = getAffineDimExpr(1, ctx);
  return map.replaceDimsAndSymbols(dims, {}, 2, 0);
}

/// The operands, or the sources of their packs. None if these are elsewhere, or have no rows or columns.
std::optional<Source> findSource(ValueRange operands, AffineMap map, unsigned row, unsigned column) {
  SmallVector<Value> tiles(operands);
  if (auto pack = tiles.front().getDefiningOp<PackOp>()) {
    tiles = {pack.getInput()};
    map = getMaps(pack).front();
    row = getNumBatchDims(pack);
    column = row + 1;
  }
  if (tiles.front().getDefiningOp<GatherPagesOp>() || !map.isFunctionOfDim(row) || !map.isFunctionOfDim(column))
    return std::nullopt;
  return Source{tiles, restrictToRows(map, row, column)};
}

void PrefetchBuilder::create(const Source &source, Value row, Value column, int64_t rows, int64_t columns,
                             std::optional<Contraction> beside) {
  Location loc = step.getLoc();
  auto product = beside ? ContractionAttr::get(b.getContext(), *beside) : ContractionAttr();
  PrefetchOp::create(b, loc, source.tiles, row, column, rows, columns, product, source.map);
}

//===----------------------------------------------------------------------===//
// Many query rows
//===----------------------------------------------------------------------===//

/// The bias or mask of the next key tile; after the last one, that of the first key tile of the next query tile.
void PrefetchBuilder::addDense(Value operand, AffineMap map) {
  Location loc = step.getLoc();
  std::optional<Source> source = findSource(operand, map, query, keyPos());
  if (!source)
    return;
  int64_t queries = domain[query];
  Value row = index(b, loc, queries), column = index(b, loc, 0);
  if (!loops.empty()) {
    scf::ForOp loop = loops.front();
    Value key = loop.getInductionVar(),
          isThere = isBefore(b, loc, add(b, loc, key, loop.getStep()), loop.getUpperBound());
    Value back = b.createOrFold<arith::SubIOp>(loc, loop.getLowerBound(), key);
    row = select(b, loc, isThere, index(b, loc, 0), row);
    column = select(b, loc, isThere, loop.getStep(), back);
  } else if (!hasOtherTiles) {
    return;
  }
  // The last element of each line: a row may begin inside a line, and this tile has read the first line of the next
  // one.
  int64_t bits = std::max(8u, getElementTypeOrSelf(source->tiles.front().getType()).getIntOrFloatBitWidth());
  column = add(b, loc, column, index(b, loc, kLineBits / bits - 1));
  int64_t keys = getMaxTileKeys(step);
  // Twice, as all of it may come from memory, and a request that finds no free line-fill buffer is dropped.
  for (Contraction product : {Contraction::Scores, Contraction::Values})
    create(*source, row, column, queries, keys, product);
}

void PrefetchBuilder::addToPrefill(PrefillAttr schedule) {
  Location loc = step.getLoc();
  int64_t distance = schedule.getPrefetch(), queries = domain[query];
  if (distance == 0 || !hasNextTile())
    return;
  int64_t keys = getMaxTileKeys(step);
  Value ahead = index(b, loc, distance), zero = index(b, loc, 0);
  if (std::optional<Source> source = findSource(step.getKey(), maps[1], keyPos(), headPos()))
    create(*source, ahead, zero, keys, domain[headPos()], Contraction::Scores);
  std::optional<Source> nextQuery =
      hasOtherTiles ? findSource(step.getQuery(), maps[0], query, headPos()) : std::nullopt;
  if (nextQuery)
    create(*nextQuery, index(b, loc, queries), zero, queries, domain[headPos()], Contraction::Scores);
  unsigned next = 3;
  for (Value dense : {step.getBias(), step.getMask()})
    if (dense)
      addDense(dense, maps[next++]);
  if (std::optional<Source> source = findSource(step.getValue(), maps[2], keyPos(), valuePos()))
    create(*source, ahead, zero, keys, domain[valuePos()], Contraction::Values);
}

//===----------------------------------------------------------------------===//
// Few query rows
//===----------------------------------------------------------------------===//

/// The ops that find `tiles` in an iteration of `loop`.
SetVector<Operation *> getLookup(scf::ForOp loop, ValueRange tiles) {
  SetVector<Operation *> lookup;
  BackwardSliceOptions options;
  options.inclusive = options.omitBlockArguments = true;
  options.filter = [&](Operation *op) { return loop->isProperAncestor(op); };
  for (Value tile : tiles)
    if (failed(getBackwardSlice(tile, &lookup, options)))
      return {};
  if (!llvm::all_of(lookup, isPure))
    return {}; // a user's loop, which calls or stores
  return lookup;
}

/// True for slices of a cache whose pages the loop looks up.
bool areInPages(scf::ForOp loop, ValueRange tiles) {
  return loop && llvm::any_of(getLookup(loop, tiles), [](Operation *op) { return isa<tensor::ExtractOp>(op); });
}

/// Clones `tiles` for induction variable `iv` of the loop, and other values as in `mapping`, at the builder's position.
SmallVector<Value> cloneFor(OpBuilder &b, scf::ForOp loop, Value iv, ValueRange tiles, IRMapping mapping = {}) {
  mapping.map(loop.getInductionVar(), iv);
  for (Operation *op : getLookup(loop, tiles))
    b.clone(*op, mapping);
  return llvm::map_to_vector(tiles, [&](Value tile) { return mapping.lookupOrDefault(tile); });
}

/// Prefetches the first row of each segment, all at once before the loop: no other line is in flight yet.
void PrefetchBuilder::addFirstRows(scf::ForOp loop, const Source &source, int64_t columns) {
  Location loc = step.getLoc();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop);
  SmallVector<Value> first = cloneFor(b, loop, loop.getLowerBound(), source.tiles);
  create({first, source.map}, index(b, loc, 0), index(b, loc, 0), /*rows=*/1, columns, std::nullopt);
}

/// The pages from which a loop around the step takes a few rows per iteration. The segments themselves if there is no
/// such loop.
SmallVector<Value> getPages(OnlineStepOp step, ArrayRef<Value> segments) {
  SmallVector<Value> pages;
  auto loop = dyn_cast<scf::ForOp>(step->getParentOp());
  for (Value segment : segments) {
    auto part = segment.getDefiningOp<tensor::ExtractSliceOp>();
    auto page = part ? part.getSource().getDefiningOp<tensor::ExtractSliceOp>() : tensor::ExtractSliceOp();
    if (!page || !loop || !loop->isProperAncestor(part) || page->getBlock() != loop->getBlock())
      return SmallVector<Value>(segments);
    pages.push_back(page);
  }
  return pages;
}

/// The loop index `rounds` iterations later; the current one if the loop ends before.
Value getNextRound(OpBuilder &b, Location loc, scf::ForOp loop, int64_t rounds) {
  Value next =
      add(b, loc, loop.getInductionVar(), b.createOrFold<arith::MulIOp>(loc, loop.getStep(), index(b, loc, rounds)));
  return select(b, loc, isBefore(b, loc, next, loop.getUpperBound()), next, loop.getInductionVar());
}

/// Prefetches the rows of all heads of the next tile of `loop` in memory order, a part of them along with each head of
/// this one: the rows of a single head are not contiguous, and memory delivers them at half its rate.
void PrefetchBuilder::addHeadsInOrder(scf::ForOp loop, scf::ForOp heads, const Source &source, int64_t numHeads,
                                      int64_t rows, int64_t columns, Contraction product) {
  Location loc = step.getLoc();
  Value zero = index(b, loc, 0);
  IRMapping firstHead;
  firstHead.map(heads.getInductionVar(), zero);
  SmallVector<Value> next = cloneFor(b, loop, getNextRound(b, loc, loop, 1), source.tiles, firstHead);
  int64_t part = llvm::divideCeil(rows, numHeads);
  Value row = b.createOrFold<arith::MulIOp>(loc, heads.getInductionVar(), index(b, loc, part));
  create({next, source.map}, row, zero, part, columns * numHeads, product);
}

/// Prefetches the next K or V of the step, along with the other product.
void PrefetchBuilder::addSegments(DecodeAttr schedule, Contraction product) {
  Location loc = step.getLoc();
  bool isKey = product == Contraction::Values;
  SmallVector<Value> segments = isKey ? step.getKeySegments() : step.getValueSegments();
  unsigned columnPos = isKey ? headPos() : valuePos();
  std::optional<Source> source = findSource(segments, maps[isKey ? 1 : 2], keyPos(), columnPos);
  if (!source)
    return;
  bool isInterleaved = schedule.getKvHeads() > 1; // the next data of the same head comes after all other heads
  int64_t count = segments.size(), distance = schedule.getPrefetch(), columns = domain[columnPos];
  int64_t rows = getMaxTileKeys(step);
  scf::ForOp loop = loops.empty() ? scf::ForOp() : loops.back();
  Value zero = index(b, loc, 0);
  if (!areInPages(loop, segments)) {
    bool isWalk = loop && loop == step->getParentOp() && !areInPages(loop, step.getKeySegments());
    if (isWalk && count > 1)
      addFirstRows(loop, *source, columns);
    bool isAhead = isKey || (isInterleaved && hasNextTile());
    if (distance > 0 && (hasNextTile() || !isAhead))
      create(*source, index(b, loc, isAhead ? distance / (isInterleaved ? 1 : count) : 0), zero, rows, columns,
             product);
    return;
  }
  if (distance == 0)
    return;
  if (auto heads = dyn_cast<scf::ForOp>(step->getParentOp()); isInterleaved && heads && heads != loop)
    return addHeadsInOrder(loop, heads, *source, schedule.getKvHeads(), rows, columns, product);
  int64_t rounds = distance / std::max<int64_t>(rows, 1);
  bool isShort = count == 1 && rounds >= kShortPageRounds;
  if (!isKey && !isShort)
    return create(*source, zero, zero, rows, columns, product);
  // Steps of a few rows of a page are in a loop over it.
  SmallVector<Value> pages = getPages(step, source->tiles);
  auto rowLoop = pages == source->tiles ? scf::ForOp() : cast<scf::ForOp>(step->getParentOp());
  SmallVector<Value> nextPages;
  {
    OpBuilder::InsertionGuard guard(b);
    if (rowLoop)
      b.setInsertionPoint(rowLoop);
    nextPages = cloneFor(b, loop, getNextRound(b, loc, loop, isShort ? rounds : 1), pages);
  }
  Value row = zero;
  if (rowLoop) {
    Value next = add(b, loc, rowLoop.getInductionVar(), rowLoop.getStep());
    Value isThere = isBefore(b, loc, next, rowLoop.getUpperBound());
    row = select(b, loc, isThere, next, zero);
    for (auto [page, nextPage] : llvm::zip_equal(pages, nextPages))
      nextPage = select(b, loc, isThere, page, nextPage);
  }
  create({nextPages, source->map}, row, zero, rows, columns, product);
}

void PrefetchBuilder::addToDecode(DecodeAttr schedule) {
  addSegments(schedule, Contraction::Values);
  addSegments(schedule, Contraction::Scores);
}

/// True for a step that already has its prefetches.
bool isPrefetched(OnlineStepOp step) {
  auto follows = [](Operation *op) {
    while ((op = op->getPrevNode()) && !isa<OnlineStepOp, scf::ForOp>(op))
      if (isa<PrefetchOp>(op))
        return true;
    return false;
  };
  SmallVector<scf::ForOp> loops = getKeyLoops(step);
  return follows(step) || (!loops.empty() && follows(loops.back()));
}

struct AddPrefetchesPass : public attn::impl::AddPrefetchesPassBase<AddPrefetchesPass> {
  void runOnOperation() override {
    SmallVector<OnlineStepOp> steps;
    getOperation().walk([&](OnlineStepOp step) {
      if (step->getNumResults() > 0 && hasTileRows(step) && hasTileKeys(step) && !isPrefetched(step))
        steps.push_back(step);
    });
    for (OnlineStepOp step : steps) {
      if (auto schedule = dyn_cast<PrefillAttr>(*step.getSchedule()))
        PrefetchBuilder(step).addToPrefill(schedule);
      else if (auto schedule = dyn_cast<DecodeAttr>(*step.getSchedule()))
        PrefetchBuilder(step).addToDecode(schedule);
    }
  }
};
} // namespace
