//===- RunProblem.h - PTX as the kernels of a problem -----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTN_PTX_RUN_RUNPROBLEM_H
#define ATTN_TOOLS_ATTN_PTX_RUN_RUNPROBLEM_H

#include "CompareOutputs.h"
#include "PTXEmulator/Emulator.h"
#include "llvm/Support/JSON.h"

namespace attn::ptx {

struct ProblemRun {
  driver::Source source;
  std::string kernel; ///< which of the source
  driver::ArgumentOptions arguments;
  std::vector<std::map<std::string, int64_t>> moreSizes; ///< run beside those of `arguments`
  std::vector<InputKind> kinds;                          ///< of inputs, one after the other; none: the default ones
  std::vector<std::string> targets;                      ///< where there is no PTX, run one after the other
  std::string schedule;    ///< as attnc had it: the host's side must be of the same kernels
  std::string ptx;         ///< the text; empty: what attn makes of the source
  int multiprocessors = 0; ///< of the device, which persistent blocks are as many as; 0: the emulator's own number
  unsigned resident = Launch().resident; ///< blocks that are alive at once
  uint64_t turns = 0;                    ///< seed of their order on the first input, and one more on each next one
  uint64_t maxInstructions = 0;          ///< of a launch; 0: as many as the emulator allows
};

/// The arguments of one call, and the expected outputs.
struct InputSet {
  std::string name;
  InputKind kind;
  RowMagnitudes magnitudes;
  std::vector<NpyArray> arguments;
  std::vector<NpyArray> initial;  ///< outputs that are updated, before the call
  std::vector<NpyArray> expected; ///< outputs
};

/// Runs the host's side of a source, with exactly this PTX as its kernels, in the emulator.
class ProblemRunner {
public:
  /// Compiles the host's side, for the first target, and the reference, draws inputs, and computes the expected
  /// outputs.
  static llvm::Expected<ProblemRunner> create(const ProblemRun &run);
  /// Puts the kernel of another target in the place of this one; inputs and expected outputs stay.
  llvm::Error compileFor(const ProblemRun &run, llvm::StringRef target);
  llvm::MutableArrayRef<InputSet> getInputs() { return inputs; }
  /// Calls the kernel; the outputs are in the arguments.
  llvm::Error call(InputSet &input);
  std::vector<OutputError> compare(const InputSet &input) const;

private:
  ProblemRunner(driver::LoadedKernel kernel) : kernel(std::move(kernel)) {}
  /// None where keys shall be separate and cannot be, unless `isNeeded`: then they are not.
  llvm::Error addInputs(const ProblemRun &run, const driver::ArgumentOptions &options, InputKind kind, bool isNeeded,
                        const driver::LoadedKernel &reference);

  /// The output and lse that a backward kernel takes: those of the forward pass of these arguments.
  llvm::Error runForwardPass(llvm::MutableArrayRef<NpyArray> arguments) const;

  driver::LoadedKernel kernel;
  std::optional<driver::LoadedKernel> forward; ///< the reference of the other kernel of a backward one's pair
  bool areHeadsInner = false;                  ///< tensors are [batch, rows, heads, D]
  std::vector<InputSet> inputs;
  uint64_t turns = 0; ///< seed of the first input
};

/// Runs the kernels of each target on each input, and prints how far the outputs are from the reference and what the
/// kernels did; `report` becomes the reports of all launches. False if an output is wrong.
llvm::Expected<bool> runProblem(const ProblemRun &run, llvm::json::Value &report);

} // namespace attn::ptx

#endif // ATTN_TOOLS_ATTN_PTX_RUN_RUNPROBLEM_H
