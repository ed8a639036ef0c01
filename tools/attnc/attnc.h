//===- attnc.h - the driver's parts -----------------------------*- C++ -*-===//
//
// attnc.cpp maps flags to these structs; the rest never sees a flag.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNC_ATTNC_H
#define ATTN_TOOLS_ATTNC_ATTNC_H

#include "attn/Compiler/Bundle.h"
#include "attn/Compiler/CodeGen.h"
#include "attn/Compiler/Compiler.h"
#include "attn/Compiler/Npy.h"
#include "attn/Compiler/Problem.h"

#include <map>

namespace attn::driver {

enum class EmitKind { Mlir, Llvm, Assembly, Object, Shared };

/// Where the IR comes from: a file ("-" is standard input), or a problem line.
struct Source {
  std::string file;
  std::optional<std::string> problem;
  /// MLIR text with the name that diagnostics use.
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> open() const;
};

struct CompileCommand {
  Source source;
  CompileOptions options;
  EmitKind emit = EmitKind::Object;
  std::optional<Phase> stopAfter;
  std::string output, header, manifest;
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

/// Where the values of arguments come from.
struct ArgumentOptions {
  std::vector<std::string> inputs; ///< .npy files; random where there are none
  uint64_t seed = 0;
  std::map<std::string, int64_t> sizes; ///< of the dynamic sizes, by name; the rest from the files or random
  bool fullLengths = false;             ///< lengths as large as they may be, sequences of equal length
};

struct RunCommand {
  Source source;
  CompileOptions options;
  std::string kernel; ///< which one, where the source has several
  ArgumentOptions arguments;
  std::vector<std::string> outputs;
  bool check = false;
};

/// What attnc bench says besides times: nothing more; what bounds each problem and of what its main loops consist; only
/// the latter, without running anything, so for any target; or these loops themselves, as llvm-mca reads them.
enum class Roofline { None, Measured, Static, Assembly };

struct BenchCommand {
  std::vector<std::string> problems; ///< lines
  CompileOptions options;
  std::map<std::string, int64_t> sizes; ///< of the dynamic sizes
  int threads = 1;
  double seconds = 1.0; ///< a problem
  bool compareUnfused = false;
  Roofline roofline = Roofline::None;
  bool printCeilings = false; ///< of the machine, without any problem
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

/// A macro name from a file name: include/my-kernel.h → MY_KERNEL_H.
std::string getGuard(llvm::StringRef path);
/// Writes all texts to their paths, or none; an empty path is left out. Returns the exit code.
int writeFiles(llvm::ArrayRef<std::pair<std::string, std::string>> contents);

/// The file of --tuned, which has to be for one of the targets (separated by commas).
llvm::Expected<std::shared_ptr<const TunedFile>> readTuned(llvm::StringRef file, llvm::StringRef targets);
/// The options with the schedule that --tuned has for a problem line; a note on standard error where it has none.
CompileOptions applyTuned(const Source &source, CompileOptions options);

/// The lines of a file, with its name in errors.
llvm::Expected<std::vector<Problem>> readProblems(llvm::StringRef file);
/// The object file of a source.
llvm::Expected<std::string> compileObject(const Source &source, const CompileOptions &options);

/// Prints "attnc: error: …" and returns 1.
int reportError(llvm::Error error);

/// A kernel in memory, ready to be called.
class LoadedKernel {
public:
  /// Compiles the source and loads the kernel of that name (empty: the only one, or the first).
  static llvm::Expected<LoadedKernel> compile(const Source &source, const CompileOptions &options,
                                              llvm::StringRef kernel = "",
                                              llvm::raw_ostream &diagnostics = llvm::errs());
  const Kernel &getDescription() const { return description; }
  /// Calls the checked entry on buffers in the order of the arguments; an error is its message.
  llvm::Error call(llvm::ArrayRef<NpyArray> arguments) const;

private:
  Kernel description;
  std::unique_ptr<LoadedObject> object;
  void *entry = nullptr;
};

/// Buffers for a kernel's arguments: inputs from the files (checked against the kernel), or random; outputs zero.
llvm::Expected<std::vector<NpyArray>> createArguments(const Kernel &kernel, const ArgumentOptions &options);
/// Buffers of their own with the same values.
llvm::Expected<std::vector<NpyArray>> copyArguments(const Kernel &kernel, llvm::ArrayRef<NpyArray> arguments);
/// A buffer of zeros for one argument.
llvm::Expected<NpyArray> createZeros(const KernelArgument &argument, llvm::ArrayRef<int64_t> shape);
/// Random values for the inputs of a kernel, within what its checks allow.
void fillRandom(const Kernel &kernel, llvm::MutableArrayRef<NpyArray> arrays, const ArgumentOptions &options);

int64_t getNumElements(llvm::ArrayRef<int64_t> shape);
/// An element of an integer array.
int64_t readInteger(const NpyArray &array, int64_t index);
/// Bits of float16, bfloat16 and float8_e4m3fn.
uint16_t toNarrowFloat(NpyType type, double value);
double fromNarrowFloat(NpyType type, uint16_t bits);

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_ATTNC_H
