//===- Elements.h - how one element of a tensor is computed -----*- C++ -*-===//
//
// Front ends spell attention out in any number of ops: a generic for each scalar
// op or one for all, reshapes and transposes between them. All of them say the
// same about one element. So the matcher pulls: the element of a tensor at an index
// is a scalar expression over elements of other tensors, of which views, casts of
// types and elementwise ops are looked through. Expressions are unique: equal ones
// have one address.
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
    Scalar,   ///< `value`, known outside of all loops; also a tensor that an op reads as a whole
    Constant, ///< `constant`, a float or integer
    Position, ///< `indices[0]`, of type index
    Op        ///< `op`, a scalar op without regions and effects, of `operands`
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

  /// The element of `tensor` at `indices`, taken from as far back as views go.
  ExprRef get(mlir::Value tensor, llvm::ArrayRef<LinearIndex> indices);
  /// The same of a tensor that is not looked through.
  ExprRef getMade(mlir::Value tensor, llvm::ArrayRef<LinearIndex> indices);
  ExprRef getScalar(mlir::Value value);
  ExprRef getConstant(mlir::Type type, double value);
  /// The result of `op`, a scalar op of one result, for `operands` instead of its own.
  ExprRef getOp(mlir::Operation *op, llvm::ArrayRef<ExprRef> operands);

  /// `expr`, or where that is an element of an elementwise op's result, how the op computes it; never such an element.
  ExprRef expand(ExprRef expr);
  /// The same all the way down, without casts between float types: for comparisons.
  ExprRef normalize(ExprRef expr);
  bool areEqual(ExprRef lhs, ExprRef rhs) { return lhs == rhs || normalize(lhs) == normalize(rhs); }
  /// Casts between float types off; `expr` is expanded as far as there are some, or where it is a constant.
  ExprRef stripCasts(ExprRef expr);

  /// True where the value may differ between the indices of one of the dimensions.
  bool dependsOn(ExprRef expr, const LinearIndex &index);

  /// What is reduced, where `expr` is an element of a reduction over as many indices as `index` has: its expression for
  /// each of these. Null otherwise.
  ExprRef matchReduction(ExprRef expr, Reduction kind, const LinearIndex &index);

  /// The same of one more expression, a sink: it stands first (`offset` 1) or last (0), and `each` for the others.
  struct OneMore {
    ExprRef each, other;
  };
  std::optional<OneMore> matchReductionOfOneMore(ExprRef expr, Reduction kind, const LinearIndex &index,
                                                 unsigned offset);

  /// A product of matrices: the two factors of its sum, and the indices that it sums over, as one row-major index.
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
  /// The indices of the loops of `op` at which it writes `indices` of result `result`; `reduced` for its one reduction
  /// loop of more than one index, null: such loops get indices of their own.
  mlir::FailureOr<llvm::SmallVector<LinearIndex>>
  getLoops(mlir::linalg::LinalgOp op, unsigned result, llvm::ArrayRef<LinearIndex> indices, const LinearIndex *reduced);
  /// A value of the body of `op` at `loops`; null where it is no expression.
  ExprRef getBodyValue(mlir::linalg::LinalgOp op, mlir::Value value, llvm::ArrayRef<LinearIndex> loops);
  /// The reduction that `expr`, then expanded, is an element of; null for others.
  mlir::linalg::LinalgOp getReduction(ExprRef &expr);
  ExprRef getCombined(mlir::linalg::LinalgOp op, unsigned result, Reduction kind, llvm::ArrayRef<LinearIndex> loops);
  /// What an iteration of a reduction combines with what it has; null where `op` is none of `kind` from its neutral
  /// element on.
  mlir::Value getCombined(mlir::linalg::LinalgOp op, unsigned result, Reduction kind);
  /// One step back through a view; failure where there is none.
  mlir::LogicalResult stepBack(mlir::Value &tensor, llvm::SmallVector<LinearIndex> &indices);

  IterationSpace &space;
  std::set<std::unique_ptr<Expr>, Less> exprs;
  llvm::DenseMap<ExprRef, ExprRef> expanded, normalized;
};

} // namespace attn::raise

#endif // ATTN_LIB_RAISE_ELEMENTS_H
