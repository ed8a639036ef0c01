//===- BeyondLengths.h - NaN in what no kernel may read ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_COMMON_BEYONDLENGTHS_H
#define ATTN_TOOLS_COMMON_BEYONDLENGTHS_H

#include "Driver.h"

namespace attn::driver {

/// NaN (of int8: 127) in `count` elements of floats from `first` on.
void poison(NpyArray &array, int64_t first, int64_t count);
/// NaN in what the kernel of a problem line may not read: rows of Q, out and dout, of K, V and their scales, and
/// elements of a bias beyond the lengths; page tails, and pages that no sequence has. False if it has no lengths.
bool poisonBeyondLengths(const Kernel &kernel, llvm::MutableArrayRef<NpyArray> arguments);

} // namespace attn::driver

#endif // ATTN_TOOLS_COMMON_BEYONDLENGTHS_H
