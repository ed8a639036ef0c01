//===- OnnxPrinter.cpp - an Attention node as a function ------------------===//
//
// attn.sdpa, or the chain where scores are asked for.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "OnnxPrinter.h"
#include "attn/Onnx/Onnx.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace attn::onnx;
using llvm::formatv;
using llvm::join;
using llvm::StringRef;

/// True where the place of a query is told from the last key: a view of the first keys would move it.
bool FunctionPrinter::isLowerRight() const {
  if (node.lengths.appends)
    return false;
  std::optional<int64_t> left = node.window.left;
  bool isPlaced = left || node.isCausal || node.window.right;
  bool isByLengths = node.has[kLengths] && !node.lengths.countsFromFirst;
  return isPlaced && (isByLengths || (left && *left < *pastKeys.number));
}

/// Query i is behind the keys that were there before, at position p = i + past, or, where K and V are a cache that
/// holds its own keys already, i + nonpad_kv_seqlen - queries (onnx 1.23, an erratum of opsets 24 and 25). It keeps key
/// j iff p - left <= j <= p + right; causal is right = 0.
std::string FunctionPrinter::getCausal() const {
  std::optional<int64_t> left = node.window.left, right = node.isCausal ? 0 : node.window.right;
  if (!left && !right)
    return "";
  if (node.lengths.appends) // from `starts` on
    return left ? formatv("window = #attn.window<left = {0}, right = {1}>, align = #attn.causal<offset>", *left,
                          right.value_or(0))
                      .str()
                : "causal = #attn.causal<offset>";
  StringRef align = isLowerRight() ? "#attn.causal<bottom_right>" : "#attn.causal<top_left>";
  int64_t past = isLowerRight() ? 0 : *pastKeys.number;
  if (node.isCausal && !left && past == 0)
    return ("causal = " + align).str();
  std::vector<std::string> bounds;
  if (left)
    bounds.push_back("left = " + std::to_string(*left - past));
  if (right)
    bounds.push_back("right = " + std::to_string(*right + past));
  return formatv("window = #attn.window<{0}>, align = {1}", join(bounds, ", "), align);
}

