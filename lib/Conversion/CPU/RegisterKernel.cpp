//===- RegisterKernel.cpp - the inner products, and the vector builder ----===//
//
// The one loop nest in which nearly all time is spent: a block of rows of K (or
// columns of V) against a block of lanes, accumulators in registers, one vector
// load a lane block and one broadcast load a row for each step of the depth.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "VectorTile.h"
#include "attn/IR/Decompose.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace attn::cpu;

Values attn::cpu::emitRegisterKernel(VectorBuilder &vb, int64_t rows, int64_t vectors, Value depth, ValueRange init,
                                     function_ref<Value(int64_t, Value)> scalarAt,
                                     function_ref<Value(Value, int64_t)> vectorAt, Combine combine) {
  return vb.loop(vb.index(0), depth, 1, init, [&](Value k, ValueRange acc) {
    Values operands, next;
    for (int64_t v = 0; v < vectors; ++v)
      operands.push_back(vectorAt(k, v));
    for (int64_t row = 0; row < rows; ++row) {
      Value scalar = vb.broadcast(scalarAt(row, k));
      for (int64_t v = 0; v < vectors; ++v) {
        Value old = acc[row * vectors + v];
        next.push_back(combine ? combine(k, scalar, operands[v], old) : vb.multiplyAdd(scalar, operands[v], old));
      }
    }
    return next;
  });
}

Values attn::cpu::emitLaneKernel(VectorBuilder &vb, int64_t rows, int64_t vectors, Value depth, ValueRange init,
                                 bool isAlongDepth, function_ref<Value(int64_t, Value)> quadAt,
                                 function_ref<Value(Value, int64_t)> vectorAt, int64_t unroll) {
  constexpr int64_t quad = kQuadLanes;
  return vb.loop(vb.index(0), depth, unroll, init, [&](Value first, ValueRange carried) {
    Values acc(carried), quads;
    for (int64_t step = 0; step < unroll; ++step) {
      Value k = vb.add(first, step);
      if (!isAlongDepth || step % quad == 0) {
        quads.clear();
        for (int64_t row = 0; row < rows; row += isAlongDepth ? 1 : quad)
          quads.push_back(quadAt(row, k));
      }
      Values operands;
      for (int64_t v = 0; v < vectors; ++v)
        operands.push_back(vectorAt(k, v));
      for (int64_t row = 0; row < rows; ++row) {
        int64_t lane = isAlongDepth ? step % quad : row % quad;
        Value source = quads[isAlongDepth ? row : row / quad];
        Value scalar = vector::ShuffleOp::create(vb.b, vb.loc, source, source, {lane, lane, lane, lane});
        for (int64_t v = 0; v < vectors; ++v)
          acc[row * vectors + v] = vb.multiplyAdd(scalar, operands[v], acc[row * vectors + v]);
      }
    }
    return acc;
  });
}

Values attn::cpu::forEachBlock(VectorBuilder &vb, OpFoldResult count, int64_t block, ValueRange init,
                               function_ref<Values(Value, int64_t, ValueRange)> body) {
  Values state(init);
  auto inBlocks = [&](Value upper) {
    state = vb.loop(vb.index(0), upper, block, state,
                    [&](Value first, ValueRange carried) { return body(first, block, carried); });
  };
  if (std::optional<int64_t> constant = getConstantIntValue(count)) {
    int64_t whole = *constant / block * block;
    if (whole > 0)
      inBlocks(vb.index(whole));
    return *constant > whole ? body(vb.index(whole), *constant - whole, state) : state;
  }
  Value total = cast<Value>(count);
  if (block == 1) {
    inBlocks(total);
    return state;
  }
  Value whole = vb.subtract(total, vb.remainder(total, block));
  inBlocks(whole);
  return vb.loop(whole, total, 1, state, [&](Value first, ValueRange carried) { return body(first, 1, carried); });
}

//===----------------------------------------------------------------------===//
// VectorBuilder
//===----------------------------------------------------------------------===//

Value VectorBuilder::splat(double value) {
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(vectorType, b.getFloatAttr(elementType, value)));
}

