//===- Pipelines.h - one function per phase ---------------------*- C++ -*-===//
//
// The pipelines from attention IR to target code, as functions over OpPassManager. attn-verify-phase checks the
// postconditions of the phases.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_PIPELINES_H
#define ATTN_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace attn {

/// Phases in order. Their names are used in --stop-after, in dumps and in attn-verify-phase. Fallback materialises the
/// chains that are left after Fuse. A CPU has Vector. A GPU has Gpu, Steps and Nvvm; for a GPU, Llvm is for the host
/// code.
enum class Phase {
  Input,
  Canonicalize,
  Fuse,
  Fallback,
  AnalyzeMask,
  SelectSchedule,
  Online,
  Tile,
  Bufferize,
  Vector,
  Gpu,
  Steps,
  Nvvm,
  Llvm
};
llvm::ArrayRef<Phase> getAllPhases();
/// True for a phase of attn-to-flash, before target code.
bool isFlashPhase(Phase phase);
/// True if the pipeline for a CPU, or for a GPU, has the phase.
bool hasPhase(Phase phase, bool isGpu);
llvm::StringRef getPhaseName(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);

/// Phases Canonicalize to Tile.
struct FlashOptions : public mlir::PassPipelineOptions<FlashOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("Target as --target of attnc names it"),
                             llvm::cl::init("host")};
  Option<std::string> schedule{*this, "schedule", llvm::cl::desc("Fields of schedules, by hand"), llvm::cl::init("")};
  Option<bool> kernels{*this, "kernels", llvm::cl::desc("Give public functions with attention C entries, by C's rules"),
                       llvm::cl::init(false)};
  Option<bool> allFunctions{*this, "all-functions",
                            llvm::cl::desc("With kernels, of public functions without attention as well"),
                            llvm::cl::init(false)};
  Option<bool> raise{*this, "raise", llvm::cl::desc("Find attention in linalg (attn-raise)"), llvm::cl::init(true)};
  Option<bool> failOnFallback{*this, "fail-on-fallback", llvm::cl::desc("An error where an op falls back"),
                              llvm::cl::init(false)};
};

/// Phases Bufferize to Llvm.
struct CPUOptions : public mlir::PassPipelineOptions<CPUOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("Target as --target of attnc names it"),
                             llvm::cl::init("host")};
  Option<bool> parallel{*this, "parallel", llvm::cl::desc("Call attn_parallel_for; false leaves serial loops"),
                        llvm::cl::init(true)};
  Option<bool> workspace{*this, "workspace", llvm::cl::desc("Kernels take a workspace of their caller"),
                         llvm::cl::init(false)};
  Option<bool> deallocate{*this, "deallocate", llvm::cl::desc("Free what is allocated; false where that is done"),
                          llvm::cl::init(true)};
};

/// Phases Bufferize to Llvm with Gpu and Nvvm.
struct GPUOptions : public mlir::PassPipelineOptions<GPUOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("Target as --target of attnc names it"),
                             llvm::cl::init("sm_80")};
};

/// The oracle: every attn op as plain linalg.
struct ReferenceOptions : public mlir::PassPipelineOptions<ReferenceOptions> {
  Option<std::string> computeType{*this, "compute-type",
                                  llvm::cl::desc("Type of the intermediates: f32, f64, or empty for each op's own"),
                                  llvm::cl::init("")};
  Option<bool> f64Outputs{*this, "f64-outputs", llvm::cl::desc("With f64, what kernels return is f64 as well"),
                          llvm::cl::init(false)};
  Option<bool> kernels{*this, "kernels", llvm::cl::desc("Give public functions with attention C entries, by C's rules"),
                       llvm::cl::init(false)};
  Option<bool> chainOnly{*this, "chain-only", llvm::cl::desc("Leave attn.sdpa to the flash path"),
                         llvm::cl::init(false)};
  Option<bool> failOnFallback{*this, "fail-on-fallback", llvm::cl::desc("An error where an op falls back"),
                              llvm::cl::init(false)};
};

/// The options of the phases of a whole pipeline; the target of `flash` selects it.
struct PhaseOptions {
  FlashOptions flash;
  CPUOptions cpu;
  GPUOptions gpu;
  bool isGpu() const;
};
void buildPhase(mlir::OpPassManager &pm, Phase phase, const PhaseOptions &options);

/// Every attn op as linalg; the oracle runs it instead of phase Fallback.
void buildReferencePhase(mlir::OpPassManager &pm, const ReferenceOptions &options);

/// Whole pipelines, registered as --attn-to-flash, --attn-to-llvm, --attn-to-gpu and --attn-to-reference.
void buildFlashPipeline(mlir::OpPassManager &pm, const FlashOptions &options);
void buildCPUPipeline(mlir::OpPassManager &pm, const CPUOptions &options);
void buildGPUPipeline(mlir::OpPassManager &pm, const GPUOptions &options);
void buildReferencePipeline(mlir::OpPassManager &pm, const ReferenceOptions &options);

void registerPipelines();

} // namespace attn

#endif // ATTN_PIPELINES_H
