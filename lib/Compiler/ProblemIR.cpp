//===- ProblemIR.cpp - problems as IR files -------------------------------===//
//
// One attn.sdpa, or the unfused chain where weights are asked for. Layouts are
// maps; packed layouts (batch, row, head * column) are reshapes, which are views
// in memory; pages are attn.gather_pages, which the tiler reads through.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ProblemText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace attn;
using llvm::formatv;
using llvm::SmallVector;
using llvm::StringRef;

/// A float attribute in MLIR's syntax, which wants a decimal point in front of the exponent.
static std::string printRealAttr(double real) {
  std::string text = printReal(real);
  if (!StringRef(text).contains('.'))
    text.insert(std::min(text.find('e'), text.size()), ".0");
  return text + " : f64";
}

/// #attn.window<left = 127, right = 0>, with the sides that are bounded.
static std::string printWindow(const Problem::Window &window) {
  SmallVector<std::string> sides;
  if (window.left)
    sides.push_back("left = " + std::to_string(*window.left));
  if (window.right)
    sides.push_back("right = " + std::to_string(*window.right));
  return "#attn.window<" + llvm::join(sides, ", ") + ">";
}

namespace {

/// A dimension: a number, or the SSA value that holds it.
struct Dim {
  int64_t size = 1;
  std::string value;
};

/// An SSA value of a tensor or number type.
struct TypedValue {
  std::string name; ///< without the %
  std::string type;
  SmallVector<Dim> dims;
};

class IRPrinter {
public:
  explicit IRPrinter(const Problem &problem);
  std::string print();

private:
  // Types
  Dim getDim(int64_t size, StringRef name) { return {size, ("%size." + name).str()}; }
  static std::string printType(llvm::ArrayRef<Dim> dims, StringRef element);
  TypedValue tensor(StringRef name, llvm::ArrayRef<Dim> dims, StringRef element) {
    return {name.str(), printType(dims, element), SmallVector<Dim>(dims)};
  }
  SmallVector<Dim> rows(Dim heads, Dim length, int64_t columns) const;
  SmallVector<Dim> scoreDims(const Problem::ScoreShape &shape) const;
  TypedValue lengths(StringRef name) { return tensor(name, {b}, "i32"); }

  // Arguments, in their order
  void addArguments();
  const TypedValue *find(StringRef name) const;

  // Body
  void line(const std::string &text) { body += "  " + text + "\n"; }
  void addSizes();
  void addSize(const Dim &dim, StringRef tensor, unsigned position);
  TypedValue addEmpty(StringRef name, const TypedValue &like);
  void addPages(TypedValue &view, StringRef cache);
  TypedValue addSplitHeads(const TypedValue &packed, const Dim &length, int64_t heads, int64_t columns);
  std::string clause(StringRef name, llvm::ArrayRef<StringRef> arguments) const;
  std::string maskClauses() const;
  std::string maskAttributes() const;
  void addSdpa();
  void addChain();
  /// attn.NAME ins(INPUTS) CLAUSES outs(OUTPUT_init) {ATTRIBUTES} REGION; returns the output.
  TypedValue addStep(StringRef op, StringRef name, llvm::ArrayRef<TypedValue> inputs, const std::string &clauses,
                     llvm::ArrayRef<Dim> dims, StringRef element, SmallVector<std::string> attributes = {},
                     const std::string &region = "");

  // Maps over the domain (batch, head, query, key, head size, value size)
  std::string mapRows(StringRef head, StringRef row, StringRef column, bool isHeadMajor) const;
  std::string kvHead() const;
  static std::string printMaps(StringRef domain, llvm::ArrayRef<std::string> results);
  static std::string joinMaps(llvm::ArrayRef<std::string> attributes) {
    return attributes.empty() ? "" : " {" + llvm::join(attributes, ", ") + "}";
  }

  const Problem &problem;
  StringRef element, wide;
  /// Of q and out, and of k and v as sdpa takes them.
  bool isHeadMajor, isKeyHeadMajor;
  Dim b, hq, hkv, sq, sk;
  SmallVector<TypedValue> arguments, results;
  TypedValue query, key, value;
  std::string body;
};

} // namespace

/// Joins what the format makes of each name {0} and type {1}.
static std::string joinEach(llvm::ArrayRef<TypedValue> values, const char *format) {
  auto print = [&](const TypedValue &value) { return formatv(false, format, value.name, value.type).str(); };
  return llvm::join(llvm::map_range(values, print), ", ");
}

