//===- OverlapProducts.cpp - attn-overlap-products ------------------------===//
//
// Rotates the loops of kernels with a producer, so that products overlap the softmax (FlashAttention-3, Shah et al.,
// arXiv:2407.08608, section 3.2). With S(n), P(n) the scores and weights of iteration n:
//
//   S(0) | softmax P(0)
//   each further n:  S(n) →, acc += P(n - 1) V(n - 1) → | wait S(n) | softmax P(n) | wait acc, rescale it
//   acc += P(last) V(last)
//
// P(n - 1) is relative to the row maximum before iteration n, and so is acc until the wait. So both are rescaled by the
// same factor.
//
// The products of a gradient step overlap each other (OverlapGradients.cpp).
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "OverlapGradients.h"
#include "PipelineCopies.h"
#include "Warps/Producer.h"
#include "attn/Conversion/Passes.h"
#include "attn/IR/ScoreFunctions.h"
#include "attn/Schedule/ColumnGroups.h"
#include "attn/Support/Dialects.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"

namespace attn {
#define GEN_PASS_DEF_OVERLAPPRODUCTSPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// Largest head size for which warpgroups take turns.
static constexpr int64_t kMaxHeadSizeOfTurns = 128;
/// Fewest iterations of a rotated loop.
static constexpr int64_t kMinRounds = 3;
/// Registers of a thread besides acc, scores and weights; and the additional ones of a bias or mask in shared memory,
/// of one in global memory, or user code for each score, and of user code for each weight. With fewer, ptxas spills.
static constexpr int64_t kOtherRegisters = 32, kStagedRegisters = 40, kOperandRegisters = 88, kWeightModRegisters = 128;

namespace {
/// A loop with one step, and its ops that move to the next iteration.
struct StepLoop {
  scf::ForOp loop;
  ProductOp scores, values;
  RescaleOp rescale;
  WeightsOp weights;
  CopyOp copy;       ///< of V
  WaitOp wait;       ///< for V
  ReleaseOp release; ///< of V
  unsigned acc;      ///< argument index of acc in the loop

  static std::optional<StepLoop> match(scf::ForOp loop);
};

/// The only `OpTy` of a block; null where there is none or more than one.
template <typename OpTy> OpTy findOnly(Block &block, llvm::function_ref<bool(OpTy)> isIt) {
  OpTy found;
  for (OpTy op : block.getOps<OpTy>())
    if (isIt(op)) {
      if (found)
        return {};
      found = op;
    }
  return found;
}

std::optional<StepLoop> StepLoop::match(scf::ForOp loop) {
  Block &body = *loop.getBody();
  // Control flow within a step (block maps) decides what an iteration does.
  if (llvm::any_of(body, [](Operation &op) { return op.getNumRegions() > 0 && !isOfDialect<AttnDialect>(&op); }))
    return std::nullopt;
  StepLoop step;
  step.loop = loop;
  step.scores = findOnly<ProductOp>(body, [](ProductOp op) { return op.getContraction() == Contraction::Scores; });
  step.values = findOnly<ProductOp>(body, [](ProductOp op) { return op.getContraction() == Contraction::Values; });
  if (!step.scores || !step.values)
    return std::nullopt;
  Value tile = getRoot(step.values.getRhs());
  step.rescale = step.values.getOutput().getDefiningOp<RescaleOp>();
  step.weights = step.values.getLhs().getDefiningOp<WeightsOp>();
  step.copy = findOnly<CopyOp>(body, [&](CopyOp op) { return getRoot(op.getOutput()) == tile; });
  step.release = findOnly<ReleaseOp>(body, [&](ReleaseOp op) { return op.getTile() == tile; });
  if (!step.rescale || !step.weights || !step.copy || !step.release)
    return std::nullopt;
  step.wait = findOnly<WaitOp>(body, [&](WaitOp op) { return op.getTokens() == ValueRange(step.copy.getToken()); });
  auto acc = dyn_cast<BlockArgument>(step.rescale.getAcc());
  if (!acc || acc.getOwner() != &body || acc == loop.getInductionVar())
    return std::nullopt;
  step.acc = acc.getArgNumber() - loop.getNumInductionVars();
  bool isCarried = step.values.getResults().front().hasOneUse() &&
                   body.getTerminator()->getOperand(step.acc) == step.values.getResults().front();
  bool isKnown = cast<ShapedType>(step.values.getLhs().getType()).hasStaticShape();
  if (!step.wait || !isCarried || !isKnown || !loop.isDefinedOutsideOfLoop(step.values.getRhs()))
    return std::nullopt;
  return step;
}

class Rotation {
public:
  Rotation(IRRewriter &rewriter, const StepLoop &step, bool takesTurns)
      : b(rewriter), step(step), loop(step.loop), takesTurns(takesTurns) {}

