//===- SizeChecks.cpp - size formulas for checked entries -----------------===//
//
// A formula names sizes; a call has tensors. Each size becomes the first dimension that has it. A formula is tested
// with the last argument that it reads, after the shapes of earlier ones have been tested.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SizeChecks.h"

using namespace mlir;
using namespace attn;

namespace {

/// attn_size_op, beyond those of SizeWord.
constexpr int64_t kEnd = 0, kEquals = 9, kAtMost = 10;

class Printer {
public:
  explicit Printer(ArrayRef<KernelArgument> arguments) : arguments(arguments), words(arguments.size()) {}

  /// The first dimension of that size; argument -1 for a size that no argument has.
  SizePlace find(int64_t symbol) const {
    for (auto [i, argument] : llvm::enumerate(arguments))
      if (auto *dim = llvm::find(argument.symbols, symbol); dim != argument.symbols.end())
        return {static_cast<int64_t>(i), dim - argument.symbols.begin()};
    return {-1, 0};
  }

  void print(const SizeFormula &formula, std::vector<int64_t> &list) const {
    for (const SizeWord &word : formula.getWords()) {
      SizePlace place = word.op == SizeWord::Op::Size ? find(word.value) : SizePlace{-1, word.value};
      list.insert(list.end(), {static_cast<int64_t>(word.op), place.argument, place.dim});
    }
  }

  void addResult(size_t argument, int64_t dim, const SizeFormula &formula) {
    print(formula, words[argument]);
    words[argument].insert(words[argument].end(), {kEquals, -1, dim});
  }

  void addLimit(const SizeLimit &limit) {
    int64_t last = 0;
    for (const SizeFormula &formula : {limit.value, limit.limit})
      for (const SizeWord &word : formula.getWords())
        last = word.op == SizeWord::Op::Size ? std::max(last, find(word.value).argument) : last;
    if (words.empty())
      return;
    std::optional<int64_t> size = limit.value.getSize();
    SizePlace place = size ? find(*size) : SizePlace{-1, 0};
    print(limit.value, words[last]);
    print(limit.limit, words[last]);
    words[last].insert(words[last].end(), {kAtMost, place.argument, place.dim});
  }

  std::vector<std::vector<int64_t>> finish() {
    for (std::vector<int64_t> &list : words)
      if (!list.empty())
        list.insert(list.end(), {kEnd, -1, 0});
    return std::move(words);
  }

private:
  ArrayRef<KernelArgument> arguments;
  std::vector<std::vector<int64_t>> words;
};

} // namespace

std::vector<std::vector<int64_t>> attn::printSizeChecks(Operation *kernel, ArrayRef<KernelArgument> arguments) {
  Printer printer(arguments);
  SmallVector<SizeFormula> formulas = getSizeFormulas(kernel);
  for (auto [i, argument] : llvm::enumerate(arguments))
    for (auto [dim, symbol] : llvm::enumerate(argument.symbols))
      if (symbol >= 0 && !formulas[symbol].empty())
        printer.addResult(i, dim, formulas[symbol]);
  for (const SizeLimit &limit : getSizeLimits(kernel))
    printer.addLimit(limit);
  return printer.finish();
}
