//===- KvScale.cpp - quantised keys and values as arithmetic --------------===//
//
// A scale is the same for a whole row of K or V, so the rows stay as they are:
// the scale of K multiplies the score before score_mod, and the scale of V
// multiplies the weight after dropout. After this, no op has scales, and only
// the element type of K and V shows that they are quantised.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Verifiers.h"
#include "attn/IR/Decompose.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// f8E4M3FN (bits seeeemmm, bias 7) as f32 by its bits, exactly: LLVM does not know the type. With the sign at bit 15,
/// and exponent and mantissa at bit 7, an f16 is the value times 2^-8; with the sign at bit 31 and the rest at bit 20,
/// an f32 is the value times 2^-120. Either is subnormal where the value is: that is free when an instruction widens
/// it, but slow when one multiplies it. f8E5M2 (seeeeemm, bias 15) is the upper byte of an f16, and with the exponent
/// at bit 23 an f32 times 2^-112.
static Value widenFloat8(OpBuilder &b, Location loc, Value value, bool hasHalf) {
  auto vector = dyn_cast<VectorType>(value.getType());
  auto like = [&](Type type) -> Type { return vector ? vector.clone(type) : type; };
  auto constant = [&](TypedAttr scalar) -> Value {
    TypedAttr splat = vector ? DenseElementsAttr::get(cast<ShapedType>(like(scalar.getType())), scalar) : scalar;
    return arith::ConstantOp::create(b, loc, splat);
  };
  bool isE5M2 = isa<Float8E5M2Type>(getElementTypeOrSelf(value.getType()));
  unsigned width = hasHalf ? 16 : 32, shift = (hasHalf ? 7 : 20) + isE5M2;
  auto bits = [&](uint64_t mask) { return constant(b.getIntegerAttr(b.getIntegerType(width), APInt(width, mask))); };
  uint64_t sign = uint64_t(1) << (width - 1), magnitude = uint64_t(0x7f) << shift;
  auto isolate = [&](Value x, uint64_t mask) -> Value { return arith::AndIOp::create(b, loc, x, bits(mask)); };
  Value number = arith::BitcastOp::create(b, loc, like(b.getI8Type()), value);
  number = arith::ExtSIOp::create(b, loc, like(b.getIntegerType(width)), number);
  number = isolate(arith::ShLIOp::create(b, loc, number, bits(shift)), sign | magnitude);
  auto multiply = [&](Value x, float factor) -> Value {
    return arith::MulFOp::create(b, loc, x, constant(b.getF32FloatAttr(factor)));
  };
  if (isE5M2 && hasHalf) {
    number = arith::BitcastOp::create(b, loc, like(b.getF16Type()), number);
    return arith::ExtFOp::create(b, loc, like(b.getF32Type()), number);
  }
  if (isE5M2) {
    // Infinities and NaN have an exponent of all ones here, too.
    uint64_t infinity = uint64_t(0x7c) << shift;
    Value isFinite =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, isolate(number, magnitude), bits(infinity));
    Value special = arith::OrIOp::create(b, loc, number, bits(0x7f800000));
    auto asFloat = [&](Value x) -> Value { return arith::BitcastOp::create(b, loc, like(b.getF32Type()), x); };
    return arith::SelectOp::create(b, loc, isFinite, multiply(asFloat(number), 0x1p112f), asFloat(special));
  }
  // All ones besides the sign is the only NaN of the type, which has no infinities. Adding one carries into the
  // exponent of the f16, whose bits are then all ones, too.
  if (hasHalf) {
    Value carry = isolate(arith::AddIOp::create(b, loc, number, bits(uint64_t(1) << shift)), sign >> 1);
    number = arith::OrIOp::create(b, loc, number, carry);
    number = arith::BitcastOp::create(b, loc, like(b.getF16Type()), number);
    return multiply(arith::ExtFOp::create(b, loc, like(b.getF32Type()), number), 0x1p8f);
  }
  Value isNaN = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, isolate(number, magnitude), bits(magnitude));
  Value quiet = constant(b.getFloatAttr(b.getF32Type(), APFloat::getQNaN(APFloat::IEEEsingle())));
  number = multiply(arith::BitcastOp::create(b, loc, like(b.getF32Type()), number), 0x1p120f);
  return arith::SelectOp::create(b, loc, isNaN, quiet, number);
}

