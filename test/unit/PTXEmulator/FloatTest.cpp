//===- FloatTest.cpp - floats: rounding, NaN, subnormals, conversions -----===//
//
// Expected values are worked out from the PTX ISA's definitions; patterns of bits where a rounding is what is tested.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RunPTX.h"

#include <cmath>

using namespace attn::ptx;

namespace {

using F = std::vector<float>;
using D = std::vector<double>;
using U32 = std::vector<uint32_t>;
using U16 = std::vector<uint16_t>;
using I32 = std::vector<int32_t>;
const float nan = std::nanf(""), inf = INFINITY;
const float tiny = 0x1p-130f; // a subnormal
const float ulp = 0x1p-23f;   // of 1

U32 bits(const F &values) {
  U32 result;
  for (float value : values)
    result.push_back(asBits(value));
  return result;
}
U32 run(const std::string &op, const F &a, const F &b) { return evaluate<uint32_t>(op + " d, a, b;", a, b); }
U32 run(const std::string &op, const F &a) { return evaluate<uint32_t>(op + " d, a;", a); }

TEST(Float, AddInEachRounding) {
  // 1 + 2^-24 is halfway between 1 and its neighbour; −1 − 2^-25 a quarter.
  const F a{1, -1, 1}, b{0x1p-24f, -0x1p-25f, 0x1.8p-24f};
  EXPECT_EQ(run("add.rn.f32", a, b), bits({1, -1, 1 + ulp}));
  EXPECT_EQ(run("add.rz.f32", a, b), bits({1, -1, 1}));
  EXPECT_EQ(run("add.rm.f32", a, b), bits({1, -1 - ulp, 1}));
  EXPECT_EQ(run("add.rp.f32", a, b), bits({1 + ulp, -1, 1 + ulp}));
  EXPECT_EQ(run("add.f32", a, b), bits({1, -1, 1 + ulp}));
}

TEST(Float, AddOfVeryDifferentSizes) {
  // The small operand is below a double's last bit; it still decides the direction.
  EXPECT_EQ(run("add.rp.f32", F{1, 1}, F{0x1p-100f, -0x1p-100f}), bits({1 + ulp, 1}));
  EXPECT_EQ(run("add.rz.f32", F{1}, F{-0x1p-100f}), bits({1 - ulp / 2}));
}

TEST(Float, MultiplyInEachRounding) {
  // (1 + ulp)² = 1 + 2 ulp + ulp²
  const F a{1 + ulp}, b{1 + ulp};
  EXPECT_EQ(run("mul.rn.f32", a, b), bits({1 + 2 * ulp}));
  EXPECT_EQ(run("mul.rp.f32", a, b), bits({1 + 3 * ulp}));
  EXPECT_EQ(run("mul.rz.f32", a, b), bits({1 + 2 * ulp}));
}

TEST(Float, FmaRoundsOnce) {
  // (1 + ulp)² − (1 + 2 ulp) = ulp², which two roundings would lose.
  EXPECT_EQ(evaluate<float>("fma.rn.f32 d, a, b, c;", F{1 + ulp}, F{1 + ulp}, F{-(1 + 2 * ulp)}), F{ulp * ulp});
  EXPECT_EQ(evaluate<float>("mul.f32 r, a, b; add.f32 d, r, c;", F{1 + ulp}, F{1 + ulp}, F{-(1 + 2 * ulp)}), F{0});
  EXPECT_EQ(evaluate<float>("fma.rp.f32 d, a, b, c;", F{1}, F{0x1p-60f}, F{1}), F{1 + ulp});
}

TEST(Float, FlushToZero) {
  EXPECT_EQ(run("add.f32", F{tiny}, F{tiny}), bits({2 * tiny}));
  EXPECT_EQ(run("add.ftz.f32", F{tiny, -tiny}, F{0, -0.0f}), bits({0, -0.0f}));
  EXPECT_EQ(run("mul.ftz.f32", F{0x1p-100f, -0x1p-100f}, F{0x1p-30f, 0x1p-30f}), bits({0, -0.0f}));
  EXPECT_EQ(run("mul.f32", F{0x1p-100f}, F{0x1p-30f}), bits({tiny}));
}

TEST(Float, Saturate) {
  EXPECT_EQ(run("add.sat.f32", F{0.5f, 0.75f, -1, nan}, F{0.25f, 0.75f, 0, 0}), bits({0.75f, 1, 0, 0}));
}

TEST(Float, NanIsCanonical) {
  EXPECT_EQ(run("add.f32", F{nan, inf}, F{1, -inf}), (U32{0x7fffffff, 0x7fffffff}));
  EXPECT_EQ(evaluate<uint32_t>("mul.f32 d, a, 0f00000000;", U32{0xff812345}), (U32{0x7fffffff}));
}

TEST(Float, MinMax) {
  const F a{1, nan, 2, nan, 0.0f, -0.0f}, b{2, 3, nan, nan, -0.0f, 0.0f};
  EXPECT_EQ(run("min.f32", a, b), (U32{asBits(1), asBits(3), asBits(2), 0x7fffffff, asBits(-0.0f), asBits(-0.0f)}));
  EXPECT_EQ(run("max.f32", a, b), (U32{asBits(2), asBits(3), asBits(2), 0x7fffffff, asBits(0.0f), asBits(0.0f)}));
  EXPECT_EQ(run("max.NaN.f32", a, b), (U32{asBits(2), 0x7fffffff, 0x7fffffff, 0x7fffffff, asBits(0.0f), asBits(0.0f)}));
  EXPECT_EQ(evaluate<float>("max.f32 d, a, b, c;", F{1, 5}, F{2, -1}, F{3, 0}), (F{3, 5}));
}

TEST(Float, DivideReciprocalRoot) {
  EXPECT_EQ(run("div.rn.f32", F{1, 1, -1}, F{3, 0, 0}), (U32{0x3eaaaaab, asBits(inf), asBits(-inf)}));
  EXPECT_EQ(run("div.rz.f32", F{1}, F{3}), (U32{0x3eaaaaaa}));
  EXPECT_EQ(run("div.full.f32", F{6}, F{3}), bits({2}));
  EXPECT_EQ(run("rcp.rn.f32", F{3, 0, inf}), (U32{0x3eaaaaab, asBits(inf), 0}));
  EXPECT_EQ(run("sqrt.rn.f32", F{2, 4, -1}), (U32{0x3fb504f3, asBits(2), 0x7fffffff}));
  EXPECT_EQ(run("sqrt.rp.f32", F{2}), (U32{0x3fb504f4}));
}

TEST(Float, ApproximationsAreInsideOfTheirBounds) {
  F x;
  for (int i = 0; i < 32; ++i)
    x.push_back(-20.0f + 1.37f * i);
  const F exp2 = evaluate<float>("ex2.approx.ftz.f32 d, a;", x);
  for (int i = 0; i < 32; ++i)
    EXPECT_NEAR(exp2[i] / std::exp2(double(x[i])), 1, 0x1p-22); // ISA: relative error 2^-22
  EXPECT_EQ(run("ex2.approx.ftz.f32", F{-inf, inf, 0, -140, nan}), (U32{0, asBits(inf), asBits(1), 0, 0x7fffffff}));
  EXPECT_EQ(run("ex2.approx.f32", F{-140}), bits({0x1p-140f}));
  EXPECT_EQ(run("lg2.approx.f32", F{8, 0, inf, -1}), (U32{asBits(3), asBits(-inf), asBits(inf), 0x7fffffff}));
  const F tanh = evaluate<float>("tanh.approx.f32 d, a;", x);
  for (int i = 0; i < 32; ++i)
    EXPECT_NEAR(tanh[i], std::tanh(double(x[i])), 0x1p-11); // ISA: relative error 2^-11
  EXPECT_EQ(run("rsqrt.approx.f32", F{4, 0}), (U32{asBits(0.5f), asBits(inf)}));
  EXPECT_EQ(run("rcp.approx.ftz.f32", F{4, tiny}), (U32{asBits(0.25f), asBits(inf)}));
}

TEST(Float, SignOperations) {
  EXPECT_EQ(run("abs.f32", F{-2, -0.0f}), bits({2, 0}));
  EXPECT_EQ(run("neg.f32", F{2, 0}), bits({-2, -0.0f}));
  EXPECT_EQ(run("copysign.f32", F{-1}, F{3}), bits({-3}));
}

TEST(Float, Double) {
  EXPECT_EQ(evaluate<double>("fma.rn.f64 d, a, b, c;", D{3}, D{0.5}, D{1}), D{2.5});
  EXPECT_EQ(evaluate<double>("div.rn.f64 d, a, b;", D{1}, D{3}), D{1.0 / 3});
  EXPECT_EQ(evaluate<double>("max.f64 d, a, b;", D{1}, D{NAN}), D{1});
  EXPECT_EQ(evaluate<double>("add.f64 d, a, 0d3FF0000000000000;", D{1}), D{2});
}

// f16: 1.0 0x3c00, largest 0x7bff, smallest subnormal 0x0001. bf16: 1.0 0x3f80, largest 0x7f7f.

TEST(Half, ArithmeticRoundsOnce) {
  EXPECT_EQ(evaluate<uint16_t>("add.f16 d, a, b;", U16{0x3c00, 0x7bff}, U16{0x1000, 0x7bff}), (U16{0x3c00, 0x7c00}));
  // 1 + 3·2^-12 is above half a unit (2^-11).
  EXPECT_EQ(evaluate<uint16_t>("add.f16 d, a, b;", U16{0x3c00}, U16{0x1200}), (U16{0x3c01}));
  EXPECT_EQ(evaluate<uint16_t>("fma.rn.bf16 d, a, b, c;", U16{0x3f81}, U16{0x3f81}, U16{0xbf82}),
            (U16{toBF16(0x1p-14)}));
  EXPECT_EQ(evaluate<uint16_t>("fma.rn.relu.f16 d, a, b, c;", U16{0x3c00}, U16{0xc000}, U16{0x3c00}), (U16{0}));
  EXPECT_EQ(evaluate<uint16_t>("mul.f16 d, a, b;", U16{0x0001}, U16{0x3800}), (U16{0x0000})); // half of 2^-24, to even
}

TEST(Half, FmaBeyondADouble) {
  // 1 · 1 + 2^-24 (an f16 subnormal): a quarter of the last place and 2^-60 would round alike; 2^-11 + 2^-24 not.
  EXPECT_EQ(evaluate<uint16_t>("fma.rn.f16 d, a, b, c;", U16{0x3c00}, U16{0x1000 /* 2^-11 */}, U16{0x3c00}),
            (U16{0x3c00}));
  EXPECT_EQ(evaluate<uint16_t>("fma.rn.f16 d, a, b, c;", U16{0x3c01}, U16{0x1000}, U16{0x3c00}), (U16{0x3c01}));
}

TEST(Half, FlushToZero) {
  // 2^-15 is subnormal as f16 and not as bf16.
  EXPECT_EQ(evaluate<uint16_t>("add.f16 d, a, b;", U16{0x0200}, U16{0}), (U16{0x0200}));
  EXPECT_EQ(evaluate<uint16_t>("add.ftz.f16 d, a, b;", U16{0x0200, 0x8200}, U16{0, 0x8000}), (U16{0, 0x8000}));
  EXPECT_EQ(evaluate<uint16_t>("mul.ftz.f16 d, a, b;", U16{0x0400}, U16{0x3800}), (U16{0}));
  EXPECT_EQ(evaluate<uint16_t>("ex2.approx.ftz.bf16 d, a;", U16{toBF16(-130), toBF16(-20)}), (U16{0, toBF16(0x1p-20)}));
}

TEST(Half, Pairs) {
  // Lower halves 1 + 2, upper halves 0.5 · …
  EXPECT_EQ(evaluate<uint32_t>("add.f16x2 d, a, b;", U32{0x38003c00}, U32{0x38004000}), (U32{0x3c004200}));
  EXPECT_EQ(evaluate<uint32_t>("mul.bf16x2 d, a, b;", U32{0x40003f80}, U32{0x40004040}), (U32{0x40804040}));
  EXPECT_EQ(evaluate<uint32_t>("max.f16x2 d, a, b;", U32{0x7e003c00}, U32{0x40007e00}), (U32{0x40003c00}));
  EXPECT_EQ(evaluate<uint32_t>("max.NaN.f16x2 d, a, b;", U32{0x7e003c00}, U32{0x40007e00}), (U32{0x7fff7fff}));
  EXPECT_EQ(evaluate<uint32_t>("neg.f16x2 d, a;", U32{0x3c00bc00}), (U32{0xbc003c00}));
  EXPECT_EQ(evaluate<uint32_t>("ex2.approx.f16x2 d, a;", U32{0x40003c00}), (U32{0x44004000}));
}

TEST(Convert, PackedBfloat) {
  // a into the upper half, b into the lower; halfway cases to even.
  EXPECT_EQ(
      evaluate<uint32_t>("cvt.rn.bf16x2.f32 d, a, b;", F{1, 1 + 0x1p-8f, 1 + 0x1.8p-7f}, F{2, 1 + 0x1.01p-8f, -inf}),
      (U32{0x3f804000, 0x3f803f81, 0x3f82ff80}));
  EXPECT_EQ(evaluate<uint32_t>("cvt.rz.bf16x2.f32 d, a, b;", F{1 + 0x1.fp-7f}, F{-(1 + 0x1.fp-7f)}), (U32{0x3f81bf81}));
  EXPECT_EQ(evaluate<uint32_t>("cvt.rn.relu.bf16x2.f32 d, a, b;", F{-1}, F{2}), (U32{0x00004000}));
  EXPECT_EQ(evaluate<uint32_t>("cvt.rn.bf16x2.f32 d, a, b;", F{nan}, F{0x1.ffp127f}), (U32{0x7fff7f80}));
}

TEST(Convert, PackedHalf) {
  EXPECT_EQ(evaluate<uint32_t>("cvt.rn.f16x2.f32 d, a, b;", F{1, 65520, 0x1p-24f}, F{-2, 65519, 0x1p-25f}),
            (U32{0x3c00c000, 0x7c007bff, 0x00010000}));
}

TEST(Convert, Scalars) {
  EXPECT_EQ(evaluate<uint16_t>("cvt.rn.f16.f32 d, a;", F{0.1f}), (U16{0x2e66}));
  EXPECT_EQ(evaluate<uint16_t>("cvt.rn.bf16.f32 d, a;", F{0.1f}), (U16{0x3dcd}));
  EXPECT_EQ(evaluate<float>("cvt.f32.f16 d, a;", U16{0x3555, 0x0001, 0xfc00}), (F{0x1.554p-2f, 0x1p-24f, -inf}));
  EXPECT_EQ(evaluate<float>("cvt.f32.bf16 d, a;", U16{0x3dcd}), (F{0x1.9ap-4f}));
  EXPECT_EQ(evaluate<float>("cvt.rn.f32.f64 d, a;", D{0.1}), (F{0.1f}));
  EXPECT_EQ(evaluate<float>("cvt.rp.f32.f64 d, a;", D{1 + 0x1p-40}), (F{1 + ulp}));
  EXPECT_EQ(evaluate<double>("cvt.f64.f32 d, a;", F{0.5f}), (D{0.5}));
  // The nearest tf32, ties away from zero: 10 bits of fraction.
  EXPECT_EQ(evaluate<uint32_t>("cvt.rna.tf32.f32 d, a;", F{1 + 0x1p-11f, 1 + 0x1.8p-12f}),
            (U32{asBits(1 + 0x1p-10f), asBits(1)}));
}

TEST(Convert, FloatToInteger) {
  EXPECT_EQ(evaluate<int32_t>("cvt.rni.s32.f32 d, a;", F{2.5f, 3.5f, -2.5f, 3e9f, -3e9f, nan}),
            (I32{2, 4, -2, INT32_MAX, INT32_MIN, 0}));
  EXPECT_EQ(evaluate<int32_t>("cvt.rzi.s32.f32 d, a;", F{-2.9f}), (I32{-2}));
  EXPECT_EQ(evaluate<int32_t>("cvt.rmi.s32.f32 d, a;", F{-2.1f}), (I32{-3}));
  EXPECT_EQ(evaluate<uint32_t>("cvt.rpi.u32.f32 d, a;", F{2.1f, -5}), (U32{3, 0}));
  EXPECT_EQ(evaluate<float>("cvt.rmi.f32.f32 d, a;", F{2.9f, -2.1f}), (F{2, -3}));
  EXPECT_EQ(evaluate<int64_t>("cvt.rzi.s64.f32 d, a;", F{nan}), (std::vector<int64_t>{INT64_MIN}));
}

TEST(Convert, IntegerToFloat) {
  EXPECT_EQ(evaluate<float>("cvt.rn.f32.s32 d, a;", I32{-3, 16777217}), (F{-3, 16777216}));
  EXPECT_EQ(evaluate<float>("cvt.rp.f32.u32 d, a;", U32{16777217}), (F{16777218}));
  // 2^63 + 2^39 + 1: just above halfway.
  EXPECT_EQ(evaluate<float>("cvt.rn.f32.u64 d, a;", std::vector<uint64_t>{(1ull << 63) + (1ull << 39) + 1}),
            (F{0x1.000002p63f}));
  EXPECT_EQ(evaluate<float>("cvt.rn.f32.u64 d, a;", std::vector<uint64_t>{(1ull << 63) + (1ull << 39)}), (F{0x1p63f}));
}

TEST(Convert, IntegerToInteger) {
  EXPECT_EQ(evaluate<uint64_t>("cvt.s64.s32 d, a;", I32{-5}), (std::vector<uint64_t>{uint64_t(-5)}));
  EXPECT_EQ(evaluate<uint64_t>("cvt.u64.u32 d, a;", I32{-5}), (std::vector<uint64_t>{0xfffffffb}));
  EXPECT_EQ(evaluate<uint32_t>("cvt.s32.s8 d, a;", U32{0x80, 0x17f}), (U32{0xffffff80, 0x7f}));
  EXPECT_EQ(evaluate<uint32_t>("cvt.u32.u16 d, a;", U16{0xffff}), (U32{0xffff}));
  EXPECT_EQ(evaluate<uint16_t>("cvt.u16.u32 d, a;", U32{0x12345678}), (U16{0x5678}));
  EXPECT_EQ(evaluate<uint32_t>("cvt.sat.s8.s32 d, a;", I32{300, -300, 5}), (U32{127, 0xffffff80, 5}));
}

TEST(Convert, EightBitFloats) {
  // e4m3: 1 is 0x38, the largest 448 0x7e; e5m2: 1 is 0x3c, the largest 57344 0x7b.
  EXPECT_EQ(evaluate<uint16_t>("cvt.rn.satfinite.e4m3x2.f32 d, a, b;", F{1, 1000}, F{-2, 0x1p-9f}),
            (U16{0x38c0, 0x7e01}));
  EXPECT_EQ(evaluate<uint16_t>("cvt.rn.satfinite.e5m2x2.f32 d, a, b;", F{1, 1e6f}, F{-2, 1.125f}),
            (U16{0x3cc0, 0x7b3c}));
  EXPECT_EQ(evaluate<uint32_t>("cvt.rn.f16x2.e4m3x2 d, a;", U16{0x38c0}), (U32{0x3c00c000}));
}

TEST(Format, EveryHalfSurvives) {
  for (FloatFormat format : {kF16, kBF16, kE4M3, kE5M2})
    for (uint32_t pattern = 0; pattern < 1u << format.bits(); ++pattern) {
      const double value = decode(pattern, format);
      if (value == value) {
        ASSERT_EQ(encode(value, format, Rounding::NearestEven), pattern);
      }
    }
}

TEST(Format, NearestIsTheHostsOwn) {
  uint32_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 1664525 + 1013904223;
    const double value = asFloat(state) * 1.000000123;
    if (value == value) {
      ASSERT_EQ(encode(value, kF32, Rounding::NearestEven), asBits(float(value)));
    }
  }
}

