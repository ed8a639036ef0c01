//===- TileChain.cpp - attn-tile-chain ------------------------------------===//
//
// Before: a chain that could not be fused, each op on the whole matrix of
// scores. After: one scf.forall over batch indices, heads and blocks of query
// rows with the whole chain in it, so that a thread holds the scores of one
// block; what is used behind the chain, as returned weights, is put together by
// the loop.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Attn.h"
#include "attn/Target/TargetInfo.h"
#include "attn/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/MathExtras.h"

namespace attn {
#define GEN_PASS_DEF_TILECHAINPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// Rows of a block. Fewer would pack K and V more often than it takes to multiply them.
static constexpr int64_t kMinRows = 16, kMaxRows = 128, kDynamicRows = 64;
/// Part of the second-level cache for one matrix of scores: about three are alive at a time.
static constexpr int64_t kCacheShare = 4;
/// Multiply-adds below which there is nothing to gain, and how many the softmax of a score counts for.
static constexpr int64_t kMinWork = 1 << 20, kSoftmaxWork = 16;

/// The operands of `op` that a block of its rows needs the same rows of.
static SmallVector<Value> getRowOperands(Operation *op) {
  if (isa<ScoresOp>(op))
    return {};
  if (isChainOp(op))
    return {op->getOperand(0)};
  auto linalgOp = cast<linalg::LinalgOp>(op);
  SmallVector<Value> operands;
  for (OpOperand *operand : linalgOp.getDpsInputOperands())
    if (linalgOp.getMatchingIndexingMap(operand).isIdentity())
      operands.push_back(operand->get());
  return operands;
}

/// The ops that a block of rows of `root` is computed by: back from it, all that work row by row. An op that is read in
/// front of `root` by others cannot move into its loop.
static llvm::SetVector<Operation *> collectRowOps(Operation *root) {
  llvm::SetVector<Operation *> ops;
  llvm::DenseSet<Value> read;
  auto add = [&](Operation *op) {
    ops.insert(op);
    read.insert_range(getRowOperands(op));
  };
  add(root);
  for (Operation *op = root->getPrevNode(); op; op = op->getPrevNode()) {
    auto isRead = [&](Value result) { return read.contains(result); };
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (llvm::none_of(op->getResults(), isRead) || !(isChainOp(op) || (linalgOp && linalg::isElementwise(linalgOp))))
      continue;
    bool canMove = llvm::all_of(op->getUsers(), [&](Operation *user) {
      Operation *ancestor = root->getBlock()->findAncestorOpInBlock(*user);
      return ops.contains(ancestor) || root->isBeforeInBlock(ancestor);
    });
    if (canMove)
      add(op);
  }
  return ops;
}

static bool hasMuchWork(Operation *op) {
  if (!isa<ScoresOp, SoftmaxOp, ApplyOp>(op))
    return false;
  int64_t work = isa<SoftmaxOp>(op) ? kSoftmaxWork : 1;
  for (int64_t size : getStaticDomain(op))
    if (ShapedType::isDynamic(size) || llvm::MulOverflow(work, size, work))
      return true;
  return work >= kMinWork;
}

/// Rows of a block: as many as let their scores stay in the cache, or a divisor of all rows that is not much less,
/// so that all blocks have one size.
static int64_t selectRows(Operation *root, const TargetInfo &target) {
  int64_t numRows = getStaticSize(root, DimKind::Query), numKeys = getStaticSize(root, DimKind::Key);
  int64_t most = kDynamicRows;
  if (!ShapedType::isDynamic(numKeys)) {
    unsigned bits = getAccumulationType(getElementTypeOrSelf(root->getOperand(0))).getIntOrFloatBitWidth();
    most = std::clamp(target.l2Bytes / kCacheShare / std::max<int64_t>(1, numKeys * bits / 8), kMinRows, kMaxRows);
  }
  if (ShapedType::isDynamic(numRows))
    return most;
  if (numRows <= most)
    return numRows;
  for (int64_t rows = most; rows > most / 2; --rows)
    if (numRows % rows == 0)
      return rows;
  // Blocks that are about equal.
  return llvm::divideCeil(numRows, llvm::divideCeil(numRows, most));
}

/// One of each batch dimension by `rows` rows; 0 where that is all of a dimension.
static SmallVector<OpFoldResult> getTileSizes(Operation *root, int64_t rows) {
  Builder b(root->getContext());
  SmallVector<int64_t> sizes(getNumBatchDims(root), 1);
  sizes.push_back(rows);
  return llvm::map_to_vector(llvm::zip(sizes, getStaticDomain(root)), [&](auto pair) -> OpFoldResult {
    auto [size, whole] = pair;
    return b.getIndexAttr(size == whole ? 0 : size);
  });
}

/// Sizes of what the ops result in are those of their destinations, which are there in front of the loop.
static void takeSizesOfDestinations(const llvm::SetVector<Operation *> &ops) {
  for (Operation *op : ops)
    for (OpResult result : op->getResults())
      for (Operation *user : llvm::make_early_inc_range(result.getUsers()))
        if (isa<tensor::DimOp>(user))
          user->setOperand(0, cast<DestinationStyleOpInterface>(op).getTiedOpOperand(result)->get());
}

static LogicalResult tileChain(RewriterBase &rewriter, TilingInterface root, const llvm::SetVector<Operation *> &rowOps,
                               const TargetInfo &target) {
  SmallVector<OpFoldResult> sizes = getTileSizes(root, selectRows(root, target));
  if (llvm::all_of(sizes, [](OpFoldResult size) { return isConstantIntValue(size, 0); }))
    return success();
  scf::SCFTileAndFuseOptions options;
  using LoopType = scf::SCFTilingOptions::LoopType;
  bool isInParallel = root->getParentOfType<scf::ForallOp>() != nullptr;
  options.tilingOptions.setLoopType(isInParallel ? LoopType::ForOp : LoopType::ForallOp).setTileSizes(sizes);
  options.setFusionControlFn([&](tensor::ExtractSliceOp, OpResult producer,
                                 bool isDestination) -> std::optional<scf::SCFTileAndFuseOptions::ControlFnResult> {
    Operation *op = producer.getOwner();
    if (isDestination || !rowOps.contains(op))
      return std::nullopt;
    bool isUsedBehind = llvm::any_of(op->getUsers(), [&](Operation *user) {
      return root->isBeforeInBlock(root->getBlock()->findAncestorOpInBlock(*user));
    });
    return scf::SCFTileAndFuseOptions::ControlFnResult{/*yieldProducerReplacement=*/isUsedBehind};
  });
  rewriter.setInsertionPoint(root);
  FailureOr<scf::SCFTileAndFuseResult> result = scf::tileConsumerAndFuseProducersUsingSCF(rewriter, root, options);
  if (failed(result))
    return failure();
  takeSizesOfDestinations(rowOps);
  for (auto [value, replacement] : result->replacements)
    rewriter.replaceAllUsesWith(value, replacement);
  for (Operation *op : rowOps)
    if (op->use_empty())
      rewriter.eraseOp(op);
  return success();
}

namespace {
struct TileChainPass : public attn::impl::TileChainPassBase<TileChainPass> {
  using Base::Base;

  void runOnOperation() override {
    llvm::Expected<TargetInfo> info = TargetInfo::get(target);
    if (!info) {
      getOperation().emitError("attn-tile-chain: ") << llvm::toString(info.takeError());
      return signalPassFailure();
    }
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isChainOp(op) && isa<RankedTensorType>(op->getOperand(0).getType()))
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    llvm::DenseSet<Operation *> done;
    for (Operation *root : llvm::reverse(ops)) {
      if (done.contains(root))
        continue;
      llvm::SetVector<Operation *> rowOps = collectRowOps(root);
      done.insert_range(rowOps);
      if (llvm::any_of(rowOps, hasMuchWork) && failed(tileChain(rewriter, cast<TilingInterface>(root), rowOps, *info)))
        return signalPassFailure();
    }
    RewritePatternSet patterns(&getContext());
    tensor::populateFoldTensorEmptyPatterns(patterns);
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
  }
};
} // namespace
