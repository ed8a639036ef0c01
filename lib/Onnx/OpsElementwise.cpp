//===- OpsElementwise.cpp - operators on elements -------------------------===//
//
// Each is one linalg.generic over the broadcast sizes. Functions of narrow
// floats are calculated in f32, sums and products in their own type.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Shared.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace attn::onnx;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;

/// The operands in one element type, over the sizes that they broadcast to.
static Expected<Sizes> checkAlike(NodeView &view, size_t first) {
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

/// A function of two elements of one type.
using Binary = mlir::Value (*)(GraphBuilder &, mlir::Value, mlir::Value);

template <typename Float, typename Int> static mlir::Value either(GraphBuilder &b, mlir::Value lhs, mlir::Value rhs) {
  return b.either<Float, Int>(lhs, rhs);
}

static Binary getBinary(StringRef op) {
  return llvm::StringSwitch<Binary>(op)
      .Cases({"Add", "Sum"}, either<arith::AddFOp, arith::AddIOp>)
      .Case("Sub", either<arith::SubFOp, arith::SubIOp>)
      .Case("Mul", either<arith::MulFOp, arith::MulIOp>)
      .Case("Div", either<arith::DivFOp, arith::DivSIOp>)
      .Case("Min", either<arith::MinimumFOp, arith::MinSIOp>)
      .Default(either<arith::MaximumFOp, arith::MaxSIOp>);
}

/// Of integers the second operand divides, and must be known not to be 0.
static llvm::Error checkDivisor(NodeView &view) {
  bool isKnown = view.getNumbers(1) && !llvm::is_contained(*view.getNumbers(1), 0);
  if (!isFloat(view.get(0).element) && !isKnown)
    return view.fail("expected a constant divisor of integers that is not 0, found another");
  return llvm::Error::success();
}

static Expected<Values> buildBinary(NodeView &view) {
  Expected<Sizes> sizes = checkAlike(view, 0);
  if (!sizes)
    return sizes.takeError();
  DataType type = view.get(0).element;
  if (type == DataType::Bool)
    return view.fail("expected inputs of numbers, found BOOL");
  if (view.getOp() == "Div")
    if (llvm::Error error = checkDivisor(view))
      return std::move(error);
  return one(view.b.addElementwise(type, *sizes, getOperands(view), [&](Args x) {
    mlir::Value result = x[0];
    for (mlir::Value other : x.drop_front().drop_back())
      result = getBinary(view.getOp())(view.b, result, other);
    return result;
  }));
}

/// The remainder, in the sign of the divisor, or of the dividend with fmod = 1.
static Expected<Values> buildMod(NodeView &view) {
  Expected<Sizes> sizes = checkAlike(view, 0);
  if (!sizes)
    return sizes.takeError();
  DataType type = view.get(0).element;
  if (type == DataType::Bool)
    return view.fail("expected inputs of numbers, found BOOL");
  if (llvm::Error error = checkDivisor(view))
    return std::move(error);
  GraphBuilder &b = view.b;
  return one(b.addComputed(type, *sizes, getOperands(view), [&](Args x) {
    mlir::Value rest = b.either<arith::RemFOp, arith::RemSIOp>(x[0], x[1]), zero = b.zero(x[0].getType());
    if (view.getInteger("fmod", 0) != 0)
      return rest;
    auto isNegative = [&](mlir::Value value) {
      return isFloat(type) ? b.make<arith::CmpFOp>(arith::CmpFPredicate::OLT, value, zero)
                           : b.make<arith::CmpIOp>(arith::CmpIPredicate::slt, value, zero);
    };
    mlir::Value isNonzero = isFloat(type) ? b.make<arith::CmpFOp>(arith::CmpFPredicate::ONE, rest, zero)
                                          : b.make<arith::CmpIOp>(arith::CmpIPredicate::ne, rest, zero);
    mlir::Value differs = b.make<arith::XOrIOp>(isNegative(rest), isNegative(x[1]));
    mlir::Value sum = b.either<arith::AddFOp, arith::AddIOp>(rest, x[1]);
    return b.make<arith::SelectOp>(b.make<arith::AndIOp>(differs, isNonzero), sum, rest);
  }));
}

static Expected<Values> buildPow(NodeView &view) {
  Expected<Sizes> sizes = checkAlike(view, 2);
  if (!sizes)
    return sizes.takeError();
  const Value &base = view.get(0), &exponent = view.get(1);
  if (!isFloat(base.element) || exponent.element == DataType::Bool)
    return view.fail("expected a base of floats and an exponent of numbers, found " +
                     getDataTypeName(int64_t(base.element)));
  GraphBuilder &b = view.b;
  std::optional<double> number;
  if (exponent.integers && exponent.integers->size() == 1 && exponent.integers->front().number)
    number = double(*exponent.integers->front().number);
  else if (exponent.element == DataType::Float && exponent.data && getNumElements(exponent.data->type) == 1)
    number = mlir::cast<mlir::FloatAttr>(b.getSplat(exponent)).getValueAsDouble();
  return one(b.addComputed(base.element, *sizes, getOperands(view), [&](Args x) {
    if (number == 2.0)
      return b.make<arith::MulFOp>(x[0], x[0]);
    if (number == 3.0)
      return b.make<arith::MulFOp>(b.make<arith::MulFOp>(x[0], x[0]), x[0]);
    return number == 0.5 ? b.make<math::SqrtOp>(x[0]) : b.make<math::PowFOp>(x[0], x[1]);
  }));
}

static Expected<Values> buildComparison(NodeView &view) {
  using Floats = arith::CmpFPredicate;
  using Integers = arith::CmpIPredicate;
  Expected<Sizes> sizes = checkAlike(view, 0);
  if (!sizes)
    return sizes.takeError();
  DataType type = view.get(0).element;
  auto [ofFloats, ofIntegers] = llvm::StringSwitch<std::pair<Floats, Integers>>(view.getOp())
                                    .Case("Equal", {Floats::OEQ, Integers::eq})
                                    .Case("Less", {Floats::OLT, Integers::slt})
                                    .Case("LessOrEqual", {Floats::OLE, Integers::sle})
                                    .Case("Greater", {Floats::OGT, Integers::sgt})
                                    .Default({Floats::OGE, Integers::sge});
  if (type == DataType::Bool && view.getOp() != "Equal")
    return view.fail("expected inputs of numbers, found BOOL");
  return one(view.b.addElementwise(DataType::Bool, *sizes, getOperands(view),
                                   [&, floats = ofFloats, integers = ofIntegers](Args x) {
                                     return isFloat(type) ? view.b.make<arith::CmpFOp>(floats, x[0], x[1])
                                                          : view.b.make<arith::CmpIOp>(integers, x[0], x[1]);
                                   }));
}

static Expected<Values> buildLogic(NodeView &view) {
  Expected<Sizes> sizes = checkAlike(view, 0);
  if (!sizes)
    return sizes.takeError();
  if (view.get(0).element != DataType::Bool)
    return view.fail("expected inputs of BOOL, found " + getDataTypeName(int64_t(view.get(0).element)));
  return one(view.b.addElementwise(DataType::Bool, *sizes, getOperands(view), [&](Args x) {
    return view.getOp() == "And"  ? view.b.make<arith::AndIOp>(x[0], x[1])
           : view.getOp() == "Or" ? view.b.make<arith::OrIOp>(x[0], x[1])
                                  : view.b.make<arith::XOrIOp>(x[0], x[1]);
  }));
}

static Expected<Values> buildWhere(NodeView &view) {
  Expected<Sizes> sizes = checkAlike(view, 1);
  if (!sizes)
    return sizes.takeError();
  if (view.get(0).element != DataType::Bool)
    return view.fail("expected a condition of BOOL, found " + getDataTypeName(int64_t(view.get(0).element)));
  return one(view.b.addElementwise(view.get(1).element, *sizes, getOperands(view),
                                   [&](Args x) { return view.b.make<arith::SelectOp>(x[0], x[1], x[2]); }));
}

static Expected<Values> buildClip(NodeView &view) {
  const Value &x = view.get(0);
  for (size_t i = 1; i < view.operands.size(); ++i)
    if (view.has(i) && (view.get(i).element != x.element || view.get(i).getRank() != 0))
      return view.fail("expected bounds of rank 0 in the type of the input, found others");
  if (x.element == DataType::Bool || view.node.findAttribute("min") || view.node.findAttribute("max"))
    return view.fail("expected numbers, with the bounds as inputs, found others");
  std::vector<const Value *> operands = {&x};
  for (size_t i = 1; i < view.operands.size(); ++i)
    if (view.has(i))
      operands.push_back(&view.get(i));
  return one(view.b.addElementwise(x.element, x.sizes, operands, [&](Args elements) {
    mlir::Value result = elements[0];
    if (view.has(1))
      result = view.b.either<arith::MaximumFOp, arith::MaxSIOp>(result, elements[1]);
    return view.has(2) ? view.b.either<arith::MinimumFOp, arith::MinSIOp>(result, elements[operands.size() - 1])
                       : result;
  }));
}

//===----------------------------------------------------------------------===//
// Of one
//===----------------------------------------------------------------------===//

/// x * (1 + erf(x / sqrt(2))) / 2, or x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2.
static mlir::Value addGelu(GraphBuilder &b, mlir::Value x, bool isApproximate) {
  auto scale = [&](mlir::Value value, double by) { return b.make<arith::MulFOp>(value, b.real(by, x.getType())); };
  mlir::Value inner;
  if (isApproximate) {
    mlir::Value cube = b.make<arith::MulFOp>(b.make<arith::MulFOp>(x, x), x);
    mlir::Value sum = b.make<arith::AddFOp>(x, scale(cube, 0.044715));
    inner = b.make<math::TanhOp>(scale(sum, std::sqrt(2.0 / M_PI)));
  } else {
    inner = b.make<math::ErfOp>(scale(x, std::sqrt(0.5)));
  }
  mlir::Value half = scale(x, 0.5);
  return b.make<arith::MulFOp>(half, b.make<arith::AddFOp>(inner, b.real(1.0, x.getType())));
}

/// 1 / (1 + exp(-x))
static mlir::Value addSigmoid(GraphBuilder &b, mlir::Value x) {
  mlir::Value unit = b.real(1.0, x.getType());
  return b.make<arith::DivFOp>(unit, b.make<arith::AddFOp>(unit, b.make<math::ExpOp>(b.make<arith::NegFOp>(x))));
}

template <typename Op> static mlir::Value apply(GraphBuilder &b, mlir::Value x) { return b.make<Op>(x); }

static mlir::Value addFunction(NodeView &view, mlir::Value x) {
  GraphBuilder &b = view.b;
  StringRef op = view.getOp();
  auto real = [&](double number) { return b.real(number, x.getType()); };
  if (op == "Reciprocal")
    return b.make<arith::DivFOp>(real(1.0), x);
  if (op == "Swish")
    return b.make<arith::MulFOp>(x, addSigmoid(b, b.make<arith::MulFOp>(x, real(view.getReal("alpha", 1.0)))));
  if (op == "Relu")
    return b.make<arith::MaximumFOp>(x, real(0.0));
  if (op == "LeakyRelu")
    return b.make<arith::SelectOp>(b.make<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, real(0.0)),
                                   b.make<arith::MulFOp>(x, real(view.getReal("alpha", 0.01))), x);
  if (op == "Gelu")
    return addGelu(b, x, view.getString("approximate", "none") == "tanh");
  using Unary = mlir::Value (*)(GraphBuilder &, mlir::Value);
  return llvm::StringSwitch<Unary>(op)
      .Case("Sigmoid", addSigmoid)
      .Case("Sqrt", apply<math::SqrtOp>)
      .Case("Exp", apply<math::ExpOp>)
      .Case("Log", apply<math::LogOp>)
      .Case("Erf", apply<math::ErfOp>)
      .Case("Tanh", apply<math::TanhOp>)
      .Case("Sin", apply<math::SinOp>)
      .Case("Cos", apply<math::CosOp>)
      .Case("Floor", apply<math::FloorOp>)
      .Default(apply<math::CeilOp>)(b, x);
}

