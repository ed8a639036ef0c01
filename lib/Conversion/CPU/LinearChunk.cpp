//===- LinearChunk.cpp - the factors of a chunk of tokens -----------------===//
//
// What all panels of a head of value share: its rows, decays as running
// products of one exponential a token, and the triangles of their products.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LinearTile.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

static Value multiply(OpBuilder &b, Location loc, Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
static Value add(OpBuilder &b, Location loc, Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }

/// Largest power of two below which a decay, or a key times one, counts as 0: what it multiplies is far below what the
/// token itself writes. Products of decays would pass through denormal numbers, which cost ten times the time.
static constexpr int kLeastExponent = -80;

Value attn::cpu::flush(OpBuilder &b, Location loc, Value x) {
  Value least = createFloatConstant(b, loc, x.getType(), std::ldexp(1.0, kLeastExponent));
  Value isSmall = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, math::AbsFOp::create(b, loc, x), least);
  return arith::SelectOp::create(b, loc, isSmall, createFloatConstant(b, loc, x.getType(), 0), x);
}

LinearChunk::LinearChunk(TileOps &ops, LinearOp op, const LinearShape &shape) : ops(ops), op(op), shape(shape) {
  int64_t chunk = shape.chunk, size = shape.keySize, written = shape.sets * chunk;
  rows = ops.buffer(2 * chunk, size);
  columns = shape.sets > 1 ? ops.buffer(written, size) : ops.part(rows, 0, chunk);
  if (op.getNormalize())
    sums = ops.buffer(1, chunk);
  if (op.getBeta())
    betas = ops.buffer(1, chunk);
  if (shape.erasesOwn || (shape.hasErase && shape.hasChannels))
    erased = ops.buffer(chunk, size);
  left = ops.buffer(2 * chunk, size);
  right = ops.buffer(written, size);
  reads = ops.buffer(chunk, written);
  if (shape.hasErase)
    lower = ops.buffer(chunk, chunk);
  if (shape.sets > 1)
    mixed = ops.buffer(chunk, chunk);
  if (shape.hasChannels) {
    gates = ops.buffer(chunk, size);
    factors = ops.buffer(1, size);
    return;
  }
  products = ops.buffer(2 * chunk, written);
  gates = ops.buffer(1, chunk);
  decays = ops.buffer(chunk + 1, chunk);
  factors = ops.buffer(1, chunk + 1);
}