Value attn::convertQuantised(OpBuilder &builder, Location loc, Value value, FloatType to, bool hasHalf) {
  Type from = getElementTypeOrSelf(value.getType());
  auto vector = dyn_cast<VectorType>(value.getType());
  if (from.isInteger(8))
    return arith::SIToFPOp::create(builder, loc, vector ? Type(vector.clone(to)) : Type(to), value);
  Value single = widenFloat8(builder, loc, value, hasHalf);
  if (to.isF32())
    return single;
  Type type = vector ? Type(vector.clone(to)) : Type(to);
  if (to.getWidth() > 32)
    return arith::ExtFOp::create(builder, loc, type, single);
  return arith::TruncFOp::create(builder, loc, type, single);
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

AffineMap attn::getKvScaleMap(SdpaOp op) {
  unsigned numBatch = getNumBatchDims(op), numDims = numBatch + getDomainDims(op).size();
  MLIRContext *ctx = op.getContext();
  AffineExpr head =
      getKvHeadMap(op).getResult(0).replace(getAffineDimExpr(0, ctx), getAffineDimExpr(numBatch - 1, ctx));
  if (cast<ShapedType>(op.getKeyScale().getType()).getRank() == 1)
    return AffineMap::get(numDims, 0, {head}, ctx);
  return AffineMap::get(numDims, 0, {getAffineDimExpr(0, ctx), head, getAffineDimExpr(numBatch + 1, ctx)}, ctx);
}

/// The position of a scale in its pages. Table entries past the length, which belong to no kept key, may hold any
/// value: they are clamped to a valid page.
static SmallVector<Value, 4> getScalePosition(OpBuilder &b, Location loc, GatherPagesOp gather, ValueRange index) {
  OpBuilder::InsertPoint inRegion = b.saveInsertionPoint();
  b.setInsertionPoint(gather);
  OpFoldResult pages = tensor::getMixedSize(b, loc, gather.getCache(), 0);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value last = arith::SubIOp::create(b, loc, getValueOrCreateConstantIndexOp(b, loc, pages), one);
  b.restoreInsertionPoint(inRegion);
  SmallVector<Value, 4> position = gather.getCachePosition(b, loc, index[0], index[1], index[2]);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  position[0] = arith::MaxSIOp::create(b, loc, arith::MinSIOp::create(b, loc, position[0], last), zero);
  return position;
}

/// scale[hk], or scale[b, hk, j], in `type`. Paged scales are read from the pages.
static Value readScale(OpBuilder &b, Location loc, Value scale, Type type) {
  SmallVector<IndexKind> kinds = {IndexKind::KvHead};
  if (cast<ShapedType>(scale.getType()).getRank() == 3)
    kinds = {IndexKind::Batch, IndexKind::KvHead, IndexKind::Key};
  SmallVector<Value> position = llvm::map_to_vector(
      kinds, [&](IndexKind kind) -> Value { return IndexOp::create(b, loc, b.getIndexType(), kind); });
  if (auto gather = scale.getDefiningOp<GatherPagesOp>()) {
    scale = gather.getCache();
    position = getScalePosition(b, loc, gather, position);
  }
  Value element = isa<TensorType>(scale.getType()) ? tensor::ExtractOp::create(b, loc, scale, position).getResult()
                                                   : memref::LoadOp::create(b, loc, scale, position).getResult();
  return convertFloat(b, loc, element, type);
}

void attn::composeKeyScaleGradient(OpBuilder &builder, Location loc, Value scale, Type type, Region &scoreGrad) {
  OpBuilder::InsertionGuard guard(builder);
  Region given;
  given.takeBody(scoreGrad);
  Block *block = builder.createBlock(&scoreGrad, scoreGrad.end(), {type, type}, {loc, loc});
  Value factor = readScale(builder, loc, scale, type), score = block->getArgument(0), gradient = block->getArgument(1);
  if (!given.empty()) {
    score = arith::MulFOp::create(builder, loc, score, factor);
    gradient = inlineRegion(builder, given, {score, gradient}, [&](IndexOp index) -> Value {
                 return builder.clone(*index)->getResult(0);
               }).front();
  }
  YieldOp::create(builder, loc, arith::MulFOp::create(builder, loc, gradient, factor).getResult());
}

void attn::composeKvScale(OpBuilder &builder, Location loc, Value scale, ScaleOrder order, Type type, Region &region) {
  OpBuilder::InsertionGuard guard(builder);
  Region given;
  given.takeBody(region);
  Block *block = builder.createBlock(&region, region.end(), {type}, {loc});
  Value x = block->getArgument(0);
  auto multiply = [&] { x = arith::MulFOp::create(builder, loc, x, readScale(builder, loc, scale, type)); };
  if (order == ScaleOrder::BeforeRegion)
    multiply();
  x = inlineScoreRegion(builder, loc, given, x);
  if (order == ScaleOrder::AfterRegion)
    multiply();
  YieldOp::create(builder, loc, x);
}

//===----------------------------------------------------------------------===//
// C21
//===----------------------------------------------------------------------===//

/// (2, ?, 64)
static std::string printShape(ArrayRef<int64_t> shape) {
  auto print = [](int64_t size) { return ShapedType::isDynamic(size) ? std::string("?") : std::to_string(size); };
  return "(" + llvm::join(llvm::map_range(shape, print), ", ") + ")";
}

/// C21.
template <typename OpTy> static LogicalResult verifyScales(OpTy op) {
  Type type = getElementTypeOrSelf(op.getKey().getType());
  Value keyScale = op.getKeyScale();
  if (isQuantised(type) && !keyScale)
    return op.emitOpError("C21: expected kv_scale beside keys and values of type ")
           << type << ", found none; write kv_scale(%ks, %vs : tensor<…xf32>, tensor<…xf32>), a factor a head of K, or "
           << "a factor a token";
  if (!keyScale)
    return success();
  if (!isQuantised(type))
    return op.emitOpError(
               "C21: expected kv_scale only beside keys and values of type i8, f8E4M3FN or f8E5M2, found them of "
               "type ")
           << type;
  if constexpr (requires { op.getScoreWeight(); })
    if (op.getScoreWeight())
      return op.emitOpError(
          "C21: expected kv_scale without score_weight, as the scale of a key is no factor of additive "
          "scores, found both");
  unsigned numBatch = getNumBatchDims(op);
  if (numBatch == 0)
    return op.emitOpError("C21: expected a batch dimension, the heads, beside kv_scale, found none");
  SmallVector<int64_t> domain = getStaticDomain(op);
  int64_t heads = domain[numBatch - 1];
  if (isa<AffineConstantExpr>(getKvHeadMap(op).getResult(0)))
    heads = 1;
  else if (!ShapedType::isDynamic(heads))
    heads = llvm::divideCeilSigned(heads, getGroupSize(op));
  for (auto [name, scale] : {std::pair("key scale", keyScale), {"value scale", op.getValueScale()}}) {
    ShapedType shaped = cast<ShapedType>(scale.getType());
    if (!shaped.getElementType().isF32() || (shaped.getRank() != 1 && shaped.getRank() != 3))
      return op.emitOpError("C21: expected the ")
             << name << " to be f32 of shape (kv_heads) or (batch, kv_heads, keys), found " << shaped;
    // A kernel with gradients accepts each rank independently.
    bool isAlone = std::is_same_v<OpTy, SdpaBackwardOp>;
    if (!isAlone && shaped.getRank() != cast<ShapedType>(keyScale.getType()).getRank())
      return op.emitOpError("C21: expected both scales a head or both a token, found ")
             << keyScale.getType() << " and " << op.getValueScale().getType();
    SmallVector<int64_t> expected = {heads};
    if (shaped.getRank() == 3) {
      if (numBatch != 2 || hasPackedKeys(op))
        return op.emitOpError("C21: expected a scale a token with the batch dimensions (batch, head) and keys that are "
                              "not packed, found ")
               << (hasPackedKeys(op) ? "cu_seqlens" : std::to_string(numBatch) + " batch dimensions")
               << "; write scales of shape (kv_heads)";
      expected = {domain[0], heads, domain[numBatch + 1]};
    }
    if (failed(verifyCompatibleShape(shaped.getShape(), expected)))
      return op.emitOpError("C21: expected the ")
             << name << " to be of shape " << printShape(expected) << ", found " << printShape(shaped.getShape());
  }
  return success();
}
LogicalResult attn::verifyKvScale(SdpaOp op) { return verifyScales(op); }
LogicalResult attn::verifyKvScale(SdpaBackwardOp op) { return verifyScales(op); }
