//===- OpsIndexing.cpp - elements by computed positions -------------------===//
//
// tensor.extract at positions that are read or counted. A position outside of
// the tensor, which ONNX forbids, is taken for the nearest one inside.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GraphOps.h"
#include "Places.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::join;

using Names = std::vector<std::string>;

static Values one(Value value) {
  Values values;
  values.push_back(std::move(value));
  return values;
}

static Error checkIndices(NodeView &view, const Value &source, const Value &indices) {
  if (indices.element != DataType::Int64 && indices.element != DataType::Int32)
    return view.fail("expected indices of INT64 or INT32, found " + getDataTypeName(int64_t(indices.element)));
  if (llvm::any_of(source.sizes, [](const Size &size) { return size.number == 0; }))
    return view.fail("expected an input with elements, found none");
  return Error::success();
}

/// An index of ONNX, which may count from the end, as a position in a dimension of this size.
static std::string addPosition(Body &body, const std::string &index, DataType type, const std::string &size) {
  std::string name = getElementName(type).str();
  std::string signedIndex = body.add("arith.index_cast " + index + " : " + name + " to index");
  std::string zero = body.add("arith.constant 0 : index"), oneIndex = body.add("arith.constant 1 : index");
  std::string isNegative = body.add("arith.cmpi slt, " + signedIndex + ", " + zero + " : index");
  std::string fromEnd = body.add("arith.addi " + signedIndex + ", " + size + " : index");
  std::string place = body.add("arith.select " + isNegative + ", " + fromEnd + ", " + signedIndex + " : index");
  std::string last = body.add("arith.subi " + size + ", " + oneIndex + " : index");
  std::string inside = body.add("arith.minsi " + place + ", " + last + " : index");
  return body.add("arith.maxsi " + inside + ", " + zero + " : index");
}

static std::string addExtract(Body &body, const std::string &source, const Value &value, const Names &positions) {
  return body.add("tensor.extract " + source + "[" + join(positions, ", ") + "] : " + printType(value));
}

static std::string addLoopIndex(Body &body, size_t dim) {
  return body.add("linalg.index " + std::to_string(dim) + " : index");
}

/// Y(a…, i…, b…) = X(a…, indices(i…), b…)
static Expected<Values> printGather(NodeView &view) {
  if (Error error = checkOperands(view, 2, 2))
    return std::move(error);
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
    Value slice = view.text.slice(source, offsets, part, std::vector<int64_t>(source.getRank(), 1));
    return one(view.text.reshape(slice, sizes));
  }
  std::vector<std::string> map;
  for (size_t i = 0; i < indices.getRank(); ++i)
    map.push_back("d" + std::to_string(*axis + i));
  std::string name = view.text.getName(source), size = view.text.addIndex(source.sizes[*axis]);
  Operand operand = {&indices, map};
  Value init = view.text.addEmpty(source.element, sizes);
  return one(
      view.text.addGeneric(init, getDims(sizes.size()), operand, sizes.size(), {}, [&](Body &body, const Names &names) {
        Names positions;
        for (size_t i = 0; i < source.getRank(); ++i)
          positions.push_back(i == *axis ? addPosition(body, names[0], indices.element, size)
                                         : addLoopIndex(body, i < *axis ? i : i - 1 + indices.getRank()));
        return addExtract(body, name, source, positions);
      }));
}

/// Y(i…) = X(i… with indices(i…) in the dimension `axis`)
static Expected<Values> printGatherElements(NodeView &view) {
  if (Error error = checkOperands(view, 2, 2))
    return std::move(error);
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
  std::string name = view.text.getName(source), size = view.text.addIndex(source.sizes[*axis]);
  return one(view.text.addElementwise(source.element, indices.sizes, {&indices}, [&](Body &body, const Names &names) {
    Names positions;
    for (size_t i = 0; i < source.getRank(); ++i)
      positions.push_back(i == *axis ? addPosition(body, names[0], indices.element, size) : addLoopIndex(body, i));
    return addExtract(body, name, source, positions);
  }));
}

