//===- MemrefToTensor.cpp - attn-memref-to-tensor -------------------------===//
//
// Before: attn ops on memrefs, as in bufferised pipelines. After: the same ops on tensors. Each tensor is read before
// its op and written after it, so that other ops see the same memory. Between two attn ops of a block, the tensor
// itself is used if there is no other write in between. So no op of a chain moves across a write that bufferisation,
// which assumes buffers are distinct, could not see.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
#include "attn/Support/Dialects.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/MapVector.h"

namespace attn {
#define GEN_PASS_DEF_MEMREFTOTENSORPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// Ops of tiles are on memrefs only after bufferisation.
static bool isOnMemrefs(Operation *op) {
  if (!isOfDialect<AttnDialect>(op) ||
      isa<InitStateOp, OnlineStepOp, MergeStatesOp, FinalizeOp, PackOp, PackBytesOp>(op))
    return false;
  auto dps = dyn_cast<DestinationStyleOpInterface>(op);
  return dps && dps.hasPureBufferSemantics();
}

/// The memref at the root of a view.
static Value getRoot(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>()) {
    if (!isa<MemRefType>(view.getViewSource().getType()))
      break;
    memref = view.getViewSource();
  }
  return memref;
}

static bool isAllocation(Value root) {
  return isa_and_nonnull<memref::AllocOp, memref::AllocaOp>(root.getDefiningOp());
}

/// Arguments of a function do not overlap, as for its C entry.
static bool isArgument(Value root) {
  auto argument = dyn_cast<BlockArgument>(root);
  return argument && isa<FunctionOpInterface>(argument.getOwner()->getParentOp()) &&
         argument.getOwner()->isEntryBlock();
}

static bool mayOverlap(Value memref, Value other) {
  Value root = getRoot(memref), otherRoot = getRoot(other);
  auto isPlace = [](Value value) { return isAllocation(value) || isArgument(value); };
  return root == otherRoot || !isPlace(root) || !isPlace(otherRoot);
}

static bool mayWrite(Operation *op) {
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = getEffectsRecursively(op);
  return !effects || llvm::any_of(*effects, [](const MemoryEffects::EffectInstance &effect) {
    return isa<MemoryEffects::Write, MemoryEffects::Free>(effect.getEffect());
  });
}

/// Kernels read the innermost dimension of their operands as vectors.
static bool isContiguous(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return type.getRank() == 0 || type.getShape().back() == 1 ||
         (succeeded(type.getStridesAndOffset(strides, offset)) && strides.back() == 1);
}

namespace {

/// Converts the ops of one block.
class BlockConverter {
public:
  explicit BlockConverter(MLIRContext *context) : rewriter(context) {}

  LogicalResult convert(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (!isOnMemrefs(&op)) {
        if (mayWrite(&op))
          contents.clear();
      } else if (failed(convert(cast<DestinationStyleOpInterface>(op)))) {
        return failure();
      }
    }
    return success();
  }

private:
  /// The tensor value of a memref.
  struct Content {
    Value tensor;
    bool isResult = false; ///< true for an attn op, false for a read
  };

  /// The contents of `memref` at the insertion point.
  Value read(Value memref) {
    Content &content = contents[memref];
    if (content.tensor)
      return content.tensor;
    auto type = cast<MemRefType>(memref.getType());
    content.tensor = bufferization::ToTensorOp::create(
        rewriter, memref.getLoc(), RankedTensorType::get(type.getShape(), type.getElementType()), memref,
        /*restrict=*/true, /*writable=*/false);
    if (!isContiguous(type))
      content.tensor = bufferization::AllocTensorOp::create(
          rewriter, memref.getLoc(), cast<RankedTensorType>(content.tensor.getType()), ValueRange(), content.tensor);
    return content.tensor;
  }

  void write(Value result, Value memref) {
    bufferization::MaterializeInDestinationOp::create(rewriter, result.getLoc(), /*result=*/Type(), result, memref,
                                                      /*restrict=*/true, /*writable=*/true);
    contents.remove_if([&](const auto &entry) { return mayOverlap(entry.first, memref); });
  }

  /// Reads of buffers in the regions of `op` become reads of tensors.
  void convertCaptures(Operation *op) {
    SmallVector<memref::LoadOp> loads;
    op->walk([&](memref::LoadOp load) {
      if (!op->isAncestor(load.getMemref().getParentBlock()->getParentOp()))
        loads.push_back(load);
    });
    for (memref::LoadOp load : loads) {
      Value tensor = read(load.getMemref());
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPoint(load);
      rewriter.replaceOpWithNewOp<tensor::ExtractOp>(load, tensor, load.getIndices());
    }
  }

