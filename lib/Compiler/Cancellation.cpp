//===- Cancellation.cpp - a compilation that another thread cancels -------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Cancellation.h"
#include "mlir/Pass/Pass.h"

void attn::skipPassesWhen(std::function<bool()> isCancelled, mlir::MLIRContext &context) {
  context.registerActionHandler(
      [isCancelled = std::move(isCancelled)](llvm::function_ref<void()> run, const mlir::tracing::Action &action) {
        // Only whole passes are skipped: code inside of a pass relies on its patterns.
        if (!llvm::isa<mlir::PassExecutionAction>(action) || !isCancelled())
          run();
      });
}
