//===- DefineDivision.cpp - attn-define-division --------------------------===//
//
// Integer division in the regions of attn ops. Before, it is defined as in docs/Semantics.md: x / 0 = 0, x mod 0 = 0,
// and the least integer / -1 is itself. After, divisors are neither 0 nor -1, as MLIR and processors require.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Attn.h"
#include "attn/Support/Dialects.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace attn {
#define GEN_PASS_DEF_DEFINEDIVISIONPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// y + 1 is 0 or 1, unsigned, exactly where y is -1 or 0.
static constexpr int64_t kNumSpecialDivisors = 2;

/// The select(y + 1 <u 2, 1, y) that this pass builds.
static bool isReplaced(Value divisor) {
  auto choice = divisor.getDefiningOp<arith::SelectOp>();
  auto test = choice ? choice.getCondition().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
  auto next = test ? test.getLhs().getDefiningOp<arith::AddIOp>() : arith::AddIOp();
  APInt limit;
  return next && test.getPredicate() == arith::CmpIPredicate::ult &&
         matchPattern(test.getRhs(), m_ConstantInt(&limit)) && limit == kNumSpecialDivisors &&
         matchPattern(choice.getTrueValue(), m_One()) && choice.getFalseValue() == next.getLhs() &&
         matchPattern(next.getRhs(), m_One());
}

/// max(y, c) with a constant c > 0
template <typename MaxOp> static bool isAtLeastOne(Value divisor) {
  auto maximum = divisor.getDefiningOp<MaxOp>();
  APInt bound;
  return maximum && matchPattern(maximum.getRhs(), m_ConstantInt(&bound)) && bound.isStrictlyPositive();
}

namespace {

/// Builds integers of one type.
struct IntegerBuilder {
  OpBuilder &b;
  Location loc;
  Type type;

  Value constant(int64_t value) { return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value)); }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, loc, predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) { return arith::SelectOp::create(b, loc, condition, x, y); }
};

/// floordivsi, remsi and remui in a region of an attn op; by C10, other divisions have constant divisors.
template <typename OpTy> struct DefineDivision : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  static constexpr bool isSigned = !std::is_same_v<OpTy, arith::RemUIOp>;
  static constexpr bool isQuotient = std::is_same_v<OpTy, arith::FloorDivSIOp>;

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    if (!isOfDialect<AttnDialect>(op->getParentOp()))
      return rewriter.notifyMatchFailure(op, "expected to stand in a region of an attn op");
    Value x = op.getLhs(), y = op.getRhs();
    IntegerBuilder ib{rewriter, op.getLoc(), op.getType()};
    if (ib.type.isInteger(1)) {
      // The only divisors are 0 and 1, which is also -1.
      rewriter.replaceOp(op, isQuotient ? arith::AndIOp::create(rewriter, ib.loc, x, y).getResult() : ib.constant(0));
      return success();
    }
    APInt known;
    bool isDefined = matchPattern(y, m_ConstantInt(&known)) ? !known.isZero() && !(isSigned && known.isAllOnes())
                     : isSigned                             ? isReplaced(y) || isAtLeastOne<arith::MaxSIOp>(y)
                                                            : isAtLeastOne<arith::MaxUIOp>(y);
    if (isDefined)
      return rewriter.notifyMatchFailure(op, "expected a divisor that may be 0 or -1");
    if (!isSigned) {
      // x mod max(y, 1)
      Value divisor = arith::MaxUIOp::create(rewriter, ib.loc, y, ib.constant(1));
      rewriter.modifyOpInPlace(op, [&] { op.getRhsMutable().assign(divisor); });
      return success();
    }
    // For divisors 0 and -1 the quotient is x y, and the remainder is that of divisor 1.
    Value next = arith::AddIOp::create(rewriter, ib.loc, y, ib.constant(1));
    Value isSpecial = ib.compare(arith::CmpIPredicate::ult, next, ib.constant(kNumSpecialDivisors));
    Value divisor = ib.select(isSpecial, ib.constant(1), y);
    if constexpr (isQuotient) {
      Value product = arith::MulIOp::create(rewriter, ib.loc, x, y);
      Value quotient = OpTy::create(rewriter, ib.loc, x, divisor);
      rewriter.replaceOp(op, ib.select(isSpecial, product, quotient));
    } else {
      rewriter.modifyOpInPlace(op, [&] { op.getRhsMutable().assign(divisor); });
    }
    return success();
  }
};

struct DefineDivisionPass : public attn::impl::DefineDivisionPassBase<DefineDivisionPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateDefineDivisionPatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace

void attn::populateDefineDivisionPatterns(RewritePatternSet &patterns) {
  patterns.add<DefineDivision<arith::FloorDivSIOp>, DefineDivision<arith::RemSIOp>, DefineDivision<arith::RemUIOp>>(
      patterns.getContext());
}
