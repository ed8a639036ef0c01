//===- ProblemOps.cpp - the attn ops of a problem -------------------------===//
//
// One attn.sdpa, or the unfused chain where weights are asked for.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ProblemIR.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace attn;
using llvm::formatv;
using llvm::SmallVector;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

std::string IRPrinter::kvHead() const {
  return problem.sizes.hq == problem.sizes.hkv ? "h"
                                               : formatv("h floordiv {0}", problem.sizes.hq / problem.sizes.hkv).str();
}

std::string IRPrinter::mapRows(StringRef head, StringRef row, StringRef column, bool isHeadMajor) const {
  return isHeadMajor ? formatv("b, {0}, {1}, {2}", head, row, column) : formatv("b, {1}, {0}, {2}", head, row, column);
}

std::string IRPrinter::printMaps(StringRef domain, llvm::ArrayRef<std::string> results) {
  auto print = [&](const std::string &result) { return ("affine_map<(" + domain + ") -> (" + result + ")>").str(); };
  return "maps = [" + llvm::join(llvm::map_range(results, print), ", ") + "]";
}

//===----------------------------------------------------------------------===//
// The ops
//===----------------------------------------------------------------------===//

/// NAME(%a, %b : type, type), where the problem has those arguments.
std::string IRPrinter::clause(StringRef name, llvm::ArrayRef<StringRef> names) const {
  if (!find(names.front()))
    return "";
  SmallVector<TypedValue> values;
  for (StringRef each : names)
    values.push_back(*find(each));
  return formatv("      {0}({1})\n", name, printOperands(values));
}

SmallVector<std::string> IRPrinter::printAttributes(llvm::function_ref<bool(const WordInfo &)> isAsked) const {
  SmallVector<std::string> attributes;
  for (const WordInfo &word : getWords())
    if (word.isAttribute() && problem.words.has(word.word) && isAsked(word))
      attributes.push_back((word.name + " = " + printWordAttribute(problem.words[word.word])).str());
  return attributes;
}

/// Of Q, K, V, bias and mask; empty for the default layout, which packed sequences have one of their own of.
SmallVector<std::string> IRPrinter::mapInputs() const {
  if (problem.layout == Problem::Layout::Varlen || isHeadMajor)
    return {};
  SmallVector<std::string> maps = {mapRows("h", "i", "d", isHeadMajor), mapRows(kvHead(), "j", "d", isKeyHeadMajor),
                                   mapRows(kvHead(), "j", "e", isKeyHeadMajor)};
  constexpr StringRef names[] = {"b", "h", "i", "j"};
  for (const WordInfo &word : getWords())
    if (const auto *shape = problem.words.get<ScoreShape>(word.word))
      maps.push_back(llvm::join(llvm::map_range(llvm::seq<size_t>(0, shape->size()),
                                                [&](size_t i) { return (*shape)[i] == 1 ? "0" : names[i]; }),
                                ", "));
  return maps;
}

/// The clauses of what is read beside Q, K and V.
void IRPrinter::addInputs(llvm::ArrayRef<TypedValue> kvScales, bool withSink) {
  for (const WordInfo &word : getWords())
    if (((word.stands == WordStands::ByToken && word.shape != WordShape::Number) ||
         word.stands == WordStands::BesideOffset) &&
        (withSink || word.word != Word::sink))
      body += clause(word.name, word.argument);
  body += find("cu_seqlens_k") ? clause("cu_seqlens", {"cu_seqlens_q", "cu_seqlens_k"})
                               : clause("cu_seqlens", StringRef("cu_seqlens_q"));
  if (!kvScales.empty())
    body += "      kv_scale(" + printOperands(kvScales) + ")\n";
  body += clause("dropout", {"seed", "offset"});
  for (Word word : {Word::b_origin, Word::h_origin})
    body += clause(getWord(word).name, getWord(word).argument);
  body += clause("whole", {"whole_hq", "whole_sq", "whole_sk"});
  body += clause("scale_value", StringRef("scale"));
}

void IRPrinter::addRegions() {
  if (!problem.scoreMod.empty())
    body += " score_mod " + problem.scoreMod;
  if (!problem.maskMod.empty())
    body += " mask_mod " + problem.maskMod;
}

