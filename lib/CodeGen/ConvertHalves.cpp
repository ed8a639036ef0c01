//===- ConvertHalves.cpp - conversions of f16 by integers -----------------===//
//
// The formulas are those of runtime/WebLibrary.c.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ConvertHalves.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"

using namespace llvm;

/// f16 to f32: the exponent of 5 bits is moved by a product with 2^112, which makes normal numbers of denormal ones.
static Value *widen(IRBuilder<> &b, Value *half, Type *bits16, Type *bits32, Type *single) {
  Value *all = b.CreateZExt(b.CreateBitCast(half, bits16), bits32);
  auto number = [&](uint32_t value) { return ConstantInt::get(bits32, value); };
  Value *magnitude = b.CreateShl(b.CreateAnd(all, number(0x7fff)), 13);
  Value *moved = b.CreateFMul(b.CreateBitCast(magnitude, single), ConstantFP::get(single, 0x1p112));
  Value *bits = b.CreateSelect(b.CreateICmpUGE(magnitude, number(0x0f800000)),
                               b.CreateOr(magnitude, number(0x7f800000)), b.CreateBitCast(moved, bits32));
  return b.CreateBitCast(b.CreateOr(bits, b.CreateShl(b.CreateAnd(all, number(0x8000)), 16)), single);
}

/// f32 to f16, to nearest, ties to even.
static Value *narrow(IRBuilder<> &b, Value *number, Type *half, Type *bits16, Type *bits32) {
  auto constant = [&](uint32_t value) { return ConstantInt::get(bits32, value); };
  Value *all = b.CreateBitCast(number, bits32), *magnitude = b.CreateAnd(all, constant(0x7fffffff));
  Value *sign = b.CreateAnd(b.CreateLShr(all, 16), constant(0x8000));
  Value *last = b.CreateAnd(b.CreateLShr(magnitude, 13), constant(1));
  // From 2^-14 on: half of the last place, less where that is even; the exponent's bias is 112 smaller.
  Value *normal = b.CreateLShr(b.CreateAdd(b.CreateAdd(magnitude, last), constant(0xfff - 0x38000000)), 13);
  // Below: the sum with 1/2 has the bits of a denormal number in its last place.
  Type *single = number->getType();
  Value *sum = b.CreateFAdd(b.CreateBitCast(magnitude, single), ConstantFP::get(single, 0.5));
  Value *denormal = b.CreateSub(b.CreateBitCast(sum, bits32), constant(0x3f000000));
  Value *result = b.CreateSelect(b.CreateICmpULT(magnitude, constant(0x38800000)), denormal, normal);
  // From 2^16 on infinity; NaN keeps the first bits of its payload.
  Value *payload = b.CreateAnd(b.CreateLShr(magnitude, 13), constant(0x3ff));
  Value *isNan = b.CreateICmpUGT(magnitude, constant(0x7f800000));
  Value *special = b.CreateSelect(isNan, b.CreateOr(payload, constant(0x7e00)), constant(0x7c00));
  result = b.CreateSelect(b.CreateICmpUGE(magnitude, constant(0x47800000)), special, result);
  return b.CreateBitCast(b.CreateTrunc(b.CreateOr(result, sign), bits16), half);
}

void attn::convertHalves(Module &module) {
  SmallVector<CastInst *> casts;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      auto *cast = dyn_cast<CastInst>(&instruction);
      bool isWidened = isa<FPExtInst>(instruction) && cast->getSrcTy()->getScalarType()->isHalfTy();
      bool isNarrowed = isa<FPTruncInst>(instruction) && cast->getDestTy()->getScalarType()->isHalfTy() &&
                        cast->getSrcTy()->getScalarType()->isFloatTy();
      if (isWidened || isNarrowed)
        casts.push_back(cast);
    }
  for (CastInst *cast : casts) {
    IRBuilder<> b(cast);
    Type *from = cast->getSrcTy(), *to = cast->getDestTy();
    Type *bits16 = from->getWithNewType(b.getInt16Ty()), *bits32 = from->getWithNewType(b.getInt32Ty());
    Type *single = from->getWithNewType(b.getFloatTy());
    Value *result = isa<FPExtInst>(cast) ? b.CreateFPExt(widen(b, cast->getOperand(0), bits16, bits32, single), to)
                                         : narrow(b, cast->getOperand(0), to, bits16, bits32);
    cast->replaceAllUsesWith(result);
    cast->eraseFromParent();
  }
}
