//===- LinearTile.h - small ops on the tiles of linear attention -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_CPU_LINEARTILE_H
#define ATTN_LIB_CONVERSION_CPU_LINEARTILE_H

#include "attn/IR/Decompose.h"
#include "attn/Target/TargetInfo.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attn::cpu {

/// Memory with two dimensions, (row, column), which a map places in the memref.
struct Tile {
  mlir::Value memref;
  mlir::AffineMap map;
};
/// A tile read or written at expressions of an op's loops.
struct TileUse {
  mlir::Value memref;
  mlir::AffineMap map; ///< (loops) -> position
};

/// Builds linalg ops on tiles.
class TileOps {
public:
  TileOps(mlir::OpBuilder &builder, mlir::Location loc, mlir::FloatType type) : b(builder), loc(loc), type(type) {}

  mlir::Value index(int64_t value) { return mlir::arith::ConstantIndexOp::create(b, loc, value); }
  mlir::Value toValue(mlir::OpFoldResult size) { return mlir::getValueOrCreateConstantIndexOp(b, loc, size); }
  mlir::Value add(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::AddIOp>(loc, x, y); }
  mlir::Value multiply(mlir::Value x, int64_t y) { return b.createOrFold<mlir::arith::MulIOp>(loc, x, index(y)); }
  /// A loop's variable: dimension `position` of its domain.
  mlir::AffineExpr dim(unsigned position) { return b.getAffineDimExpr(position); }
  mlir::AffineExpr constant(int64_t value) { return b.getAffineConstantExpr(value); }

  /// A buffer, on the stack if it is not large.
  Tile buffer(int64_t rows, int64_t columns);
  /// A part of a buffer.
  Tile part(const Tile &tile, mlir::OpFoldResult row, mlir::OpFoldResult rows, int64_t column = 0,
            int64_t columns = -1);
  Tile part(const Tile &tile, int64_t row, int64_t rows, int64_t column = 0, int64_t columns = -1) {
    return part(tile, b.getIndexAttr(row), b.getIndexAttr(rows), column, columns);
  }
  TileUse at(const Tile &tile, mlir::AffineExpr row, mlir::AffineExpr column) {
    unsigned loops = 0;
    for (mlir::AffineExpr expr : {row, column})
      expr.walk([&](mlir::AffineExpr each) {
        if (auto dim = mlir::dyn_cast<mlir::AffineDimExpr>(each))
          loops = std::max(loops, dim.getPosition() + 1);
      });
    return {tile.memref, tile.map.replaceDimsAndSymbols({row, column}, {}, loops, 0)};
  }

  void fill(const Tile &tile, double value);
  /// output = body(inputs, output) over `loops` dimensions, of which the last one may be a reduction; elements are in
  /// the type of the accumulation.
  void map(unsigned loops, bool isReduction, llvm::ArrayRef<TileUse> inputs, const TileUse &output,
           llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange)> body);
  /// output[i, j] += sum_k left(i, k) right(k, j).
  void product(const TileUse &left, const TileUse &right, const TileUse &output);
  /// The same over the tiles' rows and columns.
  void product(const Tile &left, const Tile &right, const Tile &output) {
    product(at(left, dim(0), dim(2)), at(right, dim(2), dim(1)), at(output, dim(0), dim(1)));
  }
  /// Requests the cache lines of the first columns of rows.
  void prefetch(const Tile &tile, mlir::OpFoldResult rows, int64_t columns, bool isWrite);
  void loop(mlir::Value lower, mlir::Value upper, int64_t step, llvm::function_ref<void(mlir::Value)> body);

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::FloatType type;

private:
  /// A view without the dimensions whose position is a constant: vector code takes permutations of loops.
  TileUse dropConstants(const TileUse &use);
};

/// What a kernel of linear attention is made for.
struct LinearShape {
  /// For so many tokens; for any number if there is none.
  LinearShape(LinearOp op, const TargetInfo &target, std::optional<int64_t> tokens);
  /// The panels of states in buffers.
  void setPanels(const TargetInfo &target);

