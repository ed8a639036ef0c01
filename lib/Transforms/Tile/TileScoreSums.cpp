//===- TileScoreSums.cpp - sums of score contributions in a GPU's blocks --===//
//
// Before: a backward_step with captured tensors or a bias that have gradients. After: for each of them a kernel that
// recomputes the gradients of scores and sums their contributions. A block has tiles of queries and loops over their
// keys. Where the index of a contribution is the batch index, head or query of its score, no other block adds there,
// and the block loops over the batch indices and heads that share it. Otherwise each block and each warp has a part of
// its own, and the parts are summed. All orders are fixed.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BackwardBlocks.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

/// Most blocks with parts: with static sizes of the tensor, and with dynamic ones.
static constexpr int64_t kMaxBlocksWithParts = 512, kMaxBlocksWithOpenParts = 16;
/// Most columns of a tile: each score has its own code.
static constexpr int64_t kMaxColumns = 32;

/// The step of the other gradients, without that of the bias.
static BackwardStepOp cloneWithCaptures(RewriterBase &b, BackwardStepOp step, ArrayRef<AffineMap> maps,
                                        ValueRange captures) {
  auto cloned = BackwardStepOp::create(
      b, step.getLoc(), step.getResultTypes(), step.getQuery(), step.getKey(), step.getValue(), step.getLse(),
      step.getDout(), step.getDelta(), step.getLogSum(), step.getBias(), step.getMask(), step.getDquery(),
      step.getDkey(), step.getDvalue(), /*dbias=*/Value(), captures, step.getCuSeqlensQ(), step.getCuSeqlensK(),
      step.getScaleValue(), step.getTransposed(), step.getScaleAttr(), b.getAffineMapArrayAttr(maps),
      step.getScheduleAttr());
  for (auto [to, from] : llvm::zip_equal(cloned->getRegions(), step->getRegions()))
    to.takeBody(from);
  return cloned;
}

/// The step with its bias gradient as that of a captured tensor, the same result.
static BackwardStepOp sumBiasAsCapture(RewriterBase &b, BackwardStepOp step) {
  if (!step.getDbias())
    return step;
  OpBuilder::InsertionGuard guard(b);
  Location loc = step.getLoc();
  unsigned numBatch = getNumBatchDims(step);
  SmallVector<AffineMap> maps;
  AffineMap map;
  for (auto [spec, each] : llvm::zip(getOperandSpecs(step), getMaps(step)))
    if (spec.name == "dbias")
      map = each;
    else
      maps.push_back(each);
  SmallVector<Value> captures = {step.getDbias()};
  llvm::append_range(captures, step.getDcaptures());
  b.setInsertionPoint(step);
  BackwardStepOp replaced = cloneWithCaptures(b, step, maps, captures);
  Type type = getElementTypeOrSelf(step.getDelta().getType());
  Region &grad = replaced.getScoreGrad();
  if (grad.empty()) { // the identity
    Block *score = b.createBlock(&replaced.getScoreMod(), replaced.getScoreMod().end(), {type}, {loc});
    YieldOp::create(b, loc, score->getArgument(0));
    Block *gradient = b.createBlock(&grad, grad.end(), {type, type}, {loc, loc});
    YieldOp::create(b, loc, gradient->getArgument(1));
  }
  b.setInsertionPointToStart(&grad.front());
  SmallVector<Value> indices;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    auto position = dyn_cast<AffineDimExpr>(expr);
    bool isOne = cast<ShapedType>(step.getDbias().getType()).getDimSize(dim) == 1;
    if (!position || isOne)
      indices.push_back(arith::ConstantIndexOp::create(b, loc, 0));
    else
      indices.push_back(IndexOp::create(b, loc,
                                        position.getPosition() == numBatch       ? IndexKind::Query
                                        : position.getPosition() == numBatch + 1 ? IndexKind::Key
                                        : position.getPosition() + 1 == numBatch ? IndexKind::Head
                                                                                 : IndexKind::Batch));
  }
  AccumulateOp::create(b, loc, grad.getArgument(1), step.getDbias(), indices);
  b.replaceOp(step, replaced);
  return replaced;
}

