//===- DeviceArguments.cpp - kernels on a GPU -----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "DeviceArguments.h"
#include "attn-c/attn_cuda.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// Size of an error text.
static constexpr size_t kMessageSize = 2048;

static Error check(const attn_cuda_driver &driver, int result, const Twine &what) {
  const char *name = nullptr;
  if (result == 0)
    return Error::success();
  driver.cuGetErrorName(result, &name);
  return createStringError(what + " failed: CUDA error " + Twine(result) + " (" + (name ? name : "unknown") + ")");
}

Expected<const attn_cuda_driver *> driver::openDevice() {
  const attn_cuda_driver *driver = attn_cuda_get_driver();
  if (!driver)
    return createStringError(attn_cuda_message());
  CUcontext context = nullptr;
  int device = 0;
  if (!driver->cuMemAlloc || !driver->cuDevicePrimaryCtxRetain)
    return createStringError("the CUDA driver lacks functions for memory");
  if (Error error = check(*driver, driver->cuCtxGetCurrent(&context), "cuCtxGetCurrent"))
    return error;
  if (context)
    return driver;
  if (Error error = check(*driver, driver->cuDeviceGet(&device, 0), "cuDeviceGet"))
    return error;
  if (Error error = check(*driver, driver->cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain"))
    return error;
  if (Error error = check(*driver, driver->cuCtxSetCurrent(context), "cuCtxSetCurrent"))
    return error;
  return driver;
}

static size_t countBytes(const NpyArray &array) { return getNpyTypeSize(array.type) * getNumElements(array.shape); }

DeviceArguments::~DeviceArguments() {
  for (unsigned long long address : addresses)
    driver.cuMemFree(address);
}

Expected<void *> DeviceArguments::allocate(size_t bytes) {
  unsigned long long address = 0;
  if (Error error = check(driver, driver.cuMemAlloc(&address, std::max<size_t>(bytes, 1)), "cuMemAlloc"))
    return error;
  addresses.push_back(address);
  return reinterpret_cast<void *>(address);
}

Expected<std::unique_ptr<DeviceArguments>> DeviceArguments::create(const LoadedKernel &kernel,
                                                                   ArrayRef<NpyArray> arguments) {
  Expected<const attn_cuda_driver *> driver = openDevice();
  if (!driver)
    return driver.takeError();
  std::unique_ptr<DeviceArguments> result(new DeviceArguments(**driver));
  result->tensors = kernel.describe(arguments);
  for (auto [array, argument, tensor] : zip_equal(arguments, kernel.getDescription().arguments, result->tensors)) {
    if (argument.isScalar)
      continue; // read by the host
    tensor.device = {kDLCUDA, 0};
    Expected<void *> buffer = result->allocate(countBytes(array));
    if (!buffer)
      return buffer.takeError();
    tensor.data = *buffer;
    if (!argument.isOutput || argument.isUpdated)
      if (Error error = check(**driver, (*driver)->cuMemcpyHtoD(uintptr_t(tensor.data), array.data, countBytes(array)),
                              "cuMemcpyHtoD"))
        return error;
  }
  return result;
}

Error DeviceArguments::start(const LoadedKernel &kernel) {
  SmallVector<const DLTensor *> pointers;
  for (const DLTensor &tensor : tensors)
    pointers.push_back(&tensor);
  char message[kMessageSize] = "";
  auto refuse = [&] {
    return createStringError(Twine("kernel '") + kernel.getDescription().name + "' refused: " + message);
  };
  using WorkspaceEntry = int64_t (*)(const DLTensor *const *, int64_t, char *, int64_t);
  auto getBytes = reinterpret_cast<WorkspaceEntry>(kernel.getWorkspaceEntry());
  int64_t needed = getBytes(pointers.data(), pointers.size(), message, sizeof(message));
  if (needed < 0)
    return refuse();
  if (needed > workspaceBytes) {
    Expected<void *> grown = allocate(needed);
    if (!grown)
      return grown.takeError();
    workspace = *grown;
    workspaceBytes = needed;
  }
  using Entry = int32_t (*)(const DLTensor *const *, int64_t, void *, int64_t, CUstream, char *, int64_t);
  auto entry = reinterpret_cast<Entry>(kernel.getEntry());
  int32_t code =
      entry(pointers.data(), pointers.size(), workspace, workspaceBytes, /*stream=*/nullptr, message, sizeof(message));
  return code == 0 ? Error::success() : refuse();
}

Error DeviceArguments::wait() { return check(driver, driver.cuCtxSynchronize(), "the kernel"); }

Error DeviceArguments::copyOut(const LoadedKernel &kernel, ArrayRef<NpyArray> arguments) {
  for (auto [array, argument, tensor] : zip_equal(arguments, kernel.getDescription().arguments, tensors))
    if (argument.isOutput)
      if (Error error =
              check(driver, driver.cuMemcpyDtoH(array.data, uintptr_t(tensor.data), countBytes(array)), "cuMemcpyDtoH"))
        return joinErrors(createStringError("output '" + argument.name + "'"), std::move(error));
  return Error::success();
}

Error LoadedKernel::callOnDevice(ArrayRef<NpyArray> arguments) const {
  Expected<std::unique_ptr<DeviceArguments>> device = DeviceArguments::create(*this, arguments);
  if (!device)
    return device.takeError();
  if (Error error = (*device)->start(*this))
    return error;
  if (Error error = (*device)->wait())
    return error;
  return (*device)->copyOut(*this, arguments);
}
