//===- LinearFactorGradients.cpp - gradients of a chunk's factors ---------===//
//
// From the gradients of the factors of LinearChunk to those of rows and decays.
// Of ln D and ln e^G all are sums of products over the tokens in between: none
// is subtracted, so that nothing cancels, and a decay of -inf has gradient 0.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LinearFactorGradients.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

LinearFactorGradients::LinearFactorGradients(TileOps &ops, LinearChunk &chunk)
    : ops(ops), chunk(chunk), shape(chunk.shape) {
  int64_t count = shape.chunk, written = shape.sets * count, size = shape.keySize;
  left = ops.buffer(2 * count, size);
  right = ops.buffer(written, size);
  triangles = ops.buffer(2 * count, written);
  ends = ops.buffer(1, size);
  if (hasDecay())
    gates = shape.hasChannels ? ops.buffer(count, size) : ops.buffer(1, count);
  if (shape.hasErase)
    erased = chunk.erased.memref ? chunk.erased : ops.buffer(count, size);
  if (shape.hasChannels) {
    history = ops.buffer((count + 1) * written, size);
    starts = ops.buffer(count + 1, size);
  } else if (hasDecay()) {
    logs = ops.buffer(count + 1, count);
    starts = ops.buffer(1, count + 1);
  }
}

void LinearFactorGradients::prepare() {
  if (!shape.hasChannels)
    return;
  ops.fill(history, 0); // a token behind that of a row is never written
  ops.fill(ops.part(starts, 0, 1), 1);
}

void LinearFactorGradients::addProduct(const Tile &x, const Tile &y, const Tile &output) {
  AffineExpr t = ops.dim(0), d = ops.dim(1);
  ops.map(2, false, {ops.at(x, t, d), ops.at(y, t, d)}, ops.at(output, t, d), [&](OpBuilder &b, ValueRange z) -> Value {
    return arith::AddFOp::create(b, ops.loc, z[2], arith::MulFOp::create(b, ops.loc, z[0], z[1]));
  });
}

void LinearFactorGradients::compute() {
  AffineExpr zero = ops.constant(0), t = ops.dim(0), d = ops.dim(1);
  if (shape.hasErase && !chunk.erased.memref)
    ops.map(2, false, {ops.at(chunk.betas, zero, t), ops.at(ops.part(chunk.rows, 0, shape.chunk), t, d)},
            ops.at(erased, t, d), [&](OpBuilder &b, ValueRange x) -> Value {
              return arith::MulFOp::create(b, ops.loc, arith::NegFOp::create(b, ops.loc, x[0]), x[1]);
            });
  selectTriangles();
  shape.hasChannels ? computeByChannel() : computeByHead();
}

/// The elements of triangles by selection: others may be anything.
void LinearFactorGradients::selectTriangles() {
  int64_t count = shape.chunk;
  AffineExpr t = ops.dim(0), i = ops.dim(1);
  for (int64_t half = shape.hasErase ? 0 : 1; half < 2; ++half)
    for (int64_t set = 0; set < shape.sets; ++set)
      ops.map(2, false, {}, ops.at(ops.part(triangles, half * count, count, set * count, count), t, i),
              [&](OpBuilder &b, ValueRange x) -> Value {
                arith::CmpIPredicate isKept = half ? arith::CmpIPredicate::sle : arith::CmpIPredicate::slt;
                Value isIn = arith::CmpIOp::create(b, ops.loc, isKept, linalg::IndexOp::create(b, ops.loc, 1),
                                                   linalg::IndexOp::create(b, ops.loc, 0));
                return arith::SelectOp::create(b, ops.loc, isIn, x[0], createFloatConstant(b, ops.loc, ops.type, 0));
              });
}

//===----------------------------------------------------------------------===//
// A decay a head
//===----------------------------------------------------------------------===//

