//===- Onnx.cpp - ONNX models as IR ---------------------------------------===//
//
// Prints a checked Attention node as a function: views and concatenations of
// its inputs, then attn.sdpa, or the chain where scores are asked for.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Compiler/Onnx.h"
#include "attn/Compiler/OnnxAttention.h"
#include "attn/Conversion/Kernels.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace attn;
using namespace attn::onnx;
using llvm::formatv;
using llvm::join;
using llvm::StringRef;

namespace {

/// A size in the text: a number, or the SSA value that holds it.
struct Size {
  std::optional<int64_t> number;
  std::string value;
};
using Sizes = std::vector<Size>;

struct Tensor {
  std::string value; ///< with its %
  Sizes sizes;
  StringRef element;
};

/// K or V as the attention op reads them: (batch, heads, rows, size), or with rows in front of heads.
struct Rows {
  Tensor tensor;
  bool isHeadMajor;
};

class FunctionPrinter {
public:
  FunctionPrinter(const AttentionNode &node, StringRef name) : node(node), name(name) {}
  std::string print();

private:
  // The pieces of the text.
  static std::string printType(const Sizes &sizes, StringRef element);
  static std::string printType(const Tensor &tensor) { return printType(tensor.sizes, tensor.element); }
  static std::string printSizes(const Sizes &sizes);
  std::string printMap(StringRef dims, StringRef results) const;
  std::string printRowsMap(StringRef dims, StringRef row, StringRef head, StringRef column, bool isHeadMajor) const;
  template <typename... Args> void line(const char *format, Args &&...args) {
    body += "  " + formatv(false, format, std::forward<Args>(args)...).str() + "\n";
  }
  std::string addConstant(int64_t number, StringRef type);

  // Values.
  Size addSize(const Dimension &dimension, StringRef name, Input input, unsigned dim);
  Size addKeys();
  Tensor getInput(Input input);
  Tensor addEmpty(StringRef name, Sizes sizes, StringRef element);
  Tensor splitHeads(const Tensor &packed, int64_t heads, int64_t size, StringRef name);
  Rows addRows(Input input, Input past, Output present, int64_t size);
  Tensor addCache(const Rows &rows, Input past, StringRef name, int64_t size);
  Rows takePrefix(const Rows &rows, int64_t keys);
  Tensor padMask(const Tensor &mask);
  Tensor addLengths(const Size &keys);
  std::string addOffset();

  // The computation.
  std::string addMaskClauses(const Tensor &mask, const Size &keys);
  std::string getCausal() const;
  Tensor addSdpa(const Tensor &q, Rows k, Rows v, const Tensor &y);
  Tensor addChain(const Tensor &q, const Rows &k, const Rows &v, const Tensor &y);
  Tensor addNarrowed(const Tensor &scores);

  const AttentionNode &node;
  StringRef name;
  std::string body;
  Size batch, queries, newKeys, pastKeys, keys;
  std::array<Tensor, kNumOutputs> outputs;
};

} // namespace

//===----------------------------------------------------------------------===//
// Pieces of the text
//===----------------------------------------------------------------------===//

static Size fixed(int64_t size) { return {size, ""}; }

