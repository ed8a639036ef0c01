//===- Outlining.cpp - loops and buffers in functions of their own --------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Conversion/Outlining.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

/// A bound as a value, mapped by `mapping`.
static Value getBound(OpBuilder &b, Location loc, OpFoldResult bound, const IRMapping &mapping) {
  if (auto value = dyn_cast<Value>(bound))
    return mapping.lookupOrDefault(value);
  return getValueOrCreateConstantIndexOp(b, loc, bound);
}

/// ceil((upper - lower) / step) of each dimension.
static SmallVector<Value> createRoundCounts(OpBuilder &b, scf::ForallOp forall, const IRMapping &mapping) {
  Location loc = forall.getLoc();
  auto toValue = [&](OpFoldResult bound) { return getBound(b, loc, bound, mapping); };
  SmallVector<Value> counts;
  for (auto [lower, upper, step] :
       llvm::zip_equal(forall.getMixedLowerBound(), forall.getMixedUpperBound(), forall.getMixedStep())) {
    counts.push_back(toValue(upper));
    if (!isConstantIntValue(lower, 0))
      counts.back() = b.createOrFold<arith::SubIOp>(loc, counts.back(), toValue(lower));
    if (!isConstantIntValue(step, 1))
      counts.back() = b.createOrFold<arith::CeilDivSIOp>(loc, counts.back(), toValue(step));
  }
  return counts;
}

Value attn::createTileCount(OpBuilder &b, scf::ForallOp forall, const IRMapping &mapping) {
  Location loc = forall.getLoc();
  Value count = arith::ConstantIndexOp::create(b, loc, 1), zero = arith::ConstantIndexOp::create(b, loc, 0);
  for (Value rounds : createRoundCounts(b, forall, mapping)) {
    // A loop whose end is below its start has no iterations; two such would have a positive product.
    rounds = b.createOrFold<arith::MaxSIOp>(loc, rounds, zero);
    count = b.createOrFold<arith::MulIOp>(loc, count, rounds);
  }
  return count;
}

void attn::cloneTile(OpBuilder &b, scf::ForallOp forall, Value tile, IRMapping &mapping) {
  Location loc = forall.getLoc();
  SmallVector<Value> counts = createRoundCounts(b, forall, mapping), ivs = forall.getInductionVars();
  SmallVector<OpFoldResult> lowers = forall.getMixedLowerBound(), steps = forall.getMixedStep();
  auto toValue = [&](OpFoldResult bound) { return getBound(b, loc, bound, mapping); };
  Value rest = tile;
  for (int i = counts.size() - 1; i >= 0; --i) {
    Value position = i == 0 ? rest : b.createOrFold<arith::RemUIOp>(loc, rest, counts[i]);
    if (i > 0)
      rest = b.createOrFold<arith::DivUIOp>(loc, rest, counts[i]);
    // lower + number * step
    if (!isConstantIntValue(steps[i], 1))
      position = b.createOrFold<arith::MulIOp>(loc, position, toValue(steps[i]));
    if (!isConstantIntValue(lowers[i], 0))
      position = b.createOrFold<arith::AddIOp>(loc, position, toValue(lowers[i]));
    mapping.map(ivs[i], position);
  }
  for (Operation &op : forall.getBody()->without_terminator())
    b.clone(op, mapping);
}

Value attn::createMemref(OpBuilder &b, Location loc, const LLVMTypeConverter &converter, MemRefType type, Value pointer,
                         ValueRange dynamicSizes, ValueRange strides) {
  auto cast = [&](Value descriptor) {
    return UnrealizedConversionCastOp::create(b, loc, type, descriptor).getResult(0);
  };
  if (type.hasStaticShape() && strides.empty())
    return cast(MemRefDescriptor::fromStaticShape(b, loc, converter, type, pointer));
  auto descriptor = MemRefDescriptor::poison(b, loc, converter.convertType(type));
  descriptor.setAllocatedPtr(b, loc, pointer);
  descriptor.setAlignedPtr(b, loc, pointer);
  descriptor.setConstantOffset(b, loc, 0);
  // stride[i] = stride[i + 1] * size[i + 1]; the caller's buffer exists, so nothing overflows
  auto createConstant = [&](int64_t number) -> Value {
    return LLVM::ConstantOp::create(b, loc, b.getI64Type(), b.getI64IntegerAttr(number));
  };
  Value stride = createConstant(1);
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    Value size =
        type.isDynamicDim(dim) ? dynamicSizes[type.getDynamicDimIndex(dim)] : createConstant(type.getDimSize(dim));
    descriptor.setSize(b, loc, dim, size);
    descriptor.setStride(b, loc, dim, stride);
    if (dim > 0 && !strides.empty())
      stride = strides[dim - 1];
    else if (dim > 0)
      stride = LLVM::MulOp::create(b, loc, stride, size);
  }
  return cast(descriptor);
}
