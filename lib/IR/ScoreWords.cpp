//===- ScoreWords.cpp - words of score functions become ops of score_mod --===//
//
// A score function that is a word of sdpa is appended to score_mod, as an op with
// the interface ScoreFunction. In sdpa_backward, its derivative is prepended to
// score_grad.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
#include "attn/IR/Derivative.h"
#include "attn/IR/Words.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace attn;

using CreateFunction = function_ref<ScoreFunction(Value x)>;

//===----------------------------------------------------------------------===//
// Composition
//===----------------------------------------------------------------------===//

/// score_mod := f(score_mod)
static void append(OpBuilder &b, Location loc, Type type, Region &scoreMod, CreateFunction create) {
  OpBuilder::InsertionGuard guard(b);
  Region given;
  given.takeBody(scoreMod);
  Block *block = b.createBlock(&scoreMod, scoreMod.end(), {type}, {loc});
  Value x = inlineScoreRegion(b, loc, given, block->getArgument(0));
  YieldOp::create(b, loc, create(x)->getResults());
}

/// score_grad(t, ds) := score_grad(t, ds f'(score_mod(t))), before `append`
static void appendToGradient(OpBuilder &b, Location loc, Type type, Region &scoreMod, Region &scoreGrad,
                             CreateFunction create) {
  OpBuilder::InsertionGuard guard(b);
  Region given;
  given.takeBody(scoreGrad);
  Block *block = b.createBlock(&scoreGrad, scoreGrad.end(), {type, type}, {loc, loc});
  Value x = inlineScoreRegion(b, loc, scoreMod, block->getArgument(0));
  ScoreFunction function = create(x);
  Value gradient = arith::MulFOp::create(b, loc, block->getArgument(1), function.buildSlope(b, loc, x));
  function->erase();
  if (!given.empty())
    gradient = inlineRegion(b, given, {block->getArgument(0), gradient}, [&](IndexOp index) -> Value {
                 return b.clone(*index)->getResult(0);
               }).front();
  YieldOp::create(b, loc, gradient);
}

void attn::appendCap(OpBuilder &b, Location loc, double limit, Type type, Region &scoreMod) {
  append(b, loc, type, scoreMod, [&](Value x) { return CapOp::create(b, loc, x, b.getF64FloatAttr(limit)); });
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

namespace {
/// The words of an op that change scores or weights and are attributes; each may be null.
struct ScoreAttributes {
#define ATTN_MASK_ATTRIBUTE(NAME, ...)
#define ATTN_ATTRIBUTE(NAME, ...) FloatAttr NAME;
#include "attn/Support/Words.def"
};
} // namespace

static ScoreAttributes readScoreAttributes(Operation *op) {
  return {
#define ATTN_MASK_ATTRIBUTE(NAME, ...)
#define ATTN_ATTRIBUTE(NAME, ...) .NAME = op->getAttrOfType<FloatAttr>(#NAME),
#include "attn/Support/Words.def"
  };
}

/// Scale and dropout remain words of steps.
static bool isScoreWord(const WordInfo &word) {
  return word.kind == WordKind::Attribute && word.word != Word::scale && word.word != Word::dropout_p;
}

bool attn::hasScoreWords(Operation *op) {
  auto has = [&](const WordInfo &word) { return isScoreWord(word) && op->hasAttr(word.name); };
  return isa<SdpaOp, SdpaBackwardOp>(op) && llvm::any_of(getWords(), has);
}

void attn::expandScoreWords(OpBuilder &b, Operation *op, Operation *target, Type type) {
  Location loc = op->getLoc();
  auto compose = [&](CreateFunction create) {
    if (auto backward = dyn_cast<SdpaBackwardOp>(target)) {
      // Both regions have one type; the reference may have narrowed the operands, but not them.
      Type given = backward.getScoreMod().empty() ? type : backward.getScoreMod().getArgument(0).getType();
      appendToGradient(b, loc, given, backward.getScoreMod(), backward.getScoreGrad(), create);
      append(b, loc, given, backward.getScoreMod(), create);
    } else {
      append(b, loc, type, cast<SdpaOp>(target).getScoreMod(), create);
    }
  };
  // All rows of the table, in the order in which they are applied: one without a function here does not compile.
  auto [softcap, scale, dropout] = readScoreAttributes(op);
  if (softcap)
    compose([&](Value x) { return CapOp::create(b, loc, x, softcap); });
  for (const WordInfo &word : getWords())
    if (isScoreWord(word))
      target->removeAttr(word.name);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// c tanh(s / c), with 1 / c as a factor: a division per score costs as much as ten multiply-adds
Value CapOp::buildFormula(OpBuilder &b, Location loc, Value x) {
  double limit = getLimit().convertToDouble();
  Value ratio = arith::MulFOp::create(b, loc, createFloatConstant(b, loc, x.getType(), 1 / limit), x);
  Value tanh = math::TanhOp::create(b, loc, ratio);
  return arith::MulFOp::create(b, loc, createFloatConstant(b, loc, x.getType(), limit), tanh);
}

Value CapOp::buildSlope(OpBuilder &b, Location loc, Value x) {
  Value limit = createFloatConstant(b, loc, x.getType(), getLimit().convertToDouble());
  return buildTanhSlope(b, loc, arith::DivFOp::create(b, loc, x, limit));
}
