//===- Differentiate.cpp - attn-differentiate -----------------------------===//
//
// Before: a function with attn.grad = ["q", "k", …]. After: NAME_forward, which also returns the saved values, and
// NAME_backward, from the arguments, the results and their cotangents to the requested gradients. This file handles one
// attention between reshapes; DifferentiateBody.cpp handles other functions.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Differentiate.h"
#include "Chain/Chain.h"
#include "SdpaGradient.h"
#include "attn/IR/Decompose.h"
#include "attn/IR/GradientAttrs.h"
#include "attn/IR/Roles.h"
#include "attn/IR/Words.h"
#include "attn/Support/Dialects.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"

namespace attn {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

class Differentiator {
public:
  explicit Differentiator(func::FuncOp function)
      : function(function), b(function.getContext()), name(function.getName().str()) {}

  LogicalResult run() {
    auto names = function->getAttrOfType<ArrayAttr>(kGradAttr);
    auto into = function->getAttrOfType<ArrayAttr>(kIntoAttr);
    function->removeAttr(kGradAttr);
    function->removeAttr(kIntoAttr);
    if (failed(checkFunction(names)))
      return failure();
    prepare();
    nameArguments();
    if (LinearOp linear = findOnlyLinear(function); linear && !into)
      return differentiateLinear(function, linear, names);
    if (!isOneAttention(names)) {
      if (into)
        return refuse() << "expected one attn.sdpa beside " << kIntoAttr << ", found a function of more";
      return differentiateBody(function, names);
    }
    if (failed(findAttention()) || failed(findResults()))
      return failure();
    FailureOr<WantedGradients> found = findWantedGradients(function, sdpa, names, into);
    if (failed(found))
      return failure();
    wanted = *found;
    returnRowStatistics();
    return buildBackward();
  }

private:
  InFlightDiagnostic refuse() { return refuseGradients(function); }

  //===--------------------------------------------------------------------===//
  // Analysis
  //===--------------------------------------------------------------------===//

  LogicalResult checkFunction(ArrayAttr list) {
    if (!function.getBody().hasOneBlock())
      return refuse() << "expected a function of one block";
    if (!list || list.empty())
      return refuse() << "expected " << kGradAttr << " to be an array of names or numbers of arguments, as [\"q\", "
                      << "\"k\"]";
    for (StringRef suffix : {"_forward", "_backward"})
      if (SymbolTable::lookupSymbolIn(function->getParentOp(), name + suffix.str()))
        return refuse() << "expected the name " << name << suffix << " to be free";
    return success();
  }

  /// Expands layers and fuses chains where possible. Gradients of additive scores are those of the chain.
  void prepare() {
    IRRewriter rewriter(function.getContext());
    expandLayers(rewriter, function);
    SmallVector<ApplyOp> chains;
    function.walk([&](ApplyOp apply) { chains.push_back(apply); });
    for (ApplyOp apply : chains) {
      std::string reason;
      std::optional<Chain> chain = matchChain(apply, reason);
      rewriter.setInsertionPoint(apply);
      if (chain && !chain->scores.getKind())
        (void)fuseChain(rewriter, apply);
    }
    (void)runRegionDCE(rewriter, function->getRegions()); // the remains of the chains
  }

  /// Both passes name an argument by its role in attention, where the user gave it no name.
  void nameArguments() {
    for (BlockArgument argument : function.getArguments())
      if (std::string own = getArgumentName(function, argument); own == getRole(argument))
        function.setArgAttr(argument.getArgNumber(), kNameAttr, b.getStringAttr(own));
  }

  /// True where results and wanted arguments are those of one attn.sdpa, up to reshapes.
  bool isOneAttention(ArrayAttr list) {
    auto isView = [](Operation *op) { return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::DimOp>(op); };
    auto found = llvm::to_vector(function.getOps<SdpaOp>());
    if (found.size() != 1 || llvm::any_of(function.getOps(), [&](Operation &op) {
          return isOfDialect<AttnDialect>(&op) && &op != found.front();
        }))
      return false;
    std::function<unsigned(Value)> countUses = [&](Value value) {
      unsigned uses = 0;
      for (Operation *user : value.getUsers())
        uses += isa<tensor::DimOp>(user)          ? 0
                : isView(user)                    ? countUses(user->getResult(0))
                : found.front()->isAncestor(user) ? 1
                                                  : 2;
      return uses;
    };
    auto isOfAttention = [&](Value result) { return getView(result).root.getDefiningOp() == found.front(); };
    return llvm::all_of(getReturn().getOperands(), isOfAttention) && llvm::all_of(list, [&](Attribute entry) {
             BlockArgument argument = findArgument(function, entry);
             return !argument || countUses(argument) < 2 || isRead(found.front().getScoreMod(), argument);
           });
  }

