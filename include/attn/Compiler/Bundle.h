//===- Bundle.h - kernels for several targets in one object -----*- C++ -*-===//
//
// Each kernel is compiled for each target by itself; a dispatcher of the lowest
// x86-64 level has the kernels' names and takes the best variant that runs: by
// CPUID, or of GPU kernels by the device of the call's stream. One relocatable object holds them all and exports
// nothing but entries. A library is a bundle of the kernels of a problem file, with an entry that chooses the kernel
// too.
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
  std::array<uint64_t, 2> features; ///< bits of attn_find_feature that its code may use; none of a GPU
  /// Features of the processor that no test is known of: LLVM's names, which its code does without.
  llvm::SmallVector<std::string> untested;
  std::string suffix; ///< of symbols
};

Variant createVariant(TargetInfo target);

/// The targets of a list as "x86-64-v2,x86-64-v3,host" or "sm_80,sm_90", the one with the most features last. Below one
/// with tiles (AMX), which Linux may refuse a process, stands one with the same vectors: x86-64-v4 is added. Refused
/// are unknown names, names of GPUs beside processors, and targets whose code may use the same features.
llvm::Expected<std::vector<Variant>> getVariants(llvm::StringRef list);

/// Whether this processor runs code for a target; the error names the features that it lacks. Of a GPU none.
llvm::Error checkProcessor(const TargetInfo &target);

/// A source of one kernel or more, as MLIR.
struct BundleSource {
  std::string name, text;
  /// A problem of a library: its canonical line, the words of it that tensors do not say, and the line with
  /// placeholders that attn_library_group.line describes. Empty elsewhere.
  std::string problem, features, line;
  /// The same of the forward pass, where the problem has gradients: it is that of a problem without, with lse.
  std::string forwardFeatures, forwardLine;
};

/// The source of a library's kernel, whose C name begins with the library's.
BundleSource makeLibrarySource(const struct Problem &problem, llvm::StringRef library);

struct BundleOptions {
  CompileOptions compile; ///< its target is not read
  std::string library;    ///< the C name of a library; empty for none
  std::string file;       ///< its name, without a folder, for the manifest
  unsigned jobs = 0;      ///< threads that compile; 0: one a core
  /// Called by these threads when `done` of `all` parts, one a source and target, are compiled, `name` the last.
  std::function<void(size_t done, size_t all, llvm::StringRef name)> onProgress = {};
};

struct Bundle {
  std::string object;
  std::vector<Kernel> kernels;
};

/// Compiles all sources for all variants. Diagnostics are in the order of the sources.
llvm::Expected<Bundle> compileBundle(llvm::ArrayRef<BundleSource> sources, llvm::ArrayRef<Variant> variants,
                                     const BundleOptions &options, llvm::raw_ostream &diagnostics);

/// What the header of a bundle says after its kernels.
std::string writeBundleEntries(llvm::ArrayRef<Kernel> kernels, llvm::ArrayRef<Variant> variants,
                               llvm::StringRef library);
/// The manifest as JSON.
std::string writeBundleManifest(llvm::ArrayRef<Kernel> kernels, llvm::ArrayRef<Variant> variants,
                                const BundleOptions &options);

/// The entries of a bundle beside those of its kernels.
std::string getUseTargetName(llvm::StringRef prefix);
std::string getTargetName(llvm::StringRef prefix);
std::string getCallName(llvm::StringRef library);
std::string getFindName(llvm::StringRef library);

} // namespace attn

#endif // ATTN_COMPILER_BUNDLE_H
