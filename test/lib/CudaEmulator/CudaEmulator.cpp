//===- CudaEmulator.cpp - a CUDA driver over the PTX emulator -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace llvm;
using namespace attn::ptx;

namespace {

/// From cuda.h.
enum Attribute { Multiprocessors = 16, CapabilityMajor = 75, CapabilityMinor = 76, SharedBytesOptin = 97 };
enum FunctionAttribute { DynamicSharedBytes = 8 };
enum LaunchAttribute { ProgrammaticLaunch = 6 };
enum JitOption { ErrorLog = 5, ErrorLogBytes = 6 };

constexpr uint64_t kDefaultSharedBytes = 48 * 1024;
constexpr StringLiteral kElfMagic = "\x7f"
                                    "ELF";

struct LoadedFunction;
struct LoadedModule {
  Module module;
  std::vector<std::unique_ptr<LoadedFunction>> functions;
};
struct LoadedFunction {
  LoadedModule *module;
  std::string name;
  uint64_t sharedBytes = kDefaultSharedBytes;
};

/// The objects of handles.
std::vector<std::unique_ptr<LoadedModule>> modules;
char primaryContext;
thread_local CUcontext currentContext = nullptr;
thread_local std::vector<CUcontext> pushedContexts;
constexpr unsigned long long kContextId = 1;

CudaEmulator &device() { return CudaEmulator::get(); }
CUcontext primary() { return reinterpret_cast<CUcontext>(&primaryContext); }

/// Opt-in bytes of shared memory per block, by compute capability.
int getSharedLimit(int capability) {
  switch (capability) {
  case 75: return 64 * 1024;
  case 80: return 163 * 1024;
  case 86:
  case 89:
  case 120: return 99 * 1024;
  default: return 227 * 1024;
  }
}

/// sm_80, sm_90a → 80, 90
int parseTarget(StringRef target) {
  int capability = 0;
  target.consume_front("sm_");
  target.consumeInteger(10, capability);
  return capability;
}

//===----------------------------------------------------------------------===//
// Devices and contexts
//===----------------------------------------------------------------------===//

int init(unsigned) { return Success; }

int driverGetVersion(int *version) {
  *version = device().driverVersion;
  return Success;
}

int getErrorName(int result, const char **name) {
  switch (result) {
  case Success: *name = "CUDA_SUCCESS"; break;
  case InvalidValue: *name = "CUDA_ERROR_INVALID_VALUE"; break;
  case InvalidDevice: *name = "CUDA_ERROR_INVALID_DEVICE"; break;
  case InvalidContext: *name = "CUDA_ERROR_INVALID_CONTEXT"; break;
  case NoBinaryForGpu: *name = "CUDA_ERROR_NO_BINARY_FOR_GPU"; break;
  case InvalidPtx: *name = "CUDA_ERROR_INVALID_PTX"; break;
  case InvalidHandle: *name = "CUDA_ERROR_INVALID_HANDLE"; break;
  case NotFound: *name = "CUDA_ERROR_NOT_FOUND"; break;
  case IllegalAddress: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
  case LaunchFailed: *name = "CUDA_ERROR_LAUNCH_FAILED"; break;
  default: *name = nullptr; return InvalidValue;
  }
  return Success;
}

int getErrorString(int, const char **text) {
  *text = "in the emulated driver";
  return Success;
}

int deviceGetCount(int *count) {
  *count = 1;
  return Success;
}

int deviceGet(int *handle, int ordinal) {
  *handle = 0;
  return ordinal == 0 ? Success : InvalidDevice;
}

int deviceGetAttribute(int *value, int attribute, int handle) {
  const int capability = device().capability;
  switch (attribute) {
  case Multiprocessors: *value = device().multiprocessors; break;
  case CapabilityMajor: *value = capability / 10; break;
  case CapabilityMinor: *value = capability % 10; break;
  case SharedBytesOptin: *value = getSharedLimit(capability); break;
  default: return InvalidValue;
  }
  return handle == 0 ? Success : InvalidDevice;
}

int devicePrimaryCtxRetain(CUcontext *context, int handle) {
  *context = primary();
  return handle == 0 ? Success : InvalidDevice;
}

int devicePrimaryCtxRelease(int) { return Success; }

int ctxGetCurrent(CUcontext *context) {
  *context = currentContext;
  return Success;
}

int ctxSetCurrent(CUcontext context) {
  currentContext = context;
  return !context || context == primary() ? Success : InvalidContext;
}

int ctxPushCurrent(CUcontext context) {
  pushedContexts.push_back(currentContext);
  currentContext = context;
  return Success;
}

int ctxPopCurrent(CUcontext *context) {
  if (pushedContexts.empty())
    return InvalidContext;
  *context = currentContext;
  currentContext = pushedContexts.back();
  pushedContexts.pop_back();
  return Success;
}

int ctxGetDevice(int *handle) {
  *handle = 0;
  return currentContext ? Success : InvalidContext;
}

int ctxGetId(CUcontext context, unsigned long long *id) {
  *id = kContextId;
  return context == primary() ? Success : InvalidContext;
}

int ctxSynchronize() { return currentContext ? Success : InvalidContext; }

/// All streams belong to the device's only context.
int streamGetCtx(CUstream, CUcontext *context) {
  *context = primary();
  return Success;
}

int threadExchangeStreamCaptureMode(int *) { return Success; }

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// Copies the text to the caller's buffer for the log of the PTX compiler.
void writeLog(StringRef text, unsigned count, const int *options, void **values) {
  char *log = nullptr;
  size_t size = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == ErrorLog)
      log = static_cast<char *>(values[i]);
    if (options[i] == ErrorLogBytes)
      size = reinterpret_cast<size_t>(values[i]);
  }
  if (!log || size == 0)
    return;
  const size_t length = std::min(text.size(), size - 1);
  std::memcpy(log, text.data(), length);
  log[length] = 0;
}

