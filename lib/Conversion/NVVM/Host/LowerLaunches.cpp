//===- LowerLaunches.cpp - attn-lower-launches ----------------------------===//
//
// Before: entries from attn-plan-workspace and attn-emit-entry, with gpu.launch_func and without structured control
// flow. After: calls of the runtime's attn_cuda_launch (or _persistent, _dependent), and a return where one fails.
// Each kernel is a global with its name and the image of its module. The compiler defines the image once it has
// translated the gpu.module, which this pass leaves in place.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Warps/Producer.h"
#include "attn/Conversion/Kernels.h"
#include "attn/Conversion/Passes.h"
#include "attn/IR/Attn.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace attn {
#define GEN_PASS_DEF_LOWERLAUNCHESPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

static constexpr StringLiteral kLaunch = "attn_cuda_launch", kLaunchPersistent = "attn_cuda_launch_persistent",
                               kLaunchDependent = "attn_cuda_launch_dependent";

namespace {

class LaunchLowering {
public:
  explicit LaunchLowering(ModuleOp module)
      : module(module), b(module.getContext()), pointer(LLVM::LLVMPointerType::get(module.getContext())) {}

  LogicalResult lower(func::FuncOp function) {
    SmallVector<gpu::LaunchFuncOp> launches;
    function.walk([&](gpu::LaunchFuncOp launch) { launches.push_back(launch); });
    exit = nullptr;
    SmallVector<LLVM::CallOp> maps;
    function.walk([&](LLVM::CallOp call) {
      if (call.getCallee() == nvvm::kEncodeMap)
        maps.push_back(call);
    });
    for (LLVM::CallOp call : maps)
      returnIfFailed(function, call, call.getResult());
    for (gpu::LaunchFuncOp launch : launches)
      if (failed(lower(function, launch)))
        return failure();
    return success();
  }

private:
  LogicalResult lower(func::FuncOp function, gpu::LaunchFuncOp launch) {
    if (launch->getParentOp() != function)
      return launch.emitOpError("expected no structured control flow around a launch any more, found '")
             << launch->getParentOp()->getName() << "'";
    if (launch.hasClusterSize() || launch.getAsyncToken() || !launch.getAsyncDependencies().empty())
      return launch.emitOpError("expected a launch without clusters and tokens, which are not supported");
    loc = launch.getLoc();
    Value parameters = createParameters(function, launch);
    if (!parameters)
      return failure();
    b.setInsertionPoint(launch);
    LLVM::GlobalOp kernel = getKernel(launch.getKernelModuleName().getValue(), launch.getKernelName().getValue());
    SmallVector<Value> operands{LLVM::AddressOfOp::create(b, loc, kernel)};
    for (Value size : {launch.getGridSizeX(), launch.getGridSizeY(), launch.getGridSizeZ(), launch.getBlockSizeX(),
                       launch.getBlockSizeY(), launch.getBlockSizeZ()})
      operands.push_back(toI64(size));
    Value shared = launch.getDynamicSharedMemorySize();
    operands.push_back(shared ? toI64(shared) : LLVM::ConstantOp::create(b, loc, b.getI64Type(), 0).getResult());
    // The stream is an entry's last argument.
    operands.push_back(function.getBody().front().getArguments().back());
    operands.push_back(parameters);
    FunctionOpInterface lowered = findKernel(launch);
    StringRef callee = launch->hasAttr(nvvm::kPersistentAttr)              ? kLaunchPersistent
                       : lowered && lowered->hasAttr(nvvm::kDependentAttr) ? kLaunchDependent
                                                                           : kLaunch;
    Value code = LLVM::CallOp::create(b, loc, declareLaunch(callee), operands).getResult();
    returnIfFailed(function, launch, code);
    launch.erase();
    return success();
  }

  /// Emits a return of `code`, the result of `op`, where it is not 0.
  void returnIfFailed(func::FuncOp function, Operation *op, Value code) {
    loc = op->getLoc();
    Block *block = op->getBlock(), *next = block->splitBlock(std::next(op->getIterator()));
    b.setInsertionPointToEnd(block);
    Value zero = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
    Value isFine = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, code, zero);
    cf::CondBranchOp::create(b, loc, isFine, next, ValueRange(), getExit(function), ValueRange{code});
  }

  FunctionOpInterface findKernel(gpu::LaunchFuncOp launch) {
    return SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(launch, launch.getKernelAttr());
  }

  /// True for a parameter by value: its operand is a pointer to the value.
  bool isByValue(gpu::LaunchFuncOp launch, unsigned parameter) {
    FunctionOpInterface kernel = findKernel(launch);
    return kernel && kernel.getArgAttr(parameter, LLVM::LLVMDialect::getByValAttrName());
  }