TEST(Compare, OrderedAndUnordered) {
  const F a{1, 2, nan}, b{2, 2, 1};
  auto result = [&](const std::string &comparison) {
    return evaluate<uint32_t>("setp." + comparison + ".f32 p, a, b; selp.u32 d, 1, 0, p;", a, b);
  };
  EXPECT_EQ(result("lt"), (U32{1, 0, 0}));
  EXPECT_EQ(result("le"), (U32{1, 1, 0}));
  EXPECT_EQ(result("ne"), (U32{1, 0, 0}));
  EXPECT_EQ(result("neu"), (U32{1, 0, 1}));
  EXPECT_EQ(result("geu"), (U32{0, 1, 1}));
  EXPECT_EQ(result("num"), (U32{1, 1, 0}));
  EXPECT_EQ(result("nan"), (U32{0, 0, 1}));
}

TEST(Compare, SignedAndUnsigned) {
  EXPECT_EQ(evaluate<uint32_t>("setp.lt.s32 p, a, b; selp.u32 d, 1, 0, p;", I32{-1}, I32{1}), (U32{1}));
  EXPECT_EQ(evaluate<uint32_t>("setp.lt.u32 p, a, b; selp.u32 d, 1, 0, p;", I32{-1}, I32{1}), (U32{0}));
  EXPECT_EQ(evaluate<uint32_t>("setp.hi.u32 p, a, b; selp.u32 d, 1, 0, p;", I32{-1}, I32{1}), (U32{1}));
}

