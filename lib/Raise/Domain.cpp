//===- Domain.cpp - roles of dimensions, and operands over the domain -----===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Domain.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace attn;
using namespace attn::raise;

using DimSet = llvm::SmallSetVector<unsigned, 8>;

static DimSet collectDims(ArrayRef<LinearIndex> indices) {
  DimSet dims;
  for (const LinearIndex &index : indices)
    for (const LinearIndex::Term &term : index.terms)
      dims.insert(term.dim);
  return dims;
}

static void collectDims(ExprRef expr, DimSet &dims) {
  dims.insert_range(collectDims(expr->indices));
  for (ExprRef operand : expr->operands)
    collectDims(operand, dims);
}

/// Collects the dimensions of the expressions that contain the key: those of a mask's rows.
static void collectBesideKey(ExprRef expr, Elements &elements, const LinearIndex &key, DimSet &dims,
                             llvm::DenseSet<ExprRef> &visited) {
  expr = elements.expand(expr);
  if (!visited.insert(expr).second)
    return;
  if (expr->isElement() && !elements.matchContraction(expr)) {
    if (elements.dependsOn(expr, key))
      dims.insert_range(collectDims(expr->indices));
  } else if (expr->kind == Expr::Kind::Position)
    dims.insert_range(collectDims(expr->indices));
  for (ExprRef operand : expr->operands)
    collectBesideKey(operand, elements, key, dims, visited);
}

/// Selects the query dimension among `candidates`; the others are groups of heads.
static unsigned chooseQuery(MatchContext &ctx, const Attention &attention, const DimSet &candidates,
                            const DimSet &batch) {
  DimSet besideKey;
  llvm::DenseSet<ExprRef> visited;
  const Scores &scores = attention.scores;
  for (ExprRef expr : {scores.modify, scores.bias})
    if (expr)
      collectBesideKey(expr, ctx.elements, attention.keyIndex, besideKey, visited);
  for (const Predicate &mask : scores.masks)
    collectBesideKey(mask.condition, ctx.elements, attention.keyIndex, besideKey, visited);
  SmallVector<unsigned> left =
      llvm::to_vector(llvm::make_filter_range(candidates, [&](unsigned dim) { return besideKey.contains(dim); }));
  if (left.size() == 1)
    return left.front();
  left.assign(candidates.begin(), candidates.end());
  // Heads of a group are directly inside of their shared key head.
  SmallVector<unsigned> order;
  for (const LinearIndex &index : attention.query->indices)
    for (const LinearIndex::Term &term : index.terms)
      order.push_back(term.dim);
  for (unsigned i = 1; i < order.size() && left.size() > 1; ++i)
    if (batch.contains(order[i - 1]) && i > 1 && llvm::is_contained(left, order[i]))
      llvm::erase(left, order[i]);
  const IterationSpace &space = ctx.elements.getSpace();
  return *llvm::max_element(left, [&](unsigned lhs, unsigned rhs) {
    int64_t lhsSize = space.getSize(lhs), rhsSize = space.getSize(rhs);
    if (ShapedType::isDynamic(lhsSize) || ShapedType::isDynamic(rhsSize))
      return ShapedType::isDynamic(rhsSize) && !ShapedType::isDynamic(lhsSize);
    return lhsSize < rhsSize;
  });
}

/// True where `inner` directly follows `outer` wherever one of them is in `indices`.
static bool areSideBySide(ArrayRef<LinearIndex> indices, unsigned outer, unsigned inner) {
  SmallVector<unsigned> order;
  for (const LinearIndex &index : indices)
    for (const LinearIndex::Term &term : index.terms)
      order.push_back(term.dim);
  for (unsigned i = 0; i < order.size(); ++i)
    if (order[i] == outer)
      return i + 1 < order.size() && order[i + 1] == inner;
  return false;
}

namespace {
/// The dimensions of the match by their role in attention; `queries` includes those of groups of heads.
struct DimRoles {
  DimSet keys, heads, values, queries, batch;
};
} // namespace

