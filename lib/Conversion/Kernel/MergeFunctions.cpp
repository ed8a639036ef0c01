//===- MergeFunctions.cpp - attn-merge-functions --------------------------===//
//
// Before: a module in which bodies of parallel loops are functions. After: equal functions are merged, so that repeated
// attention, as in the layers of a model, is lowered and optimised once.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OperationSupport.h"

namespace attn {
#define GEN_PASS_DEF_MERGEFUNCTIONSPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// Hashes everything that is compared except operands, which equal functions have in the same positions.
static llvm::hash_code hashBody(func::FuncOp function) {
  llvm::hash_code hash = hash_value(function.getFunctionType());
  function.getBody().walk([&](Operation *op) {
    hash = llvm::hash_combine(hash, op->getName(), op->getRawDictionaryAttrs(), op->hashProperties(),
                              op->getNumOperands(), llvm::hash_combine_range(op->getResultTypes()));
  });
  return hash;
}

static DictionaryAttr getAttrsWithoutName(func::FuncOp function) {
  NamedAttrList attrs(function->getAttrDictionary());
  attrs.erase(SymbolTable::getSymbolAttrName());
  return attrs.getDictionary(function.getContext());
}

static bool areEqual(func::FuncOp lhs, func::FuncOp rhs) {
  return getAttrsWithoutName(lhs) == getAttrsWithoutName(rhs) &&
         OperationEquivalence::isRegionEquivalentTo(&lhs.getBody(), &rhs.getBody(),
                                                    OperationEquivalence::IgnoreLocations);
}

/// One round: callers of merged functions may have become equal.
static bool mergeEqual(ModuleOp module) {
  DenseMap<size_t, SmallVector<func::FuncOp, 1>> kept;
  DenseMap<StringAttr, FlatSymbolRefAttr> replacements;
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (!function.isPrivate() || function.isExternal())
      continue;
    SmallVector<func::FuncOp, 1> &candidates = kept[size_t(hashBody(function))];
    auto *equal = llvm::find_if(candidates, [&](func::FuncOp other) { return areEqual(other, function); });
    if (equal == candidates.end()) {
      candidates.push_back(function);
      continue;
    }
    replacements[function.getSymNameAttr()] = FlatSymbolRefAttr::get(equal->getSymNameAttr());
    function.erase();
  }
  if (replacements.empty())
    return false;
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](FlatSymbolRefAttr symbol) -> std::optional<Attribute> {
    auto found = replacements.find(symbol.getAttr());
    return found == replacements.end() ? symbol : found->second;
  });
  replacer.recursivelyReplaceElementsIn(module);
  return true;
}

namespace {
struct MergeFunctionsPass : public attn::impl::MergeFunctionsPassBase<MergeFunctionsPass> {
  using Base::Base;
  void runOnOperation() override {
    while (mergeEqual(getOperation()))
      ;
  }
};
} // namespace
