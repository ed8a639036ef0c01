//===- Bundle.h - kernels for several targets in one object -----*- C++ -*-===//
//
// Each kernel is compiled separately for each target. A dispatcher for the lowest x86-64 level has the kernels' names
// and calls the best variant that runs: by CPUID, or for GPU kernels by the device of the call's stream. One
// relocatable object contains all of them and exports only entries. A library is a bundle of the kernels of a problem
// file, with an entry that also selects the kernel.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_COMPILER_BUNDLE_H
#define ATTN_COMPILER_BUNDLE_H

#include "attn/Compiler/Compiler.h"
#include <array>
#include <functional>

namespace attn {

/// One target of a bundle.
struct Variant {
  TargetInfo target;
  std::array<uint64_t, 2> features; ///< bits of attn_find_feature that its code may use; none for a GPU
  /// LLVM's names of features of the processor without a known test; its code does not use them.
  llvm::SmallVector<std::string> untested;
  std::string suffix; ///< of symbols
};

Variant createVariant(TargetInfo target);

/// The targets of a list such as "x86-64-v2,x86-64-v3,host" or "sm_80,sm_90", with the one with the most features last.
/// Below a target with tiles (AMX), which Linux may refuse to a process, there must be one with the same vectors:
/// x86-64-v4 is added. Refuses unknown names, GPUs mixed with processors, and targets whose code may use the same
/// features.
llvm::Expected<std::vector<Variant>> getVariants(llvm::StringRef list);

/// Success if this processor can run code for a target; otherwise the error names the missing features. Not for GPUs.
llvm::Error checkProcessor(const TargetInfo &target);

/// A source with one or more kernels, as MLIR.
struct BundleSource {
  std::string name, text;
  /// A problem of a library: its canonical line, its words that tensors do not show, and the line with placeholders
  /// that attn_library_group.line describes. Empty elsewhere.
  std::string problem, features, line;
  /// The same for the forward pass, if the problem has gradients: that of a problem without gradients, with lse.
  std::string forwardFeatures, forwardLine;
};

/// The source of a library's kernel, whose C name begins with the library's.
BundleSource makeLibrarySource(const struct Problem &problem, llvm::StringRef library);

struct BundleOptions {
  CompileOptions compile; ///< its target is ignored
  std::string library;    ///< the C name of a library; empty for none
  std::string file;       ///< the file name without folder, for the manifest
  unsigned jobs = 0;      ///< threads that compile; 0: one per core
  /// Called by these threads when `done` of `all` parts (one per source and target) are compiled, `name` being the
  /// last.
  std::function<void(size_t done, size_t all, llvm::StringRef name)> onProgress = {};
};

struct Bundle {
  std::string object;
  std::vector<Kernel> kernels;
};

/// Compiles all sources for all variants. Diagnostics are in the order of the sources.
llvm::Expected<Bundle> compileBundle(llvm::ArrayRef<BundleSource> sources, llvm::ArrayRef<Variant> variants,
                                     const BundleOptions &options, llvm::raw_ostream &diagnostics);

/// The text of a bundle's header after its kernels.
std::string writeBundleEntries(llvm::ArrayRef<Kernel> kernels, llvm::ArrayRef<Variant> variants,
                               llvm::StringRef library);
/// The manifest as JSON.
std::string writeBundleManifest(llvm::ArrayRef<Kernel> kernels, llvm::ArrayRef<Variant> variants,
                                const BundleOptions &options);

/// The entries of a bundle in addition to those of its kernels.
std::string getUseTargetName(llvm::StringRef prefix);
std::string getTargetName(llvm::StringRef prefix);
std::string getCallName(llvm::StringRef library);
std::string getFindName(llvm::StringRef library);

} // namespace attn

#endif // ATTN_COMPILER_BUNDLE_H
