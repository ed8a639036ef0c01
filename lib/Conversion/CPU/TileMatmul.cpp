//===- TileMatmul.cpp - attn-tile-matmul ----------------------------------===//
//
// Before: products of many rows with a matrix of weights on tensors, each with the
// elementwise op that alone reads it, such as a bias, an activation or a residual.
// After: an scf.forall over tiles, a block of rows by a panel of columns as
// attn-lower-matmul-to-vector takes it; a body computes its part of the product in
// a buffer of its own, then of the elementwise op. Two products that one op reads
// are in one loop.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Matmul.h"
#include "attn/Conversion/Passes.h"
#include "attn/Target/PassTarget.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/MathExtras.h"

namespace attn {
#define GEN_PASS_DEF_TILEMATMULPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// Vectors of a panel for a product of rows with a matrix of weights; failure where it is none, or has too little work
/// or partial panels.
static FailureOr<int64_t> matchWeights(linalg::LinalgOp op, const TargetInfo &target) {
  if (!op.hasPureTensorSemantics() || op->getNumResults() != 1 || op->getParentOfType<scf::ForallOp>() ||
      (!linalg::isaContractionOpInterface(op) && !hasScaledWeights(op)))
    return failure();
  AffineMap a = op.getMatchingIndexingMap(op.getDpsInputOperand(0)),
            b = op.getMatchingIndexingMap(op.getDpsInputOperand(1)), c = op.getIndexingMapsArray().back();
  FailureOr<linalg::ContractionDimensions> dims = linalg::inferContractionDims({a, b, c});
  auto type = dyn_cast<FloatType>(getElementTypeOrSelf(op->getResult(0)));
  if (failed(dims) || !type || (!type.isF32() && !type.isF64()) || !dims->batch.empty() || dims->n.size() != 1 ||
      dims->k.size() != 1 || dims->m.empty() || b.getNumResults() != 2 || !b.isProjectedPermutation() ||
      c.getResults().back() != getAffineDimExpr(dims->n.front(), op.getContext()))
    return failure();
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  int64_t columns = sizes[dims->n.front()], rows = 1, work = 1;
  for (unsigned dim : dims->m)
    rows = ShapedType::isDynamic(sizes[dim]) ? kMinPackedRows : llvm::SaturatingMultiply<uint64_t>(rows, sizes[dim]);
  for (int64_t size : sizes)
    work = ShapedType::isDynamic(size) ? kMinParallelWork : llvm::SaturatingMultiply<uint64_t>(work, size);
  // Constant weights lie in panels (attn-pack-weights); copying others takes some rows to pay.
  bool isPacked = matchPattern(op.getDpsInputOperand(1)->get(), m_Constant());
  if (ShapedType::isDynamic(columns) || (rows < kMinPackedRows && !isPacked) || work < kMinParallelWork)
    return failure();
  int64_t panelVectors = getPanelVectors(target, type.getWidth(), columns);
  if (columns % (panelVectors * target.getLanes(type.getWidth())) != 0)
    return failure();
  return panelVectors;
}

/// True for an op that works element by element on its result's indices, and reads `product` at them.
static bool isElementwiseOn(Operation *op, Value product) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic->getNumResults() != 1 || generic.getNumReductionLoops() != 0 ||
      !generic.getIndexingMapsArray().back().isIdentity() || generic.hasIndexSemantics())
    return false;
  return llvm::all_of(generic.getDpsInputOperands(), [&](OpOperand *input) {
    return input->get() != product || generic.getMatchingIndexingMap(input).isIdentity();
  });
}

/// The elementwise op that alone reads the result, or else the product.
static linalg::LinalgOp getRoot(linalg::LinalgOp product) {
  Value result = product->getResult(0);
  if (!result.hasOneUse())
    return product;
  OpOperand &use = *result.use_begin();
  auto user = dyn_cast<linalg::GenericOp>(use.getOwner());
  return user && user.isDpsInput(&use) && isElementwiseOn(user, result) ? linalg::LinalgOp(user) : product;
}

/// The dimensions of a result's rows, such as (batch, sequence), where they can be one in all operands; otherwise none.
static ReassociationIndices getRowsToCollapse(linalg::LinalgOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  // Upstream drops indices that are not dimensions.
  if (!isa<linalg::GenericOp>(op) || !llvm::all_of(maps, [](AffineMap map) { return map.isProjectedPermutation(); }))
    return {};
  ReassociationIndices rows;
  for (AffineExpr expr : maps.back().getResults().drop_back())
    rows.push_back(cast<AffineDimExpr>(expr).getPosition());
  return rows.size() > 1 && linalg::areDimSequencesPreserved(maps, rows) ? rows : ReassociationIndices();
}

