//===- DecodeBytes.cpp - products of a decode tile by bytes ---------------===//
//
// K and V of int8 are multiplied as they are: vpdpbusd adds four products of bytes to a
// lane. Floats take four multiply-adds for these, and as many instructions to widen them
// (TargetInfo::hasByteDot). For that, a row x of Q, and the weights of a row and tile,
// become integers of 16 bits, with two signed digits each:
//   X_i = round(x_i / scale) = 256 high_i + low_i,   |X_i| <= 32639.
// The instruction's other operand is unsigned. So the top bit of K and V is flipped, which
// adds 128 (not where both are signed, sdot of 64-bit Arm), and
//   sum_i X_i k_i = sum_i X_i (k_i + 128) - 128 sum_i X_i.
// Sums of integers are exact.
//
// Errors of Q: its scale is a power of two, so its larger elements are exact too, down to
// 2^-6 of the row's largest in bf16, and to 2^-3 in f16. All others are wrong by at most
// 2^-15 of the largest. That is an eighth of their own rounding to f16, but too much for a
// Q of f32.
//
// Errors of weights: at most 2^-16 of the tile's largest. That is much for weights far
// below it. If they make up most of the rest, a second round multiplies the rounding
// errors of all weights, as integers again. This happens after an attention sink, whose
// value is nearly 0.
//
// A NaN makes its row's scale NaN, and with it all sums of the row.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ByteBuilder.h"
#include "DecodeProducts.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// For each key, rounding adds on average a quarter of 1 / 32639 of a tile's largest weight. This must be at most 2^-10
/// of the sum of all other weights, as the value of the largest may be 0: that of an attention sink nearly is.
static constexpr double kPeakRatio = 1024.0 / 4 / ByteBuilder::kMaxInteger;
static constexpr int64_t kBytes = ByteBuilder::kBytes, kDigits = ByteBuilder::kDigits;

/// The sum of integers, and the scale in lane 0.
static void storeScale(VectorBuilder &vb, const ByteOperand &operand, ArrayRef<Value> row, Value scale, Value sum) {
  ByteBuilder bytes(vb);
  // The sum of what flipTopBits adds to the products, if anything.
  sum = vb.target.hasSignedByteDot
            ? bytes.splat(bytes.wordType, 0)
            : bytes.shiftLeft(reduceLanes(vb, sum, [&](Value x, Value y) { return bytes.add(x, y); }), 7);
  auto store = [&](Value vector, Value memref) {
    memref::StoreOp::create(vb.b, vb.loc, vector::ExtractOp::create(vb.b, vb.loc, vector, 0), memref, row);
  };
  store(sum, operand.offsets);
  store(scale, operand.scales);
}

/// (digit) of a row of Q, from a column on; null for (row) alone.
static Values getBytePosition(VectorBuilder &vb, const TileRows &rows, Value row, std::optional<int64_t> digit = {},
                              Value column = {}) {
  Values position = rows.getDomain(row, {});
  for (Value &index : position)
    index = index ? index : vb.index(0);
  if (digit)
    position.append({vb.index(*digit), column});
  return position;
}

