//===- TileBuilder.h - the body of the flash loop ---------------*- C++ -*-===//
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

/// Builds one tile of queries of an online_step: the loops over key tiles that fold into its state.
class TileBuilder {
public:
  /// acc, row max, row sum.
  using State = llvm::SmallVector<mlir::Value>;

  TileBuilder(mlir::OpBuilder &builder, OnlineStepOp step);

  /// The number of query tiles of a batch index, at most; built in front of the parallel loop.
  mlir::OpFoldResult getNumQueryTiles();
  /// A map of the kinds of all tiles (attn.classify_tile), where the ranges of keys cannot say them; also in front.
  void createBlockMap();

  /// Starts query tile `tile` of the batch indices `batch`.
  void setTile(mlir::ValueRange batch, mlir::Value tile);
  /// Starts the decode tile of the batch indices `batch`, the last of which counts groups of heads: all its rows, and
  /// the keys of range `split`, or all of them where it is null.
  void setDecodeTile(mlir::ValueRange batch, mlir::Value split);
  /// Q of the tile as (batch…, head, query), rows beyond the last one zero; of a decode tile (batch…, query, head).
  void packQuery();
  /// The empty state of the tile: acc (batch…, value, query), of a decode tile (batch…, query, value), max and sum
  /// (batch…, query). A sink starts it where `withStart` says so.
  State initState(InitStateOp init, bool withStart = true);
  /// Folds every key that the tile visits into `state`.
  State foldKeys(State state);

  /// Writes a value that an output becomes in the slice of it.
  using Insert = llvm::function_ref<void(mlir::Value value, mlir::Value output, const Slice &slice)>;
  /// `finalize` of the tile's state into its slices of the outputs.
  void createFinalize(FinalizeOp finalize, const State &state, mlir::ValueRange outputs, Insert insert);

  /// The maps of the tile's state over (batch…, query, value).
  llvm::SmallVector<mlir::AffineMap> getTileStateMaps();
  /// The part of a row operand (an output) that the tile covers; `map` is over the domain of sdpa.
  Slice getSlice(mlir::AffineMap map);
  /// The same for a map over the domain of finalize.
  Slice getOutputSlice(mlir::AffineMap map);

  const llvm::SmallVector<mlir::OpFoldResult> &getSizes() const { return domainSizes; }
  unsigned getNumBatch() const { return numBatch; }
  /// Query heads of a tile: 1, or in a decode tile those that share the schedule's heads of K.
  int64_t getNumHeads() const { return headsPerTile; }
  mlir::FloatType getStateType() const { return stateType; }

private:
  mlir::Value index(int64_t value);
  mlir::Value toValue(mlir::OpFoldResult value) { return getValueOrCreateConstantIndexOp(b, loc, value); }
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value clampedDifference(mlir::Value upper, mlir::Value lower, int64_t largest);
  mlir::Value getSequenceStart(mlir::Value sequences, mlir::Value batch);
  mlir::Value getSequenceLength(mlir::Value sequences, mlir::Value batch);
  mlir::OpFoldResult getRows(mlir::Value first, mlir::Value batch);

  llvm::SmallVector<mlir::Value> getKeyBounds(mlir::Region &ranges);
  mlir::Value evaluateIndex(IndexOp op);
  llvm::SmallVector<unsigned> getPositions(llvm::ArrayRef<unsigned> named);
  mlir::AffineMap getTileMap(llvm::ArrayRef<unsigned> named);
  mlir::Value emptyTile(llvm::ArrayRef<unsigned> dims, mlir::Type type);
  mlir::Value emptyPaddedTile(llvm::ArrayRef<unsigned> dims, mlir::Type type);
  mlir::Value sliceKeys(mlir::Value tile, unsigned keyDim, int64_t perIndex = 1);
  mlir::AffineMap getPairMap(unsigned numDims, unsigned paired, unsigned other);
  mlir::Value packPairs(mlir::Value rows, mlir::AffineMap map, unsigned paired, unsigned other);
  mlir::Value packColumns(mlir::Value rows, mlir::AffineMap map);
  ScheduleAttr packValue(mlir::Value &value, mlir::AffineMap &map, mlir::OpFoldResult count);
  mlir::AffineMap getRowMap(mlir::AffineMap map, unsigned column);
  mlir::Value pack(mlir::Value operand, mlir::AffineMap map, llvm::ArrayRef<unsigned> from,
                   llvm::ArrayRef<unsigned> to);
  mlir::Value loadRows(mlir::Value operand, mlir::AffineMap &map, unsigned column);
  mlir::Value loadPage(GatherPagesOp gather, const Slice &slice, mlir::AffineMap &map, unsigned column);
  bool canReadPages(GatherPagesOp gather, mlir::AffineMap map);
  bool gathersRows();
  bool readsPages(GatherPagesOp gather, mlir::AffineMap map);
  bool liesInPages(mlir::Value operand, mlir::AffineMap map);
  int64_t getHeadsPerStep();
  bool needsAlignedTiles();
  bool foldsManyTiles();
  mlir::Value getLength(mlir::Value lower, mlir::Value upper);
  llvm::SmallVector<unsigned, 2> getAccDims() const {
    return isRowMajor ? llvm::SmallVector<unsigned, 2>{queryPos, valuePos}
                      : llvm::SmallVector<unsigned, 2>{valuePos, queryPos};
  }
  void cloneRegion(mlir::Region &from, mlir::Region &to, mlir::Operation *before);

  State createTiles(mlir::Value lower, mlir::Value upper, bool isPartial, State state);
  State createWholeTiles(mlir::Value lower, mlir::Value upper, bool isPartial, State state, mlir::Value &end);
  State createMappedTiles(mlir::Value lower, mlir::Value upper, State state);
  State createLoop(mlir::Value lower, mlir::Value upper, State state,
                   llvm::function_ref<State(mlir::Value, State)> body);
  State createStep(mlir::Value firstKey, mlir::OpFoldResult count, bool isPartial, mlir::ValueRange state);
  State createStepOfHeads(mlir::Value query, bool isPartial, mlir::ValueRange state);

  mlir::OpBuilder &b;
  mlir::Location loc;
  OnlineStepOp step;
  ScheduleAttr schedule;
  llvm::SmallVector<mlir::AffineMap> maps;
  llvm::SmallVector<mlir::OpFoldResult> domainSizes;
  unsigned numBatch, queryPos, keyPos, headPos, valuePos;
  int64_t queryTile, keyTile;
  bool isDecode, isGpu, isRowMajor, hasPredicate, isDense;
  int64_t headsPerTile = 1, headsPerStep = 1; ///< of Q
  bool usesPairs;                             ///< the products take pairs of elements: Q's along D, V's along the keys
  mlir::FloatType stateType, rowType; ///< of the state; of K and V (on a GPU also Q) where the products read them

  // Of the current tile: its place in the domain, its rows, and where its sequence starts.
  llvm::SmallVector<mlir::OpFoldResult> offsets, sizes;
  mlir::OpFoldResult rows;
  mlir::Value tile, firstQuery, endQuery, packedQuery, queryStart, keyStart, splitLower, splitUpper;

  // The block map, and which of (batch, head) it tells apart.
  mlir::Value blockMap;
  bool mapsBatch = false, mapsHead = false;
};

/// The decode tiles of an online form (TileDecode.cpp); returns what replaces the results of finalize.
llvm::SmallVector<mlir::Value> createDecodeTiles(mlir::RewriterBase &rewriter, FinalizeOp finalize, OnlineStepOp step,
                                                 InitStateOp init);

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_TILEBUILDER_H
