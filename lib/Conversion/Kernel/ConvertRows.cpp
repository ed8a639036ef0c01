//===- ConvertRows.cpp - elements of new rows in the type of a cache ------===//
//
// LLVM does not know the floats of 8 bits: they are made by their bits. All
// arithmetic is of one element without branches, which LLVM vectorises.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ConvertRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace attn;

namespace {
/// Builds the arithmetic of one element.
struct ElementBuilder {
  OpBuilder &b;
  Location loc;

  Value getBits(int64_t value) { return arith::ConstantIntOp::create(b, loc, value, 32); }
  Value getFloat(float value) { return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value)); }
  Value toBits(Value x) { return arith::BitcastOp::create(b, loc, b.getI32Type(), x); }
  template <typename OpTy> Value make(Value x, Value y) { return OpTy::create(b, loc, x, y); }
  Value select(Value condition, Value x, Value y) { return arith::SelectOp::create(b, loc, condition, x, y); }
  Value toByte(Value bits) { return arith::TruncIOp::create(b, loc, b.getI8Type(), bits); }
};

/// What tells the two types: bits of the mantissa, exponent of the smallest normal number, largest finite number.
struct Float8 {
  unsigned mantissa;
  int minExponent;
  float largest;
};
} // namespace

/// x to the nearest number of the type, ties to even, at most the largest finite one; a NaN stays one.
static Value narrowToFloat8(ElementBuilder e, Value x, Type to) {
  Float8 format = isa<Float8E4M3FNType>(to) ? Float8{3, -6, 448.0f} : Float8{2, -14, 57344.0f};
  unsigned shift = 23 - format.mantissa;
  auto bitsOf = [](float number) { return int64_t(llvm::bit_cast<uint32_t>(number)); };
  Value bits = e.toBits(x), magnitude = e.make<arith::AndIOp>(bits, e.getBits(0x7fffffff));
  Value sign = e.make<arith::AndIOp>(e.make<arith::ShRUIOp>(bits, e.getBits(24)), e.getBits(0x80));
  // Numbers of one sign are ordered as their bits are.
  Value limited = e.make<arith::MinUIOp>(magnitude, e.getBits(bitsOf(format.largest)));
  // Normal: the bits that fall away are rounded by a sum that carries, and the exponent changes its bias.
  Value odd = e.make<arith::AndIOp>(e.make<arith::ShRUIOp>(limited, e.getBits(shift)), e.getBits(1));
  Value rounded = e.make<arith::AddIOp>(limited, e.make<arith::AddIOp>(odd, e.getBits((1 << (shift - 1)) - 1)));
  Value normal = e.make<arith::SubIOp>(e.make<arith::ShRUIOp>(rounded, e.getBits(shift)),
                                       e.getBits((126 + format.minExponent) << format.mantissa));
  // Subnormal: behind a number whose last bit is the step of subnormal numbers, the sum is rounded to it.
  float step = std::ldexp(1.0f, 23 + format.minExponent - int(format.mantissa));
  Value sum = e.make<arith::AddFOp>(arith::BitcastOp::create(e.b, e.loc, e.b.getF32Type(), limited), e.getFloat(step));
  Value subnormal = e.make<arith::SubIOp>(e.toBits(sum), e.getBits(bitsOf(step)));
  auto isBelow = [&](Value lhs, Value rhs) -> Value {
    return arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::ult, lhs, rhs);
  };
  Value smallest = e.getBits(bitsOf(std::ldexp(1.0f, format.minExponent)));
  Value code = e.select(isBelow(limited, smallest), subnormal, normal);
  code = e.select(isBelow(e.getBits(0x7f800000), magnitude), e.getBits(0x7f), code);
  return arith::BitcastOp::create(e.b, e.loc, to, e.toByte(e.make<arith::OrIOp>(code, sign)));
}

/// x to the nearest integer, ties to even, from -128 to 127; 0 of a NaN.
static Value narrowToByte(ElementBuilder e, Value x) {
  auto isTrue = [&](arith::CmpFPredicate predicate, Value lhs, Value rhs) -> Value {
    return arith::CmpFOp::create(e.b, e.loc, predicate, lhs, rhs);
  };
  Value low = e.getFloat(-128), high = e.getFloat(127);
  Value limited = e.select(isTrue(arith::CmpFPredicate::OGT, x, low), x, low);
  limited = e.select(isTrue(arith::CmpFPredicate::OLT, limited, high), limited, high);
  limited = e.select(isTrue(arith::CmpFPredicate::UNO, x, x), e.getFloat(0), limited);
  // 1.5 · 2^23 has room for the integer in its last bits.
  return e.toByte(e.toBits(e.make<arith::AddFOp>(limited, e.getFloat(0x1.8p23f))));
}

Value attn::emitConverted(OpBuilder &b, Location loc, Value value, Value scale, Type to) {
  Type from = value.getType();
  if (from == to)
    return value;
  unsigned width = to.getIntOrFloatBitWidth(), given = from.getIntOrFloatBitWidth();
  if (width > given)
    return arith::ExtFOp::create(b, loc, to, value);
  if (width >= 16 && width < given)
    return arith::TruncFOp::create(b, loc, to, value);
  Value wide = given < 32 ? arith::ExtFOp::create(b, loc, b.getF32Type(), value) : value;
  if (width >= 16) // f16 and bf16
    return arith::TruncFOp::create(b, loc, to, wide);
  if (scale)
    wide = arith::DivFOp::create(b, loc, wide, scale);
  ElementBuilder e{b, loc};
  return to.isInteger(8) ? narrowToByte(e, wide) : narrowToFloat8(e, wide, to);
}
