//===- MatchMask.cpp - constants that remove keys -------------------------===//
//
// A select of -inf, or an addition of it, is a mask. With a large finite constant it is one only if each row keeps a
// key: a row without keys gives the mean of V there, but zeros in attn. The proof uses a witness: a key (the first, the
// last, or that of the query's own position) for which the condition holds in each row.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "Scalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;
using namespace attn::raise;

/// Constants up to this one count as -inf: finfo.min of f32 and bf16, JAX's 0.7 of it.
static constexpr double kFiniteMask = -1e30;
/// The same where the weights are set to 0 too: a row without keys then gives zeros for any constant.
static constexpr double kGatedMask = -1e9;
/// For 16-bit scores: finfo.min of f16.
static constexpr double kFiniteMaskF16 = -65504;

//===----------------------------------------------------------------------===//
// A choice between two constants
//===----------------------------------------------------------------------===//

namespace {

/// Folds an expression of one boolean for both of its values.
class ChoiceFolder {
public:
  explicit ChoiceFolder(Elements &elements) : elements(elements) {}

  std::optional<Choice> fold(ExprRef expr) {
    std::optional<double> whenTrue = evaluate(expr, true), whenFalse = evaluate(expr, false);
    if (!whenTrue || !whenFalse || !condition)
      return std::nullopt;
    return Choice{condition, *whenTrue, *whenFalse};
  }

private:
  std::optional<double> takeCondition(ExprRef expr, bool value) {
    if (condition && condition != expr)
      return std::nullopt;
    condition = expr;
    return value;
  }

  std::optional<double> evaluate(ExprRef unexpanded, bool value) {
    ExprRef expr = elements.expand(unexpanded);
    if (std::optional<double> constant = expr->getConstant())
      return constant;
    if (expr->type.isInteger(1) && !expr->isOp<arith::XOrIOp>())
      return takeCondition(unexpanded, value);
    if (expr->kind != Expr::Kind::Op)
      return std::nullopt;
    if (expr->isOp<arith::SelectOp>()) {
      std::optional<double> chosen = evaluate(expr->operands[0], value);
      return chosen ? evaluate(expr->operands[*chosen != 0 ? 1 : 2], value) : std::nullopt;
    }
    SmallVector<double, 2> operands;
    for (ExprRef operand : expr->operands) {
      std::optional<double> number = evaluate(operand, value);
      if (!number)
        return std::nullopt;
      operands.push_back(*number);
    }
    double rhs = operands.size() > 1 ? operands[1] : 0;
    if (expr->isOp<arith::XOrIOp>())
      return expr->type.isInteger(1) ? std::optional<double>((operands[0] != 0) != (rhs != 0)) : std::nullopt;
    if (expr->isOp<arith::AddFOp>())
      return operands[0] + rhs;
    if (expr->isOp<arith::SubFOp>())
      return operands[0] - rhs;
    if (expr->isOp<arith::MulFOp>())
      return operands[0] * rhs;
    if (expr->isOp<arith::NegFOp>())
      return -operands[0];
    if (expr->isOp<arith::UIToFPOp>() || expr->isOp<arith::ExtFOp>() || expr->isOp<arith::TruncFOp>() ||
        expr->isOp<arith::ExtUIOp>())
      return operands[0];
    return std::nullopt;
  }

  Elements &elements;
  ExprRef condition = nullptr;
};

} // namespace

std::optional<Choice> attn::raise::matchChoice(Elements &elements, ExprRef expr) {
  return ChoiceFolder(elements).fold(expr);
}

//===----------------------------------------------------------------------===//
// A key in each row
//===----------------------------------------------------------------------===//

namespace {

/// The values of an integer expression over all positions: a sum of dimensions, and its bounds.
struct Integer {
  LinearIndex index;
  int64_t lower, upper; // inclusive
};

/// Decides conditions on positions for one key of each row.
class WitnessProof {
public:
  WitnessProof(MatchContext &ctx, const LinearIndex &key, const LinearIndex &witness)
      : elements(ctx.elements), space(ctx.elements.getSpace()), key(key), witness(witness) {}

