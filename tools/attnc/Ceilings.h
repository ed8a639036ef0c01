//===- Ceilings.h - measured limits of the machine --------------*- C++ -*-===//
//
// The two ceilings to which every figure is relative: multiply-adds, and reads from memory without caches. Measured in
// the same run, on as many threads.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNC_CEILINGS_H
#define ATTN_TOOLS_ATTNC_CEILINGS_H

#include "attn/CodeGen/CodeGen.h"
#include "attn/Problem/Problem.h"
#include "attn/Target/TargetInfo.h"
#include "llvm/Support/MemoryBuffer.h"

namespace attn::driver {

/// Independent chains for the multiply-add ceiling: latency times rate of current processors, within 16 registers; and
/// for products of pairs, which have a longer latency and 32 registers; and of tiles, as registers hold them.
constexpr int kFmaChains = 12, kDotChains = 24, kTileChains = 4;
/// Vectors that an iteration of the reading loop takes from each segment, and segments that it reads concurrently. On
/// Zen 5, one segment is a sixth slower, and so are sixteen.
constexpr int kReadVectors = 8, kReadStreams = 4;
constexpr int64_t kReadAlignment = 64;
/// Bytes of one measurement: more than any cache holds.
constexpr int64_t kReadBytes = int64_t(256) << 20;
constexpr llvm::StringLiteral kFmaLoopName = "fma_peak", kReadLoopName = "read_sum";

/// The multiply-adds of the ceiling: one instruction on vectors of f32 or f64, or sums of products of bf16 pairs in
/// f32, of vectors (vdpbf16ps, bfmmla) or tiles (tdpbf16ps), which few targets have.
enum class Product { F32, F64, Bf16Dot, Bf16Tiles };
llvm::StringRef getProductName(Product product);
constexpr int getNumChains(Product product) {
  return product == Product::Bf16Tiles ? kTileChains : product == Product::Bf16Dot ? kDotChains : kFmaChains;
}
/// Those that a target has.
llvm::SmallVector<Product> getProducts(const TargetInfo &target);
/// The products that limit a problem with elements of this type.
Product getProduct(Problem::Element element, const TargetInfo &target);
/// How many of them one product takes: of tiles, f16 as two parts of bf16 takes three, f32 as three parts six.
int getNumProducts(Problem::Element element, Product product);

/// Loads `double fma_peak(i64 rounds)` for those products, and `i64 read_sum(ptr, i64 rounds)`.
llvm::Expected<std::unique_ptr<LoadedObject>> compileCeilingLoops(const TargetInfo &target, Product product);

double getSeconds();

/// Both ceilings, for all threads together; each call measures again and keeps the best.
class Ceilings {
public:
  static llvm::Expected<Ceilings> create(const TargetInfo &target, Product product, int threads);
  /// Short bursts: on a shared machine one of them runs undisturbed.
  void measureFma();
  /// One pass over kReadBytes; the first call allocates them.
  llvm::Error measureRead();

  double getGflops() const { return gflops; }
  double getGigabytes() const { return gigabytes; }
  /// CPU time of the loops' threads relative to their elapsed time: less than 1 if other programs ran at the same time.
  double getProcessorShare() const { return wantedSeconds > 0 ? processorSeconds / wantedSeconds : 1; }

private:
  using FmaLoop = double (*)(int64_t);
  using ReadLoop = int64_t (*)(const char *, int64_t);

  /// Runs a loop on all threads, and returns its seconds.
  double time(void (*loop)(void *, int64_t));

  std::unique_ptr<LoadedObject> object;
  FmaLoop fmaLoop = nullptr;
  ReadLoop readLoop = nullptr;
  std::unique_ptr<llvm::WritableMemoryBuffer> memory;
  int64_t fmaRounds = 0, readRoundBytes = 0;
  double flopsPerRound = 0, gflops = 0, gigabytes = 0;
  double wantedSeconds = 0, processorSeconds = 0; ///< of all threads together
  int threads = 1;
};

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_CEILINGS_H
