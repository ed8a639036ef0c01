//===- TileBuilder.h - tiles of attention -----------------------*- C++ -*-===//
//
// A TileShape is shared by all tiles of an online_step. A TilePosition is the position of one tile. Both are immutable.
// Functions build at the builder's position. Gradient tiles share DomainTile, its operands and the loops over columns.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_TILEBUILDER_H
#define ATTN_LIB_TRANSFORMS_TILEBUILDER_H

#include "attn/Analysis/KeyRanges.h"
#include "attn/IR/Decompose.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attn {

/// acc, row max, row sum.
using TileState = llvm::SmallVector<mlir::Value>;

/// Shared by all tiles of any step. Its domain is (batch…, query, key, head, value).
struct StepShape {
  StepShape(mlir::OpBuilder &b, mlir::Operation *step, ScheduleAttr schedule, mlir::Value query, mlir::Value sums);
  unsigned queryPos() const { return numBatch; }
  unsigned keyPos() const { return numBatch + 1; }
  unsigned headPos() const { return numBatch + 2; }
  unsigned valuePos() const { return numBatch + 3; }

  mlir::Location loc;
  ScheduleAttr schedule;
  llvm::SmallVector<mlir::OpFoldResult> domainSizes;
  unsigned numBatch;
  mlir::FloatType stateType, rowType; ///< of the state, or sums; of rows as the products read them
};

/// All key tiles of V and of K, packed before the query tiles (PackFirst.cpp); null where each step packs its own, or
/// reads K in place.
struct PackedTiles {
  mlir::Value value, key;
};

struct TileShape : StepShape {
  TileShape(mlir::OpBuilder &b, OnlineStepOp step);

  mutable OnlineStepOp step;
  llvm::SmallVector<mlir::AffineMap> maps;
  int64_t headsPerStep = 1; ///< query heads that share a key head, in a decode tile
  bool hasFewKeys = false;  ///< too few for tiles known to be full
  int64_t numSegments = 1;  ///< sources of tiles whose keys may be in any order
  PackedTiles packed;
};

/// The position of a tile of any step in the domain. With packed sequences, queries and keys are relative to their
/// sequence.
struct DomainTile {
  DomainTile() = default;
  /// All queries and keys of the batch indices `batch`.
  DomainTile(mlir::OpBuilder &b, llvm::ArrayRef<mlir::OpFoldResult> domainSizes, mlir::ValueRange batch);
  llvm::SmallVector<mlir::OpFoldResult> offsets, sizes;
  mlir::Value queryStart, keyStart; ///< of the sequence in the packed rows; null without packed sequences
  unsigned queryPos() const { return offsets.size() - 4; }
  unsigned keyPos() const { return offsets.size() - 3; }
};

struct TilePosition : DomainTile {
  mlir::OpFoldResult rows; ///< of queries
  mlir::Value tile, firstQuery, endQuery;
  mlir::Value lower, upper; ///< the key split; null for all keys
};

struct ColumnRanges;

/// A block map: the kinds of all tiles (attn.classify_tile), if key ranges cannot express them.
struct BlockMap {
  mlir::Value kinds; ///< null if there is none
  bool byBatch = false, byHead = false;
  int64_t queryTile = 0, keyTile = 0; ///< positions that an element covers
};
/// Results of attn.classify_tile.
constexpr int8_t kEmptyTile = 0, kPartialTile = 1, kFullTile = 2;

inline int64_t getQueryTile(const TileShape &s) { return s.schedule.getQueryTile(); }
inline int64_t getKeyTile(const TileShape &s) { return s.schedule.getKeyTile(); }
/// The tile size of a dimension of the step that is not a batch dimension: the schedule's query or key tile, else all
/// of it.
int64_t getTileSize(const TileShape &s, unsigned dim);
/// Query heads of a tile: 1, or in a decode tile those that share the schedule's key heads.
inline int64_t getHeadsPerTile(const TileShape &s) { return s.headsPerStep * s.schedule.getKvHeads(); }
inline bool isDecode(const TileShape &s) { return s.schedule.sharesKeys(); }
inline bool isGpu(const StepShape &s) { return mlir::isa<BlockAttr>(s.schedule); }
inline bool isRowMajor(const TileShape &s) { return isDecode(s) || isGpu(s); }
inline bool isDense(const TileShape &s) { return s.step.getBias() || s.step.getMask(); }
/// True where products take pairs of elements: those of Q along D, those of V along the keys.
bool usesPairs(const TileShape &s);

