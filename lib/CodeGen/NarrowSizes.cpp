//===- NarrowSizes.cpp - sizes of 64 bits for a C library of 32 -----------===//
//
// Sizes are i64 in all of attn's IR. WebAssembly compares the type of a call with that of the function.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/CodeGen/NarrowSizes.h"
#include "llvm/IR/IRBuilder.h"

using namespace llvm;

/// The argument of each function that is a size_t.
static constexpr std::pair<StringLiteral, unsigned> kFunctions[] = {
    {"malloc", 0},           {"attn_check_arguments", 5},     {"attn_describe_no_memory", 1},
    {"attn_map_weights", 3}, {"attn_describe_no_weights", 1},
};

static void narrowCall(CallBase &call, FunctionType *type, Function *callee, unsigned position) {
  IRBuilder<> b(&call);
  Type *size = type->getParamType(position);
  Value *largest = ConstantInt::get(b.getInt64Ty(), cast<IntegerType>(size)->getBitMask());
  SmallVector<Value *> arguments(call.args());
  arguments[position] = b.CreateTrunc(b.CreateBinaryIntrinsic(Intrinsic::umin, arguments[position], largest), size);
  CallInst *narrow = b.CreateCall(type, callee, arguments);
  call.replaceAllUsesWith(narrow);
  call.eraseFromParent();
}

void attn::narrowSizes(Module &module) {
  IntegerType *size = module.getDataLayout().getIntPtrType(module.getContext());
  for (auto [name, position] : kFunctions) {
    Function *wide = module.getFunction(name);
    if (!wide || !wide->isDeclaration() || wide->getFunctionType()->getParamType(position) == size)
      continue;
    SmallVector<Type *> types(wide->getFunctionType()->params());
    types[position] = size;
    auto *type = FunctionType::get(wide->getReturnType(), types, false);
    Function *narrow = Function::Create(type, wide->getLinkage(), "", module);
    narrow->takeName(wide);
    for (User *user : make_early_inc_range(wide->users()))
      narrowCall(*cast<CallBase>(user), type, narrow, position);
    wide->eraseFromParent();
  }
}
