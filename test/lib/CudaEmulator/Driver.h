//===- Driver.h - functions of the emulated driver by file ------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_CUDAEMULATOR_DRIVER_H
#define ATTN_TEST_CUDAEMULATOR_DRIVER_H

#include "CudaEmulator.h"

namespace attn::ptx {

/// From cuda.h.
enum Result {
  Success = 0,
  InvalidValue = 1,
  InvalidDevice = 101,
  InvalidContext = 201,
  NoBinaryForGpu = 209,
  InvalidPtx = 218,
  InvalidHandle = 400,
  NotFound = 500,
  IllegalAddress = 700,
  LaunchFailed = 719,
};

// Memory.cpp
int memAlloc(unsigned long long *address, size_t bytes);
int memFree(unsigned long long address);
int memcpyHtoD(unsigned long long target, const void *source, size_t bytes);
int memcpyDtoH(void *target, unsigned long long source, size_t bytes);

} // namespace attn::ptx

#endif // ATTN_TEST_CUDAEMULATOR_DRIVER_H
