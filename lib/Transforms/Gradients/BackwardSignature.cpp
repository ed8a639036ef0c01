//===- BackwardSignature.cpp - arguments of a backward pass ---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BackwardSignature.h"
#include "Differentiate.h"
#include "attn/IR/Decompose.h"
#include "attn/IR/GradientAttrs.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace attn;

bool attn::isDestination(BlockArgument argument) {
  return isa<RankedTensorType>(argument.getType()) && !argument.use_empty() &&
         llvm::all_of(argument.getUses(), [](OpOperand &use) { return isUnreadInit(use); });
}

/// True for matrix products: their results are as large as their inputs, and costly to recompute.
static bool isProduct(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && linalgOp.getNumReductionLoops() > 0 && linalgOp.getNumDpsInputs() > 1;
}

static StringRef getStem(Value value) {
  auto result = dyn_cast<OpResult>(value);
  if (result && isa<SoftmaxOp>(result.getOwner()) && result.getResultNumber() == 1)
    return "lse";
  if (auto sdpa = value.getDefiningOp<SdpaOp>(); sdpa && result.getResultNumber() > 0)
    return getOperandSpecs(sdpa)[sdpa.getDpsInitOperand(result.getResultNumber())->getOperandNumber()].name;
  return result && isa<SoftmaxOp, DropoutOp>(result.getOwner()) ? "weights" : "out";
}

std::string BackwardSignature::makeUnique(std::string stem) {
  std::string unique = stem;
  for (unsigned i = 2; !taken.insert(unique).second; ++i)
    unique = stem + std::to_string(i);
  return unique;
}

void BackwardSignature::add(Type type, StringRef name) {
  types.push_back(type);
  names.push_back(name.str());
}

bool BackwardSignature::hasCotangent(Value result) const {
  Value root = getView(result).root;
  auto sdpa = root.getDefiningOp<SdpaOp>();
  return active.contains(result) &&
         !(sdpa && (root == getRowResult(sdpa, RowResult::Max) || root == getRowResult(sdpa, RowResult::LogSum)));
}

void BackwardSignature::nameValues(OpBuilder &b) {
  for (BlockArgument argument : function.getArguments()) {
    std::string unique = makeUnique(getArgumentName(function, argument));
    function.setArgAttr(argument.getArgNumber(), kNameAttr, b.getStringAttr(unique));
  }
  for (auto [i, result] : llvm::enumerate(getResults())) {
    auto given = function.getResultAttrOfType<StringAttr>(i, kNameAttr);
    std::string unique = makeUnique(given ? given.str() : getStem(getView(result).root).str());
    function.setResultAttr(i, kNameAttr, b.getStringAttr(unique));
    resultNames.push_back(unique);
  }
}

void BackwardSignature::addArguments() {
  for (BlockArgument argument : function.getArguments())
    if (!isDestination(argument)) {
      kept.push_back(argument);
      add(argument.getType(), getArgumentName(function, argument));
    }
  llvm::DenseSet<Value> known;
  for (auto [result, resultName] : llvm::zip_equal(getResults(), resultNames)) {
    if (known.insert(getView(result).root).second)
      saved.push_back({result, unsigned(types.size())});
    add(result.getType(), resultName);
  }
  numReturned = saved.size();
  for (Operation &op : function.front().without_terminator())
    for (OpResult result : op.getResults())
      if ((isa<SdpaOp>(op) || isProduct(&op)) && active.contains(result) && known.insert(result).second) {
        saved.push_back({result, unsigned(types.size())});
        bool isRowResult = isa<SdpaOp>(op) && result.getResultNumber() > 0;
        add(result.getType(), makeUnique(isRowResult ? getStem(result).str() : "saved"));
      }
  firstCotangent = types.size();
  for (auto [result, resultName] : llvm::zip_equal(getResults(), resultNames))
    if (hasCotangent(result))
      add(result.getType(), makeUnique("d" + resultName));
}

func::FuncOp BackwardSignature::createBackward(OpBuilder &b, ArrayRef<BlockArgument> wanted) {
  nameValues(b);
  addArguments();
  SmallVector<Type> results = llvm::map_to_vector(wanted, [](BlockArgument each) { return each.getType(); });
  b.setInsertionPointAfter(function);
  auto backward = func::FuncOp::create(b, function.getLoc(), function.getName().str() + "_backward",
                                       b.getFunctionType(types, results));
  backward.setVisibility(function.getVisibility());
  backward.addEntryBlock();
  for (auto [i, argumentName] : llvm::enumerate(names))
    backward.setArgAttr(i, kNameAttr, b.getStringAttr(argumentName));
  copyStrides(function, kept, backward, firstCotangent);
  for (auto [i, argument] : llvm::enumerate(wanted))
    backward.setResultAttr(i, kNameAttr, b.getStringAttr(makeUnique("d" + getArgumentName(function, argument))));
  return backward;
}
