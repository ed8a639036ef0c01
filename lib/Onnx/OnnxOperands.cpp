//===- OnnxOperands.cpp - what an Attention node reads --------------------===//
//
// Sizes, views of packed heads, caches of past and new keys, masks of fewer
// keys: values of the function in front of the attention itself.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "OnnxPrinter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace attn::onnx;
using llvm::formatv;
using llvm::join;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Pieces of the text
//===----------------------------------------------------------------------===//

std::string FunctionPrinter::printType(const Sizes &sizes, StringRef element) {
  std::string text = "tensor<";
  for (const Size &size : sizes)
    text += (size.number ? std::to_string(*size.number) : "?") + "x";
  return text + element.str() + ">";
}

/// No slice of a tensor without elements is inside it, as MLIR has it; nor is there anything to move.
static bool isEmpty(const Sizes &sizes) {
  return llvm::any_of(sizes, [](const Size &size) { return size.number == 0; });
}

/// [2, 3, %queries, 8]
std::string FunctionPrinter::printSizes(const Sizes &sizes) {
  auto print = [](const Size &size) { return size.number ? std::to_string(*size.number) : size.value; };
  return "[" + join(llvm::map_range(sizes, print), ", ") + "]";
}

std::string FunctionPrinter::printMap(StringRef dims, StringRef results) const {
  return formatv("affine_map<({0}) -> ({1})>", dims, results);
}

std::string FunctionPrinter::printRowsMap(StringRef dims, StringRef row, StringRef head, StringRef column,
                                          bool isHeadMajor) const {
  return printMap(dims, formatv("b, {0}, {1}, {2}", isHeadMajor ? head : row, isHeadMajor ? row : head, column).str());
}

