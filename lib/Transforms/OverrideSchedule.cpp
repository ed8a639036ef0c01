//===- OverrideSchedule.cpp - attn-override-schedule ----------------------===//
//
// Schedules by hand: writes the fields that an option names over those of each
// sdpa's #attn.schedule. Before and after: the same ops; what no kernel can be is
// an error that names the field.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Target/BlockLayout.h"
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
/// Warps of a block: those of a multiprocessor's four schedulers, a few times.
static constexpr int64_t kMaxWarps = 16;

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

//===----------------------------------------------------------------------===//
// Schedules that a kernel can have
//===----------------------------------------------------------------------===//

/// A block of warps: what it needs of shared memory, and how its rows go around.
static LogicalResult checkGpuSchedule(SdpaOp op, const ScheduleFields &fields, const TargetInfo &target) {
  if (fields.warps < 1 || fields.warps > kMaxWarps)
    return op.emitOpError("schedule: expected warps from 1 to ")
           << kMaxWarps << " on target " << target.name << ", found " << fields.warps;
  Type type = getElementTypeOrSelf(op.getQuery().getType());
  bool isSingle = type.isF32();
  bool isFitting = isSingle ? fields.product == ProductKind::FMA || fields.product == ProductKind::TF32
                            : fields.product == ProductKind::MMA;
  if (!isFitting)
    return op.emitOpError("schedule: expected product=")
           << (isSingle ? "fma or tf32" : "mma") << " for inputs of " << type << " on target " << target.name
           << ", found " << stringifyProductKind(fields.product);
  int64_t rows = fields.rowBlock * fields.warps, queries = getStaticSize(op, DimKind::Query);
  if (fields.kernel == KernelKind::Decode && fields.queryTile != queries)
    return op.emitOpError("schedule: expected query_tile of kernel=decode to be the number of query rows, found ")
           << fields.queryTile << "; write kernel=prefill";
  if (fields.kernel == KernelKind::Decode && op.getCuSeqlensQ())
    return op.emitOpError("schedule: expected kernel=prefill for packed sequences, whose tiles begin where a sequence "
                          "does, found kernel=decode; write kernel=prefill");
  int64_t groupRows = fields.queryTile * getGroupSize(op);
  if (fields.kernel == KernelKind::Decode && groupRows > rows)
    return op.emitOpError("schedule: expected row_block times warps of kernel=decode to be at least the ")
           << groupRows << " query rows of a head of K, found " << rows
           << "; write warps=" << llvm::divideCeil(groupRows, fields.rowBlock);
  if (fields.kernel == KernelKind::Prefill && fields.queryTile != rows &&
      (ShapedType::isDynamic(queries) || fields.queryTile < queries))
    return op.emitOpError("schedule: expected query_tile to be row_block times warps, ")
           << rows << ", or all query rows, found " << fields.queryTile;
  int64_t bytes = BlockLayout::get(rows, fields.keyTile, getStaticSize(op, DimKind::HeadSize),
                                   getStaticSize(op, DimKind::ValueSize), type.getIntOrFloatBitWidth() / 8)
                      .bytes;
  if (bytes > target.gpu->sharedBytesPerBlock)
    return op.emitOpError("schedule: needs ")
           << llvm::divideCeil(bytes, 1024) << " KiB of shared memory, " << target.name << " has "
           << target.gpu->sharedBytesPerBlock / 1024 << "; write a smaller key_tile or fewer warps";
  return success();
}

static LogicalResult checkDotProducts(SdpaOp op, const ScheduleFields &fields, const TargetInfo &target) {
  if (canUseByteDotProducts(op) && fields.kernel == KernelKind::Decode) {
    if (!target.hasByteDot)
      return op.emitOpError("schedule: expected product=dot only on targets with dot products of bytes, found ")
             << target.name << "; write product=fma";
    if (fields.keyTile > TargetInfo::kMaxByteDotSum)
      return op.emitOpError("schedule: expected key_tile of at most ")
             << TargetInfo::kMaxByteDotSum << " for product=dot of bytes, found " << fields.keyTile;
    if (auto gather = op.getKey().getDefiningOp<GatherPagesOp>()) {
      int64_t page = gather.getPageSize();
      if (page % fields.keyTile != 0)
        return op.emitOpError("schedule: expected key_tile to divide the ")
               << page << " keys of a page for product=dot of bytes, as other pages are gathered and widened, found "
               << fields.keyTile;
    }
    return success();
  }
  if (target.bf16DotRate == 0)
    return op.emitOpError("schedule: expected product=dot only on targets with dot products of bf16, found ")
           << target.name << "; write product=fma";
  if (!canUseDotProducts(op, fields.kernel))
    return op.emitOpError("schedule: expected product=dot only where Q, K and V are bf16, of an even head size, for "
                          "kernel=prefill also K and V of 8 bits; or where for kernel=decode Q has 16 bits and K and V "
                          "are int8, of head sizes that are multiples of ")
           << TargetInfo::kByteDotColumns << ", found Q of " << getElementTypeOrSelf(op.getQuery().getType())
           << " and K of " << getElementTypeOrSelf(op.getKey().getType()) << "; write product=fma";
  return success();
}

