//===- Nesting.h - the nesting depth of a source ----------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_SUPPORT_NESTING_H
#define ATTN_SUPPORT_NESTING_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"

namespace attn {

/// MLIR's parser, verifier, printer and passes are recursive. With a stack of 8 MB the first of them overflows at some
/// 3,000 levels. People and front ends write some 30.
constexpr unsigned kMaxNesting = 256;

/// What bytecode of attn's own reader of models names as its producer. The reader nests nothing.
inline constexpr llvm::StringLiteral kReaderProducer = "attn-reader";

/// Refuses MLIR text that is nested deeper than kMaxNesting, before it is parsed. Levels are brackets of all kinds,
/// operators of an affine expression, and aliases of attributes and types, which are as deep as their definition.
/// Strings and comments do not count. Refuses bytecode of others, whose depth is not visible. The error has the
/// location.
llvm::Error checkNesting(llvm::MemoryBufferRef source);

} // namespace attn

#endif // ATTN_SUPPORT_NESTING_H
