//===- GraphSizes.h - sizes as sums of products -----------------*- C++ -*-===//
//
// Decides whether two dynamic sizes are equal, or which is larger: each is a
// sum of products of sizes that are not results of arithmetic, with integer
// factors.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_ONNX_GRAPHSIZES_H
#define ATTN_LIB_ONNX_GRAPHSIZES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

#include <map>
#include <optional>
#include <vector>

namespace attn::onnx {

/// A size: a number, or the index value that holds it.
struct Size {
  std::optional<int64_t> number;
  mlir::Value value = {};
};
using Sizes = std::vector<Size>;

inline Size fixed(int64_t size) { return {size}; }
inline bool isSame(const Size &lhs, const Size &rhs) {
  return lhs.number == rhs.number && (lhs.number || lhs.value == rhs.value);
}

/// A sum of products. Arithmetic gives nothing on overflow or for an inexact quotient.
class SizeSum {
public:
  using Product = std::vector<unsigned>; ///< sorted indices of values in the table; empty for the product 1
  using Terms = std::map<Product, int64_t>;

  SizeSum() = default;
  explicit SizeSum(int64_t number);
  static SizeSum ofValue(unsigned value);

  static std::optional<SizeSum> add(const SizeSum &lhs, const SizeSum &rhs, int64_t sign);
  static std::optional<SizeSum> multiply(const SizeSum &lhs, const SizeSum &rhs);
  /// Divides by one product that divides every product of the sum.
  static std::optional<SizeSum> divide(const SizeSum &lhs, const SizeSum &rhs);

  std::optional<int64_t> getNumber() const;
  const Terms &getTerms() const { return terms; }
  bool operator==(const SizeSum &) const = default;

private:
  bool addTerm(const Product &product, int64_t factor);

  Terms terms; ///< factors are not 0
};

/// The sums of a function's index values, all of which are added.
class SizeTable {
public:
  SizeSum get(const Size &size) const;
  /// The number, or the value with this sum; nothing if no value has it yet.
  std::optional<Size> find(const SizeSum &sum) const;
  void add(mlir::Value value, const SizeSum &sum);
  /// A value that is not a sum; it may be negative if it is neither a size nor a product of sizes.
  void add(mlir::Value value, bool isSigned = false);
  Size getSize(unsigned value) const { return {std::nullopt, atoms[value].first}; }
  /// The values that occur in the sum.
  std::vector<mlir::Value> getValues(const Size &size) const;

  /// True where the sum is >= 0, or > 0, whatever the sizes are.
  bool isNatural(const SizeSum &sum) const;
  bool isPositive(const SizeSum &sum) const;
  /// lhs - rhs: its sign where that is known; 2 where it is >= 0, -2 where it is <= 0.
  std::optional<int> compare(const Size &lhs, const Size &rhs) const;

private:
  std::vector<std::pair<mlir::Value, bool>> atoms; ///< and whether the value may be negative
  llvm::DenseMap<mlir::Value, SizeSum> sums;
  std::map<SizeSum::Terms, mlir::Value> values;
};

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_GRAPHSIZES_H