//===----------------------------------------------------------------------===//
// A tile (TileBuilder.cpp)
//===----------------------------------------------------------------------===//

/// Query heads that share a head of the operand of `map`; 0 where all do.
int64_t getSharingHeads(mlir::AffineMap map, unsigned head);
/// The largest number of query tiles of a batch index; built before the parallel loop.
mlir::OpFoldResult getNumQueryTiles(mlir::OpBuilder &b, const TileShape &s);
/// The map of a step that needs one (BlockMap.cpp), built before its loops.
BlockMap createBlockMap(mlir::OpBuilder &b, const TileShape &s);
/// The kind of tile (`queryTile`, `keyTile`) of the batch indices of `at` in the map.
mlir::Value getKindOfTile(mlir::OpBuilder &b, mlir::Location loc, const BlockMap &blockMap, const DomainTile &at,
                          mlir::Value queryTile, mlir::Value keyTile);

/// Query tile `tile` of the batch indices `batch`.
TilePosition getPrefillTile(mlir::OpBuilder &b, const TileShape &s, mlir::ValueRange batch, mlir::Value tile);
/// The decode tile `tile` of the batch indices `batch`, the last of which counts groups of heads: the keys of split
/// `split`, or all of them where it is null. A static number of queries is one tile.
TilePosition getDecodeTile(mlir::OpBuilder &b, const TileShape &s, mlir::ValueRange batch, mlir::Value tile,
                           mlir::Value split);
/// True where a step handles only the rows of its tile, whose number is known only at run time.
bool takesDynamicRows(const TileShape &s);
/// The first rows of the tile `tensor` in its dimension `dim`, as many as `at` has; in a prefill tile, whole vectors.
mlir::Value sliceQueries(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, mlir::Value tensor,
                         unsigned dim);

/// Q of the tile as (batch…, head, query), with rows beyond the last one zero. In a decode tile (batch…, query, head),
/// followed by its bytes where products take those.
llvm::SmallVector<mlir::Value> packQuery(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at);
/// The initial state of the tile: acc (batch…, value, query), in a decode tile (batch…, query, value); max and sum
/// (batch…, query). With `withStart` it includes the rows' start values.
TileState initState(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, InitStateOp init,
                    bool withStart = true);
/// The keys that the queries in [at.firstQuery, at.endQuery) visit.
ColumnRanges getKeyColumns(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at);
/// Accumulates every key that the tile visits into `state`.
TileState foldKeys(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, const BlockMap &blockMap,
                   mlir::ValueRange query, TileState state);

/// The slices of the outputs of finalize that a tile writes, and the maps of `finalize` over (batch…, query, value).
struct OutputSlices {
  llvm::SmallVector<Slice> slices;
  llvm::SmallVector<mlir::Value> parts;
  llvm::SmallVector<mlir::AffineMap> maps;
};
OutputSlices sliceOutputs(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, FinalizeOp finalize,
                          mlir::ValueRange outputs);
/// Finalizes the tile's state into these slices; returns the results.
llvm::SmallVector<mlir::Value> finalizeTile(mlir::OpBuilder &b, const TileShape &s, FinalizeOp finalize,
                                            const TileState &state, const OutputSlices &outputs);
/// Writes a value into its slice of an output.
using InsertFn = llvm::function_ref<void(mlir::Value value, mlir::Value output, const Slice &slice)>;
/// Finalizes the tile's state into its slices of the outputs, or into those in `sliced`.
void createFinalize(mlir::OpBuilder &b, const TileShape &s, FinalizeOp finalize, const TileState &state,
                    mlir::ValueRange outputs, const OutputSlices &sliced, InsertFn insert);
