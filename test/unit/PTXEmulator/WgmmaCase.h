//===- WgmmaCase.h - a product of two matrices by wgmma ---------*- C++ -*-===//
//
// D = A B, 64 × N, 64 deep, in four steps by one warpgroup. Matrices lie in shared memory as bulk copies would leave
// them: panels of a swizzle's span, row after row, or without a swizzle blocks of 8 × 16 bytes.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_UNIT_PTXEMULATOR_WGMMACASE_H
#define ATTN_TEST_UNIT_PTXEMULATOR_WGMMACASE_H

#include "FaultCase.h"
#include "PTXEmulator/TensorMap.h"

#include <cmath>

namespace attn::ptx {

struct WgmmaCase {
  static constexpr unsigned kM = 64, kK = 64, kSteps = 4, kStartB = 8192;
  unsigned n = 64;
  TensorSwizzle swizzle = TensorSwizzle::Bytes128;
  bool isTransposedA = false, isTransposedB = false, isAInRegisters = false, isF16 = false;
  bool isNegatedA = false, isNegatedB = false;
  unsigned threads = 128;
  std::string module, attributes;
  std::vector<float> out;

  double valueA(unsigned m, unsigned k) const { return int((m * 7 + k * 3) % 17) - 8; }
  double valueB(unsigned k, unsigned column) const { return (int((column * 5 + k * 11) % 19) - 9) * 0.5; }
  uint16_t encode(double value) const { return isF16 ? toF16(value) : toBF16(value); }

  /// Where element (mn, k) of a matrix of `width` rows or columns lies, in bytes.
  uint64_t place(unsigned mn, unsigned k, unsigned width, bool isTransposed) const {
    const unsigned row = isTransposed ? k : mn, column = isTransposed ? mn : k, rows = isTransposed ? kK : width;
    if (swizzle == TensorSwizzle::None) {
      // Blocks of 8 rows × 16 bytes, those of one depth side by side.
      const unsigned blocks = width / 8;
      const unsigned block = isTransposed ? row / 8 * blocks + column / 8 : column / 8 * blocks + row / 8;
      return block * 128 + row % 8 * 16 + column % 8 * 2;
    }
    const unsigned span = getSwizzleSpan(swizzle) / 2;
    const uint64_t linear = uint64_t(column / span) * rows * span * 2 + row * span * 2 + column % span * 2;
    const uint64_t chunks = span / 8 - 1; // bits 4 and up, exchanged by those from 7 on
    return linear ^ ((linear >> 7 & chunks) << 4);
  }
  uint64_t descriptor(uint64_t start, unsigned step, unsigned width, bool isTransposed) const {
    uint64_t leading, stride;
    if (swizzle == TensorSwizzle::None) {
      // 16 deep: the next two blocks of every row or column.
      start += step * 2 * (width / 8) * 128;
      leading = width / 8 * 128;
      stride = 128;
    } else {
      const unsigned span = getSwizzleSpan(swizzle);
      stride = 8 * span;
      leading = isTransposed ? kK * span : 16;
      if (isTransposed)
        start += step * 16 * span;
      else
        start += step * 32 / span * (width * span) + step * 32 % span;
    }
    constexpr uint64_t kModes[] = {0, 3, 2, 1};
    return start / 16 | leading / 16 << 16 | stride / 16 << 32 | kModes[unsigned(swizzle)] << 62;
  }

  /// Registers of A of all steps.
  std::string loadFragments() const {
    std::string text = "mul.wide.u32 z, t, 16;\nadd.u64 z, f, z;\n";
    for (unsigned i = 0; i < kSteps; ++i) {
      text += "ld.global.v4.b32 {";
      for (unsigned j = 0; j < 4; ++j)
        text += (j ? ", a" : "a") + std::to_string(4 * i + j);
      text += "}, [z+" + std::to_string(2048 * i) + "];\n";
    }
    return text;
  }
  std::string accumulators(unsigned count) const {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i)
      text += (i ? ", d" : "d") + std::to_string(i);
    return text + "}";
  }
  std::string multiply(unsigned step, const std::string &scale) const {
    const std::string type = isF16 ? ".f16" : ".bf16", i = std::to_string(step);
    std::string text = "wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) + "k16.f32" + type + type + " " +
                       accumulators(n / 2) + ", ";
    text += isAInRegisters ? "{a" + std::to_string(4 * step) + ", a" + std::to_string(4 * step + 1) + ", a" +
                                 std::to_string(4 * step + 2) + ", a" + std::to_string(4 * step + 3) + "}"
                           : "k" + i;
    text += ", l" + i + ", " + scale + (isNegatedA ? ", -1" : ", 1") + (isNegatedB ? ", -1" : ", 1");
    if (!isAInRegisters)
      text += isTransposedA ? ", 1" : ", 0";
    return text + (isTransposedB ? ", 1;\n" : ", 0;\n");
  }
  /// Fills shared memory and the registers with descriptors; then the proxy fence and a barrier.
  std::string fill() const {
    std::string text = "mov.u32 s, tile;\nshl.b32 r, t, 4;\nadd.u32 s, s, r;\nadd.u32 e, s, " +
                       std::to_string(kStartB + n * kK * 2) + ";\nmul.wide.u32 z, t, 16;\nadd.u64 z, y, z;\nFILL:\n" +
                       "ld.global.v4.b32 {a0, a1, a2, a3}, [z];\nst.shared.v4.b32 [s], {a0, a1, a2, a3};\n" +
                       "add.u32 s, s, 2048;\nadd.u64 z, z, 2048;\nsetp.lt.u32 p, s, e;\n@p bra FILL;\n";
    for (unsigned i = 0; i < kSteps; ++i) {
      text += "mov.b64 k" + std::to_string(i) + ", " + std::to_string(descriptor(0, i, kM, isTransposedA)) + ";\n";
      text += "mov.b64 l" + std::to_string(i) + ", " + std::to_string(descriptor(kStartB, i, n, isTransposedB)) + ";\n";
    }
    if (isAInRegisters)
      text += loadFragments();
    return text + "fence.proxy.async.shared::cta;\nbar.sync 0;\n";
  }
  std::string multiplyAll() const {
    std::string text = "wgmma.fence.sync.aligned;\n";
    for (unsigned i = 0; i < kSteps; ++i)
      text += multiply(i, i == 0 ? "0" : "1");
    return text + "wgmma.commit_group.sync.aligned;\n";
  }
  std::string store() const {
    std::string text = "mul.wide.u32 z, t, 4;\nadd.u64 z, x, z;\n";
    for (unsigned i = 0; i < n / 2; ++i)
      text += "st.global.f32 [z+" + std::to_string(512 * i) + "], d" + std::to_string(i) + ";\n";
    return text;
  }
  static std::string wait(unsigned pending = 0) {
    return "wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";\n";
  }

