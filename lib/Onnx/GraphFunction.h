//===- GraphFunction.h - nodes of a graph as a function ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_ONNX_GRAPHFUNCTION_H
#define ATTN_LIB_ONNX_GRAPHFUNCTION_H

#include "GraphOps.h"

#include "llvm/ADT/StringSet.h"

namespace attn::onnx {

/// A function that grows by a node at a time. Values are called as the model calls them.
class GraphFunction {
public:
  explicit GraphFunction(const Model &model) : model(model) {}

  /// The value, or null where no node or argument has it yet.
  const Value *find(llvm::StringRef name) const;
  /// A value that is known without a node of this function: a constant.
  void addConstant(llvm::StringRef name, const Value &value) { values[name] = value; }
  /// The next argument; sizes that only the run knows are one where their symbols are.
  /// Its sizes are symbols, or `areOwn`: those of a value here.
  llvm::Error addArgument(llvm::StringRef name, DataType element, const Sizes &sizes, bool areOwn = false);
  llvm::Error addArgument(llvm::StringRef name, const TensorType &type);
  /// Known integers of another function, whose sizes the arguments here tell; false where they do not.
  bool addSizes(llvm::StringRef name, const Value &list, const SizeTable &table);
  /// Prints the node; its operands are there.
  llvm::Error addNode(const Node &node);
  /// The function with these results; an error where no argument tells a size of one.
  llvm::Expected<std::string> finish(llvm::StringRef name, llvm::StringRef kind,
                                     llvm::ArrayRef<llvm::StringRef> results);
  size_t getSize() const { return text.getSize(); }
  const SizeTable &getSizes() const { return text.getSizes(); }

private:
  /// A name in C that no other argument or result has.
  std::string makeArgumentName(llvm::StringRef name);
  void useDeclared(llvm::StringRef name, Value &value);
  llvm::Error checkResult(llvm::StringRef name, const Value &value) const;

  const Model &model;
  GraphText text;
  llvm::StringMap<Value> values;
  llvm::StringMap<Size> symbols;
  llvm::StringSet<> names, taken, dims; ///< dims: sizes that arguments tell
  std::vector<std::string> arguments;
};

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_GRAPHFUNCTION_H
