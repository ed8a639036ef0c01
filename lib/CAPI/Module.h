//===- Module.h - a compiled module of the C API ----------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CAPI_MODULE_H
#define ATTN_LIB_CAPI_MODULE_H

#include "attn-c/attn.h"
#include "attn/CodeGen/CodeGen.h"
#include "attn/Compiler/Compiler.h"
#include "llvm/ADT/StringMap.h"

/// The callable functions of a kernel. Only GPU kernels have `bytes`; their `checked` is a CudaEntry.
struct Entries {
  void *checked = nullptr, *bytes = nullptr;
};

struct attn_module {
  std::unique_ptr<attn::LoadedObject> object;
  llvm::StringMap<Entries> entries;
  Entries first;
  bool isGpu = false;
  std::string manifest;
  std::string wrongProcessor; ///< why this processor cannot run the module's code; empty where it can
  std::string code;           ///< the object, until the image takes it
};

namespace attn {

/// Loads an object; its entries are those of the kernels that the manifest lists.
llvm::Expected<std::unique_ptr<attn_module>> createModule(std::string manifest, llvm::StringRef object);

/// The IR of a source of any kind, with the name that diagnostics use.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> openSource(attn_source_kind kind, llvm::StringRef text);

/// The options of a C caller; an error where `parallel` has an unknown value.
llvm::Expected<CompileOptions> getCompileOptions(const attn_compile_options *given);

} // namespace attn

#endif // ATTN_LIB_CAPI_MODULE_H
