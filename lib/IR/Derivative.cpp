//===- Derivative.cpp - gradients of the regions of scores ----------------===//
//
// Reverse mode on one block of scalar code. Every value between the score, or a
// captured tensor that wants a gradient, and the yield has one adjoint: the
// derivative of the yield by it, times %ds. From the last op to the first, an op
// adds the adjoint of its result, times a partial derivative, to the adjoint of
// each operand. The partial derivatives are a table.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Derivative.h"
#include "attn/IR/Decompose.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numbers>

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

namespace {

/// A float of the region. Its arithmetic builds ops, or folds constants.
struct Number {
  OpBuilder *b = nullptr;
  Location loc;
  Value value;

  template <typename OpTy, typename... Args> Number build(Args &&...args) const {
    return {b, loc, b->createOrFold<OpTy>(loc, std::forward<Args>(args)...)};
  }
  Number constant(double x) const { return {b, loc, createFloatConstant(*b, loc, value.getType(), x)}; }
  Value equals(Number other) const {
    return b->createOrFold<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, value, other.value);
  }
};

Number operator+(Number x, Number y) { return x.build<arith::AddFOp>(x.value, y.value); }
Number operator*(Number x, Number y) { return x.build<arith::MulFOp>(x.value, y.value); }
Number operator/(Number x, Number y) { return x.build<arith::DivFOp>(x.value, y.value); }
Number operator-(Number x) { return x.build<arith::NegFOp>(x.value); }
Number operator+(double x, Number y) { return y.constant(x) + y; }
Number operator*(double x, Number y) { return y.constant(x) * y; }
Number operator/(double x, Number y) { return y.constant(x) / y; }

Number select(Value condition, Number x, Number y) { return x.build<arith::SelectOp>(condition, x.value, y.value); }
template <typename OpTy> Number apply(Number x) { return x.build<OpTy>(x.value); }

bool isConstant(Value value, double x) {
  APFloat constant(0.0);
  return matchPattern(value, m_ConstantFloat(&constant)) && constant.isExactlyValue(x);
}
bool isConstant(Value value) { return matchPattern(value, m_Constant()); }

//===----------------------------------------------------------------------===//
// Partial derivatives
//===----------------------------------------------------------------------===//

/// The partial derivative by each operand of an op; null where an operand has none.
using Partials = SmallVector<Number, 3>;

/// The derivative is 0 wherever it is defined, or the result is not a float.
bool isInactive(Operation *op) {
  return isa<arith::CmpFOp, arith::CmpIOp, arith::FPToSIOp, arith::FPToUIOp, math::FloorOp, math::CeilOp, math::RoundOp,
             math::RoundEvenOp, math::TruncOp, math::IsFiniteOp, math::IsInfOp, math::IsNaNOp, math::IsNormalOp>(op);
}

/// x ** y by x and by y. Where y or the power is 0, the other factor may be infinity or NaN; the derivative is then 0.
Partials differentiatePower(Number x, Number y, Number power) {
  Number zero = y.constant(0);
  Number byBase = y * x.build<math::PowFOp>(x.value, (-1.0 + y).value);
  return {select(y.equals(zero), zero, byBase), select(power.equals(zero), zero, power * apply<math::LogOp>(x))};
}

/// x ** n by x, for an integer n.
Number differentiatePower(Number x, Value n) {
  OpBuilder &b = *x.b;
  Value one = arith::ConstantOp::create(b, x.loc, b.getIntegerAttr(n.getType(), 1));
  Value less = b.createOrFold<arith::SubIOp>(x.loc, n, one);
  Number exponent = x.build<arith::SIToFPOp>(x.value.getType(), n), zero = x.constant(0);
  return select(exponent.equals(zero), zero, exponent * x.build<math::FPowIOp>(x.value, less));
}

