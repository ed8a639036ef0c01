//===- DecodeBytes.cpp - products of a decode tile by bytes ---------------===//
//
// K and V of int8 are multiplied as they are: vpdpbusd adds four products of bytes to a
// lane, where floats take four multiply-adds and as many instructions to widen them
// (TargetInfo::hasByteDot). For that, a row x of Q, and the weights of a row and tile,
// become integers of 16 bits, with two signed digits each:
//   X_i = round(x_i / scale) = 256 high_i + low_i,   |X_i| <= 32639.
// The instruction's other operand is unsigned: K and V have their top bit flipped, which
// adds 128, and
//   sum_i X_i k_i = sum_i X_i (k_i + 128) - 128 sum_i X_i.
// Sums of integers are exact. The scale of Q is a power of two, so that its larger numbers
// are too: those of bf16 down to 2^-6 of the row's largest, of f16 to 2^-3, with scores as
// large as they may be. All others are wrong by 2^-15 of the largest at most, an eighth of what
// its own rounding to f16 has cost, but too much for a Q of f32; weights by 2^-16 of the tile's
// largest. That is much for those far below it. Where they are most of what the largest one
// leaves, as behind an attention sink, whose value is nearly 0, a second round takes what
// rounding has left of all weights, as integers again.
// A NaN makes its row's scale NaN, and with it all sums of the row.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ByteBuilder.h"
#include "DecodeStep.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// Rounding adds up to a quarter of 1 / 32639 of a tile's largest weight for each key, on average. That is to be 2^-10
/// of the sum of all others at most, as the value of the largest may be 0: an attention sink's is nearly so.
static constexpr double kPeakRatio = 1024.0 / 4 / ByteBuilder::kMaxInteger;
static constexpr int64_t kBytes = ByteBuilder::kBytes, kDigits = ByteBuilder::kDigits;

void DecodeStepLowering::emitQueryDigits(int64_t pitch) {
  ByteBuilder bytes(vb);
  int64_t count = rows.getCount(), padded = llvm::alignTo(headSize, bytes.width);
  Type i8 = b.getI8Type(), i32 = b.getI32Type();
  queryBytes = {vb.stackBuffer({kDigits, count, padded}, i8), vb.stackBuffer({count}), vb.stackBuffer({count}, i32)};
  weightBytes = {vb.stackBuffer({kDigits, count, pitch}, i8), vb.stackBuffer({count}), vb.stackBuffer({count}, i32)};
  vb.loop(count, 1, {}, [&](Value row, ValueRange) {
    auto load = [&](Value column) { return loadColumns(query, numBatch + 2, at(row, {}, column, {}), {}); };
    auto store = [&](Value digits, int64_t digit, Value column) {
      vb.store(digits, queryBytes.digits, {vb.index(digit), row, column});
    };
    Value none = bytes.splat(bytes.wordType, 0);
    Value largest = bytes.getLargest(vb.loop(headSize, vb.lanes, none, [&](Value column, ValueRange carried) {
                                         return Values{bytes.maxAbs(carried.front(), load(column))};
                                       }).front());
    Value inverse = bytes.roundToPower(bytes.getInverse(largest));
    Value sum = vb.loop(headSize, vb.lanes, none, [&](Value column, ValueRange carried) {
                    ByteBuilder::Integers integers = bytes.round(load(column), inverse);
                    store(integers.high, 0, column);
                    store(integers.low, 1, column);
                    return Values{bytes.add(carried.front(), integers.whole)};
                  }).front();
    Value zero = bytes.splat(VectorType::get({vb.lanes}, i8), 0);
    for (int64_t column = headSize; column < padded; column += vb.lanes)
      for (int64_t digit = 0; digit < kDigits; ++digit)
        store(zero, digit, vb.index(column));
    storeScale(row, queryBytes, bytes.getScale(largest, inverse), sum);
    return Values();
  });
}

Value DecodeStepLowering::loadWeights(Value row, Value key, Value mask) {
  Value weight = vb.load(weights, {row, key});
  return mask ? vb.select(mask, weight, vb.splat(0)) : weight;
}

Value DecodeStepLowering::findLargestWeight(Value row) {
  ByteBuilder bytes(vb);
  Value none = bytes.splat(bytes.wordType, 0);
  return bytes.getLargest(forEachKeyVector(none, [&](Value key, Value mask, ValueRange carried) {
                            return Values{bytes.maxAbs(carried.front(), loadWeights(row, key, mask))};
                          }).front());
}

