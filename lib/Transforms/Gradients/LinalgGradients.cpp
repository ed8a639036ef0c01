//===- LinalgGradients.cpp - the gradients of linalg ops and reshapes -----===//
//
// For y = g(x…), or y += g(x…) over the dimensions that y lacks, the gradient of an input x is the sum of dy ∂g/∂x over
// the dimensions that x lacks. For a matrix product y = x W these are dx = dy Wᵀ and dW = xᵀ dy.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Differentiate.h"
#include "attn/IR/Decompose.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

namespace {
/// The value that a linalg op adds to its result or writes into it.
struct Term {
  Value value;
  bool isAdded;
};
} // namespace

/// The term of the body; an error where the op is neither elementwise nor a sum.
static FailureOr<Term> findTerm(linalg::LinalgOp op, EmitError emitError) {
  Block &body = *op.getBlock();
  Value yielded = body.getTerminator()->getOperand(0), sum = body.getArguments().back();
  if (sum.use_empty() && op.getNumReductionLoops() == 0)
    return Term{yielded, false};
  auto add = yielded.getDefiningOp<arith::AddFOp>();
  if (add && sum.hasOneUse() && (add.getLhs() == sum || add.getRhs() == sum))
    return Term{add.getLhs() == sum ? add.getRhs() : add.getLhs(), true};
  return emitError() << "expected linalg ops that are elementwise or sums, found " << op->getName()
                     << " with another reduction, which has no rule";
}

/// The same op without unused inputs, so that later passes recognise a product.
static Value dropUnusedInputs(OpBuilder &b, linalg::GenericOp op) {
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  Block &body = *op.getBody();
  for (auto [i, input] : llvm::enumerate(op.getInputs()))
    if (!body.getArgument(i).use_empty()) {
      inputs.push_back(input);
      maps.push_back(op.getIndexingMapsArray()[i]);
    }
  if (inputs.size() == op.getInputs().size())
    return op.getResult(0);
  maps.push_back(op.getIndexingMapsArray().back());
  unsigned numInputs = op.getInputs().size();
  body.eraseArguments(
      [&](BlockArgument argument) { return argument.getArgNumber() < numInputs && argument.use_empty(); });
  auto smaller = linalg::GenericOp::create(b, op.getLoc(), op->getResultTypes(), inputs, op.getOutputs(), maps,
                                           op.getIteratorTypesArray());
  smaller.getRegion().takeBody(op.getRegion());
  op.erase();
  return smaller.getResult(0);
}

/// The sum of dy ∂g/∂x, with the shape of the input x.
static FailureOr<Value> differentiateInput(OpBuilder &b, linalg::LinalgOp op, Term term, OpOperand &input,
                                           Value cotangent, EmitError emitError) {
  Location loc = op.getLoc();
  AffineMap map = op.getMatchingIndexingMap(&input), outMap = op.getIndexingMapsArray().back();
  if (!map.isProjectedPermutation() || !outMap.isProjectedPermutation())
    return emitError() << "expected linalg ops whose maps are dimensions, each once, found " << op->getName()
                       << " with another, which has no rule";
  SmallVector<utils::IteratorType> iterators;
  for (unsigned i = 0; i < op.getNumLoops(); ++i)
    iterators.push_back(map.isFunctionOfDim(i) ? utils::IteratorType::parallel : utils::IteratorType::reduction);
  bool isSum = llvm::is_contained(iterators, utils::IteratorType::reduction);
  SmallVector<Value> inputs = op.getDpsInputs();
  inputs.push_back(cotangent);
  SmallVector<AffineMap> maps(llvm::drop_end(op.getIndexingMapsArray()));
  llvm::append_values(maps, outMap, map);
  Type type = getElementTypeOrSelf(cotangent.getType());
  Value output = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, input.get()), type);
  if (isSum)
    output = linalg::FillOp::create(b, loc, createFloatConstant(b, loc, type, 0), output).getResult(0);

  LogicalResult status = success();
  auto build = [&](OpBuilder &nested, Location at, ValueRange x) {
    IRMapping mapping;
    Block &body = *op.getBlock();
    for (auto [argument, element] : llvm::zip(body.getArguments().drop_back(), x.drop_back(2)))
      mapping.map(argument, element);
    SmallVector<Operation *> ops;
    for (Operation &each : body.without_terminator())
      if (llvm::all_of(each.getOperands(),
                       [&](Value operand) { return operand.getParentBlock() != &body || mapping.contains(operand); }))
        ops.push_back(nested.clone(each, mapping));
    Value element = x[input.getOperandNumber()];
    FailureOr<SmallVector<Value>> adjoints =
        buildAdjoints(nested, ops, element, mapping.lookupOrDefault(term.value), x.drop_back().back(), emitError);
    Value adjoint = succeeded(adjoints) ? adjoints->front() : Value();
    status = LogicalResult(adjoints);
    adjoint = adjoint ? convertFloat(nested, at, adjoint, type) : createFloatConstant(nested, at, type, 0);
    if (isSum)
      adjoint = arith::AddFOp::create(nested, at, x.back(), adjoint);
    auto yield = linalg::YieldOp::create(nested, at, adjoint);
    for (Operation &each : llvm::make_early_inc_range(llvm::reverse(*yield->getBlock())))
      if (isOpTriviallyDead(&each))
        each.erase();
  };
  auto gradient = linalg::GenericOp::create(b, loc, output.getType(), inputs, output, maps, iterators, build);
  if (failed(status))
    return failure();
  return dropUnusedInputs(b, gradient);
}

