//===- StepTiles.cpp - the steps of a kernel and their tiles --------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StepTiles.h"
#include "attn/IR/Decompose.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

LogicalResult StepTiles::findSteps() {
  WalkResult result = kernel.walk([&](ProductOp product) {
    if (product.getContraction() == Contraction::Values)
      return WalkResult::advance();
    for (Operation *op = product->getNextNode(); op; op = op->getNextNode())
      if (auto values = dyn_cast<ProductOp>(op); values && values.getContraction() == Contraction::Values) {
        steps.push_back({product, values});
        return WalkResult::advance();
      }
    return WalkResult(product.emitOpError("expected a product of values behind it; run attn-decompose-step"));
  });
  return failure(result.wasInterrupted());
}

LogicalResult StepTiles::createQueryTile() {
  Step step = steps.front();
  SmallVector<TileUse> uses;
  for (Step each : steps)
    uses.append({{&each.scores.getLhsMutable(), /*tile=*/0},
                 {&each.scores.getRhsMutable(), /*tile=*/1},
                 {&each.values.getRhsMutable(), /*tile=*/2}});
  if (failed(separateBuffers(b, uses)))
    return failure();
  Value packed = getRoot(step.scores.getLhs());
  if (!isBuffer(packed.getDefiningOp()))
    return step.scores.emitOpError("expected Q in a tile of its own; run attn-tile");
  auto type = cast<MemRefType>(packed.getType());
  b.setInsertionPointToStart(&kernel.getBody().front());
  query = createSharedTile(b, kernel.getLoc(), type.getShape(), type.getElementType());
  for (Step other : steps)
    if (getRoot(other.scores.getLhs()) != packed)
      return other.scores.emitOpError("expected the tile of Q that the other products of the kernel have");
  moveBuffer(packed, query);
  if (fills.size() != 1)
    return step.scores.emitOpError("expected Q to be packed once, found ") << fills.size() << " times";
  queryToken = cast<CopyOp>(fills.pop_back_val()).getToken();
  return success();
}

void StepTiles::createKeyTiles(int64_t numStages, bool isCopiedOnce) {
  stages = numStages;
  auto create = [&](ProductOp product, DimKind columns) {
    SmallVector<int64_t> shape;
    if (stages > 1)
      shape.push_back(stages);
    shape.append(getNumBatchDims(product), 1);
    shape.append({keyTile, getStaticSize(product, columns)});
    return createSharedTile(b, kernel.getLoc(), shape, getTileType(product));
  };
  b.setInsertionPointAfter(query.getDefiningOp());
  key = create(steps.front().scores, DimKind::HeadSize);
  value = isCopiedOnce ? key : create(steps.front().values, DimKind::ValueSize);
}

Type StepTiles::getTileType(ProductOp product) const {
  Type ofQuery = getElementTypeOrSelf(query.getType()), inMemory = getElementTypeOrSelf(product.getRhs().getType());
  auto schedule = kernel->getAttrOfType<BlockAttr>(kScheduleAttr);
  Step step = steps.front();
  auto isBytes = [](ProductOp op) { return isQuantised(getElementTypeOrSelf(op.getRhs().getType())); };
  if (!isBytes(step.scores) || !isBytes(step.values))
    return ofQuery;
  int64_t keyBytes =
      BlockLayout::getKeyBytes(getStaticSize(step.scores, DimKind::HeadSize),
                               getStaticSize(step.values, DimKind::ValueSize), ofQuery.getIntOrFloatBitWidth() / 8,
                               /*keyBytes=*/1, schedule.getInstruction().getInfo().readsPanels(), schedule.getWarps());
  return keyBytes == 1 ? inMemory : ofQuery;
}

void StepTiles::moveBuffer(Value buffer, Value tile) {
  replaceFills(buffer, tile);
  nvvm::moveBuffer(b, buffer, tile);
}

