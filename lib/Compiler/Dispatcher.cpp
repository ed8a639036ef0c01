//===- Dispatcher.cpp - the object that selects among kernels -------------===//
//
// LLVM IR for every processor of the architecture: constant tables (attn_dispatch.h; for GPU kernels attn_cuda.h), the
// code that reads them from embedded bitcode, and small functions with the names that the header declares.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Dispatcher.h"
#include "ProcessorCheck.h"
#include "SplitModule.h"
#include "attn-c/attn_dispatch.h"
#include "attn/CodeGen/CodeGen.h"
#include "attn/CodeGen/LinkBitcode.h"
#include "attn/Compiler/CheckBitcode.h"
#include "attn/Target/GpuHost.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace attn {

std::string getUseTargetName(StringRef prefix) { return (prefix + "_use_target").str(); }
std::string getTargetName(StringRef prefix) { return (prefix + "_target").str(); }
std::string getCallName(StringRef library) { return (library + "_call").str(); }
std::string getFindName(StringRef library) { return (library + "_find").str(); }

namespace {

class Dispatcher {
public:
  Dispatcher(const DispatcherSource &source, const TargetMachine &machine)
      : source(source), module("dispatch", context), b(context), pointer(b.getPtrTy()), i32(b.getInt32Ty()),
        i64(b.getInt64Ty()) {
    module.setTargetTriple(machine.getTargetTriple());
    module.setDataLayout(machine.createDataLayout());
  }

  Expected<Module *> build() {
    for (const std::string &entries : source.entries)
      if (Error error = linkBitcode(module, entries, Linker::Flags::None))
        return error;
    if (isGpu())
      for (const Kernel &kernel : source.kernels)
        defineGpuKernel(kernel);
    else
      defineProcessorKernels();
    if (!source.library.empty())
      defineLibraryFunctions();
    const Triple &triple = module.getTargetTriple();
    // Linked after their callers, so that unused functions are left out.
    for (StringRef code : {getProcessorBitcode(triple), getLibraryBitcode(triple), getCheckArgumentsBitcode(triple)})
      if (Error error = linkBitcode(module, code))
        return error;
    for (Function &function : module)
      if (function.getName().starts_with("attn_") && !function.isDeclaration()) {
        function.setLinkage(GlobalValue::InternalLinkage);
        // The object has one copy, not one for each kernel.
        function.addFnAttr(Attribute::NoInline);
      }
    std::string problem;
    raw_string_ostream os(problem);
    if (!taken.empty())
      return createStringError("expected the name '" + taken + "' to be free for the object's own function; rename it");
    if (verifyModule(module, &os))
      return createStringError("the dispatcher is not valid: " + os.str());
    return &module;
  }

private:
  bool isGpu() const { return source.variants.front().target.gpu.has_value(); }

  //===--------------------------------------------------------------------===//
  // Tables
  //===--------------------------------------------------------------------===//

  Constant *createArray(Type *type, ArrayRef<Constant *> elements) {
    return ConstantArray::get(ArrayType::get(type, elements.size()), elements);
  }

  Constant *number(int64_t value) { return ConstantInt::get(i64, value); }

  /// struct attn_library
  Constant *createLibrary() {
    SmallVector<Constant *> groups, kernels;
    for (const LibraryGroup &group : source.groups) {
      groups.push_back(ConstantStruct::getAnon({createText(module, group.features), createText(module, group.line),
                                                number(kernels.size()), number(group.kernels.size())}));
      for (const Kernel *kernel : group.kernels)
        kernels.push_back(ConstantStruct::getAnon(
            {createText(module, kernel->name), module.getFunction(getCheckedName(kernel->name)),
             module.getNamedGlobal(getSpecsName(kernel->name)), number(kernel->arguments.size())}));
    }
    Constant *groupTable = createTable(module, createArray(groups.front()->getType(), groups), "groups");
    Constant *kernelTable = createTable(module, createArray(kernels.front()->getType(), kernels), "kernels");
    return createTable(module, ConstantStruct::getAnon({groupTable, number(groups.size()), kernelTable}), "library");
  }

  //===--------------------------------------------------------------------===//
  // Functions
  //===--------------------------------------------------------------------===//

  FunctionCallee declare(StringRef name, Type *result, ArrayRef<Type *> parameters) {
    return module.getOrInsertFunction(name, FunctionType::get(result, parameters, /*isVarArg=*/false));
  }

  /// Creates an exported function with its entry block, and moves the builder there.
  Function *define(StringRef name, Type *result, ArrayRef<Type *> parameters) {
    if (module.getFunction(name))
      taken = name;
    auto *function = Function::Create(FunctionType::get(result, parameters, /*isVarArg=*/false),
                                      GlobalValue::ExternalLinkage, name, module);
    b.SetInsertPoint(BasicBlock::Create(context, "entry", function));
    return function;
  }

  static SmallVector<Value *> getArguments(Function *function) {
    return llvm::map_to_vector(function->args(), [](Argument &argument) -> Value * { return &argument; });
  }

