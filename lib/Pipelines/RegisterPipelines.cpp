//===- RegisterPipelines.cpp - pipelines by name --------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Pipelines.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace attn {

/// A pipeline of passes on modules. On other ops, the pass manager ends the process, as it does for upstream's
/// pipelines.
template <typename Options>
static void registerModulePipeline(StringRef name, StringRef description,
                                   void (*build)(OpPassManager &, const Options &)) {
  auto add = [=](OpPassManager &pm, StringRef text, function_ref<LogicalResult(const Twine &)> handleError) {
    if (pm.getOpAnchorName() != ModuleOp::getOperationName())
      return handleError(Twine(name) + ": expected to run on builtin.module, found " + pm.getOpAnchorName() +
                         "; write builtin.module(" + name + ")");
    Options options;
    if (failed(options.parseFromString(text)))
      return failure();
    build(pm, options);
    return success();
  };
  registerPassPipeline(name, description, add, [](function_ref<void(const mlir::detail::PassOptions &)> handleOptions) {
    handleOptions(Options());
  });
}

void registerPipelines() {
  registerModulePipeline("attn-to-flash", "attention ops to tiled loops over the online form", buildFlashPipeline);
  registerModulePipeline("attn-to-llvm", "tiled loops to the LLVM dialect on a CPU", buildCPUPipeline);
  registerModulePipeline("attn-to-gpu", "tiled loops to NVVM kernels and the functions that launch them",
                         buildGPUPipeline);
  registerModulePipeline("attn-to-reference", "attention ops to plain linalg, scores materialised",
                         buildReferencePipeline);
}

} // namespace attn