namespace {
/// What is tiled by one loop: an op and the products that it computes or reads.
struct Root {
  int64_t rows = 0, columns = 0; ///< of a tile, the same for all products; an open number of rows is in whole blocks
  llvm::SetVector<linalg::LinalgOp> products;
};
} // namespace

static llvm::MapVector<linalg::LinalgOp, Root> findRoots(Operation *function, const TargetInfo &target) {
  llvm::MapVector<linalg::LinalgOp, Root> roots;
  function->walk([&](linalg::LinalgOp op) {
    FailureOr<int64_t> panelVectors = matchWeights(op, target);
    if (failed(panelVectors))
      return;
    Root &root = roots[getRoot(op)];
    root.columns = *panelVectors * target.getLanes(getElementTypeOrSelf(op->getResult(0)).getIntOrFloatBitWidth());
    root.rows = llvm::alignDown(kTileRows, getRegisterRows(target, *panelVectors));
    root.products.insert(op);
  });
  return roots;
}

/// Makes one dimension of all that rows have: a tile then goes over sequences, and short ones read the weights once.
static LogicalResult collapseRows(RewriterBase &rewriter, linalg::LinalgOp root, const Root &tiled) {
  llvm::SetVector<linalg::LinalgOp> ops = tiled.products;
  ops.insert(root);
  if (llvm::any_of(ops, [](linalg::LinalgOp op) { return getRowsToCollapse(op).empty(); }))
    return success();
  llvm::SetVector<Operation *> reshapes;
  for (linalg::LinalgOp op : ops) {
    rewriter.setInsertionPoint(op);
    FailureOr<linalg::CollapseResult> collapsed = linalg::collapseOpIterationDims(op, getRowsToCollapse(op), rewriter);
    if (failed(collapsed))
      return failure();
    rewriter.replaceOp(op, collapsed->results);
    for (Value operand : collapsed->collapsedOp->getOperands())
      if (auto reshape = operand.getDefiningOp<tensor::CollapseShapeOp>())
        reshapes.insert(reshape);
  }
  // A reshape of a reshape, of zeros and of an empty tensor: here alone, as others share empty tensors on purpose.
  RewritePatternSet patterns(rewriter.getContext());
  linalg::FillOp::getCanonicalizationPatterns(patterns, rewriter.getContext());
  tensor::populateFoldTensorEmptyPatterns(patterns);
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
  return applyOpPatternsGreedily(reshapes.getArrayRef(), std::move(patterns), config);
}

/// Rows from the innermost dimension outwards, at most kTileRows in all, by a panel of columns. In loops of `root`.
static SmallVector<OpFoldResult> getTileSizes(OpBuilder &b, linalg::LinalgOp root, const Root &tiled) {
  SmallVector<int64_t> sizes = root.getStaticLoopRanges();
  SmallVector<OpFoldResult> tile(sizes.size(), b.getIndexAttr(0));
  int64_t rows = kTileRows;
  ArrayRef<AffineExpr> dims = root.getIndexingMapsArray().back().getResults();
  tile[cast<AffineDimExpr>(dims.back()).getPosition()] = b.getIndexAttr(tiled.columns);
  for (AffineExpr expr : llvm::reverse(dims.drop_back())) {
    unsigned dim = cast<AffineDimExpr>(expr).getPosition();
    int64_t size = std::min(rows, tiled.rows);
    if (sizes[dim] > 0) // of about equal size, if static
      size = std::max<int64_t>(1, llvm::divideCeil(sizes[dim], llvm::divideCeil(sizes[dim], rows)));
    tile[dim] = b.getIndexAttr(size);
    rows /= size;
  }
  return tile;
}

/// Gives the buffers of a shorter last tile the static size of the others, so that they can be on the stack.
static void makeStatic(RewriterBase &rewriter, tensor::EmptyOp empty, ArrayRef<OpFoldResult> tile) {
  if (empty.getType().hasStaticShape() || size_t(empty.getType().getRank()) != tile.size())
    return;
  rewriter.setInsertionPoint(empty);
  Value whole = tensor::EmptyOp::create(rewriter, empty.getLoc(), tile, empty.getType().getElementType());
  SmallVector<OpFoldResult> offsets(tile.size(), rewriter.getIndexAttr(0)),
      steps(tile.size(), rewriter.getIndexAttr(1));
  rewriter.replaceOpWithNewOp<tensor::ExtractSliceOp>(empty, empty.getType(), whole, offsets, empty.getMixedSizes(),
                                                      steps);
}

