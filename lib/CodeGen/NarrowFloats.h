//===- NarrowFloats.h - 16-bit floats moved as integers ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CODEGEN_NARROWFLOATS_H
#define ATTN_LIB_CODEGEN_NARROWFLOATS_H

#include "llvm/IR/Module.h"

namespace attn {

/// Moves bf16 and f16 (loads, stores, masked ones, shuffles, selects, phis) as integers of 16 bits. Where a target has
/// no such type, LLVM takes what is moved through f32 instead, and back by functions of libgcc: a call an element, and
/// that to bf16 is missing from many (`undefined reference to __truncsfbf2`). Conversions and arithmetic stay.
void moveNarrowFloatsAsIntegers(llvm::Module &module);

} // namespace attn

#endif // ATTN_LIB_CODEGEN_NARROWFLOATS_H
