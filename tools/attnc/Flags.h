//===- Flags.h - the flags of attnc -----------------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNC_FLAGS_H
#define ATTN_TOOLS_ATTNC_FLAGS_H

#include "CheckOptions.h"
#include "attnc.h"
#include "llvm/Support/CommandLine.h"

/// Each flag by its name or meaning; Flags.cpp has its commands and its text.
namespace attn::driver::flags {

enum class Parallel { OpenMP, None };
enum class WorkspaceOwner { Heap, Caller };

extern llvm::cl::OptionCategory category;
extern llvm::cl::SubCommand runCommand, benchCommand, tuneCommand, explainCommand, diffCommand;
/// In addition to compiling, which has no name.
extern llvm::cl::SubCommand *const kCommands[5];
/// The names of all phases, separated by blanks.
extern const std::string kPhaseNames;

extern llvm::cl::opt<std::string> inputFile, weightsFile, target, schedule, tuned, dumpPhases, output, stopAfter,
    header, manifest, cName, ptxas, cudaDriver, kernelName, runner, problemFile, json, objectCache;
extern llvm::cl::list<std::string> problems, entries, inputs, outputs, sizes, factFiles;
extern llvm::cl::opt<Parallel> parallel;
extern llvm::cl::opt<WorkspaceOwner> workspace;
extern llvm::cl::opt<RemarkFilter> remarks;
extern llvm::cl::opt<bool> failOnFallback, raise, reference, grad, check, timed, emulated, unfused, ceilings,
    explainRuns;
extern llvm::cl::opt<EmitKind> emit;
extern llvm::cl::opt<unsigned> jobs;
extern llvm::cl::opt<uint64_t> seed;
extern llvm::cl::opt<int> threads;
extern llvm::cl::opt<double> seconds, budget;
extern llvm::cl::opt<Roofline> roofline;
extern llvm::cl::opt<ExplainFormat> explainFormat;

/// From --tuned, once the flags are checked.
extern std::shared_ptr<const TunedFile> tunedFile;
/// From --name and --entry, likewise.
extern std::vector<KernelName> kernelNames;

/// Checks that need no problem.
llvm::Error checkFlags();
/// The flags that take one of several words.
llvm::SmallVector<OptionWords> getOptionWords();

} // namespace attn::driver::flags

#endif // ATTN_TOOLS_ATTNC_FLAGS_H
