//===- SizeFormula.h - arithmetic on run-time sizes -------------*- C++ -*-===//
//
// The size of a result, and the limit of a size, in terms of the sizes of arguments: constants and names in postfix
// order, as "b s * 1 +".
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_SUPPORT_SIZEFORMULA_H
#define ATTN_SUPPORT_SIZEFORMULA_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace attn {

/// On the function of a kernel: the formulas of the sizes in attn.sizes that only results have, by name, and pairs of
/// formulas of which the first is at most the second.
constexpr llvm::StringLiteral kSizeFormulasAttr = "attn.size_formulas";
constexpr llvm::StringLiteral kSizeLimitsAttr = "attn.size_limits";

struct SizeWord {
  /// In the order of attn_size_op of attn_runtime.h, from 1. A quotient is rounded towards 0.
  enum class Op { Size = 1, Number, Add, Subtract, Multiply, Divide, Minimum, Maximum };
  Op op = Op::Number;
  int64_t value = 0; ///< the index of a size in the kernel's list; the constant
  bool operator==(const SizeWord &) const = default;
};

class SizeFormula {
public:
  /// Most words, and most values on the stack: the check of a call has a stack of that size.
  static constexpr size_t kMaxWords = 64, kMaxDepth = 16;

  SizeFormula() = default;
  /// The words, unless they are not a formula, or one for another number of sizes.
  static std::optional<SizeFormula> parse(llvm::StringRef text, llvm::ArrayRef<std::string> sizes);
  /// True unless it is too long.
  bool append(const SizeFormula &other);
  bool append(SizeWord word);

  bool empty() const { return words.empty(); }
  llvm::ArrayRef<SizeWord> getWords() const { return words; }
  /// The size, if the formula is nothing else.
  std::optional<int64_t> getSize() const;
  std::string print(llvm::ArrayRef<std::string> sizes) const;
  /// In C syntax.
  std::string printInfix(llvm::ArrayRef<std::string> sizes) const;
  /// The largest int64 on overflow.
  int64_t evaluate(llvm::ArrayRef<int64_t> sizes) const;
  bool operator==(const SizeFormula &) const = default;

private:
  bool isWhole() const;

  llvm::SmallVector<SizeWord, 0> words;
};

/// A constraint on a call: one formula is at most another.
struct SizeLimit {
  SizeFormula value, limit;
  bool operator==(const SizeLimit &) const = default;
};

} // namespace attn

#endif // ATTN_SUPPORT_SIZEFORMULA_H