static LogicalResult checkTileProducts(SdpaOp op, const TargetInfo &target) {
  if (!target.hasTiles)
    return op.emitOpError(
               "schedule: expected product=amx only on targets with tiles of bf16, as sapphirerapids, found ")
           << target.name << "; write product=dot or product=fma";
  if (!canUseTileProducts(op))
    return op.emitOpError("schedule: expected product=amx only where Q is bf16 and K and V are bf16 or of 8 bits, of "
                          "head sizes that are multiples of ")
           << TargetInfo::kTileDepth << ", found Q of " << getElementTypeOrSelf(op.getQuery().getType()) << ", K of "
           << getElementTypeOrSelf(op.getKey().getType()) << " and head sizes " << getStaticSize(op, DimKind::HeadSize)
           << " and " << getStaticSize(op, DimKind::ValueSize) << "; write product=dot or product=fma";
  return success();
}

static LogicalResult checkSchedule(SdpaOp op, const ScheduleFields &fields, const TargetInfo &target) {
  if (target.gpu)
    return checkGpuSchedule(op, fields, target);
  Type type = getAccumulationType(getElementTypeOrSelf(op.getQuery().getType()));
  int64_t bytes = type.getIntOrFloatBitWidth() / 8, lanes = target.getLanes(bytes * 8);
  if (fields.lanes != lanes)
    return op.emitOpError("schedule: expected lanes to be ")
           << lanes << ", those of a vector of " << type << " on target " << target.name << ", found " << fields.lanes;
  int64_t queries = getStaticSize(op, DimKind::Query);
  if (fields.kernel == KernelKind::Decode) {
    if (fields.queryTile != queries) {
      InFlightDiagnostic diagnostic = op.emitOpError("schedule: expected query_tile of kernel=decode to be ");
      if (ShapedType::isDynamic(queries))
        return diagnostic << "the number of query rows, found a dynamic one; write kernel=prefill";
      return diagnostic << queries << ", the number of query rows, found " << fields.queryTile;
    }
    if (fields.rowBlock * fields.laneVectors != lanes)
      return op.emitOpError("schedule: expected row_block times lane_vectors of kernel=decode to be its lanes, ")
             << lanes << ", found " << fields.rowBlock << " times " << fields.laneVectors;
  }
  if (fields.kvHeads > 1 && !canShareKeyLoop(op, fields.kvHeads))
    return op.emitOpError(
               "schedule: expected kv_heads to divide the heads of K, all of which visit the same keys, found ")
           << fields.kvHeads << "; write kv_heads=1";
  if (fields.product == ProductKind::Dot && failed(checkDotProducts(op, fields, target)))
    return failure();
  if (fields.product == ProductKind::AMX && failed(checkTileProducts(op, target)))
    return failure();
  // Query heads that share a head of K are rows of one decode tile.
  int64_t rows = fields.queryTile * (fields.kernel == KernelKind::Decode ? getGroupSize(op) * fields.kvHeads : 1);
  int64_t tileBytes = getTileStackBytes(op, rows, fields.keyTile), maxBytes = getMaxTileStackBytes(fields.kernel);
  if (tileBytes > maxBytes)
    return op.emitOpError("schedule: expected query_tile and key_tile of at most ")
           << maxBytes << " bytes of Q, scores and accumulators, found " << fields.queryTile << " and "
           << fields.keyTile << " that need " << tileBytes;
  return success();
}

FailureOr<ScheduleAttr> attn::overrideSchedule(SdpaOp op, StringRef text, const TargetInfo &target) {
  llvm::Expected<ScheduleFields> fields = ScheduleFields::parse(text, *op.getSchedule());
  if (!fields) {
    op.emitOpError("schedule: ") << llvm::toString(fields.takeError());
    return failure();
  }
  if (failed(checkSchedule(op, *fields, target)))
    return failure();
  auto schedule =
      ScheduleAttr::getChecked([&] { return op.emitOpError("schedule: "); }, op.getContext(), fields->queryTile,
                               fields->keyTile, fields->lanes, fields->rowBlock, fields->laneVectors, fields->kernel,
                               fields->product, fields->splitKeys, fields->prefetch, fields->warps, fields->kvHeads);
  if (!schedule)
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
