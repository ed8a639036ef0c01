//===- CodeGen.cpp - LLVM IR to object, assembly and memory ---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/CodeGen/CodeGen.h"
#include "ConstantBytes.h"
#include "ConvertHalves.h"
#include "NarrowFloats.h"
#include "ObjectCache.h"
#include "SplitParts.h"
#include "attn-c/attn_cuda.h"
#include "attn-c/attn_dispatch.h"
#include "attn-c/attn_runtime.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include <mutex>

using namespace llvm;

#if defined(__x86_64__)
// Functions of libgcc that code calls on a processor without f16. Only their addresses are used.
extern "C" {
void __extendhfsf2();
void __truncdfhf2();
void __truncsfhf2();
}
#endif

namespace attn {

/// For code that runs once: passes that make it shorter, or improve its innermost loops. The rest of -O1 takes longer
/// than it saves.
static constexpr StringLiteral kQuickPasses =
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,loop-mssa(licm))";

static void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
#define INITIALIZE(TARGET)                                                                                             \
  LLVMInitialize##TARGET##TargetInfo();                                                                                \
  LLVMInitialize##TARGET##Target();                                                                                    \
  LLVMInitialize##TARGET##TargetMC();                                                                                  \
  LLVMInitialize##TARGET##AsmPrinter();                                                                                \
  LLVMInitialize##TARGET##AsmParser()
    INITIALIZE(X86);
    INITIALIZE(AArch64);
    INITIALIZE(RISCV);
    INITIALIZE(WebAssembly);
#undef INITIALIZE
  });
}

Expected<std::unique_ptr<TargetMachine>> createTargetMachine(const TargetInfo &target) {
  initializeTargets();
  std::string error;
  Triple triple(target.triple);
  const Target *backend = TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return createStringError("this LLVM has no code generator for " + target.triple + ": " + error);
  TargetOptions options;
  options.UseInitArray = true; // the section in which today's C libraries look for constructors
  // Position-independent modules of WebAssembly need a dynamic linker.
  Reloc::Model relocations = triple.isWasm() ? Reloc::Static : Reloc::PIC_;
  std::unique_ptr<TargetMachine> machine(backend->createTargetMachine(
      triple, target.cpu, target.features, options, relocations, std::nullopt, CodeGenOptLevel::Aggressive));
  if (!machine)
    return createStringError("LLVM refuses the target '" + target.describe() + "'");
  return machine;
}

/// Lets LLVM round multiply-adds twice, where the target has no instruction and no function that rounds once.
static void contractMultiplyAdds(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<IntrinsicInst>(&instruction); call && call->getIntrinsicID() == Intrinsic::fma)
        call->setCalledFunction(Intrinsic::getOrInsertDeclaration(&module, Intrinsic::fmuladd, call->getType()));
}

/// What LLVM's passes read of the target in the module itself.
static void prepareModule(Module &module, const TargetInfo &target) {
  if (target.contracts)
    contractMultiplyAdds(module);
  moveNarrowFloatsAsIntegers(module);
  // LLVM 22 does not come to an end on some vectors of f16 for WebAssembly.
  if (module.getTargetTriple().isWasm())
    convertHalves(module);
  makeConstantsBytes(module);
  std::string width = std::to_string(target.vectorBits);
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    if (function.hasFnAttribute("target-cpu")) // a baseline target
      continue;
    function.addFnAttr("target-cpu", target.cpu);
    if (!target.features.empty())
      function.addFnAttr("target-features", target.features);
    if (target.gpu)
      continue;
    // Kernel vectors have the width of TargetInfo. LLVM tunes some processors for half of it and would split them.
    if (target.sveBits)
      function.addFnAttr(
          Attribute::getWithVScaleRangeArgs(module.getContext(), target.sveBits / 128, target.sveBits / 128));
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("min-legal-vector-width", width);
  }
}

