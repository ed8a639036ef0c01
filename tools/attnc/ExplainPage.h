//===- ExplainPage.h - parts of the page of a kernel ------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNC_EXPLAINPAGE_H
#define ATTN_TOOLS_ATTNC_EXPLAINPAGE_H

#include "Explain.h"

namespace attn::driver {

/// A field of facts; empty where there is none.
inline llvm::StringRef getText(const llvm::json::Object &object, llvm::StringRef name) {
  return object.getString(name).value_or("");
}
const llvm::json::Array &getArray(const llvm::json::Object &object, llvm::StringRef name);

/// The lines of a description by describeText, and how many were left out.
void writeText(llvm::raw_ostream &os, const llvm::json::Object &text, llvm::StringRef what);

/// Parts of the page: schedules (ExplainSchedulePage.cpp), kernels of a model (ExplainGraph.cpp), and machine code or
/// PTX (ExplainCodePage.cpp).
void writeSchedule(llvm::raw_ostream &os, const llvm::json::Object &facts);
void writeGraphs(llvm::raw_ostream &os, const llvm::json::Object &facts);
void writeCode(llvm::raw_ostream &os, const llvm::json::Object &facts);

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_EXPLAINPAGE_H
