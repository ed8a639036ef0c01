//===- AttentionBuilder.cpp - what an Attention node computes -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "AttentionBuilder.h"
#include "attn/IR/Attn.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace attn;
using namespace attn::onnx;

namespace {
/// Dimensions of the domain of attn.sdpa. The chain's ops have only one of D and E, at the position of D.
enum Loop : unsigned { B, H, I, J, D, E };
} // namespace

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Size AttentionBuilder::addSize(const Dimension &dimension, Input input, unsigned dim) {
  return dimension.size ? fixed(*dimension.size) : b.addDim(inputs[input], dim);
}

Value AttentionBuilder::getInput(Input input) const {
  bool isValue = input == kV || input == kPastValue;
  Value value = {input == kLengths ? node.lengths.element
                 : input == kMask  ? node.elements.mask
                 : isValue         ? node.elements.value
                                   : node.elements.query,
                 {},
                 inputs[input]};
  for (const Dimension &dimension : node.getInputShape(input))
    value.sizes.push_back({dimension.size});
  return value;
}

/// (batch, rows, heads · size) as (batch, rows, heads, size): a view.
Value AttentionBuilder::splitHeads(const Value &packed, int64_t heads, int64_t size) {
  Sizes sizes = {packed.sizes[0], packed.sizes[1], fixed(heads), fixed(size)};
  const mlir::ReassociationIndices groups[] = {{0}, {1}, {2, 3}};
  return {packed.element, sizes,
          b.make<tensor::ExpandShapeOp>(b.getType(packed.element, sizes), packed.ir, groups, b.fold(sizes))};
}

/// A view of the first keys, for a mask of fewer keys.
Rows AttentionBuilder::takePrefix(const Rows &rows, int64_t count) {
  Sizes sizes = rows.tensor.sizes;
  // The view's own batch size, which the entry checks against this tensor.
  if (!batch.number)
    sizes[0] = b.addDim(rows.tensor.ir, 0);
  sizes[rows.isHeadMajor ? 2 : 1] = fixed(count);
  return {b.slice(rows.tensor, Sizes(4, fixed(0)), sizes), rows.isHeadMajor};
}

/// The mask with its own sizes, which the entry checks against this tensor.
Value AttentionBuilder::withOwnSizes(Value mask) {
  for (auto [dim, dimension] : llvm::enumerate(node.getInputShape(kMask)))
    mask.sizes[dim] = addSize(dimension, kMask, dim);
  return mask;
}

/// attn_mask in the type of Q, as in the operator's function body; narrower floats stay, as they are exact in it.
/// Integers are added, like floats.
Value AttentionBuilder::addMask() {
  if (!node.has[kMask])
    return {};
  Value mask = getInput(kMask);
  auto getBits = [&](DataType type) { return b.getElementType(type).getIntOrFloatBitWidth(); };
  bool isNarrower = isFloat(mask.element) && getBits(mask.element) < getBits(node.elements.query);
  if (node.hasBooleanMask() || mask.element == node.elements.query || isNarrower)
    return mask;
  return b.cast(withOwnSizes(mask), node.elements.query);
}

/// A mask of fewer keys, padded with false or -inf.
Value AttentionBuilder::padMask(const Value &mask) {
  Value given = withOwnSizes(mask);
  Sizes sizes = given.sizes;
  sizes.back() = keys;
  mlir::Type type = b.getElementType(mask.element);
  mlir::Value removed = node.hasBooleanMask() ? b.zero(type) : b.infinity(type, /*isNegative=*/true);
  return b.insert(given, b.addFilled(mask.element, sizes, removed), Sizes(sizes.size(), fixed(0)));
}

/// A size as i64.
mlir::Value AttentionBuilder::addWide(const Size &size) {
  return size.number ? b.integer(*size.number, b.getI64Type()) : b.make<arith::IndexCastOp>(b.getI64Type(), size.value);
}

