//===- OpsIndexing.cpp - elements by computed positions -------------------===//
//
// tensor.extract at positions that are read or computed. A position outside the
// tensor, which ONNX forbids, is clamped.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GraphOps.h"
#include "Places.h"

#include "llvm/ADT/STLExtras.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;

static Error checkIndices(NodeView &view, const Value &source, const Value &indices) {
  if (indices.element != DataType::Int64 && indices.element != DataType::Int32)
    return view.fail("expected indices of INT64 or INT32, found " + getDataTypeName(int64_t(indices.element)));
  if (llvm::any_of(source.sizes, [](const Size &size) { return size.number == 0; }))
    return view.fail("expected an input with elements, found none");
  return Error::success();
}

/// The position of an ONNX index, which may count from the end, in a dimension of this size.
static mlir::Value addPosition(GraphBuilder &b, mlir::Value index, mlir::Value size) {
  mlir::Value given = b.make<arith::IndexCastOp>(b.getIndexType(), index), zero = b.index(0);
  mlir::Value isNegative = b.make<arith::CmpIOp>(arith::CmpIPredicate::slt, given, zero);
  mlir::Value fromEnd = b.make<arith::AddIOp>(given, size);
  mlir::Value place = b.make<arith::SelectOp>(isNegative, fromEnd, given);
  mlir::Value last = b.make<arith::SubIOp>(size, b.index(1));
  return b.make<arith::MaxSIOp>(b.make<arith::MinSIOp>(place, last), zero);
}

using Positions = llvm::SmallVector<mlir::Value>;

/// Y(a…, i…, b…) = X(a…, indices(i…), b…)
static Expected<Values> buildGather(NodeView &view) {
  const Value &source = view.get(0), &indices = view.get(1);
  if (Error error = checkIndices(view, source, indices))
    return std::move(error);
  Expected<size_t> axis = view.getAxis(view.getInteger("axis", 0), source.getRank());
  if (!axis)
    return axis.takeError();
  Sizes sizes(source.sizes.begin(), source.sizes.begin() + *axis);
  sizes.insert(sizes.end(), indices.sizes.begin(), indices.sizes.end());
  sizes.insert(sizes.end(), source.sizes.begin() + *axis + 1, source.sizes.end());
  // One known position is a slice, which is a view.
  std::optional<std::vector<int64_t>> numbers = view.getNumbers(1);
  if (numbers && numbers->size() == 1 && source.sizes[*axis].number) {
    int64_t count = *source.sizes[*axis].number, place = numbers->front() + (numbers->front() < 0 ? count : 0);
    if (place < 0 || place >= count)
      return view.fail(formatv("expected an index below {0}, found {1}", count, numbers->front()));
    Sizes offsets(source.getRank(), fixed(0)), part = source.sizes;
    offsets[*axis] = fixed(place);
    part[*axis] = fixed(1);
    Value slice = view.b.slice(source, offsets, part);
    return one(view.b.reshape(slice, sizes));
  }
  GraphBuilder &b = view.b;
  Operand operand = {&indices, {}};
  for (size_t i = 0; i < indices.getRank(); ++i)
    operand.map.push_back(b.dim(*axis + i));
  mlir::Value tensor = b.get(source), size = b.index(source.sizes[*axis]);
  Value init = b.addEmpty(source.element, sizes);
  return one(b.addGeneric(init, b.getDims(sizes.size()), operand, sizes.size(), {}, [&](Args x) {
    Positions positions;
    for (size_t i = 0; i < source.getRank(); ++i)
      positions.push_back(i == *axis ? addPosition(b, x[0], size)
                                     : b.addLoopIndex(i < *axis ? i : i - 1 + indices.getRank()));
    return b.make<tensor::ExtractOp>(tensor, positions);
  }));
}

