//===- attn-opt.cpp - mlir-opt with the attn dialect and passes -----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../common/HideOptions.h"
#include "attn/InitAll.h"
#include "attn/Support/ForeignDialects.h"
#include "attn/Support/Nesting.h"
#include "attn/Support/Text.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

/// Like upstream's, but checks the text before parsing it.
static mlir::LogicalResult runOnFile(llvm::StringRef input, llvm::StringRef output, mlir::DialectRegistry &registry) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> source = mlir::openInputFile(input, &message);
  std::unique_ptr<llvm::ToolOutputFile> result = source ? mlir::openOutputFile(output, &message) : nullptr;
  if (!result) {
    llvm::errs() << message << "\n";
    return mlir::failure();
  }
  if (llvm::StringRef text = attn::dropByteOrderMark(source->getBuffer()); text.size() != source->getBufferSize())
    source = llvm::MemoryBuffer::getMemBufferCopy(text, source->getBufferIdentifier());
  if (llvm::Error error = attn::checkNesting(*source)) {
    llvm::errs() << llvm::toString(std::move(error)) << "\n";
    return mlir::failure();
  }
  mlir::MlirOptMainConfig config = mlir::MlirOptMainConfig::createFromCLOptions();
  std::string note = attn::explainForeignDialect(source->getBuffer(), source->getBufferIdentifier());
  if (mlir::failed(mlir::MlirOptMain(result->os(), std::move(source), registry, config))) {
    if (!note.empty())
      llvm::errs() << note << "\n";
    return mlir::failure();
  }
  result->keep();
  return mlir::success();
}

int main(int argc, char **argv) {
  attn::driver::hideRegisteredOptions();
  mlir::DialectRegistry registry;
  attn::registerAllDialects(registry);
  mlir::registerAllPasses();
  attn::registerAllPasses();
  auto [input, output] = mlir::registerAndParseCLIOptions(argc, argv, "attn optimizer driver\n", registry);
  mlir::MlirOptMainConfig config = mlir::MlirOptMainConfig::createFromCLOptions();
  // Options that read no file.
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
  llvm::InitLLVM init(argc, argv);
  return mlir::asMainReturnCode(runOnFile(input, output, registry));
}
