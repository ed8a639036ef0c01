//===- OverlapGradients.cpp - gradient products that run concurrently -----===//
//
// The products of a step are issued together, and the weights p are computed while dP runs:
//
//   S →, dP → | wait S | p | wait dP | ds | pack | sums → | wait
//
// A loop is rotated if the registers hold the packed weights of an iteration along with the scores of the next one, and
// the producer has a third stage:
//
//   S(0) →, dP(0) → | wait S | p | wait dP | ds | pack
//   each further n:  S(n) →, dP(n) →, sums(n - 1) → | wait S | p | wait dP | ds | wait | pack
//   sums(last) → | wait
//
// In a kernel of all gradients, the partial dQ runs between the other two sums, and is added to memory while the last
// one runs:
//
//   … | pack | exchange dS | dV → | barrier | dQ → | dK → | wait dQ | add | wait
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "OverlapGradients.h"
#include "Warps/Producer.h"
#include "attn/Support/Dialects.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// Stages of a rotated loop: one that the sums read, one that the scores read, and one in flight.
static constexpr int64_t kMinStages = 3;
/// Fewest iterations of a rotated loop: with fewer, rotation leaves no loop.
static constexpr int64_t kMinRounds = 3;
/// Registers of a thread besides sums, scores, their gradients, and both packed; and those of masks. With fewer, ptxas
/// spills.
static constexpr int64_t kOtherRegisters = 40, kMaskRegisters = 8;

Value attn::nvvm::roundFactors(IRRewriter &b, ProductOp values, Value factors) {
  Type type = getElementTypeOrSelf(values.getRhs().getType());
  return arith::TruncFOp::create(b, values.getLoc(),
                                 getRegisterType(cast<ShapedType>(factors.getType()).getShape(), type), factors);
}

namespace {
/// A step of gradients, whose products are issued together.
struct GradientStep {
  ScoreGradientsOp gradients;
  SmallVector<ProductOp> sums;
  ExchangeOp exchange; ///< of dS; null where the kernel has no dQ along with the other gradients

  explicit GradientStep(ScoreGradientsOp op) : gradients(op) {
    for (auto product : op->getBlock()->getOps<ProductOp>())
      if (llvm::is_contained(op.getResults(), product.getLhs()))
        sums.push_back(product);
    for (auto other : op->getBlock()->getOps<ExchangeOp>())
      if (auto rounded = other.getInput().getDefiningOp<arith::TruncFOp>(); rounded.getIn() == op->getResults().back())
        exchange = other;
  }

  void overlap(IRRewriter &b) {
    if (auto scores = gradients.getScores().getDefiningOp<ProductOp>())
      startAll(b, scores, gradients);
    if (auto products = gradients.getDweights() ? gradients.getDweights().getDefiningOp<ProductOp>() : ProductOp())
      start(products, gradients);
    if (sums.empty())
      return;
    if (exchange)
      return overlapExchange(b);
    b.setInsertionPoint(sums.front());
    for (ProductOp product : sums)
      product.getLhsMutable().assign(roundFactors(b, product, product.getLhs()));
    Operation *end = sums.back()->getNextNode();
    startAll(b, sums, isa<ReleaseOp>(end) ? end->getNextNode() : end);
  }

private:
  /// Reorders the ops from the gradients to the op that passes the turn.
  void overlapExchange(IRRewriter &b) {
    Operation *end = exchange;
    while (!isa<PassOrderOp>(end))
      end = end->getNextNode();
    end = end->getNextNode();
    SmallVector<Operation *> turn, releases; // await, add and pass; stages that the sums read
    ProductOp part;
    Operation *barrier = nullptr;
    for (Operation *op = exchange->getNextNode(); op != end; op = op->getNextNode()) {
      if (isa<AwaitOrderOp, AddRowsOp, PassOrderOp>(op))
        turn.push_back(op);
      if (isa<gpu::BarrierOp>(op))
        barrier = op;
      if (auto product = dyn_cast<ProductOp>(op))
        part = product;
    }
    for (ProductOp sum : sums)
      if (auto release = dyn_cast<ReleaseOp>(sum->getNextNode()))
        releases.push_back(release);
    b.setInsertionPoint(end);
    Value rounded = exchange.getInput();
    Value factors = gradients->getResults().back();
    if (sums.front().getLhs() == factors) // the sum of weights first
      std::swap(sums.front(), sums.back());
    for (ProductOp sum : sums)
      sum.getLhsMutable().assign(sum.getLhs() == factors ? rounded : roundFactors(b, sum, sum.getLhs()));
    SmallVector<Operation *> order = {rounded.getDefiningOp(), exchange, sums.front(), barrier, part};
    llvm::append_range(order, ArrayRef(sums).drop_front());
    for (Operation *op : order)
      op->moveBefore(end);
    wait(b, part, end);
    for (Operation *op : turn)
      op->moveBefore(end);
    for (ProductOp sum : llvm::reverse(sums))
      wait(b, sum, end);
    for (Operation *op : releases)
      op->moveBefore(end);
  }