void LinearChunk::prepare() {
  if (!shape.hasChannels) {
    ops.fill(ops.part(decays, 0, 1), 0);
    ops.fill(ops.part(factors, 0, 1, 0, 1), 1);
    if (!op.getDecay())
      ops.fill(gates, 1);
  }
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Tile LinearChunk::getRows(StringRef name, const Place &place) {
  return getPanel(place, Value(), ops.b.getIndexAttr(shape.valueSize), name);
}

Tile LinearChunk::getPanel(const Place &place, Value column, OpFoldResult columns, StringRef name) {
  return getPart(ops, op, shape, place, column, columns, name);
}

Tile attn::cpu::getPart(TileOps &ops, Operation *op, const LinearShape &shape, const LinearChunk::Place &place,
                        Value column, OpFoldResult columns, StringRef name) {
  unsigned operand = 0, token = getNumBatchDims(op);
  SmallVector<OperandSpec> specs = getOperandSpecs(op);
  while (specs[operand].name != name)
    ++operand;
  AffineMap map = getMaps(op)[operand];
  SmallVector<OpFoldResult> offsets(place.offsets), sizes(offsets.size(), ops.b.getIndexAttr(1));
  sizes[token] = place.tokens;
  sizes[token + 1] = ops.b.getIndexAttr(shape.keySize);
  sizes[token + 2] = columns;
  if (column)
    offsets[token + 2] = column;
  Value part =
      createSlice(ops.b, ops.loc, op->getOperand(operand), getOperandSlice(ops.b, ops.loc, map, offsets, sizes));
  bool isState = name.ends_with("state");
  bool hasValues = isState || name.ends_with("value") || name == "output";
  return {part, restrictDomain(map, {isState ? token + 1 : token, hasValues ? token + 2 : token + 1})};
}

/// rows = factor x, 0 behind the tokens that exist.
void LinearChunk::load(const Tile &into, StringRef name, const Place &place, double factor) {
  AffineExpr t = ops.dim(0), d = ops.dim(1);
  ops.map(2, false, {ops.at(getRows(name, place), t, d)},
          ops.at(ops.part(into, ops.b.getIndexAttr(0), place.tokens), t, d), [&](OpBuilder &b, ValueRange x) -> Value {
            return factor == 1 ? x[0] : multiply(b, ops.loc, x[0], createFloatConstant(b, ops.loc, ops.type, factor));
          });
  if (!isShort(place))
    return;
  Value rest = arith::SubIOp::create(ops.b, ops.loc, ops.index(shape.chunk), ops.toValue(place.tokens));
  ops.fill(ops.part(into, place.tokens, rest), 0);
}

/// rows = factor x / sqrt(sum x^2 + eps)
void LinearChunk::normalize(const Tile &of, double factor) {
  AffineExpr zero = ops.constant(0), t = ops.dim(0), d = ops.dim(1);
  ops.fill(sums, 0);
  ops.map(2, true, {ops.at(of, t, d)}, ops.at(sums, zero, t),
          [&](OpBuilder &b, ValueRange x) { return add(b, ops.loc, x[1], multiply(b, ops.loc, x[0], x[0])); });
  double eps = op.getNormalize()->convertToDouble();
  ops.map(2, false, {ops.at(sums, zero, t)}, ops.at(of, t, d), [&](OpBuilder &b, ValueRange x) {
    Value sum = add(b, ops.loc, x[0], createFloatConstant(b, ops.loc, ops.type, eps));
    Value inverse = arith::DivFOp::create(b, ops.loc, createFloatConstant(b, ops.loc, ops.type, factor),
                                          math::SqrtOp::create(b, ops.loc, sum));
    return multiply(b, ops.loc, x[1], inverse);
  });
}

void LinearChunk::loadKeys(const Place &place) {
  Tile keys = ops.part(rows, 0, shape.chunk), queries = ops.part(rows, shape.chunk, shape.chunk);
  double scale = op.getScaleNumber();
  load(keys, "key", place, 1);
  load(queries, "query", place, op.getNormalize() ? 1 : scale);
  if (op.getNormalize()) {
    normalize(keys, 1);
    normalize(queries, scale);
  }
  if (!shape.sharesProducts())
    return;
  int64_t first = shape.hasErase ? 0 : shape.chunk, count = 2 * shape.chunk - first;
  Tile out = ops.part(products, first, count);
  ops.fill(out, 0);
  multiplyRows(ops.part(rows, first, count), keys, out);
}

/// output[i, j] += sum_d left[i, d] right[j, d]. The few sums of one token are reductions of rows: a panel of one
/// column would be copied for them.
void LinearChunk::multiplyRows(const Tile &leftRows, const Tile &rightRows, const Tile &output) {
  Location loc = ops.loc;
  AffineExpr i = ops.dim(0), j = ops.dim(1), d = ops.dim(2);
  if (shape.chunk > 1)
    return ops.product(ops.at(leftRows, i, d), ops.at(rightRows, j, d), ops.at(output, i, j));
  Value last = ops.index(2 * shape.chunk);
  ops.map(3, true, {ops.at(leftRows, i, d), ops.at(rightRows, j, d)}, ops.at(output, i, j),
          [&](OpBuilder &b, ValueRange x) -> Value {
            // A selection that always holds, as in sumRow: no product with lanes of tokens.
            Value isKept =
                arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, linalg::IndexOp::create(b, loc, 0), last);
            Value kept = arith::SelectOp::create(b, loc, isKept, x[1], createFloatConstant(b, loc, ops.type, 0));
            return add(b, loc, x[2], multiply(b, loc, x[0], kept));
          });
}

