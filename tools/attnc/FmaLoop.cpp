//===- FmaLoop.cpp - the code whose speed is the ceiling ------------------===//
//
// A loop of independent vector multiply-adds in registers, built for the same
// target as the kernels.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attnc.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// double fma_peak(i64 rounds): kFmaChains chains of x = x * a + b, `rounds` times; returns an element so that none is
/// dead. Without FMA instructions a multiplication and an addition count as the two operations they are.
static void buildLoop(Module &module, const TargetInfo &target, unsigned bits) {
  LLVMContext &context = module.getContext();
  IRBuilder<> b(context);
  Type *element = bits == 64 ? b.getDoubleTy() : b.getFloatTy();
  auto *vector = FixedVectorType::get(element, target.getLanes(bits));
  auto *function = Function::Create(FunctionType::get(b.getDoubleTy(), {b.getInt64Ty()}, false),
                                    GlobalValue::ExternalLinkage, "fma_peak", module);
  BasicBlock *entry = BasicBlock::Create(context, "entry", function),
             *loop = BasicBlock::Create(context, "loop", function),
             *exit = BasicBlock::Create(context, "exit", function);
  b.SetInsertPoint(entry);
  // Of the order of one and neither growing nor vanishing; read from a volatile so that nothing is folded.
  Value *slot = b.CreateAlloca(element);
  b.CreateStore(ConstantFP::get(element, 0.999), slot, /*isVolatile=*/true);
  Value *factor = b.CreateVectorSplat(vector->getNumElements(), b.CreateLoad(element, slot, /*isVolatile=*/true));
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  PHINode *round = b.CreatePHI(b.getInt64Ty(), 2);
  round->addIncoming(b.getInt64(0), entry);
  SmallVector<PHINode *> chains;
  for (int i = 0; i < kFmaChains; ++i) {
    chains.push_back(b.CreatePHI(vector, 2));
    chains.back()->addIncoming(ConstantFP::get(vector, 0.1 * i), entry);
  }
  SmallVector<Value *> next;
  for (PHINode *chain : chains) {
    Value *value = target.hasFma ? b.CreateIntrinsic(Intrinsic::fma, {vector}, {chain, factor, factor})
                                 : b.CreateFAdd(b.CreateFMul(chain, factor), factor);
    chain->addIncoming(value, loop);
    next.push_back(value);
  }
  Value *following = b.CreateAdd(round, b.getInt64(1));
  round->addIncoming(following, loop);
  b.CreateCondBr(b.CreateICmpSLT(following, function->getArg(0)), loop, exit);
  b.SetInsertPoint(exit);
  Value *sum = next.front();
  for (Value *value : ArrayRef(next).drop_front())
    sum = b.CreateFAdd(sum, value);
  b.CreateRet(b.CreateFPCast(b.CreateExtractElement(sum, uint64_t(0)), b.getDoubleTy()));
}

Expected<std::unique_ptr<LoadedObject>> driver::compileFmaLoop(const TargetInfo &target, unsigned bits) {
  Expected<std::unique_ptr<TargetMachine>> machine = createTargetMachine(target);
  if (!machine)
    return machine.takeError();
  LLVMContext context;
  Module module("fma_peak", context);
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());
  buildLoop(module, target, bits);
  optimizeModule(module, target, **machine);
  Expected<SmallVector<char, 0>> object = emitFile(module, **machine, FileKind::Object);
  if (!object)
    return object.takeError();
  return LoadedObject::load(StringRef(object->data(), object->size()));
}