  int64_t chunk;                ///< tokens
  int64_t keySize, valueSize;   ///< columns of key and value
  int64_t panelColumns, panels; ///< of the state
  int64_t heads;                ///< of value in a task, which share a head of key
  int64_t sets;                 ///< of what is written: value at keys, and with `write` what is erased at writes
  bool hasErase, hasChannels;   ///< erases; has a decay a channel
  bool isDirect;                ///< one chunk, which reads and writes the state where it lies
  unsigned bits;                ///< of a number of the state
  /// Products of keys and queries with keys are the same for all heads of a group.
  bool sharesProducts() const { return !hasChannels && sets == 1 && !erasesOwn; }
  bool erasesOwn; ///< what is erased is an operand, not -beta key
};

/// The factors of a chunk, which all panels of a head of value share.
class LinearChunk {
public:
  LinearChunk(TileOps &ops, LinearOp op, const LinearShape &shape);
  /// What is the same for all chunks.
  void prepare();
  /// Rows of key and query of a chunk, and what heads share; `place` says where it begins in the domain.
  struct Place {
    llvm::SmallVector<mlir::OpFoldResult> offsets; ///< in the domain; of one batch index and head
    mlir::OpFoldResult tokens;                     ///< that exist
  };
  void loadKeys(const Place &place);
  /// The rows of a chunk, 0 behind the tokens that exist.
  void load(const Tile &rows, llvm::StringRef name, const Place &place, double factor);
  /// The factors of a head of value.
  void computeFactors(const Place &place);

  /// The part of an operand with the tokens of a chunk, or of state with a panel.
  Tile getRows(llvm::StringRef name, const Place &place);
  Tile getPanel(const Place &place, mlir::Value column, mlir::OpFoldResult columns, llvm::StringRef name);
  bool isShort(const Place &place) const { return !mlir::isConstantIntValue(place.tokens, shape.chunk); }

  TileOps &ops;
  LinearOp op;
  const LinearShape &shape;
  Tile betas;           ///< (1, token)
  Tile left;            ///< e^G a, then scale e^G q
  Tile right;           ///< e^(G_C - G) k, then that of writes
  Tile lower, mixed;    ///< of the solve, and with `write` what is erased of values
  Tile reads;           ///< P
  Tile decays, factors; ///< D, of a token on the tokens before it, one row lower; e^G, one column on, or the last one

  Tile rows, columns; ///< keys then queries; keys then writes
  Tile erased, gates; ///< a, where it is an operand or decays have channels; e^g

private:
  void normalize(const Tile &rows, double factor);
  void multiplyRows(const Tile &leftRows, const Tile &rightRows, const Tile &output);
  void loadErased(const Place &place);
  void loadGates(const Place &place);
  void computeByHead();
  void computeByChannel();
  void computeToken(mlir::Value token);
  void sumRow(const Tile &row, mlir::Value token, mlir::OpFoldResult count, int64_t set, const Tile &output);

  Tile products, sums; ///< of rows and columns
};

/// The part of an operand of attn.linear or its gradients with the tokens of a chunk, or with columns of a state.
Tile getPart(TileOps &ops, mlir::Operation *op, const LinearShape &shape, const LinearChunk::Place &place,
             mlir::Value column, mlir::OpFoldResult columns, llvm::StringRef name);
/// x, or 0 where a decay counts as 0. A NaN stays.
mlir::Value flush(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);
/// The tokens of a task, and the slot of its state; null where states have none.
struct LinearSequence {
  mlir::Value first, end, slot;
};
/// Code behind it runs where a sequence has a place for its state.
void enterIfSlot(TileOps &ops, mlir::Value slot);
/// Emits the code of a task of attn.linear_backward: one batch index and head of value. `forward` describes its inputs.
void emitLinearGradients(TileOps &ops, mlir::Operation *op, LinearOp forward, const LinearShape &shape,
                         LinearChunk::Place place, const LinearSequence &sequence);

/// Replaces attn.solve by loops over vectors.
mlir::LogicalResult lowerSolve(mlir::RewriterBase &rewriter, SolveOp op, const TargetInfo &target);

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_CPU_LINEARTILE_H
