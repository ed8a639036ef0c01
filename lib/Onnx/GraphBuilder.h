//===- GraphBuilder.h - the body of a function, op by op --------*- C++ -*-===//
//
// What the rules of operators (GraphOps.h) build with: values of the graph,
// constants, sizes as arithmetic, and linalg.generic.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_ONNX_GRAPHBUILDER_H
#define ATTN_LIB_ONNX_GRAPHBUILDER_H

#include "GraphSizes.h"
#include "OnnxChecks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace attn::onnx {

namespace arith = mlir::arith;
namespace linalg = mlir::linalg;
namespace math = mlir::math;
namespace tensor = mlir::tensor;

/// A tensor of the graph. An input that a node leaves out has element type Undefined.
struct Value {
  DataType element = DataType::Undefined;
  Sizes sizes;
  mlir::Value ir = {};                ///< null where nothing is built yet
  const TensorData *data = nullptr;   ///< of a constant
  std::optional<Sizes> integers = {}; ///< the elements, of a short tensor of integers that are known
  /// Of a tensor of integers: the dimension in which each element is its own position; of more than one, the elements
  /// along the last dimension are such of one dimension each (Places.h). Empty where they are others.
  std::vector<size_t> places = {};

  explicit operator bool() const { return element != DataType::Undefined; }
  size_t getRank() const { return sizes.size(); }
};
using Values = std::vector<Value>;
/// Of a region: what its operands give it, and last the element of the result so far.
using Args = llvm::ArrayRef<mlir::Value>;
using RegionBuilder = llvm::function_ref<mlir::Value(Args)>;
using Exprs = llvm::SmallVector<mlir::AffineExpr>;

/// False for an element type that no rule takes.
bool isElement(DataType type);
/// f32 in the place of a narrower float: what sums and functions are calculated in.
DataType getComputeType(DataType type);
bool hasNoElements(const Sizes &sizes);

/// The elements of a checked tensor, and the one that all others are alike; null where they are not.
mlir::TypedAttr getElements(const TensorData &tensor, mlir::RankedTensorType type);
mlir::TypedAttr getSplatElement(const TensorData &tensor, mlir::Type type);
/// A value of a tensor that passed checkTensor, and stays where it is.
Value makeConstant(const TensorData &tensor);
/// Known integers of a value of rank 0 or 1.
Value makeIntegers(DataType element, Sizes integers, bool isScalar = false);

/// What a linalg.generic reads: a tensor by an indexing map's results, or a scalar where the map is of no use.
struct Operand {
  const Value *value;
  Exprs map;
};

class GraphBuilder : public mlir::ImplicitLocOpBuilder {
public:
  /// Builds at the end of the block, with constants at its beginning.
  explicit GraphBuilder(mlir::Location loc, mlir::Block *block)
      : ImplicitLocOpBuilder(loc, loc.getContext()), block(block) {
    setInsertionPointToEnd(block);
  }

  template <typename Op, typename... Args> mlir::Value make(Args &&...args) {
    return Op::create(*this, std::forward<Args>(args)...)->getResult(0);
  }

  // Types and maps.
  mlir::Type getElementType(DataType type);
  mlir::RankedTensorType getType(DataType element, const Sizes &sizes);
  mlir::RankedTensorType getType(const Value &value) { return getType(value.element, value.sizes); }
  mlir::AffineExpr dim(size_t i) { return getAffineDimExpr(i); }
  Exprs getDims(size_t rank);
  llvm::SmallVector<mlir::OpFoldResult> fold(const Sizes &sizes);

  // Constants, each once a function.
  mlir::Value constant(mlir::TypedAttr value);
  /// Of a type of floats or integers.
  mlir::Value real(double number, mlir::Type type) { return constant(mlir::FloatAttr::get(type, number)); }
  mlir::Value integer(int64_t number, mlir::Type type) { return constant(getIntegerAttr(type, number)); }
  mlir::Value zero(mlir::Type type) { return constant(mlir::cast<mlir::TypedAttr>(getZeroAttr(type))); }
  mlir::Value index(int64_t number) { return constant(getIndexAttr(number)); }
  mlir::Value index(const Size &size) { return size.number ? index(*size.number) : size.value; }
  mlir::Value infinity(mlir::Type type, bool isNegative);

  // Scalars.
  /// A value of another element type, as ONNX's Cast has it.
  mlir::Value cast(mlir::Value value, mlir::Type to);
  template <typename Float, typename Int> mlir::Value either(mlir::Value lhs, mlir::Value rhs) {
    return mlir::isa<mlir::FloatType>(lhs.getType()) ? make<Float>(lhs, rhs) : make<Int>(lhs, rhs);
  }
  mlir::Value addLoopIndex(size_t dim) { return make<linalg::IndexOp>(dim); }

