//===- ProblemOps.cpp - the attn ops of a problem -------------------------===//
//
// One attn.sdpa, or the unfused chain where weights are asked for.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ProblemIR.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

AffineExpr ProblemBuilder::getKvHead() {
  AffineExpr head = getAffineDimExpr(H);
  return problem.sizes.hq == problem.sizes.hkv ? head : head.floorDiv(problem.sizes.hq / problem.sizes.hkv);
}

AffineMap ProblemBuilder::mapRows(unsigned rank, AffineExpr head, unsigned row, unsigned column, bool isHeadMajor) {
  AffineExpr at = getAffineDimExpr(row);
  return AffineMap::get(
      rank, 0, {getAffineDimExpr(B), isHeadMajor ? head : at, isHeadMajor ? at : head, getAffineDimExpr(column)},
      getContext());
}

/// The first dimensions of (batch, head, query, key).
AffineMap ProblemBuilder::mapScores(unsigned rank, unsigned count) {
  return AffineMap::getMultiDimIdentityMap(rank, getContext()).getMajorSubMap(count);
}

/// The maps of Q, K, V, bias and mask; empty for the default layout, or the one of packed sequences.
SmallVector<AffineMap> ProblemBuilder::mapInputs() {
  if (problem.layout == Problem::Layout::Varlen || isHeadMajor)
    return {};
  SmallVector<AffineMap> maps = {mapRows(6, getAffineDimExpr(H), I, D, isHeadMajor),
                                 mapRows(6, getKvHead(), J, D, isKeyHeadMajor),
                                 mapRows(6, getKvHead(), J, E, isKeyHeadMajor)};
  for (const WordInfo &word : getWords())
    if (const auto *shape = problem.words.get<ScoreShape>(word.word)) {
      SmallVector<AffineExpr> results;
      for (auto [i, size] : llvm::enumerate(*shape))
        results.push_back(size == 1 ? getAffineConstantExpr(0) : getAffineDimExpr(i));
      maps.push_back(AffineMap::get(6, 0, results, getContext()));
    }
  return maps;
}

//===----------------------------------------------------------------------===//
// attn.sdpa
//===----------------------------------------------------------------------===//

/// The operand of a word; null if the problem does not have it.
Value ProblemBuilder::findOperand(const WordInfo &word) const {
  if (word.word == Word::key_scale || word.word == Word::value_scale)
    return scales.empty() ? Value() : scales[word.word == Word::value_scale].value;
  return word.isAttribute() || !problem.hasArgument(word) ? Value() : find(word.argument);
}

static bool isAny(const WordInfo &) { return true; }

void ProblemBuilder::addSdpa() {
  // The row results that are returned; sums of weights read the last two.
  Value inits[4];
  SmallVector<Type> types;
  constexpr StringRef names[] = {"out", "lse", "max", "log_sum"};
  const bool isWanted[] = {true, problem.outputs.lse, problem.outputs.max || problem.outputs.keySums,
                           problem.outputs.logSum || problem.outputs.keySums};
  for (unsigned i = 0; i < 4; ++i) {
    if (!isWanted[i])
      continue;
    if (problem.continuesState())
      inits[i] = olds.lookup(names[i]);
    else
      inits[i] = (i == 0 ? addEmpty(results[0].dims, results[0].element) : addEmpty(getRowDims(), wide)).value;
    types.push_back(inits[i].getType());
  }
  if (problem.layout == Problem::Layout::BSD) {
    inits[0] = addSplitHeads({inits[0], results[0].dims}, sq, problem.sizes.hq, problem.sizes.dv).value;
    types[0] = inits[0].getType();
  }
  auto sdpa = createOp<SdpaOp>(types,
                               {{SdpaOp::odsIndex_query, query.value},
                                {SdpaOp::odsIndex_key, key.value},
                                {SdpaOp::odsIndex_value, value.value},
                                {SdpaOp::odsIndex_output, inits[0]},
                                {SdpaOp::odsIndex_lse, inits[1]},
                                {SdpaOp::odsIndex_max, inits[2]},
                                {SdpaOp::odsIndex_log_sum, inits[3]}},
                               4, isAny);
  if (SmallVector<AffineMap> maps = mapInputs(); !maps.empty()) {
    maps.push_back(mapRows(6, getAffineDimExpr(H), I, E, isHeadMajor));
    maps.append(types.size() - 1, mapScores(6, 3));
    sdpa.setMapsAttr(getAffineMapArrayAttr(maps));
  }
  sdpa.setAccumulate(problem.continuesState());
  setRegion(sdpa.getScoreMod(), problem.scoreMod, /*hasKeyHeads=*/true);
  setRegion(sdpa.getMaskMod(), problem.maskMod, /*hasKeyHeads=*/true);
  for (unsigned i = 0, result = 0; i < 4; ++i)
    if (isWanted[i])
      values[names[i]] = sdpa->getResult(result++);
  if (problem.outputs.keySums)
    addKeySums(find("max"), find("log_sum"));
  if (problem.layout == Problem::Layout::BSD)
    values["out"] = addCollapsed(find("out"), results[0].dims, 2);
}

