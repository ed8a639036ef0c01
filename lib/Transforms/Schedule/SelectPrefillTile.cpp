//===- SelectPrefillTile.cpp - the cost model of register kernels ---------===//
//
// One step of a register kernel loads a vector of Q^T (P^T) for each vector of query rows, and broadcasts an element of
// each row of K (column of V); all pairs of them are multiplied. The step takes as long as the slowest of
//   products / 2        two multiply-adds per cycle,
//   instructions / 4    four instructions per cycle,
//   5                   the latency until an accumulator is used again
// plus a loop overhead. The constants are those of server processors since 2015. They decide between kernels whose
// times differ by more than processors do.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SelectPrefillTile.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>

using namespace mlir;
using namespace attn;

static constexpr double kLoopCycles = 0.5;
/// More rows of K or V would compete for the same few sets of the L1 cache.
static constexpr int64_t kMaxRowBlock = 6;
/// The same where a factor takes no vector register: a row costs a scalar load, and saves loads of vectors.
static constexpr int64_t kMaxScalarRowBlock = 16;
/// For matrix instructions: rows and depth of an operand, and most rows of a block, which are packed.
static constexpr int64_t kMatrixRows = 2, kMatrixDepth = 4, kMaxMatrixRows = 8;
/// With more vectors of query rows, too few rows of K or V are left to use each of them.
static constexpr int64_t kMaxVectors = 6;
/// Relative cost of each accumulator register, which other code then lacks, and of using the last register.
static constexpr double kRegisterCost = 0.003, kLastRegisterCost = 0.05;
/// The same where multiply-adds share their ports: there, 24 accumulators take 2 % less time than 16 (Sapphire Rapids,
/// D 64, schedules by hand).
static constexpr double kSharedRegisterCost = 0.0005;
/// The number of queries assumed where they are many.
static constexpr double kManyQueries = 4096;
/// Cycles for a line of K or V that is read again from the L2 cache, half of them hidden; and for a line that is also
/// packed.
static constexpr double kLineCycles = 1, kPackedLineCycles = 2.5;
/// Elements that become quads with two loads, shuffles and stores.
static constexpr double kQuadElements = 16, kQuadInstructions = 6;
/// f32 lanes of a NEON vector.
static constexpr int64_t kQuadLanes = 4;
/// Factor by which loads and stores of tiles extend the time of their products (attn on Granite Rapids, D 128).
static constexpr double kTileTransfers = 2.5;

double attn::getStepCycles(double products, double instructions, const TargetInfo &target) {
  return std::max({products / target.fmaPerCycle, instructions / target.issuedPerCycle, target.fmaLatency}) +
         kLoopCycles;
}

namespace {
class CostModel {
public:
  CostModel(const PrefillShape &shape, const TargetInfo &target)
      : shape(shape), target(target), lanes(target.getLanes(shape.elementBytes * 8)),
        isByLanes(shape.instruction == Instruction::FMALanes), isByQuads(shape.instruction == Instruction::Quads),
        maxRowBlock(isByQuads             ? kMaxMatrixRows
                    : target.takesScalars ? kMaxScalarRowBlock
                                          : kMaxRowBlock) {}

  /// Registers left beside the accumulators, the vectors of Q^T and a broadcast. Without FMA, each vector has a copy,
  /// which a product overwrites. With products by lane, a vector of each row of K replaces the broadcast.
  int64_t getFreeRegisters(int64_t rows, int64_t vectors) const {
    if (isByQuads) // a register holds two rows of K, or two lanes of Q^T
      return rows % kMatrixRows == 0 ? target.vectorRegisters - rows * vectors - rows / kMatrixRows - 2 : -1;
    if (isByLanes && rows > kQuadLanes && rows % kQuadLanes != 0)
      return -1; // their columns of V would need broadcasts
    if (isByLanes)
      return target.vectorRegisters - rows * vectors - vectors - rows;
    return target.vectorRegisters - rows * vectors - (target.hasFma ? 1 : 2) * vectors - !target.takesScalars;
  }

  /// Cycles of all queries and one key tile.
  double getCycles(const PrefillTile &tile) const {
    double tiles = ShapedType::isDynamic(shape.queries)
                       ? kManyQueries / tile.queryTile
                       : llvm::divideCeil(std::max<int64_t>(shape.queries, 1), tile.queryTile);
    // The last block of vectors may be smaller.
    int64_t vectors = tile.queryTile / lanes, rest = vectors % tile.laneVectors;
    double products = vectors / tile.laneVectors * getProductCycles(tile.rowBlock, tile.laneVectors) +
                      (rest > 0 ? getProductCycles(tile.rowBlock, rest) : 0);
    double lines = double(shape.headSize + shape.valueSize) * shape.keyTile * shape.elementBytes / target.lineBytes;
    double cycles =
        tiles * (products + lines * (shape.isPacked ? kPackedLineCycles : kLineCycles) + getQuadCycles(tile.queryTile));
    bool isFull = getFreeRegisters(tile.rowBlock, tile.laneVectors) == 0;
    double registerCost = target.sharesFmaPorts ? kSharedRegisterCost : kRegisterCost;
    return cycles * (1 + registerCost * tile.rowBlock * tile.laneVectors) * (isFull ? 1 + kLastRegisterCost : 1);
  }

