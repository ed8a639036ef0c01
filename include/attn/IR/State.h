//===- State.h - the parts of a running state by name -----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_STATE_H
#define ATTN_IR_STATE_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/ValueRange.h"

namespace attn {

/// The parts of a state that the online form carries from one range of keys to the next: values, maps or types.
template <typename T> struct StateParts {
  T acc, rowMax, rowSum;

  /// From the results or destinations of an op on states, in their order.
  template <typename RangeT> static StateParts of(RangeT &&parts) {
    assert(parts.size() == 3 && "a state has three parts");
    return {parts[0], parts[1], parts[2]};
  }
  llvm::SmallVector<T, 3> toVector() const { return {acc, rowMax, rowSum}; }
};
using StateValues = StateParts<mlir::Value>;
using StateMaps = StateParts<mlir::AffineMap>;

} // namespace attn

#endif // ATTN_IR_STATE_H
