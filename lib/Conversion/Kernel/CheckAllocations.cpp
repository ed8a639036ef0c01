//===- CheckAllocations.cpp - attn-check-allocations ----------------------===//
//
// Before: kernels on the LLVM dialect, and their callees, with unchecked calls of malloc. After: if a call fails, the
// function frees its memory and returns, and the kernel returns ATTN_NO_MEMORY.
//
// A function with such a call has a status: a variable in a kernel, an additional argument in a callee. The body of a
// parallel loop finds the address of its kernel's status before its context.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn-c/attn.h"
#include "attn/Conversion/Passes.h"
#include "attn/IR/Attn.h"
#include "attn/Support/CNames.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"

namespace attn {
#define GEN_PASS_DEF_CHECKALLOCATIONSPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using LLVM::LLVMFuncOp;

static constexpr StringLiteral kMalloc = "malloc", kFree = "free", kParallelFor = "attn_parallel_for";

static bool isCallOf(Operation *op, StringRef name) {
  auto call = dyn_cast_or_null<LLVM::CallOp>(op);
  return call && call.getCallee() == name;
}

/// The value inserted at this position of a structure; the value itself if that is unknown.
static Value lookThrough(Value value) {
  auto extract = value.getDefiningOp<LLVM::ExtractValueOp>();
  if (!extract)
    return value;
  for (Value from = extract.getContainer(); auto insert = from.getDefiningOp<LLVM::InsertValueOp>();
       from = insert.getContainer())
    if (insert.getPosition() == extract.getPosition())
      return lookThrough(insert.getValue());
  return value;
}

namespace {

/// The kernels of a module, and functions called only by them, that allocate memory or run functions that do.
class Allocators {
public:
  explicit Allocators(ModuleOp module) : users(tables, module) {
    module.walk([&](LLVM::CallOp call) {
      if (isCallOf(call, kMalloc))
        add(call->getParentOfType<LLVMFuncOp>());
    });
    for (size_t i = 0; i < functions.size(); ++i)
      for (Operation *user : users.getUsers(functions[i]))
        add(user->getParentOfType<LLVMFuncOp>());
    while (functions.remove_if([&](LLVMFuncOp function) { return !isKernel(function) && !isInternal(function); }))
      ;
  }

  static bool isKernel(LLVMFuncOp function) { return function->hasAttr(kArgumentsAttr); }
  /// The body of a parallel loop.
  bool isBody(LLVMFuncOp function) const {
    return llvm::any_of(users.getUsers(function), llvm::IsaPred<LLVM::AddressOfOp>);
  }
  ArrayRef<LLVMFuncOp> getFunctions() const { return functions.getArrayRef(); }
  /// The function that an op runs, if any: by a call, or as the body of a parallel loop.
  LLVMFuncOp getRun(LLVM::CallOp call) {
    LLVMFuncOp run = tables.lookupNearestSymbolFrom<LLVMFuncOp>(call, call.getCalleeAttr());
    if (isCallOf(call, kParallelFor)) {
      auto address = call.getArgOperands().front().getDefiningOp<LLVM::AddressOfOp>();
      run = address ? address.getFunction(tables) : LLVMFuncOp();
    }
    return run && functions.contains(run) ? run : LLVMFuncOp();
  }

private:
  void add(LLVMFuncOp function) {
    if (function)
      functions.insert(function);
  }

  /// True if only these functions run it, and it is either called or the body of parallel loops.
  bool isInternal(LLVMFuncOp function) {
    bool isOfLoops = isBody(function);
    return function.getLinkage() == LLVM::Linkage::Internal &&
           llvm::all_of(users.getUsers(function), [&](Operation *user) {
             auto parent = user->getParentOfType<LLVMFuncOp>();
             if (!parent || !functions.contains(parent))
               return false;
             if (isOfLoops)
               return isa<LLVM::AddressOfOp>(user) && llvm::all_of(user->getUses(), [](OpOperand &use) {
                        return isCallOf(use.getOwner(), kParallelFor) && use.getOperandNumber() == 0;
                      });
             return isa<LLVM::CallOp>(user);
           });
  }

  SymbolTableCollection tables;
  SymbolUserMap users;
  llvm::SetVector<LLVMFuncOp> functions;
};

/// Rewrites one of these functions.
class FunctionChecks {
public:
  FunctionChecks(LLVMFuncOp function, Allocators &allocators)
      : function(function), allocators(allocators), loc(function.getLoc()), b(function.getContext()),
        pointer(LLVM::LLVMPointerType::get(b.getContext())), i32(b.getI32Type()), i64(b.getI64Type()) {}

