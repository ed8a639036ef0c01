//===- BindDestinations.cpp - attn-bind-destinations ----------------------===//
//
// Before: kernels (functions with attn.arguments) on tensors. After: kernels on memrefs without results. Tensors inside
// are bound to the memrefs, so that bufferisation computes results in place without copies.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ResultDestinations.h"
#include "attn/Conversion/Passes.h"
#include "attn/IR/Attn.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

namespace attn {
#define GEN_PASS_DEF_BINDDESTINATIONSPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// Most ops with one tensor.empty as their destination. Bufferisation compares all reads and writes of such ops
/// pairwise, and its time is cubic in their number.
static constexpr unsigned kMaxSharers = 16;

/// For linalg.generic ins(%x) outs(%x), the form of upstream's elementwise ops: if %x is an input that is not written,
/// and its values are not read through outs, replaces the destination by a tensor.empty.
static void detachInput(OpBuilder &b, BlockArgument argument) {
  for (OpOperand &use : llvm::make_early_inc_range(argument.getUses())) {
    auto op = dyn_cast<linalg::LinalgOp>(use.getOwner());
    if (!op || !op.isDpsInit(&use) || op.payloadUsesValueFromOperand(&use))
      continue;
    b.setInsertionPoint(op);
    use.set(createEmptyLike(b, argument));
  }
}

static MemRefType toMemRef(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

/// The argument into which each result is written: its existing destination, or a new one at the end.
static FailureOr<SmallVector<BlockArgument>> findDestinations(func::FuncOp kernel, ValueRange results,
                                                              ArrayRef<KernelArgument> descriptions) {
  SmallVector<BlockArgument> destinations;
  for (Value result : results) {
    BlockArgument argument = findArgumentOfResult(result, descriptions);
    if (!argument)
      argument = kernel.getBody().front().addArgument(toMemRef(result.getType()), kernel.getLoc());
    else if (const KernelArgument &input = descriptions[argument.getArgNumber()]; !input.isOutput)
      return kernel.emitOpError("expected a kernel to compute what it returns, found argument ")
             << argument.getArgNumber() << ", '" << input.name
             << "', which is left where ops that undo each other have folded";
    destinations.push_back(argument);
  }
  return destinations;
}

/// The arguments become memrefs, which the body reads as tensors.
static void bindArguments(OpBuilder &b, Block &entry, ArrayRef<KernelArgument> descriptions) {
  for (auto [argument, description] : llvm::zip(entry.getArguments(), descriptions)) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      continue;
    argument.setType(description.isStrided ? getStridedMemref(type) : toMemRef(type));
    auto tensor = bufferization::ToTensorOp::create(b, argument.getLoc(), type, argument, /*restrict=*/true,
                                                    /*writable=*/description.isOutput);
    argument.replaceAllUsesExcept(tensor.getResult(), tensor);
  }
}

/// A tile's buffers are its own. Where a tile is the whole problem, CSE merges its tensor.empty with that of an output.
static void splitTiles(OpBuilder &b, func::FuncOp function) {
  function.walk([&](scf::ForallOp forall) {
    llvm::SetVector<Value> used;
    getUsedValuesDefinedAbove(forall.getRegion(), used);
    b.setInsertionPointToStart(forall.getBody());
    for (Value value : used)
      if (auto empty = value.getDefiningOp<tensor::EmptyOp>())
        replaceAllUsesInRegionWith(value, b.clone(*empty)->getResult(0), forall.getRegion());
  });
}

/// In each block, kMaxSharers ops keep a tensor.empty as their common destination; the next kMaxSharers share a copy of
/// it. Neighbouring ops still share memory.
static void splitDestinations(OpBuilder &b, func::FuncOp function) {
  llvm::DenseMap<std::pair<Operation *, Block *>, std::pair<tensor::EmptyOp, unsigned>> sharers; // copy and users
  function.walk([&](DestinationStyleOpInterface op) {
    for (OpOperand &init : op.getDpsInitsMutable()) {
      auto empty = init.get().getDefiningOp<tensor::EmptyOp>();
      if (!empty)
        continue;
      auto &[copy, users] = sharers.try_emplace({empty, op->getBlock()}, empty, 0).first->second;
      if (users++ == kMaxSharers) {
        b.setInsertionPoint(op);
        copy = cast<tensor::EmptyOp>(b.clone(*empty));
        users = 1;
      }
      init.set(copy.getResult());
    }
  });
}

/// Gives two ops that write one slice of a tensor.empty, as left by CSE, a slice each: bufferisation would otherwise
/// allocate the second one inside a loop over tiles, where its size is known.
static void splitSlices(OpBuilder &b, func::FuncOp function) {
  llvm::DenseSet<Operation *> taken;
  function.walk([&](DestinationStyleOpInterface op) {
    for (OpOperand &init : op.getDpsInitsMutable()) {
      SmallVector<Operation *> chain; // a slice, possibly of slices, and the tensor.empty
      for (Operation *from = init.get().getDefiningOp(); from; from = from->getOperand(0).getDefiningOp()) {
        chain.push_back(from);
        if (!isa<tensor::ExtractSliceOp>(from))
          break;
      }
      bool isSlice = chain.size() > 1 && isa<tensor::EmptyOp>(chain.back());
      if (!isSlice || cast<ShapedType>(init.get().getType()).hasStaticShape() || taken.insert(chain.front()).second)
        continue;
      b.setInsertionPoint(op);
      IRMapping mapping;
      for (Operation *from : llvm::reverse(chain))
        b.clone(*from, mapping);
      init.set(mapping.lookup(init.get()));
    }
  });
}

/// Writes `result` to `destination`, and computes it there if it is computed in a separate empty tensor.
static void materialize(OpBuilder &b, Value result, Value destination) {
  while (auto expand = result.getDefiningOp<tensor::ExpandShapeOp>()) {
    SmallVector<ReassociationIndices> dims = expand.getReassociationIndices();
    if (!memref::CollapseShapeOp::isGuaranteedCollapsible(cast<MemRefType>(destination.getType()), dims))
      break;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(destination);
    result = expand.getSrc();
    destination = memref::CollapseShapeOp::create(b, expand.getLoc(), destination, dims);
  }
  // Upstream's eliminate-empty-tensors does this, but looks neither through reshapes and branches nor at slices of one
  // tensor.
  bool isMissed = isa_and_nonnull<tensor::CollapseShapeOp, tensor::InsertSliceOp>(result.getDefiningOp()) ||
                  skipViews(result).getDefiningOp<scf::IfOp>();
  if (tensor::EmptyOp empty = isMissed ? findEmptyOfResult(result) : nullptr) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(empty);
    auto buffer = bufferization::ToTensorOp::create(b, destination.getLoc(), empty.getType(), destination,
                                                    /*restrict=*/true, /*writable=*/true);
    empty.replaceAllUsesWith(buffer.getResult());
    empty.erase();
  }
  bufferization::MaterializeInDestinationOp::create(b, destination.getLoc(), /*result=*/Type(), result, destination,
                                                    /*restrict=*/true, /*writable=*/true);
}

