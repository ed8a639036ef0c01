//===- PlanWorkspace.cpp - attn-plan-workspace ----------------------------===//
//
// Before: kernels (functions with attn.arguments on memrefs) with memref.alloc: host functions of GPU kernels with
// buffers between launches, or processor kernels with buffers too large for the stack. After: these buffers are views
// of a workspace from the caller. The function takes workspace and its bytes, on a GPU also the stream, after its
// arguments and returns a code. NAME_workspace_bytes(sizes…) returns the required bytes.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn-c/attn.h"
#include "attn-c/attn_cuda.h"
#include "attn-c/attn_runtime.h"
#include "attn/Conversion/Kernels.h"
#include "attn/Conversion/Passes.h"
#include "attn/IR/Attn.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace attn {
#define GEN_PASS_DEF_PLANWORKSPACEPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

static constexpr StringLiteral kCheckWorkspace = "attn_cuda_check_workspace", kEncodeMap = "attn_cuda_encode_map";

/// GPU kernels cannot access the host's stack.
static bool isBuffer(Operation *op, bool isCuda) {
  return isa<memref::AllocOp>(op) || (isCuda && isa<memref::AllocaOp>(op));
}

/// True for ops of a tensor map, which attn-specialize-warps makes the host encode on its stack.
static bool isOfTensorMap(Operation *op) {
  auto call = dyn_cast<LLVM::CallOp>(op);
  return isa<LLVM::AllocaOp, LLVM::StoreOp>(op) || (call && call.getCallee() == kEncodeMap);
}

