//===- ScoreOperands.cpp - biases and masks in stages ---------------------===//
//
// A bias or mask in memory has an element for each score: a tile of a step's rows and keys, which the producer copies
// beside K. Each step, as its product of scores comes before them:
//
//   copy of the tile → | S = Q K^T | wait for the tile | map of scores, reads it | release it
//
// Before: attn-pipeline-copies; attn.map_scores reads slices of global memory. After: it reads tiles.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ScoreOperands.h"
#include "PipelineCopies.h"
#include "Warps/KernelTiles.h"
#include "attn/Transforms/Transforms.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// Fewest bytes of a row of a swizzled box.
static constexpr int64_t kMinRowBytes = 32;

namespace {
/// An operand of a step's scores.
struct OperandUse {
  OpOperand *operand;

  MapScoresOp getOp() const { return cast<MapScoresOp>(operand->getOwner()); }
  Value getView() const { return operand->get(); }
  AffineMap getMap() const { return attn::getMaps(getOp())[operand->getOperandNumber()]; }
  ProductOp getProduct() const { return getOp().getInput().getDefiningOp<ProductOp>(); }
};

/// One operand of all steps of a kernel.
class OperandStages {
public:
  OperandStages(gpu::GPUFuncOp kernel, BlockAttr schedule, ArrayRef<OperandUse> uses)
      : kernel(kernel), schedule(schedule), uses(uses), b(kernel.getContext()) {}

  /// Why threads read it from memory; empty where it can have stages.
  StringRef findObstacle(int64_t largestBytes) {
    for (const OperandUse &use : uses)
      if (StringRef obstacle = findObstacle(use); !obstacle.empty())
        return obstacle;
    BlockLayout layout = KernelTiles(kernel).getLayout(schedule);
    layout.addOperand(schedule.getBlockRows(), schedule.getKeyTile(),
                      getElementBytes(uses.front().getView().getType()));
    rowBytes = layout.operands.back().layout.getPitch();
    return layout.bytes > largestBytes ? "its stages do not fit the shared memory beside those of K and V" : "";
  }

  void createCopies(CopyBoxes &boxes) {
    MapScoresOp first = uses.front().getOp();
    b.setInsertionPointToStart(&kernel.getBody().front());
    SmallVector<int64_t> shape(getNumBatchDims(first), 1);
    shape.append({schedule.getBlockRows(), schedule.getKeyTile()});
    tile = createSharedTile(b, first.getLoc(), shape, getElementTypeOrSelf(uses.front().getView().getType()));
    for (const OperandUse &use : uses) {
      b.setInsertionPoint(use.getProduct());
      Value part = createPart(use);
      copies.push_back(CopyOp::create(b, use.getOp().getLoc(), use.getView(), part, /*lse=*/Value(), /*first=*/Value(),
                                      b.getAffineMapArrayAttr({use.getMap(), getTileMap()})));
      boxes.add(copies.back(), schedule.getBlockRows(), rowBytes);
    }
  }

  /// Takes the copies back.
  void erase() {
    for (CopyOp copy : copies) {
      Operation *part = copy.getOutput().getDefiningOp();
      copy.erase();
      if (part->use_empty() && part != tile.getDefiningOp())
        part->erase();
    }
    tile.getDefiningOp()->erase();
  }

