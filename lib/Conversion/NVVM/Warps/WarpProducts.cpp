//===- WarpProducts.cpp - attn.product for a block of warps ---------------===//
//
//   S = Q K^T, in fragments of the accumulator
//   O = O + P V
//
// The accumulator's layout is that of the A operand of the next mma, so P stays in registers (FlashAttention-2, Dao,
// arXiv:2307.08691).
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Producer.h"
#include "Products.h"
#include "RegisterTiles.h"

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
  // Tested first: code before the turn is inserted between the two ops.
  bool takesTurn = isa_and_present<TakeTurnOp>(op->getPrevNode());
  bool isExchanged = !isScores && isa<MemRefType>(op.getLhs().getType());
  std::optional<SharedTile> rhs = findTile(op.getRhs()),
                            lhs = isScores || isExchanged ? findTile(op.getLhs()) : SharedTile();
  if (!rhs || !lhs)
    return op.emitOpError("expected tiles in shared memory; run attn-pipeline-copies");
  if (op.getAccumulate() == (isScores || isExchanged))
    return op.emitOpError("expected accumulate on a product of values in registers alone");
  if (isExchanged)
    lhs = getExchanged(*lhs);
  // A tile in shared memory has the element type of its product, if it is not one of bytes.
  auto type = cast<FloatType>(rhs->bytes ? queryType : getElementTypeOrSelf(op.getRhs().getType()));
  const InstructionInfo &instruction = op.getInstruction() ? op.getInstruction()->getInfo() : wb.instruction;
  if (instruction.takesNarrow == type.isF32())
    return op.emitOpError("expected an instruction that multiplies ") << type;
  if (rhs->bytes && (instruction.readsPanels() || type.isF32()))
    return op.emitOpError("expected instruction = mma beside a tile of ") << rhs->bytes << " in shared memory";
  if (instruction.readsPanels() != wb.instruction.readsPanels())
    return op.emitOpError("expected instruction = ")
           << stringifyInstruction(wb.instruction.instruction)
           << ", as the tiles of the kernel's schedule lie in shared memory, found "
           << stringifyInstruction(instruction.instruction);
  SharedTile none;
  if (const TileRing *ring = findRing(op.getRhs()))
    rhs = ring->getTile(wb, op.getAhead());
  if (const TileRing *ring = isScores ? findRing(op.getLhs()) : nullptr)
    lhs = ring->getTile(wb);
  std::unique_ptr<Products> products =
      Products::create(wb, instruction, type, *lhs, isScores ? *rhs : none, isScores ? none : *rhs);
  if (op.getAsync() && !instruction.readsPanels())
    return op.emitOpError("expected instruction = wgmma beside async, found ")
           << stringifyInstruction(instruction.instruction);
  if (takesTurn && failed(lowerTakeTurn()))
    return failure();
  if (!isInRegisters(op.getOutput().getType()))
    return op.emitOpError("expected output in registers; run attn-tiles-to-registers");
  if (isExchanged)
    return lowerExchanged(op, *products);
  if (!isScores)
    return lowerValues(op, *products);
  ScoreTile tile(wb, op);
  if (op.getAsync()) {
    Values acc = products->startKeys(tile.keyBlocks);
    lowered[op.getResults().front()] = StartedProduct{acc, tile};
    return success();
  }
  tile.values = products->multiplyKeys(tile.keyBlocks);
  lowered[op.getResults().front()] = std::move(tile);
  return success();
}

LogicalResult KernelLowering::lowerExchanged(ProductOp op, Products &products) {
  ScoreTile tile;
  Values acc = products.startExchanged(getStaticSize(op, DimKind::ValueSize));
  tile.fragments = 1;
  tile.keyBlocks = int64_t(acc.size()) / kFragmentElements;
  if (op.getAsync()) {
    lowered[op.getResults().front()] = StartedProduct{acc, tile};
    return success();
  }
  tile.values = finishProduct(wb, acc, /*pending=*/0);
  lowered[op.getResults().front()] = std::move(tile);
  return success();
}

/// True for a gradient of V whose rows have 16 bytes, the minimum: sums of weights (attn-pad-key-sums) are f32.
static bool sumsWeights(ProductOp op) {
  auto gradients = op.getLhs().getDefiningOp<ScoreGradientsOp>();
  Type type = getElementTypeOrSelf(op.getRhs().getType());
  return gradients && gradients.getWeights() && op.getLhs() == gradients->getResult(0) && !type.isF32() &&
         getStaticSize(op, DimKind::ValueSize) * type.getIntOrFloatBitWidth() == kChunkBytes * 8;
}

