//===- LinearGradient.cpp - a function of one attn.linear -----------------===//
//
// Before: a function with attn.grad that is one attn.linear. After: it as NAME_forward, and NAME_backward, from its
// arguments and the cotangents of out and state to the gradients: an attn.linear_backward, whose gradients of query and
// key have the heads of value, and their sums over the heads that share one of key. Nothing is saved.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BackwardSignature.h"
#include "Differentiate.h"
#include "attn/IR/Attn.h"
#include "attn/IR/Decompose.h"
#include "attn/IR/GradientAttrs.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace attn;

/// Inputs of both ops, in front of the output and the cotangent.
static constexpr StringLiteral kInputs[] = {"query", "key", "value", "decay", "beta", "erase", "write"};

namespace {
/// A gradient as the op has it.
struct Gradient {
  AffineMap map;
  std::optional<unsigned> heads; ///< its dimension of heads of value, where the input has heads of key
  Value destination;
};

class LinearDifferentiator {
public:
  LinearDifferentiator(func::FuncOp function, LinearOp op)
      : function(function), op(op), b(function.getContext()), loc(op.getLoc()), maps(getMaps(op)) {
    for (auto [operand, spec] : llvm::zip(op->getOperands(), getOperandSpecs(op)))
      if (llvm::is_contained(kInputs, spec.name))
        inputs.push_back(operand);
  }

  LogicalResult run(ArrayAttr list) {
    auto results = function.front().getTerminator()->getOperands();
    if (results.size() != 2 || results[0] != op->getResult(0) || results[1] != op->getResult(1))
      return refuse() << "expected a function of an attn.linear to return its output and its state";
    for (Attribute entry : list) {
      BlockArgument argument = findArgument(function, entry);
      if (!argument || (!llvm::is_contained(inputs, argument) && argument != op.getState()))
        return refuse() << "expected gradients of operands of attn.linear, found " << entry;
      wanted.push_back(argument);
    }
    std::string name = function.getName().str();
    func::FuncOp backward = createBackward(name);
    Values gradients = buildBackward();
    SmallVector<Value> returned;
    for (BlockArgument argument : wanted)
      returned.push_back(argument == op.getState() ? gradients.back()
                                                   : gradients[llvm::find(inputs, argument) - inputs.begin()]);
    func::ReturnOp::create(b, loc, returned);
    IRRewriter rewriter(function.getContext());
    (void)runRegionDCE(rewriter, backward->getRegions());
    return makePair(function, backward, name);
  }

private:
  using Values = SmallVector<Value>;
  InFlightDiagnostic refuse() { return refuseGradients(function); }

  /// The arguments of the forward pass but destinations of out, then dout and dstate.
  func::FuncOp createBackward(StringRef name) {
    SmallVector<Type> types, results;
    SmallVector<std::string> names;
    SmallVector<BlockArgument> kept;
    for (BlockArgument argument : function.getArguments())
      if (!isDestination(argument)) {
        kept.push_back(argument);
        types.push_back(argument.getType());
        names.push_back(getArgumentName(function, argument));
      }
    const Value inits[] = {op.getOutput(), op.getState()};
    for (auto [i, init] : llvm::enumerate(inits)) {
      auto given = function.getResultAttrOfType<StringAttr>(i, kNameAttr);
      types.push_back(init.getType());
      names.push_back("d" + (given ? given.str() : i ? "state" : "out"));
    }
    for (BlockArgument argument : wanted)
      results.push_back(argument.getType());
    b.setInsertionPointAfter(function);
    auto backward =
        func::FuncOp::create(b, function.getLoc(), (name + "_backward").str(), b.getFunctionType(types, results));
    backward.setVisibility(function.getVisibility());
    Block *body = backward.addEntryBlock();
    for (auto [i, each] : llvm::enumerate(names))
      backward.setArgAttr(i, kNameAttr, b.getStringAttr(each));
    copyStrides(function, kept, backward, kept.size());
    for (auto [i, argument] : llvm::enumerate(wanted))
      backward.setResultAttr(i, kNameAttr, b.getStringAttr("d" + getArgumentName(function, argument)));
    for (auto [i, argument] : llvm::enumerate(kept))
      mapping.map(argument, body->getArgument(i));
    dout = body->getArgument(kept.size());
    dstate = body->getArgument(kept.size() + 1);
    b.setInsertionPointToStart(body);
    return backward;
  }

  Value in(Value value) { return mapping.lookupOrDefault(value); }

  /// The destination of a gradient: of heads of value, in the type of the accumulation where heads are summed.
  Gradient createGradient(Value input, AffineMap map) {
    Gradient gradient = {map, std::nullopt, {}};
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, in(input));
    Type element = getElementTypeOrSelf(input);
    unsigned token = getNumBatchDims(op);
    AffineExpr head = b.getAffineDimExpr(token ? token - 1 : 0);
    AffineMap values = maps[2];
    if (token > 0 && !llvm::is_contained(map.getResults(), head) && values.getResultPosition(head)) {
      SmallVector<AffineExpr> exprs(map.getResults());
      auto isShared = [](AffineExpr expr) { return !isa<AffineDimExpr>(expr); };
      auto *shared = llvm::find_if(exprs, isShared);
      if (shared != exprs.end()) {
        *shared = head;
        gradient.heads = shared - exprs.begin();
        gradient.map = AffineMap::get(map.getNumDims(), 0, exprs, b.getContext());
        sizes[*gradient.heads] = tensor::getMixedSize(b, loc, in(op.getValue()), *values.getResultPosition(head));
        element = getElementTypeOrSelf(op.getState());
      }
    }
    gradient.destination = tensor::EmptyOp::create(b, loc, sizes, element);
    return gradient;
  }

