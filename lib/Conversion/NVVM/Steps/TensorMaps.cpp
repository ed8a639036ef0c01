//===- TensorMaps.cpp - tensor maps that the host encodes for a producer --===//
//
// A tensor map has the address, sizes and strides of a tensor. The tensor is a view in the kernel; the host rebuilds it
// from the arguments of the launch.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TensorMaps.h"
#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// CUtensorMapDataType of cuda.h.
static constexpr int32_t kTypeByte = 0, kTypeF16 = 6, kTypeBF16 = 9;

static int32_t getMapType(Type elementType) {
  return elementType.isInteger(1) ? kTypeByte : elementType.isBF16() ? kTypeBF16 : kTypeF16;
}

FailureOr<SetVector<Operation *>> attn::nvvm::getComputation(Value value) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  if (failed(getBackwardSlice(value, &slice, options)))
    return failure();
  return slice;
}

BlockArgument attn::nvvm::findPointer(Value tensor) {
  auto cast = getRoot(tensor).getDefiningOp<UnrealizedConversionCastOp>();
  Value value = cast && cast.getInputs().size() == 1 ? cast.getInputs()[0] : Value();
  while (value) {
    auto insert = value.getDefiningOp<LLVM::InsertValueOp>();
    if (!insert)
      return {};
    if (insert.getPosition() == ArrayRef<int64_t>{1})
      return dyn_cast<BlockArgument>(insert.getValue());
    value = insert.getContainer();
  }
  return {};
}

/// An array of i64 on the host's stack.
Value TensorMapEncoder::createArray(ArrayRef<OpFoldResult> values) {
  Type i64 = b.getI64Type(), arrayType = LLVM::LLVMArrayType::get(i64, values.size());
  Value array = allocate(arrayType, 8);
  for (auto [i, value] : llvm::enumerate(values)) {
    Value element = LLVM::GEPOp::create(b, loc, pointerType, arrayType, array, ArrayRef<LLVM::GEPArg>{0, int(i)});
    LLVM::StoreOp::create(b, loc, toI64(value), element);
  }
  return array;
}

Value TensorMapEncoder::allocate(Type type, unsigned alignment) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&launch->getParentOfType<FunctionOpInterface>().getFunctionBody().front());
  Value one = LLVM::ConstantOp::create(b, loc, b.getI64Type(), 1);
  return LLVM::AllocaOp::create(b, loc, pointerType, type, one, alignment);
}

Value TensorMapEncoder::toI64(OpFoldResult number) {
  if (std::optional<int64_t> value = getConstantIntValue(number))
    return LLVM::ConstantOp::create(b, loc, b.getI64Type(), *value);
  return arith::IndexCastOp::create(b, loc, b.getI64Type(), cast<Value>(number));
}

OpFoldResult TensorMapEncoder::toBytes(OpFoldResult elements, int64_t elementBytes) {
  if (std::optional<int64_t> value = getConstantIntValue(elements))
    return b.getIndexAttr(*value * elementBytes);
  Value bytes = arith::ConstantIndexOp::create(b, loc, elementBytes);
  return arith::MulIOp::create(b, loc, cast<Value>(elements), bytes).getResult();
}

/// The same view on the host, built from the kernel's operands.
memref::ExtractStridedMetadataOp TensorMapEncoder::cloneToHost(Value tensor) {
  IRMapping mapping;
  for (auto [argument, operand] : llvm::zip(kernel.getArguments(), launch.getKernelOperands()))
    mapping.map(argument, operand);
  FailureOr<SetVector<Operation *>> computation = getComputation(tensor); // attn-specialize-warps has checked it
  for (Operation *op : *computation)
    clones.push_back(b.clone(*op, mapping));
  auto facts = memref::ExtractStridedMetadataOp::create(b, loc, mapping.lookup(tensor));
  clones.push_back(facts);
  return facts;
}

/// The map, on the host's stack. attn-lower-launches inserts the return on failure.
Value TensorMapEncoder::encode(Value tensor, ArrayRef<int64_t> box) {
  memref::ExtractStridedMetadataOp facts = cloneToHost(tensor);
  Type elementType = getElementTypeOrSelf(tensor.getType());
  int64_t elementBytes = getElementBytes(elementType);
  SmallVector<OpFoldResult> strides;
  for (OpFoldResult stride : ArrayRef(facts.getConstifiedMixedStrides()).drop_back())
    strides.push_back(toBytes(stride, elementBytes));
  SmallVector<OpFoldResult> lengths = getAsIndexOpFoldResult(b.getContext(), box);
  Value map = allocate(LLVM::LLVMArrayType::get(b.getI8Type(), kMapBytes), kMapAlignment);
  Value address = launch.getKernelOperand(findPointer(tensor).getArgNumber());
  OpFoldResult offset = toBytes(facts.getConstifiedMixedOffset(), elementBytes);
  if (!isConstantIntValue(offset, 0))
    address = LLVM::GEPOp::create(b, loc, pointerType, b.getI8Type(), address, ArrayRef<LLVM::GEPArg>{toI64(offset)});
  Value type = LLVM::ConstantOp::create(b, loc, b.getI32Type(), getMapType(elementType));
  Value rank = LLVM::ConstantOp::create(b, loc, b.getI64Type(), box.size());
  LLVM::CallOp::create(b, loc, declareEncode(),
                       ValueRange{map, address, type, rank, createArray(facts.getConstifiedMixedSizes()),
                                  createArray(strides), createArray(lengths)});
  // A static type needs no computation.
  for (Operation *op : llvm::reverse(clones))
    if (op->use_empty())
      op->erase();
  return map;
}

LLVM::LLVMFuncOp TensorMapEncoder::declareEncode() {
  auto module = kernel->getParentOfType<ModuleOp>();
  if (auto existing = module.lookupSymbol<LLVM::LLVMFuncOp>(kEncodeMap))
    return existing;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  Type types[] = {pointerType, pointerType, b.getI32Type(), b.getI64Type(), pointerType, pointerType, pointerType};
  return LLVM::LLVMFuncOp::create(b, module.getLoc(), kEncodeMap, LLVM::LLVMFunctionType::get(b.getI32Type(), types));
}