void IRPrinter::addSdpa() {
  SmallVector<std::string> attributes = printAttributes([](const WordInfo &) { return true; });
  // What is returned of each row, by its clause; sums of weights read the last two.
  SmallVector<TypedValue> outputs = results, inits;
  SmallVector<std::string> names;
  if (problem.outputs.keySums) {
    outputs.pop_back();
    for (const auto &[name, isWanted] :
         {std::pair("max", problem.outputs.max), std::pair("log_sum", problem.outputs.logSum)})
      if (!isWanted) {
        SmallVector<Dim> rowShape = {b, hq, sq};
        if (problem.layout == Problem::Layout::Varlen)
          rowShape = {hq, sq};
        bool isLast = StringRef(name) == "log_sum" || !problem.outputs.logSum;
        outputs.insert(isLast ? outputs.end() : std::prev(outputs.end()),
                       tensor(std::string("rows.") + name, rowShape, wide));
      }
  }
  for (const TypedValue &output : outputs)
    names.push_back(StringRef(output.name).substr(StringRef(output.name).rfind('.') + 1).str());
  if (SmallVector<std::string> maps = mapInputs(); !maps.empty()) {
    maps.push_back(mapRows("h", "i", "e", isHeadMajor));
    maps.append(outputs.size() - 1, "b, h, i");
    attributes.push_back(printMaps("b, h, i, j, d, e", maps));
  }
  for (TypedValue &output : outputs)
    inits.push_back(problem.continuesState() ? getOld(output) : addEmpty(output.name, output));
  if (problem.continuesState())
    attributes.push_back("accumulate");
  if (problem.layout == Problem::Layout::BSD) {
    inits.front() = addSplitHeads(inits.front(), sq, problem.sizes.hq, problem.sizes.dv);
    outputs.front() = {"out.heads", inits.front().type, inits.front().dims};
  }
  line(joinEach(outputs, "%{0}") + " = attn.sdpa ins(" + printOperands({query, key, value}) + ")");
  addInputs(scales, /*withSink=*/true);
  // `outs` has the output and lse, each other result a clause of its own.
  size_t numOuts = problem.outputs.lse ? 2 : 1;
  body += "      outs(" + printOperands(llvm::ArrayRef(inits).take_front(numOuts)) + ")";
  for (const auto &[init, name] : llvm::drop_begin(llvm::zip_equal(inits, names), numOuts))
    body += formatv(" {0}({1})", name, printOperands(init)).str();
  body += joinMaps(attributes);
  addRegions();
  body += " -> " + joinEach(outputs, "{1}") + "\n";
  if (problem.outputs.keySums)
    addKeySums(*std::prev(outputs.end(), 2), outputs.back());
}

TypedValue IRPrinter::addStep(StringRef op, StringRef name, llvm::ArrayRef<TypedValue> inputs,
                              const std::string &clauses, llvm::ArrayRef<Dim> dims, StringRef element,
                              SmallVector<std::string> attributes, const std::string &region) {
  TypedValue output = tensor(name, dims, element);
  TypedValue init = addEmpty(name, output);
  line(formatv("%{0} = attn.{1} ins({2})", name, op, printOperands(inputs)));
  body +=
      clauses + "      outs(" + printOperands(init) + ")" + joinMaps(attributes) + region + " -> " + output.type + "\n";
  return output;
}

/// A region for ops that know no key heads: kv_head is head floordiv `group` there.
static std::string withoutKeyHeads(StringRef region, int64_t group) {
  constexpr StringRef index = "attn.index kv_head";
  std::string text;
  for (size_t place = region.find(index); place != StringRef::npos; place = region.find(index)) {
    size_t start = region.take_front(place).rfind('%');
    if (start == StringRef::npos)
      break; // no result: MLIR's parser says what is wrong
    StringRef name = region.slice(start, place).drop_front().take_until([](char c) { return c == ' ' || c == '='; });
    text += region.take_front(start);
    text += formatv("%head.{0} = attn.index head : index %group.{0} = arith.constant {1} : index "
                    "%{0} = arith.divui %head.{0}, %group.{0}",
                    name, group);
    region = region.drop_front(place + index.size());
  }
  return text + region.str();
}

