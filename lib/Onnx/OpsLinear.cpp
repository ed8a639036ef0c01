//===- OpsLinear.cpp - LinearAttention ------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LinearNode.h"
#include "OnnxChecks.h"
#include "Shared.h"
#include "attn/IR/Attn.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

#include "llvm/ADT/STLExtras.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;

namespace {
enum Input : size_t { Query, Key, ValueInput, PastState, Decay, Beta };
/// A dimension of the domain.
enum Loop : unsigned { B, H, T, D, E, NumLoops };

/// A state is one of a head of value. Several heads of query that read one state are heads with equal states.
struct LinearSizes {
  Size batch, tokens;
  int64_t queryHeads, keyHeads, valueHeads, d, dv;
  int64_t getHeads() const { return std::max(queryHeads, valueHeads); }
};
} // namespace

/// Heads that divide the columns of an input, and the columns of one.
static Expected<int64_t> splitColumns(NodeView &view, size_t input, StringRef name, int64_t heads) {
  const Value &value = view.get(input);
  if (value.getRank() != 3 || !value.sizes[2].number)
    return view.fail(formatv("expected {0} of rank 3 with a fixed last size, found others", name));
  int64_t columns = *value.sizes[2].number;
  if (heads < 1 || columns % heads != 0 || columns == 0)
    return view.fail(
        formatv("expected a number of heads that divides the columns of {0}, {1}, found {2}", name, columns, heads));
  return columns / heads;
}

static Expected<LinearSizes> readSizes(NodeView &view) {
  int64_t queryHeads = view.getInteger("q_num_heads", 0), heads = view.getInteger("kv_num_heads", 0);
  Expected<int64_t> d = splitColumns(view, Query, "query", queryHeads);
  if (!d)
    return d.takeError();
  Expected<int64_t> dv = splitColumns(view, ValueInput, "value", heads);
  if (!dv)
    return dv.takeError();
  if (heads % queryHeads != 0 && queryHeads % heads != 0)
    return view.fail(
        formatv("expected one of q_num_heads and kv_num_heads to be a multiple of the other, found {0} and "
                "{1}",
                queryHeads, heads));
  Expected<int64_t> keyHeads = splitColumns(view, Key, "key", *d);
  if (!keyHeads)
    return keyHeads.takeError();
  if (*keyHeads != std::min(queryHeads, heads))
    return view.fail(formatv("expected key of {0} heads of {1} columns, found {2}; repeat query for the heads of key",
                             std::min(queryHeads, heads), *d, *keyHeads));
  for (size_t input : {Query, Key, ValueInput})
    if (!isFloat(view.get(input).element) || view.get(input).element != view.get(Query).element)
      return view.fail("expected query, key and value of one type of floats, found others");
  const Sizes &sizes = view.get(Query).sizes;
  return LinearSizes{sizes[0], sizes[1], queryHeads, *keyHeads, heads, *d, *dv};
}

/// Each head as often as heads of query share its state.
static Value repeatHeads(GraphBuilder &b, const Value &value, size_t dim, const LinearSizes &size) {
  int64_t times = size.getHeads() / size.valueHeads;
  if (times == 1)
    return value;
  Sizes apart = value.sizes, wide, joined = value.sizes;
  apart.insert(apart.begin() + dim + 1, fixed(1));
  wide = apart;
  wide[dim + 1] = fixed(times);
  joined[dim] = fixed(size.getHeads());
  return b.reshape(b.broadcast(b.reshape(value, apart), wide), joined);
}

/// Gates (batch, tokens, heads), or one for all heads; decay also (batch, tokens, heads * d).
static Expected<Value> readGates(NodeView &view, size_t input, StringRef name, const LinearSizes &size,
                                 bool hasChannels) {
  GraphBuilder &b = view.b;
  const Value &gates = view.get(input);
  std::optional<int64_t> columns = gates.getRank() == 3 ? gates.sizes[2].number : std::nullopt;
  if (!columns || !isFloat(gates.element))
    return view.fail(formatv("expected {0} of rank 3 of floats with a fixed last size, found others", name));
  Sizes rows = {size.batch, size.tokens, fixed(size.valueHeads)};
  if (hasChannels && *columns == size.valueHeads * size.d && size.d > 1)
    return repeatHeads(b, b.reshape(gates, {rows[0], rows[1], rows[2], fixed(size.d)}), 2, size);
  if (*columns != size.valueHeads && *columns != 1)
    return view.fail(formatv("expected {0} of {1} columns, one a head{2}, found {3}", name, size.valueHeads,
                             hasChannels ? ", or also a channel of key" : ", or of 1", *columns));
  return repeatHeads(b, b.broadcast(gates, rows), 2, size);
}

