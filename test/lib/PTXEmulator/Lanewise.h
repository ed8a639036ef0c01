//===- Lanewise.h - the loops over 32 lanes ---------------------*- C++ -*-===//
//
// Each loop computes all lanes, so that it vectorises, and stores those of the mask. An operation is a stateless lambda
// of up to three operands; if it needs fewer, the rows of the others repeat the first.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_LANEWISE_H
#define ATTN_TEST_PTXEMULATOR_LANEWISE_H

#include "Block.h"
#include "Decoder.h"

#include <cstring>
#include <type_traits>

namespace attn::ptx {

template <typename T> void storeLanes(Warp &warp, uint32_t row, const T *values, LaneMask lanes) {
  T *to = warp.row<T>(row);
  if (lanes == kAllLanes) {
    std::memcpy(to, values, sizeof(T) * kLanes);
    return;
  }
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (lanes >> lane & 1)
      to[lane] = values[lane];
}

inline void storePredicate(Warp &warp, uint32_t row, LaneMask values, LaneMask lanes) {
  uint32_t &predicate = warp.predicate(row);
  predicate = (predicate & ~lanes) | (values & lanes);
}

inline LaneMask loadPredicate(Warp &warp, uint32_t row, bool negated) {
  return negated ? ~warp.predicate(row) : warp.predicate(row);
}

template <typename F> void forLanes(LaneMask lanes, F &&body) {
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (lanes >> lane & 1)
      body(lane);
}

/// d = F(a, b, c) with operands of type T and a result of type R.
template <typename T, typename R, auto F> void lanewise(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const T *a = warp.row<T>(instruction.rows[1]), *b = warp.row<T>(instruction.rows[2]),
          *c = warp.row<T>(instruction.rows[3]);
  R result[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane)
    result[lane] = R(F(a[lane], b[lane], c[lane]));
  storeLanes(warp, instruction.rows[0], result, lanes);
}

/// The integer type with as many bits and the same sign; .b types count as unsigned.
template <auto F> Handler pickInteger(Type type) {
  switch (type) {
  case Type::B16:
  case Type::U16: return lanewise<uint16_t, uint16_t, F>;
  case Type::S16: return lanewise<int16_t, int16_t, F>;
  case Type::B32:
  case Type::U32: return lanewise<uint32_t, uint32_t, F>;
  case Type::S32: return lanewise<int32_t, int32_t, F>;
  case Type::B64:
  case Type::U64: return lanewise<uint64_t, uint64_t, F>;
  case Type::S64: return lanewise<int64_t, int64_t, F>;
  default: return nullptr;
  }
}

/// Reads a destination and `sources` operands of one type.
inline void decodeOperands(Decoder &decoder, Type result, Type type, unsigned sources) {
  if (!decoder.expectOperands(1 + sources, 1 + sources))
    return;
  auto &rows = decoder.instruction.rows;
  rows[0] = decoder.destination(decoder.operand(0), getBits(result));
  for (unsigned i = 1; i <= sources; ++i)
    rows[i] = decoder.source(decoder.operand(i), type);
  for (unsigned i = sources + 1; i < 4; ++i)
    rows[i] = rows[1];
}

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_LANEWISE_H
