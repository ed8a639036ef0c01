//===- ConvertHalves.h - conversions of f16 by integers ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_CODEGEN_CONVERTHALVES_H
#define ATTN_CODEGEN_CONVERTHALVES_H

#include "llvm/IR/Module.h"

namespace attn {

/// Widens f16, and narrows f32 to it, by vectors of integers: LLVM would call a function for each element.
void convertHalves(llvm::Module &module);

} // namespace attn

#endif // ATTN_CODEGEN_CONVERTHALVES_H