/// Y(i…) = X(i… with indices(i…) in the dimension `axis`)
static Expected<Values> buildGatherElements(NodeView &view) {
  const Value &source = view.get(0), &indices = view.get(1);
  if (Error error = checkIndices(view, source, indices))
    return std::move(error);
  Expected<size_t> axis = view.getAxis(view.getInteger("axis", 0), source.getRank());
  if (!axis)
    return axis.takeError();
  if (indices.getRank() != source.getRank())
    return view.fail("expected indices of the input's rank, found another");
  for (size_t i = 0; i < source.getRank(); ++i)
    if (i != *axis && source.sizes[i].number && indices.sizes[i].number.value_or(kMaxSize) > *source.sizes[i].number)
      return view.fail(
          formatv("expected at most {0} indices in dimension {1}, found more", *source.sizes[i].number, i));
  GraphBuilder &b = view.b;
  mlir::Value tensor = b.get(source), size = b.index(source.sizes[*axis]);
  return one(b.addElementwise(source.element, indices.sizes, {&indices}, [&](Args x) {
    Positions positions;
    for (size_t i = 0; i < source.getRank(); ++i)
      positions.push_back(i == *axis ? addPosition(b, x[0], size) : b.addLoopIndex(i));
    return b.make<tensor::ExtractOp>(tensor, positions);
  }));
}

/// Y(i…, b…) = X(indices(i…, 0), indices(i…, 1), …, b…)
static Expected<Values> buildGatherND(NodeView &view) {
  const Value &source = view.get(0), &indices = view.get(1);
  if (Error error = checkIndices(view, source, indices))
    return std::move(error);
  size_t depth = indices.getRank() == 0 ? 0 : indices.sizes.back().number.value_or(0);
  if (view.getInteger("batch_dims", 0) != 0 || depth < 1 || depth > source.getRank())
    return view.fail("expected batch_dims = 0 and positions in 1 or more dimensions of the input, found others");
  if (std::optional<Value> taken = takePlaces(view.b, source, indices))
    return one(*taken);
  size_t numIndices = indices.getRank() - 1;
  Sizes sizes(indices.sizes.begin(), indices.sizes.end() - 1);
  sizes.insert(sizes.end(), source.sizes.begin() + depth, source.sizes.end());
  GraphBuilder &b = view.b;
  mlir::Value tensor = b.get(source), list = b.get(indices);
  Value init = b.addEmpty(source.element, sizes);
  return one(b.addGeneric(init, b.getDims(sizes.size()), {}, sizes.size(), {}, [&](Args) {
    Positions positions;
    for (size_t i = 0; i < source.getRank(); ++i) {
      if (i >= depth) {
        positions.push_back(b.addLoopIndex(numIndices + i - depth));
        continue;
      }
      Positions place;
      for (size_t k = 0; k < numIndices; ++k)
        place.push_back(b.addLoopIndex(k));
      place.push_back(b.index(i));
      positions.push_back(addPosition(b, b.make<tensor::ExtractOp>(list, place), b.index(source.sizes[i])));
    }
    return b.make<tensor::ExtractOp>(tensor, positions);
  }));
}

/// X with X(indices(i, 0), indices(i, 1), …, b…) = updates(i, b…), for each i in turn.
static Expected<Values> buildScatterND(NodeView &view) {
  const Value &source = view.get(0), &indices = view.get(1), &updates = view.get(2);
  if (Error error = checkIndices(view, source, indices))
    return std::move(error);
  size_t depth = indices.getRank() == 0 ? 0 : indices.sizes.back().number.value_or(0), lists = indices.getRank() - 1;
  if (view.getString("reduction", "none") != "none" || depth < 1 || depth > source.getRank())
    return view.fail("expected reduction = none and positions in 1 or more dimensions of the input, found others");
  if (updates.element != source.element || updates.getRank() != lists + source.getRank() - depth)
    return view.fail(formatv("expected updates of rank {0} in the type of the input, found others",
                             lists + source.getRank() - depth));
  GraphBuilder &b = view.b;
  Size count = b.multiply(Sizes(indices.sizes.begin(), indices.sizes.end() - 1));
  Sizes parts = {count}, part(depth, fixed(1)), offsets(source.getRank(), fixed(0));
  part.insert(part.end(), source.sizes.begin() + depth, source.sizes.end());
  parts.insert(parts.end(), source.sizes.begin() + depth, source.sizes.end());
  mlir::Value list = b.get(b.reshape(indices, {count, fixed(depth)}));
  const Value rows = {updates.element, parts, b.get(b.reshape(updates, parts))};
  auto loop = mlir::scf::ForOp::create(b, b.index(0), b.index(count), b.index(1), b.get(source));
  {
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getBody());
    mlir::Value i = loop.getInductionVar();
    for (size_t k = 0; k < depth; ++k) {
      mlir::Value index = b.make<tensor::ExtractOp>(list, mlir::ValueRange{i, b.index(k)});
      offsets[k] = {std::nullopt, addPosition(b, index, b.index(source.sizes[k]))};
    }
    Sizes first(parts.size(), fixed(0)), single = parts;
    first[0] = {std::nullopt, i};
    single[0] = fixed(1);
    Value row = b.reshape(b.slice(rows, first, single), part);
    const Value written = {source.element, source.sizes, loop.getRegionIterArg(0)};
    mlir::scf::YieldOp::create(b, b.insert(row, written, offsets).ir);
  }
  // The sizes of a loop's result are not derived from the loop.
  const Value all = {source.element, source.sizes, loop.getResult(0)};
  return one(b.addElementwise(source.element, source.sizes, {&all}, [](Args x) { return x[0]; }));
}