static LogicalResult tileRoot(RewriterBase &rewriter, linalg::LinalgOp root, const Root &tiledRoot) {
  SmallVector<OpFoldResult> tile = getTileSizes(rewriter, root, tiledRoot);
  scf::SCFTileAndFuseOptions options;
  options.tilingOptions.setTileSizes(tile);
  options.tilingOptions.setLoopType(scf::SCFTilingOptions::LoopType::ForallOp);
  using Fuse = scf::SCFTileAndFuseOptions::ControlFnResult;
  options.setFusionControlFn([&](tensor::ExtractSliceOp, OpResult producer, bool) {
    auto op = dyn_cast<linalg::LinalgOp>(producer.getOwner());
    bool isFused = op && (tiledRoot.products.contains(op) || isa<linalg::FillOp>(op));
    return isFused ? std::optional(Fuse()) : std::nullopt;
  });
  rewriter.setInsertionPoint(root);
  FailureOr<scf::SCFTileAndFuseResult> tiled =
      scf::tileConsumerAndFuseProducersUsingSCF(rewriter, cast<TilingInterface>(*root), options);
  if (failed(tiled))
    return failure();
  auto forall = cast<scf::ForallOp>(tiled->loops.front());
  for (auto [old, replacement] : tiled->replacements)
    rewriter.replaceAllUsesWith(old, replacement);
  // A part of an unwritten destination becomes a tensor of its own.
  SmallVector<tensor::ExtractSliceOp> slices;
  forall.walk([&](tensor::ExtractSliceOp slice) {
    if (slice.getSource().getDefiningOp<tensor::EmptyOp>())
      slices.push_back(slice);
  });
  SmallVector<OpFoldResult> sizes;
  for (AffineExpr expr : root.getIndexingMapsArray().back().getResults())
    sizes.push_back(tile[cast<AffineDimExpr>(expr).getPosition()]);
  for (tensor::ExtractSliceOp slice : slices) {
    rewriter.setInsertionPoint(slice);
    auto empty =
        tensor::EmptyOp::create(rewriter, slice.getLoc(), slice.getMixedSizes(), slice.getType().getElementType());
    rewriter.replaceOp(slice, empty);
    makeStatic(rewriter, empty, sizes);
  }
  return success();
}

/// Moves the products of constant integers and scales, as quantised weights are written, into the products that read
/// them, which then read the narrow type.
static void fuseScales(RewriterBase &rewriter, Operation *function) {
  SmallVector<linalg::GenericOp> products;
  function->walk([&](linalg::GenericOp op) {
    if (op.hasPureTensorSemantics() && linalg::isaContractionOpInterface(op))
      products.push_back(op);
  });
  for (linalg::GenericOp product : products) {
    OpOperand &weights = *product.getDpsInputOperand(1);
    auto scaled = weights.get().getDefiningOp<linalg::GenericOp>();
    if (!scaled || scaled.getNumDpsInputs() != 2 || !linalg::areElementwiseOpsFusable(&weights) ||
        !matchPattern(scaled.getDpsInputs()[0], m_Constant()))
      continue;
    rewriter.setInsertionPoint(product);
    FailureOr<linalg::ElementwiseOpFusionResult> fused = linalg::fuseElementwiseOps(rewriter, &weights);
    if (failed(fused))
      continue;
    if (!hasScaledWeights(cast<linalg::LinalgOp>(fused->fusedOp))) {
      rewriter.eraseOp(fused->fusedOp);
      continue;
    }
    rewriter.replaceOp(product, fused->fusedOp->getResults().take_back(1));
    if (scaled->use_empty())
      rewriter.eraseOp(scaled);
  }
}

static LogicalResult simplifyLoops(Operation *function) {
  RewritePatternSet patterns(function->getContext());
  scf::ForallOp::getCanonicalizationPatterns(patterns, function->getContext());
  // Their bounds are sizes of the product, which would be computed a second time for them alone.
  memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
  return applyPatternsGreedily(function, std::move(patterns));
}

namespace {
struct TileMatmulPass : public attn::impl::TileMatmulPassBase<TileMatmulPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetInfo> info = getTarget(getOperation(), getArgument(), target);
    if (failed(info))
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    fuseScales(rewriter, getOperation());
    auto roots = findRoots(getOperation(), *info);
    for (auto &[root, tiled] : roots)
      if (failed(collapseRows(rewriter, root, tiled)))
        return signalPassFailure();
    if (roots.empty())
      return;
    if (failed(simplifyLoops(getOperation())))
      return signalPassFailure();
    for (auto &[root, tiled] : findRoots(getOperation(), *info))
      if (failed(tileRoot(rewriter, root, tiled)))
        root->emitRemark() << getArgument() << ": expected a product that can be tiled; it runs as a whole";
    if (failed(simplifyLoops(getOperation())))
      signalPassFailure();
  }
};
} // namespace
