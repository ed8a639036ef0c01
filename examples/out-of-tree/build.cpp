// Attention made by builders, as a compiler's own lowering would: a function with an attn.sdpa, causal, of which query
// heads share heads of K and V, with regions for its scores and its mask, and then its tiles.

#include "attn/InitAll.h"
#include "attn/Pipelines.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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

// score_mod = score - slopes[head] * (query - key), as ALiBi has it; mask_mod = query - key < distance.
static void addRegions(mlir::OpBuilder &builder, mlir::Location loc, attn::SdpaOp sdpa, mlir::Value slopes,
                       int64_t distance) {
  mlir::OpBuilder::InsertionGuard guard(builder);
  auto position = [&](attn::IndexKind kind) { return attn::IndexOp::create(builder, loc, kind); };
  auto subtractKey = [&]() -> mlir::Value {
    return mlir::arith::SubIOp::create(builder, loc, position(attn::IndexKind::Query), position(attn::IndexKind::Key));
  };
  // A score has the type of sums: f32 for f32, bf16 and f16. A tensor from outside needs no argument of the region.
  mlir::FloatType real = builder.getF32Type();
  mlir::Block *scores = builder.createBlock(&sdpa.getScoreMod(), {}, {real}, {loc});
  mlir::Value head = position(attn::IndexKind::Head);
  mlir::Value slope = mlir::tensor::ExtractOp::create(builder, loc, slopes, head);
  mlir::Value integer = mlir::arith::IndexCastOp::create(builder, loc, builder.getI64Type(), subtractKey());
  mlir::Value offset = mlir::arith::SIToFPOp::create(builder, loc, real, integer);
  mlir::Value penalty = mlir::arith::MulFOp::create(builder, loc, slope, offset);
  mlir::Value score = mlir::arith::SubFOp::create(builder, loc, scores->getArgument(0), penalty);
  attn::YieldOp::create(builder, loc, score);
  // Arithmetic on positions alone becomes key ranges: tiles beyond them are never read.
  builder.createBlock(&sdpa.getMaskMod());
  mlir::Value limit = mlir::arith::ConstantIndexOp::create(builder, loc, distance);
  mlir::Value keep = mlir::arith::CmpIOp::create(builder, loc, mlir::arith::CmpIPredicate::slt, subtractKey(), limit);
  attn::YieldOp::create(builder, loc, keep);
}

int main() {
  mlir::DialectRegistry registry;
  attn::registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  // With attn's come those that its regions need, as arith.
  context.loadDialect<attn::AttnDialect, mlir::func::FuncDialect, mlir::tensor::TensorDialect>();

  mlir::OpBuilder builder(&context);
  mlir::Location loc = builder.getUnknownLoc();
  auto query = mlir::RankedTensorType::get({2, 8, 128, 64}, builder.getF32Type());
  auto key = mlir::RankedTensorType::get({2, 2, 128, 64}, builder.getF32Type());
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto slopes = mlir::RankedTensorType::get({8}, builder.getF32Type());
  auto function =
      mlir::func::FuncOp::create(builder, loc, "attend", builder.getFunctionType({query, key, key, slopes}, query));
  builder.setInsertionPointToEnd(function.addEntryBlock());
  attn::SdpaOp sdpa =
      buildAttention(builder, loc, function.getArgument(0), function.getArgument(1), function.getArgument(2));
  addRegions(builder, loc, sdpa, function.getArgument(3), /*distance=*/32);
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
