//===- LoadedKernel.cpp - kernels in memory -------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "attn-c/attn_cuda.h"
#include "attn-c/attn_runtime.h"
#include "attn/Compiler/Bundle.h"
#include "llvm/ADT/StringExtras.h"
#include <csignal>
#include <unistd.h>

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// Of the text of an error.
static constexpr size_t kMessageSize = 2048;

/// What stops at an illegal instruction from here on is the kernel, not the compiler.
static void reportWrongProcessor(int) {
  static constexpr StringLiteral message =
      "error: the kernel stopped at an instruction that this processor does not have; expected a target that it runs, "
      "as --target=host\n";
  (void)!write(STDERR_FILENO, message.data(), message.size());
  _exit(1);
}

Expected<LoadedKernel> LoadedKernel::compile(const Source &source, const CompileOptions &options, StringRef name,
                                             raw_ostream &diagnostics, bool isEmulated) {
  Expected<std::unique_ptr<MemoryBuffer>> text = source.open();
  if (!text)
    return text.takeError();
  Expected<std::unique_ptr<Compiler>> compiler = Compiler::create(applyTuned(source, options), diagnostics);
  if (!compiler)
    return compiler.takeError();
  if (!isEmulated)
    if (Error error = checkProcessor((*compiler)->getTarget()))
      return error;
  if (failed((*compiler)->parse(std::move(*text))) || failed((*compiler)->run()))
    return createStringError("compilation failed");
  Expected<std::string> object = (*compiler)->emit(FileKind::Object, ModulePart::ForThisProcess);
  if (!object)
    return object.takeError();
  Expected<std::unique_ptr<LoadedObject>> loaded = LoadedObject::load(*object);
  if (!loaded)
    return loaded.takeError();
  LoadedKernel all;
  all.kernels = std::make_shared<const std::vector<Kernel>>((*compiler)->getKernels());
  all.object = std::move(*loaded);
  all.isGpu = (*compiler)->getTarget().gpu.has_value();
  if (!all.isGpu) {
    struct sigaction action = {};
    action.sa_handler = reportWrongProcessor;
    sigaction(SIGILL, &action, nullptr);
  }
  return all.getKernel(name.empty() && !all.kernels->empty() ? all.kernels->front().name : name);
}

Expected<LoadedKernel> LoadedKernel::getKernel(StringRef name) const {
  auto found = find_if(*kernels, [&](const Kernel &kernel) { return kernel.name == name; });
  if (found == kernels->end()) {
    auto getName = [](const Kernel &kernel) { return kernel.name; };
    return createStringError("no kernel named '" + name + "', expected one of " +
                             join(map_range(*kernels, getName), " "));
  }
  LoadedKernel kernel = *this;
  kernel.description = *found;
  Expected<void *> entry = object->lookup(getCheckedName(found->name));
  if (!entry)
    return entry.takeError();
  kernel.entry = *entry;
  if (!isGpu)
    return kernel;
  Expected<void *> workspaceEntry = object->lookup(getCheckedName(getWorkspaceBytesName(found->name)));
  if (!workspaceEntry)
    return workspaceEntry.takeError();
  kernel.workspaceEntry = *workspaceEntry;
  return kernel;
}

std::vector<DLTensor> LoadedKernel::describe(ArrayRef<NpyArray> arguments) const {
  std::vector<DLTensor> tensors;
  for (auto [array, argument] : zip_equal(arguments, description.arguments)) {
    const ElementInfo &element = getElementInfo(argument.element);
    DLTensor tensor = {};
    tensor.data = array.data;
    tensor.device = {kDLCPU, 0};
    tensor.ndim = array.shape.size();
    tensor.dtype = {uint8_t(element.dlpackCode == ATTN_DLPACK_BOOL ? uint8_t(kDLUInt) : element.dlpackCode),
                    uint8_t(element.bytes * 8), 1};
    tensor.shape = const_cast<int64_t *>(array.shape.data());
    tensors.push_back(tensor);
  }
  return tensors;
}

Error LoadedKernel::call(ArrayRef<NpyArray> arguments) const {
  if (isGpu)
    return callOnDevice(arguments);
  using Entry = int32_t (*)(const DLTensor *const *, int64_t, char *, int64_t);
  std::vector<DLTensor> tensors = describe(arguments);
  SmallVector<const DLTensor *> pointers;
  for (const DLTensor &tensor : tensors)
    pointers.push_back(&tensor);
  char message[kMessageSize] = "";
  int32_t code = reinterpret_cast<Entry>(entry)(pointers.data(), pointers.size(), message, sizeof(message));
  return code == 0 ? Error::success()
                   : createStringError(Twine("kernel '") + description.name + "' refused: " + message);
}

//===----------------------------------------------------------------------===//
// On a device
//===----------------------------------------------------------------------===//

