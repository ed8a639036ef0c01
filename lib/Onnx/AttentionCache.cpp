//===- AttentionCache.cpp - past and new keys of an Attention node --------===//
//
// present = past, then the new rows. In GroupQueryAttention with a cache, the
// keys of each batch index end with the new rows, which the queries belong to,
// after the past rows. Rows past that end are undefined.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "AttentionBuilder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace attn::onnx;

static const Sizes kOrigin(4, fixed(0));

/// The rows of K or V that the attention reads, and the present output if requested.
Rows AttentionBuilder::addRows(Input input, Input past, Output present, int64_t size) {
  Rows rows = {getInput(input), !node.isPacked};
  if (node.isPacked) {
    rows.tensor.sizes = {batch, newKeys, fixed(node.sizes.kvHeads * size)};
    rows.tensor = splitHeads(rows.tensor, node.sizes.kvHeads, size);
  } else {
    rows.tensor.sizes = {batch, kvHeads, newKeys, fixed(size)};
  }
  if (!node.has[past] && !node.asks[present])
    return rows;
  outputs[present] = node.lengths.appends ? addAppended(rows, past, size) : addCache(rows, past, size);
  return node.has[past] ? Rows{outputs[present], /*isHeadMajor=*/true} : rows;
}

/// Rows as (batch, heads, rows, size), written to `target`.
Value AttentionBuilder::addHeadMajor(const Rows &rows, const Value &target) {
  mlir::Value result =
      rows.isHeadMajor ? b.make<linalg::CopyOp>(rows.tensor.ir, target.ir)
                       : b.make<linalg::TransposeOp>(rows.tensor.ir, target.ir, mlir::ArrayRef<int64_t>{0, 2, 1, 3});
  return {target.element, target.sizes, result};
}

/// present = past, then the new rows, as (batch, heads, rows, size).
Value AttentionBuilder::addCache(const Rows &rows, Input past, int64_t size) {
  Value cache = b.addEmpty(rows.tensor.element, {batch, kvHeads, keys, fixed(size)});
  if (hasNoElements(cache.sizes))
    return cache;
  Value before = node.has[past] ? getInput(past) : Value();
  before.sizes = {batch, kvHeads, pastKeys, fixed(size)};
  // If one side has no rows, the cache is a copy of the other: a kernel cannot return an argument.
  if (!node.has[past] || pastKeys.number == 0)
    return addHeadMajor(rows, cache);
  if (newKeys.number == 0)
    return addHeadMajor({before, /*isHeadMajor=*/true}, cache);
  cache = b.insert(before, cache, kOrigin);
  const Sizes first = {fixed(0), fixed(0), pastKeys, fixed(0)};
  Value fresh = rows.tensor;
  if (!rows.isHeadMajor)
    fresh = addHeadMajor(rows, b.slice(cache, first, {batch, kvHeads, newKeys, fixed(size)}));
  return b.insert(fresh, cache, first);
}

//===----------------------------------------------------------------------===//
// New rows where lengths say
//===----------------------------------------------------------------------===//

/// lengths + offset - queries, at least 0, so that the new rows end inside the cache.
void AttentionBuilder::addStarts() {
  mlir::Value rows = addWide(queries), all = addWide(keys);
  mlir::Value offset = b.integer(node.lengths.offset, b.getI64Type()), zero = b.zero(b.getI64Type());
  mlir::Value behind = b.make<arith::SubIOp>(offset, rows), room = b.make<arith::SubIOp>(all, rows);
  starts = addCounts(behind, b.make<arith::MaxSIOp>(room, zero));
}

Size AttentionBuilder::addMinimum(const Size &lhs, const Size &rhs) {
  if (lhs.number && rhs.number)
    return fixed(std::min(*lhs.number, *rhs.number));
  mlir::Value left = b.index(lhs), right = b.index(rhs);
  return {std::nullopt, b.make<arith::MinSIOp>(left, right)};
}

/// A cache of zeros with the past rows written to it.
Value AttentionBuilder::addPastRows(Input past, DataType element, const Sizes &all) {
  // Zeros for rows that are neither past nor new.
  Value cache = b.addZeros(element, all);
  Size kept = isSame(pastKeys, keys) ? pastKeys : addMinimum(pastKeys, keys);
  if (kept.number == 0)
    return cache;
  Value before = getInput(past);
  before.sizes = all;
  before.sizes[2] = pastKeys;
  Sizes sizes = all;
  sizes[2] = kept;
  return b.insert(isSame(kept, pastKeys) ? before : b.slice(before, kOrigin, sizes), cache, kOrigin);
}

/// The cache as (batch, heads, rows, size): the past rows, overwritten by the new ones from `starts` on.
Value AttentionBuilder::addAppended(const Rows &rows, Input past, int64_t size) {
  const DataType element = rows.tensor.element;
  const Sizes all = {batch, kvHeads, keys, fixed(size)};
  Value cache = addPastRows(past, element, all);
  if (newKeys.number == 0 || keys.number == 0)
    return cache;

  // The number of new rows that fit: all of them, unless the buffer is shorter.
  Size count = isSame(newKeys, keys) ? newKeys : addMinimum(newKeys, keys);
  Value fresh = rows.tensor;
  if (!rows.isHeadMajor)
    fresh = addHeadMajor(rows, b.addEmpty(element, {batch, kvHeads, newKeys, fixed(size)}));
  mlir::Value zero = b.index(0), one = b.index(1), last = b.index(batch);
  auto loop = mlir::scf::ForOp::create(b, zero, last, one, cache.ir);
  {
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getBody());
    const Size index = {std::nullopt, loop.getInductionVar()};
    mlir::Value start = b.make<tensor::ExtractOp>(starts.ir, index.value);
    const Size first = {std::nullopt, b.make<arith::IndexCastOp>(b.getIndexType(), start)};
    Value row = b.slice(fresh, {index, fixed(0), fixed(0), fixed(0)}, {fixed(1), kvHeads, count, fixed(size)});
    Value next = b.insert(row, {element, all, loop.getRegionIterArg(0)}, {index, fixed(0), first, fixed(0)});
    mlir::scf::YieldOp::create(b, next.ir);
  }
  cache.ir = loop.getResult(0);
  if (keys.number)
    return cache;
  // The entry cannot trace sizes through a loop: the copy has the sizes of the buffer.
  return {element, all, b.make<linalg::CopyOp>(cache.ir, b.addEmpty(element, all).ir)};
}
