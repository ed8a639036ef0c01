//===- GraphFunction.h - nodes of a graph as a function ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_ONNX_GRAPHFUNCTION_H
#define ATTN_LIB_ONNX_GRAPHFUNCTION_H

#include "GraphOps.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringSet.h"

namespace attn::onnx {

/// A function built node by node. Values have the names of the model.
class GraphFunction {
public:
  GraphFunction(const Model &model, mlir::MLIRContext &context);

  /// The value, or null if no node or argument defines it yet.
  const Value *find(llvm::StringRef name) const;
  /// A value that is known without a node of this function: a constant.
  void addConstant(llvm::StringRef name, const Value &value) { values[name] = value; }
  /// The next argument; dynamic sizes with the same symbol are one size.
  llvm::Error addArgument(llvm::StringRef name, const TensorType &type);
  /// The same with the sizes of a value of another function.
  llvm::Error addArgument(llvm::StringRef name, const Value &outside);
  /// The same with the sizes of a value here.
  llvm::Error addArgumentLike(llvm::StringRef name, const Value &value);
  /// Known integers of another function, whose sizes are sizes of arguments here; false if they are not.
  bool addSizes(llvm::StringRef name, const Value &list, const SizeTable &table);
  /// Builds the node; its operands must be defined.
  llvm::Error addNode(const Node &node);
  /// Builds a single Attention node, on arguments with the names of its inputs.
  void addAttention(const AttentionNode &node);
  /// The function with these results; an error if the arguments do not determine a result's size.
  llvm::Expected<mlir::func::FuncOp> finish(llvm::StringRef name, llvm::StringRef kind,
                                            llvm::ArrayRef<llvm::StringRef> results);
  const SizeTable &getSizes() const { return b.getSizes(); }

private:
  /// A name in C that no other argument or result has.
  mlir::DictionaryAttr nameArgument(llvm::StringRef name);
  /// `find` returns where the size of a dimension is or will be stored; null for a size of its own.
  llvm::Error addArgument(llvm::StringRef name, DataType element, Sizes sizes, llvm::function_ref<Size *(size_t)> find);
  mlir::Value addParameter(llvm::StringRef name, mlir::Type type);
  void useDeclared(llvm::StringRef name, Value &value);
  llvm::Error checkResult(llvm::StringRef name, const Value &value) const;

  const Model &model;
  mlir::OwningOpRef<mlir::func::FuncOp> function;
  mlir::Block *block;
  GraphBuilder b;
  llvm::StringMap<Value> values;
  llvm::StringMap<Size> symbols;
  llvm::DenseMap<mlir::Value, Size> outsides; ///< by the values of another function
  llvm::StringSet<> names;
  llvm::DenseSet<mlir::Value> taken, dims; ///< dims: sizes of arguments
  llvm::SmallVector<mlir::DictionaryAttr> arguments;
};

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_GRAPHFUNCTION_H
