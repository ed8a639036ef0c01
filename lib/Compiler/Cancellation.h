//===- Cancellation.h - a compilation that another thread cancels -*- C++ -*-===//
//
// After a cancellation, no pass of MLIR and no optional pass of LLVM starts; running passes finish. The result is not a
// kernel, so the caller calls the same function before using it.
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

/// Skips passes of MLIR that start after the cancellation.
void skipPassesWhen(std::function<bool()> isCancelled, mlir::MLIRContext &context);

/// Skips optional passes of LLVM too, in the optimiser and in code generation.
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
