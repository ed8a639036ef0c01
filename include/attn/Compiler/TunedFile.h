//===- TunedFile.h - measured schedules, as JSON ----------------*- C++ -*-===//
//
// The file that `attnc tune` writes and --tuned=FILE reads: the fastest schedule found for each problem line, for one
// target. Schedules of another version or another processor would be guesses: such a file is refused, with advice.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_COMPILER_TUNEDFILE_H
#define ATTN_COMPILER_TUNEDFILE_H

#include "attn/Target/TargetInfo.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace attn {

/// One problem's fastest schedule, and the policy's.
struct TunedProblem {
  std::string problem;  ///< the canonical line
  std::string schedule; ///< all fields, in the form of --schedule
  double seconds = 0;   ///< best of the rounds
  std::string policy;
  double policySeconds = 0;
  /// Each schedule that was timed, and its time relative to the policy's in the same rounds; fastest first.
  std::vector<std::pair<std::string, double>> timed;
};

class TunedFile {
public:
  TunedFile() = default;
  TunedFile(const TargetInfo &target, int threads)
      : name(target.name), cpu(target.cpu), features(target.features), threads(threads) {}

  void add(TunedProblem problem) { problems.push_back(std::move(problem)); }
  std::string print() const;

  /// Parses the output of print(); errors begin with the file's name. Refuses other formats and other versions.
  static llvm::Expected<TunedFile> parse(llvm::StringRef text, llvm::StringRef fileName);
  static llvm::Expected<TunedFile> read(llvm::StringRef fileName);

  /// An error if the schedules were measured for another processor or other features.
  llvm::Error checkTarget(const TargetInfo &target) const;
  /// The entry of a problem line, with its words in any order; null where the file has none.
  const TunedProblem *find(llvm::StringRef line) const;
  int getThreads() const { return threads; }

private:
  std::string fileName, name, cpu, features;
  int threads = 1;
  std::vector<TunedProblem> problems;
};

} // namespace attn

#endif // ATTN_COMPILER_TUNEDFILE_H
