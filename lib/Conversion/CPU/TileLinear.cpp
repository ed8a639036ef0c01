//===- TileLinear.cpp - attn-tile-linear ----------------------------------===//
//
// Before: attn.linear on memrefs. After: an scf.forall over batch indices and
// heads of key, in it a loop over chunks of tokens, heads of value and panels
// of columns; a body is products on small buffers and attn.solve.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LinearTile.h"
#include "Matmul.h"
#include "attn/Conversion/Passes.h"
#include "attn/IR/Attn.h"
#include "attn/Target/PassTarget.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attn {
#define GEN_PASS_DEF_TILELINEARPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// Chunks of a multiple of so many tokens have halves that fill blocks of registers.
static constexpr int64_t kHalvedRows = 16;

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {
/// Emits the code of a task for one shape: all tokens of a sequence, for the heads of value that share one of key.
class LinearTask {
public:
  LinearTask(TileOps &ops, LinearOp op, const LinearShape &shape, LinearChunk::Place first, Value slot)
      : ops(ops), b(ops.b), loc(ops.loc), op(op), shape(shape), token(getNumBatchDims(op)), place(std::move(first)),
        slot(slot), chunk(ops, op, this->shape) {
    values = ops.buffer((shape.sets + 1) * shape.chunk, shape.panelColumns);
    if (!shape.isDirect)
      states = ops.buffer(shape.heads * shape.panels * shape.keySize, shape.panelColumns);
    if (token > 0)
      firstHead = cast<Value>(place.offsets[token - 1]);
    place.tokens = b.getIndexAttr(shape.chunk);
    chunk.prepare();
  }

  /// One chunk from token `first` on, with the state where it lies.
  void emitDirect(OpFoldResult first) {
    place.offsets[token] = first;
    emitChunk();
  }

  /// The tokens from `first` to `end`; `isEven` where they are whole chunks.
  void emitChunks(Value first, Value end, bool isEven) {
    moveStates(/*isLoad=*/true);
    ops.loop(first, end, shape.chunk, [&](Value at) {
      place.offsets[token] = at;
      if (!isEven) {
        Value left = arith::SubIOp::create(b, loc, end, at);
        place.tokens = arith::MinSIOp::create(b, loc, left, ops.index(shape.chunk)).getResult();
      }
      emitChunk();
    });
    place.offsets[token] = b.getIndexAttr(0);
    place.tokens = b.getIndexAttr(shape.chunk);
    moveStates(/*isLoad=*/false);
  }

private:
  /// Calls `body` for each head of value of the task, and in it for each panel of columns with its index in the task.
  void forEachHead(function_ref<void(Value)> body) {
    ops.loop(ops.index(0), ops.index(shape.heads), 1, [&](Value head) {
      OpFoldResult saved = token > 0 ? place.offsets[token - 1] : OpFoldResult();
      if (firstHead)
        place.offsets[token - 1] = ops.add(firstHead, head);
      body(head);
      if (firstHead)
        place.offsets[token - 1] = saved;
    });
  }
  void forEachPanel(function_ref<void(Value, Value, OpFoldResult)> body) {
    ops.loop(ops.index(0), ops.index(shape.panels), 1, [&](Value panel) {
      Value column = ops.multiply(panel, shape.panelColumns);
      OpFoldResult columns = b.getIndexAttr(shape.panelColumns);
      if (hasPartialPanel()) {
        Value rest = arith::SubIOp::create(b, loc, ops.index(shape.valueSize), column);
        columns = arith::MinSIOp::create(b, loc, rest, ops.index(shape.panelColumns)).getResult();
      }
      body(panel, column, columns);
    });
  }
  bool hasPartialPanel() const { return shape.valueSize % shape.panelColumns != 0; }

  Tile getState(Value head, Value panel) {
    Value at = ops.add(ops.multiply(head, shape.panels), panel);
    return ops.part(states, ops.multiply(at, shape.keySize), b.getIndexAttr(shape.keySize));
  }
  Tile firstColumns(const Tile &tile, OpFoldResult rows, OpFoldResult columns) {
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
    return {memref::SubViewOp::create(b, loc, tile.memref, {zero, zero}, {rows, columns}, {one, one}), tile.map};
  }
  void copy(const Tile &from, const Tile &to) {
    ops.map(2, false, {ops.at(from, ops.dim(0), ops.dim(1))}, ops.at(to, ops.dim(0), ops.dim(1)),
            [](OpBuilder &, ValueRange x) { return x[0]; });
  }

  /// Columns of the state of a batch index, or of its slot.
  Tile getMemory(Value column, OpFoldResult columns) {
    LinearChunk::Place at = place;
    if (slot)
      at.offsets[0] = slot;
    return chunk.getPanel(at, column, columns, "state");
  }

  /// Copies the states of the task between memory and panels; without a slot they start at 0 and are dropped.
  void moveStates(bool isLoad) {
    OpBuilder::InsertionGuard guard(b);
    if (isLoad && (slot || hasPartialPanel()))
      ops.fill(states, 0);
    if (slot)
      enterIfSlot(ops, slot);
    forEachHead([&](Value head) {
      forEachPanel([&](Value panel, Value column, OpFoldResult columns) {
        Tile memory = getMemory(column, columns);
        Tile buffer = firstColumns(getState(head, panel), b.getIndexAttr(shape.keySize), columns);
        isLoad ? copy(memory, buffer) : copy(buffer, memory);
      });
    });
  }

  void emitChunk() {
    chunk.loadKeys(place);
    forEachHead([&](Value head) {
      // Rows are too short for a hardware prefetcher; those of value are read behind the factors, those of output are
      // written behind the products.
      if (!shape.isDirect)
        ops.prefetch(chunk.getRows("value", place), place.tokens, shape.valueSize, /*isWrite=*/false);
      chunk.computeFactors(place);
      if (shape.isDirect)
        return emitPanel(getMemory(Value(), b.getIndexAttr(shape.valueSize)), ops.index(0),
                         b.getIndexAttr(shape.valueSize));
      forEachPanel(
          [&](Value panel, Value column, OpFoldResult columns) { emitPanel(getState(head, panel), column, columns); });
    });
  }

  /// V, beta v where there is one, and 0 in the other rows.
  void loadValues(Value column, OpFoldResult columns) {
    AffineExpr zero = ops.constant(0), t = ops.dim(0), e = ops.dim(1);
    bool isPartial = chunk.isShort(place) || hasPartialPanel();
    ops.fill(isPartial ? values : ops.part(values, shape.chunk, shape.sets * shape.chunk), 0);
    SmallVector<TileUse> inputs = {ops.at(chunk.getPanel(place, column, columns, "value"), t, e)};
    if (op.getBeta())
      inputs.push_back(ops.at(firstColumns(chunk.betas, b.getIndexAttr(1), place.tokens), zero, t));
    ops.map(2, false, inputs, ops.at(firstColumns(values, place.tokens, columns), t, e),
            [&](OpBuilder &nested, ValueRange x) -> Value {
              return op.getBeta() ? arith::MulFOp::create(nested, loc, x[0], x[1]) : x[0];
            });
  }

  /// U and O of a panel, and its state behind the chunk.
  void emitPanel(const Tile &state, Value column, OpFoldResult columns) {
    int64_t count = shape.chunk, written = shape.sets * count, firstRead = shape.hasErase ? written - count : written;
    loadValues(column, columns);
    Tile output = chunk.getPanel(place, column, columns, "output");
    if (!shape.isDirect)
      ops.prefetch(output, place.tokens, shape.panelColumns, /*isWrite=*/true);
    Tile all = ops.part(values, 0, written), out = ops.part(values, written, count);
    int64_t skipped = shape.hasErase ? 0 : count;
    ops.product(ops.part(chunk.left, skipped, 2 * count - skipped), state,
                ops.part(values, firstRead, written + count - firstRead));
    if (shape.hasErase) {
      Tile solved = ops.part(values, firstRead, count);
      if (shape.sets > 1)
        ops.product(chunk.mixed, ops.part(values, 0, count), solved);
      if (count > 1)
        SolveOp::create(b, loc, chunk.lower.memref, solved.memref);
    }
    // P is a lower triangle: its upper rows read a half of the tokens.
    bool isHalved = shape.sets == 1 && count % kHalvedRows == 0;
    for (int64_t row = 0, rows = isHalved ? count / 2 : count; row < count; row += rows) {
      int64_t read = isHalved ? row + rows : written;
      ops.product(ops.part(chunk.reads, row, rows, 0, read), ops.part(values, 0, read), ops.part(out, row, rows));
    }
    updateState(state, all);
    AffineExpr t = ops.dim(0), e = ops.dim(1);
    ops.map(2, false, {ops.at(firstColumns(out, place.tokens, columns), t, e)}, ops.at(output, t, e),
            [](OpBuilder &, ValueRange x) { return x[0]; });
  }

  /// S = e^G_C S + right^T U, of one token in one pass.
  void updateState(const Tile &state, const Tile &written) {
    AffineExpr zero = ops.constant(0), d = ops.dim(0), e = ops.dim(1), k = ops.dim(2);
    TileUse factor = ops.at(chunk.factors, zero, shape.hasChannels ? d : ops.constant(shape.chunk));
    auto multiply = [&](OpBuilder &nested, Value x, Value y) -> Value {
      return arith::MulFOp::create(nested, loc, x, y);
    };
    if (shape.chunk == 1 && shape.sets == 1)
      return ops.map(2, false, {ops.at(chunk.right, zero, d), ops.at(written, zero, e), factor}, ops.at(state, d, e),
                     [&](OpBuilder &nested, ValueRange x) -> Value {
                       return arith::AddFOp::create(nested, loc, multiply(nested, x[3], x[2]),
                                                    multiply(nested, x[0], x[1]));
                     });
    if (op.getDecay())
      ops.map(2, false, {factor}, ops.at(state, d, e),
              [&](OpBuilder &nested, ValueRange x) { return multiply(nested, x[1], x[0]); });
    ops.product(ops.at(chunk.right, k, d), ops.at(written, k, e), ops.at(state, d, e));
  }

  TileOps &ops;
  OpBuilder &b;
  Location loc;
  LinearOp op;
  const LinearShape shape;
  unsigned token; ///< its dimension in the domain
  LinearChunk::Place place;
  Value firstHead, slot;
  LinearChunk chunk;
  Tile values, states;
};

/// What the lists of attn.linear or its gradients say of a batch index.
template <typename OpTy>
LinearSequence getSequence(TileOps &ops, OpTy op, const LinearChunk::Place &place, OpFoldResult tokens) {
  auto read = [&](Value list, Value at) -> Value {
    Value number = memref::LoadOp::create(ops.b, ops.loc, list, ValueRange{at});
    return arith::IndexCastOp::create(ops.b, ops.loc, ops.b.getIndexType(), number);
  };
  LinearSequence sequence;
  if (op.getSlots())
    sequence.slot = read(op.getSlots(), cast<Value>(place.offsets[0]));
  if (!op.getCuSeqlens()) {
    sequence.first = ops.index(0);
    sequence.end = ops.toValue(tokens);
    return sequence;
  }
  Value at = cast<Value>(place.offsets[0]);
  sequence.first = read(op.getCuSeqlens(), at);
  sequence.end = read(op.getCuSeqlens(), ops.add(at, ops.index(1)));
  return sequence;
}

/// Emits the parallel loop of one op, and in it the bounds of a sequence.
class LinearTiling {
public:
  LinearTiling(RewriterBase &rewriter, LinearOp op, const TargetInfo &target)
      : ops(rewriter, op.getLoc(), cast<FloatType>(getElementTypeOrSelf(op.getState().getType()))), b(ops.b),
        loc(ops.loc), op(op), target(target), sizes(getDomainSizes(rewriter, op)), token(getNumBatchDims(op)) {}

  void emit() {
    std::optional<int64_t> all = op.getCuSeqlens() ? std::nullopt : getConstantIntValue(sizes[token]);
    LinearShape shape(op, target, all);
    SmallVector<OpFoldResult> counts(sizes.begin(), sizes.begin() + token);
    if (token > 0)
      counts.back() =
          affine::makeComposedFoldedAffineApply(b, loc, b.getAffineDimExpr(0).floorDiv(shape.heads), {counts.back()});
    else
      counts.push_back(b.getIndexAttr(1));
    auto forall = scf::ForallOp::create(b, loc, counts, ValueRange(), /*mapping=*/std::nullopt);
    b.setInsertionPoint(forall.getTerminator());
    LinearChunk::Place place;
    place.offsets.assign(sizes.size(), b.getIndexAttr(0));
    for (unsigned i = 0; i < token; ++i)
      place.offsets[i] = forall.getInductionVars()[i];
    if (token > 0)
      place.offsets[token - 1] = ops.multiply(forall.getInductionVars()[token - 1], shape.heads);
    auto [first, end, slot] = getSequence(ops, op, place, sizes[token]);
    if (shape.isDirect && !slot)
      return LinearTask(ops, op, shape, place, slot).emitDirect(b.getIndexAttr(0));
    // One token, or a static number of a few, in a slot: the state stays where it is.
    LinearShape step = shape.isDirect ? shape : LinearShape(op, target, 1);
    if (step.isDirect && (!all || shape.isDirect)) {
      Value tokens = arith::SubIOp::create(b, loc, end, first);
      Value isStep = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, tokens, ops.index(step.chunk));
      if (slot) {
        Value hasSlot = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, slot, ops.index(0));
        isStep = arith::AndIOp::create(b, loc, isStep, hasSlot);
      }
      auto branch = scf::IfOp::create(b, loc, isStep, /*withElseRegion=*/true);
      b.setInsertionPointToStart(branch.thenBlock());
      LinearTask(ops, op, step, place, slot).emitDirect(first);
      b.setInsertionPointToStart(branch.elseBlock());
    }
    shape.setPanels(target);
    LinearTask(ops, op, shape, place, slot).emitChunks(first, end, all && *all % shape.chunk == 0);
  }

