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

/// Figures of one of them.
struct BenchRecord {
  std::string title;
  std::string noRate; ///< why there is no rate; empty where there is one
  Cost cost;
  bool isOnDevice = false;                ///< of a GPU, which has no measured ceilings
  double best = 0, median = 0;            ///< seconds of a call
  std::optional<double> unfused{};        ///< seconds of the chain
  std::string product{};                  ///< what the ceiling of multiply-adds is of
  double maxGflops = 0, maxGigabytes = 0; ///< the ceilings; 0 for one that was not asked for
  std::string busy{};                     ///< as describeLoad says it

  double getGflops() const { return cost.flops / best * 1e-9; }
  double getGigabytes() const { return cost.bytes / best * 1e-9; }
  /// Of what bounds the problem: multiply-adds, or reads.
  double getRate() const { return cost.isDecode ? getGigabytes() : getGflops(); }
  double getCeiling() const { return cost.isDecode ? maxGigabytes : maxGflops; }
  llvm::StringRef getUnit() const { return cost.isDecode ? " GB/s" : " GFLOP/s"; }
  llvm::StringRef getCeilingName() const { return cost.isDecode ? llvm::StringRef("read") : product; }
};

/// "1 thread" and so on.
std::string printThreads(int threads);
/// The line of a record.
void printRecord(llvm::raw_ostream &os, const BenchRecord &record, int threads);
/// All records as one array of JSON.
void writeRecords(llvm::raw_ostream &os, llvm::ArrayRef<BenchRecord> records, const BenchCommand &command);

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

/// Times a kernel for a GPU.
llvm::Expected<BenchRecord> timeOnDevice(const BenchCommand &command, const BenchCase &timed);

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_BENCH_H