int moduleLoadDataEx(CUmodule *handle, const void *image, unsigned count, int *options, void **values) {
  std::lock_guard guard(device().mutex);
  if (!currentContext)
    return InvalidContext;
  const char *text = static_cast<const char *>(image);
  if (StringRef(text, kElfMagic.size()) == kElfMagic)
    return NoBinaryForGpu; // only PTX is emulated
  Expected<Module> parsed = parseModule(text);
  if (!parsed) {
    writeLog(toString(parsed.takeError()), count, options, values);
    return InvalidPtx;
  }
  int capability = parseTarget(parsed->target);
  bool isExact = StringRef(parsed->target).ends_with("a");
  if (isExact ? capability != device().capability : capability > device().capability)
    return NoBinaryForGpu;
  modules.push_back(std::make_unique<LoadedModule>(LoadedModule{std::move(*parsed), {}}));
  *handle = reinterpret_cast<CUmodule>(modules.back().get());
  ++device().numLoads;
  return Success;
}

int moduleUnload(CUmodule handle) {
  std::lock_guard guard(device().mutex);
  const auto *module = reinterpret_cast<LoadedModule *>(handle);
  const size_t before = modules.size();
  // The reports of its launches refer to names in the module.
  if (!device().keepsLaunches)
    erase_if(modules, [&](const auto &candidate) { return candidate.get() == module; });
  return modules.size() < before || device().keepsLaunches ? Success : InvalidHandle;
}

int moduleGetFunction(CUfunction *handle, CUmodule moduleHandle, const char *name) {
  std::lock_guard guard(device().mutex);
  auto *module = reinterpret_cast<LoadedModule *>(moduleHandle);
  if (!module->module.findEntry(name))
    return NotFound;
  module->functions.push_back(std::make_unique<LoadedFunction>(LoadedFunction{module, name}));
  *handle = reinterpret_cast<CUfunction>(module->functions.back().get());
  return Success;
}

int funcSetAttribute(CUfunction handle, int attribute, int value) {
  std::lock_guard guard(device().mutex);
  if (attribute != DynamicSharedBytes || value < 0 || value > getSharedLimit(device().capability))
    return InvalidValue;
  reinterpret_cast<LoadedFunction *>(handle)->sharedBytes = value;
  return Success;
}

