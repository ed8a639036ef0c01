//===- Tiling.cpp - TilingInterface of the attn ops -----------------------===//
//
// One implementation for all structured ops: the indexing maps say which slice
// of each operand a tile of the iteration domain touches. Batch, head, query
// row and value columns are parallel; keys are a reduction, which online_step
// can be tiled over because its destination is a running state.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ExternalModels.h"
#include "TilingChecks.h"
#include "attn/IR/Attn.h"
#include "attn/IR/Decompose.h"
#include "attn/IR/State.h"
#include "attn/IR/Words.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/TilingInterface.h"

using namespace mlir;
using namespace attn;

namespace {

/// A spelled-out mask uses rows and keys of the whole problem: for a tile it becomes a region, which can be shifted.
void expandMask(Operation *op, OpBuilder &builder, Operation *tiled, ArrayRef<OpFoldResult> offsets,
                ArrayRef<OpFoldResult> sizes) {
  if (hasWordsToExpand(op) && !isWholeProblem(op, offsets, sizes))
    expandWords(builder, op, tiled);
}

/// The map by which a tile slices an operand; null for an operand that every tile takes whole.
AffineMap getSliceMap(OpOperand &operand, ArrayRef<AffineMap> maps) {
  Operation *op = operand.getOwner();
  if (operand.getOperandNumber() < maps.size())
    return maps[operand.getOperandNumber()];
  auto isOne = [&](MutableOperandRange range) {
    return llvm::any_of(range, [&](OpOperand &other) { return &other == &operand; });
  };
  if (auto step = dyn_cast<OnlineStepOp>(op))
    return isOne(step.getMoreKeysMutable()) ? maps[1] : isOne(step.getMoreValuesMutable()) ? maps[2] : AffineMap();
  const WordInfo *word = findWord(operand);
  if (auto sdpa = dyn_cast<SdpaOp>(op))
    return word && word->shape == WordShape::PerKey ? getKvScaleMap(sdpa) : AffineMap();
  if (!word || !isa<SoftmaxOp>(op))
    return {};
  unsigned position = word->shape == WordShape::PerHead ? getNumBatchDims(op) - 1 : 0;
  return AffineMap::get(maps.front().getNumDims(), 0, {getAffineDimExpr(position, op->getContext())}, op->getContext());
}

/// lengths - offset: the number of rows of a tile starting at row `offset` that the length covers.
Value shiftLengths(OpBuilder &builder, Location loc, Value lengths, OpFoldResult offset) {
  if (isConstantIntValue(offset, 0))
    return lengths;
  Type type = getElementTypeOrSelf(lengths.getType());
  Value shift = getValueOrCreateConstantIndexOp(builder, loc, offset);
  shift = arith::IndexCastOp::create(builder, loc, type, shift);
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, lengths);
  Value empty = tensor::EmptyOp::create(builder, loc, sizes, type);
  return linalg::MapOp::create(builder, loc, lengths, empty,
                               [&](OpBuilder &nested, Location, ValueRange elements) {
                                 Value left = arith::SubIOp::create(nested, loc, elements.front(), shift);
                                 linalg::YieldOp::create(nested, loc, left);
                               })
      ->getResult(0);
}

/// The maps of a tile: if it holds a part of a group of heads, they share its only head of K.
ArrayAttr getTileMaps(Operation *op, ArrayRef<OpFoldResult> sizes) {
  Builder builder(op->getContext());
  SmallVector<AffineMap> maps = getMaps(op);
  for (AffineMap &map : maps)
    for (auto [i, expr] : llvm::enumerate(map.getResults())) {
      auto group = dyn_cast<AffineBinaryOpExpr>(expr);
      if (!group || cast<AffineDimExpr>(group.getLHS()).getPosition() >= getNumBatchDims(op))
        continue; // pairs
      std::optional<int64_t> numHeads = getConstantIntValue(sizes[cast<AffineDimExpr>(group.getLHS()).getPosition()]);
      if (numHeads && *numHeads < cast<AffineConstantExpr>(group.getRHS()).getValue())
        map = map.insertResult(builder.getAffineConstantExpr(0), i).dropResult(i + 1);
    }
  return builder.getAffineMapArrayAttr(maps);
}

