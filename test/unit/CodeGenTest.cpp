//===- CodeGenTest.cpp - objects, assembly, shared libraries ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/CodeGen/CodeGen.h"
#include "attn/Compiler/Bundle.h"
#include "attn/Compiler/Compiler.h"
#include "attn/Problem/Problem.h"
#include "attn/Support/OutputFile.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Target/TargetMachine.h"
#include "gtest/gtest.h"
#include <dlfcn.h>
#include <set>
#include <unistd.h>

using namespace attn;
using llvm::StringRef;

namespace {

/// The first worked example.
constexpr const char *kProblem = "sq1 sk3 d4 dv2 f64 out=lse";
constexpr const char *kLevels[] = {"x86-64", "x86-64-v3", "x86-64-v4"};

std::string emit(StringRef line, CompileOptions options, FileKind kind = FileKind::Object) {
  std::string diagnostics;
  llvm::raw_string_ostream stream(diagnostics);
  auto compiler = llvm::cantFail(Compiler::create(options, stream));
  std::string source = llvm::cantFail(problemToMLIR(llvm::cantFail(parseProblem(line))));
  bool isLowered = llvm::succeeded(compiler->parse(llvm::MemoryBuffer::getMemBufferCopy(source))) &&
                   llvm::succeeded(compiler->run());
  EXPECT_TRUE(isLowered) << diagnostics;
  return llvm::cantFail(compiler->emit(kind));
}

CompileOptions getOptions(StringRef target, bool parallel = false) {
  CompileOptions options;
  options.target = target.str();
  options.parallel = parallel;
  return options;
}

/// Every processor of this machine's architecture.
std::string getLowest() { return llvm::cantFail(TargetInfo::get("host")).getLowestName(); }

bool isExecutable(StringRef target) {
  llvm::Error error = checkProcessor(llvm::cantFail(TargetInfo::get(target)));
  const bool isRefused = bool(error);
  llvm::consumeError(std::move(error));
  return !isRefused;
}

/// Calls the plain entry.
void checkKernel(void *entry) {
  const double q[] = {.1, .2, .3, .4}, k[] = {0, .1, 0, .1, .2, .1, 0, 0, .1, 0, .3, .1}, v[] = {1, 0, 0, 1, 1, 1};
  double out[2], lse;
  reinterpret_cast<void (*)(const double *, const double *, const double *, double *, double *)>(entry)(q, k, v, out,
                                                                                                        &lse);
  EXPECT_NEAR(out[0], 0.673344, 5e-7);
  EXPECT_NEAR(out[1], 0.670061, 5e-7);
}

struct Symbols {
  std::set<std::string> exported, undefined;
};

template <typename Range> Symbols collectSymbols(Range range) {
  Symbols symbols;
  for (const llvm::object::ELFSymbolRef &symbol : range) {
    std::string name = llvm::cantFail(symbol.getName()).str();
    uint32_t flags = llvm::cantFail(symbol.getFlags());
    if (name.empty() || symbol.getBinding() == llvm::ELF::STB_LOCAL)
      continue;
    if (flags & llvm::object::BasicSymbolRef::SF_Undefined)
      symbols.undefined.insert(name);
    else
      symbols.exported.insert(name);
  }
  return symbols;
}

Symbols getSymbols(StringRef bytes) {
  auto file = llvm::cantFail(llvm::object::ObjectFile::createELFObjectFile({bytes, "object"}));
  auto *elf = llvm::cast<llvm::object::ELFObjectFileBase>(file.get());
  return elf->getEType() == llvm::ELF::ET_DYN ? collectSymbols(elf->getDynamicSymbolIterators())
                                              : collectSymbols(elf->symbols());
}

/// A folder of this test alone, which is also where temporary files go, gone at its end.
class Folder {
public:
  Folder() {
    llvm::cantFail(llvm::errorCodeToError(llvm::sys::fs::createUniqueDirectory("attn-codegen", path)));
    setenv("TMPDIR", path.c_str(), 1);
  }
  ~Folder() {
    unsetenv("TMPDIR");
    llvm::sys::fs::remove_directories(path);
  }
  std::string getPath(StringRef name) const { return (path + "/" + name).str(); }
  std::vector<std::string> list() const {
    std::vector<std::string> names;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(path, error), end; it != end && !error; it.increment(error))
      names.push_back(llvm::sys::path::filename(it->path()).str());
    return names;
  }

private:
  llvm::SmallString<128> path;
};

//===----------------------------------------------------------------------===//
// Objects
//===----------------------------------------------------------------------===//

