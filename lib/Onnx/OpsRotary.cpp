//===- OpsRotary.cpp - RotaryEmbedding ------------------------------------===//
//
// ai.onnx's of opset 23, and com.microsoft's: elementwise on the two halves.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Shared.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;

namespace {
/// The operands by what they are; the orders of the two operators differ.
struct Rotary {
  Value input, cos, sin, positions;
  int64_t size = 0;    ///< of a head
  int64_t rotated = 0; ///< the first of these elements, which are rotated
  size_t heads = 1;    ///< the dimension of the heads, of rank 4
  bool isInterleaved = false;
};
} // namespace

static bool isMicrosoft(const NodeView &view) { return view.node.domain == kMicrosoftDomain; }

/// (batch, heads, rows, size), or (batch, rows, heads * size) as (batch, rows, heads, size).
static Error splitHeads(NodeView &view, Rotary &rotary) {
  const Value &input = view.get(0);
  int64_t heads = view.getInteger("num_heads", 0);
  if (input.getRank() != 3 && input.getRank() != 4)
    return view.fail(formatv("expected an input of rank 3 or 4, found rank {0}", input.getRank()));
  std::optional<int64_t> last = input.sizes.back().number;
  if (!last)
    return view.fail("expected a fixed last size of the input, found a symbol");
  rotary.input = input;
  rotary.size = *last;
  if (input.getRank() == 4)
    return Error::success();
  rotary.heads = 2;
  // If a whole head is rotated, com.microsoft's caches give the head size.
  std::optional<int64_t> half = rotary.cos.sizes.empty() ? std::nullopt : rotary.cos.sizes.back().number;
  if (heads == 0 && isMicrosoft(view) && view.getInteger("rotary_embedding_dim", 0) == 0 && half && *half > 0)
    heads = *last / (2 * *half);
  if (heads < 1 || *last % heads != 0)
    return view.fail(
        formatv("expected num_heads that divides the last size of an input of rank 3, {0}, found {1}", *last, heads));
  rotary.size = *last / heads;
  rotary.input = view.b.reshape(input, {input.sizes[0], input.sizes[1], fixed(heads), fixed(rotary.size)});
  return Error::success();
}

static Expected<Rotary> readRotary(NodeView &view) {
  bool isForeign = isMicrosoft(view);
  Rotary rotary;
  rotary.cos = view.get(isForeign ? 2 : 1);
  rotary.sin = view.get(isForeign ? 3 : 2);
  rotary.positions = isForeign ? view.get(1) : view.has(3) ? view.get(3) : Value();
  rotary.isInterleaved = view.getInteger("interleaved", 0) != 0;
  if (view.getInteger("is_packed_batching", 0) != 0 || view.getReal("scale", 1.0) != 1.0)
    return view.fail("expected is_packed_batching = 0 and scale = 1, found others");
  bool isAlike = rotary.cos.element == view.get(0).element && rotary.sin.element == view.get(0).element;
  if (!isFloat(view.get(0).element) || !isAlike)
    return view.fail("expected an input and caches of one type of floats, found others");
  if (Error error = splitHeads(view, rotary))
    return std::move(error);
  rotary.rotated = view.getInteger("rotary_embedding_dim", 0);
  if (rotary.rotated == 0)
    rotary.rotated = rotary.size;
  if (rotary.rotated < 2 || rotary.rotated % 2 != 0 || rotary.rotated > rotary.size)
    return view.fail(
        formatv("expected an even number of rotated elements from 2 to {0}, found {1}", rotary.size, rotary.rotated));
  size_t rank = rotary.positions ? 2 : 3;
  for (const Value *cache : {&rotary.cos, &rotary.sin})
    if (cache->getRank() != rank || !canMeet(cache->sizes.back(), fixed(rotary.rotated / 2)))
      return view.fail(formatv("expected caches of rank {0} {1} position_ids, and of {2} columns, found others", rank,
                               rotary.positions ? "with" : "without", rotary.rotated / 2));
  return rotary;
}

/// com.microsoft: a single position, at which the rows of all sequences start.
static Value countFrom(NodeView &view, const Value &start, const Size &rows) {
  Value first = view.b.reshape(start, {fixed(1), fixed(1)});
  GraphBuilder &b = view.b;
  return b.addElementwise(start.element, {fixed(1), rows}, {&first}, [&](Args x) {
    return b.make<arith::AddIOp>(x[0], b.make<arith::IndexCastOp>(x[0].getType(), b.addLoopIndex(1)));
  });
}