void LinearFactorGradients::computeByHead() {
  int64_t count = shape.chunk, first = shape.hasErase ? 0 : count;
  AffineExpr zero = ops.constant(0), t = ops.dim(0), i = ops.dim(1), k = ops.dim(2);
  bool isBefore = chunk.op.getBefore();
  if (hasDecay())
    computeLogs();
  auto multiply = [&](ArrayRef<TileUse> inputs, const TileUse &output) {
    ops.map(2, false, inputs, output,
            [&](OpBuilder &b, ValueRange x) -> Value { return arith::MulFOp::create(b, ops.loc, x[1], x[0]); });
  };
  for (int64_t row = first; row < 2 * count; row += count) {
    int64_t shift = row == 0 && isBefore ? 0 : 1;
    for (int64_t set = 0; set < shape.sets; ++set)
      multiply({ops.at(ops.part(chunk.decays, shift, count), t, i)},
               ops.at(ops.part(triangles, row, count, set * count, count), t, i));
    multiply({ops.at(ops.part(chunk.factors, 0, 1, shift, count), zero, t)}, ops.at(ops.part(left, row, count), t, i));
  }
  ops.product(ops.part(triangles, first, 2 * count - first), chunk.columns, ops.part(left, first, 2 * count - first));
  for (int64_t set = 0; set < shape.sets; ++set)
    multiply({ops.at(ops.part(chunk.decays, count, 1), zero, t)}, ops.at(ops.part(right, set * count, count), t, i));
  for (int64_t row = first; row < 2 * count; row += count) {
    Tile reader = row ? ops.part(chunk.rows, count, count) : erased;
    ops.product(ops.at(ops.part(triangles, row, count), k, t), ops.at(reader, k, i), ops.at(right, t, i));
  }
}

/// dg_s is the sum of the gradients of ln D_ti and ln e^G_t over t >= s > i: sums over t from the end, then over i.
void LinearFactorGradients::computeLogs() {
  OpBuilder &b = ops.b;
  Location loc = ops.loc;
  int64_t count = shape.chunk;
  AffineExpr zero = ops.constant(0), t = ops.dim(0), d = ops.dim(1);
  auto add = [&](OpBuilder &nested, ValueRange x) -> Value {
    return arith::AddFOp::create(nested, loc, x.back(), arith::MulFOp::create(nested, loc, x[0], x[1]));
  };
  auto sumRows = [&](const Tile &x, const Tile &y, const Tile &output) {
    ops.map(2, true, {ops.at(x, t, d), ops.at(y, t, d)}, ops.at(output, zero, t), add);
  };
  ops.fill(logs, 0);
  ops.fill(starts, 0);
  // What a row of `before` spans ends in front of its token.
  auto addRows = [&](int64_t row, int64_t shift, const Tile &factor, int64_t set) {
    addProduct(ops.part(triangles, row + shift, count - shift, set * count, count),
               ops.part(factor, shift, count - shift), ops.part(logs, 0, count - shift));
  };
  auto addStarts = [&](int64_t row, int64_t shift) {
    sumRows(ops.part(left, row + shift, count - shift), ops.part(chunk.left, row + shift, count - shift),
            ops.part(starts, 0, 1, 0, count - shift));
  };
  int64_t shift = chunk.op.getBefore() ? 1 : 0;
  for (int64_t set = 0; set < shape.sets; ++set) {
    addRows(count, 0, ops.part(chunk.reads, 0, count, set * count, count), set);
    if (shape.hasErase)
      addRows(0, shift, set + 1 == shape.sets ? chunk.lower : chunk.mixed, set);
    sumRows(ops.part(right, set * count, count), ops.part(chunk.right, set * count, count), ops.part(logs, count, 1));
  }
  addStarts(count, 0);
  if (shape.hasErase)
    addStarts(0, shift);
  Tile last = ops.part(starts, 0, 1, count, 1);
  ops.map(2, true, {ops.at(ends, t, d)}, ops.at(last, t, zero),
          [&](OpBuilder &nested, ValueRange x) -> Value { return arith::AddFOp::create(nested, loc, x[1], x[0]); });
  Value none = ops.index(0);
  auto loadAt = [&](const Tile &tile, Value at) {
    return memref::LoadOp::create(b, loc, tile.memref, ValueRange{none, at});
  };
  Value end = ops.index(count);
  Value whole = arith::MulFOp::create(b, loc, loadAt(starts, end), loadAt(chunk.factors, end));
  memref::StoreOp::create(b, loc, whole, starts.memref, ValueRange{none, end});
  ops.loop(ops.index(0), end, 1, [&](Value i) {
    Value behind = arith::SubIOp::create(b, loc, end, i);
    Value at = arith::SubIOp::create(b, loc, behind, ops.index(1));
    Value sum = arith::AddFOp::create(b, loc, loadAt(starts, at), loadAt(starts, behind));
    memref::StoreOp::create(b, loc, sum, starts.memref, ValueRange{none, at});
    ops.map(2, false, {ops.at(row(logs, behind), t, d)}, ops.at(row(logs, at), t, d),
            [&](OpBuilder &nested, ValueRange x) -> Value { return arith::AddFOp::create(nested, loc, x[1], x[0]); });
  });
  ops.map(2, false, {ops.at(ops.part(starts, 0, 1, 0, count), t, d)}, ops.at(gates, t, d),
          [](OpBuilder &, ValueRange x) { return x[0]; });
  ops.map(2, true, {ops.at(ops.part(logs, 0, count), t, d)}, ops.at(gates, zero, t),
          [&](OpBuilder &nested, ValueRange x) -> Value {
            Value isEarlier =
                arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::slt, linalg::IndexOp::create(nested, loc, 1),
                                      linalg::IndexOp::create(nested, loc, 0));
            Value kept =
                arith::SelectOp::create(nested, loc, isEarlier, x[0], createFloatConstant(nested, loc, ops.type, 0));
            return arith::AddFOp::create(nested, loc, x[1], kept);
          });
}

