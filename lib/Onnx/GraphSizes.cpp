//===- GraphSizes.cpp - sizes as sums of products -------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GraphSizes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace attn::onnx;

/// A longer sum becomes a value of its own: products of sums grow multiplicatively.
static constexpr size_t kMaxTerms = 64;

SizeSum::SizeSum(int64_t number) {
  if (number != 0)
    terms[{}] = number;
}

SizeSum SizeSum::ofValue(unsigned value) {
  SizeSum sum;
  sum.terms[{value}] = 1;
  return sum;
}

bool SizeSum::addTerm(const Product &product, int64_t factor) {
  auto [entry, isNew] = terms.try_emplace(product, 0);
  if (llvm::AddOverflow(entry->second, factor, entry->second))
    return false;
  if (entry->second == 0)
    terms.erase(entry);
  return terms.size() <= kMaxTerms;
}

std::optional<SizeSum> SizeSum::add(const SizeSum &lhs, const SizeSum &rhs, int64_t sign) {
  SizeSum result = lhs;
  for (const auto &[product, factor] : rhs.terms) {
    int64_t signedFactor;
    if (llvm::MulOverflow(factor, sign, signedFactor) || !result.addTerm(product, signedFactor))
      return std::nullopt;
  }
  return result;
}

std::optional<SizeSum> SizeSum::multiply(const SizeSum &lhs, const SizeSum &rhs) {
  SizeSum result;
  for (const auto &[left, leftFactor] : lhs.terms)
    for (const auto &[right, rightFactor] : rhs.terms) {
      Product product = left;
      llvm::append_range(product, right);
      llvm::sort(product);
      int64_t factor;
      if (llvm::MulOverflow(leftFactor, rightFactor, factor) || !result.addTerm(product, factor))
        return std::nullopt;
    }
  return result;
}

std::optional<SizeSum> SizeSum::divide(const SizeSum &lhs, const SizeSum &rhs) {
  if (rhs.terms.size() != 1)
    return std::nullopt;
  const auto &[divisor, divisorFactor] = *rhs.terms.begin();
  SizeSum result;
  for (const auto &[product, factor] : lhs.terms) {
    if (factor % divisorFactor != 0 || !std::includes(product.begin(), product.end(), divisor.begin(), divisor.end()))
      return std::nullopt;
    Product quotient;
    std::set_difference(product.begin(), product.end(), divisor.begin(), divisor.end(), std::back_inserter(quotient));
    result.addTerm(quotient, factor / divisorFactor);
  }
  return result;
}

std::optional<int64_t> SizeSum::getNumber() const {
  if (terms.empty())
    return 0;
  bool isNumber = terms.size() == 1 && terms.begin()->first.empty();
  return isNumber ? std::optional(terms.begin()->second) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// The values of a function
//===----------------------------------------------------------------------===//

SizeSum SizeTable::get(const Size &size) const { return size.number ? SizeSum(*size.number) : sums.lookup(size.value); }

std::optional<Size> SizeTable::find(const SizeSum &sum) const {
  if (std::optional<int64_t> number = sum.getNumber())
    return fixed(*number);
  auto found = values.find(sum.getTerms());
  return found == values.end() ? std::nullopt : std::optional(Size{std::nullopt, found->second});
}

void SizeTable::add(mlir::Value value, const SizeSum &sum) {
  sums[value] = sum;
  values.try_emplace(sum.getTerms(), value);
}

void SizeTable::add(mlir::Value value, bool isSigned) {
  add(value, SizeSum::ofValue(atoms.size()));
  atoms.emplace_back(value, isSigned);
}

std::vector<mlir::Value> SizeTable::getValues(const Size &size) const {
  std::vector<mlir::Value> result;
  const SizeSum sum = get(size);
  for (const auto &[product, factor] : sum.getTerms())
    for (unsigned value : product)
      result.push_back(atoms[value].first);
  return result;
}

bool SizeTable::isNatural(const SizeSum &sum) const {
  return llvm::all_of(sum.getTerms(), [&](const auto &term) {
    return term.second > 0 && llvm::none_of(term.first, [&](unsigned value) { return atoms[value].second; });
  });
}

bool SizeTable::isPositive(const SizeSum &sum) const {
  const auto &terms = sum.getTerms();
  return isNatural(sum) && !terms.empty() && terms.begin()->first.empty();
}

std::optional<int> SizeTable::compare(const Size &lhs, const Size &rhs) const {
  std::optional<SizeSum> more = SizeSum::add(get(lhs), get(rhs), -1), less = SizeSum::add(get(rhs), get(lhs), -1);
  if (!more || !less)
    return std::nullopt;
  if (more->getTerms().empty())
    return 0;
  if (isPositive(*more))
    return 1;
  if (isPositive(*less))
    return -1;
  return isNatural(*more) ? std::optional(2) : isNatural(*less) ? std::optional(-2) : std::nullopt;
}
