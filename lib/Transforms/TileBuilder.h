//===- TileBuilder.h - the body of the flash loop ---------------*- C++ -*-===//
//
// A TileShape is what all tiles of an online_step have in common. A TilePosition is
// where one of them lies. Neither changes. Functions build at the builder's position.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_TILEBUILDER_H
#define ATTN_LIB_TRANSFORMS_TILEBUILDER_H

#include "attn/Analysis/KeyRanges.h"
#include "attn/IR/Decompose.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"

namespace attn {

/// acc, row max, row sum.
using TileState = llvm::SmallVector<mlir::Value>;

struct TileShape {
  TileShape(mlir::OpBuilder &b, OnlineStepOp step);
  unsigned queryPos() const { return numBatch; }
  unsigned keyPos() const { return numBatch + 1; }
  unsigned headPos() const { return numBatch + 2; }
  unsigned valuePos() const { return numBatch + 3; }

  mutable OnlineStepOp step;
  ScheduleAttr schedule;
  llvm::SmallVector<mlir::AffineMap> maps;
  llvm::SmallVector<mlir::OpFoldResult> domainSizes;
  unsigned numBatch;
  int64_t headsPerStep = 1;           ///< query heads that share one of K, in a decode tile
  bool hasFewKeys = false;            ///< too few for tiles that are known to be full
  int64_t numSegments = 1;            ///< that tiles whose keys may come in any order take them from
  mlir::FloatType stateType, rowType; ///< of the state; of K and V (on a GPU also Q) where the products read them
};

struct TilePosition {
  llvm::SmallVector<mlir::OpFoldResult> offsets, sizes; ///< in the domain of the step
  mlir::OpFoldResult rows;                              ///< of queries
  mlir::Value tile, firstQuery, endQuery;
  mlir::Value queryStart, keyStart; ///< of a packed sequence; null for others
  mlir::Value lower, upper;         ///< the range of keys that is split off; null for all
};

/// A block map: the kinds of all tiles (attn.classify_tile), if key ranges cannot express them.
struct BlockMap {
  mlir::Value kinds; ///< null if there is none
  bool byBatch = false, byHead = false;
};

inline int64_t getQueryTile(const TileShape &s) { return s.schedule.getQueryTile(); }
inline int64_t getKeyTile(const TileShape &s) { return s.schedule.getKeyTile(); }
/// Of a dimension of the step that is no batch dimension: the schedule's query or key tile, else all of it.
int64_t getTileSize(const TileShape &s, unsigned dim);
/// Query heads of a tile: 1, or in a decode tile those that share the schedule's heads of K.
inline int64_t getHeadsPerTile(const TileShape &s) { return s.headsPerStep * s.schedule.getKvHeads(); }
inline bool isDecode(const TileShape &s) { return s.schedule.sharesKeys(); }
inline bool isGpu(const TileShape &s) { return mlir::isa<BlockAttr>(s.schedule); }
inline bool isRowMajor(const TileShape &s) { return isDecode(s) || isGpu(s); }
inline bool isDense(const TileShape &s) { return s.step.getBias() || s.step.getMask(); }
/// The products take pairs of elements: Q's along D, V's along the keys.
bool usesPairs(const TileShape &s);

//===----------------------------------------------------------------------===//
// A tile (TileBuilder.cpp)
//===----------------------------------------------------------------------===//

/// The number of query tiles of a batch index, at most; built in front of the parallel loop.
mlir::OpFoldResult getNumQueryTiles(mlir::OpBuilder &b, const TileShape &s);
BlockMap createBlockMap(mlir::OpBuilder &b, const TileShape &s);

/// Query tile `tile` of the batch indices `batch`.
TilePosition getPrefillTile(mlir::OpBuilder &b, const TileShape &s, mlir::ValueRange batch, mlir::Value tile);
/// The decode tile `tile` of the batch indices `batch`, the last of which counts groups of heads: the keys of range
/// `split`, or all of them where it is null. A static number of queries is one tile.
TilePosition getDecodeTile(mlir::OpBuilder &b, const TileShape &s, mlir::ValueRange batch, mlir::Value tile,
                           mlir::Value split);
/// True where a step takes only the rows that its tile has: their number is known at run time alone.
bool takesDynamicRows(const TileShape &s);
/// The first rows of the tile `tensor`, as many as `at` has, in its dimension `dim`: of a prefill tile, whole vectors.
mlir::Value sliceQueries(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, mlir::Value tensor,
                         unsigned dim);

/// Q of the tile as (batch…, head, query), rows beyond the last one zero; of a decode tile (batch…, query, head), and
/// behind it its bytes, where products take those.
llvm::SmallVector<mlir::Value> packQuery(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at);
/// The empty state of the tile: acc (batch…, value, query), of a decode tile (batch…, query, value), max and sum
/// (batch…, query). What the rows start with is in it where `withStart` says so.
TileState initState(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, InitStateOp init,
                    bool withStart = true);
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
/// `finalize` of the tile's state into these slices; returns its results.
llvm::SmallVector<mlir::Value> finalizeTile(mlir::OpBuilder &b, const TileShape &s, FinalizeOp finalize,
                                            const TileState &state, const OutputSlices &outputs);
/// Writes a value into its slice of an output.
using InsertFn = llvm::function_ref<void(mlir::Value value, mlir::Value output, const Slice &slice)>;
/// `finalize` of the tile's state into its slices of the outputs.
void createFinalize(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, FinalizeOp finalize,
                    const TileState &state, mlir::ValueRange outputs, InsertFn insert);
/// The maps of the tile's state over (batch…, query, value).
llvm::SmallVector<mlir::AffineMap> getTileStateMaps(const TileShape &s);

/// `count` keys from each of `firstKeys` on, the starts of segments.
TileState createStep(mlir::OpBuilder &b, const TileShape &s, TilePosition at, mlir::ValueRange query,
                     llvm::ArrayRef<mlir::Value> firstKeys, mlir::OpFoldResult count, bool isPartial,
                     mlir::ValueRange state);

//===----------------------------------------------------------------------===//
// Its operands (TileOperands.cpp, TilePairs.cpp)
//===----------------------------------------------------------------------===//

llvm::SmallVector<unsigned> getPositions(const TileShape &s, llvm::ArrayRef<unsigned> named);
mlir::AffineMap getTileMap(const TileShape &s, llvm::ArrayRef<unsigned> named);
llvm::SmallVector<unsigned, 2> getAccDims(const TileShape &s);
/// The part of an operand that the tile covers; `map` is over the domain of the step.
Slice getSlice(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, mlir::AffineMap map);
mlir::Value emptyTile(mlir::OpBuilder &b, const TileShape &s, llvm::ArrayRef<unsigned> dims, mlir::Type type);
mlir::Value sliceKeys(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, mlir::Value tile, unsigned keyDim,
                      int64_t perIndex = 1);
mlir::Value pack(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, mlir::Value operand,
                 mlir::AffineMap map, llvm::ArrayRef<unsigned> from, llvm::ArrayRef<unsigned> to);
mlir::AffineMap getRowMap(const TileShape &s, mlir::AffineMap map, unsigned column);
mlir::Value loadRows(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, mlir::Value operand,
                     mlir::AffineMap &map, unsigned column);
bool liesInPages(const TileShape &s, mlir::Value operand, mlir::AffineMap map);
bool readsInPlace(const TileShape &s, mlir::Value operand, mlir::AffineMap map);
void cloneRegion(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, mlir::Region &from, mlir::Region &to,
                 mlir::Operation *before);
/// `from` as `to` of a tile of `step` at `offsets` of the domain, in front of `before`. What it reads of rows from
/// `getEndRow` on is what it reads of the last one, as captured tensors end there; null where the tile has all its
/// rows.
void cloneTileRegion(mlir::OpBuilder &b, mlir::Region &from, mlir::Region &to, mlir::Operation *before,
                     mlir::Operation *step, llvm::ArrayRef<mlir::OpFoldResult> offsets, IndexKind row,
                     llvm::function_ref<mlir::Value()> getEndRow);
mlir::AffineMap getPairMap(const TileShape &s, unsigned numDims, unsigned paired, unsigned other);
mlir::Value packPairs(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, mlir::Value rows,
                      mlir::AffineMap map, unsigned paired, unsigned other);
ScheduleAttr packValue(mlir::OpBuilder &b, const TileShape &s, const TilePosition &at, mlir::Value &value,
                       mlir::AffineMap &map, mlir::OpFoldResult count);

//===----------------------------------------------------------------------===//
// Loops and branches (KeyLoops.cpp)
//===----------------------------------------------------------------------===//

/// Rows of each segment that a step takes.
int64_t getSegmentRows(const TileShape &s);
TileState createLoop(mlir::OpBuilder &b, mlir::Location loc, mlir::Value lower, mlir::Value upper, int64_t step,
                     TileState state, llvm::function_ref<TileState(mlir::Value, TileState)> body);
/// The state of one of two branches.
TileState createBranch(mlir::OpBuilder &b, mlir::Location loc, mlir::Value condition,
                       llvm::function_ref<TileState()> then, llvm::function_ref<TileState()> otherwise);

/// Results of attn.classify_tile.
enum class TileKind { Empty = 0, Partial = 1, Full = 2 };
mlir::Value isOfKind(mlir::OpBuilder &b, mlir::Location loc, mlir::Value kind, TileKind expected);

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

mlir::Value index(mlir::OpBuilder &b, mlir::Location loc, int64_t value);
mlir::Value toValue(mlir::OpBuilder &b, mlir::Location loc, mlir::OpFoldResult value);
mlir::Value add(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Value y);
/// min(max(upper - lower, 0), largest)
mlir::Value clampedDifference(mlir::OpBuilder &b, mlir::Location loc, mlir::Value upper, mlir::Value lower,
                              int64_t largest);

/// The first row of packed sequence `batch`, and how many rows it has.
mlir::Value getSequenceStart(mlir::OpBuilder &b, mlir::Location loc, mlir::Value sequences, mlir::Value batch);
mlir::Value getSequenceLength(mlir::OpBuilder &b, mlir::Location loc, mlir::Value sequences, mlir::Value batch);

/// The decode tiles of an online form (TileDecode.cpp); returns what replaces the results of finalize.
llvm::SmallVector<mlir::Value> createDecodeTiles(mlir::RewriterBase &rewriter, FinalizeOp finalize, OnlineStepOp step,
                                                 InitStateOp init);

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_TILEBUILDER_H
