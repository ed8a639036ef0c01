//===- LowerElementwiseToVector.cpp - attn-lower-elementwise-to-vector ----===//
//
// Before: linalg ops on memrefs that work element by element, or reduce some
// dimensions. After: scf loops over vectors of the target's width: the innermost
// dimension of the result is the lanes, whose results stay in registers while
// others are reduced; in a sum or a maximum over one dimension, that one is the
// lanes. Ops of another form are left to convert-linalg-to-loops.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Matmul.h"
#include "RowTile.h"
#include "attn/Conversion/Passes.h"
#include "attn/IR/RewriteOps.h"
#include "attn/Support/Dialects.h"
#include "attn/Target/PassTarget.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

namespace attn {
#define GEN_PASS_DEF_LOWERELEMENTWISETOVECTORPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// Vectors that a reduction folds in parallel: a maximum that propagates NaN has a latency of ten cycles.
static constexpr int64_t kReductionVectors = 4;
/// Elements below which starting threads costs more than it saves.
static constexpr int64_t kMinParallelElements = 1 << 16;

namespace {

/// The vector form of an op.
struct LaneForm {
  unsigned lane = 0;             ///< the dimension that lanes are
  Operation *combiner = nullptr; ///< of a reduction over lanes: the op that folds an element into the result
  Value folded;                  ///< of a reduction over lanes: the folded value
  SmallVector<unsigned> reduced; ///< the dimensions of a reduction of all lanes alike
};

/// The dimension of lanes and the combiner of a sum or a maximum over the one dimension that is reduced; failure for
/// another reduction, and where an operand has the dimension in a sum of several.
FailureOr<LaneForm> matchLaneReduction(linalg::LinalgOp op, ArrayRef<unsigned> reduced) {
  LaneForm form;
  SmallVector<Operation *> combiners;
  if (reduced.size() != 1)
    return failure();
  form.lane = reduced.front();
  form.folded = matchReduction(op.getRegionOutputArgs(), 0, combiners);
  if (!form.folded || combiners.size() != 1 || !isa<arith::AddFOp, arith::MaximumFOp>(combiners.front()))
    return failure();
  form.combiner = combiners.front();
  for (AffineMap map : op.getIndexingMapsArray())
    for (AffineExpr expr : map.getResults())
      if (!isa<AffineDimExpr>(expr) && expr.isFunctionOfDim(form.lane))
        return failure();
  return form;
}

/// False if an op of the body without a vector form depends on a value that varies over the lanes.
bool canBeVectors(linalg::LinalgOp op, const LaneForm &form) {
  llvm::DenseSet<Value> values; // that vary over the lanes
  for (auto [argument, map] : llvm::zip_equal(op.getBlock()->getArguments(), op.getIndexingMapsArray()))
    if (map.isFunctionOfDim(form.lane))
      values.insert(argument);
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (inner.getNumRegions() != 0 || inner.getNumResults() != 1)
      return false;
    auto index = dyn_cast<linalg::IndexOp>(inner);
    bool isLane = index && index.getDim() == form.lane;
    if (!isLane && llvm::none_of(inner.getOperands(), [&](Value operand) { return values.contains(operand); }))
      continue;
    if (!isLane && !isa<memref::LoadOp>(inner) && !OpTrait::hasElementwiseMappableTraits(&inner))
      return false;
    values.insert(inner.getResult(0));
  }
  return true;
}

bool hasVectorElements(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIntOrFloat() && element.getIntOrFloatBitWidth() <= 64;
}

FailureOr<LaneForm> matchLanes(linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics() || op.getNumDpsInits() != 1 || succeeded(matchMatmul(op)) ||
      !llvm::all_of(op->getOperandTypes(), hasVectorElements))
    return failure();
  Value output = op.getDpsInits().front();
  AffineMap map = op.getIndexingMapsArray().back();
  Type element = getElementTypeOrSelf(output.getType());
  if (element.isInteger(1) || !map.isProjectedPermutation())
    return failure();
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  if (FailureOr<LaneForm> form = matchLaneReduction(op, reduced); succeeded(form) && canBeVectors(op, *form))
    return form;
  LaneForm form;
  auto innermost = dyn_cast_if_present<AffineDimExpr>(map.isEmpty() ? AffineExpr() : map.getResults().back());
  if (!innermost || !Operand{output, map}.isInnermost(innermost.getPosition()))
    return failure();
  form.lane = innermost.getPosition();
  form.reduced = std::move(reduced);
  if (!canBeVectors(op, form))
    return failure();
  return form;
}

