//===- ExternalModels.cpp - one registration for all interfaces -----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ExternalModels.h"
#include "attn/IR/Attn.h"

void attn::registerAttnExternalModels(mlir::DialectRegistry &registry) {
  registerTilingModels(registry);
  registerBufferizationModels(registry);
}

void attn::registerDialect(mlir::DialectRegistry &registry) {
  registry.insert<AttnDialect>();
  registerAttnExternalModels(registry);
}
