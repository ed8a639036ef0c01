//===- Ceilings.cpp - measured limits of the machine ----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Ceilings.h"
#include "attn-c/attn_runtime.h"
#include <chrono>
#include <cstring>
#include <ctime>

using namespace llvm;
using namespace attn;
using namespace attn::driver;

static constexpr double kPeakSeconds = 0.002;
static constexpr unsigned kPeakBursts = 5;
static constexpr int64_t kCalibrationRounds = 1 << 20;

double driver::getSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// CPU time of all threads of this process.
static double getProcessorSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

StringRef driver::getProductName(Product product) {
  switch (product) {
  case Product::F32: return "f32 FMA";
  case Product::F64: return "f64 FMA";
  case Product::Bf16Dot: return "bf16 dot";
  case Product::Bf16Tiles: return "bf16 tiles";
  }
  llvm_unreachable("all products are handled");
}

SmallVector<Product> driver::getProducts(const TargetInfo &target) {
  SmallVector<Product> products = {Product::F32, Product::F64};
  if (target.bf16DotRate > 0)
    products.push_back(Product::Bf16Dot);
  if (target.tileRate > 0)
    products.push_back(Product::Bf16Tiles);
  return products;
}

Product driver::getProduct(Problem::Element element, const TargetInfo &target) {
  if (element == Problem::Element::F64)
    return Product::F64;
  if (target.tileRate > 0)
    return Product::Bf16Tiles;
  return element == Problem::Element::BF16 && target.bf16DotRate > 1 ? Product::Bf16Dot : Product::F32;
}

int driver::getNumProducts(Problem::Element element, Product product) {
  if (product != Product::Bf16Tiles || element == Problem::Element::BF16)
    return 1;
  return element == Problem::Element::F16 ? 3 : 6;
}

/// Of one instruction. A dot product has two per 32-bit lane, one of bfmmla four; tiles have 16 x 16 sums of 32
/// products.
static int64_t getMultiplyAdds(Product product, const TargetInfo &target) {
  switch (product) {
  case Product::F32: return target.getLanes(32);
  case Product::F64: return target.getLanes(64);
  case Product::Bf16Dot: return target.getLanes(target.hasBf16Matrices ? 8 : 16);
  case Product::Bf16Tiles: return 16 * 16 * TargetInfo::kTileDepth;
  }
  llvm_unreachable("all products are handled");
}

Expected<Ceilings> Ceilings::create(const TargetInfo &target, Product product, int threads) {
  Ceilings ceilings;
  ceilings.threads = threads;
  Expected<std::unique_ptr<LoadedObject>> object = compileCeilingLoops(target, product);
  if (!object)
    return object.takeError();
  ceilings.object = std::move(*object);
  Expected<void *> fmaLoop = ceilings.object->lookup(kFmaLoopName);
  if (!fmaLoop)
    return fmaLoop.takeError();
  Expected<void *> readLoop = ceilings.object->lookup(kReadLoopName);
  if (!readLoop)
    return readLoop.takeError();
  ceilings.fmaLoop = reinterpret_cast<FmaLoop>(*fmaLoop);
  ceilings.readLoop = reinterpret_cast<ReadLoop>(*readLoop);
  ceilings.flopsPerRound = getNumChains(product) * getMultiplyAdds(product, target) * 2.0;
  ceilings.readRoundBytes = int64_t(kReadStreams) * kReadVectors * target.vectorBits / 8;
  // Iterations that last about kPeakSeconds.
  double start = getSeconds();
  ceilings.fmaLoop(kCalibrationRounds);
  ceilings.fmaRounds = std::max<int64_t>(1, kCalibrationRounds * kPeakSeconds / (getSeconds() - start));
  return ceilings;
}

double Ceilings::time(void (*loop)(void *, int64_t)) {
  double start = getSeconds(), processorStart = getProcessorSeconds();
  attn_parallel_for(loop, this, threads);
  double seconds = getSeconds() - start;
  wantedSeconds += threads * seconds;
  processorSeconds += getProcessorSeconds() - processorStart;
  return seconds;
}

void Ceilings::measureFma() {
  for (unsigned burst = 0; burst < kPeakBursts; ++burst) {
    double seconds = time([](void *context, int64_t) {
      auto *self = static_cast<const Ceilings *>(context);
      (void)self->fmaLoop(self->fmaRounds);
    });
    gflops = std::max(gflops, threads * fmaRounds * flopsPerRound / seconds * 1e-9);
  }
}

Error Ceilings::measureRead() {
  if (!memory) {
    memory = WritableMemoryBuffer::getNewUninitMemBuffer(kReadBytes, "read ceiling", Align(kReadAlignment));
    if (!memory)
      return createStringError("not enough memory for the read ceiling, " + Twine(kReadBytes) + " bytes");
    std::memset(memory->getBufferStart(), 1, kReadBytes);
  }
  double seconds = time([](void *context, int64_t part) {
    auto *self = static_cast<const Ceilings *>(context);
    int64_t rounds = kReadBytes / self->readRoundBytes / self->threads;
    (void)self->readLoop(self->memory->getBufferStart() + part * rounds * self->readRoundBytes, rounds);
  });
  gigabytes = std::max(gigabytes, kReadBytes / seconds * 1e-9);
  return Error::success();
}
