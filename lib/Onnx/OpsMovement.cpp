//===- OpsMovement.cpp - operators that move elements ---------------------===//
//
// Views where possible: collapse_shape, expand_shape and extract_slice;
// transposes, broadcasts and concatenations are copies that the raise looks
// through.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GraphOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// Other sizes
//===----------------------------------------------------------------------===//

static Expected<Values> buildReshape(NodeView &view) {
  const Value &value = view.get(0);
  if (!view.get(1).integers)
    return view.fail("expected the shape as a constant or made of sizes, found values of the run");
  Sizes sizes = *view.get(1).integers, known;
  std::optional<size_t> open;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].number == 0 && view.getInteger("allowzero", 0) == 0) {
      if (i >= value.getRank())
        return view.fail(formatv("expected a dimension of the input for the 0 at {0} of the shape, found none", i));
      sizes[i] = value.sizes[i];
    }
    if (sizes[i].number != -1) {
      known.push_back(sizes[i]);
      continue;
    }
    if (open)
      return view.fail("expected one -1 in the shape, found more");
    open = i;
  }
  Size whole = view.b.multiply(value.sizes), part = view.b.multiply(known);
  bool areNumbers = whole.number && part.number;
  if (open && (part.number == 0 || (areNumbers && *whole.number % *part.number != 0)))
    return view.fail("expected a shape whose -1 can be told, found another");
  if (open)
    sizes[*open] = view.b.divide(whole, part);
  else if (areNumbers && *whole.number != *part.number)
    return view.fail("expected a shape with as many elements as the input has, found another");
  if (Error error = checkValue({value.element, sizes}))
    return std::move(error);
  return one(view.b.reshape(value, sizes));
}

static Expected<Values> buildFlatten(NodeView &view) {
  const Value &value = view.get(0);
  int64_t rank = int64_t(value.getRank()), axis = view.getInteger("axis", 1);
  axis = axis < 0 ? axis + rank : axis;
  if (axis < 0 || axis > rank)
    return view.fail(formatv("expected an axis from 0 to {0}, found {1}", rank, axis));
  Sizes sizes = {fixed(1), fixed(1)};
  for (int64_t i = 0; i < rank; ++i)
    sizes[i >= axis] = view.b.multiply(sizes[i >= axis], value.sizes[i]);
  return one(view.b.reshape(value, sizes));
}

static Expected<Values> buildSqueeze(NodeView &view) {
  const Value &value = view.get(0);
  Expected<std::optional<std::vector<int64_t>>> list = view.getList("axes", 1);
  if (!list)
    return list.takeError();
  Expected<std::vector<size_t>> axes = view.getAxes(list->value_or(std::vector<int64_t>()), value.getRank());
  if (!axes)
    return axes.takeError();
  Sizes sizes;
  for (size_t i = 0; i < value.getRank(); ++i) {
    bool isDropped = *list ? llvm::is_contained(*axes, i) : value.sizes[i].number == 1;
    if (!isDropped)
      sizes.push_back(value.sizes[i]);
    else if (value.sizes[i].number != 1)
      return view.fail(formatv("expected size 1 in dimension {0}, found another", i));
  }
  return one(view.b.reshape(value, sizes));
}

static Expected<Values> buildUnsqueeze(NodeView &view) {
  const Value &value = view.get(0);
  Expected<std::optional<std::vector<int64_t>>> list = view.getList("axes", 1);
  if (!list)
    return list.takeError();
  if (!*list)
    return view.fail("expected axes, found none");
  size_t rank = value.getRank() + (*list)->size();
  Expected<std::vector<size_t>> axes = view.getAxes(**list, rank);
  if (!axes)
    return axes.takeError();
  Sizes sizes;
  for (size_t i = 0, source = 0; i < rank; ++i)
    sizes.push_back(llvm::is_contained(*axes, i) ? fixed(1) : value.sizes[source++]);
  return one(view.b.reshape(value, sizes));
}

static Expected<Values> buildExpand(NodeView &view) {
  if (!view.get(1).integers)
    return view.fail("expected the shape as a constant or made of sizes, found values of the run");
  Value shape = {view.get(0).element, *view.get(1).integers};
  std::optional<Sizes> sizes = broadcastSizes({&view.get(0), &shape});
  if (!sizes)
    return view.fail("expected a shape that the input's sizes broadcast to, found another");
  return one(llvm::equal(*sizes, view.get(0).sizes, isSame) ? view.get(0) : view.b.broadcast(view.get(0), *sizes));
}

