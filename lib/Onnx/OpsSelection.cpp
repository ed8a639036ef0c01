//===- OpsSelection.cpp - ArgMax, ArgMin ----------------------------------===//
//
// Two reductions: the extreme value, then the first (or last) position of it.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Shared.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;

/// What each element is at least, or at most, to start the search for the largest or smallest from.
static Reduction getExtreme(DataType type, bool isMax) {
  if (isFloat(type))
    return {isMax ? "arith.maximumf" : "arith.minimumf", printInfinity(type, isMax)};
  int64_t least = type == DataType::Int32 ? INT32_MIN : INT64_MIN,
          most = type == DataType::Int32 ? INT32_MAX : INT64_MAX;
  return {isMax ? "arith.maxsi" : "arith.minsi", std::to_string(isMax ? least : most)};
}

/// True of the extreme, and of a NaN, which is the extreme where there is one.
static std::string addTest(Body &body, DataType type, const std::string &x, const std::string &extreme) {
  std::string name = getElementName(type).str();
  if (!isFloat(type))
    return body.add("arith.cmpi eq, " + x + ", " + extreme + " : " + name);
  std::string equals = body.add("arith.cmpf oeq, " + x + ", " + extreme + " : " + name);
  return body.add("arith.ori " + equals + ", " + body.add("arith.cmpf uno, " + x + ", " + x + " : " + name) + " : i1");
}

/// Y(…) = the position along the axis of the largest (smallest) element, the first of several or, with
/// select_last_index, the last.
static Expected<Values> printArg(NodeView &view) {
  if (Error error = checkOperands(view, 1, 1))
    return std::move(error);
  const Value &value = view.get(0);
  if (value.element == DataType::Bool)
    return view.fail("expected an input of numbers, found BOOL");
  Expected<size_t> axis = view.getAxis(view.getInteger("axis", 0), value.getRank());
  if (!axis)
    return axis.takeError();
  if (value.sizes[*axis].number == 0)
    return view.fail(formatv("expected elements in dimension {0}, found none", *axis));
  GraphText &text = view.text;
  bool isLast = view.getInteger("select_last_index", 0) != 0;
  DataType type = getComputeType(value.element);
  Value input = text.cast(value, type);
  Value extreme = addReduction(text, input, *axis, getExtreme(type, view.getOp() == "ArgMax"));
  // min(i where x is the extreme, else the largest number): max, with -1, for the last.
  Sizes sizes;
  std::vector<std::string> map, extremeMap = getDims(value.getRank());
  for (size_t i = 0; i < value.getRank(); ++i) {
    if (i == *axis)
      continue;
    sizes.push_back(value.sizes[i]);
    map.push_back("d" + std::to_string(i));
  }
  extremeMap[*axis] = "0";
  std::string other = std::to_string(isLast ? int64_t(-1) : INT64_MAX);
  Value init = text.addFilled(DataType::Int64, sizes, other);
  Operand operands[] = {{&input, getDims(value.getRank())}, {&extreme, extremeMap}};
  Value result = text.addGeneric(init, map, operands, value.getRank(), *axis, [&](Body &body, const Names &names) {
    std::string isFound = addTest(body, type, names[0], names[1]);
    std::string place = body.add("arith.index_cast " + body.add("linalg.index " + std::to_string(*axis) + " : index") +
                                 " : index to i64");
    place = body.add("arith.select " + isFound + ", " + place + ", " + body.add("arith.constant " + other + " : i64") +
                     " : i64");
    return body.add((isLast ? "arith.maxsi " : "arith.minsi ") + names[2] + ", " + place + " : i64");
  });
  if (view.getInteger("keepdims", 1) == 0)
    return one(result);
  sizes = value.sizes;
  sizes[*axis] = fixed(1);
  return one(text.reshape(result, sizes));
}

llvm::ArrayRef<RuleRow> attn::onnx::getSelectionRules() {
  static constexpr RuleRow rows[] = {{"ArgMax", printArg}, {"ArgMin", printArg}};
  return rows;
}
