//===- KeySums.cpp - sums of weights a key --------------------------------===//
//
// The sums of the weights of each key over queries and a group's heads are the
// gradient of a V of one column, where the gradient of the output is 1. A row's
// weights are known only after all keys: attn.sdpa_backward recomputes the scores,
// takes max and ln l, and computes no other product.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ProblemIR.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace attn;

/// A tensor of ones.
Tensor ProblemBuilder::addFilled(const Dims &dims, Type element) {
  Tensor init = addEmpty(dims, element);
  Value unit = make<arith::ConstantOp>(cast<TypedAttr>(getOneAttr(element)));
  return {make<linalg::FillOp>(unit, init.value), dims};
}

/// The destination of the result with a column: (batch, head, key, 1), or (key, head, 1) for packed keys.
Tensor ProblemBuilder::addKeySumsInit() {
  if (problem.layout == Problem::Layout::Varlen && !problem.paged)
    return addEmpty({sk, hkv, {}}, wide);
  Tensor init = addEmpty(results.back().dims, results.back().element);
  if (problem.paged)
    init.value = addCollapsed(init.value, {b, hkv, sk}, 2);
  return addSplit(init, {b, hkv, sk, {}});
}

/// Drops the column of the sums.
void ProblemBuilder::addKeySumsResult(const Tensor &sums) {
  const Result &result = results.back();
  Value &keySums = values[result.name];
  if (problem.layout == Problem::Layout::Varlen && !problem.paged) {
    Value flat = addCollapsed(sums.value, {sk, hkv}, 1), init = addEmpty(result.dims, result.element).value;
    keySums = make<linalg::TransposeOp>(flat, init, ArrayRef<int64_t>{1, 0});
    return;
  }
  const Dims dims = {b, hkv, sk};
  keySums = addCollapsed(sums.value, dims, 2);
  if (problem.paged)
    keySums = addSplit({keySums, dims}, result.dims).value;
}

void ProblemBuilder::addKeySums(Value max, Value logSum) {
  auto withColumn = [](Dims dims) {
    dims.back() = {};
    return dims;
  };
  Value ones = addFilled(withColumn(query.dims), element).value;
  Value onesOfKeys = addFilled(withColumn(key.dims), kvElement).value;
  const SmallVector<Tensor, 2> given(scales);
  if (!scales.empty()) // V has none
    scales.back() = addFilled({hkv}, getF32Type());
  Value dquery = addEmpty(query.dims, element).value, dkey = addEmpty(key.dims, wide).value;
  Tensor sums = addKeySumsInit();
  using Op = SdpaBackwardOp;
  auto op = createOp<Op>({dquery.getType(), dkey.getType(), sums.value.getType()},
                         {{Op::odsIndex_query, query.value},
                          {Op::odsIndex_key, key.value},
                          {Op::odsIndex_value, onesOfKeys},
                          {Op::odsIndex_output, ones},
                          {Op::odsIndex_lse, max},
                          {Op::odsIndex_dout, ones},
                          {Op::odsIndex_log_sum, logSum},
                          {Op::odsIndex_dquery, dquery},
                          {Op::odsIndex_dkey, dkey},
                          {Op::odsIndex_dvalue, sums.value}},
                         4, [](const WordInfo &word) { return word.word != Word::sink; }); // max and ln l include it
  scales = given;
  if (SmallVector<AffineMap> maps = mapInputs(); !maps.empty()) {
    SmallVector<AffineMap> all(ArrayRef(maps).take_front(3));
    AffineMap ofOutput = mapRows(6, getAffineDimExpr(H), I, E, isHeadMajor), ofRow = mapScores(6, 3);
    all.append({ofOutput, ofRow, ofOutput, ofRow});
    all.append(std::next(maps.begin(), 3), maps.end());
    all.append({maps[0], maps[1], mapRows(6, getKvHead(), J, E, /*isHeadMajor=*/true)});
    op.setMapsAttr(getAffineMapArrayAttr(all));
  }
  setRegion(op.getScoreMod(), problem.scoreMod, /*hasKeyHeads=*/true);
  setRegion(op.getMaskMod(), problem.maskMod, /*hasKeyHeads=*/true);
  // The gradients of scores are not used.
  if (!problem.scoreMod.empty()) {
    InsertionGuard guard(*this);
    Block *block = createBlock(&op.getScoreGrad(), {}, {wide, wide}, {getLoc(), getLoc()});
    YieldOp::create(*this, block->getArgument(1));
  }
  addKeySumsResult({op->getResult(2), sums.dims});
}