FailureOr<TilingResult> tileStructured(Operation *op, OpBuilder &builder, ArrayRef<OpFoldResult> offsets,
                                       ArrayRef<OpFoldResult> sizes) {
  if (failed(checkTile(op, offsets, sizes)))
    return failure();
  Location loc = op->getLoc();
  auto dps = cast<DestinationStyleOpInterface>(op);
  SmallVector<Value> operands, slices;
  SmallVector<Type> resultTypes;
  ArrayAttr maps = getTileMaps(op, sizes);
  SmallVector<AffineMap> mapArray = getMaps(op);
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = getSliceMap(operand, mapArray);
    if (!map) {
      operands.push_back(operand.get());
      continue;
    }
    Slice slice = getOperandSlice(builder, loc, map, offsets, sizes);
    operands.push_back(createSlice(builder, loc, operand.get(), slice));
    if (operands.back() != operand.get())
      slices.push_back(operands.back());
    if (dps.isDpsInit(&operand) && isa<RankedTensorType>(operands.back().getType()))
      resultTypes.push_back(operands.back().getType());
  }
  if (auto softmax = dyn_cast<SoftmaxOp>(op); softmax && softmax.getQLengths())
    operands.back() = shiftLengths(builder, loc, operands.back(), offsets[getNumBatchDims(op)]);
  Operation *tiled;
  auto dropout = dyn_cast<DropoutOp>(op);
  if (dropout && !isWholeProblem(op, offsets, sizes)) {
    // A function of the position of each weight: as a region, it can be shifted.
    auto modify = ModifyOp::create(builder, loc, resultTypes, operands[0], operands[1], maps);
    buildDropout(builder, op, dropout.getDropoutSeed(), dropout.getDropoutOffset(),
                 dropout.getDropoutP().convertToDouble(),
                 getAccumulationType(getElementTypeOrSelf(operands[0].getType())), modify.getScoreMod());
    tiled = modify;
  } else {
    OperationState state(loc, op->getName(), operands, resultTypes, op->getAttrs());
    for (unsigned i = 0; i < op->getNumRegions(); ++i)
      state.addRegion();
    tiled = builder.create(state);
    tiled->setAttr("maps", maps);
  }
  for (auto [from, to] : llvm::zip(op->getRegions(), tiled->getRegions())) {
    // Bounds of the whole problem are not valid for its tiles.
    if (Region *ranges = getKeyRangesRegion(op); ranges == &from && !isWholeProblem(op, offsets, sizes))
      continue;
    IRMapping mapping;
    from.cloneInto(&to, mapping);
  }
  expandMask(op, builder, tiled, offsets, sizes);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(tiled);
  for (Region &region : tiled->getRegions())
    shiftIndex(builder, region, offsets, op);
  return TilingResult{{tiled}, SmallVector<Value>(tiled->getResults()), llvm::map_to_vector(slices, [](Value slice) {
                        return slice.getDefiningOp();
                      })};
}

/// The tile of the domain that produces a slice of a result: the result's map is a permutation of parallel dimensions.
LogicalResult getDomainTile(Operation *op, OpBuilder &builder, AffineMap map, ArrayRef<OpFoldResult> offsets,
                            ArrayRef<OpFoldResult> sizes, SmallVectorImpl<OpFoldResult> &domainOffsets,
                            SmallVectorImpl<OpFoldResult> &domainSizes) {
  if (!map.isProjectedPermutation())
    return failure();
  domainSizes = getDomainSizes(builder, op);
  domainOffsets.assign(domainSizes.size(), builder.getIndexAttr(0));
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    unsigned position = cast<AffineDimExpr>(expr).getPosition();
    domainOffsets[position] = offsets[i];
    domainSizes[position] = sizes[i];
  }
  return success();
}

template <typename OpTy> struct TilingModel : public TilingInterface::ExternalModel<TilingModel<OpTy>, OpTy> {
  SmallVector<utils::IteratorType> getLoopIteratorTypes(Operation *op) const { return getIteratorTypes(op); }

  SmallVector<Range> getIterationDomain(Operation *op, OpBuilder &builder) const {
    SmallVector<Range> ranges;
    for (OpFoldResult size : getDomainSizes(builder, op))
      ranges.push_back({builder.getIndexAttr(0), size, builder.getIndexAttr(1)});
    return ranges;
  }

  FailureOr<TilingResult> getTiledImplementation(Operation *op, OpBuilder &builder, ArrayRef<OpFoldResult> offsets,
                                                 ArrayRef<OpFoldResult> sizes) const {
    return tileStructured(op, builder, offsets, sizes);
  }

  LogicalResult getResultTilePosition(Operation *op, OpBuilder &builder, unsigned result,
                                      ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
                                      SmallVector<OpFoldResult> &resultOffsets,
                                      SmallVector<OpFoldResult> &resultSizes) const {
    Slice slice = getOperandSlice(builder, op->getLoc(), getResultMap(op, result), offsets, sizes);
    resultOffsets = slice.offsets;
    resultSizes = slice.sizes;
    return success();
  }

  LogicalResult getIterationDomainTileFromResultTile(Operation *op, OpBuilder &builder, unsigned result,
                                                     ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
                                                     SmallVectorImpl<OpFoldResult> &domainOffsets,
                                                     SmallVectorImpl<OpFoldResult> &domainSizes) const {
    return getDomainTile(op, builder, getResultMap(op, result), offsets, sizes, domainOffsets, domainSizes);
  }

  FailureOr<TilingResult> generateResultTileValue(Operation *op, OpBuilder &builder, unsigned result,
                                                  ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes) const {
    SmallVector<OpFoldResult> domainOffsets, domainSizes;
    if (failed(getIterationDomainTileFromResultTile(op, builder, result, offsets, sizes, domainOffsets, domainSizes)))
      return failure();
    FailureOr<TilingResult> tiled = tileStructured(op, builder, domainOffsets, domainSizes);
    if (failed(tiled))
      return failure();
    tiled->tiledValues = {tiled->tiledValues[result]};
    return tiled;
  }

private:
  static AffineMap getResultMap(Operation *op, unsigned result) {
    auto dps = cast<DestinationStyleOpInterface>(op);
    return getMaps(op)[dps.getDpsInitOperand(result)->getOperandNumber()];
  }
};

