//===- TuneSpace.cpp - the schedules that attnc tune tries ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TuneSpace.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;

/// Rows of K or V times vectors of query rows of a register kernel, as factors of either.
static constexpr int64_t kRowBlocks[] = {2, 3, 4, 5, 6, 8, 12}, kLaneVectors[] = {1, 2, 3, 4, 6, 8};
/// Fewer accumulators than a quarter of the registers cannot hide the latency of a multiply-add.
static constexpr int64_t kMinAccumulatorShare = 4;
static constexpr int64_t kQueryBlocks[] = {1, 2, 3, 4, 6, 8};
static constexpr int64_t kMaxQueryTile = 256;
static constexpr int64_t kKeyTiles[] = {16, 32, 48, 64, 96, 128, 256};
static constexpr int64_t kSplits[] = {0, 256, 512, 1024, 2048, 4096, 8192};
static constexpr int64_t kPrefetches[] = {0, 8, 16, 32, 64, 128};
/// More query rows than these fill the lanes of the prefill kernel.
static constexpr int64_t kMaxDecodeQueries = 16;

TuneSpace::TuneSpace(const Problem &problem, const TargetInfo &target)
    : queries(problem.sq), keys(problem.sk), kvHeads(problem.hkv), registers(target.vectorRegisters),
      hasDotProducts(problem.element == Problem::Element::BF16 ||
                     (problem.element == Problem::Element::F16 && problem.kv == Problem::KvElement::I8)) {}

ArrayRef<StringRef> TuneSpace::getAxes() {
  static constexpr StringRef axes[] = {"kernel",   "product",    "key_tile", "query_tile",
                                       "kv_heads", "split_keys", "prefetch", "registers"};
  return axes;
}

std::vector<ScheduleFields> TuneSpace::getNeighbours(StringRef axis, const Fields &fields) const {
  if (axis == "kernel")
    return changeKernel(fields);
  if (axis == "registers")
    return changeRegisters(fields);
  if (axis == "query_tile")
    return changeQueryTile(fields);
  if (axis == "key_tile")
    return changeKeyTile(fields);
  if (axis == "kv_heads")
    return changeHeads(fields);
  if (axis == "split_keys")
    return changeSplit(fields);
  if (axis == "prefetch")
    return changePrefetch(fields);
  return changeProduct(fields);
}

std::vector<ScheduleFields> TuneSpace::changeKernel(const Fields &fields) const {
  if (queries == Problem::kDynamic || queries < 1 || queries > kMaxDecodeQueries)
    return {};
  Fields changed = fields;
  changed.splitKeys = 0;
  changed.kvHeads = 1;
  if (fields.kernel == KernelKind::Decode) {
    changed.kernel = KernelKind::Prefill;
    changed.queryTile = alignTo(queries, fields.lanes);
    changed.laneVectors = 1;
    changed.rowBlock = 4;
  } else {
    changed.kernel = KernelKind::Decode;
    changed.queryTile = queries;
    changed.laneVectors = std::min<int64_t>(fields.lanes, 4);
    changed.rowBlock = fields.lanes / changed.laneVectors;
  }
  return {changed};
}

std::vector<ScheduleFields> TuneSpace::changeRegisters(const Fields &fields) const {
  std::vector<Fields> list;
  if (fields.kernel == KernelKind::Decode) {
    for (int64_t vectors = 1; vectors <= fields.lanes; vectors *= 2) {
      Fields changed = fields;
      changed.laneVectors = vectors;
      changed.rowBlock = fields.lanes / vectors;
      list.push_back(changed);
    }
    return list;
  }
  for (int64_t rows : kRowBlocks)
    for (int64_t vectors : kLaneVectors) {
      int64_t used = rows * vectors + vectors + 1;
      if (used >= registers || rows * vectors < registers / kMinAccumulatorShare)
        continue;
      Fields changed = fields;
      changed.rowBlock = rows;
      changed.laneVectors = vectors;
      changed.queryTile = std::max(fields.queryTile, fields.lanes * vectors);
      list.push_back(changed);
    }
  return list;
}

std::vector<ScheduleFields> TuneSpace::changeQueryTile(const Fields &fields) const {
  std::vector<Fields> list;
  if (fields.kernel == KernelKind::Decode)
    return list;
  auto add = [&](int64_t tile) {
    Fields changed = fields;
    changed.queryTile = tile;
    if (tile <= kMaxQueryTile && llvm::none_of(list, [&](const Fields &other) { return other.queryTile == tile; }))
      list.push_back(changed);
  };
  int64_t block = fields.lanes * fields.laneVectors;
  for (int64_t number : kQueryBlocks) {
    if (queries == Problem::kDynamic || number * block < int64_t(alignTo(queries, block)) + block)
      add(number * block);
    // So many tiles that leave few rows empty; the last block of each may be smaller.
    if (queries > 0)
      add(alignTo(divideCeil(queries, number), fields.lanes));
  }
  return list;
}

std::vector<ScheduleFields> TuneSpace::changeKeyTile(const Fields &fields) const {
  std::vector<Fields> list;
  for (int64_t tile : kKeyTiles) {
    Fields changed = fields;
    changed.keyTile = tile;
    changed.splitKeys = alignTo(fields.splitKeys, tile);
    if (keys == Problem::kDynamic || tile <= keys)
      list.push_back(changed);
  }
  return list;
}

std::vector<ScheduleFields> TuneSpace::changeSplit(const Fields &fields) const {
  std::vector<Fields> list;
  for (int64_t split : kSplits) {
    Fields changed = fields;
    changed.splitKeys = alignTo(split, fields.keyTile);
    if (fields.kernel == KernelKind::Decode && (keys == Problem::kDynamic || split < keys))
      list.push_back(changed);
  }
  return list;
}

std::vector<ScheduleFields> TuneSpace::changePrefetch(const Fields &fields) const {
  std::vector<Fields> list;
  for (int64_t rows : kPrefetches) {
    list.push_back(fields);
    list.back().prefetch = rows;
  }
  return list;
}

std::vector<ScheduleFields> TuneSpace::changeHeads(const Fields &fields) const {
  std::vector<Fields> list;
  for (int64_t heads = 1; fields.kernel == KernelKind::Decode && heads <= kvHeads; ++heads) {
    Fields changed = fields;
    changed.kvHeads = heads;
    if (kvHeads % heads == 0)
      list.push_back(changed);
  }
  return list;
}

std::vector<ScheduleFields> TuneSpace::changeProduct(const Fields &fields) const {
  Fields changed = fields;
  changed.product = fields.product == ProductKind::FMA ? ProductKind::Dot : ProductKind::FMA;
  return hasDotProducts ? std::vector<Fields>{changed} : std::vector<Fields>{};
}
