//===- BackwardBlockTile.h - operands of a block of gradients ---*- C++ -*-===//
//
// What attn-tile of a backward_step for a GPU reads of a tile: slices of the
// operands, copies of rows in the type of the products, regions whose indices are
// positions of the tile. Functions build at the builder's position.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_BACKWARDBLOCKTILE_H
#define ATTN_LIB_TRANSFORMS_BACKWARDBLOCKTILE_H

#include "TileBuilder.h"

namespace attn {

using Position = llvm::SmallVector<mlir::OpFoldResult>;

/// Where a tile is in the domain of the step. Of packed sequences, positions count in the sequence.
struct BlockTile {
  Position offsets, sizes;
  mlir::Value queryStart, keyStart; ///< of the sequence in the packed rows; null for others
  mlir::Value numQueries, numKeys;  ///< of the sequence, or all
  mlir::Value isRest;               ///< packed rows behind the last sequence, which nothing is added to
};

class BackwardBlockOperands {
public:
  BackwardBlockOperands(mlir::RewriterBase &b, BackwardStepOp step);

protected:
  enum class Rows { Queries, Keys };

  /// The part of `operand` in a tile; `where` becomes its place.
  mlir::Value slice(const BlockTile &at, mlir::Value operand, llvm::StringRef name, Slice *where = nullptr);
  /// The map of a tile's operand over (batch…, row, column), of which it has one batch index and head.
  mlir::AffineMap getRowMap(llvm::StringRef name, unsigned row);
  mlir::Value createSpace(int64_t tileRows, unsigned width, mlir::Type elementType);
  /// The first `count` rows of a tile.
  mlir::Value sliceRows(mlir::Value tile, mlir::OpFoldResult count);
  /// Rows of an operand as a tile of its own, (batch…, row, column): `tileRows` of them, 0 behind the last one; with
  /// `asFew`, as many as there are.
  mlir::Value packRows(const BlockTile &at, llvm::StringRef name, unsigned row, int64_t tileRows, bool asFew);
  /// A region in the positions of a tile. Rows behind the last one read what that reads: captured tensors end there.
  void cloneRegion(const BlockTile &at, mlir::Region &from, mlir::Region &to, mlir::Operation *before);
  /// An index of a region of ranges.
  mlir::Value evaluate(IndexOp op, const BlockTile &at);

  unsigned queryPos() const { return numBatch; }
  unsigned keyPos() const { return numBatch + 1; }
  unsigned headPos() const { return numBatch + 2; }
  unsigned valuePos() const { return numBatch + 3; }
  unsigned rowPos() const { return rows == Rows::Queries ? queryPos() : keyPos(); }
  unsigned columnPos() const { return rows == Rows::Queries ? keyPos() : queryPos(); }
  /// The dimension of the columns of an operand.
  unsigned getWidth(llvm::StringRef name) const {
    bool isValue = name == "value" || name == "dout" || name == "dvalue";
    return isValue ? valuePos() : headPos();
  }
  mlir::Value getOperand(llvm::StringRef name) {
    return name == "query"   ? step.getQuery()
           : name == "key"   ? step.getKey()
           : name == "value" ? step.getValue()
                             : step.getDout();
  }
  mlir::Value toIndex(mlir::OpFoldResult value) { return toValue(b, loc, value); }
  mlir::Value max(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::MaxSIOp>(loc, x, y); }
  mlir::Value min(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::MinSIOp>(loc, x, y); }

  mlir::RewriterBase &b;
  mlir::Location loc;
  BackwardStepOp step;
  BlockAttr schedule;
  Position domainSizes;
  unsigned numBatch;
  int64_t groupSize = 0;         ///< heads of Q that share one of K; 0 for all of them
  mlir::FloatType type, rowType; ///< of the sums; of rows where products read them
  llvm::StringMap<mlir::AffineMap> maps;
  Rows rows = Rows::Queries; ///< of the kernel under way
};

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_BACKWARDBLOCKTILE_H
