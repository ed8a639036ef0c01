//===- BeyondLengths.cpp - NaN in memory that no kernel may read ----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BeyondLengths.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>

using namespace llvm;
using namespace attn;
using namespace attn::driver;

void driver::poison(NpyArray &array, int64_t first, int64_t count) {
  const int64_t bytes = getNpyTypeSize(array.type);
  // 0x7f: 127, NaN
  const bool isCode = is_contained({NpyType::Int8, NpyType::Float8E4M3FN, NpyType::Float8E5M2}, array.type);
  const bool isFloat =
      is_contained({NpyType::Float16, NpyType::BFloat16, NpyType::Float32, NpyType::Float64}, array.type);
  if (isCode || isFloat)
    std::memset(array.data + first * bytes, isCode ? 0x7f : 0xff, count * bytes);
}

namespace {

class Poisoner {
public:
  Poisoner(const Kernel &kernel, MutableArrayRef<NpyArray> arrays) : kernel(kernel), arrays(arrays) {}

  bool run() {
    bool isAny = false;
    for (auto [argument, array] : zip_equal(kernel.arguments, arrays)) {
      for (const ValueCheck &check : argument.checks) {
        // The target of an append has rows in use beyond the positions.
        if (check.kind == ValueCheck::Kind::BlockTable) {
          poisonPages(check, array);
        } else if (check.kind == ValueCheck::Kind::Lengths && argument.name == "q_lengths") {
          poisonRows(array, {"q", "out", "dout"}, check);
          poisonBias(array, /*dim=*/2, check);
        } else if (check.kind == ValueCheck::Kind::Lengths && argument.name == "kv_lengths") {
          if (!hasAsManyPages(array.shape[0]))
            poisonRows(array, {"k_scale", "v_scale"}, check);
          if (!hasTable())
            poisonRows(array, {"k", "v"}, check);
          poisonBias(array, /*dim=*/3, check);
        } else {
          continue;
        }
        isAny = true;
      }
    }
    return isAny;
  }

private:
  int64_t getSize(const SizePlace &place) const {
    return place.argument < 0 ? place.dim : arrays[place.argument].shape[place.dim];
  }
  int64_t getLimit(const ValueCheck &check) const { return getSize(check.limit[0]) * getSize(check.limit[1]); }
  bool hasTable() const {
    return any_of(kernel.arguments, [](const KernelArgument &argument) {
      return any_of(argument.checks, [](const ValueCheck &check) { return check.kind != ValueCheck::Kind::Lengths; });
    });
  }

  /// True if scales (batch, heads, keys) might also be (pages, heads), which another batch index uses, or those of the
  /// cache.
  bool hasAsManyPages(int64_t batch) const {
    return any_of(kernel.arguments, [&](const KernelArgument &argument) {
      return any_of(argument.checks, [&](const ValueCheck &check) {
        return check.kind == ValueCheck::Kind::BlockTable && getLimit(check) == batch;
      });
    });
  }

  /// [batch, rows, heads, D] or [batch, heads, rows, D]: the dimension of size `rows`, or none if it is ambiguous.
  static std::optional<unsigned> findRows(const NpyArray &array, int64_t rows) {
    std::optional<unsigned> found;
    for (unsigned dim = 1; dim < std::min<size_t>(array.shape.size(), 3); ++dim) {
      if (array.shape[dim] != rows)
        continue;
      if (found)
        return std::nullopt;
      found = dim;
    }
    return found;
  }