static Expected<Values> buildTranspose(NodeView &view) {
  size_t rank = view.get(0).getRank();
  std::vector<int64_t> reversed = countUp(rank);
  std::reverse(reversed.begin(), reversed.end());
  std::vector<int64_t> permutation = view.getIntegers("perm").value_or(reversed);
  Expected<std::vector<size_t>> axes = view.getAxes(permutation, rank);
  if (!axes)
    return axes.takeError();
  if (axes->size() != rank)
    return view.fail(formatv("expected perm of {0} dimensions, found {1}", rank, axes->size()));
  for (int64_t &dim : permutation)
    dim = dim < 0 ? dim + int64_t(rank) : dim;
  return one(view.b.transpose(view.get(0), permutation));
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// An index of Slice in a dimension, which may count from the end, clamped to [0, size].
static Size placeIndex(GraphBuilder &b, const Size &index, const Size &size) {
  if (index.number && *index.number < -kMaxSize)
    return fixed(0);
  if (index.number && *index.number >= kMaxSize)
    return size;
  std::optional<int> sign = b.getSizes().compare(index, fixed(0));
  Size fromEnd = b.add(size, index);
  if (sign == -1)
    return b.maximum(fromEnd, fixed(0));
  if (!sign || *sign == -2) {
    Size place = b.choose(b.test(arith::CmpIPredicate::slt, index, fixed(0)), fromEnd, index);
    return b.maximum(b.minimum(place, size), fixed(0));
  }
  if (index.number)
    return b.minimum(index, size);
  if (std::optional<int> order = b.getSizes().compare(index, size); order && *order >= 0)
    return size;
  else if (!order) // exporters compute indices inside the dimension; other calls are refused
    b.addLimit(index, size);
  return index;
}

/// Elements of `value` backwards along some dimensions, of fixed sizes.
static Value reverse(GraphBuilder &b, const Value &value, llvm::ArrayRef<size_t> dims) {
  Exprs places = b.getDims(value.getRank());
  for (size_t dim : dims)
    places[dim] = b.getAffineConstantExpr(*value.sizes[dim].number - 1) - b.dim(dim);
  Operand operand = {&value, places};
  return b.addGeneric(b.addEmpty(value.element, value.sizes), b.getDims(value.getRank()), operand, value.getRank(), {},
                      [](Args x) { return x[0]; });
}

/// The first of the elements begin, begin + step, … with a step below 0 above end, in the order of the dimension, and
/// how many there are. ONNX clamps begin to [0, size - 1] and end to [-1, size - 1].
static std::pair<int64_t, int64_t> placeBackwards(int64_t begin, int64_t end, int64_t step, int64_t size) {
  auto place = [&](int64_t index, int64_t least) {
    return std::clamp(index < 0 ? std::max(index, -size - 1) + size : index, least, size - 1);
  };
  int64_t first = place(begin, 0), distance = first - place(end, -1);
  int64_t count = size == 0 || distance <= 0 ? 0 : (distance - step - 1) / -step;
  return {count == 0 ? 0 : first + (count - 1) * step, count};
}

static Expected<Values> buildSlice(NodeView &view) {
  const Value &value = view.get(0);
  if (!view.has(1) || !view.has(2) || !view.get(1).integers || !view.get(2).integers)
    return view.fail("expected starts and ends as constants or sizes, found values of the run");
  const Sizes &begins = *view.get(1).integers, &ends = *view.get(2).integers;
  if ((view.has(3) && !view.getNumbers(3)) || (view.has(4) && !view.getNumbers(4)))
    return view.fail("expected axes and steps as constants, found values of the run");
  std::vector<int64_t> list = view.has(3) ? *view.getNumbers(3) : countUp(begins.size());
  std::vector<int64_t> steps = view.has(4) ? *view.getNumbers(4) : std::vector<int64_t>(begins.size(), 1);
  Expected<std::vector<size_t>> sorted = view.getAxes(list, value.getRank());
  if (!sorted)
    return sorted.takeError();
  if (ends.size() != begins.size() || list.size() != begins.size() || steps.size() != begins.size())
    return view.fail("expected starts, ends, axes and steps of one length, found others");
  Sizes offsets(value.getRank(), fixed(0)), sizes = value.sizes;
  std::vector<int64_t> strides(value.getRank(), 1);
  std::vector<size_t> backwards;
  for (size_t i = 0; i < begins.size(); ++i) {
    size_t dim = cantFail(view.getAxis(list[i], value.getRank()));
    if (steps[i] == 0 || std::abs(steps[i]) > kMaxSize)
      return view.fail(formatv("expected steps that are not 0, found {0}", steps[i]));
    if (steps[i] < 0) {
      if (!begins[i].number || !ends[i].number || !value.sizes[dim].number)
        return view.fail("expected constant starts and ends and a fixed size where a step is below 0, found others");
      auto [first, count] = placeBackwards(*begins[i].number, *ends[i].number, steps[i], *value.sizes[dim].number);
      strides[dim] = -steps[i];
      offsets[dim] = fixed(first);
      sizes[dim] = fixed(count);
      backwards.push_back(dim);
      continue;
    }
    Size begin = placeIndex(view.b, begins[i], value.sizes[dim]);
    // A slice of a dimension of size 1, such as ALiBi's table from max(1 - length, 0) on, is all of it: a broadcast
    // repeats it.
    if (value.sizes[dim].number == 1 && !begin.number && steps[i] == 1 && view.b.isTold(begin)) {
      view.b.addLimit(begin, fixed(0));
      begin = fixed(0);
    }
    Size end = placeIndex(view.b, ends[i], value.sizes[dim]), count = view.b.subtract(end, begin);
    if (begin.number != 0 && !isSame(end, value.sizes[dim]))
      count = view.b.maximum(count, fixed(0));
    if (steps[i] != 1)
      count = view.b.divide(view.b.add(count, fixed(steps[i] - 1)), fixed(steps[i]));
    strides[dim] = steps[i];
    offsets[dim] = begin;
    sizes[dim] = count;
  }
  Value part = view.b.slice(value, offsets, sizes, strides);
  return one(backwards.empty() ? part : reverse(view.b, part, backwards));
}

static Expected<Values> buildSplit(NodeView &view) {
  const Value &value = view.get(0);
  Expected<size_t> axis = view.getAxis(view.getInteger("axis", 0), value.getRank());
  if (!axis)
    return axis.takeError();
  Expected<std::optional<std::vector<int64_t>>> parts = view.getList("split", 1);
  if (!parts)
    return parts.takeError();
  const Size &whole = value.sizes[*axis];
  if (!whole.number)
    return view.fail("expected a fixed size of the dimension that is split, found a symbol");
  size_t count = view.node.outputs.size();
  if (!*parts) {
    int64_t size = (*whole.number + int64_t(count) - 1) / int64_t(std::max<size_t>(count, 1));
    *parts = std::vector<int64_t>();
    for (int64_t left = *whole.number; (*parts)->size() < count; left -= size)
      (*parts)->push_back(std::clamp(left, int64_t(0), size));
  }
  Sizes offsets(value.getRank(), fixed(0)), sizes = value.sizes;
  Values results;
  int64_t sum = 0;
  for (int64_t part : **parts) {
    if (part < 0 || part > *whole.number - sum)
      return view.fail(formatv("expected parts of {0} together, found others", *whole.number));
    offsets[*axis] = fixed(sum);
    sizes[*axis] = fixed(part);
    results.push_back(view.b.slice(value, offsets, sizes));
    sum += part;
  }
  if (sum != *whole.number || results.size() != count)
    return view.fail(formatv("expected {0} parts of {1} together, found others", count, *whole.number));
  return results;
}

static Expected<Values> buildConcat(NodeView &view) {
  const Value &first = view.get(0);
  Expected<size_t> axis = view.getAxis(view.getInteger("axis", 0), first.getRank());
  if (!axis)
    return axis.takeError();
  Sizes sizes = first.sizes;
  for (size_t i = 1; i < view.operands.size(); ++i) {
    const Value &value = view.get(i);
    if (!value || value.element != first.element || value.getRank() != first.getRank())
      return view.fail("expected inputs of one element type and rank, found others");
    for (size_t dim = 0; dim < sizes.size(); ++dim)
      if (dim == *axis)
        sizes[dim] = view.b.add(sizes[dim], value.sizes[dim]);
      else if (sizes[dim].number && value.sizes[dim].number && sizes[dim].number != value.sizes[dim].number)
        return view.fail(formatv("expected inputs of one size in dimension {0}, found others", dim));
  }
  Sizes offsets(first.getRank(), fixed(0));
  Value result = view.b.addEmpty(first.element, sizes);
  for (const Value &value : view.operands) {
    Value part = value;
    for (size_t dim = 0; dim < sizes.size(); ++dim)
      if (dim != *axis && sizes[dim].number)
        part.sizes[dim] = sizes[dim];
    if (view.b.getType(part) != view.b.getType(value))
      part = view.b.reshape(value, part.sizes);
    result = view.b.insert(part, result, offsets);
    offsets[*axis] = view.b.add(offsets[*axis], part.sizes[*axis]);
  }
  return one(result);
}

/// Pad with a constant; nothing is cut off.
static Expected<Values> buildPad(NodeView &view) {
  const Value &value = view.get(0);
  if (!view.get(1).integers || (view.has(3) && !view.getNumbers(3)) || view.getString("mode", "constant") != "constant")
    return view.fail("expected mode = \"constant\", pads of sizes and constant axes, found others");
  std::vector<int64_t> list = view.has(3) ? *view.getNumbers(3) : countUp(value.getRank());
  const Sizes &pads = *view.get(1).integers;
  Expected<std::vector<size_t>> sorted = view.getAxes(list, value.getRank());
  if (!sorted)
    return sorted.takeError();
  auto isOne = [](const Size &size) { return size.number == 1; };
  bool isScalar = !view.has(2) || (view.get(2).element == value.element && llvm::all_of(view.get(2).sizes, isOne));
  if (pads.size() != 2 * list.size() || !isScalar)
    return view.fail(formatv("expected {0} pads and one value of the input's type, found others", 2 * list.size()));
  Sizes offsets(value.getRank(), fixed(0)), sizes = value.sizes;
  for (size_t i = 0; i < list.size(); ++i) {
    size_t dim = cantFail(view.getAxis(list[i], value.getRank()));
    for (const Size &pad : {pads[i], pads[list.size() + i]})
      if (pad.number && (*pad.number < 0 || *pad.number > kMaxSize))
        return view.fail(formatv("expected pads from 0 to {0}, found {1}", kMaxSize, *pad.number));
    offsets[dim] = pads[i];
    sizes[dim] = view.b.add(view.b.add(sizes[dim], pads[i]), pads[list.size() + i]);
  }
  Value init =
      view.has(2) ? view.b.broadcast(view.b.reshape(view.get(2), {}), sizes) : view.b.addZeros(value.element, sizes);
  return one(view.b.insert(value, init, offsets));
}

/// A tensor of one value, by the shape; integers of few elements are folded (OpsIntegers.cpp).
static Expected<Values> buildConstantOfShape(NodeView &view) {
  if (!view.get(0).integers)
    return view.fail("expected the shape as a constant or made of sizes, found values of the run");
  DataType type = DataType::Float;
  mlir::TypedAttr element = view.b.getF32FloatAttr(0);
  if (const Attribute *attribute = view.node.findAttribute("value")) {
    if (Error error = checkTensor(attribute->tensor))
      return std::move(error);
    type = DataType(attribute->tensor.type.elementType);
    element = getSplatElement(attribute->tensor, view.b.getElementType(type));
    if (!element)
      return view.fail("expected one value, found others");
  }
  for (const Size &size : *view.get(0).integers)
    if (size.number && (*size.number < 0 || *size.number > kMaxSize))
      return view.fail(formatv("expected sizes from 0 to {0}, found {1}", kMaxSize, *size.number));
  return one(view.b.addFilled(type, *view.get(0).integers, view.b.constant(element)));
}

static Expected<Values> buildConstant(NodeView &view) {
  for (const Attribute &attribute : view.node.attributes) {
    if (attribute.kind == int64_t(Attribute::Kind::Int))
      return one(makeIntegers(DataType::Int64, {fixed(attribute.integer)}, /*isScalar=*/true));
    if (attribute.kind == int64_t(Attribute::Kind::Ints)) {
      Sizes integers;
      for (int64_t integer : attribute.integers)
        integers.push_back(fixed(integer));
      return one(makeIntegers(DataType::Int64, std::move(integers)));
    }
    if (attribute.kind == int64_t(Attribute::Kind::Float))
      return one(view.b.addFilled(DataType::Float, {}, view.b.real(attribute.real, view.b.getF32Type())));
    if (attribute.kind != int64_t(Attribute::Kind::Tensor))
      continue;
    if (Error error = checkTensor(attribute.tensor))
      return std::move(error);
    return one(makeConstant(attribute.tensor));
  }
  return view.fail("expected value, value_int, value_ints or value_float, found none");
}

llvm::ArrayRef<RuleRow> attn::onnx::getMovementRules() {
  static constexpr RuleRow rows[] = {
      {"Concat", buildConcat, 1, SIZE_MAX},
      {"Constant", buildConstant, 0, 0},
      {"ConstantOfShape", buildConstantOfShape, 1, 1},
      {"Expand", buildExpand, 2, 2},
      {"Flatten", buildFlatten, 1, 1},
      {"Pad", buildPad, 2, 4},
      {"Reshape", buildReshape, 2, 2},
      {"Slice", buildSlice, 1, 5},
      {"Split", buildSplit, 1, 2},
      {"Squeeze", buildSqueeze, 1, 2},
      {"Transpose", buildTranspose, 1, 1},
      {"Unsqueeze", buildUnsqueeze, 1, 2},
  };
  return rows;
}