  Value toI64(Value size) {
    Type i64 = b.getI64Type();
    if (size.getType().isIndex())
      return arith::IndexCastOp::create(b, loc, i64, size);
    return size.getType() == i64 ? size : arith::ExtUIOp::create(b, loc, i64, size).getResult();
  }

  /// ^exit(%code: i32): return %code
  Block *getExit(func::FuncOp function) {
    if (exit)
      return exit;
    OpBuilder::InsertionGuard guard(b);
    exit = b.createBlock(&function.getBody(), function.getBody().end(), {b.getI32Type()}, {loc});
    func::ReturnOp::create(b, loc, exit->getArgument(0));
    return exit;
  }

  /// An array of pointers to the arguments, on the entry's stack. Null after an error.
  Value createParameters(func::FuncOp function, gpu::LaunchFuncOp launch) {
    OperandRange operands = launch.getKernelOperands();
    b.setInsertionPointToStart(&function.getBody().front());
    Value one = LLVM::ConstantOp::create(b, loc, b.getI64Type(), 1);
    auto arrayType = LLVM::LLVMArrayType::get(pointer, operands.size());
    Value array = LLVM::AllocaOp::create(b, loc, pointer, arrayType, one);
    SmallVector<Value> places;
    for (Value operand : operands) {
      if (!isa<LLVM::LLVMPointerType, IntegerType, FloatType>(operand.getType())) {
        launch.emitOpError("expected pointers and numbers as arguments, found ") << operand.getType();
        return nullptr;
      }
      bool isPlace = isByValue(launch, places.size());
      places.push_back(isPlace ? operand : LLVM::AllocaOp::create(b, loc, pointer, operand.getType(), one).getResult());
    }
    b.setInsertionPoint(launch);
    for (auto [i, operand, place] : llvm::enumerate(operands, places)) {
      if (place != operand)
        LLVM::StoreOp::create(b, loc, operand, place);
      Value element = LLVM::GEPOp::create(b, loc, pointer, arrayType, array, ArrayRef<LLVM::GEPArg>{0, int(i)});
      LLVM::StoreOp::create(b, loc, place, element);
    }
    return array;
  }

  LLVM::LLVMFuncOp declareLaunch(StringRef name) {
    if (auto existing = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
      return existing;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    SmallVector<Type> types{pointer};
    types.append(7, b.getI64Type());
    types.append(2, pointer);
    return LLVM::LLVMFuncOp::create(b, loc, name, LLVM::LLVMFunctionType::get(b.getI32Type(), types));
  }

  /// struct attn_cuda_image of attn_cuda.h, defined later by the compiler.
  LLVM::GlobalOp getImage(StringRef gpuModule) {
    std::string name = getImageName(gpuModule);
    if (auto existing = module.lookupSymbol<LLVM::GlobalOp>(name))
      return existing;
    Type i64 = b.getI64Type(), i32 = b.getI32Type();
    auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), {pointer, i64, pointer, i64, i32, i32, i32, pointer});
    return LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/false, LLVM::Linkage::External, name, Attribute());
  }

  /// struct attn_cuda_kernel: {image, name, nothing loaded yet}
  LLVM::GlobalOp getKernel(StringRef gpuModule, StringRef kernel) {
    std::string name = getImageName(gpuModule) + "_" + kernel.str();
    if (auto existing = module.lookupSymbol<LLVM::GlobalOp>(name))
      return existing;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    LLVM::GlobalOp image = getImage(gpuModule);
    std::string text = kernel.str() + '\0';
    auto textGlobal =
        LLVM::GlobalOp::create(b, loc, LLVM::LLVMArrayType::get(b.getI8Type(), text.size()),
                               /*isConstant=*/true, LLVM::Linkage::Private, name + "_name", b.getStringAttr(text));
    auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), {pointer, pointer, pointer});
    auto global =
        LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/false, LLVM::Linkage::Internal, name, Attribute());
    b.createBlock(&global.getInitializerRegion());
    Value value = LLVM::ZeroOp::create(b, loc, type);
    value = LLVM::InsertValueOp::create(b, loc, value, LLVM::AddressOfOp::create(b, loc, image), int64_t(0));
    value = LLVM::InsertValueOp::create(b, loc, value, LLVM::AddressOfOp::create(b, loc, textGlobal), int64_t(1));
    LLVM::ReturnOp::create(b, loc, value);
    return global;
  }

  ModuleOp module;
  OpBuilder b;
  Type pointer;
  Location loc = UnknownLoc::get(module.getContext());
  Block *exit = nullptr; ///< of the current function
};

struct LowerLaunchesPass : public attn::impl::LowerLaunchesPassBase<LowerLaunchesPass> {
  void runOnOperation() override {
    LaunchLowering lowering(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(kCudaEntryAttr) && failed(lowering.lower(function)))
        return signalPassFailure();
  }
};
} // namespace
