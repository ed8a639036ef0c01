//===- Arguments.cpp - arguments and results of a problem -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ProblemIR.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace attn;

/// The dimensions of q, k, v or out as an argument.
Dims ProblemBuilder::getRows(Dim heads, Dim length, int64_t columns) const {
  switch (problem.layout) {
  case Problem::Layout::BHSD: return {b, heads, length, {columns}};
  case Problem::Layout::BSHD: return {b, length, heads, {columns}};
  case Problem::Layout::BSD: return {b, length, {heads.size * columns}};
  case Problem::Layout::Varlen: return {length, heads, {columns}};
  }
  llvm_unreachable("all layouts are handled");
}

/// The dimensions of an argument with one element per row.
Dims ProblemBuilder::getRowDims() const {
  return problem.layout == Problem::Layout::Varlen ? Dims{hq, sq} : Dims{b, hq, sq};
}

/// The dimensions of an argument with one element per key: in the order of the sequence's keys, or, for pages, by table
/// entry and row.
Dims ProblemBuilder::getKeyDims() const {
  if (problem.paged)
    return {b, hkv, {problem.getTablePages(), Dim::Table}, {problem.paged->size}};
  return problem.layout == Problem::Layout::Varlen ? Dims{hkv, sk} : Dims{b, hkv, sk};
}

/// The dimensions of a cache: (pages, page, hkv, columns), or in the order of its layout.
Dims ProblemBuilder::getCacheDims(int64_t columns) const {
  int64_t entries = problem.getTablePages();
  bool isKnown = b.size != Problem::kDynamic && entries != Problem::kDynamic;
  Dim pages = {problem.pages.value_or(isKnown ? b.size * entries : Problem::kDynamic)};
  Dims cache = {pages, {problem.paged->size}, hkv, {columns}};
  if (problem.paged->isHeadMajor)
    std::swap(cache[1], cache[2]);
  return cache;
}

Dims ProblemBuilder::getScaleDims() const {
  switch (problem.kvScale) {
  case Problem::KvScale::Head: return {hkv};
  case Problem::KvScale::Token: return {b, hkv, sk};
  case Problem::KvScale::Page: return {getCacheDims(1).front(), hkv};
  case Problem::KvScale::Slot: return llvm::to_vector(llvm::drop_end(getCacheDims(1)));
  }
  llvm_unreachable("all kinds of scales are handled");
}

Type ProblemBuilder::getArgumentType(const WordInfo &word) {
  // In the order of WordElement.
  const Type elements[] = {element, wide, getI1Type(), getI32Type(), getI64Type(), getF32Type()};
  Type of = elements[size_t(word.element)];
  switch (word.shape) {
  case WordShape::Scores: {
    Dims dims;
    for (int64_t size : *problem.words.get<ScoreShape>(word.word))
      dims.push_back({size});
    return getType(dims, of);
  }
  case WordShape::PerHead: return getType({hq}, of);
  case WordShape::PerBatch: return getType({b}, of);
  case WordShape::PerKey: return getType(getScaleDims(), of);
  case WordShape::PrefixSums: return getType({Dim{b.size == Problem::kDynamic ? Problem::kDynamic : b.size + 1}}, of);
  case WordShape::Number: return of;
  case WordShape::Other: break;
  }
  llvm_unreachable("words of IR only are no arguments of problems");
}

Value ProblemBuilder::addArgument(StringRef name, Type type, bool isStrided) {
  SmallVector<NamedAttribute> attributes = {getNamedAttr(kNameAttr, getStringAttr(name))};
  if (isStrided)
    attributes.push_back(getNamedAttr(kStridedAttr, getUnitAttr()));
  argumentAttrs.push_back(getDictionaryAttr(attributes));
  return function.getBody().addArgument(type, getLoc());
}

void ProblemBuilder::addArguments() {
  const Problem::Sizes &size = problem.sizes;
  // Callers have views of tensors with rows, and of those over the scores.
  auto add = [&](StringRef name, Type type, bool isRows) {
    values[name] = addArgument(name, type, problem.isStrided && isRows);
  };
  query.dims = getRows(hq, sq, size.d);
  key.dims = problem.paged ? getCacheDims(size.d) : getRows(hkv, sk, size.d);
  value.dims = problem.paged ? getCacheDims(size.dv) : getRows(hkv, sk, size.dv);
  add("q", getType(query.dims, element), true);
  add("k", getType(key.dims, kvElement), true);
  add("v", getType(value.dims, kvElement), true);
  for (const WordInfo &word : getWords()) {
    // The block table comes before scalar arguments.
    if (word.shape == WordShape::Number && problem.paged && !find("block_table"))
      add("block_table", getType({b, {problem.getTablePages()}}, getI32Type()), false);
    if (!word.isAttribute() && problem.hasArgument(word))
      add(word.argument, getArgumentType(word), word.form == WordForm::ScoreSizes);
  }
}

void ProblemBuilder::addResults() {
  results.push_back({"out", getRows(hq, sq, problem.sizes.dv), outElement});
  for (const ProblemOutput &output : kProblemOutputs) {
    if (!(problem.outputs.*output.isWanted))
      continue;
    bool isWeights = output.isWanted == &Problem::Outputs::weights,
         isSums = output.isWanted == &Problem::Outputs::keySums;
    results.push_back({output.name,
                       isWeights ? Dims{b, hq, sq, sk}
                       : isSums  ? getKeyDims()
                                 : getRowDims(),
                       isWeights ? element : wide});
  }
}

llvm::Error attn::checkCaptureNames(const Problem &problem) {
  llvm::StringSet<> names = {"q", "k", "v", "out"};
  if (problem.paged)
    names.insert("block_table");
  for (const WordInfo &word : getWords())
    if (!word.isAttribute() && problem.hasArgument(word))
      names.insert(word.argument);
  for (const ProblemOutput &output : kProblemOutputs)
    if (problem.outputs.*output.isWanted)
      names.insert(output.name);
  for (const Problem::Capture &capture : problem.captures)
    if (names.contains(capture.name))
      return llvm::createStringError("problem captures: expected another name than those of the kernel's arguments and "
                                     "results, found %" +
                                     capture.name + "; write one as %captured_" + capture.name);
  return llvm::Error::success();
}
