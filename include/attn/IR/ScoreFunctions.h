//===- ScoreFunctions.h - what happens to scores and weights ----*- C++ -*-===//
//
// The score functions of an op: scale, score_mod, softcap, bias and masks of each
// score, weight_mod of each weight.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_SCOREFUNCTIONS_H
#define ATTN_IR_SCOREFUNCTIONS_H

#include "attn/IR/Attn.h"

namespace attn {

/// A bias or a mask, with its map over the domain of the op that has it; null where there is none.
struct ScoreOperand {
  mlir::Value value;
  mlir::AffineMap map;
};

/// What an op does to its scores and weights, each part where it is there; regions are null where they are empty.
struct ScoreFunctions {
  unsigned numBatch = 0; ///< of the domain: query and key follow
  std::optional<double> scale;
  mlir::Value scaleValue;
  mlir::Region *scoreMod = nullptr;
  std::optional<double> softcap;
  ScoreOperand bias, mask;
  mlir::Region *maskMod = nullptr, *weightMod = nullptr;

  /// Those of an op that has them by the names of attn.online_step; it may do without weight_mod.
  template <typename OpTy> static ScoreFunctions of(OpTy op);

  /// True where a key may be removed, or have a score of -inf.
  bool mayRemove() const { return bias.value || mask.value || maskMod || scoreMod; }
};

template <typename OpTy> ScoreFunctions ScoreFunctions::of(OpTy op) {
  ScoreFunctions functions;
  functions.numBatch = getNumBatchDims(op);
  if (op.getScale())
    functions.scale = op.getScale()->convertToDouble();
  functions.scaleValue = op.getScaleValue();
  if (op.getSoftcap())
    functions.softcap = op.getSoftcap()->convertToDouble();
  llvm::SmallVector<mlir::AffineMap> maps = getMaps(op);
  // No operand without a map stands in front of them.
  auto withMap = [&](mlir::MutableOperandRange range) {
    return range.empty() ? ScoreOperand() : ScoreOperand{range[0].get(), maps[range[0].getOperandNumber()]};
  };
  functions.bias = withMap(op.getBiasMutable());
  functions.mask = withMap(op.getMaskMutable());
  auto orNull = [](mlir::Region &region) { return region.empty() ? nullptr : &region; };
  functions.scoreMod = orNull(op.getScoreMod());
  functions.maskMod = orNull(op.getMaskMod());
  if constexpr (requires { op.getWeightMod(); })
    functions.weightMod = orNull(op.getWeightMod());
  return functions;
}

} // namespace attn

#endif // ATTN_IR_SCOREFUNCTIONS_H