/// The elements of the input of lengths, plus `added`, as i32 clamped to [0, limit], one per batch index.
Value AttentionBuilder::addCounts(mlir::Value added, mlir::Value limit) {
  Value lengths = getInput(kLengths), counts = b.addEmpty(DataType::Int32, {batch});
  mlir::Value zero = b.zero(b.getI64Type());
  Operand operand = {&lengths, b.getDims(1)};
  if (node.lengths.isColumn)
    operand.map.push_back(b.getAffineConstantExpr(0));
  return b.addGeneric(counts, b.getDims(1), operand, 1, {}, [&](Args x) {
    mlir::Value count = b.cast(x[0], b.getI64Type());
    if (added)
      count = b.make<arith::AddIOp>(count, added);
    count = b.make<arith::MinSIOp>(b.make<arith::MaxSIOp>(count, zero), limit);
    return b.cast(count, b.getI32Type());
  });
}

/// nonpad_kv_seqlen as kv_lengths: i32, from 0 to the number of keys.
mlir::Value AttentionBuilder::addLengths(const Size &most) {
  if (!node.has[kLengths])
    return {};
  mlir::Value limit = addWide(most), offset;
  if (node.lengths.offset != 0)
    offset = b.integer(node.lengths.offset, b.getI64Type());
  return addCounts(offset, limit).ir;
}

//===----------------------------------------------------------------------===//
// The computation
//===----------------------------------------------------------------------===//

/// True if the position of a query is relative to the last key: a view of the first keys would shift it.
bool AttentionBuilder::isLowerRight() const {
  if (node.lengths.appends)
    return false;
  std::optional<int64_t> left = node.window.left;
  bool isPlaced = left || node.isCausal || node.window.right;
  bool isByLengths = node.has[kLengths] && !node.lengths.countsFromFirst;
  return isPlaced && (isByLengths || (left && *left < *pastKeys.number));
}

/// Query i follows the past keys, at position p = i + past, or, if K and V are a cache that contains its own keys, i +
/// nonpad_kv_seqlen - queries (onnx 1.23, an erratum of opsets 24 and 25). It keeps key j iff p - left <= j <= p +
/// right; causal is right = 0.
template <typename Op> void AttentionBuilder::setCausal(Op op) {
  std::optional<int64_t> left = node.window.left, right = node.isCausal ? 0 : node.window.right;
  if (!left && !right)
    return;
  auto getAlignment = [&](CausalAlignment alignment) { return CausalAlignmentAttr::get(b.getContext(), alignment); };
  auto setWindow = [&](CausalAlignment alignment) {
    op.setWindowAttr(WindowAttr::get(b.getContext(), left, right));
    op.setAlignAttr(getAlignment(alignment));
  };
  if (node.lengths.appends) { // from `starts` on
    right = right.value_or(0);
    if (left)
      setWindow(CausalAlignment::Offset);
    else
      op.setCausalAttr(getAlignment(CausalAlignment::Offset));
    op.getCausalOffsetMutable().assign(starts.ir);
    return;
  }
  CausalAlignment align = isLowerRight() ? CausalAlignment::BottomRight : CausalAlignment::TopLeft;
  int64_t past = isLowerRight() ? 0 : *pastKeys.number;
  if (node.isCausal && !left && past == 0) {
    op.setCausalAttr(getAlignment(align));
    return;
  }
  if (left)
    *left -= past;
  if (right)
    *right += past;
  setWindow(align);
}

template <typename Op> void AttentionBuilder::setMask(Op op, const Value &mask, mlir::Value lengths) {
  if (mask)
    (node.hasBooleanMask() ? op.getMaskMutable() : op.getBiasMutable()).assign(mask.ir);
  if (lengths)
    op.getKvLengthsMutable().assign(lengths);
  setCausal(op);
}

mlir::AffineExpr AttentionBuilder::getKeyHead() { return b.dim(H).floorDiv(node.sizes.heads / node.sizes.kvHeads); }

