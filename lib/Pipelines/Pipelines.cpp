//===- Pipelines.cpp - one function per phase -----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Phases.h"
#include "attn/Conversion/Passes.h"
#include "attn/Raise/Raise.h"
#include "attn/Target/TargetInfo.h"
#include "attn/Transforms/Passes.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/BufferizationToMemRef/BufferizationToMemRef.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace attn {

/// A cache line, and the widest vector.
static constexpr unsigned kBufferAlignment = 64;

static void addVerification(OpPassManager &pm, Phase phase) {
  pm.addNestedPass<func::FuncOp>(createVerifyPhasePass({getPhaseName(phase).str()}));
}

/// The first pass that reads an unknown target refuses it.
static bool isGpuTarget(StringRef name) {
  llvm::Expected<TargetInfo> info = TargetInfo::get(name);
  if (info)
    return info->gpu.has_value();
  llvm::consumeError(info.takeError());
  return false;
}

/// Without the simplification of regions, which takes a third of the time: patterns of structured ops and LLVM do that.
std::unique_ptr<Pass> createCanonicalizer() {
  return mlir::createCanonicalizerPass(
      GreedyRewriteConfig().setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled));
}

bool PhaseOptions::isGpu() const { return isGpuTarget(flash.target); }

static void addCanonicalization(OpPassManager &pm, const FlashOptions &options) {
  pm.addNestedPass<func::FuncOp>(createImportForeignPass());
  pm.addNestedPass<func::FuncOp>(createMemrefToTensorPass());
  pm.addNestedPass<func::FuncOp>(createLowerTosaPass());
  pm.addNestedPass<func::FuncOp>(createBoundPositionsPass()); // of the regions in user code
  // Gradients are defined on attn ops, so where one is requested, attention is raised whatever `raise` is.
  RaisePassOptions gradients;
  gradients.gradientsOnly = true;
  pm.addNestedPass<func::FuncOp>(createRaisePass(gradients));
  pm.addPass(createDifferentiatePass()); // each of the two functions is a kernel
  // On user code: arith and math on tensors become linalg ops whose destinations are their operands.
  if (options.kernels)
    pm.addPass(createDescribeKernelsPass({options.allFunctions}));
  pm.addNestedPass<func::FuncOp>(createDefineDivisionPass());
  pm.addNestedPass<func::FuncOp>(createConvertElementwiseToLinalgPass());
  if (options.raise) {
    RaisePassOptions raise;
    raise.failOnFallback = options.failOnFallback;
    pm.addNestedPass<func::FuncOp>(createRaisePass(raise));
  }
  pm.addNestedPass<func::FuncOp>(createExpandLayersPass());
  pm.addNestedPass<func::FuncOp>(createCanonicalizePass());
  addVerification(pm, Phase::Canonicalize);
}

static void buildCanonicalizePhase(OpPassManager &pm, const PhaseOptions &options) {
  addCanonicalization(pm, options.flash);
}

static void buildFusePhase(OpPassManager &pm, const PhaseOptions &) {
  pm.addNestedPass<func::FuncOp>(createFusePass());
  pm.addNestedPass<func::FuncOp>(createCanonicalizePass());
}

static void buildFallbackPhase(OpPassManager &pm, const PhaseOptions &options) {
  if (!options.isGpu())
    pm.addNestedPass<func::FuncOp>(createTileChainPass({options.flash.target}));
  pm.addNestedPass<func::FuncOp>(createLowerToReferencePass(
      {/*computeType=*/"", /*chainOnly=*/true, options.flash.failOnFallback, options.isGpu()}));
  addVerification(pm, Phase::Fallback);
}

static void buildAnalyzeMaskPhase(OpPassManager &pm, const PhaseOptions &options) {
  // Runs before masks become regions, as regions use the starts of sequences. A schedule by hand is for the whole
  // kernel.
  if (!options.isGpu() && options.flash.schedule.empty())
    pm.addNestedPass<func::FuncOp>(createSpecializeSequencesPass({options.flash.target}));
  pm.addNestedPass<func::FuncOp>(createAnalyzeMaskPass());
  addVerification(pm, Phase::AnalyzeMask);
}