/// %a, %b : type, type
static std::string printOperands(llvm::ArrayRef<TypedValue> values) {
  return joinEach(values, "%{0}") + " : " + joinEach(values, "{1}");
}

IRPrinter::IRPrinter(const Problem &problem)
    : problem(problem), element(printElement(problem.element)),
      wide(problem.element == Problem::Element::F64 ? "f64" : "f32"),
      isHeadMajor(problem.layout == Problem::Layout::BHSD), isKeyHeadMajor(isHeadMajor || problem.paged),
      b(getDim(problem.b, "b")), hq(getDim(problem.hq, "hq")), hkv(getDim(problem.hkv, "hq")),
      sq(getDim(problem.sq, "sq")), sk(getDim(problem.sk, "sk")) {}

std::string IRPrinter::printType(llvm::ArrayRef<Dim> dims, StringRef element) {
  std::string text = "tensor<";
  for (const Dim &dim : dims)
    text += printSize(dim.size) + "x";
  return text + element.str() + ">";
}

/// Of q, k, v or out as an argument.
SmallVector<Dim> IRPrinter::rows(Dim heads, Dim length, int64_t columns) const {
  switch (problem.layout) {
  case Problem::Layout::BHSD: return {b, heads, length, {columns, ""}};
  case Problem::Layout::BSHD: return {b, length, heads, {columns, ""}};
  case Problem::Layout::BSD: return {b, length, {heads.size * columns, ""}};
  case Problem::Layout::Varlen: return {length, heads, {columns, ""}};
  }
  llvm_unreachable("all layouts are handled");
}

SmallVector<Dim> IRPrinter::scoreDims(const Problem::ScoreShape &shape) const {
  SmallVector<Dim> dims = {b, hq, sq, sk};
  for (auto [dim, size] : llvm::zip_equal(dims, shape))
    dim.size = size;
  return dims;
}

const TypedValue *IRPrinter::find(StringRef name) const {
  const auto *found = llvm::find_if(arguments, [&](const TypedValue &argument) { return argument.name == name; });
  return found == arguments.end() ? nullptr : found;
}

void IRPrinter::addArguments() {
  arguments.push_back(tensor("q", rows(hq, sq, problem.d), element));
  for (auto [name, columns] : {std::pair("k", problem.d), {"v", problem.dv}}) {
    if (!problem.paged) {
      arguments.push_back(tensor(name, rows(hkv, sk, columns), element));
      continue;
    }
    int64_t entries = problem.getTablePages();
    bool isKnown = problem.b != Problem::kDynamic && entries != Problem::kDynamic;
    Dim pages = {problem.pages.value_or(isKnown ? problem.b * entries : Problem::kDynamic), ""};
    Dim page = {problem.paged->size, ""};
    SmallVector<Dim> cache = {pages, page, hkv, {columns, ""}};
    if (problem.paged->isHeadMajor)
      std::swap(cache[1], cache[2]);
    arguments.push_back(tensor(name, cache, element));
  }
  if (problem.bias)
    arguments.push_back(tensor("bias", scoreDims(*problem.bias), element));
  if (problem.mask)
    arguments.push_back(tensor("mask", scoreDims(*problem.mask), "i1"));
  if (problem.sink)
    arguments.push_back(tensor("sink", {hq}, wide));
  if (problem.qLengths)
    arguments.push_back(lengths("q_lengths"));
  if (problem.kvLengths)
    arguments.push_back(lengths("kv_lengths"));
  if (problem.hasOffset())
    arguments.push_back(lengths("causal_offset"));
  Dim sums = {problem.b == Problem::kDynamic ? Problem::kDynamic : problem.b + 1, ""};
  if (problem.layout == Problem::Layout::Varlen)
    for (StringRef name : {"cu_seqlens_q", "cu_seqlens_k"})
      arguments.push_back(tensor(name, {sums}, "i32"));
  if (problem.paged)
    arguments.push_back(tensor("block_table", {b, {problem.getTablePages(), ""}}, "i32"));
  if (problem.dropout)
    for (const char *name : {"seed", "offset"})
      arguments.push_back({name, "i64", {}});
  for (const Problem::Capture &capture : problem.captures)
    arguments.push_back({capture.name, capture.type, {}});
}