  /// Issues `product` in place, and waits for it before `end`.
  static WaitProductOp wait(IRRewriter &b, ProductOp product, Operation *end) {
    product.setAsync(true);
    Value result = product->getResult(0);
    b.setInsertionPoint(end);
    auto wait = WaitProductOp::create(b, product.getLoc(), result);
    b.replaceAllUsesExcept(result, wait.getResult(), wait);
    return wait;
  }

  /// Issues `product` in place; `wait` waits for it. The stage that it reads is released after the wait.
  static void start(ProductOp product, Operation *wait) {
    product.setAsync(true);
    if (auto release = dyn_cast<ReleaseOp>(product->getNextNode()))
      release->moveAfter(wait);
  }

  /// Issues products one after the other, and waits for them before `end`.
  static void startAll(IRRewriter &b, ArrayRef<ProductOp> products, Operation *end) {
    for (ProductOp product : products)
      start(product, wait(b, product, end));
  }
};

/// Rotates the loop over columns around a step whose products are issued together.
class GradientRotation {
public:
  GradientRotation(IRRewriter &rewriter, const GradientStep &step)
      : b(rewriter), gradients(step.gradients), sums(step.sums),
        loop(step.exchange ? scf::ForOp() : dyn_cast<scf::ForOp>(step.gradients->getParentOp())) {
    for (ProductOp sum : sums)
      lagging.insert(getRoot(sum.getRhs()));
  }

  bool isPossible(BlockAttr schedule, bool hasMasks) {
    // Gradients that are not linear in dw wait for both products.
    if (!loop || !isLinear(gradients) || sums.empty() || schedule.getStages() < kMinStages ||
        loop.getNumResults() != sums.size())
      return false;
    if (std::optional<APInt> rounds = loop.getStaticTripCount(); rounds && rounds->slt(kMinRounds))
      return false;
    auto isStep = [](Operation &op) { return op.getNumRegions() > 0 && !isOfDialect<AttnDialect>(&op); };
    if (llvm::any_of(*loop.getBody(), isStep) || llvm::range_size(loop.getBody()->getOps<ScoreGradientsOp>()) != 1)
      return false;
    for (auto [sum, yielded] : llvm::zip_equal(sums, loop.getBody()->getTerminator()->getOperands())) {
      auto wait = yielded.getDefiningOp<WaitProductOp>();
      auto argument = dyn_cast<BlockArgument>(sum.getOutput());
      if (!wait || wait.getProduct() != sum->getResult(0) || !argument || argument.getOwner() != loop.getBody())
        return false;
      // The next iteration knows the tile, but not the slice of it that rows with few columns use.
      auto part = cast<ShapedType>(sum.getRhs().getType()), tile = cast<ShapedType>(getRoot(sum.getRhs()).getType());
      if (part.hasStaticShape() && part.getShape() != tile.getShape())
        return false;
    }
    int64_t rows = kFragmentRows, columns = schedule.getKeyTile();
    int64_t numbers = 2 * columns + int64_t(sums.size()) * columns / 2; // S, dP, and packed factors
    for (ProductOp sum : sums)
      numbers += cast<ShapedType>(sum.getOutput().getType()).getShape().back();
    int64_t others = kOtherRegisters + (hasMasks ? kMaskRegisters : 0);
    return numbers * rows / schedule.getLanes() + others <= getConsumerRegisters(schedule);
  }

  void run() {
    b.setInsertionPoint(loop);
    std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound()),
                           upper = getConstantIntValue(loop.getUpperBound());
    if (lower && upper) {
      if (*lower < *upper)
        b.replaceOp(loop, createRounds());
      return;
    }
    Location loc = loop.getLoc();
    Value any = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, loop.getLowerBound(), loop.getUpperBound());
    auto branch = scf::IfOp::create(b, loc, loop.getResultTypes(), any, /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, loop.getInitArgs());
    b.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> results = createRounds();
    b.setInsertionPointToEnd(branch.thenBlock());
    scf::YieldOp::create(b, loc, results);
    b.replaceOp(loop, branch.getResults());
  }

