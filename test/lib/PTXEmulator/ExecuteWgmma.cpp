//===- ExecuteWgmma.cpp - wgmma, setmaxnreg -------------------------------===//
//
// D = A B + D, 64 × N, 16 deep: warp w of the group has rows 16 w to 16 w + 15. A lane's registers of A are those of
// mma.m16n8k16; those of D, for each 8 columns, its accumulator (Mma.cpp). Products are exact; their sum with D is
// computed in double and rounded once.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Lanewise.h"
#include "MatrixDescriptor.h"
#include "VectorCode.h"

#include <bit>

using namespace attn::ptx;

namespace {

constexpr unsigned kRows = 16, kDepth = 16, kMostColumns = 256, kChunk = 8;

/// Instruction::variant2.
enum Flag : uint8_t { TransposeA = 1, TransposeB = 2, NegateA = 4, NegateB = 8 };
/// Instruction::rows; scale-d is kScaleRow. Without a descriptor of A there are 4 registers from `FragmentRow` on.
enum Row : unsigned { RowA, RowB, FragmentRow = kScaleRow + 1 };

double element(uint16_t bits, Type type) {
  return type == Type::BF16 ? asFloat(uint32_t(bits) << 16) : decodeHalf(bits);
}

/// A factor in shared memory, read by chunks of 8 elements.
class SharedFactor {
public:
  SharedFactor(Warp &warp, const Instruction &instruction, uint64_t bits)
      : warp(warp), instruction(instruction), descriptor(bits), access(warp.block.warpgroups.read(warp, instruction)) {}

  /// Calls to(i, k, value) for elements (first + i, k), with i below `width`, a multiple of 8.
  template <typename F> void load(unsigned first, unsigned width, bool isTransposed, F &&to) {
    for (unsigned outer = 0; outer < (isTransposed ? width / kChunk : width); ++outer) {
      for (unsigned inner = 0; inner < (isTransposed ? kDepth : kDepth / kChunk); ++inner) {
        uint16_t chunk[kChunk];
        read(isTransposed ? descriptor.findMNMajor(first / kChunk + outer, inner)
                          : descriptor.findKMajor(first + outer, inner),
             chunk);
        for (unsigned i = 0; i < kChunk; ++i) {
          const double value = element(chunk[i], instruction.type);
          isTransposed ? to(outer * kChunk + i, inner, value) : to(outer, inner * kChunk + i, value);
        }
      }
    }
  }

private:
  void read(uint64_t address, uint16_t *chunk) {
    const uint8_t *data = warp.block.isStopped() ? nullptr
                                                 : warp.block.accessAsync(warp, 0, instruction, address,
                                                                          sizeof(uint16_t) * kChunk, access);
    if (!data)
      return warp.block.stop();
    std::memcpy(chunk, data, sizeof(uint16_t) * kChunk);
  }

