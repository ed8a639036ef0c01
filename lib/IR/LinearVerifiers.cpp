//===- LinearVerifiers.cpp - L1 to L9: linear attention -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Verifiers.h"
#include "attn/IR/Attn.h"
#include <cmath>

using namespace mlir;
using namespace attn;

static ShapedType getShaped(Value value) { return cast<ShapedType>(value.getType()); }

template <typename OpTy> static bool hasChannels(OpTy op) {
  if (!op.getDecay())
    return false;
  ArrayAttr explicitMaps = getExplicitMaps(op);
  if (!explicitMaps || explicitMaps.size() <= 3)
    return getShaped(op.getDecay()).getRank() == getShaped(op.getValue()).getRank();
  AffineMap map = cast<AffineMapAttr>(explicitMaps[3]).getAffineMap();
  return map.getNumDims() >= 2 && map.isFunctionOfDim(map.getNumDims() - 2);
}
bool LinearOp::hasChannelDecay() { return hasChannels(*this); }
bool LinearBackwardOp::hasChannelDecay() { return hasChannels(*this); }

template <typename OpTy> static double getNumber(OpTy op) {
  std::optional<APFloat> scale = op.getScale();
  return scale ? scale->convertToDouble() : 1 / std::sqrt(double(getStaticSize(op, DimKind::HeadSize)));
}
double LinearOp::getScaleNumber() { return getNumber(*this); }
double LinearBackwardOp::getScaleNumber() { return getNumber(*this); }

/// L1: heads of query and key, in the default layout, before C3 speaks of query heads.
template <typename OpTy> static LogicalResult verifyHeads(OpTy op) {
  ShapedType query = getShaped(op.getQuery()), key = getShaped(op.getKey()), value = getShaped(op.getValue());
  if (query.getRank() != key.getRank() || query.getElementType() != key.getElementType())
    return op.emitOpError("L1: expected query and key of one rank and element type, found ") << query << " and " << key;
  int64_t head = value.getRank() - (op.getCuSeqlens() ? 2 : 3);
  if (getExplicitMaps(op) || head < 0 || query.getRank() != value.getRank())
    return success();
  int64_t heads = value.getDimSize(head), keyHeads = query.getDimSize(head);
  if (key.getDimSize(head) != keyHeads)
    return op.emitOpError("L1: expected as many heads of key as of query (")
           << keyHeads << "), found " << key.getDimSize(head);
  if (!ShapedType::isDynamic(heads) && !ShapedType::isDynamic(keyHeads) && (keyHeads < 1 || heads % keyHeads != 0))
    return op.emitOpError("L1: expected the number of heads of value (")
           << heads << ") to be a multiple of that of key, found " << keyHeads;
  return success();
}

/// L2: element types.
template <typename OpTy> static LogicalResult verifyTypes(OpTy op) {
  Type type = getElementTypeOrSelf(op.getQuery().getType()), wide = getAccumulationType(type);
  if (!isa<Float32Type, Float64Type, BFloat16Type, Float16Type>(type))
    return op.emitOpError("L2: expected query of f32, f64, bf16 or f16, found ") << type;
  for (auto [name, operand] : {std::pair("value", op.getValue()),
                               {"erase", op.getErase()},
                               {"write", op.getWrite()},
                               {isa<LinearOp>(op) ? "output" : "dout", op.getOutput()}})
    if (operand && getElementTypeOrSelf(operand.getType()) != type)
      return op.emitOpError("L2: expected ")
             << name << " to have element type " << type << ", that of query, found " << getElementTypeOrSelf(operand);
  if (Type state = getElementTypeOrSelf(op.getState().getType()); state != wide)
    return op.emitOpError("L2: expected state to have element type ")
           << wide << ", that of the accumulation, found " << state;
  for (auto [name, operand] : {std::pair("decay", op.getDecay()), {"beta", op.getBeta()}}) {
    auto element = dyn_cast_or_null<FloatType>(operand ? getElementTypeOrSelf(operand.getType()) : Type());
    if (operand && (!element || element.getWidth() > wide.getIntOrFloatBitWidth() || element.getWidth() < 16))
      return op.emitOpError("L2: expected ")
             << name << " to have element type " << wide << ", or a narrower float of at least 16 bits, found "
             << getElementTypeOrSelf(operand.getType());
  }
  return success();
}

template <typename OpTy>
static LogicalResult verifyList(OpTy op, Value list, StringRef number, StringRef name, int64_t excess) {
  if (!list)
    return success();
  ShapedType type = getShaped(list);
  if (type.getRank() != 1 || !type.getElementType().isInteger(32))
    return op.emitOpError(number) << ": expected " << name << " of one dimension, of i32, found " << type;
  int64_t sequences = getStaticDomain(op)[0], size = type.getDimSize(0);
  if (!ShapedType::isDynamic(sequences) && !ShapedType::isDynamic(size) && size != sequences + excess)
    return op.emitOpError(number) << ": expected " << name << " to have " << sequences + excess << " elements, "
                                  << (excess ? "one more than there are sequences" : "one a batch index") << ", found "
                                  << size;
  return success();
}

