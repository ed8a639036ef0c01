//===- LinearVerifiers.cpp - L1 to L8: linear attention -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Verifiers.h"
#include <cmath>

using namespace mlir;
using namespace attn;

static ShapedType getShaped(Value value) { return cast<ShapedType>(value.getType()); }

bool LinearOp::hasChannelDecay() {
  if (!getDecay())
    return false;
  ArrayAttr explicitMaps = getExplicitMaps(*this);
  if (!explicitMaps || explicitMaps.size() <= 3)
    return getShaped(getDecay()).getRank() == getShaped(getValue()).getRank();
  AffineMap map = cast<AffineMapAttr>(explicitMaps[3]).getAffineMap();
  return map.getNumDims() >= 2 && map.isFunctionOfDim(map.getNumDims() - 2);
}

double LinearOp::getScaleNumber() {
  return getScale() ? getScale()->convertToDouble() : 1 / std::sqrt(double(getStaticSize(*this, DimKind::HeadSize)));
}

/// L1: heads of query and key, in the default layout, before C3 speaks of query heads.
static LogicalResult verifyHeads(LinearOp op) {
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
static LogicalResult verifyTypes(LinearOp op) {
  Type type = getElementTypeOrSelf(op.getQuery().getType()), wide = getAccumulationType(type);
  if (!isa<Float32Type, Float64Type, BFloat16Type, Float16Type>(type))
    return op.emitOpError("L2: expected query of f32, f64, bf16 or f16, found ") << type;
  for (auto [name, operand] : {std::pair("value", op.getValue()),
                               {"erase", op.getErase()},
                               {"write", op.getWrite()},
                               {"output", op.getOutput()}})
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

static LogicalResult verifyList(LinearOp op, Value list, StringRef number, StringRef name, int64_t excess) {
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

LogicalResult LinearOp::verify() {
  if (getBeta() && getErase())
    return emitOpError("L3: expected beta or erase, found both; write erase(%a) of -beta key, and beta value as value");
  if (!getErase() && (getWrite() || getBefore()))
    return emitOpError("L3: expected erase beside ") << (getWrite() ? "write" : "before") << ", found none";
  if (failed(verifyHeads(*this)) || failed(verifyStructure(*this)) || failed(verifyTypes(*this)))
    return failure();
  if ((getCuSeqlens() || getSlots()) && getNumBatchDims(*this) != 2)
    return emitOpError("L5: expected one batch dimension and heads beside ")
           << (getCuSeqlens() ? "cu_seqlens" : "slots") << ", found " << getNumBatchDims(*this) << " batch dimensions";
  if (failed(verifyList(*this, getCuSeqlens(), "L5", "cu_seqlens", 1)) ||
      failed(verifyList(*this, getSlots(), "L6", "slots", 0)))
    return failure();
  for (auto [kind, name] : {std::pair(DimKind::HeadSize, "key"), {DimKind::ValueSize, "value"}})
    if (int64_t size = getStaticSize(*this, kind); ShapedType::isDynamic(size) || size < 1)
      return emitOpError("L7: expected a static head size of ")
             << name << " of at least 1, found " << (ShapedType::isDynamic(size) ? "?" : std::to_string(size));
  if (getNormalize() && !(getNormalize()->convertToDouble() > 0 && getNormalize()->isFinite()))
    return emitOpError("L7: expected normalize above 0, found ")
           << getNormalizeAttr() << "; write normalize = 1.0e-6 : f64";
  if (getScale() && !getScale()->isFinite())
    return emitOpError("L7: expected a finite scale, found ") << getScaleAttr();
  return success();
}

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
