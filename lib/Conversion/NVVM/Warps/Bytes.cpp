//===- Bytes.cpp - 8-bit elements as pairs of 16-bit floats ---------------===//
//
// Four bytes of a register become two registers of pairs, without conversions of single elements to f32. All are exact,
// NaN and infinities too. Instructions for two elements, beside those of a load:
//
//   i8 → bf16     4    128 + (x mod 128) is 0x4300 | (x mod 128); less 128, or 256 where the sign is set: 0x4300 | x
//                      without its sign, less 0x4300 | x without the rest
//   i8 → f16      2.5  1152 + x is 0x6400 + (x + 128)
//   e5m2 → f16    1    the upper byte
//   e4m3 → f16    1    by the instruction; 7 without: s eeee mmm at bits 15 and 13, times 2^8
//   e4m3 → bf16   9    s eeee mmm at bits 15 and 10, times 2^120
//   others        as f16, then 3: two to f32, and a pair of these
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TileCopies.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

namespace {

/// Arithmetic on registers of two 16-bit elements.
struct PairBuilder {
  WarpBuilder &wb;
  BytePairs pairs;

  Value bits(uint32_t value) const { return wb.constant(static_cast<int32_t>(value)); }
  Value both(Value x, uint32_t mask) const { return arith::AndIOp::create(wb.b, wb.loc, x, bits(mask)); }
  Value either(Value x, Value y) const { return arith::OrIOp::create(wb.b, wb.loc, x, y); }
  Value shiftRight(Value x, int64_t by) const { return arith::ShRUIOp::create(wb.b, wb.loc, x, bits(by)); }
  Value add(Value x, uint32_t y) const { return arith::AddIOp::create(wb.b, wb.loc, x, bits(y)); }
  /// Bytes of `high`:`low` by the digits of `selector`.
  Value permute(Value low, Value high, uint32_t selector) const {
    return LLVM::CallIntrinsicOp::create(wb.b, wb.loc, low.getType(), wb.b.getStringAttr("llvm.nvvm.prmt"),
                                         ValueRange{low, high, bits(selector)})
        .getResults();
  }
  Value asFloats(Value x, Type type) const {
    return LLVM::BitcastOp::create(wb.b, wb.loc, VectorType::get({2}, type), x);
  }
  Value asBits(Value x) const { return LLVM::BitcastOp::create(wb.b, wb.loc, wb.b.getI32Type(), x); }
  Value splat(Type type, double value) const {
    auto vector = VectorType::get({2}, type);
    return arith::ConstantOp::create(wb.b, wb.loc, DenseElementsAttr::get(vector, wb.b.getFloatAttr(type, value)));
  }
  /// x y + z: for bf16, sm_80 has neither sums nor products, but this.
  Value fma(Value x, double y, Value z, Type type) const {
    Value product = LLVM::FMAOp::create(wb.b, wb.loc, z.getType(), ValueRange{asFloats(x, type), splat(type, y), z});
    return asBits(product);
  }
};

} // namespace

/// The bytes of pair `h` of `word`, each the upper or the lower one of 16 bits beside bytes of `other`.
static Value spread(const PairBuilder &p, Value word, int64_t h, bool isUpper, Value other) {
  uint32_t first = p.pairs == BytePairs::Adjacent ? 2 * h : h,
           second = p.pairs == BytePairs::Adjacent ? first + 1 : h + 2;
  uint32_t lower = 0x4040 | second << 8 | first;
  return p.permute(word, other, isUpper ? ((lower << 4) & 0xf0f0) | 0x0404 : lower);
}

/// Float8 at the upper bytes, sign first, shifted by `shift`.
static Value moveMagnitude(const PairBuilder &p, Value upper, int64_t shift) {
  uint32_t magnitude = (0x7f00u >> shift) * 0x10001u;
  return p.either(p.both(upper, 0x80008000), p.both(p.shiftRight(upper, shift), magnitude));
}

static Value widenInteger(const PairBuilder &p, Value word, int64_t h, Type to) {
  if (to.isF16()) {
    Value shifted = arith::XOrIOp::create(p.wb.b, p.wb.loc, word, p.bits(0x80808080));
    Value sum = p.asFloats(spread(p, shifted, h, /*isUpper=*/false, p.bits(0x64646464)), to);
    return p.asBits(arith::SubFOp::create(p.wb.b, p.wb.loc, sum, p.splat(to, 1152)));
  }
  Value low = spread(p, word, h, /*isUpper=*/false, p.bits(0x43434343));
  return p.fma(p.both(low, 0xff80ff80), -1, p.asFloats(p.both(low, 0xff7fff7f), to), to);
}