/// L7.
template <typename OpTy> static LogicalResult verifyNumbers(OpTy op) {
  for (auto [kind, name] : {std::pair(DimKind::HeadSize, "key"), {DimKind::ValueSize, "value"}})
    if (int64_t size = getStaticSize(op, kind); ShapedType::isDynamic(size) || size < 1)
      return op.emitOpError("L7: expected a static head size of ")
             << name << " of at least 1, found " << (ShapedType::isDynamic(size) ? "?" : std::to_string(size));
  if (op.getNormalize() && !(op.getNormalize()->convertToDouble() > 0 && op.getNormalize()->isFinite()))
    return op.emitOpError("L7: expected normalize above 0, found ")
           << op.getNormalizeAttr() << "; write normalize = 1.0e-6 : f64";
  if (op.getScale() && !op.getScale()->isFinite())
    return op.emitOpError("L7: expected a finite scale, found ") << op.getScaleAttr();
  return success();
}

/// L1 to L6 of the operands that both ops have.
template <typename OpTy> static LogicalResult verifyInputs(OpTy op) {
  if (op.getBeta() && op.getErase())
    return op.emitOpError(
        "L3: expected beta or erase, found both; write erase(%a) of -beta key, and beta value as value");
  if (!op.getErase() && (op.getWrite() || op.getBefore()))
    return op.emitOpError("L3: expected erase beside ") << (op.getWrite() ? "write" : "before") << ", found none";
  if (failed(verifyHeads(op)) || failed(verifyStructure(op)) || failed(verifyTypes(op)))
    return failure();
  if ((op.getCuSeqlens() || op.getSlots()) && getNumBatchDims(op) != 2)
    return op.emitOpError("L5: expected one batch dimension and heads beside ")
           << (op.getCuSeqlens() ? "cu_seqlens" : "slots") << ", found " << getNumBatchDims(op) << " batch dimensions";
  return success(succeeded(verifyList(op, op.getCuSeqlens(), "L5", "cu_seqlens", 1)) &&
                 succeeded(verifyList(op, op.getSlots(), "L6", "slots", 0)));
}

/// L9.
LogicalResult LinearBackwardOp::verify() {
  std::tuple<Value, Value, StringRef> pairs[] = {
      {getQuery(), getDquery(), "query"}, {getKey(), getDkey(), "key"},       {getValue(), getDvalue(), "value"},
      {getDecay(), getDdecay(), "decay"}, {getBeta(), getDbeta(), "beta"},    {getErase(), getDerase(), "erase"},
      {getWrite(), getDwrite(), "write"}, {getState(), getDstate(), "state"},
  };
  for (auto [input, gradient, name] : pairs)
    if (bool(input) != bool(gradient))
      return emitOpError("L9: expected ")
             << (input ? "d" : "") << name << " beside " << (input ? "" : "d") << name << ", found none";
  if (failed(verifyInputs(*this)))
    return failure();
  for (auto [input, gradient, name] : pairs) {
    if (!input)
      continue;
    Type own = getElementTypeOrSelf(input), wide = getElementTypeOrSelf(getState()),
         found = getElementTypeOrSelf(gradient);
    if (found != own && found != wide)
      return emitOpError("L9: expected d") << name << " to have element type " << own << ", that of " << name << ", or "
                                           << wide << ", that of the accumulation, found " << found;
  }
  return verifyNumbers(*this);
}

LogicalResult LinearOp::verify() { return failure(failed(verifyInputs(*this)) || failed(verifyNumbers(*this))); }

LogicalResult SolveOp::verify() {
  auto lower = cast<MemRefType>(getLower().getType()), x = cast<MemRefType>(getX().getType());
  Type type = x.getElementType();
  if (lower.getRank() != 2 || x.getRank() != 2 || !lower.hasStaticShape() || !x.hasStaticShape() ||
      lower.getDimSize(0) != lower.getDimSize(1) || lower.getDimSize(0) != x.getDimSize(0))
    return emitOpError("L8: expected lower (C, C) and x (C, N) of static sizes, found ") << lower << " and " << x;
  if (!isa<Float32Type, Float64Type>(type) || lower.getElementType() != type)
    return emitOpError("L8: expected lower and x of one type, f32 or f64, found ") << lower << " and " << x;
  auto [strides, offset] = x.getStridesAndOffset();
  if (strides.back() != 1)
    return emitOpError("L8: expected x with contiguous rows, found ") << x;
  return success();
}
