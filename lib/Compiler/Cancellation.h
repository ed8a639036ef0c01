//===- Cancellation.h - a compilation that another thread ends --*- C++ -*-===//
//
// After a compilation is cancelled, no pass of MLIR and no optional pass of LLVM
// starts; passes that run still end. The result is no kernel, so the caller calls the
// same function before it uses it.
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

/// Leaves out the optional passes of LLVM too, of the optimiser and of code generation.
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