static void buildSelectSchedulePhase(OpPassManager &pm, const PhaseOptions &phase) {
  const FlashOptions &options = phase.flash;
  if (phase.isGpu()) {
    pm.addNestedPass<func::FuncOp>(createPadKeySumsPass());
    pm.addNestedPass<func::FuncOp>(createSplitAccumulationPass());
    pm.addNestedPass<func::FuncOp>(createSplitValuesPass({options.target}));
  }
  // A schedule by hand is for the whole kernel.
  else if (options.schedule.empty()) {
    pm.addNestedPass<func::FuncOp>(createSpecializeQueriesPass({options.target}));
    pm.addNestedPass<func::FuncOp>(createSpecializeStridesPass({options.target}));
  }
  pm.addNestedPass<func::FuncOp>(createSelectSchedulePass({options.target}));
  if (!options.schedule.empty())
    pm.addNestedPass<func::FuncOp>(createOverrideSchedulePass({options.target, options.schedule}));
  addVerification(pm, Phase::SelectSchedule);
}

static void buildOnlinePhase(OpPassManager &pm, const PhaseOptions &) {
  pm.addNestedPass<func::FuncOp>(createConvertToOnlinePass());
  addVerification(pm, Phase::Online);
}

static void buildTilePhase(OpPassManager &pm, const PhaseOptions &) {
  pm.addNestedPass<func::FuncOp>(createTilePass());
  pm.addPass(createCanonicalizer());
  pm.addPass(createCSEPass()); // leaves one of equal steps, before they have prefetches
  pm.addNestedPass<func::FuncOp>(createAddPrefetchesPass());
  pm.addPass(createCSEPass());
  addVerification(pm, Phase::Tile);
}

void buildReferencePhase(OpPassManager &pm, const ReferenceOptions &options) {
  bool isF64 = options.computeType == "f64";
  if (isF64)
    pm.addNestedPass<func::FuncOp>(createWidenFloatsPass({options.f64Outputs}));
  pm.addNestedPass<func::FuncOp>(
      createLowerToReferencePass({options.computeType, options.chainOnly, options.failOnFallback, /*gpu=*/false}));
  if (isF64)
    pm.addNestedPass<func::FuncOp>(createConvertElementwiseToLinalgPass()); // for casts of tensors
}

/// On a GPU, buffers between kernels stay allocations: they become parts of the workspace.
static void buildBufferizePhase(OpPassManager &pm, const PhaseOptions &options) {
  pm.addNestedPass<func::FuncOp>(createDefineDivisionPass()); // for tiles in the input
  // On a GPU each elementwise op is a kernel, and constants have no memory on the device.
  pm.addNestedPass<func::FuncOp>(createFuseElementwisePass({/*chains=*/!options.isGpu()}));
  if (!options.isGpu()) {
    pm.addNestedPass<func::FuncOp>(createTileMatmulPass({options.cpu.target}));
    pm.addNestedPass<func::FuncOp>(createPackWeightsPass());
  }
  pm.addPass(createBindDestinationsPass());
  pm.addPass(bufferization::createEmptyTensorEliminationPass());
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  bufferize.functionBoundaryTypeConversion = bufferization::LayoutMapOption::IdentityLayoutMap;
  bufferize.allowReturnAllocsFromLoops = true;
  bufferize.bufferAlignment = kBufferAlignment;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  pm.addPass(createCanonicalizer());
  pm.addNestedPass<func::FuncOp>(createPromoteBuffersPass({/*tilesOnly=*/options.isGpu()}));
  pm.addPass(createCSEPass());
  addVerification(pm, Phase::Bufferize);
}