  void defineProcessorKernels() {
    variants = createVariantTable(module, source.variants);
    for (const Kernel &kernel : source.kernels) {
      defineKernel(kernel);
      if (kernel.takesWorkspace)
        defineWorkspaceBytes(kernel);
      // Tests the processor first, then runs the tests of the entry that was compiled with the kernel.
      guardCheckedEntry(module, kernel, variants);
    }
    if (!source.library.empty())
      return defineTargetFunctions(source.library);
    for (const Kernel &kernel : source.kernels)
      defineTargetFunctions(kernel.name);
  }

  /// Declares the entry of each variant of a function.
  SmallVector<Constant *> declareVariants(Function *function) {
    SmallVector<Constant *> entries;
    for (const Variant &variant : source.variants) {
      Function *entry = Function::Create(function->getFunctionType(), GlobalValue::ExternalLinkage,
                                         getVariantName(function->getName(), variant.suffix), module);
      entry->setVisibility(GlobalValue::HiddenVisibility);
      entries.push_back(entry);
    }
    return entries;
  }

  /// variants[place](…), with the arguments of the function.
  void callVariant(Function *function, Constant *table, Value *place) {
    Value *address = b.CreateInBoundsGEP(pointer, table, b.CreateZExt(place, i64));
    CallInst *result =
        b.CreateCall(function->getFunctionType(), b.CreateLoad(pointer, address), getArguments(function));
    result->setTailCallKind(CallInst::TCK_MustTail);
    function->getReturnType()->isVoidTy() ? b.CreateRetVoid() : b.CreateRet(result);
  }

  /// kernel(…, stream): variants[select(stream)](…, stream), or the error code if none runs; the workspace is passed
  /// along.
  void defineGpuKernel(const Kernel &kernel) {
    Function *function = module.getFunction(kernel.name);
    Constant *table = createTable(module, createArray(pointer, declareVariants(function)), kernel.name + ".entries");
    auto *call = BasicBlock::Create(context, "call"), *refuse = BasicBlock::Create(context, "refuse");
    b.SetInsertPoint(BasicBlock::Create(context, "entry", function));
    call->insertInto(function);
    refuse->insertInto(function);
    FunctionCallee select = declare("attn_cuda_select_target", i32, {pointer, i64, pointer});
    Value *stream = function->getArg(function->arg_size() - 1);
    Value *place = b.CreateCall(select, {getGpuTargets(), number(source.variants.size()), stream});
    b.CreateCondBr(b.CreateICmpSLT(place, b.getInt32(0)), refuse, call);
    b.SetInsertPoint(refuse);
    b.CreateRet(b.CreateNeg(place));
    b.SetInsertPoint(call);
    callVariant(function, table, place);
    defineWorkspaceBytes(kernel);
  }

  /// kernel_workspace_bytes(…): enough for every variant. It is called before there is a stream.
  void defineWorkspaceBytes(const Kernel &kernel) {
    Function *function = module.getFunction(getWorkspaceBytesName(kernel.name));
    b.SetInsertPoint(BasicBlock::Create(context, "entry", function));
    Value *most = number(0);
    for (Constant *variant : declareVariants(function)) {
      Value *bytes = b.CreateCall(cast<Function>(variant), getArguments(function));
      most = b.CreateBinaryIntrinsic(Intrinsic::smax, most, bytes);
    }
    b.CreateRet(most);
  }

  /// struct attn_cuda_target of each variant
  Constant *getGpuTargets() {
    if (variants)
      return variants;
    SmallVector<Constant *> rows;
    for (const Variant &variant : source.variants)
      rows.push_back(ConstantStruct::getAnon({createText(module, variant.target.name),
                                              b.getInt32(variant.target.gpu->computeCapability),
                                              b.getInt32(variant.target.gpu->isExact)}));
    return variants = createTable(module, createArray(rows.front()->getType(), rows), "targets");
  }

  /// kernel(…): variants[select()](…), or a trap if no variant runs.
  void defineKernel(const Kernel &kernel) {
    Function *function = module.getFunction(kernel.name);
    Constant *table = createTable(module, createArray(pointer, declareVariants(function)), kernel.name + ".entries");
    auto *first = BasicBlock::Create(context, "entry", function);
    auto *call = BasicBlock::Create(context, "call", function);
    auto *refuse = BasicBlock::Create(context, "refuse", function);
    b.SetInsertPoint(first);
    Value *place = b.CreateCall(declare("attn_select_variant", i32, {pointer}), {variants});
    b.CreateCondBr(b.CreateICmpSLT(place, b.getInt32(0)), refuse, call);
    b.SetInsertPoint(call);
    callVariant(function, table, place);
    // An illegal instruction, as in the variant itself, but before anything is read or written.
    b.SetInsertPoint(refuse);
    b.CreateIntrinsic(Intrinsic::trap, {});
    b.CreateUnreachable();
  }

