//===- OutputFile.h - files that are written whole or not at all -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_OUTPUTFILE_H
#define ATTN_COMPILER_OUTPUTFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace attn {

/// Calls `write` on a temporary file in the folder of `path` and renames it to `path`. Where anything fails, the file
/// at `path` stays as it was and nothing is left beside it; the error names `path`. What is no regular file (a pipe,
/// a device) is written in place.
llvm::Error writeOutputFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace attn

#endif // ATTN_COMPILER_OUTPUTFILE_H