private:
  /// Builds all iterations at the builder's position; returns the results of the loop.
  SmallVector<Value> createRounds() {
    Location loc = loop.getLoc();
    SmallVector<Value> carried = createRound(loop.getLowerBound(), loop.getInitArgs(), {});
    Value second = b.createOrFold<arith::AddIOp>(loc, loop.getLowerBound(), loop.getStep());
    auto rounds = scf::ForOp::create(b, loc, second, loop.getUpperBound(), loop.getStep(), carried);
    rounds->setAttrs(loop->getDiscardableAttrDictionary());
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(rounds.getBody());
      ValueRange arguments = rounds.getRegionIterArgs();
      carried =
          createRound(rounds.getInductionVar(), arguments.take_front(sums.size()), arguments.drop_front(sums.size()));
      scf::YieldOp::create(b, loc, carried);
    }
    ValueRange results = rounds.getResults();
    SmallVector<Value> started = startSums(results.take_front(sums.size()), results.drop_front(sums.size()));
    return finishSums(started);
  }

  /// Issues the sums of an iteration, given its packed factors.
  SmallVector<Value> startSums(ValueRange accs, ValueRange factors) {
    SmallVector<Value> started;
    for (auto [sum, acc, factor] : llvm::zip_equal(sums, accs, factors)) {
      IRMapping mapping;
      mapping.map(sum.getOutput(), acc);
      mapping.map(sum.getLhs(), factor);
      mapping.map(sum.getRhs(), getRoot(sum.getRhs()));
      started.push_back(b.clone(*sum, mapping)->getResult(0));
    }
    return started;
  }

  SmallVector<Value> finishSums(ValueRange started) {
    SmallVector<Value> accs;
    for (auto [sum, product] : llvm::zip_equal(sums, started)) {
      accs.push_back(WaitProductOp::create(b, sum.getLoc(), product));
      ReleaseOp::create(b, sum.getLoc(), getRoot(sum.getRhs()));
    }
    return accs;
  }

  /// True for an op of the sums, which move to the next iteration.
  bool isOfSums(Operation &op) {
    if (auto wait = dyn_cast<WaitProductOp>(op))
      return llvm::is_contained(sums, wait.getProduct().getDefiningOp<ProductOp>());
    if (auto release = dyn_cast<ReleaseOp>(op))
      return lagging.contains(release.getTile());
    auto product = dyn_cast<ProductOp>(op);
    return product && llvm::is_contained(sums, product);
  }

  /// Marks the wait for an iteration's stage while the previous stage is not released.
  void setAhead(Operation *op) {
    if (auto wait = dyn_cast<WaitOp>(op);
        wait && llvm::any_of(wait.getStages(), [&](Value tile) { return lagging.contains(tile); }))
      wait.setAhead(true);
    if (auto clear = dyn_cast<ClearRowsOp>(op); clear && lagging.contains(clear.getTile()))
      clear.setAhead(true);
    if (auto product = dyn_cast<ProductOp>(op); product && lagging.contains(getRoot(product.getRhs())))
      product.setAhead(true);
  }

  /// The scores and factors of an iteration, along with the sums of the previous one, if any. Returns those sums and
  /// the factors.
  SmallVector<Value> createRound(Value induction, ValueRange accs, ValueRange before) {
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), induction);
    SmallVector<Value> results(accs), started;
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (isOfSums(op) || isa<arith::TruncFOp>(op))
        continue;
      if (!before.empty() && &op == gradients.getScores().getDefiningOp())
        started = startSums(accs, before);
      Operation *clone = b.clone(op, mapping);
      if (!before.empty())
        setAhead(clone);
    }
    if (!before.empty())
      results = finishSums(started);
    for (ProductOp sum : sums)
      results.push_back(b.clone(*sum.getLhs().getDefiningOp(), mapping)->getResult(0));
    return results;
  }

  IRRewriter &b;
  ScoreGradientsOp gradients;
  SmallVector<ProductOp> sums;
  scf::ForOp loop;
  llvm::SetVector<Value> lagging; ///< tiles that the sums read
};
} // namespace

void attn::nvvm::overlapGradients(IRRewriter &b, gpu::GPUFuncOp kernel) {
  SmallVector<GradientStep> steps;
  kernel.walk([&](ScoreGradientsOp op) { steps.emplace_back(op); });
  auto schedule = kernel->getAttrOfType<BlockAttr>(kScheduleAttr);
  bool hasMasks = llvm::any_of(steps, [](GradientStep &step) { return !step.gradients.getMaskMod().empty(); });
  for (GradientStep &step : steps) {
    step.overlap(b);
    if (GradientRotation rotation(b, step); rotation.isPossible(schedule, hasMasks))
      rotation.run();
  }
}
