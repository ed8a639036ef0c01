//===- CheckOptions.h - options that exclude each other ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNC_CHECKOPTIONS_H
#define ATTN_TOOLS_ATTNC_CHECKOPTIONS_H

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"

namespace attn::driver {

/// The words that an option accepts.
struct OptionWords {
  llvm::StringRef option;
  llvm::SmallVector<llvm::StringRef> words;

  template <typename T> explicit OptionWords(llvm::cl::opt<T> &enumOption) : option(enumOption.ArgStr) {
    for (unsigned i = 0; i < enumOption.getParser().getNumOptions(); ++i)
      words.push_back(enumOption.getParser().getOption(i));
  }
};

/// Explains arguments that LLVM's option parser refused with `message`: an option of another command, a word that an
/// option does not accept, or a first argument that is neither a command nor a file.
llvm::Error explainArguments(llvm::ArrayRef<char *> arguments, llvm::ArrayRef<llvm::cl::SubCommand *> commands,
                             llvm::ArrayRef<OptionWords> options, llvm::StringRef message);
/// An error for a missing file. A name without a dot or slash may be an unknown command.
llvm::Error checkIsFile(llvm::StringRef name, llvm::ArrayRef<llvm::cl::SubCommand *> commands);
/// Called after parsing: LLVM accepts options of the top level in a command too, including some of its own with the
/// names of ours.
llvm::Error checkOptions(llvm::ArrayRef<llvm::cl::SubCommand *> commands, llvm::cl::OptionCategory &category);

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_CHECKOPTIONS_H
