//===- CheckOptions.h - options that do not go together ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNC_CHECKOPTIONS_H
#define ATTN_TOOLS_ATTNC_CHECKOPTIONS_H

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"

namespace attn::driver {

/// Before LLVM parses them: a first argument that is neither a command nor a file, and options of another command, of
/// which its parser says less than there is to say.
llvm::Error checkArguments(llvm::ArrayRef<char *> arguments, llvm::ArrayRef<llvm::cl::SubCommand *> commands);
/// After it: it takes the options of the top level in a command as well, and there some of its own with names of ours.
llvm::Error checkOptions(llvm::ArrayRef<llvm::cl::SubCommand *> commands, llvm::cl::OptionCategory &category);

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_CHECKOPTIONS_H