/// f64 if an operand has it, otherwise f32: it decides the number of lanes.
FloatType getWidestFloat(linalg::LinalgOp op) {
  Builder b(op->getContext());
  bool hasDouble = llvm::any_of(op->getOperandTypes(), [](Type type) { return getElementTypeOrSelf(type).isF64(); });
  return hasDouble ? b.getF64Type() : b.getF32Type();
}

/// Emits the loops of one op.
class LaneLowering {
public:
  LaneLowering(VectorBuilder &vb, linalg::LinalgOp op, const LaneForm &form)
      : vb(vb), b(vb.b), loc(vb.loc), op(op), form(form), cloner(vb, /*loadsRows=*/true),
        ranges(op.createLoopRanges(vb.b, vb.loc)), domain(op.getNumLoops()) {}

  void emit() {
    SmallVector<unsigned> outer;
    for (unsigned dim = 0; dim < op.getNumLoops(); ++dim)
      if (dim != form.lane && !llvm::is_contained(form.reduced, dim))
        outer.push_back(dim);
    emitOuter(outer);
  }

private:
  /// Rows of a parallel loop's last dimension go one after the other.
  void emitOuter(ArrayRef<unsigned> dims) {
    if (dims.empty())
      return emitLanes();
    if (isSerial()) {
      vb.loop(vb.index(0), getSize(dims.front()), 1, {}, [&](Value i, ValueRange) {
        domain[dims.front()] = i;
        emitOuter(dims.drop_front());
        return Values();
      });
      // Unrolled, short loops over rows would be thousands of stores in one block.
      keepRolled(domain[dims.front()].getParentBlock()->getParentOp());
      return;
    }
    ArrayRef<unsigned> inner = dims.size() > 1 ? dims.take_back(1) : ArrayRef<unsigned>();
    SmallVector<OpFoldResult> counts;
    ArrayRef<unsigned> shared = dims.drop_back(inner.size());
    for (unsigned dim : shared)
      counts.push_back(ranges[dim].size);
    auto forall = scf::ForallOp::create(b, loc, counts, ValueRange(), /*mapping=*/std::nullopt);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(forall.getTerminator());
    for (auto [dim, iv] : llvm::zip_equal(shared, forall.getInductionVars()))
      domain[dim] = iv;
    isParallel = true;
    emitOuter(inner);
  }

  /// Little work, or inside a loop that is parallel already.
  bool isSerial() {
    if (isParallel || op->getParentOfType<scf::ForallOp>())
      return true;
    int64_t elements = 1;
    for (int64_t size : op.getStaticLoopRanges())
      if (ShapedType::isDynamic(size) || llvm::MulOverflow(elements, size, elements))
        return false;
    return elements < kMinParallelElements;
  }

  void emitLanes() {
    std::optional<int64_t> count = getConstantIntValue(ranges[form.lane].size);
    Value size = getSize(form.lane);
    if (!form.reduced.empty())
      return emitReductions(size);
    Values state = form.combiner ? Values(kReductionVectors, getNeutral()) : Values();
    // Whole vectors, in a reduction several in parallel, then the rest.
    auto forEach = [&](Value lower, Value upper, int64_t vectors) {
      state = vb.loop(lower, upper, vectors * vb.lanes, state, [&](Value first, ValueRange carried) {
        Values next(carried);
        for (int64_t v = 0; v < vectors; ++v) {
          Value result = emitVector(vb.add(first, v * vb.lanes), {}, carried.empty() ? Value() : carried[v]);
          if (result)
            next[v] = result;
        }
        return next;
      });
    };
    auto roundDown = [&](int64_t step) -> Value { return vb.subtract(size, vb.remainder(size, step)); };
    Value done = vb.index(0);
    if (form.combiner && (!count || *count >= kReductionVectors * vb.lanes)) {
      Value whole = roundDown(kReductionVectors * vb.lanes);
      forEach(done, whole, kReductionVectors);
      done = whole;
    }
    Value whole = roundDown(vb.lanes);
    forEach(done, whole, 1);
    // The rest: once or never.
    if (!count || *count % vb.lanes != 0)
      state = vb.loop(whole, size, vb.lanes, state, [&](Value first, ValueRange carried) {
        Values next(carried);
        Value mask = vb.createMask(vb.subtract(size, first));
        if (Value result = emitVector(first, mask, carried.empty() ? Value() : carried.front()))
          next.front() = result;
        return next;
      });
    if (form.combiner)
      storeReduced(state);
  }