LogicalResult KernelLowering::lowerValues(ProductOp op, Products &products) {
  const auto *state = find<TileState>(op.getOutput(), op);
  if (!state)
    return failure();
  if (!getElementTypeOrSelf(op.getLhs().getType()).isF32()) {
    const auto *weights = find<PackedWeights>(op.getLhs(), op);
    if (!weights)
      return failure();
    for (auto [i, lse] : llvm::enumerate(weights->lse))
      state->lse.set(wb, i, lse);
    Values acc = products.startValues(weights->registers.getAll(wb, wb.b.getI32Type()), *state);
    if (op.getAsync())
      lowered[op.getResults().front()] = StartedProduct{acc, TileState(*state)};
    else
      setAcc(wb, *state, finishProduct(wb, acc, /*pending=*/0));
    return success();
  }
  const auto *weights = find<ScoreTile>(op.getLhs(), op);
  if (!weights)
    return failure();
  if (op.getAsync())
    return op.emitOpError("expected rounded weights beside async, found ") << op.getLhs().getType();
  products.multiplyValues(weights->values, weights->keyBlocks, *state);
  Type narrow = getElementTypeOrSelf(op.getRhs().getType());
  if (sumsWeights(op)) { // adds the rounding errors of the weights
    Values rest = llvm::map_to_vector(weights->values, [&](Value weight) -> Value {
      return wb.subf(weight, wb.convert(wb.convert(weight, narrow), wb.b.getF32Type()));
    });
    products.multiplyValues(rest, weights->keyBlocks, *state);
  }
  for (auto [i, lse] : llvm::enumerate(weights->lse))
    state->lse.set(wb, i, lse);
  return success();
}

//===----------------------------------------------------------------------===//
// Asynchronous products
//===----------------------------------------------------------------------===//

void attn::nvvm::setAcc(WarpBuilder &wb, const TileState &state, ArrayRef<Value> acc) {
  for (auto [i, element] : llvm::enumerate(acc))
    state.acc.set(wb, i, element);
}

Values attn::nvvm::finishStarted(WarpBuilder &wb, const StartedProduct &started, Value product, Operation *wait) {
  // Products issued after it may still be in flight, unless something has waited for them.
  SmallVector<Value> pending;
  for (Operation *later = product.getDefiningOp()->getNextNode(); later != wait; later = later->getNextNode()) {
    auto other = dyn_cast<WaitProductOp>(later);
    if (auto *waited = other ? llvm::find(pending, other.getProduct()) : pending.end(); waited != pending.end())
      pending.erase(pending.begin(), waited + 1);
    if (auto next = dyn_cast<ProductOp>(later); next && next.getAsync())
      pending.push_back(next->getResult(0));
  }
  return finishProduct(wb, started.acc, int64_t(pending.size()));
}

LogicalResult KernelLowering::lowerWaitProduct(WaitProductOp op) {
  const auto *found = find<StartedProduct>(op.getProduct(), op);
  if (!found)
    return failure();
  StartedProduct product = *found;
  Values acc = finishStarted(wb, product, op.getProduct(), op);
  if (auto *scores = std::get_if<ScoreTile>(&product.output)) {
    scores->values = acc;
    lowered[op.getResult()] = std::move(*scores);
    return success();
  }
  auto state = std::get<TileState>(product.output);
  setAcc(wb, state, acc);
  lowered[op.getResult()] = state;
  return success();
}

LogicalResult KernelLowering::lowerRescaleAcc(RescaleAccOp op) {
  const auto *state = find<TileState>(op.getAcc(), op);
  const auto *factors = find<RescaleFactors>(op.getFactors(), op);
  if (!state || !factors || failed(verifyLastUse(op.getAccMutable())))
    return failure();
  wb.when(factors->any, [&] { scaleAcc(wb, *state, factors->alphas); });
  lowered[op.getResult()] = TileState(*state);
  return success();
}

/// Packs the weights of a step for a product of another iteration.
LogicalResult KernelLowering::lowerRounding(arith::TruncFOp op) {
  const auto *weights = find<ScoreTile>(op.getIn(), op);
  if (!weights)
    return failure();
  auto type = cast<FloatType>(getElementTypeOrSelf(op.getType()));
  if (!wb.instruction.readsPanels() || !(type.isBF16() || type.isF16()))
    return op.emitOpError("expected weights for an attn.product of wgmma, of bf16 or f16, found ") << type;
  Values packed = packWeights(wb, weights->values, type);
  RegisterArray registers(wb, kernel.getBody().front(), packed.size());
  for (auto [i, value] : llvm::enumerate(packed))
    registers.set(wb, i, value);
  lowered[op.getResult()] = PackedWeights{registers, weights->lse};
  return success();
}
