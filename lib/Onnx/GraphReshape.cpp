//===- GraphReshape.cpp - the same elements in other sizes ----------------===//
//
// A reshape is a collapse to the dimensions that both shapes are made of, and
// an expansion of them: what the raise looks through.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GraphBuilder.h"

#include "llvm/ADT/STLExtras.h"

using namespace attn::onnx;

namespace {
/// Dimensions of the source and of the result with the same product.
struct Group {
  size_t sources = 0, results = 0;
};
} // namespace

/// The products of the first dimensions; none from a product on that is too long to be known.
static std::vector<std::optional<SizeSum>> getPrefixes(const SizeTable &table, const Sizes &sizes) {
  std::vector<std::optional<SizeSum>> prefixes;
  std::optional<SizeSum> product = SizeSum(1);
  for (const Size &size : sizes) {
    product = product ? SizeSum::multiply(*product, table.get(size)) : std::nullopt;
    prefixes.push_back(product);
  }
  return prefixes;
}

/// As many groups as the products of leading dimensions allow; sizes of 1 belong to the group before them.
static std::vector<Group> getGroups(const SizeTable &table, const Sizes &sources, const Sizes &results) {
  std::vector<std::optional<SizeSum>> before = getPrefixes(table, sources), after = getPrefixes(table, results);
  std::vector<Group> groups;
  Group begin;
  for (size_t i = 0, j = 0; i < before.size(); ++i) {
    bool isLast = i + 1 == before.size();
    if (!before[i] || before[i] == SizeSum(1) || (!isLast && before[i + 1] == before[i]))
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
  // The rest has no known common product: one more group, if both sides have dimensions for it.
  if (begin.sources < sources.size() && begin.results < results.size())
    groups.push_back({sources.size() - begin.sources, results.size() - begin.results});
  else if (!groups.empty())
    groups.back() = {groups.back().sources + sources.size() - begin.sources,
                     groups.back().results + results.size() - begin.results};
  return groups;
}

/// A number, or a dynamic size.
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
static llvm::SmallVector<mlir::ReassociationIndices> getIndices(const std::vector<Group> &groups,
                                                                size_t Group::*member) {
  llvm::SmallVector<mlir::ReassociationIndices> indices;
  int64_t next = 0;
  for (const Group &group : groups)
    for (size_t i = 0; i < group.*member; ++i)
      (i == 0 ? indices.emplace_back() : indices.back()).push_back(next++);
  return indices;
}

Value GraphBuilder::reshape(const Value &value, const Sizes &sizes) {
  if (llvm::equal(value.sizes, sizes, isSame))
    return value;
  if (hasNoElements(sizes) || hasNoElements(value.sizes))
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
  mlir::Value current = get(value);
  mlir::Type from = getType(value.element, collapsed), to = getType(value.element, expanded);
  if (collapsed.size() != value.getRank())
    current = make<tensor::CollapseShapeOp>(from, current, getIndices(groups, &Group::sources));
  if (from != to)
    current = make<tensor::CastOp>(to, current);
  if (expanded.size() != sizes.size())
    current = make<tensor::ExpandShapeOp>(getType(value.element, sizes), current, getIndices(groups, &Group::results),
                                          fold(sizes));
  return {value.element, sizes, current};
}