  /// Several vectors of results at a time, then the rest: at once where their number is known, else one by one.
  void emitReductions(Value size) {
    std::optional<int64_t> count = getConstantIntValue(size);
    Value first = vb.index(0);
    auto emitBlocks = [&](int64_t vectors) {
      Value end = vb.subtract(size, vb.remainder(size, vectors * vb.lanes));
      vb.loop(first, end, vectors * vb.lanes, {}, [&](Value begin, ValueRange) {
        emitReduced(begin, vectors, {});
        return Values();
      });
      first = end;
    };
    emitBlocks(kReductionVectors);
    if (!count)
      emitBlocks(1);
    vb.loop(first, size, kReductionVectors * vb.lanes, {}, [&](Value begin, ValueRange) { // once or never
      Value rest = vb.subtract(size, begin);
      int64_t vectors = count ? llvm::divideCeil(*count % (kReductionVectors * vb.lanes), vb.lanes) : 1;
      emitReduced(begin, vectors, vb.createMask(vb.subtract(rest, vb.index((vectors - 1) * vb.lanes))));
      return Values();
    });
  }

  /// Folds all elements into the results of these lanes, which are loaded and stored once; `mask` of the last vector.
  void emitReduced(Value begin, int64_t vectors, Value lastMask) {
    auto moveTo = [&](int64_t v) { return domain[form.lane] = vb.add(begin, v * vb.lanes); };
    auto getMask = [&](int64_t v) { return v + 1 == vectors ? lastMask : Value(); };
    OpOperand &init = *op.getDpsInitOperand(0);
    Values sums;
    for (int64_t v = 0; v < vectors; ++v) {
      moveTo(v);
      sums.push_back(load(init, getMask(v)));
    }
    auto fold = [&](auto &&self, ArrayRef<unsigned> dims, ValueRange carried) -> Values {
      if (!dims.empty())
        return vb.loop(vb.index(0), getSize(dims.front()), 1, carried, [&](Value i, ValueRange inner) {
          domain[dims.front()] = i;
          return self(self, dims.drop_front(), inner);
        });
      Values next;
      for (int64_t v = 0; v < vectors; ++v)
        next.push_back(emitBody(moveTo(v), getMask(v), carried[v]));
      return next;
    };
    sums = fold(fold, form.reduced, sums);
    Operand output = getOperand(init);
    for (int64_t v = 0; v < vectors; ++v) {
      moveTo(v);
      vb.storeMasked(sums[v], output.memref, output.getIndices(vb, domain), getMask(v));
    }
  }