  // Sizes (GraphArithmetic.cpp). Equal sums have one value.
  Size multiply(const Size &lhs, const Size &rhs);
  Size multiply(const Sizes &sizes);
  Size add(const Size &lhs, const Size &rhs);
  Size subtract(const Size &lhs, const Size &rhs);
  /// Rounded towards 0; a size that divides is taken to be > 0.
  Size divide(const Size &lhs, const Size &rhs);
  Size minimum(const Size &lhs, const Size &rhs);
  Size maximum(const Size &lhs, const Size &rhs);
  /// 1 where `lhs` is so to `rhs`, otherwise 0; by the predicates eq, slt and sle.
  Size test(arith::CmpIPredicate predicate, const Size &lhs, const Size &rhs);
  /// `lhs` where the condition is not 0.
  Size choose(const Size &condition, const Size &lhs, const Size &rhs);
  /// tensor.dim
  Size addDim(mlir::Value tensor, size_t dim);
  SizeTable &getSizes() { return sizes; }
  const SizeTable &getSizes() const { return sizes; }
  /// True where a caller can calculate it from the sizes of arguments: no comparison decides on it.
  bool isTold(const Size &size) const;
  /// Demands of a call that one is no more than the other, where a caller can calculate both.
  void addLimit(const Size &size, const Size &limit);

  // Tensors.
  /// The value, which is built where it is a constant.
  mlir::Value get(const Value &value);
  /// Of a constant, its one element; null where they differ.
  mlir::TypedAttr getSplat(const Value &value);
  Value addEmpty(DataType element, const Sizes &sizes);
  Value addFilled(DataType element, const Sizes &sizes, mlir::Value scalar);
  Value addZeros(DataType element, const Sizes &sizes) {
    return addFilled(element, sizes, zero(getElementType(element)));
  }
  Value cast(const Value &value, DataType element);
  /// The same elements in the same order; the sizes have the same product.
  Value reshape(const Value &value, const Sizes &sizes);
  /// Without steps each is 1.
  Value slice(const Value &value, const Sizes &offsets, const Sizes &sizes, llvm::ArrayRef<int64_t> steps = {});
  Value transpose(const Value &value, llvm::ArrayRef<int64_t> permutation);
  /// The value over more dimensions, right-aligned, or with sizes of 1 repeated.
  Value broadcast(const Value &value, const Sizes &sizes);
  /// `init` with the value at these offsets.
  Value insert(const Value &value, const Value &init, const Sizes &offsets);

  /// linalg.generic over `loops` dimensions, of which those of `reductions` are summed up in `init`; `build` gets the
  /// operands' elements, and last the init's, and returns the result's.
  Value addGeneric(const Value &init, const Exprs &initMap, llvm::ArrayRef<Operand> operands, size_t loops,
                   llvm::ArrayRef<size_t> reductions, RegionBuilder build);
  /// The same over the result's dimensions, operands broadcast to it.
  Value addElementwise(DataType element, const Sizes &sizes, llvm::ArrayRef<const Value *> operands,
                       RegionBuilder build);
  /// The same in the type that narrower floats are calculated in.
  Value addComputed(DataType element, const Sizes &sizes, llvm::ArrayRef<const Value *> operands, RegionBuilder build);

private:
  /// The value of a sum, by as few ops as there are, or by `build`.
  Size addSum(const std::optional<SizeSum> &sum, llvm::function_ref<mlir::Value()> build = nullptr);
  /// The value of an op on index values that is no sum: the same for the same operands.
  template <typename Op, typename... More> Size addAtom(llvm::ArrayRef<Size> operands, bool isSigned, More... more);
  bool areNatural(const Size &lhs, const Size &rhs) const;

  mlir::Block *block;
  mlir::Operation *lastConstant = nullptr;
  SizeTable sizes;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
  llvm::DenseMap<const TensorData *, mlir::Value> tensors;
  std::map<std::vector<const void *>, mlir::Value> atoms;
  llvm::DenseSet<mlir::Value> untold; ///< index values that a caller cannot calculate
  llvm::DenseSet<std::pair<mlir::Value, mlir::Value>> limits;
};

/// Sizes of a broadcast, where these sizes can be that. A size that only the run knows is taken for the other's.
std::optional<Sizes> broadcastSizes(llvm::ArrayRef<const Value *> values);

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_GRAPHBUILDER_H
