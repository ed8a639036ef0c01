// One pass of attn's in a program that holds nothing else of it: the dialect and its transformations are two libraries,
// AttnIR and AttnTransforms, and all that is registered.

#include "attn/IR/Attn.h"
#include "attn/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, mlir::tensor::TensorDialect>();
  attn::registerDialect(registry);
  mlir::MLIRContext context(registry);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceFile<mlir::ModuleOp>(argc > 1 ? argv[1] : "-", mlir::ParserConfig(&context));
  mlir::PassManager pm(&context);
  pm.addNestedPass<mlir::func::FuncOp>(attn::createFusePass());
  if (!module || mlir::failed(pm.run(*module)))
    return 1;
  module->print(llvm::outs());
  return 0;
}