  /// The neutral element: -inf of a maximum, 0 of a sum.
  Value getNeutral() {
    double infinity = std::numeric_limits<double>::infinity();
    Type type = getElementTypeOrSelf(form.folded.getType());
    FloatAttr value = b.getFloatAttr(type, isa<arith::MaximumFOp>(form.combiner) ? -infinity : 0.0);
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(VectorType::get({vb.lanes}, type), value));
  }

  Value combine(Value x, Value y) {
    OperationState state(loc, form.combiner->getName(), {x, y}, x.getType(), form.combiner->getAttrs());
    return b.create(state)->getResult(0);
  }

  /// The body on a vector of lanes from `first` on: its result; of a reduction over lanes, `sum` with the folded value.
  /// The result of other reductions has the value `sum` so far.
  Value emitBody(Value first, Value mask, Value sum) {
    domain[form.lane] = first;
    IRMapping mapping;
    Block *block = op.getBlock();
    for (OpOperand &operand : op->getOpOperands())
      if (BlockArgument argument = op.getMatchingBlockArgument(&operand); !argument.use_empty())
        mapping.map(argument, op.isDpsInit(&operand) && !form.reduced.empty() ? sum : load(operand, mask));
    for (Operation &inner : block->without_terminator()) {
      if (&inner == form.combiner)
        continue;
      if (auto index = dyn_cast<linalg::IndexOp>(inner))
        mapping.map(index.getResult(),
                    index.getDim() == form.lane ? cloner.getPositions(first) : domain[index.getDim()]);
      else
        cloner.clone(inner, mapping, mask);
    }
    if (!form.combiner)
      return cloner.toVector(mapping.lookupOrDefault(block->getTerminator()->getOperand(0)));
    Value next = combine(sum, cloner.toVector(mapping.lookupOrDefault(form.folded)));
    return mask ? vb.select(mask, next, sum) : next;
  }

  /// One vector of lanes from `first` on. A reduction returns `sum` with it; otherwise it is stored.
  Value emitVector(Value first, Value mask, Value sum) {
    Value result = emitBody(first, mask, sum);
    if (form.combiner)
      return result;
    Operand output = getOperand(*op.getDpsInitOperand(0));
    vb.storeMasked(result, output.memref, output.getIndices(vb, domain), mask);
    return {};
  }

  /// Combines the result's old value with the folded vectors.
  void storeReduced(ArrayRef<Value> state) {
    Values sums(state);
    for (size_t distance = sums.size() / 2; distance > 0; distance /= 2)
      for (size_t v = 0; v < distance; ++v)
        sums[v] = combine(sums[v], sums[v + distance]);
    Value lanes = reduceLanes(vb, sums.front(), [&](Value x, Value y) { return combine(x, y); });
    Operand output = getOperand(*op.getDpsInitOperand(0));
    Values indices = output.getIndices(vb, domain);
    Value old = memref::LoadOp::create(b, loc, output.memref, indices);
    Value sum = combine(old, vector::ExtractOp::create(b, loc, lanes, 0));
    memref::StoreOp::create(b, loc, sum, output.memref, indices);
  }

  Operand getOperand(OpOperand &operand) {
    return {operand.get(), op.getMatchingIndexingMap(&operand), /*isWhole=*/true};
  }

  /// A vector if the operand has the dimension of the lanes, otherwise one element for all lanes.
  Value load(OpOperand &operand, Value mask) {
    Value memory = operand.get();
    if (!isa<MemRefType>(memory.getType()))
      return memory;
    Operand source = getOperand(operand);
    if (!source.map.isFunctionOfDim(form.lane))
      return memref::LoadOp::create(b, loc, memory, source.getIndices(vb, domain));
    bool isBool = getElementTypeOrSelf(memory.getType()).isInteger(1);
    source.memref = viewAsBytes(b, loc, memory);
    Value result = vb.loadAlong(source, form.lane, domain, mask);
    if (!isBool)
      return result;
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(result.getType()));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, result, zero);
  }

  Value getSize(unsigned dim) { return getValueOrCreateConstantIndexOp(b, loc, ranges[dim].size); }

  VectorBuilder &vb;
  OpBuilder &b;
  Location loc;
  linalg::LinalgOp op;
  const LaneForm &form;
  LaneCloner cloner;
  SmallVector<Range, 4> ranges;
  SmallVector<Value> domain; ///< the position in each dimension, for lanes the first
  bool isParallel = false;
};

struct LowerElementwiseToVectorPass
    : public attn::impl::LowerElementwiseToVectorPassBase<LowerElementwiseToVectorPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetInfo> info = getTarget(getOperation(), getArgument(), target);
    if (failed(info))
      return signalPassFailure();
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp op : ops) {
      FailureOr<LaneForm> form = matchLanes(op);
      if (failed(form))
        continue;
      rewriter.setInsertionPoint(op);
      VectorBuilder vb(rewriter, op.getLoc(), *info, getWidestFloat(op));
      LaneLowering(vb, op, *form).emit();
      rewriter.eraseOp(op);
    }
    RewritePatternSet patterns(&getContext());
    populateLaneMathPatterns(patterns);
    if (failed(rewriteOps(getOperation(), std::move(patterns), isOfDialect<math::MathDialect>)))
      signalPassFailure();
  }
};
} // namespace