Value DecodeStepLowering::emitWeightDigits(Value row) {
  ByteBuilder bytes(vb);
  Value largest = findLargestWeight(row), inverse = bytes.getInverse(largest);
  Values init{bytes.splat(bytes.wordType, 0), vb.splat(0)};
  Values sums = forEachKeyVector(init, [&](Value key, Value mask, ValueRange carried) {
    Value weight = loadWeights(row, key, mask);
    ByteBuilder::Integers integers = bytes.round(weight, inverse);
    vb.store(integers.high, weightBytes.digits, {vb.index(0), row, key});
    vb.store(integers.low, weightBytes.digits, {vb.index(1), row, key});
    Value size = math::AbsFOp::create(b, loc, weight);
    return Values{bytes.add(carried[0], integers.whole), arith::AddFOp::create(b, loc, carried[1], size)};
  });
  storeScale(row, weightBytes, bytes.getScale(largest, inverse), sums[0]);
  Value all = reduceLanes(vb, sums[1], [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, loc, x, y); });
  Value limit = arith::MulFOp::create(b, loc, largest, vb.splat(1 + kPeakRatio * keyTile));
  return arith::SubFOp::create(b, loc, limit, all);
}

void DecodeStepLowering::emitResiduals(Value row) {
  ByteBuilder bytes(vb);
  Value inverse = bytes.getInverse(findLargestWeight(row));
  Value scale = vb.broadcast(memref::LoadOp::create(b, loc, weightBytes.scales, row));
  Value minusScale = arith::NegFOp::create(b, loc, scale);
  forEachKeyVector(vb.splat(0), [&](Value key, Value mask, ValueRange carried) {
    Value weight = loadWeights(row, key, mask);
    Value whole = arith::SIToFPOp::create(b, loc, vb.vectorType, bytes.round(weight, inverse).whole);
    vb.store(vb.multiplyAdd(whole, minusScale, weight), weights, {row, key});
    return Values(carried);
  });
}

void DecodeStepLowering::storeScale(Value row, const ByteOperand &operand, Value scale, Value sum) {
  ByteBuilder bytes(vb);
  sum = bytes.shiftLeft(reduceLanes(vb, sum, [&](Value x, Value y) { return bytes.add(x, y); }), 7);
  auto store = [&](Value vector, Value memref) {
    memref::StoreOp::create(b, loc, vector::ExtractOp::create(b, loc, vector, 0), memref, row);
  };
  store(sum, operand.offsets);
  store(scale, operand.scales);
}

std::function<Value(Value)> DecodeStepLowering::getScoresOfRow(Value row) {
  auto load = [this, row](Value key) { return vb.load(scores, {row, key}); };
  if (!usesBytes)
    return load;
  Value offset = vector::BroadcastOp::create(b, loc, ByteBuilder(vb).wordType,
                                             memref::LoadOp::create(b, loc, queryBytes.offsets, row).getResult());
  Value scale = vb.broadcast(memref::LoadOp::create(b, loc, queryBytes.scales, row));
  return [=, this](Value key) -> Value {
    Value sum = vector::BitCastOp::create(b, loc, ByteBuilder(vb).wordType, load(key));
    Value product = arith::SubIOp::create(b, loc, sum, offset);
    return arith::MulFOp::create(b, loc, arith::SIToFPOp::create(b, loc, vb.vectorType, product), scale);
  };
}

Value DecodeStepLowering::loadBytes(const Operand &operand, ArrayRef<Value> position, int64_t columns) {
  ByteBuilder bytes(vb);
  Value part = vector::LoadOp::create(b, loc, VectorType::get({columns}, b.getI8Type()), operand.memref,
                                      operand.getIndices(vb, position));
  if (columns == bytes.width)
    return part;
  return vector::InsertStridedSliceOp::create(b, loc, part, bytes.splat(bytes.byteType, 0), 0, 1);
}

