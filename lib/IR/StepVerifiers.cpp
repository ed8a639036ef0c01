//===- StepVerifiers.cpp - constraints of the ops of a step ---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Verifiers.h"

using namespace mlir;
using namespace attn;

/// C4: all shaped operands are f32 or f64 of one type.
static LogicalResult verifyOneFloat(Operation *op) {
  Type type = getElementTypeOrSelf(op->getOperand(0).getType());
  for (auto [spec, operand] : llvm::zip(getOperandSpecs(op), op->getOperands())) {
    Type found = getElementTypeOrSelf(operand.getType());
    if (!found.isF32() && !found.isF64())
      return op->emitOpError("C4: expected ") << spec.name << " to be f32 or f64, found " << found;
    if (found != type)
      return op->emitOpError("C4: expected ") << spec.name << " to have element type " << type << ", found " << found;
  }
  return success();
}

/// C9: scaling must keep the order of scores.
static LogicalResult verifyPositive(Operation *op, std::optional<APFloat> scale) {
  if (!scale || (scale->isFinite() && !scale->isNegative() && !scale->isZero()))
    return success();
  return op->emitOpError("C9: expected a finite scale greater than 0, found ")
         << scale->convertToDouble() << "; write it on attn.map_scores";
}

/// C10: a region that reads kv_head needs the map from heads to key heads.
static LogicalResult verifyKvHead(Operation *op, std::optional<AffineMap> kvHead) {
  if (kvHead && (kvHead->getNumInputs() != 1 || kvHead->getNumResults() != 1))
    return op->emitOpError("C10: expected kv_head to map a head to a head of K, found ")
           << kvHead->getNumInputs() << " dimensions and " << kvHead->getNumResults() << " results";
  for (Region &region : op->getRegions())
    for (auto index : region.getOps<IndexOp>())
      if (index.getKind() == IndexKind::KvHead && !kvHead)
        return op->emitOpError("C10: expected kv_head = affine_map<(h) -> (…)> beside a region that asks for kv_head, "
                               "found none");
  return success();
}

/// C9: only the wait may use the result, which is not complete before it.
static LogicalResult verifyAsync(ProductOp op) {
  if (!op.getAsync())
    return success();
  if (op.getNumResults() == 0 || !isInRegisters(op.getOutput().getType()))
    return op.emitOpError("C9: expected async on a tile in registers, found output of type ")
           << op.getOutput().getType() << "; run attn-tiles-to-registers first";
  Value result = op.getResults().front();
  Operation *user = result.use_empty() ? nullptr : *result.user_begin();
  auto gradients = dyn_cast_if_present<ScoreGradientsOp>(user);
  bool waits = isa_and_present<WaitProductOp>(user) ||
               (gradients && gradients.getDweights() == result && gradients.getScores() != result);
  auto isOther = [&](Operation *other) { return other != user; };
  if (!waits || user->getBlock() != op->getBlock() || llvm::any_of(result.getUsers(), isOther))
    return op.emitOpError("C9: expected one attn.wait_product of the result of an async product, in its block, and no "
                          "other use");
  return success();
}

/// The type that a region computes in: the type of the tile, or f32.
static Type getRegionType(Region &region, Type type) {
  bool isF32 = !region.empty() && region.getNumArguments() == 1 && region.getArgument(0).getType().isF32();
  return isF32 ? region.getArgument(0).getType() : type;
}

LogicalResult ProductOp::verify() {
  if (failed(verifyStructure(*this)))
    return failure();
  Type lhs = getElementTypeOrSelf(getLhs().getType()), rhs = getElementTypeOrSelf(getRhs().getType()),
       output = getElementTypeOrSelf(getOutput().getType());
  bool isScores = getContraction() == Contraction::Scores;
  bool isRounded = (isInRegisters(getLhs().getType()) || isa<MemRefType>(getLhs().getType())) && lhs == rhs;
  if (!isa<FloatType>(lhs) || (!isScores && !lhs.isF32() && !lhs.isF64() && !isRounded))
    return emitOpError("C4: expected lhs to be ") << (isScores ? "floating point" : "f32 or f64") << ", found " << lhs;
  if (!output.isF32() && !output.isF64())
    return emitOpError("C4: expected output to be f32 or f64, found ") << output;
  if (!isa<FloatType>(rhs) && !isQuantised(rhs))
    return emitOpError("C4: expected rhs to be floating point, i8, f8E4M3FN or f8E5M2, found ") << rhs;
  if (rhs.getIntOrFloatBitWidth() > std::max(lhs.getIntOrFloatBitWidth(), output.getIntOrFloatBitWidth()))
    return emitOpError("C4: expected rhs to be no wider than lhs or output, found ") << rhs << " beside " << lhs;
  if (getScoreWeight() && !isScores)
    return emitOpError("C2: expected score_weight with the contraction scores alone, found it with values");
  return verifyAsync(*this);
}

LogicalResult WaitProductOp::verify() {
  auto product = getProduct().getDefiningOp<ProductOp>();
  if (!product || !product.getAsync())
    return emitOpError("C9: expected the result of an attn.product with async");
  return success();
}

