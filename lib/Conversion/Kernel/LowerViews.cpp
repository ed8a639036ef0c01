//===- LowerViews.cpp - attn-lower-views ----------------------------------===//
//
// Before: views of memrefs. After: memref.reinterpret_cast with the sizes and strides of the result, by upstream's
// patterns, and by our own for a memref.expand_shape that upstream cannot lower: it computes a dynamic size from the
// others, and crashes if a dimension is split into two of dynamic size.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Conversion/Passes.h"
#include "attn/IR/RewriteOps.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"

namespace attn {
#define GEN_PASS_DEF_LOWERVIEWSPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;

/// True if a dimension is split into more than one of dynamic size.
static bool isUnknownUpstream(memref::ExpandShapeOp op) {
  ArrayRef<int64_t> shape = op.getResultType().getShape();
  return llvm::any_of(op.getReassociationIndices(), [&](const ReassociationIndices &group) {
    return llvm::count_if(group, [&](int64_t dim) { return ShapedType::isDynamic(shape[dim]); }) > 1;
  });
}

static OpFoldResult multiply(OpBuilder &b, Location loc, OpFoldResult x, OpFoldResult y) {
  AffineExpr s0 = b.getAffineSymbolExpr(0), s1 = b.getAffineSymbolExpr(1);
  return affine::makeComposedFoldedAffineApply(b, loc, s0 * s1, {x, y});
}

/// The innermost dimension of a group has the stride of its source dimension; each outer one has that times the sizes
/// inside of it.
static void lower(IRRewriter &rewriter, memref::ExpandShapeOp op) {
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  MemRefType type = op.getResultType();
  auto metadata = memref::ExtractStridedMetadataOp::create(rewriter, loc, op.getSrc());
  auto [staticStrides, staticOffset] = type.getStridesAndOffset();
  auto [sourceStrides, sourceOffset] = op.getSrcType().getStridesAndOffset();
  auto choose = [&](int64_t known, OpFoldResult otherwise) {
    return ShapedType::isDynamic(known) ? otherwise : OpFoldResult(rewriter.getIndexAttr(known));
  };
  SmallVector<OpFoldResult> sizes = op.getMixedOutputShape(), strides(sizes.size());
  for (auto [i, group] : llvm::enumerate(op.getReassociationIndices())) {
    OpFoldResult stride = choose(sourceStrides[i], metadata.getStrides()[i]);
    for (int64_t dim : llvm::reverse(group)) {
      strides[dim] = choose(staticStrides[dim], stride);
      if (dim != group.front())
        stride = multiply(rewriter, loc, strides[dim], sizes[dim]);
    }
  }
  rewriter.replaceOpWithNewOp<memref::ReinterpretCastOp>(op, type, metadata.getBaseBuffer(),
                                                         choose(staticOffset, metadata.getOffset()), sizes, strides);
}

namespace {
struct LowerViewsPass : public attn::impl::LowerViewsPassBase<LowerViewsPass> {
  using Base::Base;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<memref::ExpandShapeOp> unknown;
    getOperation()->walk([&](memref::ExpandShapeOp op) {
      if (isUnknownUpstream(op))
        unknown.push_back(op);
    });
    for (memref::ExpandShapeOp op : unknown)
      lower(rewriter, op);
    RewritePatternSet patterns(&getContext());
    memref::populateExpandStridedMetadataPatterns(patterns);
    (void)attn::rewriteOps(getOperation(), std::move(patterns),
                           llvm::IsaPred<ViewLikeOpInterface, memref::ExtractStridedMetadataOp>);
  }
};
} // namespace
