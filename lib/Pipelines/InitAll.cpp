//===- InitAll.cpp - register everything of attn --------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/InitAll.h"
#include "attn/Conversion/Passes.h"
#include "attn/IR/Attn.h"
#include "attn/Pipelines.h"
#include "attn/Raise/Raise.h"
#include "attn/Sharding/Sharding.h"
#include "attn/TransformOps/AttnTransformOps.h"
#include "attn/Transforms/Passes.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"

using namespace mlir;

void attn::registerAllDialects(DialectRegistry &registry) {
  registerDialect(registry);
  registerTransformDialectExtension(registry);
  registerShardingModels(registry);
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
}

void attn::registerAllPasses() {
  registerAttnRaisePasses();
  registerAttnTransformsPasses();
  registerAttnConversionPasses();
  registerPipelines();
}
