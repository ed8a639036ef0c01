// A compiler outside attn's tree, 60 lines: it parses a file, tiles the attention in it with attn's passes, and takes
// the rest, and the result, through upstream passes in one pipeline of its own.

#include "attn/InitAll.h"
#include "attn/Pipelines.h"
#include "attn/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/SourceMgr.h"

/// The target that attn's schedules are for; another compiler would have a flag.
static constexpr char kTarget[] = "x86-64-v3";

static void buildPipeline(mlir::OpPassManager &pm) {
  // attn: a single sdpa, its schedule, its tiles. Single passes work as well as whole phases.
  pm.addNestedPass<mlir::func::FuncOp>(attn::createFusePass());
  attn::FlashOptions flash;
  flash.target = kTarget;
  attn::buildFlashPipeline(pm, flash);

  // Upstream: buffers for all of it, loops for what is linalg.
  mlir::bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  pm.addPass(mlir::bufferization::createOneShotBufferizePass(bufferize));
  pm.addNestedPass<mlir::func::FuncOp>(mlir::createConvertLinalgToLoopsPass());
  pm.addPass(mlir::createCanonicalizerPass());
  pm.addPass(mlir::createCSEPass());
}

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  // The attn dialect with the interface models that upstream passes ask for.
  attn::registerDialect(registry);
  mlir::MLIRContext context(registry);

  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> file = mlir::openInputFile(argc > 1 ? argv[1] : "-", &error);
  if (!file) {
    llvm::errs() << error << "\n";
    return 1;
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  mlir::PassManager pm(&context);
  buildPipeline(pm);
  if (!module || mlir::failed(pm.run(*module)))
    return 1;
  module->print(llvm::outs());
  return 0;
}
