//===- ConstantBytes.h - large constants as bytes ---------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CODEGEN_CONSTANTBYTES_H
#define ATTN_LIB_CODEGEN_CONSTANTBYTES_H

#include "llvm/IR/Module.h"

namespace attn {

/// Makes arrays of bytes of large constant arrays, as the weights of a model. LLVM writes other elements into an object
/// or into bitcode one by one, which takes a second for 60 MB. The object is the same.
void makeConstantsBytes(llvm::Module &module);

} // namespace attn

#endif // ATTN_LIB_CODEGEN_CONSTANTBYTES_H
