//===- Compiler.h - from source to artifact ---------------------*- C++ -*-===//
//
// Parse, run the phases, emit. attnc, the C API and the benchmarks are thin layers over this class; it has no state
// beyond one compilation.
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
struct Weights;
class TunedFile;

/// Which remarks are printed.
enum class RemarkFilter { None, Passed, Missed, Analysis, All };

/// The C name of the kernel of a public function.
struct KernelName {
  std::string function; ///< empty: the only one
  std::string name;
};

/// One remark: why a decision was taken, at its place in the source.
struct RemarkRecord {
  std::string file;              ///< or the name of a model's node, without a line
  unsigned line = 0, column = 0; ///< 0 where the source has no place for it
  llvm::StringRef kind;          ///< "passed", "missed" or "analysis"
  std::string code, text, function;
};

struct CompileOptions {
  std::string target = "host";
  /// Functions whose C name differs from that in the source.
  std::vector<KernelName> names;
  bool parallel = true;
  /// Kernels of a processor take a workspace from their caller instead of using heap memory.
  bool callerWorkspace = false;
  /// The materialised pipeline with intermediates in f64, instead of the flash kernels.
  bool reference = false;
  /// For the reference pipeline: results of kernels are f64 as well, for comparisons.
  bool f64Outputs = false;
  /// For the reference pipeline: intermediates have the types of the ops, as in an unfused chain.
  bool unfused = false;
  bool failOnFallback = false;
  /// Large constants of kernels of a processor stand in a file that the program maps (Compiler::writeWeights).
  bool mapsWeights = false;
  /// Only a few LLVM passes, for host code that runs once: optimising takes longer than running it.
  bool isQuick = false;
  /// Generates code for a processor with AVX2 from what is lowered for the target: this processor lacks the target's
  /// vectors.
  bool emulatesVectors = false;
  /// Finds attention in linalg; false compiles it as written.
  bool raise = true;
  /// Fields of the schedules, as "query_tile=64 key_tile=32"; the policy chooses the others.
  std::string schedule;
  /// Schedules by problem line, for clients that compile problem lines; then `schedule` is empty.
  std::shared_ptr<const TunedFile> tuned;
  RemarkFilter remarks = RemarkFilter::None;
  /// LLVM's names of features that code for the target must not use.
  llvm::SmallVector<std::string> disabledFeatures;
  /// For GPU targets: the path of ptxas (empty: searched), and whether an object also contains machine code, if ptxas
  /// exists.
  std::string ptxas;
  bool embedCubin = true;
  /// For GPU targets: PTX that replaces the kernels; the host code is still that of the source.
  std::optional<std::string> ptx;
  /// A folder where machine code is kept by what LLVM makes it from, for later compilations; empty for none.
  std::string objectCache;
  std::string dumpDirectory; ///< IR after each phase, numbered; empty for none
  /// Called with the IR after each phase, and with each remark, which then is not printed. Empty for never.
  std::function<void(Phase phase, mlir::ModuleOp module)> onPhase;
  std::function<void(const RemarkRecord &remark)> onRemark;
  /// Polled between passes by threads of the compilation: true makes it fail. Empty for never.
  std::function<bool()> isCancelled;
};

/// The part of a module that is translated: all of it; all but the argument check, which LoadedObject has; or the
/// halves of a bundle (Bundle.h).
enum class ModulePart { Whole, ForThisProcess, Variant, Entries };

/// One GPU kernel that an entry launches. Sizes known only at run time are kDynamic.
struct GpuLaunch {
  std::string kernel;
  int64_t grid[3], block[3], sharedBytes;
  llvm::SmallVector<std::string> parameters; ///< MLIR's types
  std::optional<KernelResources> resources;  ///< if ptxas was found
  std::string target = {};                   ///< in an object with code for several; empty for one
};

