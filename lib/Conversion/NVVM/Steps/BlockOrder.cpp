//===- BlockOrder.cpp - which tile a block of a grid computes -------------===//
//
// Blocks start in the order of their numbers, as others end. Where a mask makes
// some tiles of a head longer than others, the loop has the longest first; a grid
// that takes head after head would start the longest tiles of the last head near
// its end, and most multiprocessors would wait for them. So the number of the tile
// is outside and the head inside, in groups of heads whose K and V stay in the
// second-level cache:
//
//   block = group · heads of a group · tiles + tile · heads of the group + head
//
// Of tiles that take equally long, those of a head follow each other.
//
// Persistent blocks (MakePersistent.cpp) take tiles a round at a time, and turn the
// order from round to round. A jump from the shortest tile of a group to the longest
// one of the next would leave the blocks at that place with more than the others. So
// every other group has its shortest tiles first; the last one ends with them.
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

/// Bytes of K and V that blocks which run together may share: two thirds of the second-level cache, as Q and the
/// outputs pass through it too.
static int64_t getSharedCacheBytes(const GpuInfo &gpu) { return gpu.l2Bytes / 3 * 2; }

/// True where a loop over columns has bounds that depend on which tile of rows it is.
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

/// What the loops over columns read of global memory: K and V, or Q and dO.
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

Value attn::nvvm::createRoundOfBlock(OpBuilder &b, scf::ForallOp forall, Value block, const IRMapping &mapping,
                                     const GpuInfo &gpu, bool turnsGroups) {
  if (forall.getRank() < 2 || !forall.isNormalized() || !hasUnevenTiles(forall))
    return block;
  SetVector<Value> columns = findColumns(forall);
  if (columns.empty())
    return block;
  Location loc = forall.getLoc();
  auto number = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(b, loc, value); };
  auto multiply = [&](Value x, Value y) { return b.createOrFold<arith::MulIOp>(loc, x, y); };
  auto divide = [&](Value x, Value y) { return b.createOrFold<arith::DivUIOp>(loc, x, y); };
  auto subtract = [&](Value x, Value y) { return b.createOrFold<arith::SubIOp>(loc, x, y); };
  Value heads = number(1), tiles;
  for (OpFoldResult bound : forall.getMixedUpperBound()) {
    auto value = dyn_cast<Value>(bound);
    value = value ? mapping.lookupOrDefault(value) : getValueOrCreateConstantIndexOp(b, loc, bound);
    heads = tiles ? multiply(heads, tiles) : heads;
    tiles = value;
  }
  Value bytes = number(0);
  for (Value root : columns) {
    Value memref = mapping.lookupOrDefault(root);
    auto type = cast<MemRefType>(memref.getType());
    Value size = number(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      size = multiply(size, b.createOrFold<memref::DimOp>(loc, memref, dim));
    bytes = b.createOrFold<arith::AddIOp>(loc, bytes, size);
  }
  bytes = b.createOrFold<arith::MaxUIOp>(loc, bytes, number(1));
  // As few groups as the cache allows, of a number of heads that differs little.
  Value inCache = divide(multiply(number(getSharedCacheBytes(gpu)), heads), bytes);
  inCache = b.createOrFold<arith::MaxUIOp>(loc, inCache, number(1));
  auto divideUp = [&](Value x, Value y) { return b.createOrFold<arith::CeilDivUIOp>(loc, x, y); };
  Value groupHeads = divideUp(heads, b.createOrFold<arith::MaxUIOp>(loc, divideUp(heads, inCache), number(1)));
  // By ptxas, groups that are all as large leave fewer instructions in the loops: they are chosen where they have at
  // least half of the heads.
  bool areEqual = false;
  if (std::optional<int64_t> all = getConstantIntValue(heads), most = getConstantIntValue(groupHeads);
      all && most && *all > 0) {
    int64_t divisor = *most;
    while (*all % divisor != 0)
      --divisor;
    areEqual = 2 * divisor >= *most;
    if (areEqual)
      groupHeads = number(divisor);
  }
  Value groups = divideUp(heads, groupHeads);
  // A grid has less than 2^31 blocks: 32 bits are enough.
  auto narrow = [&](Value x) -> Value { return arith::IndexCastUIOp::create(b, loc, b.getI32Type(), x); };
  Value one = arith::ConstantIntOp::create(b, loc, 1, 32), two = arith::ConstantIntOp::create(b, loc, 2, 32);
  block = narrow(block);
  groupHeads = narrow(groupHeads);
  heads = narrow(heads);
  tiles = narrow(tiles);
  Value groupBlocks = multiply(groupHeads, tiles), group = divide(block, groupBlocks);
  Value inGroup = subtract(block, multiply(group, groupBlocks)), firstHead = multiply(group, groupHeads);
  // The last group may have fewer.
  Value left = areEqual ? groupHeads : b.createOrFold<arith::MinUIOp>(loc, groupHeads, subtract(heads, firstHead));
  Value tile = divide(inGroup, left), head = subtract(inGroup, multiply(tile, left));
  if (turnsGroups && !isConstantIntValue(groups, 1)) {
    // tiles - 1 - tile, if the number of groups behind this one is odd
    Value behind = subtract(subtract(narrow(groups), one), group);
    Value isTurned = b.createOrFold<arith::RemUIOp>(loc, behind, two);
    Value change = subtract(subtract(tiles, one), multiply(tile, two));
    tile = b.createOrFold<arith::AddIOp>(loc, tile, multiply(isTurned, change));
  }
  head = b.createOrFold<arith::AddIOp>(loc, firstHead, head);
  Value round = b.createOrFold<arith::AddIOp>(loc, multiply(head, tiles), tile);
  return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), round);
}
