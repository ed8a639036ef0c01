//===- EmulateVectors.cpp - emulation of missing vector instructions ------===//
//
// Runs kernels for AVX-512 on a processor with AVX2. LLVM splits vectors; intrinsics and assembly from the lowering
// become arithmetic here. Tiles (AMX) stay, for a library that emulates them on a trap.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/CodeGen/CodeGen.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace attn {

TargetInfo getEmulatedTarget(const TargetInfo &target) {
  TargetInfo host = cantFail(TargetInfo::get("x86-64-v3"));
  if (target.hasTiles())
    host.features = "+amx-tile,+amx-bf16";
  return host;
}

/// A vector of i32 with as many elements as `type`.
static Type *getWords(IRBuilder<> &b, Type *type) { return type->getWithNewType(b.getInt32Ty()); }

/// Rounds to nearest even, and keeps a NaN quiet: (bits + 0x7fff + (bits >> 16 & 1)) >> 16.
static Value *roundToBF16(IRBuilder<> &b, Value *x, Type *result) {
  Type *words = getWords(b, x->getType());
  auto number = [&](uint32_t value) { return ConstantInt::get(words, value); };
  Value *bits = b.CreateBitCast(x, words), *upper = b.CreateLShr(bits, number(16));
  Value *odd = b.CreateAnd(upper, number(1));
  Value *rounded = b.CreateLShr(b.CreateAdd(b.CreateAdd(bits, odd), number(0x7fff)), number(16));
  Value *chosen = b.CreateSelect(b.CreateFCmpUNO(x, x), b.CreateOr(upper, number(0x40)), rounded);
  return b.CreateBitCast(b.CreateTrunc(chosen, words->getWithNewType(b.getInt16Ty())), result);
}

/// sum + odd * odd + even * even for pairs of bf16 (vdpbf16ps).
static Value *addPairs(IRBuilder<> &b, Value *sum, Value *left, Value *right) {
  Type *words = getWords(b, sum->getType());
  auto part = [&](Value *pairs, bool isOdd) {
    Value *bits = b.CreateBitCast(pairs, words);
    bits = isOdd ? b.CreateAnd(bits, ConstantInt::get(words, 0xffff0000)) : b.CreateShl(bits, 16);
    return b.CreateBitCast(bits, sum->getType());
  };
  for (bool isOdd : {true, false})
    sum = b.CreateFAdd(sum, b.CreateFMul(part(left, isOdd), part(right, isOdd)));
  return sum;
}

/// sum + four products of an unsigned and a signed byte (vpdpbusd).
static Value *addBytes(IRBuilder<> &b, Value *sum, Value *unsignedBytes, Value *signedBytes) {
  Type *words = sum->getType();
  for (unsigned byte = 0; byte < 4; ++byte) {
    auto left =
        b.CreateAnd(b.CreateLShr(b.CreateBitCast(unsignedBytes, words), 8 * byte), ConstantInt::get(words, 255));
    auto right = b.CreateAShr(b.CreateShl(b.CreateBitCast(signedBytes, words), 24 - 8 * byte), 24);
    sum = b.CreateAdd(sum, b.CreateMul(left, right));
  }
  return sum;
}

/// mask ? x : y, bit by bit.
static Value *selectBits(IRBuilder<> &b, Value *mask, Value *x, Value *y) {
  return b.CreateOr(b.CreateAnd(x, mask), b.CreateAnd(y, b.CreateNot(mask)));
}

/// x - floor(x), 0 for an infinity (vreduceps).
static Value *reduceToFraction(IRBuilder<> &b, Value *x) {
  Value *fraction = b.CreateFSub(x, b.CreateUnaryIntrinsic(Intrinsic::floor, x));
  Value *isInfinite =
      b.CreateFCmpOEQ(b.CreateUnaryIntrinsic(Intrinsic::fabs, x), ConstantFP::getInfinity(x->getType()));
  return b.CreateSelect(isInfinite, Constant::getNullValue(x->getType()), fraction);
}

/// x 2^floor(exponent) for x below 2^102, rounded once (vscalefps).
static Value *scaleByPower(IRBuilder<> &b, Value *x, Value *exponent) {
  Type *type = x->getType(), *words = getWords(b, type);
  auto number = [&](double value) { return ConstantFP::get(type, value); };
  // Two factors, as a single one may not be a normal number. A NaN takes the lower bound.
  Value *limited = b.CreateMinNum(b.CreateMaxNum(exponent, number(-252)), number(254));
  Value *all = b.CreateFPToSI(b.CreateUnaryIntrinsic(Intrinsic::floor, limited), words), *half = b.CreateAShr(all, 1);
  Value *result = x;
  for (Value *part : {half, b.CreateSub(all, half)}) {
    Value *bits = b.CreateShl(b.CreateAdd(part, ConstantInt::get(words, 127)), 23);
    result = b.CreateFMul(result, b.CreateBitCast(bits, type));
  }
  return b.CreateSelect(b.CreateFCmpUNO(exponent, exponent), exponent, result);
}

/// The replacement of an instruction; null where it stays.
static Value *emulate(IRBuilder<> &b, Instruction &instruction) {
  if (isa<FPTruncInst>(instruction) && instruction.getType()->getScalarType()->isBFloatTy() &&
      instruction.getOperand(0)->getType()->getScalarType()->isFloatTy())
    return roundToBF16(b, instruction.getOperand(0), instruction.getType());
  auto *call = dyn_cast<CallInst>(&instruction);
  if (!call)
    return nullptr;
  if (auto *code = dyn_cast<InlineAsm>(call->getCalledOperand())) {
    StringRef text = code->getAsmString();
    if (text.contains("vpdpbusd"))
      return addBytes(b, call->getArgOperand(0), call->getArgOperand(1), call->getArgOperand(2));
    if (text.starts_with("vpternlogd $$0xd8"))
      return selectBits(b, call->getArgOperand(2), call->getArgOperand(1), call->getArgOperand(0));
    return text.starts_with("vreduceps") ? reduceToFraction(b, call->getArgOperand(0)) : nullptr;
  }
  StringRef name = call->getCalledFunction() ? call->getCalledFunction()->getName() : StringRef();
  if (name.starts_with("llvm.x86.avx512bf16.cvtneps2bf16."))
    return roundToBF16(b, call->getArgOperand(0), call->getType());
  if (name.starts_with("llvm.x86.avx512bf16.dpbf16ps."))
    return addPairs(b, call->getArgOperand(0), call->getArgOperand(1), call->getArgOperand(2));
  // Unmasked, as in the lowering.
  if (name == "llvm.x86.avx512.mask.scalef.ps.512")
    return scaleByPower(b, call->getArgOperand(0), call->getArgOperand(1));
  return nullptr;
}

void emulateVectors(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function))) {
      IRBuilder<> b(&instruction);
      if (Value *value = emulate(b, instruction)) {
        instruction.replaceAllUsesWith(value);
        instruction.eraseFromParent();
      }
    }
}

} // namespace attn
