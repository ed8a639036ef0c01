//===- OpsLists.cpp - moves of short lists of known integers --------------===//
//
// Each maps indices of the result to indices of the source.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Lists.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace attn::onnx;

using Place = std::vector<int64_t>;

static int64_t countElements(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

static std::vector<int64_t> getShape(const Sizes &sizes) {
  std::vector<int64_t> shape;
  for (const Size &size : sizes)
    shape.push_back(*size.number);
  return shape;
}

static Sizes getSizes(llvm::ArrayRef<int64_t> shape) {
  Sizes sizes;
  for (int64_t size : shape)
    sizes.push_back(fixed(size));
  return sizes;
}

/// False for too many elements, or an unknown number.
static bool isShort(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape) {
    if (size < 0 || size > int64_t(kMaxList))
      return false;
    count *= std::max<int64_t>(size, 1);
    if (count > int64_t(kMaxList))
      return false;
  }
  return true;
}

Value attn::onnx::makeList(DataType element, const Sizes &sizes, Sizes integers) {
  Value value = makeIntegers(element, std::move(integers));
  value.sizes = sizes;
  return value;
}

std::optional<Sizes> attn::onnx::getCommonSizes(llvm::ArrayRef<const Value *> lists) {
  std::optional<Sizes> sizes = broadcastSizes(lists);
  return sizes && isShort(getShape(*sizes)) ? sizes : std::nullopt;
}

/// The list of this shape; `place` maps its indices to those of a source of another shape.
static Sizes take(const Sizes &source, llvm::ArrayRef<int64_t> sourceShape, llvm::ArrayRef<int64_t> shape,
                  llvm::function_ref<Place(const Place &)> place) {
  Sizes result;
  Place current(shape.size(), 0);
  for (int64_t i = 0, count = countElements(shape); i < count; ++i) {
    int64_t rest = i, flat = 0;
    for (size_t dim = shape.size(); dim-- > 0; rest /= shape[dim])
      current[dim] = rest % shape[dim];
    Place from = place(current);
    for (size_t dim = 0; dim < sourceShape.size(); ++dim)
      flat = flat * sourceShape[dim] + from[dim];
    result.push_back(source[flat]);
  }
  return result;
}

Sizes attn::onnx::broadcastList(const Value &list, const Sizes &sizes) {
  std::vector<int64_t> from = getShape(list.sizes), to = getShape(sizes);
  return take(*list.integers, from, to, [&](const Place &place) {
    Place result(place.end() - from.size(), place.end());
    for (size_t dim = 0; dim < from.size(); ++dim)
      result[dim] = from[dim] == 1 ? 0 : result[dim];
    return result;
  });
}

static std::optional<Values> moveGather(NodeView &view) {
  std::optional<std::vector<int64_t>> indices = view.getNumbers(1);
  const Value &list = view.get(0);
  int64_t rank = int64_t(list.getRank()), axis = view.getInteger("axis", 0);
  axis += axis < 0 ? rank : 0;
  if (!indices || axis < 0 || axis >= rank)
    return std::nullopt;
  std::vector<int64_t> from = getShape(list.sizes), inner = getShape(view.get(1).sizes), shape;
  shape.assign(from.begin(), from.begin() + axis);
  llvm::append_range(shape, inner);
  shape.insert(shape.end(), from.begin() + axis + 1, from.end());
  for (int64_t &index : *indices) {
    index += index < 0 ? from[axis] : 0;
    if (index < 0 || index >= from[axis])
      return std::nullopt;
  }
  if (!isShort(shape))
    return std::nullopt;
  Sizes integers = take(*list.integers, from, shape, [&](const Place &place) {
    Place result(place.begin(), place.begin() + axis);
    int64_t flat = 0;
    for (size_t dim = 0; dim < inner.size(); ++dim)
      flat = flat * inner[dim] + place[axis + dim];
    result.push_back((*indices)[flat]);
    result.insert(result.end(), place.begin() + axis + inner.size(), place.end());
    return result;
  });
  return Values{makeList(list.element, getSizes(shape), std::move(integers))};
}

