//===- BackwardForm.cpp - sdpa_backward as row_delta and backward_step ----===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "FormulaParts.h"
#include "attn/IR/CaptureParts.h"
#include "attn/IR/Derivative.h"
#include "attn/IR/Words.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <limits>

using namespace mlir;
using namespace attn;

/// A row counts as having only its sink if |lse - sink| is at most this, times 1 + |sink|.
static constexpr double kSinkDistance = 1.0 / (1 << 20);

namespace {

class BackwardForm {
public:
  BackwardForm(OpBuilder &builder, SdpaBackwardOp op, Type type)
      : b(builder), loc(op.getLoc()), op(op), type(type), maps(getMaps(op)), numBatch(getNumBatchDims(op)) {}

  FailureOr<Values> build() {
    Value scaleValue = op.getScaleValue();
    FloatAttr scale = scaleValue ? FloatAttr() : getStaticScale(op);
    if (!scale && !scaleValue)
      return failure();
    if (scaleValue)
      scaleValue = convertFloat(b, loc, scaleValue, type);
    expandWords(b, op, op, type);
    if (failed(checkWordsKept(op, BackwardStepOp::getOperationName(), /*expanded=*/Word::dropout_p)))
      return failure();
    Region weightMod;
    takeScoreRegions(weightMod);
    Value delta = buildDelta();
    BackwardStepOp step = buildStep(hideUnreadRows(delta), delta, scale, scaleValue);
    step.getWeightMod().takeBody(weightMod);
    b.setInsertionPointAfter(step);
    return getResults(step, delta);
  }

private:
  /// The scale of K becomes part of score_mod and score_grad, dropout and the scale of V of weight_mod.
  void takeScoreRegions(Region &weightMod) {
    // The reference may have narrowed the operands again, but not the regions.
    Type regionType = op.getScoreMod().empty() ? type : op.getScoreMod().getArgument(0).getType();
    if (op.getDropoutP())
      buildDropout(b, op, op.getDropoutSeed(), op.getDropoutOffset(), op.getDropoutP()->convertToDouble(), regionType,
                   weightMod);
    if (!op.getKeyScale())
      return;
    composeKvScale(b, loc, op.getKeyScale(), ScaleOrder::BeforeRegion, regionType, op.getScoreMod());
    composeKeyScaleGradient(b, loc, op.getKeyScale(), regionType, op.getScoreGrad());
    composeKvScale(b, loc, op.getValueScale(), ScaleOrder::AfterRegion, regionType, weightMod);
  }

  AffineMap getMap(StringRef name) {
    for (auto [map, spec] : llvm::zip(maps, getOperandSpecs(op)))
      if (spec.name == name)
        return map;
    return {};
  }

