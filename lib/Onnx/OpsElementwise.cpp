//===- OpsElementwise.cpp - operators on elements -------------------------===//
//
// Each is one linalg.generic over the broadcast sizes. Functions of narrow
// floats are calculated in f32, sums and products in their own type.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GraphOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"

#include <cmath>

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;

using Names = std::vector<std::string>;

namespace {

/// A region's arithmetic in one element type.
class Arithmetic {
public:
  Arithmetic(Body &body, DataType type) : body(body), element(type), type(getElementName(type)) {}
  std::string apply(StringRef op, StringRef lhs, StringRef rhs) {
    return body.add(op + " " + lhs + ", " + rhs + " : " + type);
  }
  std::string apply(StringRef op, StringRef value) { return body.add(op + " " + value + " : " + type); }
  std::string constant(double number) {
    if (!isFloat(element))
      return body.add(formatv("arith.constant {0} : {1}", int64_t(number), type).str());
    return body.add(formatv("arith.constant {0:e17} : {1}", number, type).str());
  }
  std::string compare(StringRef predicate, StringRef lhs, StringRef rhs) {
    return apply((isFloat(element) ? "arith.cmpf " : "arith.cmpi ") + predicate.str() + ",", lhs, rhs);
  }
  std::string choose(StringRef condition, StringRef lhs, StringRef rhs) {
    return body.add("arith.select " + condition + ", " + lhs + ", " + rhs + " : " + type);
  }

private:
  Body &body;
  DataType element;
  StringRef type;
};

} // namespace

static Values one(Value value) {
  Values values;
  values.push_back(std::move(value));
  return values;
}

/// The operands in one element type, over the sizes that they broadcast to.
static Expected<Sizes> checkAlike(NodeView &view, size_t first, size_t least, size_t most) {
  if (Error error = checkOperands(view, least, most))
    return std::move(error);
  std::vector<const Value *> values;
  for (size_t i = 0; i < view.operands.size(); ++i) {
    values.push_back(&view.get(i));
    if (!view.has(i))
      return view.fail(formatv("expected input {0}, found it left out", i));
    if (i >= first && view.get(i).element != view.get(first).element)
      return view.fail("expected inputs of one element type, found " +
                       getDataTypeName(int64_t(view.get(first).element)) + " and " +
                       getDataTypeName(int64_t(view.get(i).element)));
  }
  std::optional<Sizes> sizes = broadcastSizes(values);
  if (!sizes)
    return view.fail("expected sizes that broadcast to each other, found others");
  return *sizes;
}

static std::vector<const Value *> getOperands(NodeView &view) {
  std::vector<const Value *> values;
  for (const Value &value : view.operands)
    values.push_back(&value);
  return values;
}

//===----------------------------------------------------------------------===//
// Of two or more
//===----------------------------------------------------------------------===//

namespace {
struct BinaryRow {
  StringRef op, floats, integers;
};
} // namespace

static constexpr BinaryRow kBinary[] = {
    {"Add", "arith.addf", "arith.addi"},      {"Sub", "arith.subf", "arith.subi"},
    {"Mul", "arith.mulf", "arith.muli"},      {"Sum", "arith.addf", "arith.addi"},
    {"Div", "arith.divf", "arith.divsi"},     {"Min", "arith.minimumf", "arith.minsi"},
    {"Max", "arith.maximumf", "arith.maxsi"},
};

static Expected<Values> printBinary(NodeView &view) {
  bool isOfMany = llvm::is_contained({"Max", "Min", "Sum"}, view.getOp());
  Expected<Sizes> sizes = checkAlike(view, 0, isOfMany ? 1 : 2, isOfMany ? SIZE_MAX : 2);
  if (!sizes)
    return sizes.takeError();
  DataType type = view.get(0).element;
  if (type == DataType::Bool)
    return view.fail("expected inputs of numbers, found BOOL");
  const BinaryRow &row = *llvm::find_if(kBinary, [&](const BinaryRow &row) { return row.op == view.getOp(); });
  if (!isFloat(type) && view.getOp() == "Div" && (!view.getNumbers(1) || llvm::is_contained(*view.getNumbers(1), 0)))
    return view.fail("expected a constant divisor of integers that is not 0, found another");
  StringRef op = isFloat(type) ? row.floats : row.integers;
  return one(view.text.addElementwise(type, *sizes, getOperands(view), [&](Body &body, const Names &names) {
    Arithmetic arithmetic(body, type);
    std::string result = names[0];
    for (size_t i = 1; i < view.operands.size(); ++i)
      result = arithmetic.apply(op, result, names[i]);
    return result;
  }));
}

