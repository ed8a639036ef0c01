//===- BackwardTile.h - tiles of gradients ----------------------*- C++ -*-===//
//
// A BackwardShape is what all tiles of a backward_step have in common, on a CPU and
// a GPU. On a CPU, a Task is what a thread does alone. Functions build at the
// builder's position.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_BACKWARDTILE_H
#define ATTN_LIB_TRANSFORMS_BACKWARDTILE_H

#include "Gradients/CaptureSums.h"
#include "TileBuilder.h"

namespace attn {

/// What a step reads, or adds to, and its map.
struct Operand {
  mlir::Value value;
  mlir::AffineMap map;
};
/// Those of a step by their names, without captures.
using Operands = llvm::StringMap<Operand>;

/// What all tiles of a backward_step have in common.
struct BackwardShape : StepShape {
  BackwardShape(mlir::OpBuilder &b, BackwardStepOp step);
  /// The dimension of the columns of an operand, and how many they are.
  unsigned getWidth(llvm::StringRef name) const {
    return name == "value" || name == "dout" || name == "dvalue" ? valuePos() : headPos();
  }
  int64_t getColumns(unsigned dim) const { return *mlir::getConstantIntValue(domainSizes[dim]); }
  mlir::Value getOperand(llvm::StringRef name) const { return operands.lookup(name).value; }
  mlir::AffineMap getMap(llvm::StringRef name) const { return operands.lookup(name).map; }

  mutable BackwardStepOp step;
  Operands operands;
  int64_t groupSize = 0; ///< heads of Q that share one of K; 0 for all of them
  BlockMap blockMap;     ///< the kinds of parts of its tiles, where no ranges tell them: some rows by some keys
};

/// The sizes of the batch dimensions, the last of which counts heads of K.
llvm::SmallVector<mlir::OpFoldResult> getBatchOfKeys(mlir::OpBuilder &b, const BackwardShape &s);

/// The step of a tile, without regions.
BackwardStepOp createBackwardTile(mlir::OpBuilder &b, const BackwardShape &s, const Operands &operands,
                                  mlir::ValueRange dcaptures = {}, mlir::ValueRange transposed = {});

/// True where the predicate has conjuncts of which no ranges tell where they hold.
bool asksForBlockMap(BackwardStepOp step);
/// The map of a step that asks for one (BlockMap.cpp), in front of its tasks or kernels: of parts of the tiles.
BlockMap createBlockMap(mlir::OpBuilder &b, const BackwardShape &s);
/// The kind of a whole tile, from those of the parts that it has rows and keys of.
mlir::Value getKindOfTile(mlir::OpBuilder &b, const BackwardShape &s, const DomainTile &at);

//===----------------------------------------------------------------------===//
// A task of a CPU (BackwardTask.cpp)
//===----------------------------------------------------------------------===//

struct TaskShape : BackwardShape {
  TaskShape(mlir::OpBuilder &b, BackwardStepOp step);

  mutable CaptureSums captures;
  /// That something reads, in the order of the step's results, in front of those of captures: the names of the sums.
  llvm::SmallVector<llvm::StringRef> gradients;
};
/// query_ranges of a tile, in its rows: of a panel of keys, from the first part that is not empty to the last one.
void buildMappedRanges(mlir::OpBuilder &b, const TaskShape &s, const DomainTile &at, BackwardStepOp tiled);

/// Positions [first, end) of queries or keys.
struct PositionRange {
  mlir::Value first, end;
};

/// A batch index and the heads of Q that share a head of K.
struct Task : DomainTile {
  mlir::OpFoldResult numQueries, numKeys;     ///< of the sequence, or all
  std::optional<PositionRange> queries, keys; ///< the part of them that the task has; none for all
};

/// The key tiles of a task, in them its heads, in them the query tiles. `sums` are its parts of the gradients.
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
/// The rows of a key tile from their pages, in the type of products.
Part gatherPart(mlir::OpBuilder &b, const TaskShape &s, const DomainTile &at, GatherPagesOp gather,
                llvm::StringRef name);
mlir::Value insert(mlir::OpBuilder &b, mlir::Location loc, const Part &part, mlir::Value value);
/// Space of `shape`, (row, column) or (pair, column, 2), of which rows are a line apart from each other, and the
/// first `used` of it.
mlir::Value createSpace(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<mlir::OpFoldResult> used, mlir::Type elementType);
/// `count` rows of a tile of `tileRows` in the type of products, one after the other; 0 where `lse`, one of each row,
/// is -inf: what a row without keys holds reaches no sum.
Operand copyRows(mlir::OpBuilder &b, const TaskShape &s, const Part &rows, unsigned row, unsigned column,
                 int64_t tileRows, mlir::OpFoldResult count, mlir::Value lse = {});
/// Rows of a tile in a space of `shape`, which has (row, column) at `target`: in all of it, with 0 behind the last row,
/// or in its first `used`.
mlir::Value packRows(mlir::OpBuilder &b, const TaskShape &s, const Part &rows, unsigned column,
                     llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<mlir::AffineExpr> target, mlir::Type elementType,
                     mlir::OpFoldResult used = {});
/// `rows` of copyRows as (column, row) of a whole tile of `tileRows`, 0 behind the last row.
mlir::Value transposeCopy(mlir::OpBuilder &b, const TaskShape &s, const Operand &rows, int64_t tileRows);
/// `sums` of a key tile, (column, key), into their place, `part`.
mlir::Value writeRows(mlir::OpBuilder &b, const TaskShape &s, mlir::Value sums, const Part &part, unsigned column);
/// A region in the positions of a tile, which has no batch dimensions.
void cloneRegion(mlir::OpBuilder &b, const TaskShape &s, const DomainTile &at, mlir::Region &from, mlir::Region &to,
                 mlir::Operation *before);

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_BACKWARDTILE_H
