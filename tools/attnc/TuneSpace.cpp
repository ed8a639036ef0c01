//===- TuneSpace.cpp - the schedules that attnc tune tries ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TuneSpace.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// Factors for the rows of K or V, and for the vectors of query rows, of a register kernel.
static constexpr int64_t kRowBlocks[] = {2, 3, 4, 5, 6, 8, 12}, kLaneVectors[] = {1, 2, 3, 4, 6, 8};
/// With fewer accumulators than this share of the registers, the latency of a multiply-add is not hidden.
static constexpr int64_t kMinAccumulatorShare = 4;
static constexpr int64_t kQueryBlocks[] = {1, 2, 3, 4, 6, 8};
/// For gradients: query tiles in register kernels, and chunks.
static constexpr int64_t kBackwardBlocks[] = {2, 4, 8, 12, 16, 24}, kChunks[] = {1, 2, 4, 8, 16};
static constexpr int64_t kMaxQueryTile = 256;
static constexpr int64_t kKeyTiles[] = {16, 32, 48, 64, 96, 128, 256};
static constexpr int64_t kSplits[] = {0, 256, 512, 1024, 2048, 4096, 8192};
static constexpr int64_t kPrefetches[] = {0, 8, 16, 32, 64, 128};
/// For a GPU: warps per block, and rows per warp.
static constexpr int64_t kWarps[] = {1, 2, 4, 8}, kWarpRows[] = {16, 32};
/// For a GPU kernel with wgmma: stages of K and of V.
static constexpr int64_t kStages[] = {1, 2, 3};
/// More query rows than these fill the lanes of the prefill kernel.
static constexpr int64_t kMaxDecodeQueries = 24;

TuneSpace::TuneSpace(const Problem &problem, const TargetInfo &target)
    : queries(problem.sizes.sq), keys(problem.sizes.sk), kvHeads(problem.sizes.hkv),
      groupSize(problem.sizes.hkv > 0 ? problem.sizes.hq / problem.sizes.hkv : 1), registers(target.vectorRegisters),
      hasPairs(problem.element == Problem::Element::BF16),
      hasBytes(problem.kv == Problem::KvElement::I8 && (hasPairs || problem.element == Problem::Element::F16)) {}

ArrayRef<StringRef> TuneSpace::getAxes() {
  static constexpr StringRef axes[] = {"kernel",     "instruction", "key_tile", "query_tile", "heads",  "kv_heads",
                                       "split_keys", "prefetch",    "chunks",   "registers",  "stages", "overlap"};
  return axes;
}

/// `schedule` with these fields replaced.
static std::string change(ScheduleAttr schedule, ArrayRef<std::pair<StringRef, int64_t>> fields) {
  std::string text = isa<DecodeAttr>(schedule)     ? "#attn.decode<"
                     : isa<BackwardAttr>(schedule) ? "#attn.backward<"
                     : isa<BlockAttr>(schedule)    ? "#attn.block<"
                                                   : "#attn.prefill<";
  for (auto [name, number] : fields)
    text += (name + " = " + Twine(number) + ", ").str();
  return StringRef(text).drop_back(2).str() + ">";
}

std::vector<std::string> TuneSpace::getNeighbours(StringRef axis, ScheduleAttr schedule) const {
  if (auto block = dyn_cast<BlockAttr>(schedule))
    return axis == "key_tile" || axis == "split_keys" ? changeKeys(axis, schedule)
           : axis == "query_tile"                     ? changeWarps(block)
           : axis == "stages"                         ? changeStages(block)
                                                      : Texts();
  if (auto backward = dyn_cast<BackwardAttr>(schedule))
    return changeBackward(axis, backward);
  if (axis == "chunks" || axis == "stages")
    return {};
  if (axis == "overlap")
    return changeOverlap(schedule);
  if (axis == "kernel")
    return changeKernel(schedule);
  if (axis == "registers")
    return changeRegisters(schedule);
  if (axis == "query_tile")
    return isa<PrefillAttr>(schedule) ? changeQueryTile(cast<PrefillAttr>(schedule)) : Texts();
  if (axis == "key_tile" || axis == "split_keys")
    return changeKeys(axis, schedule);
  if (axis == "heads")
    return changeHeads(schedule);
  if (axis == "kv_heads")
    return changeKvHeads(schedule);
  if (axis == "instruction")
    return changeInstruction(schedule);
  Texts list;
  for (int64_t rows : kPrefetches)
    list.push_back(change(schedule, {{"prefetch", rows}}));
  return list;
}