  Values buildBackward() {
    Values operands, destinations, results;
    SmallVector<AffineMap> all(ArrayRef(maps).take_front(inputs.size()));
    all.append({maps[inputs.size()], maps.back()}); // dout, state
    SmallVector<Gradient> gradients;
    for (auto [i, input] : llvm::enumerate(inputs)) {
      gradients.push_back(createGradient(input, maps[i]));
      destinations.push_back(gradients.back().destination);
      all.push_back(gradients.back().map);
    }
    all.push_back(maps.back());
    destinations.push_back(dstate);
    auto find = [&](Value input, bool isGradient) -> Value {
      if (!input)
        return {};
      return isGradient ? destinations[llvm::find(inputs, input) - inputs.begin()] : in(input);
    };
    auto backward = LinearBackwardOp::create(
        b, loc, TypeRange(ValueRange(destinations)), in(op.getQuery()), in(op.getKey()), in(op.getValue()),
        find(op.getDecay(), false), find(op.getBeta(), false), find(op.getErase(), false), find(op.getWrite(), false),
        dout, in(op.getState()), destinations[0], destinations[1], destinations[2], find(op.getDecay(), true),
        find(op.getBeta(), true), find(op.getErase(), true), find(op.getWrite(), true), dstate,
        op.getCuSeqlens() ? in(op.getCuSeqlens()) : Value(), op.getSlots() ? in(op.getSlots()) : Value(),
        op.getBeforeAttr(), op.getNormalizeAttr(), op.getScaleAttr(),
        getExplicitMaps(op) ? b.getAffineMapArrayAttr(all) : ArrayAttr());
    for (auto [input, gradient, result] : llvm::zip(inputs, gradients, backward->getResults()))
      results.push_back(gradient.heads ? sumHeads(result, *gradient.heads, input) : result);
    results.push_back(backward->getResults().back());
    return results;
  }

  /// Sums over the heads of value that share one of `input`: dimension `heads`, (key head, group).
  Value sumHeads(Value gradient, unsigned heads, Value input) {
    auto own = cast<RankedTensorType>(input.getType()), type = cast<RankedTensorType>(gradient.getType());
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, in(input)), split = sizes;
    // h floordiv G; with one head of key G is the number of heads.
    auto group = dyn_cast<AffineBinaryOpExpr>(maps[llvm::find(inputs, input) - inputs.begin()].getResult(heads));
    split.insert(split.begin() + heads + 1,
                 group ? OpFoldResult(b.getIndexAttr(cast<AffineConstantExpr>(group.getRHS()).getValue()))
                       : tensor::getMixedSize(b, loc, gradient, heads));
    SmallVector<int64_t> shape;
    for (OpFoldResult size : split)
      shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
    SmallVector<ReassociationIndices> reassociation;
    SmallVector<AffineExpr> exprs;
    for (int64_t i = 0, at = 0; i < type.getRank(); ++i) {
      reassociation.push_back({at++});
      exprs.push_back(b.getAffineDimExpr(at - 1));
      if (i == heads)
        reassociation.back().push_back(at++);
    }
    Value parts = tensor::ExpandShapeOp::create(b, loc, type.clone(shape), gradient, reassociation, split);
    Value zero = createFloatConstant(b, loc, type.getElementType(), 0);
    Value empty = tensor::EmptyOp::create(b, loc, sizes, type.getElementType());
    Value init = linalg::FillOp::create(b, loc, zero, empty).getResult(0);
    SmallVector<utils::IteratorType> iterators(shape.size(), utils::IteratorType::parallel);
    iterators[heads + 1] = utils::IteratorType::reduction;
    AffineMap maps[] = {b.getMultiDimIdentityMap(shape.size()), AffineMap::get(shape.size(), 0, exprs, b.getContext())};
    Value sum = linalg::GenericOp::create(b, loc, init.getType(), parts, init, maps, iterators,
                                          [](OpBuilder &nested, Location loc, ValueRange x) {
                                            Value sum = arith::AddFOp::create(nested, loc, x[1], x[0]);
                                            linalg::YieldOp::create(nested, loc, sum);
                                          })
                    .getResult(0);
    return sum.getType() == own ? sum : arith::TruncFOp::create(b, loc, own, sum).getResult();
  }

  func::FuncOp function;
  LinearOp op;
  OpBuilder b;
  Location loc;
  SmallVector<AffineMap> maps;
  Values inputs; ///< that have gradients, but for the state
  SmallVector<BlockArgument> wanted;
  IRMapping mapping;
  Value dout, dstate;
};
} // namespace

LinearOp attn::findOnlyLinear(func::FuncOp function) {
  LinearOp found;
  for (Operation &each : function.front().without_terminator()) {
    if (isa<tensor::EmptyOp, tensor::DimOp, arith::ConstantOp>(each))
      continue;
    if (found || !isa<LinearOp>(each) || each.getNumResults() == 0 ||
        !isa<BlockArgument>(cast<LinearOp>(each).getState()))
      return {};
    found = cast<LinearOp>(each);
  }
  return found;
}

LogicalResult attn::differentiateLinear(func::FuncOp function, LinearOp op, ArrayAttr wanted) {
  return LinearDifferentiator(function, op).run(wanted);
}
