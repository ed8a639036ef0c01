//===- DifferentiateBody.cpp - reverse mode over a function ---------------===//
//
// The backward pass of a function that is more than one attn.sdpa: projections, chains that do not fuse, other linalg
// around attention. It recomputes the values that it needs, except those that the forward pass returns: its results,
// and the results of attn.sdpa and matrix products. Then each op, from the last to the first, adds to the adjoints of
// its operands by its rule.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BackwardSignature.h"
#include "Differentiate.h"
#include "SdpaGradient.h"
#include "attn/IR/Decompose.h"
#include "attn/IR/GradientAttrs.h"
#include "attn/Support/Dialects.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace attn;

namespace {

bool isFloatTensor(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType()) && !isQuantised(type.getElementType());
}

class BodyDifferentiator {
public:
  BodyDifferentiator(func::FuncOp function)
      : function(function), b(function.getContext()), signature(function, active) {}

  LogicalResult run(ArrayAttr list) {
    if (failed(findWanted(list)) || failed(checkResults()))
      return failure();
    findActive();
    returnRowStatistics();
    std::string name = function.getName().str();
    backward = signature.createBackward(b, wanted);
    cloneForward();
    if (failed(propagate()) || failed(returnGradients()))
      return failure();
    dropUnused();
    return makePair(function, backward, name);
  }

private:
  InFlightDiagnostic refuse() { return refuseGradients(function); }
  Block &getBody() { return function.getBody().front(); }
  func::ReturnOp getReturn() { return cast<func::ReturnOp>(getBody().getTerminator()); }

  //===--------------------------------------------------------------------===//
  // Analysis
  //===--------------------------------------------------------------------===//

  LogicalResult findWanted(ArrayAttr list) {
    for (Attribute entry : list) {
      BlockArgument argument = findArgument(function, entry);
      if (!argument) {
        auto names = llvm::map_range(function.getArguments(),
                                     [&](BlockArgument each) { return getArgumentName(function, each); });
        return refuse() << "expected one of " << llvm::join(names, ", ") << ", found " << entry << kNameRule;
      }
      if (!isFloatTensor(argument))
        return refuse() << "expected gradients of tensors of floats, found that of "
                        << getArgumentName(function, argument) << " asked for, of type " << argument.getType();
      if (llvm::is_contained(wanted, argument))
        return refuse() << "expected each argument once, found " << getArgumentName(function, argument) << " twice";
      wanted.push_back(argument);
    }
    return success();
  }

  LogicalResult checkResults() {
    for (auto [i, result] : llvm::enumerate(getReturn().getOperands()))
      if (isa<BlockArgument>(getView(result).root))
        return refuse() << "expected results that are computed, found an argument as result " << i;
    for (BlockArgument argument : function.getArguments())
      if (auto type = dyn_cast<RankedTensorType>(argument.getType());
          type && !type.hasStaticShape() && isDestination(argument))
        return refuse() << "expected destinations of static sizes, found " << getArgumentName(function, argument)
                        << " of type " << type << "; write tensor.empty with its sizes";
    return success();
  }

  /// Finds the float tensors that depend on the wanted arguments.
  void findActive() {
    active.insert(wanted.begin(), wanted.end());
    for (Operation &op : getBody().without_terminator()) {
      bool isActive = false;
      op.walk([&](Operation *inner) {
        isActive |= llvm::any_of(inner->getOpOperands(), [&](OpOperand &use) {
          return active.contains(use.get()) && !isa<tensor::DimOp>(inner) && !isUnreadInit(use);
        });
      });
      for (Value result : op.getResults())
        if (isActive && isFloatTensor(result))
          active.insert(result);
    }
  }

  /// Rules need the maxima and sums of an attention, and lse of a softmax whose sinks have a gradient.
  void returnRowStatistics() {
    for (SdpaOp sdpa : llvm::make_early_inc_range(getBody().getOps<SdpaOp>()))
      if (active.contains(sdpa->getResult(0)))
        active.insert_range(addRowStatistics(b, sdpa)->getResults());
    for (SoftmaxOp softmax : llvm::make_early_inc_range(getBody().getOps<SoftmaxOp>()))
      if (softmax.getSink() && active.contains(softmax.getSink()) && !softmax.getLse())
        active.insert_range(addLse(b, softmax)->getResults());
  }

