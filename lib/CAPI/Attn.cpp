//===- Attn.cpp - the C API -----------------------------------------------===//
//
// Thin: maps options to CompileOptions, compiles, loads, and calls checked
// entries. No MLIR type crosses.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Module.h"
#include "attn-c/attn_cuda.h"
#include "attn-c/attn_image.h"
#include "attn-c/attn_runtime.h"
#include "attn/Compiler/MainName.h"
#include "attn/Onnx/Onnx.h"
#include "attn/Problem/Problem.h"
#include "attn/Support/Version.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"
#include "llvm/Target/TargetMachine.h"
#include <cstring>

using namespace llvm;
using namespace attn;

using CheckedEntry = int32_t (*)(const DLTensor *const *, int64_t, char *, int64_t);
using CudaEntry = int32_t (*)(const DLTensor *const *, int64_t, void *, int64_t, void *, char *, int64_t);
using BytesEntry = int64_t (*)(const DLTensor *const *, int64_t, char *, int64_t);

Expected<std::unique_ptr<MemoryBuffer>> attn::openSource(attn_source_kind kind, StringRef text) {
  if (kind == ATTN_SOURCE_MLIR)
    return MemoryBuffer::getMemBufferCopy(text, "input.mlir");
  if (kind == ATTN_SOURCE_ONNX)
    return onnxToMLIR(text, "model.onnx");
  if (kind == ATTN_SOURCE_ONNX_FILE) {
    auto model = MemoryBuffer::getFile(text, /*IsText=*/false);
    if (!model)
      return createFileError(text, model.getError());
    return onnxToMLIR((*model)->getBuffer(), text, sys::path::parent_path(text));
  }
  if (kind != ATTN_SOURCE_PROBLEM)
    return createStringError("expected a source of kind ATTN_SOURCE_MLIR, ATTN_SOURCE_PROBLEM, ATTN_SOURCE_ONNX or "
                             "ATTN_SOURCE_ONNX_FILE, found " +
                             Twine(static_cast<int>(kind)));
  Expected<Problem> problem = parseProblem(text);
  if (!problem)
    return problem.takeError();
  Expected<std::string> ir = problemToMLIR(*problem);
  if (!ir)
    return ir.takeError();
  return MemoryBuffer::getMemBufferCopy(*ir, "problem");
}

static Expected<std::unique_ptr<attn_module>> compileModule(attn_source_kind kind, StringRef text,
                                                            const CompileOptions &options, raw_ostream &diagnostics) {
  Expected<std::unique_ptr<MemoryBuffer>> source = openSource(kind, text);
  if (!source)
    return source.takeError();
  Expected<std::unique_ptr<Compiler>> compiler = Compiler::create(options, diagnostics);
  if (!compiler)
    return compiler.takeError();
  if (failed((*compiler)->parse(std::move(*source))) || failed((*compiler)->run()))
    return createStringError("compilation failed");
  Expected<std::string> object = (*compiler)->emit(FileKind::Object, ModulePart::ForThisProcess);
  if (!object)
    return object.takeError();
  if ((*compiler)->isCancelled()) // LLVM has skipped passes
    return createStringError("the compilation was cancelled");

  Expected<std::unique_ptr<attn_module>> module =
      createModule(writeManifest((*compiler)->getKernels(), (*compiler)->getTarget(), options), *object);
  if (module)
    (*module)->code = std::move(*object);
  return module;
}

/// Of attn_set_object_cache.
static thread_local std::string objectCache;
/// Of attn_set_quick_code.
static thread_local bool isQuick = false;

Expected<CompileOptions> attn::getCompileOptions(const attn_compile_options *given) {
  StringRef parallel = given && given->parallel ? given->parallel : "openmp";
  if (parallel != "openmp" && parallel != "none")
    return createStringError("expected parallel to be openmp or none, found " + parallel);
  CompileOptions options;
  options.parallel = parallel == "openmp";
  if (given && given->target)
    options.target = given->target;
  options.reference = given && given->reference;
  options.failOnFallback = given && given->fail_on_fallback;
  options.objectCache = objectCache;
  options.isQuick = isQuick;
  return options;
}

/// Copies a terminated text into a caller's buffer.
static void copyMessage(StringRef text, char *message, size_t size) {
  if (!message || size == 0)
    return;
  size_t length = std::min(text.size(), size - 1);
  std::memcpy(message, text.data(), length);
  message[length] = '\0';
}

static bool refuse(int32_t &code, int32_t reason, const Twine &text, char *message, size_t size) {
  copyMessage(text.str(), message, size);
  code = reason;
  return false;
}

/// The entries of a kernel of a module for a GPU, or for a processor; otherwise false, the code and its message.
static bool findEntries(const attn_module *module, const char *kernel, bool isGpu, Entries &entries, int32_t &code,
                        char *message, size_t size) {
  if (!module)
    return refuse(code, ATTN_NULL_ARGUMENT, "expected a module, found null", message, size);
  entries = kernel ? module->entries.lookup(kernel) : module->first;
  if (kernel && !entries.checked && kernel == kMainName)
    entries = module->entries.lookup(kMainKernelName);
  if (!entries.checked)
    return refuse(code, ATTN_NO_SUCH_KERNEL, "no kernel named '" + Twine(kernel ? kernel : "") + "' in this module",
                  message, size);
  if (module->isGpu != isGpu)
    return refuse(code, ATTN_WRONG_DEVICE,
                  isGpu ? "expected a module for a GPU, found one for a processor; call attn_module_call"
                        : "expected a module for a processor, found one for a GPU; call attn_module_call_cuda",
                  message, size);
  if (!module->wrongProcessor.empty())
    return refuse(code, ATTN_WRONG_PROCESSOR, module->wrongProcessor, message, size);
  return true;
}

