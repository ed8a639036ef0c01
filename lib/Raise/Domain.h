//===- Domain.h - roles of dimensions, and operands over the domain -*- C++ -*-===//
//
// The dimensions of a match become the domain of attn ops: (batch…, query, key, head, value). The products sum over key
// and head. Only V and the result have value; only Q and the result have query. The others are batch dimensions. Query
// heads that share a key head are merged with it into one dimension where they are adjacent in tensors, so that K is
// indexed by h floordiv G.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_RAISE_DOMAIN_H
#define ATTN_LIB_RAISE_DOMAIN_H

#include "Attention.h"

namespace attn::raise {

/// An operand of an attn op, and the expressions of its map over the whole domain.
struct View {
  mlir::Value value;
  llvm::SmallVector<mlir::AffineExpr> exprs;
};

/// How a front end's tensor is split and merged: `pieces` are dimensions of the match, or have size 1.
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
  /// The dimensions of the match that form the domain dimension `position`.
  llvm::ArrayRef<unsigned> getDims(unsigned position) const { return dims[position]; }
  /// The map of an op whose domain has the batch dimensions and `kinds`.
  mlir::AffineMap getMap(llvm::ArrayRef<DimKind> kinds, llvm::ArrayRef<mlir::AffineExpr> exprs) const;

  /// The layout of a tensor of `type` with an element at `indices`: `required` are the dimensions that it must have.
  /// `role` is that of the operand table.
  mlir::FailureOr<Layout> getLayout(mlir::RankedTensorType type, llvm::ArrayRef<LinearIndex> indices, OperandRole role,
                                    llvm::ArrayRef<DimKind> required) const;
  mlir::FailureOr<View> align(mlir::OpBuilder &builder, mlir::Location loc, ExprRef element, OperandRole role,
                              llvm::ArrayRef<DimKind> required) const;
  /// The type of a view of `type`, and the inverse of such a view.
  static mlir::RankedTensorType getViewType(mlir::RankedTensorType type, const Layout &layout);
  static mlir::Value restore(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value view,
                             mlir::RankedTensorType type, const Layout &layout);

  /// `index` inside of a region of an attn op; fails where it depends on a value that no attn.index returns.
  mlir::FailureOr<mlir::Value> createIndex(mlir::OpBuilder &builder, mlir::Location loc,
                                           const LinearIndex &index) const;

private:
  /// Dimensions of the match that form one of the domain, outermost first: none (size 1), one, or the key head and its
  /// group.
  using Dim = llvm::SmallVector<unsigned, 2>;

  explicit Domain(const IterationSpace &space) : space(&space) {}
  /// Adds a dimension of groups of heads, merged with its key head where tensors allow. It is the last batch dimension,
  /// that of heads.
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
