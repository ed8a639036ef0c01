//===- NarrowRegion.cpp - predicates over positions in 32 bits ------------===//
//
// A position is an index of 64 bits. A thread would keep one for each of its rows, and compare one for each of its
// scores. Predicates that only add a few positions and compare them use 32 bits instead. Positions are below 2^28
// (attn-select-schedule rejects longer dimensions). Other terms, such as an offset or a length, are clamped to +-2^29
// once, which changes no comparison of positions. Predicates with larger constants stay in 64 bits.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WarpScores.h"
#include "attn/IR/Decompose.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// A sum of at most this many values below 2^29 stays below 2^31.
static constexpr int64_t kMaxTerms = 3;
static constexpr int64_t kLargest = int64_t(1) << 29;
/// Larger constants cannot be clamped: j + c < c + 3 would change. Such a predicate stays in 64 bits.
static constexpr int64_t kLargestConstant = int64_t(1) << 28;

namespace {
class Narrowing {
public:
  Narrowing(WarpBuilder &wb, Region &region, function_ref<Value(IndexOp)> resolve)
      : wb(wb), region(region), resolve(resolve) {}

  /// True where every op gives the same result in 32 bits.
  bool isPossible() {
    for (Operation &op : region.front().without_terminator()) {
      if (op.getNumRegions() > 0 || op.getNumResults() != 1)
        return false;
      if (llvm::any_of(op.getOperands(), isLargeConstant))
        return false;
      Type type = op.getResult(0).getType();
      bool isFlag = type.isInteger(1) && isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::ConstantOp>(op);
      bool isComparison = isa<arith::CmpIOp>(op) && op.getOperand(0).getType().isIndex();
      bool isPosition = type.isIndex() && isa<IndexOp, arith::AddIOp, arith::SubIOp, arith::ConstantOp>(op);
      if (!isFlag && !isComparison && !isPosition)
        return false;
      if (isPosition && countTerms(op.getResult(0)) > kMaxTerms)
        return false;
    }
    return cast<YieldOp>(region.front().getTerminator()).getValue().getType().isInteger(1);
  }

  Value emit() {
    for (Operation &op : region.front().without_terminator()) {
      Value result = op.getResult(0);
      if (auto index = dyn_cast<IndexOp>(op))
        values[result] = resolve(index);
      else if (auto sum = dyn_cast<arith::AddIOp>(op); sum && result.getType().isIndex())
        values[result] = wb.add(get(sum.getLhs()), get(sum.getRhs()));
      else if (auto difference = dyn_cast<arith::SubIOp>(op))
        values[result] = wb.b.createOrFold<arith::SubIOp>(wb.loc, get(difference.getLhs()), get(difference.getRhs()));
      else if (auto comparison = dyn_cast<arith::CmpIOp>(op))
        values[result] = arith::CmpIOp::create(wb.b, wb.loc, comparison.getPredicate(), get(comparison.getLhs()),
                                               get(comparison.getRhs()));
      else if (!result.getType().isIndex() && !op.hasTrait<OpTrait::ConstantLike>())
        values[result] = emitFlag(op);
    }
    return get(cast<YieldOp>(region.front().getTerminator()).getValue());
  }

private:
  static bool isLargeConstant(Value value) {
    APInt constant;
    return value.getType().isIndex() && matchPattern(value, m_ConstantInt(&constant)) &&
           constant.abs().ugt(kLargestConstant);
  }

  int64_t countTerms(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getParentRegion() != &region || !isa<arith::AddIOp, arith::SubIOp>(op))
      return 1;
    return countTerms(op->getOperand(0)) + countTerms(op->getOperand(1));
  }

  Value emitFlag(Operation &op) {
    OperationState state(wb.loc, op.getName(), {get(op.getOperand(0)), get(op.getOperand(1))}, op.getResultTypes());
    return wb.b.create(state)->getResult(0);
  }

  /// A value of the region, or one from outside of it, clamped before it is narrowed.
  Value get(Value value) {
    if (Value known = values.lookup(value))
      return known;
    if (!value.getType().isIndex())
      return value;
    OpBuilder &b = wb.b;
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      return wb.constant(constant.getSExtValue());
    Value wide = arith::IndexCastOp::create(b, wb.loc, b.getI64Type(), value);
    wide = arith::MinSIOp::create(b, wb.loc, wide, wb.constant64(kLargest));
    wide = arith::MaxSIOp::create(b, wb.loc, wide, wb.constant64(-kLargest));
    return values[value] = arith::TruncIOp::create(b, wb.loc, b.getI32Type(), wide);
  }

  WarpBuilder &wb;
  Region &region;
  function_ref<Value(IndexOp)> resolve;
  llvm::DenseMap<Value, Value> values;
};
} // namespace

Value attn::nvvm::evaluateRegion(WarpBuilder &wb, Region &region, ValueRange arguments,
                                 function_ref<Value(IndexOp)> resolve, Value kept) {
  // A tile has one batch index and one head of K; attn-tile has added the offsets.
  auto resolveOrZero = [&](IndexOp op) {
    Value position = resolve(op);
    return position ? position : wb.constant(0);
  };
  if (Narrowing narrowing(wb, region, resolveOrZero); arguments.empty() && narrowing.isPossible())
    return narrowing.emit();
  IRMapping mapping;
  mapping.map(region.getArguments(), arguments);
  for (Operation &op : region.front().without_terminator()) {
    SmallVector<Value> operands =
        llvm::map_to_vector(op.getOperands(), [&](Value x) { return mapping.lookupOrDefault(x); });
    if (auto index = dyn_cast<IndexOp>(op))
      mapping.map(index.getResult(), wb.toIndex(resolveOrZero(index)));
    else if (auto keep = dyn_cast<RandomKeepOp>(op))
      mapping.map(keep.getResult(), kept ? kept : keep.buildFormula(wb.b, wb.loc, operands));
    else if (Value result = buildFunction(wb, &op, operands))
      mapping.map(op.getResult(0), result);
    else
      wb.b.clone(op, mapping);
  }
  return mapping.lookupOrDefault(cast<YieldOp>(region.front().getTerminator()).getValue());
}