static Expected<Values> printPow(NodeView &view) {
  Expected<Sizes> sizes = checkAlike(view, 2, 2, 2);
  if (!sizes)
    return sizes.takeError();
  const Value &base = view.get(0), &exponent = view.get(1);
  if (!isFloat(base.element) || exponent.element == DataType::Bool)
    return view.fail("expected a base of floats and an exponent of numbers, found " +
                     getDataTypeName(int64_t(base.element)));
  std::optional<double> number;
  if (exponent.integers && exponent.integers->size() == 1 && exponent.integers->front().number)
    number = double(*exponent.integers->front().number);
  else if (exponent.element == DataType::Float && !exponent.splat.empty() && exponent.data->bytes.size() == 4)
    number = llvm::bit_cast<float>(llvm::support::endian::read32le(exponent.data->bytes.data()));
  DataType type = getComputeType(base.element);
  return one(view.text.addElementwise(base.element, *sizes, getOperands(view), [&](Body &body, const Names &names) {
    Arithmetic arithmetic(body, type);
    std::string x = body.cast(names[0], base.element, type), result;
    if (number == 2.0)
      result = arithmetic.apply("arith.mulf", x, x);
    else if (number == 3.0)
      result = arithmetic.apply("arith.mulf", arithmetic.apply("arith.mulf", x, x), x);
    else if (number == 0.5)
      result = arithmetic.apply("math.sqrt", x);
    else
      result = arithmetic.apply("math.powf", x, body.cast(names[1], exponent.element, type));
    return body.cast(result, type, base.element);
  }));
}

static Expected<Values> printComparison(NodeView &view) {
  Expected<Sizes> sizes = checkAlike(view, 0, 2, 2);
  if (!sizes)
    return sizes.takeError();
  DataType type = view.get(0).element;
  StringRef predicate = llvm::StringSwitch<StringRef>(view.getOp())
                            .Case("Equal", isFloat(type) ? "oeq" : "eq")
                            .Case("Less", isFloat(type) ? "olt" : "slt")
                            .Case("LessOrEqual", isFloat(type) ? "ole" : "sle")
                            .Case("Greater", isFloat(type) ? "ogt" : "sgt")
                            .Default(isFloat(type) ? "oge" : "sge");
  if (type == DataType::Bool && view.getOp() != "Equal")
    return view.fail("expected inputs of numbers, found BOOL");
  return one(view.text.addElementwise(DataType::Bool, *sizes, getOperands(view), [&](Body &body, const Names &names) {
    return Arithmetic(body, type).compare(predicate, names[0], names[1]);
  }));
}

static Expected<Values> printLogic(NodeView &view) {
  Expected<Sizes> sizes = checkAlike(view, 0, 2, 2);
  if (!sizes)
    return sizes.takeError();
  if (view.get(0).element != DataType::Bool)
    return view.fail("expected inputs of BOOL, found " + getDataTypeName(int64_t(view.get(0).element)));
  StringRef op = view.getOp() == "And" ? "arith.andi" : view.getOp() == "Or" ? "arith.ori" : "arith.xori";
  return one(view.text.addElementwise(DataType::Bool, *sizes, getOperands(view), [&](Body &body, const Names &names) {
    return Arithmetic(body, DataType::Bool).apply(op, names[0], names[1]);
  }));
}

static Expected<Values> printWhere(NodeView &view) {
  Expected<Sizes> sizes = checkAlike(view, 1, 3, 3);
  if (!sizes)
    return sizes.takeError();
  if (view.get(0).element != DataType::Bool)
    return view.fail("expected a condition of BOOL, found " + getDataTypeName(int64_t(view.get(0).element)));
  DataType type = view.get(1).element;
  return one(view.text.addElementwise(type, *sizes, getOperands(view), [&](Body &body, const Names &names) {
    return Arithmetic(body, type).choose(names[0], names[1], names[2]);
  }));
}