static Expected<Values> buildUnary(NodeView &view) {
  const Value &value = view.get(0);
  if (!isFloat(value.element))
    return view.fail("expected an input of floats, found " + getDataTypeName(int64_t(value.element)));
  return one(view.b.addComputed(value.element, value.sizes, {&value}, [&](Args x) { return addFunction(view, x[0]); }));
}

/// -1, 0, 1, or NaN.
static mlir::Value addSign(GraphBuilder &b, mlir::Value x) {
  mlir::Type type = x.getType();
  if (mlir::isa<mlir::IntegerType>(type))
    return b.make<arith::MaxSIOp>(b.make<arith::MinSIOp>(x, b.integer(1, type)), b.integer(-1, type));
  auto choose = [&](arith::CmpFPredicate predicate, double number, mlir::Value other) {
    mlir::Value holds = b.make<arith::CmpFOp>(predicate, x, b.real(0.0, type));
    return b.make<arith::SelectOp>(holds, b.real(number, type), other);
  };
  return choose(arith::CmpFPredicate::OGT, 1.0, choose(arith::CmpFPredicate::OLT, -1.0, x));
}

static Expected<Values> buildSign(NodeView &view) {
  const Value &value = view.get(0);
  if (value.element == DataType::Bool)
    return view.fail("expected an input of numbers, found BOOL");
  GraphBuilder &b = view.b;
  bool isAbs = view.getOp() == "Abs";
  return one(b.addElementwise(value.element, value.sizes, {&value}, [&](Args x) {
    if (view.getOp() == "Sign")
      return addSign(b, x[0]);
    if (isFloat(value.element))
      return isAbs ? b.make<math::AbsFOp>(x[0]) : b.make<arith::NegFOp>(x[0]);
    mlir::Value negative = b.make<arith::SubIOp>(b.zero(x[0].getType()), x[0]);
    return isAbs ? b.make<arith::MaxSIOp>(x[0], negative) : negative;
  }));
}