/// The facts about one kernel in header and manifest.
struct Kernel {
  std::string name;
  llvm::SmallVector<KernelArgument> arguments;
  llvm::SmallVector<std::string> sizes;    ///< names of the dynamic sizes, which the plain entry takes last
  llvm::SmallVector<SizeFormula> formulas; ///< of each of them; empty where an argument has it
  llvm::SmallVector<SizeLimit> limits;
  std::string path; ///< "flash", "reference", or "mixed" if an op of a chain could not be fused
  /// For a pair from attn-differentiate: "forward" or "backward", and the name of both; otherwise empty.
  std::string kind, pair;
  std::string onnx; ///< of a model: "node", "graph" or "part"; otherwise empty
  /// The words of its only attn.sdpa; empty if there is none or more than one.
  WordValues words;
  int64_t inputBits = 0;       ///< of f32 significands that its products use; 0 for all (InstructionInfo)
  bool isGpu = false;          ///< its entries take a workspace and a stream
  bool takesWorkspace = false; ///< for a processor: its entries take a workspace
  /// For a processor: the most bytes of heap memory, negative where it depends on run-time sizes; none before phase
  /// vector.
  std::optional<int64_t> heapBytes;
  /// For a processor: bytes of stack that a thread needs; known once a file of the kernel has been emitted.
  std::optional<int64_t> stackBytes;
  uint64_t weightsBytes = 0;       ///< of the file of weights; 0 where they are in the object
  std::vector<GpuLaunch> launches; ///< for GPU targets, from phase nvvm on
  /// In a library: the problem line, and its words that a call names.
  std::string problem, features;
};

/// One compilation. Diagnostics and remarks go to `diagnostics`, with source locations.
class Compiler {
public:
  /// Fails where the target is unknown.
  static llvm::Expected<std::unique_ptr<Compiler>> create(const CompileOptions &options,
                                                          llvm::raw_ostream &diagnostics);
  ~Compiler();

  /// Parses MLIR; errors, with line and column, are in the diagnostics.
  mlir::LogicalResult parse(std::unique_ptr<llvm::MemoryBuffer> source);

  /// Runs the phases up to and including `last`.
  mlir::LogicalResult run(Phase last = Phase::Llvm);

  /// The code of one gpu.module, from phase nvvm on.
  struct GpuImage {
    std::string name; ///< of the gpu.module
    std::string ptx, cubin;
  };
  /// PTX of all kernels, and machine code if it is requested and ptxas exists (with `needsCubin` an error if it does
  /// not); their resources are added to the descriptions.
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

  /// The file of weights that the object's kernels map, from phase llvm on, where the options ask for one.
  void writeWeights(llvm::raw_ostream &os) const;

  mlir::ModuleOp getModule() { return *module; }
  const TargetInfo &getTarget() const { return target; }
  /// The target of objects: the target itself, or the lowest x86-64 level for the host code of a GPU.
  const TargetInfo &getObjectTarget() const { return objectTarget; }
  const CompileOptions &getOptions() const { return options; }
  /// True if the caller has cancelled the compilation; its results are then not kernels.
  bool isCancelled() const { return options.isCancelled && options.isCancelled(); }
  /// Available from phase fuse on.
  llvm::ArrayRef<Kernel> getKernels() const { return kernels; }
  /// Records the results of `compileModule`; `suffix` is that of a variant.
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
  /// After Fuse: records the words of each kernel, and which ones run partly materialised.
  void noteKernels();
  /// After Fallback: reads the records of each kernel.
  void collectKernels();
  void collectLaunches();
  /// After Vector: counts the heap buffers of each kernel.
  void countHeap();
  mlir::LogicalResult defineImages(llvm::Module &host);
  /// After Llvm: takes large constants out of the module.
  mlir::LogicalResult moveWeights();

  CompileOptions options;
  TargetInfo target, objectTarget;
  llvm::raw_ostream &diagnostics;
  llvm::SourceMgr sourceManager;
  std::unique_ptr<llvm::OptPassGate> gate; ///< of LLVM's passes, if the compilation can be cancelled
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<mlir::SourceMgrDiagnosticHandler> handler;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::SmallPtrSet<mlir::Operation *, 4> materialized; ///< functions with a part of a chain that was not fused
  std::vector<Kernel> kernels;
  std::unique_ptr<Weights> weights;
};

/// The C header of the kernels for one or more targets as they describe themselves: each argument and both entries;
/// then `more`. C11 and C++17.
std::string writeHeader(llvm::StringRef guard, llvm::ArrayRef<Kernel> kernels, llvm::StringRef target,
                        const CompileOptions &options, llvm::StringRef more = "");

/// The manifest as JSON.
std::string writeManifest(llvm::ArrayRef<Kernel> kernels, const TargetInfo &target, const CompileOptions &options);

} // namespace attn

#endif // ATTN_COMPILER_COMPILER_H
