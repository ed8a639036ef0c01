//===- TransposeCopy.cpp - the transposes at the two ends of a tile -------===//
//
// Squares of lanes x lanes elements go through registers, as blocks of 128 bits:
// vectors are put together of blocks of the same columns, from rows a block apart,
// by the loads; then log2(block) rounds of perfect shuffles (vector r with vector
// r + block/2) rotate the address bits of an element until row and column have
// changed places. Shuffles within 128 bits are cheap, and inserting a block that
// is loaded is no shuffle. What fills no square is copied element by element.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "VectorTile.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// Bits within which shuffles are cheap.
static constexpr int64_t kBlockBits = 128;

/// Transposes square blocks of `n` vectors in each `n` lanes, in place.
static Values transposeBlocks(VectorBuilder &vb, Values rows) {
  int64_t n = rows.size(), half = n / 2, lanes = cast<VectorType>(rows.front().getType()).getNumElements();
  SmallVector<int64_t> low, high;
  for (int64_t block = 0; block < lanes; block += n)
    for (int64_t i = 0; i < half; ++i) {
      low.append({block + i, lanes + block + i});
      high.append({block + half + i, lanes + block + half + i});
    }
  for (int64_t round = 1; round < n; round *= 2) {
    Values next;
    for (int64_t r = 0; r < half; ++r)
      for (ArrayRef<int64_t> mask : {ArrayRef(low), ArrayRef(high)})
        next.push_back(vector::ShuffleOp::create(vb.b, vb.loc, rows[r], rows[r + half], mask));
    rows = std::move(next);
  }
  return rows;
}

namespace {

/// Both directions: `toLanes` copies source → lanes with padding, otherwise lanes → target.
class TransposeCopy {
public:
  TransposeCopy(VectorBuilder &vb, const TransposeSide &outer, const TransposeSide &lanes, bool toLanes)
      : vb(vb), b(vb.b), loc(vb.loc), outer(outer), lanes(lanes), toLanes(toLanes) {}

  void emit(Value rows, int64_t paddedRows, OpFoldResult columnCount) {
    Value columns = getValueOrCreateConstantIndexOp(b, loc, columnCount), squares = vb.index(0);
    std::optional<int64_t> constant = getConstantIntValue(columnCount);
    bool hasSquares = outer.columnsContiguous && (!constant || *constant >= vb.lanes);
    if (hasSquares && constant)
      squares = vb.index(*constant / vb.lanes * vb.lanes);
    else if (hasSquares)
      squares = vb.subtract(columns, vb.remainder(columns, vb.lanes));
    vb.loop(paddedRows, vb.lanes, {}, [&](Value first, ValueRange) {
      Value last = vb.add(first, vb.lanes);
      bool isWhole = getConstantIntValue(rows) == paddedRows;
      if (hasSquares && isWhole)
        vb.loop(vb.index(0), squares, vb.lanes, {}, [&](Value column, ValueRange) {
          for (int64_t block = 0; block < vb.lanes; block += getBlock())
            copyBlock(first, column, block);
          return Values();
        });
      else if (hasSquares)
        toLanes ? packFewRows(first, rows, squares) : unpackFewRows(first, rows, squares);
      copyElements(first, toLanes ? last : vb.minimum(last, rows), squares, columns,
                   toLanes && !isWhole ? rows : Value());
      return Values();
    });
  }

private:
  Value isBelow(Value x, Value y) { return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, x, y); }

