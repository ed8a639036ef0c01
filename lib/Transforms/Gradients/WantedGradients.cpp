//===- WantedGradients.cpp - requested gradients of one attn.sdpa ---------===//
//
// Which inputs of an attn.sdpa attn.grad of its function names, which of their gradients attn.into accumulates into
// existing values, and what neither may request.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WantedGradients.h"
#include "Differentiate.h"
#include "attn/IR/GradientAttrs.h"

using namespace mlir;
using namespace attn;

Value attn::getInput(SdpaOp sdpa, const WantedGradients &wanted, unsigned input) {
  if (input >= NumSdpaInputs)
    return wanted.captures[input - NumSdpaInputs];
  switch (input) {
  case OfQuery: return sdpa.getQuery();
  case OfKey: return sdpa.getKey();
  case OfValue: return sdpa.getValue();
  case OfBias: return sdpa.getBias();
  case OfSink: return sdpa.getSink();
  case OfScale: return sdpa.getScaleValue();
  case OfKeyScale: return sdpa.getKeyScale();
  default: return sdpa.getValueScale();
  }
}

Type attn::getGradientType(SdpaOp sdpa, const WantedGradients &wanted, unsigned input) {
  if (input == OfScale)
    return RankedTensorType::get({}, sdpa.getScaleValue().getType());
  auto type = cast<RankedTensorType>(getView(getInput(sdpa, wanted, input)).root.getType());
  return input < NumSdpaInputs && !wanted.inSumType
             ? type
             : type.clone(getAccumulationType(getElementTypeOrSelf(sdpa.getQuery().getType())));
}

namespace {

/// Reads the two attributes of a function.
class Reader {
public:
  Reader(func::FuncOp function, SdpaOp sdpa) : function(function), sdpa(sdpa) {
    wanted.inSumType = getElementTypeOrSelf(sdpa.getOutput()) != getElementTypeOrSelf(sdpa.getQuery());
  }

  FailureOr<WantedGradients> run(ArrayAttr grad, ArrayAttr into) {
    if (failed(findWanted(grad)) || failed(refuseOthers()) || failed(findAdded(into)))
      return failure();
    return wanted;
  }

private:
  InFlightDiagnostic refuse() { return refuseGradients(function); }

  std::string getName(BlockArgument argument) { return getArgumentName(function, argument); }

  /// The arguments with a gradient, as "q, k, v".
  std::string joinNames() {
    SmallVector<std::string> names;
    for (unsigned i = 0; i < NumSdpaInputs; ++i)
      if (Value input = getInput(sdpa, wanted, i))
        if (auto argument = dyn_cast<BlockArgument>(getView(input).root))
          names.push_back(getName(argument));
    for (BlockArgument argument : function.getArguments())
      if (isRead(sdpa.getScoreMod(), argument) && !llvm::is_contained(names, getName(argument)))
        names.push_back(getName(argument));
    return llvm::join(names, ", ");
  }

  LogicalResult findWanted(ArrayAttr list) {
    for (Attribute entry : list) {
      BlockArgument argument = findArgument(function, entry);
      if (!argument)
        return refuse() << "expected one of " << joinNames() << ", found " << entry << kNameRule;
      SmallVector<unsigned> inputs;
      for (unsigned i = 0; i < NumSdpaInputs; ++i)
        if (Value input = getInput(sdpa, wanted, i); input && getView(input).root == argument)
          inputs.push_back(i);
      if (inputs.empty() && isRead(sdpa.getScoreMod(), argument)) {
        inputs.push_back(NumSdpaInputs + wanted.captures.size());
        wanted.captures.push_back(argument);
      }
      if (inputs.empty())
        return refuse() << "expected one of " << joinNames() << ", found " << getName(argument)
                        << ", which has no gradient";
      if (wanted.contains(inputs.front()))
        return refuse() << "expected each argument once, found " << getName(argument) << " twice";
      wanted.inputs.push_back(inputs.front());
    }
    return success();
  }

  /// Refuses features of attn.sdpa that attn.sdpa_backward lacks.
  LogicalResult refuseOthers() {
    if (sdpa.getAccumulate())
      return refuse() << "expected attn.sdpa without accumulate, whose old outputs have gradients of their own; take "
                      << "those of the new keys from out and lse of whole rows";
    if (sdpa.getScoreWeight())
      return refuse() << "expected scores that are products, found score_weight";
    for (unsigned input : wanted.inputs)
      if (isQuantised(getElementTypeOrSelf(getInput(sdpa, wanted, input).getType())))
        return refuse() << "expected gradients of floats, found that of "
                        << getElementTypeOrSelf(getInput(sdpa, wanted, input).getType()) << " asked for; leave it out";
    return success();
  }

  /// Finds the gradients that are added to existing values.
  LogicalResult findAdded(ArrayAttr into) {
    for (Attribute entry : into ? into.getValue() : ArrayRef<Attribute>()) {
      BlockArgument argument = findArgument(function, entry);
      const unsigned *input = llvm::find_if(
          wanted.inputs, [&](unsigned i) { return argument && i <= OfValue && getInput(sdpa, wanted, i) == argument; });
      if (input == wanted.inputs.end())
        return refuse() << "expected " << kIntoAttr << " to name arguments of " << kGradAttr
                        << " that are query, key or value of attn.sdpa, found " << entry;
      wanted.isAdded[*input] = true;
      Type sum = getAccumulationType(getElementTypeOrSelf(sdpa.getQuery().getType()));
      if (Type type = getElementTypeOrSelf(getGradientType(sdpa, wanted, *input)); type != sum)
        return refuse() << "expected gradients that are added to to have element type " << sum << ", found " << type
                        << "; let attn.sdpa return " << sum;
    }
    if (into && wanted.contains(OfScale))
      return refuse() << "expected no gradient of a scale beside " << kIntoAttr << "; leave one out";
    return success();
  }

  func::FuncOp function;
  SdpaOp sdpa;
  WantedGradients wanted;
};

} // namespace

FailureOr<WantedGradients> attn::findWantedGradients(func::FuncOp function, SdpaOp sdpa, ArrayAttr grad,
                                                     ArrayAttr into) {
  return Reader(function, sdpa).run(grad, into);
}