//===----------------------------------------------------------------------===//
// Partial reduction over the keys
//===----------------------------------------------------------------------===//

/// Splits the keys of online_step: each part accumulates into its own state, initially empty, and attn.merge_states
/// merges these into the given state. Only the sequential strategy (one partial state) is supported.
struct OnlineStepReduction : public PartialReductionOpInterface::ExternalModel<OnlineStepReduction, OnlineStepOp> {
  FailureOr<SmallVector<Value>> generateInitialTensorForPartialReduction(Operation *op, OpBuilder &builder,
                                                                         Location loc, ArrayRef<OpFoldResult>,
                                                                         const llvm::SetVector<unsigned> &dims) const {
    if (failed(checkDims(op, dims)))
      return failure();
    auto step = cast<OnlineStepOp>(op);
    // The neutral element, in the layout of the step's own state.
    auto init = InitStateOp::create(builder, loc, step->getResultTypes(), step.getAcc(), step.getRowMax(),
                                    step.getRowSum(), getStateMapsAttr(step));
    return SmallVector<Value>(init.getResults());
  }

  FailureOr<TilingResult> tileToPartialReduction(Operation *op, OpBuilder &builder, Location loc,
                                                 ReductionTilingStrategy strategy, ValueRange init,
                                                 ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
                                                 const llvm::SetVector<unsigned> &dims, ArrayRef<OpFoldResult>) const {
    if (strategy != ReductionTilingStrategy::PartialReductionOuterReduction)
      return op->emitOpError("cannot be tiled to partial results at once: expected one part after the other, as "
                             "tile_reduction_using_for has them");
    if (failed(checkDims(op, dims)))
      return failure();
    FailureOr<TilingResult> tiled = tileStructured(op, builder, offsets, sizes);
    if (failed(tiled))
      return failure();
    auto step = cast<OnlineStepOp>(tiled->tiledOps.front());
    auto state = StateValues::of(init);
    step.getAccMutable().assign(state.acc);
    step.getRowMaxMutable().assign(state.rowMax);
    step.getRowSumMutable().assign(state.rowSum);
    return tiled;
  }

  FailureOr<MergeResult> mergeReductions(Operation *op, OpBuilder &builder, Location loc, ValueRange partial,
                                         const llvm::SetVector<unsigned> &) const {
    auto step = cast<OnlineStepOp>(op);
    SmallVector<Attribute> maps(getStateMapsAttr(step).getValue());
    SmallVector<Attribute> both(maps);
    both.append(maps);
    auto other = StateValues::of(partial);
    auto merge = MergeStatesOp::create(builder, loc, step->getResultTypes(), other.acc, other.rowMax, other.rowSum,
                                       step.getAcc(), step.getRowMax(), step.getRowSum(), builder.getArrayAttr(both));
    return MergeResult{{merge}, SmallVector<Value>(merge.getResults())};
  }

  LogicalResult getPartialResultTilePosition(Operation *op, OpBuilder &builder, unsigned result,
                                             ReductionTilingStrategy, ArrayRef<OpFoldResult> offsets,
                                             ArrayRef<OpFoldResult> sizes, const llvm::SetVector<unsigned> &,
                                             ArrayRef<OpFoldResult>, SmallVector<OpFoldResult> &resultOffsets,
                                             SmallVector<OpFoldResult> &resultSizes) const {
    auto dps = cast<DestinationStyleOpInterface>(op);
    AffineMap map = getMaps(op)[dps.getDpsInitOperand(result)->getOperandNumber()];
    Slice slice = getOperandSlice(builder, op->getLoc(), map, offsets, sizes);
    resultOffsets = slice.offsets;
    resultSizes = slice.sizes;
    return success();
  }

private:
  static LogicalResult checkDims(Operation *op, const llvm::SetVector<unsigned> &dims) {
    if (dims.size() == 1 && dims.front() == getDomainPosition(op, DimKind::Key))
      return success();
    return op->emitOpError("cannot be tiled to partial results over a dimension other than its keys");
  }

  /// The maps of the step's state, over the domain (batch…, query, value) of init_state and merge_states.
  static ArrayAttr getStateMapsAttr(OnlineStepOp step) {
    return Builder(step.getContext()).getAffineMapArrayAttr(getStateMaps(step));
  }
};

template <typename... OpTys> void attachModels(MLIRContext *ctx) {
  (OpTys::template attachInterface<TilingModel<OpTys>>(*ctx), ...);
}

} // namespace

void attn::registerTilingModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *ctx, AttnDialect *) {
    attachModels<ScoresOp, ScaleOp, ModifyOp, SoftcapOp, MaskOp, SoftmaxOp, DropoutOp, ApplyOp, SdpaOp, InitStateOp,
                 OnlineStepOp, MergeStatesOp, FinalizeOp, PackOp>(ctx);
    OnlineStepOp::attachInterface<OnlineStepReduction>(*ctx);
  });
}
