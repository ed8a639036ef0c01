//===- Runner.h - kernels on another processor ------------------*- C++ -*-===//
//
// A runner is a command, such as "qemu-aarch64 -cpu max attn-runner", that takes a shared library, the name of a
// checked entry and a call as files (tools/attn-runner).
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_COMMON_RUNNER_H
#define ATTN_TOOLS_COMMON_RUNNER_H

#include "Driver.h"

namespace attn::driver {

class Runner {
public:
  /// Links the object into a library, a temporary file that lives as long as the runner.
  static llvm::Expected<std::shared_ptr<Runner>> create(llvm::StringRef command, llvm::StringRef object,
                                                        const attn::TargetInfo &target);
  ~Runner();
  Runner(const Runner &) = delete;
  Runner &operator=(const Runner &) = delete;

  /// Calls an entry on host tensors; it writes those of `outputs`. Returns its code and its message.
  llvm::Expected<std::pair<int32_t, std::string>> call(llvm::StringRef entry, llvm::ArrayRef<DLTensor> tensors,
                                                       llvm::ArrayRef<bool> outputs) const;

private:
  Runner() = default;

  std::vector<std::string> command;
  std::string library;
};

} // namespace attn::driver

#endif // ATTN_TOOLS_COMMON_RUNNER_H
