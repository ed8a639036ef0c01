//===- CeilingLoops.cpp - loops that measure the ceilings -----------------===//
//
// A loop of independent multiply-adds of vectors or tiles in registers, and one
// that reads memory from one end to the other, built for the same target as the
// kernels.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Ceilings.h"
#include "attn/CodeGen/CodeGen.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsAArch64.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;

namespace {

/// A function of one block that loops while `round < count`, with loop-carried values.
class LoopBuilder {
public:
  LoopBuilder(Module &module, StringRef name, Type *result, ArrayRef<Type *> arguments)
      : b(module.getContext()), function(Function::Create(FunctionType::get(result, arguments, false),
                                                          GlobalValue::ExternalLinkage, name, module)),
        entry(BasicBlock::Create(module.getContext(), "entry", function)),
        loop(BasicBlock::Create(module.getContext(), "loop", function)),
        exit(BasicBlock::Create(module.getContext(), "exit", function)) {
    b.SetInsertPoint(entry);
  }

  /// Starts the loop body; returns the induction variable.
  Value *startLoop() {
    b.CreateBr(loop);
    b.SetInsertPoint(loop);
    round = b.CreatePHI(b.getInt64Ty(), 2);
    round->addIncoming(b.getInt64(0), entry);
    return round;
  }
  PHINode *carry(Value *init) {
    PHINode *value = b.CreatePHI(init->getType(), 2);
    value->addIncoming(init, entry);
    return value;
  }
  /// Ends the loop body.
  void endLoop(Value *count) {
    Value *following = b.CreateAdd(round, b.getInt64(1));
    round->addIncoming(following, loop);
    b.CreateCondBr(b.CreateICmpSLT(following, count), loop, exit);
    b.SetInsertPoint(exit);
  }

  IRBuilder<> b;
  Function *function;
  BasicBlock *entry, *loop, *exit;

private:
  PHINode *round = nullptr;
};

} // namespace

/// x = x * a + a on vectors; for bf16, x = x + sums of products of pairs, or of fours (bfmmla). Without FMA
/// instructions, a multiplication and an addition count as two operations.
static Value *createMultiplyAdd(IRBuilder<> &b, const TargetInfo &target, Product product, Value *x, Value *factor) {
  Type *vector = x->getType();
  if (product == Product::Bf16Dot) {
    Intrinsic::ID id = target.hasBf16Matrices     ? Intrinsic::ID(Intrinsic::aarch64_neon_bfmmla)
                       : target.vectorBits == 512 ? Intrinsic::x86_avx512bf16_dpbf16ps_512
                       : target.vectorBits == 256 ? Intrinsic::x86_avx512bf16_dpbf16ps_256
                                                  : Intrinsic::x86_avx512bf16_dpbf16ps_128;
    auto *pairs = FixedVectorType::get(b.getBFloatTy(), target.getLanes(16));
    Value *operand = b.CreateBitCast(factor, pairs);
    return b.CreateIntrinsic(id, {}, {x, operand, operand});
  }
  if (target.hasFma)
    return b.CreateIntrinsic(Intrinsic::fma, {vector}, {x, factor, factor});
  return b.CreateFAdd(b.CreateFMul(x, factor), factor);
}

/// double fma_peak(i64 rounds): chains of multiply-adds, `rounds` times; returns an element, so that no chain is dead.
static void buildFmaLoop(Module &module, const TargetInfo &target, Product product) {
  LoopBuilder code(module, kFmaLoopName, Type::getDoubleTy(module.getContext()),
                   {Type::getInt64Ty(module.getContext())});
  IRBuilder<> &b = code.b;
  Type *element = product == Product::F64 ? b.getDoubleTy() : b.getFloatTy();
  auto *vector = FixedVectorType::get(element, target.getLanes(element->getPrimitiveSizeInBits()));
  // Values near 1 that neither grow nor vanish; loaded from a volatile variable, so that nothing is folded.
  Value *slot = b.CreateAlloca(element);
  b.CreateStore(ConstantFP::get(element, 0.999), slot, /*isVolatile=*/true);
  Value *factor = b.CreateVectorSplat(vector->getNumElements(), b.CreateLoad(element, slot, /*isVolatile=*/true));
  code.startLoop();
  SmallVector<PHINode *> chains;
  for (int i = 0; i < getNumChains(product); ++i)
    chains.push_back(code.carry(ConstantFP::get(vector, 0.1 * i)));
  SmallVector<Value *> next;
  for (PHINode *chain : chains) {
    Value *value = createMultiplyAdd(b, target, product, chain, factor);
    chain->addIncoming(value, code.loop);
    next.push_back(value);
  }
  code.endLoop(code.function->getArg(0));
  Value *sum = next.front();
  for (Value *value : ArrayRef(next).drop_front())
    sum = b.CreateFAdd(sum, value);
  b.CreateRet(b.CreateFPCast(b.CreateExtractElement(sum, uint64_t(0)), b.getDoubleTy()));
}

