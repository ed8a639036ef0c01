//===- ExpandLayers.cpp - attn-expand-layers ------------------------------===//
//
// Before: attn.multi_head, and attn.scores with projections. After: linalg products around attn.sdpa and plain
// attn.scores on tensors. Heads are views of the projections' columns; nothing is transposed or copied.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
#include "attn/IR/Words.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace attn {
#define GEN_PASS_DEF_EXPANDLAYERSPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

static RankedTensorType getTensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

/// An empty tensor with the sizes of `like`, except `size` in dimension `dim`.
static Value createEmpty(OpBuilder &b, Location loc, Value like, unsigned dim, int64_t size, Type elementType) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, like);
  sizes[dim] = b.getIndexAttr(size);
  return tensor::EmptyOp::create(b, loc, sizes, elementType);
}

/// out[…, f, …] = sum_e input[…, e, …] * weight[e, f], with e and f in dimension `dim`; accumulated wide and rounded
/// once.
static Value project(OpBuilder &b, Location loc, Value input, Value weight, unsigned dim, Value output) {
  Type elementType = getTensorType(output).getElementType(), type = getAccumulationType(elementType);
  unsigned rank = getTensorType(input).getRank();
  int64_t columns = getTensorType(weight).getDimSize(1);
  Value sums = type == elementType ? output : createEmpty(b, loc, input, dim, columns, type);
  sums = linalg::FillOp::create(b, loc, createFloatConstant(b, loc, type, 0), sums).getResult(0);

  AffineMap outMap = AffineMap::getMultiDimIdentityMap(rank + 1, b.getContext()).dropResult(rank);
  AffineExpr depth = b.getAffineDimExpr(rank);
  SmallVector<AffineExpr> inputExprs(outMap.getResults());
  inputExprs[dim] = depth;
  AffineMap inputMap = AffineMap::get(rank + 1, 0, inputExprs, b.getContext());
  AffineMap weightMap = AffineMap::get(rank + 1, 0, {depth, b.getAffineDimExpr(dim)}, b.getContext());
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  iterators.push_back(utils::IteratorType::reduction);
  auto product = linalg::GenericOp::create(
      b, loc, sums.getType(), {input, weight}, sums, {inputMap, weightMap, outMap}, iterators,
      [&](OpBuilder &nested, Location at, ValueRange x) {
        Value product = arith::MulFOp::create(nested, at, convertFloat(nested, at, x[0], type),
                                              convertFloat(nested, at, x[1], type));
        linalg::YieldOp::create(nested, at, Value(arith::AddFOp::create(nested, at, x[2], product)));
      });
  if (type == elementType)
    return product.getResult(0);
  AffineMap identity = b.getMultiDimIdentityMap(rank);
  return linalg::GenericOp::create(b, loc, output.getType(), product.getResult(0), output, {identity, identity},
                                   ArrayRef(iterators).take_front(rank),
                                   [&](OpBuilder &nested, Location at, ValueRange x) {
                                     linalg::YieldOp::create(nested, at, convertFloat(nested, at, x[0], elementType));
                                   })
      .getResult(0);
}

namespace {

/// Builds the ops of one attn.multi_head.
class MultiHeadExpansion {
public:
  MultiHeadExpansion(RewriterBase &rewriter, MultiHeadOp op) : b(rewriter), loc(op.getLoc()), op(op) {}

