//===- RegionVerifiers.cpp - C10: what may stand in a region --------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Verifiers.h"
#include "attn/Support/Dialects.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

/// A read of a captured tensor, or of the buffer that it was bufferised to.
static bool isCapturedRead(Operation &op, Region &region) {
  return isa<tensor::ExtractOp, memref::LoadOp>(op) && op.getOperand(0).getParentRegion() != &region;
}

static bool isScalarOp(Operation &op, Region &region) {
  if (isCapturedRead(op, region) || isa<IndexOp, RandomKeepOp>(op))
    return true;
  if (isa<ScoreFunction>(op))
    return region.getNumArguments() == 1;
  // A gradient region takes two arguments.
  if (isa<AccumulateOp>(op))
    return region.getNumArguments() == 2;
  bool isKnown = isOfDialect<arith::ArithDialect, math::MathDialect>(&op);
  bool isScalar = llvm::all_of(op.getResultTypes(), [](Type type) { return type.isIntOrIndexOrFloat(); });
  return isKnown && isScalar && isPure(&op);
}

LogicalResult attn::verifyScalarRegion(Operation *op, Region &region, StringRef name, ArrayRef<Type> arguments,
                                       ArrayRef<Type> results, StringRef meaning) {
  if (region.empty())
    return success();
  auto fits = [](Type found, Type expected) { return expected ? found == expected : isa<FloatType>(found); };
  auto print = [](InFlightDiagnostic &diag, TypeRange types) {
    if (types.empty())
      diag << "nothing";
    llvm::interleaveComma(types, diag);
  };
  Block &block = region.front();
  if (arguments.empty() && block.getNumArguments() != 0)
    return op->emitOpError("C10: expected ")
           << name << " to have no block arguments (positions come from attn.index), found " << block.getNumArguments();
  if (!llvm::equal(block.getArgumentTypes(), arguments, fits)) {
    std::string type; // a diagnostic would put it in quotes
    llvm::raw_string_ostream(type) << arguments.front();
    InFlightDiagnostic diag = op->emitOpError("C10: expected ")
                              << name
                              << (arguments.size() == 1 ? " to take one argument, the score: write ^bb0(%score: "
                                                        : " to take two arguments, the score and the gradient of what "
                                                          "score_mod yields: write ^bb0(%score, %gradient: ")
                              << type << "), found ";
    print(diag, block.getArgumentTypes());
    return diag;
  }
  auto yield = block.empty() ? nullptr : dyn_cast<YieldOp>(block.back());
  if (!yield)
    return op->emitOpError("C10: expected ") << name << " to end with attn.yield";
  if (!llvm::equal(yield.getOperandTypes(), results, fits)) {
    InFlightDiagnostic diag = op->emitOpError("C10: expected ") << name << " to yield " << meaning << ", found ";
    print(diag, yield.getOperandTypes());
    return diag;
  }
  for (Operation &nested : block.without_terminator())
    if (!isScalarOp(nested, region)) {
      InFlightDiagnostic diag =
          op->emitOpError("C10: expected only pure arith, math and attn.index ops on scalars, and "
                          "tensor.extract of tensors from outside, in ")
          << name << ", found " << nested.getName();
      if (isa<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp, arith::CeilDivUIOp>(nested))
        diag << (matchPattern(nested.getOperand(1), m_Constant()) ? " by 0 or -1" : " by what is no constant")
             << "; write arith.floordivsi";
      if (isa<UnrealizedConversionCastOp>(nested))
        diag << "; run attn-lower-tile-to-vector before conversions to the LLVM dialect";
      diag.attachNote(nested.getLoc()) << "the op is here";
      return diag;
    }
  return success();
}