  int64_t getLanes() const { return lanes; }
  int64_t getMaxRowBlock() const { return maxRowBlock; }

private:
  /// Both products of `vectors` vectors of query rows and a key tile.
  double getProductCycles(int64_t rowBlock, int64_t vectors) const {
    return shape.headSize * getBlockCycles(shape.keyTile, rowBlock, vectors) +
           shape.keyTile * getBlockCycles(shape.valueSize, rowBlock, vectors);
  }

  /// For matrix instructions: K, V and Q become quads, V pairs before that, once per step.
  double getQuadCycles(int64_t rows) const {
    if (!isByQuads)
      return 0;
    double elements = double(shape.keyTile) * (shape.headSize + 2 * shape.valueSize) + double(rows) * shape.headSize;
    return elements / kQuadElements * kQuadInstructions / target.issuedPerCycle;
  }

  /// One step of all blocks of `rows` rows; the last block may be smaller.
  double getBlockCycles(int64_t rows, int64_t rowBlock, int64_t vectors) const {
    double blocks = rows / rowBlock, rest = rows % rowBlock;
    return blocks * getStepCycles(rowBlock, vectors) + (rest > 0 ? getStepCycles(rest, vectors) : 0);
  }

  double getStepCycles(double rows, double vectors) const {
    double products = rows * vectors;
    if (isByQuads)
      return attn::getStepCycles(products, products + rows / kMatrixRows + vectors * kQuadLanes / kMatrixRows, target) /
             kMatrixDepth;
    // Without AVX, a broadcast takes an additional shuffle, and a product a copy of its operand.
    if (isByLanes && int64_t(rows) % kQuadLanes == 0)
      return attn::getStepCycles(products, products + rows / kQuadLanes + vectors, target);
    double instructions = target.hasFma ? products + rows + vectors : 3 * products + 2 * rows + vectors;
    // Loads of vectors wait for the ports of products; those of scalars do not.
    return attn::getStepCycles(target.takesScalars ? products + vectors : products, instructions, target);
  }

  const PrefillShape &shape;
  const TargetInfo &target;
  int64_t lanes;
  bool isByLanes, isByQuads;
  int64_t maxRowBlock;
};
} // namespace

double attn::getPrefillCycles(const PrefillShape &shape, const PrefillTile &tile, const TargetInfo &target) {
  CostModel model(shape, target);
  double vectors = llvm::divideCeil(shape.queries, tile.queryTile) * (tile.queryTile / model.getLanes());
  return model.getCycles(tile) / shape.keyTile + vectors * kSoftmaxCycles;
}

double attn::getTiledCycles(const PrefillShape &shape, int64_t queryTile, const TargetInfo &target) {
  double lanes = target.getLanes(shape.elementBytes * 8), tiles = llvm::divideCeil(shape.queries, queryTile);
  int64_t pairs = shape.parts == 1 ? 1 : 2 * shape.parts; // parts i + j <= 2, as in getPartPairs
  double products = queryTile / lanes * (shape.headSize + shape.valueSize) * pairs;
  double lines = double(shape.headSize + shape.valueSize) * shape.parts * shape.elementBytes / 2 / target.lineBytes;
  if (shape.isPacked) // K as well as V
    lines *= 2;
  return tiles * (products / (target.fmaPerCycle * target.tileRate) * kTileTransfers + lines * kPackedLineCycles +
                  queryTile / lanes * kSoftmaxCycles);
}

PrefillTile attn::selectPrefillTile(const PrefillShape &shape, const TargetInfo &target,
                                    SmallVectorImpl<PrefillTile> &others) {
  CostModel model(shape, target);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (int64_t vectors = shape.minVectors; vectors <= kMaxVectors; ++vectors)
    for (int64_t rows = 1; rows <= model.getMaxRowBlock(); ++rows) {
      if (model.getFreeRegisters(rows, vectors) < 0)
        continue;
      PrefillTile best{model.getLanes(), rows, vectors, kInfinity};
      for (int64_t queryTile = vectors * model.getLanes(); queryTile <= shape.maxRows; queryTile += model.getLanes()) {
        PrefillTile tile{queryTile, rows, vectors};
        tile.cycles = model.getCycles(tile);
        if (tile.cycles < best.cycles)
          best = tile;
      }
      if (best.cycles < kInfinity)
        others.push_back(best);
    }
  llvm::sort(others, [](const PrefillTile &a, const PrefillTile &b) {
    return std::tie(a.cycles, a.laneVectors, a.rowBlock) < std::tie(b.cycles, b.laneVectors, b.rowBlock);
  });
  if (others.empty())
    return {model.getLanes(), 1, 1, kInfinity};
  PrefillTile best = others.front();
  others.erase(others.begin());
  return best;
}
