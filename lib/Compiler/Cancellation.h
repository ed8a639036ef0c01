//===- Cancellation.h - a compilation that another thread ends --*- C++ -*-===//
//
// Once a compilation is cancelled, passes of MLIR and optional passes of LLVM
// are not started any more; each that runs ends. What results is no kernel, so
// the caller asks the same function before it uses it.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_COMPILER_CANCELLATION_H
#define ATTN_LIB_COMPILER_CANCELLATION_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/IR/OptBisect.h"
#include <functional>

namespace attn {

/// Leaves out the passes of MLIR that start after the cancellation.
void skipPassesWhen(std::function<bool()> isCancelled, mlir::MLIRContext &context);

/// Leaves out the optional passes of LLVM likewise, of the optimiser and of code generation.
class CancellationGate : public llvm::OptPassGate {
public:
  explicit CancellationGate(std::function<bool()> isCancelled) : isCancelled(std::move(isCancelled)) {}
  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef, llvm::StringRef) const override { return !isCancelled(); }

private:
  std::function<bool()> isCancelled;
};

} // namespace attn

#endif // ATTN_LIB_COMPILER_CANCELLATION_H
