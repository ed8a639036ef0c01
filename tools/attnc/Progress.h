//===- Progress.h - how far a long command is -------------------*- C++ -*-===//
//
// Progress on standard error. On a terminal it is a bar, which is redrawn and removed
// at the end. Elsewhere it is a line now and then. A short command prints nothing.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNC_PROGRESS_H
#define ATTN_TOOLS_ATTNC_PROGRESS_H

#include "llvm/ADT/Twine.h"
#include <mutex>

namespace attn::driver {

/// Threads may share one.
class Progress {
public:
  Progress();
  ~Progress() { clear(); }

  /// `share` of the work, 0 to 1, is done; `text` says what is under way.
  void update(double share, const llvm::Twine &text);
  /// Makes room for other messages.
  void clear();

private:
  std::mutex mutex;
  bool isTerminal, isDrawn = false;
  double last; ///< seconds, when something was printed
};

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_PROGRESS_H
