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
  mlir::Value ir = {};                ///< null if not built yet
  const TensorData *data = nullptr;   ///< of a constant
  std::optional<Sizes> integers = {}; ///< the elements of a short tensor of known integers
  /// For a tensor of integers: the dimension in which each element is its own position. With several dimensions, the
  /// elements along the last dimension are positions in one dimension each (Places.h). Empty for other tensors.
  std::vector<size_t> places = {};

  explicit operator bool() const { return element != DataType::Undefined; }
  size_t getRank() const { return sizes.size(); }
};
using Values = std::vector<Value>;
/// The arguments of a region: elements of the operands, then the current element of the result.
using Args = llvm::ArrayRef<mlir::Value>;
using RegionBuilder = llvm::function_ref<mlir::Value(Args)>;
using Exprs = llvm::SmallVector<mlir::AffineExpr>;

/// False for an element type that no rule takes.
bool isElement(DataType type);
/// f32 for a narrower float: the type that sums and functions are computed in.
DataType getComputeType(DataType type);
bool hasNoElements(const Sizes &sizes);

/// The elements of a checked tensor, and the common value of all elements; null if they differ.
mlir::TypedAttr getElements(const TensorData &tensor, mlir::RankedTensorType type);
mlir::TypedAttr getSplatElement(const TensorData &tensor, mlir::Type type);
/// The value of a tensor that passed checkTensor and outlives it.
Value makeConstant(const TensorData &tensor);
/// Known integers of a value of rank 0 or 1.
Value makeIntegers(DataType element, Sizes integers, bool isScalar = false);

/// An operand of linalg.generic: a tensor with the results of its indexing map, or a scalar without a map.
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
  /// A constant of a float or integer type.
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
  /// 1 if the predicate holds for `lhs` and `rhs`, otherwise 0; for eq, slt and sle.
  Size test(arith::CmpIPredicate predicate, const Size &lhs, const Size &rhs);
  /// `lhs` where the condition is not 0.
  Size choose(const Size &condition, const Size &lhs, const Size &rhs);
  /// tensor.dim
  Size addDim(mlir::Value tensor, size_t dim);
  SizeTable &getSizes() { return sizes; }
  const SizeTable &getSizes() const { return sizes; }
  /// True if a caller can compute it from the sizes of arguments, which is not so after a comparison.
  bool isTold(const Size &size) const;
  /// Requires of a call that `size` is at most `limit`, if a caller can compute both.
  void addLimit(const Size &size, const Size &limit);

  // Tensors.
  /// The mlir::Value, which is built now for a constant.
  mlir::Value get(const Value &value);
  /// The common element of a constant; null if elements differ.
  mlir::TypedAttr getSplat(const Value &value);
  Value addEmpty(DataType element, const Sizes &sizes);
  Value addFilled(DataType element, const Sizes &sizes, mlir::Value scalar);
  Value addZeros(DataType element, const Sizes &sizes) {
    return addFilled(element, sizes, zero(getElementType(element)));
  }
  Value cast(const Value &value, DataType element);
  /// The same elements in the same order; the sizes have the same product.
  Value reshape(const Value &value, const Sizes &sizes);
  /// `steps` default to 1.
  Value slice(const Value &value, const Sizes &offsets, const Sizes &sizes, llvm::ArrayRef<int64_t> steps = {});
  Value transpose(const Value &value, llvm::ArrayRef<int64_t> permutation);
  /// The value broadcast to more dimensions, right-aligned, or to larger sizes.
  Value broadcast(const Value &value, const Sizes &sizes);
  /// `init` with the value inserted at these offsets.
  Value insert(const Value &value, const Value &init, const Sizes &offsets);

  /// linalg.generic over `loops` dimensions, of which `reductions` are reduced into `init`; `build` takes the elements
  /// of the operands and of init, and returns that of the result.
  Value addGeneric(const Value &init, const Exprs &initMap, llvm::ArrayRef<Operand> operands, size_t loops,
                   llvm::ArrayRef<size_t> reductions, RegionBuilder build);
  /// The same over the result's dimensions, operands broadcast to it.
  Value addElementwise(DataType element, const Sizes &sizes, llvm::ArrayRef<const Value *> operands,
                       RegionBuilder build);
  /// The same, computed in the wider type of narrow floats.
  Value addComputed(DataType element, const Sizes &sizes, llvm::ArrayRef<const Value *> operands, RegionBuilder build);

private:
  /// The value of a sum, with as few ops as possible, or by `build`.
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

/// The sizes of a broadcast, if these can be broadcast. A dynamic size is assumed to equal the other.
std::optional<Sizes> broadcastSizes(llvm::ArrayRef<const Value *> values);

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_GRAPHBUILDER_H
