//===- Exp2Test.cpp - accuracy of the emitted exp2 --------------------------===//
//
// Executes VectorBuilder::exp2 on every x86-64 level that this processor has,
// and with vectors emulated as beside tiles, against the mathematics library in a
// wider type.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "EmitTile.h"

#include "gtest/gtest.h"
#include <bit>
#include <cmath>
#include <limits>
#include <random>

using namespace mlir;
using namespace attn;
using namespace attn::test;

namespace {

struct Case {
  TargetInfo target;
  bool isEmulated = false;
};

std::vector<Case> getCases() {
  std::vector<Case> cases;
  TargetInfo tiles = llvm::cantFail(TargetInfo::get("sapphirerapids"));
  for (const TargetInfo &target : getExecutableTargets())
    cases.push_back({target});
  if (cases.back().target.vectorBits >= 256 && cases.back().target.hasFma)
    cases.push_back({tiles, /*isEmulated=*/true});
  return cases;
}

/// y[i] = 2^x[i] over arrays of a length that is a multiple of every number of lanes.
template <typename T> class Exp2 {
public:
  /// `isNarrow`: to be rounded to bf16.
  explicit Exp2(const Case &with, bool isNarrow = false) {
    SmallVector<int64_t> shape = {ShapedType::kDynamic};
    tile = Tile::emit(
        with.target, sizeof(T) == 8, {shape, shape},
        [&](cpu::VectorBuilder &vb, ValueRange arguments) {
          Type roundedTo = isNarrow ? Type(vb.b.getBF16Type()) : Type();
          vb.loop(vb.index(0), arguments[2], vb.lanes, {}, [&](Value i, ValueRange) {
            vb.store(vb.exp2(vb.load(arguments[0], i), roundedTo), arguments[1], i);
            return cpu::Values();
          });
        },
        with.isEmulated);
  }

  std::vector<T> operator()(std::vector<T> x) const {
    size_t count = x.size();
    x.resize((count + 15) / 16 * 16);
    std::vector<T> y(x.size());
    int64_t size = x.size();
    StridedMemRefType<T, 1> in = {x.data(), x.data(), 0, {size}, {1}}, out = {y.data(), y.data(), 0, {size}, {1}};
    tile->call(in, out, size);
    y.resize(count);
    return y;
  }

  T operator()(T x) const { return (*this)(std::vector<T>{x}).front(); }

private:
  std::unique_ptr<Tile> tile;
};

/// Points of [low, 0]: evenly, at random in every binade, and around the halves where rounding turns.
template <typename T> std::vector<T> getSweep(T low) {
  std::vector<T> points;
  constexpr int count = 1 << 20;
  for (int i = 0; i <= count; ++i)
    points.push_back(low * T(i) / count);
  std::mt19937_64 random(1);
  std::uniform_real_distribution<T> mantissa(1, 2);
  for (int exponent = -60; exponent < std::ilogb(low); ++exponent)
    for (int i = 0; i < 1000; ++i)
      points.push_back(-std::ldexp(mantissa(random), exponent));
  for (T half = 0; half > low; half -= T(0.5)) {
    points.push_back(half);
    points.push_back(std::nextafter(half, low));
    points.push_back(half == 0 ? T(-0.0) : std::nextafter(half, T(0)));
  }
  return points;
}

template <typename T> using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

/// NaNs of every kind: C's own, all bits set, signalling, each single bit of the payload, both signs.
template <typename T> std::vector<T> getNaNs() {
  constexpr int mantissaBits = std::numeric_limits<T>::digits - 1;
  Bits<T> infinity = std::bit_cast<Bits<T>>(std::numeric_limits<T>::infinity()), sign = Bits<T>(1)
                                                                                        << (8 * sizeof(T) - 1);
  Bits<T> payloadMask = (Bits<T>(1) << mantissaBits) - 1, quiet = Bits<T>(1) << (mantissaBits - 1);
  std::vector<T> values;
  for (Bits<T> signBit : {Bits<T>(0), sign}) {
    values.push_back(std::bit_cast<T>(signBit | infinity | payloadMask));
    for (int bit = 0; bit < mantissaBits; ++bit)
      for (Bits<T> more : {Bits<T>(0), quiet})
        values.push_back(std::bit_cast<T>(signBit | infinity | more | Bits<T>(1) << bit));
  }
  return values;
}

/// The largest error over the sweep, in units that `unitAt` gives for the exact result.
template <typename T, typename Wide>
void expectError(const Exp2<T> &exp2, T low, double limit, function_ref<Wide(Wide)> unitAt) {
  std::vector<T> x = getSweep(low), y = exp2(x);
  Wide worst = 0;
  T worstAt = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    Wide exact = std::exp2(Wide(x[i])), error = std::abs(y[i] - exact) / unitAt(exact);
    if (!(error <= worst)) {
      worst = error;
      worstAt = x[i];
    }
  }
  EXPECT_LE(worst, limit) << "at " << worstAt;
}

