//===- HideOptions.h - --help without the options of libraries --*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_COMMON_HIDEOPTIONS_H
#define ATTN_TOOLS_COMMON_HIDEOPTIONS_H

#include "llvm/Support/CommandLine.h"

namespace attn::driver {

/// Hides all options registered so far: the static ones of LLVM's code generators and optimisers. --help-hidden lists
/// them. A tool calls it before it registers its own.
inline void hideRegisteredOptions() {
  for (auto &entry : llvm::cl::getRegisteredOptions())
    entry.second->setHiddenFlag(llvm::cl::Hidden);
}

} // namespace attn::driver

#endif // ATTN_TOOLS_COMMON_HIDEOPTIONS_H
