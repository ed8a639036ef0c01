//===- TransposeTest.cpp - packing and unpacking, executed ------------------===//
//
// emitPack and emitUnpack for every number of lanes, on sizes that fill squares
// and sizes that do not.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "EmitTile.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace attn;
using namespace attn::test;

namespace {

constexpr double kUntouched = -1;

/// One transpose between rows, stored [rows][columns] or, where columns are not contiguous, [columns][rows], and lanes
/// [columns][padded rows].
template <typename T> struct Case {
  TargetInfo target;
  int64_t paddedRows, columns;
  bool columnsContiguous;

  /// The place of an element of the rows.
  int64_t getPlace(int64_t row, int64_t column) const {
    return columnsContiguous ? row * columns + column : column * paddedRows + row;
  }

  StridedMemRefType<T, 2> getMemref(std::vector<T> &data, int64_t columns) const {
    return {data.data(), data.data(), 0, {int64_t(data.size()) / columns, columns}, {columns, 1}};
  }

  std::unique_ptr<Tile> emit(bool toLanes) const {
    SmallVector<int64_t> lanes = {columns, paddedRows}, outer = lanes;
    if (columnsContiguous)
      std::swap(outer[0], outer[1]);
    SmallVector<SmallVector<int64_t>> shapes = {outer, lanes};
    if (!toLanes)
      std::swap(shapes[0], shapes[1]);
    return Tile::emit(target, sizeof(T) == 8, shapes, [&](cpu::VectorBuilder &vb, ValueRange arguments) {
      auto map = AffineMap::getMultiDimIdentityMap(2, vb.b.getContext());
      cpu::TransposeSide outerSide{{arguments[toLanes ? 0 : 1], map},
                                   [this](Value row, Value column) {
                                     return columnsContiguous ? cpu::Values{row, column} : cpu::Values{column, row};
                                   },
                                   columnsContiguous};
      cpu::TransposeSide laneSide{
          {arguments[toLanes ? 1 : 0], map}, [](Value row, Value column) { return cpu::Values{column, row}; }, true};
      if (toLanes)
        cpu::emitPack(vb, outerSide, laneSide, arguments[2], paddedRows, vb.b.getIndexAttr(columns));
      else
        cpu::emitUnpack(vb, laneSide, outerSide, arguments[2], paddedRows, vb.b.getIndexAttr(columns));
    });
  }

  void check() const {
    SCOPED_TRACE(llvm::formatv("{0} lanes of {1} bits, {2} x {3}, contiguous {4}", target.getLanes(8 * sizeof(T)),
                               8 * sizeof(T), paddedRows, columns, columnsContiguous)
                     .str());
    std::unique_ptr<Tile> pack = emit(true), unpack = emit(false);
    for (int64_t rows = 0; rows <= paddedRows; ++rows) {
      // Rows beyond `rows` hold NaN: nothing of them may be read.
      std::vector<T> source(paddedRows * columns, T(NAN)), lanes(paddedRows * columns, T(kUntouched));
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column)
          source[getPlace(row, column)] = 1 + row * columns + column;
      int64_t innermost = columnsContiguous ? columns : paddedRows;
      auto sourceMemref = getMemref(source, innermost), lanesMemref = getMemref(lanes, paddedRows);
      pack->call(sourceMemref, lanesMemref, rows);
      for (int64_t row = 0; row < paddedRows; ++row)
        for (int64_t column = 0; column < columns; ++column)
          ASSERT_EQ(lanes[column * paddedRows + row], row < rows ? source[getPlace(row, column)] : T(0))
              << "packed, row " << row << " of " << rows << ", column " << column;

      std::vector<T> target(paddedRows * columns, T(kUntouched));
      auto targetMemref = getMemref(target, innermost);
      unpack->call(lanesMemref, targetMemref, rows);
      for (int64_t row = 0; row < paddedRows; ++row)
        for (int64_t column = 0; column < columns; ++column)
          ASSERT_EQ(target[getPlace(row, column)], row < rows ? source[getPlace(row, column)] : T(kUntouched))
              << "unpacked, row " << row << " of " << rows << ", column " << column;
    }
  }
};

/// Vectors of `lanes` elements, whatever the processor: LLVM splits those that are too wide for it.
template <typename T> void checkLanes(unsigned lanes) {
  TargetInfo target = llvm::cantFail(TargetInfo::get("host"));
  target.vectorBits = lanes * 8 * sizeof(T);
  for (int64_t columns : {int64_t(1), int64_t(lanes), int64_t(2 * lanes), int64_t(3 * lanes - 1)})
    for (bool columnsContiguous : {true, false})
      Case<T>{target, 2 * lanes, columns, columnsContiguous}.check();
}

TEST(Transpose, TwoLanes) { checkLanes<double>(2); }
TEST(Transpose, FourLanes) {
  checkLanes<float>(4);
  checkLanes<double>(4);
}
TEST(Transpose, EightLanes) {
  checkLanes<float>(8);
  checkLanes<double>(8);
}
TEST(Transpose, SixteenLanes) { checkLanes<float>(16); }

} // namespace