private:
  TileOps ops;
  OpBuilder &b;
  Location loc;
  LinearOp op;
  const TargetInfo &target;
  SmallVector<OpFoldResult> sizes;
  unsigned token; ///< its dimension in the domain
};

/// The parallel loop of gradients, over batch indices and heads of value: none adds to what another one writes.
void emitBackward(RewriterBase &rewriter, LinearBackwardOp op, const TargetInfo &target) {
  TileOps ops(rewriter, op.getLoc(), cast<FloatType>(getElementTypeOrSelf(op.getState().getType())));
  unsigned token = getNumBatchDims(op);
  SmallVector<OpFoldResult> sizes = getDomainSizes(rewriter, op), counts(sizes.begin(), sizes.begin() + token);
  if (token == 0)
    counts.push_back(rewriter.getIndexAttr(1));
  auto forall = scf::ForallOp::create(rewriter, op.getLoc(), counts, ValueRange(), /*mapping=*/std::nullopt);
  rewriter.setInsertionPoint(forall.getTerminator());
  LinearChunk::Place place;
  place.offsets.assign(sizes.size(), rewriter.getIndexAttr(0));
  for (unsigned i = 0; i < token; ++i)
    place.offsets[i] = forall.getInductionVars()[i];
  // Describes the inputs as the forward pass has them, dout in the place of its output.
  SmallVector<AffineMap> maps = getMaps(op);
  unsigned inputs = (maps.size() - 3) / 2;
  auto forward = LinearOp::create(
      rewriter, op.getLoc(), TypeRange(), op.getQuery(), op.getKey(), op.getValue(), op.getDecay(), op.getBeta(),
      op.getErase(), op.getWrite(), op.getDout(), op.getState(), op.getCuSeqlens(), op.getSlots(), op.getBeforeAttr(),
      op.getNormalizeAttr(), op.getScaleAttr(),
      getExplicitMaps(op) ? rewriter.getAffineMapArrayAttr(ArrayRef(maps).take_front(inputs + 2)) : ArrayAttr());
  std::optional<int64_t> tokens = op.getCuSeqlens() ? std::nullopt : getConstantIntValue(sizes[token]);
  if (tokens) // the kernel in place is for the forward pass
    tokens = std::max<int64_t>(*tokens, kHalvedRows);
  LinearShape shape(forward, target, tokens);
  emitLinearGradients(ops, op, forward, shape, place, getSequence(ops, op, place, sizes[token]));
  rewriter.eraseOp(forward);
  rewriter.eraseOp(op);
}

struct TileLinearPass : public attn::impl::TileLinearPassBase<TileLinearPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<LinearOp> ops;
    SmallVector<LinearBackwardOp> gradients;
    getOperation().walk([&](LinearOp op) { ops.push_back(op); });
    getOperation().walk([&](LinearBackwardOp op) { gradients.push_back(op); });
    if (ops.empty() && gradients.empty())
      return;
    FailureOr<TargetInfo> info = getTarget(getOperation(), getArgument(), target);
    if (failed(info))
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    for (LinearOp op : ops) {
      if (!isa<MemRefType>(op.getState().getType())) {
        op->emitOpError("expected memrefs; run bufferisation before attn-tile-linear");
        return signalPassFailure();
      }
      rewriter.setInsertionPoint(op);
      LinearTiling(rewriter, op, *info).emit();
      rewriter.eraseOp(op);
    }
    for (LinearBackwardOp op : gradients) {
      if (!isa<MemRefType>(op.getState().getType())) {
        op->emitOpError("expected memrefs; run bufferisation before attn-tile-linear");
        return signalPassFailure();
      }
      rewriter.setInsertionPoint(op);
      emitBackward(rewriter, op, *info);
    }
  }
};
} // namespace