  void run() {
    Location loc = loop.getLoc();
    b.setInsertionPoint(loop);
    std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound()),
                           upper = getConstantIntValue(loop.getUpperBound());
    if (lower && upper) {
      b.replaceOp(loop, createRounds());
      return;
    }
    Value any = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, loop.getLowerBound(), loop.getUpperBound());
    auto branch = scf::IfOp::create(b, loc, loop.getResultTypes(), any, /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.elseBlock());
    yield(branch.elseBlock(), loop.getInitArgs());
    b.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> results = createRounds();
    yield(branch.thenBlock(), results);
    b.replaceOp(loop, branch.getResults());
  }

private:
  /// A branch without results has its yield already.
  void yield(Block *block, ValueRange results) {
    if (results.empty())
      return;
    b.setInsertionPointToEnd(block);
    scf::YieldOp::create(b, loop.getLoc(), results);
  }

  /// Values that an iteration passes to the next one: its weights, as the product takes them, and the token of its V.
  struct Round {
    Value weights, token;
  };

  /// Builds all iterations at the builder's position; returns the results of the loop.
  SmallVector<Value> createRounds() {
    Location loc = loop.getLoc();
    SmallVector<Value> carried = createScores(loop.getLowerBound(), loop.getInitArgs(), std::nullopt);
    Value second = b.createOrFold<arith::AddIOp>(loc, loop.getLowerBound(), loop.getStep());
    auto rounds = scf::ForOp::create(b, loc, second, loop.getUpperBound(), loop.getStep(), carried);
    rounds->setAttrs(loop->getDiscardableAttrDictionary());
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(rounds.getBody());
      auto arguments = llvm::to_vector_of<Value>(rounds.getRegionIterArgs());
      carried = createScores(rounds.getInductionVar(), arguments, takeRound(arguments));
      scf::YieldOp::create(b, loc, carried);
    }
    auto results = llvm::to_vector_of<Value>(rounds.getResults());
    Round last = takeRound(results);
    results[step.acc] = createProduct(last, results[step.acc], /*isAsync=*/false);
    return results;
  }

  /// The last two results of an iteration.
  static Round takeRound(SmallVector<Value> &carried) {
    Value token = carried.pop_back_val(), weights = carried.pop_back_val();
    return {weights, token};
  }

  /// acc plus the product of the previous iteration's weights and V.
  Value createProduct(Round before, Value acc, bool isAsync) {
    WaitOp::create(b, step.wait.getLoc(), before.token, step.wait.getStages());
    IRMapping mapping;
    mapping.map(step.values.getLhs(), before.weights);
    mapping.map(step.values.getOutput(), acc);
    auto product = cast<ProductOp>(b.clone(*step.values, mapping));
    product.setAsync(isAsync);
    if (!isAsync)
      b.clone(*step.release);
    return product.getResults().front();
  }

  /// The scores and weights of an iteration, along with the P V product of the previous one, if any. Returns the
  /// iteration's results and its weights and token.
  SmallVector<Value> createScores(Value induction, ValueRange inits, std::optional<Round> before) {
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), induction);
    mapping.map(loop.getRegionIterArgs(), inits);
    Value acc = inits[step.acc];
    RescaleRowsOp rows;
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (&op == step.copy || &op == step.wait || &op == step.values || &op == step.release)
        continue;
      if (before && &op == step.rescale) {
        rows = RescaleRowsOp::create(b, op.getLoc(), mapping.lookupOrDefault(step.rescale.getNewMax()),
                                     mapping.lookupOrDefault(step.rescale.getRowMax()),
                                     mapping.lookupOrDefault(step.rescale.getRowSum()));
        mapping.map(op.getResults().drop_front(), rows.getResults().drop_front());
        continue;
      }
      // A turn covers the scores of an iteration and the P V product of the previous one.
      bool isTurn = before && takesTurns && &op == step.scores;
      if (isTurn)
        TakeTurnOp::create(b, op.getLoc());
      Operation *clone = b.clone(op, mapping);
      if (!before || &op != step.scores)
        continue;
      cast<ProductOp>(clone).setAsync(true);
      acc = createProduct(*before, acc, /*isAsync=*/true);
      if (isTurn)
        PassTurnOp::create(b, op.getLoc());
      mapping.map(op.getResult(0), WaitProductOp::create(b, op.getLoc(), clone->getResult(0)).getResult());
    }
    if (before) {
      acc = WaitProductOp::create(b, step.values.getLoc(), acc);
      b.clone(*step.release);
      acc = RescaleAccOp::create(b, step.rescale.getLoc(), acc, rows.getFactors());
    } else {
      acc = mapping.lookup(step.rescale->getResult(0));
    }
    mapping.map(step.values.getResults().front(), acc);
    Operation *copy = b.clone(*step.copy, mapping);
    SmallVector<Value> results;
    for (Value result : loop.getBody()->getTerminator()->getOperands())
      results.push_back(mapping.lookupOrDefault(result));
    results.push_back(roundFactors(b, step.values, mapping.lookup(step.values.getLhs())));
    results.push_back(cast<CopyOp>(copy).getToken());
    return results;
  }

  IRRewriter &b;
  StepLoop step;
  scf::ForOp loop;
  bool takesTurns;
};

