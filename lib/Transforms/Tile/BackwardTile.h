//===- BackwardTile.h - tiles of gradients ----------------------*- C++ -*-===//
//
// A BackwardShape is shared by all tiles of a backward_step, on a CPU and a GPU. On a CPU, a Task is the work of one
// thread. Functions build at the builder's position.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_BACKWARDTILE_H
#define ATTN_LIB_TRANSFORMS_BACKWARDTILE_H

#include "Gradients/CaptureSums.h"
#include "TileBuilder.h"

namespace attn {

/// An input or accumulator of a step, and its map.
struct Operand {
  mlir::Value value;
  mlir::AffineMap map;
};
/// The operands of a step by name, without captures.
using Operands = llvm::StringMap<Operand>;

/// Shared by all tiles of a backward_step.
struct BackwardShape : StepShape {
  BackwardShape(mlir::OpBuilder &b, BackwardStepOp step);
  /// The domain dimension of an operand's columns.
  unsigned getWidth(llvm::StringRef name) const {
    return name == "value" || name == "dout" || name == "dvalue" ? valuePos() : headPos();
  }
  int64_t getColumns(unsigned dim) const { return *mlir::getConstantIntValue(domainSizes[dim]); }
  mlir::Value getOperand(llvm::StringRef name) const { return operands.lookup(name).value; }
  mlir::AffineMap getMap(llvm::StringRef name) const { return operands.lookup(name).map; }

  mutable BackwardStepOp step;
  Operands operands;
  int64_t groupSize = 0; ///< query heads that share a key head; 0 if all do
  BlockMap blockMap;     ///< the kinds of parts of its tiles (some rows by some keys), where ranges cannot express them
};

/// The sizes of the batch dimensions, the last of which counts key heads.
llvm::SmallVector<mlir::OpFoldResult> getBatchOfKeys(mlir::OpBuilder &b, const BackwardShape &s);

/// The step of a tile, without regions.
BackwardStepOp createBackwardTile(mlir::OpBuilder &b, const BackwardShape &s, const Operands &operands,
                                  mlir::ValueRange dcaptures = {}, mlir::ValueRange transposed = {});

/// True where the predicate has conjuncts that ranges cannot express.
bool asksForBlockMap(BackwardStepOp step);
/// The map of a step that needs one (BlockMap.cpp), built before its tasks or kernels: kinds of parts of the tiles.
BlockMap createBlockMap(mlir::OpBuilder &b, const BackwardShape &s);
/// The kind of a whole tile, from those of the parts of its rows and keys.
mlir::Value getKindOfTile(mlir::OpBuilder &b, const BackwardShape &s, const DomainTile &at);

//===----------------------------------------------------------------------===//
// A task of a CPU (BackwardTask.cpp)
//===----------------------------------------------------------------------===//

struct TaskShape : BackwardShape {
  TaskShape(mlir::OpBuilder &b, BackwardStepOp step);

  mutable CaptureSums captures;
  /// Names of the sums with uses, in the order of the step's results and before those of captures.
  llvm::SmallVector<llvm::StringRef> gradients;
};
/// Builds query_ranges of a tile, in its rows: for a panel of keys, from the first part that is not empty to the last
/// one.
void buildMappedRanges(mlir::OpBuilder &b, const TaskShape &s, const DomainTile &at, BackwardStepOp tiled);

/// Positions [first, end) of queries or keys.
struct PositionRange {
  mlir::Value first, end;
};

/// A batch index and the query heads that share a key head.
struct Task : DomainTile {
  mlir::OpFoldResult numQueries, numKeys;     ///< of the sequence, or all
  std::optional<PositionRange> queries, keys; ///< the task's part of them; none for all
};

/// Loops over the key tiles of a task, its heads, and the query tiles. `sums` are its parts of the gradients.
TileState accumulateTask(mlir::OpBuilder &b, const TaskShape &s, const Task &task, TileState sums);

//===----------------------------------------------------------------------===//
// Operands of a CPU (BackwardTile.cpp)
//===----------------------------------------------------------------------===//

/// The part of an operand in a tile, without batch dimensions, and its map over (query, key, head, value).
struct Part : Operand {
  mlir::Value source;
  Slice slice;
};
/// `operand`, or the task's part of it, at `at`.
Part getPart(mlir::OpBuilder &b, const TaskShape &s, const DomainTile &at, mlir::Value operand, llvm::StringRef name);
/// Gathers the rows of a key tile from their pages, in the type of products.
Part gatherPart(mlir::OpBuilder &b, const TaskShape &s, const DomainTile &at, GatherPagesOp gather,
                llvm::StringRef name);
mlir::Value insert(mlir::OpBuilder &b, mlir::Location loc, const Part &part, mlir::Value value);
/// Allocates `shape`, (row, column) or (pair, column, 2), with rows padded by a line, and returns the first `used` of
/// it.
mlir::Value createSpace(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<mlir::OpFoldResult> used, mlir::Type elementType);
/// Copies `count` rows of a tile of `tileRows` in the type of products, contiguously. A row is 0 where `lse`, one value
/// per row, is -inf: the contents of a row without keys must not reach a sum.
Operand copyRows(mlir::OpBuilder &b, const TaskShape &s, const Part &rows, unsigned row, unsigned column,
                 int64_t tileRows, mlir::OpFoldResult count, mlir::Value lse = {});
/// Packs rows of a tile into a buffer of `shape`, which has (row, column) at `target`: all of it, with 0 after the last
/// row, or only its first `used`.
mlir::Value packRows(mlir::OpBuilder &b, const TaskShape &s, const Part &rows, unsigned column,
                     llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<mlir::AffineExpr> target, mlir::Type elementType,
                     mlir::OpFoldResult used = {});
/// `rows` of copyRows as (column, row) of a whole tile of `tileRows`, with 0 after the last row.
mlir::Value transposeCopy(mlir::OpBuilder &b, const TaskShape &s, const Operand &rows, int64_t tileRows);
/// Writes `sums` of a key tile, (column, key), to their destination `part`.
mlir::Value writeRows(mlir::OpBuilder &b, const TaskShape &s, mlir::Value sums, const Part &part, unsigned column);
/// Clones a region with the positions of a tile without batch dimensions.
void cloneRegion(mlir::OpBuilder &b, const TaskShape &s, const DomainTile &at, mlir::Region &from, mlir::Region &to,
                 mlir::Operation *before);

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_BACKWARDTILE_H
