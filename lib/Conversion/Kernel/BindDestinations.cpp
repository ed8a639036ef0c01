//===- BindDestinations.cpp - attn-bind-destinations ----------------------===//
//
// Before: kernels (functions with attn.arguments) on tensors. After: the same on
// memrefs without results; tensors inside are bound to them, so bufferisation
// computes results in place and copies nothing.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Conversion/Kernels.h"
#include "attn/Conversion/Passes.h"
#include "attn/IR/Attn.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace attn {
#define GEN_PASS_DEF_BINDDESTINATIONSPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// How many ops may have one tensor.empty as their destination. Bufferisation compares all that such ops read and
/// write with each other, and takes the third power of their number.
static constexpr unsigned kMaxSharers = 16;

static bool isView(Operation *op) { return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op); }

/// The operand in whose place `value` is, written by its op or seen as another shape; null where there is none.
static OpOperand *getDestinationOperand(Value value) {
  Operation *op = value.getDefiningOp();
  if (isView(op))
    return &op->getOpOperand(0);
  if (auto dps = dyn_cast<DestinationStyleOpInterface>(op))
    return dps.getTiedOpOperand(cast<OpResult>(value));
  auto loop = dyn_cast<LoopLikeOpInterface>(op);
  return loop ? loop.getTiedLoopInit(cast<OpResult>(value)) : nullptr;
}

/// The value outside of `branch` in whose place both its regions compute their result of that number; null where there
/// is none.
static Value getBranchDestination(scf::IfOp branch, unsigned number) {
  Value common;
  for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
    if (region->empty())
      return {};
    Value value = region->front().getTerminator()->getOperand(number);
    while (value && region->isAncestor(value.getParentRegion())) {
      Operation *op = value.getDefiningOp();
      if (!op)
        return {};
      if (auto inner = dyn_cast<scf::IfOp>(op))
        value = getBranchDestination(inner, cast<OpResult>(value).getResultNumber());
      else if (auto castOp = dyn_cast<tensor::CastOp>(op))
        value = castOp.getSource();
      else if (OpOperand *destination = getDestinationOperand(value))
        value = destination->get();
      else
        return {};
    }
    if (!value || (common && common != value))
      return {};
    common = value;
  }
  return common;
}

/// True where nothing outside of `branch` uses `tensor`, but for its sizes.
static bool isUsedOnlyIn(scf::IfOp branch, Value tensor) {
  return llvm::all_of(tensor.getUsers(),
                      [&](Operation *user) { return isa<tensor::DimOp>(user) || branch->isProperAncestor(user); });
}

/// True where one result of `branch` alone is computed in `tensor`: CSE leaves one tensor.empty of equal types.
static bool isOfOneResult(scf::IfOp branch, Value tensor) {
  return llvm::count_if(llvm::seq<unsigned>(0, branch.getNumResults()),
                        [&](unsigned number) { return getBranchDestination(branch, number) == tensor; }) == 1;
}

/// Lets what `use` takes be computed in `to` where it is computed in `from`, in both regions of a branch.
static void moveDestination(OpBuilder &b, OpOperand &use, Value from, Value to) {
  OpOperand *operand = &use;
  while (Operation *op = operand->get().getDefiningOp()) {
    if (operand->get() == from)
      return operand->set(to);
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      unsigned number = cast<OpResult>(operand->get()).getResultNumber();
      for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
        moveDestination(b, region->front().getTerminator()->getOpOperand(number), from, to);
      return;
    }
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
      if (slice.getSource() != from)
        return;
      b.setInsertionPoint(op);
      IRMapping mapping;
      mapping.map(from, to);
      return operand->set(b.clone(*op, mapping)->getResult(0));
    }
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
      moveDestination(b, insert.getSourceMutable(), from, to);
    operand = isa<tensor::CastOp>(op) ? &op->getOpOperand(0) : getDestinationOperand(operand->get());
    if (!operand)
      return;
  }
}

/// Each result of `branch` gets a tensor.empty of its own to be computed in.
static void splitBranchDestinations(OpBuilder &b, scf::IfOp branch) {
  for (unsigned number = 0; number < branch.getNumResults(); ++number) {
    Value common = getBranchDestination(branch, number);
    if (!common || !common.getDefiningOp<tensor::EmptyOp>() || isOfOneResult(branch, common))
      continue;
    b.setInsertionPoint(common.getDefiningOp());
    Value own = b.clone(*common.getDefiningOp())->getResult(0);
    for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
      moveDestination(b, region->front().getTerminator()->getOpOperand(number), common, own);
  }
}

/// A loop of one tile has folded away: the tile is a slice of the tensor that it is inserted into. Another insertion
/// would be that of another result.
static bool isSlicedTile(Value tensor) {
  auto isOfTile = llvm::IsaPred<tensor::ExtractSliceOp, tensor::InsertSliceOp>;
  return llvm::all_of(tensor.getUsers(), isOfTile) &&
         llvm::count_if(tensor.getUsers(), llvm::IsaPred<tensor::InsertSliceOp>) == 1;
}

/// The tensor.empty of the result's own type that it is computed in, through reshapes that are views; null where there
/// is none, or where something else uses it.
static tensor::EmptyOp findEmptyOfResult(Value result) {
  Value value = result;
  scf::IfOp branch;
  while (value && value.getDefiningOp()) {
    if (auto inner = value.getDefiningOp<scf::IfOp>()) {
      branch = inner;
      value = getBranchDestination(inner, cast<OpResult>(value).getResultNumber());
      continue;
    }
    OpOperand *destination = getDestinationOperand(value);
    if (!destination)
      break;
    value = destination->get();
  }
  auto empty = value ? value.getDefiningOp<tensor::EmptyOp>() : tensor::EmptyOp();
  if (!empty || empty.getType() != result.getType())
    return nullptr;
  if (branch)
    return isUsedOnlyIn(branch, empty) && isOfOneResult(branch, empty) ? empty : nullptr;
  return isSlicedTile(empty) || empty->hasOneUse() ? empty : nullptr;
}