std::string FunctionPrinter::printType(const Sizes &sizes, StringRef element) {
  std::string text = "tensor<";
  for (const Size &size : sizes)
    text += (size.number ? std::to_string(*size.number) : "?") + "x";
  return text + element.str() + ">";
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

/// Past and new keys together.
Size FunctionPrinter::addKeys() {
  if (!node.has[kPastKey])
    return newKeys;
  if (std::optional<int64_t> size = node.getKeys().size)
    return fixed(*size);
  auto getValue = [&](const Size &size) { return size.number ? addConstant(*size.number, "index") : size.value; };
  std::string past = getValue(pastKeys), fresh = getValue(newKeys);
  line("%keys = arith.addi {0}, {1} : index", past, fresh);
  return {std::nullopt, "%keys"};
}

Tensor FunctionPrinter::getInput(Input input) {
  StringRef element = input == kLengths ? "i64" : input == kMask && node.isBooleanMask ? "i1" : node.element;
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

/// present = past, then the new rows, as (batch, heads, rows, size).
Tensor FunctionPrinter::addCache(const Rows &rows, Input past, StringRef name, int64_t size) {
  Tensor cache = addEmpty((name + "_init").str(), {batch, fixed(node.kvHeads), keys, fixed(size)}, node.element);
  const Sizes strides(4, fixed(1));
  auto insert = [&](const Tensor &source, const Size &first, StringRef into) {
    std::string value = ("%" + into).str();
    line("{0} = tensor.insert_slice {1} into {2}{3} {4} {5} : {6} into {7}", value, source.value, cache.value,
         printSizes({fixed(0), fixed(0), first, fixed(0)}), printSizes(source.sizes), printSizes(strides),
         printType(source), printType(cache));
    cache.value = value;
  };
  if (node.has[past]) {
    Tensor before = getInput(past);
    before.sizes = {batch, fixed(node.kvHeads), pastKeys, fixed(size)};
    insert(before, fixed(0), (name + "_past").str());
  }
  Tensor fresh = rows.tensor;
  if (!rows.isHeadMajor) {
    fresh = addEmpty((name + "_new_init").str(), {batch, fixed(node.kvHeads), newKeys, fixed(size)}, node.element);
    line("%{0}_new = linalg.transpose ins({1} : {2}) outs({3} : {4}) permutation = [0, 2, 1, 3]", name,
         rows.tensor.value, printType(rows.tensor), fresh.value, printType(fresh));
    fresh.value = ("%" + name + "_new").str();
  }
  insert(fresh, node.has[past] ? pastKeys : fixed(0), name);
  return cache;
}

/// The rows of K or V that the attention reads, and the present output where it is asked for.
Rows FunctionPrinter::addRows(Input input, Input past, Output present, int64_t size) {
  Rows rows = {getInput(input), !node.isPacked};
  if (node.isPacked) {
    rows.tensor.sizes = {batch, newKeys, fixed(node.kvHeads * size)};
    rows.tensor = splitHeads(rows.tensor, node.kvHeads, size, (kInputNames[input] + "_heads").str());
  } else {
    rows.tensor.sizes = {batch, fixed(node.kvHeads), newKeys, fixed(size)};
  }
  if (!node.has[past] && !node.asks[present])
    return rows;
  outputs[present] = addCache(rows, past, kOutputNames[present], size);
  return node.has[past] ? Rows{outputs[present], /*isHeadMajor=*/true} : rows;
}

/// The first keys, a view: what a mask of fewer keys leaves.
Rows FunctionPrinter::takePrefix(const Rows &rows, int64_t count) {
  Tensor prefix = {rows.tensor.value + "_prefix", rows.tensor.sizes, rows.tensor.element};
  prefix.sizes[rows.isHeadMajor ? 2 : 1] = fixed(count);
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
  Sizes sizes = mask.sizes;
  sizes.back() = keys;
  Tensor padded = addEmpty("mask_init", sizes, mask.element);
  line("%removed = arith.constant {0}", removed);
  line("%mask_removed = linalg.fill ins(%removed : {0}) outs({1} : {2}) -> {2}", mask.element, padded.value,
       printType(padded));
  line("%mask = tensor.insert_slice {0} into %mask_removed{1} {2} {3} : {4} into {5}", mask.value,
       printSizes(Sizes(sizes.size(), fixed(0))), printSizes(mask.sizes), printSizes(Sizes(sizes.size(), fixed(1))),
       printType(mask), printType(padded));
  padded.value = "%mask";
  return padded;
}

/// nonpad_kv_seqlen as kv_lengths: i32, from 0 to the number of keys.
Tensor FunctionPrinter::addLengths(const Size &most) {
  Tensor lengths = getInput(kLengths);
  Tensor counts = addEmpty("lengths_init", {batch}, "i32");
  std::string zero = addConstant(0, "i64"), limit;
  if (most.number) {
    limit = addConstant(*most.number, "i64");
  } else {
    limit = "%most_keys";
    line("{0} = arith.index_cast {1} : index to i64", limit, most.value);
  }
  line("%lengths = linalg.generic {{indexing_maps = [{0}, {0}], iterator_types = [\"parallel\"]} ins({1} : {2}) "
       "outs({3} : {4}) {{",
       printMap("b", "b"), lengths.value, printType(lengths), counts.value, printType(counts));
  line("^bb0(%length: i64, %init: i32):");
  line("  %not_negative = arith.maxsi %length, {0} : i64", zero);
  line("  %inside = arith.minsi %not_negative, {0} : i64", limit);
  line("  %count = arith.trunci %inside : i64 to i32");
  line("  linalg.yield %count : i32");
  line("} -> {0}", printType(counts));
  counts.value = "%lengths";
  return counts;
}

//===----------------------------------------------------------------------===//
// The computation
//===----------------------------------------------------------------------===//

/// Query i is at position past + i: it keeps key j iff j <= i + past. ONNX's alignment is the upper left one.
std::string FunctionPrinter::getCausal() const {
  if (!node.isCausal)
    return "";
  if (!node.has[kPastKey] || pastKeys.number == 0)
    return "causal = #attn.causal<top_left>";
  if (!pastKeys.number)
    return "causal = #attn.causal<offset>";
  return formatv("window = #attn.window<right = {0}>, align = #attn.causal<top_left>", *pastKeys.number);
}

/// The number of past keys where only the run knows it, once a batch.
std::string FunctionPrinter::addOffset() {
  Tensor offset = addEmpty("offset_init", {batch}, "i32");
  line("%past_i32 = arith.index_cast {0} : index to i32", pastKeys.value);
  line("%offset = linalg.fill ins(%past_i32 : i32) outs({0} : {1}) -> {1}", offset.value, printType(offset));
  return " causal_offset(%offset : " + printType(offset) + ")";
}

std::string FunctionPrinter::addMaskClauses(const Tensor &mask, const Size &mostKeys) {
  std::string clauses;
  if (node.has[kMask])
    clauses += formatv(" {0}({1} : {2})", node.isBooleanMask ? "mask" : "bias", mask.value, printType(mask));
  if (node.has[kLengths]) {
    Tensor lengths = addLengths(mostKeys);
    clauses += formatv(" kv_lengths({0} : {1})", lengths.value, printType(lengths));
  }
  if (StringRef(getCausal()).contains("offset"))
    clauses += addOffset();
  return clauses;
}

/// An attribute dictionary with a space in front, or nothing.
static std::string printAttributes(llvm::ArrayRef<std::string> attributes) {
  std::vector<std::string> given;
  llvm::copy_if(attributes, std::back_inserter(given), [](const std::string &text) { return !text.empty(); });
  return given.empty() ? "" : " {" + join(given, ", ") + "}";
}

/// Exact, and with the decimal point that MLIR wants.
static std::string printReal(double real) { return formatv("{0:e17} : f64", real); }

Tensor FunctionPrinter::addSdpa(const Tensor &q, Rows k, Rows v, const Tensor &y) {
  Size count = keys;
  Tensor mask = getInput(kMask);
  if (node.has[kMask] && node.mask.back().prefix) {
    count = fixed(*node.mask.back().prefix);
    k = takePrefix(k, *count.number);
    v = takePrefix(v, *count.number);
  }
  std::string clauses = addMaskClauses(mask, count);
  std::string maps;
  if (node.isPacked) {
    constexpr StringRef dims = "b, h, i, j, d, e";
    std::string keyHead = node.heads == node.kvHeads ? "h" : formatv("h floordiv {0}", node.heads / node.kvHeads).str();
    std::vector<std::string> list = {printRowsMap(dims, "i", "h", "d", false),
                                     printRowsMap(dims, "j", keyHead, "d", k.isHeadMajor),
                                     printRowsMap(dims, "j", keyHead, "e", v.isHeadMajor)};
    if (node.has[kMask]) {
      constexpr StringRef scoreDims[] = {"b", "h", "i", "j"};
      std::vector<StringRef> results;
      for (auto [i, dimension] : llvm::enumerate(node.mask))
        results.push_back(dimension.isBroadcast ? "0" : scoreDims[4 - node.mask.size() + i]);
      list.push_back(printMap(dims, join(results, ", ")));
    }
    list.push_back(printRowsMap(dims, "i", "h", "e", false));
    maps = "maps = [" + join(list, ", ") + "]";
  }
  std::string attributes = printAttributes({node.scale ? "scale = " + printReal(*node.scale) : "", getCausal(),
                                            node.softcap ? "softcap = " + printReal(*node.softcap) : "", maps});
  line("%out = attn.sdpa ins({0}, {1}, {2} : {3}, {4}, {5}){6} outs({7} : {8}){9} -> {8}", q.value, k.tensor.value,
       v.tensor.value, printType(q), printType(k.tensor), printType(v.tensor), clauses, y.value, printType(y),
       attributes);
  return {"%out", y.sizes, y.element};
}

/// The steps one by one; the scores are f32, of doubles f64.
Tensor FunctionPrinter::addChain(const Tensor &q, const Rows &k, const Rows &v, const Tensor &y) {
  const Sizes sizes = {batch, fixed(node.heads), queries, keys};
  Tensor last = {"", sizes, node.element == "f64" ? "f64" : "f32"};
  const std::string type = printType(last);
  std::array<std::string, 4> values;
  auto addStep = [&](StringRef step, const std::string &clauses, const std::string &attributes, ScoresMode mode) {
    addEmpty((step + "_init").str(), sizes, last.element);
    line("%{0} = attn.{0} ins({1} : {2}){3} outs(%{0}_init : {2}){4} -> {2}", step, last.value, type, clauses,
         attributes);
    last.value = ("%" + step).str();
    values[unsigned(mode)] = last.value;
  };
  std::string keyHead = node.heads == node.kvHeads ? "h" : formatv("h floordiv {0}", node.heads / node.kvHeads).str();
  std::string scoresMaps, applyMaps;
  if (node.isPacked) {
    constexpr StringRef scores = "b, h, i, j, d", apply = "b, h, i, j, e";
    scoresMaps = "maps = [" + printRowsMap(scores, "i", "h", "d", false) + ", " +
                 printRowsMap(scores, "j", keyHead, "d", k.isHeadMajor) + ", " + printMap(scores, "b, h, i, j") + "]";
    applyMaps = "maps = [" + printMap(apply, "b, h, i, j") + ", " +
                printRowsMap(apply, "j", keyHead, "e", v.isHeadMajor) + ", " +
                printRowsMap(apply, "i", "h", "e", false) + "]";
  }
  addEmpty("scores_init", sizes, last.element);
  line("%scores = attn.scores ins({0}, {1} : {2}, {3}) outs(%scores_init : {4}){5} -> {4}", q.value, k.tensor.value,
       printType(q), printType(k.tensor), type, printAttributes({scoresMaps}));
  last.value = "%scores";
  double scale = node.scale.value_or(1.0 / std::sqrt(double(node.headSize)));
  addStep("scale", "", printAttributes({"scale = " + printReal(scale)}), ScoresMode::Scaled);
  values.fill(last.value);
  if (node.softcap) {
    addStep("softcap", "", printAttributes({"softcap = " + printReal(*node.softcap)}), ScoresMode::Softcapped);
    values[unsigned(ScoresMode::Masked)] = last.value;
  }
  Tensor mask = getInput(kMask);
  if (node.has[kMask] && node.mask.back().prefix)
    mask = padMask(mask);
  if (node.has[kMask] || node.has[kLengths] || node.isCausal) {
    std::string clauses = addMaskClauses(mask, keys);
    addStep("mask", clauses, printAttributes({getCausal()}), ScoresMode::Masked);
  }
  addStep("softmax", "", "", ScoresMode::Weights);
  line("%out = attn.apply ins({0}, {1} : {2}, {3}) outs({4} : {5}){6} -> {5}", last.value, v.tensor.value, type,
       printType(v.tensor), y.value, printType(y), printAttributes({applyMaps}));
  outputs[kScores] = addNarrowed({values[unsigned(node.mode)], sizes, last.element});
  return {"%out", y.sizes, y.element};
}

/// Scores in the type of Q.
Tensor FunctionPrinter::addNarrowed(const Tensor &scores) {
  if (scores.element == node.element)
    return scores;
  Tensor narrow = addEmpty("narrow_init", scores.sizes, node.element);
  line("%narrow = linalg.generic {{indexing_maps = [{0}, {0}], iterator_types = [\"parallel\", \"parallel\", "
       "\"parallel\", \"parallel\"]} ins({1} : {2}) outs({3} : {4}) {{",
       printMap("b, h, i, j", "b, h, i, j"), scores.value, printType(scores), narrow.value, printType(narrow));
  line("^bb0(%score: {0}, %init: {1}):", scores.element, narrow.element);
  line("  %rounded = arith.truncf %score : {0} to {1}", scores.element, narrow.element);
  line("  linalg.yield %rounded : {0}", narrow.element);
  line("} -> {0}", printType(narrow));
  narrow.value = "%narrow";
  return narrow;
}

std::string FunctionPrinter::print() {
  const unsigned length = node.isPacked ? 1 : 2;
  batch = addSize(node.batch, "batch", kQ, 0);
  queries = addSize(node.queries, "queries", kQ, length);
  newKeys = addSize(node.newKeys, "new_keys", kK, length);
  if (node.has[kPastKey])
    pastKeys = addSize(node.pastKeys, "past_keys", kPastKey, 2);
  keys = addKeys();

  Tensor q = getInput(kQ);
  if (node.isPacked) {
    q.sizes = {batch, queries, fixed(node.heads * node.headSize)};
    q = splitHeads(q, node.heads, node.headSize, "Q_heads");
  }
  Rows k = addRows(kK, kPastKey, kPresentKey, node.headSize);
  Rows v = addRows(kV, kPastValue, kPresentValue, node.valueSize);
  Tensor y = addEmpty("Y_init",
                      node.isPacked ? Sizes{batch, queries, fixed(node.heads * node.valueSize)}
                                    : Sizes{batch, fixed(node.heads), queries, fixed(node.valueSize)},
                      node.element);
  Tensor heads = node.isPacked ? splitHeads(y, node.heads, node.valueSize, "Y_heads") : y;
  outputs[kY] = node.asks[kScores] ? addChain(q, k, v, heads) : addSdpa(q, k, v, heads);
  if (node.isPacked) {
    line("%Y = tensor.collapse_shape {0} [[0], [1], [2, 3]] : {1} into {2}", outputs[kY].value, printType(heads),
         printType(y));
    outputs[kY] = {"%Y", y.sizes, y.element};
  }

  std::vector<std::string> arguments, results, values, types;
  for (unsigned i = 0; i < kNumInputs; ++i)
    if (node.has[i]) {
      Tensor input = getInput(Input(i));
      arguments.push_back(formatv("{0}: {1} {{attn.name = \"{2}\"}", input.value, printType(input), kInputNames[i]));
    }
  for (unsigned i = 0; i < kNumOutputs; ++i)
    if (node.asks[i]) {
      values.push_back(outputs[i].value);
      types.push_back(printType(outputs[i]));
      results.push_back(formatv("{0} {{attn.name = \"{1}\"}", types.back(), kOutputNames[i]));
    }
  return formatv("func.func @{0}({1})\n    -> ({2}) {{\n{3}  return {4} : {5}\n}\n", name, join(arguments, ", "),
                 join(results, ", "), body, join(values, ", "), join(types, ", "));
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

/// The function's name: the node's as C writes it, if C can call that and no other has it, or its number. The name of
/// the checked entry is taken as well.
static std::string makeFunctionName(const Node &node, size_t number, llvm::StringSet<> &names) {
  auto isTaken = [&](const std::string &name) { return names.contains(name) || names.contains(getCheckedName(name)); };
  std::string name = makeCName(node.name);
  if (node.name.empty() || !isCFunctionName(name) || isTaken(name))
    name = formatv("attention_{0}", number);
  while (isTaken(name))
    name += "_";
  names.insert(name);
  names.insert(getCheckedName(name));
  return name;
}

llvm::Expected<std::string> attn::onnxToMLIR(StringRef bytes, StringRef name) {
  llvm::Expected<Model> model = readModel(bytes, name);
  if (!model)
    return model.takeError();
  if (model->nodes.empty())
    return llvm::createStringError(name + ": expected a model with an Attention node, found no node");
  std::string text;
  llvm::StringSet<> names;
  for (auto [i, node] : llvm::enumerate(model->nodes)) {
    std::string label = node.name.empty() ? std::to_string(i) : quote(node.name);
    std::string title = formatv("{0}: node {1}", name, label);
    llvm::Expected<AttentionNode> attention = checkAttention(node, *model, title);
    if (!attention)
      return attention.takeError();
    std::string function = makeFunctionName(node, i, names);
    text += formatv("// node {0}, opset {1}\n", label, model->opset);
    text += FunctionPrinter(*attention, function).print();
  }
  return text;
}
