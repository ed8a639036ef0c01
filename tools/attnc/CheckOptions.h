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

/// The words that an option takes.
struct OptionWords {
  llvm::StringRef option;
  llvm::SmallVector<llvm::StringRef> words;

  template <typename T> explicit OptionWords(llvm::cl::opt<T> &enumOption) : option(enumOption.ArgStr) {
    for (unsigned i = 0; i < enumOption.getParser().getNumOptions(); ++i)
      words.push_back(enumOption.getParser().getOption(i));
  }
};

/// An error for arguments that LLVM's parser of options refused with `message`: what else there is to say of an option
/// of another command, of a word that an option does not take, or of a first argument that is neither a command nor a
/// file.
llvm::Error explainArguments(llvm::ArrayRef<char *> arguments, llvm::ArrayRef<llvm::cl::SubCommand *> commands,
                             llvm::ArrayRef<OptionWords> options, llvm::StringRef message);
/// An error for the name of a file that is not there. One without a dot or slash may be an unknown command.
llvm::Error checkIsFile(llvm::StringRef name, llvm::ArrayRef<llvm::cl::SubCommand *> commands);
/// After parsing: LLVM takes the options of the top level in a command as well, and there some of its own with names of
/// ours.
llvm::Error checkOptions(llvm::ArrayRef<llvm::cl::SubCommand *> commands, llvm::cl::OptionCategory &category);

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_CHECKOPTIONS_H