TEST(Compare, CombinesAndComplements) {
  // p = (a < b) and c, q = !(a < b) and c; c is "b is 2".
  const std::string body =
      "setp.eq.u32 q, b, 2; setp.lt.and.u32 p|q, a, b, q; selp.u32 r, 1, 0, p; selp.u32 s, 2, 0, q;"
      "add.u32 d, r, s;";
  EXPECT_EQ(evaluate<uint32_t>(body, U32{1, 3, 1}, U32{2, 2, 3}), (U32{1, 2, 0}));
  EXPECT_EQ(evaluate<uint32_t>("setp.eq.u32 q, b, 2; setp.lt.or.u32 p, a, b, !q; selp.u32 d, 1, 0, p;", U32{3, 3, 1},
                               U32{2, 1, 2}),
            (U32{0, 1, 1}));
}

TEST(Compare, SelectAndClass) {
  EXPECT_EQ(evaluate<uint32_t>("set.gt.u32.f32 d, a, b;", F{2, 1}, F{1, 2}), (U32{0xffffffff, 0}));
  EXPECT_EQ(evaluate<uint32_t>("set.gt.f32.f32 d, a, b;", F{2, 1}, F{1, 2}), (U32{asBits(1), 0}));
  EXPECT_EQ(evaluate<uint32_t>("slct.u32.s32 d, a, b, c;", U32{1, 1}, U32{2, 2}, I32{0, -1}), (U32{1, 2}));
  EXPECT_EQ(evaluate<uint32_t>("testp.subnormal.f32 p, a; selp.u32 d, 1, 0, p;", F{tiny, 1, 0}), (U32{1, 0, 0}));
  EXPECT_EQ(evaluate<uint32_t>("setp.lt.f16x2 p|q, a, b; selp.u32 r, 1, 0, p; selp.u32 s, 2, 0, q; add.u32 d, r, s;",
                               U32{0x40003c00, 0x3c004000, 0x3c003c00}, U32{0x3c004000, 0x40003c00, 0x40004000}),
            (U32{1, 2, 3}));
}

} // namespace
