//===- CNames.h - names that are legal in C and C++ -------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_SUPPORT_CNAMES_H
#define ATTN_SUPPORT_CNAMES_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace attn {

/// The symbol of a kernel's checked entry.
std::string getCheckedName(llvm::StringRef kernel);

/// The symbols of the functions that compute the workspace of a GPU kernel: from sizes, and checked, from DLPack
/// tensors.
std::string getWorkspaceBytesName(llvm::StringRef kernel);

/// The symbol of the code of a gpu.module, struct attn_cuda_image.
std::string getImageName(llvm::StringRef gpuModule);

/// The private table of the checked entry's conditions.
std::string getSpecsName(llvm::StringRef kernel);

/// An identifier of C and C++ that resembles `text`, and that no header of a kernel defines.
std::string makeCName(llvm::StringRef text);
/// True for an identifier that C accepts as a function name: not a keyword, nor a name of the C library, of dlpack.h or
/// of attn.
bool isCFunctionName(llvm::StringRef name);

} // namespace attn

#endif // ATTN_SUPPORT_CNAMES_H