static void runPasses(Module &module, TargetMachine &machine, const EmitOptions &options) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager sccs;
  ModuleAnalysisManager modules;
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = options.vectorizeLoops;
  tuning.SLPVectorization = options.vectorizeLoops;
  // The pass gate of the module's context lets a caller skip passes.
  OptPassGateInstrumentation gate(module.getContext());
  PassInstrumentationCallbacks callbacks;
  gate.registerCallbacks(callbacks);
  PassBuilder builder(&machine, tuning, /*PGOOpt=*/std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  ModulePassManager passes;
  if (options.isQuick)
    cantFail(builder.parsePassPipeline(passes, kQuickPasses));
  else
    passes = builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3);
  passes.run(module, modules);
}

Error optimizeModule(Module &module, const TargetInfo &target, const EmitOptions &options) {
  Expected<std::unique_ptr<TargetMachine>> machine = createTargetMachine(target);
  if (!machine)
    return machine.takeError();
  prepareModule(module, target);
  runPasses(module, **machine, options);
  return Error::success();
}

namespace {
/// LLVM reports a frame that is larger than a function's attribute allows; here, every frame.
class FrameSizes : public DiagnosticHandler {
public:
  static std::unique_ptr<DiagnosticHandler> create(Module &module, StackBytes &frames) {
    for (Function &function : module)
      if (!function.isDeclaration())
        function.addFnAttr("warn-stack-size", "0");
    auto handler = std::make_unique<FrameSizes>();
    handler->frames = &frames;
    return handler;
  }

  bool handleDiagnostics(const DiagnosticInfo &info) override {
    const auto *frame = dyn_cast<DiagnosticInfoStackSize>(&info);
    if (frame)
      (*frames)[frame->getFunction().getName()] = frame->getStackSize();
    return frame != nullptr;
  }

private:
  StackBytes *frames = nullptr;
};

/// The functions of a module that each of its functions references.
using References = StringMap<SmallVector<std::string, 2>>;
} // namespace

static References findReferences(const Module &module) {
  References references;
  for (const Function &function : module) {
    if (function.isDeclaration())
      continue;
    SmallVector<std::string, 2> &others = references[function.getName()];
    for (const Instruction &instruction : instructions(function))
      for (const Use &operand : instruction.operands())
        if (const auto *other = dyn_cast<Function>(operand); other && !other->isDeclaration())
          others.push_back(other->getName().str());
  }
  return references;
}

/// The stack of a function: its frame and return address, and the deepest of the functions it references. Kernels have
/// no recursion.
static int64_t findDepth(StringRef function, const References &references, const StackBytes &frames,
                         unsigned addressBytes, StackBytes &depths) {
  auto [entry, isNew] = depths.try_emplace(function, 0);
  if (!isNew)
    return entry->second;
  int64_t deepest = 0;
  for (const std::string &other : references.find(function)->second)
    deepest = std::max(deepest, findDepth(other, references, frames, addressBytes, depths));
  return depths[function] = frames.lookup(function) + addressBytes + deepest;
}

static void findDepths(const References &references, const StackBytes &frames, const Module &module,
                       StackBytes &depths) {
  for (const auto &entry : references)
    findDepth(entry.getKey(), references, frames, module.getDataLayout().getPointerSize(), depths);
}

/// Machine code of a module, and the frames of its functions.
static Expected<std::string> emitWithFrames(Module &module, TargetMachine &machine, FileKind kind, StackBytes *frames) {
  SmallVector<char, 0> bytes;
  raw_svector_ostream stream(bytes);
  legacy::PassManager passes;
  CodeGenFileType type = kind == FileKind::Object ? CodeGenFileType::ObjectFile : CodeGenFileType::AssemblyFile;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    return createStringError("LLVM cannot emit this kind of file for the target");
  if (frames)
    module.getContext().setDiagnosticHandler(FrameSizes::create(module, *frames));
  passes.run(module);
  if (frames)
    module.getContext().setDiagnosticHandler(std::make_unique<DiagnosticHandler>());
  return std::string(bytes.data(), bytes.size());
}