/// A tensor.empty of the type of `value`.
static Value createEmptyLike(OpBuilder &b, Value value) {
  return tensor::EmptyOp::create(b, value.getLoc(), tensor::getMixedSizes(b, value.getLoc(), value),
                                 getElementTypeOrSelf(value));
}

/// linalg.generic ins(%x) outs(%x), as upstream writes elementwise ops: where %x is an input, which is not written, and
/// its values are not read through outs, the destination becomes a tensor.empty.
static void detachInput(OpBuilder &b, BlockArgument argument) {
  for (OpOperand &use : llvm::make_early_inc_range(argument.getUses())) {
    auto op = dyn_cast<linalg::LinalgOp>(use.getOwner());
    if (!op || !op.isDpsInit(&use) || op.payloadUsesValueFromOperand(&use))
      continue;
    b.setInsertionPoint(op);
    use.set(createEmptyLike(b, argument));
  }
}

/// What a result is computed in becomes its own, back to the tensor.empty where it starts. A destination is a value and
/// no place: two ops may have the same one, or it may be returned as well. With a shared one, another value could be
/// computed in the argument that the result is bound to, and be overwritten when the result is materialised, which
/// bufferisation does not see: it is promised that nothing else is in that argument.
static void ownDestination(OpBuilder &b, Value result) {
  Value value = result;
  while (Operation *op = value.getDefiningOp()) {
    OpOperand *destination = getDestinationOperand(value);
    if (!destination)
      return;
    Value old = destination->get();
    b.setInsertionPoint(op);
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    auto dps = dyn_cast<DestinationStyleOpInterface>(op);
    auto isOther = [&](OpOperand &use) {
      if (use.getOwner() == op) // another of its destinations
        return &use != destination && (!dps || dps.isDpsInit(&use));
      return !isa<tensor::DimOp>(use.getOwner());
    };
    if (llvm::none_of(old.getUses(), isOther) || isSlicedTile(old)) {
      value = old;
    } else if (Operation *start = old.getDefiningOp(); isa_and_nonnull<tensor::EmptyOp, linalg::FillOp>(start)) {
      destination->set(b.clone(*start)->getResult(0));
      value = destination->get();
    } else if (linalgOp && !linalgOp.payloadUsesValueFromOperand(destination)) {
      return destination->set(createEmptyLike(b, old));
    } else {
      auto copy = linalg::CopyOp::create(b, op->getLoc(), old, createEmptyLike(b, old));
      return destination->set(copy->getResult(0));
    }
  }
}

static MemRefType toMemRef(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

/// The argument that is the destination of a result; also one that is an output and that loops carry, or in which both
/// branches compute the result. Null where there is none.
static BlockArgument findArgumentOfResult(Value result, ArrayRef<KernelArgument> descriptions) {
  Value value = getDestination(result);
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument;
  while (value && value.getDefiningOp()) {
    Operation *op = value.getDefiningOp();
    OpOperand *destination = getDestinationOperand(value);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      value = getBranchDestination(branch, cast<OpResult>(value).getResultNumber());
    else
      value = destination ? destination->get() : Value();
  }
  auto argument = dyn_cast_or_null<BlockArgument>(value);
  bool isOutput = argument && argument.getType() == result.getType() && descriptions[argument.getArgNumber()].isOutput;
  return isOutput ? argument : BlockArgument();
}

/// Where each result goes: an argument that is its destination already, or a new one at the end.
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

/// Of each block, kMaxSharers ops keep a tensor.empty that they share as their destination; as many after them share a
/// copy of it. What follows each other still shares memory.
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

/// Two ops that write one slice of a tensor.empty, as CSE leaves it, get a slice each: bufferisation would allocate the
/// second one where its size is known, in a loop over tiles.
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

/// Writes `result` to `destination`, and computes it there where it is computed in an empty tensor of its own.
static void materialize(OpBuilder &b, Value result, BlockArgument destination) {
  // Upstream's eliminate-empty-tensors does this, but looks neither through reshapes and branches nor at slices of one
  // tensor.
  Value viewed = result;
  while (viewed.getDefiningOp() && isView(viewed.getDefiningOp()))
    viewed = viewed.getDefiningOp()->getOperand(0);
  bool isMissed = isa_and_nonnull<tensor::CollapseShapeOp, tensor::InsertSliceOp>(result.getDefiningOp()) ||
                  viewed.getDefiningOp<scf::IfOp>();
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
  // In the order in which they are computed: one may be the destination of the next, and is still to be read.
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
    if (result != destination) // there are no rows, and it stays as it is
      materialize(b, result, destination);
  func::ReturnOp::create(b, kernel.getLoc());
  terminator.erase();
  kernel.setFunctionType(b.getFunctionType(entry.getArgumentTypes(), {}));
  kernel.setResAttrsAttr(nullptr);
  if (kernel.getArgAttrsAttr())
    kernel.setAllArgAttrs(SmallVector<DictionaryAttr>(entry.getNumArguments(), b.getDictionaryAttr({})));
  return success();
}

/// Upstream's bufferisation takes whatever ends a block in front of others for a branch whose operands it knows.
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
      splitDestinations(b, function);
      splitSlices(b, function);
    }
  }
};
} // namespace
