//===- OpsEinsum.cpp - Einsum ---------------------------------------------===//
//
// A label is a loop: one contraction of two operands, or a sum over one.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Shared.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;

/// Labels of the dimensions of an ellipsis, counted from its end: not letters.
static constexpr char kEllipsis = '\x01';

/// The labels of one term, each once.
static Expected<std::string> readTerm(NodeView &view, StringRef term, std::optional<size_t> rank, size_t wide) {
  std::string labels;
  term = term.trim();
  auto [front, back] = term.split("...");
  bool hasEllipsis = front.size() != term.size();
  size_t letters = llvm::count_if(term, [](char c) { return llvm::isAlpha(c); });
  if (rank && hasEllipsis && *rank >= letters)
    wide = *rank - letters;
  for (char c : front)
    labels += c;
  for (size_t i = hasEllipsis ? wide : 0; i > 0; --i)
    labels += char(kEllipsis + i - 1);
  if (hasEllipsis)
    labels += back;
  llvm::erase(labels, ' ');
  for (auto [i, label] : llvm::enumerate(labels)) {
    if (!llvm::isAlpha(label) && !(hasEllipsis && label >= kEllipsis && label < kEllipsis + 8))
      return view.fail("expected letters, and at most one ellipsis a term, in the equation, found " + quote(term));
    if (labels.find(label) != i)
      return view.fail("expected each label once in a term of the equation, found " + quote(term));
  }
  if (rank && labels.size() != *rank)
    return view.fail(
        formatv("expected an operand of rank {0} for {1}, found rank {2}", labels.size(), quote(term), *rank));
  return labels;
}

/// Without an arrow: the ellipsis, then the labels that occur once, in alphabetical order.
static std::string getImplicitResult(llvm::ArrayRef<std::string> terms) {
  std::string all = llvm::join(terms, ""), wide, single;
  for (char label : all) {
    if (!llvm::isAlpha(label) && !StringRef(wide).contains(label))
      wide += label;
    if (llvm::isAlpha(label) && llvm::count(all, label) == 1)
      single += label;
  }
  llvm::sort(wide, std::greater<char>());
  llvm::sort(single);
  return wide + single;
}

namespace {
/// The labels of operands and result; the loops are those of the result, then those that are summed.
struct Equation {
  std::vector<std::string> terms;
  std::string result, loops;
  Sizes sizes; ///< of the loops
};
} // namespace

/// The size of each label: operands have this size, or 1, which is broadcast.
static Error addSizes(NodeView &view, Equation &equation) {
  for (auto [term, value] : llvm::zip(equation.terms, view.operands))
    for (char label : term)
      if (!StringRef(equation.loops).contains(label))
        equation.loops += label;
  equation.sizes.assign(equation.loops.size(), fixed(1));
  for (auto [term, value] : llvm::zip(equation.terms, view.operands))
    for (auto [label, size] : llvm::zip(term, value.sizes)) {
      Size &into = equation.sizes[equation.loops.find(label)];
      if (into.number == 1 || (!into.number && size.number && size.number != 1))
        into = size;
      else if (size.number && size.number != 1 && size.number != into.number)
        return view.fail(formatv("expected one size of {0}, found {1} and {2}", quote(std::string(1, label)),
                                 *into.number, *size.number));
    }
  return Error::success();
}

static Expected<Equation> readEquation(NodeView &view) {
  StringRef text = view.getString("equation", "");
  auto [before, after] = text.split("->");
  bool hasResult = before.size() != text.size();
  llvm::SmallVector<StringRef> parts;
  before.split(parts, ',');
  if (parts.size() != view.operands.size())
    return view.fail(formatv("expected {0} terms in the equation, found {1}", view.operands.size(), parts.size()));
  Equation equation;
  size_t wide = 0;
  for (auto [part, value] : llvm::zip(parts, view.operands)) {
    Expected<std::string> term = readTerm(view, part, value.getRank(), 0);
    if (!term)
      return term.takeError();
    wide = std::max<size_t>(wide, llvm::count_if(*term, [](char c) { return !llvm::isAlpha(c); }));
    equation.terms.push_back(std::move(*term));
  }
  Expected<std::string> result = readTerm(view, after, std::nullopt, wide);
  if (!result)
    return result.takeError();
  equation.result = hasResult ? *result : getImplicitResult(equation.terms);
  for (char label : equation.result)
    if (!StringRef(llvm::join(equation.terms, "")).contains(label))
      return view.fail("expected labels of the result that an operand has, found " + quote(text));
  equation.loops = equation.result;
  if (Error error = addSizes(view, equation))
    return std::move(error);
  return equation;
}

static Expected<Values> buildEinsum(NodeView &view) {
  if (Error error = checkOperands(view, view.operands.size(), 2))
    return std::move(error);
  if (Error error = checkFloats(view, view.operands.size()))
    return std::move(error);
  Expected<Equation> equation = readEquation(view);
  if (!equation)
    return equation.takeError();
  GraphBuilder &b = view.b;
  std::vector<Operand> operands;
  for (auto [term, value] : llvm::zip(equation->terms, view.operands)) {
    Operand &operand = operands.emplace_back(Operand{&value, {}});
    for (auto [label, size] : llvm::zip(term, value.sizes)) {
      size_t loop = equation->loops.find(label);
      bool isRepeated = size.number == 1 && equation->sizes[loop].number != 1;
      operand.map.push_back(isRepeated ? b.getAffineConstantExpr(0) : b.dim(loop));
    }
  }
  size_t rank = equation->result.size(), loops = equation->loops.size();
  Sizes sizes(equation->sizes.begin(), equation->sizes.begin() + rank);
  if (Error error = checkValue({view.get(0).element, sizes}))
    return std::move(error);
  std::vector<size_t> reductions;
  for (size_t i = rank; i < loops; ++i)
    reductions.push_back(i);
  if (operands.size() == 2)
    return one(addContraction(b, sizes, b.getDims(rank), operands, loops, reductions));
  DataType element = view.get(0).element;
  Value sum = b.addGeneric(b.addZeros(getComputeType(element), sizes), b.getDims(rank), operands, loops, reductions,
                           [&](Args x) { return b.make<arith::AddFOp>(x[1], b.cast(x[0], x[1].getType())); });
  return one(b.cast(sum, element));
}

llvm::ArrayRef<RuleRow> attn::onnx::getEinsumRules() {
  static constexpr RuleRow rows[] = {{"Einsum", buildEinsum, 1, 2}};
  return rows;
}
