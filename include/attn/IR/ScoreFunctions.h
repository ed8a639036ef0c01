//===- ScoreFunctions.h - what happens to scores and weights ----*- C++ -*-===//
//
// The score functions of an op, and their only evaluator: the reference, vectors
// of lanes on a CPU and threads of a GPU share its formulas and their order. A
// target implements loads and the evaluation of regions.
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
  bool operator==(const ScoreOperand &) const = default;
};

/// True if a region, which may be empty, consists of score functions, which keep finite scores finite.
bool isFinite(mlir::Region &scoreMod);

/// The functions of an op on its scores and weights, where present; empty regions are null.
struct ScoreFunctions {
  unsigned numBatch = 0; ///< of the domain; query and key follow
  std::optional<double> scale;
  mlir::Value scaleValue;
  mlir::Region *scoreMod = nullptr;
  ScoreOperand bias, mask;
  mlir::Region *maskMod = nullptr, *weightMod = nullptr;

  /// The score functions of `op`, by the names of attn.online_step.
  template <typename OpTy> static ScoreFunctions of(OpTy op);

  /// True if a key may be removed, or have a score of -inf.
  bool mayRemove() const { return bias.value || mask.value || maskMod || (scoreMod && !isFinite(*scoreMod)); }
  /// True if scores are products times `scale`, and keys are only removed. Compares all fields, so that no function can
  /// be forgotten here.
  bool hasOnlyScaleAndMasks() const;
  bool operator==(const ScoreFunctions &) const = default;
};

/// The position of a score or weight, or of a vector of them, and the operations on it, which a target overrides.
/// Without overrides, elements are scalars of `type`, and functions are exact.
class ScorePosition {
public:
  ScorePosition(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type) : b(b), loc(loc), type(type) {}
  virtual ~ScorePosition() = default;

  /// A bias in the type of scores; a mask as flags or bytes.
  virtual mlir::Value load(const ScoreOperand &operand) = 0;
  /// The value that a region yields, in the region's type.
  virtual mlir::Value evaluate(mlir::Region &region, mlir::ValueRange arguments) = 0;
  /// A constant in the type of scores.
  virtual mlir::Value getConstant(double value);
  virtual mlir::Value broadcast(mlir::Value scalar) { return convert(scalar, type); }
  /// Converts floats to another type.
  virtual mlir::Value convert(mlir::Value x, mlir::Type to);

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type type;
  /// Of scale * s and of s + bias: a target may make one multiply-add of both.
  mlir::arith::FastMathFlags flags = mlir::arith::FastMathFlags::none;
};

/// scale * s, then score_mod, bias, mask and mask_mod.
mlir::Value evaluateScore(ScorePosition &at, const ScoreFunctions &functions, mlir::Value score);
/// weight_mod(p), and 0 for a weight of 0.
mlir::Value evaluateWeight(ScorePosition &at, const ScoreFunctions &functions, mlir::Value weight);

/// The two parts of evaluateScore: scale and score_mod; bias and masks.
mlir::Value scaleScore(ScorePosition &at, const ScoreFunctions &functions, mlir::Value score);
mlir::Value maskScore(ScorePosition &at, const ScoreFunctions &functions, mlir::Value score);

/// tanh(x) / x for |x| up to kSmallRatio, a polynomial in `square`, x²: relative error 1.3e-8.
constexpr double kSmallRatio = 0.5;
mlir::Value buildSmallTanhRatio(mlir::Value square, llvm::function_ref<mlir::Value(double)> getConstant,
                                llvm::function_ref<mlir::Value(mlir::Value, mlir::Value, mlir::Value)> multiplyAdd);

/// The attributes of `op` that have a field of the same name.
template <typename OpTy, typename Functions> void readWords(OpTy op, Functions &functions) {
#define ATTN_ATTRIBUTE(NAME, ...)                                                                                      \
  if constexpr (requires { functions.NAME = op.getProperties().NAME.getValueAsDouble(); })                             \
    if (mlir::FloatAttr attr = op.getProperties().NAME)                                                                \
      functions.NAME = attr.getValueAsDouble();
#include "attn/Support/Words.def"
}

template <typename OpTy> ScoreFunctions ScoreFunctions::of(OpTy op) {
  ScoreFunctions functions;
  functions.numBatch = getNumBatchDims(op);
  llvm::SmallVector<mlir::AffineMap> maps = getMaps(op);
  // All operands before these have maps.
  auto withMap = [&](mlir::MutableOperandRange range) {
    return range.empty() ? ScoreOperand() : ScoreOperand{range[0].get(), maps[range[0].getOperandNumber()]};
  };
  auto orNull = [](mlir::Region &region) { return region.empty() ? nullptr : &region; };
  readWords(op, functions);
  if constexpr (requires { op.getScaleValue(); })
    functions.scaleValue = op.getScaleValue();
  if constexpr (requires { op.getScoreMod(); })
    functions.scoreMod = orNull(op.getScoreMod());
  if constexpr (requires { op.getBiasMutable(); })
    functions.bias = withMap(op.getBiasMutable());
  if constexpr (requires { op.getMaskMutable(); })
    functions.mask = withMap(op.getMaskMutable());
  if constexpr (requires { op.getMaskMod(); })
    functions.maskMod = orNull(op.getMaskMod());
  if constexpr (requires { op.getWeightMod(); })
    functions.weightMod = orNull(op.getWeightMod());
  return functions;
}

} // namespace attn

#endif // ATTN_IR_SCOREFUNCTIONS_H