//===----------------------------------------------------------------------===//
// A decay a channel
//===----------------------------------------------------------------------===//

void LinearFactorGradients::computeByChannel() {
  buildHistory();
  Value count = ops.index(shape.chunk);
  ops.loop(ops.index(0), count, 1, [&](Value i) {
    Value behind = arith::SubIOp::create(ops.b, ops.loc, count, i);
    computeTokenBack(arith::SubIOp::create(ops.b, ops.loc, behind, ops.index(1)));
  });
  ops.loop(ops.index(0), count, 1, [&](Value token) { computeLeft(token); });
}

/// x = e^g x
void LinearFactorGradients::scaleRow(const Tile &gate, const Tile &output) {
  AffineExpr zero = ops.constant(0), t = ops.dim(0), d = ops.dim(1);
  ops.map(2, false, {ops.at(gate, zero, d)}, ops.at(output, t, d), [&](OpBuilder &b, ValueRange x) -> Value {
    return flush(b, ops.loc, arith::MulFOp::create(b, ops.loc, x[1], x[0]));
  });
}

/// Block t + 1: the keys and writes of tokens up to t, decayed up to t, and e^G_t. Block 0 has none.
void LinearFactorGradients::buildHistory() {
  int64_t count = shape.chunk, written = shape.sets * count;
  AffineExpr zero = ops.constant(0), t = ops.dim(0), d = ops.dim(1);
  auto decay = [&](OpBuilder &b, ValueRange x) -> Value {
    return flush(b, ops.loc, arith::MulFOp::create(b, ops.loc, x[0], x[1]));
  };
  ops.loop(ops.index(0), ops.index(count), 1, [&](Value token) {
    Value own = ops.multiply(token, written), next = ops.add(own, ops.index(written));
    Tile gate = row(chunk.gates, token);
    ops.map(2, false, {ops.at(gate, t, d), ops.at(row(starts, token), t, d)}, ops.at(row(starts, token, 1), t, d),
            decay);
    for (int64_t set = 0; set < shape.sets; ++set) {
      Value from = ops.add(own, ops.index(set * count)), into = ops.add(next, ops.index(set * count));
      ops.map(2, false, {ops.at(gate, zero, d), ops.at(ops.part(history, from, token), t, d)},
              ops.at(ops.part(history, into, token), t, d), decay);
      ops.map(2, false, {ops.at(row(chunk.columns, token, set * count), t, d)},
              ops.at(row(history, ops.add(into, token)), t, d), [](OpBuilder &, ValueRange x) { return x[0]; });
    }
  });
}

