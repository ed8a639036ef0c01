//===- GradientAttrs.h - what functions say of gradients --------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_GRADIENTATTRS_H
#define ATTN_IR_GRADIENTATTRS_H

#include "llvm/ADT/StringRef.h"

namespace attn {

/// Written by the user on a function: the names or numbers of the arguments whose gradients are asked for.
constexpr llvm::StringLiteral kGradAttr = "attn.grad";
/// Beside it: those of them whose gradients are added to what their destination holds.
constexpr llvm::StringLiteral kIntoAttr = "attn.into";
/// Of a pair of kernels that attn-differentiate has made: which one this is, and the name of both.
constexpr llvm::StringLiteral kKindAttr = "attn.kind";
constexpr llvm::StringLiteral kPairAttr = "attn.pair";

} // namespace attn

#endif // ATTN_IR_GRADIENTATTRS_H