static Expected<Values> buildTest(NodeView &view) {
  const Value &value = view.get(0);
  GraphBuilder &b = view.b;
  bool isNot = view.getOp() == "Not";
  if (isNot ? value.element != DataType::Bool : !isFloat(value.element))
    return view.fail("found an input of " + getDataTypeName(int64_t(value.element)));
  return one(b.addElementwise(DataType::Bool, value.sizes, {&value}, [&](Args x) {
    return isNot ? b.make<arith::XOrIOp>(x[0], b.integer(1, x[0].getType()))
                 : b.make<arith::CmpFOp>(arith::CmpFPredicate::UNO, x[0], x[0]);
  }));
}

static Expected<Values> buildCast(NodeView &view) {
  DataType to = view.getOp() == "Cast" ? DataType(view.getInteger("to", 0))
                : view.has(1)          ? view.get(1).element
                                       : DataType::Undefined;
  if (!isElement(to))
    return view.fail("expected a cast to FLOAT, DOUBLE, FLOAT16, BFLOAT16, INT32, INT64 or BOOL, found " +
                     getDataTypeName(int64_t(to)));
  return one(view.b.cast(view.get(0), to));
}

/// Identity; Dropout as inference has it.
static Expected<Values> buildIdentity(NodeView &view) {
  if (view.has(2) && view.getNumbers(2) != std::vector<int64_t>{0})
    return view.fail("expected training_mode = false, found another");
  return one(view.get(0));
}