/// The rows `a`: -beta key, or the operand.
void LinearChunk::loadErased(const Place &place) {
  if (shape.erasesOwn)
    return load(erased, "erase", place, 1);
  AffineExpr zero = ops.constant(0), t = ops.dim(0), d = ops.dim(1);
  ops.map(
      2, false, {ops.at(betas, zero, t), ops.at(ops.part(rows, 0, shape.chunk), t, d)}, ops.at(erased, t, d),
      [&](OpBuilder &b, ValueRange x) { return multiply(b, ops.loc, arith::NegFOp::create(b, ops.loc, x[0]), x[1]); });
}

/// beta, 0 behind the tokens that exist, and exp(decay), 1 behind them.
void LinearChunk::loadGates(const Place &place) {
  AffineExpr zero = ops.constant(0), t = ops.dim(0), d = ops.dim(1);
  if (op.getBeta()) {
    if (isShort(place))
      ops.fill(betas, 0);
    Tile some = betas;
    if (isShort(place))
      some.memref = memref::SubViewOp::create(
          ops.b, ops.loc, betas.memref, ArrayRef<OpFoldResult>{ops.b.getIndexAttr(0), ops.b.getIndexAttr(0)},
          {ops.b.getIndexAttr(1), place.tokens}, {ops.b.getIndexAttr(1), ops.b.getIndexAttr(1)});
    ops.map(1, false, {ops.at(getRows("beta", place), t, zero)}, ops.at(some, zero, t),
            [](OpBuilder &, ValueRange x) { return x[0]; });
  }
  if (!op.getDecay())
    return;
  if (isShort(place))
    ops.fill(gates, 1);
  Tile some = gates, decay = getRows("decay", place);
  OpFoldResult one = ops.b.getIndexAttr(1);
  if (isShort(place)) {
    SmallVector<OpFoldResult> sizes = {one, place.tokens};
    if (shape.hasChannels)
      sizes = {place.tokens, ops.b.getIndexAttr(shape.keySize)};
    some.memref = memref::SubViewOp::create(ops.b, ops.loc, gates.memref,
                                            ArrayRef<OpFoldResult>{ops.b.getIndexAttr(0), ops.b.getIndexAttr(0)}, sizes,
                                            {one, one});
  }
  auto body = [&](OpBuilder &b, ValueRange x) { return flush(b, ops.loc, math::ExpOp::create(b, ops.loc, x[0])); };
  if (shape.hasChannels)
    ops.map(2, false, {ops.at(decay, t, d)}, ops.at(some, t, d), body);
  else
    ops.map(1, false, {ops.at(decay, t, zero)}, ops.at(some, zero, t), body);
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

void LinearChunk::computeFactors(const Place &place) {
  loadGates(place);
  if (erased.memref)
    loadErased(place);
  if (shape.sets > 1) {
    AffineExpr t = ops.dim(0), d = ops.dim(1);
    ops.map(2, false, {ops.at(ops.part(rows, 0, shape.chunk), t, d)}, ops.at(ops.part(columns, 0, shape.chunk), t, d),
            [](OpBuilder &, ValueRange x) { return x[0]; });
    load(ops.part(columns, shape.chunk, shape.chunk), "write", place, 1);
  }
  shape.hasChannels ? computeByChannel() : computeByHead();
}

/// Row t of D is row t - 1 times e^g_t, and 1 on the diagonal: nothing is subtracted, -inf is a reset. Then the
/// triangles are products times D.
void LinearChunk::computeByHead() {
  OpBuilder &b = ops.b;
  Location loc = ops.loc;
  int64_t chunk = shape.chunk, last = (shape.sets - 1) * chunk;
  AffineExpr zero = ops.constant(0), t = ops.dim(0), i = ops.dim(1);
  ops.loop(ops.index(0), ops.index(chunk), 1, [&](Value token) {
    Value none = ops.index(0), next = ops.add(token, ops.index(1));
    Value gate = memref::LoadOp::create(b, loc, gates.memref, ValueRange{none, token});
    Value factor = memref::LoadOp::create(b, loc, factors.memref, ValueRange{none, token});
    memref::StoreOp::create(b, loc, flush(b, loc, multiply(b, loc, factor, gate)), factors.memref,
                            ValueRange{none, next});
    AffineExpr column = ops.dim(0);
    ops.map(1, false, {ops.at(ops.part(decays, token, b.getIndexAttr(1)), zero, column)},
            ops.at(ops.part(decays, next, b.getIndexAttr(1)), zero, column), [&](OpBuilder &nested, ValueRange x) {
              Value at = linalg::IndexOp::create(nested, loc, 0);
              Value isEarlier = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::slt, at, token);
              Value isSame = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::eq, at, token);
              Value product =
                  arith::SelectOp::create(nested, loc, isEarlier, flush(nested, loc, multiply(nested, loc, x[0], gate)),
                                          createFloatConstant(nested, loc, ops.type, 0));
              Value one = createFloatConstant(nested, loc, ops.type, 1);
              return Value(arith::SelectOp::create(nested, loc, isSame, one, product));
            });
  });
  if (!shape.sharesProducts()) {
    ops.fill(products, 0);
    if (shape.hasErase)
      multiplyRows(erased, columns, ops.part(products, 0, chunk));
    multiplyRows(ops.part(rows, chunk, chunk), columns, ops.part(products, chunk, chunk));
  }
  // The elements of a triangle by selection: others may be anything.
  auto select = [&](const Tile &of, const Tile &decay, const Tile &into, arith::CmpIPredicate isKept, bool hasBeta) {
    SmallVector<TileUse> inputs = {ops.at(of, t, i), ops.at(decay, t, i)};
    if (hasBeta)
      inputs.push_back(ops.at(betas, zero, t));
    ops.map(2, false, inputs, ops.at(into, t, i), [&](OpBuilder &nested, ValueRange x) -> Value {
      Value product = multiply(nested, loc, x[0], x[1]);
      if (hasBeta)
        product = multiply(nested, loc, product, arith::NegFOp::create(nested, loc, x[2]));
      Value isIn = arith::CmpIOp::create(nested, loc, isKept, linalg::IndexOp::create(nested, loc, 1),
                                         linalg::IndexOp::create(nested, loc, 0));
      return arith::SelectOp::create(nested, loc, isIn, product, createFloatConstant(nested, loc, ops.type, 0));
    });
  };
  Tile own = ops.part(decays, 1, chunk), previous = op.getBefore() ? ops.part(decays, 0, chunk) : own;
  bool scalesByBeta = op.getBeta() != Value();
  if (shape.hasErase)
    select(ops.part(products, 0, chunk, last, chunk), previous, lower, arith::CmpIPredicate::slt, scalesByBeta);
  if (shape.sets > 1)
    select(ops.part(products, 0, chunk, 0, chunk), previous, mixed, arith::CmpIPredicate::slt, false);
  for (int64_t set = 0; set < shape.sets; ++set)
    select(ops.part(products, chunk, chunk, set * chunk, chunk), own, ops.part(reads, 0, chunk, set * chunk, chunk),
           arith::CmpIPredicate::sle, false);
  // (e^G a, e^G q), e^(G_C - G) k
  auto scaleRows = [&](const Tile &of, const Tile &into, int64_t shift, bool hasBeta) {
    SmallVector<TileUse> inputs = {ops.at(ops.part(factors, 0, 1, shift, chunk), zero, t), ops.at(of, t, i)};
    if (hasBeta)
      inputs.push_back(ops.at(betas, zero, t));
    ops.map(2, false, inputs, ops.at(into, t, i), [&](OpBuilder &nested, ValueRange x) -> Value {
      Value factor = hasBeta ? multiply(nested, loc, x[0], arith::NegFOp::create(nested, loc, x[2])) : x[0];
      return multiply(nested, loc, factor, x[1]);
    });
  };
  if (shape.hasErase)
    scaleRows(scalesByBeta ? ops.part(rows, 0, chunk) : erased, ops.part(left, 0, chunk), op.getBefore() ? 0 : 1,
              scalesByBeta);
  scaleRows(ops.part(rows, chunk, chunk), ops.part(left, chunk, chunk), 1, false);
  for (int64_t set = 0; set < shape.sets; ++set)
    ops.map(2, false,
            {ops.at(ops.part(decays, chunk, 1), zero, t), ops.at(ops.part(columns, set * chunk, chunk), t, i)},
            ops.at(ops.part(right, set * chunk, chunk), t, i),
            [&](OpBuilder &nested, ValueRange x) { return multiply(nested, loc, x[0], x[1]); });
}

