//===- LinearGradients.cpp - a task of linear attention's gradients -------===//
//
// The tokens of one batch index and head of value, chunk by chunk: forward, for
// the states in front of all chunks and what is written, which stay in memory;
// then back, where each factor of LinearChunk is computed again and gets a
// gradient by the products that the forward pass has of it.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LinearFactorGradients.h"
#include "Matmul.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

namespace {
class LinearGradientTask {
public:
  LinearGradientTask(TileOps &ops, Operation *op, LinearOp forward, const LinearShape &shape, LinearChunk::Place first,
                     const LinearSequence &sequence)
      : ops(ops), b(ops.b), loc(ops.loc), op(op), forward(forward), shape(shape), token(getNumBatchDims(forward)),
        place(std::move(first)), sequence(sequence), chunk(ops, forward, this->shape), factors(ops, chunk) {
    int64_t count = shape.chunk, size = shape.valueSize;
    cotangents = ops.buffer(2 * count, size);
    dwritten = ops.buffer(shape.sets * count, size);
    dstate = ops.buffer(shape.keySize, size);
    sums = ops.buffer(2, count);
    if (shape.hasErase) {
      upper = ops.buffer(count, count);
      reversed = ops.buffer(count, size);
    }
    if (forward.getNormalize())
      units = ops.buffer(count, shape.keySize);
    chunk.prepare();
    factors.prepare();
  }

  void emit() {
    Value size = ops.index(shape.chunk), zero = ops.index(0);
    Value tokens = b.createOrFold<arith::SubIOp>(loc, sequence.end, sequence.first);
    Value chunks = b.createOrFold<arith::CeilDivUIOp>(loc, tokens, size);
    written = allocate(ops.multiply(chunks, shape.sets * shape.chunk));
    states = allocate(ops.multiply(ops.add(chunks, ops.index(1)), shape.keySize));
    place.tokens = b.getIndexAttr(shape.chunk);
    moveState("state", ops.part(states, 0, shape.keySize), /*isLoad=*/true);
    ops.loop(zero, chunks, 1, [&](Value at) {
      setChunk(at);
      emitForward(at);
    });
    moveState("dstate", dstate, /*isLoad=*/true);
    ops.loop(zero, chunks, 1, [&](Value i) {
      Value behind = arith::SubIOp::create(b, loc, chunks, i);
      Value at = arith::SubIOp::create(b, loc, behind, ops.index(1));
      setChunk(at);
      emitBackward(at);
    });
    place.offsets[token] = b.getIndexAttr(0);
    moveState("dstate", dstate, /*isLoad=*/false);
  }

private:
  /// Rows of memory, which a later pass frees.
  Tile allocate(Value rows) {
    auto memref = MemRefType::get({ShapedType::kDynamic, shape.valueSize}, ops.type);
    return {memref::AllocOp::create(b, loc, memref, rows, b.getI64IntegerAttr(kBufferAlignment)),
            b.getMultiDimIdentityMap(2)};
  }
  void setChunk(Value at) {
    Value first = ops.add(sequence.first, ops.multiply(at, shape.chunk));
    place.offsets[token] = first;
    if (std::optional<int64_t> all = getConstantIntValue(sequence.end);
        all && isConstantIntValue(sequence.first, 0) && *all % shape.chunk == 0)
      return;
    Value left = arith::SubIOp::create(b, loc, sequence.end, first);
    place.tokens = arith::MinSIOp::create(b, loc, left, ops.index(shape.chunk)).getResult();
  }
  Tile getMemory(StringRef name) {
    return getPart(ops, op, shape, place, Value(), b.getIndexAttr(shape.valueSize), name);
  }
  /// Copies a state from memory or back; without a slot it is 0, and dropped.
  void moveState(StringRef name, const Tile &buffer, bool isLoad) {
    OpBuilder::InsertionGuard guard(b);
    auto saved = place.offsets[0];
    if (Value slot = sequence.slot) {
      if (isLoad)
        ops.fill(buffer, 0);
      enterIfSlot(ops, slot);
      place.offsets[0] = slot;
    }
    Tile memory = getMemory(name);
    isLoad ? copy(memory, buffer) : copy(buffer, memory);
    place.offsets[0] = saved;
  }
  /// The rows of the tokens that exist.
  Tile getOwn(const Tile &tile) { return ops.part(tile, b.getIndexAttr(0), place.tokens); }
  /// (row, token) of the tokens that exist.
  Tile getOwnColumns(const Tile &tile, int64_t row) {
    OpFoldResult one = b.getIndexAttr(1);
    return {memref::SubViewOp::create(b, loc, tile.memref, {b.getIndexAttr(row), b.getIndexAttr(0)},
                                      {one, place.tokens}, {one, one}),
            tile.map};
  }
  void map(ArrayRef<TileUse> inputs, const TileUse &output, function_ref<Value(OpBuilder &, ValueRange)> body) {
    ops.map(2, false, inputs, output, body);
  }
  void copy(const Tile &from, const Tile &to) {
    map({ops.at(from, t, d)}, ops.at(to, t, d), [](OpBuilder &, ValueRange x) { return x[0]; });
  }
  void multiplyInto(const TileUse &left, const TileUse &right, const Tile &output) {
    ops.fill(output, 0);
    ops.product(left, right, ops.at(output, t, d));
  }
  Value multiply(OpBuilder &nested, Value x, Value y) { return arith::MulFOp::create(nested, loc, x, y); }