static std::optional<Values> moveConcat(NodeView &view) {
  const Value &first = view.get(0);
  int64_t rank = int64_t(first.getRank()), axis = view.getInteger("axis", 0);
  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis >= rank)
    return std::nullopt;
  std::vector<int64_t> shape = getShape(first.sizes);
  shape[axis] = 0;
  for (const Value &value : view.operands) {
    if (!value || !value.integers || value.element != first.element || int64_t(value.getRank()) != rank)
      return std::nullopt;
    for (int64_t dim = 0; dim < rank; ++dim)
      if (dim != axis && value.sizes[dim].number != shape[dim])
        return std::nullopt;
    shape[axis] += *value.sizes[axis].number;
  }
  if (!isShort(shape))
    return std::nullopt;
  // For each index of the leading dimensions, the rows of all operands in turn.
  Sizes integers;
  for (int64_t row = 0, rows = countElements(llvm::ArrayRef(shape).take_front(axis)); row < rows; ++row)
    for (const Value &value : view.operands) {
      int64_t count = int64_t(value.integers->size()) / rows;
      integers.insert(integers.end(), value.integers->begin() + row * count,
                      value.integers->begin() + (row + 1) * count);
    }
  return Values{makeList(first.element, getSizes(shape), std::move(integers))};
}

static std::optional<Values> moveSlice(NodeView &view) {
  const Value &list = view.get(0);
  int64_t rank = int64_t(list.getRank());
  std::optional<std::vector<int64_t>> begins = view.getNumbers(1), ends = view.getNumbers(2);
  if (!begins || !ends || begins->size() != ends->size() || (view.has(3) && !view.getNumbers(3)) ||
      (view.has(4) && !view.getNumbers(4)))
    return std::nullopt;
  std::vector<int64_t> axes = view.has(3) ? *view.getNumbers(3) : countUp(begins->size());
  std::vector<int64_t> steps = view.has(4) ? *view.getNumbers(4) : std::vector<int64_t>(begins->size(), 1);
  std::vector<int64_t> shape = getShape(list.sizes), from = shape;
  if (axes.size() != begins->size() || steps.size() != begins->size())
    return std::nullopt;
  Place first(rank, 0), stride(rank, 1);
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t axis = axes[i] + (axes[i] < 0 ? rank : 0), step = steps[i];
    if (axis < 0 || axis >= rank || step == 0 || step < -kMaxSize || step > kMaxSize)
      return std::nullopt;
    int64_t size = from[axis], low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
    auto clamp = [&](int64_t index) { return std::clamp(index < 0 ? index + size : index, low, high); };
    // Also with a negative step, -1 is the last element, not the position before the first.
    int64_t begin = clamp((*begins)[i]), end = clamp((*ends)[i]);
    first[axis] = begin;
    stride[axis] = step;
    shape[axis] = std::max<int64_t>(step > 0 ? (end - begin + step - 1) / step : (begin - end - step - 1) / -step, 0);
  }
  Sizes integers = take(*list.integers, from, shape, [&](const Place &place) {
    Place result = first;
    for (size_t dim = 0; dim < result.size(); ++dim)
      result[dim] += place[dim] * stride[dim];
    return result;
  });
  return Values{makeList(list.element, getSizes(shape), std::move(integers))};
}

static std::optional<Values> moveTranspose(NodeView &view) {
  const Value &list = view.get(0);
  std::vector<int64_t> from = getShape(list.sizes), reversed = countUp(from.size()), shape;
  std::reverse(reversed.begin(), reversed.end());
  std::vector<int64_t> permutation = view.getIntegers("perm").value_or(reversed);
  auto axes = drop(view.getAxes(permutation, from.size()));
  if (!axes || axes->size() != from.size())
    return std::nullopt;
  for (int64_t &dim : permutation) {
    dim += dim < 0 ? int64_t(from.size()) : 0;
    shape.push_back(from[dim]);
  }
  Sizes integers = take(*list.integers, from, shape, [&](const Place &place) {
    Place result(place.size());
    for (size_t dim = 0; dim < place.size(); ++dim)
      result[permutation[dim]] = place[dim];
    return result;
  });
  return Values{makeList(list.element, getSizes(shape), std::move(integers))};
}

