//===- Ceilings.cpp - what the machine can do, measured -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Ceilings.h"
#include "attn-c/attn_runtime.h"
#include <chrono>
#include <cstring>

using namespace llvm;
using namespace attn;
using namespace attn::driver;

static constexpr double kPeakSeconds = 0.002;
static constexpr unsigned kPeakBursts = 5;
static constexpr int64_t kCalibrationRounds = 1 << 20;

double driver::getSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Expected<Ceilings> Ceilings::create(const TargetInfo &target, unsigned elementBits, int threads) {
  Ceilings ceilings;
  ceilings.threads = threads;
  Expected<std::unique_ptr<LoadedObject>> object = compileCeilingLoops(target, elementBits);
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
  ceilings.flopsPerRound = kFmaChains * target.getLanes(elementBits) * 2.0;
  ceilings.readRoundBytes = int64_t(kReadVectors) * target.vectorBits / 8;
  // Rounds that last about kPeakSeconds.
  double start = getSeconds();
  ceilings.fmaLoop(kCalibrationRounds);
  ceilings.fmaRounds = std::max<int64_t>(1, kCalibrationRounds * kPeakSeconds / (getSeconds() - start));
  return ceilings;
}

void Ceilings::measureFma() {
  for (unsigned burst = 0; burst < kPeakBursts; ++burst) {
    double start = getSeconds();
    attn_parallel_for(
        [](void *context, int64_t) {
          auto *self = static_cast<const Ceilings *>(context);
          (void)self->fmaLoop(self->fmaRounds);
        },
        this, threads);
    gflops = std::max(gflops, threads * fmaRounds * flopsPerRound / (getSeconds() - start) * 1e-9);
  }
}

Error Ceilings::measureRead() {
  if (!memory) {
    memory = WritableMemoryBuffer::getNewUninitMemBuffer(kReadBytes, "read ceiling", Align(kReadAlignment));
    if (!memory)
      return createStringError("not enough memory for the read ceiling, " + Twine(kReadBytes) + " bytes");
    std::memset(memory->getBufferStart(), 1, kReadBytes);
  }
  double start = getSeconds();
  attn_parallel_for(
      [](void *context, int64_t part) {
        auto *self = static_cast<const Ceilings *>(context);
        int64_t rounds = kReadBytes / self->readRoundBytes / self->threads;
        (void)self->readLoop(self->memory->getBufferStart() + part * rounds * self->readRoundBytes, rounds);
      },
      this, threads);
  gigabytes = std::max(gigabytes, kReadBytes / (getSeconds() - start) * 1e-9);
  return Error::success();
}
