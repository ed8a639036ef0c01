//===- SelectPrefillTile.h - the cost model of register kernels -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_SELECTPREFILLTILE_H
#define ATTN_LIB_TRANSFORMS_SELECTPREFILLTILE_H

#include "attn/Schedule/Schedule.h"

namespace attn {

/// The products of a prefill kernel.
struct PrefillShape {
  int64_t queries; ///< ShapedType::kDynamic stands for many
  int64_t keyTile, headSize, valueSize;
  int64_t elementBytes;   ///< of the accumulation
  bool isPacked = false;  ///< K or V are widened, gathered or interleaved for each query tile
  int64_t maxRows = 64;   ///< of a tile
  int64_t minVectors = 1; ///< of query rows in a block
  Instruction instruction = {};
  int64_t parts = 1; ///< of an element, for products of tiles
};

/// Accumulators of a register kernel: `rowBlock` rows of K, or columns of V, times `laneVectors` vectors of query rows.
/// A tile has `queryTile` rows, in whole vectors.
struct PrefillTile {
  int64_t queryTile, rowBlock, laneVectors;
  double cycles = 0; ///< of all queries and one key tile
};

/// Cycles of all queries of a head and one key, with a tile instruction and `queryTile` rows per tile.
double getTiledCycles(const PrefillShape &shape, int64_t queryTile, const TargetInfo &target);

/// Cycles of one step of a register kernel with `products` multiply-adds among `instructions` instructions.
double getStepCycles(double products, double instructions, const TargetInfo &target);

/// Cycles of the softmax of a vector of scores.
constexpr double kSoftmaxCycles = 10;

/// Cycles of all queries of a head and one key in a tile, by the same model.
double getPrefillCycles(const PrefillShape &shape, const PrefillTile &tile, const TargetInfo &target);

/// The same for all rows of a decode tile. Dynamic head sizes have no such kernel.
double getDecodeCycles(SdpaOp op, DecodeAttr schedule, const TargetInfo &target);

/// The tile with the fewest cycles by a model of the target (docs/Rationale.md): multiply-adds, instructions and
/// latency of its register kernel, padded rows, and passes of its tiles over K and V.
/// `others` gets the next best tile of each other register block, those with the fewest cycles first.
PrefillTile selectPrefillTile(const PrefillShape &shape, const TargetInfo &target,
                              llvm::SmallVectorImpl<PrefillTile> &others);

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_SELECTPREFILLTILE_H