/// The dimensions of `destination` whose index is the position of the score, in all accumulations into it.
static ScoreSum findScoreSum(BackwardStepOp step, Value destination) {
  ScoreSum sum{destination, {}, {}, {}};
  bool isFirst = true;
  for (AccumulateOp op : step.getScoreGrad().getOps<AccumulateOp>()) {
    if (op.getDestination() != destination)
      continue;
    auto isKind = [&](unsigned dim, IndexKind kind) {
      auto index = op.getIndices()[dim].getDefiningOp<IndexOp>();
      return index && index.getKind() == kind;
    };
    for (auto [dim, kind] : {std::pair(&sum.batchDim, IndexKind::Batch),
                             {&sum.headDim, IndexKind::Head},
                             {&sum.queryDim, IndexKind::Query}}) {
      if (isFirst)
        for (unsigned i = 0; i < op.getIndices().size() && !*dim; ++i)
          if (isKind(i, kind))
            *dim = i;
      if (*dim && !isKind(**dim, kind))
        dim->reset();
    }
    isFirst = false;
  }
  if (getNumBatchDims(step) < 2) // a single batch dimension is that of heads
    sum.batchDim.reset();
  return sum;
}

void attn::redirectScoreSums(OpBuilder &b, const KernelShape &s, BackwardStepOp tiled) {
  if (tiled.getScoreGrad().empty())
    return;
  OpBuilder::InsertionGuard guard(b);
  for (AccumulateOp op : llvm::make_early_inc_range(tiled.getScoreGrad().getOps<AccumulateOp>())) {
    if (!s.scoreSum || op.getDestination() != s.scoreSum->destination) {
      op.erase();
      continue;
    }
    b.setInsertionPoint(op);
    SmallVector<Value> indices(op.getIndices());
    Value zero = index(b, s.loc, 0), row = IndexOp::create(b, s.loc, IndexKind::Query);
    for (std::optional<unsigned> dim : {s.scoreSum->batchDim, s.scoreSum->headDim})
      if (dim)
        indices[*dim] = zero;
    if (s.scoreSum->queryDim)
      indices[*s.scoreSum->queryDim] = row;
    if (s.scoreSum->hasParts())
      indices.insert(indices.begin(),
                     arith::DivUIOp::create(b, s.loc, row, index(b, s.loc, cast<BlockAttr>(s.schedule).getWarpRows())));
    AccumulateOp::create(b, op.getLoc(), op.getValue(), tiled.getDcaptures()[0], indices);
    op.erase();
  }
}

Value attn::createZeros(OpBuilder &b, Location loc, ArrayRef<OpFoldResult> shape, Type type) {
  Value zero = createFloatConstant(b, loc, type, 0), empty = tensor::EmptyOp::create(b, loc, shape, type);
  SmallVector<utils::IteratorType> parallel(shape.size(), utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, empty.getType(), ValueRange(), empty, ArrayRef<AffineMap>{b.getMultiDimIdentityMap(shape.size())},
             parallel, [&](OpBuilder &nested, Location at, ValueRange) { linalg::YieldOp::create(nested, at, zero); })
      .getResult(0);
}

/// The sum of parts over their first two dimensions.
static Value sumParts(OpBuilder &b, Location loc, Value parts, Value zeros) {
  unsigned rank = cast<ShapedType>(parts.getType()).getRank();
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  std::fill_n(iterators.begin(), 2, utils::IteratorType::reduction);
  AffineMap own =
      AffineMap::getMultiDimMapWithTargets(rank, llvm::to_vector(llvm::seq<unsigned>(2, rank)), b.getContext());
  return linalg::GenericOp::create(b, loc, zeros.getType(), parts, zeros,
                                   ArrayRef<AffineMap>{b.getMultiDimIdentityMap(rank), own}, iterators,
                                   [](OpBuilder &nested, Location at, ValueRange x) {
                                     Value sum = arith::AddFOp::create(nested, at, x[1], x[0]);
                                     linalg::YieldOp::create(nested, at, sum);
                                   })
      .getResult(0);
}

