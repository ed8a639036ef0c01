//===- OutlineParallel.cpp - attn-outline-parallel ------------------------===//
//
// Before: scf.forall on memrefs. After: a call of attn_parallel_for with an
// outlined body and a context structure, or nested scf.for loops; static stack
// buffers stand at the entry of their function.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Conversion/Outlining.h"
#include "attn/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Transforms/RegionUtils.h"

namespace attn {
#define GEN_PASS_DEF_OUTLINEPARALLELPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

static constexpr StringLiteral kParallelFor = "attn_parallel_for";

namespace {

/// The block whose stack frame holds an alloca at `op`: of a function, or of a region with its own frame, such as a
/// parallel loop. The iterations of a serial loop share one frame.
Block &getStackBlock(Operation *op) {
  Region *region = op->getParentRegion();
  auto hasStack = [](Operation *parent) {
    return parent->hasTrait<OpTrait::AutomaticAllocationScope>() && !isa<scf::ForOp, affine::AffineForOp>(parent);
  };
  while (!hasStack(region->getParentOp()))
    region = region->getParentRegion();
  return region->front();
}

/// Outlines foralls, each into the symbol table that its function is in.
class Outliner {
public:
  explicit Outliner(MLIRContext *context)
      : b(context), typeConverter(context), pointerType(LLVM::LLVMPointerType::get(context)) {}

  /// Outer loops first: allocas of an inner loop are then in the frame of the thread that runs the outer body.
  LogicalResult outlineAll(Operation *root) {
    SmallVector<scf::ForallOp> loops;
    root->walk<WalkOrder::PreOrder>([&](scf::ForallOp op) {
      loops.push_back(op);
      return WalkResult::skip();
    });
    for (scf::ForallOp forall : loops) {
      FailureOr<func::FuncOp> body = outline(forall);
      if (failed(body) || failed(outlineAll(*body)))
        return failure();
    }
    return success();
  }

private:
  /// Returns the function of the body.
  FailureOr<func::FuncOp> outline(scf::ForallOp forall) {
    if (forall->getNumResults() != 0)
      return forall.emitOpError("expected a loop on memrefs, found results; run bufferisation first");
    Operation *scope = forall->getParentWithTrait<OpTrait::IsIsolatedFromAbove>();
    auto parent = dyn_cast<func::FuncOp>(scope);
    if (!parent)
      return forall.emitOpError("expected a loop in a func.func, found one in a ")
             << scope->getName() << "; write parallel=false for serial loops";
    Location loc = forall.getLoc();
    // Constants are cloned; everything else that the body captures is passed in the context.
    llvm::SetVector<Value> used;
    getUsedValuesDefinedAbove(forall.getRegion(), used);
    used.insert_range(forall->getOperands()); // bounds and steps
    SmallVector<Value> captures;
    SmallVector<Operation *> constants;
    SmallVector<Type> fields;
    for (Value value : used) {
      if (Operation *op = value.getDefiningOp(); op && op->hasTrait<OpTrait::ConstantLike>()) {
        constants.push_back(op);
        continue;
      }
      Type field = typeConverter.convertType(value.getType());
      if (!field)
        return forall.emitOpError("cannot pass a value of type ") << value.getType() << " to the parallel body";
      captures.push_back(value);
      fields.push_back(field);
    }
    auto contextType = LLVM::LLVMStructType::getLiteral(b.getContext(), fields);

    SymbolTable symbols(SymbolTable::getNearestSymbolTable(forall));
    func::FuncOp body =
        createBody(forall, symbols, (parent.getName() + "_tile").str(), captures, constants, contextType);
    if (failed(declareParallelFor(symbols, loc)))
      return failure();

    // The caller: fill the context, call the runtime.
    b.setInsertionPointToStart(&getStackBlock(forall));
    Value one = LLVM::ConstantOp::create(b, loc, b.getI64Type(), 1);
    Value context = LLVM::AllocaOp::create(b, loc, pointerType, contextType, one);
    b.setInsertionPoint(forall);
    for (auto [i, capture] : llvm::enumerate(captures)) {
      Value field = LLVM::GEPOp::create(b, loc, pointerType, contextType, context, ArrayRef<LLVM::GEPArg>{0, int(i)});
      LLVM::StoreOp::create(b, loc, cast(capture, fields[i]), field);
    }
    Value count = createTileCount(b, forall);
    Value function = func::ConstantOp::create(b, loc, body.getFunctionType(), body.getName());
    function = cast(function, pointerType);
    Value count64 = arith::IndexCastOp::create(b, loc, b.getI64Type(), count);
    func::CallOp::create(b, loc, kParallelFor, TypeRange(), ValueRange{function, context, count64});
    forall.erase();
    return body;
  }

