//===- GraphSizes.cpp - sizes as sums of products -------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GraphSizes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace attn::onnx;
using llvm::StringRef;

/// What is longer is a value of its own: products of sums grow with each other.
static constexpr size_t kMaxTerms = 64;

SizeSum::SizeSum(int64_t number) {
  if (number != 0)
    terms[{}] = number;
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

std::string SizeSum::getText() const {
  std::string text;
  for (const auto &[product, factor] : terms)
    text += (text.empty() ? "" : " + ") + std::to_string(factor) + llvm::join(product, "");
  return text;
}

//===----------------------------------------------------------------------===//
// The values of a function
//===----------------------------------------------------------------------===//

SizeSum SizeTable::get(const Size &size) const {
  if (size.number)
    return SizeSum(*size.number);
  auto found = sums.find(size.value);
  return found == sums.end() ? SizeSum(StringRef(size.value)) : found->second;
}

std::optional<Size> SizeTable::find(const SizeSum &sum) const {
  if (std::optional<int64_t> number = sum.getNumber())
    return fixed(*number);
  const auto &terms = sum.getTerms();
  if (terms.size() == 1 && terms.begin()->second == 1 && terms.begin()->first.size() == 1)
    return Size{std::nullopt, terms.begin()->first.front()};
  auto found = values.find(sum.getText());
  return found == values.end() ? std::nullopt : std::optional(Size{std::nullopt, found->second});
}

void SizeTable::add(StringRef value, const SizeSum &sum) {
  sums[value] = sum;
  values.try_emplace(sum.getText(), value.str());
}

bool SizeTable::isNatural(const SizeSum &sum) const {
  return llvm::all_of(sum.getTerms(), [&](const auto &term) {
    return term.second > 0 && llvm::none_of(term.first, [&](StringRef value) { return isSigned.contains(value); });
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
