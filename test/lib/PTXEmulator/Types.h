//===- Types.h - PTX's types ------------------------------------*- C++ -*-===//
//
// The fundamental types and packed types that an instruction or a register may name, with their widths.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PTXEMULATOR_TYPES_H
#define ATTN_TEST_PTXEMULATOR_TYPES_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace attn::ptx {

enum class Type : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  TF32,
  F32,
  F64,
  E4M3x2,
  E5M2x2,
};

/// "f16x2" or ".f16x2" → F16x2; None for unknown types.
Type parseType(llvm::StringRef text);
llvm::StringRef getTypeName(Type type);

/// Bits of a value; 1 for a predicate.
unsigned getBits(Type type);
inline unsigned getBytes(Type type) { return (getBits(type) + 7) / 8; }

bool isSigned(Type type);
/// .u, .s and .b types.
bool isInteger(Type type);
bool isBits(Type type);
/// f16, bf16 and their pairs.
bool isHalf(Type type);
bool isPair(Type type);

} // namespace attn::ptx

#endif // ATTN_TEST_PTXEMULATOR_TYPES_H