  Report run(const std::string &body) {
    std::vector<uint16_t> image((kStartB + n * kK * 2) / 2 + 1024), fragments(kSteps * 128 * 8);
    for (unsigned k = 0; k < kK; ++k) {
      for (unsigned m = 0; m < kM; ++m)
        image[place(m, k, kM, isTransposedA) / 2] = encode(valueA(m, k));
      for (unsigned column = 0; column < n; ++column)
        image[(kStartB + place(column, k, n, isTransposedB)) / 2] = encode(valueB(k, column));
    }
    for (unsigned i = 0; i < fragments.size(); ++i) {
      // Register j of a lane: row g + 8 (j mod 2), columns 2 t and the next, + 8 from j = 2.
      const unsigned half = i % 2, j = i / 2 % 4, thread = i / 8 % 128, step = i / 1024;
      const unsigned m = thread / 32 * 16 + thread % 32 / 4 + j % 2 * 8,
                     k = step * 16 + thread % 4 * 2 + half + j / 2 * 8;
      fragments[i] = encode(valueA(m, k));
    }
    GlobalMemory memory;
    const uint64_t result = memory.allocate("out", 128 * n / 2 * 4);
    module = makeModule("u64 out, u64 in, u64 fragments",
                        ".reg .pred p, q; .reg .b32 r, s, t, u, e; .reg .b64 x, y, z, f; .reg .b32 a<16>;\n"
                        ".reg .b64 k<4>, l<4>; .reg .f32 d<128>;\n"
                        "ld.param.u64 x, [out];\nld.param.u64 y, [in];\nld.param.u64 f, [fragments];\n"
                        "mov.u32 t, %tid.x;\nsetp.eq.u32 q, t, 0;\n" +
                            body + "\nret;",
                        ".shared .align 1024 .b8 tile[45056];");
    module.replace(module.find("\n{\n"), 0, attributes);
    Launch arguments{{1, 1, 1}, {threads, 1, 1}};
    arguments.parameters = {pointer(result), pointer(memory.allocate("in", image)),
                            pointer(memory.allocate("fragments", fragments))};
    Report report = launch(module, memory, arguments);
    out = memory.read<float>(result);
    return report;
  }
  void expectNone(const std::string &body) {
    const Report report = run(body);
    EXPECT_TRUE(report.clean()) << module << report.text();
  }
  /// The finding is there, at that line; others may follow from it.
  void expectFound(FindingKind kind, const std::string &body, const std::string &line,
                   const std::string &message = "") {
    const Report report = run(body);
    bool isFound = false;
    for (const Finding &finding : report.findings)
      isFound |= finding.kind == kind && finding.line == lineOf(module, line) &&
                 finding.message.find(message) != std::string::npos;
    EXPECT_TRUE(isFound) << module << report.text();
  }
  /// The largest difference of `out` to the product.
  double error() const {
    const double sign = isNegatedA == isNegatedB ? 1 : -1;
    double largest = 0;
    for (unsigned thread = 0; thread < 128; ++thread)
      for (unsigned i = 0; i < n / 2; ++i) {
        const unsigned m = thread / 32 * 16 + thread % 32 / 4 + (i & 2 ? 8 : 0),
                       column = i / 4 * 8 + thread % 4 * 2 + (i & 1);
        double sum = 0;
        for (unsigned k = 0; k < kK; ++k)
          sum += sign * valueA(m, k) * valueB(k, column);
        largest = std::max(largest, std::abs(sum - double(out[i * 128 + thread])));
      }
    return largest;
  }
  void expectProduct() {
    expectNone(fill() + multiplyAll() + wait() + store());
    EXPECT_EQ(error(), 0) << "n " << n << " swizzle " << int(swizzle) << " transposed " << isTransposedA
                          << isTransposedB << " registers " << isAInRegisters;
  }
};

} // namespace attn::ptx

#endif // ATTN_TEST_UNIT_PTXEMULATOR_WGMMACASE_H
