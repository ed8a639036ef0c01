//===- Formula.cpp - formulas over an op's domain as linalg ---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Formula.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

Value attn::createFloatConstant(OpBuilder &builder, Location loc, Type type, double value) {
  TypedAttr constant = builder.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    constant = DenseElementsAttr::get(vector, constant);
  return arith::ConstantOp::create(builder, loc, constant);
}

Value attn::convertFloat(OpBuilder &builder, Location loc, Value value, Type to) {
  auto from = dyn_cast<FloatType>(value.getType());
  auto target = dyn_cast<FloatType>(to);
  if (!from || !target || from == target)
    return value;
  if (isQuantised(from))
    return convertQuantised(builder, loc, value, target);
  if (from.getWidth() < target.getWidth())
    return arith::ExtFOp::create(builder, loc, to, value);
  // No instruction narrows f64 to 16 bits, and not every C library has a function for it.
  if (from.getWidth() == 64 && target.getWidth() == 16)
    value = arith::TruncFOp::create(builder, loc, builder.getF32Type(), value);
  return arith::TruncFOp::create(builder, loc, to, value);
}

AffineMap attn::restrictDomain(AffineMap map, ArrayRef<unsigned> kept) {
  SmallVector<AffineExpr> replacement(map.getNumDims(), getAffineConstantExpr(0, map.getContext()));
  for (auto [i, position] : llvm::enumerate(kept))
    replacement[position] = getAffineDimExpr(i, map.getContext());
  return map.replaceDimsAndSymbols(replacement, {}, kept.size(), 0);
}

Formula::Formula(OpBuilder &builder, Operation *op, Type type)
    : builder(builder), op(op), loc(op->getLoc()), type(type), numBatch(getNumBatchDims(op)),
      sizes(getDomainSizes(builder, op)), maps(getMaps(op)) {}

AffineMap Formula::getMap(ArrayRef<DimKind> dims) {
  return AffineMap::getMultiDimMapWithTargets(sizes.size(), getPositions(dims), op->getContext());
}

Value Formula::empty(ArrayRef<DimKind> dims, Type elementType) {
  SmallVector<OpFoldResult> shape;
  for (unsigned position : getPositions(dims))
    shape.push_back(sizes[position]);
  return tensor::EmptyOp::create(builder, loc, shape, elementType ? elementType : type);
}

Value Formula::fill(Value tensor, double value) {
  Value constant = createFloatConstant(builder, loc, getElementTypeOrSelf(tensor.getType()), value);
  return linalg::FillOp::create(builder, loc, constant, tensor).getResult(0);
}

Value Formula::generic(ArrayRef<DimKind> loops, ArrayRef<DimKind> reduced, ValueRange inputs,
                       ArrayRef<AffineMap> inputMaps, Value output, AffineMap outputMap, BodyFn body) {
  SmallVector<unsigned> kept = getPositions(loops);
  SmallVector<AffineMap> genericMaps;
  for (AffineMap map : inputMaps)
    genericMaps.push_back(restrictDomain(map, kept));
  genericMaps.push_back(restrictDomain(outputMap, kept));
  SmallVector<utils::IteratorType> iterators(kept.size(), utils::IteratorType::parallel);
  for (auto [i, kind] : llvm::enumerate(loops))
    if (llvm::is_contained(reduced, kind))
      iterators[numBatch + i] = utils::IteratorType::reduction;
  domain.assign(kept.begin(), kept.end());
  auto op = linalg::GenericOp::create(builder, loc, output.getType(), inputs, output, genericMaps, iterators,
                                      [&](OpBuilder &nested, Location nestedLoc, ValueRange args) {
                                        Values elements;
                                        for (Value arg : args)
                                          elements.push_back(convert(nested, arg, type));
                                        Value result = body(nested, nestedLoc, elements);
                                        linalg::YieldOp::create(nested, nestedLoc,
                                                                convert(nested, result, args.back().getType()));
                                      });
  return op.getResult(0);
}

Value Formula::getIndex(OpBuilder &nested, IndexOp index) {
  auto at = [&](unsigned position) -> Value {
    return linalg::IndexOp::create(nested, loc, llvm::find(domain, position) - domain.begin());
  };
  switch (index.getKind()) {
  case IndexKind::Batch: return at(0);
  case IndexKind::Head: return at(numBatch - 1);
  case IndexKind::Query: return at(numBatch);
  case IndexKind::Key: return at(numBatch + 1);
  case IndexKind::KvHead: return affine::AffineApplyOp::create(nested, loc, getKvHeadMap(op), at(numBatch - 1));
  case IndexKind::FirstQuery:
  case IndexKind::EndQuery:
  case IndexKind::FirstKey:
  case IndexKind::EndKey: break; // key ranges are not part of the reference
  }
  llvm_unreachable("covered switch");
}

SmallVector<unsigned> Formula::getPositions(ArrayRef<DimKind> dims) {
  SmallVector<unsigned> positions(llvm::to_vector(llvm::seq<unsigned>(0, numBatch)));
  for (DimKind kind : dims)
    positions.push_back(getDomainPosition(op, kind));
  return positions;
}
