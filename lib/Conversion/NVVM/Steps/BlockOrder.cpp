//===- BlockOrder.cpp - which tile a block of a grid computes -------------===//
//
// Blocks start in index order, each as an earlier one ends. Where a mask makes some tiles of a head longer than others,
// the loop has the longest first. A grid that ran head by head would start the longest tiles of the last head near its
// end, and most multiprocessors would idle. So the tile index is the outer one and the head index the inner one, in
// groups of heads whose K and V fit in the L2 cache:
//
//   block = group · heads of a group · tiles + tile · heads of the group + head
//
// Where all tiles take equally long, the tiles of a head are consecutive.
//
// Persistent blocks (MakePersistent.cpp) take one round of tiles at a time, in alternating order. A jump from the
// shortest tile of a group to the longest one of the next would give the blocks there more work than the others. So
// every other group has its shortest tiles first; the last group ends with its shortest ones.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BlockOrder.h"
#include "Warps/WarpTile.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// Bytes of K and V that concurrent blocks may share: two thirds of the L2 cache, as Q and the outputs pass through it
/// too.
static int64_t getSharedCacheBytes(const GpuInfo &gpu) { return gpu.l2Bytes / 3 * 2; }

/// True where the bounds of a loop over columns depend on the tile of rows.
static bool hasUnevenTiles(scf::ForallOp forall) {
  Value tile = forall.getInductionVars().back();
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *op) { return forall->isProperAncestor(op); };
  auto dependsOnTile = [&](Value bound) {
    SetVector<Operation *> slice;
    (void)getBackwardSlice(bound, &slice, options);
    return bound == tile ||
           llvm::any_of(slice, [&](Operation *op) { return llvm::is_contained(op->getOperands(), tile); });
  };
  return forall
      .walk([&](scf::ForOp loop) {
        bool isUneven = dependsOnTile(loop.getLowerBound()) || dependsOnTile(loop.getUpperBound());
        return isUneven ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The global memory that the loops over columns read: K and V, or Q and dO.
static SetVector<Value> findColumns(scf::ForallOp forall) {
  SetVector<Value> columns;
  auto add = [&](Value operand) {
    Value root = getRoot(operand);
    if (root.getParentRegion()->isProperAncestor(&forall.getRegion()))
      columns.insert(root);
  };
  forall.walk([&](Operation *op) {
    if (auto step = dyn_cast<OnlineStepOp>(op)) {
      add(step.getKey());
      add(step.getValue());
    }
    if (auto pack = dyn_cast<PackOp>(op); pack && pack->getParentOfType<scf::ForOp>())
      add(pack.getInput());
  });
  return columns;
}

namespace {

/// Index arithmetic on counts of heads, tiles and bytes; constants are folded.
struct NumberBuilder {
  OpBuilder &b;
  Location loc;

  Value constant(int64_t value) const { return arith::ConstantIndexOp::create(b, loc, value); }
  Value add(Value x, Value y) const { return b.createOrFold<arith::AddIOp>(loc, x, y); }
  Value subtract(Value x, Value y) const { return b.createOrFold<arith::SubIOp>(loc, x, y); }
  Value multiply(Value x, Value y) const { return b.createOrFold<arith::MulIOp>(loc, x, y); }
  Value divide(Value x, Value y) const { return b.createOrFold<arith::DivUIOp>(loc, x, y); }
  Value divideUp(Value x, Value y) const { return b.createOrFold<arith::CeilDivUIOp>(loc, x, y); }
  Value remainder(Value x, Value y) const { return b.createOrFold<arith::RemUIOp>(loc, x, y); }
  Value min(Value x, Value y) const { return b.createOrFold<arith::MinUIOp>(loc, x, y); }
  Value max(Value x, Value y) const { return b.createOrFold<arith::MaxUIOp>(loc, x, y); }
  /// A grid has fewer than 2^31 blocks, so 32 bits are enough.
  Value narrow(Value x) const { return arith::IndexCastUIOp::create(b, loc, b.getI32Type(), x); }
};

/// Heads whose blocks run concurrently.
struct HeadGroup {
  Value heads;
  bool divides; ///< all groups have the same size
};

} // namespace

/// The bytes of all elements of `roots`, at least 1.
static Value createBytes(const NumberBuilder &n, const SetVector<Value> &roots, const IRMapping &mapping) {
  Value bytes = n.constant(0);
  for (Value root : roots) {
    Value memref = mapping.lookupOrDefault(root);
    auto type = cast<MemRefType>(memref.getType());
    Value size = n.constant(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      size = n.multiply(size, n.b.createOrFold<memref::DimOp>(n.loc, memref, dim));
    bytes = n.add(bytes, size);
  }
  return n.max(bytes, n.constant(1));
}

/// As few groups as the cache allows, of nearly equal size.
static HeadGroup chooseGroup(const NumberBuilder &n, Value heads, Value bytes, const GpuInfo &gpu) {
  Value inCache = n.divide(n.multiply(n.constant(getSharedCacheBytes(gpu)), heads), bytes);
  inCache = n.max(inCache, n.constant(1));
  Value most = n.divideUp(heads, n.max(n.divideUp(heads, inCache), n.constant(1)));
  // With groups of equal size, ptxas emits fewer instructions in the loops. Such a size is chosen if it is at least
  // half of the largest one that fits.
  std::optional<int64_t> all = getConstantIntValue(heads), bound = getConstantIntValue(most);
  if (!all || !bound || *all <= 0)
    return {most, false};
  int64_t divisor = *bound;
  while (*all % divisor != 0)
    --divisor;
  bool divides = 2 * divisor >= *bound;
  return {divides ? n.constant(divisor) : most, divides};
}

Value attn::nvvm::createRoundOfBlock(OpBuilder &b, scf::ForallOp forall, Value block, const IRMapping &mapping,
                                     const GpuInfo &gpu, bool turnsGroups) {
  if (forall.getRank() < 2 || !forall.isNormalized() || !hasUnevenTiles(forall))
    return block;
  SetVector<Value> columns = findColumns(forall);
  if (columns.empty())
    return block;
  Location loc = forall.getLoc();
  NumberBuilder n{b, loc};
  Value heads = n.constant(1), tiles;
  for (OpFoldResult bound : forall.getMixedUpperBound()) {
    auto value = dyn_cast<Value>(bound);
    value = value ? mapping.lookupOrDefault(value) : getValueOrCreateConstantIndexOp(b, loc, bound);
    heads = tiles ? n.multiply(heads, tiles) : heads;
    tiles = value;
  }
  auto [groupHeads, divides] = chooseGroup(n, heads, createBytes(n, columns, mapping), gpu);
  Value groups = n.divideUp(heads, groupHeads);
  Value one = arith::ConstantIntOp::create(b, loc, 1, 32), two = arith::ConstantIntOp::create(b, loc, 2, 32);
  block = n.narrow(block);
  groupHeads = n.narrow(groupHeads);
  heads = n.narrow(heads);
  tiles = n.narrow(tiles);
  Value groupBlocks = n.multiply(groupHeads, tiles), group = n.divide(block, groupBlocks);
  Value inGroup = n.subtract(block, n.multiply(group, groupBlocks)), firstHead = n.multiply(group, groupHeads);
  // The last group may be smaller.
  Value left = divides ? groupHeads : n.min(groupHeads, n.subtract(heads, firstHead));
  Value tile = n.divide(inGroup, left), head = n.subtract(inGroup, n.multiply(tile, left));
  if (turnsGroups && !isConstantIntValue(groups, 1)) {
    // tiles - 1 - tile, if the number of groups after this one is odd
    Value behind = n.subtract(n.subtract(n.narrow(groups), one), group);
    Value isTurned = n.remainder(behind, two);
    Value change = n.subtract(n.subtract(tiles, one), n.multiply(tile, two));
    tile = n.add(tile, n.multiply(isTurned, change));
  }
  head = n.add(firstHead, head);
  Value round = n.add(n.multiply(head, tiles), tile);
  return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), round);
}
