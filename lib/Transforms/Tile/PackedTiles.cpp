//===- PackedTiles.cpp - tiles of packed rows without empty ones ----------===//
//
// A GPU's grid is known before the kernel reads where sequences begin. Sequence i has the tiles from number
//
//   first(i) = floor(start(i) / rows of a tile) + i
//
// on. Those of n sequences are at most floor(rows / rows of a tile) + n, and first(i + 1) - first(i) is at least
// ceil(length(i) / rows of a tile): no sequence lacks one. A block finds its sequence by a binary search.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TileBuilder.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

OpFoldResult attn::countPackedTiles(OpBuilder &b, Location loc, OpFoldResult numRows, OpFoldResult numSequences,
                                    int64_t tileRows) {
  AffineExpr rows = b.getAffineDimExpr(0), sequences = b.getAffineDimExpr(1);
  return affine::makeComposedFoldedAffineApply(b, loc, rows.floorDiv(tileRows) + sequences, {numRows, numSequences});
}

/// In 32 bits, which are enough for tiles: a GPU's thread would keep two registers of an index.
static Value getFirst(OpBuilder &b, Location loc, Value sequences, Value sequence, int64_t tileRows) {
  Type i32 = b.getI32Type();
  Value start = tensor::ExtractOp::create(b, loc, sequences, sequence);
  if (start.getType() != i32)
    start = arith::TruncIOp::create(b, loc, i32, start);
  Value tiles = arith::DivUIOp::create(b, loc, start, arith::ConstantIntOp::create(b, loc, tileRows, 32));
  return add(b, loc, tiles, arith::IndexCastOp::create(b, loc, i32, sequence));
}

Value attn::getFirstPackedTile(OpBuilder &b, Location loc, Value sequences, Value sequence, int64_t tileRows) {
  return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), getFirst(b, loc, sequences, sequence, tileRows));
}

/// ceil(log2 n)
static Value countHalvings(OpBuilder &b, Location loc, Value n) {
  if (std::optional<int64_t> constant = getConstantIntValue(n))
    return index(b, loc, llvm::Log2_64_Ceil(std::max<int64_t>(*constant, 1)));
  Type i64 = b.getI64Type();
  Value last = arith::IndexCastOp::create(b, loc, i64, subtract(b, loc, n, index(b, loc, 1)));
  Value zeros = math::CountLeadingZerosOp::create(b, loc, last);
  return subtract(b, loc, index(b, loc, 64), arith::IndexCastOp::create(b, loc, b.getIndexType(), zeros));
}

PackedTile attn::findPackedTile(OpBuilder &b, Location loc, Value sequences, OpFoldResult numSequences, Value number,
                                int64_t tileRows) {
  auto toIndex = [&](Value x) -> Value { return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), x); };
  auto narrow = [&](Value x) { return b.createOrFold<arith::IndexCastUIOp>(loc, b.getI32Type(), x); };
  Value all = toValue(b, loc, numSequences), one = arith::ConstantIntOp::create(b, loc, 1, 32);
  number = narrow(number);
  // The sequence is among `count` from `first` on.
  TileState init = {arith::ConstantIntOp::create(b, loc, 0, 32), narrow(all)};
  TileState found = createLoop(
      b, loc, index(b, loc, 0), countHalvings(b, loc, all), 1, init, [&](Value, TileState carried) -> TileState {
        Value half = arith::ShRUIOp::create(b, loc, carried[1], one), middle = add(b, loc, carried[0], half);
        Value isAfter = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt,
                                              getFirst(b, loc, sequences, toIndex(middle), tileRows), number);
        return {arith::SelectOp::create(b, loc, isAfter, carried[0], middle), subtract(b, loc, carried[1], half)};
      });
  Value sequence = toIndex(found[0]);
  return {sequence, toIndex(subtract(b, loc, number, getFirst(b, loc, sequences, sequence, tileRows)))};
}
