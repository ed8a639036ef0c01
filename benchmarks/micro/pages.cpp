//===- pages.cpp - loops that only read keys and values in pages ----------===//
//
// What decoding on pages may take beside decoding on contiguous heads: K and V
// of 8 sequences are added up, in pages in any order that hold all heads, and
// one after the other. CPU time counts, where other processes run.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <benchmark/benchmark.h>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace {

constexpr int64_t kSequences = 8, kKeys = 4096, kHeads = 8, kSize = 128;
/// Words that are read of one place before the next one of several side by side.
constexpr int64_t kRun = 128;

/// Pages of `rows` keys in any order, of which `abreast` are read side by side; contiguous, as many parts side by side,
/// if `rows` is 0.
void readKeys(benchmark::State &state) {
  int64_t elementBytes = state.range(0), rows = state.range(1), abreast = state.range(2);
  int64_t total = kSequences * kKeys * kHeads * kSize * elementBytes / sizeof(uint64_t);
  int64_t words = rows ? total / (kSequences * kKeys / rows) : kRun;
  std::vector<uint64_t> caches[2] = {std::vector<uint64_t>(total, 1), std::vector<uint64_t>(total, 1)};
  std::vector<int64_t> pages(total / words);
  for (int64_t n = 0, count = pages.size(); n < count; ++n)
    pages[n] = n % abreast * (count / abreast) + n / abreast;
  if (rows)
    std::shuffle(pages.begin(), pages.end(), std::mt19937(0));
  for (auto _ : state) {
    uint64_t sum = 0;
    for (size_t first = 0; first < pages.size(); first += abreast)
      for (const std::vector<uint64_t> &cache : caches)
        for (int64_t begin = 0; begin < words; begin += kRun)
          for (int64_t n = 0; n < abreast; ++n) {
            const uint64_t *run = &cache[pages[first + n] * words + begin];
            sum += std::accumulate(run, run + kRun, uint64_t(0));
          }
    benchmark::DoNotOptimize(sum);
  }
  state.SetBytesProcessed(state.iterations() * 2 * total * sizeof(uint64_t));
}

BENCHMARK(readKeys)
    ->ArgNames({"bytes", "page", "abreast"})
    ->ArgsProduct({{4, 2, 1}, {0, 16, 32}, {1, 4}})
    ->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
