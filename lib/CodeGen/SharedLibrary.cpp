//===- SharedLibrary.cpp - lld as a library -------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Link.h"
#include "attn/CodeGen/CodeGen.h"
#include "attn/Support/OutputFile.h"
#include "attn/Target/Architecture.h"
#include "lld/Common/Driver.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include <cmath>
#include <dlfcn.h>
#include <mutex>

LLD_HAS_DRIVER(elf)
LLD_HAS_DRIVER(wasm)

#if defined(__x86_64__)
// Only its address is used.
extern "C" void __truncsfhf2();
#endif

using namespace llvm;

namespace attn {

static constexpr StringLiteral kRuntimeLibrary = "libattn_runtime.so";

/// The folder of libattn_runtime.so: the folder of the program or library that contains this code, or ../lib from
/// there.
static Expected<std::string> findRuntimeFolder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&findRuntimeFolder), &info) || !info.dli_fname)
    return createStringError("cannot tell where this program lies, to find " + kRuntimeLibrary);
  std::string name = info.dli_fname;
  // A program name that the shell found in PATH has no folder.
  if (!StringRef(name).contains('/'))
    name = sys::fs::getMainExecutable(nullptr, reinterpret_cast<void *>(&findRuntimeFolder));
  SmallString<256> self;
  if (std::error_code error = sys::fs::real_path(name, self))
    return createFileError(name, error);
  StringRef folder = sys::path::parent_path(self);
  for (StringRef relative : {".", "../lib"}) {
    SmallString<256> candidate(folder);
    sys::path::append(candidate, relative);
    sys::path::remove_dots(candidate, /*remove_dot_dot=*/true);
    SmallString<256> library(candidate);
    sys::path::append(library, kRuntimeLibrary);
    if (sys::fs::exists(library))
      return candidate.str().str();
  }
  return createStringError("expected " + kRuntimeLibrary + " in " + folder + " or " + folder +
                           "/../lib, found none; use --parallel=none, or --emit=obj and link it yourself");
}

Expected<std::string> linkFile(StringRef bytes, StringRef extension, std::vector<std::string> before,
                               std::vector<std::string> after, StringRef linker) {
  // lld reads and writes files. These two are temporary files of this call.
  SmallString<128> inputPath, outputPath;
  for (auto [suffix, path] : {std::pair(extension, &inputPath), std::pair(StringRef("out"), &outputPath)})
    if (std::error_code error = sys::fs::createTemporaryFile("attn", suffix, *path))
      return createStringError(error, "cannot create a temporary file: " + error.message());
  FileRemover removeInput(inputPath), removeOutput(outputPath);
  if (Error error = writeOutputFile(inputPath, [&](raw_ostream &os) { os << bytes; }))
    return error;
  std::vector<std::string> arguments = {linker.str(), "-o", outputPath.str().str()};
  append_range(arguments, before);
  arguments.push_back(inputPath.str().str());
  append_range(arguments, after);
  SmallVector<const char *> raw;
  for (const std::string &argument : arguments)
    raw.push_back(argument.c_str());
  std::string messages;
  raw_string_ostream stream(messages);
  // lld keeps its state in globals: one link at a time.
  static std::mutex mutex;
  std::lock_guard<std::mutex> guard(mutex);
  lld::Result result = lld::lldMain(raw, stream, stream, {{lld::Gnu, &lld::elf::link}, {lld::Wasm, &lld::wasm::link}});
  if (result.retCode != 0)
    return createStringError("linking failed: " + stream.str());
  ErrorOr<std::unique_ptr<MemoryBuffer>> output = MemoryBuffer::getFile(outputPath);
  if (!output)
    return createFileError(outputPath, output.getError());
  return (*output)->getBuffer().str();
}

Expected<std::string> linkAlone(StringRef object) { return linkFile(object, "o", {"-shared"}, {"-z", "noexecstack"}); }

//===----------------------------------------------------------------------===//
// Another architecture
//===----------------------------------------------------------------------===//

/// A stub for a library that is not on this machine: a library without symbols and with its name.
static Expected<std::string> createStub(const TargetInfo &target, StringRef name) {
  LLVMContext context;
  Module module("stub", context);
  Expected<std::unique_ptr<TargetMachine>> machine = createTargetMachine(target);
  if (!machine)
    return machine.takeError();
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());
  Expected<std::string> object = emitFile(module, **machine, FileKind::Object);
  if (!object)
    return object.takeError();
  return linkFile(*object, "o", {"-shared", "-soname", name.str()}, {});
}

static Expected<std::string> linkForeignLibrary(StringRef object, const TargetInfo &target, bool needsRuntime) {
  if (Triple(target.triple).isWasm())
    return createStringError("expected --emit=wasm for '" + target.name + "', found --emit=shared");
  if (!Triple(target.triple).isOSBinFormatELF())
    return createStringError("expected Linux as the system of --emit=shared, found '" + target.name +
                             "'; write --emit=obj, and link it there, as by clang -dynamiclib (macOS) or lld-link /dll "
                             "(Windows)");
  // C libraries other than GNU's have no common name, but are loaded in every process.
  SmallVector<StringRef> names;
  if (Triple(target.triple).isGNUEnvironment())
    names = {"libm.so.6", "libc.so.6"};
  if (needsRuntime)
    names.push_back(kRuntimeLibrary);
  std::vector<std::string> after = {"-z", "noexecstack", "--no-as-needed"};
  SmallVector<std::unique_ptr<FileRemover>> removers;
  for (StringRef name : names) {
    Expected<std::string> stub = createStub(target, name);
    SmallString<128> path;
    if (!stub)
      return stub.takeError();
    if (std::error_code error = sys::fs::createTemporaryFile("attn", "so", path))
      return createStringError(error, "cannot create a temporary file: " + error.message());
    removers.push_back(std::make_unique<FileRemover>(path));
    if (Error error = writeOutputFile(path, [&](raw_ostream &os) { os << *stub; }))
      return error;
    after.push_back(path.str().str());
  }
  if (needsRuntime)
    after.insert(after.end(), {"-rpath", "$ORIGIN"});
  return linkFile(object, "o", {"-shared"}, after);
}

Expected<std::string> linkSharedLibrary(StringRef object, const TargetInfo &target, bool needsRuntime) {
  if (isForeign(target))
    return linkForeignLibrary(object, target, needsRuntime);
  std::vector<std::string> after = {"--allow-shlib-undefined", "-z", "noexecstack"};
  // libm (a logarithm in lse) and libgcc (conversions of f16): the copies that this process uses. A program that loads
  // the library by dlopen need not link them.
  double (*logarithm)(double) = &std::log;
  SmallVector<void *> functions = {reinterpret_cast<void *>(logarithm)};
#if defined(__x86_64__)
  functions.push_back(reinterpret_cast<void *>(&__truncsfhf2));
#endif
  for (void *function : functions)
    if (Dl_info info; dladdr(function, &info) && info.dli_fname)
      after.insert(after.end(), {"--as-needed", info.dli_fname, "--no-as-needed"});
  if (needsRuntime) {
    Expected<std::string> folder = findRuntimeFolder();
    if (!folder)
      return folder.takeError();
    after.insert(after.end(), {"-L" + *folder, "-lattn_runtime", "-rpath", "$ORIGIN", "-rpath", *folder});
  }
  return linkFile(object, "o", {"-shared"}, after);
}

} // namespace attn