static Expected<Values> printClip(NodeView &view) {
  Expected<Sizes> sizes = Sizes();
  if (Error error = checkOperands(view, 1, 3))
    return std::move(error);
  const Value &x = view.get(0);
  for (size_t i = 1; i < view.operands.size(); ++i)
    if (view.has(i) && (view.get(i).element != x.element || view.get(i).getRank() != 0))
      return view.fail("expected bounds of rank 0 in the type of the input, found others");
  if (x.element == DataType::Bool || view.node.findAttribute("min") || view.node.findAttribute("max"))
    return view.fail("expected numbers, with the bounds as inputs, found others");
  bool isOfFloats = isFloat(x.element);
  std::vector<const Value *> operands = {&x};
  for (size_t i = 1; i < view.operands.size(); ++i)
    if (view.has(i))
      operands.push_back(&view.get(i));
  return one(view.text.addElementwise(x.element, x.sizes, operands, [&](Body &body, const Names &names) {
    Arithmetic arithmetic(body, x.element);
    std::string result = names[0];
    if (view.has(1))
      result = arithmetic.apply(isOfFloats ? "arith.maximumf" : "arith.maxsi", result, names[1]);
    StringRef minimum = isOfFloats ? "arith.minimumf" : "arith.minsi";
    return view.has(2) ? arithmetic.apply(minimum, result, names[operands.size() - 1]) : result;
  }));
}

//===----------------------------------------------------------------------===//
// Of one
//===----------------------------------------------------------------------===//

/// x * (1 + erf(x / sqrt(2))) / 2, or x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2.
static std::string printGelu(Arithmetic &a, const std::string &x, bool isApproximate) {
  std::string inner;
  if (isApproximate) {
    std::string cube = a.apply("arith.mulf", a.apply("arith.mulf", x, x), x);
    std::string sum = a.apply("arith.addf", x, a.apply("arith.mulf", cube, a.constant(0.044715)));
    inner = a.apply("math.tanh", a.apply("arith.mulf", sum, a.constant(std::sqrt(2.0 / M_PI))));
  } else {
    inner = a.apply("math.erf", a.apply("arith.mulf", x, a.constant(std::sqrt(0.5))));
  }
  std::string half = a.apply("arith.mulf", x, a.constant(0.5));
  return a.apply("arith.mulf", half, a.apply("arith.addf", inner, a.constant(1.0)));
}

/// 1 / (1 + exp(-x))
static std::string printSigmoid(Arithmetic &a, const std::string &x) {
  std::string sum = a.apply("arith.addf", a.constant(1.0), a.apply("math.exp", a.apply("arith.negf", x)));
  return a.apply("arith.divf", a.constant(1.0), sum);
}

static std::string printFunction(NodeView &view, Arithmetic &a, const std::string &x) {
  StringRef op = view.getOp();
  if (op == "Reciprocal")
    return a.apply("arith.divf", a.constant(1.0), x);
  if (op == "Sigmoid")
    return printSigmoid(a, x);
  if (op == "Swish")
    return a.apply("arith.mulf", x, printSigmoid(a, a.apply("arith.mulf", x, a.constant(view.getReal("alpha", 1.0)))));
  if (op == "Relu")
    return a.apply("arith.maximumf", x, a.constant(0.0));
  if (op == "LeakyRelu")
    return a.choose(a.compare("olt", x, a.constant(0.0)),
                    a.apply("arith.mulf", x, a.constant(view.getReal("alpha", 0.01))), x);
  if (op == "Gelu")
    return printGelu(a, x, view.getString("approximate", "none") == "tanh");
  return a.apply(llvm::StringSwitch<StringRef>(op)
                     .Case("Sqrt", "math.sqrt")
                     .Case("Exp", "math.exp")
                     .Case("Log", "math.log")
                     .Case("Erf", "math.erf")
                     .Case("Tanh", "math.tanh")
                     .Case("Sin", "math.sin")
                     .Case("Cos", "math.cos")
                     .Case("Floor", "math.floor")
                     .Default("math.ceil"),
                 x);
}

static Expected<Values> printUnary(NodeView &view) {
  if (Error error = checkOperands(view, 1, 1))
    return std::move(error);
  const Value &value = view.get(0);
  if (!isFloat(value.element))
    return view.fail("expected an input of floats, found " + getDataTypeName(int64_t(value.element)));
  DataType type = getComputeType(value.element);
  return one(view.text.addElementwise(value.element, value.sizes, {&value}, [&](Body &body, const Names &names) {
    Arithmetic arithmetic(body, type);
    std::string x = body.cast(names[0], value.element, type);
    return body.cast(printFunction(view, arithmetic, x), type, value.element);
  }));
}