std::string FunctionPrinter::addMaskClauses(const Tensor &mask, const Size &mostKeys) {
  std::string clauses;
  if (node.has[kMask])
    clauses += formatv(" {0}({1} : {2})", node.hasBooleanMask() ? "mask" : "bias", mask.value, printType(mask));
  if (node.has[kLengths]) {
    Tensor lengths = addLengths(mostKeys);
    clauses += formatv(" kv_lengths({0} : {1})", lengths.value, printType(lengths));
    if (node.lengths.appends && !getCausal().empty())
      clauses += formatv(" causal_offset({0} : {1})", starts.value, printType(starts));
  }
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
  Tensor mask = addMask();
  bool isShort = node.has[kMask] && node.mask.back().prefix;
  if (isShort && isLowerRight()) {
    mask = padMask(mask);
  } else if (isShort) {
    count = fixed(*node.mask.back().prefix);
    k = takePrefix(k, *count.number);
    v = takePrefix(v, *count.number);
  }
  std::string clauses = addMaskClauses(mask, count);
  std::string maps;
  if (node.isPacked) {
    constexpr StringRef dims = "b, h, i, j, d, e";
    std::string keyHead = node.sizes.heads == node.sizes.kvHeads
                              ? "h"
                              : formatv("h floordiv {0}", node.sizes.heads / node.sizes.kvHeads).str();
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
  const Sizes sizes = {batch, fixed(node.sizes.heads), queries, keys};
  Tensor last = {"", sizes, node.getComputeElement() == "f64" ? "f64" : "f32"};
  const std::string type = printType(last);
  std::array<std::string, 4> values;
  auto addStep = [&](StringRef step, const std::string &clauses, const std::string &attributes, ScoresMode mode) {
    addEmpty((step + "_init").str(), sizes, last.element);
    line("%{0} = attn.{0} ins({1} : {2}){3} outs(%{0}_init : {2}){4} -> {2}", step, last.value, type, clauses,
         attributes);
    last.value = ("%" + step).str();
    values[unsigned(mode)] = last.value;
  };
  std::string keyHead = node.sizes.heads == node.sizes.kvHeads
                            ? "h"
                            : formatv("h floordiv {0}", node.sizes.heads / node.sizes.kvHeads).str();
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
  double scale = node.scale.value_or(1.0 / std::sqrt(double(node.sizes.headSize)));
  addStep("scale", "", printAttributes({"scale = " + printReal(scale)}), ScoresMode::Scaled);
  values.fill(last.value);
  if (node.softcap) {
    addStep("softcap", "", printAttributes({"softcap = " + printReal(*node.softcap)}), ScoresMode::Softcapped);
    values[unsigned(ScoresMode::Masked)] = last.value;
  }
  Tensor mask = addMask();
  if (node.has[kMask] && node.mask.back().prefix)
    mask = padMask(mask);
  if (node.has[kMask] || node.has[kLengths] || !getCausal().empty()) {
    std::string clauses = addMaskClauses(mask, keys);
    addStep("mask", clauses, printAttributes({getCausal()}), ScoresMode::Masked);
  }
  addStep("softmax", "", "", ScoresMode::Weights);
  line("%out = attn.apply ins({0}, {1} : {2}, {3}) outs({4} : {5}){6} -> {5}", last.value, v.tensor.value, type,
       printType(v.tensor), y.value, printType(y), printAttributes({applyMaps}));
  outputs[kScores] = addConverted({values[unsigned(node.mode)], sizes, last.element}, "narrow", node.elements.query);
  return {"%out", y.sizes, y.element};
}

std::string FunctionPrinter::printBody() {
  const unsigned length = node.isPacked ? 1 : 2;
  batch = addSize(node.sizes.batch, "batch", kQ, 0);
  queries = addSize(node.sizes.queries, "queries", kQ, length);
  newKeys = addSize(node.sizes.newKeys, "new_keys", kK, length);
  pastKeys = node.has[kPastKey] ? addSize(node.sizes.pastKeys, "past_keys", kPastKey, 2) : fixed(0);
  if (Dimension all = node.getKeys(); all.size || !node.has[kPastKey]) {
    keys = all.size ? fixed(*all.size) : newKeys;
  } else if (!all.symbol.empty()) { // the buffer of the past keys
    keys = pastKeys;
  } else {
    auto getIndex = [&](const Size &size) { return size.number ? addConstant(*size.number, "index") : size.value; };
    std::string past = getIndex(pastKeys), fresh = getIndex(newKeys);
    line("%keys = arith.addi {0}, {1} : index", past, fresh);
    keys = {std::nullopt, "%keys"};
  }
  if (node.lengths.appends)
    addStarts();

  Tensor q = getInput(kQ);
  if (node.isPacked) {
    q.sizes = {batch, queries, fixed(node.sizes.heads * node.sizes.headSize)};
    q = splitHeads(q, node.sizes.heads, node.sizes.headSize, "Q_heads");
  }
  Rows k = addRows(kK, kPastKey, kPresentKey, node.sizes.headSize);
  Rows v = addRows(kV, kPastValue, kPresentValue, node.sizes.valueSize);
  const StringRef compute = node.getComputeElement();
  q = addConverted(q, "Q_converted", compute);
  k.tensor = addConverted(k.tensor, "K_converted", compute);
  v.tensor = addConverted(v.tensor, "V_converted", compute);
  Tensor y = addEmpty("Y_init",
                      node.isPacked ? Sizes{batch, queries, fixed(node.sizes.heads * node.sizes.valueSize)}
                                    : Sizes{batch, fixed(node.sizes.heads), queries, fixed(node.sizes.valueSize)},
                      compute);
  Tensor heads = node.isPacked ? splitHeads(y, node.sizes.heads, node.sizes.valueSize, "Y_heads") : y;
  outputs[kY] = node.asks[kScores] ? addChain(q, k, v, heads) : addSdpa(q, k, v, heads);
  if (node.isPacked) {
    line("%Y = tensor.collapse_shape {0} [[0], [1], [2, 3]] : {1} into {2}", outputs[kY].value, printType(heads),
         printType(y));
    outputs[kY] = {"%Y", y.sizes, y.element};
  }
  outputs[kY] = addConverted(outputs[kY], "Y_converted", node.elements.query);
  return body;
}

std::string FunctionPrinter::print() {
  printBody();
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
  return formatv("func.func @{0}({1})\n    -> ({2}) attributes {{{6} = \"node\"} {{\n{3}  return {4} : {5}\n}\n", name,
                 join(arguments, ", "), join(results, ", "), body, join(values, ", "), join(types, ", "), kOnnxAttr);
}
