//===- OpsReductions.cpp - sums, softmax, normalisations ------------------===//
//
// Narrow floats are summed up in f32.
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
using llvm::StringRef;

std::string attn::onnx::printInfinity(DataType type, bool isNegative) {
  if (!isNegative)
    return type == DataType::Double ? "0x7FF0000000000000" : "0x7F800000";
  return type == DataType::Double ? "0xFFF0000000000000" : "0xFF800000";
}

Value attn::onnx::addReduction(GraphText &text, const Value &value, llvm::ArrayRef<size_t> axes,
                               const Reduction &reduction,
                               llvm::function_ref<std::string(Body &, const std::string &)> print) {
  DataType type = getComputeType(value.element);
  Sizes kept, full = value.sizes;
  std::vector<std::string> map;
  for (size_t i = 0; i < value.getRank(); ++i) {
    if (llvm::is_contained(axes, i)) {
      full[i] = fixed(1);
      continue;
    }
    kept.push_back(value.sizes[i]);
    map.push_back("d" + std::to_string(i));
  }
  Value init = text.addFilled(type, kept, reduction.start);
  Operand operand = {&value, getDims(value.getRank())};
  Value result = text.addGeneric(init, map, operand, value.getRank(), axes, [&](Body &body, const Names &names) {
    std::string element = body.cast(names[0], value.element, type);
    if (print)
      element = print(body, element);
    return body.add(reduction.op + " " + names[1] + ", " + element + " : " + getElementName(type));
  });
  return text.reshape(result, full);
}

/// sum / count, in the type of the sum.
static Value addMean(GraphText &text, const Value &sum, const Value &of, llvm::ArrayRef<size_t> axes) {
  Size count = fixed(1);
  for (size_t axis : axes)
    count = text.multiply(count, of.sizes[axis]);
  return text.addElementwise(sum.element, sum.sizes, {&sum}, [&](Body &body, const Names &names) {
    std::string name = getElementName(sum.element).str(), divisor;
    if (count.number)
      divisor = body.add(formatv("arith.constant {0:e17} : {1}", double(*count.number), name).str());
    else
      divisor = body.add("arith.uitofp " + body.add("arith.index_cast " + count.value + " : index to i64") +
                         " : i64 to " + name);
    return body.add("arith.divf " + names[0] + ", " + divisor + " : " + name);
  });
}

//===----------------------------------------------------------------------===//
// Reduce…
//===----------------------------------------------------------------------===//

