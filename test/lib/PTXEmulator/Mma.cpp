//===- Mma.cpp - mma.sync -------------------------------------------------===//
//
// D = A B + C, 16 × 8. With g = lane / 4 and t = lane mod 4, element i of a lane's fragments (PTX ISA, "Matrix
// fragments for mma"):
//   16-bit A, 16 × K  row g + 8 where i is 2, 3, 6 or 7;    column 2 t + i mod 2, + 8 from i = 4
//   16-bit B, K × 8   row 2 t + i mod 2, + 8 from i = 2;    column g
//   tf32 A            row g + 8 where i is odd;             column t, + 4 from i = 2
//   tf32 B            row t + 4 i;                          column g
//   C and D           row g + 8 from i = 2;                 column 2 t + i mod 2
// The ISA leaves the order of the sum and its intermediate precision open: here the products and their sum with C are
// exact to a double, and rounded once.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Lanewise.h"
#include "VectorCode.h"

using namespace attn::ptx;

namespace {

constexpr unsigned kM = 16, kN = 8, kLargestK = 16;

struct Position {
  unsigned row, column;
};

Position positionA(bool is16Bit, unsigned lane, unsigned i) {
  const unsigned group = lane / 4, inGroup = lane % 4;
  return is16Bit ? Position{group + (i & 2 ? 8 : 0), 2 * inGroup + (i & 1) + (i & 4 ? 8 : 0)}
                 : Position{group + (i & 1 ? 8 : 0), inGroup + (i & 2 ? 4 : 0)};
}

Position positionB(bool is16Bit, unsigned lane, unsigned i) {
  const unsigned group = lane / 4, inGroup = lane % 4;
  return is16Bit ? Position{2 * inGroup + (i & 1) + (i & 2 ? 8 : 0), group} : Position{inGroup + 4 * i, group};
}

Position positionC(unsigned lane, unsigned i) { return {lane / 4 + (i & 2 ? 8 : 0), 2 * (lane % 4) + (i & 1)}; }

double element(Warp &warp, uint32_t row, unsigned lane, unsigned half, Type type) {
  const uint32_t bits = warp.row<uint32_t>(row)[lane];
  switch (type) {
  case Type::BF16: return asFloat(bits >> (16 * half) << 16);
  case Type::F16: return decodeHalf(uint16_t(bits >> (16 * half)));
  default: return asFloat(bits & 0xffffe000); // the lower 13 bits of a tf32 operand are ignored
  }
}

/// rows: D, A, B, C. type: of A and B. count: K. variant: whether D is f16; variant2: whether C is.
void multiply(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  const bool is16Bit = instruction.type != Type::TF32;
  const unsigned k = instruction.count, perRegister = is16Bit ? 2 : 1;
  const unsigned ofA = kM * k / kLanes, ofB = kN * k / kLanes, ofC = kM * kN / kLanes;
  const uint32_t *rowsD = instruction.rows.data(), *rowsA = rowsD + (instruction.variant ? 2 : 4),
                 *rowsB = rowsA + ofA / perRegister, *rowsC = rowsB + ofB / perRegister;
  double a[kM][kLargestK], b[kLargestK][kN], sum[kM][kN] = {};
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    for (unsigned i = 0; i < ofA; ++i) {
      const Position at = positionA(is16Bit, lane, i);
      a[at.row][at.column] = element(warp, rowsA[i / perRegister], lane, i % perRegister, instruction.type);
    }
    for (unsigned i = 0; i < ofB; ++i) {
      const Position at = positionB(is16Bit, lane, i);
      b[at.row][at.column] = element(warp, rowsB[i / perRegister], lane, i % perRegister, instruction.type);
    }
  }
  multiplyAdd(&sum[0][0], &a[0][0], &b[0][0], kM, k, kN, kLargestK, kN);

