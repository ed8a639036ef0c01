//===- OverrideSchedule.cpp - attn-override-schedule ----------------------===//
//
// Schedules by hand: replaces the schedule of each sdpa by that of an option; fields that the option omits keep their
// values. Before and after: the same ops. A schedule that no kernel can have is an error that says what to write.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/GradientAttrs.h"
#include "attn/Target/PassTarget.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"

namespace attn {
#define GEN_PASS_DEF_OVERRIDESCHEDULEPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

template <typename OpTy> static FailureOr<ScheduleAttr> writeOver(OpTy op, StringRef text, const TargetInfo &target) {
  llvm::Expected<ScheduleAttr> schedule = parseSchedule(text, *op.getSchedule(), op.getContext());
  if (!schedule) {
    op.emitOpError("schedule: ") << llvm::toString(schedule.takeError());
    return failure();
  }
  if (failed(schedule->verifyFor(op, &target)))
    return failure();
  return *schedule;
}

FailureOr<ScheduleAttr> attn::overrideSchedule(SdpaOp op, StringRef text, const TargetInfo &target) {
  return writeOver(op, text, target);
}

template <typename OpTy> static bool hasOp(Operation *root) {
  return root->walk([](OpTy) { return WalkResult::interrupt(); }).wasInterrupted();
}

namespace {
struct OverrideSchedulePass : public attn::impl::OverrideSchedulePassBase<OverrideSchedulePass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetInfo> info = getTarget(getOperation(), getArgument(), target);
    if (failed(info))
      return signalPassFailure();
    auto change = [&](auto op) {
      if (!op.getSchedule())
        return WalkResult(op.emitOpError("expected a schedule to write over; run attn-select-schedule"));
      FailureOr<ScheduleAttr> changed = writeOver(op, schedule, *info);
      if (failed(changed))
        return WalkResult::interrupt();
      op.setScheduleAttr(*changed);
      emitRemark(op, RemarkOutcome::Analysis, "schedule-overridden") << printSchedule(*changed);
      return WalkResult::advance();
    };
    // Where there are both directions, in a function or in a pair, a schedule applies to ops of its direction.
    StringRef text = StringRef(schedule).trim();
    bool isBackward = text.starts_with("#attn.backward"),
         isForward = text.starts_with("#attn.prefill") || text.starts_with("#attn.decode");
    bool isOfPair = getOperation()->hasAttr(kPairAttr), hasForward = hasOp<SdpaOp>(getOperation()),
         hasBackward = hasOp<SdpaBackwardOp>(getOperation());
    WalkResult result = WalkResult::advance();
    if (!isBackward || !(hasBackward || isOfPair))
      result = getOperation().walk([&](SdpaOp op) { return change(op); });
    if (!result.wasInterrupted() && !(isForward && isOfPair) && (isBackward || !hasForward))
      result = getOperation().walk([&](SdpaBackwardOp op) { return change(op); });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