void createFinalize(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, FinalizeOp finalize,
                    const TileState &state, mlir::ValueRange outputs, InsertFn insert);
/// The maps of the tile's state over (batch…, query, value).
llvm::SmallVector<mlir::AffineMap> getTileStateMaps(const TileShape &s);

/// The step of `count` keys from each of `firstKeys` on, the starts of segments.
TileState createStep(mlir::OpBuilder &b, const TileShape &s, TilePosition at, mlir::ValueRange query,
                     llvm::ArrayRef<mlir::Value> firstKeys, mlir::OpFoldResult count, bool isPartial,
                     mlir::ValueRange state);

//===----------------------------------------------------------------------===//
// Its operands and regions (TileOperands.cpp, TilePairs.cpp, TileRegions.cpp)
//===----------------------------------------------------------------------===//

llvm::SmallVector<unsigned> getPositions(const StepShape &s, llvm::ArrayRef<unsigned> named);
mlir::AffineMap getTileMap(const StepShape &s, llvm::ArrayRef<unsigned> named);
llvm::SmallVector<unsigned, 2> getAccDims(const TileShape &s);
/// The part of an operand that a tile covers; `map` is over the domain of the step.
Slice getSlice(mlir::OpBuilder &b, mlir::Location loc, const DomainTile &at, mlir::AffineMap map);
inline Slice getSlice(mlir::OpBuilder &b, const TileShape &s, const DomainTile &at, mlir::AffineMap map) {
  return getSlice(b, s.step.getLoc(), at, map);
}
/// [offset, offset + size) of dimension `dim`, and all of the others.
Slice getDimSlice(mlir::OpBuilder &b, mlir::Location loc, mlir::Value whole, unsigned dim, mlir::OpFoldResult offset,
                  mlir::OpFoldResult size);
/// A loop over tiles that may run concurrently. On a GPU a single tile is mapped to a block, so that canonicalisation
/// keeps its loop.
mlir::scf::ForallOp createParallelTiles(mlir::OpBuilder &b, mlir::Location loc,
                                        llvm::ArrayRef<mlir::OpFoldResult> bounds, mlir::ValueRange inits,
                                        ScheduleAttr schedule);
/// Writes `value` into its slice of `output`, a shared output of `forall`.
void insertInParallel(mlir::OpBuilder &b, mlir::scf::ForallOp forall, mlir::Value value, mlir::Value output,
                      const Slice &slice);
mlir::Value emptyTile(mlir::OpBuilder &b, const TileShape &s, llvm::ArrayRef<unsigned> dims, mlir::Type type);
mlir::Value sliceKeys(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, mlir::Value tile, unsigned keyDim,
                      int64_t perIndex = 1);
mlir::Value pack(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, mlir::Value operand,
                 mlir::AffineMap map, llvm::ArrayRef<unsigned> from, llvm::ArrayRef<unsigned> to);
mlir::AffineMap getRowMap(const TileShape &s, mlir::AffineMap map, unsigned column);
mlir::Value loadRows(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, mlir::Value operand,
                     mlir::AffineMap &map, unsigned column, mlir::Value tile = {});
bool liesInPages(const TileShape &s, mlir::Value operand, mlir::AffineMap map);
bool readsInPlace(const TileShape &s, mlir::Value operand, mlir::AffineMap map);
void cloneRegion(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, mlir::Region &from, mlir::Region &to,
                 mlir::Operation *before);
/// Clones `from` into `to` of a tile of `step` at `offsets` of the domain, before `before`. Rows from `getEndRow` on
/// read what the last row reads, as captured tensors end there; null where the tile has all its rows.
void cloneTileRegion(mlir::OpBuilder &b, mlir::Region &from, mlir::Region &to, mlir::Operation *before,
                     mlir::Operation *step, llvm::ArrayRef<mlir::OpFoldResult> offsets, IndexKind row,
                     llvm::function_ref<mlir::Value()> getEndRow);