static FailureOr<DimRoles> findRoles(MatchContext &ctx, const Attention &attention) {
  DimSet query = collectDims(attention.query->indices), key = collectDims(attention.key->indices),
         value = collectDims(attention.value->indices), result = collectDims(attention.indices);
  DimRoles roles;
  roles.keys = collectDims(attention.keyIndex);
  roles.heads = collectDims(attention.headIndex);
  if (roles.keys.size() > 1 || roles.heads.size() > 2)
    return ctx.fail("expected keys and the head size to be a dimension each, found reshapes that cut them");
  auto isSummed = [&](unsigned dim) { return roles.keys.contains(dim) || roles.heads.contains(dim); };
  for (unsigned dim : query)
    if (!isSummed(dim))
      (key.contains(dim) || value.contains(dim) ? roles.batch : roles.queries).insert(dim);
  for (unsigned dim : result) {
    if (isSummed(dim))
      return ctx.fail("expected a result without the keys' dimension");
    if (!query.contains(dim))
      (value.contains(dim) && !key.contains(dim) ? roles.values : roles.batch).insert(dim);
  }
  for (const DimSet *dims : {&query, &key, &value})
    for (unsigned dim : *dims)
      if (!isSummed(dim) && !result.contains(dim))
        return ctx.fail("expected each dimension of queries, keys and values in the result");
  if (roles.values.size() > 1)
    return ctx.fail("expected the columns of values to be one dimension, found reshapes that cut them");
  if (llvm::any_of(roles.heads, [&](unsigned dim) { return value.contains(dim) || !query.contains(dim); }) ||
      llvm::any_of(roles.keys, [&](unsigned dim) { return query.contains(dim) || !value.contains(dim); }))
    return ctx.fail(
        "expected the products to be over (query, head) and (key, head), then (query, key) and (key, value)");
  return roles;
}

FailureOr<Domain> Domain::get(MatchContext &ctx, const Attention &attention) {
  FailureOr<DimRoles> roles = findRoles(ctx, attention);
  if (failed(roles))
    return failure();
  Domain domain(ctx.elements.getSpace());
  domain.ctx = attention.result.getContext();
  for (unsigned dim : roles->batch)
    domain.dims.push_back({dim});
  Dim query;
  if (!roles->queries.empty()) {
    query = {chooseQuery(ctx, attention, roles->queries, roles->batch)};
    for (unsigned group : roles->queries)
      if (group != query[0])
        domain.addGroup(attention, group);
  }
  // A sink's dimension is the last batch dimension, the heads.
  DimSet ofSink;
  if (attention.sink)
    collectDims(attention.sink, ofSink);
  auto *shared = llvm::find_if(domain.dims, [&](const Dim &dim) {
    return llvm::any_of(dim, [&](unsigned each) { return ofSink.contains(each); });
  });
  if (shared != domain.dims.end())
    std::rotate(shared, shared + 1, domain.dims.end());
  domain.numBatch = domain.dims.size();
  domain.dims.push_back(query);
  domain.dims.push_back(roles->keys.empty() ? Dim() : Dim{roles->keys.front()});
  Dim head; // in the order of Q, where a reshape has cut it
  for (unsigned dim : collectDims(attention.query->indices))
    if (roles->heads.contains(dim))
      head.push_back(dim);
  domain.dims.push_back(head);
  domain.dims.push_back(roles->values.empty() ? Dim() : Dim{roles->values.front()});
  return domain;
}

void Domain::addGroup(const Attention &attention, unsigned group) {
  auto *shared = llvm::find_if(dims, [&](const Dim &dim) {
    return dim.size() == 1 && areSideBySide(attention.query->indices, dim[0], group) &&
           areSideBySide(attention.indices, dim[0], group);
  });
  Dim merged = {group};
  if (shared != dims.end()) {
    merged = {(*shared)[0], group};
    dims.erase(shared);
  }
  dims.push_back(merged);
}

std::optional<unsigned> Domain::find(unsigned atom) const {
  for (auto [position, dim] : llvm::enumerate(dims))
    if (llvm::is_contained(dim, atom))
      return position;
  return std::nullopt;
}

AffineMap Domain::getMap(ArrayRef<DimKind> kinds, ArrayRef<AffineExpr> exprs) const {
  SmallVector<AffineExpr> positions(getNumDims(), getAffineConstantExpr(0, ctx));
  for (unsigned i = 0; i < numBatch; ++i)
    positions[i] = getExpr(i);
  for (auto [i, kind] : llvm::enumerate(kinds))
    positions[getPosition(kind)] = getExpr(numBatch + i);
  unsigned numDims = numBatch + kinds.size();
  return AffineMap::get(getNumDims(), 0, exprs, ctx).replaceDimsAndSymbols(positions, {}, numDims, 0);
}

