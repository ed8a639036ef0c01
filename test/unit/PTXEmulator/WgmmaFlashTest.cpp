//===- WgmmaFlashTest.cpp - flash attention by TMA and wgmma, against double ===//
//
// Inputs/wgmma_flash.ptx has a producer warpgroup, two consumers, two stages, setmaxnreg: what kernels for sm_90a are
// made of. It is right on odd sizes; with a fault planted, a finding or a wrong number shows.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PTXEmulator/TensorMap.h"
#include "RunPTX.h"

#include <cmath>
#include <random>

using namespace attn::ptx;

namespace {

constexpr unsigned kD = 64, kHeads = 2, kRows = 128, kKeys = 64, kThreads = 384;
constexpr uint64_t kShared = 49152 + 9 * 8;
constexpr double kTolerance = 0.012;

struct Problem {
  unsigned sq, sk;
  std::vector<uint16_t> q, k, v;

  Problem(unsigned sq, unsigned sk) : sq(sq), sk(sk), q(random(sq, 1)), k(random(sk, 2)), v(random(sk, 3)) {}
  static std::vector<uint16_t> random(unsigned rows, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    std::vector<uint16_t> values(kHeads * rows * kD);
    for (uint16_t &value : values)
      value = toBF16(normal(generator));
    return values;
  }
  static ParameterBytes map(uint64_t address, unsigned rows, unsigned boxRows) {
    TensorMap map;
    map.rank = 3;
    map.elementBytes = 2;
    map.swizzle = TensorSwizzle::Bytes128;
    map.address = address;
    map.sizes = {kD, rows, kHeads};
    map.strides = {2, kD * 2, uint64_t(rows) * kD * 2};
    map.box = {64, boxRows, 1};
    const auto bytes = encodeTensorMap(map);
    return ParameterBytes(bytes.begin(), bytes.end());
  }

  /// `error` becomes the largest difference to the function in double.
  Report run(const std::string &text, double &error) const {
    GlobalMemory memory;
    const uint64_t out = memory.allocate("out", kHeads * sq * kD * 4);
    Launch arguments{{(sq + kRows - 1) / kRows, kHeads, 1}, {kThreads, 1, 1}, kShared};
    arguments.maxInstructions = 200000;
    arguments.parameters = {map(memory.allocate("q", q), sq, kRows),
                            map(memory.allocate("k", k), sk, kKeys),
                            map(memory.allocate("v", v), sk, kKeys),
                            pointer(out),
                            scalar(sq),
                            scalar(sk)};
    const Report report = launch(text, memory, arguments, "wgmma_flash");
    error = compare(memory.read<float>(out));
    return report;
  }

private:
  static std::vector<double> toDouble(const std::vector<uint16_t> &x) {
    std::vector<double> values(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      values[i] = decode(x[i], kBF16);
    return values;
  }
  std::vector<double> attend() const {
    const std::vector<double> qs = toDouble(q), ks = toDouble(k), vs = toDouble(v);
    std::vector<double> result(qs.size()), weights(sk);
    for (unsigned line = 0; line < kHeads * sq; ++line) {
      const unsigned first = line / sq * sk;
      double total = 0;
      for (unsigned key = 0; key < sk; ++key) {
        double score = 0;
        for (unsigned i = 0; i < kD; ++i)
          score += qs[line * kD + i] * ks[(first + key) * kD + i];
        total += weights[key] = std::exp(score / std::sqrt(double(kD)));
      }
      for (unsigned key = 0; key < sk; ++key)
        for (unsigned i = 0; i < kD; ++i)
          result[line * kD + i] += weights[key] / total * vs[(first + key) * kD + i];
    }
    return result;
  }
  double compare(const std::vector<float> &out) const {
    double largest = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      const double difference = std::abs(expected[i] - double(out[i]));
      largest = difference <= largest ? largest : difference; // NaN is the largest
    }
    return largest;
  }