LogicalResult attn::cpu::lowerPackBytes(RewriterBase &rewriter, PackBytesOp op, const TargetInfo &target) {
  auto input = cast<MemRefType>(op.getInput().getType()), output = cast<MemRefType>(op.getDigits().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  bool isContiguous = succeeded(input.getStridesAndOffset(strides, offset)) && strides.back() == 1;
  if (!input.hasStaticShape() || !input.getElementType().isF32() || !isContiguous || input.getRank() < 2)
    return op.emitOpError("expected rows of f32, of static size, columns innermost, found ")
           << input << "; run attn-tile";
  rewriter.setInsertionPoint(op);
  OpBuilder &b = rewriter;
  Location loc = op.getLoc();
  VectorBuilder vb(rewriter, loc, target, rewriter.getF32Type());
  ByteBuilder bytes(vb);
  int64_t columns = input.getShape().back(), padded = output.getShape().back(), rank = input.getRank();
  if (columns % vb.lanes != 0 || padded % vb.lanes != 0)
    return op.emitOpError("expected multiples of ") << vb.lanes << " columns, found " << columns << "; run attn-tile";
  ByteOperand result{op.getDigits(), op.getScales(), op.getOffsets()};
  Value none = bytes.splat(bytes.wordType, 0), zero = bytes.splat(VectorType::get({vb.lanes}, b.getI8Type()), 0);
  auto emitRow = [&](ArrayRef<Value> row) {
    auto at = [&](std::optional<int64_t> digit, Value column) {
      Values position(row);
      if (digit)
        position.push_back(vb.index(*digit));
      position.push_back(column);
      return position;
    };
    auto load = [&](Value column) { return vb.load(op.getInput(), at(std::nullopt, column)); };
    Value largest = bytes.getLargest(vb.loop(columns, vb.lanes, none, [&](Value column, ValueRange carried) {
                                         return Values{bytes.maxAbs(carried.front(), load(column))};
                                       }).front());
    Value inverse = bytes.roundToPower(bytes.getInverse(largest));
    Value sum = vb.loop(columns, vb.lanes, none, [&](Value column, ValueRange carried) {
                    ByteBuilder::Integers integers = bytes.round(load(column), inverse);
                    vb.store(integers.high, result.digits, at(0, column));
                    vb.store(integers.low, result.digits, at(1, column));
                    return Values{bytes.add(carried.front(), integers.whole)};
                  }).front();
    for (int64_t column = columns; column < padded; column += vb.lanes)
      for (int64_t digit = 0; digit < kDigits; ++digit)
        vb.store(zero, result.digits, at(digit, vb.index(column)));
    storeScale(vb, result, row, bytes.getScale(largest, inverse), sum);
  };
  // All dimensions but those of heads and rows have size 1.
  int64_t queries = input.getShape()[rank - 2], heads = rank > 2 ? input.getShape()[rank - 3] : 1;
  vb.loop(heads * queries, 1, {}, [&](Value row, ValueRange) {
    Values position(rank - 1, vb.index(0));
    position.back() = heads == 1 ? row : queries == 1 ? vb.index(0) : vb.remainder(row, queries);
    if (heads > 1)
      position[rank - 3] = queries == 1 ? row : vb.divide(row, queries);
    emitRow(position);
    return Values();
  });
  rewriter.eraseOp(op);
  return success();
}

/// The weights of a row from a key on, 0 beyond the last key.
static Value loadWeights(const DecodeTile &t, Value row, Value key, Value mask) {
  VectorBuilder &vb = t.vb;
  Value weight = vb.load(t.weights, {row, key});
  return mask ? vb.select(mask, weight, vb.splat(0)) : weight;
}

/// The largest weight of a row, in every lane.
static Value findLargestWeight(const DecodeTile &t, Value row) {
  VectorBuilder &vb = t.vb;
  ByteBuilder bytes(vb);
  Value none = bytes.splat(bytes.wordType, 0);
  return bytes.getLargest(forEachKeyVector(t, none, [&](Value key, Value mask, ValueRange carried) {
                            return Values{bytes.maxAbs(carried.front(), loadWeights(t, row, key, mask))};
                          }).front());
}

void ByteDecodeProducts::allocate(DecodeTile &t, OnlineStepOp step) const {
  VectorBuilder &vb = t.vb;
  auto shape = cast<MemRefType>(t.scores.getType()).getShape();
  t.queryBytes = {step.getQueryBytes()[0], step.getQueryBytes()[1], step.getQueryBytes()[2]};
  t.weightBytes = {vb.stackBuffer({shape[0], kDigits, shape[1]}, vb.b.getI8Type()), vb.stackBuffer({shape[0]}),
                   vb.stackBuffer({shape[0]}, vb.b.getI32Type())};
}

/// Returns the peak of the row.
static Value emitWeightDigits(const DecodeTile &t, Value row) {
  VectorBuilder &vb = t.vb;
  ByteBuilder bytes(vb);
  Value largest = findLargestWeight(t, row), inverse = bytes.getInverse(largest);
  Values init{bytes.splat(bytes.wordType, 0), vb.splat(0)};
  Values sums = forEachKeyVector(t, init, [&](Value key, Value mask, ValueRange carried) {
    Value weight = loadWeights(t, row, key, mask);
    ByteBuilder::Integers integers = bytes.round(weight, inverse);
    vb.store(integers.high, t.weightBytes.digits, {row, vb.index(0), key});
    vb.store(integers.low, t.weightBytes.digits, {row, vb.index(1), key});
    Value size = math::AbsFOp::create(vb.b, vb.loc, weight);
    return Values{bytes.add(carried[0], integers.whole), arith::AddFOp::create(vb.b, vb.loc, carried[1], size)};
  });
  storeScale(vb, t.weightBytes, row, bytes.getScale(largest, inverse), sums[0]);
  Value all =
      reduceLanes(vb, sums[1], [&](Value x, Value y) -> Value { return arith::AddFOp::create(vb.b, vb.loc, x, y); });
  Value limit = arith::MulFOp::create(vb.b, vb.loc, largest, vb.splat(1 + kPeakRatio * t.schedule.getKeyTile()));
  return arith::SubFOp::create(vb.b, vb.loc, limit, all);
}

Value ByteDecodeProducts::finishWeights(const DecodeTile &t, Value row, Value peak) const {
  return t.vb.max(emitWeightDigits(t, row), peak);
}

/// p becomes the rounding error of its digits.
static void emitResiduals(const DecodeTile &t, Value row) {
  VectorBuilder &vb = t.vb;
  ByteBuilder bytes(vb);
  Value inverse = bytes.getInverse(findLargestWeight(t, row));
  Value scale = vb.broadcast(memref::LoadOp::create(vb.b, vb.loc, t.weightBytes.scales, row));
  Value minusScale = arith::NegFOp::create(vb.b, vb.loc, scale);
  forEachKeyVector(t, vb.splat(0), [&](Value key, Value mask, ValueRange carried) {
    Value weight = loadWeights(t, row, key, mask);
    Value whole = arith::SIToFPOp::create(vb.b, vb.loc, vb.vectorType, bytes.round(weight, inverse).whole);
    vb.store(vb.multiplyAdd(whole, minusScale, weight), t.weights, {row, key});
    return Values(carried);
  });
}

std::function<Value(Value)> ByteDecodeProducts::getScoresOfRow(const DecodeTile &t, Value row) const {
  VectorBuilder &vb = t.vb;
  auto load = DecodeProducts::getScoresOfRow(t, row);
  Values position = getBytePosition(vb, t.rows, row);
  Value offset =
      vector::BroadcastOp::create(vb.b, vb.loc, ByteBuilder(vb).wordType,
                                  memref::LoadOp::create(vb.b, vb.loc, t.queryBytes.offsets, position).getResult());
  Value scale = vb.broadcast(memref::LoadOp::create(vb.b, vb.loc, t.queryBytes.scales, position));
  return [=, &vb](Value key) -> Value {
    Value sum = vector::BitCastOp::create(vb.b, vb.loc, ByteBuilder(vb).wordType, load(key));
    Value product = arith::SubIOp::create(vb.b, vb.loc, sum, offset);
    return arith::MulFOp::create(vb.b, vb.loc, arith::SIToFPOp::create(vb.b, vb.loc, vb.vectorType, product), scale);
  };
}

/// `columns` bytes of K or V, then zeros.
static Value loadBytes(const DecodeTile &t, const Operand &operand, ArrayRef<Value> position, int64_t columns) {
  VectorBuilder &vb = t.vb;
  ByteBuilder bytes(vb);
  Value part = vector::LoadOp::create(vb.b, vb.loc, VectorType::get({columns}, vb.b.getI8Type()), operand.memref,
                                      operand.getIndices(vb, position));
  if (columns == bytes.width)
    return part;
  return vector::InsertStridedSliceOp::create(vb.b, vb.loc, part, bytes.splat(bytes.byteType, 0), 0, 1);
}

Value ByteDecodeProducts::multiplyBlock(const DecodeTile &t, Value first, int64_t count, Value row,
                                        ValueRange keys) const {
  VectorBuilder &vb = t.vb;
  ByteBuilder bytes(vb);
  int64_t block = keys.size(), whole = getHeadSize(t) / bytes.width * bytes.width;
  // A step is a cache line if vectors are parts of one.
  int64_t atOnce = getVectorsAtOnce(vb, whole / bytes.width, bytes.width), step = atOnce * bytes.width;
  int64_t rounds = llvm::divideCeil(getHeadSize(t), step);
  auto prefetchRound = [&](int64_t digit, Value column) {
    if (digit == 0)
      prefetch(t, Contraction::Scores, row, block, first, vb.divide(column, step), rounds);
  };
  auto addColumns = [&](int64_t digit, Value column, int64_t columns, ValueRange sums) {
    Values keyVectors, next(sums);
    for (auto [k, keyIndex] : llvm::enumerate(keys))
      keyVectors.push_back(
          bytes.flipTopBits(loadBytes(t, getSegment(t.keys, k), at(t, {}, keyIndex, column, {}), columns)));
    for (int64_t r = 0; r < count; ++r) {
      Value digits = vector::LoadOp::create(vb.b, vb.loc, bytes.byteType, t.queryBytes.digits,
                                            getBytePosition(vb, t.rows, vb.add(first, r), digit, column));
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
    sums = vb.loop(whole, step, sums, [&](Value column, ValueRange carried) {
      prefetchRound(digit, column);
      Values next(carried);
      for (int64_t i = 0; i < atOnce; ++i)
        next = addColumns(digit, vb.add(column, i * bytes.width), bytes.width, next);
      return next;
    });
    if (auto loop = sums.front().getDefiningOp<scf::ForOp>())
      attn::keepRolled(loop);
    if (whole < getHeadSize(t)) {
      prefetchRound(digit, vb.index(whole));
      sums = addColumns(digit, vb.index(whole), getHeadSize(t) - whole, sums);
    }
  }
  sums.append(vb.lanes - sums.size(), zero);
  return vector::BitCastOp::create(vb.b, vb.loc, vb.vectorType, sumLanes(vb, sums));
}

/// acc += scale * sums of (row, digit, vector) of `columns` columns.
static void addToOutput(const DecodeTile &t, ValueRange sums, Value first, int64_t count, Value column, int64_t columns,
                        ArrayRef<int64_t> halves) {
  VectorBuilder &vb = t.vb;
  ByteBuilder bytes(vb);
  int64_t vectors = 2 * halves.size();
  auto type = VectorType::get({2 * kBytes}, vb.elementType);
  for (int64_t r = 0; r < count; ++r) {
    Value row = vb.add(first, r);
    Value scale = memref::LoadOp::create(vb.b, vb.loc, t.weightBytes.scales, row);
    scale = vector::BroadcastOp::create(vb.b, vb.loc, type, scale);
    ValueRange high = sums.slice(r * kDigits * vectors, vectors);
    ValueRange low = sums.slice((r * kDigits + 1) * vectors, vectors);
    for (auto [number, half] : llvm::enumerate(halves)) {
      Value parts[2];
      for (int64_t v = 0; v < 2; ++v)
        parts[v] = arith::SIToFPOp::create(vb.b, vb.loc, vb.vectorType,
                                           bytes.add(bytes.shiftLeft(high[2 * number + v], 8), low[2 * number + v]));
      // Each 16 columns have eight here: four lanes of either vector.
      for (int64_t from = 0; kBytes * from < columns; from += kBytes) {
        SmallVector<int64_t> order;
        for (int64_t lane : {from, vb.lanes + from})
          for (int64_t i = 0; i < kBytes; ++i)
            order.push_back(lane + i);
        Value sum = vector::ShuffleOp::create(vb.b, vb.loc, parts[0], parts[1], order);
        Values indices =
            t.state.acc.getIndices(vb, at(t, row, {}, {}, vb.add(column, kBytes * from + 2 * kBytes * half)));
        Value old = vector::LoadOp::create(vb.b, vb.loc, type, t.state.acc.memref, indices);
        vb.store(vb.multiplyAdd(sum, scale, old), t.state.acc.memref, indices);
      }
    }
  }
}

static void emitByteColumns(const DecodeTile &t, Value first, int64_t count, Value column, int64_t columns,
                            ArrayRef<int64_t> halves, Value round, int64_t rounds) {
  VectorBuilder &vb = t.vb;
  ByteBuilder bytes(vb);
  Value lastKey = getLastKey(t, kBytes);
  int64_t vectors = 2 * halves.size();
  Values init; // (row, digit, vector)
  for (int64_t r = 0; r < count; ++r) {
    Value offset = memref::LoadOp::create(vb.b, vb.loc, t.weightBytes.offsets, vb.add(first, r));
    offset = vector::BroadcastOp::create(vb.b, vb.loc, bytes.wordType, offset);
    Value zero = bytes.splat(bytes.wordType, 0);
    init.append(vectors, zero);
    init.append(vectors, arith::SubIOp::create(vb.b, vb.loc, zero, offset));
  }
  // All rounds together prefetch the rows of the next tile, from the first to the last.
  auto prefetchNextKeys = [&](Value key) {
    if (!getStaticKeys(t) || *getStaticKeys(t) < kBytes)
      return;
    int64_t numRows = kBytes / getNumSegments(t);
    Value part = vb.add(vb.divide(key, kBytes), vb.multiply(round, *getStaticKeys(t) / kBytes));
    Value row = vb.multiply(vb.divide(part, rounds), numRows);
    prefetch(t, Contraction::Values, row, kBytes, first, vb.remainder(part, rounds), rounds);
  };
  // Weights past the last key are 0, so the last key may be read in place of keys past it.
  Values sums = vb.loop(vb.index(0), getKeyCount(t), kBytes, init, [&](Value key, ValueRange carried) {
    prefetchNextKeys(key);
    Value row = vb.divide(key, getNumSegments(t));
    Values keyRows, values, next(carried);
    for (int64_t k = 0; k < kBytes; ++k) {
      Value index = limitKey(vb, getKey(t, row, k), lastKey);
      keyRows.push_back(loadBytes(t, getSegment(t.values, k), at(t, {}, index, {}, column), columns));
    }
    for (int64_t half : halves)
      llvm::append_range(values, bytes.gatherKeys(keyRows, half));
    for (int64_t r = 0; r < count; ++r)
      for (int64_t digit = 0; digit < kDigits; ++digit) {
        Value four = vector::LoadOp::create(vb.b, vb.loc, VectorType::get({kBytes}, vb.b.getI8Type()),
                                            t.weightBytes.digits, ValueRange{vb.add(first, r), vb.index(digit), key});
        Value word = vector::BitCastOp::create(vb.b, vb.loc, VectorType::get({1}, vb.b.getI32Type()), four);
        Value all =
            vector::BroadcastOp::create(vb.b, vb.loc, bytes.wordType, vector::ExtractOp::create(vb.b, vb.loc, word, 0));
        all = vector::BitCastOp::create(vb.b, vb.loc, bytes.byteType, all);
        for (int64_t v = 0; v < vectors; ++v) {
          Value &sum = next[(r * kDigits + digit) * vectors + v];
          sum = bytes.dot(sum, values[v], all);
        }
      }
    return next;
  });
  addToOutput(t, sums, first, count, column, columns, halves);
}

static void emitByteOutputOf(const DecodeTile &t, Value first, int64_t count) {
  VectorBuilder &vb = t.vb;
  int64_t width = kBytes * vb.lanes, whole = getValueSize(t) / width * width;
  // The sums of both digits, of some rows and of two or four vectors, fill half of the registers.
  int64_t maxRows = vb.target.vectorRegisters / 2 / (2 * kDigits);
  for (; count > maxRows; count -= maxRows, first = vb.add(first, maxRows))
    emitByteOutputOf(t, first, maxRows);
  SmallVector<SmallVector<int64_t>> passes = {{0}, {1}};
  if (2 * count <= maxRows)
    passes = {{0, 1}};
  int64_t rounds = llvm::divideCeil(getValueSize(t), width) * passes.size();
  for (auto [number, halves] : llvm::enumerate(passes)) {
    auto addColumns = [&, number = number, &halves = halves](Value column, int64_t columns) {
      Value round = vb.divide(column, width);
      emitByteColumns(t, first, count, column, columns, halves, vb.add(vb.multiply(round, passes.size()), number),
                      rounds);
    };
    vb.loop(whole, width, {}, [&](Value column, ValueRange) {
      addColumns(column, width);
      return Values();
    });
    if (whole < getValueSize(t))
      addColumns(vb.index(whole), getValueSize(t) - whole);
  }
}

void ByteDecodeProducts::emitOutput(const DecodeTile &t, Value peak) const {
  VectorBuilder &vb = t.vb;
  Value arePeaked = isAnyGreater(vb, peak, vb.splat(0));
  Value rounds = vb.select(arePeaked, vb.index(2), vb.index(1));
  vb.loop(vb.index(0), rounds, 1, {}, [&](Value round, ValueRange) {
    Value isSecond = arith::CmpIOp::create(vb.b, vb.loc, arith::CmpIPredicate::ne, round, vb.index(0));
    auto branch = scf::IfOp::create(vb.b, vb.loc, isSecond, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(vb.b);
      vb.b.setInsertionPointToStart(branch.thenBlock());
      t.rows.forEach({}, [&](Value row, ValueRange) {
        emitResiduals(t, row);
        emitWeightDigits(t, row);
        return Values();
      });
    }
    forEachRowBlock(t, [&](Value first, int64_t count) { emitByteOutputOf(t, first, count); });
    return Values();
  });
}