/// linalg.generic over four dimensions, element by element: its operands, its body, its type.
static constexpr const char *kElementwise =
    "%{0} = linalg.generic {{indexing_maps = [{1}], iterator_types = [\"parallel\", \"parallel\", \"parallel\", "
    "\"parallel\"]}\n      ins({2}) outs({3}) {{\n  ^bb0({4}):\n{5}    linalg.yield %each.result : {6}\n  } -> {7}";

TypedValue IRPrinter::addCast(StringRef name, const TypedValue &value, StringRef from, StringRef to,
                              const TypedValue &init) {
  TypedValue result = {name.str(), init.type, init.dims};
  std::string map = "affine_map<(b, h, i, j) -> (b, h, i, j)>";
  bool isNarrower = to == "bf16" || to == "f16";
  line(formatv(
      false, kElementwise, name, map + ", " + map, printOperands(value), printOperands(init),
      formatv("%each.from: {0}, %each.old: {1}", from, to),
      formatv("    %each.result = arith.{0} %each.from : {1} to {2}\n", isNarrower ? "truncf" : "extf", from, to), to,
      result.type));
  return result;
}

TypedValue IRPrinter::addWideRows(const TypedValue &rows, unsigned scale, StringRef to) {
  TypedValue init = addEmpty(rows.name + ".wide", tensor(rows.name, rows.dims, to));
  if (!problem.isQuantised())
    return addCast(rows.name + ".wide", rows, kvElement, to, init);
  // scale[h], or scale[b, h, j]
  std::string domain = isKeyHeadMajor ? "b, h, j, d" : "b, j, h, d",
              same = formatv("affine_map<({0}) -> ({0})>", domain);
  std::string scaleMap =
      formatv("affine_map<({0}) -> ({1})>", domain, problem.kvScale == Problem::KvScale::Head ? "h" : "b, h, j");
  std::string body = formatv("    %each.number = arith.{0} %each.narrow : {1} to {2}\n",
                             problem.kv == Problem::KvElement::I8 ? "sitofp" : "extf", kvElement, to);
  if (to != "f32")
    body += formatv("    %each.wide_factor = arith.extf %each.factor : f32 to {0}\n", to);
  body += formatv("    %each.result = arith.mulf %each.number, %each.{0} : {1}\n",
                  to == "f32" ? "factor" : "wide_factor", to);
  line(formatv(false, kElementwise, rows.name + ".wide", same + ", " + scaleMap + ", " + same,
               printOperands({rows, scales[scale]}), printOperands(init),
               formatv("%each.narrow: {0}, %each.factor: f32, %each.old: {1}", kvElement, to), body, to, init.type));
  return {rows.name + ".wide", init.type, init.dims};
}

/// The formula of docs/Semantics.md step by step, with the weights in memory.
void IRPrinter::addChain() {
  if (problem.kv != Problem::KvElement::Same) {
    key = addWideRows(key, 0, wide);
    value = addWideRows(value, 1, wide);
  }
  if (widensChain())
    query = addCast("q.wide", query, element, wide, addEmpty("q.wide", tensor("q", query.dims, wide)));
  addOutput(addWeights(addScores()));
}

/// Beside a 16-bit Q, scaled keys and values are no 16-bit numbers: all three are then wide.
bool IRPrinter::widensChain() const { return problem.isQuantised() && element != wide; }

/// For printAttributes: one word.
static auto isWord(Word word) {
  return [word](const WordInfo &info) { return info.word == word; };
}

