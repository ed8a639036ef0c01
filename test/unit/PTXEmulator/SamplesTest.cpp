//===- SamplesTest.cpp - PTX that nvcc made, against double ---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RunPTX.h"

#include <cmath>
#include <random>

using namespace attn::ptx;

namespace {

std::vector<float> randomFloats(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float &value : values)
    value = normal(generator);
  return values;
}

struct Narrow {
  std::vector<uint16_t> bits;
  std::vector<double> values;
  explicit Narrow(const std::vector<float> &floats) {
    for (float value : floats) {
      bits.push_back(toBF16(value));
      values.push_back(decode(bits.back(), kBF16));
    }
  }
};

TEST(Samples, VectorAdd) {
  const auto a = randomFloats(1000, 1), b = randomFloats(1000, 2);
  GlobalMemory memory;
  const uint64_t out = memory.allocate("c", 4000);
  const Report report = launch(
      readInput("vector_add.ptx"), memory,
      {{3, 1, 1},
       {128, 1, 1},
       0,
       {pointer(memory.allocate("a", a)), pointer(memory.allocate("b", b)), pointer(out), scalar(int32_t(1000))}},
      "vector_add");
  expectClean(report);
  const auto c = memory.read<float>(out);
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(c[i], a[i] + b[i]) << i;
}

TEST(Samples, SgemmOfTwoStages) {
  const int m = 64, n = 96, k = 128;
  const auto a = randomFloats(m * k, 1), b = randomFloats(k * n, 2);
  GlobalMemory memory;
  const uint64_t out = memory.allocate("c", m * n * 4);
  const Report report = launch(readInput("sgemm.ptx"), memory,
                               {{n / 32, m / 32, 1},
                                {256, 1, 1},
                                0,
                                {pointer(memory.allocate("a", a)), pointer(memory.allocate("b", b)), pointer(out),
                                 scalar(m), scalar(n), scalar(k)}},
                               "sgemm");
  expectClean(report);
  const auto c = memory.read<float>(out);
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      double sum = 0;
      for (int i = 0; i < k; ++i)
        sum += double(a[row * k + i]) * b[i * n + column];
      ASSERT_NEAR(c[row * n + column], sum, 1e-4) << row << " " << column;
    }
  }
  // Every thread fetches 16 bytes, in two places before the loop and two in it.
  uint64_t narrow = 0;
  for (size_t i = 0; i < report.counters.size(); ++i)
    if (report.program->opcodes[i].starts_with("cp.async.cg"))
      narrow += report.counters[i].narrowGlobal;
  EXPECT_EQ(narrow, 0u);
}

TEST(Samples, MmaGemm) {
  const Narrow a(randomFloats(64 * 64, 1)), b(randomFloats(64 * 64, 2));
  GlobalMemory memory;
  const uint64_t out = memory.allocate("c", 64 * 64 * 4);
  const Report report =
      launch(readInput("mma_gemm.ptx"), memory,
             {{1, 1, 1},
              {128, 1, 1},
              0,
              {pointer(memory.allocate("a", a.bits)), pointer(memory.allocate("b", b.bits)), pointer(out)}},
             "mma_gemm");
  expectClean(report);
  EXPECT_EQ(report.bankConflicts(), 0u);
  // 4 warps, 64 × 64 × 64 / (16 × 8 × 16) instructions.
  EXPECT_EQ(report.mix()["mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"], 128u);
  const auto c = memory.read<float>(out);
  for (int row = 0; row < 64; ++row) {
    for (int column = 0; column < 64; ++column) {
      double sum = 0;
      for (int i = 0; i < 64; ++i)
        sum += a.values[row * 64 + i] * b.values[column * 64 + i];
      ASSERT_NEAR(c[row * 64 + column], sum, 1e-4) << row << " " << column;
    }
  }
}

/// softmax(q kᵀ / 8) v of one head.
std::vector<double> attention(const double *q, const double *k, const double *v, int sq, int sk, bool causal) {
  std::vector<double> out(sq * 64);
  for (int i = 0; i < sq; ++i) {
    const int keys = causal ? std::min(sk, i + 1) : sk;
    std::vector<double> p(keys);
    double most = -INFINITY, sum = 0;
    for (int j = 0; j < keys; ++j) {
      for (int d = 0; d < 64; ++d)
        p[j] += q[i * 64 + d] * k[j * 64 + d] / 8;
      most = std::max(most, p[j]);
    }
    for (int j = 0; j < keys; ++j)
      sum += p[j] = std::exp(p[j] - most);
    for (int j = 0; j < keys; ++j)
      for (int d = 0; d < 64; ++d)
        out[i * 64 + d] += p[j] / sum * v[j * 64 + d];
  }
  return out;
}

