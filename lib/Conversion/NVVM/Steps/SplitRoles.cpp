//===- SplitRoles.cpp - attn-split-roles ----------------------------------===//
//
// Before: kernels with a producer (attn-specialize-warps), whose ops are those of all warps. After: attn.warp_roles,
// with a region for each role. Both regions have the loops and branches of the kernel. The producer's has the copies of
// K and V, the consumers' has the other ops.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Warps/KernelTiles.h"
#include "Warps/Producer.h"
#include "attn/Conversion/Passes.h"
#include "attn/Support/Dialects.h"
#include "mlir/IR/Iterators.h"

namespace attn {
#define GEN_PASS_DEF_SPLITROLESPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

namespace {
/// Builds the program of one role at the builder's position. Stages replace tokens, and only consumers have tiles in
/// registers.
class RoleProgram {
public:
  RoleProgram(OpBuilder &b, bool isProducer) : b(b), isProducer(isProducer) {}

  void add(Operation &op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return add(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return add(branch);
    if (!has(op))
      return;
    Operation *clone = b.clone(op, mapping);
    if (auto order = dyn_cast<AwaitOrderOp>(clone))
      order.setByProducer(isProducer);
    if (auto wait = dyn_cast<WaitOp>(clone); wait && !wait.getStages().empty())
      wait.getTokensMutable().clear();
  }

private:
  bool has(Operation &op) {
    if (isa<AwaitOrderOp>(op))
      return true;
    auto copy = dyn_cast<CopyOp>(op);
    auto statistics = dyn_cast<CopyStatisticsOp>(op);
    if ((copy && copy.getTensorMap() && !storesTile(copy)) || (statistics && statistics.getByProducer()))
      return isProducer;
    bool isOfConsumers =
        isOfDialect<AttnDialect>(&op) || isa<gpu::BarrierOp>(op) || llvm::any_of(op.getResultTypes(), isInRegisters);
    return !(isProducer && isOfConsumers);
  }

  bool has(Type type) { return !isa<TokenType>(type) && !(isProducer && isInRegisters(type)); }

  SmallVector<Value> lookup(ValueRange values) {
    SmallVector<Value> found;
    for (Value value : values)
      if (has(value.getType()))
        found.push_back(mapping.lookupOrDefault(value));
    return found;
  }

  void map(ValueRange from, ValueRange to) {
    mapping.map(llvm::to_vector(llvm::make_filter_range(from, [&](Value value) { return has(value.getType()); })), to);
  }

  /// Clones the ops of `from`, including its yield.
  void fill(Block &to, Block &from) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&to);
    for (Operation &op : from.without_terminator())
      add(op);
    SmallVector<Value> results = lookup(from.getTerminator()->getOperands());
    if (!results.empty()) // else there is a yield
      scf::YieldOp::create(b, from.getTerminator()->getLoc(), results);
  }

  void add(scf::ForOp loop) {
    auto clone = scf::ForOp::create(b, loop.getLoc(), mapping.lookupOrDefault(loop.getLowerBound()),
                                    mapping.lookupOrDefault(loop.getUpperBound()),
                                    mapping.lookupOrDefault(loop.getStep()), lookup(loop.getInitArgs()));
    clone.setUnsignedCmp(loop.getUnsignedCmp());
    clone->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    mapping.map(loop.getInductionVar(), clone.getInductionVar());
    map(loop.getRegionIterArgs(), clone.getRegionIterArgs());
    fill(*clone.getBody(), *loop.getBody());
    map(loop.getResults(), clone.getResults());
  }

  void add(scf::IfOp branch) {
    SmallVector<Type> types =
        llvm::to_vector(llvm::make_filter_range(branch.getResultTypes(), [&](Type type) { return has(type); }));
    auto clone = scf::IfOp::create(b, branch.getLoc(), types, mapping.lookupOrDefault(branch.getCondition()),
                                   /*withElseRegion=*/branch.elseBlock() != nullptr);
    clone->setDiscardableAttrs(branch->getDiscardableAttrDictionary());
    fill(*clone.thenBlock(), *branch.thenBlock());
    if (branch.elseBlock())
      fill(*clone.elseBlock(), *branch.elseBlock());
    map(branch.getResults(), clone.getResults());
  }

  OpBuilder &b;
  IRMapping mapping;
  bool isProducer;
};
} // namespace

/// Erases positions and tiles of the other role.
static void eraseUnused(Region &role) {
  role.walk<WalkOrder::PostOrder, mlir::ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
}

static void splitRoles(gpu::GPUFuncOp kernel) {
  Block &body = kernel.getBody().front();
  // The loop over tiles, or the first op of a single tile.
  auto first = llvm::find_if(body, [](Operation &op) {
    if (isa<PassTurnOp, TakeTicketOp>(op)) // executed by all threads
      return false;
    auto isOfTile = [](Operation *inner) {
      return isOfDialect<AttnDialect>(inner) ? WalkResult::interrupt() : WalkResult::advance();
    };
    return op.walk(isOfTile).wasInterrupted();
  });
  SetVector<Value> tiles = findColumnTiles(kernel);
  kernel.walk([&](CopyOp copy) {
    if (copy.getTensorMap() && !storesTile(copy))
      tiles.insert(getRoot(copy.getOutput()));
  });
  kernel.walk([&](CopyStatisticsOp copy) {
    if (copy.getByProducer())
      tiles.insert(copy.getTile());
  });
  auto schedule = kernel->getAttrOfType<BlockAttr>(kScheduleAttr);
  OpBuilder b(&body, first);
  IntegerAttr ofProducer, ofConsumer;
  if (const RoleRegisters *registers = findRoleRegisters(schedule)) {
    ofProducer = b.getI64IntegerAttr(registers->ofProducer);
    ofConsumer = b.getI64IntegerAttr(registers->ofConsumer);
  }
  auto roles = WarpRolesOp::create(b, kernel.getLoc(), tiles.getArrayRef(), b.getI64IntegerAttr(schedule.getStages()),
                                   ofProducer, ofConsumer);
  auto ops = llvm::map_to_vector(llvm::make_range(first, body.getTerminator()->getIterator()),
                                 [](Operation &op) { return &op; });
  for (Region *region : {&roles.getProducer(), &roles.getConsumer()}) {
    b.setInsertionPointToStart(&region->emplaceBlock());
    RoleProgram program(b, region == &roles.getProducer());
    for (Operation *op : ops)
      program.add(*op);
    eraseUnused(*region);
  }
  for (Operation *op : llvm::reverse(ops))
    op->erase();
  Block &consumer = roles.getConsumer().front();
  for (PassTurnOp turn : llvm::make_early_inc_range(body.getOps<PassTurnOp>()))
    turn->moveBefore(&consumer, consumer.begin());
}

namespace {
struct SplitRolesPass : public attn::impl::SplitRolesPassBase<SplitRolesPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      bool isSplit = !kernel.getBody().front().getOps<WarpRolesOp>().empty();
      if (hasProducer(kernel) && !isSplit)
        splitRoles(kernel);
    }
  }
};
} // namespace