//===----------------------------------------------------------------------===//
// Sizes and views
//===----------------------------------------------------------------------===//

void IRPrinter::addSize(const Dim &dim, StringRef tensor, unsigned position) {
  if (dim.size != Problem::kDynamic)
    return;
  line(formatv("%index.{0}{1} = arith.constant {1} : index", tensor, position));
  line(formatv("{0} = tensor.dim %{1}, %index.{1}{2} : {3}", dim.value, tensor, position, find(tensor)->type));
}

/// The values of the dynamic sizes, from the arguments that have them.
void IRPrinter::addSizes() {
  bool isPacked = problem.layout == Problem::Layout::Varlen;
  unsigned row = isHeadMajor ? 2 : isPacked ? 0 : 1;
  unsigned head = problem.layout == Problem::Layout::BSHD ? 2 : 1;
  if (!isPacked)
    addSize(b, "q", 0);
  addSize(hq, "q", head);
  addSize(sq, "q", row);
  if (problem.paged && sk.size == Problem::kDynamic) {
    // The view has the rows of all pages of the table.
    addSize({Problem::kDynamic, "%size.table"}, "block_table", 1);
    line(formatv("%size.page = arith.constant {0} : index", problem.paged->size));
    line("%size.sk = arith.muli %size.table, %size.page : index");
  } else {
    addSize(sk, "k", row);
  }
}

/// A tensor.empty named NAME_init of the type of `like`.
TypedValue IRPrinter::addEmpty(StringRef name, const TypedValue &like) {
  SmallVector<std::string> sizes;
  for (const Dim &dim : like.dims)
    if (dim.size == Problem::kDynamic)
      sizes.push_back(dim.value);
  TypedValue empty = {(name + "_init").str(), like.type, like.dims};
  line(formatv("%{0} = tensor.empty({1}) : {2}", empty.name, llvm::join(sizes, ", "), empty.type));
  return empty;
}

/// The rows of a cache one after the other, (batch, head, row, column).
void IRPrinter::addPages(TypedValue &view, StringRef cache) {
  TypedValue empty = addEmpty(view.name, view);
  const TypedValue &table = *find("block_table"), &lengths = *find("kv_lengths");
  line(formatv("%{0} = attn.gather_pages ins(%{1}, %block_table : {2}, {3}) lengths(%kv_lengths : {4})\n"
               "      outs(%{5} : {6}) {{page_layout = #attn.page_layout<{7}>} -> {6}",
               view.name, cache, find(cache)->type, table.type, lengths.type, empty.name, view.type,
               problem.paged->isHeadMajor ? "hnd" : "nhd"));
}

