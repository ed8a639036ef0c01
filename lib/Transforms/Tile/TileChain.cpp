//===- TileChain.cpp - attn-tile-chain ------------------------------------===//
//
// Before: a chain that could not be fused, each op on the whole score matrix, or a merge of whole states. After: one
// scf.forall over batch indices, heads and blocks of query rows with the whole chain in it, so that a thread holds the
// scores of one block. Results that are used after the chain, such as returned weights, are assembled by the loop.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Attn.h"
#include "attn/Target/PassTarget.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"
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

/// Rows of a block. With fewer, packing K and V would take longer than multiplying them.
static constexpr int64_t kMinRows = 16, kMaxRows = 128, kDynamicRows = 64;
/// Share of the L2 cache for one score matrix: about three are live at a time.
static constexpr int64_t kCacheShare = 4;
/// Fewest multiply-adds for which tiling pays, and the cost in multiply-adds of the softmax of a score, or of merging
/// an element of the accumulator, which is read from memory.
static constexpr int64_t kMinWork = 1 << 20, kSoftmaxWork = 16;

static bool isElementwise(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && linalgOp.hasPureTensorSemantics() && linalg::isElementwise(linalgOp);
}

/// Ops on whole states: those of finished calls, which attn.merge_states merges.
static bool isStateOp(Operation *op) {
  return isa<FinalizeOp>(op) || (isa<MergeStatesOp>(op) && llvm::none_of(op->getOperands(), [](Value state) {
                                   return isa_and_nonnull<OnlineStepOp, InitStateOp>(state.getDefiningOp());
                                 }));
}

/// True for the last op of rows that are tiled together.
static bool isRoot(Operation *op) { return isChainOp(op) || isStateOp(op); }

static bool isRowOp(Operation *op) {
  return (isRoot(op) && isa<RankedTensorType>(op->getOperand(0).getType())) || isElementwise(op);
}

/// True where a block of rows of the owner needs exactly the same rows of the operand.
static bool isRowOperand(OpOperand &operand) {
  Operation *op = operand.getOwner();
  // All dimensions of the domain, or a prefix of them.
  auto isLeading = [](AffineMap map) {
    return llvm::all_of(llvm::enumerate(map.getResults()),
                        [&](auto dim) { return dim.value() == getAffineDimExpr(dim.index(), map.getContext()); });
  };
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalgOp.isDpsInput(&operand) && isLeading(linalgOp.getMatchingIndexingMap(&operand)) &&
           llvm::all_of(ArrayRef(linalgOp.getIndexingMapsArray()).drop_front(linalgOp.getNumDpsInputs()), isLeading);
  if (isStateOp(op))
    return !isUnreadInit(operand);
  return isChainOp(op) && !isa<ScoresOp>(op) && operand.getOperandNumber() == 0 && isLeading(getMaps(op).front());
}

//===----------------------------------------------------------------------===//
// Destinations
//===----------------------------------------------------------------------===//

/// Takes the sizes of results from their destinations, which are defined before a loop.
static void takeSizesOfDestinations(ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    for (OpResult result : op->getResults())
      for (Operation *user : llvm::make_early_inc_range(result.getUsers()))
        if (isa<tensor::DimOp>(user))
          user->setOperand(0, getDestination(result));
}

/// Replaces `init`, a destination that its op does not read, by an empty tensor of the same sizes.
static void detachDestination(OpBuilder &builder, OpOperand &init) {
  Operation *op = init.getOwner();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  // Not the sizes of its producer's result, as the producer may be about to move.
  Value destination = getDestination(init.get());
  auto type = cast<RankedTensorType>(destination.getType());
  init.set(tensor::EmptyOp::create(builder, op->getLoc(), tensor::getMixedSizes(builder, op->getLoc(), destination),
                                   type.getElementType(), type.getEncoding()));
}