/// Splits a tensor's dimensions into pieces; returns the match dimension of each, none for size 1.
static FailureOr<SmallVector<std::optional<unsigned>>> cutIntoPieces(const IterationSpace &space, RankedTensorType type,
                                                                     ArrayRef<LinearIndex> indices, Layout &layout) {
  SmallVector<std::optional<unsigned>> pieces;
  for (auto [index, size] : llvm::zip(indices, type.getShape())) {
    std::optional<int64_t> extent = space.getExtent(index);
    if (!extent || (*extent != size && !ShapedType::isDynamic(*extent) && !ShapedType::isDynamic(size)))
      return failure();
    ReassociationIndices group;
    for (const LinearIndex::Term &term : index.terms) {
      group.push_back(pieces.size());
      pieces.push_back(term.dim);
      layout.pieceSizes.push_back(index.terms.size() == 1 ? size : space.getSize(term.dim));
    }
    if (index.terms.empty()) {
      group.push_back(pieces.size());
      pieces.push_back(std::nullopt);
      layout.pieceSizes.push_back(1);
    }
    layout.tensorDims.push_back(group);
  }
  return pieces;
}

/// Adds the pieces up to that of dimension `inner`, the next one after piece `i`, to its group. Returns false, without
/// a change, if another dimension follows.
static bool takeInner(ArrayRef<std::optional<unsigned>> pieces, unsigned inner, unsigned &i,
                      ReassociationIndices &group) {
  unsigned next = i + 1;
  while (next < pieces.size() && !pieces[next])
    ++next;
  if (next == pieces.size() || *pieces[next] != inner)
    return false;
  while (i < next)
    group.push_back(++i);
  return true;
}

/// Makes each dimension of the tensor divisible: at most one of its pieces is dynamic. If the tensor's size is static,
/// that piece follows from the others.
static LogicalResult tellPieces(RankedTensorType type, Layout &layout) {
  for (auto [size, group] : llvm::zip_equal(type.getShape(), layout.tensorDims)) {
    int64_t *open = nullptr, known = 1;
    for (int64_t piece : group) {
      int64_t &pieceSize = layout.pieceSizes[piece];
      if (!ShapedType::isDynamic(pieceSize))
        known *= pieceSize;
      else if (std::exchange(open, &pieceSize))
        return failure();
    }
    if (group.size() == 1 || (ShapedType::isDynamic(size) && open))
      continue;
    if (ShapedType::isDynamic(size) || known == 0 || size % known != 0)
      return failure();
    if (open)
      *open = size / known;
  }
  return success();
}

FailureOr<Layout> Domain::getLayout(RankedTensorType type, ArrayRef<LinearIndex> indices, OperandRole role,
                                    ArrayRef<DimKind> required) const {
  Layout layout;
  auto cut = cutIntoPieces(*space, type, indices, layout);
  if (failed(cut))
    return failure();
  ArrayRef<std::optional<unsigned>> pieces = *cut;
  bool canBeZero = role == OperandRole::Broadcast || role == OperandRole::SharedHead;
  SmallVector<unsigned> missing; // required dimensions of size 1
  for (DimKind kind : required)
    if (dims[getPosition(kind)].empty())
      missing.push_back(getPosition(kind));
  for (unsigned i = 0; i < pieces.size(); ++i) {
    if (!pieces[i]) {
      bool isAssigned = !missing.empty();
      if (isAssigned || canBeZero || layout.viewDims.empty()) {
        layout.exprs.push_back(isAssigned ? getExpr(missing.front()) : getAffineConstantExpr(0, ctx));
        layout.viewDims.push_back({static_cast<int64_t>(i)});
        if (isAssigned)
          missing.erase(missing.begin());
      } else
        layout.viewDims.back().push_back(i); // merged into the preceding dimension
      continue;
    }
    std::optional<unsigned> position = find(*pieces[i]);
    if (!position)
      return failure();
    const Dim &dim = dims[*position];
    ReassociationIndices group = {static_cast<int64_t>(i)};
    AffineExpr expr = getExpr(*position);
    if (dim.size() == 2 && *pieces[i] != dim[0])
      return failure();
    if (dim.size() == 2 && !takeInner(pieces, dim[1], i, group)) {
      if (role != OperandRole::SharedHead || *position >= numBatch)
        return failure();
      expr = expr.floorDiv(space->getSize(dim[1]));
    }
    // For a plain operand, leading dimensions of size 1 are merged into the first other one.
    bool isLeading = !layout.exprs.empty() && layout.exprs.size() == 1 && !canBeZero &&
                     isa<AffineConstantExpr>(layout.exprs.front());
    if (isLeading) {
      llvm::append_range(layout.viewDims.front(), group);
      layout.exprs.front() = expr;
      continue;
    }
    if (llvm::is_contained(layout.exprs, expr))
      return failure(); // a diagonal, which maps of attn ops cannot express
    layout.viewDims.push_back(group);
    layout.exprs.push_back(expr);
  }
  for (unsigned position : missing) {
    if (layout.tensorDims.empty())
      return failure();
    layout.tensorDims.back().push_back(layout.pieceSizes.size());
    layout.viewDims.push_back({static_cast<int64_t>(layout.pieceSizes.size())});
    layout.pieceSizes.push_back(1);
    layout.exprs.push_back(getExpr(position));
  }
  if (failed(tellPieces(type, layout)))
    return failure();
  return layout;
}