  Tile getState(Value at) { return ops.part(states, ops.multiply(at, shape.keySize), b.getIndexAttr(shape.keySize)); }
  Tile getWritten(Value at, int64_t set, int64_t sets) {
    Value first = ops.add(ops.multiply(at, shape.sets * shape.chunk), ops.index(set * shape.chunk));
    return ops.part(written, first, b.getIndexAttr(sets * shape.chunk));
  }
  /// e^G_C
  TileUse getLastFactor() {
    return ops.at(chunk.factors, ops.constant(0), shape.hasChannels ? t : ops.constant(shape.chunk));
  }

  //===--------------------------------------------------------------------===//
  // Forward
  //===--------------------------------------------------------------------===//

  /// U and the state behind the chunk, as LinearTask has them.
  void emitForward(Value at) {
    int64_t count = shape.chunk;
    chunk.loadKeys(place);
    chunk.computeFactors(place);
    Tile all = getWritten(at, 0, shape.sets), values = getWritten(at, 0, 1), state = getState(at);
    ops.fill(all, 0);
    SmallVector<TileUse> inputs = {ops.at(getMemory("value"), t, d)};
    if (forward.getBeta())
      inputs.push_back(ops.at(getOwnColumns(chunk.betas, 0), ops.constant(0), t));
    map(inputs, ops.at(getOwn(values), t, d),
        [&](OpBuilder &nested, ValueRange x) { return forward.getBeta() ? multiply(nested, x[0], x[1]) : x[0]; });
    if (shape.hasErase) {
      Tile solved = getWritten(at, shape.sets - 1, 1);
      ops.product(ops.part(chunk.left, 0, count), state, solved);
      if (shape.sets > 1)
        ops.product(chunk.mixed, values, solved);
      SolveOp::create(b, loc, chunk.lower.memref, solved.memref);
    }
    Tile next = getState(ops.add(at, ops.index(1)));
    if (!forward.getDecay())
      copy(state, next);
    else
      map({ops.at(state, t, d), getLastFactor()}, ops.at(next, t, d),
          [&](OpBuilder &nested, ValueRange x) { return multiply(nested, x[0], x[1]); });
    ops.product(ops.at(chunk.right, k, t), ops.at(all, k, d), ops.at(next, t, d));
  }

  //===--------------------------------------------------------------------===//
  // Back
  //===--------------------------------------------------------------------===//

