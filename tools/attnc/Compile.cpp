//===- Compile.cpp - attnc INPUT -o OUT -----------------------------------===//
//
// Everything is made in memory first; files are written only when all of it has
// succeeded.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Compiler/Onnx.h"
#include "attn/Compiler/OutputFile.h"
#include "attn/Compiler/Problem.h"
#include "attnc.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;

Expected<std::unique_ptr<MemoryBuffer>> Source::open() const {
  if (problem) {
    Expected<Problem> parsed = parseProblem(*problem);
    if (!parsed)
      return parsed.takeError();
    return MemoryBuffer::getMemBufferCopy(problemToMLIR(*parsed), "problem");
  }
  bool isModel = StringRef(file).ends_with(".onnx");
  auto buffer = MemoryBuffer::getFileOrSTDIN(file, /*IsText=*/!isModel);
  if (!buffer)
    return createFileError(file, buffer.getError());
  if (!isModel)
    return std::move(*buffer);
  Expected<std::string> text = onnxToMLIR((*buffer)->getBuffer(), file);
  if (!text)
    return text.takeError();
  return MemoryBuffer::getMemBufferCopy(*text, file + " as IR");
}

std::string driver::getGuard(StringRef path) {
  std::string guard;
  for (char c : sys::path::filename(path))
    guard += isAlnum(c) ? toUpper(c) : '_';
  if (guard.empty() || isDigit(guard.front()))
    guard.insert(0, "ATTN_");
  return guard;
}

/// The main output's bytes.
static Expected<std::string> createOutput(Compiler &compiler, EmitKind emit) {
  std::string bytes;
  raw_string_ostream os(bytes);
  if (emit == EmitKind::Mlir) {
    compiler.getModule()->print(os);
    return bytes;
  }
  LLVMContext context;
  std::unique_ptr<Module> module = compiler.translate(context);
  if (!module)
    return createStringError("translation to LLVM IR failed");
  if (emit == EmitKind::Llvm) {
    module->print(os, nullptr);
    return bytes;
  }
  Expected<std::unique_ptr<TargetMachine>> machine = createTargetMachine(compiler.getTarget());
  if (!machine)
    return machine.takeError();
  Expected<SmallVector<char, 0>> file =
      emitFile(*module, **machine, emit == EmitKind::Assembly ? FileKind::Assembly : FileKind::Object);
  if (!file)
    return file.takeError();
  if (emit == EmitKind::Shared)
    return linkSharedLibrary(StringRef(file->data(), file->size()), compiler.getOptions().parallel);
  return std::string(file->data(), file->size());
}

int driver::writeFiles(ArrayRef<std::pair<std::string, std::string>> contents) {
  OutputFiles files;
  for (const auto &[path, text] : contents)
    if (!path.empty())
      if (Error error = files.add(path, [&text = text](raw_ostream &os) { os << text; }))
        return reportError(std::move(error));
  if (Error error = files.keep())
    return reportError(std::move(error));
  return 0;
}

int driver::compile(const CompileCommand &command) {
  bool needsFile = command.emit == EmitKind::Object || command.emit == EmitKind::Shared;
  if (needsFile && (command.output.empty() || (command.output == "-" && command.emit == EmitKind::Shared)))
    return reportError(createStringError("expected -o FILE for --emit=obj and --emit=shared, found none"));
  std::string output = command.output.empty() ? "-" : command.output;

  Expected<std::unique_ptr<MemoryBuffer>> source = command.source.open();
  if (!source)
    return reportError(source.takeError());
  Expected<std::unique_ptr<Compiler>> compiler = Compiler::create(applyTuned(command.source, command.options), errs());
  if (!compiler)
    return reportError(compiler.takeError());
  Phase last = command.stopAfter ? *command.stopAfter : Phase::Llvm;
  if (failed((*compiler)->parse(std::move(*source))) || failed((*compiler)->run(last)))
    return 1;
  Expected<std::string> bytes = createOutput(**compiler, command.emit);
  if (!bytes)
    return reportError(bytes.takeError());

  std::string header = writeHeader(getGuard(command.header), (*compiler)->getKernels(), command.options);
  std::string manifest = writeManifest((*compiler)->getKernels(), (*compiler)->getTarget(), command.options);
  return writeFiles({{output, *bytes}, {command.header, header}, {command.manifest, manifest}});
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
  return createOutput(**compiler, EmitKind::Object);
}

Expected<LoadedKernel> LoadedKernel::compile(const Source &source, const CompileOptions &options, StringRef name,
                                             raw_ostream &diagnostics) {
  Expected<std::unique_ptr<MemoryBuffer>> text = source.open();
  if (!text)
    return text.takeError();
  Expected<std::unique_ptr<Compiler>> compiler = Compiler::create(applyTuned(source, options), diagnostics);
  if (!compiler)
    return compiler.takeError();
  if (failed((*compiler)->parse(std::move(*text))) || failed((*compiler)->run()))
    return createStringError("compilation failed");
  Expected<std::string> object = createOutput(**compiler, EmitKind::Object);
  if (!object)
    return object.takeError();
  LoadedKernel kernel;
  ArrayRef<Kernel> kernels = (*compiler)->getKernels();
  const Kernel *found =
      name.empty() ? kernels.begin() : find_if(kernels, [&](const Kernel &k) { return k.name == name; });
  if (found == kernels.end()) {
    std::string names;
    for (const Kernel &k : kernels)
      names += " " + k.name;
    return createStringError("no kernel named '" + name + "', expected one of" + names);
  }
  kernel.description = *found;
  Expected<std::unique_ptr<LoadedObject>> loaded = LoadedObject::load(*object);
  if (!loaded)
    return loaded.takeError();
  kernel.object = std::move(*loaded);
  Expected<void *> entry = kernel.object->lookup(getCheckedName(found->name));
  if (!entry)
    return entry.takeError();
  kernel.entry = *entry;
  return kernel;
}
