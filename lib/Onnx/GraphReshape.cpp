//===- GraphReshape.cpp - the same elements in other sizes ----------------===//
//
// A reshape is a collapse to the dimensions that both shapes are made of, and
// an expansion of them: what the raise looks through.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GraphText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace attn::onnx;
using llvm::join;
using llvm::StringRef;

namespace {
/// Dimensions of the source and of the result with the same product.
struct Group {
  size_t sources = 0, results = 0;
};
} // namespace

/// The products of the first dimensions, as texts that are alike where the products are.
static std::vector<std::string> getPrefixes(const SizeTable &table, const Sizes &sizes) {
  std::vector<std::string> prefixes;
  SizeSum product(1);
  for (const Size &size : sizes) {
    std::optional<SizeSum> next = SizeSum::multiply(product, table.get(size));
    // Of a product that is too long nothing is known.
    product = next ? *next : SizeSum(llvm::StringRef("?" + std::to_string(prefixes.size())));
    prefixes.push_back(product.getText());
  }
  return prefixes;
}

/// As many groups as the products of leading dimensions allow; sizes of 1 belong to the group in front of them.
static std::vector<Group> getGroups(const SizeTable &table, const Sizes &sources, const Sizes &results) {
  std::vector<std::string> before = getPrefixes(table, sources), after = getPrefixes(table, results);
  std::vector<Group> groups;
  Group begin;
  for (size_t i = 0, j = 0; i < before.size(); ++i) {
    bool isLast = i + 1 == before.size();
    if (before[i] == "1" || (!isLast && before[i + 1] == before[i]))
      continue;
    auto found = std::find(after.begin() + j, after.end(), before[i]);
    if (found == after.end())
      continue;
    while (std::next(found) != after.end() && *std::next(found) == *found)
      ++found;
    j = found - after.begin() + 1;
    groups.push_back({i + 1 - begin.sources, j - begin.results});
    begin = {i + 1, j};
  }
  if (begin.sources == sources.size() && begin.results == results.size() && !groups.empty())
    return groups;
  // What is left has no common product that can be told: one group more, if both sides have dimensions for it.
  if (begin.sources < sources.size() && begin.results < results.size())
    groups.push_back({sources.size() - begin.sources, results.size() - begin.results});
  else if (!groups.empty())
    groups.back() = {groups.back().sources + sources.size() - begin.sources,
                     groups.back().results + results.size() - begin.results};
  return groups;
}

/// A number, or a size that only the run knows.
static Size getProduct(llvm::ArrayRef<Size> sizes) {
  int64_t product = 1;
  for (const Size &size : sizes) {
    if (!size.number)
      return {};
    product *= *size.number;
  }
  return fixed(product);
}

/// [[0, 1], [2]] for 2 and 1 dimensions.
static std::string printGroups(const std::vector<Group> &groups, size_t Group::*member) {
  std::vector<std::string> texts;
  size_t next = 0;
  for (const Group &group : groups) {
    std::vector<std::string> dims;
    for (size_t i = 0; i < group.*member; ++i)
      dims.push_back(std::to_string(next++));
    texts.push_back("[" + join(dims, ", ") + "]");
  }
  return "[" + join(texts, ", ") + "]";
}

Value GraphText::reshape(const Value &value, const Sizes &sizes) {
  if (llvm::equal(value.sizes, sizes, isSame))
    return value;
  auto isZero = [](const Size &size) { return size.number == 0; };
  if (llvm::any_of(sizes, isZero) || llvm::any_of(value.sizes, isZero))
    return addEmpty(value.element, sizes);
  std::vector<Group> groups = getGroups(this->sizes, value.sizes, sizes);
  Sizes collapsed, expanded;
  size_t source = 0, target = 0;
  for (const Group &group : groups) {
    collapsed.push_back(getProduct(llvm::ArrayRef(value.sizes).slice(source, group.sources)));
    expanded.push_back(getProduct(llvm::ArrayRef(sizes).slice(target, group.results)));
    source += group.sources;
    target += group.results;
  }
  Value current = {value.element, value.sizes, getName(value)};
  auto step = [&](const Sizes &next, const std::string &op) {
    std::string type = printType(current);
    current = {value.element, next, makeName()};
    line("{0} = {1} : {2} {3} {4}", current.name, op, type, StringRef(op).starts_with("tensor.cast") ? "to" : "into",
         printType(current));
  };
  if (collapsed.size() != value.getRank())
    step(collapsed, "tensor.collapse_shape " + current.name + " " + printGroups(groups, &Group::sources));
  if (FunctionPrinter::printType(collapsed, "") != FunctionPrinter::printType(expanded, ""))
    step(expanded, "tensor.cast " + current.name);
  if (expanded.size() != sizes.size())
    step(sizes, "tensor.expand_shape " + current.name + " " + printGroups(groups, &Group::results) + " output_shape " +
                    FunctionPrinter::printSizes(sizes));
  current.sizes = sizes;
  return current;
}
