//===- GraphBuilder.cpp - the body of a function, op by op ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GraphBuilder.h"

#include "llvm/ADT/STLExtras.h"

using namespace attn::onnx;

//===----------------------------------------------------------------------===//
// Types, sizes, maps
//===----------------------------------------------------------------------===//

bool attn::onnx::isFloat(DataType type) {
  return llvm::is_contained({DataType::Float, DataType::Double, DataType::Float16, DataType::BFloat16}, type);
}

bool attn::onnx::isElement(DataType type) {
  return isFloat(type) || llvm::is_contained({DataType::Int32, DataType::Int64, DataType::Bool}, type);
}

DataType attn::onnx::getComputeType(DataType type) {
  return type == DataType::Float16 || type == DataType::BFloat16 ? DataType::Float : type;
}

bool attn::onnx::hasNoElements(const Sizes &sizes) {
  return llvm::any_of(sizes, [](const Size &size) { return size.number == 0; });
}

mlir::Type GraphBuilder::getElementType(DataType type) {
  switch (type) {
  case DataType::Bool: return getI1Type();
  case DataType::Int8:
  case DataType::UInt8: return getI8Type();
  case DataType::Int32: return getI32Type();
  case DataType::Int64: return getI64Type();
  case DataType::Float16: return getF16Type();
  case DataType::BFloat16: return getBF16Type();
  case DataType::Double: return getF64Type();
  default: return getF32Type();
  }
}

mlir::RankedTensorType GraphBuilder::getType(DataType element, const Sizes &sizes) {
  llvm::SmallVector<int64_t> shape;
  for (const Size &size : sizes)
    shape.push_back(size.number.value_or(mlir::ShapedType::kDynamic));
  return mlir::RankedTensorType::get(shape, getElementType(element));
}

Exprs GraphBuilder::getDims(size_t rank) {
  return llvm::to_vector(llvm::map_range(llvm::seq(rank), [&](size_t i) { return dim(i); }));
}

llvm::SmallVector<mlir::OpFoldResult> GraphBuilder::fold(const Sizes &sizes) {
  return llvm::to_vector(llvm::map_range(sizes, [&](const Size &size) -> mlir::OpFoldResult {
    return size.number ? mlir::OpFoldResult(getIndexAttr(*size.number)) : size.value;
  }));
}

