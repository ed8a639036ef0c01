//===- IterationSpace.h - dimensions that indices are sums of ---*- C++ -*-===//
//
// The loops of the two products of an attention, cut into dimensions so fine that
// each position in each tensor is a sum of dimensions times constants. Reshapes
// cut: the loop over b * H + h of a batch_matmul becomes b and h where one operand
// was collapsed from (B, H). A cut makes what was matched before it stale; the
// matcher then starts again (isStale).
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_RAISE_ITERATIONSPACE_H
#define ATTN_LIB_RAISE_ITERATIONSPACE_H

#include "mlir/IR/Operation.h"
#include <map>

namespace attn::raise {

/// constant + sum of coefficient * dimension, the largest coefficient first. All dimensions have more than one index,
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
  /// The dimension where the index is that and nothing else.
  std::optional<unsigned> getDim() const;
  bool dependsOn(unsigned dim) const;
  bool operator==(const LinearIndex &other) const { return constant == other.constant && terms == other.terms; }
  bool operator<(const LinearIndex &other) const;
};

LinearIndex add(const LinearIndex &lhs, const LinearIndex &rhs);
LinearIndex multiply(const LinearIndex &index, int64_t factor);

class IterationSpace {
public:
  /// The index of a loop of `size` indices (kDynamic: not known), one term for each dimension that it is cut into.
  /// `owner` and `number` name the loop.
  LinearIndex getLoop(const void *owner, unsigned number, int64_t size);

  /// The indices of dimensions of `sizes` that lie row-major under `index`. Fails where `index` has no such parts; a
  /// dimension that straddles two of them is cut, which makes the space stale.
  mlir::FailureOr<llvm::SmallVector<LinearIndex>> delinearize(const LinearIndex &index, llvm::ArrayRef<int64_t> sizes);
  /// The inverse; fails where an inner size is not known, or the sizes are more than 64 bits count.
  static mlir::FailureOr<LinearIndex> linearize(llvm::ArrayRef<LinearIndex> indices, llvm::ArrayRef<int64_t> sizes);

  int64_t getSize(unsigned dim) const { return sizes[dim]; }
  unsigned getNumDims() const { return sizes.size(); }
  /// The number of indices that `index` runs through if it starts at 0 without gaps: nullopt if not, or not known.
  std::optional<int64_t> getExtent(const LinearIndex &index) const;

  /// The largest value of `index` whose smallest is its constant: nullopt where that is not known.
  std::optional<int64_t> getLast(const LinearIndex &index) const;

  bool isStale() const { return stale; }
  /// Forgets all dimensions but not where loops are cut.
  void restart();

private:
  void cut(unsigned dim, int64_t innerSize);

  using Loop = std::pair<const void *, unsigned>;
  std::map<Loop, llvm::SmallVector<int64_t>> innerSizes; // of a loop, outermost first: it is cut before each of them
  std::map<Loop, LinearIndex> loops;
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<std::pair<Loop, unsigned>> owners; // of a dimension: its loop, and which part of it
  bool stale = false;
};

} // namespace attn::raise

#endif // ATTN_LIB_RAISE_ITERATIONSPACE_H