  LogicalResult findAttention() {
    sdpa = *function.getOps<SdpaOp>().begin();
    if (sdpa->getNumResults() == 0)
      return refuse() << "expected attn.sdpa on tensors, found memrefs";
    return success();
  }

  /// Finds the results of the function that are out, lse and its terms.
  LogicalResult findResults() {
    for (auto [i, result] : llvm::enumerate(getReturn().getOperands())) {
      int64_t &place = getPlace(getView(result).root);
      if (place >= 0)
        return refuse() << "expected each result of attn.sdpa to be returned once, found one as results " << place
                        << " and " << i;
      place = i;
    }
    if (outResult < 0)
      return refuse() << "expected the output of attn.sdpa to be returned";
    return success();
  }

  /// The function's result index of a result of sdpa; −1 where it is not returned.
  int64_t &getPlace(Value result) {
    return result == getRowResult(sdpa, RowResult::Lse)      ? lseResult
           : result == getRowResult(sdpa, RowResult::Max)    ? maxResult
           : result == getRowResult(sdpa, RowResult::LogSum) ? logSumResult
                                                             : outResult;
  }

  func::ReturnOp getReturn() { return cast<func::ReturnOp>(function.getBody().front().getTerminator()); }

  //===--------------------------------------------------------------------===//
  // Forward
  //===--------------------------------------------------------------------===//

  std::string getResultName(int64_t i, StringRef otherwise) {
    if (auto given = function.getResultAttrOfType<StringAttr>(i, kNameAttr))
      return given.str();
    return otherwise.str();
  }

  /// Adds the row maximum and log_sum to the results of sdpa and of the function.
  void returnRowStatistics() {
    sdpa = addRowStatistics(b, sdpa);
    for (auto [kind, resultName] : {std::pair(RowResult::Max, "max"), std::pair(RowResult::LogSum, "log_sum")}) {
      Value result = getRowResult(sdpa, kind);
      int64_t &place = getPlace(result);
      if (place >= 0)
        continue;
      place = getReturn().getNumOperands();
      getReturn()->insertOperands(place, result);
      SmallVector<Type> results(function.getResultTypes());
      results.push_back(result.getType());
      function.setType(b.getFunctionType(function.getArgumentTypes(), results));
      function.setResultAttr(place, kNameAttr, b.getStringAttr(resultName));
    }
  }

  //===--------------------------------------------------------------------===//
  // Backward
  //===--------------------------------------------------------------------===//

  /// True for a destination of a result: it is not an input of the backward pass.
  bool isDestination(BlockArgument argument) {
    return isa<RankedTensorType>(argument.getType()) && !argument.use_empty() &&
           llvm::all_of(argument.getUses(), [&](OpOperand &use) { return sdpa.isDpsInit(&use); });
  }

  /// Arguments that the forward and the backward pass share.
  SmallVector<BlockArgument> getKeptArguments() {
    return llvm::filter_to_vector(function.getArguments(),
                                  [&](BlockArgument argument) { return !isDestination(argument); });
  }

  /// The result indices of out, max and log_sum, and then of the results with cotangents: out, and lse if it is
  /// returned.
  SmallVector<int64_t> getSavedPlaces() {
    SmallVector<int64_t> places = {outResult, maxResult, logSumResult, outResult};
    if (lseResult >= 0)
      places.push_back(lseResult);
    return places;
  }

  /// The backward pass without its body. Its arguments are those of the forward pass, its results, and their
  /// cotangents.
  func::FuncOp createBackward(ArrayRef<BlockArgument> kept, ArrayRef<int64_t> places) {
    SmallVector<Type> types, results;
    SmallVector<std::string> names;
    for (BlockArgument argument : kept) {
      auto given = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr);
      types.push_back(argument.getType());
      names.push_back(given ? given.str() : "");
    }
    constexpr StringRef defaultNames[] = {"out", "max", "log_sum", "out", "lse"};
    for (auto [i, place] : llvm::enumerate(places)) {
      types.push_back(function.getResultTypes()[place]);
      names.push_back((i < 3 ? "" : "d") + getResultName(place, defaultNames[i]));
    }
    for (unsigned input : wanted.inputs)
      results.push_back(getGradientType(sdpa, wanted, input));
    // If one destination is read, all have an argument, in the order of the results.
    unsigned numRead = names.size();
    for (auto [i, input] : llvm::enumerate(wanted.inputs))
      if (wanted.hasDestination(input)) {
        types.push_back(results[i]);
        names.push_back(getGradientName(input));
      }