  /// Iterates over the rows as they are stored: packed sequences are rows of one tensor.
  Value buildDelta() {
    SmallVector<unsigned> kept;
    for (unsigned i = getPackedSequences(op) ? 1 : 0; i < numBatch; ++i)
      kept.push_back(i);
    kept.push_back(getDomainPosition(op, DimKind::Query));
    kept.push_back(getDomainPosition(op, DimKind::ValueSize));
    SmallVector<AffineMap> rowMaps;
    for (StringRef name : {"output", "dout", "lse", "dlse", "lse"})
      if (name != "dlse" || op.getDlse())
        rowMaps.push_back(restrictDomain(getMap(name), kept));
    Value init = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, op.getLse()), type);
    return RowDeltaOp::create(b, loc, init.getType(), op.getOutput(), op.getDout(), op.getLse(), op.getDlse(), init,
                              b.getAffineMapArrayAttr(rowMaps))
        ->getResult(0);
  }

  /// A destination of zeros in the type of the sums: the op's own destination if it has this type.
  Value createZeros(Value output) {
    if (!output)
      return {};
    Value init = output;
    if (getElementTypeOrSelf(output.getType()) != type)
      init = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, output), type);
    return linalg::FillOp::create(b, loc, createFloatConstant(b, loc, type, 0), init).getResult(0);
  }

  /// The destination that is added to, in the type of the sums: unchanged unless the reference sums in a wider type.
  Value widen(Value output) {
    if (getElementTypeOrSelf(output.getType()) == type)
      return output;
    return round(output, tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, output), type));
  }

  /// The dimensions of the domain that a part of the gradient of a shared bias has: the batch, and those of the bias.
  SmallVector<unsigned> getPartDims() {
    AffineMap map = getMap("dbias");
    auto dims = llvm::to_vector(llvm::seq<unsigned>(0, numBatch));
    for (unsigned position : {numBatch, numBatch + 1})
      if (map.isFunctionOfDim(position))
        dims.push_back(position);
    return dims;
  }

  /// Zeros for the gradient of the bias, and their map: the bias's own, or that of a part per batch index and head.
  Value createBiasZeros(AffineMap &map) {
    if (!op.getDbias())
      return {};
    map = getMap("dbias");
    if (!hasBiasGradientParts(op))
      return createZeros(op.getDbias());
    SmallVector<OpFoldResult> sizes = getDomainSizes(b, op), shape;
    for (unsigned position : getPartDims())
      shape.push_back(sizes[position]);
    map = AffineMap::getMultiDimMapWithTargets(sizes.size(), getPartDims(), op.getContext());
    return createZeros(tensor::EmptyOp::create(b, loc, shape, type));
  }

  /// dbias = the sum of its parts.
  Value sumBiasParts(Value parts) {
    SmallVector<unsigned> dims = getPartDims();
    AffineMap map = restrictDomain(getMap("dbias"), dims);
    SmallVector<utils::IteratorType> iterators;
    for (unsigned i = 0; i < dims.size(); ++i)
      iterators.push_back(map.isFunctionOfDim(i) ? utils::IteratorType::parallel : utils::IteratorType::reduction);
    Value zeros = createZeros(op.getDbias());
    return linalg::GenericOp::create(b, loc, zeros.getType(), parts, zeros,
                                     ArrayRef<AffineMap>{b.getMultiDimIdentityMap(dims.size()), map}, iterators,
                                     [](OpBuilder &nested, Location at, ValueRange x) {
                                       Value sum = arith::AddFOp::create(nested, at, x[1], x[0]);
                                       linalg::YieldOp::create(nested, at, sum);
                                     })
        .getResult(0);
  }

  /// The map from the dimensions of lse to the sinks, one per head.
  AffineMap getSinkMap(unsigned head) {
    unsigned rank = cast<ShapedType>(op.getLse().getType()).getRank();
    return AffineMap::get(rank, 0, {getAffineDimExpr(head, op.getContext())}, op.getContext());
  }
  /// The head dimension of lse.
  unsigned getHeadOfLse() { return *getMap("lse").getResultPosition(getAffineDimExpr(numBatch - 1, op.getContext())); }

  /// True where a row has only its sink and delta is NaN, caused by dout: dout is not read where a row keeps no key.
  static Value isUnread(OpBuilder &b, Location loc, Value sink, Value lse, Value logSum, Value delta) {
    Type type = lse.getType();
    if (logSum)
      lse = arith::AddFOp::create(b, loc, lse, logSum);
    Value distance = math::AbsFOp::create(b, loc, arith::SubFOp::create(b, loc, lse, sink));
    Value size =
        arith::AddFOp::create(b, loc, createFloatConstant(b, loc, type, 1), math::AbsFOp::create(b, loc, sink));
    Value limit = arith::MulFOp::create(b, loc, size, createFloatConstant(b, loc, type, kSinkDistance));
    Value isSink = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE, distance, limit);
    Value isNumber = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, delta, delta);
    Value none = arith::ConstantIntOp::create(b, loc, 0, 1);
    return arith::SelectOp::create(b, loc, isNumber, none, isSink);
  }

  /// lse as the steps read it: also -inf where a row has only its sink, so that the steps do not read its dout.
  Value hideUnreadRows(Value delta) {
    bool mayRemove = !op.getMaskMod().empty() || op.getBias() || op.getMask();
    if (!op.getSink() || !mayRemove || numBatch == 0)
      return op.getLse();
    auto lseType = cast<RankedTensorType>(op.getLse().getType());
    unsigned rank = lseType.getRank();
    AffineMap identity = b.getMultiDimIdentityMap(rank);
    Value init = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, op.getLse()), lseType.getElementType());
    SmallVector<utils::IteratorType> parallel(rank, utils::IteratorType::parallel);
    Values inputs = {op.getSink(), op.getLse(), delta};
    if (op.getLogSum())
      inputs.push_back(op.getLogSum());
    SmallVector<AffineMap> rowMaps(inputs.size() + 1, identity);
    rowMaps.front() = getSinkMap(getHeadOfLse());
    return linalg::GenericOp::create(
               b, loc, lseType, inputs, init, rowMaps, parallel,
               [&](OpBuilder &nested, Location at, ValueRange x) {
                 auto convert = [&](Value value) { return convertFloat(nested, at, value, type); };
                 Value logSum = op.getLogSum() ? convert(x[3]) : Value();
                 Value isHidden = isUnread(nested, at, convert(x[0]), convert(x[1]), logSum, convert(x[2]));
                 double infinity = std::numeric_limits<double>::infinity();
                 Value none = createFloatConstant(nested, at, x[1].getType(), -infinity);
                 linalg::YieldOp::create(nested, at,
                                         arith::SelectOp::create(nested, at, isHidden, none, x[1]).getResult());
               })
        .getResult(0);
  }

  BackwardStepOp buildStep(Value lse, Value delta, FloatAttr scale, Value scaleValue) {
    Values inits;
    for (auto [name, output] :
         {std::pair(StringRef("dquery"), op.getDquery()), std::pair(StringRef("dkey"), op.getDkey()),
          std::pair(StringRef("dvalue"), op.getDvalue())})
      inits.push_back(accumulatesInto(op, name) ? widen(output) : createZeros(output));
    AffineMap biasMap;
    Value dbias = createBiasZeros(biasMap);
    Values captures = llvm::map_to_vector(op.getDcaptures(), [&](Value output) { return createZeros(output); });
    SmallVector<AffineMap> stepMaps;
    for (StringRef name :
         {"query", "key", "value", "lse", "dout", "lse", "log_sum", "bias", "mask", "dquery", "dkey", "dvalue"})
      if (AffineMap map = getMap(name))
        stepMaps.push_back(map);
    if (biasMap)
      stepMaps.push_back(biasMap);
    Values all = inits;
    if (dbias)
      all.push_back(dbias);
    llvm::append_range(all, captures);
    auto step = BackwardStepOp::create(
        b, loc, llvm::to_vector(ValueRange(all).getTypes()), op.getQuery(), op.getKey(), op.getValue(), lse,
        op.getDout(), delta, op.getLogSum(), op.getBias(), op.getMask(), inits[0], inits[1], inits[2], dbias, captures,
        op.getCuSeqlensQ(), op.getCuSeqlensK(), scaleValue,
        /*transposed=*/ValueRange(), scale, b.getAffineMapArrayAttr(stepMaps), op.getScheduleAttr());
    step.getMaskMod().takeBody(op.getMaskMod());
    step.getScoreMod().takeBody(op.getScoreMod());
    step.getScoreGrad().takeBody(op.getScoreGrad());
    for (auto [old, init] : llvm::zip(op.getDcaptures(), captures))
      redirectAccumulations(step.getScoreGrad(), old, init);
    step.getQueryRanges().takeBody(op.getQueryRanges());
    return step;
  }

  /// Redirects what `region` adds to `old` to `init`, in the type of the sums.
  void redirectAccumulations(Region &region, Value old, Value init) {
    for (AccumulateOp op : region.getOps<AccumulateOp>()) {
      if (op.getDestination() != old)
        continue;
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(op);
      op.getValueMutable().assign(convertFloat(b, loc, op.getValue(), type));
      op.getDestinationMutable().assign(init);
    }
  }

  /// Rounds to the type of the output.
  Value round(Value value, Value output) {
    if (value.getType() == output.getType())
      return value;
    auto rank = cast<ShapedType>(output.getType()).getRank();
    SmallVector<AffineMap> identity(2, b.getMultiDimIdentityMap(rank));
    SmallVector<utils::IteratorType> parallel(rank, utils::IteratorType::parallel);
    return linalg::GenericOp::create(b, loc, output.getType(), value, output, identity, parallel,
                                     [&](OpBuilder &nested, Location at, ValueRange x) {
                                       linalg::YieldOp::create(nested, at,
                                                               convertFloat(nested, at, x[0], x[1].getType()));
                                     })
        .getResult(0);
  }

  /// The end of the last packed sequence; null without packed sequences. Rows after it belong to no sequence.
  Value getEndRow() {
    Value sequences = op.getCuSeqlensQ();
    if (!sequences)
      return {};
    Value last = getValueOrCreateConstantIndexOp(b, loc, getDomainSizes(b, op)[0]);
    Value end = tensor::ExtractOp::create(b, loc, sequences, last);
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), end);
  }

  /// dsink[h] = -sum over rows of exp(min(sink[h] - lse, 0) - log_sum) * delta: it needs no pass over keys.
  Value buildSinkGradient(Value delta) {
    unsigned rank = cast<ShapedType>(op.getLse().getType()).getRank(), head = getHeadOfLse();
    AffineMap identity = b.getMultiDimIdentityMap(rank), perHead = getSinkMap(head);
    SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::reduction);
    iterators[head] = utils::IteratorType::parallel;
    Value endRow = getEndRow();
    Values inputs = {op.getSink(), op.getLse(), delta};
    SmallVector<AffineMap> sumMaps = {perHead, identity, identity};
    auto addRows = [&](Value operand, StringRef name) {
      inputs.push_back(operand);
      SmallVector<AffineExpr> exprs;
      for (AffineExpr expr : getMap(name).getResults())
        exprs.push_back(b.getAffineDimExpr(*getMap("lse").getResultPosition(expr)));
      sumMaps.push_back(AffineMap::get(rank, 0, exprs, b.getContext()));
    };
    if (op.getDlse())
      addRows(op.getDlse(), "dlse");
    if (op.getLogSum())
      addRows(op.getLogSum(), "log_sum");
    sumMaps.push_back(perHead);
    Value sum =
        linalg::GenericOp::create(
            b, loc, createZeros(op.getDsink()).getType(), inputs, createZeros(op.getDsink()), sumMaps, iterators,
            [&](OpBuilder &nested, Location at, ValueRange x) {
              auto convert = [&](Value value) { return convertFloat(nested, at, value, type); };
              Value sink = convert(x[0]), lse = convert(x[1]), zero = createFloatConstant(nested, at, type, 0);
              Value logSum = op.getLogSum() ? convert(x[x.size() - 2]) : Value();
              // A row that has only its sink has delta = -dlse.
              Value ofDlse = op.getDlse() ? arith::NegFOp::create(nested, at, convert(x[3])).getResult() : zero;
              Value own =
                  arith::SelectOp::create(nested, at, isUnread(nested, at, sink, lse, logSum, x[2]), ofDlse, x[2]);
              Value term = arith::MulFOp::create(nested, at, buildWeight(nested, at, sink, lse, logSum), own);
              Value none = createFloatConstant(nested, at, type, -std::numeric_limits<double>::infinity());
              Value isEmpty = arith::CmpFOp::create(nested, at, arith::CmpFPredicate::OEQ, lse, none);
              if (endRow) {
                Value row = linalg::IndexOp::create(nested, at, 1 - head);
                Value isRest = arith::CmpIOp::create(nested, at, arith::CmpIPredicate::sge, row, endRow);
                isEmpty = arith::OrIOp::create(nested, at, isEmpty, isRest);
              }
              term = arith::SelectOp::create(nested, at, isEmpty, zero, term);
              linalg::YieldOp::create(nested, at, arith::SubFOp::create(nested, at, x.back(), term).getResult());
            })
            .getResult(0);
    return round(sum, op.getDsink());
  }

  Values getResults(BackwardStepOp step, Value delta) {
    Values results, outputs = {op.getDquery(), op.getDkey(), op.getDvalue()};
    if (op.getDbias())
      outputs.push_back(op.getDbias());
    for (auto [i, output] : llvm::enumerate(outputs)) {
      bool isPart = i == 3 && hasBiasGradientParts(op);
      results.push_back(round(isPart ? sumBiasParts(step->getResult(i)) : step->getResult(i), output));
    }
    if (op.getDsink())
      results.push_back(buildSinkGradient(delta));
    for (auto [i, output] : llvm::enumerate(op.getDcaptures()))
      results.push_back(round(step->getResult(outputs.size() + i), output));
    return results;
  }

  OpBuilder &b;
  Location loc;
  SdpaBackwardOp op;
  Type type;
  SmallVector<AffineMap> maps;
  unsigned numBatch;
};

} // namespace

FailureOr<SmallVector<Value>> attn::buildBackwardForm(OpBuilder &builder, SdpaBackwardOp op, Type type) {
  if (!isa<RankedTensorType>(op.getOutput().getType()))
    return failure();
  return BackwardForm(builder, op, type).build();
}
