//===- OnnxModel.h - what an ONNX file says of its nodes --------*- C++ -*-===//
//
// The parts of onnx.proto that decide which kernel a node is: nodes with their
// attributes, and types. Weights are skipped where they lie. All strings are
// views of the bytes that were read.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_ONNX_ONNXMODEL_H
#define ATTN_ONNX_ONNXMODEL_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attn::onnx {

/// TensorProto.DataType, as far as it is more than a name here.
enum class DataType : int64_t { Float = 1, Int64 = 7, Bool = 9, Float16 = 10, Double = 11, BFloat16 = 16 };

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

struct Attribute {
  /// AttributeProto.AttributeType.
  enum class Kind : int64_t { Float = 1, Int = 2 };
  llvm::StringRef name;
  /// Of an attribute of the function around the node: not a value.
  llvm::StringRef reference;
  int64_t kind = 0;
  int64_t integer = 0;
  float real = 0;
};

struct Node {
  llvm::StringRef name, opType, domain, overload;
  std::vector<llvm::StringRef> inputs, outputs;
  std::vector<Attribute> attributes;
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
  /// Of graph inputs, outputs, initializers and values between, by name.
  llvm::StringMap<TensorType> types;
};

/// True of the two spellings of ONNX's own operators.
inline bool isStandardDomain(llvm::StringRef domain) { return domain.empty() || domain == "ai.onnx"; }

/// Reads a serialised ModelProto; `name` is for errors, which say the byte. Total: every length is checked against what
/// is there, memory grows with what has been read and never by a number in the file, and nothing recurses.
llvm::Expected<Model> readModel(llvm::StringRef bytes, llvm::StringRef name);

} // namespace attn::onnx

#endif // ATTN_ONNX_ONNXMODEL_H
