//===- Decoder.cpp - statement → instruction ------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Addresses.h"

#include "llvm/ADT/StringSwitch.h"

#include <bit>
#include <cstring>

using namespace llvm;
using namespace attn::ptx;

namespace {

/// Bytes of a lane of a register's row. A predicate is one word of 32 lanes, stored as such.
unsigned storageBytes(Type type) {
  return type == Type::B8 || type == Type::U8 || type == Type::S8 ? 2 : getBytes(type);
}

constexpr Named<SpecialRegister> kSpecials[] = {
    {"%tid.x", SpecialRegister::TidX},
    {"%tid.y", SpecialRegister::TidY},
    {"%tid.z", SpecialRegister::TidZ},
    {"%ntid.x", SpecialRegister::NtidX},
    {"%ntid.y", SpecialRegister::NtidY},
    {"%ntid.z", SpecialRegister::NtidZ},
    {"%ctaid.x", SpecialRegister::CtaidX},
    {"%ctaid.y", SpecialRegister::CtaidY},
    {"%ctaid.z", SpecialRegister::CtaidZ},
    {"%nctaid.x", SpecialRegister::NctaidX},
    {"%nctaid.y", SpecialRegister::NctaidY},
    {"%nctaid.z", SpecialRegister::NctaidZ},
    {"%laneid", SpecialRegister::LaneId},
    {"%warpid", SpecialRegister::WarpId},
    {"%nwarpid", SpecialRegister::NwarpId},
    {"%smid", SpecialRegister::SmId},
    {"%nsmid", SpecialRegister::NsmId},
    {"%gridid", SpecialRegister::GridId},
    {"%lanemask_eq", SpecialRegister::LanemaskEq},
    {"%lanemask_le", SpecialRegister::LanemaskLe},
    {"%lanemask_lt", SpecialRegister::LanemaskLt},
    {"%lanemask_ge", SpecialRegister::LanemaskGe},
    {"%lanemask_gt", SpecialRegister::LanemaskGt},
    {"%dynamic_smem_size", SpecialRegister::DynamicSharedSize},
    {"%total_smem_size", SpecialRegister::TotalSharedSize},
    // Without clusters, a launch has clusters of one block.
    {"%cluster_ctarank", SpecialRegister::Zero},
    {"%cluster_nctarank", SpecialRegister::One},
    {"%cluster_ctaid.x", SpecialRegister::Zero},
    {"%cluster_nctaid.x", SpecialRegister::One},
};

} // namespace

Decoder::Decoder(Program &program, const Function &function) : program(program), function(function) {
  for (const Register &reg : function.registers)
    program.registerRows.push_back(allocate(storageBytes(reg.type)));
}

uint32_t Decoder::allocate(unsigned bytes) {
  const size_t row = program.image.size();
  const size_t size = size_t(bytes) * kLanes;
  program.image.resize(row + (size + kRowAlign - 1) / kRowAlign * kRowAlign);
  return uint32_t(row);
}

void Decoder::unknown(const Twine &why) {
  if (failed())
    return;
  isUnknown = true;
  message = why.str();
}

void Decoder::invalid(const Twine &why) {
  if (!failed())
    message = why.str();
}

bool Decoder::decode(const Statement &statement) {
  current = &statement;
  taken.assign(statement.modifiers.size(), false);
  instruction = Instruction();
  uses = RegisterUses();
  instruction.line = statement.line;
  isUnknown = false;
  message.clear();
  if (statement.guard >= 0) {
    instruction.guard = program.registerRows[statement.guard];
    instruction.guardNegated = statement.guardNegated;
  }
  Type last = Type::None;
  for (StringRef modifier : statement.modifiers)
    if (Type type = parseType(modifier); type != Type::None)
      last = type;
  // .f32.bf16 and .f32.f16 of these are f32 with narrow factors.
  if (llvm::is_contained({"add", "sub", "fma"}, statement.name) && llvm::is_contained(statement.modifiers, ".f32"))
    last = Type::F32;
  const InstructionInfo *info = findInstruction(statement.name, last);
  if (!info)
    return unknown(), false;
  info->decode(*this);
  for (auto [modifier, isTaken] : llvm::zip(statement.modifiers, taken))
    if (!isTaken)
      unknown("'" + modifier + "' is not emulated here");
  return !failed();
}

bool Decoder::takeModifier(StringRef name) {
  for (size_t i = 0; i < taken.size(); ++i) {
    if (taken[i] || current->modifiers[i] != name)
      continue;
    taken[i] = true;
    return true;
  }
  return false;
}