static void buildVectorPhase(OpPassManager &pm, const PhaseOptions &phase) {
  const CPUOptions &options = phase.cpu;
  pm.addNestedPass<func::FuncOp>(createTileLinearPass({options.target}));
  pm.addPass(createOutlineRegionsPass({/*repeats=*/true})); // those of equal layers are lowered once
  pm.addPass(createMergeFunctionsPass());
  pm.addNestedPass<func::FuncOp>(createLowerTileToVectorPass({options.target}));
  pm.addPass(createOutlineRegionsPass()); // before constants are folded into the captures of equal regions
  pm.addPass(createMergeFunctionsPass());
  pm.addNestedPass<func::FuncOp>(createLowerMatmulToVectorPass({options.target}));
  pm.addNestedPass<func::FuncOp>(createLowerCopiesPass());
  pm.addNestedPass<func::FuncOp>(createLowerElementwiseToVectorPass({options.target}));
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  // Expands functions that neither LLVM nor the C library has, and user arithmetic on 16-bit types.
  math::MathExpandOpsPassOptions functions;
  functions.opMnemonics = {"clampf", "fpowi"};
  pm.addNestedPass<func::FuncOp>(math::createMathExpandOpsPass(functions));
  pm.addNestedPass<func::FuncOp>(math::createMathExtendToSupportedTypes());
  arith::ArithEmulateUnsupportedFloatsOptions emulate;
  emulate.sourceTypeStrs = {"bf16"};
  pm.addNestedPass<func::FuncOp>(arith::createArithEmulateUnsupportedFloats(emulate));
  // bf16 in integer arithmetic: few targets convert it, and not every C library does.
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  pm.addNestedPass<func::FuncOp>(arith::createArithExpandOpsPass(expand));
  // After the attn ops: deallocation refuses ops with several regions.
  if (options.deallocate)
    pm.addPass(createDeallocateBuffersPass());
  pm.addPass(createConvertBufferizationToMemRefPass()); // clones of buffers that a function may not own
  // Parallel loops of users become serial here, so that their buffers share stack space.
  pm.addNestedPass<func::FuncOp>(mlir::createParallelForToNestedForsPass());
  pm.addPass(createOutlineParallelPass({options.parallel}));
  pm.addPass(createMergeFunctionsPass());
  pm.addPass(createCanonicalizer());
  pm.addPass(createCSEPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
  addVerification(pm, Phase::Vector);
}

static void buildGpuPhase(OpPassManager &pm, const PhaseOptions &options) {
  pm.addPass(createCanonicalizer()); // bufferisation leaves copies of a slice onto itself
  pm.addPass(createMapToGpuPass({options.gpu.target}));
  pm.addPass(createVerifyPhasePass({getPhaseName(Phase::Gpu).str()}));
}

/// Kernels between tiles and threads: copies, waits and products as ops.
static void buildStepsPhase(OpPassManager &pm, const PhaseOptions &options) {
  OpPassManager &kernels = pm.nest<gpu::GPUModuleOp>();
  kernels.addPass(createDecomposeStepPass());
  kernels.addPass(createPipelineCopiesPass());
  kernels.addPass(createCanonicalizer());
  kernels.addPass(createCSEPass());
  kernels.addPass(createTilesToRegistersPass());
  pm.addPass(createSpecializeWarpsPass({options.gpu.target}));
  pm.nest<gpu::GPUModuleOp>().addPass(createExchangeGradientsPass());
  pm.nest<gpu::GPUModuleOp>().addPass(createOverlapProductsPass());
  pm.addPass(createMakePersistentPass());
  pm.addNestedPass<gpu::GPUModuleOp>(createSplitRolesPass());
  pm.addNestedPass<gpu::GPUModuleOp>(createVerifyPhasePass({getPhaseName(Phase::Steps).str()}));
}

static void buildNvvmPhase(OpPassManager &pm, const PhaseOptions &options) {
  OpPassManager &kernels = pm.nest<gpu::GPUModuleOp>();
  // Expands functions of regions to those that attn-lower-tile-to-nvvm approximates, in f32.
  math::MathExpandOpsPassOptions functions;
  functions.opMnemonics = {"tan", "sinh", "cosh", "asinh", "acosh", "atanh", "powf", "fpowi", "clampf"};
  kernels.addPass(math::createMathExpandOpsPass(functions));
  kernels.addPass(math::createMathExtendToSupportedTypes());
  kernels.addPass(createLowerTileToNvvmPass({options.gpu.target}));
  kernels.addPass(createCanonicalizer());
  kernels.addPass(createCSEPass());
  kernels.addPass(createLowerAffinePass());
  kernels.addPass(createSCFToControlFlowPass());
  kernels.addPass(createLowerViewsPass());
  kernels.addPass(createLowerAffinePass());
  kernels.addPass(createConvertVectorToLLVMPass());
  kernels.addPass(createConvertToLLVMPass());
  kernels.addPass(createReconcileUnrealizedCastsPass());
  kernels.addPass(createCanonicalizer());
  kernels.addPass(createCSEPass());
  addVerification(pm, Phase::Nvvm); // host functions; kernels are LLVM dialect, or translation refuses them
}

//===----------------------------------------------------------------------===//
// The phases in order
//===----------------------------------------------------------------------===//

namespace {
/// The targets that have a phase, and the registered pipelines that contain it.
enum class Way { Flash, Both, CPU, GPU };

struct PhaseInfo {
  Phase phase;
  llvm::StringLiteral name;
  Way way;
  void (*build)(OpPassManager &pm, const PhaseOptions &options);
};
} // namespace

static constexpr PhaseInfo kPhases[] = {
    {Phase::Input, "input", Way::Flash, [](OpPassManager &, const PhaseOptions &) {}},
    {Phase::Canonicalize, "canonicalize", Way::Flash, buildCanonicalizePhase},
    {Phase::Fuse, "fuse", Way::Flash, buildFusePhase},
    {Phase::Fallback, "fallback", Way::Flash, buildFallbackPhase},
    {Phase::AnalyzeMask, "analyze-mask", Way::Flash, buildAnalyzeMaskPhase},
    {Phase::SelectSchedule, "select-schedule", Way::Flash, buildSelectSchedulePhase},
    {Phase::Online, "online", Way::Flash, buildOnlinePhase},
    {Phase::Tile, "tile", Way::Flash, buildTilePhase},
    {Phase::Bufferize, "bufferize", Way::Both, buildBufferizePhase},
    {Phase::Vector, "vector", Way::CPU, buildVectorPhase},
    {Phase::Gpu, "gpu", Way::GPU, buildGpuPhase},
    {Phase::Steps, "steps", Way::GPU, buildStepsPhase},
    {Phase::Nvvm, "nvvm", Way::GPU, buildNvvmPhase},
    {Phase::Llvm, "llvm", Way::Both, buildLlvmPhase},
};

ArrayRef<Phase> getAllPhases() {
  static const SmallVector<Phase> phases =
      llvm::map_to_vector(kPhases, [](const PhaseInfo &info) { return info.phase; });
  return phases;
}

bool isFlashPhase(Phase phase) { return kPhases[static_cast<unsigned>(phase)].way == Way::Flash; }

bool hasPhase(Phase phase, bool isGpu) {
  return kPhases[static_cast<unsigned>(phase)].way != (isGpu ? Way::CPU : Way::GPU);
}

StringRef getPhaseName(Phase phase) { return kPhases[static_cast<unsigned>(phase)].name; }

std::optional<Phase> parsePhase(StringRef name) {
  for (const PhaseInfo &info : kPhases)
    if (name == info.name)
      return info.phase;
  return std::nullopt;
}

void buildPhase(OpPassManager &pm, Phase phase, const PhaseOptions &options) {
  kPhases[static_cast<unsigned>(phase)].build(pm, options);
}

void buildFlashPipeline(OpPassManager &pm, const FlashOptions &options) {
  PhaseOptions all;
  all.flash.copyOptionValuesFrom(options);
  for (Phase phase : getAllPhases())
    if (isFlashPhase(phase))
      buildPhase(pm, phase, all);
}

/// From tiles on memrefs or tensors to the LLVM dialect.
static void buildLowering(OpPassManager &pm, PhaseOptions &options, StringRef target, bool isGpu) {
  options.flash.target = target.str();
  for (Phase phase : getAllPhases())
    if (!isFlashPhase(phase) && hasPhase(phase, isGpu)) // a pass of this pipeline refuses a target of the other kind
      buildPhase(pm, phase, options);
}

void buildCPUPipeline(OpPassManager &pm, const CPUOptions &options) {
  PhaseOptions all;
  all.cpu.copyOptionValuesFrom(options);
  buildLowering(pm, all, options.target, /*isGpu=*/false);
}

void buildGPUPipeline(OpPassManager &pm, const GPUOptions &options) {
  PhaseOptions all;
  all.gpu.copyOptionValuesFrom(options);
  buildLowering(pm, all, options.target, /*isGpu=*/true);
}

void buildReferencePipeline(OpPassManager &pm, const ReferenceOptions &options) {
  FlashOptions asWritten;
  asWritten.raise = false;
  asWritten.kernels = options.kernels;
  addCanonicalization(pm, asWritten);
  buildReferencePhase(pm, options);
}

} // namespace attn