static LogicalResult differentiateLinalg(OpBuilder &b, linalg::LinalgOp op, GradientFlow &flow, EmitError emitError) {
  if (op.getNumDpsInits() != 1 || !op.hasPureTensorSemantics())
    return emitError() << "expected linalg ops with one result, found " << op->getName() << " with "
                       << op->getNumResults();
  FailureOr<Term> term = findTerm(op, emitError);
  if (failed(term))
    return failure();
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (!flow.wanted[input->getOperandNumber()])
      continue;
    FailureOr<Value> gradient = differentiateInput(b, op, *term, *input, flow.cotangents[0], emitError);
    if (failed(gradient))
      return failure();
    flow.gradients[input->getOperandNumber()] = *gradient;
  }
  if (unsigned init = op.getDpsInitOperand(0)->getOperandNumber(); term->isAdded && flow.wanted[init])
    flow.gradients[init] = flow.cotangents[0];
  return success();
}

LogicalResult attn::buildLinalgGradients(OpBuilder &builder, GradientFlow &flow, EmitError emitError) {
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(flow.op)) {
    flow.gradients[0] = undoReshape(builder, flow.op, flow.cotangents[0]);
    return success();
  }
  if (auto cast = dyn_cast<tensor::CastOp>(flow.op)) {
    Type type = mlir::cast<RankedTensorType>(cast.getSource().getType())
                    .clone(getElementTypeOrSelf(flow.cotangents[0].getType()));
    flow.gradients[0] = tensor::CastOp::create(builder, cast.getLoc(), type, flow.cotangents[0]);
    return success();
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(flow.op)) { // zeros around it
    Location loc = slice.getLoc();
    Type element = getElementTypeOrSelf(flow.cotangents[0].getType());
    Value empty =
        tensor::EmptyOp::create(builder, loc, tensor::getMixedSizes(builder, loc, slice.getSource()), element);
    Value zeros =
        linalg::FillOp::create(builder, loc, createFloatConstant(builder, loc, element, 0), empty).getResult(0);
    flow.gradients[0] = tensor::InsertSliceOp::create(builder, loc, flow.cotangents[0], zeros, slice.getMixedOffsets(),
                                                      slice.getMixedSizes(), slice.getMixedStrides());
    return success();
  }
  if (auto op = dyn_cast<linalg::LinalgOp>(flow.op))
    return differentiateLinalg(builder, op, flow, emitError);
  return emitError() << "expected ops of attention, linalg and reshapes between arguments that have gradients and the "
                        "results, found "
                     << flow.op->getName() << ", which has no rule";
}