void Decoder::takeHints(ArrayRef<StringLiteral> names) {
  for (StringLiteral name : names)
    takeModifier(name);
}

Type Decoder::takeType() {
  for (size_t i = 0; i < taken.size(); ++i) {
    const Type type = taken[i] ? Type::None : parseType(current->modifiers[i]);
    if (type == Type::None)
      continue;
    taken[i] = true;
    return type;
  }
  unknown("expected a type");
  return Type::None;
}

void Decoder::takeRounding() {
  constexpr Named<Rounding> kRoundings[] = {{".rn", Rounding::NearestEven},
                                            {".rz", Rounding::Zero},
                                            {".rm", Rounding::Down},
                                            {".rp", Rounding::Up},
                                            {".rna", Rounding::NearestAway}};
  instruction.rounding = takeOne<Rounding>(kRoundings).value_or(Rounding::NearestEven);
}

void Decoder::takeOrder(bool isStrong) {
  auto takeAny = [&](ArrayRef<StringLiteral> names) {
    return llvm::count_if(names, [&](StringRef name) { return takeModifier(name); }) > 0;
  };
  const bool isNear = takeAny({".cta", ".cluster"}), isBoth = takeAny({".acq_rel", ".sc"});
  const bool acquires = takeAny({".acquire"}) || isBoth, releases = takeAny({".release"}) || isBoth;
  isStrong |= takeAny({".relaxed", ".volatile", ".mmio"}) || acquires || releases;
  takeHints({".weak", ".gpu", ".sys"});
  if (instruction.space != Space::Global && instruction.space != Space::Generic)
    return;
  instruction.isStrong = isStrong;
  instruction.acquires = acquires && !isNear;
  instruction.releases = releases && !isNear;
}

Space Decoder::takeSpace() {
  constexpr Named<Space> kSpaces[] = {
      {".global", Space::Global}, {".shared", Space::Shared}, {".shared::cta", Space::Shared}, {".local", Space::Local},
      {".const", Space::Const},   {".param", Space::Param},   {".param::entry", Space::Param}};
  return takeOne<Space>(kSpaces).value_or(Space::Generic);
}

bool Decoder::expectOperands(size_t least, size_t most) {
  if (operandCount() >= least && operandCount() <= most)
    return true;
  invalid("expected " + Twine(least) + (least == most ? Twine("") : " to " + Twine(most)) + " operands, found " +
          Twine(operandCount()));
  return false;
}

uint32_t Decoder::constant(uint64_t bits, unsigned bytes) {
  if (bytes < 8)
    bits &= (uint64_t(1) << (8 * bytes)) - 1;
  auto [entry, isNew] = constantRows.try_emplace({bits, bytes}, 0);
  if (!isNew)
    return entry->second;
  entry->second = allocate(bytes);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    std::memcpy(program.image.data() + entry->second + lane * bytes, &bits, bytes);
  return entry->second;
}

uint32_t Decoder::scratch(unsigned bytes) { return allocate(bytes); }

uint32_t Decoder::special(StringRef name, unsigned bytes) {
  auto [entry, isNew] = specialRows.try_emplace({name.str(), bytes}, 0);
  if (!isNew)
    return entry->second;
  for (const Named<SpecialRegister> &known : kSpecials) {
    if (known.name != name)
      continue;
    entry->second = allocate(bytes);
    program.specials.push_back({entry->second, bytes, known.value});
    return entry->second;
  }
  specialRows.erase(entry);
  unknown("the special register " + name + " is not emulated");
  return 0;
}

uint32_t Decoder::symbol(const Operand &operand, unsigned bytes) {
  for (const Parameter &parameter : function.parameters)
    if (parameter.name == operand.text)
      return constant(parameter.offset + operand.offset, bytes);
  auto found = program.placements.find(operand.text);
  if (found == program.placements.end()) {
    invalid("expected a register, a variable or a parameter, found '" + operand.text + "'");
    return 0;
  }
  const Placement &placement = found->second;
  uint64_t address = placement.offset + operand.offset;
  if (placement.space == Space::Global || placement.space == Space::Const)
    address += kConstWindow;
  return constant(address, bytes);
}

unsigned Decoder::registerBits(const Operand &operand) const {
  return operand.kind == Operand::Kind::Register ? getBits(function.registers[operand.reg].type) : 0;
}

