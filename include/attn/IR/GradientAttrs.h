//===- GradientAttrs.h - attributes of functions for gradients --*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_GRADIENTATTRS_H
#define ATTN_IR_GRADIENTATTRS_H

#include "llvm/ADT/StringRef.h"

namespace attn {

/// A user's attribute of a function: the names or indices of the arguments whose gradients are requested.
constexpr llvm::StringLiteral kGradAttr = "attn.grad";
/// In addition: those of them whose gradients are added to the contents of their destination.
constexpr llvm::StringLiteral kIntoAttr = "attn.into";
/// On the kernels of a pair from attn-differentiate: which one this is, and the name of both.
constexpr llvm::StringLiteral kKindAttr = "attn.kind";
constexpr llvm::StringLiteral kPairAttr = "attn.pair";

} // namespace attn

#endif // ATTN_IR_GRADIENTATTRS_H
