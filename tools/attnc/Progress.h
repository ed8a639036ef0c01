//===- Progress.h - progress of a long command ------------------*- C++ -*-===//
//
// Progress on standard error: on a terminal a bar, which is redrawn and removed at the end; elsewhere an occasional
// line. A short command prints nothing.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNC_PROGRESS_H
#define ATTN_TOOLS_ATTNC_PROGRESS_H

#include "llvm/ADT/Twine.h"
#include <mutex>

namespace attn::driver {

/// Thread-safe.
class Progress {
public:
  Progress();
  ~Progress() { clear(); }

  /// `share` of the work, 0 to 1, is done; `text` describes the current step.
  void update(double share, const llvm::Twine &text);
  /// Removes the bar before other messages.
  void clear();

private:
  std::mutex mutex;
  bool isTerminal, isDrawn = false;
  double last; ///< seconds, at the last output
};

} // namespace attn::driver

#endif // ATTN_TOOLS_ATTNC_PROGRESS_H
