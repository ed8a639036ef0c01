//===- ForeignDialects.h - IR of compilers that are not linked --*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_SUPPORT_FOREIGNDIALECTS_H
#define ATTN_SUPPORT_FOREIGNDIALECTS_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace attn {

/// A note for MLIR text of the file `name` that did not parse. If it has a dialect of a front end, the note has the two
/// commands that convert it to linalg and compile that. Otherwise it is empty.
std::string explainForeignDialect(llvm::StringRef text, llvm::StringRef name);

/// True where `text` has an op in generic form that attn-import-foreign reads.
bool holdsForeignAttention(llvm::StringRef text);

} // namespace attn

#endif // ATTN_SUPPORT_FOREIGNDIALECTS_H