TEST(CodeGen, ObjectsOfEveryLevelLoadAndRun) {
  for (StringRef level : kLevels) {
    std::string object = emit(kProblem, getOptions(level));
    auto file = llvm::cantFail(llvm::object::ObjectFile::createELFObjectFile({object, "object"}));
    EXPECT_EQ(file->getArch(), llvm::Triple::x86_64);
    if (!isExecutable(level))
      continue;
    auto loaded = llvm::cantFail(LoadedObject::load(object));
    checkKernel(llvm::cantFail(loaded->lookup("sdpa")));
  }
}

// The two entries and nothing else; of others, the C library's functions, and the runtime where it was asked for.
TEST(CodeGen, ExportsTheEntriesAlone) {
  const std::set<std::string> entries = {"sdpa", "sdpa_checked"};
  const std::set<std::string> library = {"vsnprintf", "log", "memcpy", "memset", "malloc", "free"};
  for (StringRef level : kLevels)
    for (bool parallel : {false, true}) {
      Symbols symbols = getSymbols(emit("hq4 sq70 sk40 d8 f64 out=lse", getOptions(level, parallel)));
      EXPECT_EQ(symbols.exported, entries);
      EXPECT_EQ(symbols.undefined.count("attn_parallel_for"), parallel);
      for (const std::string &name : symbols.undefined)
        EXPECT_TRUE(library.count(name) || name == "attn_parallel_for") << name;
    }
}

TEST(CodeGen, UsesTheVectorsOfTheLevel) {
  constexpr const char *line = "sq64 d64 f32";
  auto uses = [](const std::string &text, StringRef word) { return StringRef(text).contains(word); };
  std::string v1 = emit(line, getOptions("x86-64"), FileKind::Assembly);
  EXPECT_TRUE(uses(v1, "mulps"));
  EXPECT_FALSE(uses(v1, "%ymm") || uses(v1, "%zmm") || uses(v1, "vfmadd"));
  std::string v3 = emit(line, getOptions("x86-64-v3"), FileKind::Assembly);
  EXPECT_TRUE(uses(v3, "vfmadd") && uses(v3, "%ymm"));
  EXPECT_FALSE(uses(v3, "%zmm"));
  std::string v4 = emit(line, getOptions("x86-64-v4"), FileKind::Assembly);
  EXPECT_TRUE(uses(v4, "vfmadd") && uses(v4, "%zmm"));
}

TEST(CodeGen, SameObjectEveryTime) {
  EXPECT_EQ(emit(kProblem, getOptions("x86-64-v3", true)), emit(kProblem, getOptions("x86-64-v3", true)));
}

// A compilation that is cancelled leaves passes of LLVM out: its bytes are not those of the module.
TEST(CodeGen, WhatIsCancelledIsNotCached) {
  Folder folder;
  CompileOptions options = getOptions(getLowest());
  std::string expected = emit(kProblem, options);
  options.objectCache = folder.getPath("objects");
  std::string source = llvm::cantFail(problemToMLIR(llvm::cantFail(parseProblem(kProblem))));
  for (unsigned limit = 0, cancelled = 1; cancelled; limit += limit / 4 + 1) {
    unsigned questions = 0;
    bool isEmitting = false;
    options.isCancelled = [&] { return isEmitting && ++questions > limit; };
    auto compiler = llvm::cantFail(Compiler::create(options, llvm::nulls()));
    ASSERT_TRUE(llvm::succeeded(compiler->parse(llvm::MemoryBuffer::getMemBufferCopy(source))) &&
                llvm::succeeded(compiler->run()));
    isEmitting = true;
    llvm::Expected<std::string> bytes = compiler->emit(FileKind::Object);
    cancelled = questions > limit;
    EXPECT_EQ(llvm::sys::fs::exists(options.objectCache), !cancelled) << limit << " questions";
    if (cancelled)
      llvm::consumeError(bytes.takeError());
    else
      EXPECT_EQ(llvm::cantFail(std::move(bytes)), expected);
  }
  options.isCancelled = nullptr;
  EXPECT_EQ(emit(kProblem, options), expected);
}

TEST(CodeGen, LookupNamesWhatIsMissing) {
  auto loaded = llvm::cantFail(LoadedObject::load(emit(kProblem, getOptions(getLowest()))));
  llvm::Expected<void *> entry = loaded->lookup("absent");
  ASSERT_FALSE(bool(entry));
  EXPECT_NE(llvm::toString(entry.takeError()).find("absent"), std::string::npos);
}

