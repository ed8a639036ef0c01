//===- CodeGen.h - LLVM IR to object, assembly, library, memory -*- C++ -*-===//
//
// All in process: LLVM's optimiser and object emission, lld as a library, ORC.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_CODEGEN_CODEGEN_H
#define ATTN_CODEGEN_CODEGEN_H

#include "attn/Target/TargetInfo.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>

namespace llvm {
class Module;
class TargetMachine;
namespace orc {
class LLJIT;
}
} // namespace llvm

namespace attn {

/// A machine for position-independent code on `target`.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const TargetInfo &target);

/// How a module becomes machine code.
struct EmitOptions {
  /// Flash kernels are already vectorised; LLVM's own vectorisers, which are for materialised chains, would only cost
  /// time.
  bool vectorizeLoops = true;
  bool isSplit = false;         ///< threads compile parts of a large module, as of a model: functions call functions
  bool isQuick = false;         ///< a few passes in place of LLVM's -O3 pipeline: for code that runs once
  std::string objectCache = {}; ///< a folder of what was made before; empty for none
};

/// Gives every function the target's attributes and runs LLVM's pipeline.
llvm::Error optimizeModule(llvm::Module &module, const TargetInfo &target, const EmitOptions &options = {});

/// The processor with AVX2 that runs code with wider vectors for `target`, after emulateVectors.
TargetInfo getEmulatedTarget(const TargetInfo &target);
void emulateVectors(llvm::Module &module);

enum class FileKind { Object, Assembly };
/// Bytes of stack of a function by name, including those of its callees in the module and of the bodies of its parallel
/// loops.
using StackBytes = llvm::StringMap<int64_t>;
/// Machine code of a module as it is, as the bytes of a file.
llvm::Expected<std::string> emitFile(llvm::Module &module, llvm::TargetMachine &machine, FileKind kind,
                                     StackBytes *stackBytes = nullptr);
/// That of a module once it is optimised; or what the cache has of an equal module.
llvm::Expected<std::string> compileModule(llvm::Module &module, const TargetInfo &target, FileKind kind,
                                          const EmitOptions &options = {}, StackBytes *stackBytes = nullptr);

/// Links an object into a shared library and returns its bytes. With `needsRuntime`, libattn_runtime.so is searched
/// next to the running library, then in ../lib, and recorded as a dependency with its folder as run path. For another
/// architecture nothing is searched: dependencies are recorded by the names that they have there, with the runtime next
/// to the library.
llvm::Expected<std::string> linkSharedLibrary(llvm::StringRef object, const TargetInfo &target, bool needsRuntime);

/// A shared library without dependencies: the process that loads it provides libm and the parallel loop, if needed. For
/// any architecture.
llvm::Expected<std::string> linkAlone(llvm::StringRef object);

/// Merges objects into one relocatable object. Hidden symbols are resolved among them and become local.
llvm::Expected<std::string> mergeObjects(llvm::ArrayRef<std::string> objects);

/// Links objects of WebAssembly into a module that imports nothing. Symbols that are not hidden are its exports.
llvm::Expected<std::string> linkWebModule(llvm::ArrayRef<std::string> objects);

/// Code in memory. Kernels call this process's attn_parallel_for, attn_check_arguments and C library.
class LoadedObject {
public:
  static llvm::Expected<std::unique_ptr<LoadedObject>> load(llvm::StringRef object);
  ~LoadedObject();
  /// The address of a symbol, or an error that names it.
  llvm::Expected<void *> lookup(llvm::StringRef symbol) const;

private:
  LoadedObject(std::unique_ptr<llvm::orc::LLJIT> jit, std::shared_ptr<const std::string> missing);
  std::shared_ptr<const std::string> missing; ///< symbols that a lookup did not find
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

} // namespace attn

#endif // ATTN_CODEGEN_CODEGEN_H
