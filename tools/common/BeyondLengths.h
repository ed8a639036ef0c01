//===- BeyondLengths.h - NaN in memory that no kernel may read --*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_COMMON_BEYONDLENGTHS_H
#define ATTN_TOOLS_COMMON_BEYONDLENGTHS_H

#include "Driver.h"

namespace attn::driver {

/// Sets `count` elements of floats from `first` on to NaN (for int8: 127).
void poison(NpyArray &array, int64_t first, int64_t count);
/// Sets everything that the kernel of a problem line may not read to NaN: rows of Q, out and dout, of K, V and their
/// scales, and elements of a bias beyond the lengths; page tails, and unused pages. False if it has no lengths.
bool poisonBeyondLengths(const Kernel &kernel, llvm::MutableArrayRef<NpyArray> arguments);

} // namespace attn::driver

#endif // ATTN_TOOLS_COMMON_BEYONDLENGTHS_H
