//===- IterationSpace.cpp - dimensions whose sums are indices -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "IterationSpace.h"
#include "mlir/IR/BuiltinTypeInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn::raise;

std::optional<unsigned> LinearIndex::getDim() const {
  if (constant != 0 || terms.size() != 1 || terms[0].coefficient != 1)
    return std::nullopt;
  return terms[0].dim;
}

bool LinearIndex::dependsOn(unsigned dim) const {
  return llvm::any_of(terms, [&](const Term &term) { return term.dim == dim; });
}

bool LinearIndex::operator<(const LinearIndex &other) const {
  if (constant != other.constant)
    return constant < other.constant;
  return std::lexicographical_compare(terms.begin(), terms.end(), other.terms.begin(), other.terms.end());
}

LinearIndex attn::raise::add(const LinearIndex &lhs, const LinearIndex &rhs) {
  std::map<unsigned, int64_t> coefficients;
  for (const LinearIndex *index : {&lhs, &rhs})
    for (auto [dim, coefficient] : index->terms)
      coefficients[dim] += coefficient;
  LinearIndex sum;
  sum.constant = lhs.constant + rhs.constant;
  for (auto [dim, coefficient] : coefficients)
    if (coefficient != 0)
      sum.terms.push_back({dim, coefficient});
  llvm::sort(sum.terms, [](const LinearIndex::Term &a, const LinearIndex::Term &b) {
    return std::pair(-a.coefficient, a.dim) < std::pair(-b.coefficient, b.dim);
  });
  return sum;
}

/// Modulo 2^64, as in arith.
static int64_t wrap(uint64_t lhs, uint64_t rhs) { return int64_t(lhs * rhs); }

LinearIndex attn::raise::multiply(const LinearIndex &index, int64_t factor) {
  LinearIndex product;
  product.constant = wrap(index.constant, factor);
  for (auto [dim, coefficient] : index.terms)
    if (int64_t multiple = wrap(coefficient, factor))
      product.terms.push_back({dim, multiple});
  return product;
}

LinearIndex IterationSpace::getLoop(const void *owner, unsigned number, int64_t size) {
  Loop loop = {owner, number};
  if (auto known = loops.find(loop); known != loops.end())
    return known->second;
  LinearIndex index;
  if (size != 1) {
    SmallVector<int64_t> inner = innerSizes[loop];
    int64_t stride = 1;
    for (int64_t part : inner)
      stride *= part;
    for (unsigned part = 0; part <= inner.size(); ++part) {
      int64_t partSize = part ? inner[part - 1] : ShapedType::isDynamic(size) ? size : size / stride;
      if (part)
        stride /= inner[part - 1];
      if (partSize == 1)
        continue;
      index.terms.push_back({getNumDims(), stride});
      sizes.push_back(partSize);
      owners.push_back({loop, part});
    }
  }
  return loops[loop] = index;
}

void IterationSpace::cut(unsigned dim, int64_t innerSize) {
  if (stale) // another path through the same loop has requested it
    return;
  auto [loop, part] = owners[dim];
  SmallVector<int64_t> &inner = innerSizes[loop];
  if (part > 0)
    inner[part - 1] /= innerSize;
  inner.insert(inner.begin() + part, innerSize);
  // The inner part is inserted after part `part`: its outer part keeps the position.
  stale = true;
}

void IterationSpace::restart() {
  loops.clear();
  sizes.clear();
  owners.clear();
  stale = false;
}

std::optional<int64_t> IterationSpace::getExtent(const LinearIndex &index) const {
  if (index.constant != 0)
    return std::nullopt;
  int64_t extent = 1;
  for (auto [dim, coefficient] : llvm::reverse(index.terms)) {
    if (ShapedType::isDynamic(extent) || coefficient != extent)
      return std::nullopt;
    if (ShapedType::isDynamic(sizes[dim]))
      extent = ShapedType::kDynamic;
    else if (llvm::MulOverflow(extent, sizes[dim], extent))
      return std::nullopt;
  }
  return extent;
}

std::optional<int64_t> IterationSpace::getLast(const LinearIndex &index) const {
  int64_t last = index.constant;
  for (auto [dim, coefficient] : index.terms) {
    int64_t distance;
    if (ShapedType::isDynamic(sizes[dim]) || coefficient < 0 ||
        llvm::MulOverflow(coefficient, sizes[dim] - 1, distance) || llvm::AddOverflow(last, distance, last))
      return std::nullopt;
  }
  return last;
}

FailureOr<SmallVector<LinearIndex>> IterationSpace::delinearize(const LinearIndex &index, ArrayRef<int64_t> shape) {
  SmallVector<LinearIndex> parts(shape.size());
  SmallVector<unsigned> wide; // those of size above 1
  for (auto [i, size] : llvm::enumerate(shape))
    if (size != 1)
      wide.push_back(i);
  if (wide.size() <= 1) {
    if (!wide.empty())
      parts[wide[0]] = index;
    return parts;
  }
  if (index.constant < 0)
    return failure();
  SmallVector<int64_t> strides(wide.size(), 1);
  for (unsigned k = wide.size() - 1; k > 0; --k) {
    if (ShapedType::isDynamic(shape[wide[k]]) || shape[wide[k]] == 0 ||
        llvm::MulOverflow(strides[k], shape[wide[k]], strides[k - 1]))
      return failure();
  }
  int64_t rest = index.constant;
  for (unsigned k = 0; k < wide.size(); ++k) {
    parts[wide[k]].constant = rest / strides[k];
    rest %= strides[k];
  }
  for (auto [dim, coefficient] : index.terms) {
    if (coefficient < 1)
      return failure();
    unsigned k = 0;
    while (k + 1 < wide.size() && strides[k] > coefficient)
      ++k;
    if (coefficient % strides[k] != 0)
      return failure();
    bool isWithin = k == 0 || (!ShapedType::isDynamic(sizes[dim]) && sizes[dim] <= strides[k - 1] / coefficient);
    if (!isWithin) {
      int64_t inner = strides[k - 1] / coefficient;
      if (strides[k - 1] % coefficient != 0 || (!ShapedType::isDynamic(sizes[dim]) && sizes[dim] % inner != 0))
        return failure();
      cut(dim, inner);
      return failure();
    }
    parts[wide[k]].terms.push_back({dim, coefficient / strides[k]});
  }
  // No part may extend into the next one.
  for (unsigned k = 1; k < wide.size(); ++k) {
    std::optional<int64_t> last = getLast(parts[wide[k]]);
    if (!last || *last >= shape[wide[k]])
      return failure();
  }
  return parts;
}

FailureOr<LinearIndex> IterationSpace::linearize(ArrayRef<LinearIndex> indices, ArrayRef<int64_t> shape) {
  LinearIndex sum;
  int64_t stride = 1;
  for (auto [index, size] : llvm::reverse(llvm::zip(indices, shape))) {
    if (index == LinearIndex()) {
      // A dimension of size 1, with any stride.
      if (size == 1)
        continue;
    } else if (ShapedType::isDynamic(stride))
      return failure();
    else
      sum = add(sum, multiply(index, stride));
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(stride))
      stride = ShapedType::kDynamic;
    else if (llvm::MulOverflow(stride, size, stride))
      return failure();
  }
  return sum;
}
