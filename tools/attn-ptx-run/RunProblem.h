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
  std::string kernel; ///< which kernel of the source
  driver::ArgumentOptions arguments;
  std::vector<std::map<std::string, int64_t>> moreSizes; ///< additional runs with these sizes instead
  std::vector<InputKind> kinds;                          ///< of inputs, in order; none: the default ones
  std::vector<std::string> targets;                      ///< run one after the other, where there is no PTX
  std::string schedule;                                  ///< as for attnc: the host code must be of the same kernels
  std::string ptx;                                       ///< the text; empty: attn's own for the source
  int multiprocessors = 0;               ///< of the device, the number of persistent blocks; 0: the emulator's default
  unsigned resident = Launch().resident; ///< blocks that run concurrently
  uint64_t turns = 0;                    ///< seed of their order on the first input, plus one for each further one
  uint64_t maxInstructions = 0;          ///< per launch; 0: the emulator's limit
};

/// The arguments of one call, and the expected outputs.
struct InputSet {
  std::string name;
  InputKind kind;
  RowMagnitudes magnitudes;
  std::vector<NpyArray> arguments;
  std::vector<NpyArray> initial;  ///< updated outputs, before the call
  std::vector<NpyArray> expected; ///< outputs
};

/// Runs the host code of a source in the emulator, with exactly this PTX as its kernels.
class ProblemRunner {
public:
  /// Compiles the host code for the first target, and the reference, draws inputs, and computes the expected outputs.
  static llvm::Expected<ProblemRunner> create(const ProblemRun &run);
  /// Replaces the kernel by that of another target; inputs and expected outputs stay.
  llvm::Error compileFor(const ProblemRun &run, llvm::StringRef target);
  llvm::MutableArrayRef<InputSet> getInputs() { return inputs; }
  /// Calls the kernel; the outputs are in the arguments.
  llvm::Error call(InputSet &input);
  std::vector<OutputError> compare(const InputSet &input) const;

private:
  ProblemRunner(driver::LoadedKernel kernel) : kernel(std::move(kernel)) {}
  /// Adds none if keys are to be separate but cannot be, unless `isNeeded`: then they are not separate.
  llvm::Error addInputs(const ProblemRun &run, const driver::ArgumentOptions &options, InputKind kind, bool isNeeded,
                        const driver::LoadedKernel &reference);

  /// Fills the output and lse that a backward kernel takes with those of the forward pass on these arguments.
  llvm::Error runForwardPass(llvm::MutableArrayRef<NpyArray> arguments) const;

  driver::LoadedKernel kernel;
  std::optional<driver::LoadedKernel> forward; ///< the reference of the forward kernel of a backward one
  bool areHeadsInner = false;                  ///< tensors are [batch, rows, heads, D]
  std::vector<InputSet> inputs;
  uint64_t turns = 0; ///< seed of the first input
};

/// Runs the kernels of each target on each input, and prints the errors of the outputs and what the kernels did.
/// `report` gets the reports of all launches. False if an output is wrong.
llvm::Expected<bool> runProblem(const ProblemRun &run, llvm::json::Value &report);

} // namespace attn::ptx

#endif // ATTN_TOOLS_ATTN_PTX_RUN_RUNPROBLEM_H
