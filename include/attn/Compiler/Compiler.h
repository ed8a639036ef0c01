//===- Compiler.h - from source to artifact ---------------------*- C++ -*-===//
//
// Parse, run the phases, emit. attnc, the C API and the benchmarks are thin
// layers over this class; it holds no state beyond one compilation.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_COMPILER_COMPILER_H
#define ATTN_COMPILER_COMPILER_H

#include "attn/CodeGen/CodeGen.h"
#include "attn/CodeGen/GpuCodeGen.h"
#include "attn/Conversion/Kernels.h"
#include "attn/Pipelines.h"
#include "attn/Support/Words.h"
#include "attn/Target/TargetInfo.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <functional>

namespace mlir {
class PassManager;
}
namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace attn {
class TunedFile;

/// Which remarks are printed.
enum class RemarkFilter { None, Passed, Missed, Analysis, All };

/// What the kernel of a public function is called in C.
struct KernelName {
  std::string function; ///< empty: the only one
  std::string name;
};

struct CompileOptions {
  std::string target = "host";
  /// Of functions that are not called in C as they are in the source.
  std::vector<KernelName> names;
  bool parallel = true;
  /// Kernels of a processor take a workspace of their caller in place of heap memory.
  bool callerWorkspace = false;
  /// The materialised pipeline with intermediates in f64, instead of the flash kernels.
  bool reference = false;
  /// Of the reference pipeline: what kernels return is f64 as well, for those who compare with it.
  bool f64Outputs = false;
  /// Where the reference pipeline runs: intermediates in the types of the ops themselves, as an unfused chain would.
  bool unfused = false;
  bool failOnFallback = false;
  /// A few of LLVM's passes for code on the processor, which runs once: it takes longer to optimise than to run.
  bool isQuick = false;
  /// Code for a processor with AVX2 of what is lowered for the target: this one lacks the target's vectors.
  bool emulatesVectors = false;
  /// Finds attention in linalg; false compiles it as it is written.
  bool raise = true;
  /// Fields of the schedules, as "query_tile=64 key_tile=32"; the policy chooses the others.
  std::string schedule;
  /// Schedules by problem line, for those who compile problem lines; their own `schedule` is empty.
  std::shared_ptr<const TunedFile> tuned;
  RemarkFilter remarks = RemarkFilter::None;
  /// LLVM's names of features that code for the target does without.
  llvm::SmallVector<std::string> disabledFeatures;
  /// Of GPU targets: where ptxas is (empty: searched), and whether an object also carries machine code where it is.
  std::string ptxas;
  bool embedCubin = true;
  /// Of GPU targets: PTX instead of what the kernels become; the host's side stays what the source says.
  std::optional<std::string> ptx;
  /// A folder where machine code is kept by what LLVM makes it from, for later compilations; empty for none.
  std::string objectCache;
  std::string dumpDirectory; ///< IR after each phase, numbered; empty for none
  /// Asked between passes, from threads of the compilation: true ends it as failed. Empty for never.
  std::function<bool()> isCancelled;
};

/// What of a module is translated: all of it; all but the argument check, which LoadedObject has; or the halves that a
/// bundle is made of (Bundle.h).
enum class ModulePart { Whole, ForThisProcess, Variant, Entries };

/// One GPU kernel that an entry starts. Sizes that only the call knows are kDynamic.
struct GpuLaunch {
  std::string kernel;
  int64_t grid[3], block[3], sharedBytes;
  llvm::SmallVector<std::string> parameters; ///< MLIR's types
  std::optional<KernelResources> resources;  ///< where ptxas was there
  std::string target = {};                   ///< of an object with code for several; empty for one
};

/// What the header and the manifest say of one kernel.
struct Kernel {
  std::string name;
  llvm::SmallVector<KernelArgument> arguments;
  llvm::SmallVector<std::string> sizes;    ///< names of the dynamic sizes, which the plain entry takes last
  llvm::SmallVector<SizeFormula> formulas; ///< of each of them; empty where an argument says it
  llvm::SmallVector<SizeLimit> limits;
  std::string path; ///< "flash", "reference", or "mixed" where an op of a chain could not be fused
  /// Of a pair that attn-differentiate has made: "forward" or "backward", and the name of both; otherwise empty.
  std::string kind, pair;
  std::string onnx; ///< of a model: "node", "graph" or "part"; otherwise empty
  /// The words of its only attn.sdpa; empty where there is none or more than one.
  WordValues words;
  int64_t inputBits = 0;       ///< of f32 significands that its products take; 0 for all (InstructionInfo)
  bool isGpu = false;          ///< its entries take a workspace and a stream
  bool takesWorkspace = false; ///< of a processor: its entries take a workspace
  /// Of a processor: bytes of heap memory at most, negative where only a call's sizes say them; none before phase
  /// vector.
  std::optional<int64_t> heapBytes;
  /// Of a processor: bytes of stack that a thread needs; known when a file of the kernel has been emitted.
  std::optional<int64_t> stackBytes;
  std::vector<GpuLaunch> launches; ///< of GPU targets, from phase nvvm on
  /// Of a library: the problem line, and the words of it that a call names.
  std::string problem, features;
};

/// One compilation. Diagnostics and remarks go to `diagnostics`, with source locations.
class Compiler {
public:
  /// Fails where the target is unknown.
  static llvm::Expected<std::unique_ptr<Compiler>> create(const CompileOptions &options,
                                                          llvm::raw_ostream &diagnostics);
  ~Compiler();

  /// Parses MLIR; the errors, with line and column, are in the diagnostics.
  mlir::LogicalResult parse(std::unique_ptr<llvm::MemoryBuffer> source);

  /// Runs the phases up to and including `last`.
  mlir::LogicalResult run(Phase last = Phase::Llvm);

  /// The code of one gpu.module, from phase nvvm on.
  struct GpuImage {
    std::string name; ///< of the gpu.module
    std::string ptx, cubin;
  };
  /// PTX, and machine code where it is wanted and ptxas is there (with `needsCubin` an error where it is not), of all
  /// kernels; their resources go to the descriptions.
  llvm::Expected<std::vector<GpuImage>> emitImages(bool needsCubin = false);
  /// The LLVM IR of all GPU kernels, as text.
  llvm::Expected<std::string> printGpuIR();

  /// Translates to LLVM IR (after phase llvm), not yet optimised: all, with the argument check linked in and the code
  /// of GPU kernels, whose host side this is; the kernels of a variant, whose symbols end in `suffix`; or the checked
  /// entries.
  std::unique_ptr<llvm::Module> translate(llvm::LLVMContext &context, ModulePart part = ModulePart::Whole,
                                          llvm::StringRef suffix = "");

  /// How the object target's machine code is made of it.
  EmitOptions getEmitOptions() const;
  /// The file that all of it becomes, as bytes: translate, then compileModule.
  llvm::Expected<std::string> emit(FileKind kind, ModulePart part = ModulePart::Whole);

  mlir::ModuleOp getModule() { return *module; }
  const TargetInfo &getTarget() const { return target; }
  /// What objects are made for: the target, or the lowest x86-64 level for the host side of a GPU.
  const TargetInfo &getObjectTarget() const { return objectTarget; }
  const CompileOptions &getOptions() const { return options; }
  /// Whether the caller ended it; its results are then no kernels.
  bool isCancelled() const { return options.isCancelled && options.isCancelled(); }
  /// Known from phase fuse on.
  llvm::ArrayRef<Kernel> getKernels() const { return kernels; }
  /// Writes down what `compileModule` has found; `suffix` is that of a variant.
  void noteStack(const StackBytes &stackBytes, llvm::StringRef suffix = "");

private:
  Compiler(const CompileOptions &options, TargetInfo target, llvm::raw_ostream &diagnostics);
  bool isReference() const { return options.reference || options.unfused; }
  mlir::LogicalResult runPhase(Phase phase);
  mlir::LogicalResult runAndVerify(mlir::PassManager &pm);
  mlir::LogicalResult runReference();
  std::unique_ptr<llvm::Module> translateOnly(llvm::LLVMContext &context, const llvm::TargetMachine &machine);
  void collectProducts();
  mlir::LogicalResult checkScheduleIsUsed();
  mlir::LogicalResult dump(Phase phase, unsigned number);
  /// Behind Fuse: writes down the words of each kernel, and which run materialised in part.
  void noteKernels();
  /// Behind Fallback: reads what is written on each kernel.
  void collectKernels();
  void collectLaunches();
  /// Behind Vector: counts the buffers of each kernel that are on the heap.
  void countHeap();
  mlir::LogicalResult defineImages(llvm::Module &host);

  CompileOptions options;
  TargetInfo target, objectTarget;
  llvm::raw_ostream &diagnostics;
  llvm::SourceMgr sourceManager;
  std::unique_ptr<llvm::OptPassGate> gate; ///< of LLVM's passes, where the compilation can be cancelled
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<mlir::SourceMgrDiagnosticHandler> handler;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::SmallPtrSet<mlir::Operation *, 4> materialized; ///< functions of which a part of the chain has not fused
  std::vector<Kernel> kernels;
};

/// The C header of the kernels for a target as it describes itself, or several of them: what each argument is, and both
/// entries; then `more`. C11 and C++17.
std::string writeHeader(llvm::StringRef guard, llvm::ArrayRef<Kernel> kernels, llvm::StringRef target,
                        const CompileOptions &options, llvm::StringRef more = "");

/// The manifest as JSON.
std::string writeManifest(llvm::ArrayRef<Kernel> kernels, const TargetInfo &target, const CompileOptions &options);

} // namespace attn

#endif // ATTN_COMPILER_COMPILER_H
