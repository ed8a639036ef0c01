//===- BenchDevice.cpp - attnc bench of kernels for a GPU -----------------===//
//
// Calls are queued on the null stream. A sample has a number of calls and one wait at the end, so that the launch
// latency of a kernel is hidden behind the previous one.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../common/DeviceArguments.h"
#include "Bench.h"
#include "Ceilings.h"
#include "Load.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// Fewest samples of each problem, and the length of one.
static constexpr unsigned kMinSamples = 5;
static constexpr double kSampleSeconds = 0.02;

Expected<double> DeviceTimer::sample(const LoadedKernel &kernel, int repeats) {
  double before = getSeconds();
  for (int i = 0; i < repeats; ++i)
    if (Error error = copies[next++ % copies.size()]->start(kernel))
      return error;
  if (Error error = copies.front()->wait())
    return error;
  return (getSeconds() - before) / repeats;
}

Expected<DeviceTimer> DeviceTimer::create(const LoadedKernel &kernel, ArrayRef<std::vector<NpyArray>> arguments) {
  DeviceTimer timer;
  for (const std::vector<NpyArray> &copy : arguments) {
    Expected<std::unique_ptr<DeviceArguments>> onDevice = DeviceArguments::create(kernel, copy);
    if (!onDevice)
      return onDevice.takeError();
    timer.copies.push_back(std::move(*onDevice));
  }
  return timer;
}

DeviceTimer::DeviceTimer() = default;
DeviceTimer::DeviceTimer(DeviceTimer &&) = default;
DeviceTimer &DeviceTimer::operator=(DeviceTimer &&) = default;
DeviceTimer::~DeviceTimer() = default;

Expected<BenchRecord> driver::timeOnDevice(const BenchCommand &command, const BenchCase &timed) {
  Expected<DeviceTimer> timer = DeviceTimer::create(timed.kernel, timed.copies);
  if (!timer)
    return timer.takeError();
  Expected<double> once = timer->sample(timed.kernel, 1); // loads the module
  if (once)
    once = timer->sample(timed.kernel, 1);
  if (!once)
    return once.takeError();
  int repeats = std::max(1, int(kSampleSeconds / std::max(*once, 1e-9)));
  std::vector<double> times;
  double start = getSeconds();
  while (times.size() < kMinSamples || getSeconds() - start < command.seconds) {
    Expected<double> seconds = timer->sample(timed.kernel, repeats);
    if (!seconds)
      return seconds.takeError();
    times.push_back(*seconds);
  }
  llvm::sort(times);
  BenchRecord record{timed.title, timed.noRate, timed.cost, /*isOnDevice=*/true};
  record.best = times.front();
  record.median = times[times.size() / 2];
  record.busy = describeLoad({.spread = record.median / record.best});
  return record;
}
