//===- SdpaGradient.cpp - the rule of one attn.sdpa -----------------------===//
//
// The rule of attn.sdpa in attn-differentiate: an op that also returns max and log_sum for the forward pass, and its
// attn.sdpa_backward.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SdpaGradient.h"
#include "ScaleGradients.h"
#include "attn/IR/Decompose.h"
#include "attn/IR/Derivative.h"
#include "attn/IR/Words.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

SdpaOp attn::addRowStatistics(OpBuilder &b, SdpaOp sdpa) {
  if (sdpa.getMax() && sdpa.getLogSum())
    return sdpa;
  b.setInsertionPoint(sdpa);
  Location loc = sdpa.getLoc();
  unsigned numBatch = getNumBatchDims(sdpa), row = getDomainPosition(sdpa, DimKind::Query);
  SmallVector<OpFoldResult> domain = getDomainSizes(b, sdpa), sizes;
  SmallVector<AffineExpr> exprs;
  for (unsigned i = getPackedSequences(sdpa) ? 1 : 0; i < numBatch; ++i) {
    sizes.push_back(domain[i]);
    exprs.push_back(b.getAffineDimExpr(i));
  }
  sizes.push_back(domain[row]);
  exprs.push_back(b.getAffineDimExpr(row));
  Type type = getAccumulationType(getElementTypeOrSelf(sdpa.getQuery().getType()));
  Value init = tensor::EmptyOp::create(b, loc, sizes, type);
  ArrayAttr maps = getExplicitMaps(sdpa);
  bool hasMax = bool(sdpa.getMax()), hasLogSum = bool(sdpa.getLogSum());

  SmallVector<Type> types(sdpa->getResultTypes());
  types.append(size_t(!hasMax) + size_t(!hasLogSum), init.getType());
  OperationState state(loc, sdpa->getName(), sdpa->getOperands(), types, sdpa->getAttrs());
  for (Region &region : sdpa->getRegions())
    state.addRegion()->takeBody(region);
  auto whole = cast<SdpaOp>(b.create(state));
  if (!hasMax)
    whole.getMaxMutable().assign(init);
  if (!hasLogSum)
    whole.getLogSumMutable().assign(init);
  if (maps) { // those of max and log_sum come last
    SmallVector<Attribute> all(maps.getValue().drop_back(size_t(hasMax) + size_t(hasLogSum)));
    all.append(2, AffineMapAttr::get(AffineMap::get(domain.size(), 0, exprs, b.getContext())));
    whole.setMapsAttr(b.getArrayAttr(all));
  }
  sdpa->getResult(0).replaceAllUsesWith(whole->getResult(0));
  for (RowResult kind : {RowResult::Lse, RowResult::Max, RowResult::LogSum})
    if (Value old = getRowResult(sdpa, kind))
      old.replaceAllUsesWith(getRowResult(whole, kind));
  sdpa.erase();
  return whole;
}

SoftmaxOp attn::addLse(OpBuilder &b, SoftmaxOp softmax) {
  b.setInsertionPoint(softmax);
  Location loc = softmax.getLoc();
  Type type = getAccumulationType(getElementTypeOrSelf(softmax.getInput().getType()));
  SmallVector<OpFoldResult> sizes = getDomainSizes(b, softmax);
  Value init = tensor::EmptyOp::create(b, loc, ArrayRef(sizes).drop_back(), type); // (batch…, query)
  SmallVector<Type> types = {softmax->getResult(0).getType(), init.getType()};
  ArrayAttr maps = getExplicitMaps(softmax);
  if (maps) {
    SmallVector<Attribute> all(maps.getValue());
    AffineMap rows = b.getMultiDimIdentityMap(sizes.size()).dropResult(sizes.size() - 1);
    all.push_back(AffineMapAttr::get(rows));
    maps = b.getArrayAttr(all);
  }
  auto whole = SoftmaxOp::create(b, loc, types, softmax.getInput(), softmax.getOutput(), init, softmax.getSink(),
                                 softmax.getQLengths(), maps);
  softmax->getResult(0).replaceAllUsesWith(whole->getResult(0));
  softmax.erase();
  return whole;
}