std::vector<std::string> TuneSpace::changeBackward(StringRef axis, BackwardAttr schedule) const {
  Texts list;
  if (axis == "instruction" && hasPairs)
    return {schedule.getInfo().depth == 1 ? "#attn.backward<instruction = pairs>"
                                          : "#attn.backward<instruction = fma>"};
  if (axis == "key_tile")
    return changeKeyTile(schedule);
  if (axis == "query_tile")
    for (int64_t number : kBackwardBlocks)
      list.push_back(change(schedule, {{"query_tile", number * schedule.getBlockRows()}}));
  if (axis == "chunks")
    for (int64_t number : kChunks)
      list.push_back(change(schedule, {{"chunks", number}}));
  if (axis == "registers")
    for (int64_t rows : kRowBlocks)
      for (int64_t vectors : kLaneVectors)
        if (int64_t used = rows * vectors + vectors + 1;
            used < registers && rows * vectors >= registers / kMinAccumulatorShare)
          list.push_back(change(schedule, {{"block_rows", rows}, {"block_vectors", vectors}}));
  return list;
}

std::vector<std::string> TuneSpace::changeKernel(ScheduleAttr schedule) const {
  if (queries == Problem::kDynamic || queries < 1 || queries > kMaxDecodeQueries)
    return {};
  int64_t lanes = schedule.getLanes(), keyTile = schedule.getKeyTile();
  if (auto decode = dyn_cast<DecodeAttr>(schedule))
    return {formatv("#attn.prefill<query_tile = {0}, key_tile = {1}, lanes = {2}, block_rows = 4, block_vectors = 1, "
                    "prefetch = {3}>",
                    alignTo(queries, lanes), keyTile, lanes, decode.getPrefetch())
                .str()};
  return {formatv("#attn.decode<query_tile = {0}, key_tile = {1}, lanes = {2}, block_queries = {3}, prefetch = {4}>",
                  queries, keyTile, lanes, std::min<int64_t>(lanes, 4), cast<PrefillAttr>(schedule).getPrefetch())
              .str()};
}

std::vector<std::string> TuneSpace::changeRegisters(ScheduleAttr schedule) const {
  Texts list;
  if (isa<DecodeAttr>(schedule)) {
    for (int64_t rows = 1; rows <= schedule.getLanes(); rows *= 2)
      list.push_back(change(schedule, {{"block_queries", rows}}));
    return list;
  }
  for (int64_t rows : kRowBlocks)
    for (int64_t vectors : kLaneVectors) {
      int64_t used = rows * vectors + vectors + 1;
      if (used >= registers || rows * vectors < registers / kMinAccumulatorShare)
        continue;
      int64_t queryTile = std::max(schedule.getQueryTile(), schedule.getLanes() * vectors);
      list.push_back(change(schedule, {{"block_rows", rows}, {"block_vectors", vectors}, {"query_tile", queryTile}}));
    }
  return list;
}

std::vector<std::string> TuneSpace::changeQueryTile(PrefillAttr schedule) const {
  Texts list;
  auto add = [&](int64_t tile) {
    std::string changed = change(schedule, {{"query_tile", tile}});
    if (tile <= kMaxQueryTile && !is_contained(list, changed))
      list.push_back(changed);
  };
  int64_t block = schedule.getLanes() * schedule.getBlockVectors();
  for (int64_t number : kQueryBlocks) {
    if (queries == Problem::kDynamic || number * block < int64_t(alignTo(queries, block)) + block)
      add(number * block);
    // As many tiles as leave few rows empty; the last block of each may be smaller.
    if (queries > 0)
      add(alignTo(divideCeil(queries, number), schedule.getLanes()));
  }
  return list;
}

