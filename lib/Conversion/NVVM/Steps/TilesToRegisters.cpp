//===- TilesToRegisters.cpp - attn-tiles-to-registers ---------------------===//
//
// Before: kernels whose scores, weights, states and sums are buffers from bufferisation. After: they are tensors with
// the encoding #attn.registers, which loops and branches carry. It promotes stack slots to values (mem2reg) for
// structured control flow: an op returns the buffer that it writes, and a loop or branch yields the buffers written in
// it.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PipelineCopies.h"
#include "attn/Conversion/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace attn {
#define GEN_PASS_DEF_TILESTOREGISTERSPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

static bool isTileOp(Operation *op) { return isStructuredOp(op) || isa<linalg::FillOp>(op); }

/// True where ops read and write all of `buffer`, or read a slice of it.
static bool isUsedAsTile(Value buffer) {
  return llvm::all_of(buffer.getUsers(), [](Operation *user) {
    auto slice = dyn_cast<memref::SubViewOp>(user);
    return isTileOp(user) || (slice && llvm::all_of(slice->getUses(), [](OpOperand &use) {
                                auto reader = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
                                return reader && isTileOp(reader) && !reader.isDpsInit(&use);
                              }));
  });
}

/// Rebuilds `op` on tiles with other operands and with results. Its regions move.
static Operation *rebuild(OpBuilder &b, Operation *op, ValueRange operands, TypeRange results) {
  Operation *rebuilt =
      b.insert(Operation::create(op->getLoc(), op->getName(), results, operands, op->getDiscardableAttrDictionary(),
                                 op->getPropertiesStorage(), op->getSuccessors(), op->getNumRegions()));
  for (auto [to, from] : llvm::zip_equal(rebuilt->getRegions(), op->getRegions()))
    to.takeBody(from);
  return rebuilt;
}

namespace {
/// A state that is stored to memory at the end of its block.
struct StoredState {
  Block *block;
  Location loc;
  SmallVector<Value> outputs; ///< acc, maximum and sum
  SmallVector<AffineMap> maps;
};

class Promotion {
public:
  Promotion(IRRewriter &rewriter, gpu::GPUFuncOp kernel) : b(rewriter), kernel(kernel) {}