//===----------------------------------------------------------------------===//
// The chain
//===----------------------------------------------------------------------===//

Value ProblemBuilder::addGeneric(ArrayRef<Value> inputs, ArrayRef<AffineMap> maps, Value init,
                                 llvm::function_ref<Value(ValueRange)> build) {
  SmallVector<utils::IteratorType> iterators(maps.front().getNumDims(), utils::IteratorType::parallel);
  return make<linalg::GenericOp>(TypeRange(init.getType()), inputs, init, maps, iterators,
                                 [&](OpBuilder &b, Location loc, ValueRange elements) {
                                   OpBuilder::InsertionGuard guard(*this);
                                   setInsertionPointToEnd(b.getInsertionBlock());
                                   linalg::YieldOp::create(*this, build(elements));
                                 });
}

Value ProblemBuilder::castFloat(Value element, Type to) {
  if (element.getType() == to)
    return element;
  return to.getIntOrFloatBitWidth() < 32 ? make<arith::TruncFOp>(to, element) : make<arith::ExtFOp>(to, element);
}

Value ProblemBuilder::addCast(Value tensor, Value init) {
  AffineMap map = getMultiDimIdentityMap(4);
  return addGeneric(tensor, {map, map}, init,
                    [&](ValueRange x) { return castFloat(x[0], getElementTypeOrSelf(init)); });
}

/// K or V as floats in memory, times their scales, as the chain reads them.
Tensor ProblemBuilder::addWideRows(const Tensor &rows, unsigned scale, Type to) {
  Tensor init = addEmpty(rows.dims, to);
  if (!problem.isQuantised())
    return {addCast(rows.value, init.value), rows.dims};
  // scale[h], or scale[b, h, j]
  AffineMap same = getMultiDimIdentityMap(4);
  AffineExpr head = getAffineDimExpr(isKeyHeadMajor ? 1 : 2), at = getAffineDimExpr(isKeyHeadMajor ? 2 : 1);
  SmallVector<AffineExpr> place = {head};
  if (problem.kvScale != Problem::KvScale::Head)
    place = {getAffineDimExpr(0), head, at};
  Value wide = addGeneric({rows.value, scales[scale].value}, {same, AffineMap::get(4, 0, place, getContext()), same},
                          init.value, [&](ValueRange x) {
                            Value number = problem.kv == Problem::KvElement::I8 ? make<arith::SIToFPOp>(to, x[0])
                                                                                : make<arith::ExtFOp>(to, x[0]);
                            Value factor = castFloat(x[1], to);
                            return make<arith::MulFOp>(number, factor);
                          });
  return {wide, rows.dims};
}

/// The formula of docs/Semantics.md step by step, with the weights in memory.
void ProblemBuilder::addChain() {
  if (problem.kv != Problem::KvElement::Same) {
    key = addWideRows(key, 0, wide);
    value = addWideRows(value, 1, wide);
  }
  if (widensChain())
    query.value = addCast(query.value, addEmpty(query.dims, wide).value);
  addOutput(addWeights(addScores()));
}

/// Scaled keys and values need f32: beside a 16-bit Q, all three are then wide.
bool ProblemBuilder::widensChain() const { return problem.isQuantised() && element != wide; }

