//===- ExecuteWarp.cpp - shfl, vote, match, redux, activemask, elect ------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Lanewise.h"

#include <algorithm>
#include <bit>

using namespace attn::ptx;

namespace {

enum class Shuffle : uint8_t { Up, Down, Butterfly, Index };

/// rows: d, p, a, b, c. The ISA's pseudocode for shfl.
void shuffle(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const uint32_t *a = warp.row<uint32_t>(instruction.rows[2]), *b = warp.row<uint32_t>(instruction.rows[3]),
                 *c = warp.row<uint32_t>(instruction.rows[4]);
  uint32_t result[kLanes];
  LaneMask inRange = 0, undefined = 0;
  const LaneMask undefinedSource = warp.undefinedLanes(instruction.rows[2]);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const int by = b[lane] & 31, clamp = c[lane] & 31, segment = c[lane] >> 8 & 31;
    const int most = (int(lane) & segment) | (clamp & ~segment), least = int(lane) & segment;
    int from = 0;
    bool isIn = false;
    switch (Shuffle(instruction.variant)) {
    case Shuffle::Up: from = int(lane) - by, isIn = from >= most; break;
    case Shuffle::Down: from = int(lane) + by, isIn = from <= most; break;
    case Shuffle::Butterfly: from = int(lane) ^ by, isIn = from <= most; break;
    case Shuffle::Index: from = least | (by & ~segment), isIn = from <= most; break;
    }
    if (!isIn)
      from = lane;
    inRange |= LaneMask(isIn) << lane;
    result[lane] = a[from];
    undefined |= LaneMask(undefinedSource >> from & 1) << lane;
    if ((lanes >> lane & 1) && !(lanes >> from & 1))
      warp.block.find(FindingKind::UndefinedShuffle, warp, lane, instruction,
                      "expected a lane that takes part, found lane " + llvm::Twine(from) + " of 0x" +
                          llvm::Twine::utohexstr(lanes));
  }
  undefined |= warp.undefinedLanes(instruction.rows[3]) | warp.undefinedLanes(instruction.rows[4]);
  storeLanes(warp, instruction.rows[0], result, lanes);
  if (instruction.isTracked)
    warp.setUndefined(instruction.rows[0], undefined, lanes);
  if (instruction.rows[1] != kNoRow)
    storePredicate(warp, instruction.rows[1], inRange, lanes);
}

bool takeSync(Decoder &decoder, size_t memberOperand) {
  if (!decoder.takeModifier(".sync"))
    return decoder.unknown("expected .sync"), false;
  if (!decoder.expectOperands(memberOperand + 1, memberOperand + 1))
    return false;
  decoder.instruction.flow = Flow::Collective;
  decoder.setUndefinedUse(UndefinedUse::Observes);
  decoder.instruction.members = decoder.source(decoder.operand(memberOperand), Type::B32);
  return true;
}

/// d or d|p.
void decodeResult(Decoder &decoder, unsigned bits) {
  const Operand &result = decoder.operand(0);
  const bool isTwo = result.kind == Operand::Kind::Pair;
  decoder.instruction.rows[0] = decoder.destination(isTwo ? result.parts[0] : result, bits);
  decoder.instruction.rows[1] = isTwo ? decoder.destination(result.parts[1], 1) : kNoRow;
}

void decodeShuffle(Decoder &decoder) {
  constexpr Named<Shuffle> kModes[] = {
      {".up", Shuffle::Up}, {".down", Shuffle::Down}, {".bfly", Shuffle::Butterfly}, {".idx", Shuffle::Index}};
  auto mode = decoder.takeOne<Shuffle>(kModes);
  if (!mode || decoder.takeType() != Type::B32)
    return decoder.unknown("expected .up, .down, .bfly or .idx and .b32");
  if (!takeSync(decoder, 4))
    return;
  decodeResult(decoder, 32);
  decoder.instruction.variant = uint8_t(*mode);
  decoder.instruction.run = shuffle;
  decoder.setUndefinedUse(UndefinedUse::Own);
  for (unsigned i = 1; i < 4; ++i)
    decoder.instruction.rows[1 + i] = decoder.source(decoder.operand(i), Type::B32);
}

enum class Vote : uint8_t { All, Any, Uniform, Ballot };

void vote(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const LaneMask votes = loadPredicate(warp, instruction.rows[1], instruction.negated) & lanes;
  bool result = false;
  switch (Vote(instruction.variant)) {
  case Vote::All: result = votes == lanes; break;
  case Vote::Any: result = votes != 0; break;
  case Vote::Uniform: result = votes == lanes || votes == 0; break;
  case Vote::Ballot: {
    uint32_t ballot[kLanes];
    std::fill_n(ballot, kLanes, votes);
    return storeLanes(warp, instruction.rows[0], ballot, lanes);
  }
  }
  storePredicate(warp, instruction.rows[0], result ? kAllLanes : 0, lanes);
}