static LogicalResult bindDestinations(func::FuncOp kernel) {
  if (!llvm::all_of(kernel.getResultTypes(), llvm::IsaPred<RankedTensorType>))
    return kernel.emitOpError("expected results that are tensors beside ") << kArgumentsAttr;
  Block &entry = kernel.getBody().front();
  SmallVector<KernelArgument> descriptions = getKernelArguments(kernel);
  if (descriptions.size() < entry.getNumArguments())
    return kernel.emitOpError("expected ") << kArgumentsAttr << " of " << entry.getNumArguments()
                                           << " arguments or more, found " << descriptions.size();
  OpBuilder b(kernel.getContext());
  auto terminator = cast<func::ReturnOp>(entry.getTerminator());
  for (auto [argument, description] : llvm::zip(entry.getArguments(), descriptions))
    if (!description.isOutput && isa<RankedTensorType>(argument.getType()))
      detachInput(b, argument);
  for (Value result : terminator.getOperands())
    if (!findArgumentOfResult(result, descriptions))
      ownDestination(b, result);
  for (auto branch : entry.getOps<scf::IfOp>())
    splitBranchDestinations(b, branch);
  FailureOr<SmallVector<BlockArgument>> destinations = findDestinations(kernel, terminator.getOperands(), descriptions);
  if (failed(destinations))
    return failure();
  // In the order of computation: one may be the destination of the next, and still has to be read.
  SmallVector<std::pair<Value, BlockArgument>> pairs;
  for (auto [result, destination] : llvm::zip_equal(terminator.getOperands(), *destinations))
    pairs.emplace_back(result, destination);
  llvm::stable_sort(pairs, [](const auto &lhs, const auto &rhs) {
    Operation *first = lhs.first.getDefiningOp(), *second = rhs.first.getDefiningOp();
    return second && (!first || (first != second && first->isBeforeInBlock(second)));
  });
  b.setInsertionPointToStart(&entry);
  bindArguments(b, entry, descriptions);
  b.setInsertionPoint(terminator);
  for (auto [result, destination] : pairs)
    if (result != destination) // without rows it stays as it is
      materialize(b, result, destination);
  func::ReturnOp::create(b, kernel.getLoc());
  terminator.erase();
  kernel.setFunctionType(b.getFunctionType(entry.getArgumentTypes(), {}));
  kernel.setResAttrsAttr(nullptr);
  if (kernel.getArgAttrsAttr())
    kernel.setAllArgAttrs(SmallVector<DictionaryAttr>(entry.getNumArguments(), b.getDictionaryAttr({})));
  return success();
}

/// Upstream's bufferisation assumes that any terminator with successors is a branch whose operands it knows.
static LogicalResult checkBranches(Operation *root) {
  WalkResult result = root->walk([](Operation *op) {
    bool passesTensors = llvm::any_of(op->getSuccessors(), [](Block *block) {
      return llvm::any_of(block->getArgumentTypes(), llvm::IsaPred<TensorType>);
    });
    if (!passesTensors || isa<BranchOpInterface>(op))
      return WalkResult::advance();
    op->emitOpError("expected a branch of a known dialect in front of a block that takes tensors; write cf.br or "
                    "cf.cond_br");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct BindDestinationsPass : public attn::impl::BindDestinationsPassBase<BindDestinationsPass> {
  void runOnOperation() override {
    if (failed(checkBranches(getOperation())))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      bool isOnTensors =
          llvm::any_of(function.getArgumentTypes(), llvm::IsaPred<RankedTensorType>) || function.getNumResults() > 0;
      if (function->hasAttr(kArgumentsAttr) && isOnTensors && failed(bindDestinations(function)))
        return signalPassFailure();
      OpBuilder b(&getContext());
      splitTiles(b, function);
      splitDestinations(b, function);
      splitSlices(b, function);
    }
  }
};
} // namespace
