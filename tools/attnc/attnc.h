//===- attnc.h - the driver's parts -----------------------------*- C++ -*-===//
//
// attnc.cpp maps flags to these structs; only it and Flags.cpp see flags. ../common/Driver.h has the parts that
// attn-ptx-run needs too.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNC_ATTNC_H
#define ATTN_TOOLS_ATTNC_ATTNC_H

#include "../common/Driver.h"
#include "attn/Compiler/Bundle.h"

namespace attn::driver {

enum class EmitKind { Mlir, Llvm, Assembly, Ptx, Cubin, Object, Shared, Wasm, OnnxRuntime };

struct CompileCommand {
  Source source;
  CompileOptions options;
  EmitKind emit = EmitKind::Object;
  std::optional<Phase> stopAfter;
  std::string output, header, manifest;
  std::string weights; ///< the file of large constants; empty: they are in the object
  std::string kernel;  ///< for GPU code only: which one of several
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
  std::string kernel; ///< which one, if the source has several
  ArgumentOptions arguments;
  std::vector<std::string> outputs;
  bool check = false;
  std::string runner;      ///< a command that runs the kernel (../common/Runner.h); empty for this process
  bool isEmulated = false; ///< a preloaded library emulates what the processor lacks
  bool isTimed = false;    ///< more calls, which take `seconds`
  double seconds = 1.0;
  llvm::raw_ostream *report = nullptr; ///< instead of standard output
};

/// What attnc bench prints besides times: nothing; the limit of each problem and the instruction mix of its main loops;
/// only the latter, without running anything, so for any target; or these loops as input of llvm-mca.
enum class Roofline { None, Measured, Static, Assembly };

struct BenchCommand {
  std::vector<std::string> problems; ///< lines
  std::optional<Source> source;      ///< or a file of kernels
  std::string kernel;                ///< which one of them; empty for all
  CompileOptions options;
  std::map<std::string, int64_t> sizes; ///< of the dynamic sizes
  int threads = 1;
  double seconds = 1.0; ///< per problem
  bool compareUnfused = false;
  Roofline roofline = Roofline::None;
  bool printCeilings = false;          ///< the machine's, without any problem
  std::string json;                    ///< a file for the records, "-" for standard output; empty for none
  llvm::raw_ostream *report = nullptr; ///< of the text; null: standard output, or standard error beside the records
};

struct TuneCommand {
  std::vector<std::string> problems; ///< lines
  CompileOptions options;
  std::map<std::string, int64_t> sizes; ///< of the dynamic sizes
  int threads = 1;
  double budget = 10; ///< seconds for all problems together
  std::string output;
};

enum class ExplainFormat { Html, Json };

struct ExplainCommand {
  Source source;
  CompileOptions options;
  ExplainFormat format = ExplainFormat::Html;
  std::string output;
  std::map<std::string, int64_t> sizes; ///< of the dynamic sizes
  bool runs = false;                    ///< also checks and times each kernel
  int threads = 1;
  double seconds = 1.0; ///< of each timing
};

/// Two files of facts beside each other.
struct DiffCommand {
  std::array<std::string, 2> files;
  ExplainFormat format = ExplainFormat::Html;
  std::string output;
};

// Each returns the exit code; messages go to standard error.
int compile(const CompileCommand &command);
int writeOnnxRuntimeModel(const CompileCommand &command);
int compileBundle(const BundleCommand &command);
int run(const RunCommand &command);
int bench(const BenchCommand &command);
int tune(const TuneCommand &command);
int explain(const ExplainCommand &command);
int diff(const DiffCommand &command);

/// A macro name from a file name, distinct from any kernel name: include/my-kernel.h → ATTN_MY_KERNEL_H.
std::string getGuard(llvm::StringRef path);
/// Writes all texts to their paths, or none, and with them what a function writes. Empty paths are skipped, and that of
/// the source is refused. Returns the exit code.
int writeFiles(llvm::ArrayRef<std::pair<std::string, std::string>> contents, llvm::StringRef source = {},
               std::pair<llvm::StringRef, llvm::function_ref<void(llvm::raw_ostream &)>> large = {});

/// The lines of a file; errors name the file.
llvm::Expected<std::vector<Problem>> readProblems(llvm::StringRef file);
/// The object file of a source.
llvm::Expected<std::string> compileObject(const Source &source, const CompileOptions &options);

/// Prints "attnc: error: …" and returns 1.
int reportError(llvm::Error error);

/// The C names of --name=NAME and of each --entry=FUNCTION:NAME.
llvm::Expected<std::vector<KernelName>> parseKernelNames(llvm::StringRef name, llvm::ArrayRef<std::string> entries);

/// An error for a dynamic size of the problem that no --size sets.
llvm::Error createMissingSizeError(llvm::StringRef line, const Kernel &kernel, llvm::StringRef name);
/// The problem with the sizes of a run.
llvm::Expected<Problem> resolveSizes(Problem problem, const Kernel &kernel,
                                     const std::map<std::string, int64_t> &sizes);
llvm::Expected<std::vector<NpyArray>> copyArguments(const Kernel &kernel, llvm::ArrayRef<NpyArray> arguments);
/// The arguments, `bytes` in total, and enough copies of them to exceed all caches, if a kernel reads each once
/// (`isDecode`) and is memory-bound.
llvm::Expected<std::vector<std::vector<NpyArray>>> createCopies(const Kernel &kernel, std::vector<NpyArray> arguments,
                                                                int64_t bytes, bool isDecode);

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_ATTNC_H