/// The partial derivatives of `op` with the result r and the operands x and y; nullopt if the table has none.
std::optional<Partials> differentiate(OpBuilder &b, Operation *op) {
  using namespace std::numbers;
  Location loc = op->getLoc();
  auto get = [&](unsigned i) { return Number{&b, loc, op->getNumOperands() > i ? op->getOperand(i) : Value()}; };
  Number x = get(0), y = get(1), r{&b, loc, op->getResult(0)}, none{&b, loc, Value()};
  auto c = [&](double value) { return x.constant(value); };
  auto sign = [&] { return select(x.equals(c(0)), c(0), select(r.equals(x), c(1), c(-1))); };
  return llvm::TypeSwitch<Operation *, std::optional<Partials>>(op)
      .Case<arith::AddFOp>([&](auto) { return Partials{c(1), c(1)}; })
      .Case<arith::SubFOp>([&](auto) { return Partials{c(1), c(-1)}; })
      .Case<arith::MulFOp>([&](auto) { return Partials{y, x}; })
      .Case<arith::DivFOp>([&](auto) { return Partials{1.0 / y, -(r / y)}; })
      .Case<arith::NegFOp>([&](auto) { return Partials{c(-1)}; })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) { return Partials{c(1)}; })
      .Case<math::FmaOp>([&](auto) { return Partials{y, x, c(1)}; })
      // choices and kinks
      .Case<arith::SelectOp>([&](arith::SelectOp choice) {
        Value condition = choice.getCondition();
        Number one = y.constant(1), zero = y.constant(0);
        return Partials{none, select(condition, one, zero), select(condition, zero, one)};
      })
      .Case<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>([&](auto) {
        Value isFirst = r.equals(x);
        return Partials{select(isFirst, c(1), c(0)), select(isFirst, c(0), c(1))};
      })
      .Case<math::AbsFOp>([&](auto) { return Partials{sign()}; })
      .Case<math::CopySignOp>([&](auto) { return Partials{sign(), none}; })
      // functions
      .Case<math::ExpOp>([&](auto) { return Partials{r}; })
      .Case<math::Exp2Op>([&](auto) { return Partials{ln2 * r}; })
      .Case<math::ExpM1Op>([&](auto) { return Partials{1.0 + r}; })
      .Case<math::LogOp>([&](auto) { return Partials{1.0 / x}; })
      .Case<math::Log2Op>([&](auto) { return Partials{log2e / x}; })
      .Case<math::Log10Op>([&](auto) { return Partials{log10e / x}; })
      .Case<math::Log1pOp>([&](auto) { return Partials{1.0 / (1.0 + x)}; })
      .Case<math::SqrtOp>([&](auto) { return Partials{select(x.equals(c(0)), c(0), 0.5 / r)}; })
      .Case<math::RsqrtOp>([&](auto) { return Partials{-0.5 * r * (r * r)}; })
      .Case<math::TanhOp>([&](auto) { return Partials{{&b, loc, buildTanhSlope(b, loc, x.value)}}; })
      .Case<ScoreFunction>([&](ScoreFunction f) { return Partials{{&b, loc, f.buildSlope(b, loc, x.value)}}; })
      .Case<math::SinOp>([&](auto) { return Partials{apply<math::CosOp>(x)}; })
      .Case<math::CosOp>([&](auto) { return Partials{-apply<math::SinOp>(x)}; })
      .Case<math::TanOp>([&](auto) { return Partials{1.0 + r * r}; })
      .Case<math::AtanOp>([&](auto) { return Partials{1.0 / (1.0 + x * x)}; })
      .Case<math::ErfOp>([&](auto) { return Partials{2 * inv_sqrtpi * apply<math::ExpOp>(-(x * x))}; })
      .Case<math::PowFOp>([&](auto) { return differentiatePower(x, y, r); })
      .Case<math::FPowIOp>([&](auto) { return Partials{differentiatePower(x, y.value), none}; })
      .Default([](Operation *) { return std::nullopt; });
}

//===----------------------------------------------------------------------===//
// Reverse mode
//===----------------------------------------------------------------------===//