/// The rows of a cache for (batch, rows), as they broadcast to the input.
static Expected<Value> lookUp(NodeView &view, const Rotary &rotary, Value cache) {
  size_t rows = rotary.heads == 1 ? 2 : 1;
  const Sizes &sizes = rotary.input.sizes;
  if (rotary.positions) {
    Value positions = rotary.positions;
    bool isStart = isMicrosoft(view) && positions.getRank() == 1 && positions.sizes[0].number == 1;
    if (isStart)
      positions = countFrom(view, positions, sizes[rows]);
    if (positions.element != DataType::Int64 || positions.getRank() != 2)
      return view.fail("expected position_ids (batch, rows) of INT64, found others");
    Expected<Values> found = buildAs(view, "Gather", {cache, positions}, {makeAttribute("axis", int64_t(0))});
    if (!found)
      return found.takeError();
    cache = found->front();
  }
  bool isOfBatch = cache.sizes[0].number == 1 || canMeet(cache.sizes[0], sizes[0]);
  if (!isOfBatch || !canMeet(cache.sizes[1], sizes[rows]))
    return view.fail("expected caches or position_ids of the input's batch and rows, found others");
  // Sizes that another operand determines.
  Size batch = cache.sizes[0].number == 1 ? fixed(1) : sizes[0], columns = fixed(rotary.rotated / 2);
  Sizes wide = {batch, fixed(1), sizes[rows], columns};
  if (rotary.heads == 2)
    std::swap(wide[1], wide[2]);
  return view.b.reshape(cache, wide);
}

/// One of the halves that are rotated into each other, or every other element.
static Value takePart(GraphBuilder &b, const Rotary &rotary, int64_t index) {
  Sizes offsets(4, fixed(0)), sizes = rotary.input.sizes;
  std::vector<int64_t> strides(4, 1);
  sizes[3] = fixed(rotary.rotated / 2);
  offsets[3] = fixed(rotary.isInterleaved ? index : index * rotary.rotated / 2);
  strides[3] = rotary.isInterleaved ? 2 : 1;
  return b.slice(rotary.input, offsets, sizes, strides);
}

/// lhs * cos - rhs * sin, or with a plus; in f32 for narrower floats.
template <typename Op>
static Value rotate(GraphBuilder &b, const Value &lhs, const Value &rhs, const Value &cos, const Value &sin) {
  return b.addComputed(lhs.element, lhs.sizes, {&lhs, &cos, &rhs, &sin}, [&](Args x) {
    mlir::Value product = b.make<arith::MulFOp>(x[0], x[1]), other = b.make<arith::MulFOp>(x[2], x[3]);
    return b.make<Op>(product, other);
  });
}

/// The pairs (x, y) are the halves of the rotated elements or, interleaved, neighbours: (x * cos - y * sin, x * sin + y
/// * cos). The elements after them stay.
static Expected<Values> buildRotary(NodeView &view) {
  Expected<Rotary> rotary = readRotary(view);
  if (!rotary)
    return rotary.takeError();
  Expected<Value> cos = lookUp(view, *rotary, rotary->cos), sin = lookUp(view, *rotary, rotary->sin);
  if (!cos || !sin)
    return llvm::joinErrors(cos ? Error::success() : cos.takeError(), sin ? Error::success() : sin.takeError());
  GraphBuilder &b = view.b;
  Value x = takePart(b, *rotary, 0), y = takePart(b, *rotary, 1);
  Value parts[] = {rotate<arith::SubFOp>(b, x, y, *cos, *sin), rotate<arith::AddFOp>(b, x, y, *sin, *cos)};
  Sizes rotated = rotary->input.sizes, offsets(4, fixed(0)), pair = rotated;
  rotated[3] = fixed(rotary->rotated);
  // Neighbours are the last two of five dimensions.
  if (rotary->isInterleaved) {
    pair[3] = fixed(rotary->rotated / 2);
    pair.push_back(fixed(1));
    offsets.push_back(fixed(0));
  }
  Sizes joined = rotary->isInterleaved ? pair : rotated;
  joined.back() = fixed(rotary->isInterleaved ? 2 : rotary->rotated);
  Value result = b.addEmpty(rotary->input.element, joined);
  for (int64_t i : {0, 1}) {
    Value part = rotary->isInterleaved ? b.reshape(parts[i], pair) : parts[i];
    offsets.back() = fixed(rotary->isInterleaved ? i : i * rotary->rotated / 2);
    result = b.insert(part, result, offsets);
  }
  result = b.reshape(result, rotated);
  if (rotary->rotated < rotary->size) {
    Sizes rest = rotated, from(4, fixed(0));
    rest[3] = fixed(rotary->size - rotary->rotated);
    from[3] = fixed(rotary->rotated);
    Value kept = b.slice(rotary->input, from, rest);
    Value whole = b.insert(result, b.addEmpty(result.element, rotary->input.sizes), Sizes(4, fixed(0)));
    result = b.insert(kept, whole, from);
  }
  return one(b.reshape(result, view.get(0).sizes));
}

llvm::ArrayRef<RuleRow> attn::onnx::getRotaryRules() {
  static constexpr RuleRow rows[] = {{"RotaryEmbedding", buildRotary, 3, 4},
                                     {"com.microsoft.RotaryEmbedding", buildRotary, 4, 4}};
  return rows;
}
