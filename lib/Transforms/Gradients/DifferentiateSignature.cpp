//===- DifferentiateSignature.cpp - arguments of a pair of functions ------===//
//
// What attn-differentiate needs to know of a function's arguments: the roots of views, their names, and the attributes
// that the backward function keeps.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Differentiate.h"
#include "attn/IR/GradientAttrs.h"
#include "attn/IR/Roles.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

View attn::getView(Value value) {
  View view = {value, {}};
  while (Operation *op = view.root.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      break;
    view.reshapes.push_back(op);
    view.root = op->getOperand(0);
  }
  return view;
}

Value attn::undoReshape(OpBuilder &b, Operation *reshape, Value value) {
  Type type = cast<RankedTensorType>(reshape->getOperand(0).getType()).clone(getElementTypeOrSelf(value));
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(reshape))
    return tensor::CollapseShapeOp::create(b, reshape->getLoc(), type, value, expand.getReassociationIndices());
  auto collapse = cast<tensor::CollapseShapeOp>(reshape);
  return tensor::ExpandShapeOp::create(b, reshape->getLoc(), type, value, collapse.getReassociationIndices());
}

bool attn::isRead(Region &region, Value tensor) {
  return isa<FloatType>(getElementTypeOrSelf(tensor.getType())) && isa<RankedTensorType>(tensor.getType()) &&
         llvm::any_of(tensor.getUsers(), [&](Operation *user) { return region.isAncestor(user->getParentRegion()); });
}

/// The only argument with this role in attention for which `isMeant` holds; null where there are none or several.
static BlockArgument findRole(func::FuncOp function, StringRef role, llvm::function_ref<bool(unsigned)> isMeant) {
  BlockArgument found;
  for (BlockArgument argument : function.getArguments()) {
    StringRef own = getRole(argument);
    if (own.empty() || spellOutRole(own) != spellOutRole(role) || !isMeant(argument.getArgNumber()))
      continue;
    if (found)
      return {};
    found = argument;
  }
  return found;
}

std::string attn::getArgumentName(func::FuncOp function, BlockArgument argument) {
  auto getGiven = [&](unsigned i) { return function.getArgAttrOfType<StringAttr>(i, kNameAttr); };
  if (auto given = getGiven(argument.getArgNumber()))
    return given.str();
  StringRef role = getRole(argument);
  bool isTaken = llvm::any_of(llvm::seq(function.getNumArguments()),
                              [&](unsigned i) { return getGiven(i) && getGiven(i).getValue() == role; });
  if (!role.empty() && role != "output" && role != "lse" && !isTaken &&
      findRole(function, role, [&](unsigned i) { return !getGiven(i); }) == argument)
    return role.str();
  return "argument" + std::to_string(argument.getArgNumber());
}

BlockArgument attn::findArgument(func::FuncOp function, Attribute entry) {
  if (auto number = dyn_cast<IntegerAttr>(entry)) {
    bool isInside = number.getInt() >= 0 && number.getInt() < function.getNumArguments();
    return isInside ? function.getArgument(number.getInt()) : BlockArgument();
  }
  auto text = dyn_cast<StringAttr>(entry);
  if (!text)
    return {};
  for (BlockArgument argument : function.getArguments())
    if (text.getValue() == getArgumentName(function, argument))
      return argument;
  return findRole(function, text.getValue(), [](unsigned) { return true; });
}

LogicalResult attn::makePair(func::FuncOp forward, func::FuncOp backward, StringRef name) {
  SymbolTable symbols(forward->getParentOp());
  if (failed(symbols.rename(forward, name.str() + "_forward")))
    return refuseGradients(forward) << "expected uses of its name that can be replaced";
  for (auto [each, kind] : {std::pair(forward, "forward"), std::pair(backward, "backward")}) {
    each->setAttr(kKindAttr, StringAttr::get(each.getContext(), kind));
    each->setAttr(kPairAttr, StringAttr::get(each.getContext(), name));
  }
  return success();
}

InFlightDiagnostic attn::refuseGradients(func::FuncOp function) {
  return function.emitOpError("cannot be differentiated: ");
}

void attn::copyStrides(func::FuncOp forward, ArrayRef<BlockArgument> kept, func::FuncOp backward,
                       unsigned firstCotangent) {
  Attribute strided;
  auto mark = [&](unsigned i) {
    if (isa<RankedTensorType>(backward.getArgumentTypes()[i]))
      backward.setArgAttr(i, kStridedAttr, strided);
  };
  for (auto [i, argument] : llvm::enumerate(kept))
    if (Attribute own = forward.getArgAttr(argument.getArgNumber(), kStridedAttr)) {
      strided = own;
      mark(i);
    }
  for (unsigned i = firstCotangent; strided && i < backward.getNumArguments(); ++i)
    mark(i);
}
