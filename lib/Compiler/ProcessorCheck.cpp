//===- ProcessorCheck.cpp - tests the processor first ---------------------===//
//
// A checked entry reports the features that the processor lacks before any other instruction of its target runs. This
// holds for an object with one target, and for one that selects among several.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ProcessorCheck.h"
#include "attn-c/attn_dispatch.h"
#include "attn/CodeGen/LinkBitcode.h"
#include "attn/Compiler/CheckBitcode.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace attn {

/// Priority of a constructor.
static constexpr int kAnyPriority = 65535;

GlobalVariable *createTable(Module &module, Constant *value, const Twine &name) {
  auto *table = new GlobalVariable(module, value->getType(), /*isConstant=*/true, GlobalValue::InternalLinkage, value,
                                   "attn." + name);
  table->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
  return table;
}

Constant *createText(Module &module, StringRef text) {
  return createTable(module, ConstantDataArray::getString(module.getContext(), text, /*AddNull=*/true), "text");
}

Constant *createVariantTable(Module &module, ArrayRef<Variant> variants) {
  LLVMContext &context = module.getContext();
  Type *i32 = Type::getInt32Ty(context), *i64 = Type::getInt64Ty(context);
  auto *words = ArrayType::get(i64, ATTN_FEATURE_WORDS);
  auto *variant = StructType::get(context, {PointerType::get(context, 0), words});
  SmallVector<Constant *> rows;
  for (const Variant &each : variants) {
    SmallVector<Constant *> features;
    for (uint64_t word : each.features)
      features.push_back(ConstantInt::get(i64, word));
    rows.push_back(
        ConstantStruct::get(variant, {createText(module, each.target.name), ConstantArray::get(words, features)}));
  }
  auto *chosen = new GlobalVariable(module, i32, /*isConstant=*/false, GlobalValue::InternalLinkage,
                                    ConstantInt::get(i32, 0), "attn.chosen");
  Constant *list = createTable(module, ConstantArray::get(ArrayType::get(variant, rows.size()), rows), "variant_list");
  return createTable(module, ConstantStruct::getAnon({chosen, list, ConstantInt::get(i64, variants.size())}),
                     "variants");
}

Function *guardCheckedEntry(Module &module, const Kernel &kernel, Constant *variants) {
  std::string name = getCheckedName(kernel.name);
  Function *inner = module.getFunction(name);
  inner->setName(kernel.name + ".arguments_checked");
  inner->setLinkage(GlobalValue::InternalLinkage);
  Function *entry = Function::Create(inner->getFunctionType(), GlobalValue::ExternalLinkage, name, module);
  inner->replaceAllUsesWith(entry);
  IRBuilder<> b(BasicBlock::Create(module.getContext(), "entry", entry));
  Type *pointer = b.getPtrTy();
  FunctionCallee check = module.getOrInsertFunction(
      "attn_check_processor", FunctionType::get(b.getInt32Ty(), {pointer, pointer, b.getInt64Ty()}, false));
  Value *code =
      b.CreateCall(check, {variants, entry->getArg(entry->arg_size() - 2), entry->getArg(entry->arg_size() - 1)});
  auto *refuse = BasicBlock::Create(module.getContext(), "refuse", entry);
  auto *proceed = BasicBlock::Create(module.getContext(), "proceed", entry);
  b.CreateCondBr(b.CreateICmpEQ(code, b.getInt32(0)), proceed, refuse);
  b.SetInsertPoint(refuse);
  b.CreateRet(code);
  b.SetInsertPoint(proceed);
  SmallVector<Value *> arguments = llvm::map_to_vector(entry->args(), [](Argument &x) -> Value * { return &x; });
  b.CreateRet(b.CreateCall(inner, arguments));
  return entry;
}

/// Compiles it for any processor of the architecture, whatever the target of the rest of the module. No function of the
/// rest may inline it.
static void setLowestTarget(Function &function, const TargetInfo &lowest) {
  function.addFnAttr("target-cpu", lowest.cpu);
  // LLVM's processor has what the lowest target has, but not on RISC-V.
  function.addFnAttr("target-features", Triple(lowest.triple).isRISCV() ? lowest.features : "");
  function.addFnAttr(Attribute::NoInline);
}

/// True for code with tiles, which LLVM generates only from intrinsics.
static bool usesTiles(const Module &module) {
  return llvm::any_of(module, [](const Function &function) { return function.getName().starts_with("llvm.x86.tile"); });
}

/// The plain entry makes no tests, so an object with tiles requests them when it is loaded.
static void requestTilesAtStart(Module &module) {
  Type *code = Type::getInt32Ty(module.getContext());
  FunctionCallee request = module.getOrInsertFunction("attn_request_tiles", FunctionType::get(code, false));
  auto *type = FunctionType::get(Type::getVoidTy(module.getContext()), false);
  Function *start = Function::Create(type, GlobalValue::InternalLinkage, "attn.request_tiles", module);
  IRBuilder<> b(BasicBlock::Create(module.getContext(), "entry", start));
  b.CreateCall(request);
  b.CreateRetVoid();
  appendToGlobalCtors(module, start, kAnyPriority);
}

Error addProcessorCheck(Module &module, const TargetInfo &target, ArrayRef<Kernel> kernels) {
  Variant variant = createVariant(target);
  variant.target.name = target.describe(); // another machine reads the features it needs
  auto hasEntry = [&](const Kernel &kernel) { return module.getFunction(getCheckedName(kernel.name)) != nullptr; };
  bool isNeeded = llvm::any_of(variant.features, [](uint64_t word) { return word != 0; });
  if (target.gpu || !isNeeded || llvm::none_of(kernels, hasEntry))
    return Error::success();
  llvm::DenseSet<Function *> others;
  for (Function &function : module)
    others.insert(&function);
  if (usesTiles(module))
    requestTilesAtStart(module);
  Constant *variants = createVariantTable(module, variant);
  for (const Kernel &kernel : kernels)
    if (hasEntry(kernel))
      guardCheckedEntry(module, kernel, variants);
  if (Error error = linkBitcode(module, getProcessorBitcode(module.getTargetTriple())))
    return error;
  TargetInfo lowest = cantFail(TargetInfo::get(target.getLowestName()));
  for (Function &function : module) {
    if (function.isDeclaration() || others.contains(&function))
      continue;
    setLowestTarget(function, lowest);
    if (function.getName().starts_with("attn_"))
      function.setLinkage(GlobalValue::InternalLinkage);
  }
  return Error::success();
}

} // namespace attn
