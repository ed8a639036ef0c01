//===- DecodeTiles.cpp - the products of a decode tile by AMX tiles -------===//
//
// The rows of a tile, of all heads that share a head of K, are the rows of AMX tiles:
//   S = Q K^T, with K packed as pairs along the head, (head floordiv 2, key, 2)
//   acc += P V, with V packed as pairs along the keys, (key floordiv 2, column, 2)
// A key tile is packed once for all rows. It is filled up with keys of zeros to a multiple of the depth of a product;
// their weights are 0.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "DecodeProducts.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// The rows of a tile as a matrix; its leading dimensions are contiguous.
static Value getRowMatrix(VectorBuilder &vb, Value memref) {
  int64_t rank = cast<MemRefType>(memref.getType()).getRank();
  if (rank == 2)
    return memref;
  SmallVector<ReassociationIndices> groups = {llvm::to_vector(llvm::seq<int64_t>(0, rank - 1)), {rank - 1}};
  return memref::CollapseShapeOp::create(vb.b, vb.loc, memref, groups);
}

static int64_t getKeys(const DecodeTile &t) { return cast<MemRefType>(t.scores.getType()).getDimSize(1); }

/// Vectors of a row of K or V from `column` on, of which the tile has `count`: body(column).
static void forEachColumn(VectorBuilder &vb, int64_t count, function_ref<void(Value)> body) {
  vb.loop(count, vb.lanes, {}, [&](Value column, ValueRange) {
    body(column);
    return Values();
  });
}

/// Rows of bf16 of K: the operand itself, or a copy of elements of 8 bits.
static TransposeSide getRowsOfKey(const DecodeTile &t) {
  VectorBuilder &vb = t.vb;
  const Operand &key = t.keys.front();
  TransposeSide rows{key,
                     [&t, &key](Value row, Value column) { return key.getIndices(t.vb, at(t, {}, row, column, {})); }};
  rows.columnsContiguous = true;
  if (getElementTypeOrSelf(key.memref.getType()).isBF16())
    return rows;
  Value wide = vb.stackBuffer({getKeys(t), getHeadSize(t)}, vb.b.getBF16Type());
  vb.loop(vb.index(0), getKeyCount(t), 1, {}, [&](Value row, ValueRange) {
    forEachColumn(vb, getHeadSize(t), [&](Value column) {
      Value vector = loadColumns(vb, key, getHeadPos(t), at(t, {}, row, column, {}), /*mask=*/{});
      vb.store(vb.narrow(vector), wide, {row, column});
    });
    return Values();
  });
  rows.operand = {wide, vb.b.getMultiDimIdentityMap(2)};
  rows.getIndices = [](Value row, Value column) { return Values{row, column}; };
  return rows;
}

/// K in pairs along the head, (pair, 2 * key).
static Value packKey(const DecodeTile &t) {
  VectorBuilder &vb = t.vb;
  Value pairs = vb.stackBuffer({getHeadSize(t) / 2, 2 * getKeys(t)}, vb.b.getBF16Type());
  TransposeSide rows = getRowsOfKey(t), source = rows, lanes{{pairs, vb.b.getMultiDimIdentityMap(2)}, {}};
  source.getIndices = [&](Value row, Value pair) { return rows.getIndices(row, vb.multiply(pair, 2)); };
  lanes.getIndices = [&](Value row, Value pair) { return Values{pair, vb.multiply(row, 2)}; };
  source.holdsPairs = lanes.holdsPairs = true;
  emitPack(vb, source, lanes, getKeyCount(t), getKeys(t), vb.b.getIndexAttr(getHeadSize(t) / 2));
  return pairs;
}

/// V in pairs along the keys, (pair, 2 * column).
static Value packValue(const DecodeTile &t) {
  VectorBuilder &vb = t.vb;
  int64_t columns = getValueSize(t);
  Value pairs = vb.stackBuffer({getKeys(t) / 2, 2 * columns}, vb.b.getBF16Type()), count = getKeyCount(t);
  auto load = [&](Value key, Value column) {
    return loadColumns(vb, t.values.front(), getValuePos(t), at(t, {}, key, {}, column), /*mask=*/{});
  };
  auto packPairs = [&](Value first, Value end, function_ref<Value(Value, Value)> make) {
    vb.loop(first, end, 1, {}, [&](Value pair, ValueRange) {
      forEachColumn(vb, columns,
                    [&](Value column) { vb.store(make(pair, column), pairs, {pair, vb.multiply(column, 2)}); });
      return Values();
    });
  };
  Value whole = vb.divide(count, 2), all = vb.divide(vb.add(count, 1), 2);
  packPairs(vb.index(0), whole, [&](Value pair, Value column) {
    Value key = vb.multiply(pair, 2);
    return vb.makePairs(load(key, column), load(vb.add(key, 1), column));
  });
  packPairs(whole, all,
            [&](Value pair, Value column) { return vb.makePairs(load(vb.multiply(pair, 2), column), vb.splat(0)); });
  packPairs(all, vb.index(getKeys(t) / 2),
            [&](Value, Value) { return vb.zero(VectorType::get({2 * vb.lanes}, vb.b.getBF16Type())); });
  return pairs;
}

void AMXDecodeProducts::allocate(DecodeTile &t, OnlineStepOp) const {
  t.weights = t.vb.stackBuffer(cast<MemRefType>(t.scores.getType()).getShape(), t.vb.b.getBF16Type());
}

void AMXDecodeProducts::emitScores(const DecodeTile &t) const {
  emitTileProduct(t.vb, getRowMatrix(t.vb, t.query.memref), packKey(t), t.scores, /*isAdded=*/false);
}

void AMXDecodeProducts::emitOutput(const DecodeTile &t, Value) const {
  VectorBuilder &vb = t.vb;
  // After the vectors of weights that the softmax has written.
  Value end = vb.multiply(vb.divide(vb.add(getKeyCount(t), vb.lanes - 1), vb.lanes), vb.lanes);
  t.rows.forEach({}, [&](Value row, ValueRange) {
    vb.loop(end, vb.index(getKeys(t)), vb.lanes, {}, [&](Value key, ValueRange) {
      vb.store(vb.zero(VectorType::get({vb.lanes}, vb.b.getBF16Type())), t.weights, {row, key});
      return Values();
    });
    return Values();
  });
  emitTileProduct(vb, t.weights, packValue(t), getRowMatrix(vb, t.state.acc.memref), /*isAdded=*/true);
}