/// The maps of sdpa by name; cotangents and gradients have the maps of their tensors.
static ArrayAttr getBackwardMaps(OpBuilder &b, SdpaOp sdpa, const WantedGradients &wanted, bool hasDlse) {
  if (!getExplicitMaps(sdpa))
    return {};
  llvm::StringMap<AffineMap> byName;
  for (auto [map, spec] : llvm::zip(getMaps(sdpa), getOperandSpecs(sdpa)))
    byName[spec.name] = map;
  SmallVector<AffineMap> maps;
  auto add = [&](StringRef operand) { maps.push_back(byName[operand]); };
  for (StringRef operand : {"query", "key", "value", "output", "max", "output"})
    add(operand);
  if (hasDlse)
    add("lse");
  add("log_sum");
  if (sdpa.getBias())
    add("bias");
  if (sdpa.getMask())
    add("mask");
  for (StringRef operand : {"query", "key", "value"})
    add(operand);
  if (wanted.contains(OfBias))
    add("bias");
  return b.getAffineMapArrayAttr(maps);
}

/// The result of `op` that is the gradient of `input`.
static Value getGradient(SdpaBackwardOp op, unsigned input) {
  // dq, dk, dv, then dbias and dsink if present, then those of captured tensors.
  if (input >= NumSdpaInputs)
    return op->getResults().take_back(op.getDcaptures().size())[input - NumSdpaInputs];
  return op->getResult(input - (input == OfSink && !op.getDbias()));
}

namespace {
/// The destinations of the gradients of attn.sdpa_backward; dbias and dsink are set where they are wanted.
struct BackwardOutputs {
  Value dquery, dkey, dvalue, dbias, dsink;
  SmallVector<Value> dcaptures;

  SmallVector<Value> getAll() const {
    SmallVector<Value> all = {dquery, dkey, dvalue};
    for (Value optional : {dbias, dsink})
      if (optional)
        all.push_back(optional);
    llvm::append_range(all, dcaptures);
    return all;
  }
};
} // namespace

static BackwardOutputs createOutputs(OpBuilder &b, SdpaOp sdpa, const WantedGradients &wanted, const IRMapping &mapping,
                                     const ScaledOperands &operands) {
  Type sumType = getAccumulationType(getElementTypeOrSelf(sdpa.getQuery().getType()));
  auto createEmpty = [&](Value like, Type type) {
    Location loc = sdpa.getLoc();
    return tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, like), type).getResult();
  };
  auto createLike = [&](Value like) {
    Type type = getElementTypeOrSelf(like.getType());
    return createEmpty(like, wanted.inSumType || isQuantised(type) ? sumType : type);
  };
  auto createGradient = [&](SdpaInput input, Value like) {
    return wanted.destinations[input] ? wanted.destinations[input] : createLike(like);
  };
  BackwardOutputs outputs;
  outputs.dquery = createGradient(OfQuery, operands.query);
  outputs.dkey = createGradient(OfKey, operands.key);
  outputs.dvalue = createGradient(OfValue, operands.value);
  if (wanted.contains(OfBias))
    outputs.dbias = createLike(mapping.lookup(sdpa.getBias()));
  if (wanted.contains(OfSink))
    outputs.dsink = createLike(mapping.lookup(sdpa.getSink()));
  for (Value capture : wanted.captures)
    outputs.dcaptures.push_back(createEmpty(mapping.lookup(capture), sumType));
  return outputs;
}