mlir::AffineMap AttentionBuilder::mapRows(unsigned rank, unsigned row, mlir::AffineExpr head, unsigned column,
                                          bool isHeadMajor) {
  mlir::AffineExpr results[] = {b.dim(B), isHeadMajor ? head : b.dim(row), isHeadMajor ? b.dim(row) : head,
                                b.dim(column)};
  return mlir::AffineMap::get(rank, 0, results, b.getContext());
}

mlir::Value AttentionBuilder::addSdpa(const Value &q, Rows k, Rows v, const Value &y) {
  Size count = keys;
  Value mask = addMask();
  bool isShort = node.has[kMask] && node.mask.back().prefix;
  if (isShort && isLowerRight()) {
    mask = padMask(mask);
  } else if (isShort) {
    count = fixed(*node.mask.back().prefix);
    k = takePrefix(k, *count.number);
    v = takePrefix(v, *count.number);
  }
  mlir::Value lengths = addLengths(count);
  llvm::SmallVector<mlir::AffineMap> maps;
  if (node.isPacked) {
    maps = {mapRows(6, I, b.dim(H), D, false), mapRows(6, J, getKeyHead(), D, k.isHeadMajor),
            mapRows(6, J, getKeyHead(), E, v.isHeadMajor)};
    Exprs results;
    for (auto [i, dimension] : llvm::enumerate(node.mask))
      results.push_back(dimension.isBroadcast ? b.getAffineConstantExpr(0) : b.dim(kScoreRank - node.mask.size() + i));
    if (node.has[kMask])
      maps.push_back(mlir::AffineMap::get(6, 0, results, b.getContext()));
    maps.push_back(mapRows(6, I, b.dim(H), E, false));
  }
  auto sdpa = SdpaOp::create(b, q.ir, k.tensor.ir, v.tensor.ir, y.ir, /*lse=*/mlir::Value(), maps);
  if (node.scale)
    sdpa.setScaleAttr(b.getF64FloatAttr(*node.scale));
  if (node.softcap)
    sdpa.setSoftcapAttr(b.getF64FloatAttr(*node.softcap));
  setMask(sdpa, mask, lengths);
  return sdpa->getResult(0);
}

/// The steps one by one; the scores are f32, or f64 for doubles.
mlir::Value AttentionBuilder::addChain(const Value &q, const Rows &k, const Rows &v, const Value &y) {
  Value last = {node.getComputeElement() == DataType::Double ? DataType::Double : DataType::Float,
                {batch, heads, queries, keys}};
  const mlir::Type type = b.getType(last);
  std::array<mlir::Value, 4> values;
  auto addInit = [&] { return b.addEmpty(last.element, last.sizes).ir; };
  auto note = [&](mlir::Value value, ScoresMode mode) { last.ir = values[unsigned(mode)] = value; };
  mlir::ArrayAttr scoresMaps, applyMaps;
  if (node.isPacked) {
    mlir::AffineMap scores = mlir::AffineMap::getMinorIdentityMap(4, 4, b.getContext());
    scores = mlir::AffineMap::get(5, 0, scores.getResults(), b.getContext());
    scoresMaps = b.getAffineMapArrayAttr(
        {mapRows(5, I, b.dim(H), D, false), mapRows(5, J, getKeyHead(), D, k.isHeadMajor), scores});
    applyMaps = b.getAffineMapArrayAttr(
        {scores, mapRows(5, J, getKeyHead(), D, v.isHeadMajor), mapRows(5, I, b.dim(H), D, false)});
  }
  last.ir = b.make<ScoresOp>(type, q.ir, k.tensor.ir, addInit(), mlir::ValueRange(), ScoreKindAttr(), scoresMaps);
  double scale = node.scale.value_or(1.0 / std::sqrt(double(node.sizes.headSize)));
  note(b.make<ScaleOp>(type, last.ir, addInit(), mlir::Value(), b.getF64FloatAttr(scale), mlir::ArrayAttr()),
       ScoresMode::Scaled);
  values.fill(last.ir);
  if (node.softcap) {
    note(b.make<SoftcapOp>(type, last.ir, addInit(), b.getF64FloatAttr(*node.softcap), mlir::ArrayAttr()),
         ScoresMode::Softcapped);
    values[unsigned(ScoresMode::Masked)] = last.ir;
  }
  Value mask = addMask();
  if (node.has[kMask] && node.mask.back().prefix)
    mask = padMask(mask);
  if (node.has[kMask] || node.has[kLengths] || node.isCausal || node.window.left || node.window.right) {
    mlir::Value lengths = addLengths(keys);
    auto op = MaskOp::create(b, last.ir, mlir::Value(), mlir::Value(), addInit(), mlir::ArrayAttr());
    setMask(op, mask, lengths);
    note(op->getResult(0), ScoresMode::Masked);
  }
  note(b.make<SoftmaxOp>(type, last.ir, addInit(), mlir::Value(), mlir::Value(), mlir::Value(), mlir::ArrayAttr()),
       ScoresMode::Weights);
  mlir::Value out = b.make<ApplyOp>(y.ir.getType(), last.ir, v.tensor.ir, y.ir, applyMaps);
  outputs[kScores] = b.cast({last.element, last.sizes, values[unsigned(node.mode)]}, node.elements.query);
  return out;
}

