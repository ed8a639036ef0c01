//===- Divisors.h - what an index is known to be a multiple of --*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_DIVISORS_H
#define ATTN_IR_DIVISORS_H

#include "mlir/IR/OpDefinition.h"

namespace attn {

/// The largest divisor of an integer that follows from constants, loops and arithmetic: 1 divides everything, 0 only 0.
/// `getOther`, if given, says it of the values of other ops.
int64_t getKnownDivisor(mlir::OpFoldResult value, llvm::function_ref<int64_t(mlir::Operation *)> getOther = nullptr);

} // namespace attn

#endif // ATTN_IR_DIVISORS_H
