//===- LoopAttrs.h - what attn-tile says of its loops -----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_LOOPATTRS_H
#define ATTN_IR_LOOPATTRS_H

#include "llvm/ADT/StringRef.h"

namespace attn {

/// On an scf.for: each round has one tile of columns, which begins where the tile before it ends. The first round
/// continues the loop before it, where there is one with the attribute in the same block.
constexpr llvm::StringLiteral kConsecutiveAttr = "attn.consecutive";

} // namespace attn

#endif // ATTN_IR_LOOPATTRS_H
