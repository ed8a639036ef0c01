//===- KeySums.cpp - sums of weights a key --------------------------------===//
//
// The weights of a key, summed over queries and the heads that share its head, are
// the gradient of a V of one column where that of the output is 1. A row's weights
// are known once it has seen all keys: attn.sdpa_backward computes the scores again
// from max and ln l, and takes no other product.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ProblemIR.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace attn;
using llvm::formatv;
using llvm::SmallVector;
using llvm::StringRef;

/// A tensor of ones.
TypedValue IRPrinter::addFilled(StringRef name, llvm::ArrayRef<Dim> dims, StringRef type) {
  TypedValue ones = tensor(name, dims, type), init = addEmpty(name, ones);
  line(formatv("%{0}.one = arith.constant 1{1} : {2}", name, StringRef(type).starts_with("i") ? "" : ".0", type));
  line(formatv("%{0} = linalg.fill ins(%{0}.one : {1}) outs({2}) -> {3}", name, type,
               "%" + init.name + " : " + init.type, ones.type));
  return ones;
}

/// The result's destination with a column: (batch, head, key, 1), of packed keys (key, head, 1).
TypedValue IRPrinter::addKeySumsInit() {
  if (problem.layout == Problem::Layout::Varlen && !problem.paged)
    return addEmpty("rows.sums", tensor("rows.sums", {sk, hkv, {}}, wide));
  TypedValue init = addEmpty("key_sums", results.back());
  if (problem.paged) {
    TypedValue keys = tensor("rows.keys", {b, hkv, sk}, wide);
    line(formatv("%{0} = tensor.collapse_shape %{1} [[0], [1], [2, 3]] : {2} into {3}", keys.name, init.name, init.type,
                 keys.type));
    init = keys;
  }
  return addSplit("rows.init", init, {b, hkv, sk, {}});
}

/// The result from sums with a column.
void IRPrinter::addKeySumsResult(const TypedValue &sums) {
  bool isPacked = problem.layout == Problem::Layout::Varlen && !problem.paged;
  const TypedValue &result = results.back();
  TypedValue flat = isPacked ? tensor("rows.keys.first", {sk, hkv}, wide)
                             : tensor(problem.paged ? "rows.flat" : result.name, {b, hkv, sk}, wide);
  line(formatv("%{0} = tensor.collapse_shape %{1} {2} : {3} into {4}", flat.name, sums.name,
               isPacked ? "[[0], [1, 2]]" : "[[0], [1], [2, 3]]", sums.type, flat.type));
  if (problem.paged)
    addSplit(result.name, flat, result.dims);
  if (!isPacked)
    return;
  TypedValue init = addEmpty(result.name, result);
  line(formatv("%{0} = linalg.transpose ins(%{1} : {2}) outs(%{3} : {4}) permutation = [1, 0]", result.name, flat.name,
               flat.type, init.name, init.type));
}

void IRPrinter::addKeySums(const TypedValue &max, const TypedValue &logSum) {
  auto withColumns = [](const TypedValue &rows, Dim columns) {
    SmallVector<Dim> dims = rows.dims;
    dims.back() = std::move(columns);
    return dims;
  };
  TypedValue ones = addFilled("rows.ones", withColumns(query, {}), element),
             onesOfKeys = addFilled("rows.value", withColumns(key, {}), kvElement);
  SmallVector<TypedValue, 2> kvScales(scales);
  if (!kvScales.empty()) // V has none
    kvScales.back() = addFilled("rows.value.scale", {hkv}, "f32");
  SmallVector<TypedValue> inits = {addEmpty("rows.dquery", tensor("", query.dims, element)),
                                   addEmpty("rows.dkey", tensor("", key.dims, wide)), addKeySumsInit()};
  SmallVector<std::string> attributes = printAttributes([](const WordInfo &) { return true; });
  if (SmallVector<std::string> maps = mapInputs(); !maps.empty()) {
    SmallVector<std::string> all(llvm::ArrayRef(maps).take_front(3));
    std::string ofQuery = maps[0], ofKey = maps[1], ofOutput = mapRows("h", "i", "e", isHeadMajor);
    all.append({ofOutput, "b, h, i", ofOutput, "b, h, i"});
    all.append(std::next(maps.begin(), 3), maps.end());
    all.append({ofQuery, ofKey, mapRows(kvHead(), "j", "e", /*isHeadMajor=*/true)});
    attributes.push_back(printMaps("b, h, i, j, d, e", all));
  }
  TypedValue sums = {"rows.sums", inits.back().type, inits.back().dims};
  line("%rows.dq, %rows.dk, %" + sums.name + " = attn.sdpa_backward ins(" +
       printOperands({query, key, onesOfKeys, ones, max, ones}) + ")");
  body += "      log_sum(" + printOperands(logSum) + ")\n";
  addInputs(kvScales, /*withSink=*/false); // max and ln l have it
  body += "      outs(" + printOperands(inits) + ")" + joinMaps(attributes);
  // The gradients of scores are not read.
  if (!problem.scoreMod.empty())
    body += " score_mod " + problem.scoreMod +
            formatv(false,
                    " score_grad {\n  ^bb0(%rows.score: {0}, %rows.gradient: {0}):\n    attn.yield %rows.gradient : "
                    "{0}\n  }",
                    wide)
                .str();
  if (!problem.maskMod.empty())
    body += " mask_mod " + problem.maskMod;
  body += " -> " + joinEach(inits, "{1}") + "\n";
  addKeySumsResult(sums);
}