Value DecodeStepLowering::emitByteProducts(Value first, int64_t count, Value row, ValueRange keys) {
  ByteBuilder bytes(vb);
  int64_t block = keys.size(), whole = headSize / bytes.width * bytes.width;
  int64_t rounds = llvm::divideCeil(headSize, bytes.width);
  auto addColumns = [&](int64_t digit, Value column, int64_t columns, ValueRange sums) {
    if (digit == 0)
      prefetch(askedValuePages, places, numBatch + 3, row, block, first, vb.divide(column, bytes.width), rounds);
    Values keyVectors, next(sums);
    for (auto [k, keyIndex] : llvm::enumerate(keys))
      keyVectors.push_back(bytes.flipTopBits(loadBytes(getPage(keyPages, k), at({}, keyIndex, column, {}), columns)));
    for (int64_t r = 0; r < count; ++r) {
      Value digits = vector::LoadOp::create(b, loc, bytes.byteType, queryBytes.digits,
                                            ValueRange{vb.index(digit), vb.add(first, r), column});
      for (int64_t k = 0; k < block; ++k)
        next[r * block + k] = bytes.dot(next[r * block + k], keyVectors[k], digits);
    }
    return next;
  };
  Value zero = bytes.splat(bytes.wordType, 0);
  Values sums(count * block, zero);
  for (int64_t digit = 0; digit < kDigits; ++digit) {
    if (digit > 0)
      for (Value &sum : sums)
        sum = bytes.shiftLeft(sum, 8);
    sums = vb.loop(whole, bytes.width, sums,
                   [&](Value column, ValueRange carried) { return addColumns(digit, column, bytes.width, carried); });
    if (auto loop = sums.front().getDefiningOp<scf::ForOp>())
      attn::keepRolled(loop);
    if (whole < headSize)
      sums = addColumns(digit, vb.index(whole), headSize - whole, sums);
  }
  sums.append(vb.lanes - sums.size(), zero);
  return vector::BitCastOp::create(b, loc, vb.vectorType, sumLanes(vb, sums));
}

void DecodeStepLowering::emitByteOutput() {
  Value arePeaked = isAnyGreater(peak, vb.splat(0));
  Value rounds = vb.select(arePeaked, vb.index(2), vb.index(1));
  vb.loop(vb.index(0), rounds, 1, {}, [&](Value round, ValueRange) {
    Value isSecond = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, round, vb.index(0));
    auto branch = scf::IfOp::create(b, loc, isSecond, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      vb.loop(rows.getCount(), 1, {}, [&](Value row, ValueRange) {
        emitResiduals(row);
        emitWeightDigits(row);
        return Values();
      });
    }
    forEachRowBlock([&](Value first, int64_t count) { emitByteOutputOf(first, count); });
    return Values();
  });
}

void DecodeStepLowering::emitByteOutputOf(Value first, int64_t count) {
  int64_t width = kBytes * vb.lanes, whole = valueSize / width * width;
  // Sums of both digits, of some rows and two or four vectors, fill half of the registers.
  int64_t maxRows = vb.target.vectorRegisters / 2 / (2 * kDigits);
  for (; count > maxRows; count -= maxRows, first = vb.add(first, maxRows))
    emitByteOutputOf(first, maxRows);
  SmallVector<SmallVector<int64_t>> passes = {{0}, {1}};
  if (2 * count <= maxRows)
    passes = {{0, 1}};
  int64_t rounds = llvm::divideCeil(valueSize, width) * passes.size();
  for (auto [number, halves] : llvm::enumerate(passes)) {
    auto addColumns = [&, number = number, &halves = halves](Value column, int64_t columns) {
      Value round = vb.divide(column, width);
      emitByteColumns(first, count, column, columns, halves, vb.add(vb.multiply(round, passes.size()), number), rounds);
    };
    vb.loop(whole, width, {}, [&](Value column, ValueRange) {
      addColumns(column, width);
      return Values();
    });
    if (whole < valueSize)
      addColumns(vb.index(whole), valueSize - whole);
  }
}

