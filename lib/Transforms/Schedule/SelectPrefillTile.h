//===- SelectPrefillTile.h - the cost model of register kernels -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_SELECTPREFILLTILE_H
#define ATTN_LIB_TRANSFORMS_SELECTPREFILLTILE_H

#include "attn/Schedule/Schedule.h"

namespace attn {

/// What a prefill kernel has to multiply.
struct PrefillShape {
  int64_t queries; ///< or ShapedType::kDynamic: many
  int64_t keyTile, headSize, valueSize;
  int64_t elementBytes;      ///< of the accumulation
  bool isPacked = false;     ///< K or V are widened, gathered or interleaved for each tile of queries
  int64_t maxRows = 64;      ///< of a tile
  int64_t minVectors = 1;    ///< of query rows in a block
  Instruction instruction = {}; ///< what multiplies
  int64_t parts = 1;         ///< of an element that tiles multiply
};

/// Accumulators of a register kernel: `rowBlock` rows of K, or columns of V, times `laneVectors` vectors of query rows;
/// a tile has `queryTile` rows, which are whole vectors.
struct PrefillTile {
  int64_t queryTile, rowBlock, laneVectors;
};

/// Cycles of all queries of a head and one key in a tile of `queryTile` rows that a tile instruction multiplies.
double getTiledCycles(const PrefillShape &shape, int64_t queryTile, const TargetInfo &target);

/// Cycles of one step of a register kernel with so many multiply-adds and instructions, those among them.
double getStepCycles(double products, double instructions, const TargetInfo &target);

/// Cycles of the softmax of a vector of scores.
constexpr double kSoftmaxCycles = 10;

/// Cycles of all queries of a head and one key in a tile, by the same model.
double getPrefillCycles(const PrefillShape &shape, const PrefillTile &tile, const TargetInfo &target);

/// The same of all rows of a decode tile. Dynamic head sizes have no such kernel.
double getDecodeCycles(SdpaOp op, DecodeAttr schedule, const TargetInfo &target);

/// The tile with the fewest cycles by a model of the target (docs/Rationale.md): multiply-adds, instructions and
/// latency of its register kernel, padded rows, and the passes of its tiles over K and V.
PrefillTile selectPrefillTile(const PrefillShape &shape, const TargetInfo &target);

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_SELECTPREFILLTILE_H
