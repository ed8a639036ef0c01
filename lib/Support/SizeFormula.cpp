//===- SizeFormula.cpp - arithmetic on the sizes of a call ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Support/SizeFormula.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace attn;
using namespace llvm;

static constexpr StringLiteral kOperators[] = {"+", "-", "*", "/", "min", "max"};

static bool isOperator(SizeWord::Op op) { return op >= SizeWord::Op::Add; }
static StringRef getText(SizeWord::Op op) {
  return kOperators[static_cast<size_t>(op) - static_cast<size_t>(SizeWord::Op::Add)];
}

bool SizeFormula::append(SizeWord word) {
  words.push_back(word);
  return words.size() <= kMaxWords;
}

bool SizeFormula::append(const SizeFormula &other) {
  words.append(other.words);
  return words.size() <= kMaxWords;
}

std::optional<int64_t> SizeFormula::getSize() const {
  bool isSize = words.size() == 1 && words.front().op == SizeWord::Op::Size;
  return isSize ? std::optional(words.front().value) : std::nullopt;
}

/// True if evaluation leaves one value, and no operator lacks an operand.
bool SizeFormula::isWhole() const {
  size_t depth = 0;
  for (const SizeWord &word : words) {
    if (isOperator(word.op) ? depth < 2 : depth == kMaxDepth)
      return false;
    depth += isOperator(word.op) ? -1 : 1;
  }
  return depth == 1 && words.size() <= kMaxWords;
}

std::optional<SizeFormula> SizeFormula::parse(StringRef text, ArrayRef<std::string> sizes) {
  SizeFormula formula;
  SmallVector<StringRef> parts;
  text.split(parts, ' ');
  for (StringRef part : parts) {
    SizeWord word;
    if (const auto *op = find(kOperators, part); op != std::end(kOperators)) {
      word.op = SizeWord::Op(static_cast<int>(SizeWord::Op::Add) + static_cast<int>(op - kOperators));
    } else if (const auto *size = find(sizes, part); size != sizes.end()) {
      word = {SizeWord::Op::Size, size - sizes.begin()};
    } else if (part.getAsInteger(10, word.value)) {
      return std::nullopt;
    }
    formula.words.push_back(word);
  }
  return formula.isWhole() ? std::optional(std::move(formula)) : std::nullopt;
}

static std::string printValue(const SizeWord &word, ArrayRef<std::string> sizes) {
  return word.op == SizeWord::Op::Size ? sizes[word.value] : std::to_string(word.value);
}

std::string SizeFormula::print(ArrayRef<std::string> sizes) const {
  auto print = [&](const SizeWord &word) {
    return isOperator(word.op) ? getText(word.op).str() : printValue(word, sizes);
  };
  return join(map_range(words, print), " ");
}

std::string SizeFormula::printInfix(ArrayRef<std::string> sizes) const {
  SmallVector<std::pair<std::string, bool>> stack; // true for a sum, which needs parentheses in a product
  for (const SizeWord &word : words) {
    if (!isOperator(word.op)) {
      stack.emplace_back(printValue(word, sizes), false);
      continue;
    }
    auto [right, isRightSum] = stack.pop_back_val();
    auto &[left, isSum] = stack.back();
    StringRef op = getText(word.op);
    bool isFunction = op.size() > 1, isProduct = op == "*" || op == "/";
    auto enclose = [](const std::string &text, bool encloses) { return encloses ? "(" + text + ")" : text; };
    if (isFunction)
      left = (op + "(" + left + ", " + right + ")").str();
    else
      left =
          (enclose(left, isProduct && isSum) + " " + op + " " + enclose(right, op != "+" && (isRightSum || op == "/")))
              .str();
    isSum = !isFunction && !isProduct;
  }
  return stack.front().first;
}

int64_t SizeFormula::evaluate(ArrayRef<int64_t> sizes) const {
  SmallVector<int64_t> stack;
  for (const SizeWord &word : words) {
    if (!isOperator(word.op)) {
      stack.push_back(word.op == SizeWord::Op::Size ? sizes[word.value] : word.value);
      continue;
    }
    int64_t right = stack.pop_back_val(), left = stack.back(), result = 0;
    bool overflows = false;
    switch (word.op) {
    case SizeWord::Op::Add: overflows = AddOverflow(left, right, result); break;
    case SizeWord::Op::Subtract: overflows = SubOverflow(left, right, result); break;
    case SizeWord::Op::Multiply: overflows = MulOverflow(left, right, result); break;
    case SizeWord::Op::Divide: result = right > 0 ? left / right : 0; break;
    case SizeWord::Op::Minimum: result = std::min(left, right); break;
    default: result = std::max(left, right); break;
    }
    if (overflows)
      return INT64_MAX;
    stack.back() = result;
  }
  return stack.front();
}