extern "C" {

attn_status attn_compile(attn_source_kind kind, const char *text, const attn_compile_options *given,
                         attn_module **module, char **message) {
  return attn_compile_bytes(kind, text, text ? std::strlen(text) : 0, given, module, message);
}

attn_status attn_compile_bytes(attn_source_kind kind, const char *data, size_t size, const attn_compile_options *given,
                               attn_module **module, char **message) {
  return attn_compile_cancellable(kind, data, size, given, /*cancel=*/nullptr, module, message);
}

attn_status attn_compile_cancellable(attn_source_kind kind, const char *data, size_t size,
                                     const attn_compile_options *given, const int32_t *cancel, attn_module **module,
                                     char **message) {
  if (message)
    *message = nullptr;
  if (module)
    *module = nullptr;
  if (!module || !data) {
    if (message)
      *message = strdup("expected text and a place for the module, found null");
    return ATTN_NULL_ARGUMENT;
  }
  std::string diagnostics;
  raw_string_ostream stream(diagnostics);
  auto isCancelled = [cancel] { return cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED) != 0; };
  Expected<CompileOptions> options = getCompileOptions(given);
  if (options && cancel)
    options->isCancelled = isCancelled;
  Expected<std::unique_ptr<attn_module>> result =
      options ? compileModule(kind, StringRef(data, size), *options, stream) : options.takeError();
  if (result) {
    *module = result->release();
    return ATTN_OK;
  }
  bool wasCancelled = isCancelled();
  if (wasCancelled) { // messages about skipped passes are of no interest
    consumeError(result.takeError());
    diagnostics = "the compilation was cancelled";
  } else {
    stream << toString(result.takeError());
  }
  if (message)
    *message = strdup(diagnostics.c_str());
  return wasCancelled ? ATTN_CANCELLED : ATTN_COMPILE_ERROR;
}

void attn_module_destroy(attn_module *module) { delete module; }

const char *attn_module_manifest(const attn_module *module) { return module ? module->manifest.c_str() : nullptr; }

attn_status attn_module_call(const attn_module *module, const char *kernel, const DLTensor *const *arguments,
                             int64_t count, char *message, size_t size) {
  Entries entries;
  int32_t code;
  if (!findEntries(module, kernel, /*isGpu=*/false, entries, code, message, size))
    return static_cast<attn_status>(code);
  auto entry = reinterpret_cast<CheckedEntry>(entries.checked);
  return static_cast<attn_status>(entry(arguments, count, message, static_cast<int64_t>(size)));
}

attn_status attn_module_result_shape(const attn_module *module, const char *kernel, const DLTensor *const *inputs,
                                     int64_t count, int64_t result, int64_t *shape, int32_t capacity, int32_t *rank,
                                     char *message, size_t size) {
  Entries entries;
  int32_t code;
  if (!module || !inputs || !shape || !rank) {
    copyMessage("expected a module, inputs and a place for the sizes, found null", message, size);
    return ATTN_NULL_ARGUMENT;
  }
  if (!findEntries(module, kernel, module->isGpu, entries, code, message, size))
    return static_cast<attn_status>(code);
  Expected<SmallVector<int64_t>> sizes = entries.results->get(ArrayRef(inputs, size_t(count)), result);
  if (sizes && int64_t(sizes->size()) > capacity)
    sizes = createStringError("expected room for " + Twine(sizes->size()) + " sizes, found " + Twine(capacity));
  if (!sizes) {
    copyMessage(toString(sizes.takeError()), message, size);
    return ATTN_WRONG_SHAPE;
  }
  copy(*sizes, shape);
  *rank = static_cast<int32_t>(sizes->size());
  return ATTN_OK;
}

int64_t attn_module_workspace_bytes(const attn_module *module, const char *kernel, const DLTensor *const *arguments,
                                    int64_t count, char *message, size_t size) {
  Entries entries;
  int32_t code;
  if (!findEntries(module, kernel, /*isGpu=*/true, entries, code, message, size))
    return -code;
  return reinterpret_cast<BytesEntry>(entries.bytes)(arguments, count, message, static_cast<int64_t>(size));
}

int32_t attn_module_call_cuda(const attn_module *module, const char *kernel, const DLTensor *const *arguments,
                              int64_t count, void *workspace, int64_t workspaceBytes, void *stream, char *message,
                              size_t size) {
  Entries entries;
  int32_t code;
  if (!findEntries(module, kernel, /*isGpu=*/true, entries, code, message, size))
    return code;
  // The entry explains what this refuses: arguments that are not tensors of a device, or a missing driver.
  if (arguments && count > 0 && arguments[0] && arguments[0]->device.device_type == kDLCUDA)
    attn_cuda_use_device(arguments[0]->device.device_id);
  return reinterpret_cast<CudaEntry>(entries.checked)(arguments, count, workspace, workspaceBytes, stream, message,
                                                      static_cast<int64_t>(size));
}

int32_t attn_use_cuda_driver(const char *path, char *message, size_t size) {
  int32_t code = attn_cuda_load_driver(path);
  if (code != 0)
    copyMessage(attn_cuda_message(), message, size);
  return code;
}

void attn_set_object_cache(const char *folder) { objectCache = folder ? folder : ""; }

void attn_set_quick_code(int32_t quick) { isQuick = quick != 0; }

void attn_set_num_threads(int threads) { attn_runtime_set_num_threads(threads); }
int attn_get_num_threads(void) { return attn_runtime_get_num_threads(); }
void attn_use_pool(const attn_openmp *pool) { attn_runtime_use_pool(pool); }

const char *attn_version(void) { return kVersion; }

const char *attn_targets(void) {
  static const std::string names = TargetInfo::getKnownNames().str();
  return names.c_str();
}

void attn_free_string(char *string) { free(string); }
}
