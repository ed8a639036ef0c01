//===- Decoder.h - statement → instruction ----------------------*- C++ -*-===//
//
// Shared by the decoders of instruction families. Each modifier must be consumed: a remaining one makes the instruction
// unknown, so that nothing is ignored by accident.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_DECODER_H
#define ATTN_TEST_PTXEMULATOR_DECODER_H

#include "Program.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"

namespace attn::ptx {

template <typename T> struct Named {
  llvm::StringLiteral name;
  T value;
};

class Decoder {
public:
  Decoder(Program &program, const Function &function);

  /// Decodes one statement; false: see `isUnknown` and `message`.
  bool decode(const Statement &statement);
  Instruction take() { return std::move(instruction); }
  RegisterUses takeUses() { return std::move(uses); }
  bool isUnknown = false;
  std::string message;

  // For the families:
  Instruction instruction;
  const Statement &statement() const { return *current; }

  bool takeModifier(llvm::StringRef name);
  /// Consumes each of these if it is present: hints without a meaning here.
  void takeHints(llvm::ArrayRef<llvm::StringLiteral> names);
  Type takeType();
  /// The value of the only name that is present.
  template <typename T> std::optional<T> takeOne(llvm::ArrayRef<Named<T>> names) {
    for (const Named<T> &named : names)
      if (takeModifier(named.name))
        return named.value;
    return std::nullopt;
  }
  void takeRounding(); ///< .rn .rz .rm .rp .rna → instruction.rounding
  /// .relaxed, .acquire, .gpu, …: the memory order among blocks. Comes after the space. `isStrong`: strong even without
  /// them.
  void takeOrder(bool isStrong);
  Space takeSpace(); ///< .global, .shared, .shared::cta, …; Generic if there is none

  size_t operandCount() const { return current->operands.size(); }
  bool expectOperands(size_t least, size_t most);
  const Operand &operand(size_t index) const { return current->operands[index]; }

  /// Rows of operands. Register widths must be `bits`, or at least that where `isLoose` (ld, st, cvt).
  uint32_t destination(const Operand &operand, unsigned bits);
  uint32_t source(const Operand &operand, Type type);
  /// A 32-bit register that stays in use after the instruction.
  uint32_t fragment(const Operand &operand);
  uint32_t predicateSource(const Operand &operand, bool &negated);
  /// The bits of the register, for instructions whose registers may be wider than their type.
  unsigned registerBits(const Operand &operand) const;
  uint32_t looseDestination(const Operand &operand, unsigned leastBits, unsigned &bits);
  uint32_t looseSource(const Operand &operand, unsigned leastBits, unsigned &bits);
  /// [base + offset] → instruction.offset, wideAddress and the row of the base.
  uint32_t address(const Operand &operand, bool isTensorAddress = false);
  uint32_t constant(uint64_t bits, unsigned bytes);
  uint32_t scratch(unsigned bytes);
  uint32_t scratchRow(unsigned bits) { return scratch(bits == 1 ? 4 : bits / 8); }
  std::optional<uint64_t> constantOperand(const Operand &operand) const;

  /// The effect of undefined sources (default: they pass).
  void setUndefinedUse(UndefinedUse use) { uses.use = use; }

  /// The opcode is not emulated.
  void unknown(const llvm::Twine &why = "");
  /// The operands are wrong.
  void invalid(const llvm::Twine &why);
  bool failed() const { return isUnknown || !message.empty(); }

private:
  uint32_t special(llvm::StringRef name, unsigned bytes);
  uint32_t symbol(const Operand &operand, unsigned bytes);
  uint32_t allocate(unsigned bytes);
  uint32_t looseRegister(const Operand &operand, unsigned leastBits, unsigned &bits);

  Program &program;
  const Function &function;
  const Statement *current = nullptr;
  RegisterUses uses;
  llvm::SmallVector<bool, 8> taken;
  std::map<std::pair<uint64_t, unsigned>, uint32_t> constantRows;
  std::map<std::pair<std::string, unsigned>, uint32_t> specialRows;
};

/// The possible last types of an opcode, for names that several families share (add, min).
enum class Family : uint8_t { Any, Integer, F32, F64, Half, Predicate };

/// One row of the table of instructions.
struct InstructionInfo {
  llvm::StringLiteral name;
  Family family;
  void (*decode)(Decoder &);
};

/// null where there is none. InstructionTable.cpp lists the families.
const InstructionInfo *findInstruction(llvm::StringRef name, Type type);

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_DECODER_H
