//===- NormalNumbers.h - normal random numbers ------------------*- C++ -*-===//
//
// The sequence that std::normal_distribution of libstdc++ draws from std::mt19937_64, bit for bit, so that tests and
// benchmarks keep their inputs. libstdc++ takes two logarithms of long doubles per value to count the generator's bits.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_COMMON_NORMALNUMBERS_H
#define ATTN_TOOLS_COMMON_NORMALNUMBERS_H

#include <cmath>
#include <optional>
#include <random>

namespace attn::driver {

template <typename T> class NormalNumbers {
public:
  explicit NormalNumbers(T deviation) : deviation(deviation) {}

  /// Marsaglia's polar method: the angle and radius of a point in the unit circle give two values.
  T operator()(std::mt19937_64 &generator) {
    if (saved) {
      const T number = *saved;
      saved.reset();
      return number * deviation;
    }
    T x, y, square;
    do {
      x = T(2) * drawShare(generator) - T(1);
      y = T(2) * drawShare(generator) - T(1);
      square = x * x + y * y;
    } while (square > T(1) || square == T(0));
    const T factor = std::sqrt(T(-2) * std::log(square) / square);
    saved = x * factor;
    return y * factor * deviation;
  }

private:
  /// In [0, 1).
  static T drawShare(std::mt19937_64 &generator) {
    const T share = T(generator()) / T(0x1p64);
    return share < T(1) ? share : std::nextafter(T(1), T(0));
  }

  const T deviation;
  std::optional<T> saved;
};

} // namespace attn::driver

#endif // ATTN_TOOLS_COMMON_NORMALNUMBERS_H