static Expected<Values> printReduce(NodeView &view) {
  if (Error error = checkOperands(view, 1, 2))
    return std::move(error);
  const Value &value = view.get(0);
  if (!isFloat(value.element))
    return view.fail("expected an input of floats, found " + getDataTypeName(int64_t(value.element)));
  Expected<std::optional<std::vector<int64_t>>> list = view.getList("axes", 1);
  if (!list)
    return list.takeError();
  std::vector<int64_t> all;
  for (size_t i = 0; i < value.getRank(); ++i)
    all.push_back(int64_t(i));
  bool isOfAll = !*list || (*list)->empty();
  if (isOfAll && view.getInteger("noop_with_empty_axes", 0) != 0)
    return view.fail("expected axes, found none");
  Expected<std::vector<size_t>> axes = view.getAxes(isOfAll ? all : **list, value.getRank());
  if (!axes)
    return axes.takeError();
  DataType type = getComputeType(value.element);
  StringRef op = view.getOp();
  Reduction reduction = {"arith.addf", "0.0"};
  if (op == "ReduceMax")
    reduction = {"arith.maximumf", printInfinity(type, true)};
  if (op == "ReduceMin")
    reduction = {"arith.minimumf", printInfinity(type, false)};
  auto square = [&](Body &body, const std::string &x) {
    return body.add("arith.mulf " + x + ", " + x + " : " + getElementName(type));
  };
  bool isSquare = op == "ReduceSumSquare" || op == "ReduceL2";
  Value result = isSquare ? addReduction(view.text, value, *axes, reduction, square)
                          : addReduction(view.text, value, *axes, reduction);
  if (op == "ReduceMean")
    result = addMean(view.text, result, value, *axes);
  if (op == "ReduceL2")
    result = view.text.addElementwise(type, result.sizes, {&result}, [&](Body &body, const Names &names) {
      return body.add("math.sqrt " + names[0] + " : " + getElementName(type));
    });
  result = view.text.cast(result, value.element);
  if (view.getInteger("keepdims", 1) != 0)
    return one(result);
  Sizes sizes;
  for (size_t i = 0; i < value.getRank(); ++i)
    if (!llvm::is_contained(*axes, i))
      sizes.push_back(value.sizes[i]);
  return one(view.text.reshape(result, sizes));
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// Before opset 13 the dimensions from `axis` on are one.
static constexpr int64_t kFirstSoftmaxOpset = 13;

/// The axis of Softmax or LogSoftmax, whose one input is of floats.
static Expected<size_t> getSoftmaxAxis(NodeView &view) {
  if (Error error = checkOperands(view, 1, 1))
    return std::move(error);
  const Value &value = view.get(0);
  bool isOld = view.model.opset < kFirstSoftmaxOpset;
  Expected<size_t> axis = view.getAxis(view.getInteger("axis", isOld ? 1 : -1), value.getRank());
  if (!axis)
    return axis.takeError();
  if (!isFloat(value.element))
    return view.fail("expected an input of floats, found " + getDataTypeName(int64_t(value.element)));
  if (isOld && *axis + 1 != value.getRank())
    return view.fail(formatv("expected the last axis in opset {0}, found {1}", view.model.opset, *axis));
  return *axis;
}

static Expected<Values> printSoftmax(NodeView &view) {
  Expected<size_t> axis = getSoftmaxAxis(view);
  if (!axis)
    return axis.takeError();
  const Value &value = view.get(0);
  DataType type = getComputeType(value.element);
  Value input = view.text.cast(value, type);
  std::string name = view.text.getName(input);
  Value init = view.text.addEmpty(type, value.sizes), result = init;
  result.name = view.text.makeName();
  view.text.line("{0} = linalg.softmax dimension({1}) ins({2} : {3}) outs({4} : {5}) -> {5}", result.name, *axis, name,
                 printType(input), init.name, printType(init));
  return one(view.text.cast(result, value.element));
}

/// x - max - log(sum exp(x - max)), in f32 for narrower floats.
static Expected<Values> printLogSoftmax(NodeView &view) {
  Expected<size_t> axis = getSoftmaxAxis(view);
  if (!axis)
    return axis.takeError();
  const Value &value = view.get(0);
  GraphText &text = view.text;
  DataType type = getComputeType(value.element);
  std::string name = getElementName(type).str();
  Value input = text.cast(value, type);
  Value largest = addReduction(text, input, *axis, {"arith.maximumf", printInfinity(type, true)});
  Value shifted = text.addElementwise(type, value.sizes, {&input, &largest}, [&](Body &body, const Names &names) {
    return body.add("arith.subf " + names[0] + ", " + names[1] + " : " + name);
  });
  Value sum = addReduction(text, shifted, *axis, {"arith.addf", "0.0"},
                           [&](Body &body, const std::string &x) { return body.add("math.exp " + x + " : " + name); });
  return one(text.addElementwise(value.element, value.sizes, {&shifted, &sum}, [&](Body &body, const Names &names) {
    std::string log = body.add("math.log " + names[1] + " : " + name);
    return body.cast(body.add("arith.subf " + names[0] + ", " + log + " : " + name), type, value.element);
  }));
}

//===----------------------------------------------------------------------===//
// Normalisations
//===----------------------------------------------------------------------===//

/// LayerNormalization: (x - mean) / sqrt(var + epsilon) * scale + bias over the axes from `axis` on;
/// RMSNormalization leaves the mean and the bias out. Outputs behind the first are those that training keeps.
static Expected<Values> printNormalization(NodeView &view) {
  bool isCentered = view.getOp() == "LayerNormalization";
  if (Error error = checkOperands(view, 2, isCentered ? 3 : 2))
    return std::move(error);
  const Value &value = view.get(0), &scale = view.get(1);
  Expected<size_t> axis = view.getAxis(view.getInteger("axis", -1), value.getRank());
  if (!axis)
    return axis.takeError();
  std::vector<const Value *> operands = {&value, &scale};
  if (view.has(2))
    operands.push_back(&view.get(2));
  std::optional<Sizes> sizes = broadcastSizes(operands);
  bool isAlike = llvm::all_of(operands, [&](const Value *other) { return other->element == value.element; });
  if (!isFloat(value.element) || !isAlike || !sizes || sizes->size() != value.getRank())
    return view.fail("expected an input, scale and bias of one type of floats that broadcast to the input, found "
                     "others");
  if (view.getInteger("stash_type", 1) != 1)
    return view.fail("expected stash_type = 1 (FLOAT), found another");
  std::vector<size_t> axes;
  for (size_t i = *axis; i < value.getRank(); ++i)
    axes.push_back(i);
  GraphText &text = view.text;
  DataType type = getComputeType(value.element);
  std::string name = getElementName(type).str();
  auto multiply = [&](Body &body, const std::string &lhs, const std::string &rhs) {
    return body.add("arith.mulf " + lhs + ", " + rhs + " : " + name);
  };
  Value centered = text.cast(value, type), mean;
  if (isCentered) {
    mean = addMean(text, addReduction(text, centered, axes, {"arith.addf", "0.0"}), value, axes);
    centered = text.addElementwise(type, value.sizes, {&centered, &mean}, [&](Body &body, const Names &names) {
      return body.add("arith.subf " + names[0] + ", " + names[1] + " : " + name);
    });
  }
  Value squares = addReduction(text, centered, axes, {"arith.addf", "0.0"},
                               [&](Body &body, const std::string &x) { return multiply(body, x, x); });
  Value variance = addMean(text, squares, value, axes);
  std::string epsilon = formatv("{0:e17}", view.getReal("epsilon", 1e-5)).str();
  Value inverse = text.addElementwise(type, variance.sizes, {&variance}, [&](Body &body, const Names &names) {
    std::string sum =
        body.add("arith.addf " + names[0] + ", " + body.add("arith.constant " + epsilon + " : " + name) + " : " + name);
    std::string root = body.add("math.sqrt " + sum + " : " + name);
    return body.add("arith.divf " + body.add("arith.constant 1.0 : " + name) + ", " + root + " : " + name);
  });
  operands[0] = &centered;
  operands.insert(operands.begin() + 1, &inverse);
  Value result = text.addElementwise(value.element, value.sizes, operands, [&](Body &body, const Names &names) {
    std::string normal = multiply(body, names[0], names[1]);
    normal = multiply(body, normal, body.cast(names[2], scale.element, type));
    if (view.has(2))
      normal = body.add("arith.addf " + normal + ", " + body.cast(names[3], scale.element, type) + " : " + name);
    return body.cast(normal, type, value.element);
  });
  return isCentered ? Values{result, mean, inverse} : Values{result};
}

llvm::ArrayRef<RuleRow> attn::onnx::getReductionRules() {
  static constexpr RuleRow rows[] = {
      {"LayerNormalization", printNormalization},
      {"LogSoftmax", printLogSoftmax},
      {"RMSNormalization", printNormalization},
      {"ReduceL2", printReduce},
      {"ReduceMax", printReduce},
      {"ReduceMean", printReduce},
      {"ReduceMin", printReduce},
      {"ReduceSum", printReduce},
      {"ReduceSumSquare", printReduce},
      {"Softmax", printSoftmax},
  };
  return rows;
}
