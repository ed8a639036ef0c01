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
#include "attn/Support/SizeFormula.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

namespace attn {
/// The sizes of a kernel's results, by those of its inputs.
class ResultShapes {
public:
  /// Of a kernel of a manifest.
  static llvm::Expected<ResultShapes> read(const llvm::json::Object &kernel);
  /// The sizes of a result; an error where there is no such result, or inputs have other ranks.
  llvm::Expected<llvm::SmallVector<int64_t>> get(llvm::ArrayRef<const DLTensor *> inputs, int64_t result) const;

private:
  struct Place {
    size_t input, dim;
  };
  std::vector<SizeFormula> formulas;          ///< of each size of the kernel; empty where an input has it
  std::vector<std::optional<Place>> places;   ///< the input that has it
  std::vector<size_t> ranks;                  ///< of the inputs
  std::vector<std::vector<SizeFormula>> dims; ///< of the results
};
} // namespace attn

/// The callable functions of a kernel. Only GPU kernels have `bytes`; their `checked` is a CudaEntry.
struct Entries {
  void *checked = nullptr, *bytes = nullptr;
  std::shared_ptr<const attn::ResultShapes> results;
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