/// As f16.
static Value widenFloat8(const PairBuilder &p, Value word, int64_t h, Type from) {
  Type f16 = p.wb.b.getF16Type(), i16 = p.wb.b.getI16Type();
  if (!isa<Float8E5M2Type>(from) && p.wb.hasFloat8) {
    Value both = p.pairs == BytePairs::Alternate ? p.permute(word, word, 0x3120) : word;
    Value two = arith::TruncIOp::create(p.wb.b, p.wb.loc, i16, h ? p.shiftRight(both, 16) : both);
    return p.asBits(LLVM::CallIntrinsicOp::create(p.wb.b, p.wb.loc, VectorType::get({2}, f16),
                                                  p.wb.b.getStringAttr("llvm.nvvm.e4m3x2.to.f16x2.rn"), two)
                        .getResults());
  }
  Value upper = spread(p, word, h, /*isUpper=*/true, p.bits(0));
  if (isa<Float8E5M2Type>(from))
    return upper;
  // All ones beside the sign, NaN, carry into an exponent of all ones.
  Value number = moveMagnitude(p, upper, 1);
  number = p.either(number, p.both(p.add(number, 0x00800080), 0x40004000));
  return p.asBits(arith::MulFOp::create(p.wb.b, p.wb.loc, p.asFloats(number, f16), p.splat(f16, 256)));
}

/// e4m3 as bf16, without a conversion.
static Value widenByProduct(const PairBuilder &p, Value word, int64_t h) {
  Type bf16 = p.wb.b.getBF16Type();
  Value number = moveMagnitude(p, spread(p, word, h, /*isUpper=*/true, p.bits(0)), 4);
  Value product = p.fma(number, 0x1p120, p.splat(bf16, -0.0), bf16);
  // NaN is 480 yet: 0x43f0 + 0x3c00 is one of bf16.
  Value isNaN = p.both(p.shiftRight(p.add(number, 0x00100010), 1), 0x04000400);
  return arith::AddIOp::create(p.wb.b, p.wb.loc, product, p.wb.multiply(isNaN, 15));
}

std::array<Value, 2> attn::nvvm::widenWord(WarpBuilder &wb, Value word, Type from, Type to, BytePairs pairs) {
  PairBuilder p{wb, pairs};
  std::array<Value, 2> result;
  for (auto [h, pair] : llvm::enumerate(result)) {
    if (from.isInteger(8))
      pair = widenInteger(p, word, h, to);
    else if (isa<Float8E4M3FNType>(from) && to.isBF16() && !wb.hasFloat8)
      pair = widenByProduct(p, word, h);
    else if (Value halves = widenFloat8(p, word, h, from); to.isF16())
      pair = halves;
    else {
      Value floats = p.asFloats(halves, wb.b.getF16Type());
      auto widen = [&](int64_t i) {
        return wb.convert(vector::ExtractOp::create(wb.b, wb.loc, floats, i), wb.b.getF32Type());
      };
      Value low = widen(0);
      pair = wb.packPair(low, widen(1), to);
    }
  }
  return result;
}

Value attn::nvvm::widenBytes(WarpBuilder &wb, Value raw, Type from, Type to) {
  int64_t count = cast<VectorType>(raw.getType()).getNumElements();
  Value words = LLVM::BitcastOp::create(wb.b, wb.loc, VectorType::get({count / 4}, wb.b.getI32Type()), raw);
  Values pairs;
  for (int64_t i = 0; i < count / 4; ++i) {
    Value word = vector::ExtractOp::create(wb.b, wb.loc, words, i);
    llvm::append_range(pairs, widenWord(wb, word, from, to, BytePairs::Adjacent));
  }
  Value all = vector::FromElementsOp::create(wb.b, wb.loc, VectorType::get({count / 2}, wb.b.getI32Type()), pairs);
  return LLVM::BitcastOp::create(wb.b, wb.loc, VectorType::get({count}, to), all);
}
