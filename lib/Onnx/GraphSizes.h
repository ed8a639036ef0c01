//===- GraphSizes.h - sizes as sums of products -----------------*- C++ -*-===//
//
// What tells that two sizes of the run are equal, or which is larger: each is
// a sum of products of sizes that no arithmetic made, with whole factors.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_ONNX_GRAPHSIZES_H
#define ATTN_LIB_ONNX_GRAPHSIZES_H

#include "OnnxPrinter.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <map>

namespace attn::onnx {

/// A sum of products. Arithmetic is nothing where a factor overflows or a quotient is none.
class SizeSum {
public:
  using Product = std::vector<std::string>; ///< names of values, sorted; none in the product 1

  SizeSum() = default;
  explicit SizeSum(int64_t number);
  explicit SizeSum(llvm::StringRef value) { terms[{value.str()}] = 1; }

  static std::optional<SizeSum> add(const SizeSum &lhs, const SizeSum &rhs, int64_t sign);
  static std::optional<SizeSum> multiply(const SizeSum &lhs, const SizeSum &rhs);
  /// By one product that each product of the sum holds.
  static std::optional<SizeSum> divide(const SizeSum &lhs, const SizeSum &rhs);

  std::optional<int64_t> getNumber() const;
  /// Sums are equal where their texts are.
  std::string getText() const;
  const std::map<Product, int64_t> &getTerms() const { return terms; }

private:
  bool addTerm(const Product &product, int64_t factor);

  std::map<Product, int64_t> terms; ///< factors are not 0
};

/// The sums of a function's index values.
class SizeTable {
public:
  SizeSum get(const Size &size) const;
  /// The number, or the value that has this sum; nothing where no value has it yet.
  std::optional<Size> find(const SizeSum &sum) const;
  void add(llvm::StringRef value, const SizeSum &sum);
  /// A value that may be negative: what is no size and no product of sizes.
  void addSigned(llvm::StringRef value) { isSigned.insert(value); }

  /// True where the sum is >= 0, or > 0, whatever the sizes are.
  bool isNatural(const SizeSum &sum) const;
  bool isPositive(const SizeSum &sum) const;
  /// lhs - rhs: its sign where that is known; 2 where it is >= 0, -2 where it is <= 0.
  std::optional<int> compare(const Size &lhs, const Size &rhs) const;

private:
  llvm::StringMap<SizeSum> sums;
  std::map<std::string, std::string> values; ///< by the texts of sums
  llvm::StringSet<> isSigned;
};

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_GRAPHSIZES_H