/// g * partial, but 0 where g is 0: a branch that was not selected passes nothing back.
Number multiply(Number g, Number partial) {
  Number zero = g.constant(0);
  if (isConstant(partial.value, 0))
    return zero;
  if (isConstant(partial.value, 1))
    return g;
  if (isConstant(partial.value, -1))
    return -g;
  if (isConstant(partial.value))
    return g * partial;
  auto choice = partial.value.getDefiningOp<arith::SelectOp>();
  if (choice && (isConstant(choice.getTrueValue()) || isConstant(choice.getFalseValue())))
    return select(choice.getCondition(), multiply(g, {g.b, g.loc, choice.getTrueValue()}),
                  multiply(g, {g.b, g.loc, choice.getFalseValue()}));
  return select(g.equals(zero), zero, g * partial);
}

/// The adjoints of one block. A narrow value may have a wider adjoint: a sum of many terms is rounded once, when
/// stored.
class Adjoints {
public:
  Adjoints(OpBuilder &b) : b(b) {}

  Value get(Value value) const { return adjoints.lookup(value); }
  void add(Location loc, Value value, Value part) {
    if (isConstant(part, 0))
      return;
    Value &sum = adjoints[value];
    if (!sum) {
      sum = part;
      return;
    }
    bool isWider = cast<FloatType>(part.getType()).getWidth() > cast<FloatType>(sum.getType()).getWidth();
    Type type = isWider ? part.getType() : sum.getType();
    sum = b.createOrFold<arith::AddFOp>(loc, convertFloat(b, loc, sum, type), convertFloat(b, loc, part, type));
  }

private:
  OpBuilder &b;
  DenseMap<Value, Value> adjoints;
};

} // namespace

/// The destination for the gradient of what `op` reads; null if it reads nothing whose gradient is requested.
static Value findDestination(Operation *op, ValueRange captures, ValueRange destinations) {
  if (!isa<tensor::ExtractOp, memref::LoadOp>(op))
    return {};
  auto position = llvm::find(captures, op->getOperand(0));
  return position == captures.end() ? Value() : destinations[position - captures.begin()];
}

/// Erases dead ops and merges equal ones.
static void simplify(RewriterBase &rewriter, Operation *holder) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(holder->getRegion(0).front())))
    if (isOpTriviallyDead(&op))
      rewriter.eraseOp(&op);
  DominanceInfo dominance;
  eliminateCommonSubExpressions(rewriter, dominance, holder);
}

/// Adds to the adjoints of operands, from the last op of `forward` to the first. `read` handles ops that have their own
/// rules.
static LogicalResult propagate(OpBuilder &builder, ArrayRef<Operation *> forward, const DenseSet<Value> &active,
                               Adjoints &adjoints, function_ref<bool(Operation *, Value)> read,
                               function_ref<InFlightDiagnostic()> emitError) {
  for (Operation *op : llvm::reverse(forward)) {
    auto reached = llvm::find_if(op->getResults(), [&](Value value) { return adjoints.get(value); });
    if (reached == op->getResults().end())
      continue;
    Value adjoint = adjoints.get(*reached);
    Location at = op->getLoc();
    if (read(op, adjoint))
      continue;
    std::optional<Partials> partials = differentiate(builder, op);
    if (!partials) {
      InFlightDiagnostic diag = emitError() << "expected an op with a derivative, found '" << op->getName()
                                            << "'; write it as arithmetic, exp, log, powf, tanh, sin, cos or erf";
      diag.attachNote(at) << "the op is here";
      return diag;
    }
    for (auto [operand, partial] : llvm::zip_equal(op->getOperands(), *partials)) {
      if (!partial.value || !active.contains(operand))
        continue;
      // An operand that was widened keeps the wide adjoint.
      Value g = isa<arith::ExtFOp>(op) ? adjoint : convertFloat(builder, at, adjoint, operand.getType());
      adjoints.add(at, operand, multiply({&builder, at, g}, partial).value);
    }
  }
  return success();
}

