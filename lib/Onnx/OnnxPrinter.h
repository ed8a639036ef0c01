//===- OnnxPrinter.h - an Attention node as a function ----------*- C++ -*-===//
//
// The text of one function, a line a value: first views and concatenations of
// the inputs (OnnxOperands.cpp), then the computation (OnnxPrinter.cpp).
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_ONNX_ONNXPRINTER_H
#define ATTN_LIB_ONNX_ONNXPRINTER_H

#include "attn/Onnx/OnnxAttention.h"

#include "llvm/Support/FormatVariadic.h"

namespace attn::onnx {

/// A size in the text: a number, or the SSA value that holds it.
struct Size {
  std::optional<int64_t> number;
  std::string value;
};
using Sizes = std::vector<Size>;

struct Tensor {
  std::string value; ///< with its %
  Sizes sizes;
  llvm::StringRef element;
};

/// K or V as the attention op reads them: (batch, heads, rows, size), or with rows in front of heads.
struct Rows {
  Tensor tensor;
  bool isHeadMajor;
};

/// Prints a checked node as a public function.
class FunctionPrinter {
public:
  FunctionPrinter(const AttentionNode &node, llvm::StringRef name) : node(node), name(name) {}
  std::string print();
  /// The lines that compute the outputs, from values that are called as the node's inputs are.
  std::string printBody();
  const Tensor &getOutput(Output output) const { return outputs[output]; }
  Tensor getInput(Input input);

  // The pieces of the text.
  static std::string printType(const Sizes &sizes, llvm::StringRef element);
  static std::string printType(const Tensor &tensor) { return printType(tensor.sizes, tensor.element); }
  static std::string printSizes(const Sizes &sizes);

private:
  std::string printMap(llvm::StringRef dims, llvm::StringRef results) const;
  std::string printRowsMap(llvm::StringRef dims, llvm::StringRef row, llvm::StringRef head, llvm::StringRef column,
                           bool isHeadMajor) const;
  template <typename... Args> void line(const char *format, Args &&...args) {
    body += "  " + llvm::formatv(false, format, std::forward<Args>(args)...).str() + "\n";
  }
  std::string addConstant(int64_t number, llvm::StringRef type);

  // Values.
  Size addSize(const Dimension &dimension, llvm::StringRef name, Input input, unsigned dim);
  Tensor addEmpty(llvm::StringRef name, Sizes sizes, llvm::StringRef element);
  Tensor splitHeads(const Tensor &packed, int64_t heads, int64_t size, llvm::StringRef name);
  Rows addRows(Input input, Input past, Output present, int64_t size);
  Tensor addHeadMajor(const Rows &rows, const Tensor &target, llvm::StringRef name);
  Tensor addCache(const Rows &rows, Input past, llvm::StringRef name, int64_t size);
  Rows takePrefix(const Rows &rows, int64_t keys);
  Tensor padMask(const Tensor &mask);
  Tensor addLengths(const Size &keys);
  Tensor addCounts(llvm::StringRef name, const std::string &added, const std::string &limit);
  std::string addWide(const Size &size, llvm::StringRef name);

  // Elements of another type (OnnxElements.cpp).
  Tensor addConverted(const Tensor &tensor, llvm::StringRef name, llvm::StringRef element);
  Tensor addMask();

  // New rows of a cache where lengths say (OnnxAppend.cpp).
  void addStarts();
  Size addMinimum(const Size &lhs, const Size &rhs, const std::string &value);
  void addSlice(const Tensor &source, const std::string &value, const Sizes &first, const Sizes &sizes);
  Tensor addPastRows(Input past, llvm::StringRef name, llvm::StringRef element, const Size &width);
  Tensor addAppended(const Rows &rows, Input past, llvm::StringRef name, int64_t size);

  // The computation.
  std::string addMaskClauses(const Tensor &mask, const Size &keys);
  bool isLowerRight() const;
  std::string getCausal() const;
  Tensor addSdpa(const Tensor &q, Rows k, Rows v, const Tensor &y);
  Tensor addChain(const Tensor &q, const Rows &k, const Rows &v, const Tensor &y);

  const AttentionNode &node;
  llvm::StringRef name;
  std::string body;
  Size batch, queries, newKeys, pastKeys, keys;
  Tensor starts; ///< of a node that appends at lengths: where the first query and the new rows stand
  std::array<Tensor, kNumOutputs> outputs;
};

inline Size fixed(int64_t size) { return {size, ""}; }

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_ONNXPRINTER_H
