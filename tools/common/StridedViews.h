//===- StridedViews.h - inputs with arbitrary strides -----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_COMMON_STRIDEDVIEWS_H
#define ATTN_TOOLS_COMMON_STRIDEDVIEWS_H

#include "Driver.h"

namespace attn::driver {

/// Copies of the arguments that a kernel reads with run-time strides: their outer dimensions in a random order, some
/// reversed, with gaps between rows and slices. The gaps are NaN (for booleans true, for integers -1).
class StridedViews {
public:
  StridedViews() = default;
  StridedViews(const Kernel &kernel, llvm::ArrayRef<NpyArray> arguments, uint64_t seed);
  /// Replaces the arguments by the views.
  void apply(llvm::MutableArrayRef<DLTensor> tensors) const;

private:
  struct View {
    size_t argument;
    std::vector<int64_t> strides;
    std::vector<char> memory;
    int64_t first; ///< byte of the first element
  };
  std::vector<View> views;
};

} // namespace attn::driver

#endif // ATTN_TOOLS_COMMON_STRIDEDVIEWS_H
