//===- DeviceArguments.h - kernels on a GPU ---------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_COMMON_DEVICEARGUMENTS_H
#define ATTN_TOOLS_COMMON_DEVICEARGUMENTS_H

#include "Driver.h"

typedef struct attn_cuda_driver attn_cuda_driver;

namespace attn::driver {

/// The driver, with a context that is current on this thread: that of the first device, if there was none.
llvm::Expected<const attn_cuda_driver *> openDevice();

/// Copies of a kernel's arguments in the memory of the current context's device, for any number of calls of that kernel
/// and of others with the same arguments.
class DeviceArguments {
public:
  static llvm::Expected<std::unique_ptr<DeviceArguments>> create(const LoadedKernel &kernel,
                                                                 llvm::ArrayRef<NpyArray> arguments);
  DeviceArguments(const DeviceArguments &) = delete;
  ~DeviceArguments();

  /// Starts the kernel on the null stream. Its workspace is reallocated if it is larger than that of the previous call.
  llvm::Error start(const LoadedKernel &kernel);
  /// Waits until all started kernels are done.
  llvm::Error wait();
  /// Copies the outputs back.
  llvm::Error copyOut(const LoadedKernel &kernel, llvm::ArrayRef<NpyArray> arguments);

private:
  explicit DeviceArguments(const attn_cuda_driver &driver) : driver(driver) {}
  llvm::Expected<void *> allocate(size_t bytes);

  const attn_cuda_driver &driver;
  std::vector<DLTensor> tensors;
  std::vector<unsigned long long> addresses; ///< freed at the end
  void *workspace = nullptr;
  int64_t workspaceBytes = 0;
};

} // namespace attn::driver

#endif // ATTN_TOOLS_COMMON_DEVICEARGUMENTS_H
