//===- TargetNames.h - suggestions for names that are not targets -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TARGET_TARGETNAMES_H
#define ATTN_LIB_TARGET_TARGETNAMES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/TargetParser/Triple.h"
#include <string>

namespace attn {

/// TRIPLE:PROCESSOR+FEATURES; a missing part is empty.
struct TargetName {
  llvm::StringRef triple, processor, features;
};
/// A name without a colon is a triple if its architecture is one, else a processor.
TargetName splitTargetName(llvm::StringRef name, bool (llvm::Triple::*isOfArchitecture)() const);

/// "; write …" or "; did you mean …?", the end of an error about an unknown target name; empty without a suggestion.
std::string explainTarget(llvm::StringRef name);

} // namespace attn

#endif // ATTN_LIB_TARGET_TARGETNAMES_H
