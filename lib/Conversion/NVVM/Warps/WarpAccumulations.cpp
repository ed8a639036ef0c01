//===- WarpAccumulations.cpp - attn.accumulate for a warp -----------------===//
//
// Several lanes of a warp may add to one element. The first of these lanes sums their values in lane order, and is the
// only one to write. So the order of a sum is fixed without atomics. No other warp adds to the element.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WarpTile.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// The sum of `value` over the lanes whose bit is set in `peers`, one by one.
static Value sumInTurn(WarpBuilder &wb, Value value, Value peers) {
  OpBuilder &b = wb.b;
  auto isAny = [&](Value rest) -> Value {
    return arith::CmpIOp::create(b, wb.loc, arith::CmpIPredicate::ne, rest, wb.constant(0));
  };
  auto loop = scf::WhileOp::create(b, wb.loc, TypeRange{peers.getType(), value.getType()},
                                   ValueRange{peers, wb.real(0)}, nullptr, nullptr);
  OpBuilder::InsertionGuard guard(b);
  Block *before = loop.getBeforeBody(), *after = loop.getAfterBody();
  b.setInsertionPointToStart(before);
  scf::ConditionOp::create(b, wb.loc, wb.anyOfWarp(isAny(before->getArgument(0))), before->getArguments());
  b.setInsertionPointToStart(after);
  Value rest = after->getArgument(0), sum = after->getArgument(1);
  Value other = wb.shuffleFrom(value, math::CountTrailingZerosOp::create(b, wb.loc, rest));
  sum = wb.select(isAny(rest), wb.addf(sum, other), sum);
  rest = arith::AndIOp::create(b, wb.loc, rest, wb.add(rest, -1));
  scf::YieldOp::create(b, wb.loc, ValueRange{rest, sum});
  return loop.getResult(1);
}

/// The same sum; over all lanes, as for slopes of heads, in five steps.
static Value sumOfPeers(WarpBuilder &wb, Value value, Value peers) {
  OpBuilder &b = wb.b;
  Value isWhole = arith::CmpIOp::create(b, wb.loc, arith::CmpIPredicate::eq, peers, wb.constant(-1));
  auto branch = scf::IfOp::create(b, wb.loc, TypeRange(value.getType()), isWhole, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value sum = value;
  for (int64_t distance = wb.lanes / 2; distance > 0; distance /= 2)
    sum = wb.addf(sum, wb.shuffleXor(sum, distance));
  scf::YieldOp::create(b, wb.loc, sum);
  b.setInsertionPointToStart(branch.elseBlock());
  Value inTurn = sumInTurn(wb, value, peers);
  scf::YieldOp::create(b, wb.loc, inTurn);
  return branch.getResult(0);
}

static void lowerAccumulation(WarpBuilder &wb, AccumulateOp op, Value isKept) {
  OpBuilder &b = wb.b;
  GlobalView view(wb, op.getDestination(), b.getMultiDimIdentityMap(op.getIndices().size()));
  SmallVector<std::pair<unsigned, Value>> indices;
  for (auto [dim, position] : llvm::enumerate(op.getIndices()))
    indices.push_back({dim, wb.fromIndex(position)});
  Value offset = view.getOffset(wb, indices);
  Value peers = NVVM::MatchSyncOp::create(b, wb.loc, b.getI32Type(), wb.constant(-1),
                                          wb.select(isKept, offset, wb.constant64(-1)), NVVM::MatchSyncKind::any);
  peers = wb.select(isKept, peers, wb.constant(0)); // removes lanes that add nothing
  Value sum = sumOfPeers(wb, op.getValue(), peers), first = math::CountTrailingZerosOp::create(b, wb.loc, peers);
  wb.when(arith::CmpIOp::create(b, wb.loc, arith::CmpIPredicate::eq, first, wb.lane), [&] {
    Value address = view.getAddress(wb, offset), old = wb.load(view.getElementType(), address, view.getElementBytes());
    wb.store(wb.addf(old, sum), address, view.getElementBytes());
  });
  wb.syncWarp(); // another lane may be the first one for this element next time
}

void attn::nvvm::lowerAccumulations(WarpBuilder &wb, Operation *before, function_ref<Value()> isKept) {
  auto start = before ? std::next(before->getIterator()) : wb.b.getInsertionBlock()->begin();
  SmallVector<AccumulateOp> found;
  for (Operation &op : llvm::make_range(start, wb.b.getInsertionPoint()))
    if (auto accumulation = dyn_cast<AccumulateOp>(op))
      found.push_back(accumulation);
  if (found.empty())
    return;
  Value kept = isKept();
  for (AccumulateOp op : found) {
    lowerAccumulation(wb, op, kept);
    op.erase();
  }
}