LogicalResult attn::buildScoreGradient(OpBuilder &builder, Location loc, Region &scoreMod, Region &grad,
                                       ValueRange captures, ValueRange destinations,
                                       function_ref<InFlightDiagnostic()> emitError) {
  assert(captures.size() == destinations.size() && "one destination for each capture");
  for (Value capture : captures)
    if (!isa<FloatType>(getElementTypeOrSelf(capture.getType())))
      return emitError() << "expected a captured tensor that wants a gradient to hold floats, found "
                         << capture.getType();
  OpBuilder::InsertionGuard guard(builder);
  Type type = scoreMod.getArgument(0).getType();
  // CSE needs an op that holds the region; this one is in no block.
  builder.clearInsertionPoint();
  OwningOpRef<scf::ExecuteRegionOp> holder = scf::ExecuteRegionOp::create(builder, loc, TypeRange());
  Region &region = holder->getRegion();
  Block *block = builder.createBlock(&region, region.end(), {type, type}, {loc, loc});
  Value score = block->getArgument(0);
  Value result = inlineScoreRegion(builder, loc, scoreMod, score);
  YieldOp yield = YieldOp::create(builder, loc, result);
  IRRewriter rewriter(builder.getContext(), builder.getListener());
  simplify(rewriter, *holder);
  result = yield.getValue();

  // The values that depend on the score or on a capture.
  DenseSet<Value> active{score};
  SmallVector<Operation *> forward;
  for (Operation &op : block->without_terminator()) {
    auto isActive = [&](Value operand) { return active.contains(operand); };
    if (findDestination(&op, captures, destinations) ||
        (!isInactive(&op) && llvm::any_of(op.getOperands(), isActive))) {
      active.insert(op.getResults().begin(), op.getResults().end());
      forward.push_back(&op);
    }
  }

  builder.setInsertionPoint(yield);
  Adjoints adjoints(builder);
  if (active.contains(result))
    adjoints.add(loc, result, block->getArgument(1));
  auto read = [&](Operation *op, Value adjoint) {
    Value destination = findDestination(op, captures, destinations);
    if (!destination)
      return false;
    Value value = convertFloat(builder, op->getLoc(), adjoint, getElementTypeOrSelf(destination.getType()));
    AccumulateOp::create(builder, op->getLoc(), value, destination, op->getOperands().drop_front());
    return true;
  };
  if (failed(propagate(builder, forward, active, adjoints, read, emitError)))
    return failure();
  Value dScore = adjoints.get(score);
  yield->setOperand(0, dScore ? convertFloat(builder, loc, dScore, type) : createFloatConstant(builder, loc, type, 0));
  for (ScoreFunction function : llvm::make_early_inc_range(block->getOps<ScoreFunction>())) {
    rewriter.setInsertionPoint(function);
    rewriter.replaceOp(function, function.buildFormula(rewriter, loc, function->getOperand(0)));
  }
  simplify(rewriter, *holder);
  grad.takeBody(region);
  return success();
}

FailureOr<SmallVector<Value>> attn::buildAdjoints(OpBuilder &builder, ArrayRef<Operation *> ops, ValueRange inputs,
                                                  Value result, Value cotangent,
                                                  function_ref<InFlightDiagnostic()> emitError) {
  DenseSet<Value> active(inputs.begin(), inputs.end());
  SmallVector<Operation *> forward;
  for (Operation *op : ops)
    if (!isInactive(op) && llvm::any_of(op->getOperands(), [&](Value operand) { return active.contains(operand); })) {
      active.insert(op->getResults().begin(), op->getResults().end());
      forward.push_back(op);
    }
  Adjoints adjoints(builder);
  if (active.contains(result))
    adjoints.add(result.getLoc(), result, cotangent);
  auto readsNothing = [](Operation *, Value) { return false; };
  if (failed(propagate(builder, forward, active, adjoints, readsNothing, emitError)))
    return failure();
  return llvm::map_to_vector(inputs, [&](Value input) { return adjoints.get(input); });
}

//===----------------------------------------------------------------------===//
// Hyperbolic tangent
//===----------------------------------------------------------------------===//

Value attn::buildTanhSlope(OpBuilder &builder, Location loc, Value x) {
  Number e = apply<math::ExpOp>(-2.0 * apply<math::AbsFOp>(Number{&builder, loc, x})), sum = 1.0 + e;
  return (4.0 * e / (sum * sum)).value;
}