  LogicalResult convert(DestinationStyleOpInterface op) {
    for (Value operand : op->getOperands())
      if (auto type = dyn_cast<MemRefType>(operand.getType()); type && type.getMemorySpace())
        return op->emitOpError("expected memrefs of the default memory space, found ")
               << type << "; copy it to one of that";
    rewriter.setInsertionPoint(op);
    convertCaptures(op);
    SmallVector<Value> operands, memrefs;
    SmallVector<Type> types;
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      bool isBuffer = isa<MemRefType>(value.getType());
      operands.push_back(isBuffer ? read(value) : value);
      if (!isBuffer || !op.isDpsInit(&operand))
        continue;
      memrefs.push_back(value);
      types.push_back(operands.back().getType());
      if (auto tensor = operands.back().getDefiningOp<bufferization::ToTensorOp>())
        tensor.setWritable(true);
    }
    OperationState state(op->getLoc(), op->getName(), operands, types, op->getAttrs());
    for (Region &region : op->getRegions())
      state.addRegion()->takeBody(region);
    Operation *onTensors = rewriter.create(state);
    contents.remove_if([](const auto &entry) { return entry.second.isResult; });
    for (auto [result, memref] : llvm::zip_equal(onTensors->getResults(), memrefs))
      write(result, memref);
    for (auto [result, memref] : llvm::zip_equal(onTensors->getResults(), memrefs))
      contents[memref] = {result, /*isResult=*/true};
    rewriter.eraseOp(op);
    return success();
  }

  IRRewriter rewriter;
  llvm::MapVector<Value, Content> contents;
};

} // namespace

/// True where a tensor is only the destination of a result that overwrites all of it.
static bool isDestination(OpOperand &use) {
  auto dps = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
  return dps && isStructuredOp(dps) && dps.isDpsInit(&use) && !readsInit(use);
}

/// Removes the writes to an allocation that is never read, and computes their values in an empty tensor.
static void dropUnreadAllocation(Operation *allocation) {
  Value memref = allocation->getResult(0);
  for (Operation *user : memref.getUsers()) {
    auto tensor = dyn_cast<bufferization::ToTensorOp>(user);
    if (!isa<bufferization::MaterializeInDestinationOp, memref::DeallocOp, memref::DimOp>(user) &&
        !(tensor && llvm::all_of(tensor->getUses(), isDestination)))
      return;
  }
  IRRewriter rewriter(allocation->getContext());
  auto computeInEmpty = [&](Value held) {
    for (OpOperand &use : llvm::make_early_inc_range(held.getUses())) {
      if (!isDestination(use))
        continue;
      rewriter.setInsertionPoint(use.getOwner());
      SmallVector<OpFoldResult> sizes = memref::getMixedSizes(rewriter, use.getOwner()->getLoc(), memref);
      use.set(tensor::EmptyOp::create(rewriter, use.getOwner()->getLoc(), sizes, getElementTypeOrSelf(memref)));
    }
  };
  for (Operation *user : llvm::make_early_inc_range(memref.getUsers())) {
    if (auto tensor = dyn_cast<bufferization::ToTensorOp>(user))
      computeInEmpty(tensor.getResult());
    else if (auto write = dyn_cast<bufferization::MaterializeInDestinationOp>(user))
      computeInEmpty(write.getSource());
    if (!isa<memref::DimOp>(user))
      rewriter.eraseOp(user);
  }
  if (memref.use_empty())
    rewriter.eraseOp(allocation);
}

LogicalResult attn::convertMemrefsToTensors(Operation *root) {
  llvm::SetVector<Block *> blocks;
  SmallVector<Operation *> allocations;
  root->walk([&](Operation *op) {
    if (isOnMemrefs(op))
      blocks.insert(op->getBlock());
  });
  for (Block *block : blocks)
    if (failed(BlockConverter(root->getContext()).convert(*block)))
      return failure();
  if (!blocks.empty())
    root->walk([&](Operation *op) {
      if (isa<memref::AllocOp, memref::AllocaOp>(op))
        allocations.push_back(op);
    });
  llvm::for_each(allocations, dropUnreadAllocation);
  return success();
}

namespace {
struct MemrefToTensorPass : public attn::impl::MemrefToTensorPassBase<MemrefToTensorPass> {
  void runOnOperation() override {
    // A kernel that an earlier run has described and bufferised stays as it is.
    if (!getOperation()->hasAttr(kArgumentsAttr) && failed(convertMemrefsToTensors(getOperation())))
      signalPassFailure();
  }
};
} // namespace