  /// A value as a value of another type that will be the same once all is LLVM.
  Value cast(Value value, Type type) {
    return UnrealizedConversionCastOp::create(b, value.getLoc(), type, value).getResult(0);
  }

  func::FuncOp createBody(scf::ForallOp forall, SymbolTable &symbols, std::string name, ArrayRef<Value> captures,
                          ArrayRef<Operation *> constants, Type contextType) {
    Location loc = forall.getLoc();
    OpBuilder::InsertionGuard guard(b);
    b.clearInsertionPoint();
    auto body = func::FuncOp::create(b, loc, name, b.getFunctionType({pointerType, b.getI64Type()}, {}));
    body.setPrivate();
    symbols.insert(body); // at the end; makes the name unique
    Block *entry = body.addEntryBlock();
    b.setInsertionPointToStart(entry);
    IRMapping mapping;
    for (Operation *constant : constants)
      b.clone(*constant, mapping);
    auto structType = llvm::cast<LLVM::LLVMStructType>(contextType);
    for (auto [i, capture] : llvm::enumerate(captures)) {
      Value field = LLVM::GEPOp::create(b, loc, pointerType, contextType, entry->getArgument(0),
                                        ArrayRef<LLVM::GEPArg>{0, int(i)});
      Value loaded = LLVM::LoadOp::create(b, loc, structType.getBody()[i], field);
      mapping.map(capture, cast(loaded, capture.getType()));
    }
    Value tile = arith::IndexCastOp::create(b, loc, b.getIndexType(), entry->getArgument(1));
    cloneTile(b, forall, tile, mapping);
    func::ReturnOp::create(b, loc);
    return body;
  }

  LogicalResult declareParallelFor(SymbolTable &symbols, Location loc) {
    FunctionType type = b.getFunctionType({pointerType, pointerType, b.getI64Type()}, {});
    if (Operation *existing = symbols.lookup(kParallelFor)) {
      auto function = dyn_cast<func::FuncOp>(existing);
      if (function && function.getFunctionType() == type)
        return success();
      return existing->emitOpError("expected '") << kParallelFor << "' to be the runtime's function of type " << type
                                                 << ", found another of this name; rename it";
    }
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&symbols.getOp()->getRegion(0).front());
    func::FuncOp::create(b, loc, kParallelFor, type).setPrivate();
    return success();
  }

  OpBuilder b;
  LLVMTypeConverter typeConverter;
  LLVM::LLVMPointerType pointerType;
};

LogicalResult lowerToSerialLoops(ModuleOp module) {
  SmallVector<scf::ForallOp> loops;
  module.walk([&](scf::ForallOp op) { loops.push_back(op); });
  for (scf::ForallOp forall : loops) {
    IRRewriter rewriter(forall);
    if (forall.getRank() == 0) { // upstream expects a loop
      rewriter.eraseOp(forall.getTerminator());
      rewriter.inlineBlockBefore(forall.getBody(), forall);
      rewriter.eraseOp(forall);
      continue;
    }
    if (failed(scf::forallToForLoop(rewriter, forall)))
      return failure();
  }
  return success();
}

/// An alloca in a loop grows the stack in every iteration; a static one is hoisted to the entry of its stack block.
void hoistStackBuffers(func::FuncOp function) {
  SmallVector<memref::AllocaOp> buffers;
  function.walk([&](memref::AllocaOp op) {
    if (op->getNumOperands() == 0)
      buffers.push_back(op);
  });
  for (memref::AllocaOp buffer : llvm::reverse(buffers)) {
    Block &block = getStackBlock(buffer);
    buffer->moveBefore(&block, block.begin());
  }
}

struct OutlineParallelPass : public attn::impl::OutlineParallelPassBase<OutlineParallelPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(parallel ? Outliner(&getContext()).outlineAll(module) : lowerToSerialLoops(module)))
      return signalPassFailure();
    module.walk([](func::FuncOp function) { hoistStackBuffers(function); });
  }
};
} // namespace