  /// Columns of a vector of rows from `first` on; `rows` may end before or in it. Missing rows become zero.
  void packFewRows(Value first, Value rows, Value columns) {
    auto branch = scf::IfOp::create(b, loc, isBelow(first, rows), /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value mask = vb.createMask(vb.subtract(rows, first));
    setRows(first, vb.lanes, rows);
    vb.loop(vb.index(0), columns, getBlock(), {}, [&](Value column, ValueRange) {
      copyBlock(first, column, /*block=*/0, mask);
      return Values();
    });
    rowsThere.clear();
    b.setInsertionPointToStart(branch.elseBlock());
    vb.loop(vb.index(0), columns, 1, {}, [&](Value column, ValueRange) {
      Type type = getElementTypeOrSelf(lanes.operand.memref.getType());
      if (lanes.holdsPairs)
        type = b.getIntegerType(getBits(lanes));
      storeVector(vb.zero(VectorType::get({vb.lanes}, type)), lanes, lanes.getIndices(first, column));
      return Values();
    });
  }

  void unpackFewRows(Value first, Value rows, Value columns) {
    Value last = vb.minimum(vb.add(first, vb.lanes), rows);
    vb.loop(first, last, getBlock(), {}, [&](Value row, ValueRange) {
      setRows(row, getBlock(), rows);
      vb.loop(vb.index(0), columns, vb.lanes, {}, [&](Value column, ValueRange) {
        copyBlock(row, column, /*block=*/0);
        return Values();
      });
      rowsThere.clear();
      return Values();
    });
  }

  /// Of `count` rows from `first` on, those past the last of `rows` are replaced by it.
  void setRows(Value first, int64_t count, Value rows) {
    Value last = vb.subtract(rows, vb.index(1));
    for (int64_t i = 0; i < count; ++i)
      rowsThere.push_back(vb.minimum(vb.add(first, i), last));
  }

  /// Elements of a block in each loaded vector.
  int64_t getBlock() const { return std::min<int64_t>(vb.lanes, kBlockBits / getBits(toLanes ? outer : lanes)); }

  /// Transposes the elements from `block` on of the vectors loaded for a square; as many vectors are stored. With
  /// `mask`, lanes outside of it become zero.
  void copyBlock(Value row, Value column, int64_t block, Value mask = {}) {
    const TransposeSide &from = toLanes ? outer : lanes, &to = toLanes ? lanes : outer;
    Values vectors;
    for (int64_t i = 0; i < getBlock(); ++i)
      vectors.push_back(loadBlocks(from, row, column, i, block, getBlock()));
    vectors = transposeBlocks(vb, std::move(vectors));
    bool isLastFirst = !toLanes && !rowsThere.empty(); // the last row overwrites those past it
    for (int64_t number = 0; number < getBlock(); ++number) {
      int64_t i = isLastFirst ? getBlock() - 1 - number : number;
      storeVector(vectors[i], to, getVectorIndices(to, row, column, block + i, 0), mask);
    }
  }

  static int64_t getBits(const TransposeSide &side) {
    return getElementTypeOrSelf(side.operand.memref.getType()).getIntOrFloatBitWidth() * (side.holdsPairs ? 2 : 1);
  }

  /// Joins `block` elements from `first` on of the vectors i, i + block, i + 2 block... of a square.
  Value loadBlocks(const TransposeSide &side, Value row, Value column, int64_t i, int64_t first, int64_t block) {
    if (block == vb.lanes)
      return loadVector(side, getVectorIndices(side, row, column, i, 0), block);
    Value result;
    for (int64_t position = 0; position < vb.lanes; position += block) {
      Value part = loadVector(side, getVectorIndices(side, row, column, position + i, first), block);
      if (!result) {
        auto type = VectorType::get({vb.lanes}, getElementTypeOrSelf(part.getType()));
        result = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
      }
      result = vector::InsertStridedSliceOp::create(b, loc, part, result, position, 1);
    }
    return result;
  }

  /// A vector of elements, or of pairs as integers of twice the width.
  Value loadVector(const TransposeSide &side, ValueRange indices, int64_t count) {
    Type type = getElementTypeOrSelf(side.operand.memref.getType());
    auto vector = VectorType::get({count * (side.holdsPairs ? 2 : 1)}, type);
    Value loaded = vector::LoadOp::create(b, loc, vector, side.operand.memref, indices);
    if (!side.holdsPairs)
      return loaded;
    return vector::BitCastOp::create(b, loc, VectorType::get({count}, b.getIntegerType(getBits(side))), loaded);
  }

  /// With `mask`, lanes outside of it become zero.
  void storeVector(Value vector, const TransposeSide &side, ValueRange indices, Value mask = {}) {
    Type type = getElementTypeOrSelf(side.operand.memref.getType());
    if (isa<FloatType>(type) && !side.holdsPairs)
      vector = vb.convert(vector, type);
    if (mask)
      vector = vb.select(mask, vector, vb.zero(vector.getType()));
    if (side.holdsPairs)
      vector = vector::BitCastOp::create(b, loc, VectorType::get({2 * vb.lanes}, type), vector);
    vb.store(vector, side.operand.memref, indices);
  }

  Value loadElement(const TransposeSide &side, ValueRange indices) {
    if (!side.holdsPairs)
      return memref::LoadOp::create(b, loc, side.operand.memref, indices);
    auto pair = VectorType::get({2}, getElementTypeOrSelf(side.operand.memref.getType()));
    return vector::LoadOp::create(b, loc, pair, side.operand.memref, indices);
  }

  void storeElement(Value element, const TransposeSide &side, ValueRange indices) {
    if (side.holdsPairs)
      vector::StoreOp::create(b, loc, element, side.operand.memref, indices);
    else
      memref::StoreOp::create(b, loc, element, side.operand.memref, indices);
  }

  /// Vector i of a square, from element `first` on: row i of the outer side, column i of the lanes.
  Values getVectorIndices(const TransposeSide &side, Value row, Value column, int64_t i, int64_t first) {
    if (&side == &lanes)
      return side.getIndices(vb.add(row, first), vb.add(column, i));
    return side.getIndices(rowsThere.empty() ? vb.add(row, i) : rowsThere[i], vb.add(column, first));
  }

  /// Rows [first, last), columns [firstColumn, lastColumn). With `rows`, rows from there on become zero.
  void copyElements(Value first, Value last, Value firstColumn, Value lastColumn, Value rows) {
    if (getConstantIntValue(firstColumn) && getConstantIntValue(firstColumn) == getConstantIntValue(lastColumn))
      return;
    const TransposeSide &from = toLanes ? outer : lanes, &to = toLanes ? lanes : outer;
    auto copy = [&](Value row, Value column) {
      Type type = getElementTypeOrSelf(from.operand.memref.getType());
      if (from.holdsPairs)
        type = VectorType::get({2}, type);
      Value element;
      if (rows) {
        Value isInside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, row, rows);
        auto guarded = scf::IfOp::create(
            b, loc, isInside,
            [&](OpBuilder &nested, Location) {
              OpBuilder::InsertionGuard guard(b);
              b.setInsertionPointToEnd(nested.getInsertionBlock());
              Value value = loadElement(from, from.getIndices(row, column));
              scf::YieldOp::create(b, loc, value);
            },
            [&](OpBuilder &nested, Location) {
              Value zero = arith::ConstantOp::create(nested, loc, nested.getZeroAttr(type));
              scf::YieldOp::create(nested, loc, zero);
            });
        element = guarded.getResult(0);
      } else {
        element = loadElement(from, from.getIndices(row, column));
      }
      Type target = getElementTypeOrSelf(to.operand.memref.getType());
      if (isa<FloatType>(target) && !to.holdsPairs)
        element = vb.convert(element, target);
      storeElement(element, to, to.getIndices(row, column));
    };
    vb.loop(first, last, 1, {}, [&](Value row, ValueRange) {
      vb.loop(firstColumn, lastColumn, 1, {}, [&](Value column, ValueRange) {
        copy(row, column);
        return Values();
      });
      return Values();
    });
  }

  VectorBuilder &vb;
  OpBuilder &b;
  Location loc;
  const TransposeSide &outer, &lanes;
  bool toLanes;
  Values rowsThere; ///< the rows of the outer side to read, if some may not exist
};

} // namespace

void attn::cpu::emitPack(VectorBuilder &vb, const TransposeSide &source, const TransposeSide &lanes, Value rows,
                         int64_t paddedRows, OpFoldResult columns) {
  TransposeCopy(vb, source, lanes, /*toLanes=*/true).emit(rows, paddedRows, columns);
}

void attn::cpu::emitUnpack(VectorBuilder &vb, const TransposeSide &lanes, const TransposeSide &target, Value rows,
                           int64_t paddedRows, OpFoldResult columns) {
  TransposeCopy(vb, target, lanes, /*toLanes=*/false).emit(rows, paddedRows, columns);
}
