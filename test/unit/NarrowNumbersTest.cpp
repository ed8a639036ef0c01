//===- NarrowNumbersTest.cpp - numbers of 16 bits, normal numbers ----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Driver.h"
#include "NormalNumbers.h"

#include "llvm/ADT/APFloat.h"
#include "gtest/gtest.h"
#include <bit>
#include <random>

using namespace attn;
using namespace attn::driver;
using llvm::APFloat;

namespace {

/// The bits that LLVM's arithmetic rounds to.
uint16_t round(NpyType type, double value) {
  APFloat number(value);
  bool losesInfo;
  number.convert(type == NpyType::BFloat16 ? APFloat::BFloat() : APFloat::IEEEhalf(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.bitcastToAPInt().getZExtValue();
}

struct NarrowNumbers : testing::TestWithParam<NpyType> {
  void check(double value) { EXPECT_EQ(toNarrowFloat(GetParam(), value), round(GetParam(), value)) << value; }
};

// Each number, the middle between it and the next, and their neighbours: where rounding turns.
TEST_P(NarrowNumbers, EveryCode) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const double value = fromNarrowFloat(GetParam(), code), next = fromNarrowFloat(GetParam(), code + 1);
    if (std::isnan(value))
      continue;
    EXPECT_EQ(toNarrowFloat(GetParam(), value), code);
    if (const double middle = (value + next) / 2; std::isfinite(middle))
      for (double x : {middle, std::nextafter(middle, value), std::nextafter(middle, next)})
        check(x);
  }
}

TEST_P(NarrowNumbers, AnyDouble) {
  std::mt19937_64 bits;
  for (int i = 0; i < 100'000; ++i) {
    // Exponents near those of 16 bits in every second one.
    uint64_t word = bits();
    if (i % 2)
      word = (word & ~(uint64_t(0x7ff) << 52)) | (1023 + bits() % 300 - 150) << 52;
    const double value = std::bit_cast<double>(word);
    if (!std::isnan(value))
      check(value);
  }
  for (double value : {0.0, -0.0, 1e300, -1e300, double(INFINITY), -double(INFINITY)})
    check(value);
  EXPECT_TRUE(std::isnan(fromNarrowFloat(GetParam(), toNarrowFloat(GetParam(), NAN))));
}

INSTANTIATE_TEST_SUITE_P(Types, NarrowNumbers, testing::Values(NpyType::Float16, NpyType::BFloat16));

// Inputs of tests and benchmarks are those of std::normal_distribution.
template <typename T> void compareNormalNumbers() {
  for (uint64_t seed : {0, 1, 42}) {
    std::mt19937_64 one(seed), other(seed);
    std::normal_distribution<T> expected(0, T(0.7));
    NormalNumbers<T> found(T(0.7));
    for (int i = 0; i < 1001; ++i)
      ASSERT_EQ(found(one), expected(other)) << "number " << i << " of seed " << seed;
  }
}
TEST(NormalNumbers, AreThoseOfTheLibrary) {
  compareNormalNumbers<float>();
  compareNormalNumbers<double>();
}

} // namespace