Expected<Values> attn::onnx::buildLinearAttention(NodeView &view) {
  GraphBuilder &b = view.b;
  StringRef rule = view.getString("update_rule", "gated_delta");
  bool isGated = rule == "gated" || rule == "gated_delta", isDelta = rule == "delta" || rule == "gated_delta";
  if (!isGated && !isDelta && rule != "linear")
    return view.fail("expected update_rule linear, gated, delta or gated_delta, found " + rule);
  if ((isGated && !view.has(Decay)) || (isDelta && !view.has(Beta)))
    return view.fail("expected decay with update_rule gated and beta with delta, found " +
                     llvm::Twine(isGated && !view.has(Decay) ? "no decay" : "no beta") + " with " + rule);
  Expected<LinearSizes> size = readSizes(view);
  if (!size)
    return size.takeError();

  DataType type = view.get(Query).element, wide = getComputeType(type);
  auto rows = [&](size_t input, int64_t heads, int64_t columns) {
    return b.reshape(view.get(input), {size->batch, size->tokens, fixed(heads), fixed(columns)});
  };
  mlir::Value query = b.get(rows(Query, size->queryHeads, size->d)), key = b.get(rows(Key, size->keyHeads, size->d)),
              value = b.get(repeatHeads(b, rows(ValueInput, size->valueHeads, size->dv), 2, *size)), decay, beta;
  auto getHead = [&](int64_t heads) {
    return heads == size->getHeads() ? b.dim(H) : b.dim(H).floorDiv(size->getHeads() / heads);
  };
  llvm::SmallVector<mlir::AffineMap> maps;
  auto addMap = [&](llvm::ArrayRef<mlir::AffineExpr> exprs) {
    maps.push_back(mlir::AffineMap::get(NumLoops, 0, exprs, b.getContext()));
  };
  addMap({b.dim(B), b.dim(T), getHead(size->queryHeads), b.dim(D)});
  addMap({b.dim(B), b.dim(T), getHead(size->keyHeads), b.dim(D)});
  addMap({b.dim(B), b.dim(T), b.dim(H), b.dim(E)});
  if (isGated) {
    Expected<Value> gates = readGates(view, Decay, "decay", *size, /*hasChannels=*/true);
    if (!gates)
      return gates.takeError();
    decay = b.get(*gates);
    llvm::SmallVector<mlir::AffineExpr> exprs = {b.dim(B), b.dim(T), b.dim(H)};
    if (gates->getRank() == 4)
      exprs.push_back(b.dim(D));
    addMap(exprs);
  }
  if (isDelta) {
    Expected<Value> gates = readGates(view, Beta, "beta", *size, /*hasChannels=*/false);
    if (!gates)
      return gates.takeError();
    beta = b.get(*gates);
    addMap({b.dim(B), b.dim(T), b.dim(H)});
  }
  addMap({b.dim(B), b.dim(T), b.dim(H), b.dim(E)});
  addMap({b.dim(B), b.dim(H), b.dim(D), b.dim(E)});

  Sizes stateSizes = {size->batch, fixed(size->valueHeads), fixed(size->d), fixed(size->dv)};
  if (view.has(PastState) && (view.get(PastState).getRank() != 4 || !isFloat(view.get(PastState).element)))
    return view.fail("expected past_state (batch, heads, d_k, d_v) of floats, found others");
  for (size_t i = 0; view.has(PastState) && i < stateSizes.size(); ++i)
    if (!canMeet(view.get(PastState).sizes[i], stateSizes[i]))
      return view.fail(
          formatv("expected past_state (batch, {0}, {1}, {2}), found others", size->valueHeads, size->d, size->dv));
  Value state = b.addZeros(wide, stateSizes);
  if (view.has(PastState))
    state = b.cast(b.reshape(view.get(PastState), stateSizes), wide);
  state = repeatHeads(b, state, 1, *size);
  // The kernel writes to its state, and the input is the caller's.
  if (view.has(PastState))
    state.ir = b.make<mlir::bufferization::AllocTensorOp>(b.getType(state), mlir::ValueRange(), b.get(state));
  Value output = b.addEmpty(type, {size->batch, size->tokens, fixed(size->getHeads()), fixed(size->dv)});
  double scale = view.getReal("scale", 0);
  auto op = LinearOp::create(b, mlir::TypeRange{output.ir.getType(), state.ir.getType()}, query, key, value, decay,
                             beta, mlir::Value(), mlir::Value(), output.ir, state.ir, mlir::Value(), mlir::Value(),
                             mlir::UnitAttr(), mlir::FloatAttr(),
                             scale == 0 ? mlir::FloatAttr() : b.getF64FloatAttr(scale), b.getAffineMapArrayAttr(maps));
  output.ir = op->getResult(0);
  state.ir = op->getResult(1);
  if (int64_t times = size->getHeads() / size->valueHeads; times > 1) { // of equal states the first
    state = b.reshape(state, {size->batch, fixed(size->valueHeads), fixed(times), fixed(size->d), fixed(size->dv)});
    state = b.slice(state, Sizes(5, fixed(0)),
                    {size->batch, fixed(size->valueHeads), fixed(1), fixed(size->d), fixed(size->dv)});
    state = b.reshape(state, stateSizes);
  }
  DataType kept = view.has(PastState) ? view.get(PastState).element : type;
  return Values{b.reshape(output, {size->batch, size->tokens, fixed(size->getHeads() * size->dv)}),
                b.cast(state, kept)};
}
