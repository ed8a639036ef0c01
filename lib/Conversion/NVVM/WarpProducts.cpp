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
  if (isScores) {
    ScoreTile tile(wb, op);
    tile.values = products->multiplyKeys(tile.keyBlocks);
    if (ring)
      ring->release(wb);
    scoreTiles[op.getOutput()] = std::move(tile);
    return success();
  }
  ScoreTile *weights = findScores(op.getLhs(), op);
  if (!weights)
    return failure();
  TileState &state = getState(op.getOutput(), op);
  products->multiplyValues(weights->values, weights->keyBlocks, state);
  for (auto [i, lse] : llvm::enumerate(weights->lse))
    state.lse.set(wb, i, lse);
  if (ring)
    ring->release(wb);
  return success();
}
