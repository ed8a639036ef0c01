//===- SplitParts.cpp - a large module as several -------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SplitParts.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

/// A part of fewer instructions takes less time than a thread and the merge.
static constexpr unsigned kPartInstructions = 1000;
static constexpr unsigned kMostParts = 8;

/// The part of each function: the largest go first, each to the part with the fewest instructions.
static DenseMap<const Function *, unsigned> assignParts(const Module &module) {
  std::vector<const Function *> functions;
  unsigned total = 0;
  for (const Function &function : module)
    if (!function.isDeclaration())
      functions.push_back(&function);
  std::vector<std::pair<unsigned, unsigned>> order; // the complement of the count, position
  for (auto [position, function] : enumerate(functions)) {
    total += function->getInstructionCount();
    order.emplace_back(~function->getInstructionCount(), position);
  }
  sort(order);
  SmallVector<unsigned> sizes(std::clamp(total / kPartInstructions, 1u, kMostParts));
  DenseMap<const Function *, unsigned> parts;
  for (auto [complement, position] : order) {
    unsigned *smallest = min_element(sizes);
    *smallest += ~complement;
    parts[functions[position]] = smallest - sizes.begin();
  }
  return parts;
}

std::vector<std::string> attn::splitParts(Module &module) {
  DenseMap<const Function *, unsigned> parts = assignParts(module);
  unsigned count = 0;
  for (const auto &[function, part] : parts)
    count = std::max(count, part);
  if (count == 0)
    return {};
  for (GlobalValue &value : module.global_values()) {
    if (!value.hasLocalLinkage())
      continue;
    if (!value.hasName())
      value.setName("attn.shared");
    value.setLinkage(GlobalValue::ExternalLinkage);
    value.setVisibility(GlobalValue::HiddenVisibility);
  }
  std::vector<std::string> bitcode;
  for (unsigned part = 1; part <= count; ++part) {
    ValueToValueMapTy map;
    std::unique_ptr<Module> clone = CloneModule(module, map, [&](const GlobalValue *value) {
      const auto *function = dyn_cast<Function>(value);
      return function && parts.lookup(function) == part;
    });
    for (GlobalVariable &global : make_early_inc_range(clone->globals()))
      if (global.use_empty())
        global.eraseFromParent();
    for (Function &function : make_early_inc_range(*clone))
      if (function.isDeclaration() && function.use_empty())
        function.eraseFromParent();
    raw_string_ostream os(bitcode.emplace_back());
    WriteBitcodeToFile(*clone, os);
  }
  for (const auto &[function, part] : parts)
    if (part != 0)
      const_cast<Function *>(function)->deleteBody();
  return bitcode;
}
