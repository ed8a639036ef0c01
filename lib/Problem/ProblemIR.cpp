//===- ProblemIR.cpp - problems as IR files -------------------------------===//
//
// Arguments, sizes and views. Layouts are maps; packed layouts (batch, row,
// head * column) are reshapes, which are views in memory; pages are
// attn.gather_pages, which the tiler reads through.
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

std::string attn::joinEach(llvm::ArrayRef<TypedValue> values, const char *format) {
  auto print = [&](const TypedValue &value) { return formatv(false, format, value.name, value.type).str(); };
  return llvm::join(llvm::map_range(values, print), ", ");
}

std::string attn::printOperands(llvm::ArrayRef<TypedValue> values) {
  return joinEach(values, "%{0}") + " : " + joinEach(values, "{1}");
}

IRPrinter::IRPrinter(const Problem &problem)
    : problem(problem), element(printElement(problem.element)), kvElement(printKvElement(problem)),
      wide(problem.element == Problem::Element::F64 ? "f64" : "f32"), outElement(problem.isResultWide ? wide : element),
      isHeadMajor(problem.layout == Problem::Layout::BHSD), isKeyHeadMajor(isHeadMajor || problem.paged),
      b(getDim(problem.sizes.b, "b")), hq(getDim(problem.sizes.hq, "hq")), hkv(getDim(problem.sizes.hkv, "hq")),
      sq(getDim(problem.sizes.sq, "sq")), sk(getDim(problem.sizes.sk, "sk")) {
  addArguments();
  addResults();
}

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

SmallVector<Dim> IRPrinter::scoreDims(const ScoreShape &shape) const {
  SmallVector<Dim> dims = {b, hq, sq, sk};
  for (auto [dim, size] : llvm::zip_equal(dims, shape))
    dim.size = size;
  return dims;
}

llvm::StringSet<> IRPrinter::getOwnNames() const {
  llvm::StringSet<> names;
  for (const TypedValue &value : llvm::concat<const TypedValue>(arguments, results))
    names.insert(value.name);
  return names;
}

const TypedValue *IRPrinter::find(StringRef name) const {
  const auto *found = llvm::find_if(arguments, [&](const TypedValue &argument) { return argument.name == name; });
  return found == arguments.end() ? nullptr : found;
}

StringRef IRPrinter::printElementOf(const WordInfo &word) const {
  switch (word.element) {
  case WordElement::OfQuery: return element;
  case WordElement::Accumulation: return wide;
  case WordElement::Bool: return "i1";
  case WordElement::I32: return "i32";
  case WordElement::I64: return "i64";
  case WordElement::F32: return "f32";
  }
  llvm_unreachable("all elements are handled");
}

TypedValue IRPrinter::printArgument(const WordInfo &word) {
  auto withDims = [&](llvm::ArrayRef<Dim> dims) { return tensor(word.argument, dims, printElementOf(word)); };
  Dim sums = {problem.sizes.b == Problem::kDynamic ? Problem::kDynamic : problem.sizes.b + 1, ""};
  switch (word.shape) {
  case WordShape::Scores: return withDims(scoreDims(*problem.words.get<ScoreShape>(word.word)));
  case WordShape::PerHead: return withDims({hq});
  case WordShape::PerBatch: return withDims({b});
  case WordShape::PerKey: return withDims(getScaleDims());
  case WordShape::PrefixSums: return withDims({sums});
  case WordShape::Number: return {word.argument.str(), printElementOf(word).str(), {}};
  case WordShape::Other: break;
  }
  llvm_unreachable("words of IR only are no arguments of problems");
}

/// Of a cache: (pages, page, hkv, columns), or in the order of its layout.
SmallVector<Dim> IRPrinter::getCacheDims(int64_t columns) const {
  int64_t entries = problem.getTablePages();
  bool isKnown = problem.sizes.b != Problem::kDynamic && entries != Problem::kDynamic;
  Dim pages = {problem.pages.value_or(isKnown ? problem.sizes.b * entries : Problem::kDynamic), ""};
  SmallVector<Dim> cache = {pages, {problem.paged->size, ""}, hkv, {columns, ""}};
  if (problem.paged->isHeadMajor)
    std::swap(cache[1], cache[2]);
  return cache;
}