  void run() {
    SmallVector<LLVM::CallOp> allocations, runs;
    function.walk([&](LLVM::CallOp call) {
      if (isCallOf(call, kMalloc))
        allocations.push_back(call);
      else if (allocators.getRun(call))
        runs.push_back(call);
    });
    Block *exit = b.createBlock(&function.getBody(), function.getBody().end());
    b.setInsertionPointToStart(&function.getBody().front());
    createStatus();
    createSlots(allocations);
    for (LLVM::CallOp call : runs)
      passStatus(call);
    for (auto [i, call] : llvm::enumerate(allocations))
      checkAllocation(call, i, exit);
    for (LLVM::CallOp call : runs)
      checkRun(call, exit);
    createExit(exit);
  }

private:
  Value number(Type type, int64_t value) {
    return LLVM::ConstantOp::create(b, loc, type, b.getIntegerAttr(type, value));
  }
  Value addressOf(Type type, Value base, ArrayRef<LLVM::GEPArg> indices) {
    return LLVM::GEPOp::create(b, loc, pointer, type, base, indices);
  }
  /// What a parallel loop passes to its body instead of the context: {context, address of the status}.
  Type getPairType() { return LLVM::LLVMStructType::getLiteral(b.getContext(), {pointer, pointer}); }

  void createStatus() {
    Block &entry = function.getBody().front();
    if (Allocators::isKernel(function)) {
      status = LLVM::AllocaOp::create(b, loc, pointer, i32, number(i64, 1));
      LLVM::StoreOp::create(b, loc, number(i32, ATTN_OK), status);
    } else if (allocators.isBody(function)) {
      Value pair = entry.getArgument(0);
      Value address = addressOf(getPairType(), pair, {0, 0});
      Value context = LLVM::LoadOp::create(b, loc, pointer, address);
      pair.replaceAllUsesExcept(context, address.getDefiningOp());
      status = LLVM::LoadOp::create(b, loc, pointer, addressOf(getPairType(), pair, {0, 1}));
    } else {
      LLVM::LLVMFunctionType type = function.getFunctionType();
      SmallVector<Type> types(type.getParams());
      types.push_back(pointer);
      function.setFunctionType(LLVM::LLVMFunctionType::get(type.getReturnType(), types, type.isVarArg()));
      if (ArrayAttr attributes = function.getArgAttrsAttr()) {
        SmallVector<Attribute> all(attributes.getValue());
        all.push_back(b.getDictionaryAttr({}));
        function.setArgAttrsAttr(b.getArrayAttr(all));
      }
      status = entry.addArgument(pointer, loc);
    }
  }

  /// One slot per allocation, null before it and after it is freed. If a freed pointer may be any of several
  /// allocations, the function's memory leaks on failure.
  void createSlots(ArrayRef<LLVM::CallOp> allocations) {
    SmallVector<std::pair<LLVM::CallOp, int64_t>> freed;
    bool areKnown = true;
    function.walk([&](LLVM::CallOp call) {
      if (!isCallOf(call, kFree))
        return;
      auto *found = llvm::find(allocations, lookThrough(call.getArgOperands().front()).getDefiningOp<LLVM::CallOp>());
      areKnown &= found != allocations.end();
      freed.emplace_back(call, found - allocations.begin());
    });
    // A returned allocation belongs to the caller, but then the function has succeeded.
    if (!areKnown || freed.empty())
      return;
    numSlots = allocations.size();
    slotsType = LLVM::LLVMArrayType::get(pointer, numSlots);
    slots = LLVM::AllocaOp::create(b, loc, pointer, slotsType, number(i64, 1));
    // The size of the array is that of a null pointer's second element: pointers have 4 or 8 bytes.
    Value size =
        LLVM::PtrToIntOp::create(b, loc, i64, addressOf(slotsType, LLVM::ZeroOp::create(b, loc, pointer), {1}));
    LLVM::MemsetOp::create(b, loc, slots, number(b.getI8Type(), 0), size, /*isVolatile=*/false);
    OpBuilder::InsertionGuard guard(b);
    for (auto [call, slot] : freed) {
      b.setInsertionPointAfter(call);
      LLVM::StoreOp::create(b, loc, LLVM::ZeroOp::create(b, loc, pointer), addressOf(slotsType, slots, {0, int(slot)}));
    }
  }

  /// Splits the block after `op`: branches to `exit` if the condition holds, through `refuse` if that is given.
  void branchAfter(Operation *op, llvm::function_ref<Value()> build, Block *exit) {
    b.setInsertionPointAfter(op);
    Value isRefused = build();
    Block *block = b.getInsertionBlock(), *next = block->splitBlock(b.getInsertionPoint());
    b.setInsertionPointToEnd(block);
    LLVM::CondBrOp::create(b, loc, isRefused, exit, next);
  }

