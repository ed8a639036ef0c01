//===- Compile.cpp - attnc INPUT -o OUT -----------------------------------===//
//
// All outputs are created in memory first; files are written only if everything has succeeded.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Compiler/WebModule.h"
#include "attn/Support/OutputFile.h"
#include "attnc.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;

std::string driver::getGuard(StringRef path) {
  std::string guard = "ATTN_";
  if (path == "-")
    path = "kernels.h";
  for (char c : sys::path::filename(path))
    guard += isAlnum(c) ? toUpper(c) : '_';
  return guard;
}

/// PTX or machine code only, of the kernel of this name if there are several.
static Expected<std::string> createGpuCode(Compiler &compiler, EmitKind emit, StringRef kernel) {
  Expected<std::vector<Compiler::GpuImage>> images = compiler.emitImages(/*needsCubin=*/emit == EmitKind::Cubin);
  if (!images)
    return images.takeError();
  if (images->empty())
    return createStringError("expected a kernel with --emit=ptx and --emit=cubin, found none: the outputs have no "
                             "elements");
  if (!kernel.empty())
    erase_if(*images, [&](const Compiler::GpuImage &image) { return image.name != (kernel + "_gpu").str(); });
  if (images->empty())
    return createStringError("expected the name of a kernel in --kernel, found '" + kernel + "'");
  if (images->size() != 1)
    return createStringError("expected one kernel with --emit=ptx and --emit=cubin, found " + Twine(images->size()) +
                             "; write --kernel=NAME, --emit=obj, or a file for each");
  return emit == EmitKind::Cubin ? images->front().cubin : images->front().ptx;
}

/// An error for an output that the target does not have.
static Error checkEmit(const TargetInfo &target, EmitKind emit) {
  bool isGpuCode = emit == EmitKind::Ptx || emit == EmitKind::Cubin;
  if (isGpuCode && !target.gpu)
    return createStringError("expected a GPU as target of --emit=ptx and --emit=cubin, found '" + target.describe() +
                             "'; write --target=sm_80, or --emit=asm or --emit=obj");
  if (emit == EmitKind::Assembly && target.gpu)
    return createStringError("expected a processor as target of --emit=asm, found '" + target.describe() +
                             "'; write --emit=ptx");
  if (emit == EmitKind::Wasm && !Triple(target.triple).isWasm())
    return createStringError("expected WebAssembly as target of --emit=wasm, found '" + target.describe() +
                             "'; write --target=wasm32");
  return Error::success();
}

/// The bytes of the main output.
static Expected<std::string> createOutput(Compiler &compiler, EmitKind emit, StringRef kernel) {
  std::string bytes;
  raw_string_ostream os(bytes);
  switch (emit) {
  case EmitKind::Mlir: compiler.getModule()->print(os); return bytes;
  case EmitKind::Ptx:
  case EmitKind::Cubin: return createGpuCode(compiler, emit, kernel);
  case EmitKind::Object: return compiler.emit(FileKind::Object);
  case EmitKind::Shared: {
    Expected<std::string> object = compiler.emit(FileKind::Object);
    if (!object)
      return object;
    return linkSharedLibrary(*object, compiler.getTarget(), compiler.getOptions().parallel || compiler.getTarget().gpu);
  }
  case EmitKind::Wasm: {
    Expected<std::string> object = compiler.emit(FileKind::Object);
    if (!object)
      return object;
    return createWebModule(*object, compiler.getTarget());
  }
  case EmitKind::Assembly: return compiler.emit(FileKind::Assembly);
  case EmitKind::OnnxRuntime: llvm_unreachable("written without a compiler");
  case EmitKind::Llvm: break;
  }
  // Without the host code.
  if (compiler.getTarget().gpu)
    return compiler.printGpuIR();
  LLVMContext context;
  std::unique_ptr<Module> module = compiler.translate(context);
  if (!module)
    return createStringError("translation to LLVM IR failed");
  if (Error error = optimizeModule(*module, compiler.getObjectTarget(), compiler.getEmitOptions()))
    return error;
  module->print(os, nullptr);
  return bytes;
}

int driver::writeFiles(ArrayRef<std::pair<std::string, std::string>> contents, StringRef source,
                       std::pair<StringRef, function_ref<void(raw_ostream &)>> large) {
  OutputFiles files(source);
  if (!large.first.empty())
    if (Error error = files.add(large.first, large.second))
      return reportError(std::move(error));
  for (const auto &[path, text] : contents)
    if (!path.empty())
      if (Error error = files.add(path, [&text = text](raw_ostream &os) { os << text; }))
        return reportError(std::move(error));
  if (Error error = files.keep())
    return reportError(std::move(error));
  return 0;
}

int driver::compile(const CompileCommand &command) {
  bool needsFile = is_contained({EmitKind::Object, EmitKind::Shared, EmitKind::Cubin, EmitKind::Wasm}, command.emit);
  if (needsFile && (command.output.empty() || (command.output == "-" && command.emit == EmitKind::Shared)))
    return reportError(createStringError(Twine("expected -o FILE for ") +
                                         (command.emit == EmitKind::Cubin  ? "--emit=cubin"
                                          : command.emit == EmitKind::Wasm ? "--emit=wasm"
                                                                           : "--emit=obj and --emit=shared") +
                                         ", found none"));

  Expected<std::unique_ptr<MemoryBuffer>> source = command.source.open();
  if (!source)
    return reportError(source.takeError());
  Expected<std::unique_ptr<Compiler>> compiler = Compiler::create(applyTuned(command.source, command.options), errs());
  if (!compiler)
    return reportError(compiler.takeError());
  if (Error error = checkEmit((*compiler)->getTarget(), command.emit))
    return reportError(std::move(error));
  if (command.stopAfter && !hasPhase(*command.stopAfter, (*compiler)->getTarget().gpu.has_value()))
    return reportError(createStringError("expected a phase of the way to '" + command.options.target +
                                         "' in --stop-after, found '" + getPhaseName(*command.stopAfter) + "'"));
  Phase last = command.stopAfter ? *command.stopAfter : Phase::Llvm;
  if (failed((*compiler)->parse(std::move(*source))) || failed((*compiler)->run(last)))
    return 1;
  Expected<std::string> bytes = createOutput(**compiler, command.emit, command.kernel);
  if (!bytes)
    return reportError(bytes.takeError());

  std::string header = writeHeader(getGuard(command.header), (*compiler)->getKernels(),
                                   (*compiler)->getTarget().describe(), command.options);
  std::string manifest = writeManifest((*compiler)->getKernels(), (*compiler)->getTarget(), command.options);
  return writeFiles(
      {{command.output.empty() ? "-" : command.output, *bytes}, {command.header, header}, {command.manifest, manifest}},
      command.source.file, {command.weights, [&](raw_ostream &os) { (*compiler)->writeWeights(os); }});
}

Expected<std::string> driver::compileObject(const Source &source, const CompileOptions &options) {
  Expected<std::unique_ptr<MemoryBuffer>> text = source.open();
  if (!text)
    return text.takeError();
  Expected<std::unique_ptr<Compiler>> compiler = Compiler::create(applyTuned(source, options), errs());
  if (!compiler)
    return compiler.takeError();
  if (failed((*compiler)->parse(std::move(*text))) || failed((*compiler)->run()))
    return createStringError("compilation failed");
  return (*compiler)->emit(FileKind::Object);
}
