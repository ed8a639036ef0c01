//===- SizeFormula.h - arithmetic on the sizes of a call --------*- C++ -*-===//
//
// How large a result is, and what a size may be at most, in terms of the sizes
// that arguments have: numbers and names in postfix order, as "b s * 1 +".
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
  int64_t value = 0; ///< the place of a size in the kernel's list; the number
  bool operator==(const SizeWord &) const = default;
};

class SizeFormula {
public:
  /// Words and the values that wait for an operator, at most: the check of a call has a stack of that size.
  static constexpr size_t kMaxWords = 64, kMaxDepth = 16;

  SizeFormula() = default;
  /// The words, unless they are no formula or one of another size than `numSizes`.
  static std::optional<SizeFormula> parse(llvm::StringRef text, llvm::ArrayRef<std::string> sizes);
  /// True unless it is too long.
  bool append(const SizeFormula &other);
  bool append(SizeWord word);

  bool empty() const { return words.empty(); }
  llvm::ArrayRef<SizeWord> getWords() const { return words; }
  /// The size, where it is one and nothing else.
  std::optional<int64_t> getSize() const;
  std::string print(llvm::ArrayRef<std::string> sizes) const;
  /// As C writes it.
  std::string printInfix(llvm::ArrayRef<std::string> sizes) const;
  /// The largest int64 where it overflows.
  int64_t evaluate(llvm::ArrayRef<int64_t> sizes) const;
  bool operator==(const SizeFormula &) const = default;

private:
  bool isWhole() const;

  llvm::SmallVector<SizeWord, 0> words;
};

/// What a call must hold to: one formula is at most as large as another.
struct SizeLimit {
  SizeFormula value, limit;
  bool operator==(const SizeLimit &) const = default;
};

} // namespace attn

#endif // ATTN_SUPPORT_SIZEFORMULA_H