/// output[0, i] = sum_d row[0, d] right[i, d] of a set, for the `count` tokens up to `token`.
void LinearChunk::sumRow(const Tile &row, Value token, OpFoldResult count, int64_t set, const Tile &output) {
  Location loc = ops.loc;
  AffineExpr zero = ops.constant(0), i = ops.dim(0), d = ops.dim(1);
  OpFoldResult one = ops.b.getIndexAttr(1);
  Tile written = ops.part(right, ops.b.getIndexAttr(set * shape.chunk), count), out = output;
  out.memref = memref::SubViewOp::create(
      ops.b, loc, output.memref, ArrayRef<OpFoldResult>{token, ops.b.getIndexAttr(0)}, {one, count}, {one, one});
  ops.map(2, true, {ops.at(row, zero, d), ops.at(written, i, d)}, ops.at(out, zero, i),
          [&](OpBuilder &b, ValueRange x) -> Value {
            // By selection it is no product with lanes of tokens, which would be transposed.
            Value isKept =
                arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, linalg::IndexOp::create(b, loc, 0), token);
            Value kept = arith::SelectOp::create(b, loc, isKept, x[1], createFloatConstant(b, loc, ops.type, 0));
            return add(b, loc, x[2], multiply(b, loc, x[0], kept));
          });
}

