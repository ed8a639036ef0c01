//===- ElementLoops.cpp - elementwise ops, one element per thread ---------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "GridLoops.h"
#include "attn/Conversion/AppendRows.h"
#include "attn/Support/Dialects.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace attn;

/// Threads that share the terms of an element, and the most elements for which they do.
static constexpr int64_t kPartialSums = 256, kFewElements = 4096;

namespace {
/// A linalg.generic whose elements are computed one by one.
struct ElementCode {
  mutable linalg::GenericOp op;
  SmallVector<OpFoldResult> sizes; ///< of the loops

  ElementCode(OpBuilder &b, linalg::GenericOp op)
      : op(op), sizes(llvm::map_to_vector(cast<linalg::LinalgOp>(op.getOperation()).createLoopRanges(b, op.getLoc()),
                                          [](const Range &range) { return range.size; })) {}

  SmallVector<OpFoldResult> getSizes(utils::IteratorType kind) const {
    SmallVector<OpFoldResult> found;
    for (auto [size, iterator] : llvm::zip_equal(sizes, op.getIteratorTypesArray()))
      if (iterator == kind)
        found.push_back(size);
    return found;
  }

  /// Indices of all loops, in their order, from those of the parallel and the reduction loops.
  SmallVector<Value> join(ValueRange parallel, ValueRange reduced) const {
    SmallVector<Value> all;
    for (utils::IteratorType iterator : op.getIteratorTypesArray()) {
      ValueRange &from = iterator == utils::IteratorType::parallel ? parallel : reduced;
      all.push_back(from.front());
      from = from.drop_front();
    }
    return all;
  }

  SmallVector<Value> getPosition(OpBuilder &b, OpOperand &operand, ArrayRef<Value> at) const {
    SmallVector<Value> position;
    for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults())
      position.push_back(
          affine::makeComposedAffineApply(b, op->getLoc(), AffineMap::get(at.size(), 0, expr), getAsOpFoldResult(at)));
    return position;
  }

  /// The results of the body at a position. `outputs` are the values of the outputs; they are loaded where it is empty.
  SmallVector<Value> evaluate(OpBuilder &b, ArrayRef<Value> at, ValueRange outputs) const {
    IRMapping mapping;
    for (OpOperand &operand : op->getOpOperands()) {
      BlockArgument argument = op.getMatchingBlockArgument(&operand);
      if (op.isDpsInit(&operand) && !outputs.empty())
        mapping.map(argument, outputs[operand.getOperandNumber() - op.getNumDpsInputs()]);
      else if (!isa<MemRefType>(operand.get().getType()))
        mapping.map(argument, operand.get());
      else if (!argument.use_empty())
        mapping.map(argument, memref::LoadOp::create(b, op->getLoc(), operand.get(), getPosition(b, operand, at)));
    }
    for (Operation &inner : op.getBody()->without_terminator()) {
      if (auto index = dyn_cast<linalg::IndexOp>(inner))
        mapping.map(index.getResult(), at[index.getDim()]);
      else
        b.clone(inner, mapping);
    }
    return llvm::map_to_vector(op.getBody()->getTerminator()->getOperands(),
                               [&](Value value) { return mapping.lookupOrDefault(value); });
  }

  SmallVector<Value> load(OpBuilder &b, ArrayRef<Value> at) const {
    return llvm::map_to_vector(op.getDpsInitsMutable(), [&](OpOperand &init) -> Value {
      return memref::LoadOp::create(b, op->getLoc(), init.get(), getPosition(b, init, at));
    });
  }

  void store(OpBuilder &b, ArrayRef<Value> at, ValueRange values) const {
    for (auto [init, value] : llvm::zip_equal(op.getDpsInitsMutable(), values))
      memref::StoreOp::create(b, op->getLoc(), value, init.get(), getPosition(b, init, at));
  }

