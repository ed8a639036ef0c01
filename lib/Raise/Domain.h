//===- Domain.h - which dimension is what, and tensors in its terms -*- C++ -*-===//
//
// The dimensions of a match become the domain of attn ops: (batch…, query, key,
// head, value). Key and head are what the products sum over; value is V's and the
// result's alone; a query is Q's and the result's alone; the others are batch
// dimensions. Query heads that share a head of K are one dimension with it where
// tensors hold them side by side, so that K is indexed by h floordiv G.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_RAISE_DOMAIN_H
#define ATTN_LIB_RAISE_DOMAIN_H

#include "Attention.h"

namespace attn::raise {

/// A tensor as an attn op takes it, and the expressions of its map over the whole domain.
struct View {
  mlir::Value value;
  llvm::SmallVector<mlir::AffineExpr> exprs;
};

/// How a tensor of the front end is cut and merged: `pieces` are dimensions of the match or of size 1.
struct Layout {
  llvm::SmallVector<int64_t> pieceSizes;
  llvm::SmallVector<mlir::ReassociationIndices> tensorDims, viewDims; // groups of pieces
  llvm::SmallVector<mlir::AffineExpr> exprs;                          // of the view's dimensions
  bool isIdentity() const { return tensorDims == viewDims; }
};

class Domain {
public:
  static mlir::FailureOr<Domain> get(MatchContext &ctx, const Attention &attention);

  unsigned getNumBatch() const { return numBatch; }
  unsigned getNumDims() const { return dims.size(); }
  unsigned getPosition(DimKind kind) const { return numBatch + static_cast<unsigned>(kind); }
  /// The dimensions of the match that are the one at `position`.
  llvm::ArrayRef<unsigned> getDims(unsigned position) const { return dims[position]; }
  /// The map of an op whose domain has the batch dimensions and `kinds`.
  mlir::AffineMap getMap(llvm::ArrayRef<DimKind> kinds, llvm::ArrayRef<mlir::AffineExpr> exprs) const;

  /// How a tensor of `type` with an element at `indices` is seen: `required` are the kinds that it must hold. `role` as
  /// in the table of operands.
  mlir::FailureOr<Layout> getLayout(mlir::RankedTensorType type, llvm::ArrayRef<LinearIndex> indices, OperandRole role,
                                    llvm::ArrayRef<DimKind> required) const;
  mlir::FailureOr<View> align(mlir::OpBuilder &builder, mlir::Location loc, ExprRef element, OperandRole role,
                              llvm::ArrayRef<DimKind> required) const;
  /// The type of a view of `type`, and from such a view back.
  static mlir::RankedTensorType getViewType(mlir::RankedTensorType type, const Layout &layout);
  static mlir::Value restore(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value view,
                             mlir::RankedTensorType type, const Layout &layout);

  /// `index` inside of a region of an attn op; failure where it depends on what no attn.index gives.
  mlir::FailureOr<mlir::Value> createIndex(mlir::OpBuilder &builder, mlir::Location loc,
                                           const LinearIndex &index) const;

private:
  /// Dimensions of the match that are one of the domain, outermost first: none (of size 1), one, or those of K and of
  /// its group.
  using Dim = llvm::SmallVector<unsigned, 2>;

  explicit Domain(const IterationSpace &space) : space(&space) {}
  /// Adds a dimension of groups of heads: one dimension with the head of K that it stands in, if tensors allow. It is
  /// the last one, as heads are.
  void addGroup(const Attention &attention, unsigned group);
  std::optional<unsigned> find(unsigned atom) const;
  mlir::AffineExpr getExpr(unsigned position) const { return mlir::getAffineDimExpr(position, ctx); }

  const IterationSpace *space;
  mlir::MLIRContext *ctx = nullptr;
  llvm::SmallVector<Dim> dims;
  unsigned numBatch = 0;
};

} // namespace attn::raise

#endif // ATTN_LIB_RAISE_DOMAIN_H
