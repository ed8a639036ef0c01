//===- Tuned.cpp - --tuned=FILE -------------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "attn/Compiler/TunedFile.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;

Expected<std::shared_ptr<const TunedFile>> driver::readTuned(StringRef file, StringRef targets) {
  Expected<TunedFile> tuned = TunedFile::read(file);
  if (!tuned)
    return tuned.takeError();
  // It is for one of several targets: the others get the policy's schedules.
  Error reasons = Error::success();
  for (StringRef name : llvm::split(targets, ',')) {
    Expected<TargetInfo> target = TargetInfo::get(name);
    if (!target) {
      consumeError(std::move(reasons));
      return target.takeError();
    }
    Error error = tuned->checkTarget(*target);
    if (!error) {
      consumeError(std::move(reasons));
      return std::make_shared<const TunedFile>(std::move(*tuned));
    }
    reasons = joinErrors(std::move(reasons), std::move(error));
  }
  return reasons;
}

CompileOptions driver::applyTuned(const Source &source, CompileOptions options) {
  if (!options.tuned || !source.problem || options.reference || options.unfused)
    return options;
  if (const TunedProblem *tuned = options.tuned->find(*source.problem))
    options.schedule = tuned->schedule;
  else
    errs() << "attnc: note: no schedule for '" << *source.problem << "' in --tuned; the policy chooses\n";
  return options;
}