FailureOr<SmallVector<Value>> attn::buildSdpaBackward(OpBuilder &b, SdpaOp sdpa, const WantedGradients &wanted,
                                                      IRMapping &mapping, SdpaResults results,
                                                      llvm::function_ref<InFlightDiagnostic()> refuse) {
  Location loc = sdpa.getLoc();
  auto map = [&](Value value) { return value ? mapping.lookup(value) : Value(); };
  ScaleGradients scales(b, sdpa, wanted, mapping);
  if (failed(scales.scaleOperands(results, refuse)))
    return failure();
  const ScaledOperands &scaled = scales.getOperands();
  BackwardOutputs outputs = createOutputs(b, sdpa, wanted, mapping, scaled);
  // Operands in the order of the op.
  SmallVector<Value> operands;
  SmallVector<int32_t> segments;
  auto add = [&](ValueRange values) {
    llvm::append_range(operands, values);
    segments.push_back(values.size());
  };
  for (Value value : {scaled.query, scaled.key, scaled.value, results.out, results.max, results.dout, results.dlse,
                      results.logSum, map(sdpa.getBias()), map(sdpa.getMask()), outputs.dquery, outputs.dkey,
                      outputs.dvalue, outputs.dbias, outputs.dsink})
    add(value ? ValueRange(value) : ValueRange());
  add(outputs.dcaptures);
  for (Value value :
       {map(sdpa.getSink()), map(sdpa.getQLengths()), map(sdpa.getKvLengths()), map(sdpa.getCausalOffset()),
        map(sdpa.getQOrigin()), map(sdpa.getKOrigin()), map(sdpa.getCuSeqlensQ()), map(sdpa.getCuSeqlensK()),
        scaled.keyScale, scaled.valueScale, map(sdpa.getDropoutSeed()), map(sdpa.getDropoutOffset()),
        map(sdpa.getBOrigin()), map(sdpa.getHOrigin()), map(sdpa.getWholeHq()), map(sdpa.getWholeSq()),
        map(sdpa.getWholeSk()), scaled.scale})
    add(value ? ValueRange(value) : ValueRange());
  // The words that are attributes, from the table.
  if (failed(checkWordsKept(sdpa, SdpaBackwardOp::getOperationName())))
    return failure();
  NamedAttrList attributes;
  for (const WordInfo &word : getWords())
    if (Attribute attribute = word.isAttribute() ? sdpa->getAttr(word.name) : Attribute())
      attributes.set(word.name, attribute);
  attributes.erase("scale");
  if (scales.getScale())
    attributes.set("scale", scales.getScale());
  if (ArrayAttr maps = getBackwardMaps(b, sdpa, wanted, results.dlse != nullptr))
    attributes.set("maps", maps);
  SmallVector<StringRef> added;
  for (auto [isAdded, name] : llvm::zip(wanted.isAdded, ArrayRef<StringRef>{"dquery", "dkey", "dvalue"}))
    if (isAdded)
      added.push_back(name);
  if (!added.empty())
    attributes.set("accumulate", b.getStrArrayAttr(added));
  attributes.set(SdpaBackwardOp::getOperandSegmentSizeAttr(), b.getDenseI32ArrayAttr(segments));
  auto op = SdpaBackwardOp::create(b, loc, ValueRange(outputs.getAll()).getTypes(), operands, attributes.getAttrs());
  sdpa.getMaskMod().cloneInto(&op.getMaskMod(), mapping);
  sdpa.getScoreMod().cloneInto(&op.getScoreMod(), mapping);
  if (!op.getScoreMod().empty() &&
      failed(buildScoreGradient(b, loc, op.getScoreMod(), op.getScoreGrad(), llvm::map_to_vector(wanted.captures, map),
                                op.getDcaptures(), refuse)))
    return failure();
  SmallVector<Value> gradients;
  for (unsigned input : wanted.inputs) {
    bool isScaled = llvm::is_contained({OfQuery, OfScale, OfKeyScale, OfValueScale}, input);
    gradients.push_back(isScaled ? scales.getGradient(input, op->getResult(0), op->getResult(1), op->getResult(2))
                                 : getGradient(op, input));
  }
  return gradients;
}