  void checkAllocation(LLVM::CallOp call, int64_t slot, Block *exit) {
    Block *refuse = b.createBlock(exit);
    // Other threads may write the same value.
    LLVM::StoreOp::create(b, loc, number(i32, ATTN_NO_MEMORY), status, /*alignment=*/sizeof(int32_t),
                          /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariantGroup=*/false,
                          LLVM::AtomicOrdering::monotonic);
    LLVM::BrOp::create(b, loc, exit);
    branchAfter(
        call,
        [&]() -> Value {
          if (slots)
            LLVM::StoreOp::create(b, loc, call.getResult(), addressOf(slotsType, slots, {0, int(slot)}));
          return LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, call.getResult(),
                                      LLVM::ZeroOp::create(b, loc, pointer));
        },
        refuse);
  }

  void passStatus(LLVM::CallOp call) {
    if (!isCallOf(call, kParallelFor))
      return call.getCalleeOperandsMutable().append(status);
    Value pair = LLVM::AllocaOp::create(b, loc, pointer, getPairType(), number(i64, 1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(call);
    OpOperand &context = call.getCalleeOperandsMutable()[1];
    LLVM::StoreOp::create(b, loc, context.get(), addressOf(getPairType(), pair, {0, 0}));
    LLVM::StoreOp::create(b, loc, status, addressOf(getPairType(), pair, {0, 1}));
    context.set(pair);
  }

  Value loadStatus() {
    return LLVM::LoadOp::create(b, loc, i32, status, /*alignment=*/sizeof(int32_t), /*isVolatile=*/false,
                                /*isNonTemporal=*/false, /*isInvariant=*/false, /*isInvariantGroup=*/false,
                                LLVM::AtomicOrdering::monotonic);
  }

  void checkRun(LLVM::CallOp call, Block *exit) {
    branchAfter(
        call,
        [&]() -> Value {
          return LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, loadStatus(), number(i32, ATTN_OK));
        },
        exit);
  }

  /// for (slot in slots) free(slot); return
  void createExit(Block *exit) {
    b.setInsertionPointToEnd(exit);
    if (slots) {
      Block *loop = b.createBlock(&function.getBody(), function.getBody().end(), i64, loc),
            *end = b.createBlock(&function.getBody(), function.getBody().end());
      b.setInsertionPointToEnd(exit);
      LLVM::BrOp::create(b, loc, number(i64, 0), loop);
      b.setInsertionPointToEnd(loop);
      Value slot = LLVM::LoadOp::create(b, loc, pointer, addressOf(slotsType, slots, {0, loop->getArgument(0)}));
      LLVM::CallOp::create(b, loc, TypeRange(), kFree, slot);
      Value next = LLVM::AddOp::create(b, loc, loop->getArgument(0), number(i64, 1));
      Value isLess = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::slt, next, number(i64, numSlots));
      LLVM::CondBrOp::create(b, loc, isLess, loop, next, end, ValueRange());
      b.setInsertionPointToEnd(end);
    }
    Type result = function.getFunctionType().getReturnType();
    if (isa<LLVM::LLVMVoidType>(result))
      LLVM::ReturnOp::create(b, loc, ValueRange());
    else if (Allocators::isKernel(function))
      LLVM::ReturnOp::create(b, loc, loadStatus());
    else // not read
      LLVM::ReturnOp::create(b, loc, LLVM::PoisonOp::create(b, loc, result).getResult());
  }

  LLVMFuncOp function;
  Allocators &allocators;
  Location loc;
  OpBuilder b;
  Type pointer, i32, i64, slotsType;
  Value status, slots;
  int64_t numSlots = 0;
};

struct CheckAllocationsPass : public attn::impl::CheckAllocationsPassBase<CheckAllocationsPass> {
  void runOnOperation() override {
    auto kernels = llvm::make_filter_range(getOperation().getOps<LLVMFuncOp>(), Allocators::isKernel);
    auto hasEntry = [&](LLVMFuncOp kernel) {
      return getOperation().lookupSymbol(getCheckedName(kernel.getName())) != nullptr;
    };
    if (kernels.empty() || llvm::any_of(kernels, hasEntry))
      return;
    // An unregistered op with a region may use any symbol.
    if (!SymbolTable::getSymbolUses(&getOperation().getBodyRegion())) {
      getOperation().emitError("expected registered ops beside kernels, found one with a region that is not; lower it "
                               "first");
      return signalPassFailure();
    }
    Allocators allocators(getOperation());
    for (LLVMFuncOp function : allocators.getFunctions())
      FunctionChecks(function, allocators).run();
  }
};
} // namespace