/// The rows of `right` are the gradients of keys and writes as decayed behind the token, and `ends` that of the state
/// in front of the chunk; then those in front of it.
void LinearFactorGradients::computeTokenBack(Value token) {
  int64_t count = shape.chunk, written = shape.sets * count;
  AffineExpr zero = ops.constant(0), t = ops.dim(0), d = ops.dim(1);
  OpFoldResult one = ops.b.getIndexAttr(1);
  Value next = ops.add(token, ops.index(1));
  // What a row of a or q adds, to so many tokens.
  auto addReader = [&](const Tile &reader, int64_t half, Value tokens) {
    for (int64_t set = 0; set < shape.sets; ++set) {
      Tile weights = triangles;
      weights.memref = memref::SubViewOp::create(
          ops.b, ops.loc, triangles.memref,
          ArrayRef<OpFoldResult>{ops.add(token, ops.index(half * count)), ops.b.getIndexAttr(set * count)},
          {one, OpFoldResult(tokens)}, {one, one});
      Tile into = ops.part(right, ops.b.getIndexAttr(set * count), tokens);
      ops.map(2, false, {ops.at(weights, zero, t), ops.at(reader, zero, d)}, ops.at(into, t, d),
              [&](OpBuilder &b, ValueRange x) -> Value {
                return arith::AddFOp::create(b, ops.loc, x[2], arith::MulFOp::create(b, ops.loc, x[0], x[1]));
              });
    }
    addProduct(reader, row(left, token, half * count), ends);
  };
  addReader(row(chunk.rows, token, count), 1, next);
  bool isBefore = chunk.op.getBefore();
  if (shape.hasErase && !isBefore)
    addReader(row(erased, token), 0, token);
  Tile gate = row(chunk.gates, token), own = row(gates, token);
  ops.fill(own, 0);
  addProduct(row(starts, token), ends, own);
  for (int64_t set = 0; set < shape.sets; ++set)
    ops.loop(ops.index(0), token, 1, [&](Value earlier) {
      Value at = ops.add(ops.multiply(token, written), earlier);
      addProduct(row(history, at, set * count), row(right, earlier, set * count), own);
    });
  scaleRow(gate, own);
  for (int64_t set = 0; set < shape.sets; ++set)
    scaleRow(gate, ops.part(right, ops.b.getIndexAttr(set * count), token));
  scaleRow(gate, ends);
  if (shape.hasErase && isBefore)
    addReader(row(erased, token), 0, token);
}

/// The gradients of a and q of a token: by the state in front of the chunk, and by what is written since.
void LinearFactorGradients::computeLeft(Value token) {
  int64_t count = shape.chunk, written = shape.sets * count;
  for (int64_t half = shape.hasErase ? 0 : 1; half < 2; ++half) {
    int64_t shift = half == 0 && chunk.op.getBefore() ? 0 : 1;
    Tile own = row(left, token, half * count);
    scaleRow(row(starts, token, shift), own);
    Value block = ops.multiply(ops.add(token, ops.index(shift)), written);
    ops.product(row(triangles, token, half * count), ops.part(history, block, ops.b.getIndexAttr(written)), own);
  }
}