  /// Lets each step read its tile.
  void read() {
    for (auto [use, copy] : llvm::zip_equal(uses, copies)) {
      b.setInsertionPoint(use.getOp());
      WaitOp::create(b, use.getOp().getLoc(), /*tokens=*/ValueRange(), tile);
      SmallVector<AffineMap> maps = attn::getMaps(use.getOp());
      maps[use.operand->getOperandNumber()] = getTileMap();
      use.operand->set(copy.getOutput());
      use.getOp().setMapsAttr(b.getAffineMapArrayAttr(maps));
    }
  }

private:
  StringRef findObstacle(const OperandUse &use) {
    ProductOp product = use.getProduct();
    Operation *slice = use.getView().getDefiningOp();
    if (!product || product->getBlock() != use.getOp()->getBlock() || !slice ||
        (slice->getBlock() == product->getBlock() && !slice->isBeforeInBlock(product)))
      return "it is not known in front of the product";
    unsigned numBatch = getNumBatchDims(use.getOp());
    auto isOne = [](int64_t size) { return size == 1; };
    if (!llvm::all_of(ArrayRef(getStaticDomain(use.getOp())).take_front(numBatch), isOne))
      return "a tile has rows of several heads";
    auto has = [&](unsigned dim) {
      return llvm::is_contained(use.getMap().getResults(), getAffineDimExpr(dim, b.getContext()));
    };
    if (!has(numBatch) || !has(numBatch + 1))
      return "all rows, or all keys, have one element";
    Type type = getElementTypeOrSelf(use.getView().getType());
    if (!type.isInteger(1) && type.getIntOrFloatBitWidth() != 16)
      return "it has elements of more than 16 bits";
    if (schedule.getKeyTile() * getElementBytes(type) < kMinRowBytes)
      return "rows of a tile are short";
    return {};
  }

  /// (batch…, row, column) -> (0, …, row, column)
  AffineMap getTileMap() {
    unsigned numDims = uses.front().getMap().getNumDims();
    SmallVector<AffineExpr> results(numDims - 2, getAffineConstantExpr(0, b.getContext()));
    results.append({getAffineDimExpr(numDims - 2, b.getContext()), getAffineDimExpr(numDims - 1, b.getContext())});
    return AffineMap::get(numDims, 0, results, b.getContext());
  }

  /// The part of the tile with as many rows and keys as the step has.
  Value createPart(const OperandUse &use) {
    Location loc = use.getOp().getLoc();
    SmallVector<OpFoldResult> sizes(getNumBatchDims(use.getOp()), b.getIndexAttr(1));
    for (unsigned dim : {use.getMap().getNumDims() - 2, use.getMap().getNumDims() - 1}) {
      auto *result = llvm::find(use.getMap().getResults(), getAffineDimExpr(dim, b.getContext()));
      sizes.push_back(memref::getMixedSize(b, loc, use.getView(), result - use.getMap().getResults().begin()));
    }
    return getPartOfTile(b, loc, tile, sizes);
  }

  gpu::GPUFuncOp kernel;
  BlockAttr schedule;
  ArrayRef<OperandUse> uses;
  OpBuilder b;
  Value tile;
  int64_t rowBytes = 0;       ///< of a panel of the tile
  SmallVector<CopyOp> copies; ///< one of each use
};
} // namespace

void attn::nvvm::stageScoreOperands(gpu::GPUFuncOp kernel, BlockAttr schedule, int64_t largestBytes, CopyBoxes &boxes) {
  SmallVector<OperandUse> biases, masks;
  kernel.walk([&](MapScoresOp op) {
    for (auto [uses, operand] : {std::pair(&biases, op.getBiasMutable()), {&masks, op.getMaskMutable()}})
      if (!operand.empty())
        uses->push_back({&operand[0]});
  });
  for (auto [name, uses] : {std::pair("bias", ArrayRef(biases)), {"mask", ArrayRef(masks)}}) {
    if (uses.empty())
      continue;
    OperandStages stages(kernel, schedule, uses);
    StringRef obstacle = stages.findObstacle(largestBytes);
    if (obstacle.empty()) {
      CopyBoxes own(kernel);
      stages.createCopies(own);
      obstacle = own.findObstacle();
      if (obstacle.empty()) {
        stages.read();
        boxes.append(own);
        continue;
      }
      stages.erase();
    }
    emitRemark(uses.front().getOp(), RemarkOutcome::Missed, "operand-in-memory")
        << "threads read the " << name << " from memory: " << obstacle;
  }
}