TEST(CodeGen, LoadRefusesWhatIsNoObject) {
  for (StringRef bytes : {"", "not an object"}) {
    llvm::Expected<std::unique_ptr<LoadedObject>> loaded = LoadedObject::load(bytes);
    // ORC may look at the bytes as late as at the first symbol.
    llvm::Error error = loaded ? (*loaded)->lookup("sdpa").takeError() : loaded.takeError();
    EXPECT_TRUE(bool(error));
    llvm::consumeError(std::move(error));
  }
}

// Two kernels of one name in one process: each object is a world of its own.
TEST(CodeGen, ObjectsDoNotMeet) {
  auto one = llvm::cantFail(LoadedObject::load(emit(kProblem, getOptions(getLowest()))));
  auto other = llvm::cantFail(LoadedObject::load(emit("sq2 sk3 d4 f64", getOptions(getLowest()))));
  EXPECT_NE(llvm::cantFail(one->lookup("sdpa")), llvm::cantFail(other->lookup("sdpa")));
  other.reset();
  checkKernel(llvm::cantFail(one->lookup("sdpa")));
}

//===----------------------------------------------------------------------===//
// Shared libraries
//===----------------------------------------------------------------------===//

TEST(CodeGen, SharedLibraryRuns) {
  for (bool parallel : {false, true}) {
    Folder folder;
    std::string bytes =
        llvm::cantFail(linkSharedLibrary(emit(kProblem, getOptions(getLowest(), parallel)),
                                         llvm::cantFail(TargetInfo::get(getLowest())), /*needsRuntime=*/parallel));
    EXPECT_EQ(folder.list().size(), 0u) << "no temporary file is left";
    EXPECT_EQ(getSymbols(bytes).exported, (std::set<std::string>{"sdpa", "sdpa_checked"}));
    std::string path = folder.getPath("kernel.so");
    llvm::cantFail(writeOutputFile(path, [&](llvm::raw_ostream &os) { os << bytes; }));
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(library) << dlerror();
    void *entry = dlsym(library, "sdpa");
    ASSERT_TRUE(entry);
    checkKernel(entry);
    EXPECT_TRUE(dlsym(library, "sdpa_checked"));
    dlclose(library);
  }
}

TEST(CodeGen, LinkErrorsLeaveNothing) {
  Folder folder;
  llvm::Expected<std::string> bytes =
      linkSharedLibrary("not an object", llvm::cantFail(TargetInfo::get(getLowest())), /*needsRuntime=*/false);
  ASSERT_FALSE(bool(bytes));
  EXPECT_EQ(llvm::toString(bytes.takeError()).substr(0, 16), "linking failed: ");
  EXPECT_EQ(folder.list().size(), 0u);
  // lld is usable after an error.
  llvm::Expected<std::string> library = linkSharedLibrary(
      emit(kProblem, getOptions(getLowest())), llvm::cantFail(TargetInfo::get(getLowest())), /*needsRuntime=*/false);
  EXPECT_FALSE(llvm::cantFail(std::move(library)).empty());
}

TEST(CodeGen, UnwritablePathsLeaveNothing) {
  Folder folder;
  for (StringRef name : {"absent/kernel.so", "file/kernel.so"}) {
    llvm::cantFail(writeOutputFile(folder.getPath("file"), [](llvm::raw_ostream &os) { os << "as it was"; }));
    llvm::Error error = writeOutputFile(folder.getPath(name), [](llvm::raw_ostream &os) { os << "library"; });
    ASSERT_TRUE(bool(error)) << name.str();
    EXPECT_NE(llvm::toString(std::move(error)).find(folder.getPath(name)), std::string::npos);
    EXPECT_EQ(folder.list(), std::vector<std::string>{"file"});
    auto content = llvm::cantFail(llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(folder.getPath("file"))));
    EXPECT_EQ(content->getBuffer(), "as it was");
  }
}

// Without a place for temporary files, an error and no library.
TEST(CodeGen, LinkNeedsTemporaryFiles) {
  std::string object = emit(kProblem, getOptions(getLowest()));
  Folder folder;
  setenv("TMPDIR", folder.getPath("absent").c_str(), 1);
  llvm::Expected<std::string> bytes =
      linkSharedLibrary(object, llvm::cantFail(TargetInfo::get(getLowest())), /*needsRuntime=*/false);
  ASSERT_FALSE(bool(bytes));
  EXPECT_NE(llvm::toString(bytes.takeError()).find("cannot create a temporary file"), std::string::npos);
  EXPECT_EQ(folder.list().size(), 0u);
}

} // namespace
