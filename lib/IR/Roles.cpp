//===- Roles.cpp - what attention calls its operands ----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Roles.h"
#include "attn/IR/Attn.h"
#include "attn/IR/Words.h"
#include "attn/Support/Dialects.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace attn;

/// The role of an operand without an indexing map.
static StringRef getUnmappedRole(Operation *op, Value value) {
  SmallVector<std::pair<Value, StringRef>> roles;
  for (auto [word, operand] : getWordOperands(op))
    roles.push_back({operand, word->argument});
  if (auto append = dyn_cast<KvAppendOp>(op))
    roles = {{append.getInput(), "rows"},
             {append.getPositions(), "positions"},
             {append.getBlockTable(), "block_table"},
             {append.getScale(), "scale"},
             {append.getOutput(), "cache"}};
  else if (auto gather = dyn_cast<GatherPagesOp>(op))
    roles = {{gather.getCache(), "cache"},
             {gather.getBlockTable(), "block_table"},
             {gather.getLengths(), getLengths(WordCounts::Keys).argument}};
  else if (auto linear = dyn_cast<LinearOp>(op))
    roles = {{linear.getCuSeqlens(), "cu_seqlens"}, {linear.getSlots(), "slots"}};
  else if (auto linear = dyn_cast<LinearBackwardOp>(op))
    roles = {{linear.getCuSeqlens(), "cu_seqlens"}, {linear.getSlots(), "slots"}};
  else if (auto layer = dyn_cast<MultiHeadOp>(op))
    roles = {{layer.getX(), "x"},    {layer.getWQ(), "w_q"}, {layer.getWK(), "w_k"},
             {layer.getWV(), "w_v"}, {layer.getWO(), "w_o"}, {layer.getOutput(), "output"}};
  else if (isa<ScoresOp>(op))
    return "weight";
  for (auto [operand, role] : roles)
    if (operand == value)
      return role;
  return "scale";
}

StringRef attn::getRole(OpOperand &use) {
  if (!isStructuredOp(use.getOwner()))
    return getUnmappedRole(use.getOwner(), use.get());
  SmallVector<OperandSpec> specs = getOperandSpecs(use.getOwner());
  return use.getOperandNumber() < specs.size() ? specs[use.getOperandNumber()].name
                                               : getUnmappedRole(use.getOwner(), use.get());
}

StringRef attn::getRole(Value value) {
  StringRef found;
  SmallVector<Value> views = {value};
  while (!views.empty())
    for (OpOperand &use : views.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(user)) {
        views.push_back(user->getResult(0));
        continue;
      }
      if (!isOfDialect<AttnDialect>(user))
        continue;
      StringRef role = getRole(use);
      if (!found.empty() && found != role)
        return "";
      found = role;
    }
  return found;
}

StringRef attn::spellOutRole(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Case("q", "query")
      .Case("k", "key")
      .Case("v", "value")
      .Case("key_scale", "k_scale")
      .Case("value_scale", "v_scale")
      .Case("scale_value", "scale")
      .Default(name);
}