/// The scores with all functions and masks.
Value ProblemBuilder::addScores() {
  const ArrayAttr none;
  auto addInit = [&] { return addEmpty({b, hq, sq, sk}, wide).value; };
  ArrayAttr maps;
  if (!isHeadMajor)
    maps = getAffineMapArrayAttr({mapRows(5, getAffineDimExpr(H), I, D, isHeadMajor),
                                  mapRows(5, getKvHead(), J, D, isKeyHeadMajor), mapScores(5, 4)});
  Value init = addInit();
  Type type = init.getType();
  Value scores = make<ScoresOp>(type, query.value, key.value, init, ValueRange(), ScoreKindAttr(), maps);
  const auto *scale = problem.words.get<double>(Word::scale);
  Value given = find(getWord(Word::scale_value).argument);
  FloatAttr own = getF64FloatAttr(scale ? *scale : 1 / std::sqrt(double(problem.sizes.d)));
  scores = make<ScaleOp>(type, scores, addInit(), given, given ? FloatAttr() : own, none);
  if (!problem.scoreMod.empty()) {
    auto modify = ModifyOp::create(*this, type, scores, addInit(), none);
    setRegion(modify.getScoreMod(), problem.scoreMod, /*hasKeyHeads=*/false);
    scores = modify->getResult(0);
  }
  if (const auto *softcap = problem.words.get<double>(Word::softcap))
    scores = make<SoftcapOp>(type, scores, addInit(), getF64FloatAttr(*softcap), none);
  auto isOfMask = [&](const WordInfo &word) {
    return word.kind == WordKind::MaskAttribute || word.kind == WordKind::MaskOperand;
  };
  bool isMasked = llvm::any_of(getWords(), [&](const WordInfo &word) {
    return isOfMask(word) && (word.isAttribute() ? problem.words.has(word.word) : bool(findOperand(word)));
  });
  if (!isMasked && problem.maskMod.empty())
    return scores;
  auto mask =
      createOp<MaskOp>(type, {{MaskOp::odsIndex_input, scores}, {MaskOp::odsIndex_output, addInit()}}, 1, isOfMask);
  setRegion(mask.getMaskMod(), problem.maskMod, /*hasKeyHeads=*/false);
  return mask->getResult(0);
}

/// The softmax of the scores and dropout, in the type of the output.
Value ProblemBuilder::addWeights(Value scores) {
  const Dims dims = {b, hq, sq, sk};
  Value init = addEmpty(dims, wide).value,
        lse = problem.outputs.lse ? addEmpty(results[1].dims, results[1].element).value : Value();
  SmallVector<Type> types = {init.getType()};
  if (lse)
    types.push_back(lse.getType());
  Value sink = find(getWord(Word::sink).argument);
  Value lengths = sink ? find(getWord(Word::q_lengths).argument) : Value();
  auto softmax = SoftmaxOp::create(*this, types, scores, init, lse, sink, lengths, ArrayAttr());
  Value weights = softmax->getResult(0);
  if (lse)
    values["lse"] = softmax->getResult(1);
  if (const auto *probability = problem.words.get<double>(Word::dropout_p)) {
    Value dropped = addEmpty(dims, wide).value;
    weights = make<DropoutOp>(TypeRange(dropped.getType()), weights, dropped, find("seed"), find("offset"),
                              getF64FloatAttr(*probability), ArrayAttr());
  }
  if (element != wide)
    weights = addCast(weights, addEmpty(dims, element).value);
  return values["weights"] = weights;
}

/// The weights times V, in the layout of the output.
void ProblemBuilder::addOutput(Value weights) {
  ArrayAttr maps;
  if (!isHeadMajor)
    maps = getAffineMapArrayAttr({mapScores(5, 4), mapRows(5, getKvHead(), J, D, isKeyHeadMajor),
                                  mapRows(5, getAffineDimExpr(H), I, D, isHeadMajor)});
  bool isSplit = problem.layout == Problem::Layout::BSD;
  Tensor init = {addEmpty(results[0].dims, element).value, results[0].dims};
  if (isSplit)
    init = addSplitHeads(init, sq, problem.sizes.hq, problem.sizes.dv);
  Value target = widensChain() ? addEmpty(init.dims, wide).value : init.value;
  Value out = make<ApplyOp>(TypeRange(target.getType()), weights, value.value, target, maps);
  if (widensChain())
    out = addCast(out, init.value);
  values["out"] = isSplit ? addCollapsed(out, results[0].dims, 2) : out;
}
