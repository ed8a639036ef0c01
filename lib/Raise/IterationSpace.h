//===- IterationSpace.h - dimensions whose sums are indices -----*- C++ -*-===//
//
// The loops of the two products of an attention, split into dimensions so fine that each position in each tensor is a
// sum of dimensions times constants. Reshapes split: the loop over b * H + h of a batch_matmul becomes b and h if one
// operand was collapsed from (B, H). A split makes earlier matches stale, so the matcher starts again (isStale).
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_RAISE_ITERATIONSPACE_H
#define ATTN_LIB_RAISE_ITERATIONSPACE_H

#include "mlir/IR/Operation.h"
#include <map>

namespace attn::raise {

/// constant + sum of coefficient * dimension, with the largest coefficient first. All dimensions have a size above 1,
/// as far as that is known.
struct LinearIndex {
  struct Term {
    unsigned dim;
    int64_t coefficient;
    auto operator<=>(const Term &) const = default;
  };
  llvm::SmallVector<Term, 2> terms;
  int64_t constant = 0;

  bool isConstant() const { return terms.empty(); }
  /// The dimension, if the index is exactly one dimension.
  std::optional<unsigned> getDim() const;
  bool dependsOn(unsigned dim) const;
  bool operator==(const LinearIndex &other) const { return constant == other.constant && terms == other.terms; }
  bool operator<(const LinearIndex &other) const;
};

LinearIndex add(const LinearIndex &lhs, const LinearIndex &rhs);
LinearIndex multiply(const LinearIndex &index, int64_t factor);

class IterationSpace {
public:
  /// The index of a loop of size `size` (kDynamic: unknown), with one term for each dimension into which it is split.
  /// `owner` and `number` identify the loop.
  LinearIndex getLoop(const void *owner, unsigned number, int64_t size);

  /// The indices of row-major dimensions of `sizes` that form `index`. Fails where `index` has no such parts. A
  /// dimension that straddles two of them is split, which makes the space stale.
  mlir::FailureOr<llvm::SmallVector<LinearIndex>> delinearize(const LinearIndex &index, llvm::ArrayRef<int64_t> sizes);
  /// The inverse; fails where an inner size is unknown, or the sizes exceed 64 bits.
  static mlir::FailureOr<LinearIndex> linearize(llvm::ArrayRef<LinearIndex> indices, llvm::ArrayRef<int64_t> sizes);

  int64_t getSize(unsigned dim) const { return sizes[dim]; }
  unsigned getNumDims() const { return sizes.size(); }
  /// The number of values of `index` if it starts at 0 without gaps; nullopt if it does not, or it is unknown.
  std::optional<int64_t> getExtent(const LinearIndex &index) const;

  /// The largest value of `index`, if its smallest is its constant; nullopt where that is unknown.
  std::optional<int64_t> getLast(const LinearIndex &index) const;

  bool isStale() const { return stale; }
  /// Forgets all dimensions, but not where loops are split.
  void restart();

private:
  void cut(unsigned dim, int64_t innerSize);

  using Loop = std::pair<const void *, unsigned>;
  std::map<Loop, llvm::SmallVector<int64_t>> innerSizes; // of a loop, outermost first: it is split before each of them
  std::map<Loop, LinearIndex> loops;
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<std::pair<Loop, unsigned>> owners; // of a dimension: its loop, and the index of its part
  bool stale = false;
};

} // namespace attn::raise

#endif // ATTN_LIB_RAISE_ITERATIONSPACE_H
