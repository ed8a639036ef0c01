//===- LoadedKernel.cpp - kernels in memory -------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Runner.h"
#include "StridedViews.h"
#include "attn-c/attn_runtime.h"
#include "attn/Compiler/Bundle.h"
#include "attn/Compiler/MainName.h"
#include "attn/Target/Architecture.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <csignal>
#include <unistd.h>

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// Size of an error text.
static constexpr size_t kMessageSize = 2048;

/// From here on, an illegal instruction is in the kernel, not in the compiler.
static void reportWrongProcessor(int) {
  static constexpr StringLiteral message =
      "error: the kernel stopped at an instruction that this processor does not have; expected a target that it runs, "
      "as --target=host\n";
  (void)!write(STDERR_FILENO, message.data(), message.size());
  _exit(1);
}

/// True where this processor lacks vector instructions of a target, such as AVX-512 FP16. Tiles alone trap, and a
/// preloaded library emulates them.
static bool lacksVectors(StringRef target) {
  SmallVector<StringRef> wanted;
  if (X86::parseArchX86(target, /*Only64Bit=*/true) != X86::CK_None)
    X86::getFeaturesForCPU(target, wanted);
  StringMap<bool> host = sys::getHostCPUFeatures();
  return any_of(wanted, [&](StringRef name) { return name.starts_with("avx") && !host.lookup(name); });
}

Expected<LoadedKernel> LoadedKernel::compile(const Source &source, const CompileOptions &given, StringRef name,
                                             raw_ostream &diagnostics, bool isEmulated, StringRef runner) {
  Expected<std::unique_ptr<MemoryBuffer>> text = source.open();
  if (!text)
    return text.takeError();
  isEmulated &= Triple(sys::getProcessTriple()).isX86(); // only x86 instructions are emulated, and by x86 ones
  CompileOptions options = given;
  options.emulatesVectors = isEmulated && lacksVectors(options.target);
  Expected<std::unique_ptr<Compiler>> compiler = Compiler::create(applyTuned(source, options), diagnostics);
  if (!compiler)
    return compiler.takeError();
  Triple triple((*compiler)->getTarget().triple);
  if (!runner.empty() && ((*compiler)->getTarget().gpu || !(triple.isOSBinFormatELF() || triple.isWasm())))
    return createStringError("expected a processor with Linux, or WebAssembly, as target of --runner, found '" +
                             options.target + "'; write x86-64-v3, aarch64-linux-gnu or wasm32");
  if (runner.empty() && (!isEmulated || isForeign((*compiler)->getTarget())))
    if (Error error = checkProcessor((*compiler)->getTarget()))
      return error;
  if (failed((*compiler)->parse(std::move(*text))) || failed((*compiler)->run()))
    return createStringError("compilation failed");
  LoadedKernel all;
  all.kernels = std::make_shared<const std::vector<Kernel>>((*compiler)->getKernels());
  StringRef first = name.empty() && !all.kernels->empty() ? StringRef(all.kernels->front().name) : name;
  Expected<std::string> object =
      (*compiler)->emit(FileKind::Object, runner.empty() ? ModulePart::ForThisProcess : ModulePart::Whole);
  if (!object)
    return object.takeError();
  if (!runner.empty()) {
    Expected<std::shared_ptr<Runner>> created = Runner::create(runner, *object, (*compiler)->getTarget());
    if (!created)
      return created.takeError();
    all.runner = std::move(*created);
    return all.getKernel(first);
  }
  Expected<std::unique_ptr<LoadedObject>> loaded = LoadedObject::load(*object);
  if (!loaded)
    return loaded.takeError();
  all.object = std::move(*loaded);
  all.isGpu = (*compiler)->getTarget().gpu.has_value();
  if (!all.isGpu) {
    struct sigaction action = {};
    action.sa_handler = reportWrongProcessor;
    sigaction(SIGILL, &action, nullptr);
  }
  return all.getKernel(first);
}

Expected<LoadedKernel> LoadedKernel::getKernel(StringRef name) const {
  auto findNamed = [&](StringRef wanted) {
    return find_if(*kernels, [&](const Kernel &kernel) { return kernel.name == wanted; });
  };
  auto found = findNamed(name);
  if (found == kernels->end() && name == kMainName)
    found = findNamed(kMainKernelName);
  if (found == kernels->end()) {
    auto getName = [](const Kernel &kernel) { return kernel.name; };
    return createStringError("no kernel named '" + name + "', expected one of " +
                             join(map_range(*kernels, getName), " "));
  }
  LoadedKernel kernel = *this;
  kernel.description = *found;
  if (runner)
    return kernel;
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

Error LoadedKernel::callRunner(ArrayRef<DLTensor> tensors) const {
  SmallVector<bool> outputs;
  for (const KernelArgument &argument : description.arguments)
    outputs.push_back(argument.isOutput);
  Expected<std::pair<int32_t, std::string>> answer = runner->call(getCheckedName(description.name), tensors, outputs);
  if (!answer)
    return answer.takeError();
  return answer->first == 0 ? Error::success()
                            : createStringError(Twine("kernel '") + description.name + "' refused: " + answer->second);
}

Error LoadedKernel::call(ArrayRef<NpyArray> arguments, const StridedViews *views) const {
  if (isGpu)
    return callOnDevice(arguments);
  using Entry = int32_t (*)(const DLTensor *const *, int64_t, char *, int64_t);
  std::vector<DLTensor> tensors = describe(arguments);
  if (views)
    views->apply(tensors);
  if (runner)
    return callRunner(tensors);
  SmallVector<const DLTensor *> pointers;
  for (const DLTensor &tensor : tensors)
    pointers.push_back(&tensor);
  char message[kMessageSize] = "";
  int32_t code = reinterpret_cast<Entry>(entry)(pointers.data(), pointers.size(), message, sizeof(message));
  return code == 0 ? Error::success()
                   : createStringError(Twine("kernel '") + description.name + "' refused: " + message);
}
