// Attention made by builders, as a compiler's own lowering would: a function with an attn.sdpa, causal, of which query
// heads share heads of K and V, and then its tiles.

#include "attn/InitAll.h"
#include "attn/Pipelines.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

static attn::SdpaOp buildAttention(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value q, mlir::Value k,
                                   mlir::Value v) {
  auto type = mlir::cast<mlir::RankedTensorType>(q.getType());
  mlir::Value out = mlir::tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType());
  // No log-sum-exp, and the default layout: batch dimensions, rows, columns.
  auto sdpa = attn::SdpaOp::create(builder, loc, q, k, v, out, /*lse=*/mlir::Value(), /*maps=*/{});
  sdpa.setScaleAttr(builder.getF64FloatAttr(0.125)); // left out: 1 / sqrt(head size)
  sdpa.setCausalAttr(attn::CausalAlignmentAttr::get(builder.getContext(), attn::CausalAlignment::TopLeft));
  return sdpa;
}

int main() {
  mlir::DialectRegistry registry;
  attn::registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadDialect<attn::AttnDialect, mlir::func::FuncDialect, mlir::tensor::TensorDialect>();

  mlir::OpBuilder builder(&context);
  mlir::Location loc = builder.getUnknownLoc();
  auto query = mlir::RankedTensorType::get({2, 8, 128, 64}, builder.getF32Type());
  auto key = mlir::RankedTensorType::get({2, 2, 128, 64}, builder.getF32Type());
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto function = mlir::func::FuncOp::create(builder, loc, "attend", builder.getFunctionType({query, key, key}, query));
  builder.setInsertionPointToEnd(function.addEntryBlock());
  attn::SdpaOp sdpa =
      buildAttention(builder, loc, function.getArgument(0), function.getArgument(1), function.getArgument(2));
  mlir::func::ReturnOp::create(builder, loc, sdpa->getResults());

  mlir::PassManager pm(&context);
  attn::FlashOptions options;
  options.target = "x86-64-v3";
  attn::buildFlashPipeline(pm, options);
  if (mlir::failed(pm.run(*module)))
    return 1;
  module->print(llvm::outs());
  return 0;
}