  /// Rows from the length of their batch index on.
  void poisonRows(const NpyArray &lengths, ArrayRef<StringRef> names, const ValueCheck &check) {
    for (auto [argument, array] : zip_equal(kernel.arguments, arrays)) {
      if (argument.isOutput || !is_contained(names, argument.name) || array.shape.empty() ||
          array.shape[0] != lengths.shape[0])
        continue;
      const std::optional<unsigned> dim = findRows(array, getLimit(check));
      if (!dim)
        continue;
      const int64_t rows = array.shape[*dim];
      int64_t outer = 1, inner = 1;
      for (unsigned i = 1; i < array.shape.size(); ++i)
        (i < *dim ? outer : inner) *= i == *dim ? 1 : array.shape[i];
      for (int64_t batch = 0; batch < array.shape[0]; ++batch) {
        const int64_t length = readInteger(lengths, batch);
        for (int64_t i = batch * outer; i < (batch + 1) * outer; ++i)
          poison(array, (i * rows + length) * inner, (rows - length) * inner);
      }
    }
  }

  /// Elements of a bias (batch, heads, queries, keys) beyond the length in `dim`: that of its batch index or, if it is
  /// shared, of every one.
  void poisonBias(const NpyArray &lengths, unsigned dim, const ValueCheck &check) {
    for (auto [argument, array] : zip_equal(kernel.arguments, arrays)) {
      if (argument.isOutput || argument.name != "bias" || array.shape.size() != 4 ||
          array.shape[dim] != getLimit(check))
        continue;
      int64_t longest = 0, size = array.shape[dim], inner = dim == 2 ? array.shape[3] : 1;
      for (int64_t batch = 0; batch < lengths.shape[0]; ++batch)
        longest = std::max(longest, readInteger(lengths, batch));
      const int64_t slices = getNumElements(array.shape) / std::max<int64_t>(size * inner, 1);
      for (int64_t i = 0; i < slices; ++i) {
        const int64_t batch = i / (slices / array.shape[0]);
        const int64_t length = array.shape[0] == lengths.shape[0] ? readInteger(lengths, batch) : longest;
        poison(array, (i * size + length) * inner, (size - length) * inner);
      }
    }
  }

  /// Pages that the table does not reference, and rows of a sequence's last page after its end.
  void poisonPages(const ValueCheck &check, const NpyArray &table) {
    const int64_t page = getSize(check.page), width = table.shape[1], pages = getLimit(check);
    std::vector<int64_t> used(pages, 0); // rows in use; the maximum for a page of two sequences
    for (int64_t i = 0, e = getNumElements(table.shape); i < e; ++i) {
      const int64_t left = readInteger(arrays[check.lengths], i / width) - (i % width) * page;
      if (left > 0)
        used[readInteger(table, i)] = std::max(used[readInteger(table, i)], std::min(left, page));
    }
    for (auto [argument, array] : zip_equal(kernel.arguments, arrays)) {
      // Scales with as many pages as batch indices may be in the order of the keys.
      bool isScale = is_contained({"k_scale", "v_scale"}, StringRef(argument.name)) && pages != table.shape[0];
      if (argument.isOutput || array.shape.size() < 2 || array.shape[0] != pages ||
          !(isScale || is_contained({"k", "v"}, StringRef(argument.name))))
        continue;
      // One scale per page, (pages, heads), is in use if any row is.
      const std::optional<unsigned> dim = array.shape.size() > 2 ? findRows(array, page) : std::nullopt;
      const int64_t size = getNumElements(array.shape) / std::max<int64_t>(pages, 1);
      int64_t inner = 1;
      for (unsigned i = dim ? *dim + 1 : 0; dim && i < array.shape.size(); ++i)
        inner *= array.shape[i];
      for (int64_t i = 0; i < pages; ++i) {
        if (used[i] == 0)
          poison(array, i * size, size);
        for (int64_t first = i * size; dim && used[i] != 0 && first < (i + 1) * size; first += page * inner)
          poison(array, first + used[i] * inner, (page - used[i]) * inner);
      }
    }
  }

  const Kernel &kernel;
  MutableArrayRef<NpyArray> arrays;
};

} // namespace

bool driver::poisonBeyondLengths(const Kernel &kernel, MutableArrayRef<NpyArray> arrays) {
  return Poisoner(kernel, arrays).run();
}
