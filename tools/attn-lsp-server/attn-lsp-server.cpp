//===- attn-lsp-server.cpp - mlir-lsp-server with the attn dialect --------===//
//
// Completion, hovering and diagnostics of attn IR in an editor.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../common/HideOptions.h"
#include "attn/InitAll.h"
#include "mlir/Support/LLVM.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/thread.h"

/// Bytes of the stack. The server parses text while it is typed, without checking its nesting first. Half-written text
/// with brackets beyond kMaxNesting must not crash it. The parser takes less than 1 KiB per level; unused stack takes
/// no memory.
static constexpr std::optional<unsigned> kStackBytes = 1u << 30;

int main(int argc, char **argv) {
  attn::driver::hideRegisteredOptions();
  mlir::DialectRegistry registry;
  attn::registerAllDialects(registry);
  bool isFine = false;
  llvm::thread server(kStackBytes, [&] { isFine = mlir::succeeded(mlir::MlirLspServerMain(argc, argv, registry)); });
  server.join();
  return isFine ? 0 : 1;
}