/// A bound, the batch index or the head of a tile of `step`, as a region of ranges reads it.
mlir::Value evaluateIndex(mlir::OpBuilder &b, mlir::Operation *step, const DomainTile &at, IndexOp op);
mlir::AffineMap getPairMap(const TileShape &s, unsigned numDims, unsigned paired, unsigned other);
mlir::Value packPairs(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, mlir::Value rows,
                      mlir::AffineMap map, unsigned paired, unsigned other);
/// Packs rows of K at the start of a tile, where products read beyond them; updates `map`.
void packKey(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, mlir::Value &key, mlir::AffineMap &map);
/// Packs rows of V as their products read them; updates `map`.
void packValue(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, mlir::Value &value,
               mlir::AffineMap &map);
/// Packs whole key tiles of V into `target`, (batch…, column, key).
mlir::Value packColumns(mlir::OpBuilder &b, const TileShape &s, mlir::Value rows, mlir::AffineMap rowMap,
                        mlir::Value target);
/// Packs the key tiles that any query visits in a separate parallel loop, if the schedule says so: V as (batch…, tile,
/// column, key), K as (batch…, tile, key, column).
PackedTiles packFirst(mlir::OpBuilder &b, const TileShape &s);
/// The part of `tiles` that a step reads; sets `map` to its map.
mlir::Value loadPacked(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, mlir::Value tiles, bool isKey,
                       mlir::AffineMap &map);

/// Rows of each segment in a step.
int64_t getSegmentRows(const TileShape &s);

//===----------------------------------------------------------------------===//
// Loops and branches (ColumnLoops.cpp). Columns are the keys of a query tile, or the queries of a key tile.
//===----------------------------------------------------------------------===//

/// With `isConsecutive`, the loop is marked as one over consecutive tiles (attn.consecutive), which GPU passes require.
TileState createLoop(mlir::OpBuilder &b, mlir::Location loc, mlir::Value lower, mlir::Value upper, int64_t step,
                     TileState state, llvm::function_ref<TileState(mlir::Value, TileState)> body,
                     bool isConsecutive = false);
/// The state after one of two branches.
TileState createBranch(mlir::OpBuilder &b, mlir::Location loc, mlir::Value condition,
                       llvm::function_ref<TileState()> then, llvm::function_ref<TileState()> otherwise);

/// Accumulates `count` columns from `first` on.
using ColumnStep = llvm::function_ref<TileState(mlir::Value first, mlir::OpFoldResult count, TileState state)>;
/// A step for each tile of `size` columns from `lower` to `upper`; the last one may be short.
TileState createLoopOfTiles(mlir::OpBuilder &b, mlir::Location loc, int64_t size, mlir::Value lower, mlir::Value upper,
                            TileState state, ColumnStep step, bool isConsecutive = false);
/// The same, with a peeled short tile where both bounds are constants: all steps then have constant sizes.
TileState createTiles(mlir::OpBuilder &b, mlir::Location loc, int64_t size, mlir::Value lower, mlir::Value upper,
                      TileState state, ColumnStep step, bool isConsecutive);

/// The ranges of `axis` that follow from the predicate `maskMod` of `step`; with `isDense`, nothing is full.
RangesSummary buildMaskRanges(mlir::OpBuilder &b, mlir::Operation *step, mlir::Region &maskMod, RangeAxis axis,
                              bool isDense, mlir::Region &ranges);
/// Columns that a tile visits, [lower, upper), and those of them that all of its rows keep.
struct ColumnRanges {
  /// `bounds` are the results of a region of ranges; only columns in [first, end) are visited.
  ColumnRanges(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<mlir::Value> bounds, mlir::Value first,
               mlir::Value end);
  mlir::Value lower, upper, fullLower, fullUpper;
  bool startsPartial, endsPartial; ///< columns before the full ones, and after them, may be visited
  bool isNeverFull;
  bool inRounds = false;     ///< a loop takes partial tiles on both sides of full ones, so their code is there once
  int64_t startMultiple = 1; ///< full tiles begin at a multiple of this many columns after `lower`
};
/// Accumulates the tiles of [lower, upper).
using ColumnTiles =
    llvm::function_ref<TileState(mlir::Value lower, mlir::Value upper, bool isPartial, TileState state)>;
