//===- CNames.h - names that a C or C++ program can use ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_CONVERSION_CNAMES_H
#define ATTN_CONVERSION_CNAMES_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace attn {

/// The symbol of a kernel's checked entry.
std::string getCheckedName(llvm::StringRef kernel);

/// The private table of what its checked entry tests.
std::string getSpecsName(llvm::StringRef kernel);

/// An identifier of C and C++ that resembles `text`.
std::string makeCName(llvm::StringRef text);
/// True for an identifier that a C program can call a function: no keyword, no name of the C library or of attn.
bool isCFunctionName(llvm::StringRef name);

} // namespace attn

#endif // ATTN_CONVERSION_CNAMES_H
