//===- Operands.cpp - queries, keys and values as tensors -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace attn::raise;

ExprRef attn::raise::findOperand(Elements &elements, ExprRef expr, Type type) {
  auto find = [&](bool isTensor) -> ExprRef {
    ExprRef found = nullptr;
    for (ExprRef seen = expr;;) {
      bool fits = isa<FloatType>(seen->type) && seen->type.getIntOrFloatBitWidth() <= type.getIntOrFloatBitWidth() &&
                  (isTensor ? seen->isElement() : seen->kind == Expr::Kind::Op);
      if (fits && (!found || seen->type == type))
        found = seen;
      ExprRef cast = elements.expand(seen);
      if (!cast->isOp<arith::ExtFOp>() && !cast->isOp<arith::TruncFOp>())
        return found;
      seen = cast->operands[0];
    }
  };
  ExprRef tensor = find(/*isTensor=*/true);
  return tensor ? tensor : find(/*isTensor=*/false);
}

namespace {

/// Builds one tensor, with a dimension for each one that the expression depends on.
class TensorBuilder {
public:
  TensorBuilder(RewriterBase &rewriter, Location loc, Elements &elements)
      : rewriter(rewriter), loc(loc), elements(elements) {}

  FailureOr<ExprRef> build(ExprRef expr, ArrayRef<unsigned> first) {
    dims.insert_range(first);
    collect(expr);
    // In the order of the tensor that has most of the dimensions.
    for (ExprRef &leaf : leaves)
      if (countTerms(leaf) > countTerms(leaves.front()))
        std::swap(leaves.front(), leaf);
    for (ExprRef leaf : leaves)
      llvm::for_each(leaf->indices, [&](const LinearIndex &index) { addDims(index); });
    for (const LinearIndex &position : positions)
      addDims(position);
    SmallVector<OpFoldResult> sizes;
    for (unsigned dim : dims) {
      FailureOr<OpFoldResult> size = getSize(dim);
      if (failed(size))
        return failure();
      sizes.push_back(*size);
    }
    SmallVector<Value> inputs;
    SmallVector<AffineMap> maps;
    for (ExprRef leaf : leaves) {
      inputs.push_back(leaf->value);
      SmallVector<AffineExpr> exprs = llvm::map_to_vector(leaf->indices, [&](auto &index) { return getExpr(index); });
      maps.push_back(AffineMap::get(dims.size(), 0, exprs, rewriter.getContext()));
    }
    maps.push_back(rewriter.getMultiDimIdentityMap(dims.size()));
    Value empty = tensor::EmptyOp::create(rewriter, loc, sizes, expr->type);
    SmallVector<utils::IteratorType> iterators(dims.size(), utils::IteratorType::parallel);
    auto op = linalg::GenericOp::create(rewriter, loc, empty.getType(), inputs, empty, maps, iterators,
                                        [&](OpBuilder &b, Location, ValueRange in) {
                                          for (auto [leaf, argument] : llvm::zip(leaves, in))
                                            values[leaf] = argument;
                                          linalg::YieldOp::create(b, loc, buildScalar(b, expr));
                                        });
    SmallVector<LinearIndex> indices(dims.size());
    for (auto [index, dim] : llvm::zip(indices, dims))
      index.terms.push_back({dim, 1});
    return elements.getMade(op.getResult(0), indices);
  }

private:
  static unsigned countTerms(ExprRef leaf) {
    unsigned count = 0;
    for (const LinearIndex &index : leaf->indices)
      count += index.terms.size();
    return count;
  }

  void collect(ExprRef expr) {
    if (expr->isElement() && !llvm::is_contained(leaves, expr))
      leaves.push_back(expr);
    if (expr->kind == Expr::Kind::Position)
      positions.push_back(expr->indices[0]);
    for (ExprRef operand : expr->operands)
      collect(operand);
  }

  void addDims(const LinearIndex &index) {
    for (const LinearIndex::Term &term : index.terms)
      dims.insert(term.dim);
  }

  FailureOr<OpFoldResult> getSize(unsigned dim) {
    int64_t size = elements.getSpace().getSize(dim);
    if (!ShapedType::isDynamic(size))
      return OpFoldResult(rewriter.getIndexAttr(size));
    for (ExprRef leaf : leaves)
      for (auto [at, index] : llvm::enumerate(leaf->indices))
        if (index.getDim() == dim)
          return tensor::getMixedSize(rewriter, loc, leaf->value, at);
    return failure();
  }

  AffineExpr getExpr(const LinearIndex &index) {
    AffineExpr sum = rewriter.getAffineConstantExpr(index.constant);
    for (auto [dim, coefficient] : index.terms)
      sum = sum + rewriter.getAffineDimExpr(llvm::find(dims, dim) - dims.begin()) * coefficient;
    return sum;
  }

  Value buildScalar(OpBuilder &builder, ExprRef expr) {
    if (Value known = values.lookup(expr))
      return known;
    auto build = [&]() -> Value {
      if (expr->kind == Expr::Kind::Scalar)
        return expr->value;
      if (expr->kind == Expr::Kind::Constant)
        return arith::ConstantOp::create(builder, loc, cast<TypedAttr>(expr->constant));
      if (expr->kind == Expr::Kind::Position) {
        SmallVector<Value> loops;
        for (unsigned i = 0; i < dims.size(); ++i)
          loops.push_back(linalg::IndexOp::create(builder, loc, i));
        return affine::expandAffineExpr(builder, loc, getExpr(expr->indices[0]), loops, {});
      }
      OperationState state(loc, expr->op->getName());
      for (ExprRef operand : expr->operands)
        state.addOperands(buildScalar(builder, operand));
      state.addAttributes(expr->op->getAttrDictionary().getValue());
      state.addTypes(expr->type);
      return builder.create(state)->getResult(0);
    };
    return values[expr] = build();
  }

  RewriterBase &rewriter;
  Location loc;
  Elements &elements;
  SmallVector<ExprRef> leaves;
  SmallVector<LinearIndex> positions;
  llvm::SmallSetVector<unsigned, 8> dims;
  llvm::DenseMap<ExprRef, Value> values;
};

} // namespace

FailureOr<ExprRef> attn::raise::createTensor(RewriterBase &rewriter, Location loc, Elements &elements, ExprRef expr,
                                             ArrayRef<unsigned> dims) {
  return TensorBuilder(rewriter, loc, elements).build(expr, dims);
}

/// True where the indices of an element cover its whole tensor.
static bool isWhole(const IterationSpace &space, ExprRef element) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(element->value.getType()).getShape();
  return llvm::all_of(llvm::zip(element->indices, shape), [&](auto pair) {
    auto [index, size] = pair;
    std::optional<int64_t> extent = space.getExtent(index);
    return extent && (*extent == size || ShapedType::isDynamic(*extent) || ShapedType::isDynamic(size));
  });
}

LogicalResult attn::raise::createOperands(RewriterBase &rewriter, MatchContext &ctx, Attention &attention) {
  for (ExprRef *operand : {&attention.query, &attention.key, &attention.value}) {
    if ((*operand)->isElement() && isWhole(ctx.elements.getSpace(), *operand))
      continue;
    FailureOr<ExprRef> made = createTensor(rewriter, attention.result.getLoc(), ctx.elements, *operand);
    if (failed(made))
      return ctx.fail("expected queries, keys and values whose sizes are those of the tensors that they are made of");
    *operand = *made;
  }
  return success();
}