  uint32_t result[4][kLanes] = {};
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    for (unsigned i = 0; i < ofC; ++i) {
      const Position at = positionC(lane, i);
      const double c =
          instruction.variant2 ? element(warp, rowsC[i / 2], lane, i % 2, Type::F16) : warp.row<float>(rowsC[i])[lane];
      const double d = sum[at.row][at.column] + c;
      if (instruction.variant) {
        result[i / 2][lane] |= encode(d, kF16, Rounding::NearestEven) << (16 * (i % 2));
      } else {
        result[i][lane] = d != d ? kCanonicalNaN : asBits(float(d));
      }
    }
  }
  for (unsigned i = 0; i < (instruction.variant ? 2 : 4); ++i)
    storeLanes(warp, rowsD[i], result[i], lanes);
}

/// The registers of a fragment, from the row `next` on.
void decodeFragment(Decoder &decoder, size_t operand, unsigned registers, Type type, unsigned &next) {
  const Operand &fragment = decoder.operand(operand);
  // A fragment of one register may be written without braces.
  const bool isVector = fragment.kind == Operand::Kind::Vector;
  const size_t found = isVector ? fragment.parts.size() : 1;
  if (found != registers)
    return decoder.invalid("expected " + llvm::Twine(registers) + " registers in operand " + llvm::Twine(operand) +
                           ", found " + llvm::Twine(found));
  for (unsigned i = 0; i < registers; ++i) {
    const Operand &part = isVector ? fragment.parts[i] : fragment;
    decoder.instruction.rows[next++] =
        operand == 0 ? decoder.destination(part, getBits(type)) : decoder.source(part, type);
  }
}

void decodeMma(Decoder &decoder) {
  Instruction &instruction = decoder.instruction;
  constexpr Named<uint8_t> kShapes[] = {{".m16n8k4", 4}, {".m16n8k8", 8}, {".m16n8k16", 16}};
  auto k = decoder.takeOne<uint8_t>(kShapes);
  if (!k || !decoder.takeModifier(".sync") || !decoder.takeModifier(".aligned") || !decoder.takeModifier(".row") ||
      !decoder.takeModifier(".col"))
    return decoder.unknown("expected .sync.aligned, .m16n8k4, .m16n8k8 or .m16n8k16, and .row.col");
  const Type d = decoder.takeType(), a = decoder.takeType(), b = decoder.takeType(), c = decoder.takeType();
  const bool isTf32 = a == Type::TF32, is16Bit = a == Type::F16 || a == Type::BF16;
  const bool isShape = isTf32 ? *k <= 8 : *k >= 8;
  const bool isResult = d == Type::F32 || (d == Type::F16 && a == Type::F16);
  const bool isAddend = c == Type::F32 || (c == Type::F16 && a == Type::F16);
  if (a != b || !(isTf32 || is16Bit) || !isShape || !isResult || !isAddend)
    return decoder.unknown("expected f16, bf16 or tf32 factors and an f32 (of f16 also f16) sum");
  if (!decoder.expectOperands(4, 4))
    return;
  instruction.flow = Flow::Aligned;
  instruction.run = multiply;
  decoder.setUndefinedUse(UndefinedUse::Observes);
  instruction.type = a;
  instruction.count = *k;
  instruction.variant = d == Type::F16;
  instruction.variant2 = c == Type::F16;
  const unsigned perRegister = is16Bit ? 2 : 1;
  unsigned next = 0;
  decodeFragment(decoder, 0, d == Type::F16 ? 2 : 4, Type::B32, next);
  decodeFragment(decoder, 1, kM * *k / kLanes / perRegister, Type::B32, next);
  decodeFragment(decoder, 2, kN * *k / kLanes / perRegister, Type::B32, next);
  decodeFragment(decoder, 3, c == Type::F16 ? 2 : 4, c == Type::F16 ? Type::B32 : Type::F32, next);
}

constexpr InstructionInfo kInstructions[] = {{"mma", Family::Any, decodeMma}};

} // namespace

llvm::ArrayRef<InstructionInfo> attn::ptx::getMmaInstructions() { return kInstructions; }