/// The scores with all that changes and masks them.
TypedValue IRPrinter::addScores() {
  const SmallVector<Dim> scoreShape = {b, hq, sq, sk};
  int64_t group = problem.sizes.hq / problem.sizes.hkv; // 1 where both are dynamic
  SmallVector<std::string> maps;
  if (!isHeadMajor)
    maps.push_back(printMaps("b, h, i, j, d", {mapRows("h", "i", "d", isHeadMajor),
                                               mapRows(kvHead(), "j", "d", isKeyHeadMajor), "b, h, i, j"}));
  TypedValue scores = addStep("scores", "chain.scores", {query, key}, "", scoreShape, wide, maps);
  const auto *scale = problem.words.get<double>(Word::scale);
  std::string givenScale = clause("scale_value", StringRef("scale"));
  SmallVector<std::string> ownScale = {"scale = " +
                                       printWordAttribute(scale ? *scale : 1 / std::sqrt(double(problem.sizes.d)))};
  scores = addStep("scale", "chain.scaled", {scores}, givenScale, scoreShape, wide,
                   givenScale.empty() ? ownScale : SmallVector<std::string>());
  if (!problem.scoreMod.empty())
    scores = addStep("modify", "chain.modified", {scores}, "", scoreShape, wide, {},
                     " score_mod " + withoutKeyHeads(problem.scoreMod, group));
  if (problem.words.has(Word::softcap))
    scores = addStep("softcap", "chain.capped", {scores}, "", scoreShape, wide, printAttributes(isWord(Word::softcap)));
  std::string clauses, region = problem.maskMod.empty() ? "" : " mask_mod " + withoutKeyHeads(problem.maskMod, group);
  for (const WordInfo &word : getWords())
    if (word.kind == WordKind::MaskOperand)
      clauses += clause(word.name, word.argument);
  SmallVector<std::string> attributes =
      printAttributes([](const WordInfo &word) { return word.kind == WordKind::MaskAttribute; });
  if (!clauses.empty() || !attributes.empty() || !region.empty())
    scores = addStep("mask", "chain.masked", {scores}, clauses, scoreShape, wide, attributes, region);
  return scores;
}

/// The softmax of the scores and dropout, in the type of the output.
TypedValue IRPrinter::addWeights(const TypedValue &scores) {
  const SmallVector<Dim> scoreShape = {b, hq, sq, sk};
  bool isWide = element == wide, hasDropout = problem.words.has(Word::dropout_p);
  // The last step writes what is returned, unless it has to be rounded first.
  TypedValue weights = tensor(isWide && !hasDropout ? "weights" : "chain.probabilities", scoreShape, wide);
  SmallVector<TypedValue> outputs = {weights}, inits = {addEmpty(weights.name, weights)};
  if (problem.outputs.lse) {
    outputs.push_back(results[1]);
    inits.push_back(addEmpty("lse", results[1]));
  }
  line(joinEach(outputs, "%{0}") + " = attn.softmax ins(" + printOperands(scores) + ")");
  body += clause("sink", StringRef("sink"));
  if (problem.words.has(Word::sink))
    body += clause("q_lengths", StringRef("q_lengths"));
  body += "      outs(" + printOperands(inits) + ") -> " + joinEach(outputs, "{1}") + "\n";
  if (hasDropout)
    weights = addStep("dropout", isWide ? "weights" : "chain.dropped", {weights}, clause("dropout", {"seed", "offset"}),
                      scoreShape, wide, printAttributes(isWord(Word::dropout_p)));
  if (!isWide)
    weights = addCast("weights", weights, wide, element, addEmpty("weights", tensor("weights", scoreShape, element)));
  return weights;
}

/// The weights times V, in the layout of the output.
void IRPrinter::addOutput(const TypedValue &weights) {
  SmallVector<std::string> maps;
  if (!isHeadMajor)
    maps.push_back(printMaps("b, h, i, j, e", {"b, h, i, j", mapRows(kvHead(), "j", "e", isKeyHeadMajor),
                                               mapRows("h", "i", "e", isHeadMajor)}));
  bool isSplit = problem.layout == Problem::Layout::BSD;
  if (!isSplit && !widensChain()) {
    addStep("apply", "out", {weights, value}, "", results.front().dims, element, maps);
    return;
  }
  TypedValue init = addEmpty("out", results.front());
  if (isSplit)
    init = addSplitHeads(init, sq, problem.sizes.hq, problem.sizes.dv);
  StringRef name = isSplit ? "out.heads" : "out";
  if (widensChain()) {
    TypedValue out = addStep("apply", "out.wide", {weights, value}, "", init.dims, wide, maps);
    addCast(name, out, wide, element, init);
    return;
  }
  line(formatv("%{0} = attn.apply ins({1}) outs({2}){3} -> {4}", name, printOperands({weights, value}),
               printOperands(init), joinMaps(maps), init.type));
}