  void run() {
    kernel.walk([&](Operation *op) {
      if (isBuffer(op) && !isInSharedMemory(op->getResult(0)) && isUsedAsTile(op->getResult(0)))
        tiles.insert(op->getResult(0));
    });
    kernel.walk([&](InitStateOp op) {
      if (!isa<MemRefType>(op.getAcc().getType()) || isBuffer(getRoot(op.getAcc()).getDefiningOp()))
        return;
      SmallVector<Value> outputs(op.getDpsInits());
      tiles.insert_range(outputs);
      storedStates.push_back({op->getBlock(), op.getLoc(), outputs, attn::getMaps(op)});
    });
    promote(kernel.getBody().front());
    // Readers of a slice first.
    for (Value tile : tiles)
      for (Operation *user : llvm::make_early_inc_range(tile.getUsers()))
        if (isa<memref::SubViewOp>(user) && user->use_empty())
          b.eraseOp(user);
    for (Value tile : tiles)
      if (Operation *op = tile.getDefiningOp(); isBuffer(op) && op->use_empty())
        b.eraseOp(op);
  }

private:
  void promote(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block))
      promote(op);
    for (const StoredState &state : storedStates) {
      if (state.block != &block)
        continue;
      b.setInsertionPoint(block.getTerminator());
      SmallVector<Value> current = getValues(state.outputs);
      SmallVector<AffineMap> maps(state.maps);
      llvm::append_range(maps, state.maps);
      StoreStateOp::create(b, state.loc, current[0], current[1], current[2], state.outputs[0], state.outputs[1],
                           state.outputs[2], b.getAffineMapArrayAttr(maps));
    }
  }

  void promote(Operation &op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      promote(loop);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      promote(branch);
    else if (op.getNumResults() == 1 && isBuffer(&op) && tiles.contains(op.getResult(0)))
      define(op.getResult(0), op.getOperands());
    else if (isTileOp(&op))
      promoteTileOp(op);
  }

  /// The value of a tile before it is written.
  void define(Value tile, ValueRange dynamicSizes) {
    b.setInsertionPointAfterValue(tile);
    auto type = cast<MemRefType>(tile.getType());
    values[tile] = tensor::EmptyOp::create(b, tile.getLoc(), getRegisterType(type.getShape(), type.getElementType()),
                                           dynamicSizes);
  }

  void promoteTileOp(Operation &op) {
    if (isa<InitStateOp>(op))
      for (Value output : cast<DestinationStyleOpInterface>(op).getDpsInits())
        if (tiles.contains(output) && !values.contains(output))
          define(output, ValueRange());
    b.setInsertionPoint(&op);
    SmallVector<Value> operands = llvm::map_to_vector(op.getOperands(), [&](Value operand) { return read(operand); });
    if (ValueRange(operands) == op.getOperands())
      return;
    SmallVector<Value> written;
    SmallVector<Type> types;
    for (Value init : cast<DestinationStyleOpInterface>(op).getDpsInits())
      if (tiles.contains(init)) {
        written.push_back(init);
        types.push_back(values.lookup(init).getType());
      }
    Operation *promoted = rebuild(b, &op, operands, types);
    for (auto [tile, result] : llvm::zip_equal(written, promoted->getResults()))
      values[tile] = result;
    b.eraseOp(&op);
  }

  /// The value of a tile or of a slice of one; other operands unchanged.
  Value read(Value operand) {
    if (Value value = values.lookup(operand))
      return value;
    auto slice = operand.getDefiningOp<memref::SubViewOp>();
    Value value = slice ? values.lookup(slice.getSource()) : Value();
    if (!value)
      return operand;
    return tensor::ExtractSliceOp::create(b, slice.getLoc(), value, slice.getMixedOffsets(), slice.getMixedSizes(),
                                          slice.getMixedStrides());
  }

  SmallVector<Value> getValues(ArrayRef<Value> of) {
    return llvm::map_to_vector(of, [&](Value tile) { return values.lookup(tile); });
  }
  void setValues(ArrayRef<Value> of, ValueRange to) {
    for (auto [tile, value] : llvm::zip_equal(of, to))
      values[tile] = value;
  }

  /// The tiles defined before `op` that it writes.
  SmallVector<Value> findWritten(Operation *op) {
    SmallVector<Value> written;
    for (Value tile : tiles) {
      auto writes = [&](OpOperand &use) {
        auto writer = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
        return writer && writer.isDpsInit(&use) && op->isProperAncestor(writer);
      };
      if (values.contains(tile) && llvm::any_of(tile.getUses(), writes))
        written.push_back(tile);
    }
    return written;
  }

  void promote(scf::ForOp loop) {
    SmallVector<Value> written = findWritten(loop);
    if (written.empty())
      return promote(*loop.getBody());
    setValues(written, carry(b, loop, getValues(written), [&](ValueRange arguments) {
                setValues(written, arguments);
                promote(*loop.getBody());
                return getValues(written);
              }));
  }

  void promote(scf::IfOp branch) {
    SmallVector<Value> written = findWritten(branch);
    if (written.empty()) {
      for (Region &region : branch->getRegions())
        for (Block &block : region)
          promote(block);
      return;
    }
    SmallVector<Value> before = getValues(written);
    SmallVector<Type> types(branch.getResultTypes());
    llvm::append_range(types, ValueRange(before).getTypes());
    b.setInsertionPoint(branch);
    if (!branch.elseBlock()) {
      OpBuilder::InsertionGuard guard(b);
      b.createBlock(&branch.getElseRegion());
      scf::YieldOp::create(b, branch.getLoc());
    }
    auto promoted = cast<scf::IfOp>(rebuild(b, branch, branch->getOperands(), types));
    for (Block *block : {promoted.thenBlock(), promoted.elseBlock()}) {
      setValues(written, before);
      promote(*block);
      Operation *yield = block->getTerminator();
      yield->insertOperands(yield->getNumOperands(), getValues(written));
    }
    setValues(written, promoted.getResults().take_back(written.size()));
    b.replaceOp(branch, promoted.getResults().drop_back(written.size()));
  }

  IRRewriter &b;
  gpu::GPUFuncOp kernel;
  llvm::SetVector<Value> tiles;        ///< as buffers
  llvm::DenseMap<Value, Value> values; ///< of the tiles, at the current point of the walk
  SmallVector<StoredState, 0> storedStates;
};

struct TilesToRegistersPass : public attn::impl::TilesToRegistersPassBase<TilesToRegistersPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (kernel->hasAttr(kScheduleAttr))
        Promotion(rewriter, kernel).run();
  }
};
} // namespace