namespace {
/// Memory of the device, freed at the end.
class DeviceBuffers {
public:
  explicit DeviceBuffers(const attn_cuda_driver &driver) : driver(driver) {}
  DeviceBuffers(const DeviceBuffers &) = delete;
  ~DeviceBuffers() {
    for (unsigned long long address : addresses)
      driver.cuMemFree(address);
  }

  Error check(int result, const Twine &what) const {
    const char *name = nullptr;
    if (result == 0)
      return Error::success();
    driver.cuGetErrorName(result, &name);
    return createStringError(what + " failed: CUDA error " + Twine(result) + " (" + (name ? name : "unknown") + ")");
  }

  Expected<void *> allocate(size_t bytes) {
    unsigned long long address = 0;
    if (Error error = check(driver.cuMemAlloc(&address, std::max<size_t>(bytes, 1)), "cuMemAlloc"))
      return error;
    addresses.push_back(address);
    return reinterpret_cast<void *>(address);
  }

  Error copyIn(const void *target, const void *source, size_t bytes) {
    return check(driver.cuMemcpyHtoD(reinterpret_cast<uintptr_t>(target), source, bytes), "cuMemcpyHtoD");
  }
  Error copyOut(void *target, const void *source, size_t bytes) {
    return check(driver.cuMemcpyDtoH(target, reinterpret_cast<uintptr_t>(source), bytes), "cuMemcpyDtoH");
  }

private:
  const attn_cuda_driver &driver;
  std::vector<unsigned long long> addresses;
};
} // namespace

/// The driver, with a context current on this thread.
static Expected<const attn_cuda_driver *> openDevice() {
  const attn_cuda_driver *driver = attn_cuda_get_driver();
  if (!driver)
    return createStringError(attn_cuda_message());
  CUcontext context = nullptr;
  int device = 0;
  if (!driver->cuMemAlloc || !driver->cuDevicePrimaryCtxRetain)
    return createStringError("the CUDA driver lacks functions for memory");
  DeviceBuffers messages(*driver);
  if (Error error = messages.check(driver->cuCtxGetCurrent(&context), "cuCtxGetCurrent"))
    return error;
  if (context)
    return driver;
  if (Error error = messages.check(driver->cuDeviceGet(&device, 0), "cuDeviceGet"))
    return error;
  if (Error error = messages.check(driver->cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain"))
    return error;
  if (Error error = messages.check(driver->cuCtxSetCurrent(context), "cuCtxSetCurrent"))
    return error;
  return driver;
}

static size_t countBytes(const NpyArray &array) { return getNpyTypeSize(array.type) * getNumElements(array.shape); }

Error LoadedKernel::callOnDevice(ArrayRef<NpyArray> arguments) const {
  Expected<const attn_cuda_driver *> driver = openDevice();
  if (!driver)
    return driver.takeError();
  DeviceBuffers buffers(**driver);
  std::vector<DLTensor> tensors = describe(arguments);
  SmallVector<const DLTensor *> pointers;
  for (auto [array, argument, tensor] : zip_equal(arguments, description.arguments, tensors)) {
    pointers.push_back(&tensor);
    if (argument.isScalar)
      continue; // read by the host
    tensor.device = {kDLCUDA, 0};
    Expected<void *> buffer = buffers.allocate(countBytes(array));
    if (!buffer)
      return buffer.takeError();
    tensor.data = *buffer;
    if (!argument.isOutput || argument.isUpdated)
      if (Error error = buffers.copyIn(tensor.data, array.data, countBytes(array)))
        return error;
  }
  char message[kMessageSize] = "";
  auto refuse = [&] { return createStringError(Twine("kernel '") + description.name + "' refused: " + message); };
  using WorkspaceEntry = int64_t (*)(const DLTensor *const *, int64_t, char *, int64_t);
  int64_t workspaceBytes =
      reinterpret_cast<WorkspaceEntry>(workspaceEntry)(pointers.data(), pointers.size(), message, sizeof(message));
  if (workspaceBytes < 0)
    return refuse();
  Expected<void *> workspace = nullptr;
  if (workspaceBytes > 0)
    workspace = buffers.allocate(workspaceBytes);
  if (!workspace)
    return workspace.takeError();
  using Entry = int32_t (*)(const DLTensor *const *, int64_t, void *, int64_t, CUstream, char *, int64_t);
  if (reinterpret_cast<Entry>(entry)(pointers.data(), pointers.size(), *workspace, workspaceBytes, nullptr, message,
                                     sizeof(message)) != 0)
    return refuse();
  if (Error error = buffers.check((*driver)->cuCtxSynchronize(), "the kernel"))
    return error;
  for (auto [array, argument, tensor] : zip_equal(arguments, description.arguments, tensors))
    if (argument.isOutput)
      if (Error error = buffers.copyOut(array.data, tensor.data, countBytes(array)))
        return joinErrors(createStringError("output '" + argument.name + "'"), std::move(error));
  return Error::success();
}
