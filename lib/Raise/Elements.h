//===- Elements.h - how one element of a tensor is computed -----*- C++ -*-===//
//
// Front ends spell attention in any number of ops: a generic for each scalar op or one for all, with reshapes and
// transposes between them. They all define the same element. So the matcher works on demand: the element of a tensor at
// an index is a scalar expression over elements of other tensors, looking through views, type casts and elementwise
// ops. Expressions are uniqued: equal ones have one address.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_RAISE_ELEMENTS_H
#define ATTN_LIB_RAISE_ELEMENTS_H

#include "IterationSpace.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>
#include <set>

namespace attn::raise {

/// A scalar expression.
struct Expr {
  enum class Kind {
    Element,  ///< `value`, a tensor, at `indices`
    Scalar,   ///< `value`, defined outside of all loops; also a tensor that an op reads as a whole
    Constant, ///< `constant`, a float or integer
    Position, ///< `indices[0]`, of type index
    Op        ///< `op`, a scalar op without regions and effects, on `operands`
  };
  Kind kind;
  mlir::Type type;
  mlir::Value value = {};
  llvm::SmallVector<LinearIndex, 4> indices = {};
  mlir::Attribute constant = {};
  mlir::Operation *op = nullptr;
  llvm::SmallVector<const Expr *, 2> operands = {};

  bool isElement() const { return kind == Kind::Element; }
  template <typename OpTy> bool isOp() const { return op && mlir::isa<OpTy>(op); }
  /// The value of a float or integer constant.
  std::optional<double> getConstant() const;
};
using ExprRef = const Expr *;

/// What one step of a reduction adds: for result `k` of an op, its combining op and the expression that is combined.
enum class Reduction { Sum, Maximum, And, Or };

class Elements {
public:
  explicit Elements(IterationSpace &space) : space(space) {}

  /// The element of `tensor` at `indices`, traced back through views.
  ExprRef get(mlir::Value tensor, llvm::ArrayRef<LinearIndex> indices);
  /// The same without looking through the tensor's producer.
  ExprRef getMade(mlir::Value tensor, llvm::ArrayRef<LinearIndex> indices);
  ExprRef getScalar(mlir::Value value);
  ExprRef getConstant(mlir::Type type, double value);
  /// The result of `op`, a scalar op with one result, on `operands` instead of its own.
  ExprRef getOp(mlir::Operation *op, llvm::ArrayRef<ExprRef> operands);

  /// Expands `expr` if it is an element of an elementwise op's result, until it is not one.
  ExprRef expand(ExprRef expr);
  /// Expands recursively and removes casts between float types, for comparisons.
  ExprRef normalize(ExprRef expr);
  bool areEqual(ExprRef lhs, ExprRef rhs) { return lhs == rhs || normalize(lhs) == normalize(rhs); }
  /// Removes casts between float types; expands `expr` as far as there are casts, or where it is a constant.
  ExprRef stripCasts(ExprRef expr);

  /// True where the value may vary along one of the dimensions.
  bool dependsOn(ExprRef expr, const LinearIndex &index);

  /// If `expr` is an element of a reduction over as many indices as `index` has, the reduced expression at each of
  /// these; otherwise null.
  ExprRef matchReduction(ExprRef expr, Reduction kind, const LinearIndex &index);

  /// The same with an additional expression, a sink, which comes first (`offset` 1) or last (0); `each` is that of the
  /// others.
  struct OneMore {
    ExprRef each, other;
  };
  std::optional<OneMore> matchReductionOfOneMore(ExprRef expr, Reduction kind, const LinearIndex &index,
                                                 unsigned offset);

  /// A matrix product: the two factors of its sum, and the indices that it sums over, as one row-major index.
  struct Contraction {
    mlir::Operation *op;
    ExprRef lhs, rhs;
    LinearIndex summed;
  };
  std::optional<Contraction> matchContraction(ExprRef expr);

  IterationSpace &getSpace() { return space; }

private:
  struct Less {
    bool operator()(const std::unique_ptr<Expr> &lhs, const std::unique_ptr<Expr> &rhs) const;
  };
  ExprRef intern(Expr expr);
  ExprRef getSliced(ExprRef expr);
  ExprRef getRestoredBoolean(mlir::Operation *op, llvm::ArrayRef<ExprRef> operands);
  /// The loop indices of `op` at which it writes `indices` of result `result`. `reduced` is the index of its only
  /// reduction loop of size above 1; where it is null, such loops get indices of their own.
  mlir::FailureOr<llvm::SmallVector<LinearIndex>>
  getLoops(mlir::linalg::LinalgOp op, unsigned result, llvm::ArrayRef<LinearIndex> indices, const LinearIndex *reduced);
  /// A value of the body of `op` at `loops`; null where it is not an expression.
  ExprRef getBodyValue(mlir::linalg::LinalgOp op, mlir::Value value, llvm::ArrayRef<LinearIndex> loops);
  /// The reduction of which `expr` is an element, after expansion; null for other expressions.
  mlir::linalg::LinalgOp getReduction(ExprRef &expr);
  ExprRef getCombined(mlir::linalg::LinalgOp op, unsigned result, Reduction kind, llvm::ArrayRef<LinearIndex> loops);
  /// The value that an iteration of a reduction combines with the accumulator; null where `op` is not of `kind`, or
  /// does not start at its neutral element.
  mlir::Value getCombined(mlir::linalg::LinalgOp op, unsigned result, Reduction kind);
  /// One step back through a view; fails where there is none.
  mlir::LogicalResult stepBack(mlir::Value &tensor, llvm::SmallVector<LinearIndex> &indices);

  IterationSpace &space;
  std::set<std::unique_ptr<Expr>, Less> exprs;
  llvm::DenseMap<ExprRef, ExprRef> expanded, normalized;
};

} // namespace attn::raise

#endif // ATTN_LIB_RAISE_ELEMENTS_H