std::string FunctionPrinter::addConstant(int64_t number, StringRef type) {
  std::string value = formatv("%c{0}_{1}", number, type);
  std::string text = formatv("  {0} = arith.constant {1} : {2}\n", value, number, type);
  if (!StringRef(body).contains(text))
    body += text;
  return value;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Size FunctionPrinter::addSize(const Dimension &dimension, StringRef name, Input input, unsigned dim) {
  if (dimension.size)
    return fixed(*dimension.size);
  std::string index = addConstant(dim, "index");
  Tensor source = getInput(input);
  line("%{0} = tensor.dim {1}, {2} : {3}", name, source.value, index, printType(source));
  return {std::nullopt, "%" + name.str()};
}

Tensor FunctionPrinter::getInput(Input input) {
  StringRef lengths = node.lengths.element == DataType::Int32 ? "i32" : "i64";
  bool isValue = input == kV || input == kPastValue;
  StringRef element = input == kLengths ? lengths
                      : input == kMask  ? node.elements.mask
                      : isValue         ? node.elements.value
                                        : node.elements.query;
  Tensor tensor = {("%" + kInputNames[input]).str(), {}, element};
  for (const Dimension &dimension : node.getInputShape(input))
    tensor.sizes.push_back({dimension.size, ""});
  return tensor;
}

Tensor FunctionPrinter::addEmpty(StringRef name, Sizes sizes, StringRef element) {
  Tensor tensor = {("%" + name).str(), std::move(sizes), element};
  std::vector<std::string> dynamic;
  for (const Size &size : tensor.sizes)
    if (!size.number)
      dynamic.push_back(size.value);
  line("{0} = tensor.empty({1}) : {2}", tensor.value, join(dynamic, ", "), printType(tensor));
  return tensor;
}

/// (batch, rows, heads · size) as (batch, rows, heads, size): a view.
Tensor FunctionPrinter::splitHeads(const Tensor &packed, int64_t heads, int64_t size, StringRef name) {
  Tensor split = {("%" + name).str(), {packed.sizes[0], packed.sizes[1], fixed(heads), fixed(size)}, packed.element};
  line("{0} = tensor.expand_shape {1} [[0], [1], [2, 3]] output_shape {2} : {3} into {4}", split.value, packed.value,
       printSizes(split.sizes), printType(packed), printType(split));
  return split;
}

/// Rows as (batch, heads, rows, size), written to `target`.
Tensor FunctionPrinter::addHeadMajor(const Rows &rows, const Tensor &target, StringRef name) {
  Tensor result = {("%" + name).str(), target.sizes, target.element};
  line("{0} = linalg.{1} ins({2} : {3}) outs({4} : {5}){6}", result.value, rows.isHeadMajor ? "copy" : "transpose",
       rows.tensor.value, printType(rows.tensor), target.value, printType(target),
       rows.isHeadMajor ? " -> " + printType(target) : " permutation = [0, 2, 1, 3]");
  return result;
}

/// present = past, then the new rows, as (batch, heads, rows, size).
Tensor FunctionPrinter::addCache(const Rows &rows, Input past, StringRef name, int64_t size) {
  const StringRef element = rows.tensor.element;
  if (node.lengths.appends)
    return addAppended(rows, past, name, size);
  Tensor cache = addEmpty((name + "_init").str(), {batch, fixed(node.sizes.kvHeads), keys, fixed(size)}, element);
  Tensor before = getInput(past);
  before.sizes = {batch, fixed(node.sizes.kvHeads), pastKeys, fixed(size)};
  if (isEmpty(cache.sizes))
    return cache;
  // One side without rows: the other is all of it, and a kernel returns no argument as it is.
  if (!node.has[past] || pastKeys.number == 0)
    return addHeadMajor(rows, cache, name);
  if (newKeys.number == 0)
    return addHeadMajor({before, /*isHeadMajor=*/true}, cache, name);

  const Sizes ones(4, fixed(1));
  auto getPlace = [&](const Size &first, const Sizes &sizes) {
    return printSizes({fixed(0), fixed(0), first, fixed(0)}) + " " + printSizes(sizes) + " " + printSizes(ones);
  };
  auto insert = [&](const Tensor &source, const Size &first, const std::string &value) {
    line("{0} = tensor.insert_slice {1} into {2}{3} : {4} into {5}", value, source.value, cache.value,
         getPlace(first, source.sizes), printType(source), printType(cache));
    cache.value = value;
  };
  insert(before, fixed(0), ("%" + name + "_past").str());
  Tensor fresh = rows.tensor;
  if (!rows.isHeadMajor) {
    Tensor slot = {("%" + name + "_slot").str(), {batch, fixed(node.sizes.kvHeads), newKeys, fixed(size)}, element};
    line("{0} = tensor.extract_slice {1}{2} : {3} to {4}", slot.value, cache.value, getPlace(pastKeys, slot.sizes),
         printType(cache), printType(slot));
    fresh = addHeadMajor(rows, slot, (name + "_new").str());
  }
  insert(fresh, pastKeys, ("%" + name).str());
  return cache;
}

/// The rows of K or V that the attention reads, and the present output where it is asked for.
Rows FunctionPrinter::addRows(Input input, Input past, Output present, int64_t size) {
  Rows rows = {getInput(input), !node.isPacked};
  if (node.isPacked) {
    rows.tensor.sizes = {batch, newKeys, fixed(node.sizes.kvHeads * size)};
    rows.tensor = splitHeads(rows.tensor, node.sizes.kvHeads, size, (kInputNames[input] + "_heads").str());
  } else {
    rows.tensor.sizes = {batch, fixed(node.sizes.kvHeads), newKeys, fixed(size)};
  }
  if (!node.has[past] && !node.asks[present])
    return rows;
  outputs[present] = addCache(rows, past, kOutputNames[present], size);
  return node.has[past] ? Rows{outputs[present], /*isHeadMajor=*/true} : rows;
}

/// The first keys, a view: what a mask of fewer keys leaves.
Rows FunctionPrinter::takePrefix(const Rows &rows, int64_t count) {
  Tensor prefix = {rows.tensor.value + "_prefix", rows.tensor.sizes, rows.tensor.element};
  // Its own batch, so that the entry knows it for the size of this tensor.
  if (!batch.number) {
    prefix.sizes[0].value = rows.tensor.value + "_batch";
    line("{0} = tensor.dim {1}, {2} : {3}", prefix.sizes[0].value, rows.tensor.value, addConstant(0, "index"),
         printType(rows.tensor));
  }
  prefix.sizes[rows.isHeadMajor ? 2 : 1] = fixed(count);
  if (isEmpty(prefix.sizes))
    return {addEmpty(StringRef(prefix.value).drop_front(), prefix.sizes, prefix.element), rows.isHeadMajor};
  line("{0} = tensor.extract_slice {1}{2} {3} {4} : {5} to {6}", prefix.value, rows.tensor.value,
       printSizes(Sizes(4, fixed(0))), printSizes(prefix.sizes), printSizes(Sizes(4, fixed(1))), printType(rows.tensor),
       printType(prefix));
  return {prefix, rows.isHeadMajor};
}

/// A mask of fewer keys with false or -inf behind them.
Tensor FunctionPrinter::padMask(const Tensor &mask) {
  StringRef removed = llvm::StringSwitch<StringRef>(mask.element)
                          .Case("i1", "false")
                          .Case("f32", "0xFF800000 : f32")
                          .Case("f64", "0xFFF0000000000000 : f64")
                          .Case("f16", "0xFC00 : f16")
                          .Default("0xFF80 : bf16");
  // Its own sizes, so that the entry knows them for those of this tensor.
  Tensor given = mask;
  const std::vector<Dimension> shape = node.getInputShape(kMask);
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    given.sizes[dim] = addSize(shape[dim], formatv("attn_mask_size_{0}", dim).str(), kMask, dim);
  Sizes sizes = given.sizes;
  sizes.back() = keys;
  Tensor padded = addEmpty("attn_mask_init", sizes, mask.element);
  line("%removed = arith.constant {0}", removed);
  line("%attn_mask_removed = linalg.fill ins(%removed : {0}) outs({1} : {2}) -> {2}", mask.element, padded.value,
       printType(padded));
  padded.value = "%attn_mask_removed";
  if (isEmpty(given.sizes))
    return padded;
  line("%attn_mask_full = tensor.insert_slice {0} into %attn_mask_removed{1} {2} {3} : {4} into {5}", given.value,
       printSizes(Sizes(sizes.size(), fixed(0))), printSizes(given.sizes), printSizes(Sizes(sizes.size(), fixed(1))),
       printType(given), printType(padded));
  padded.value = "%attn_mask_full";
  return padded;
}

/// A size as i64.
std::string FunctionPrinter::addWide(const Size &size, StringRef name) {
  if (size.number)
    return addConstant(*size.number, "i64");
  line("%{0} = arith.index_cast {1} : index to i64", name, size.value);
  return ("%" + name).str();
}

/// What the input of lengths holds, with `added` to it, as i32 from 0 to `limit`, one a batch index.
Tensor FunctionPrinter::addCounts(StringRef name, const std::string &added, const std::string &limit) {
  Tensor lengths = getInput(kLengths);
  Tensor counts = addEmpty((name + "_init").str(), {batch}, "i32");
  std::string zero = addConstant(0, "i64");
  line("%{0} = linalg.generic {{indexing_maps = [{1}, {2}], iterator_types = [\"parallel\"]} ins({3} : {4}) "
       "outs({5} : {6}) {{",
       name, printMap("b", node.lengths.isColumn ? "b, 0" : "b"), printMap("b", "b"), lengths.value, printType(lengths),
       counts.value, printType(counts));
  line("^bb0(%length: {0}, %init: i32):", lengths.element);
  std::string count = "%length";
  if (lengths.element == "i32") {
    line("  %wide = arith.extsi %length : i32 to i64");
    count = "%wide";
  }
  if (!added.empty()) {
    line("  %number = arith.addi {0}, {1} : i64", count, added);
    count = "%number";
  }
  line("  %not_negative = arith.maxsi {0}, {1} : i64", count, zero);
  line("  %inside = arith.minsi %not_negative, {0} : i64", limit);
  line("  %count = arith.trunci %inside : i64 to i32");
  line("  linalg.yield %count : i32");
  line("} -> {0}", printType(counts));
  counts.value = ("%" + name).str();
  return counts;
}

/// nonpad_kv_seqlen as kv_lengths: i32, from 0 to the number of keys.
Tensor FunctionPrinter::addLengths(const Size &most) {
  std::string limit = addWide(most, "most_keys");
  return addCounts("lengths", node.lengths.offset == 0 ? "" : addConstant(node.lengths.offset, "i64"), limit);
}
