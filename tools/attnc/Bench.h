//===- Bench.h - what attnc bench times -------------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNC_BENCH_H
#define ATTN_TOOLS_ATTNC_BENCH_H

#include "Cost.h"

namespace attn::driver {

/// One problem or kernel of a file, ready to be timed.
struct BenchCase {
  std::string title; ///< a line of a problem with the sizes of this run, or the name of a kernel
  Source source;
  Problem::Element element = Problem::Element::F32; ///< of the queries
  std::string noRate;                               ///< why there is no rate; empty where there is one
  LoadedKernel kernel;
  std::optional<LoadedKernel> unfused;
  /// What is read from memory is read from the next copy in the next round: no cache still holds it.
  std::vector<std::vector<NpyArray>> copies;
  Cost cost;
};

class DeviceArguments;

/// Times kernels that take the same arguments, which are copied to the device once.
class DeviceTimer {
public:
  static llvm::Expected<DeviceTimer> create(const LoadedKernel &kernel,
                                            llvm::ArrayRef<std::vector<NpyArray>> arguments);
  DeviceTimer(DeviceTimer &&);
  DeviceTimer &operator=(DeviceTimer &&);
  ~DeviceTimer();
  /// Seconds of one of `repeats` calls, which follow each other.
  llvm::Expected<double> sample(const LoadedKernel &kernel, int repeats);

private:
  DeviceTimer();
  std::vector<std::unique_ptr<DeviceArguments>> copies;
  size_t next = 0;
};

/// Times a kernel for a GPU, and prints its line.
llvm::Error timeOnDevice(const BenchCommand &command, const BenchCase &timed);

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_BENCH_H