/// One token: what is written so far decays by its gates; then its rows of the triangles are sums with that.
void LinearChunk::computeToken(Value token) {
  OpBuilder &b = ops.b;
  Location loc = ops.loc;
  int64_t chunk = shape.chunk;
  AffineExpr zero = ops.constant(0), i = ops.dim(0), d = ops.dim(1), column = ops.dim(0);
  OpFoldResult one = b.getIndexAttr(1);
  auto rowOf = [&](const Tile &tile, int64_t first) { return ops.part(tile, ops.add(token, ops.index(first)), one); };
  auto scaled = [&](const Tile &row, const Tile &into) {
    ops.map(1, false, {ops.at(row, zero, column), ops.at(factors, zero, column)}, ops.at(into, zero, column),
            [&](OpBuilder &nested, ValueRange x) { return multiply(nested, loc, x[0], x[1]); });
  };
  auto erase = [&] {
    if (!shape.hasErase)
      return;
    Tile row = rowOf(erased, 0);
    sumRow(row, token, token, shape.sets - 1, lower);
    if (shape.sets > 1)
      sumRow(row, token, token, 0, mixed);
    scaled(row, rowOf(left, 0));
  };
  if (op.getBefore())
    erase();
  Tile gate = rowOf(gates, 0);
  auto decay = [&](OpBuilder &nested, ValueRange x) { return flush(nested, loc, multiply(nested, loc, x[0], x[1])); };
  ops.map(1, false, {ops.at(gate, zero, column)}, ops.at(factors, zero, column), decay);
  for (int64_t set = 0; set < shape.sets; ++set)
    ops.map(2, false, {ops.at(gate, zero, d)}, ops.at(ops.part(right, b.getIndexAttr(set * chunk), token), i, d),
            decay);
  if (!op.getBefore())
    erase();
  Tile query = rowOf(rows, chunk);
  for (int64_t set = 0; set < shape.sets; ++set) {
    ops.map(1, false, {ops.at(rowOf(columns, set * chunk), zero, column)},
            ops.at(rowOf(right, set * chunk), zero, column), [](OpBuilder &, ValueRange x) { return x[0]; });
    sumRow(query, token, ops.add(token, ops.index(1)), set, ops.part(reads, 0, chunk, set * chunk, chunk));
  }
  scaled(query, rowOf(left, chunk));
}

void LinearChunk::computeByChannel() {
  ops.fill(factors, 1);
  ops.fill(reads, 0);
  if (shape.hasErase)
    ops.fill(lower, 0);
  if (shape.sets > 1)
    ops.fill(mixed, 0);
  ops.loop(ops.index(0), ops.index(shape.chunk), 1, [&](Value token) { computeToken(token); });
}
