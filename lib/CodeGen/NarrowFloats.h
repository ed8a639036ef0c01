//===- NarrowFloats.h - 16-bit floats moved as integers ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CODEGEN_NARROWFLOATS_H
#define ATTN_LIB_CODEGEN_NARROWFLOATS_H

#include "llvm/IR/Module.h"

namespace attn {

/// Moves bf16 and f16 as 16-bit integers: loads, stores, masked ones, shuffles, selects, phis. If a target lacks the
/// type, LLVM converts moved values to f32, and back by a call of libgcc for each element. Many copies of libgcc lack
/// the function for bf16 (`undefined reference to __truncsfbf2`). Conversions and arithmetic stay.
void moveNarrowFloatsAsIntegers(llvm::Module &module);

} // namespace attn

#endif // ATTN_LIB_CODEGEN_NARROWFLOATS_H
