//===- Progress.cpp - progress of a long command --------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Progress.h"
#include "Ceilings.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace llvm;
using namespace attn::driver;

/// A bar is redrawn as often as the eye notices. Lines of a log are read later.
static constexpr double kRedrawSeconds = 0.1, kLineSeconds = 1;
static constexpr int kBarColumns = 20;
static constexpr StringLiteral kClearLine = "\r\x1b[K";

Progress::Progress() : isTerminal(sys::Process::StandardErrIsDisplayed()), last(getSeconds()) {}

void Progress::update(double share, const Twine &text) {
  std::lock_guard lock(mutex);
  double now = getSeconds();
  if (now - last < (isTerminal ? kRedrawSeconds : kLineSeconds))
    return;
  last = now;
  share = std::clamp(share, 0.0, 1.0);
  if (!isTerminal) {
    errs() << "attnc: " << format("%3.0f", 100 * share) << " %, " << text << "\n";
    return;
  }
  int filled = share * kBarColumns;
  std::string line = text.str();
  // A wrapped line would not be cleared.
  if (unsigned columns = sys::Process::StandardErrColumns())
    line.resize(std::min<size_t>(line.size(), columns > kBarColumns + 10 ? columns - kBarColumns - 10 : 0));
  errs() << kClearLine << "[" << std::string(filled, '#') << std::string(kBarColumns - filled, '.') << "] "
         << format("%3.0f", 100 * share) << " % " << line;
  isDrawn = true;
}

void Progress::clear() {
  std::lock_guard lock(mutex);
  if (isDrawn)
    errs() << kClearLine;
  isDrawn = false;
}
