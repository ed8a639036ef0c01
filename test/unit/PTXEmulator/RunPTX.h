//===- RunPTX.h - runs snippets of PTX in tests -----------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_UNIT_PTXEMULATOR_RUNPTX_H
#define ATTN_TEST_UNIT_PTXEMULATOR_RUNPTX_H

#include "PTXEmulator/Emulator.h"
#include "PTXEmulator/FloatFormat.h"

#include "gtest/gtest.h"

#include <string>
#include <vector>

namespace attn::ptx {

/// `d` of each lane after `body`, whose registers a, b and c hold the sources of that lane: at most 32 values, of 2, 4
/// or 8 bytes each. p, q are predicates, r, s, t 32-bit and x, y 64-bit registers, h and l 16-bit ones.
std::vector<uint64_t> evaluateBits(const std::string &body, const std::vector<std::vector<uint64_t>> &sources,
                                   const std::vector<unsigned> &sourceBytes, unsigned resultBytes);

template <typename T> uint64_t toBits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

/// evaluate<int32_t>("add.s32 d, a, b;", vector of a, vector of b)
template <typename Result, typename... Sources>
std::vector<Result> evaluate(const std::string &body, const std::vector<Sources> &...sources) {
  std::vector<std::vector<uint64_t>> bits;
  auto append = [&](const auto &values) {
    bits.emplace_back();
    for (auto value : values)
      bits.back().push_back(toBits(value));
  };
  (append(sources), ...);
  std::vector<Result> result;
  for (uint64_t value : evaluateBits(body, bits, {unsigned(sizeof(Sources))...}, sizeof(Result))) {
    Result typed;
    std::memcpy(&typed, &value, sizeof(Result));
    result.push_back(typed);
  }
  return result;
}

/// A module with one entry "kernel" of these parameters ("b64 out, b32 n") and this body, after some lines of header.
std::string makeModule(const std::string &parameters, const std::string &body, const std::string &globals = "");

/// The report of a module that must parse and launch.
Report launch(const std::string &module, GlobalMemory &memory, Launch launch, const std::string &entry = "kernel");

/// The line of the first occurrence of `text`, from 1.
int lineOf(const std::string &module, const std::string &text);

std::string readInput(const std::string &name);

/// Fails the test where there are findings.
void expectClean(const Report &report);

inline uint16_t toBF16(double value) { return uint16_t(encode(value, kBF16, Rounding::NearestEven)); }
inline uint16_t toF16(double value) { return uint16_t(encode(value, kF16, Rounding::NearestEven)); }

} // namespace attn::ptx

#endif // ATTN_TEST_UNIT_PTXEMULATOR_RUNPTX_H