/// Zeros above the diagonal k, or, with upper = 1, below it.
static Expected<Values> buildTrilu(NodeView &view) {
  const Value &value = view.get(0);
  std::optional<std::vector<int64_t>> offset = view.has(1) ? view.getNumbers(1) : std::vector<int64_t>{0};
  if (value.getRank() < 2 || !offset || offset->size() != 1)
    return view.fail("expected a matrix and a constant diagonal, found others");
  bool isUpper = view.getInteger("upper", 1) != 0;
  size_t rank = value.getRank();
  GraphBuilder &b = view.b;
  return one(b.addElementwise(value.element, value.sizes, {&value}, [&](Args x) {
    mlir::Value row = b.addLoopIndex(rank - 2), column = b.addLoopIndex(rank - 1);
    mlir::Value edge = b.make<arith::AddIOp>(row, b.index(offset->front()));
    auto predicate = isUpper ? arith::CmpIPredicate::sge : arith::CmpIPredicate::sle;
    mlir::Value keeps = b.make<arith::CmpIOp>(predicate, column, edge);
    return b.make<arith::SelectOp>(keeps, x[0], b.zero(x[0].getType()));
  }));
}

/// start, start + delta, … below limit, of integers that are sizes or numbers.
static Expected<Values> buildRange(NodeView &view) {
  for (size_t i = 0; i < 3; ++i)
    if (!view.get(i).integers || view.get(i).integers->size() != 1)
      return view.fail("expected integers that are sizes or constants, found values of the run");
  Size start = view.get(0).integers->front(), limit = view.get(1).integers->front();
  Size delta = view.get(2).integers->front();
  if (!delta.number || *delta.number < 1 || *delta.number > kMaxSize)
    return view.fail("expected a constant delta of 1 or more, found another");
  for (const Size &bound : {start, limit})
    if (bound.number && (*bound.number < -kMaxElements || *bound.number > kMaxElements))
      return view.fail(formatv("expected bounds of at most {0}, found {1}", kMaxElements, *bound.number));
  GraphBuilder &b = view.b;
  Size count = b.subtract(limit, start);
  if (*delta.number > 1)
    count = b.divide(b.add(count, fixed(*delta.number - 1)), delta);
  if (count.number && *count.number < 0)
    count = fixed(0);
  DataType type = view.get(0).element;
  mlir::Value first = b.index(start), step = b.index(delta);
  return one(b.addElementwise(type, {count}, {}, [&](Args) {
    mlir::Value product = b.make<arith::MulIOp>(b.addLoopIndex(0), step);
    return b.make<arith::IndexCastOp>(b.getElementType(type), b.make<arith::AddIOp>(first, product));
  }));
}

llvm::ArrayRef<RuleRow> attn::onnx::getIndexingRules() {
  static constexpr RuleRow rows[] = {
      {"Gather", buildGather, 2, 2}, {"GatherElements", buildGatherElements, 2, 2}, {"GatherND", buildGatherND, 2, 2},
      {"Range", buildRange, 3, 3},   {"ScatterND", buildScatterND, 3, 3},           {"Trilu", buildTrilu, 1, 2},
  };
  return rows;
}