// docs/Semantics.md: a polynomial of at most 3 ulp.
TEST(Exp2, FloatWithinThreeUlp) {
  for (const Case &with : getCases()) {
    SCOPED_TRACE(with.target.name);
    expectError<float, double>(Exp2<float>(with), -126, 3,
                               [](double exact) { return std::ldexp(1.0, std::ilogb(exact) - 23); });
  }
}

TEST(Exp2, NarrowWithin4e6) {
  for (const Case &with : getCases()) {
    SCOPED_TRACE(with.target.name);
    expectError<float, double>(Exp2<float>(with, /*isNarrow=*/true), -126, 4e-6, [](double exact) { return exact; });
  }
}

TEST(Exp2, DoubleWithin1e15) {
  for (const Case &with : getCases()) {
    SCOPED_TRACE(with.target.name);
    expectError<double, long double>(Exp2<double>(with), -1022, 1e-15, [](long double exact) { return exact; });
  }
}

template <typename T> void checkEnds(const Case &with, T lowest, T tolerance) {
  SCOPED_TRACE(with.target.name);
  Exp2<T> exp2(with);
  T infinity = std::numeric_limits<T>::infinity();
  // The largest score of a row has weight 1, up to the polynomial's error.
  EXPECT_NEAR(exp2(T(0)), 1, tolerance);
  EXPECT_EQ(exp2(T(-0.0)), exp2(T(0)));
  EXPECT_NEAR(exp2(T(1)), 2, 2 * tolerance);
  // The smallest normal exponent, and below it 0, as Exp2.cpp says; never a negative number or NaN.
  EXPECT_NEAR(exp2(lowest) / std::numeric_limits<T>::min(), 1, tolerance);
  bool hasDenormals = with.target.hasTiles() && sizeof(T) == 4,
       isAnyDenormal = with.target.hasPowerTable && sizeof(T) == 4;
  for (T x : {lowest - T(0.75), lowest - 1, 2 * lowest, T(-1e30), std::numeric_limits<T>::lowest(), -infinity})
    if (isAnyDenormal && x > lowest - 1)
      EXPECT_TRUE(exp2(x) >= 0 && exp2(x) < std::numeric_limits<T>::min()) << x << " gave " << exp2(x);
    else
      EXPECT_NEAR(exp2(x), hasDenormals ? std::exp2(x) : 0, hasDenormals ? std::numeric_limits<T>::denorm_min() : 0)
          << x;
}

TEST(Exp2, Ends) {
  for (const Case &with : getCases()) {
    checkEnds<float>(with, -126, 3e-7f);
    checkEnds<double>(with, -1022, 1e-15);
  }
}

// A NaN among the inputs must be seen in the outputs, whatever its payload.
template <typename T> void checkNaNs(const Case &with) {
  std::vector<T> x = getNaNs<T>(), y = Exp2<T>(with)(x);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_TRUE(std::isnan(y[i])) << with.target.name << ": bits " << std::hex << std::bit_cast<Bits<T>>(x[i])
                                  << " gave " << y[i];
}

TEST(Exp2, NaNStaysNaN) {
  for (const Case &with : getCases()) {
    checkNaNs<float>(with);
    checkNaNs<double>(with);
  }
}

} // namespace