  //===--------------------------------------------------------------------===//
  // The backward pass
  //===--------------------------------------------------------------------===//

  /// Clones the ops of the forward pass; unused ones are removed at the end.
  void cloneForward() {
    b.setInsertionPointToStart(&backward.getBody().front());
    for (auto [i, argument] : llvm::enumerate(signature.getKept()))
      mapping.map(argument, backward.getArgument(i));
    for (BlockArgument argument : function.getArguments())
      if (!mapping.contains(argument)) {
        auto type = cast<RankedTensorType>(argument.getType());
        mapping.map(argument, tensor::EmptyOp::create(b, argument.getLoc(), type, ValueRange()).getResult());
      }
    DenseMap<Value, Value> given;
    for (SavedValue each : signature.getSaved()) {
      View view = getView(each.value);
      Value value = backward.getArgument(each.place);
      for (Operation *reshape : view.reshapes)
        value = undoReshape(b, reshape, value);
      given[view.root] = value;
    }
    for (Operation &op : getBody().without_terminator()) {
      clones[&op] = b.clone(op, mapping);
      for (Value result : op.getResults())
        if (Value value = given.lookup(result))
          mapping.map(result, value);
    }
  }

  /// Widens to the accumulation type.
  Value widen(Location loc, Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    Type wide = getAccumulationType(type.getElementType());
    return wide == type.getElementType() ? value : arith::ExtFOp::create(b, loc, type.clone(wide), value).getResult();
  }

  void addAdjoint(Location loc, Value value, Value part) {
    part = widen(loc, part);
    Value &sum = adjoints[value];
    sum = sum ? arith::AddFOp::create(b, loc, sum, part).getResult() : part;
  }

  LogicalResult propagate() {
    unsigned place = signature.getFirstCotangent();
    for (Value result : getReturn().getOperands())
      if (signature.hasCotangent(result))
        addAdjoint(function.getLoc(), result, backward.getArgument(place++));
    for (Operation &op : llvm::reverse(getBody().without_terminator())) {
      if (llvm::none_of(op.getResults(), [&](Value result) { return adjoints.lookup(result); }))
        continue;
      GradientFlow flow;
      flow.op = clones[&op];
      for (Value result : op.getResults()) {
        flow.results.push_back(mapping.lookup(result));
        flow.cotangents.push_back(adjoints.lookup(result));
      }
      for (OpOperand &use : op.getOpOperands())
        flow.wanted.push_back(active.contains(use.get()));
      flow.gradients.resize(op.getNumOperands());
      if (failed(isa<SdpaOp>(op) ? buildSdpaGradients(cast<SdpaOp>(op), flow) : buildGradients(&op, flow)))
        return failure();
      for (auto [operand, gradient] : llvm::zip_equal(op.getOperands(), flow.gradients))
        if (gradient && active.contains(operand))
          addAdjoint(op.getLoc(), operand, gradient);
    }
    return success();
  }

  LogicalResult buildGradients(Operation *op, GradientFlow &flow) {
    auto emitError = [&] { return refuse(); };
    for (Region &region : op->getRegions())
      for (BlockArgument argument : wanted)
        if (isOfDialect<AttnDialect>(op) && isRead(region, argument))
          return refuse() << "expected no gradient of what a region reads where its chain does not fuse, found that of "
                          << getArgumentName(function, argument);
    return isOfDialect<AttnDialect>(op) ? buildChainGradients(b, flow, emitError)
                                        : buildLinalgGradients(b, flow, emitError);
  }