  std::vector<double> expected = attend();
};

std::string replace(std::string text, const std::string &from, unsigned occurrence, const std::string &to) {
  size_t at = text.find(from);
  while (occurrence-- > 0 && at != std::string::npos)
    at = text.find(from, at + 1);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(WgmmaFlash, OddSizes) {
  // One, two and three tiles of keys; rows that fill no tile.
  const std::string text = readInput("wgmma_flash.ptx");
  for (auto [sq, sk] : {std::pair(113u, 203u), {128u, 64u}, {1u, 1u}, {200u, 65u}}) {
    double error;
    const Report report = Problem(sq, sk).run(text, error);
    expectClean(report);
    EXPECT_LT(error, kTolerance) << sq << " x " << sk;
    EXPECT_EQ(report.bankConflicts(), 0u);
  }
}

struct Fault {
  const char *what;
  std::string from;
  unsigned occurrence;
  std::string to;
};

TEST(WgmmaFlash, PlantedFaults) {
  const std::string text = readInput("wgmma_flash.ptx"), wait = "{ .reg .pred p; W: mbarrier.try_wait";
  const std::string fence = "wgmma.fence.sync.aligned;", group = "wgmma.wait_group.sync.aligned \t0;";
  const std::string release = "{ .reg .pred p; setp.eq.u32 p,";
  const Fault faults[] = {
      {"no announcement of mbarriers", "fence.mbarrier_init.release.cluster;", 0, ""},
      {"no barrier after init", "bar.sync 0;", 0, ""},
      {"producer: empty K not waited for", wait, 0, "// "},
      {"producer: empty V not waited for", wait, 1, "// "},
      {"full Q not waited for", wait, 2, "// "},
      {"full K not waited for", wait, 3, "// "},
      {"full V not waited for", wait, 4, "// "},
      {"a wait without its loop", "@!p bra W;", 3, ""},
      {"K released too rarely", release, 0, "// "},
      {"V released too rarely", release, 1, "// "},
      {"no fence before Q K", fence, 0, ""},
      {"no fence before P V", fence, 1, ""},
      {"no wait for Q K", group, 0, ""},
      {"no wait for P V", group, 1, ""},
      {"a group may be pending", group, 0, "wgmma.wait_group.sync.aligned 1;"},
      {"Q K not committed", "wgmma.commit_group.sync.aligned;", 0, ""},
      {"fewer bytes than come", ", 8192;", 0, ", 8176;"},
      {"more bytes than come", ", 8192;", 0, ", 8208;"},
      {"initialised for more arrivals", ", 8;", 0, ", 9;"},
      {"initialised for fewer arrivals", ", 8;", 0, ", 7;"},
      {"producer: the parity of empty K never flips", ", %r374; @!p", 0, ", 1; @!p"},
      {"the parity of full K never flips", ", %r119; @!p", 0, ", 0; @!p"},
      {"the parity of full V never flips", ", %r119; @!p", 1, ", 0; @!p"},
      {"K's groups of rows too near", "4611686293305360384", 1, "4611686155866406912"},
      {"V's groups of rows too near", "4611686293338849280", 0, "4611686155899895808"},
      {"K without its swizzle", "4611686293305360384", 1, "274877972480"},
      {"Q and K exchanged", "}, %rd8, %rd9, ", 0, "}, %rd9, %rd8, "},
      {"the first product adds", ", 0, 1, 1, 0, 0;", 0, ", 1, 1, 1, 0, 0;"},
      {"V not transposed", "1, 1, 1, 1;", 0, "1, 1, 1, 0;"},
      {"the producer keeps its registers", "setmaxnreg.dec.sync.aligned.u32 24;", 0, ""},
  };
  // K is released when its products are issued, not when they are done.
  const std::string early = replace(replace(text, group, 0, ""), "[%r68]; }", 0, "[%r68]; }\n" + group);
  const Problem problem(90, 330);
  double error;
  expectClean(problem.run(text, error));
  EXPECT_LT(error, kTolerance);
  EXPECT_TRUE(problem.run(early, error).has(FindingKind::Race));
  for (const Fault &fault : faults) {
    const Report report = problem.run(replace(text, fault.from, fault.occurrence, fault.to), error);
    EXPECT_TRUE(!report.clean() || !(error < kTolerance)) << fault.what;
  }
}

} // namespace