std::optional<Sizes> attn::onnx::broadcastSizes(llvm::ArrayRef<const Value *> values) {
  size_t rank = 0;
  for (const Value *value : values)
    rank = std::max(rank, value->getRank());
  Sizes result(rank, fixed(1));
  for (const Value *value : values)
    for (size_t i = 0; i < value->getRank(); ++i) {
      const Size &size = value->sizes[i];
      Size &into = result[rank - value->getRank() + i];
      if (into.number == 1 || (!into.number && size.number && size.number != 1))
        into = size;
      else if (size.number && size.number != 1 && size.number != into.number)
        return std::nullopt;
    }
  return result;
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

mlir::Value GraphBuilder::constant(mlir::TypedAttr attribute) {
  mlir::Value &value = constants[attribute];
  if (value)
    return value;
  InsertionGuard guard(*this);
  lastConstant ? setInsertionPointAfter(lastConstant) : setInsertionPointToStart(block);
  value = make<arith::ConstantOp>(attribute);
  lastConstant = value.getDefiningOp();
  return value;
}

mlir::Value GraphBuilder::infinity(mlir::Type type, bool isNegative) {
  return constant(mlir::FloatAttr::get(
      type, llvm::APFloat::getInf(mlir::cast<mlir::FloatType>(type).getFloatSemantics(), isNegative)));
}

mlir::Value GraphBuilder::cast(mlir::Value value, mlir::Type to) {
  mlir::Type from = value.getType();
  if (from == to)
    return value;
  bool isFromFloat = mlir::isa<mlir::FloatType>(from), isToFloat = mlir::isa<mlir::FloatType>(to);
  if (to.isInteger(1))
    return isFromFloat ? make<arith::CmpFOp>(arith::CmpFPredicate::UNE, value, zero(from))
                       : make<arith::CmpIOp>(arith::CmpIPredicate::ne, value, zero(from));
  if (from.isInteger(1))
    return isToFloat ? make<arith::UIToFPOp>(to, value) : make<arith::ExtUIOp>(to, value);
  if (isFromFloat != isToFloat)
    return isToFloat ? make<arith::SIToFPOp>(to, value) : make<arith::FPToSIOp>(to, value);
  bool isWider = to.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth();
  if (!isFromFloat)
    return isWider ? make<arith::ExtSIOp>(to, value) : make<arith::TruncIOp>(to, value);
  // Between f16 and bf16 by f32.
  if (to.getIntOrFloatBitWidth() == from.getIntOrFloatBitWidth())
    return cast(cast(value, getF32Type()), to);
  return isWider ? make<arith::ExtFOp>(to, value) : make<arith::TruncFOp>(to, value);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

mlir::Value GraphBuilder::get(const Value &value) {
  if (value.ir)
    return value.ir;
  if (value.data) {
    mlir::Value &tensor = tensors[value.data];
    return tensor ? tensor : tensor = constant(getElements(*value.data, getType(value)));
  }
  // Known integers, some of which may be dynamic sizes.
  mlir::Type type = getElementType(value.element);
  llvm::SmallVector<mlir::Value> elements;
  for (const Size &size : *value.integers)
    elements.push_back(size.number ? integer(*size.number, type) : make<arith::IndexCastOp>(type, size.value));
  return make<tensor::FromElementsOp>(getType(value), elements);
}

mlir::TypedAttr GraphBuilder::getSplat(const Value &value) {
  mlir::Type type = getElementType(value.element);
  if (value.ir || value.data)
    return value.ir ? mlir::TypedAttr() : getSplatElement(*value.data, type);
  bool isSplat = !value.integers->empty() && value.integers->front().number &&
                 llvm::all_of(*value.integers, [&](const Size &size) { return isSame(size, value.integers->front()); });
  return isSplat ? getIntegerAttr(type, *value.integers->front().number) : mlir::TypedAttr();
}

Value GraphBuilder::addEmpty(DataType element, const Sizes &sizes) {
  return {element, sizes, make<tensor::EmptyOp>(fold(sizes), getElementType(element))};
}

Value GraphBuilder::addFilled(DataType element, const Sizes &sizes, mlir::Value scalar) {
  Value empty = addEmpty(element, sizes);
  return {element, sizes, make<linalg::FillOp>(scalar, empty.ir)};
}

Value GraphBuilder::cast(const Value &value, DataType element) {
  if (value.element == element)
    return value;
  return addElementwise(element, value.sizes, {&value}, [&](Args x) { return cast(x[0], getElementType(element)); });
}

Value GraphBuilder::transpose(const Value &value, llvm::ArrayRef<int64_t> permutation) {
  Sizes sizes;
  for (int64_t dim : permutation)
    sizes.push_back(value.sizes[dim]);
  mlir::Value source = get(value);
  Value init = addEmpty(value.element, sizes);
  return {value.element, sizes, make<linalg::TransposeOp>(source, init.ir, permutation)};
}

Value GraphBuilder::broadcast(const Value &value, const Sizes &sizes) {
  return addElementwise(value.element, sizes, {&value}, [](Args x) { return x[0]; });
}

/// An empty slice is a new tensor: MLIR allows none of a tensor without elements.
Value GraphBuilder::slice(const Value &value, const Sizes &offsets, const Sizes &sizes, llvm::ArrayRef<int64_t> steps) {
  if (hasNoElements(sizes))
    return addEmpty(value.element, sizes);
  llvm::SmallVector<mlir::OpFoldResult> strides(sizes.size(), getIndexAttr(1));
  for (auto [i, step] : llvm::enumerate(steps))
    strides[i] = getIndexAttr(step);
  mlir::Value source = get(value);
  return {value.element, sizes,
          make<tensor::ExtractSliceOp>(getType(value.element, sizes), source, fold(offsets), fold(sizes), strides)};
}

Value GraphBuilder::insert(const Value &value, const Value &init, const Sizes &offsets) {
  if (hasNoElements(value.sizes))
    return init;
  llvm::SmallVector<mlir::OpFoldResult> strides(value.getRank(), getIndexAttr(1));
  mlir::Value source = get(value);
  return {init.element, init.sizes,
          make<tensor::InsertSliceOp>(source, init.ir, fold(offsets), fold(value.sizes), strides)};
}

//===----------------------------------------------------------------------===//
// Generics
//===----------------------------------------------------------------------===//

Value GraphBuilder::addGeneric(const Value &init, const Exprs &initMap, llvm::ArrayRef<Operand> operands, size_t loops,
                               llvm::ArrayRef<size_t> reductions, RegionBuilder build) {
  llvm::SmallVector<mlir::utils::IteratorType> iterators(loops, mlir::utils::IteratorType::parallel);
  for (size_t dim : reductions)
    iterators[dim] = mlir::utils::IteratorType::reduction;
  llvm::SmallVector<mlir::AffineMap> maps;
  llvm::SmallVector<mlir::Value> inputs, given;
  for (const Operand &operand : operands) {
    // The sizes of a reduction come from its operands, so splat operands stay tensors.
    mlir::TypedAttr splat = reductions.empty() ? getSplat(*operand.value) : mlir::TypedAttr();
    given.push_back(splat ? constant(splat) : mlir::Value());
    if (splat)
      continue;
    maps.push_back(mlir::AffineMap::get(loops, 0, operand.map, getContext()));
    inputs.push_back(get(*operand.value));
  }
  maps.push_back(mlir::AffineMap::get(loops, 0, initMap, getContext()));
  auto generic = linalg::GenericOp::create(*this, init.ir.getType(), inputs, init.ir, maps, iterators,
                                           [&](OpBuilder &, mlir::Location, mlir::ValueRange elements) {
                                             auto next = elements.begin();
                                             for (mlir::Value &value : given)
                                               value = value ? value : *next++;
                                             given.push_back(*next);
                                           });
  InsertionGuard guard(*this);
  setInsertionPointToEnd(generic.getBody());
  linalg::YieldOp::create(*this, build(given));
  return {init.element, init.sizes, generic.getResult(0)};
}

Value GraphBuilder::addElementwise(DataType element, const Sizes &sizes, llvm::ArrayRef<const Value *> operands,
                                   RegionBuilder build) {
  std::vector<Operand> mapped;
  for (const Value *value : operands) {
    Exprs map;
    for (size_t i = 0; i < value->getRank(); ++i) {
      size_t place = sizes.size() - value->getRank() + i;
      const Size &size = value->sizes[i];
      bool isRepeated = size.number == 1 && sizes[place].number != 1;
      // Dynamic sizes not known to be equal: a call in which one of them is 1, to be broadcast, is refused.
      if (!isRepeated && !isSame(size, sizes[place])) {
        addLimit(size, sizes[place]);
        addLimit(sizes[place], size);
      }
      map.push_back(isRepeated ? getAffineConstantExpr(0) : dim(place));
    }
    mapped.push_back({value, std::move(map)});
  }
  return addGeneric(addEmpty(element, sizes), getDims(sizes.size()), mapped, sizes.size(), {}, build);
}

Value GraphBuilder::addComputed(DataType element, const Sizes &sizes, llvm::ArrayRef<const Value *> operands,
                                RegionBuilder build) {
  mlir::Type type = getElementType(getComputeType(element));
  return addElementwise(element, sizes, operands, [&](Args x) {
    llvm::SmallVector<mlir::Value> wide;
    for (mlir::Value value : x.drop_back())
      wide.push_back(cast(value, type));
    return cast(build(wide), getElementType(element));
  });
}