/// (batch, row, head * column) as (batch, row, head, column): a view.
TypedValue IRPrinter::addSplitHeads(const TypedValue &packed, const Dim &length, int64_t heads, int64_t columns) {
  SmallVector<Dim> dims = {b, length, {heads, ""}, {columns, ""}};
  StringRef type = packed.type;
  TypedValue split = tensor(packed.name + "_heads", dims, type.drop_back().rsplit('x').second);
  auto printDim = [](const Dim &dim) { return dim.size == Problem::kDynamic ? dim.value : std::to_string(dim.size); };
  line(formatv("%{0} = tensor.expand_shape %{1} [[0], [1], [2, 3]] output_shape [{2}] : {3} into {4}", split.name,
               packed.name, llvm::join(llvm::map_range(dims, printDim), ", "), packed.type, split.type));
  return split;
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

std::string IRPrinter::kvHead() const {
  return problem.hq == problem.hkv ? "h" : formatv("h floordiv {0}", problem.hq / problem.hkv).str();
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

std::string IRPrinter::maskAttributes() const {
  SmallVector<std::string> attributes;
  if (problem.causal)
    attributes.push_back(formatv("causal = #attn.causal<{0}>", printCausal(*problem.causal)));
  if (problem.window)
    attributes.push_back("window = " + printWindow(*problem.window));
  if (problem.align)
    attributes.push_back(formatv("align = #attn.causal<{0}>", printCausal(*problem.align)));
  return llvm::join(attributes, ", ");
}

void IRPrinter::addSdpa() {
  SmallVector<std::string> attributes;
  if (std::string masks = maskAttributes(); !masks.empty())
    attributes.push_back(masks);
  // Packed sequences have a default layout of their own.
  if (problem.layout != Problem::Layout::Varlen && !isHeadMajor) {
    SmallVector<std::string> maps = {mapRows("h", "i", "d", isHeadMajor), mapRows(kvHead(), "j", "d", isKeyHeadMajor),
                                     mapRows(kvHead(), "j", "e", isKeyHeadMajor)};
    constexpr StringRef names[] = {"b", "h", "i", "j"};
    for (const std::optional<Problem::ScoreShape> &shape : {problem.bias, problem.mask})
      if (shape)
        maps.push_back(llvm::join(llvm::map_range(llvm::seq<size_t>(0, shape->size()),
                                                  [&](size_t i) { return (*shape)[i] == 1 ? "0" : names[i]; }),
                                  ", "));
    maps.push_back(mapRows("h", "i", "e", isHeadMajor));
    if (problem.lse)
      maps.push_back("b, h, i");
    attributes.push_back(printMaps("b, h, i, j, d, e", maps));
  }
  if (problem.scale)
    attributes.push_back("scale = " + printRealAttr(*problem.scale));
  if (problem.softcap)
    attributes.push_back("softcap = " + printRealAttr(*problem.softcap));
  if (problem.dropout)
    attributes.push_back("dropout_p = " + printRealAttr(*problem.dropout));

  SmallVector<TypedValue> outputs = results, inits;
  for (TypedValue &output : outputs)
    inits.push_back(addEmpty(output.name, output));
  if (problem.layout == Problem::Layout::BSD) {
    inits.front() = addSplitHeads(inits.front(), sq, problem.hq, problem.dv);
    outputs.front() = {"out_heads", inits.front().type, inits.front().dims};
  }
  line(joinEach(outputs, "%{0}") + " = attn.sdpa ins(" + printOperands({query, key, value}) + ")");
  for (StringRef name : {"bias", "mask", "sink", "q_lengths", "kv_lengths", "causal_offset"})
    body += clause(name, name);
  body += clause("cu_seqlens", {"cu_seqlens_q", "cu_seqlens_k"});
  body += clause("dropout", {"seed", "offset"});
  body += "      outs(" + printOperands(inits) + ")" + joinMaps(attributes);
  if (!problem.scoreMod.empty())
    body += " score_mod " + problem.scoreMod;
  if (!problem.maskMod.empty())
    body += " mask_mod " + problem.maskMod;
  body += " -> " + joinEach(outputs, "{1}") + "\n";
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

/// SPEC §2 step by step, with the weights in memory.
void IRPrinter::addChain() {
  const SmallVector<Dim> scoreShape = {b, hq, sq, sk};
  SmallVector<std::string> maps;
  if (!isHeadMajor)
    maps.push_back(printMaps("b, h, i, j, d", {mapRows("h", "i", "d", isHeadMajor),
                                               mapRows(kvHead(), "j", "d", isKeyHeadMajor), "b, h, i, j"}));
  TypedValue scores = addStep("scores", "scores", {query, key}, "", scoreShape, wide, maps);
  double scale = problem.scale.value_or(1 / std::sqrt(double(problem.d)));
  scores = addStep("scale", "scaled", {scores}, "", scoreShape, wide, {"scale = " + printRealAttr(scale)});
  if (!problem.scoreMod.empty())
    scores = addStep("modify", "modified", {scores}, "", scoreShape, wide, {}, " score_mod " + problem.scoreMod);
  if (problem.softcap)
    scores =
        addStep("softcap", "capped", {scores}, "", scoreShape, wide, {"softcap = " + printRealAttr(*problem.softcap)});
  std::string clauses, region = problem.maskMod.empty() ? "" : " mask_mod " + problem.maskMod;
  for (StringRef name : {"bias", "mask", "q_lengths", "kv_lengths", "causal_offset"})
    clauses += clause(name, name);
  SmallVector<std::string> attributes;
  if (std::string masks = maskAttributes(); !masks.empty())
    attributes.push_back(masks);
  if (!clauses.empty() || !attributes.empty() || !region.empty())
    scores = addStep("mask", "masked", {scores}, clauses, scoreShape, wide, attributes, region);

  // The last step writes what is returned, unless it has to be rounded first.
  bool isWide = element == wide;
  TypedValue weights = tensor(isWide && !problem.dropout ? "weights" : "probabilities", scoreShape, wide);
  SmallVector<TypedValue> outputs = {weights}, inits = {addEmpty(weights.name, weights)};
  if (problem.lse) {
    outputs.push_back(results[1]);
    inits.push_back(addEmpty("lse", results[1]));
  }
  line(joinEach(outputs, "%{0}") + " = attn.softmax ins(" + printOperands(scores) + ")");
  body += clause("sink", StringRef("sink"));
  if (problem.sink)
    body += clause("q_lengths", StringRef("q_lengths"));
  body += "      outs(" + printOperands(inits) + ") -> " + joinEach(outputs, "{1}") + "\n";
  if (problem.dropout)
    weights = addStep("dropout", isWide ? "weights" : "dropped", {weights}, clause("dropout", {"seed", "offset"}),
                      scoreShape, wide, {"dropout_p = " + printRealAttr(*problem.dropout)});
  if (!isWide) {
    TypedValue rounded = tensor("weights", scoreShape, element);
    TypedValue init = addEmpty("weights", rounded);
    std::string map = "affine_map<(b, h, i, j) -> (b, h, i, j)>";
    std::string parallel = "\"parallel\", \"parallel\", \"parallel\", \"parallel\"";
    line(formatv("%weights = linalg.generic {{indexing_maps = [{0}, {0}], iterator_types = [{1}]}\n"
                 "      ins({2}) outs({3}) {{\n  ^bb0(%wide: {4}, %narrow: {5}):\n"
                 "    %rounded = arith.truncf %wide : {4} to {5}\n    linalg.yield %rounded : {5}\n  } -> {6}",
                 map, parallel, printOperands(weights), printOperands(init), wide, element, rounded.type));
    weights = rounded;
  }

  maps.clear();
  if (!isHeadMajor)
    maps.push_back(printMaps("b, h, i, j, e", {"b, h, i, j", mapRows(kvHead(), "j", "e", isKeyHeadMajor),
                                               mapRows("h", "i", "e", isHeadMajor)}));
  if (problem.layout != Problem::Layout::BSD) {
    addStep("apply", "out", {weights, value}, "", results.front().dims, element, maps);
    return;
  }
  TypedValue init = addSplitHeads(addEmpty("out", results.front()), sq, problem.hq, problem.dv);
  line(formatv("%out_heads = attn.apply ins({0}) outs({1}){2} -> {3}", printOperands({weights, value}),
               printOperands(init), joinMaps(maps), init.type));
}

std::string IRPrinter::print() {
  addArguments();
  results.push_back(tensor("out", rows(hq, sq, problem.dv), element));
  if (problem.lse && problem.layout == Problem::Layout::Varlen)
    results.push_back(tensor("lse", {hq, sq}, wide));
  else if (problem.lse)
    results.push_back(tensor("lse", {b, hq, sq}, wide));
  if (problem.weights)
    results.push_back(tensor("weights", {b, hq, sq, sk}, element));

  addSizes();
  query = arguments[0];
  key = arguments[1];
  value = arguments[2];
  if (problem.layout == Problem::Layout::BSD) {
    query = addSplitHeads(query, sq, problem.hq, problem.d);
    if (!problem.paged) {
      key = addSplitHeads(key, sk, problem.hkv, problem.d);
      value = addSplitHeads(value, sk, problem.hkv, problem.dv);
    }
  }
  if (problem.paged) {
    key = tensor("keys", {b, hkv, sk, {problem.d, ""}}, element);
    value = tensor("values", {b, hkv, sk, {problem.dv, ""}}, element);
    addPages(key, "k");
    addPages(value, "v");
  }
  problem.weights ? addChain() : addSdpa();
  if (problem.layout == Problem::Layout::BSD)
    line(formatv("%out = tensor.collapse_shape %out_heads [[0], [1], [2, 3]] : {0} into {1}",
                 printType({b, sq, hq, {problem.dv, ""}}, element), results.front().type));

  std::string text = "// " + printProblemLine(problem) + "\n";
  text += "func.func @sdpa(" + joinEach(arguments, "%{0}: {1} {{attn.name = \"{0}\"}") + ")\n";
  text += "    -> (" + joinEach(results, "{1} {{attn.name = \"{0}\"}") + ") {\n";
  return text + body + "  return " + printOperands(results) + "\n}\n";
}

std::string attn::problemToMLIR(const Problem &problem) { return IRPrinter(problem).print(); }