std::vector<std::string> TuneSpace::changeWarps(BlockAttr schedule) const {
  Texts list;
  for (int64_t warps : kWarps)
    for (int64_t rows : kWarpRows) {
      SmallVector<std::pair<StringRef, int64_t>> fields = {{"warps", warps}, {"warp_rows", rows}};
      if (!schedule.sharesKeys()) // otherwise a tile has all rows
        fields.push_back({"query_tile", warps * rows});
      list.push_back(change(schedule, fields));
    }
  return list;
}

std::vector<std::string> TuneSpace::changeStages(BlockAttr schedule) const {
  Texts list;
  for (int64_t stages : kStages)
    if (schedule.getInstruction().getInfo().readsPanels())
      list.push_back(StringRef(change(schedule, {{"stages", stages}})).drop_back().str() +
                     ", producer = " + (stages > 1 ? "true>" : "false>"));
  return list;
}

std::vector<std::string> TuneSpace::changeKeys(StringRef axis, ScheduleAttr schedule) const {
  return axis == "key_tile" ? changeKeyTile(schedule) : changeSplit(schedule);
}

std::vector<std::string> TuneSpace::changeKeyTile(ScheduleAttr schedule) const {
  Texts list;
  for (int64_t tile : kKeyTiles) {
    SmallVector<std::pair<StringRef, int64_t>> fields = {{"key_tile", tile}};
    if (schedule.getSplitKeys() > 0)
      fields.push_back({"split_keys", alignTo(schedule.getSplitKeys(), tile)});
    if (keys == Problem::kDynamic || tile <= keys)
      list.push_back(change(schedule, fields));
  }
  return list;
}

std::vector<std::string> TuneSpace::changeSplit(ScheduleAttr schedule) const {
  Texts list;
  for (int64_t split : kSplits)
    if (schedule.sharesKeys() && (keys == Problem::kDynamic || split < keys))
      list.push_back(change(schedule, {{"split_keys", alignTo(split, schedule.getKeyTile())}}));
  return list;
}

std::vector<std::string> TuneSpace::changeHeads(ScheduleAttr schedule) const {
  Texts list;
  for (int64_t heads = 1; isa<DecodeAttr>(schedule) && heads < groupSize; ++heads)
    if (groupSize % heads == 0)
      list.push_back(change(schedule, {{"heads", heads}, {"kv_heads", 1}}));
  return list;
}

std::vector<std::string> TuneSpace::changeKvHeads(ScheduleAttr schedule) const {
  Texts list;
  for (int64_t heads = 1; isa<DecodeAttr>(schedule) && heads <= kvHeads; ++heads)
    if (kvHeads % heads == 0)
      list.push_back(change(schedule, {{"kv_heads", heads}, {"heads", 0}}));
  return list;
}

std::vector<std::string> TuneSpace::changeInstruction(ScheduleAttr schedule) const {
  bool isDecode = isa<DecodeAttr>(schedule);
  StringRef narrow = isDecode && hasBytes ? "bytes" : hasPairs ? "pairs" : "fma";
  StringRef other = schedule.getInfo().depth == 1 ? narrow : "fma";
  if (!isDecode)
    return {("#attn.prefill<overlap = false, parts = 1, instruction = " + other + ">").str()};
  return {("#attn.decode<instruction = " + other + ">").str()};
}

std::vector<std::string> TuneSpace::changeOverlap(ScheduleAttr schedule) const {
  auto prefill = dyn_cast<PrefillAttr>(schedule);
  if (!prefill || prefill.getInfo().valueLayout != OperandLayout::Columns)
    return {};
  return {prefill.getOverlap() ? "#attn.prefill<overlap = false>" : "#attn.prefill<overlap = true>"};
}