  /// True where the body adds terms to its only output or subtracts them, and some input is indexed by all loops: no
  /// matrix product.
  bool isSum() const {
    bool isOfElements = llvm::any_of(
        op.getDpsInputOperands(), [&](OpOperand *input) { return op.getMatchingIndexingMap(input).isPermutation(); });
    if (op.getNumDpsInits() != 1 || !isOfElements)
      return false;
    Value output = op.getRegionOutputArgs()[0], yielded = op.getBody()->getTerminator()->getOperand(0);
    Operation *sum = yielded.getDefiningOp();
    return output.hasOneUse() && isa_and_present<arith::AddFOp, arith::SubFOp>(sum) &&
           (sum->getOperand(0) == output || (isa<arith::AddFOp>(sum) && sum->getOperand(1) == output));
  }
};
} // namespace

/// A loop from `first` on, of one thread; `body` returns the loop-carried values.
static SmallVector<Value> createRounds(OpBuilder &b, Location loc, Value first, Value end, Value step, ValueRange inits,
                                       function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, loc, first, end, step, inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  scf::YieldOp::create(b, loc, next);
  return SmallVector<Value>(loop.getResults());
}

/// A sum with one thread per element. Where few elements have many terms, each thread adds every kPartialSums-th term,
/// and a second loop adds the partial sums. The order is always the same.
static void lowerReduction(OpBuilder &b, const ElementCode &code) {
  Location loc = code.op->getLoc();
  SmallVector<OpFoldResult> parallel = code.getSizes(utils::IteratorType::parallel),
                            reduced = code.getSizes(utils::IteratorType::reduction);
  auto getNumber = [](ArrayRef<OpFoldResult> sizes) {
    int64_t number = 1;
    for (OpFoldResult size : sizes)
      number = ShapedType::isDynamic(number) || !getConstantIntValue(size) ? ShapedType::kDynamic
                                                                           : number * *getConstantIntValue(size);
    return number;
  };
  int64_t elements = getNumber(parallel), terms = getNumber(reduced);
  bool isFew = !ShapedType::isDynamic(elements) && elements <= kFewElements;
  bool isSplit = isFew && (ShapedType::isDynamic(terms) || terms > kPartialSums);
  auto constant = [&](int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); };
  // Sum of the terms `first`, `first` + `step`, … of an element.
  auto sum = [&](ValueRange element, Value first, Value step, ValueRange inits) {
    Value count = constant(1);
    SmallVector<Value> sizes = getValueOrCreateConstantIndexOp(b, loc, reduced);
    for (Value size : sizes)
      count = b.createOrFold<arith::MulIOp>(loc, count, size);
    return createRounds(b, loc, first, count, step, inits, [&](Value term, ValueRange carried) {
      SmallVector<Value> at(sizes.size());
      for (size_t i = sizes.size(); i-- > 0;) {
        at[i] = i == 0 ? term : b.createOrFold<arith::RemUIOp>(loc, term, sizes[i]);
        term = i == 0 ? term : b.createOrFold<arith::DivUIOp>(loc, term, sizes[i]);
      }
      return code.evaluate(b, code.join(element, at), carried);
    });
  };
  SmallVector<OpFoldResult> bounds = parallel;
  Value partials;
  if (isSplit) {
    SmallVector<int64_t> shape =
        llvm::map_to_vector(parallel, [](OpFoldResult size) { return *getConstantIntValue(size); });
    shape.push_back(kPartialSums);
    Type type = getElementTypeOrSelf(code.op->getOperands().back().getType());
    partials = memref::AllocOp::create(b, loc, MemRefType::get(shape, type));
    bounds.push_back(b.getIndexAttr(kPartialSums));
    OpBuilder::InsertionGuard guard(b);
    auto loop = scf::ForallOp::create(b, loc, bounds, ValueRange(), std::nullopt);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> at(loop.getInductionVars());
    Value zero = arith::ConstantOp::create(b, loc, b.getFloatAttr(type, 0));
    Value partial = sum(ArrayRef(at).drop_back(), at.back(), constant(kPartialSums), zero).front();
    memref::StoreOp::create(b, loc, partial, partials, at);
    bounds.pop_back();
  }
  if (bounds.empty())
    bounds.push_back(b.getIndexAttr(1));
  OpBuilder::InsertionGuard guard(b);
  auto loop = scf::ForallOp::create(b, loc, bounds, ValueRange(), std::nullopt);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> element(ArrayRef<Value>(SmallVector<Value>(loop.getInductionVars())).take_front(parallel.size()));
  SmallVector<Value> at = code.join(element, SmallVector<Value>(reduced.size(), constant(0)));
  SmallVector<Value> values = code.load(b, at);
  if (isSplit)
    values = createRounds(b, loc, constant(0), constant(kPartialSums), constant(1), values,
                          [&](Value number, ValueRange carried) {
                            SmallVector<Value> position(element);
                            position.push_back(number);
                            Value partial = memref::LoadOp::create(b, loc, partials, position);
                            return SmallVector<Value>{arith::AddFOp::create(b, loc, carried[0], partial)};
                          });
  else
    values = sum(element, constant(0), constant(1), values);
  code.store(b, at, values);
}