    b.setInsertionPointAfter(function);
    auto backward = func::FuncOp::create(b, function.getLoc(), name + "_backward", b.getFunctionType(types, results));
    backward.setVisibility(function.getVisibility());
    backward.addEntryBlock();
    for (auto [i, argumentName] : llvm::enumerate(names))
      if (!argumentName.empty())
        backward.setArgAttr(i, kNameAttr, b.getStringAttr(argumentName));
    copyStrides(function, kept, backward, kept.size() + 3);
    for (auto [i, input] : llvm::enumerate(wanted.inputs)) {
      backward.setResultAttr(i, kNameAttr, b.getStringAttr(getGradientName(input)));
      if (!wanted.hasDestination(input))
        continue;
      backward.removeArgAttr(numRead, kStridedAttr);
      wanted.destinations[input] = backward.getArgument(numRead++);
    }
    return backward;
  }

  std::string getGradientName(unsigned input) {
    return "d" + getArgumentName(function, cast<BlockArgument>(getView(getInput(sdpa, wanted, input)).root));
  }

  LogicalResult buildBackward() {
    SmallVector<BlockArgument> kept = getKeptArguments();
    SmallVector<int64_t> places = getSavedPlaces();
    func::FuncOp backward = createBackward(kept, places);
    Block *body = &backward.getBody().front();
    IRMapping mapping;
    for (auto [i, argument] : llvm::enumerate(kept))
      mapping.map(argument, body->getArgument(i));
    b.setInsertionPointToStart(body);
    if (failed(cloneInputs(mapping)))
      return failure();
    SmallVector<Value> values;
    for (unsigned i = kept.size(); i < kept.size() + places.size(); ++i) {
      Value value = body->getArgument(i);
      for (Operation *reshape : getView(getReturn().getOperand(places[i - kept.size()])).reshapes)
        value = undoReshape(b, reshape, value);
      values.push_back(value);
    }
    SdpaResults saved = {values[0], values[1], values[2], values[3], lseResult >= 0 ? values[4] : Value()};
    FailureOr<SmallVector<Value>> gradients =
        buildSdpaBackward(b, sdpa, wanted, mapping, saved, [&] { return refuse(); });
    if (failed(gradients))
      return failure();
    for (auto [input, gradient] : llvm::zip_equal(wanted.inputs, *gradients))
      for (Operation *reshape : getView(getInput(sdpa, wanted, input)).reshapes)
        gradient = undoReshape(b, reshape, gradient);
    func::ReturnOp::create(b, function.getLoc(), *gradients);
    IRRewriter rewriter(function.getContext());
    (void)runRegionDCE(rewriter, backward->getRegions());
    return makePair(function, backward, name);
  }

  /// Clones the computation of the operands of sdpa, except its destinations.
  LogicalResult cloneInputs(IRMapping &mapping) {
    for (Operation &op : function.getBody().front()) {
      if (&op == sdpa)
        break;
      bool isKnown = true;
      op.walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          isKnown &= mapping.contains(operand) || op.isAncestor(operand.getParentBlock()->getParentOp());
      });
      if (isKnown)
        b.clone(op, mapping);
    }
    for (OpOperand &operand : sdpa->getOpOperands())
      if (!sdpa.isDpsInit(&operand) && !mapping.contains(operand.get()))
        return refuse() << "expected operands of attn.sdpa that no destination of it is used for";
    return success();
  }

  func::FuncOp function;
  OpBuilder b;
  std::string name;
  SdpaOp sdpa;
  int64_t outResult = -1, lseResult = -1, maxResult = -1, logSumResult = -1;
  WantedGradients wanted;
};

struct DifferentiatePass : public attn::impl::DifferentiatePassBase<DifferentiatePass> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> marked;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(kGradAttr))
        marked.push_back(function);
    for (func::FuncOp function : marked)
      if (failed(Differentiator(function).run()))
        return signalPassFailure();
  }
};

} // namespace