/// Accumulates full tiles that start in [lower, upper), and sets `end` to their end.
using FullColumnTiles =
    llvm::function_ref<TileState(mlir::Value lower, mlir::Value upper, TileState state, mlir::Value &end)>;
/// Partial tiles, which evaluate the predicate, up to the first column that all rows keep; full tiles, which do not;
/// then partial tiles again.
TileState createColumnTiles(mlir::OpBuilder &b, mlir::Location loc, const ColumnRanges &ranges, TileState state,
                            ColumnTiles tiles, FullColumnTiles fullTiles);

/// `step` of a tile of `kind`, a result of attn.classify_tile: none if it is empty, a full one if `canBeFull` holds
/// too. With `isDense`, none is full.
TileState createStepOfKind(mlir::OpBuilder &b, mlir::Location loc, mlir::Value kind, bool isDense, TileState state,
                           llvm::function_ref<TileState(bool isPartial)> step,
                           llvm::function_ref<mlir::Value()> canBeFull = {});

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

mlir::Value index(mlir::OpBuilder &b, mlir::Location loc, int64_t value);
mlir::Value toValue(mlir::OpBuilder &b, mlir::Location loc, mlir::OpFoldResult value);
mlir::Value add(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Value y);
mlir::Value subtract(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Value y);
mlir::Value multiply(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Value y);
mlir::Value divide(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Value y);
mlir::Value divideUp(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Value y);
mlir::Value remainder(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Value y);
/// The largest multiple of `size` that is at most `x`.
mlir::Value roundDown(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, int64_t size);
mlir::Value max(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Value y);
mlir::Value min(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Value y);
/// min(max(upper - lower, 0), largest)
mlir::Value clampedDifference(mlir::OpBuilder &b, mlir::Location loc, mlir::Value upper, mlir::Value lower,
                              int64_t largest);

/// The rows of the tile from `first` on: `tileRows`, or the rest of `numRows`.
mlir::OpFoldResult getTileRows(mlir::OpBuilder &b, mlir::Location loc, mlir::Value first, mlir::OpFoldResult numRows,
                               int64_t tileRows);

/// The first row of packed sequence `batch`, and its number of rows.
mlir::Value getSequenceStart(mlir::OpBuilder &b, mlir::Location loc, mlir::Value sequences, mlir::Value batch);
mlir::Value getSequenceLength(mlir::OpBuilder &b, mlir::Location loc, mlir::Value sequences, mlir::Value batch);
/// A tile of packed rows on a GPU, whose grid has `countPackedTiles` for a head (PackedTiles.cpp): that of a number
/// among all, of which those of a sequence are consecutive, from `getFirstPackedTile` on.
struct PackedTile {
  mlir::Value sequence, tile; ///< its index, and that of the tile in it
};
mlir::OpFoldResult countPackedTiles(mlir::OpBuilder &b, mlir::Location loc, mlir::OpFoldResult numRows,
                                    mlir::OpFoldResult numSequences, int64_t tileRows);
PackedTile findPackedTile(mlir::OpBuilder &b, mlir::Location loc, mlir::Value sequences,
                          mlir::OpFoldResult numSequences, mlir::Value number, int64_t tileRows);
mlir::Value getFirstPackedTile(mlir::OpBuilder &b, mlir::Location loc, mlir::Value sequences, mlir::Value sequence,
                               int64_t tileRows);
/// The most query rows of a batch index: all where `sequences` is null, else those of the longest packed sequence, by
/// `getRows`. On a GPU a bound of it; tiles without rows do nothing.
mlir::OpFoldResult getMostQueries(mlir::OpBuilder &b, const StepShape &s, mlir::Value sequences,
                                  llvm::function_ref<mlir::Value(mlir::Value batch)> getRows);

/// The decode tiles of an online form (TileDecode.cpp); returns the replacements of the results of finalize.
llvm::SmallVector<mlir::Value> createDecodeTiles(mlir::RewriterBase &rewriter, FinalizeOp finalize, OnlineStepOp step,
                                                 InitStateOp init);

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_TILEBUILDER_H
