//===- LoopAttrs.h - attributes of attn-tile's loops ------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_LOOPATTRS_H
#define ATTN_IR_LOOPATTRS_H

#include "llvm/ADT/StringRef.h"

namespace attn {

/// On an scf.for: each iteration has one column tile, which begins where the previous one ends. The first iteration
/// continues the previous loop with the attribute in the same block, if any.
constexpr llvm::StringLiteral kConsecutiveAttr = "attn.consecutive";

} // namespace attn

#endif // ATTN_IR_LOOPATTRS_H