/// Products use mma where the step has wgmma, and tiles have few columns: each score of a thread has its own code.
static BlockAttr getSumSchedule(BlockAttr schedule) {
  MLIRContext *ctx = schedule.getContext();
  InstructionAttr instruction = schedule.getInstruction();
  if (instruction.getInfo().readsPanels())
    instruction = InstructionAttr::get(ctx, Instruction::MMA);
  return BlockAttr::get(ctx, schedule.getQueryTile(), std::min(schedule.getKeyTile(), kMaxColumns), schedule.getWarps(),
                        schedule.getWarpRows(), instruction, /*shared_keys=*/false, /*split_keys=*/0, /*stages=*/1,
                        /*producer=*/false);
}

/// The most blocks with parts of a tensor of this type.
static int64_t getMaxBlocks(ShapedType type, int64_t warps) {
  if (!type.hasStaticShape())
    return kMaxBlocksWithOpenParts;
  int64_t elements = std::max<int64_t>(1, type.getNumElements()) * warps;
  return std::clamp<int64_t>(kMaxPartElements / elements, 1, kMaxBlocksWithParts);
}

/// Sums the contributions to `destination`: the tiles of the block's own positions, and all shared ones in turn.
static Value createScoreSum(RewriterBase &b, KernelShape s) {
  Location loc = s.loc;
  const ScoreSum &sum = *s.scoreSum;
  auto type = cast<RankedTensorType>(sum.destination.getType());
  AffineExpr dim = b.getAffineDimExpr(0);
  OpFoldResult tiles =
      affine::makeComposedFoldedAffineApply(b, loc, dim.ceilDiv(s.tileRows), {s.domainSizes[s.queryPos()]});
  // The positions that a block owns, and those that blocks share: batch dimensions, and query tiles.
  SmallVector<unsigned> own, shared;
  SmallVector<OpFoldResult> sizes(ArrayRef(s.domainSizes).take_front(s.numBatch));
  sizes.push_back(tiles);
  for (unsigned position = 0; position <= s.numBatch; ++position) {
    bool isOwn = position == s.numBatch       ? sum.queryDim.has_value()
                 : position + 1 == s.numBatch ? sum.headDim.has_value()
                                              : position == 0 && sum.batchDim;
    (isOwn ? own : shared).push_back(position);
  }
  SmallVector<OpFoldResult> bounds = llvm::map_to_vector(own, [&](unsigned position) { return sizes[position]; });
  Value count = index(b, loc, 1);
  for (unsigned position : shared)
    count = multiply(b, loc, count, toValue(b, loc, sizes[position]));
  SmallVector<OpFoldResult> shape = tensor::getMixedSizes(b, loc, sum.destination);
  Value zeros = createZeros(b, loc, shape, type.getElementType()), whole = zeros;
  Value blocks = index(b, loc, 1);
  int64_t warps = cast<BlockAttr>(s.schedule).getWarps();
  if (sum.hasParts()) {
    blocks = max(b, loc, blocks, min(b, loc, count, index(b, loc, getMaxBlocks(type, warps))));
    SmallVector<OpFoldResult> ofParts = {getAsOpFoldResult(blocks), b.getIndexAttr(warps)};
    llvm::append_range(ofParts, shape);
    whole = createZeros(b, loc, ofParts, type.getElementType());
  }
  bounds.push_back(getAsOpFoldResult(blocks));
  auto forall = createParallelTiles(b, loc, bounds, whole, s.schedule);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forall.getBody());
  SmallVector<Value> ivs(forall.getInductionVars()), positions(s.numBatch + 1);
  for (auto [position, iv] : llvm::zip(own, ivs))
    positions[position] = iv;
  // The block's part.
  Slice where;
  SmallVector<int64_t> kept;
  auto add = [&](OpFoldResult offset, OpFoldResult size) {
    where.offsets.push_back(offset);
    where.sizes.push_back(size);
    where.strides.push_back(b.getIndexAttr(1));
  };
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  if (sum.hasParts()) {
    add(ivs.back(), one);
    add(zero, b.getIndexAttr(warps));
    kept.push_back(warps);
  }
  for (auto [i, size] : llvm::enumerate(shape)) {
    if (sum.batchDim == i)
      add(positions[0], one);
    else if (sum.headDim == i)
      add(positions[s.numBatch - 1], one);
    else if (sum.queryDim == i)
      add(affine::makeComposedFoldedAffineApply(b, loc, dim * s.tileRows, {OpFoldResult(positions[s.numBatch])}),
          OpFoldResult());
    else
      add(zero, size);
    if (sum.queryDim == i) // rows that the tensor has
      where.sizes.back() = getTileRows(b, loc, toValue(b, loc, where.offsets.back()), size, s.tileRows);
    kept.push_back(getConstantIntValue(where.sizes.back()).value_or(ShapedType::kDynamic));
  }
  auto partType = RankedTensorType::get(kept, type.getElementType());
  Value part = tensor::ExtractSliceOp::create(b, loc, partType, forall.getRegionIterArgs()[0], where.offsets,
                                              where.sizes, where.strides);
  // Shared positions: every `blocks`-th tile from the block's own on, or all.
  Value first = ivs.back(), single = index(b, loc, 1);
  Value rounds = sum.hasParts() ? divideUp(b, loc, subtract(b, loc, count, first), blocks)
                                : multiply(b, loc, count, subtract(b, loc, single, first));
  TileState result = createLoop(b, loc, index(b, loc, 0), rounds, 1, {part}, [&](Value round, TileState carried) {
    Value rest = sum.hasParts() ? attn::add(b, loc, first, multiply(b, loc, round, blocks)) : round;
    for (size_t i = shared.size(); i-- > 0;) {
      Value size = toValue(b, loc, sizes[shared[i]]);
      positions[shared[i]] = i == 0 ? rest : remainder(b, loc, rest, size);
      rest = i == 0 ? rest : divide(b, loc, rest, size);
    }
    BlockTile at = getBlockTile(b, s, ArrayRef(positions).drop_back(), positions.back());
    llvm::StringMap<Value> rows;
    for (StringRef name : {"query", "dout"})
      rows[name] = packRows(b, s, at, name, s.rowPos(), s.tileRows, /*asFew=*/false);
    return accumulateColumns(b, s, at, rows, carried);
  });
  insertInParallel(b, forall, result[0], forall.getRegionIterArgs()[0], where);
  b.setInsertionPointAfter(forall);
  return sum.hasParts() ? sumParts(b, loc, forall.getResult(0), zeros) : forall.getResult(0);
}

void attn::createScoreSums(RewriterBase &b, BackwardStepOp step) {
  step = sumBiasAsCapture(b, step);
  b.setInsertionPoint(step); // a replaced op is no insertion point
  BackwardShape s(b, step);
  auto results = s.step->getResults().take_back(s.step.getDcaptures().size());
  s.schedule = getSumSchedule(cast<BlockAttr>(s.schedule));
  for (auto [destination, result] : llvm::zip_equal(s.step.getDcaptures(), results)) {
    if (result.use_empty())
      continue;
    b.setInsertionPoint(s.step);
    if (llvm::is_contained(getStaticDomain(s.step), 0)) { // there are no contributions
      b.replaceAllUsesWith(result, destination);
      continue;
    }
    KernelShape kernel(s, RangeAxis::Keys, {});
    kernel.scoreSum = findScoreSum(s.step, destination);
    b.replaceAllUsesWith(result, createScoreSum(b, kernel));
  }
  b.eraseOp(s.step);
}