/// Gives ops a destination of their own where theirs is the result of another op of the chain, whose rows are then no
/// longer needed, or is shared: results of one loop are assembled side by side.
static void detachDestinations(OpBuilder &builder, const llvm::SetVector<Operation *> &ops) {
  for (Operation *op : ops)
    for (OpOperand &init : cast<DestinationStyleOpInterface>(op).getDpsInitsMutable()) {
      Operation *producer = init.get().getDefiningOp();
      bool isShared = isa_and_nonnull<tensor::EmptyOp>(producer) && !producer->hasOneUse();
      if (isUnreadInit(init) && producer && (isRowOp(producer) || isShared))
        detachDestination(builder, init);
    }
}

//===----------------------------------------------------------------------===//
// Blocks of rows
//===----------------------------------------------------------------------===//

/// The ops that compute a block of rows of `root`, in reverse order: the ops of the set read exactly the same rows of
/// their results, and no other op before `root` reads them.
static llvm::SetVector<Operation *> collectRowOps(Operation *root) {
  llvm::SetVector<Operation *> ops;
  ops.insert(root);
  for (Operation *op = root->getPrevNode(); op; op = op->getPrevNode()) {
    if (!isRowOp(op))
      continue;
    bool isRead = false;
    bool canMove = llvm::all_of(op->getUses(), [&](OpOperand &use) {
      Operation *user = root->getBlock()->findAncestorOpInBlock(*use.getOwner());
      if (!ops.contains(user))
        return root->isBeforeInBlock(user);
      isRead |= isRowOperand(use);
      return user == use.getOwner() && (isRowOperand(use) || isUnreadInit(use));
    });
    if (canMove && isRead)
      ops.insert(op);
  }
  return ops;
}

static bool hasMuchWork(Operation *op) {
  if (!isa<ScoresOp, SoftmaxOp, ApplyOp, MergeStatesOp>(op))
    return false;
  if (llvm::is_contained(getStaticDomain(op), 0))
    return false;
  int64_t work = isa<SoftmaxOp, MergeStatesOp>(op) ? kSoftmaxWork : 1;
  for (int64_t size : getStaticDomain(op))
    if (ShapedType::isDynamic(size) || llvm::MulOverflow(work, size, work))
      return true;
  return work >= kMinWork;
}

/// Rows of a block: as many as keep their scores in the cache, or a divisor of all rows that is not much smaller, so
/// that all blocks have one size.
static int64_t selectRows(Operation *root, const TargetInfo &target) {
  int64_t numRows = getStaticSize(root, DimKind::Query),
          numColumns = getStaticSize(root, isChainOp(root) ? DimKind::Key : DimKind::ValueSize);
  int64_t most = kDynamicRows;
  if (!ShapedType::isDynamic(numColumns)) {
    unsigned bits = getAccumulationType(getElementTypeOrSelf(root->getOperand(0))).getIntOrFloatBitWidth();
    most = std::clamp(target.l2Bytes / kCacheShare / std::max<int64_t>(1, numColumns * bits / 8), kMinRows, kMaxRows);
  }
  if (ShapedType::isDynamic(numRows))
    return most;
  if (numRows <= most)
    return numRows;
  for (int64_t rows = most; rows > most / 2; --rows)
    if (numRows % rows == 0)
      return rows;
  // Blocks of about equal size.
  return llvm::divideCeil(numRows, llvm::divideCeil(numRows, most));
}

/// One index of each batch dimension by `rows` rows; 0 where that covers a dimension.
static SmallVector<OpFoldResult> getTileSizes(Operation *root, int64_t rows) {
  Builder b(root->getContext());
  SmallVector<int64_t> sizes(getNumBatchDims(root), 1);
  sizes.push_back(rows);
  return llvm::map_to_vector(llvm::zip(sizes, getStaticDomain(root)), [&](auto pair) -> OpFoldResult {
    auto [size, whole] = pair;
    return b.getIndexAttr(size == whole ? 0 : size);
  });
}

