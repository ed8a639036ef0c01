//===- GraphArithmetic.cpp - arithmetic on sizes --------------------------===//
//
// Folded where the sums of GraphSizes.h tell the result; otherwise ops on index
// values, each printed once.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GraphText.h"

#include "llvm/ADT/StringExtras.h"

using namespace attn::onnx;
using llvm::StringRef;

/// What overflows is no size: checkValue refuses it where it is used as one.
static Size getOverflow() { return fixed(-1); }

std::string GraphText::addIndex(const Size &size) {
  return size.number ? addScalar(std::to_string(*size.number), "index") : size.value;
}

Size GraphText::addAtom(StringRef op, llvm::ArrayRef<Size> operands, bool isSigned) {
  auto getIndex = [&](const Size &size) { return addIndex(size); };
  std::string name = (op + llvm::join(llvm::map_range(operands, getIndex), ", ")).str();
  auto [entry, isNew] = scalars.try_emplace(name);
  if (!isNew)
    return {std::nullopt, entry->second};
  entry->second = makeName();
  line("{0} = {1}{2}", entry->second, name, op.starts_with("arith.index_castui") ? " : i1 to index" : " : index");
  if (isSigned)
    sizes.addSigned(entry->second);
  bool isCondition = op.starts_with("arith.cmpi");
  if (isCondition || !llvm::all_of(operands, [&](const Size &size) { return isTold(size); }))
    untold.insert(entry->second);
  return {std::nullopt, entry->second};
}

bool GraphText::isTold(const Size &size) const {
  const SizeSum sum = sizes.get(size);
  return llvm::all_of(sum.getTerms(), [&](const auto &term) {
    return llvm::none_of(term.first, [&](StringRef value) { return untold.contains(value); });
  });
}

void GraphText::addLimit(const Size &size, const Size &limit) {
  bool isNew = scalars.try_emplace("cf.assert " + addIndex(size) + " " + addIndex(limit)).second;
  if (!isNew || !isTold(size) || !isTold(limit))
    return;
  Size holds = addAtom("arith.cmpi sle, ", {size, limit}, false);
  line("cf.assert {0}, \"sizes of the run are as the graph takes them\"", holds.value);
}

Size GraphText::addArithmetic(StringRef op, const Size &lhs, const Size &rhs) {
  SizeSum left = sizes.get(lhs), right = sizes.get(rhs);
  std::optional<SizeSum> sum =
      op == "arith.muli" ? SizeSum::multiply(left, right) : SizeSum::add(left, right, op == "arith.addi" ? 1 : -1);
  if (!sum)
    return getOverflow();
  if (std::optional<Size> known = sizes.find(*sum))
    return *known;
  std::string name = makeName();
  line("{0} = {1} {2}, {3} : index", name, op, addIndex(lhs), addIndex(rhs));
  sizes.add(name, *sum);
  return {std::nullopt, name};
}

Size GraphText::addSum(const SizeSum &sum) {
  if (std::optional<Size> known = sizes.find(sum))
    return *known;
  Size total = fixed(0);
  for (const auto &[values, factor] : sum.getTerms()) {
    Size product = fixed(factor);
    for (const std::string &value : values)
      product = multiply(product, {std::nullopt, value});
    total = add(total, product);
  }
  return total;
}

Size GraphText::divide(const Size &lhs, const Size &rhs) {
  if (lhs.number && rhs.number)
    return *rhs.number == 0 ? getOverflow() : fixed(*lhs.number / *rhs.number);
  if (rhs.number == 0)
    return getOverflow();
  if (std::optional<SizeSum> quotient = SizeSum::divide(sizes.get(lhs), sizes.get(rhs)))
    return addSum(*quotient);
  bool isNatural = sizes.isNatural(sizes.get(lhs)) && sizes.isNatural(sizes.get(rhs));
  // A size of 0 has a product of 0: no trap.
  Size divisor = rhs.number ? rhs : maximum(rhs, fixed(1));
  return addAtom(isNatural ? "arith.divui " : "arith.divsi ", {lhs, divisor}, !isNatural);
}

Size GraphText::minimum(const Size &lhs, const Size &rhs) {
  if (std::optional<int> order = sizes.compare(lhs, rhs))
    return *order <= 0 ? lhs : rhs;
  bool isNatural = sizes.isNatural(sizes.get(lhs)) && sizes.isNatural(sizes.get(rhs));
  return addAtom("arith.minsi ", {lhs, rhs}, !isNatural);
}

Size GraphText::maximum(const Size &lhs, const Size &rhs) {
  if (std::optional<int> order = sizes.compare(lhs, rhs))
    return *order >= 0 ? lhs : rhs;
  bool isNatural = sizes.isNatural(sizes.get(lhs)) || sizes.isNatural(sizes.get(rhs));
  return addAtom("arith.maxsi ", {lhs, rhs}, !isNatural);
}

Size GraphText::test(StringRef predicate, const Size &lhs, const Size &rhs) {
  if (std::optional<int> order = sizes.compare(lhs, rhs)) {
    bool isKnown = predicate == "eq" ? *order != 2 && *order != -2 : predicate == "slt" ? *order != -2 : *order != 2;
    if (isKnown)
      return fixed(predicate == "eq" ? *order == 0 : predicate == "slt" ? *order < 0 : *order <= 0);
  }
  Size condition = addAtom(("arith.cmpi " + predicate + ", ").str(), {lhs, rhs}, false);
  return addAtom("arith.index_castui ", {condition}, false);
}

Size GraphText::choose(const Size &condition, const Size &lhs, const Size &rhs) {
  if (condition.number)
    return *condition.number != 0 ? lhs : rhs;
  if (isSame(lhs, rhs))
    return lhs;
  Size holds = addAtom("arith.cmpi ne, ", {condition, fixed(0)}, false);
  bool isNatural = sizes.isNatural(sizes.get(lhs)) && sizes.isNatural(sizes.get(rhs));
  return addAtom("arith.select ", {holds, lhs, rhs}, !isNatural);
}
