//===- OnnxModel.h - what an ONNX file says of its nodes --------*- C++ -*-===//
//
// The parts of onnx.proto that decide which kernel a node is: nodes with their
// attributes, types, and values of initializers. Strings, and values that are
// written as bytes, are views of the file that was read.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_ONNX_ONNXMODEL_H
#define ATTN_ONNX_ONNXMODEL_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn::onnx {

/// TensorProto.DataType, as far as it is more than a name here.
enum class DataType : int64_t {
  Undefined = 0,
  Float = 1,
  UInt8 = 2,
  Int8 = 3,
  Int32 = 6,
  Int64 = 7,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  BFloat16 = 16
};

/// ONNX's name, as "FLOAT16", or the number of a type that onnx 1.23 does not have.
std::string getDataTypeName(int64_t type);

/// A size, or its symbol (which may be empty) where only the run knows it.
struct Dimension {
  std::optional<int64_t> size;
  llvm::StringRef symbol;
};

struct TensorType {
  int64_t elementType = 0;
  bool hasShape = false; ///< no shape is not rank 0
  std::vector<Dimension> shape;
};

/// Of TensorProto.external_data: location, offset or length.
struct ExternalEntry {
  llvm::StringRef key, value;
};

/// The values of a tensor (TensorProto): bytes in memory order, or integers one by one.
struct TensorData {
  TensorType type;
  llvm::StringRef bytes;         ///< raw_data, float_data or double_data
  std::vector<int64_t> integers; ///< int64_data, or int32_data, which holds the bits of types with 16 bits
  bool isExternal = false;       ///< the values lie in another file, which is not read
  std::vector<ExternalEntry> external;
};

/// True where each element can be found: none is in another file, and the sizes agree with what is there.
llvm::Error checkTensor(const TensorData &tensor);
/// The elements of a checked tensor of integers or booleans.
std::vector<int64_t> getIntegers(const TensorData &tensor);
/// The number of elements, of a tensor type of fixed sizes; nothing where it is no number or too large.
std::optional<int64_t> getNumElements(const TensorType &type);

struct Attribute {
  /// AttributeProto.AttributeType.
  enum class Kind : int64_t { Float = 1, Int = 2, String = 3, Tensor = 4, Graph = 5, Floats = 6, Ints = 7 };
  llvm::StringRef name;
  /// Of an attribute of the function around the node: not a value.
  llvm::StringRef reference;
  int64_t kind = 0;
  int64_t integer = 0;
  float real = 0;
  llvm::StringRef string;
  std::vector<int64_t> integers;
  TensorData tensor;
};

struct Node {
  llvm::StringRef name, opType, domain, overload;
  std::vector<llvm::StringRef> inputs, outputs;
  std::vector<Attribute> attributes;

  /// Null where the node leaves it out.
  const Attribute *findAttribute(llvm::StringRef attribute) const;
};

/// A function that the model defines itself.
struct Function {
  llvm::StringRef name, domain;
};

struct Model {
  /// Of ONNX's own operators; 0 where the model imports none.
  int64_t opset = 0;
  std::vector<Node> nodes;
  std::vector<Function> functions;
  llvm::StringRef graphName;
  /// Names of graph inputs, initializers among them in old models, and of graph outputs.
  std::vector<llvm::StringRef> inputs, outputs;
  /// Of graph inputs, outputs, initializers and values between, by name.
  llvm::StringMap<TensorType> types;
  llvm::StringMap<TensorData> initializers;
  /// Of external data, by location.
  llvm::StringMap<std::shared_ptr<llvm::MemoryBuffer>> files;
};

/// True of the two spellings of ONNX's own operators.
inline bool isStandardDomain(llvm::StringRef domain) { return domain.empty() || domain == "ai.onnx"; }

inline constexpr llvm::StringLiteral kMicrosoftDomain = "com.microsoft";

/// Reads a serialised ModelProto; `name` is for errors, which say the byte. Total: every length is checked against what
/// is there, memory grows with what has been read and never by a number in the file, and nothing recurses.
llvm::Expected<Model> readModel(llvm::StringRef bytes, llvm::StringRef name);

} // namespace attn::onnx

#endif // ATTN_ONNX_ONNXMODEL_H