uint32_t Decoder::destination(const Operand &operand, unsigned bits) {
  if (operand.kind == Operand::Kind::Sink)
    return scratchRow(bits);
  if (operand.kind != Operand::Kind::Register || registerBits(operand) != bits) {
    invalid("expected a register of " + Twine(bits) + " bits as a result, found " +
            (operand.kind == Operand::Kind::Register ? "'" + operand.text + "' of " + Twine(registerBits(operand))
                                                     : "'" + operand.text + "'"));
    return 0;
  }
  uses.results.push_back(program.registerRows[operand.reg]);
  return program.registerRows[operand.reg];
}

std::optional<uint64_t> Decoder::constantOperand(const Operand &operand) const {
  if (operand.kind != Operand::Kind::Integer)
    return std::nullopt;
  return operand.bits;
}

uint32_t Decoder::source(const Operand &operand, Type type) {
  // An unknown type has been reported.
  if (failed())
    return 0;
  const unsigned bits = getBits(type), bytes = getBytes(type);
  switch (operand.kind) {
  case Operand::Kind::Register:
    if (registerBits(operand) != bits) {
      invalid("expected a register of " + Twine(bits) + " bits, found '" + operand.text + "' of " +
              Twine(registerBits(operand)));
      return 0;
    }
    uses.sources.push_back(program.registerRows[operand.reg]);
    return program.registerRows[operand.reg];
  case Operand::Kind::Special: return special(operand.text, bytes);
  case Operand::Kind::Symbol: return symbol(operand, bytes);
  case Operand::Kind::Integer: return constant(operand.bits, bytes);
  case Operand::Kind::Float32:
    if (type == Type::F64)
      return constant(std::bit_cast<uint64_t>(double(asFloat(uint32_t(operand.bits)))), 8);
    return constant(operand.bits, bytes);
  case Operand::Kind::Float64:
    if (type == Type::F32 || type == Type::B32)
      return constant(asBits(float(std::bit_cast<double>(operand.bits))), 4);
    return constant(operand.bits, bytes);
  default: invalid("expected a register or a constant"); return 0;
  }
}

uint32_t Decoder::fragment(const Operand &operand) {
  const uint32_t row = source(operand, Type::B32);
  if (operand.kind == Operand::Kind::Register)
    uses.fragments.push_back(row);
  return row;
}

uint32_t Decoder::predicateSource(const Operand &operand, bool &negated) {
  negated = operand.negated;
  if (operand.kind == Operand::Kind::Integer)
    return constant(operand.bits ? kAllLanes : 0, 4);
  if (operand.kind != Operand::Kind::Register || registerBits(operand) != 1) {
    invalid("expected a predicate, found '" + operand.text + "'");
    return 0;
  }
  uses.sources.push_back(program.registerRows[operand.reg]);
  return program.registerRows[operand.reg];
}

uint32_t Decoder::looseRegister(const Operand &operand, unsigned leastBits, unsigned &bits) {
  bits = registerBits(operand);
  if (operand.kind == Operand::Kind::Register && bits >= leastBits && bits > 1) {
    bits = 8 * storageBytes(function.registers[operand.reg].type);
    return program.registerRows[operand.reg];
  }
  invalid("expected a register of at least " + Twine(leastBits) + " bits, found '" + operand.text + "'");
  return 0;
}

uint32_t Decoder::looseDestination(const Operand &operand, unsigned leastBits, unsigned &bits) {
  const uint32_t row = looseRegister(operand, leastBits, bits);
  uses.results.push_back(row);
  return row;
}

uint32_t Decoder::looseSource(const Operand &operand, unsigned leastBits, unsigned &bits) {
  const uint32_t row = looseRegister(operand, leastBits, bits);
  uses.sources.push_back(row);
  return row;
}

uint32_t Decoder::address(const Operand &operand, bool isTensorAddress) {
  if (operand.kind != Operand::Kind::Address) {
    invalid("expected an address in brackets");
    return 0;
  }
  if (operand.parts.size() > 1 && !isTensorAddress) {
    invalid("expected an address, found coordinates in it");
    return 0;
  }
  const Operand &base = operand.parts[0];
  instruction.offset = operand.offset;
  const unsigned bits = registerBits(base);
  if (base.kind == Operand::Kind::Register && bits != 32 && bits != 64) {
    invalid("expected an address of 32 or 64 bits, found '" + base.text + "' of " + Twine(bits));
    return 0;
  }
  instruction.wideAddress = bits != 32;
  const uint32_t row = source(base, instruction.wideAddress ? Type::B64 : Type::B32);
  if (base.kind == Operand::Kind::Register && !failed())
    uses.addresses.push_back(uses.sources.pop_back_val());
  return row;
}
