//===- GraphText.h - the body of a function, an op a line -------*- C++ -*-===//
//
// What the rules of operators (GraphOps.h) print with: values of the graph,
// constants, sizes as arithmetic, and linalg.generic.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_ONNX_GRAPHTEXT_H
#define ATTN_LIB_ONNX_GRAPHTEXT_H

#include "GraphSizes.h"
#include "OnnxChecks.h"
#include "OnnxPrinter.h"
#include "attn/Onnx/OnnxModel.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace attn::onnx {

/// A tensor of the graph. An input that a node leaves out has element type Undefined.
struct Value {
  DataType element = DataType::Undefined;
  Sizes sizes;
  std::string name = {};            ///< with its %; empty where nothing is printed yet
  const TensorData *data = nullptr; ///< of a constant
  std::string splat = {};           ///< of a constant, its one value as MLIR has it; empty where they differ
  std::optional<std::vector<Size>> integers = {}; ///< the elements, of a short tensor of integers that are known
  /// Of a tensor of integers: the dimension in which each element is its own position; of more than one, the elements
  /// along the last dimension are such of one dimension each (Places.h). Empty where they are others.
  std::vector<size_t> places = {};

  explicit operator bool() const { return element != DataType::Undefined; }
  size_t getRank() const { return sizes.size(); }
};
using Values = std::vector<Value>;

bool isSame(const Size &lhs, const Size &rhs);
/// "f32"; nothing for an element type that no rule takes.
llvm::StringRef getElementName(DataType type);
bool isFloat(DataType type);
/// f32 in the place of a narrower float: what sums and functions are calculated in.
DataType getComputeType(DataType type);
std::string printType(const Value &value);
std::string printMap(unsigned rank, llvm::ArrayRef<std::string> results);
/// d0, d1, …
std::vector<std::string> getDims(size_t rank);

/// A value of a tensor that passed checkTensor, and stays where it is.
Value makeConstant(const TensorData &tensor);
/// Known integers of a value of rank 0 or 1.
Value makeIntegers(DataType element, std::vector<Size> integers, bool isScalar = false);

/// Lines of the region of a linalg.generic.
class Body {
public:
  /// Prints `%t<N> = <text>`, and returns its name.
  std::string add(const llvm::Twine &text);
  /// A value of another element type, as ONNX's Cast has it.
  std::string cast(const std::string &value, DataType from, DataType to);
  const std::string &getText() const { return text; }

private:
  std::string text;
  unsigned count = 0;
};

/// What a linalg.generic reads: a tensor by an indexing map's results, or a scalar where the map is of no use.
struct Operand {
  const Value *value;
  std::vector<std::string> map;
};

class GraphText {
public:
  template <typename... Args> void line(const char *format, Args &&...args) {
    body += "  " + llvm::formatv(false, format, std::forward<Args>(args)...).str() + "\n";
  }
  std::string getText() const { return constants + body; }
  size_t getSize() const { return constants.size() + body.size(); }
  void append(llvm::StringRef text) { body += text; }
  std::string makeName() { return "%v" + std::to_string(numValues++); }

  // Constants and sizes (GraphArithmetic.cpp). Equal sums have one name.
  std::string addScalar(llvm::StringRef text, llvm::StringRef type);
  std::string addIndex(const Size &size);
  Size multiply(const Size &lhs, const Size &rhs) { return addArithmetic("arith.muli", lhs, rhs); }
  Size add(const Size &lhs, const Size &rhs) { return addArithmetic("arith.addi", lhs, rhs); }
  Size subtract(const Size &lhs, const Size &rhs) { return addArithmetic("arith.subi", lhs, rhs); }
  /// Rounded towards 0; a size that divides is taken to be > 0.
  Size divide(const Size &lhs, const Size &rhs);
  Size minimum(const Size &lhs, const Size &rhs);
  Size maximum(const Size &lhs, const Size &rhs);
  /// 1 where `lhs` is so to `rhs`, otherwise 0; by the predicates eq, slt and sle of arith.cmpi.
  Size test(llvm::StringRef predicate, const Size &lhs, const Size &rhs);
  /// `lhs` where the condition is not 0.
  Size choose(const Size &condition, const Size &lhs, const Size &rhs);
  const SizeTable &getSizes() const { return sizes; }
  /// True where a caller can calculate it from the sizes of arguments: no comparison decides on it.
  bool isTold(const Size &size) const;
  /// Demands of a call that one is no more than the other, where a caller can calculate both.
  void addLimit(const Size &size, const Size &limit);

  // Tensors.
  /// The name of the value, which is printed where it is a constant.
  std::string getName(const Value &value);
  Value addEmpty(DataType element, const Sizes &sizes);
  Value addFilled(DataType element, const Sizes &sizes, llvm::StringRef scalar);
  Value cast(const Value &value, DataType element);
  /// The same elements in the same order; the sizes have the same product.
  Value reshape(const Value &value, const Sizes &sizes);
  Value slice(const Value &value, const Sizes &offsets, const Sizes &sizes, llvm::ArrayRef<int64_t> strides);
  Value transpose(const Value &value, llvm::ArrayRef<int64_t> permutation);
  /// The value over more dimensions, right-aligned, or with sizes of 1 repeated.
  Value broadcast(const Value &value, const Sizes &sizes);
  /// `init` with the value at these offsets.
  Value insert(const Value &value, const Value &init, const Sizes &offsets);

  /// linalg.generic over `loops` dimensions, of which those of `reductions` are summed up in `init`; `print` gets the
  /// operands' names, and last the init's, and returns the result's.
  Value addGeneric(const Value &init, const std::vector<std::string> &initMap, llvm::ArrayRef<Operand> operands,
                   size_t loops, llvm::ArrayRef<size_t> reductions,
                   llvm::function_ref<std::string(Body &, const std::vector<std::string> &)> print);
  /// The same over the result's dimensions, operands broadcast to it.
  Value addElementwise(DataType element, const Sizes &sizes, llvm::ArrayRef<const Value *> operands,
                       llvm::function_ref<std::string(Body &, const std::vector<std::string> &)> print);

private:
  Size addArithmetic(llvm::StringRef op, const Size &lhs, const Size &rhs);
  /// The value of a sum, by as few ops as there are.
  Size addSum(const SizeSum &sum);
  /// The value of an op on index values that is no sum.
  Size addAtom(llvm::StringRef op, llvm::ArrayRef<Size> operands, bool isSigned);

  std::string constants, body;
  unsigned numValues = 0;
  SizeTable sizes;
  llvm::StringMap<std::string> scalars;
  llvm::StringSet<> untold; ///< index values that a caller cannot calculate
  llvm::DenseMap<const TensorData *, std::string> tensors;
};

/// Sizes of a broadcast, where these sizes can be that. A size that only the run knows is taken for the other's.
std::optional<Sizes> broadcastSizes(llvm::ArrayRef<const Value *> values);

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_GRAPHTEXT_H
