//===- ByteBuilder.cpp - vectors of integers of two bytes -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ByteBuilder.h"
#include "ArmProducts.h"
#include "RowTile.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// A smaller maximum of |x| is raised to this, so that its inverse is finite.
static constexpr double kMinLargest = 1e-30;
/// Added to |X|, it leaves X in the lowest bits of the f32, rounded to nearest.
static constexpr double kRounder = 1.5 * (1 << 23);
static constexpr int64_t kRounderBits = 0x4B400000;

ByteBuilder::ByteBuilder(VectorBuilder &vb)
    : vb(vb), b(vb.b), loc(vb.loc), width(kBytes * vb.lanes), wordType(VectorType::get({vb.lanes}, b.getI32Type())),
      byteType(VectorType::get({width}, b.getI8Type())) {}

Value ByteBuilder::splat(VectorType type, int64_t value) {
  auto element = cast<IntegerType>(type.getElementType());
  APInt bits(element.getWidth(), value, /*isSigned=*/true);
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, bits));
}

Value ByteBuilder::shiftLeft(Value x, int64_t count) {
  return arith::ShLIOp::create(b, loc, x, splat(wordType, count));
}

Value ByteBuilder::dot(Value acc, Value bytes, Value signedBytes) {
  if (vb.target.hasSignedByteDot)
    return emitByteDot(vb, acc, bytes, signedBytes);
  bool isWide = width == 64;
  return vb.assembly(wordType, {acc, bytes, signedBytes}, isWide ? "vpdpbusd $3, $2, $0" : "{vex} vpdpbusd $3, $2, $0",
                     isWide ? "=v,0,v,v" : "=x,0,x,x");
}

Value ByteBuilder::flipTopBits(Value bytes) {
  return vb.target.hasSignedByteDot ? bytes : arith::XOrIOp::create(b, loc, bytes, splat(byteType, -128));
}

Value ByteBuilder::maxAbs(Value largest, Value x) {
  Value bits = vector::BitCastOp::create(b, loc, wordType, x);
  return arith::MaxSIOp::create(b, loc, largest, arith::AndIOp::create(b, loc, bits, splat(wordType, 0x7FFFFFFF)));
}

Value ByteBuilder::getLargest(Value largest) {
  Value bits =
      reduceLanes(vb, largest, [&](Value x, Value y) -> Value { return arith::MaxSIOp::create(b, loc, x, y); });
  Value least = vector::BitCastOp::create(b, loc, wordType, vb.splat(kMinLargest));
  return vector::BitCastOp::create(b, loc, vb.vectorType, arith::MaxSIOp::create(b, loc, bits, least));
}

Value ByteBuilder::getInverse(Value largest) { return arith::DivFOp::create(b, loc, vb.splat(kMaxInteger), largest); }

Value ByteBuilder::roundToPower(Value x) {
  Value exponent =
      arith::AndIOp::create(b, loc, vector::BitCastOp::create(b, loc, wordType, x), splat(wordType, 0x7F800000));
  return vector::BitCastOp::create(b, loc, vb.vectorType, exponent);
}

Value ByteBuilder::getScale(Value largest, Value inverse) {
  return vb.multiplyAdd(largest, vb.splat(0), arith::DivFOp::create(b, loc, vb.splat(1), inverse));
}

ByteBuilder::Integers ByteBuilder::round(Value x, Value inverse) {
  Value sum = vb.multiplyAdd(x, inverse, vb.splat(kRounder));
  Value bits = vector::BitCastOp::create(b, loc, wordType, sum);
  auto type = VectorType::get({vb.lanes}, b.getI8Type());
  Value carried = arith::ShRUIOp::create(b, loc, add(bits, splat(wordType, 128)), splat(wordType, 8));
  return {arith::SubIOp::create(b, loc, bits, splat(wordType, kRounderBits)),
          arith::TruncIOp::create(b, loc, type, carried), arith::TruncIOp::create(b, loc, type, bits)};
}

Value ByteBuilder::interleave(Value even, Value odd, int64_t elementBytes, int64_t half) {
  auto type = VectorType::get({width / elementBytes}, b.getIntegerType(8 * elementBytes));
  int64_t count = type.getNumElements(), part = 16 / elementBytes;
  SmallVector<int64_t> order;
  for (int64_t first = half * part / 2; first < count; first += part)
    for (int64_t i = first; i < first + part / 2; ++i)
      order.append({i, count + i});
  Value mixed = vector::ShuffleOp::create(b, loc, b.createOrFold<vector::BitCastOp>(loc, type, even),
                                          b.createOrFold<vector::BitCastOp>(loc, type, odd), order);
  return b.createOrFold<vector::BitCastOp>(loc, byteType, mixed);
}

std::array<Value, 2> ByteBuilder::gatherKeys(ArrayRef<Value> rows, int64_t half) {
  Value x = interleave(rows[0], rows[1], 1, half), y = interleave(rows[2], rows[3], 1, half);
  return {flipTopBits(interleave(x, y, 2, 0)), flipTopBits(interleave(x, y, 2, 1))};
}