static std::optional<Values> moveExpand(NodeView &view) {
  std::optional<std::vector<int64_t>> shape = view.getNumbers(1);
  if (!shape || !isShort(*shape))
    return std::nullopt;
  Value wanted = {view.get(0).element, getSizes(*shape)};
  std::optional<Sizes> sizes = getCommonSizes({&view.get(0), &wanted});
  if (!sizes)
    return std::nullopt;
  return Values{makeList(view.get(0).element, *sizes, broadcastList(view.get(0), *sizes))};
}

/// The same elements in the same order.
static std::optional<Values> moveReshape(NodeView &view) {
  const Value &list = view.get(0);
  std::optional<std::vector<int64_t>> shape = view.getNumbers(1);
  if (!shape)
    return std::nullopt;
  int64_t count = int64_t(list.integers->size()), product = 1, *open = nullptr;
  for (size_t i = 0; i < shape->size(); ++i) {
    int64_t &size = (*shape)[i];
    if (size == 0 && view.getInteger("allowzero", 0) == 0) {
      if (i >= list.getRank())
        return std::nullopt;
      size = *list.sizes[i].number;
    }
    if (size < -1 || size > int64_t(kMaxList) || (size == -1 && open))
      return std::nullopt;
    if (size == -1)
      open = &size;
    else
      product = std::min<int64_t>(product * size, kMaxList + 1);
  }
  if (open)
    *open = product == 0 ? -1 : count / product;
  if (!isShort(*shape) || countElements(*shape) != count)
    return std::nullopt;
  return Values{makeList(list.element, getSizes(*shape), *list.integers)};
}

static std::optional<Values> moveUnits(NodeView &view) {
  const Value &list = view.get(0);
  auto given = drop(view.getList("axes", 1));
  bool isSqueeze = view.getOp() == "Squeeze";
  if (!given || (!*given && !isSqueeze))
    return std::nullopt;
  std::vector<int64_t> list64 = given->value_or(std::vector<int64_t>());
  size_t rank = list.getRank() + (isSqueeze ? 0 : list64.size());
  auto axes = drop(view.getAxes(list64, rank));
  if (!axes)
    return std::nullopt;
  Sizes sizes;
  size_t source = 0;
  for (size_t i = 0; i < rank; ++i) {
    if (!isSqueeze) {
      sizes.push_back(llvm::is_contained(*axes, i) ? fixed(1) : list.sizes[source++]);
      continue;
    }
    bool isDropped = *given ? llvm::is_contained(*axes, i) : list.sizes[i].number == 1;
    if (isDropped && list.sizes[i].number != 1)
      return std::nullopt;
    if (!isDropped)
      sizes.push_back(list.sizes[i]);
  }
  return Values{makeList(list.element, sizes, *list.integers)};
}

static std::optional<Values> moveIdentity(NodeView &view) { return Values{view.get(0)}; }

std::optional<Values> attn::onnx::moveList(NodeView &view) {
  using Move = std::optional<Values> (*)(NodeView &);
  Move move = llvm::StringSwitch<Move>(view.getOp())
                  .Case("Gather", moveGather)
                  .Case("Concat", moveConcat)
                  .Case("Slice", moveSlice)
                  .Case("Transpose", moveTranspose)
                  .Case("Expand", moveExpand)
                  .Case("Reshape", moveReshape)
                  .Cases({"Squeeze", "Unsqueeze"}, moveUnits)
                  .Case("Identity", moveIdentity)
                  .Default(nullptr);
  return move ? move(view) : std::nullopt;
}