  /// The value of a condition, if it is the same in each row.
  std::optional<bool> decide(ExprRef expr) {
    expr = elements.expand(expr);
    if (std::optional<double> constant = expr->getConstant())
      return *constant != 0;
    if (expr->isOp<arith::AndIOp>() || expr->isOp<arith::OrIOp>() || expr->isOp<arith::XOrIOp>()) {
      std::optional<bool> lhs = decide(expr->operands[0]), rhs = decide(expr->operands[1]);
      if (expr->isOp<arith::XOrIOp>())
        return lhs && rhs ? std::optional(*lhs != *rhs) : std::nullopt;
      bool deciding = expr->isOp<arith::OrIOp>();
      if (lhs == deciding || rhs == deciding)
        return deciding;
      return lhs && rhs ? std::optional(!deciding) : std::nullopt;
    }
    if (expr->isOp<arith::SelectOp>()) {
      std::optional<bool> condition = decide(expr->operands[0]);
      return condition ? decide(expr->operands[*condition ? 1 : 2]) : std::nullopt;
    }
    if (expr->isOp<arith::CmpIOp>())
      return compare(expr);
    return std::nullopt;
  }

private:
  std::optional<bool> compare(ExprRef expr) {
    std::optional<Integer> lhs = evaluate(expr->operands[0]), rhs = evaluate(expr->operands[1]);
    if (!lhs || !rhs)
      return std::nullopt;
    std::optional<Integer> difference = getInteger(add(lhs->index, multiply(rhs->index, -1)));
    if (!difference)
      return std::nullopt;
    auto [index, lower, upper] = *difference;
    auto is = [](bool always, bool never) {
      return always ? std::optional(true) : never ? std::optional(false) : std::nullopt;
    };
    using enum arith::CmpIPredicate;
    switch (cast<arith::CmpIOp>(expr->op).getPredicate()) {
    case eq: return is(lower == 0 && upper == 0, lower > 0 || upper < 0);
    case ne: return is(lower > 0 || upper < 0, lower == 0 && upper == 0);
    case slt: return is(upper < 0, lower >= 0);
    case sle: return is(upper <= 0, lower > 0);
    case sgt: return is(lower > 0, upper <= 0);
    case sge: return is(lower >= 0, upper < 0);
    default: return std::nullopt; // unsigned
    }
  }

  /// The bounds of `index` over all of its dimensions; no upper bound where one is dynamic.
  std::optional<Integer> getInteger(LinearIndex index) {
    Integer integer = {index, index.constant, index.constant};
    for (auto [dim, coefficient] : index.terms) {
      int64_t size = space.getSize(dim);
      int64_t last = ShapedType::isDynamic(size) ? kUnbounded : size - 1;
      if (last < 0)
        last = 0;
      (coefficient > 0 ? integer.upper : integer.lower) += coefficient * last;
    }
    return integer;
  }

  std::optional<Integer> evaluate(ExprRef expr) {
    expr = elements.expand(expr);
    if (expr->kind == Expr::Kind::Position)
      return getInteger(substitute(expr->indices[0]));
    if (std::optional<double> constant = expr->getConstant()) {
      LinearIndex index;
      index.constant = static_cast<int64_t>(*constant);
      return std::abs(*constant) < kUnbounded ? getInteger(index) : std::nullopt;
    }
    // 32 bits are enough for positions.
    if (expr->isOp<arith::IndexCastOp>() || expr->isOp<arith::IndexCastUIOp>() || expr->isOp<arith::ExtSIOp>() ||
        expr->isOp<arith::TruncIOp>())
      return evaluate(expr->operands[0]);
    if (!expr->isOp<arith::AddIOp>() && !expr->isOp<arith::SubIOp>() && !expr->isOp<arith::MulIOp>())
      return std::nullopt;
    std::optional<Integer> lhs = evaluate(expr->operands[0]), rhs = evaluate(expr->operands[1]);
    if (!lhs || !rhs)
      return std::nullopt;
    if (expr->isOp<arith::MulIOp>())
      return rhs->index.isConstant()   ? getInteger(multiply(lhs->index, rhs->index.constant))
             : lhs->index.isConstant() ? getInteger(multiply(rhs->index, lhs->index.constant))
                                       : std::nullopt;
    return getInteger(add(lhs->index, multiply(rhs->index, expr->isOp<arith::SubIOp>() ? -1 : 1)));
  }

  /// `index` at the witness.
  LinearIndex substitute(const LinearIndex &index) {
    LinearIndex result = index;
    if (key.terms.size() != 1)
      return result;
    llvm::erase_if(result.terms, [&](const LinearIndex::Term &term) { return term.dim == key.terms[0].dim; });
    for (const LinearIndex::Term &term : index.terms)
      if (term.dim == key.terms[0].dim)
        result = add(result, multiply(witness, term.coefficient));
    return result;
  }

  static constexpr int64_t kUnbounded = int64_t(1) << 40;
  Elements &elements;
  IterationSpace &space;
  const LinearIndex &key, &witness;
};

/// The elements of the constant tensor of `expr` as booleans: true where a key is kept.
std::optional<SmallVector<bool>> getKept(ExprRef expr, bool keepIf) {
  DenseElementsAttr values;
  if (!expr->isElement() || !matchPattern(expr->value, m_Constant(&values)))
    return std::nullopt;
  if (isa<FloatType>(values.getElementType()))
    return llvm::map_to_vector(values.getValues<APFloat>(), [](const APFloat &value) { return value.isZero(); });
  if (values.getElementType().isInteger(1))
    return llvm::map_to_vector(values.getValues<bool>(), [&](bool value) { return value == keepIf; });
  return std::nullopt;
}

/// True where the constant keeps a key for each position in its other dimensions.
bool keepsAKeyEverywhere(ExprRef expr, bool keepIf, const LinearIndex &key) {
  std::optional<SmallVector<bool>> kept = getKept(expr, keepIf);
  if (!kept)
    return false;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(expr->value.getType()).getShape();
  const auto *keyDim = llvm::find(expr->indices, key);
  if (keyDim == expr->indices.end())
    return false;
  int64_t keys = shape[keyDim - expr->indices.begin()], inner = 1;
  for (int64_t size : shape.drop_front(keyDim - expr->indices.begin() + 1))
    inner *= size;
  SmallVector<bool> hasKey(keys ? kept->size() / keys : 0, false);
  for (auto [position, keep] : llvm::enumerate(*kept))
    if (keep)
      hasKey[position / (keys * inner) * inner + position % inner] = true;
  return llvm::all_of(hasKey, [](bool has) { return has; });
}

/// Collects the dimensions whose sums are positions in `expr`.
void collectPositions(Elements &elements, ExprRef expr, SmallVectorImpl<unsigned> &dims) {
  expr = elements.expand(expr);
  if (expr->kind == Expr::Kind::Position)
    for (const LinearIndex::Term &term : expr->indices[0].terms)
      if (!llvm::is_contained(dims, term.dim))
        dims.push_back(term.dim);
  for (ExprRef operand : expr->operands)
    collectPositions(elements, operand, dims);
}

} // namespace

