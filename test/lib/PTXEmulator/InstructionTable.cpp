//===- InstructionTable.cpp - the table of instructions -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Families.h"

#include "llvm/ADT/StringMap.h"

using namespace llvm;
using namespace attn::ptx;

namespace {

bool matches(Family family, Type type) {
  switch (family) {
  case Family::Any: return true;
  case Family::Integer: return isInteger(type);
  case Family::F32: return type == Type::F32;
  case Family::F64: return type == Type::F64;
  case Family::Half: return isHalf(type);
  case Family::Predicate: return type == Type::Pred;
  }
  return false;
}

using Table = StringMap<SmallVector<const InstructionInfo *, 4>>;

Table buildTable() {
  Table table;
  for (ArrayRef<InstructionInfo> family :
       {getIntegerInstructions(), getLogicInstructions(), getFloatInstructions(), getHalfInstructions(),
        getCompareInstructions(), getConvertInstructions(), getMoveInstructions(), getControlInstructions(),
        getWarpInstructions(), getMemoryInstructions(), getAtomicInstructions(), getMatrixInstructions(),
        getMmaInstructions(), getAsyncInstructions(), getMbarrierInstructions(), getWgmmaInstructions()})
    for (const InstructionInfo &info : family)
      table[info.name].push_back(&info);
  return table;
}

} // namespace

const InstructionInfo *attn::ptx::findInstruction(StringRef name, Type type) {
  static const Table table = buildTable();
  auto found = table.find(name);
  if (found == table.end())
    return nullptr;
  for (const InstructionInfo *info : found->second)
    if (matches(info->family, type))
      return info;
  return nullptr;
}
