//===- OpsRepeats.cpp - CumSum, Tile --------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Shared.h"

#include "llvm/ADT/STLExtras.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// CumSum
//===----------------------------------------------------------------------===//

/// Y(…, i, …) = sum of X(…, j, …) over j <= i: with exclusive, j < i; with reverse, from the other end.
static Expected<Values> buildCumSum(NodeView &view) {
  const Value &value = view.get(0);
  if (value.element == DataType::Bool)
    return view.fail("expected an input of numbers, found BOOL");
  std::optional<std::vector<int64_t>> number = view.getNumbers(1);
  if (!number || number->size() != 1)
    return view.fail("expected axis as one constant, found others");
  Expected<size_t> axis = view.getAxis(number->front(), value.getRank());
  if (!axis)
    return axis.takeError();
  GraphBuilder &b = view.b;
  // Narrow floats are summed up in f32.
  DataType type = getComputeType(value.element);
  const Value input = {value.element, value.sizes, b.get(value)};
  Sizes rowSizes = value.sizes, offsets(value.getRank(), fixed(0));
  rowSizes[*axis] = fixed(1);
  Value init = b.addEmpty(type, value.sizes), row = b.addZeros(type, rowSizes);
  bool isReverse = view.getInteger("reverse", 0) != 0, isExclusive = view.getInteger("exclusive", 0) != 0;
  mlir::Value begin = b.index(0), step = b.index(1), count = b.index(value.sizes[*axis]), last;
  if (isReverse)
    last = b.index(b.subtract(value.sizes[*axis], fixed(1)));
  auto loop = mlir::scf::ForOp::create(b, begin, count, step, mlir::ValueRange{init.ir, row.ir});
  {
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getBody());
    mlir::Value place = loop.getInductionVar();
    offsets[*axis].number.reset();
    offsets[*axis].value = isReverse ? b.make<arith::SubIOp>(last, place) : place;
    Value part = b.slice(input, offsets, rowSizes), sum = {type, rowSizes, loop.getRegionIterArg(1)};
    Value next = b.addElementwise(type, rowSizes, {&sum, &part}, [&](Args x) {
      return b.either<arith::AddFOp, arith::AddIOp>(x[0], b.cast(x[1], x[0].getType()));
    });
    const Value sums = {type, value.sizes, loop.getRegionIterArg(0)};
    mlir::Value written = b.insert(isExclusive ? sum : next, sums, offsets).ir;
    mlir::scf::YieldOp::create(b, mlir::ValueRange{written, next.ir});
  }
  // The sizes of a loop's result are not derived from the loop.
  const Value sums = {type, value.sizes, loop.getResult(0)};
  return one(b.addElementwise(value.element, value.sizes, {&sums},
                              [&](Args x) { return b.cast(x[0], b.getElementType(value.element)); }));
}

//===----------------------------------------------------------------------===//
// Tile
//===----------------------------------------------------------------------===//

/// X over (repeats, size) for each repeated dimension; the two are then collapsed.
static Expected<Values> buildTile(NodeView &view) {
  const Value &value = view.get(0);
  if (!view.get(1).integers)
    return view.fail("expected repeats as a constant or made of sizes, found values of the run");
  const std::vector<Size> &repeats = *view.get(1).integers;
  if (repeats.size() != value.getRank())
    return view.fail(formatv("expected {0} repeats, one a dimension, found {1}", value.getRank(), repeats.size()));
  for (const Size &count : repeats)
    if (count.number && (*count.number < 0 || *count.number > kMaxSize))
      return view.fail(formatv("expected repeats from 0 to {0}, found {1}", kMaxSize, *count.number));
  GraphBuilder &b = view.b;
  Sizes wide, sizes;
  Exprs map;
  llvm::SmallVector<mlir::ReassociationIndices> groups;
  for (auto [size, count] : llvm::zip(value.sizes, repeats)) {
    bool isOne = size.number == 1, isRepeated = count.number != 1 && !isOne;
    mlir::ReassociationIndices &group = groups.emplace_back();
    if (isRepeated) {
      group.push_back(wide.size());
      wide.push_back(count);
    }
    group.push_back(wide.size());
    map.push_back(isOne ? b.getAffineConstantExpr(0) : b.dim(wide.size()));
    wide.push_back(isOne ? count : size);
    sizes.push_back(b.multiply(count, size));
  }
  if (Error error = checkValue({value.element, sizes}))
    return std::move(error);
  if (hasNoElements(sizes))
    return one(b.addEmpty(value.element, sizes));
  Operand operand = {&value, map};
  Value repeated = b.addGeneric(b.addEmpty(value.element, wide), b.getDims(wide.size()), operand, wide.size(), {},
                                [](Args x) { return x[0]; });
  Value result = {value.element, sizes, repeated.ir};
  if (wide.size() != sizes.size())
    result.ir = b.make<tensor::CollapseShapeOp>(b.getType(result), repeated.ir, groups);
  return one(result);
}

llvm::ArrayRef<RuleRow> attn::onnx::getRepeatRules() {
  static constexpr RuleRow rows[] = {{"CumSum", buildCumSum, 2, 2}, {"Tile", buildTile, 2, 2}};
  return rows;
}
