//===- OpsRepeats.cpp - CumSum, Tile --------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Shared.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// CumSum
//===----------------------------------------------------------------------===//

/// One step along the axis, in the loop: with the sum so far and the result, both of them new behind it.
static void addStep(GraphText &text, const Value &input, const Value &row, const Value &result, const Sizes &offsets,
                    bool isExclusive) {
  Value part = text.slice(input, offsets, row.sizes, std::vector<int64_t>(row.getRank(), 1));
  Value sum = {row.element, row.sizes, "%sum"}, before = sum;
  Value next = text.addElementwise(row.element, row.sizes, {&sum, &part}, [&](Body &body, const Names &names) {
    std::string element = body.cast(names[1], input.element, row.element);
    return body.add((isFloat(row.element) ? "arith.addf " : "arith.addi ") + names[0] + ", " + element + " : " +
                    getElementName(row.element));
  });
  Value written = text.insert(isExclusive ? before : next, {result.element, result.sizes, "%sums"}, offsets);
  text.line("scf.yield {0}, {1} : {2}, {3}", written.name, next.name, printType(written), printType(next));
}

/// Y(…, i, …) = sum of X(…, j, …) over j <= i: with exclusive, j < i; with reverse, from the other end.
static Expected<Values> printCumSum(NodeView &view) {
  if (Error error = checkOperands(view, 2, 2))
    return std::move(error);
  const Value &value = view.get(0);
  if (value.element == DataType::Bool)
    return view.fail("expected an input of numbers, found BOOL");
  std::optional<std::vector<int64_t>> number = view.getNumbers(1);
  if (!number || number->size() != 1)
    return view.fail("expected axis as one constant, found others");
  Expected<size_t> axis = view.getAxis(number->front(), value.getRank());
  if (!axis)
    return axis.takeError();
  GraphText &text = view.text;
  // Narrow floats are summed up in f32.
  DataType type = getComputeType(value.element);
  std::string zero = isFloat(type) ? "0.0" : "0", source = text.getName(value);
  Sizes rowSizes = value.sizes;
  rowSizes[*axis] = fixed(1);
  Value init = text.addEmpty(type, value.sizes), row = text.addFilled(type, rowSizes, zero);
  std::string begin = text.addIndex(fixed(0)), step = text.addIndex(fixed(1));
  std::string count = text.addIndex(value.sizes[*axis]), last = count;
  bool isReverse = view.getInteger("reverse", 0) != 0;
  if (isReverse)
    last = text.addIndex(text.subtract(value.sizes[*axis], fixed(1)));
  std::string name = text.makeName();
  text.line("{0}:2 = scf.for {0}_i = {1} to {2} step {3} iter_args(%sums = {4}, %sum = {5}) -> ({6}, {7}) {{", name,
            begin, count, step, init.name, row.name, printType(init), printType(row));
  Sizes offsets(value.getRank(), fixed(0));
  offsets[*axis] = {std::nullopt, name + "_i"};
  if (isReverse) {
    offsets[*axis].value = text.makeName();
    text.line("{0} = arith.subi {1}, {2}_i : index", offsets[*axis].value, last, name);
  }
  addStep(text, {value.element, value.sizes, source}, row, init, offsets, view.getInteger("exclusive", 0) != 0);
  text.line("}");
  // The sizes of a loop's result are not looked for.
  Value sums = {type, value.sizes, name + "#0"};
  return one(text.addElementwise(value.element, value.sizes, {&sums}, [&](Body &body, const Names &names) {
    return body.cast(names[0], type, value.element);
  }));
}

//===----------------------------------------------------------------------===//
// Tile
//===----------------------------------------------------------------------===//

/// X over (repeats, size) in each repeated dimension, the two of which are one.
static Expected<Values> printTile(NodeView &view) {
  if (Error error = checkOperands(view, 2, 2))
    return std::move(error);
  const Value &value = view.get(0);
  if (!view.get(1).integers)
    return view.fail("expected repeats as a constant or made of sizes, found values of the run");
  const std::vector<Size> &repeats = *view.get(1).integers;
  if (repeats.size() != value.getRank())
    return view.fail(formatv("expected {0} repeats, one a dimension, found {1}", value.getRank(), repeats.size()));
  for (const Size &count : repeats)
    if (count.number && (*count.number < 0 || *count.number > kMaxSize))
      return view.fail(formatv("expected repeats from 0 to {0}, found {1}", kMaxSize, *count.number));
  GraphText &text = view.text;
  Sizes wide, sizes;
  std::vector<std::string> map, groups;
  for (auto [size, count] : llvm::zip(value.sizes, repeats)) {
    bool isOne = size.number == 1, isRepeated = count.number != 1 && !isOne;
    std::string group = std::to_string(wide.size());
    if (isRepeated) {
      wide.push_back(count);
      group += ", " + std::to_string(wide.size());
    }
    map.push_back(isOne ? "0" : "d" + std::to_string(wide.size()));
    wide.push_back(isOne ? count : size);
    sizes.push_back(text.multiply(count, size));
    groups.push_back("[" + group + "]");
  }
  if (Error error = checkValue({value.element, sizes}))
    return std::move(error);
  if (llvm::any_of(sizes, [](const Size &size) { return size.number == 0; }))
    return one(text.addEmpty(value.element, sizes));
  Operand operand = {&value, map};
  Value repeated = text.addGeneric(text.addEmpty(value.element, wide), getDims(wide.size()), operand, wide.size(), {},
                                   [](Body &, const Names &names) { return names[0]; });
  if (wide.size() == sizes.size())
    return one({value.element, sizes, repeated.name});
  Value result = {value.element, sizes, text.makeName()};
  text.line("{0} = tensor.collapse_shape {1} [{2}] : {3} into {4}", result.name, repeated.name,
            llvm::join(groups, ", "), printType(repeated), printType(result));
  return one(result);
}

llvm::ArrayRef<RuleRow> attn::onnx::getRepeatRules() {
  static constexpr RuleRow rows[] = {{"CumSum", printCumSum}, {"Tile", printTile}};
  return rows;
}