bool attn::raise::keepsAKeyInEachRow(MatchContext &ctx, const Predicate &predicate, const LinearIndex &key) {
  if (predicate.condition->isElement() && getKept(predicate.condition, predicate.keepIf))
    return keepsAKeyEverywhere(predicate.condition, predicate.keepIf, key);
  std::optional<int64_t> keys = ctx.elements.getSpace().getExtent(key);
  if (!keys || *keys == 0)
    return false;
  // Without any key there is no row for which a finite constant differs.
  SmallVector<LinearIndex> witnesses = {LinearIndex()};
  if (!ShapedType::isDynamic(*keys)) {
    witnesses.emplace_back();
    witnesses.back().constant = *keys - 1;
  }
  SmallVector<unsigned> dims;
  collectPositions(ctx.elements, predicate.condition, dims);
  for (unsigned dim : dims) {
    int64_t size = ctx.elements.getSpace().getSize(dim);
    if (key.dependsOn(dim) || ShapedType::isDynamic(size) || ShapedType::isDynamic(*keys))
      continue;
    for (int64_t offset : {int64_t(0), *keys - size}) {
      LinearIndex diagonal;
      diagonal.terms.push_back({dim, 1});
      diagonal.constant = offset;
      if (offset >= 0 && size + offset <= *keys)
        witnesses.push_back(diagonal);
    }
  }
  return llvm::any_of(witnesses, [&](const LinearIndex &witness) {
    return WitnessProof(ctx, key, witness).decide(predicate.condition) == predicate.keepIf;
  });
}

//===----------------------------------------------------------------------===//
// Masks and gates
//===----------------------------------------------------------------------===//

void attn::raise::splitPredicate(Elements &elements, Predicate predicate, SmallVectorImpl<Predicate> &parts) {
  ExprRef expr = elements.expand(predicate.condition);
  bool isTensor = predicate.condition->isElement() && !hasPosition(elements, expr);
  if (!isTensor && (predicate.keepIf ? expr->isOp<arith::AndIOp>() : expr->isOp<arith::OrIOp>())) {
    for (ExprRef operand : expr->operands)
      splitPredicate(elements, {operand, predicate.keepIf}, parts);
    return;
  }
  if (!isTensor && expr->isOp<arith::XOrIOp>())
    for (unsigned i : {0, 1})
      if (elements.expand(expr->operands[i])->getConstant().value_or(0) != 0)
        return splitPredicate(elements, {expr->operands[1 - i], !predicate.keepIf}, parts);
  parts.push_back(predicate);
}

static bool contains(Elements &elements, ArrayRef<Predicate> predicates, const Predicate &predicate) {
  return llvm::any_of(predicates, [&](const Predicate &other) {
    return other.keepIf == predicate.keepIf && elements.areEqual(other.condition, predicate.condition);
  });
}

bool attn::raise::areGatesMasks(MatchContext &ctx, const Attention &attention) {
  SmallVector<Predicate> masks = attention.scores.masks, gates;
  for (const Predicate &mask : attention.scores.masks)
    splitPredicate(ctx.elements, mask, masks);
  for (const Predicate &gate : attention.gates)
    if (!contains(ctx.elements, masks, gate))
      splitPredicate(ctx.elements, gate, gates);
  return llvm::all_of(gates, [&](const Predicate &gate) { return contains(ctx.elements, masks, gate); });
}

bool attn::raise::addMask(MatchContext &ctx, ExprRef condition, bool keepIf, double removed, Attention &attention) {
  Predicate mask = {condition, keepIf};
  if (removed != -HUGE_VAL) {
    bool isHalf = attention.scores.product && attention.scores.product->type.isF16();
    bool isGated = contains(ctx.elements, attention.gates, mask);
    double largest = isHalf ? kFiniteMaskF16 : isGated ? kGatedMask : kFiniteMask;
    if (!ctx.options.assumeFiniteMask || removed > largest ||
        (!isGated && !keepsAKeyInEachRow(ctx, mask, attention.keyIndex)))
      return false;
    attention.relaxations.push_back("a finite constant taken for -inf");
  }
  attention.scores.masks.push_back(mask);
  return true;
}