/// Slices of the op's results in the loop, in order: each covers its rows of the block.
static SmallVector<tensor::ExtractSliceOp> getSlices(Operation *op, LoopLikeOpInterface loop) {
  SmallVector<tensor::ExtractSliceOp> slices;
  for (Operation *user : op->getUsers())
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(user); slice && loop->isProperAncestor(slice))
      slices.push_back(slice);
  llvm::sort(slices, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  return slices;
}

/// Moves one block's rows of `op` into the loops. Results with uses after the loops are assembled by additional loop
/// results, whose indices are recorded in `numbers`.
static void fuseRows(RewriterBase &rewriter, Operation *op, SmallVector<LoopLikeOpInterface> &loops,
                     llvm::MapVector<Value, unsigned> &numbers) {
  SmallVector<tensor::ExtractSliceOp> slices = getSlices(op, loops.back());
  if (slices.empty())
    return;
  std::optional<scf::SCFFuseProducerOfSliceResult> fused =
      scf::tileAndFuseProducerOfSlice(rewriter, slices.front(), loops);
  if (!fused)
    return;
  SmallVector<unsigned> usedBehind;
  for (OpResult result : op->getResults())
    if (llvm::any_of(result.getUsers(), [&](Operation *user) {
          return loops.front()->isBeforeInBlock(op->getBlock()->findAncestorOpInBlock(*user));
        }))
      usedBehind.push_back(result.getResultNumber());
  unsigned count = loops.front()->getNumResults();
  if (!usedBehind.empty() &&
      succeeded(scf::yieldReplacementForFusedProducer(rewriter, slices.front(), *fused, loops, usedBehind)))
    for (auto [i, number] : llvm::enumerate(usedBehind))
      numbers[op->getResult(number)] = count + i;
  for (tensor::ExtractSliceOp slice : slices) {
    unsigned number = cast<OpResult>(slice.getSource()).getResultNumber();
    rewriter.replaceOp(slice, fused->tiledOps.front()->getResult(number));
  }
}

static LogicalResult tileChain(RewriterBase &rewriter, TilingInterface root, const llvm::SetVector<Operation *> &rowOps,
                               const TargetInfo &target) {
  SmallVector<OpFoldResult> sizes = getTileSizes(root, selectRows(root, target));
  if (llvm::all_of(sizes, [](OpFoldResult size) { return isConstantIntValue(size, 0); }) ||
      llvm::is_contained(getStaticDomain(root), 0))
    return success();
  detachDestinations(rewriter, rowOps);
  using LoopType = scf::SCFTilingOptions::LoopType;
  bool isInParallel = root->getParentOfType<scf::ForallOp>() != nullptr;
  scf::SCFTilingOptions options;
  options.setLoopType(isInParallel ? LoopType::ForOp : LoopType::ForallOp).setTileSizes(sizes);
  // The loops are built after it.
  FailureOr<scf::SCFTilingResult> tiled = scf::tileUsingSCF(rewriter, root, options);
  if (failed(tiled))
    return failure();
  llvm::MapVector<Value, unsigned> numbers;
  for (OpResult result : root->getResults())
    numbers[result] = result.getResultNumber();
  for (Operation *op : llvm::drop_begin(rowOps))
    fuseRows(rewriter, op, tiled->loops, numbers);
  takeSizesOfDestinations(rowOps.getArrayRef());
  for (auto [value, number] : numbers)
    rewriter.replaceAllUsesWith(value, tiled->loops.front()->getResult(number));
  for (Operation *op : rowOps)
    if (op->use_empty())
      rewriter.eraseOp(op);
  return success();
}

namespace {
struct TileChainPass : public attn::impl::TileChainPassBase<TileChainPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetInfo> info = getTarget(getOperation(), getArgument(), target);
    if (failed(info))
      return signalPassFailure();
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isRowOp(op))
        ops.push_back(op);
    });
    takeSizesOfDestinations(ops);
    IRRewriter rewriter(&getContext());
    llvm::DenseSet<Operation *> done;
    for (Operation *root : llvm::reverse(ops)) {
      if (done.contains(root) || !isRoot(root)) // fused ops are erased
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
