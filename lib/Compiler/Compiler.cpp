//===- Compiler.cpp - from source to artifact -----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Compiler/Compiler.h"
#include "Cancellation.h"
#include "NameKernels.h"
#include "RemarkPrinter.h"
#include "Weights.h"
#include "attn/CodeGen/CodeGen.h"
#include "attn/IR/Attn.h"
#include "attn/InitAll.h"
#include "attn/Onnx/Onnx.h"
#include "attn/Raise/Raise.h"
#include "attn/Support/ForeignDialects.h"
#include "attn/Support/Nesting.h"
#include "attn/Support/OutputFile.h"
#include "attn/Support/Text.h"
#include "attn/Target/GpuHost.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Analysis/CallGraph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace attn;

Compiler::Compiler(const CompileOptions &options, TargetInfo target, llvm::raw_ostream &diagnostics)
    : options(options), target(std::move(target)), objectTarget(this->target), diagnostics(diagnostics) {
  if (this->target.gpu)
    objectTarget = getGpuHost();
  else if (options.emulatesVectors)
    objectTarget = getEmulatedTarget(this->target);
  DialectRegistry registry;
  registerAllDialects(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  // One kernel is one function, so threads would only add start-up cost.
  context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  // The source location is enough; the whole op in the middle of the pipeline would obscure it.
  context->printOpOnDiagnostic(false);
  handler = std::make_unique<SourceMgrDiagnosticHandler>(sourceManager, context.get(), diagnostics);
  if (options.isCancelled) {
    skipPassesWhen(options.isCancelled, *context);
    gate = std::make_unique<CancellationGate>(options.isCancelled);
  }
}

Compiler::~Compiler() = default;

llvm::Expected<std::unique_ptr<Compiler>> Compiler::create(const CompileOptions &options,
                                                           llvm::raw_ostream &diagnostics) {
  llvm::Expected<TargetInfo> target = TargetInfo::get(options.target);
  if (!target)
    return target.takeError();
  if (target->gpu && (options.reference || options.unfused))
    return llvm::createStringError("expected a processor as target of the reference pipeline, found '" +
                                   options.target + "'; write --target=host");
  for (const std::string &feature : options.disabledFeatures)
    target->features += (target->features.empty() ? "-" : ",-") + feature;
  std::unique_ptr<Compiler> compiler(new Compiler(options, std::move(*target), diagnostics));
  auto print = [&diagnostics](const RemarkRecord &remark) { printRemark(diagnostics, remark); };
  if (failed(enableRemarks(*compiler->context, options.remarks, options.onRemark ? options.onRemark : print)))
    return llvm::createStringError("remarks cannot be enabled");
  return compiler;
}

/// Bufferisation processes functions in call order.
static LogicalResult checkCalls(ModuleOp module) {
  CallGraph graph(module);
  for (auto component = llvm::scc_begin<const CallGraph *>(&graph); !component.isAtEnd(); ++component)
    if (component.hasCycle())
      return component->front()->getCallableRegion()->getParentOp()->emitError(
          "expected functions that do not call themselves, found a circle of calls");
  return success();
}

/// Warns of calls that are left to the linker, which does not know types: a tensor is several arguments there.
static void warnOfExternalCalls(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isExternal() && llvm::any_of(function.getArgumentTypes(), llvm::IsaPred<ShapedType>) &&
        !SymbolTable::symbolKnownUseEmpty(function, module))
      function.emitWarning() << "'" << function.getName()
                             << "' has no body here; link one that takes tensors as MLIR's memref descriptors in parts";
}

/// Reports the reader's notes on model nodes that did not become kernels.
static LogicalResult reportNodes(ModuleOp module, bool failOnFallback) {
  for (auto [name, outcome, reason] :
       {std::tuple(kSkippedAttr, RemarkOutcome::Analysis, StringRef("node-skipped")),
        std::tuple(kRefusedAttr, RemarkOutcome::Missed, StringRef("attention-refused"))}) {
    auto notes = dyn_cast_or_null<ArrayAttr>(module->removeAttr(name));
    if (!notes)
      continue;
    for (Attribute entry : notes) {
      auto note = dyn_cast<StringAttr>(entry);
      if (!note)
        continue;
      emitRemark(module, outcome, reason) << note.getValue();
      if (outcome == RemarkOutcome::Missed && failOnFallback)
        return module.emitError(note.getValue());
    }
  }
  return success();
}