SmallVector<Dim> IRPrinter::getScaleDims() const {
  switch (problem.kvScale) {
  case Problem::KvScale::Head: return {hkv};
  case Problem::KvScale::Token: return {b, hkv, sk};
  case Problem::KvScale::Page: return {getCacheDims(1).front(), hkv};
  case Problem::KvScale::Slot: return llvm::to_vector(llvm::drop_end(getCacheDims(1)));
  }
  llvm_unreachable("all kinds of scales are handled");
}

void IRPrinter::addArguments() {
  arguments.push_back(tensor("q", rows(hq, sq, problem.sizes.d), element));
  for (auto [name, columns] : {std::pair("k", problem.sizes.d), {"v", problem.sizes.dv}}) {
    if (!problem.paged) {
      arguments.push_back(tensor(name, rows(hkv, sk, columns), kvElement));
      continue;
    }
    arguments.push_back(tensor(name, getCacheDims(columns), kvElement));
  }
  for (const WordInfo &word : getWords()) {
    // The table of pages stands in front of the numbers.
    if (word.shape == WordShape::Number && problem.paged && !find("block_table"))
      arguments.push_back(tensor("block_table", {b, {problem.getTablePages(), ""}}, "i32"));
    if (!word.isAttribute() && problem.hasArgument(word))
      arguments.push_back(printArgument(word));
  }
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
  else if (problem.paged)
    addSize(b, "block_table", 0);
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

/// A tensor.empty named NAME.init of the type of `like`.
TypedValue IRPrinter::addEmpty(StringRef name, const TypedValue &like) {
  SmallVector<std::string> sizes;
  for (const Dim &dim : like.dims)
    if (dim.size == Problem::kDynamic)
      sizes.push_back(dim.value);
  TypedValue empty = {(name + ".init").str(), like.type, like.dims};
  line(formatv("%{0} = tensor.empty({1}) : {2}", empty.name, llvm::join(sizes, ", "), empty.type));
  return empty;
}

/// The rows of a cache one after the other, (batch, head, row, column), or its scales without the column.
void IRPrinter::addPages(TypedValue &view, StringRef cache) {
  TypedValue empty = addEmpty(view.name, view);
  bool isByPage = problem.kvScale == Problem::KvScale::Page && view.dims.size() == 3;
  std::string rows = isByPage ? formatv(", rows_per_page = {0} : i64", problem.paged->size).str() : "";
  StringRef lengths = getLengths(WordCounts::Keys).argument;
  line(formatv("%{0} = attn.gather_pages ins(%{1}, %block_table : {2}, {3}) lengths(%{4} : {5})\n"
               "      outs(%{6} : {7}) {{page_layout = #attn.page_layout<{8}>{9}} -> {7}",
               view.name, cache, find(cache)->type, find("block_table")->type, lengths, find(lengths)->type, empty.name,
               view.type, problem.paged->isHeadMajor ? "hnd" : "nhd", rows));
}

/// The third dimension as two: a view of `dims`.
TypedValue IRPrinter::addSplit(StringRef name, const TypedValue &packed, llvm::ArrayRef<Dim> dims) {
  StringRef type = packed.type;
  TypedValue split = tensor(name, dims, type.drop_back().rsplit('x').second);
  auto printDim = [](const Dim &dim) { return dim.size == Problem::kDynamic ? dim.value : std::to_string(dim.size); };
  line(formatv("%{0} = tensor.expand_shape %{1} [[0], [1], [2, 3]] output_shape [{2}] : {3} into {4}", split.name,
               packed.name, llvm::join(llvm::map_range(dims, printDim), ", "), packed.type, split.type));
  return split;
}

/// (batch, row, head * column) as (batch, row, head, column).
TypedValue IRPrinter::addSplitHeads(const TypedValue &packed, const Dim &length, int64_t heads, int64_t columns) {
  return addSplit(packed.name + ".heads", packed, {b, length, {heads, ""}, {columns, ""}});
}

void IRPrinter::addResults() {
  results.push_back(tensor("out", rows(hq, sq, problem.sizes.dv), outElement));
  SmallVector<Dim> rowShape = {b, hq, sq};
  if (problem.layout == Problem::Layout::Varlen)
    rowShape = {hq, sq};
  for (const ProblemOutput &output : kProblemOutputs) {
    if (!(problem.outputs.*output.isWanted))
      continue;
    bool isWeights = output.isWanted == &Problem::Outputs::weights,
         isSums = output.isWanted == &Problem::Outputs::keySums;
    results.push_back(tensor(output.name,
                             isWeights ? SmallVector<Dim>{b, hq, sq, sk}
                             : isSums  ? keyDims()
                                       : rowShape,
                             isWeights ? element : wide));
  }
}

/// Of a number a key: in the order of the sequence's keys, those of pages by entry of the table and row.
SmallVector<Dim> IRPrinter::keyDims() const {
  if (problem.paged)
    return {b, hkv, {problem.getTablePages(), "%size.table"}, {problem.paged->size, ""}};
  return problem.layout == Problem::Layout::Varlen ? SmallVector<Dim>{hkv, sk} : SmallVector<Dim>{b, hkv, sk};
}

/// What callers have views of.
static bool isRows(StringRef argument) {
  return llvm::is_contained({"q", "k", "v"}, argument) || llvm::any_of(getWords(), [&](const WordInfo &word) {
           return word.form == WordForm::ScoreSizes && word.argument == argument;
         });
}

std::string IRPrinter::print(StringRef name) {
  addSizes();
  query = arguments[0];
  key = arguments[1];
  value = arguments[2];
  if (problem.layout == Problem::Layout::BSD) {
    query = addSplitHeads(query, sq, problem.sizes.hq, problem.sizes.d);
    if (!problem.paged) {
      key = addSplitHeads(key, sk, problem.sizes.hkv, problem.sizes.d);
      value = addSplitHeads(value, sk, problem.sizes.hkv, problem.sizes.dv);
    }
  }
  if (problem.paged) {
    key = tensor("k.rows", {b, hkv, sk, {problem.sizes.d, ""}}, kvElement);
    value = tensor("v.rows", {b, hkv, sk, {problem.sizes.dv, ""}}, kvElement);
    addPages(key, "k");
    addPages(value, "v");
  }
  if (problem.isQuantised())
    scales = {*find("k_scale"), *find("v_scale")};
  if (problem.hasScalesInPages())
    for (TypedValue &scale : scales) {
      std::string cache = scale.name;
      scale = tensor(cache + ".rows", {b, hkv, sk}, "f32");
      addPages(scale, cache);
    }
  problem.outputs.weights ? addChain() : addSdpa();
  if (problem.layout == Problem::Layout::BSD)
    line(formatv("%out = tensor.collapse_shape %out.heads [[0], [1], [2, 3]] : {0} into {1}",
                 printType({b, sq, hq, {problem.sizes.dv, ""}}, outElement), results.front().type));

  SmallVector<std::string> parameters;
  for (const TypedValue &argument : arguments)
    parameters.push_back(formatv("%{0}: {1} {{attn.name = \"{0}\"{2}}", argument.name, argument.type,
                                 problem.isStrided && isRows(argument.name) ? ", attn.strided" : ""));
  for (const Problem::Capture &capture : problem.captures)
    parameters.push_back(formatv("%{0}: {1} {{attn.name = \"{0}\"}", capture.name, capture.type));
  if (problem.continuesState())
    for (const TypedValue &result : results)
      parameters.push_back(formatv("%{0}: {1} {{attn.name = \"{2}\"}", getOld(result).name, result.type, result.name));
  std::string text = "// " + printProblemLine(problem) + "\n";
  text += ("func.func @" + name + "(").str() + llvm::join(parameters, ", ") + ")\n";
  text += "    -> (" + joinEach(results, "{1} {{attn.name = \"{0}\"}") + ")";
  if (!problem.grad.empty())
    text += " attributes {attn.grad = [\"" + llvm::join(problem.grad, "\", \"") + "\"]" +
            (problem.into.empty() ? "" : ", attn.into = [\"" + llvm::join(problem.into, "\", \"") + "\"]") + "}";
  text += " {\n";
  return text + body + "  return " + printOperands(results) + "\n}\n";
}

llvm::Error attn::checkCaptureNames(const Problem &problem) {
  llvm::StringSet<> names = IRPrinter(problem).getOwnNames();
  for (const Problem::Capture &capture : problem.captures)
    if (names.contains(capture.name))
      return llvm::createStringError("problem captures: expected another name than those of the kernel's arguments and "
                                     "results, found %" +
                                     capture.name + "; write one as %captured_" + capture.name);
  return llvm::Error::success();
}

std::string attn::problemToMLIR(const Problem &problem, StringRef name) { return IRPrinter(problem).print(name); }