AttentionOutputs AttentionBuilder::build() {
  const unsigned length = node.isPacked ? 1 : 2;
  batch = addSize(node.sizes.batch, kQ, 0);
  queries = addSize(node.sizes.queries, kQ, length);
  newKeys = addSize(node.sizes.newKeys, kK, length);
  pastKeys = node.has[kPastKey] ? addSize(node.sizes.pastKeys, kPastKey, 2) : fixed(0);
  heads = fixed(node.sizes.heads);
  kvHeads = fixed(node.sizes.kvHeads);
  if (Dimension all = node.getKeys(); all.size || !node.has[kPastKey])
    keys = all.size ? fixed(*all.size) : newKeys;
  else if (!all.symbol.empty()) // the buffer of the past keys
    keys = pastKeys;
  else
    keys = b.add(pastKeys, newKeys);
  if (node.lengths.appends)
    addStarts();

  Value q = getInput(kQ);
  q.sizes = {batch, heads, queries, fixed(node.sizes.headSize)};
  if (node.isPacked) {
    q.sizes = {batch, queries, fixed(node.sizes.heads * node.sizes.headSize)};
    q = splitHeads(q, node.sizes.heads, node.sizes.headSize);
  }
  Rows k = addRows(kK, kPastKey, kPresentKey, node.sizes.headSize);
  Rows v = addRows(kV, kPastValue, kPresentValue, node.sizes.valueSize);
  // The wider of the types of Q and V.
  const DataType compute = node.getComputeElement();
  q = b.cast(q, compute);
  k.tensor = b.cast(k.tensor, compute);
  v.tensor = b.cast(v.tensor, compute);
  Value y = b.addEmpty(compute, node.isPacked ? Sizes{batch, queries, fixed(node.sizes.heads * node.sizes.valueSize)}
                                              : Sizes{batch, heads, queries, fixed(node.sizes.valueSize)});
  Value split = node.isPacked ? splitHeads(y, node.sizes.heads, node.sizes.valueSize) : y;
  mlir::Type type = y.ir.getType();
  y.ir = node.asks[kScores] ? addChain(q, k, v, split) : addSdpa(q, k, v, split);
  if (node.isPacked)
    y.ir = b.make<tensor::CollapseShapeOp>(type, y.ir, llvm::ArrayRef<mlir::ReassociationIndices>{{0}, {1}, {2, 3}});
  outputs[kY] = b.cast(y, node.elements.query);
  return outputs;
}