/// Lowers an elementwise op to loads, its body and stores.
static bool lowerGeneric(OpBuilder &b, linalg::GenericOp op) {
  if (!op.hasPureBufferSemantics())
    return false;
  ElementCode code(b, op);
  if (op.getNumReductionLoops() > 0) {
    if (!code.isSum())
      return false;
    lowerReduction(b, code);
    return true;
  }
  auto loop = scf::ForallOp::create(b, op.getLoc(), code.sizes, ValueRange(), std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> at(loop.getInductionVars());
  code.store(b, at, code.evaluate(b, at, /*outputs=*/{}));
  return true;
}

/// True for a tile: attn ops read it.
static bool isTile(Value memref) {
  return llvm::any_of(memref.getUsers(), [](Operation *user) {
    return isa<ViewLikeOpInterface>(user) ? isTile(user->getResult(0)) : isOfDialect<AttnDialect>(user);
  });
}

/// True for a named op on elements, except one that initialises a tile.
static bool isElementOp(Operation &op) {
  auto fill = dyn_cast<linalg::FillOp>(op);
  return fill ? !isTile(fill.getOutputs()[0]) : isa<linalg::CopyOp, linalg::TransposeOp, linalg::BroadcastOp>(op);
}

static bool lowerCopy(OpBuilder &b, memref::CopyOp op) {
  Location loc = op.getLoc();
  if (!isa<MemRefType>(op.getSource().getType()) || !isa<MemRefType>(op.getTarget().getType()))
    return false;
  auto loop = scf::ForallOp::create(b, loc, memref::getMixedSizes(b, loc, op.getTarget()), ValueRange(), std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value element = memref::LoadOp::create(b, loc, op.getSource(), loop.getInductionVars());
  memref::StoreOp::create(b, loc, element, op.getTarget(), loop.getInductionVars());
  return true;
}

static bool lowerAppend(OpBuilder &b, KvAppendOp op) {
  Location loc = op.getLoc();
  auto loop = scf::ForallOp::create(b, loc, memref::getMixedSizes(b, loc, op.getInput()), ValueRange(), std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  emitAppendedRows(b, op, [&](unsigned dim, function_ref<void(Value)> body) { body(loop.getInductionVar(dim)); });
  return true;
}

void attn::nvvm::makeElementLoops(func::FuncOp host) {
  IRRewriter b(host.getContext());
  for (Operation &op : llvm::make_early_inc_range(host.getBody().front()))
    if (isElementOp(op)) {
      b.setInsertionPoint(&op);
      (void)linalg::generalizeNamedOp(b, cast<linalg::LinalgOp>(op));
    }
  for (Operation &op : llvm::make_early_inc_range(host.getBody().front())) {
    b.setInsertionPoint(&op);
    bool isLowered = false;
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      isLowered = lowerGeneric(b, generic);
    else if (auto copy = dyn_cast<memref::CopyOp>(op))
      isLowered = lowerCopy(b, copy);
    else if (auto append = dyn_cast<KvAppendOp>(op))
      isLowered = lowerAppend(b, append);
    if (isLowered)
      op.erase();
  }
}

bool attn::nvvm::isElementLoop(scf::ForallOp loop) {
  WalkResult others = loop.walk([](Operation *op) {
    bool isOther = isOfDialect<AttnDialect>(op) || isa<linalg::LinalgOp, memref::AllocOp, memref::AllocaOp>(op);
    return isOther ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !others.wasInterrupted();
}