Value VectorBuilder::broadcast(Value scalar) {
  auto type = VectorType::get({lanes}, scalar.getType());
  return vector::BroadcastOp::create(b, loc, type, scalar);
}

Value VectorBuilder::load(Value memref, ValueRange indices) {
  auto type = VectorType::get({lanes}, getElementTypeOrSelf(memref.getType()));
  return vector::LoadOp::create(b, loc, type, memref, indices);
}

Value VectorBuilder::loadMasked(Value memref, ValueRange indices, Value mask) {
  if (!mask)
    return load(memref, indices);
  auto type = VectorType::get({lanes}, getElementTypeOrSelf(memref.getType()));
  return vector::MaskedLoadOp::create(b, loc, type, memref, indices, mask, zero(type));
}

Value VectorBuilder::loadAlong(const Operand &operand, unsigned position, ArrayRef<Value> domain, Value mask) {
  std::optional<int64_t> stride = operand.getStrideAlong(position);
  if (stride == 1)
    return loadMasked(operand.memref, operand.getIndices(*this, domain), mask);
  if (stride != 2)
    return loadStrided(operand, position, domain, mask);
  // The even elements of two vectors, the second of which ends at the last even one.
  SmallVector<Value> middle(domain);
  middle[position] = add(domain[position], lanes / 2);
  Value lowMask, highMask = getMask(lanes - 1);
  if (mask) {
    Value even = vector::InterleaveOp::create(b, loc, mask, zero(mask.getType()));
    lowMask = vector::ExtractStridedSliceOp::create(b, loc, even, 0, lanes, 1);
    highMask = vector::ExtractStridedSliceOp::create(b, loc, even, lanes, lanes, 1);
  }
  Value low = loadMasked(operand.memref, operand.getIndices(*this, domain), lowMask);
  Value high = loadMasked(operand.memref, operand.getIndices(*this, middle), highMask);
  return vector::ShuffleOp::create(b, loc, low, high,
                                   llvm::map_to_vector(llvm::seq<int64_t>(lanes), [](int64_t i) { return 2 * i; }));
}

Value VectorBuilder::loadStrided(const Operand &operand, unsigned position, ArrayRef<Value> domain, Value mask) {
  auto type = VectorType::get({lanes}, getElementTypeOrSelf(operand.memref.getType()));
  Value result = zero(type);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    SmallVector<Value> at(domain);
    at[position] = add(domain[position], lane);
    // Masked lanes read the element of the first lane.
    if (mask)
      at[position] = select(vector::ExtractOp::create(b, loc, mask, lane), at[position], domain[position]);
    Value element = memref::LoadOp::create(b, loc, operand.memref, operand.getIndices(*this, at));
    result = vector::InsertOp::create(b, loc, element, result, lane);
  }
  return result;
}

void VectorBuilder::store(Value vector, Value memref, ValueRange indices) {
  vector::StoreOp::create(b, loc, vector, memref, indices);
}

void VectorBuilder::storeMasked(Value vector, Value memref, ValueRange indices, Value mask) {
  if (!mask)
    return store(vector, memref, indices);
  vector::MaskedStoreOp::create(b, loc, memref, indices, mask, vector);
}

Value VectorBuilder::getMask(int64_t count) {
  if (count >= lanes)
    return {};
  SmallVector<bool> bits(lanes);
  std::fill_n(bits.begin(), count, true);
  auto type = VectorType::get({lanes}, b.getI1Type());
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, bits));
}

Value VectorBuilder::createMask(Value count) {
  return vector::CreateMaskOp::create(b, loc, VectorType::get({lanes}, b.getI1Type()), count);
}

Value VectorBuilder::multiplyAdd(Value x, Value y, Value z) {
  if (target.hasFma)
    return vector::FMAOp::create(b, loc, x, y, z);
  return arith::AddFOp::create(b, loc, arith::MulFOp::create(b, loc, x, y), z);
}

Value VectorBuilder::multiplyAddNonZero(Value x, Value y, Value z) {
  // In this order it is one masked multiply-add.
  Value isTaken = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, x, splat(0));
  return select(isTaken, multiplyAdd(x, y, z), z);
}