void DecodeStepLowering::emitByteColumns(Value first, int64_t count, Value column, int64_t columns,
                                         ArrayRef<int64_t> halves, Value round, int64_t rounds) {
  ByteBuilder bytes(vb);
  Value lastKey = getLastKey(kBytes);
  int64_t vectors = 2 * halves.size();
  Values init; // (row, digit, vector)
  for (int64_t r = 0; r < count; ++r) {
    Value offset = memref::LoadOp::create(b, loc, weightBytes.offsets, vb.add(first, r));
    offset = vector::BroadcastOp::create(b, loc, bytes.wordType, offset);
    Value zero = bytes.splat(bytes.wordType, 0);
    init.append(vectors, zero);
    init.append(vectors, arith::SubIOp::create(b, loc, zero, offset));
  }
  // The rows of the next tile from the first to the last in all rounds, not in each of them.
  auto prefetchNextKeys = [&](Value key) {
    if (!numKeys || *numKeys < kBytes)
      return;
    int64_t numRows = kBytes / places.size();
    Value part = vb.add(vb.divide(key, kBytes), vb.multiply(round, *numKeys / kBytes));
    Value row = vb.multiply(vb.divide(part, rounds), numRows);
    prefetch(nextKeyPages, nextPlaces, numBatch + 2, row, kBytes, first, vb.remainder(part, rounds), rounds);
  };
  // Weights of keys that there are not are 0: the last one stands for them.
  Values sums = vb.loop(vb.index(0), keyCount, kBytes, init, [&](Value key, ValueRange carried) {
    prefetchNextKeys(key);
    Value row = vb.divide(key, places.size());
    Values keyRows, values, next(carried);
    for (int64_t k = 0; k < kBytes; ++k) {
      Value index = limitKey(getKey(row, k), lastKey);
      keyRows.push_back(loadBytes(getPage(valuePages, k), at({}, index, {}, column), columns));
    }
    for (int64_t half : halves)
      llvm::append_range(values, bytes.gatherKeys(keyRows, half));
    for (int64_t r = 0; r < count; ++r)
      for (int64_t digit = 0; digit < kDigits; ++digit) {
        Value four = vector::LoadOp::create(b, loc, VectorType::get({kBytes}, b.getI8Type()), weightBytes.digits,
                                            ValueRange{vb.index(digit), vb.add(first, r), key});
        Value word = vector::BitCastOp::create(b, loc, VectorType::get({1}, b.getI32Type()), four);
        Value all = vector::BroadcastOp::create(b, loc, bytes.wordType, vector::ExtractOp::create(b, loc, word, 0));
        all = vector::BitCastOp::create(b, loc, bytes.byteType, all);
        for (int64_t v = 0; v < vectors; ++v) {
          Value &sum = next[(r * kDigits + digit) * vectors + v];
          sum = bytes.dot(sum, values[v], all);
        }
      }
    return next;
  });
  addToOutput(sums, first, count, column, columns, halves);
}

void DecodeStepLowering::addToOutput(ValueRange sums, Value first, int64_t count, Value column, int64_t columns,
                                     ArrayRef<int64_t> halves) {
  ByteBuilder bytes(vb);
  int64_t vectors = 2 * halves.size();
  auto type = VectorType::get({2 * kBytes}, vb.elementType);
  for (int64_t r = 0; r < count; ++r) {
    Value row = vb.add(first, r);
    Value scale = memref::LoadOp::create(b, loc, weightBytes.scales, row);
    scale = vector::BroadcastOp::create(b, loc, type, scale);
    ValueRange high = sums.slice(r * kDigits * vectors, vectors);
    ValueRange low = sums.slice((r * kDigits + 1) * vectors, vectors);
    for (auto [number, half] : llvm::enumerate(halves)) {
      Value parts[2];
      for (int64_t v = 0; v < 2; ++v)
        parts[v] = arith::SIToFPOp::create(b, loc, vb.vectorType,
                                           bytes.add(bytes.shiftLeft(high[2 * number + v], 8), low[2 * number + v]));
      // Each part of 16 columns has eight of them here: four lanes of either vector.
      for (int64_t from = 0; kBytes * from < columns; from += kBytes) {
        SmallVector<int64_t> order;
        for (int64_t lane : {from, vb.lanes + from})
          for (int64_t i = 0; i < kBytes; ++i)
            order.push_back(lane + i);
        Value sum = vector::ShuffleOp::create(b, loc, parts[0], parts[1], order);
        Values indices = acc.getIndices(vb, at(row, {}, {}, vb.add(column, kBytes * from + 2 * kBytes * half)));
        Value old = vector::LoadOp::create(b, loc, type, acc.memref, indices);
        vb.store(vb.multiplyAdd(sum, scale, old), acc.memref, indices);
      }
    }
  }
}
