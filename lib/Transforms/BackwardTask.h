//===- BackwardTask.h - the gradients of one task ---------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_BACKWARDTASK_H
#define ATTN_LIB_TRANSFORMS_BACKWARDTASK_H

#include "BackwardTile.h"
#include "CaptureSums.h"

namespace attn {

/// The tensors that a task adds to: those of Q, K and V, the latter two of a key tile as (column, key), each null where
/// nothing reads it; that of the bias where there is one; and those of captured tensors.
struct Sums {
  mlir::Value query, key, value;
  llvm::SmallVector<mlir::Value> others;

  /// Those that there are, in their order.
  llvm::SmallVector<mlir::Value> getAll() const {
    llvm::SmallVector<mlir::Value> all;
    for (mlir::Value sum : {query, key, value})
      if (sum)
        all.push_back(sum);
    llvm::append_range(all, others);
    return all;
  }
  /// Others of the same gradients.
  Sums with(mlir::ValueRange all) const {
    Sums sums = *this;
    for (mlir::Value *sum : {&sums.query, &sums.key, &sums.value})
      if (*sum) {
        *sum = all.front();
        all = all.drop_front();
      }
    sums.others.assign(all.begin(), all.end());
    return sums;
  }
};

/// Positions [first, end) of queries or keys.
struct PositionRange {
  mlir::Value first, end;
};

/// The loops of one task: its key tiles, in them the heads of Q that share the head of K, in them the query tiles.
class BackwardTask : protected BackwardOperands {
public:
  BackwardTask(mlir::RewriterBase &b, BackwardStepOp step);

  /// `sums` are the task's parts of the gradients.
  Sums buildKeyTiles(Sums sums);

protected:
  mlir::Value max(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::MaxSIOp>(loc, x, y); }
  mlir::Value min(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::MinSIOp>(loc, x, y); }
  mlir::Value subtract(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::SubIOp>(loc, x, y); }
  mlir::Value multiply(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::MulIOp>(loc, x, y); }
  mlir::Value multiply(mlir::Value x, int64_t y) { return multiply(x, index(b, loc, y)); }
  mlir::Value divide(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::DivSIOp>(loc, x, y); }
  mlir::Value remainder(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::RemSIOp>(loc, x, y); }
  mlir::Value divideUp(mlir::Value x, int64_t y) {
    return b.createOrFold<mlir::arith::CeilDivSIOp>(loc, x, index(b, loc, y));
  }
  llvm::SmallVector<mlir::Value>
  createLoop(mlir::Value lower, mlir::Value upper, int64_t by, mlir::ValueRange state,
             llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);

  CaptureSums captures;
  int64_t groupSize = 0; ///< heads of Q that share one of K; 0 for all of them
  Position task, taskSizes;
  std::optional<PositionRange> queryPart, keyPart; ///< the task's

private:
  /// The keys that a query of `queries` visits: no others are read.
  PositionRange getVisitedKeys(PositionRange queries);
  Sums buildKeyTile(mlir::Value firstKey, mlir::OpFoldResult count, Sums whole);
  /// The rows of a key tile become a copy of them, one after the other.
  void copyKeys(Part &rows, unsigned column, int64_t columns, mlir::OpFoldResult count);
  /// Partial tiles, which evaluate the predicate, up to the first query that keeps all keys; full ones; partial ones.
  Sums buildQueryTiles(Position at, Position tileSizes, mlir::OpFoldResult count, Sums sums);
  /// A position in the task's part of queries or keys.
  mlir::OpFoldResult getInPart(const std::optional<PositionRange> &part, mlir::OpFoldResult position);
  bool hasFunctions();
  /// True where the predicate has conjuncts of which no ranges tell where they hold.
  bool hasTestedConjuncts();
  Sums buildTiles(const Position &at, const Position &tileSizes, mlir::Value lower, mlir::Value upper, bool isPartial,
                  Sums sums);
  /// A tile that is visited only if its predicate keeps a key, which is evaluated first; one that keeps all is full.
  Sums buildTestedTile(const Position &at, const Position &tileSizes, Sums sums);
  Sums buildStep(const Position &at, const Position &tileSizes, bool isPartial, Sums sums);
  /// The ranges in rows of the tile, for its panels of keys; none where every row visits every key.
  void buildPanelRanges(BackwardStepOp tiled, const Position &at);

  bool testsTiles; ///< partial ones: hasTestedConjuncts()

  // Of the key tile and head under way.
  int64_t headSize = 0, valueSize = 0;
  mlir::Value head;
  Part keyRows, valueRows;
  llvm::SmallVector<mlir::Value> transposed;
};

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_BACKWARDTASK_H