/// Y(i…, b…) = X(indices(i…, 0), indices(i…, 1), …, b…)
static Expected<Values> printGatherND(NodeView &view) {
  if (Error error = checkOperands(view, 2, 2))
    return std::move(error);
  const Value &source = view.get(0), &indices = view.get(1);
  if (Error error = checkIndices(view, source, indices))
    return std::move(error);
  size_t depth = indices.getRank() == 0 ? 0 : indices.sizes.back().number.value_or(0);
  if (view.getInteger("batch_dims", 0) != 0 || depth < 1 || depth > source.getRank())
    return view.fail("expected batch_dims = 0 and positions in 1 or more dimensions of the input, found others");
  if (std::optional<Value> taken = takePlaces(view.text, source, indices))
    return one(*taken);
  size_t numIndices = indices.getRank() - 1;
  Sizes sizes(indices.sizes.begin(), indices.sizes.end() - 1);
  sizes.insert(sizes.end(), source.sizes.begin() + depth, source.sizes.end());
  std::string name = view.text.getName(source);
  Names limits;
  for (size_t i = 0; i < depth; ++i)
    limits.push_back(view.text.addIndex(source.sizes[i]));
  std::string list = view.text.getName(indices);
  Value init = view.text.addEmpty(source.element, sizes);
  return one(view.text.addGeneric(init, getDims(sizes.size()), {}, sizes.size(), {}, [&](Body &body, const Names &) {
    Names positions;
    for (size_t i = 0; i < source.getRank(); ++i) {
      if (i >= depth) {
        positions.push_back(addLoopIndex(body, numIndices + i - depth));
        continue;
      }
      Names place;
      for (size_t k = 0; k < numIndices; ++k)
        place.push_back(addLoopIndex(body, k));
      place.push_back(body.add("arith.constant " + std::to_string(i) + " : index"));
      positions.push_back(addPosition(body, addExtract(body, list, indices, place), indices.element, limits[i]));
    }
    return addExtract(body, name, source, positions);
  }));
}

/// Zeros above the diagonal k, or, with upper = 1, below it.
static Expected<Values> printTrilu(NodeView &view) {
  if (Error error = checkOperands(view, 1, 2))
    return std::move(error);
  const Value &value = view.get(0);
  std::optional<std::vector<int64_t>> offset = view.has(1) ? view.getNumbers(1) : std::vector<int64_t>{0};
  if (value.getRank() < 2 || !offset || offset->size() != 1)
    return view.fail("expected a matrix and a constant diagonal, found others");
  bool isUpper = view.getInteger("upper", 1) != 0;
  size_t rank = value.getRank();
  return one(view.text.addElementwise(value.element, value.sizes, {&value}, [&](Body &body, const Names &names) {
    std::string name = getElementName(value.element).str();
    std::string row = addLoopIndex(body, rank - 2), column = addLoopIndex(body, rank - 1);
    std::string diagonal = body.add(formatv("arith.constant {0} : index", offset->front()).str());
    std::string edge = body.add("arith.addi " + row + ", " + diagonal + " : index");
    std::string keeps =
        body.add(llvm::Twine("arith.cmpi ") + (isUpper ? "sge" : "sle") + ", " + column + ", " + edge + " : index");
    std::string zero = body.add("arith.constant " + std::string(isFloat(value.element) ? "0.0" : "0") + " : " + name);
    return body.add("arith.select " + keeps + ", " + names[0] + ", " + zero + " : " + name);
  }));
}

/// start, start + delta, … below limit, of integers that are sizes or numbers.
static Expected<Values> printRange(NodeView &view) {
  if (Error error = checkOperands(view, 3, 3))
    return std::move(error);
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
  GraphText &text = view.text;
  Size count = text.subtract(limit, start);
  if (*delta.number > 1)
    count = text.divide(text.add(count, fixed(*delta.number - 1)), delta);
  if (count.number && *count.number < 0)
    count = fixed(0);
  DataType type = view.get(0).element;
  std::string first = text.addIndex(start), step = text.addIndex(delta);
  return one(text.addElementwise(type, {count}, {}, [&](Body &body, const Names &) {
    std::string product = body.add("arith.muli " + addLoopIndex(body, 0) + ", " + step + " : index");
    std::string position = body.add("arith.addi " + first + ", " + product + " : index");
    return body.add("arith.index_cast " + position + " : index to " + getElementName(type));
  }));
}

llvm::ArrayRef<RuleRow> attn::onnx::getIndexingRules() {
  static constexpr RuleRow rows[] = {
      {"Gather", printGather},     {"GatherElements", printGatherElements},
      {"GatherND", printGatherND}, {"Range", printRange},
      {"Trilu", printTrilu},
  };
  return rows;
}