llvm::ArrayRef<RuleRow> attn::onnx::getElementwiseRules() {
  static constexpr RuleRow rows[] = {
      {"Abs", buildSign, 1, 1},
      {"Add", buildBinary, 2, 2},
      {"And", buildLogic, 2, 2},
      {"Cast", buildCast, 1, 1},
      {"CastLike", buildCast, 1, 2},
      {"Ceil", buildUnary, 1, 1},
      {"Clip", buildClip, 1, 3},
      {"Cos", buildUnary, 1, 1},
      {"Div", buildBinary, 2, 2},
      {"Dropout", buildIdentity, 1, 3},
      {"Equal", buildComparison, 2, 2},
      {"Erf", buildUnary, 1, 1},
      {"Exp", buildUnary, 1, 1},
      {"Floor", buildUnary, 1, 1},
      {"Gelu", buildUnary, 1, 1},
      {"Greater", buildComparison, 2, 2},
      {"GreaterOrEqual", buildComparison, 2, 2},
      {"Identity", buildIdentity, 1, 3},
      {"IsNaN", buildTest, 1, 1},
      {"LeakyRelu", buildUnary, 1, 1},
      {"Less", buildComparison, 2, 2},
      {"LessOrEqual", buildComparison, 2, 2},
      {"Log", buildUnary, 1, 1},
      {"Max", buildBinary, 1, SIZE_MAX},
      {"Min", buildBinary, 1, SIZE_MAX},
      {"Mod", buildMod, 2, 2},
      {"Mul", buildBinary, 2, 2},
      {"Neg", buildSign, 1, 1},
      {"Not", buildTest, 1, 1},
      {"Or", buildLogic, 2, 2},
      {"Pow", buildPow, 2, 2},
      {"Reciprocal", buildUnary, 1, 1},
      {"Relu", buildUnary, 1, 1},
      {"Sigmoid", buildUnary, 1, 1},
      {"Sign", buildSign, 1, 1},
      {"Sin", buildUnary, 1, 1},
      {"Sqrt", buildUnary, 1, 1},
      {"Sub", buildBinary, 2, 2},
      {"Sum", buildBinary, 1, SIZE_MAX},
      {"Swish", buildUnary, 1, 1},
      {"Tanh", buildUnary, 1, 1},
      {"Where", buildWhere, 3, 3},
      {"Xor", buildLogic, 2, 2},
  };
  return rows;
}