  void emitBackward(Value at) {
    int64_t count = shape.chunk, first = shape.hasErase ? 0 : count, rows = 2 * count - first;
    chunk.loadKeys(place);
    chunk.computeFactors(place);
    Tile all = getWritten(at, 0, shape.sets), state = getState(at), dvalues = emitWritten();
    Tile readers = ops.part(cotangents, first, rows), left = ops.part(factors.left, first, rows);
    // d(e^G a, e^G q) = (dX, dO) S^T, d right = U dS^T, d(L, P) = (dX, dO) U^T
    multiplyInto(ops.at(readers, t, k), ops.at(state, d, k), left);
    multiplyInto(ops.at(all, t, k), ops.at(dstate, d, k), factors.right);
    multiplyInto(ops.at(readers, t, k), ops.at(all, d, k), ops.part(factors.triangles, first, rows));
    if (forward.getDecay()) {
      ops.fill(factors.ends, 0);
      ops.map(2, true, {ops.at(dstate, t, d), ops.at(state, t, d)}, ops.at(factors.ends, ops.constant(0), t),
              [&](OpBuilder &nested, ValueRange x) -> Value {
                return arith::AddFOp::create(nested, loc, x[2], multiply(nested, x[0], x[1]));
              });
      map({getLastFactor()}, ops.at(dstate, t, d),
          [&](OpBuilder &nested, ValueRange x) { return multiply(nested, x[1], x[0]); });
    }
    // dS = e^G_C dS + left^T (dX, dO)
    ops.product(ops.at(ops.part(chunk.left, first, rows), k, t), ops.at(readers, k, d), ops.at(dstate, t, d));
    factors.compute();
    emitRows(dvalues);
  }

  /// dO, dX, the gradient of what the solve has on its right, and that of V.
  Tile emitWritten() {
    int64_t count = shape.chunk, last = (shape.sets - 1) * count;
    Tile dout = ops.part(cotangents, count, count), solved = ops.part(cotangents, 0, count);
    chunk.load(dout, "output", place, 1);
    // dU = P^T dO + right dS
    multiplyInto(ops.at(chunk.reads, k, t), ops.at(dout, k, d), dwritten);
    ops.product(chunk.right, dstate, dwritten);
    if (!shape.hasErase)
      return dwritten;
    emitTransposedSolve(ops.part(dwritten, last, count), solved);
    if (shape.sets == 1)
      return solved;
    Tile values = ops.part(dwritten, 0, count);
    ops.product(ops.at(chunk.mixed, k, t), ops.at(solved, k, d), ops.at(values, t, d));
    return values;
  }

  /// output = (I - L)^-T x: with rows and columns from the last to the first, the transpose is a lower triangle.
  void emitTransposedSolve(const Tile &x, const Tile &output) {
    Value none = ops.index(0), count = ops.index(shape.chunk), last = ops.index(shape.chunk - 1);
    auto reverse = [&](Value at) -> Value { return arith::SubIOp::create(b, loc, last, at); };
    auto row = [&](const Tile &tile, Value at) { return ops.part(tile, at, b.getIndexAttr(1)); };
    ops.loop(none, count, 1, [&](Value at) {
      copy(row(x, reverse(at)), row(reversed, at));
      ops.loop(none, at, 1, [&](Value earlier) {
        Value element = memref::LoadOp::create(b, loc, chunk.lower.memref, ValueRange{reverse(earlier), reverse(at)});
        memref::StoreOp::create(b, loc, element, upper.memref, ValueRange{at, earlier});
      });
    });
    SolveOp::create(b, loc, upper.memref, reversed.memref);
    ops.loop(none, count, 1, [&](Value at) { copy(row(reversed, reverse(at)), row(output, at)); });
  }

  /// Writes the gradients of a chunk's rows, where dvalues is that of V, or beta v.
  void emitRows(const Tile &dvalues) {
    int64_t count = shape.chunk;
    AffineExpr zero = ops.constant(0);
    Tile dkeys = ops.part(factors.right, 0, count), derased = ops.part(factors.left, 0, count);
    Tile dqueries = ops.part(factors.left, count, count);
    if (forward.getBeta()) { // a = -beta k: dbeta = v . dv - k . da, dk -= beta da, dv = beta dv
      Tile dbeta = getOwnColumns(sums, 0);
      ops.fill(sums, 0);
      auto addDots = [&](const Tile &x, const Tile &y, bool isSubtracted) {
        ops.map(2, true, {ops.at(x, t, d), ops.at(y, t, d)}, ops.at(dbeta, zero, t),
                [&](OpBuilder &nested, ValueRange z) -> Value {
                  Value product = multiply(nested, z[0], z[1]);
                  if (isSubtracted)
                    return arith::SubFOp::create(nested, loc, z[2], product);
                  return arith::AddFOp::create(nested, loc, z[2], product);
                });
      };
      addDots(getMemory("value"), getOwn(dvalues), false);
      addDots(getOwn(ops.part(chunk.rows, 0, count)), getOwn(derased), true);
      ops.map(1, false, {ops.at(dbeta, zero, t)}, ops.at(getMemory("dbeta"), t, zero),
              [](OpBuilder &, ValueRange x) { return x[0]; });
      map({ops.at(chunk.betas, zero, t), ops.at(derased, t, d)}, ops.at(dkeys, t, d),
          [&](OpBuilder &nested, ValueRange x) -> Value {
            return arith::SubFOp::create(nested, loc, x[2], multiply(nested, x[0], x[1]));
          });
      map({ops.at(chunk.betas, zero, t)}, ops.at(dvalues, t, d),
          [&](OpBuilder &nested, ValueRange x) { return multiply(nested, x[1], x[0]); });
    }
    if (forward.getNormalize())
      undoUnits("key", dkeys, 1);
    undoUnits("query", dqueries, forward.getScaleNumber());
    store(dqueries, "dquery");
    store(dkeys, "dkey");
    store(dvalues, "dvalue");
    if (forward.getErase())
      store(derased, "derase");
    if (forward.getWrite())
      store(ops.part(factors.right, count, count), "dwrite");
    if (shape.hasChannels)
      store(factors.gates, "ddecay");
    else if (forward.getDecay())
      ops.map(1, false, {ops.at(getOwnColumns(factors.gates, 0), zero, t)}, ops.at(getMemory("ddecay"), t, zero),
              [](OpBuilder &, ValueRange x) { return x[0]; });
  }