/// The sizes of groups of pieces.
static SmallVector<int64_t> getSizes(ArrayRef<int64_t> pieceSizes, ArrayRef<ReassociationIndices> groups) {
  return llvm::map_to_vector(groups, [&](const ReassociationIndices &group) {
    int64_t size = 1;
    for (int64_t piece : group)
      size = ShapedType::isDynamic(size) || ShapedType::isDynamic(pieceSizes[piece]) ? ShapedType::kDynamic
                                                                                     : size * pieceSizes[piece];
    return size;
  });
}

/// Reshapes from groups of pieces to other groups.
static Value regroup(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> pieceSizes,
                     ArrayRef<ReassociationIndices> from, ArrayRef<ReassociationIndices> to) {
  if (from == to)
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  if (from.size() != pieceSizes.size())
    value = tensor::ExpandShapeOp::create(builder, loc, type.clone(pieceSizes), value, from);
  if (to.size() != pieceSizes.size())
    value = tensor::CollapseShapeOp::create(builder, loc, type.clone(getSizes(pieceSizes, to)), value, to);
  return value;
}

RankedTensorType Domain::getViewType(RankedTensorType type, const Layout &layout) {
  return RankedTensorType::get(getSizes(layout.pieceSizes, layout.viewDims), type.getElementType());
}

Value Domain::restore(OpBuilder &builder, Location loc, Value view, RankedTensorType type, const Layout &layout) {
  Value tensor = regroup(builder, loc, view, layout.pieceSizes, layout.viewDims, layout.tensorDims);
  return tensor.getType() == type ? tensor : tensor::CastOp::create(builder, loc, type, tensor).getResult();
}

FailureOr<View> Domain::align(OpBuilder &builder, Location loc, ExprRef element, OperandRole role,
                              ArrayRef<DimKind> required) const {
  auto type = cast<RankedTensorType>(element->value.getType());
  FailureOr<Layout> layout = getLayout(type, element->indices, role, required);
  if (failed(layout))
    return failure();
  return View{regroup(builder, loc, element->value, layout->pieceSizes, layout->tensorDims, layout->viewDims),
              layout->exprs};
}

FailureOr<Value> Domain::createIndex(OpBuilder &builder, Location loc, const LinearIndex &index) const {
  AffineExpr sum = getAffineConstantExpr(index.constant, ctx);
  SmallVector<Value> positions;
  for (auto [atom, coefficient] : index.terms) {
    std::optional<unsigned> position = find(atom);
    if (!position)
      return failure();
    IndexKind kind;
    if (*position == getPosition(DimKind::Query))
      kind = IndexKind::Query;
    else if (*position == getPosition(DimKind::Key))
      kind = IndexKind::Key;
    else if (*position + 1 == numBatch)
      kind = IndexKind::Head;
    else if (*position == 0)
      kind = IndexKind::Batch;
    else
      return failure();
    AffineExpr expr = getAffineSymbolExpr(positions.size(), ctx);
    const Dim &dim = dims[*position];
    if (dim.size() == 2)
      expr = atom == dim[0] ? expr.floorDiv(space->getSize(dim[1])) : expr % space->getSize(dim[1]);
    positions.push_back(IndexOp::create(builder, loc, kind));
    sum = sum + expr * coefficient;
  }
  // In arith: affine ops are not allowed in a region.
  return affine::expandAffineExpr(builder, loc, sum, {}, positions);
}
