//===- WarpProducts.cpp - attn.product for a block of warps ---------------===//
//
//   S = Q K^T, in fragments of the accumulator
//   O = O + P V
//
// The accumulator's layout is that of the A operand of the next mma, so P goes
// from one to the other in registers (FlashAttention-2, Dao, arXiv:2307.08691).
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Producer.h"
#include "Products.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

std::unique_ptr<Products> Products::create(WarpBuilder &wb, const InstructionInfo &instruction, FloatType type,
                                           const SharedTile &query, const SharedTile &key, const SharedTile &value) {
  if (instruction.readsPanels())
    return createWgmmaProducts(wb, type, query, key, value);
  if (instruction.takesNarrow)
    return createMmaProducts(wb, type, query, key, value);
  return createSingleProducts(wb, query, key, value);
}

LogicalResult KernelLowering::lowerProduct(ProductOp op) {
  bool isScores = op.getContraction() == Contraction::Scores;
  // Asked first: what is computed in front of the turn is put between the two ops.
  bool takesTurn = isa_and_present<TakeTurnOp>(op->getPrevNode());
  std::optional<SharedTile> rhs = findTile(op.getRhs()), lhs = isScores ? findTile(op.getLhs()) : SharedTile();
  if (!rhs || !lhs)
    return op.emitOpError("expected tiles in shared memory; run attn-pipeline-copies");
  if (op.getAccumulate() == isScores)
    return op.emitOpError("expected accumulate on a product of values alone");
  // A tile in shared memory has the type of its product.
  auto type = cast<FloatType>(getElementTypeOrSelf(op.getRhs().getType()));
  const InstructionInfo &instruction = op.getInstruction() ? op.getInstruction()->getInfo() : wb.instruction;
  if (instruction.takesNarrow == type.isF32())
    return op.emitOpError("expected an instruction that multiplies ") << type;
  if (instruction.readsPanels() != wb.instruction.readsPanels())
    return op.emitOpError("expected instruction = ")
           << stringifyInstruction(wb.instruction.instruction)
           << ", as the tiles of the kernel's schedule lie in shared memory, found "
           << stringifyInstruction(instruction.instruction);
  SharedTile none;
  const TileRing *ring = findRing(op.getRhs());
  if (ring)
    rhs = ring->getTile(wb);
  std::unique_ptr<Products> products =
      Products::create(wb, instruction, type, *lhs, isScores ? *rhs : none, isScores ? none : *rhs);
  if (op.getAsync() && !instruction.readsPanels())
    return op.emitOpError("expected instruction = wgmma beside async, found ")
           << stringifyInstruction(instruction.instruction);
  if (takesTurn && failed(lowerTakeTurn()))
    return failure();
  if (isScores) {
    ScoreTile tile(wb, op);
    if (op.getAsync())
      started.push_back({op, products->startKeys(tile.keyBlocks)});
    else
      tile.values = products->multiplyKeys(tile.keyBlocks);
    scoreTiles[op.getOutput()] = std::move(tile);
  } else {
    TileState &state = getState(op.getOutput(), op);
    auto kept = keptWeights.find(op.getLhs());
    ScoreTile *weights = kept == keptWeights.end() ? findScores(op.getLhs(), op) : nullptr;
    if (kept == keptWeights.end() && !weights)
      return failure();
    // A box has rows beyond lengths as well. Their weights are 0, and 0 NaN is NaN.
    if (ring && weights && weights->keyCount && readsMemory(op.getRhs()))
      ring->clearRows(wb, weights->keyCount);
    if (weights && !op.getAsync()) {
      products->multiplyValues(weights->values, weights->keyBlocks, state);
      for (auto [i, lse] : llvm::enumerate(weights->lse))
        state.lse.set(wb, i, lse);
    } else {
      Values packed = weights ? packWeights(wb, weights->values, type) : kept->second.getAll(wb, wb.b.getI32Type());
      Values acc = products->startValues(packed, state);
      if (op.getAsync())
        started.push_back({op, acc});
      else
        setAcc(wb, state, finishProduct(wb, acc, /*pending=*/0));
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Asynchronous products
//===----------------------------------------------------------------------===//

void attn::nvvm::setAcc(WarpBuilder &wb, const TileState &state, ArrayRef<Value> acc) {
  for (auto [i, element] : llvm::enumerate(acc))
    state.acc.set(wb, i, element);
}

StartedProduct *KernelLowering::findStarted(Value output, Operation *op) {
  auto found = llvm::find_if(llvm::reverse(started), [&](const StartedProduct &product) {
    return ProductOp(product.op).getOutput() == output && product.op->getBlock() == op->getBlock();
  });
  return found == started.rend() ? nullptr : &*found;
}

LogicalResult KernelLowering::lowerWaitProduct(WaitProductOp op) {
  StartedProduct *found = findStarted(op.getOutput(), op);
  if (!found)
    return op.emitOpError("expected an attn.product with async of the same output in front of it, in its block");
  StartedProduct product = std::move(*found);
  int64_t pending = started.end() - found - 1;
  started.erase(found);
  Values acc = finishProduct(wb, product.acc, pending);
  if (product.op.getContraction() == Contraction::Scores) {
    scoreTiles[op.getOutput()].values = acc;
    return success();
  }
  setAcc(wb, getState(op.getOutput(), product.op), acc);
  if (product.rescales)
    unscaled.push_back(std::move(product));
  return success();
}

LogicalResult KernelLowering::lowerRescaleAcc(RescaleAccOp op) {
  auto *found = llvm::find_if(unscaled, [&](const StartedProduct &product) {
    return ProductOp(product.op).getOutput() == op.getAcc() && product.op->getBlock() == op->getBlock();
  });
  if (found == unscaled.end())
    return op.emitOpError(
        "expected an attn.wait_product of acc in front of it, in its block, behind an attn.rescale with "
        "deferred");
  StartedProduct product = std::move(*found);
  unscaled.erase(found);
  wb.when(product.rescales, [&] { scaleAcc(wb, getState(op.getAcc(), product.op), product.alphas); });
  return success();
}

/// Weights of a step for the product of another round, packed as it takes them.
LogicalResult KernelLowering::keepWeights(memref::CopyOp op) {
  ScoreTile *weights = findScores(op.getSource(), op);
  if (!weights)
    return failure();
  auto isReader = [](Operation *user) { return isa<ProductOp>(user); };
  auto reader = llvm::find_if(op.getTarget().getUsers(), isReader);
  if (reader == op.getTarget().getUsers().end() || !wb.instruction.readsPanels())
    return op.emitOpError("expected a copy of weights for an attn.product of wgmma");
  auto type = cast<FloatType>(getElementTypeOrSelf(cast<ProductOp>(*reader).getRhs().getType()));
  Values packed = packWeights(wb, weights->values, type);
  RegisterArray &kept = keptWeights[op.getTarget()];
  if (kept.empty())
    kept = RegisterArray(wb, kernel.getBody().front(), packed.size());
  for (auto [i, value] : llvm::enumerate(packed))
    kept.set(wb, i, value);
  return success();
}