  Warp &warp;
  const Instruction &instruction;
  const MatrixDescriptor descriptor;
  const Shadow::AsyncAccess access;
};

/// The common value of all lanes; reports differing ones.
uint64_t uniform(Warp &warp, const Instruction &instruction, unsigned row, const char *what) {
  const uint64_t *values = warp.row<uint64_t>(instruction.rows[row]);
  for (unsigned lane = 1; lane < kLanes; ++lane) {
    if (values[lane] == values[0])
      continue;
    warp.block.find(FindingKind::InvalidValue, warp, lane, instruction,
                    llvm::Twine("expected one ") + what + " for all lanes, found two");
    break;
  }
  if (const std::string message = MatrixDescriptor::check(values[0]); !message.empty()) {
    warp.block.find(FindingKind::InvalidValue, warp, 0, instruction, llvm::Twine(what) + ": " + message);
    warp.block.stop();
  }
  return values[0];
}

void loadFragments(Warp &warp, const Instruction &instruction, double a[kRows][kDepth]) {
  for (unsigned lane = 0; lane < kLanes; ++lane)
    for (unsigned i = 0; i < 4; ++i)
      for (unsigned half = 0; half < 2; ++half) {
        const uint32_t bits = warp.row<uint32_t>(instruction.rows[FragmentRow + i])[lane];
        a[lane / 4 + (i & 1 ? 8 : 0)][2 * (lane % 4) + half + (i & 2 ? 8 : 0)] =
            element(uint16_t(bits >> (16 * half)), instruction.type);
      }
}

/// rows: see Row. count: N / 8.
void multiply(Warp &warp, const Instruction &instruction, LaneMask lanes) {
  Block &block = warp.block;
  const RegisterUses &uses = block.program.uses[&instruction - block.program.instructions.data()];
  const unsigned columns = instruction.count * kChunk;
  const bool hasDescriptor = instruction.rows[RowA] != kNoRow;
  const uint64_t descriptorA = hasDescriptor ? uniform(warp, instruction, RowA, "descriptor of A") : 0;
  const uint64_t descriptorB = uniform(warp, instruction, RowB, "descriptor of B");
  const LaneMask scale = loadPredicate(warp, instruction.rows[kScaleRow], instruction.negated);
  if (scale != 0 && scale != kAllLanes)
    block.find(FindingKind::InvalidValue, warp, std::countr_zero(~scale), instruction,
               "expected one scale-d for all lanes, found two");
  if (block.isStopped() || !block.warpgroups.call(warp, instruction, {descriptorA, descriptorB, scale != 0}))
    return;
  block.warpgroups.use(warp, instruction, uses.results, uses.fragments, columns);

  double a[kRows][kDepth], b[kDepth][kMostColumns], sum[kRows][kMostColumns] = {};
  // The four warps read A together: it is unspecified which warp reads which rows.
  if (hasDescriptor)
    SharedFactor(warp, instruction, descriptorA)
        .load(0, kWarpsOfGroup * kRows, instruction.variant2 & TransposeA, [&](unsigned row, unsigned k, double value) {
          if (row / kRows == warp.index % kWarpsOfGroup)
            a[row % kRows][k] = value;
        });
  else
    loadFragments(warp, instruction, a);
  SharedFactor(warp, instruction, descriptorB)
      .load(0, columns, instruction.variant2 & TransposeB,
            [&](unsigned column, unsigned k, double value) { b[k][column] = value; });
  if (block.isStopped())
    return;
  const double sign = !(instruction.variant2 & NegateA) == !(instruction.variant2 & NegateB) ? 1 : -1;
  for (auto &row : a)
    for (double &value : row)
      value *= sign;
  multiplyAdd(&sum[0][0], &a[0][0], &b[0][0], kRows, kDepth, columns, kDepth, kMostColumns);
  for (unsigned i = 0; i < columns / 2; ++i) {
    float *d = warp.row<float>(uses.results[i]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const unsigned row = lane / 4 + (i & 2 ? 8 : 0), column = i / 4 * kChunk + 2 * (lane % 4) + (i & 1);
      const double result = sum[row][column] + (scale ? double(d[lane]) : 0);
      d[lane] = result != result ? asFloat(kCanonicalNaN) : float(result);
    }
  }
}

/// A constant of 1 or of one other value, which sets the flag.
void decodeFlag(Decoder &decoder, size_t operand, uint64_t without, uint64_t with, Flag flag) {
  const auto value = decoder.constantOperand(decoder.operand(operand));
  if (!value || (*value != without && *value != with))
    return decoder.invalid("expected a constant " + llvm::Twine(int64_t(without)) + " or " +
                           llvm::Twine(int64_t(with)) + " as operand " + llvm::Twine(operand));
  if (*value == with)
    decoder.instruction.variant2 |= flag;
}

/// .m64n128k16 → 128; 0 for other modifiers.
unsigned takeColumns(Decoder &decoder) {
  for (llvm::StringRef modifier : decoder.statement().modifiers) {
    unsigned columns = 0;
    llvm::StringRef rest = modifier;
    if (!rest.consume_front(".m64n") || rest.consumeInteger(10, columns) || rest != "k16" || columns % kChunk != 0 ||
        columns > kMostColumns)
      continue;
    decoder.takeModifier(modifier);
    return columns;
  }
  return 0;
}

void decodeMultiply(Decoder &decoder) {
  Instruction &instruction = decoder.instruction;
  const unsigned columns = takeColumns(decoder);
  const Type d = decoder.takeType(), a = decoder.takeType(), b = decoder.takeType();
  if (!columns || d != Type::F32 || a != b || (a != Type::F16 && a != Type::BF16))
    return decoder.unknown("expected .m64nNk16, N a multiple of 8 up to 256, f16 or bf16 factors and an f32 sum");
  if (!decoder.expectOperands(7, 8))
    return;
  const bool hasDescriptor = decoder.operandCount() == 8;
  instruction.type = a;
  instruction.count = columns / kChunk;
  instruction.run = multiply;
  decoder.setUndefinedUse(UndefinedUse::Accumulates);
  const Operand &results = decoder.operand(0), &fragments = decoder.operand(1);
  if (results.kind != Operand::Kind::Vector || results.parts.size() != columns / 2)
    return decoder.invalid("expected " + llvm::Twine(columns / 2) + " registers in braces");
  for (const Operand &part : results.parts) {
    if (part.kind != Operand::Kind::Register)
      return decoder.invalid("expected registers in braces");
    decoder.destination(part, 32);
  }
  if (hasDescriptor != (fragments.kind != Operand::Kind::Vector))
    return decoder.invalid("expected A as a descriptor and 8 operands, or in 4 registers and 7");
  instruction.rows[RowA] = kNoRow;
  if (hasDescriptor) {
    instruction.rows[RowA] = decoder.source(fragments, Type::B64);
  } else {
    if (fragments.parts.size() != 4)
      return decoder.invalid("expected 4 registers of A, found " + llvm::Twine(fragments.parts.size()));
    for (unsigned i = 0; i < 4; ++i)
      instruction.rows[FragmentRow + i] = decoder.fragment(fragments.parts[i]);
  }
  instruction.rows[RowB] = decoder.source(decoder.operand(2), Type::B64);
  instruction.rows[kScaleRow] = decoder.predicateSource(decoder.operand(3), instruction.negated);
  decodeFlag(decoder, 4, 1, uint64_t(-1), NegateA);
  decodeFlag(decoder, 5, 1, uint64_t(-1), NegateB);
  if (hasDescriptor)
    decodeFlag(decoder, 6, 0, 1, TransposeA);
  decodeFlag(decoder, hasDescriptor ? 7 : 6, 0, 1, TransposeB);
}

void decodeWgmma(Decoder &decoder) {
  Instruction &instruction = decoder.instruction;
  instruction.flow = Flow::Aligned;
  enum class Kind { Fence, Commit, Wait, Multiply };
  constexpr Named<Kind> kKinds[] = {{".fence", Kind::Fence},
                                    {".commit_group", Kind::Commit},
                                    {".wait_group", Kind::Wait},
                                    {".mma_async", Kind::Multiply}};
  const auto kind = decoder.takeOne<Kind>(kKinds);
  if (!kind || !decoder.takeModifier(".sync") || !decoder.takeModifier(".aligned"))
    return decoder.unknown("expected .fence, .commit_group, .wait_group or .mma_async, and .sync.aligned");
  switch (*kind) {
  case Kind::Multiply: return decodeMultiply(decoder);
  case Kind::Fence:
    instruction.run = [](Warp &warp, const Instruction &fence, LaneMask) {
      if (warp.block.warpgroups.call(warp, fence))
        ++warp.block.warpgroups.of(warp).fences;
    };
    return;
  case Kind::Commit:
    instruction.run = [](Warp &warp, const Instruction &commit, LaneMask) {
      if (warp.block.warpgroups.call(warp, commit))
        ++warp.block.warpgroups.of(warp).open;
    };
    return;
  case Kind::Wait: {
    const auto pending = decoder.operandCount() == 1 ? decoder.constantOperand(decoder.operand(0)) : std::nullopt;
    if (!pending)
      return decoder.invalid("expected a constant number of groups");
    instruction.offset = int64_t(*pending);
    instruction.run = [](Warp &warp, const Instruction &wait, LaneMask lanes) {
      if (warp.block.warpgroups.call(warp, wait))
        warp.block.warpgroups.wait(warp, lanes, uint64_t(wait.offset));
    };
    return;
  }
  }
}

/// setmaxnreg.inc.sync.aligned.u32 240; variant: .inc
void decodeRegisters(Decoder &decoder) {
  Instruction &instruction = decoder.instruction;
  instruction.flow = Flow::Aligned;
  instruction.variant = decoder.takeModifier(".inc");
  if ((!instruction.variant && !decoder.takeModifier(".dec")) || !decoder.takeModifier(".sync") ||
      !decoder.takeModifier(".aligned") || decoder.takeType() != Type::U32)
    return decoder.unknown("expected .inc or .dec, .sync.aligned.u32");
  const auto count = decoder.operandCount() == 1 ? decoder.constantOperand(decoder.operand(0)) : std::nullopt;
  if (!count)
    return decoder.invalid("expected a constant number of registers");
  instruction.offset = int64_t(*count);
  instruction.run = [](Warp &warp, const Instruction &set, LaneMask) {
    warp.block.warpgroups.setRegisters(warp, set, uint32_t(set.offset), set.variant);
  };
}

constexpr InstructionInfo kInstructions[] = {{"wgmma", Family::Any, decodeWgmma},
                                             {"setmaxnreg", Family::Any, decodeRegisters}};

} // namespace

llvm::ArrayRef<InstructionInfo> attn::ptx::getWgmmaInstructions() { return kInstructions; }
