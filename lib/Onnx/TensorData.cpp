//===- TensorData.cpp - constants of a model ------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GraphBuilder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::formatv;
using llvm::StringRef;

static constexpr llvm::StringLiteral kDataTypeNames[] = {
    "UNDEFINED", "FLOAT",      "UINT8",      "INT8",         "UINT16",         "INT16",      "INT32",
    "INT64",     "STRING",     "BOOL",       "FLOAT16",      "DOUBLE",         "UINT32",     "UINT64",
    "COMPLEX64", "COMPLEX128", "BFLOAT16",   "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ",
    "UINT4",     "INT4",       "FLOAT4E2M1", "FLOAT8E8M0",   "UINT2",          "INT2"};

std::string attn::onnx::getDataTypeName(int64_t type) {
  if (type >= 0 && type < int64_t(std::size(kDataTypeNames)))
    return kDataTypeNames[type].str();
  return formatv("element type {0}", type);
}

/// The bytes of an element in the file; 0 for a type that no rule takes.
static size_t getElementSize(DataType type) {
  switch (type) {
  case DataType::Bool:
  case DataType::Int8:
  case DataType::UInt8: return 1;
  case DataType::Float16:
  case DataType::BFloat16: return 2;
  case DataType::Float:
  case DataType::Int32: return 4;
  case DataType::Double:
  case DataType::Int64: return 8;
  default: return 0;
  }
}

std::optional<int64_t> attn::onnx::getNumElements(const TensorType &type) {
  int64_t count = 1;
  for (const Dimension &dimension : type.shape) {
    if (!dimension.size || *dimension.size < 0 || *dimension.size > kMaxSize ||
        llvm::MulOverflow(count, *dimension.size, count) || count > kMaxElements)
      return std::nullopt;
  }
  return count;
}

Error attn::onnx::checkTensor(const TensorData &tensor) {
  if (tensor.isExternal)
    return llvm::createStringError("expected the values of a tensor in the model, found them in another file; give the "
                                   "path of the model, or write "
                                   "onnx.save_model(onnx.load(FILE), FILE, save_as_external_data=False)");
  size_t size = getElementSize(DataType(tensor.type.elementType));
  if (size == 0)
    return llvm::createStringError("expected a tensor of FLOAT, DOUBLE, FLOAT16, BFLOAT16, INT32, INT64, INT8, UINT8 "
                                   "or BOOL, found " +
                                   getDataTypeName(tensor.type.elementType));
  std::optional<int64_t> count = getNumElements(tensor.type);
  if (!count)
    return llvm::createStringError(formatv("expected at most {0} elements in a tensor, found more", kMaxElements));
  size_t found = tensor.integers.empty() ? tensor.bytes.size() / size : tensor.integers.size();
  if (found != size_t(*count) || (tensor.integers.empty() && tensor.bytes.size() % size != 0))
    return llvm::createStringError(formatv("expected the {0} elements of a tensor, found {1}", *count, found));
  return Error::success();
}

/// The bits of an element.
static uint64_t getBits(const TensorData &tensor, size_t index) {
  if (!tensor.integers.empty())
    return uint64_t(tensor.integers[index]);
  const char *bytes = tensor.bytes.data();
  switch (getElementSize(DataType(tensor.type.elementType))) {
  case 1: return uint8_t(bytes[index]);
  case 2: return llvm::support::endian::read16le(bytes + 2 * index);
  case 4: return llvm::support::endian::read32le(bytes + 4 * index);
  default: return llvm::support::endian::read64le(bytes + 8 * index);
  }
}

static int64_t getInteger(const TensorData &tensor, size_t index) {
  uint64_t bits = getBits(tensor, index);
  switch (DataType(tensor.type.elementType)) {
  case DataType::Bool: return bits != 0;
  case DataType::Int8: return int8_t(bits);
  case DataType::UInt8: return uint8_t(bits);
  case DataType::Int32: return int32_t(bits);
  default: return int64_t(bits);
  }
}

static size_t countElements(const TensorData &tensor) { return size_t(*getNumElements(tensor.type)); }

std::vector<int64_t> attn::onnx::getIntegers(const TensorData &tensor) {
  std::vector<int64_t> integers;
  for (size_t i = 0, count = countElements(tensor); i < count; ++i)
    integers.push_back(getInteger(tensor, i));
  return integers;
}

static mlir::TypedAttr getElement(const TensorData &tensor, size_t index, mlir::Type type) {
  auto floats = mlir::dyn_cast<mlir::FloatType>(type);
  if (!floats)
    return mlir::IntegerAttr::get(type, getInteger(tensor, index));
  return mlir::FloatAttr::get(type, llvm::APFloat(floats.getFloatSemantics(),
                                                  llvm::APInt(floats.getWidth(), getBits(tensor, index), false, true)));
}

mlir::TypedAttr attn::onnx::getSplatElement(const TensorData &tensor, mlir::Type type) {
  size_t count = countElements(tensor);
  for (size_t i = 1; i < count; ++i)
    if (getBits(tensor, i) != getBits(tensor, 0))
      return {};
  return count == 0 ? mlir::TypedAttr() : getElement(tensor, 0, type);
}

mlir::TypedAttr attn::onnx::getElements(const TensorData &tensor, mlir::RankedTensorType type) {
  mlir::Type element = type.getElementType();
  if (mlir::TypedAttr splat = getSplatElement(tensor, element))
    return mlir::DenseElementsAttr::get(type, llvm::ArrayRef<mlir::Attribute>(splat));
  if (tensor.integers.empty() && !element.isInteger(1))
    return mlir::DenseElementsAttr::getFromRawBuffer(type, llvm::ArrayRef(tensor.bytes.data(), tensor.bytes.size()));
  llvm::SmallVector<mlir::Attribute> elements;
  for (size_t i = 0, count = countElements(tensor); i < count; ++i)
    elements.push_back(getElement(tensor, i, element));
  return mlir::DenseElementsAttr::get(type, elements);
}

/// Larger tensors of integers are data, not shapes or the arithmetic on them.
static constexpr int64_t kMaxIntegers = 256;

Value attn::onnx::makeConstant(const TensorData &tensor) {
  Value value;
  value.element = DataType(tensor.type.elementType);
  for (const Dimension &dimension : tensor.type.shape)
    value.sizes.push_back(fixed(*dimension.size));
  value.data = &tensor;
  if (!isFloat(value.element) && int64_t(countElements(tensor)) <= kMaxIntegers) {
    value.integers.emplace();
    for (int64_t integer : getIntegers(tensor))
      value.integers->push_back(fixed(integer));
  }
  return value;
}

Value attn::onnx::makeIntegers(DataType element, Sizes integers, bool isScalar) {
  Value value = {element, isScalar ? Sizes() : Sizes{fixed(integers.size())}};
  value.integers = std::move(integers);
  return value;
}