/// The host only computes sizes and launches: it cannot access device memory.
static LogicalResult checkHostOps(func::FuncOp function) {
  WalkResult result = function.walk([&](Operation *op) {
    bool isFine = op == function || isBuffer(op, /*isCuda=*/true) || isOfTensorMap(op) ||
                  isa<gpu::LaunchFuncOp, func::ReturnOp, memref::DeallocOp>(op) ||
                  op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() || isMemoryEffectFree(op);
    if (isFine)
      return WalkResult::advance();
    op->emitOpError("is left beside the launches of a GPU kernel, and the host cannot do it; expected every step "
                    "within a launch");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Each buffer has one offset, so its lifetime must end before its op runs again. Buffers of a tile exist once per
/// thread.
static LogicalResult checkBuffers(func::FuncOp function) {
  WalkResult result = function->getParentOfType<ModuleOp>().walk([&](memref::AllocOp op) {
    auto parent = op->getParentOfType<func::FuncOp>();
    bool isOfOther = parent != function && parent->hasAttr(kArgumentsAttr);
    auto isEnd = [&](Operation *user) { return isa<memref::DeallocOp>(user) && user->getBlock() == op->getBlock(); };
    if (isOfOther ||
        (parent == function && (!op->getParentOfType<LoopLikeOpInterface>() || llvm::any_of(op->getUsers(), isEnd))))
      return WalkResult::advance();
    op.emitOpError("has no place in a workspace of the caller: expected buffers of a whole call, found one of ")
        << (parent == function ? "a round of a loop" : "each thread") << "; compile it with --workspace=heap";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

namespace {

/// Computes the sizes of a function's buffers at a point where only its arguments, or only the sizes, are available.
class SizeBuilder {
public:
  /// With `sizes`, dimensions of arguments are taken from there: one value per dynamic size of the kernel.
  SizeBuilder(OpBuilder &b, func::FuncOp function, int64_t alignment, ArrayRef<KernelArgument> arguments,
              std::optional<ValueRange> sizes = std::nullopt)
      : b(b), loc(function.getLoc()), alignment(alignment), arguments(arguments), sizes(sizes) {}

  /// The offset of each buffer, and their total bytes.
  FailureOr<Value> build(ArrayRef<Operation *> buffers, SmallVectorImpl<Value> *offsets = nullptr) {
    Value total = constant(0);
    for (Operation *buffer : buffers) {
      if (offsets)
        offsets->push_back(total);
      FailureOr<Value> bytes = buildBytes(buffer);
      if (failed(bytes))
        return failure();
      total = arith::AddIOp::create(b, loc, total, *bytes);
    }
    return total;
  }

private:
  Value constant(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }

  /// bytes = round up(product of the sizes * bytes of an element, alignment)
  FailureOr<Value> buildBytes(Operation *buffer) {
    auto type = cast<MemRefType>(buffer->getResult(0).getType());
    std::optional<ElementKind> element = getElementKind(type.getElementType());
    if (!type.getLayout().isIdentity() || !element)
      return buffer->emitOpError("expected a contiguous buffer of numbers, found ") << type;
    int64_t known = getElementInfo(*element).bytes;
    for (int64_t size : type.getShape())
      known *= ShapedType::isDynamic(size) ? 1 : size;
    Value bytes = constant(known);
    for (Value operand : buffer->getOperands()) {
      FailureOr<Value> size = cloneSize(operand, buffer);
      if (failed(size))
        return failure();
      bytes = arith::MulIOp::create(b, loc, bytes, *size);
    }
    if (type.hasStaticShape())
      return constant(llvm::alignTo(known, alignment));
    Value up = arith::AddIOp::create(b, loc, bytes, constant(alignment - 1));
    return arith::AndIOp::create(b, loc, up, constant(-alignment)).getResult();
  }

  /// Recomputes a value here: clones ops that read no memory, and looks up dimensions of arguments.
  FailureOr<Value> cloneSize(Value value, Operation *buffer) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (auto dim = dyn_cast_or_null<memref::DimOp>(op))
      return cloneDim(dim, buffer);
    if (!op || op->getNumRegions() != 0 || !isMemoryEffectFree(op))
      return refuse(buffer, value.getLoc());
    for (Value operand : op->getOperands()) {
      FailureOr<Value> cloned = cloneSize(operand, buffer);
      if (failed(cloned))
        return failure();
      mapping.map(operand, *cloned);
    }
    b.clone(*op, mapping);
    return mapping.lookup(value);
  }

  FailureOr<Value> cloneDim(memref::DimOp dim, Operation *buffer) {
    Value source = dim.getSource();
    while (auto cast = source.getDefiningOp<memref::CastOp>())
      source = cast.getSource();
    auto argument = dyn_cast<BlockArgument>(source);
    std::optional<int64_t> index = dim.getConstantIndex();
    if (auto view = source.getDefiningOp<memref::ExpandShapeOp>(); view && index) {
      OpFoldResult size = view.getMixedOutputShape()[*index];
      if (auto value = dyn_cast<Value>(size))
        return cloneSize(value, buffer);
      return constant(*getConstantIntValue(size));
    }
    bool isOfEntry = argument && isa<func::FuncOp>(argument.getOwner()->getParentOp());
    if (!isOfEntry || !index || argument.getArgNumber() >= arguments.size())
      return refuse(buffer, dim.getLoc());
    if (!sizes)
      return memref::DimOp::create(b, loc, argument, *index).getResult();
    const KernelArgument &description = arguments[argument.getArgNumber()];
    int32_t symbol = description.symbols[*index];
    return symbol < 0 ? constant(description.shape[*index])
                      : arith::IndexCastOp::create(b, loc, b.getIndexType(), (*sizes)[symbol]).getResult();
  }

  static LogicalResult refuse(Operation *buffer, Location at) {
    InFlightDiagnostic diagnostic =
        buffer->emitOpError("expected a size that follows from the sizes of the kernel's arguments, found another");
    diagnostic.attachNote(at) << "it comes from here";
    return diagnostic;
  }

  OpBuilder &b;
  Location loc;
  int64_t alignment;
  ArrayRef<KernelArgument> arguments;
  std::optional<ValueRange> sizes;
  IRMapping mapping;
};

class WorkspacePlan {
public:
  WorkspacePlan(func::FuncOp function, bool isCuda)
      : function(function), loc(function.getLoc()), b(function.getContext()), isCuda(isCuda),
        alignment(isCuda ? ATTN_CUDA_WORKSPACE_ALIGNMENT : ATTN_WORKSPACE_ALIGNMENT),
        arguments(getKernelArguments(function)) {
    function.walk([&](Operation *op) {
      if (isBuffer(op, isCuda))
        buffers.push_back(op);
    });
  }

  LogicalResult run() {
    if (failed(isCuda ? checkHostOps(function) : checkBuffers(function)) || failed(createBytesFunction()))
      return failure();
    addArguments();
    if (!buffers.empty() && failed(placeBuffers()))
      return failure();
    function.walk([](memref::DeallocOp op) { op.erase(); });
    for (Operation *buffer : buffers)
      buffer->erase();
    function->setAttr(isCuda ? kCudaEntryAttr : kWorkspaceAttr, b.getUnitAttr());
    return success();
  }

private:
  /// func.func @NAME_workspace_bytes(sizes…) -> i64
  LogicalResult createBytesFunction() {
    b.setInsertionPointAfter(function);
    SmallVector<Type> types(getKernelSizes(function).size(), b.getI64Type());
    auto bytesFunction = func::FuncOp::create(b, loc, getWorkspaceBytesName(function.getName()),
                                              b.getFunctionType(types, {b.getI64Type()}));
    Block *block = bytesFunction.addEntryBlock();
    b.setInsertionPointToStart(block);
    FailureOr<Value> total =
        SizeBuilder(b, function, alignment, arguments, ValueRange(block->getArguments())).build(buffers);
    if (failed(total))
      return failure();
    Value result = arith::IndexCastOp::create(b, loc, b.getI64Type(), *total);
    func::ReturnOp::create(b, loc, result);
    return success();
  }

  /// (…) → (…, workspace, bytes, stream) -> i32, which returns 0. A processor kernel has no stream.
  void addArguments() {
    Block &entry = function.getBody().front();
    Type pointer = LLVM::LLVMPointerType::get(b.getContext());
    workspace = entry.addArgument(pointer, loc);
    workspaceBytes = entry.addArgument(b.getI64Type(), loc);
    if (isCuda)
      entry.addArgument(pointer, loc);
    auto terminator = cast<func::ReturnOp>(entry.getTerminator());
    b.setInsertionPoint(terminator);
    Value zero = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
    func::ReturnOp::create(b, loc, zero);
    terminator.erase();
    function.setFunctionType(b.getFunctionType(entry.getArgumentTypes(), {b.getI32Type()}));
    if (function.getArgAttrsAttr())
      function.setAllArgAttrs(SmallVector<DictionaryAttr>(entry.getNumArguments(), b.getDictionaryAttr({})));
  }

  /// memref<?xi8> over the whole workspace.
  Value createBytes(Value total) {
    LLVMTypeConverter converter(b.getContext());
    auto type = MemRefType::get({ShapedType::kDynamic}, b.getI8Type());
    auto descriptor = MemRefDescriptor::poison(b, loc, converter.convertType(type));
    descriptor.setAllocatedPtr(b, loc, workspace);
    descriptor.setAlignedPtr(b, loc, workspace);
    descriptor.setConstantOffset(b, loc, 0);
    descriptor.setSize(b, loc, 0, total);
    descriptor.setConstantStride(b, loc, 0, 1);
    return UnrealizedConversionCastOp::create(b, loc, type, Value(descriptor)).getResult(0);
  }

  LogicalResult placeBuffers() {
    // The sizes come first: the check needs their sum, and everything else comes after the check.
    Block *entry = &function.getBody().front();
    b.setInsertionPointToStart(entry);
    SmallVector<Value> offsets;
    FailureOr<Value> total = SizeBuilder(b, function, alignment, arguments).build(buffers, &offsets);
    if (failed(total))
      return failure();
    Value needed = arith::IndexCastOp::create(b, loc, b.getI64Type(), *total);
    Value code =
        isCuda ? LLVM::CallOp::create(b, loc, declareCheck(), ValueRange{workspace, workspaceBytes, needed}).getResult()
               : checkWorkspace(needed);
    Value zero = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
    Value isFine = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, code, zero);
    Block *body = entry->splitBlock(b.getInsertionPoint());
    Block *refuse = b.createBlock(&function.getBody(), function.getBody().end());
    func::ReturnOp::create(b, loc, code);
    b.setInsertionPointToEnd(entry);
    cf::CondBranchOp::create(b, loc, isFine, body, ValueRange(), refuse, ValueRange());

    b.setInsertionPointToStart(body);
    Value bytes = createBytes(needed);
    for (auto [buffer, offset] : llvm::zip(buffers, offsets)) {
      b.setInsertionPoint(buffer);
      Value view = memref::ViewOp::create(b, buffer->getLoc(), cast<MemRefType>(buffer->getResult(0).getType()), bytes,
                                          offset, buffer->getOperands());
      buffer->getResult(0).replaceAllUsesWith(view);
    }
    return success();
  }

  /// ATTN_NO_MEMORY if the workspace is too small, or its address is not aligned.
  Value checkWorkspace(Value needed) {
    auto number = [&](Type type, int64_t value) -> Value {
      return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
    };
    Value address = LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), workspace);
    Value rest = arith::AndIOp::create(b, loc, address, number(b.getI64Type(), alignment - 1));
    Value isSmall = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, workspaceBytes, needed);
    Value isOff = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, rest, number(b.getI64Type(), 0));
    return arith::SelectOp::create(b, loc, arith::OrIOp::create(b, loc, isSmall, isOff),
                                   number(b.getI32Type(), ATTN_NO_MEMORY), number(b.getI32Type(), ATTN_OK));
  }

  LLVM::LLVMFuncOp declareCheck() {
    auto module = function->getParentOfType<ModuleOp>();
    if (auto existing = module.lookupSymbol<LLVM::LLVMFuncOp>(kCheckWorkspace))
      return existing;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    Type pointer = LLVM::LLVMPointerType::get(b.getContext()), i64 = b.getI64Type();
    return LLVM::LLVMFuncOp::create(b, loc, kCheckWorkspace,
                                    LLVM::LLVMFunctionType::get(b.getI32Type(), {pointer, i64, i64}));
  }

  func::FuncOp function;
  Location loc;
  OpBuilder b;
  bool isCuda;
  int64_t alignment;
  SmallVector<KernelArgument> arguments;
  SmallVector<Operation *> buffers;
  Value workspace, workspaceBytes;
};

struct PlanWorkspacePass : public attn::impl::PlanWorkspacePassBase<PlanWorkspacePass> {
  using Base::Base;

  void runOnOperation() override {
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (function->hasAttr(kArgumentsAttr) && !function->hasAttr(kCudaEntryAttr) &&
          !function->hasAttr(kWorkspaceAttr) && failed(WorkspacePlan(function, /*isCuda=*/!processor).run()))
        return signalPassFailure();
  }
};
} // namespace