Expected<std::string> emitFile(Module &module, TargetMachine &machine, FileKind kind, StackBytes *stackBytes) {
  StackBytes frames;
  Expected<std::string> bytes = emitWithFrames(module, machine, kind, stackBytes ? &frames : nullptr);
  if (bytes && stackBytes)
    findDepths(findReferences(module), frames, module, *stackBytes);
  return bytes;
}

static void optimizeFor(Module &module, TargetMachine &machine, const EmitOptions &options) {
  runPasses(module, machine, options);
  if (options.isQuick)
    machine.setOptLevel(CodeGenOptLevel::Less);
}

/// One part of a module, in a thread.
static Error compilePart(StringRef bitcode, const TargetInfo &target, const EmitOptions &options, OptPassGate &gate,
                         std::string &object, StackBytes &frames) {
  LLVMContext context;
  if (gate.isEnabled())
    context.setOptPassGate(gate);
  Expected<std::unique_ptr<Module>> part = parseBitcodeFile(MemoryBufferRef(bitcode, "part"), context);
  if (!part)
    return part.takeError();
  Expected<std::unique_ptr<TargetMachine>> machine = createTargetMachine(target);
  if (!machine)
    return machine.takeError();
  optimizeFor(**part, **machine, options);
  return emitWithFrames(**part, **machine, FileKind::Object, &frames).moveInto(object);
}

/// The object of a module of which `parts` have been taken; this thread compiles what is left.
static Expected<std::string> compileParts(Module &module, TargetMachine &machine, ArrayRef<std::string> parts,
                                          const TargetInfo &target, const EmitOptions &options, StackBytes &frames) {
  std::vector<std::string> objects(parts.size() + 1), errors(parts.size());
  std::vector<StackBytes> others(parts.size());
  OptPassGate &gate = module.getContext().getOptPassGate();
  DefaultThreadPool pool;
  for (size_t i = 0; i < parts.size(); ++i)
    pool.async(
        [&, i] { errors[i] = toString(compilePart(parts[i], target, options, gate, objects[i + 1], others[i])); });
  optimizeFor(module, machine, options);
  Error error = emitWithFrames(module, machine, FileKind::Object, &frames).moveInto(objects[0]);
  pool.wait();
  if (error)
    return std::move(error);
  for (const std::string &message : errors)
    if (!message.empty())
      return createStringError(message);
  for (const StackBytes &other : others)
    for (const auto &entry : other)
      frames.insert({entry.getKey(), entry.getValue()});
  return mergeObjects(objects);
}

Expected<std::string> compileModule(Module &module, const TargetInfo &target, FileKind kind, const EmitOptions &options,
                                    StackBytes *stackBytes) {
  Expected<std::unique_ptr<TargetMachine>> machine = createTargetMachine(target);
  if (!machine)
    return machine.takeError();
  prepareModule(module, target);
  std::optional<CachedObject> cached;
  if (!options.objectCache.empty()) {
    cached.emplace(options.objectCache, module, **machine,
                   ArrayRef<bool>({kind == FileKind::Object, options.vectorizeLoops, options.isSplit, options.isQuick,
                                   !!stackBytes}));
    if (std::optional<std::string> bytes = cached->read(stackBytes))
      return std::move(*bytes);
  }
  bool isSplit = options.isSplit && kind == FileKind::Object && module.getTargetTriple().isOSBinFormatELF();
  References references = isSplit && stackBytes ? findReferences(module) : References();
  std::vector<std::string> parts = isSplit ? splitParts(module) : std::vector<std::string>();
  Expected<std::string> bytes = std::string();
  if (parts.empty()) {
    optimizeFor(module, **machine, options);
    bytes = emitFile(module, **machine, kind, stackBytes);
  } else {
    StackBytes frames;
    bytes = compileParts(module, **machine, parts, target, options, frames);
    if (bytes && stackBytes)
      findDepths(references, frames, module, *stackBytes);
  }
  // A caller that has cancelled it by the gate has left passes out.
  OptPassGate &gate = module.getContext().getOptPassGate();
  if (bytes && cached && (!gate.isEnabled() || gate.shouldRunPass("cache", "module")))
    cached->write(*bytes, stackBytes ? *stackBytes : StackBytes());
  return bytes;
}

