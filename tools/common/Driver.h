//===- Driver.h - compiling, calling and checking kernels -------*- C++ -*-===//
//
// Shared by attnc and attn-ptx-run.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_COMMON_DRIVER_H
#define ATTN_TOOLS_COMMON_DRIVER_H

#include "attn/CodeGen/CodeGen.h"
#include "attn/Compiler/Compiler.h"
#include "attn/Compiler/TunedFile.h"
#include "attn/Problem/Problem.h"
#include "attn/Support/Npy.h"

#include <dlpack/dlpack.h>
#include <map>

namespace attn::driver {

/// The source of the IR: a file ("-" is standard input), or a problem line.
struct Source {
  std::string file;
  std::optional<std::string> problem;
  /// IR with the name that diagnostics use; of a model it is bytecode unless text is asked for.
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> open(bool isText = false) const;
};

/// Codes of the largest quantised values that are drawn: int8 from -kMaxInt8 to kMaxInt8; float8_e4m3fn up to 448;
/// float8_e5m2 up to 7, as most of its codes are far below the largest.
inline constexpr int8_t kMaxInt8 = 127;
inline constexpr uint8_t kMaxFloat8 = 0x7e, kMaxE5M2 = 0x47;

/// The source of argument values.
struct ArgumentOptions {
  std::vector<std::string> inputs; ///< .npy files; random where there are none
  uint64_t seed = 0;
  std::map<std::string, int64_t> sizes; ///< of the dynamic sizes, by name; the rest from the files or random
  bool fullLengths = false;             ///< maximal lengths, sequences of equal length
  bool fillsTiles = false;              ///< every second length is one below a multiple of 64
  bool uniformRows = false;             ///< rows of a bias whose scores are all equal and large
};

/// The file of --tuned, which must be for one of the targets (separated by commas).
llvm::Expected<std::shared_ptr<const TunedFile>> readTuned(llvm::StringRef file, llvm::StringRef targets);
/// The options with the schedule that --tuned has for a problem line. Prints a note on standard error if it has none.
CompileOptions applyTuned(const Source &source, CompileOptions options);

class StridedViews;
class Runner;

/// A kernel in memory, ready to be called.
class LoadedKernel {
public:
  /// Compiles the source and loads the kernel of that name (empty: the only one, or the first). Refuses a target whose
  /// instructions this processor lacks, unless they are emulated, or a runner executes it (Runner.h).
  static llvm::Expected<LoadedKernel> compile(const Source &source, const CompileOptions &options,
                                              llvm::StringRef kernel = "",
                                              llvm::raw_ostream &diagnostics = llvm::errs(), bool isEmulated = false,
                                              llvm::StringRef runner = "");
  const Kernel &getDescription() const { return description; }
  /// All kernels of the source, in order.
  llvm::ArrayRef<Kernel> getKernels() const { return *kernels; }
  /// Another kernel of the same source, which is already compiled and loaded.
  llvm::Expected<LoadedKernel> getKernel(llvm::StringRef name) const;
  /// Calls the checked entry on buffers in the order of the arguments, or on views of them; an error contains its
  /// message. A GPU kernel is called on copies in the memory of the current context's device (the first one's, if none
  /// is current).
  llvm::Error call(llvm::ArrayRef<NpyArray> arguments, const StridedViews *views = nullptr) const;
  /// The arguments for a checked entry, with data on the host.
  std::vector<DLTensor> describe(llvm::ArrayRef<NpyArray> arguments) const;
  /// The checked entries, as the header declares them; the second one is null for a CPU.
  void *getEntry() const { return entry; }
  void *getWorkspaceEntry() const { return workspaceEntry; }

private:
  LoadedKernel() = default;
  llvm::Error callRunner(llvm::ArrayRef<DLTensor> tensors) const;
  llvm::Error callOnDevice(llvm::ArrayRef<NpyArray> arguments) const;

  Kernel description;
  std::shared_ptr<const std::vector<Kernel>> kernels;
  bool isGpu = false;
  std::shared_ptr<LoadedObject> object;
  std::shared_ptr<Runner> runner; ///< alternative to `object`
  void *entry = nullptr, *workspaceEntry = nullptr;
};

/// Buffers for a kernel's arguments: inputs, then updated outputs, from the files (checked against the kernel) or
/// random; other outputs are zero.
llvm::Expected<std::vector<NpyArray>> createArguments(const Kernel &kernel, const ArgumentOptions &options);
/// NAME=N of each --size; an error for a value that is not a number, and for a duplicate name.
llvm::Expected<std::map<std::string, int64_t>> parseSizes(llvm::ArrayRef<std::string> texts);
NpyType getNpyType(const KernelArgument &argument);
/// A buffer of zeros for one argument.
llvm::Expected<NpyArray> createZeros(const KernelArgument &argument, llvm::ArrayRef<int64_t> shape);
/// Random values for the inputs and updated outputs of a kernel, within the limits of its checks.
void fillRandom(const Kernel &kernel, llvm::MutableArrayRef<NpyArray> arrays, const ArgumentOptions &options);

int64_t getNumElements(llvm::ArrayRef<int64_t> shape);
/// An element of an integer array.
int64_t readInteger(const NpyArray &array, int64_t index);
/// Bits of float16, bfloat16, float8_e4m3fn and float8_e5m2.
uint16_t toNarrowFloat(NpyType type, double value);
double fromNarrowFloat(NpyType type, uint16_t bits);

/// For the reference, taken before the kernel is called: the outputs that it updates in its own types, zeros for the
/// others; empty for inputs.
llvm::Expected<std::vector<NpyArray>> createOutputs(const LoadedKernel &reference, llvm::ArrayRef<NpyArray> arguments);
/// The reference of the kernel of that name (empty: the first), on the host: computed floats are f64, including its
/// outputs.
llvm::Expected<LoadedKernel> compileReference(const Source &source, CompileOptions options, llvm::StringRef kernel);
/// Calls a kernel's reference on these outputs and on the inputs among the arguments.
llvm::Error callReference(const LoadedKernel &reference, const Kernel &kernel,
                          llvm::MutableArrayRef<NpyArray> arguments, llvm::MutableArrayRef<NpyArray> expected);
/// Writes a line for each output to `os`. False if one exceeds its tolerance. `parts`, for a backward pass: outputs of
/// which each is a part of the expected one, such as without delta; the remainder is the other part. A gradient that is
/// a sum or difference of two parts is as exact as the larger part.
bool compareOutputs(const Kernel &kernel, llvm::ArrayRef<NpyArray> arguments, llvm::ArrayRef<NpyArray> expected,
                    llvm::raw_ostream &os, llvm::ArrayRef<llvm::ArrayRef<NpyArray>> parts = {});
/// The largest |out - ref| relative to max |ref| that --check accepts for the output of this name.
double getTolerance(const Kernel &kernel, llvm::StringRef name, const NpyArray &output,
                    llvm::ArrayRef<NpyArray> arguments);
/// An element of any array.
double readFloat(const NpyArray &array, int64_t index);
/// Calls a kernel's reference on the inputs and these outputs, and compares, with a line for each output. False if one
/// exceeds its tolerance.
llvm::Expected<bool> checkOutputs(const LoadedKernel &reference, const Kernel &kernel,
                                  llvm::MutableArrayRef<NpyArray> arguments, std::vector<NpyArray> expected,
                                  llvm::raw_ostream &os);

} // namespace attn::driver

#endif // ATTN_TOOLS_COMMON_DRIVER_H