void StepTiles::replaceFills(Value memref, Value tile) {
  for (Operation *user : llvm::make_early_inc_range(memref.getUsers())) {
    if (auto view = dyn_cast<memref::SubViewOp>(user))
      replaceFills(view, tile);
    auto pack = dyn_cast<PackOp>(user);
    bool isGather = isa<GatherPagesOp>(user);
    b.setInsertionPoint(user);
    // All reads of the tile's previous contents have to be done. Q is the first tile to be filled.
    if (isGather || (pack && tile != query))
      gpu::BarrierOp::create(b, user->getLoc());
    if (isGather)
      fills.push_back(user);
    if (!pack)
      continue;
    // Rows beyond those of the input become 0, up to the end of the tile.
    fills.push_back(CopyOp::create(b, pack.getLoc(), pack.getInput(), tile, /*lse=*/Value(), /*first=*/Value(),
                                   pack.getMapsAttr()));
    b.eraseOp(pack);
  }
}

/// (batch…, row, column) -> (0, …, row, column): the last two are dimensions `at` of `numDims`.
static AffineMap getTileMap(OpBuilder &b, unsigned numBatch, unsigned numDims,
                            std::optional<std::pair<unsigned, unsigned>> at = {}) {
  SmallVector<AffineExpr> results(numBatch, b.getAffineConstantExpr(0));
  auto [row, column] = at.value_or(std::pair(numBatch, numBatch + 1));
  results.append({b.getAffineDimExpr(row), b.getAffineDimExpr(column)});
  return AffineMap::get(numDims, 0, results, b.getContext());
}

ArrayAttr StepTiles::getCopyMaps(ProductOp product) const {
  unsigned numBatch = getNumBatchDims(product);
  DimKind columns = product.getContraction() == Contraction::Scores ? DimKind::HeadSize : DimKind::ValueSize;
  auto kept = llvm::to_vector(llvm::seq<unsigned>(0, numBatch));
  kept.append({getDomainPosition(product, DimKind::Key), getDomainPosition(product, columns)});
  return b.getAffineMapArrayAttr({restrictDomain(getMap(product), kept), getTileMap(b, numBatch, numBatch + 2)});
}

Value StepTiles::copyRows(ProductOp product, Value view, Value tile) {
  return CopyOp::create(b, product.getLoc(), view, tile, /*lse=*/Value(), /*first=*/Value(), getCopyMaps(product));
}

void StepTiles::readTile(ProductOp product, Value tile) {
  SmallVector<AffineMap> maps = getMaps(product);
  unsigned numBatch = getNumBatchDims(product);
  DimKind columns = product.getContraction() == Contraction::Scores ? DimKind::HeadSize : DimKind::ValueSize;
  unsigned keyPosition = getDomainPosition(product, DimKind::Key);
  operandMaps[product] = maps[1];
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(product);
  OpFoldResult count = getDomainSizes(b, product)[keyPosition];
  SmallVector<OpFoldResult> sizes(numBatch, b.getIndexAttr(1));
  sizes.append({count, b.getIndexAttr(getStaticSize(product, columns))});
  maps[1] = getTileMap(b, numBatch, maps[1].getNumDims(), std::pair(keyPosition, getDomainPosition(product, columns)));
  product.getRhsMutable().assign(getPartOfTile(b, kernel.getLoc(), tile, sizes));
  product.setMapsAttr(b.getAffineMapArrayAttr(maps));
}

/// The map of K or V in global memory.
AffineMap StepTiles::getMap(ProductOp product) const {
  return operandMaps.contains(product) ? operandMaps.lookup(product) : getMaps(product)[1];
}

std::optional<unsigned> StepTiles::getKeyDim(ProductOp product) const {
  AffineExpr key = getAffineDimExpr(getDomainPosition(product, DimKind::Key), product.getContext());
  AffineMap map = getMap(product);
  auto results = map.getResults();
  auto *found = llvm::find(results, key);
  return found == results.end() ? std::nullopt : std::optional<unsigned>(found - results.begin());
}

void StepTiles::moveBuffers() {
  for (Step step : steps)
    for (auto [operand, tile] : {std::pair(step.scores.getRhs(), key), std::pair(step.values.getRhs(), value)}) {
      Value root = getRoot(operand);
      if (isBuffer(root.getDefiningOp()) && root != tile)
        moveBuffer(root, tile);
    }
}