  void returnUnlessZero(Value *code, bool isNegative) {
    Function *function = b.GetInsertBlock()->getParent();
    auto *refuse = BasicBlock::Create(context, "refuse", function);
    auto *proceed = BasicBlock::Create(context, "proceed", function);
    b.CreateCondBr(b.CreateICmpEQ(code, b.getInt32(0)), proceed, refuse);
    b.SetInsertPoint(refuse);
    b.CreateRet(isNegative ? b.CreateNeg(b.CreateSExt(code, i64)) : code);
    b.SetInsertPoint(proceed);
  }

  void defineTargetFunctions(StringRef prefix) {
    Function *use = define(getUseTargetName(prefix), i32, {pointer, pointer, i64});
    FunctionCallee attnUse = declare("attn_use_target", i32, {pointer, pointer, pointer, i64});
    b.CreateRet(b.CreateCall(attnUse, {variants, use->getArg(0), use->getArg(1), use->getArg(2)}));
    define(getTargetName(prefix), pointer, {});
    b.CreateRet(b.CreateCall(declare("attn_get_target", pointer, {pointer}), {variants}));
  }

  /// Finds the kernel of a library call (features, arguments, count, …, message, size) in a function that returns a
  /// code; with `isNegative`, a negated one.
  Value *findKernel(Function *function, bool isNegative = false) {
    FunctionCallee find = declare("attn_find_kernel", i32, {pointer, pointer, pointer, i64, pointer, pointer, i64});
    Value *place = b.CreateAlloca(pointer);
    unsigned end = function->arg_size();
    Value *code = b.CreateCall(find, {library, function->getArg(0), function->getArg(1), function->getArg(2), place,
                                      function->getArg(end - 2), function->getArg(end - 1)});
    returnUnlessZero(code, isNegative);
    return b.CreateLoad(pointer, place);
  }

  Value *loadField(Value *kernel, unsigned field) {
    auto *type = StructType::get(context, {pointer, pointer, pointer, i64});
    return b.CreateLoad(pointer, b.CreateStructGEP(type, kernel, field));
  }

  /// find(features, arguments, count, &name, message, size) and call(features, arguments, count, message, size); for
  /// GPU kernels call(features, arguments, count, workspace, bytes, stream, message, size)
  void defineLibraryFunctions() {
    library = createLibrary();
    Function *find = define(getFindName(source.library), i32, {pointer, pointer, i64, pointer, pointer, i64});
    Value *kernel = findKernel(find);
    b.CreateStore(loadField(kernel, 0), find->getArg(3));
    b.CreateRet(b.getInt32(0));

    SmallVector<Type *> types = {pointer, i64};
    if (isGpu())
      types.append({pointer, i64, pointer});
    types.append({pointer, i64});
    auto *entryType = FunctionType::get(i32, types, /*isVarArg=*/false);
    types.insert(types.begin(), pointer);
    Function *call = define(getCallName(source.library), i32, types);
    kernel = findKernel(call);
    b.CreateRet(b.CreateCall(entryType, loadField(kernel, 1), ArrayRef(getArguments(call)).drop_front()));
    if (isGpu())
      defineLibraryWorkspace();
  }

  /// workspace_bytes(features, arguments, count, message, size): bytes, or a negated code
  void defineLibraryWorkspace() {
    Function *function = define(getWorkspaceBytesName(source.library), i64, {pointer, pointer, i64, pointer, i64});
    Value *kernel = findKernel(function, /*isNegative=*/true);
    auto *end = BasicBlock::Create(context, "none", function);
    new UnreachableInst(context, end);
    // The address of its checked entry identifies a kernel.
    auto *type = FunctionType::get(i64, {pointer, i64, pointer, i64}, /*isVarArg=*/false);
    for (const Kernel &each : source.kernels) {
      auto *found = BasicBlock::Create(context, "found", function),
           *next = BasicBlock::Create(context, "next", function);
      Function *entry = module.getFunction(getCheckedName(each.name));
      b.CreateCondBr(b.CreateICmpEQ(loadField(kernel, 1), entry), found, next);
      b.SetInsertPoint(found);
      Function *bytes = module.getFunction(getCheckedName(getWorkspaceBytesName(each.name)));
      b.CreateRet(b.CreateCall(type, bytes, ArrayRef(getArguments(function)).drop_front()));
      b.SetInsertPoint(next);
    }
    b.CreateBr(end);
  }

  const DispatcherSource &source;
  LLVMContext context;
  Module module;
  IRBuilder<> b;
  Type *pointer, *i32, *i64;
  Constant *variants = nullptr, *library = nullptr; ///< tables
  std::string taken;                                ///< a name that a kernel already has
};

} // namespace

Expected<std::string> compileDispatcher(const DispatcherSource &source) {
  const TargetInfo &first = source.variants.front().target;
  Expected<TargetInfo> target = first.gpu ? getGpuHost() : TargetInfo::get(first.getLowestName());
  if (!target)
    return target.takeError();
  Expected<std::unique_ptr<TargetMachine>> machine = createTargetMachine(*target);
  if (!machine)
    return machine.takeError();
  Dispatcher dispatcher(source, **machine);
  Expected<Module *> module = dispatcher.build();
  if (!module)
    return module.takeError();
  return compileModule(**module, *target, FileKind::Object, {.vectorizeLoops = false});
}

} // namespace attn