/// The same of `tdpbf16ps`: two tiles by two, in registers, as kernels multiply them. The elements are arbitrary
/// numbers, since the processor's clock is higher on zeros.
static void buildTileLoop(Module &module) {
  constexpr int rows = 16, rowBytes = 64, side = 2;
  LLVMContext &context = module.getContext();
  LoopBuilder code(module, kFmaLoopName, Type::getDoubleTy(context), {Type::getInt64Ty(context)});
  IRBuilder<> &b = code.b;
  SmallVector<uint16_t> bits;
  for (unsigned i = 0, state = 1; i < rows * rowBytes / 2; ++i, state = state * 1664525 + 1013904223)
    bits.push_back(0x3f00 | (state >> 31 << 15) | (state >> 20 & 0xff)); // ±0.5 to ±2
  Constant *numbers = ConstantDataArray::get(context, bits);
  auto *operand = new GlobalVariable(module, numbers->getType(), true, GlobalValue::PrivateLinkage, numbers);
  operand->setAlignment(Align(rowBytes));
  Value *sums = b.CreateAlloca(ArrayType::get(b.getInt8Ty(), rows * rowBytes));
  Value *height = b.getInt16(rows), *width = b.getInt16(rowBytes), *stride = b.getInt64(rowBytes);
  SmallVector<Value *> operands;
  for (int i = 0; i < 2 * side; ++i)
    operands.push_back(b.CreateIntrinsic(Intrinsic::x86_tileloadd64_internal, {}, {height, width, operand, stride}));
  SmallVector<Value *> zeros;
  for (int i = 0; i < side * side; ++i)
    zeros.push_back(b.CreateIntrinsic(Intrinsic::x86_tilezero_internal, {}, {height, width}));
  code.startLoop();
  SmallVector<PHINode *> chains;
  for (Value *zero : zeros)
    chains.push_back(code.carry(zero));
  SmallVector<Value *> next;
  for (auto [i, chain] : enumerate(chains)) {
    next.push_back(b.CreateIntrinsic(Intrinsic::x86_tdpbf16ps_internal, {},
                                     {height, width, width, chain, operands[i / side], operands[side + i % side]}));
    chain->addIncoming(next.back(), code.loop);
  }
  code.endLoop(code.function->getArg(0));
  for (Value *sum : next)
    b.CreateIntrinsic(Intrinsic::x86_tilestored64_internal, {}, {height, width, sums, stride, sum});
  b.CreateRet(b.CreateFPCast(b.CreateLoad(b.getFloatTy(), sums, /*isVolatile=*/true), b.getDoubleTy()));
}

/// i64 read_sum(ptr data, i64 rounds): the sum of kReadStreams parts of rounds · kReadVectors vectors, all parts
/// concurrently, in kReadVectors chains.
static void buildReadLoop(Module &module, const TargetInfo &target) {
  LLVMContext &context = module.getContext();
  LoopBuilder code(module, kReadLoopName, Type::getInt64Ty(context),
                   {PointerType::getUnqual(context), Type::getInt64Ty(context)});
  IRBuilder<> &b = code.b;
  Value *data = code.function->getArg(0), *rounds = code.function->getArg(1);
  auto *vector = FixedVectorType::get(b.getInt64Ty(), target.getLanes(64));
  Value *partSize = b.CreateMul(rounds, b.getInt64(kReadVectors));
  SmallVector<Value *> parts;
  for (int part = 0; part < kReadStreams; ++part)
    parts.push_back(b.CreateGEP(vector, data, b.CreateMul(partSize, b.getInt64(part))));
  Value *round = code.startLoop();
  SmallVector<PHINode *> chains;
  for (int i = 0; i < kReadVectors; ++i)
    chains.push_back(code.carry(Constant::getNullValue(vector)));
  Value *first = b.CreateMul(round, b.getInt64(kReadVectors));
  SmallVector<Value *> next(chains.begin(), chains.end());
  for (Value *part : parts)
    for (auto [i, sum] : enumerate(next)) {
      Value *place = b.CreateGEP(vector, part, b.CreateAdd(first, b.getInt64(i)));
      sum = b.CreateAdd(sum, b.CreateAlignedLoad(vector, place, Align(kReadAlignment)));
    }
  for (auto [chain, value] : zip_equal(chains, next))
    chain->addIncoming(value, code.loop);
  code.endLoop(rounds);
  Value *sum = next.front();
  for (Value *value : ArrayRef(next).drop_front())
    sum = b.CreateAdd(sum, value);
  b.CreateRet(b.CreateAddReduce(sum));
}

Expected<std::unique_ptr<LoadedObject>> driver::compileCeilingLoops(const TargetInfo &target, Product product) {
  Expected<std::unique_ptr<TargetMachine>> machine = createTargetMachine(target);
  if (!machine)
    return machine.takeError();
  LLVMContext context;
  Module module("ceilings", context);
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());
  if (product == Product::Bf16Tiles)
    buildTileLoop(module);
  else
    buildFmaLoop(module, target, product);
  buildReadLoop(module, target);
  Expected<std::string> object = compileModule(module, target, FileKind::Object);
  if (!object)
    return object.takeError();
  return LoadedObject::load(*object);
}
