//===- Bench.h - the cases of attnc bench -----------------------*- C++ -*-===//
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
  /// For memory-bound kernels, each round reads the next copy, which is in no cache.
  std::vector<std::vector<NpyArray>> copies;
  Cost cost;
};

/// The figures of one case.
struct BenchRecord {
  std::string title;
  std::string noRate; ///< why there is no rate; empty where there is one
  Cost cost;
  bool isOnDevice = false;                ///< for a GPU, which has no measured ceilings
  double best = 0, median = 0;            ///< seconds per call
  std::optional<double> unfused{};        ///< seconds of the unfused chain
  std::string product{};                  ///< the kind of multiply-adds of the ceiling
  double maxGflops = 0, maxGigabytes = 0; ///< the ceilings; 0 for one that was not requested
  std::string busy{};                     ///< as in describeLoad

  double getGflops() const { return cost.flops / best * 1e-9; }
  double getGigabytes() const { return cost.bytes / best * 1e-9; }
  /// The rate of the problem's limiting resource: multiply-adds or reads.
  double getRate() const { return cost.isDecode ? getGigabytes() : getGflops(); }
  double getCeiling() const { return cost.isDecode ? maxGigabytes : maxGflops; }
  llvm::StringRef getUnit() const { return cost.isDecode ? " GB/s" : " GFLOP/s"; }
  llvm::StringRef getCeilingName() const { return cost.isDecode ? llvm::StringRef("read") : product; }
};

/// Times each problem, or each kernel of the file, and prints its line.
llvm::Error measure(const BenchCommand &command, std::vector<BenchRecord> &records);

/// "1 thread" and so on.
std::string printThreads(int threads);
/// The line of a record.
void printRecord(llvm::raw_ostream &os, const BenchRecord &record, int threads);
/// All records as one JSON array.
void writeRecords(llvm::raw_ostream &os, llvm::ArrayRef<BenchRecord> records, const BenchCommand &command);

class DeviceArguments;

/// Times kernels with the same arguments, which are copied to the device once.
class DeviceTimer {
public:
  static llvm::Expected<DeviceTimer> create(const LoadedKernel &kernel,
                                            llvm::ArrayRef<std::vector<NpyArray>> arguments);
  DeviceTimer(DeviceTimer &&);
  DeviceTimer &operator=(DeviceTimer &&);
  ~DeviceTimer();
  /// Seconds of one of `repeats` consecutive calls.
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