void decodeVote(Decoder &decoder) {
  constexpr Named<Vote> kModes[] = {
      {".all", Vote::All}, {".any", Vote::Any}, {".uni", Vote::Uniform}, {".ballot", Vote::Ballot}};
  auto mode = decoder.takeOne<Vote>(kModes);
  decoder.takeType();
  if (!mode)
    return decoder.unknown("expected .all, .any, .uni or .ballot");
  if (!takeSync(decoder, 2))
    return;
  Instruction &instruction = decoder.instruction;
  instruction.variant = uint8_t(*mode);
  instruction.run = vote;
  instruction.rows[0] = decoder.destination(decoder.operand(0), *mode == Vote::Ballot ? 32 : 1);
  instruction.rows[1] = decoder.predicateSource(decoder.operand(1), instruction.negated);
}

/// rows: d, p, a. variant: .all
template <typename T> void match(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const T *a = warp.row<T>(instruction.rows[2]);
  uint32_t result[kLanes] = {};
  LaneMask all = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    for (unsigned other = 0; other < kLanes; ++other)
      result[lane] |= LaneMask((lanes >> other & 1) && a[other] == a[lane]) << other;
  const bool isSame = result[std::countr_zero(lanes)] == lanes;
  if (instruction.variant) {
    std::fill_n(result, kLanes, isSame ? lanes : 0);
    all = isSame ? kAllLanes : 0;
  }
  storeLanes(warp, instruction.rows[0], result, lanes);
  if (instruction.rows[1] != kNoRow)
    storePredicate(warp, instruction.rows[1], all, lanes);
}

void decodeMatch(Decoder &decoder) {
  Instruction &instruction = decoder.instruction;
  instruction.variant = decoder.takeModifier(".all");
  if (!instruction.variant && !decoder.takeModifier(".any"))
    return decoder.unknown("expected .any or .all");
  const Type type = decoder.takeType();
  if (!takeSync(decoder, 2))
    return;
  decodeResult(decoder, 32);
  instruction.run = getBits(type) == 64 ? match<uint64_t> : match<uint32_t>;
  instruction.rows[2] = decoder.source(decoder.operand(1), type);
}

enum class Reduction : uint8_t { Add, Min, Max, And, Or, Xor };

template <typename T> void reduce(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const T *a = warp.row<T>(instruction.rows[1]);
  T sum = a[std::countr_zero(lanes)];
  forLanes(lanes & (lanes - 1), [&](unsigned lane) {
    switch (Reduction(instruction.variant)) {
    case Reduction::Add: sum = T(uint32_t(sum) + uint32_t(a[lane])); break;
    case Reduction::Min: sum = std::min(sum, a[lane]); break;
    case Reduction::Max: sum = std::max(sum, a[lane]); break;
    case Reduction::And: sum &= a[lane]; break;
    case Reduction::Or: sum |= a[lane]; break;
    case Reduction::Xor: sum ^= a[lane]; break;
    }
  });
  T result[kLanes];
  std::fill_n(result, kLanes, sum);
  storeLanes(warp, instruction.rows[0], result, lanes);
}

void decodeReduce(Decoder &decoder) {
  constexpr Named<Reduction> kReductions[] = {{".add", Reduction::Add}, {".min", Reduction::Min},
                                              {".max", Reduction::Max}, {".and", Reduction::And},
                                              {".or", Reduction::Or},   {".xor", Reduction::Xor}};
  auto kind = decoder.takeOne<Reduction>(kReductions);
  const Type type = decoder.takeType();
  if (!kind || !isInteger(type) || getBits(type) != 32)
    return decoder.unknown("expected a reduction of .u32, .s32 or .b32");
  if (!takeSync(decoder, 2))
    return;
  decoder.instruction.variant = uint8_t(*kind);
  decoder.instruction.run = isSigned(type) ? reduce<int32_t> : reduce<uint32_t>;
  decoder.instruction.rows[0] = decoder.destination(decoder.operand(0), 32);
  decoder.instruction.rows[1] = decoder.source(decoder.operand(1), type);
}

void activeMask(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  uint32_t result[kLanes];
  std::fill_n(result, kLanes, lanes);
  storeLanes(warp, instruction.rows[0], result, lanes);
}

void decodeActiveMask(Decoder &decoder) {
  decoder.takeType();
  if (!decoder.expectOperands(1, 1))
    return;
  decoder.instruction.run = activeMask;
  decoder.instruction.rows[0] = decoder.destination(decoder.operand(0), 32);
}

/// elect.sync d|p, mask: the lowest lane is the leader.
void elect(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  uint32_t leader[kLanes];
  std::fill_n(leader, kLanes, std::countr_zero(lanes));
  storeLanes(warp, instruction.rows[0], leader, lanes);
  if (instruction.rows[1] != kNoRow)
    storePredicate(warp, instruction.rows[1], lanes & -lanes, lanes);
}

void decodeElect(Decoder &decoder) {
  if (!takeSync(decoder, 1))
    return;
  decodeResult(decoder, 32);
  decoder.instruction.run = elect;
}

constexpr InstructionInfo kInstructions[] = {
    {"shfl", Family::Any, decodeShuffle},          {"vote", Family::Any, decodeVote},
    {"match", Family::Any, decodeMatch},           {"redux", Family::Any, decodeReduce},
    {"activemask", Family::Any, decodeActiveMask}, {"elect", Family::Any, decodeElect},
};

} // namespace

llvm::ArrayRef<InstructionInfo> attn::ptx::getWarpInstructions() { return kInstructions; }