LogicalResult Compiler::parse(std::unique_ptr<llvm::MemoryBuffer> source) {
  std::string name = source->getBufferIdentifier().str();
  if (StringRef text = dropByteOrderMark(source->getBuffer()); text.size() != source->getBufferSize())
    source = llvm::MemoryBuffer::getMemBufferCopy(text, name);
  if (llvm::Error error = checkNesting(*source)) {
    diagnostics << llvm::toString(std::move(error)) << "\n";
    return failure();
  }
  StringRef text = source->getBuffer();
  sourceManager.AddNewSourceBuffer(std::move(source), llvm::SMLoc());
  context->allowUnregisteredDialects(holdsForeignAttention(text));
  module = parseSourceFile<ModuleOp>(sourceManager, context.get());
  if (!module) {
    if (std::string note = explainForeignDialect(text, name); !note.empty())
      diagnostics << name << ": " << note << "\n";
    return failure();
  }
  // A public function, or a kernel that an earlier run has lowered to the LLVM dialect.
  auto isKernel = [](Operation &op) {
    auto function = dyn_cast<func::FuncOp>(op);
    return (function && function.isPublic() && !function.isExternal()) || op.hasAttr(kArgumentsAttr);
  };
  if (llvm::none_of(*module->getBody(), isKernel)) {
    diagnostics << name << ": error: expected at least one public func.func with a body, found no kernel\n";
    return failure();
  }
  warnOfExternalCalls(*module);
  return failure(failed(reportNodes(*module, options.failOnFallback)) || failed(nameKernels(*module, options.names)) ||
                 failed(checkCalls(*module)));
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

LogicalResult Compiler::dump(Phase phase, unsigned number) {
  if (options.dumpDirectory.empty())
    return success();
  if (std::error_code error = llvm::sys::fs::create_directories(options.dumpDirectory)) {
    diagnostics << "error: cannot create '" << options.dumpDirectory << "': " << error.message() << "\n";
    return failure();
  }
  llvm::SmallString<128> path(options.dumpDirectory);
  llvm::sys::path::append(path, llvm::formatv("{0:02}-{1}.mlir", number, getPhaseName(phase)).str());
  if (llvm::Error error = writeOutputFile(path, [&](llvm::raw_ostream &os) { module->print(os); })) {
    diagnostics << "error: " << llvm::toString(std::move(error)) << "\n";
    return failure();
  }
  return success();
}

static bool hasTensors(Operation *root) {
  auto isTensor = llvm::IsaPred<TensorType>;
  return root
      ->walk([&](Operation *op) {
        return llvm::any_of(op->getOperandTypes(), isTensor) || llvm::any_of(op->getResultTypes(), isTensor)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// True where an earlier run has already inserted deallocations: inserting them again is refused.
static bool isBufferized(ModuleOp module) {
  return !hasTensors(module) &&
         module->walk([](memref::DeallocOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// A kernel that an earlier run has lowered has no semantics but its code: compared with itself, it would always be
/// right.
static LogicalResult checkHasReference(ModuleOp module) {
  for (Operation &function : *module.getBody())
    if (auto path = function.getAttrOfType<StringAttr>(kPathAttr);
        path && path.getValue() != "reference" && !hasTensors(&function))
      return function.emitError("expected ops on tensors for the reference pipeline, found a kernel that is lowered "
                                "already; take the file that it was made from, or IR of phase tile or before");
  return success();
}

/// Verifies once per phase, not after each pass: that would be a sixth of the compile time.
LogicalResult Compiler::runAndVerify(PassManager &pm) {
  return failure(failed(pm.run(*module)) || isCancelled() || failed(verify(*module)));
}

LogicalResult Compiler::runPhase(Phase phase) {
  PassManager pm(context.get());
  pm.enableVerifier(false);
  PhaseOptions phases;
  FlashOptions &flash = phases.flash;
  flash.target = options.target;
  flash.schedule = options.schedule;
  flash.kernels = flash.allFunctions = true;
  flash.failOnFallback = options.failOnFallback;
  flash.raise = options.raise && !isReference(); // the oracle runs the source as written
  phases.cpu.target = options.target;
  phases.cpu.parallel = options.parallel;
  phases.cpu.workspace = options.callerWorkspace;
  phases.cpu.deallocate = !isBufferized(*module);
  phases.gpu.target = options.target;
  // A driver emits kernels, so their callees are inlined, to be fused and tiled along with them. The pipelines also run
  // in other compilers, and keep private functions.
  if (phase == Phase::Canonicalize) {
    pm.addNestedPass<func::FuncOp>(createImportForeignPass()); // the inliner refuses unregistered ops
    pm.addPass(createInlinerPass({}, [](OpPassManager &) {}));
    pm.addPass(createSymbolDCEPass());
  }
  buildPhase(pm, phase, phases);
  return runAndVerify(pm);
}

LogicalResult Compiler::runReference() {
  PassManager pm(context.get());
  pm.enableVerifier(false);
  ReferenceOptions reference;
  reference.computeType = options.unfused ? "" : "f64";
  reference.f64Outputs = options.f64Outputs;
  buildReferencePhase(pm, reference);
  if (failed(runAndVerify(pm)))
    return failure();
  for (Kernel &kernel : kernels)
    kernel.arguments = getKernelArguments(module->lookupSymbol(kernel.name)); // some outputs have become f64
  return success();
}

LogicalResult Compiler::run(Phase last) {
  if (isReference() && failed(checkHasReference(*module)))
    return failure();
  unsigned number = 0; // of the phases of this target
  for (Phase phase : getAllPhases()) {
    if (phase > last)
      break;
    if (!hasPhase(phase, target.gpu.has_value()))
      continue;
    // The reference path takes one step from canonicalize to bufferize, where the others fall back.
    if (isReference() && phase > Phase::Canonicalize && isFlashPhase(phase)) {
      if (phase == Phase::Fallback && failed(runReference()))
        return failure();
    } else if (!(phase == Phase::Bufferize && isBufferized(*module)) && failed(runPhase(phase))) {
      return failure();
    }
    if (phase == Phase::Fuse)
      noteKernels(); // while the ops with the words still exist
    if (phase == Phase::Fallback)
      collectKernels();
    if (phase == Phase::Tile)
      collectProducts();
    if (phase == Phase::Nvvm)
      collectLaunches();
    if (phase == Phase::Vector)
      countHeap();
    if (phase == Phase::Llvm && options.mapsWeights && failed(moveWeights()))
      return failure();
    if (phase == Phase::Fuse && !options.schedule.empty() && failed(checkScheduleIsUsed()))
      return failure();
    if (options.onPhase)
      options.onPhase(phase, *module);
    if (failed(dump(phase, number++)))
      return failure();
  }
  return success();
}

/// A schedule by hand without any use is a mistake.
LogicalResult Compiler::checkScheduleIsUsed() {
  bool hasSdpa = false;
  module->walk([&](SdpaOp) { hasSdpa = true; });
  if (hasSdpa)
    return success();
  return emitError(module->getLoc(),
                   "expected an attn.sdpa, or a chain that becomes one, for the schedule; found none");
}
