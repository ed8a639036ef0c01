//===- OverrideSchedule.cpp - attn-override-schedule ----------------------===//
//
// Schedules by hand: writes the fields that an option names over those of each
// sdpa's #attn.schedule. Before and after: the same ops; what no kernel can be is
// an error that names the field.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Target/PassTarget.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"
#include "llvm/ADT/StringExtras.h"

namespace attn {
#define GEN_PASS_DEF_OVERRIDESCHEDULEPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// Fields beyond it are nothing that a kernel could want, and their products must not overflow.
static constexpr int64_t kMaxNumber = int64_t(1) << 24;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {
struct NumberField {
  StringLiteral name;
  int64_t ScheduleFields::*field;
  int64_t minimum;
};
} // namespace

static constexpr NumberField kNumbers[] = {
    {"query_tile", &ScheduleFields::queryTile, 1},
    {"key_tile", &ScheduleFields::keyTile, 1},
    {"lanes", &ScheduleFields::lanes, 1},
    {"row_block", &ScheduleFields::rowBlock, 1},
    {"lane_vectors", &ScheduleFields::laneVectors, 1},
    {"split_keys", &ScheduleFields::splitKeys, 0},
    {"prefetch", &ScheduleFields::prefetch, 0},
    {"warps", &ScheduleFields::warps, 0},
    {"kv_heads", &ScheduleFields::kvHeads, 1},
};

/// Stores one value; the error completes "NAME: ".
static llvm::Error store(ScheduleFields &fields, StringRef name, StringRef value) {
  for (const NumberField &each : kNumbers) {
    if (name != each.name)
      continue;
    int64_t number;
    if (value.getAsInteger(10, number) || number < each.minimum || number > kMaxNumber)
      return llvm::createStringError("expected " + name + " to be a number from " + Twine(each.minimum) + " to " +
                                     Twine(kMaxNumber) + ", found '" + value + "'");
    fields.*each.field = number;
    return llvm::Error::success();
  }
  if (name == "kernel") {
    if (std::optional<KernelKind> kind = symbolizeKernelKind(value))
      return fields.kernel = *kind, llvm::Error::success();
    return llvm::createStringError("expected kernel to be prefill or decode, found '" + value + "'");
  }
  if (name == "product") {
    if (std::optional<ProductKind> kind = symbolizeProductKind(value))
      return fields.product = *kind, llvm::Error::success();
    return llvm::createStringError("expected product to be fma, dot, amx, mma or tf32, found '" + value + "'");
  }
  std::string names;
  for (const NumberField &each : kNumbers)
    names += each.name.str() + ", ";
  return llvm::createStringError("expected a field of schedules, one of " + names + "kernel, product, found '" + name +
                                 "'");
}

llvm::Expected<ScheduleFields> ScheduleFields::parse(StringRef text, ScheduleFields fields) {
  SmallVector<StringRef> words, names;
  llvm::SplitString(text, words, " \t\n,");
  for (StringRef word : words) {
    auto [name, value] = word.split('=');
    if (llvm::is_contained(names, name))
      return llvm::createStringError("expected each field of a schedule once, found '" + name + "' twice");
    names.push_back(name);
    if (llvm::Error error = store(fields, name, value))
      return error;
  }
  return fields;
}

ScheduleFields::ScheduleFields(ScheduleAttr schedule)
    : queryTile(schedule.getQueryTile()), keyTile(schedule.getKeyTile()), lanes(schedule.getLanes()),
      rowBlock(schedule.getRowBlock()), laneVectors(schedule.getLaneVectors()), kernel(schedule.getKernel()),
      product(schedule.getProduct()), splitKeys(schedule.getSplitKeys()), prefetch(schedule.getPrefetch()),
      warps(schedule.getWarps()), kvHeads(schedule.getKvHeads()) {}

ScheduleAttr ScheduleFields::getAttr(MLIRContext *context) const {
  return ScheduleAttr::get(context, queryTile, keyTile, lanes, rowBlock, laneVectors, kernel, product, splitKeys,
                           prefetch, warps, kvHeads);
}

std::string ScheduleFields::print() const {
  std::string text;
  for (const NumberField &each : kNumbers)
    text += (each.name + "=" + Twine(this->*each.field) + " ").str();
  return text + "kernel=" + stringifyKernelKind(kernel).str() + " product=" + stringifyProductKind(product).str();
}

FailureOr<ScheduleAttr> attn::overrideSchedule(SdpaOp op, StringRef text, const TargetInfo &target) {
  llvm::Expected<ScheduleFields> fields = ScheduleFields::parse(text, *op.getSchedule());
  if (!fields) {
    op.emitOpError("schedule: ") << llvm::toString(fields.takeError());
    return failure();
  }
  auto schedule =
      ScheduleAttr::getChecked([&] { return op.emitOpError("schedule: "); }, op.getContext(), fields->queryTile,
                               fields->keyTile, fields->lanes, fields->rowBlock, fields->laneVectors, fields->kernel,
                               fields->product, fields->splitKeys, fields->prefetch, fields->warps, fields->kvHeads);
  if (!schedule || failed(verifySchedule(op, schedule, &target)))
    return failure();
  return schedule;
}

namespace {
struct OverrideSchedulePass : public attn::impl::OverrideSchedulePassBase<OverrideSchedulePass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetInfo> info = getTarget(getOperation(), getArgument(), target);
    if (failed(info))
      return signalPassFailure();
    WalkResult result = getOperation().walk([&](SdpaOp op) {
      if (!op.getSchedule())
        return WalkResult(op.emitOpError("expected a schedule to write over; run attn-select-schedule"));
      FailureOr<ScheduleAttr> changed = overrideSchedule(op, schedule, *info);
      if (failed(changed))
        return WalkResult::interrupt();
      op.setScheduleAttr(*changed);
      emitRemark(op, RemarkOutcome::Analysis, "schedule-overridden") << ScheduleFields(*changed).print();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