  Value expand() {
    int64_t heads = op.getHeads(), kvHeads = op.getKvHeads().value_or(heads);
    Value query = createHeads(op.getWQ(), heads), key = createHeads(op.getWK(), kvHeads),
          value = createHeads(op.getWV(), kvHeads);

    // The output of the heads, (B, S, heads, Dv): their concatenation is a view of it.
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, query);
    sizes[3] = b.getIndexAttr(getTensorType(value).getDimSize(3));
    Value empty = tensor::EmptyOp::create(b, loc, sizes, getTensorType(op.getX()).getElementType());
    Value heads4 = createSdpa(query, key, value, empty, heads / kvHeads);
    SmallVector<ReassociationIndices> columns = {{0}, {1}, {2, 3}};
    Value concatenated = tensor::CollapseShapeOp::create(b, loc, heads4, columns);
    return project(b, loc, concatenated, op.getWO(), /*dim=*/2, op.getOutput());
  }

private:
  /// (x W) as (B, S, heads, columns of a head).
  Value createHeads(Value weight, int64_t heads) {
    int64_t columns = getTensorType(weight).getDimSize(1);
    Type elementType = getTensorType(op.getX()).getElementType();
    Value projected =
        project(b, loc, op.getX(), weight, /*dim=*/2, createEmpty(b, loc, op.getX(), /*dim=*/2, columns, elementType));
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, projected);
    sizes.back() = b.getIndexAttr(heads);
    sizes.push_back(b.getIndexAttr(columns / heads));
    SmallVector<int64_t> shape(getTensorType(projected).getShape().drop_back());
    shape.append({heads, columns / heads});
    SmallVector<ReassociationIndices> split = {{0}, {1}, {2, 3}};
    return tensor::ExpandShapeOp::create(b, loc, RankedTensorType::get(shape, elementType), projected, split, sizes);
  }

  Value createSdpa(Value query, Value key, Value value, Value output, int64_t groupSize) {
    // Domain (b, h, i, j, d, e); operands are (B, S, H, ·).
    auto dim = [&](unsigned position) { return b.getAffineDimExpr(position); };
    AffineExpr kvHead = dim(1).floorDiv(groupSize);
    SmallVector<AffineMap> maps;
    for (SmallVector<AffineExpr> exprs : {SmallVector<AffineExpr>{dim(0), dim(2), dim(1), dim(4)},
                                          SmallVector<AffineExpr>{dim(0), dim(3), kvHead, dim(4)},
                                          SmallVector<AffineExpr>{dim(0), dim(3), kvHead, dim(5)},
                                          SmallVector<AffineExpr>{dim(0), dim(2), dim(1), dim(5)}})
      maps.push_back(AffineMap::get(6, 0, exprs, b.getContext()));

    auto sdpa = SdpaOp::create(b, loc, query, key, value, output, /*lse=*/Value(), maps);
    for (const WordInfo &word : getWords())
      if (Attribute attribute = word.isAttribute() ? op->getAttr(word.name) : Attribute())
        sdpa->setAttr(word.name, attribute);
    // Queries and keys are equally many, so all alignments agree.
    spellOutAlignment(sdpa);
    return sdpa.getResult(0);
  }

  RewriterBase &b;
  Location loc;
  MultiHeadOp op;
};

/// The dimension of the head size in an operand.
unsigned getHeadSizePosition(ScoresOp op, AffineMap map) {
  AffineExpr headSize = getAffineDimExpr(getNumBatchDims(op) + 2, op.getContext());
  return llvm::find(map.getResults(), headSize) - map.getResults().begin();
}

/// rows W, in the layout of the rows.
Value projectRows(RewriterBase &b, ScoresOp op, Value rows, AffineMap map, Value weight) {
  unsigned dim = getHeadSizePosition(op, map);
  Type elementType = getTensorType(rows).getElementType();
  Value output = createEmpty(b, op.getLoc(), rows, dim, getTensorType(weight).getDimSize(1), elementType);
  return project(b, op.getLoc(), rows, weight, dim, output);
}

/// general: q^T W k is a dot product with q^T W; additive: W_q q and W_k k become the rows.
void expandScores(RewriterBase &b, ScoresOp op) {
  SmallVector<AffineMap> maps = getMaps(op);
  SmallVector<Value> weights(op.getWeights());
  Value query = projectRows(b, op, op.getQuery(), maps[0], weights[0]);
  if (*op.getKind() == ScoreKind::General) {
    b.modifyOpInPlace(op, [&] {
      op.getQueryMutable().assign(query);
      op.getWeightsMutable().clear();
      op.removeKindAttr();
    });
    return;
  }
  Value key = projectRows(b, op, op.getKey(), maps[1], weights[1]);
  b.modifyOpInPlace(op, [&] {
    op.getQueryMutable().assign(query);
    op.getKeyMutable().assign(key);
    op.getWeightsMutable().assign(weights[2]);
  });
}

bool hasProjections(ScoresOp op) {
  return op.getKind() && (*op.getKind() == ScoreKind::General || op.getWeights().size() == 3);
}

struct ExpandLayersPass : public attn::impl::ExpandLayersPassBase<ExpandLayersPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    expandLayers(rewriter, getOperation());
  }
};

} // namespace

void attn::expandLayers(RewriterBase &rewriter, Operation *root) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    auto scores = dyn_cast<ScoresOp>(op);
    bool isLayer = isa<MultiHeadOp>(op) || (scores && hasProjections(scores));
    if (isLayer && isa<RankedTensorType>(op->getOperand(0).getType()))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    rewriter.setInsertionPoint(op);
    if (auto scores = dyn_cast<ScoresOp>(op))
      expandScores(rewriter, scores);
    else
      rewriter.replaceOp(op, MultiHeadExpansion(rewriter, cast<MultiHeadOp>(op)).expand());
  }
}
