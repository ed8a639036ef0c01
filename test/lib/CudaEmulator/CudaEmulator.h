//===- CudaEmulator.h - a CUDA driver over the PTX emulator -----*- C++ -*-===//
//
// The functions of attn_cuda_driver, for one device whose kernels run on the host. A launch with a finding prints it
// and fails. Available as a table in this process, or as libcuda_emulator.so, which a launcher loads in place of
// libcuda.so.1.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_CUDAEMULATOR_CUDAEMULATOR_H
#define ATTN_TEST_CUDAEMULATOR_CUDAEMULATOR_H

#include "PTXEmulator/Emulator.h"
#include "attn-c/attn_cuda.h"

#include <mutex>

namespace attn::ptx {

/// One launch without a finding.
struct LaunchRecord {
  std::string kernel;
  Report report;
};

/// The only device of the process. Its functions take the mutex; other code changes it only while none runs.
struct CudaEmulator {
  static CudaEmulator &get();

  std::mutex mutex;
  GlobalMemory memory;
  int capability = 90;                          ///< 10 * major + minor
  int multiprocessors = 3;                      ///< few: blocks of small grids have several tiles, but not equally many
  int driverVersion = 13000;                    ///< the result of cuDriverGetVersion
  bool keepsLaunches = false;                   ///< `launches` grows
  bool readsOnlyWritten = true;                 ///< copying uninitialised bytes to the host is an error
  uint64_t maxInstructions = uint64_t(1) << 30; ///< of warps, per launch
  unsigned resident = Launch().resident;        ///< concurrent blocks
  uint64_t turns = 0;                           ///< seed of their order
  bool tracesWrites = false;                    ///< `trace` grows
  bool isQuiet = false;                         ///< findings go only to `findings`
  uint64_t trace = 0;                           ///< sum of Report::trace of all launches
  uint64_t memoryTrace = 0;                     ///< of global memory after each of these launches
  std::string findings;                         ///< of the last launch with a finding
  std::vector<LaunchRecord> launches;
  uint64_t numLoads = 0, numLaunches = 0;

  /// Makes launches of all loaded modules execute the kernels of this text from now on. Clears `launches`.
  llvm::Error replaceModules(llvm::StringRef ptx);
};

const attn_cuda_driver &getEmulatedDriver();

/// cuTensorMapEncodeTiled: strides are those of dimensions 1 and up. Reports refused maps on stderr.
int encodeTiledTensorMap(void *result, int type, unsigned rank, void *address, const uint64_t *sizes,
                         const uint64_t *strides, const uint32_t *box, const uint32_t *elementStrides, int interleave,
                         int swizzle, int promotion, int fill);

} // namespace attn::ptx

#endif // ATTN_TEST_CUDAEMULATOR_CUDAEMULATOR_H
