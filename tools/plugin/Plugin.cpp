//===- Plugin.cpp - attn for a stock mlir-opt -----------------------------===//
//
// The entry points of mlir-opt's --load-dialect-plugin and --load-pass-plugin. Only attn itself is registered: the host
// has the upstream dialects.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/InitAll.h"
#include "attn/TransformOps/AttnTransformOps.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

static constexpr char kName[] = "attn";

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, kName, ATTN_VERSION, [](mlir::DialectRegistry *registry) {
            attn::registerDialect(*registry);
            attn::registerTransformDialectExtension(*registry);
          }};
}

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, kName, ATTN_VERSION, [] { attn::registerAllPasses(); }};
}