LogicalResult MapScoresOp::verify() {
  if (failed(verifyStructure(*this)))
    return failure();
  Type type = getElementTypeOrSelf(getInput().getType());
  for (auto [name, operand] : {std::pair("input", getInput()), std::pair("output", getOutput())})
    if (Type found = getElementTypeOrSelf(operand.getType()); !found.isF32() && !found.isF64())
      return emitOpError("C4: expected ") << name << " to be f32 or f64, found " << found;
    else if (found != type)
      return emitOpError("C4: expected ") << name << " to have element type " << type << ", found " << found;
  if (getBias() && !isa<FloatType>(getElementTypeOrSelf(getBias().getType())))
    return emitOpError("C4: expected bias to be floating point, found ") << getElementTypeOrSelf(getBias().getType());
  if (failed(verifyMask(*this, getMask())) || failed(verifyScale(*this, getScaleValue(), getScale(), type)) ||
      failed(verifyKvHead(*this, getKvHead())) ||
      failed(verifyScalarRegion(*this, getMaskMod(), "mask_mod", {}, IntegerType::get(getContext(), 1),
                                "i1 (true = keep)")))
    return failure();
  Type regionType = getRegionType(getScoreMod(), type);
  return verifyScalarRegion(*this, getScoreMod(), "score_mod", regionType, regionType,
                            "one float of the type that it takes");
}

LogicalResult RowMaxOp::verify() {
  if (failed(verifyStructure(*this)) || failed(verifyOneFloat(*this)))
    return failure();
  return verifyPositive(*this, getScale());
}

LogicalResult RescaleOp::verify() {
  if (failed(verifyStructure(*this)) || failed(verifyOneFloat(*this)))
    return failure();
  return success();
}

LogicalResult RescaleRowsOp::verify() {
  if (llvm::none_of(getFactors().getUsers(), [](Operation *user) { return isa<RescaleAccOp>(user); }))
    return emitOpError("C9: expected an attn.rescale_acc by its factors, as the sums of the rows have them");
  return success();
}

LogicalResult RescaleAccOp::verify() {
  if (!getFactors().getDefiningOp<RescaleRowsOp>())
    return emitOpError("C9: expected the factors of an attn.rescale_rows");
  return success();
}

LogicalResult WeightsOp::verify() {
  if (failed(verifyStructure(*this)) || failed(verifyOneFloat(*this)) || failed(verifyPositive(*this, getScale())) ||
      failed(verifyKvHead(*this, getKvHead())))
    return failure();
  Type type = getRegionType(getWeightMod(), getElementTypeOrSelf(getScores().getType()));
  return verifyScalarRegion(*this, getWeightMod(), "weight_mod", type, type, "one float of the type that it takes");
}

/// The rank of a tensor map is at most this.
static constexpr size_t kMaxBoxRank = 5;

LogicalResult CopyOp::verify() {
  if (failed(verifyAttributes(*this)))
    return failure();
  SmallVector<AffineMap> maps = attn::getMaps(*this);
  if (maps.size() != (getLse() ? 3 : 2) || maps[0].getNumDims() < 2 ||
      llvm::any_of(maps, [&](AffineMap map) { return map.getNumDims() != maps[0].getNumDims(); }))
    return emitOpError("C1: expected a map for each operand, of one domain, (batch…, row, column), found ")
           << getIndexingMaps(*this);
  unsigned column = maps[0].getNumDims() - 1;
  std::optional<int64_t> columns;
  for (auto [operand, map] : llvm::zip(getOperands(), maps)) { // operands after these have no maps
    auto type = cast<MemRefType>(operand.getType());
    if (map.getNumResults() != type.getRank())
      return emitOpError("C1: expected maps with as many results as the operand has dimensions, found ")
             << AffineMapAttr::get(map) << " for " << type;
    for (auto [expr, size] : llvm::zip(map.getResults(), type.getShape())) {
      if (expr != getAffineDimExpr(column, getContext()) || ShapedType::isDynamic(size))
        continue;
      if (columns.value_or(size) != size)
        return emitOpError("C2: expected input and output to have one number of columns, found ")
               << *columns << " and " << size;
      columns = size;
    }
  }
  Type input = getElementTypeOrSelf(getInput().getType()), output = getElementTypeOrSelf(getOutput().getType());
  if (input != output && !(isa<FloatType>(output) && (isa<FloatType>(input) || isQuantised(input))))
    return emitOpError("C4: expected one element type, or an output of floats, found ") << input << " and " << output;
  if (size_t rank = getBegin().size(); getTensorMap() && (rank < 2 || rank > kMaxBoxRank))
    return emitOpError("C11: expected a box with 2 to ") << kMaxBoxRank << " indices, found " << rank;
  if (getTensorMap() && getLse())
    return emitOpError("C11: expected a box without where, found both; write attn.clear_rows behind the wait");
  return success();
}

LogicalResult CopyStatisticsOp::verify() {
  auto maps = getMaps().getAsValueRange<AffineMapAttr>();
  SmallVector<Value> inputs = {getLse()};
  for (Value optional : {getLogSum(), getDelta()})
    if (optional)
      inputs.push_back(optional);
  auto fits = [](auto pair) {
    return std::get<0>(pair).getNumResults() == cast<MemRefType>(std::get<1>(pair).getType()).getRank();
  };
  if (size_t(llvm::range_size(maps)) != inputs.size() || !llvm::all_of(llvm::zip(maps, inputs), fits))
    return emitOpError("C1: expected a map of each input, with as many results as it has dimensions, found ")
           << getMapsAttr();
  auto tile = cast<MemRefType>(getTile().getType());
  if (!tile.hasStaticShape() || tile.getRank() != 2 || tile.getDimSize(0) != 4 || !tile.getElementType().isF32())
    return emitOpError("C2: expected a tile of 4 rows of f32, found ") << tile;
  return success();
}

LogicalResult WaitOp::verify() {
  int64_t pending = getPendingAttr().getInt(); // the attribute, as its getter is unsigned
  if (pending < 0 || (pending > 0 && getTokens().empty()))
    return emitOpError("C9: expected pending to be 0 or greater, and 0 without tokens, found ") << pending;
  return success();
}
