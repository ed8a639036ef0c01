// A compiler for models from JAX: finds the attention in their linalg by attn's patterns, in a pass of its own,
// compiles the whole function with attn's pipelines and runs it in this process.

#include "attn-c/attn.h"
#include "attn-c/attn_runtime.h"
#include "attn/InitAll.h"
#include "attn/Pipelines.h"
#include "attn/Raise/Raise.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/TargetSelect.h"
#include <cmath>

namespace {

/// Attention in linalg becomes attn.sdpa. Another compiler would have patterns of its own beside these.
struct FindAttention : public mlir::PassWrapper<FindAttention, mlir::OperationPass<mlir::func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FindAttention)

  void getDependentDialects(mlir::DialectRegistry &registry) const override { // what the patterns make
    registry.insert<attn::AttnDialect, mlir::affine::AffineDialect, mlir::arith::ArithDialect,
                    mlir::linalg::LinalgDialect, mlir::tensor::TensorDialect>();
  }

  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    attn::populateAttnRaisePatterns(patterns);    // linalg → attn.scores … attn.apply
    attn::populateCanonicalizePatterns(patterns); // transposes become maps
    attn::populateFusePatterns(patterns);         // → attn.sdpa
    if (mlir::failed(mlir::applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    unsigned count = 0;
    getOperation()->walk([&](attn::SdpaOp) { ++count; });
    llvm::outs() << count << " attention\n";
  }
};

} // namespace

static mlir::LogicalResult compile(mlir::ModuleOp module) {
  mlir::PassManager pm(module.getContext());
  pm.addNestedPass<mlir::func::FuncOp>(std::make_unique<FindAttention>());
  attn::FlashOptions flash; // for this processor
  flash.kernels = true;     // pointers in, pointers out
  flash.raise = false;      // done
  attn::buildFlashPipeline(pm, flash);
  attn::buildCPUPipeline(pm, attn::CPUOptions());
  return pm.run(module);
}

/// The arguments of model.py, and room for the result: one buffer for each pointer that the kernel takes.
static std::vector<std::vector<float>> createBuffers(mlir::func::FuncOp function) {
  std::vector<std::vector<float>> buffers;
  for (mlir::Type type : llvm::concat<const mlir::Type>(function.getArgumentTypes(), function.getResultTypes()))
    buffers.emplace_back(mlir::cast<mlir::RankedTensorType>(type).getNumElements());
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    for (size_t j = 0; j < buffers[i].size(); ++j)
      buffers[i][j] = static_cast<float>(0.3 * std::sin(0.7 * static_cast<double>(j) + i));
  return buffers;
}

static llvm::Error run(mlir::ModuleOp module, std::vector<std::vector<float>> &buffers) {
  mlir::ExecutionEngineOptions options;
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Default;
  llvm::Expected<std::unique_ptr<mlir::ExecutionEngine>> engine = mlir::ExecutionEngine::create(module, options);
  if (!engine)
    return engine.takeError();
  std::vector<void *> pointers, arguments;
  for (std::vector<float> &buffer : buffers)
    pointers.push_back(buffer.data());
  for (void *&pointer : pointers)
    arguments.push_back(&pointer);
  int32_t code = 0; // what a kernel returns
  arguments.push_back(&code);
  if (llvm::Error error = (*engine)->invokePacked("model", arguments))
    return error;
  return code == ATTN_OK ? llvm::Error::success() : llvm::createStringError("the kernel found too little memory");
}

int main(int argc, char **argv) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::InitializeNativeTargetAsmParser(); // kernels by AMX tiles have inline assembly
  attn_runtime_set_num_threads(2);         // also keeps the runtime, which the compiled code calls, in the program
  mlir::DialectRegistry registry;
  attn::registerAllDialects(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  mlir::MLIRContext context(registry);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceFile<mlir::ModuleOp>(argc > 1 ? argv[1] : "-", mlir::ParserConfig(&context));
  if (!module)
    return 1;
  auto functions = module->getOps<mlir::func::FuncOp>();
  mlir::func::FuncOp function = *functions.begin();
  function.setName("model"); // JAX calls every function main, which is no name for a kernel
  std::vector<std::vector<float>> buffers = createBuffers(function);
  if (mlir::failed(compile(*module)))
    return 1;
  if (llvm::Error error = run(*module, buffers)) {
    llvm::errs() << llvm::toString(std::move(error)) << "\n";
    return 1;
  }
  llvm::outs() << "the last numbers are";
  for (float number : llvm::ArrayRef(buffers.back()).take_back(3))
    llvm::outs() << llvm::format(" %.3f", number);
  llvm::outs() << "\n";
  return 0;
}