  void store(const Tile &rows, StringRef name) { copy(getOwn(rows), getMemory(name)); }

  /// dx of dn, for n = x / r and a factor: r = sqrt(sum x^2 + eps), dx = factor (dn - x (x . dn) / r^2) / r.
  void undoUnits(StringRef name, const Tile &gradient, double factor) {
    AffineExpr zero = ops.constant(0), one = ops.constant(1);
    auto constant = [&](OpBuilder &nested, double x) { return createFloatConstant(nested, loc, ops.type, x); };
    if (!forward.getNormalize())
      return map({}, ops.at(gradient, t, d),
                 [&](OpBuilder &nested, ValueRange x) { return multiply(nested, x[0], constant(nested, factor)); });
    chunk.load(units, name, place, 1);
    ops.fill(sums, 0);
    auto addDots = [&](const Tile &x, AffineExpr row) {
      ops.map(2, true, {ops.at(units, t, d), ops.at(x, t, d)}, ops.at(sums, row, t),
              [&](OpBuilder &nested, ValueRange z) -> Value {
                return arith::AddFOp::create(nested, loc, z[2], multiply(nested, z[0], z[1]));
              });
    };
    addDots(units, zero);
    addDots(gradient, one);
    double eps = forward.getNormalize()->convertToDouble();
    map({ops.at(sums, zero, t), ops.at(sums, one, t), ops.at(units, t, d)}, ops.at(gradient, t, d),
        [&](OpBuilder &nested, ValueRange x) -> Value {
          Value square = arith::AddFOp::create(nested, loc, x[0], constant(nested, eps));
          Value part = arith::DivFOp::create(nested, loc, multiply(nested, x[2], x[1]), square);
          Value inverse =
              arith::DivFOp::create(nested, loc, constant(nested, factor), math::SqrtOp::create(nested, loc, square));
          return multiply(nested, arith::SubFOp::create(nested, loc, x[3], part), inverse);
        });
  }

  TileOps &ops;
  OpBuilder &b;
  Location loc;
  Operation *op;
  LinearOp forward; ///< the same inputs
  const LinearShape shape;
  unsigned token; ///< its dimension in the domain
  LinearChunk::Place place;
  const LinearSequence sequence;
  LinearChunk chunk;
  LinearFactorGradients factors;
  Tile written, states;              ///< U and the state in front, of all chunks
  Tile cotangents, dwritten, dstate; ///< dX then dO; of U; of the state behind the chunk
  Tile upper, reversed;              ///< L^T and dX, from the last token to the first
  Tile sums, units;
  AffineExpr t = ops.dim(0), d = ops.dim(1), k = ops.dim(2);
};
} // namespace

void attn::cpu::emitLinearGradients(TileOps &ops, Operation *op, LinearOp forward, const LinearShape &shape,
                                    LinearChunk::Place place, const LinearSequence &sequence) {
  LinearGradientTask(ops, op, forward, shape, std::move(place), sequence).emit();
}