LogicalResult ClassifyTileOp::verify() {
  // The attributes, as the getters are unsigned.
  int64_t queryTile = getQueryTileAttr().getInt(), lanes = getLanesAttr().getInt();
  if (queryTile < 1 || lanes < 1)
    return emitOpError("C10: expected query_tile and lanes to be at least 1, found ") << queryTile << " and " << lanes;
  return verifyScalarRegion(*this, getMaskMod(), "mask_mod", {}, IntegerType::get(getContext(), 1), "i1 (true = keep)");
}

LogicalResult AccumulateOp::verify() {
  int64_t rank = cast<ShapedType>(getDestination().getType()).getRank(), found = getIndices().size();
  if (found != rank)
    return emitOpError("expected an index for each of ")
           << rank << " dimensions of the destination, found " << found << (found == 1 ? " index" : " indices");
  Operation *parent = (*this)->getParentOp();
  if (parent && !isOfDialect<AttnDialect>(parent))
    return emitOpError("expected to stand directly in a region of an attn op, found it in ") << parent->getName();
  return success();
}

LogicalResult IndexOp::verify() {
  Operation *parent = (*this)->getParentOp();
  if (!parent || !isa<MaskOp, ModifyOp, SdpaOp, OnlineStepOp, InitStateOp, ClassifyTileOp, MapScoresOp, WeightsOp,
                      SdpaBackwardOp, BackwardStepOp, ScoreGradientsOp>(parent))
    return emitOpError("expected to stand directly in a region of an attn op, as mask_mod or score_mod");
  bool isClassify = isa<ClassifyTileOp>(parent), isRanges = false, isStart = isa<InitStateOp>(parent);
  if (auto sdpa = dyn_cast<SdpaOp>(parent)) {
    isRanges = &sdpa.getKeyRanges() == (*this)->getParentRegion();
    isStart = &sdpa.getStart() == (*this)->getParentRegion();
  } else if (auto step = dyn_cast<OnlineStepOp>(parent))
    isRanges = &step.getKeyRanges() == (*this)->getParentRegion();
  bool isQueryRanges = llvm::TypeSwitch<Operation *, bool>(parent)
                           .Case<SdpaBackwardOp, BackwardStepOp>(
                               [&](auto backward) { return &backward.getQueryRanges() == (*this)->getParentRegion(); })
                           .Default([](Operation *) { return false; });
  switch (getKind()) {
  case IndexKind::KvHead:
    if (!isa<SdpaOp, OnlineStepOp, MapScoresOp, WeightsOp, SdpaBackwardOp, BackwardStepOp, ScoreGradientsOp>(parent))
      return emitOpError("expected kv_head in attn.sdpa or attn.online_step, which have key heads, found it in ")
             << parent->getName();
    if (isStart)
      return emitOpError("expected no kv_head in start, which becomes a region of attn.init_state, without key heads; "
                         "write attn.index head");
    [[fallthrough]];
  case IndexKind::Batch:
  case IndexKind::Head:
    if (!isClassify && getNumBatchDims(parent) == 0)
      return emitOpError("expected the enclosing op to have a batch dimension, found none");
    return success();
  case IndexKind::FirstQuery:
  case IndexKind::EndQuery:
    if (!isRanges)
      return emitOpError("expected ") << stringifyIndexKind(getKind()) << " in key_ranges; write attn.index query";
    return success();
  case IndexKind::FirstKey:
  case IndexKind::EndKey:
    if (isQueryRanges)
      return success();
    return emitOpError("expected first_query or end_query in key_ranges, or query or key elsewhere, found ")
           << stringifyIndexKind(getKind()) << ", which bounds a key tile in query_ranges of attn.sdpa_backward";
  case IndexKind::Key:
    if (isRanges || isStart || isQueryRanges)
      return emitOpError("expected no key in a region that is evaluated once a row or tile");
    return success();
  case IndexKind::Query:
    if (isRanges)
      return emitOpError("expected first_query and end_query in key_ranges, found query");
    if (isQueryRanges)
      return emitOpError("expected first_key and end_key in query_ranges, found query");
    return success();
  }
  llvm_unreachable("covered switch");
}