  LogicalResult buildSdpaGradients(SdpaOp op, GradientFlow &flow) {
    if (op.getScoreWeight())
      return refuse() << "expected scores that are products, found score_weight";
    Location loc = op.getLoc();
    auto sdpa = cast<SdpaOp>(flow.op);
    WantedGradients asked;
    for (unsigned i = 0; i < NumSdpaInputs; ++i)
      if (Value input = getInput(op, asked, i); input && active.contains(input))
        asked.inputs.push_back(i);
    SmallVector<Value> captured;
    for (BlockArgument argument : wanted)
      if (!op.getScoreMod().empty() && isRead(op.getScoreMod(), argument)) {
        asked.inputs.push_back(NumSdpaInputs + captured.size());
        asked.captures.push_back(mapping.lookup(argument));
        captured.push_back(argument);
      }
    IRMapping same;
    for (Value operand : sdpa->getOperands())
      same.map(operand, operand);
    for (Value capture : asked.captures)
      same.map(capture, capture);
    auto narrow = [&](Value wide, Value like) -> Value {
      if (!wide)
        return createZeros(loc, like);
      return wide.getType() == like.getType() ? wide
                                              : arith::TruncFOp::create(b, loc, like.getType(), wide).getResult();
    };
    auto find = [&](ArrayRef<Value> values, RowResult kind) {
      Value result = getRowResult(op, kind);
      return result ? values[cast<OpResult>(result).getResultNumber()] : Value();
    };
    for (RowResult kind : {RowResult::Max, RowResult::LogSum})
      if (find(flow.cotangents, kind))
        return refuse() << "expected no gradient through max and log_sum of attn.sdpa, which have none";
    SdpaResults results = {flow.results[0], find(flow.results, RowResult::Max), find(flow.results, RowResult::LogSum),
                           narrow(flow.cotangents[0], flow.results[0]), find(flow.cotangents, RowResult::Lse)};
    FailureOr<SmallVector<Value>> gradients =
        buildSdpaBackward(b, sdpa, asked, same, results, [&] { return refuse(); });
    if (failed(gradients))
      return failure();
    for (auto [input, gradient] : llvm::zip_equal(asked.inputs, *gradients)) {
      if (input >= NumSdpaInputs)
        addAdjoint(loc, captured[input - NumSdpaInputs], gradient);
      else
        addAdjoint(loc, getInput(op, asked, input), gradient);
    }
    return success();
  }

  Value createZeros(Location loc, Value like) {
    Value empty = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, like), getElementTypeOrSelf(like));
    Value zero = createFloatConstant(b, loc, getElementTypeOrSelf(like), 0);
    return linalg::FillOp::create(b, loc, zero, empty).getResult(0);
  }

  LogicalResult returnGradients() {
    SmallVector<Value> gradients;
    for (BlockArgument argument : wanted) {
      Value gradient = adjoints.lookup(argument);
      if (!gradient)
        return refuse() << "expected arguments that results depend on, found " << getArgumentName(function, argument)
                        << ", which has no gradient";
      if (gradient.getType() != argument.getType())
        gradient = arith::TruncFOp::create(b, function.getLoc(), argument.getType(), gradient);
      gradients.push_back(gradient);
    }
    func::ReturnOp::create(b, function.getLoc(), gradients);
    return success();
  }

  /// Removes unused ops, and unused saved values from the arguments; the forward pass returns the others.
  void dropUnused() {
    IRRewriter rewriter(function.getContext());
    (void)runRegionDCE(rewriter, backward->getRegions());
    BitVector unused(backward.getNumArguments());
    SmallVector<Type> results(function.getResultTypes());
    for (SavedValue each : signature.getSavedBesideResults()) {
      if (backward.getArgument(each.place).use_empty()) {
        unused.set(each.place);
        continue;
      }
      results.push_back(each.value.getType());
      unsigned last = getReturn().getNumOperands();
      getReturn()->insertOperands(last, each.value);
      function.setType(b.getFunctionType(function.getArgumentTypes(), results));
      function.setResultAttr(last, kNameAttr, b.getStringAttr(signature.getName(each.place)));
    }
    (void)backward.eraseArguments(unused);
  }

  func::FuncOp function, backward;
  OpBuilder b;
  SmallVector<BlockArgument> wanted;
  llvm::SetVector<Value> active; ///< in the forward pass
  BackwardSignature signature;
  IRMapping mapping; ///< from values of the forward pass to those of the backward pass
  DenseMap<Operation *, Operation *> clones;
  DenseMap<Value, Value> adjoints; ///< of values of the forward pass
};

} // namespace

LogicalResult attn::differentiateBody(func::FuncOp function, ArrayAttr wanted) {
  return BodyDifferentiator(function).run(wanted);
}