/// A multiprocessor runs one block at a time.
int occupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction, int, size_t) {
  *blocks = 1;
  return Success;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

int launchKernel(CUfunction handle, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
                 unsigned blockZ, unsigned sharedBytes, CUstream, void **parameters, void **extra) {
  std::lock_guard guard(device().mutex);
  const auto &function = *reinterpret_cast<LoadedFunction *>(handle);
  const Module &module = function.module->module;
  if (!currentContext || extra || sharedBytes > function.sharedBytes)
    return currentContext ? InvalidValue : InvalidContext;
  Launch launch{{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes};
  // The limit is that of the kernel's target, not of this device: a kernel for sm_80 that needs more is wrong
  // everywhere.
  launch.maxInstructions = device().maxInstructions;
  launch.tracesWrites = device().tracesWrites;
  launch.resident = device().resident;
  launch.turns = device().turns;
  launch.largestShared = getSharedLimit(parseTarget(module.target));
  for (auto [i, parameter] : enumerate(module.findEntry(function.name)->parameters)) {
    const auto *bytes = static_cast<const uint8_t *>(parameters[i]);
    launch.parameters.emplace_back(bytes, bytes + parameter.size);
  }
  ++device().numLaunches;
  Expected<Report> report = run(module, function.name, device().memory, launch);
  if (!report) {
    errs() << "emulated driver: '" << function.name << "': " << toString(report.takeError()) << "\n";
    return InvalidValue;
  }
  device().trace += report->trace;
  if (launch.tracesWrites)
    device().memoryTrace = hash_combine(device().memoryTrace, device().memory.hash());
  if (!report->clean()) {
    device().findings = report->text();
    if (device().isQuiet)
      return LaunchFailed;
    errs() << report->text() << "emulated driver: " << report->findings.size() << " finding(s) in '" << function.name
           << "'\n";
    return LaunchFailed;
  }
  if (device().keepsLaunches)
    device().launches.push_back({function.name, std::move(*report)});
  return Success;
}

/// True if the kernel waits for the launch in front of it before its first access of global memory.
bool waitsFirst(const Module &module, StringRef name) {
  for (const auto &statement : module.findEntry(name)->statements) {
    const std::string opcode = statement.opcode();
    const StringRef text = opcode;
    if (text.starts_with("griddepcontrol.wait"))
      return true;
    const bool isLocal = text.starts_with("ld.param") || text.starts_with("ld.shared") || text.starts_with("st.shared");
    if (!isLocal && any_of(ArrayRef({"ld.", "st.", "cp.", "atom.", "red."}),
                           [&](const char *start) { return text.starts_with(start); }))
      return false;
  }
  return false;
}

/// Launches run one after the other, so a dependent one starts no earlier.
int launchKernelEx(const attn_cuda_launch_config *config, CUfunction handle, void **parameters, void **extra) {
  for (unsigned i = 0; i < config->numAttributes; ++i)
    if (config->attributes[i].id != ProgrammaticLaunch || config->attributes[i].value.number != 1)
      return InvalidValue;
  const auto &function = *reinterpret_cast<LoadedFunction *>(handle);
  if (!waitsFirst(function.module->module, function.name)) {
    errs() << "emulated driver: '" << function.name << "' starts early and accesses memory before it waits\n";
    return LaunchFailed;
  }
  const unsigned *grid = config->grid, *block = config->block;
  return launchKernel(handle, grid[0], grid[1], grid[2], block[0], block[1], block[2], config->sharedBytes,
                      config->stream, parameters, extra);
}

} // namespace

CudaEmulator &CudaEmulator::get() {
  static CudaEmulator emulator;
  return emulator;
}

Error CudaEmulator::replaceModules(StringRef ptx) {
  std::lock_guard guard(mutex);
  launches.clear();
  for (const auto &loaded : modules) {
    Expected<Module> parsed = parseModule(ptx.str());
    if (!parsed)
      return parsed.takeError();
    loaded->module = std::move(*parsed);
  }
  return Error::success();
}

const attn_cuda_driver &attn::ptx::getEmulatedDriver() {
  static const attn_cuda_driver table = {
      init,
      driverGetVersion,
      getErrorName,
      getErrorString,
      deviceGetAttribute,
      ctxGetCurrent,
      ctxPushCurrent,
      ctxPopCurrent,
      ctxGetDevice,
      streamGetCtx,
      moduleLoadDataEx,
      moduleUnload,
      moduleGetFunction,
      funcSetAttribute,
      launchKernel,
      ctxGetId,
      threadExchangeStreamCaptureMode,
      encodeTiledTensorMap,
      occupancyMaxActiveBlocksPerMultiprocessor,
      deviceGetCount,
      deviceGet,
      devicePrimaryCtxRetain,
      devicePrimaryCtxRelease,
      ctxSetCurrent,
      ctxSynchronize,
      memAlloc,
      memFree,
      memcpyHtoD,
      memcpyDtoH,
      launchKernelEx,
  };
  return table;
}