//===----------------------------------------------------------------------===//
// In memory
//===----------------------------------------------------------------------===//

LoadedObject::LoadedObject(std::unique_ptr<orc::LLJIT> jit, std::shared_ptr<const std::string> missing)
    : missing(std::move(missing)), jit(std::move(jit)) {}
LoadedObject::~LoadedObject() = default;

Expected<std::unique_ptr<LoadedObject>> LoadedObject::load(StringRef object) {
  initializeTargets();
  Expected<std::unique_ptr<orc::LLJIT>> jit = orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  (void)attn_request_tiles(); // ORC does not run constructors of objects
  auto missing = std::make_shared<std::string>();
  (*jit)->getExecutionSession().setErrorReporter([missing](Error error) {
    handleAllErrors(
        std::move(error),
        [&](const orc::SymbolsNotFound &found) {
          for (const orc::SymbolStringPtr &name : found.getSymbols())
            *missing += ((missing->empty() ? "'" : ", '") + *name + "'").str();
        },
        [](const ErrorInfoBase &) {});
  });
  orc::JITDylib &library = (*jit)->getMainJITDylib();
  // Our own copy of the runtime takes precedence over anything that the process has loaded. libgcc may be loaded
  // without its symbols being visible: a host such as Python keeps symbols of its libraries local.
  orc::SymbolMap runtime;
  auto define = [&](StringRef name, auto *function) {
    runtime[(*jit)->mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(function), JITSymbolFlags::Exported};
  };
  define("attn_parallel_for", &attn_parallel_for);
  // Compiling it with each kernel would take longer than a small kernel.
  define("attn_check_arguments", &attn_check_arguments);
  define("attn_get_stride", &attn_get_stride);
  define("attn_describe_no_memory", &attn_describe_no_memory);
  define("attn_cuda_encode_map", &attn_cuda_encode_map);
  define("attn_cuda_launch", &attn_cuda_launch);
  define("attn_cuda_launch_dependent", &attn_cuda_launch_dependent);
  define("attn_cuda_launch_persistent", &attn_cuda_launch_persistent);
  define("attn_cuda_check_workspace", &attn_cuda_check_workspace);
  define("attn_cuda_copy_message", &attn_cuda_copy_message);
#if defined(__x86_64__)
  define("__extendhfsf2", &__extendhfsf2);
  define("__truncdfhf2", &__truncdfhf2);
  define("__truncsfhf2", &__truncsfhf2);
#endif
  if (Error error = library.define(orc::absoluteSymbols(std::move(runtime))))
    return error;
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess((*jit)->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  library.addGenerator(std::move(*process));
  if (Error error = (*jit)->addObjectFile(MemoryBuffer::getMemBufferCopy(object, "kernel.o")))
    return error;
  return std::unique_ptr<LoadedObject>(new LoadedObject(std::move(*jit), std::move(missing)));
}

Expected<void *> LoadedObject::lookup(StringRef symbol) const {
  Expected<orc::ExecutorAddr> address = jit->lookup(symbol);
  if (!address && !missing->empty()) {
    consumeError(address.takeError());
    return createStringError("expected each function that is called to have a body or to be in this process, found " +
                             *missing + " missing; write a body, or emit an object and link it");
  }
  if (!address)
    return address.takeError();
  return address->toPtr<void *>();
}

} // namespace attn
