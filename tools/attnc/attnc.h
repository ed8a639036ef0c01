//===- attnc.h - the driver's parts -----------------------------*- C++ -*-===//
//
// attnc.cpp maps flags to these structs; all but Flags.cpp and it never see a flag. What attn-ptx-run
// needs as well is in ../common/Driver.h.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNC_ATTNC_H
#define ATTN_TOOLS_ATTNC_ATTNC_H

#include "../common/Driver.h"
#include "attn/Compiler/Bundle.h"

namespace attn::driver {

enum class EmitKind { Mlir, Llvm, Assembly, Ptx, Cubin, Object, Shared };

struct CompileCommand {
  Source source;
  CompileOptions options;
  EmitKind emit = EmitKind::Object;
  std::optional<Phase> stopAfter;
  std::string output, header, manifest;
  std::string kernel; ///< of GPU code alone: which one of several
};

/// Several targets, or the library of a problem file, as one object.
struct BundleCommand {
  std::optional<Source> source; ///< or else
  std::string problemFile;      ///< a file of problem lines
  std::string targets;          ///< separated by commas
  BundleOptions options;
  EmitKind emit = EmitKind::Object;
  std::string output, header, manifest;
};

struct RunCommand {
  Source source;
  CompileOptions options;
  std::string kernel; ///< which one, where the source has several
  ArgumentOptions arguments;
  std::vector<std::string> outputs;
  bool check = false;
  std::string runner;      ///< a command that runs the kernel (../common/Runner.h); empty for this process
  bool isEmulated = false; ///< something preloaded does what the processor lacks
  bool isTimed = false;    ///< more calls, which take `seconds`
  double seconds = 1.0;
};

/// What attnc bench says besides times: nothing more; what bounds each problem and of what its main loops consist; only
/// the latter, without running anything, so for any target; or these loops themselves, as llvm-mca reads them.
enum class Roofline { None, Measured, Static, Assembly };

struct BenchCommand {
  std::vector<std::string> problems; ///< lines
  std::optional<Source> source;      ///< or a file of kernels
  std::string kernel;                ///< which one of them; empty for all
  CompileOptions options;
  std::map<std::string, int64_t> sizes; ///< of the dynamic sizes
  int threads = 1;
  double seconds = 1.0; ///< a problem
  bool compareUnfused = false;
  Roofline roofline = Roofline::None;
  bool printCeilings = false; ///< of the machine, without any problem
  std::string json;           ///< a file for the records, "-" for standard output; empty for none
};

struct TuneCommand {
  std::vector<std::string> problems; ///< lines
  CompileOptions options;
  std::map<std::string, int64_t> sizes; ///< of the dynamic sizes
  int threads = 1;
  double budget = 10; ///< seconds, of all problems together
  std::string output;
};

// Each returns the exit code; messages are on standard error.
int compile(const CompileCommand &command);
int compileBundle(const BundleCommand &command);
int run(const RunCommand &command);
int bench(const BenchCommand &command);
int tune(const TuneCommand &command);

/// A macro name from a file name, which no kernel can have: include/my-kernel.h → ATTN_MY_KERNEL_H.
std::string getGuard(llvm::StringRef path);
/// Writes all texts to their paths, or none; an empty path is left out, and that of the source is refused. Returns the
/// exit code.
int writeFiles(llvm::ArrayRef<std::pair<std::string, std::string>> contents, llvm::StringRef source = {});

/// The lines of a file, with its name in errors.
llvm::Expected<std::vector<Problem>> readProblems(llvm::StringRef file);
/// The object file of a source.
llvm::Expected<std::string> compileObject(const Source &source, const CompileOptions &options);

/// Prints "attnc: error: …" and returns 1.
int reportError(llvm::Error error);

/// The names in C of --name=NAME and of each --entry=FUNCTION:NAME.
llvm::Expected<std::vector<KernelName>> parseKernelNames(llvm::StringRef name, llvm::ArrayRef<std::string> entries);

/// An error of a dynamic size of the problem that no --size gives.
llvm::Error createMissingSizeError(llvm::StringRef line, const Kernel &kernel, llvm::StringRef name);
/// The problem with the sizes of a run.
llvm::Expected<Problem> resolveSizes(Problem problem, const Kernel &kernel,
                                     const std::map<std::string, int64_t> &sizes);
llvm::Expected<std::vector<NpyArray>> copyArguments(const Kernel &kernel, llvm::ArrayRef<NpyArray> arguments);
/// The arguments, `bytes` in all, and as many copies of them as no cache holds, where a kernel reads each once
/// (`isDecode`) and is bound by memory.
llvm::Expected<std::vector<std::vector<NpyArray>>> createCopies(const Kernel &kernel, std::vector<NpyArray> arguments,
                                                                int64_t bytes, bool isDecode);

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_ATTNC_H
