//===- NarrowFloats.cpp - 16-bit floats moved as integers -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "NarrowFloats.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

static bool isNarrowFloat(Type *type) { return type->getScalarType()->is16bitFPTy(); }

static Type *getBits(Type *type) {
  if (auto *vector = dyn_cast<VectorType>(type))
    return VectorType::getInteger(vector);
  return Type::getInt16Ty(type->getContext());
}

static bool isMasked(Instruction &instruction) {
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  return call &&
         (call->getIntrinsicID() == Intrinsic::masked_load || call->getIntrinsicID() == Intrinsic::masked_store);
}

/// True for instructions that move 16-bit floats and do not compute with them.
static bool movesNarrowFloats(Instruction &instruction) {
  if (isa<StoreInst>(instruction) ||
      (isMasked(instruction) && cast<IntrinsicInst>(instruction).getIntrinsicID() == Intrinsic::masked_store))
    return isNarrowFloat(instruction.getOperand(0)->getType());
  return isNarrowFloat(instruction.getType()) &&
         (isMasked(instruction) ||
          isa<LoadInst, SelectInst, PHINode, ShuffleVectorInst, InsertElementInst, ExtractElementInst>(instruction));
}

/// The same instruction on integers; null for a store.
static Value *moveAsIntegers(IRBuilder<> &b, Instruction *move) {
  auto toBits = [&](Value *value) {
    return isNarrowFloat(value->getType()) ? b.CreateBitCast(value, getBits(value->getType())) : value;
  };
  Type *bits = getBits(move->getType());
  if (auto *load = dyn_cast<LoadInst>(move)) {
    LoadInst *result = b.CreateAlignedLoad(bits, load->getPointerOperand(), load->getAlign(), load->isVolatile());
    result->copyMetadata(*load);
    return result;
  }
  if (auto *store = dyn_cast<StoreInst>(move)) {
    b.CreateAlignedStore(toBits(store->getValueOperand()), store->getPointerOperand(), store->getAlign(),
                         store->isVolatile())
        ->copyMetadata(*store);
    return nullptr;
  }
  if (auto *phi = dyn_cast<PHINode>(move)) {
    PHINode *result = b.CreatePHI(bits, phi->getNumIncomingValues());
    for (auto [value, block] : zip(phi->incoming_values(), phi->blocks())) {
      IRBuilder<> inBlock(block->getTerminator());
      result->addIncoming(inBlock.CreateBitCast(value, bits), block);
    }
    return result;
  }
  if (isa<SelectInst>(move))
    return b.CreateSelect(move->getOperand(0), toBits(move->getOperand(1)), toBits(move->getOperand(2)));
  if (auto *shuffle = dyn_cast<ShuffleVectorInst>(move))
    return b.CreateShuffleVector(toBits(move->getOperand(0)), toBits(move->getOperand(1)), shuffle->getShuffleMask());
  if (isa<InsertElementInst>(move))
    return b.CreateInsertElement(toBits(move->getOperand(0)), toBits(move->getOperand(1)), move->getOperand(2));
  if (isa<ExtractElementInst>(move))
    return b.CreateExtractElement(toBits(move->getOperand(0)), move->getOperand(1));
  auto *call = cast<IntrinsicInst>(move);
  if (call->getIntrinsicID() == Intrinsic::masked_load)
    return b.CreateMaskedLoad(bits, call->getArgOperand(0), call->getParamAlign(0).valueOrOne(), call->getArgOperand(1),
                              toBits(call->getArgOperand(2)));
  b.CreateMaskedStore(toBits(call->getArgOperand(0)), call->getArgOperand(1), call->getParamAlign(1).valueOrOne(),
                      call->getArgOperand(2));
  return nullptr;
}

void attn::moveNarrowFloatsAsIntegers(Module &module) {
  for (Function &function : module) {
    SmallVector<Instruction *> moves;
    for (Instruction &instruction : instructions(function))
      if (movesNarrowFloats(instruction))
        moves.push_back(&instruction);
    for (Instruction *move : moves) {
      IRBuilder<> b(move);
      if (Value *bits = moveAsIntegers(b, move)) {
        if (isa<PHINode>(move))
          b.SetInsertPoint(move->getParent(), move->getParent()->getFirstInsertionPt());
        move->replaceAllUsesWith(b.CreateBitCast(bits, move->getType()));
      }
      move->eraseFromParent();
    }
  }
}