Value VectorBuilder::max(Value x, Value y) {
  if (target.hasNumberMax)
    return arith::MaxNumFOp::create(b, loc, x, y);
  // On x86-64, arith.maximumf is three instructions: it orders zeros and propagates NaN.
  return select(arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, y), x, y);
}

Value VectorBuilder::isEqual(Value x, double constant) {
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, splat(constant));
}

Value VectorBuilder::convert(Value value, Type to) {
  Type from = getElementTypeOrSelf(value.getType());
  if (from == to)
    return value;
  if (isQuantised(from))
    return convertQuantised(b, loc, value, cast<FloatType>(to), target.hasHalf);
  if (from.isBF16() && to.isF64()) // LLVM would do it by calls
    return convert(convert(value, b.getF32Type()), to);
  Type type = to;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(to);
  if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(b, loc, type, value);
  return arith::TruncFOp::create(b, loc, type, value);
}

Values VectorBuilder::loop(Value lower, Value upper, int64_t step, ValueRange init,
                           function_ref<Values(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, loc, lower, upper, index(step), init,
                                 [&](OpBuilder &, Location, Value iv, ValueRange carried) {
                                   OpBuilder::InsertionGuard guard(b);
                                   b.setInsertionPointToEnd(iv.getParentBlock());
                                   scf::YieldOp::create(b, loc, body(iv, carried));
                                 });
  return Values(loop.getResults());
}

Values VectorBuilder::loop(int64_t count, int64_t step, ValueRange init, function_ref<Values(Value, ValueRange)> body) {
  return loop(index(0), index(count), step, init, body);
}

Value VectorBuilder::assembly(Type type, ValueRange operands, StringRef code, StringRef constraints) {
  return LLVM::InlineAsmOp::create(b, loc, type, operands, code, constraints, /*has_side_effects=*/false,
                                   /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                                   /*asm_dialect=*/nullptr, /*operand_attrs=*/nullptr)
      .getResult(0);
}

Value VectorBuilder::stackBuffer(ArrayRef<int64_t> shape, Type type) {
  auto memref = MemRefType::get(shape, type ? type : Type(elementType));
  return memref::AllocaOp::create(b, loc, memref, b.getI64IntegerAttr(kBufferAlignment));
}

//===----------------------------------------------------------------------===//
// Operand
//===----------------------------------------------------------------------===//

Values Operand::getIndices(VectorBuilder &vb, ArrayRef<Value> domain) const {
  Values indices;
  for (AffineExpr expr : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    // Shared heads and broadcast dimensions have size 1 in a tile.
    Value position = dim ? domain[dim.getPosition()] : Value();
    if (!dim && isWhole)
      position = affine::AffineApplyOp::create(vb.b, vb.loc, AffineMap::get(map.getNumDims(), 0, expr), domain);
    indices.push_back(position ? position : vb.index(0));
  }
  return indices;
}

std::optional<int64_t> Operand::getStrideAlong(unsigned position) const {
  if (map.getNumResults() == 0)
    return std::nullopt;
  SmallVector<AffineExpr> exprs(map.getResults());
  AffineExpr dim = getAffineDimExpr(position, map.getContext()), last = exprs.pop_back_val();
  if (llvm::any_of(exprs, [&](AffineExpr expr) { return expr.isFunctionOfDim(position); }))
    return std::nullopt;
  exprs.push_back(dim);
  Operand along = {memref, AffineMap::get(map.getNumDims(), 0, exprs, map.getContext())};
  for (int64_t stride : {1, 2})
    if (!simplifyAffineExpr(last - dim * stride, map.getNumDims(), 0).isFunctionOfDim(position) &&
        along.isInnermost(position))
      return stride;
  return std::nullopt;
}

bool Operand::isInnermost(unsigned position) const {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (map.getNumResults() == 0 || failed(type.getStridesAndOffset(strides, offset)))
    return false;
  // One column may have any stride: nothing follows it.
  if (strides.back() != 1 && type.getShape().back() != 1)
    return false;
  return map.getResults().back() == getAffineDimExpr(position, map.getContext());
}