static Expected<Values> printSign(NodeView &view) {
  if (Error error = checkOperands(view, 1, 1))
    return std::move(error);
  const Value &value = view.get(0);
  DataType type = value.element;
  if (type == DataType::Bool)
    return view.fail("expected an input of numbers, found BOOL");
  return one(view.text.addElementwise(type, value.sizes, {&value}, [&](Body &body, const Names &names) {
    Arithmetic arithmetic(body, type);
    if (isFloat(type))
      return arithmetic.apply(view.getOp() == "Abs" ? "math.absf" : "arith.negf", names[0]);
    std::string negative = arithmetic.apply("arith.subi", arithmetic.constant(0), names[0]);
    return view.getOp() == "Abs" ? arithmetic.apply("arith.maxsi", names[0], negative) : negative;
  }));
}

static Expected<Values> printTest(NodeView &view) {
  if (Error error = checkOperands(view, 1, 1))
    return std::move(error);
  const Value &value = view.get(0);
  bool isNot = view.getOp() == "Not";
  if (isNot ? value.element != DataType::Bool : !isFloat(value.element))
    return view.fail("found an input of " + getDataTypeName(int64_t(value.element)));
  return one(view.text.addElementwise(DataType::Bool, value.sizes, {&value}, [&](Body &body, const Names &names) {
    Arithmetic arithmetic(body, value.element);
    if (isNot)
      return arithmetic.apply("arith.xori", names[0], body.add("arith.constant true"));
    return arithmetic.compare("uno", names[0], names[0]);
  }));
}

static Expected<Values> printCast(NodeView &view) {
  if (Error error = checkOperands(view, 1, view.getOp() == "Cast" ? 1 : 2))
    return std::move(error);
  DataType to = view.getOp() == "Cast" ? DataType(view.getInteger("to", 0))
                : view.has(1)          ? view.get(1).element
                                       : DataType::Undefined;
  if (getElementName(to).empty())
    return view.fail("expected a cast to FLOAT, DOUBLE, FLOAT16, BFLOAT16, INT32, INT64 or BOOL, found " +
                     getDataTypeName(int64_t(to)));
  return one(view.text.cast(view.get(0), to));
}

/// Identity; Dropout as inference has it.
static Expected<Values> printIdentity(NodeView &view) {
  if (Error error = checkOperands(view, 1, 3))
    return std::move(error);
  if (view.has(2) && view.getNumbers(2) != std::vector<int64_t>{0})
    return view.fail("expected training_mode = false, found another");
  return one(view.get(0));
}

llvm::ArrayRef<RuleRow> attn::onnx::getElementwiseRules() {
  static constexpr RuleRow rows[] = {
      {"Abs", printSign},
      {"Add", printBinary},
      {"And", printLogic},
      {"Cast", printCast},
      {"CastLike", printCast},
      {"Ceil", printUnary},
      {"Clip", printClip},
      {"Cos", printUnary},
      {"Div", printBinary},
      {"Dropout", printIdentity},
      {"Equal", printComparison},
      {"Erf", printUnary},
      {"Exp", printUnary},
      {"Floor", printUnary},
      {"Gelu", printUnary},
      {"Greater", printComparison},
      {"GreaterOrEqual", printComparison},
      {"Identity", printIdentity},
      {"IsNaN", printTest},
      {"LeakyRelu", printUnary},
      {"Less", printComparison},
      {"LessOrEqual", printComparison},
      {"Log", printUnary},
      {"Max", printBinary},
      {"Min", printBinary},
      {"Mul", printBinary},
      {"Neg", printSign},
      {"Not", printTest},
      {"Or", printLogic},
      {"Pow", printPow},
      {"Reciprocal", printUnary},
      {"Relu", printUnary},
      {"Sigmoid", printUnary},
      {"Sin", printUnary},
      {"Sqrt", printUnary},
      {"Sub", printBinary},
      {"Sum", printBinary},
      {"Swish", printUnary},
      {"Tanh", printUnary},
      {"Where", printWhere},
      {"Xor", printLogic},
  };
  return rows;
}