struct OverlapProductsPass : public attn::impl::OverlapProductsPassBase<OverlapProductsPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      if (!hasProducer(kernel))
        continue;
      overlapGradients(rewriter, kernel);
      SmallVector<StepLoop> steps;
      kernel.walk([&](scf::ForOp loop) {
        std::optional<StepLoop> step = StepLoop::match(loop);
        if (!step || !mayHaveRounds(*step))
          return;
        if (isHeld(kernel, *step))
          steps.push_back(*step);
        else
          emitRemark(step->scores, RemarkOutcome::Missed, "no-overlap")
              << "the registers do not hold the weights of a round beside the scores of the next one";
      });
      if (steps.empty())
        continue;
      bool hasTurns = takesTurns(kernel, steps.front());
      for (const StepLoop &step : steps)
        Rotation(rewriter, step, hasTurns).run();
      // At the entry, independent of the loops of the block.
      rewriter.setInsertionPointToStart(&kernel.getBody().front());
      if (hasTurns)
        PassTurnOp::create(rewriter, kernel.getLoc(), /*first=*/true);
    }
  }

private:
  /// Warpgroups that take turns in issuing products compute their softmax while others multiply. All groups of a block
  /// run the same loops. With larger heads, the products take longer than the softmax and hide it without turns.
  static bool takesTurns(gpu::GPUFuncOp kernel, StepLoop step) {
    auto schedule = kernel->getAttrOfType<BlockAttr>(kScheduleAttr);
    int64_t groups = schedule.getWarps() / schedule.getInstruction().getInfo().warps;
    return groups > 1 && groups <= kMaxTurns && getStaticSize(step.scores, DimKind::HeadSize) <= kMaxHeadSizeOfTurns;
  }

  static int64_t getScoreRegisters(MapScoresOp op) {
    SmallVector<Value> operands =
        llvm::filter_to_vector(ArrayRef<Value>{op.getBias(), op.getMask()}, [](Value x) { return bool(x); });
    if (!isFinite(op.getScoreMod()) || !llvm::all_of(operands, isInSharedMemory))
      return kOperandRegisters;
    return operands.empty() ? 0 : kStagedRegisters;
  }

  /// True where acc, the scores of an iteration and the 16-bit weights of the previous one fit in registers.
  static bool isHeld(gpu::GPUFuncOp kernel, StepLoop step) {
    auto schedule = kernel->getAttrOfType<BlockAttr>(kScheduleAttr);
    int64_t keys = schedule.getKeyTile(), rows = kFragmentRows;
    int64_t columns = getStaticSize(step.values, DimKind::ValueSize);
    int64_t numbers = columns / getColumnGroups(schedule, columns) + keys + keys / 2;
    int64_t others = kOtherRegisters;
    for (Operation &op : *step.loop.getBody()) {
      if (auto map = dyn_cast<MapScoresOp>(op))
        others = std::max(others, kOtherRegisters + getScoreRegisters(map));
      if (auto weights = dyn_cast<WeightsOp>(op); weights && !weights.getWeightMod().empty())
        others = std::max(others, kOtherRegisters + kWeightModRegisters);
    }
    return numbers * rows / schedule.getLanes() + others <= getConsumerRegisters(schedule);
  }

  /// False where the loop has too few iterations. Rotating a loop of two leaves no loop, and ptxas spills: it moves the
  /// code before and after it between the products.
  static bool mayHaveRounds(StepLoop step) {
    std::optional<APInt> trips = step.loop.getStaticTripCount();
    std::optional<int64_t> keys = findKeyCount(step);
    return (!trips || trips->sge(kMinRounds)) &&
           (!keys || *keys >= kMinRounds * getStaticSize(step.scores, DimKind::Key));
  }

  /// The number of keys of the tensor that V is part of; nothing where it is only known at run time.
  static std::optional<int64_t> findKeyCount(StepLoop step) {
    AffineMap map = attn::getMaps(step.copy)[0];
    auto *row = llvm::find(map.getResults(), getAffineDimExpr(map.getNumDims() - 2, step.copy.getContext()));
    auto type = cast<MemRefType>(getRoot(step.copy.getInput()).getType());
    if (row == map.getResults().end() || type.getRank() != map.getNumResults())
      return std::nullopt;
    int64_t size = type.getDimSize(row - map.getResults().begin());
    return ShapedType::isDynamic(size) ? std::nullopt : std::optional(size);
  }
};
} // namespace