Report checkFlash(int heads, int sq, int sk, bool causal) {
  const Narrow q(randomFloats(heads * sq * 64, 1)), k(randomFloats(heads * sk * 64, 2)),
      v(randomFloats(heads * sk * 64, 3));
  GlobalMemory memory;
  const uint64_t out = memory.allocate("o", heads * sq * 64 * 2);
  Launch arguments{{uint32_t(sq + 63) / 64, uint32_t(heads), 1}, {128, 1, 1}, 5 * 64 * 64 * 2};
  arguments.parameters = {pointer(memory.allocate("q", q.bits)),
                          pointer(memory.allocate("k", k.bits)),
                          pointer(memory.allocate("v", v.bits)),
                          pointer(out),
                          scalar(sq),
                          scalar(sk),
                          scalar(float(0.125 * 1.4426950408889634)),
                          scalar(int32_t(causal))};
  Report report = launch(readInput("flash.ptx"), memory, arguments, "flash");
  expectClean(report);
  const auto o = memory.read<uint16_t>(out);
  double worst = 0;
  for (int head = 0; head < heads; ++head) {
    const auto expected =
        attention(&q.values[head * sq * 64], &k.values[head * sk * 64], &v.values[head * sk * 64], sq, sk, causal);
    for (size_t i = 0; i < expected.size(); ++i)
      worst = std::max(worst, std::fabs(decode(o[head * sq * 64 + i], kBF16) - expected[i]));
  }
  // bf16 has 8 bits; outputs are below 4.
  EXPECT_LT(worst, 0.016);
  return report;
}

TEST(Samples, FlashAttention256) {
  const Report report = checkFlash(1, 256, 256, false);
  EXPECT_EQ(report.bankConflicts(), 0u);
  uint64_t narrow = 0;
  for (const Counters &counter : report.counters)
    narrow += counter.narrowGlobal;
  EXPECT_EQ(narrow, 0u);
  // 16 warps of 16 rows, 4 key tiles, 64 instructions each.
  EXPECT_EQ(report.mix()["mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"], 16u * 4 * 64);
  ASSERT_TRUE(report.mainLoop());
  EXPECT_EQ(report.mix(report.mainLoop())["mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"], 16u * 4 * 64);
  RecordProperty("milliseconds", int(report.seconds * 1000));
  std::printf("256 x 256, D 64: %.0f ms, %.1f million instructions of warps\n", report.seconds * 1e3,
              double(report.warpInstructions()) / 1e6);
  // A ceiling for slow machines and sanitizers; docs/GPU.md has figures.
  EXPECT_LT(report.seconds, 3.0);
}

TEST(Samples, FlashAttentionCausal) { checkFlash(1, 192, 192, true); }
TEST(Samples, FlashAttentionRagged) { checkFlash(2, 100, 77, false); }
TEST(Samples, FlashAttentionRaggedCausal) { checkFlash(2, 77, 100, true); }

/// gpu_ir/sm80_mma.mlir through mlir-opt and llc: each warp loads four matrices of 8 × 8, takes them as A and,
/// transposed, the first two as B, and stores 2 to the larger of c[g][2 t] and c[g][2 (t ^ 1)].
TEST(Samples, PtxOfLlc) {
  std::vector<float> small = randomFloats(4 * 4 * 64, 9);
  for (float &value : small)
    value *= 0.5f;
  const Narrow matrices(small);
  GlobalMemory memory;
  const uint64_t out = memory.allocate("out", 128 * 4);
  Launch arguments{{1, 1, 1}, {128, 1, 1}, 128 * 16};
  arguments.parameters = {pointer(memory.allocate("in", matrices.bits)), pointer(out)};
  expectClean(launch(readInput("mlir_mma.ptx"), memory, arguments, "k"));
  const auto found = memory.read<float>(out);
  for (unsigned thread = 0; thread < 128; ++thread) {
    const double *m = &matrices.values[thread / 32 * 256];
    const unsigned g = thread % 32 / 4, t = thread % 4;
    auto product = [&](unsigned column) {
      double sum = 0;
      for (unsigned i = 0; i < 16; ++i) // A[g][i] is in matrix 0 or 2, B[i][column] in 0 or 1
        sum += m[i / 8 * 128 + g * 8 + i % 8] * m[i / 8 * 64 + i % 8 * 8 + column];
      return sum;
    };
    const double expected = std::exp2(std::max(product(2 * t), product(2 * (t ^ 1))));
    ASSERT_NEAR(found[thread] / expected, 1, 1e-5) << thread;
  }
}

} // namespace
