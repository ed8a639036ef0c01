//===- OnnxAppend.cpp - new rows of a cache where lengths say -------------===//
//
// GroupQueryAttention with a cache: of each batch index, the new rows and the
// queries stand in front of the end of its keys, and past rows lie in front of
// them. What lies behind that end means nothing.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "OnnxPrinter.h"

#include "llvm/ADT/STLExtras.h"

using namespace attn::onnx;
using llvm::StringRef;

static bool isKnownEqual(const Size &lhs, const Size &rhs) {
  return lhs.number ? lhs.number == rhs.number : !rhs.number && lhs.value == rhs.value;
}

/// The new rows that fit: all of them, but for a buffer that is shorter.
static Size getFitting(const Size &fresh, const Size &keys, llvm::function_ref<Size()> getSmaller) {
  bool isSmaller = fresh.number && keys.number && *fresh.number <= *keys.number;
  return isSmaller || isKnownEqual(fresh, keys) ? fresh : getSmaller();
}

/// lengths + offset - queries, from 0 on, so that the new rows end inside of the cache.
void FunctionPrinter::addStarts() {
  std::string rows = addWide(queries, "wide_queries"), all = addWide(keys, "wide_keys");
  std::string offset = addConstant(node.lengths.offset, "i64"), zero = addConstant(0, "i64");
  line("%behind = arith.subi {0}, {1} : i64", offset, rows);
  line("%room = arith.subi {0}, {1} : i64", all, rows);
  line("%last_start = arith.maxsi %room, {0} : i64", zero);
  starts = addCounts("starts", "%behind", "%last_start");
}

/// The smaller size, as `value` where it is not a constant.
Size FunctionPrinter::addMinimum(const Size &lhs, const Size &rhs, const std::string &value) {
  if (lhs.number && rhs.number)
    return fixed(std::min(*lhs.number, *rhs.number));
  auto getIndex = [&](const Size &each) { return each.number ? addConstant(*each.number, "index") : each.value; };
  std::string left = getIndex(lhs), right = getIndex(rhs);
  line("{0} = arith.minsi {1}, {2} : index", value, left, right);
  return {std::nullopt, value};
}

/// `sizes` elements of each dimension of `source`, from `first` on.
void FunctionPrinter::addSlice(const Tensor &source, const std::string &value, const Sizes &first, const Sizes &sizes) {
  line("{0} = tensor.extract_slice {1}{2} {3} {4} : {5} to {6}", value, source.value, printSizes(first),
       printSizes(sizes), printSizes(Sizes(4, fixed(1))), printType(source), printType(sizes, source.element));
}

/// A cache of zeros, and over them the past rows.
Tensor FunctionPrinter::addPastRows(Input past, StringRef name, StringRef element, const Size &width) {
  const Size heads = fixed(node.sizes.kvHeads);
  const Sizes ones(4, fixed(1)), zeros(4, fixed(0));
  Tensor cache = addEmpty((name + "_init").str(), {batch, heads, keys, width}, element);
  const std::string type = printType(cache), stem = ("%" + name).str();

  // Rows that neither past nor new ones fill.
  line("{0}_zero = arith.constant 0.0 : {1}", stem, element);
  line("{0}_clear = linalg.fill ins({0}_zero : {1}) outs({2} : {3}) -> {3}", stem, element, cache.value, type);
  cache.value = stem + "_clear";
  Size kept = isKnownEqual(pastKeys, keys) ? pastKeys : addMinimum(pastKeys, keys, stem + "_kept");
  if (kept.number == 0)
    return cache;
  Tensor before = getInput(past);
  before.sizes = {batch, heads, pastKeys, width};
  const Sizes sizes = {batch, heads, kept, width};
  std::string source = before.value;
  if (!isKnownEqual(kept, pastKeys)) {
    source = stem + "_kept_rows";
    addSlice(before, source, zeros, sizes);
  }
  line("{0}_past = tensor.insert_slice {1} into {2}{3} {4} {5} : {6} into {7}", stem, source, cache.value,
       printSizes(zeros), printSizes(sizes), printSizes(ones), printType(sizes, element), type);
  cache.value = stem + "_past";
  return cache;
}

/// The cache as (batch, heads, rows, size): past rows, and over them the new ones from `starts` on.
Tensor FunctionPrinter::addAppended(const Rows &rows, Input past, StringRef name, int64_t size) {
  const Size heads = fixed(node.sizes.kvHeads), width = fixed(size);
  const StringRef element = rows.tensor.element;
  Tensor cache = addPastRows(past, name, element, width);
  if (newKeys.number == 0 || keys.number == 0)
    return cache;

  const std::string type = printType(cache), stem = ("%" + name).str();
  Size count = getFitting(newKeys, keys, [&] { return addMinimum(newKeys, keys, stem + "_count"); });
  Tensor fresh = rows.tensor;
  if (!rows.isHeadMajor)
    fresh = addHeadMajor(rows, addEmpty((name + "_new_init").str(), {batch, heads, newKeys, width}, element),
                         (name + "_new").str());
  std::string zero = addConstant(0, "index"), one = addConstant(1, "index");
  std::string last = batch.number ? addConstant(*batch.number, "index") : batch.value;
  line("{0} = scf.for {0}_b = {1} to {2} step {3} iter_args({0}_old = {4}) -> ({5}) {{", stem, zero, last, one,
       cache.value, type);
  line("  {0}_start = tensor.extract {1}[{0}_b] : {2}", stem, starts.value, printType(starts));
  line("  {0}_first = arith.index_cast {0}_start : i32 to index", stem);
  const Sizes part = {fixed(1), heads, count, width};
  const Size index = {std::nullopt, stem + "_b"}, first = {std::nullopt, stem + "_first"};
  addSlice(fresh, stem + "_row", {index, fixed(0), fixed(0), fixed(0)}, part);
  line("  {0}_next = tensor.insert_slice {0}_row into {0}_old{1} {2} {3} : {4} into {5}", stem,
       printSizes({index, fixed(0), first, fixed(0)}), printSizes(part), printSizes(Sizes(4, fixed(1))),
       printType(part, element), type);
  line("  scf.yield {0}_next : {1}", stem, type);
  line("}");
  cache.value = stem;
  if (keys.number)
    return cache;
  // The entry knows no sizes through a loop: what is returned has those of the buffer.
  Tensor result = addEmpty((name + "_result_init").str(), cache.sizes, element);
  line("{0}_result = linalg.copy ins({0} : {1}) outs({2} : {1}) -> {1}", stem, type, result.value);
  result.value = stem + "_result";
  return result;
}
