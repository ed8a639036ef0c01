//===- ExplainTimeline.cpp - copies beside products of a GPU kernel -------===//
//
// On IR of the phase `steps`: of each loop with products, which copy of a tile is in flight beside which product, in
// the order of the ops of a round. A time is the number of an op of the round; a round later it is `length` more.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Explain.h"
#include "attn/IR/Attn.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;
using mlir::LoopLikeOpInterface;
using mlir::Operation;

/// A copy that is waited for more rounds later is taken for one of a prologue.
static constexpr int64_t kMaxRounds = 16;

static mlir::Value getTile(mlir::Value view) {
  while (auto op = view.getDefiningOp<mlir::ViewLikeOpInterface>())
    view = op.getViewSource();
  return view;
}

namespace {
/// The ops of one round, each at its time.
class Round {
public:
  explicit Round(LoopLikeOpInterface loop) : loop(loop) {
    loop->walk<mlir::WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<AttnDialect>(op->getDialect()) && op != loop.getOperation())
        times.insert({op, int64_t(times.size())});
    });
  }

  json::Object describe(int64_t stages) const {
    json::Array bars;
    for (auto [op, time] : times) {
      if (auto copy = dyn_cast<CopyOp>(op))
        addBar(bars, "copy", getLabel(copy.getOutput()), "copy", time, getArrival(copy.getToken()));
      else if (auto release = dyn_cast<ReleaseOp>(op))
        addBar(bars, "copy", getLabel(release->getOperand(0)), "copy", time, getNextWait(release, stages));
      else if (auto product = dyn_cast<ProductOp>(op))
        addBar(bars, "product", stringifyContraction(product.getContraction()), "product", time, getEnd(product));
      else if (!isa<WaitOp, WaitProductOp, TakeTurnOp, PassTurnOp>(op))
        addBar(bars, "softmax", "other", op->getName().stripDialect(), time, time + 1);
    }
    return json::Object{{"length", int64_t(times.size())}, {"stages", stages}, {"bars", std::move(bars)}};
  }

  /// True for a loop with products and without such a loop in it.
  bool isInnermost() const {
    bool hasOwn = false, hasOthers = false;
    for (auto [op, time] : times)
      if (isa<ProductOp>(op))
        (op->getParentOfType<LoopLikeOpInterface>() == loop ? hasOwn : hasOthers) = true;
    return hasOwn && !hasOthers;
  }

private:
  static void addBar(json::Array &bars, StringRef kind, StringRef lane, StringRef op, int64_t begin,
                     std::optional<int64_t> end) {
    if (end)
      bars.push_back(
          json::Object{{"kind", kind.str()}, {"lane", lane.str()}, {"op", op.str()}, {"begin", begin}, {"end", *end}});
  }

  /// K or V, by the products that read it; gradients read a tile in both.
  std::string getLabel(mlir::Value memory) const {
    mlir::Value tile = getTile(memory);
    bool isOfScores = false, isOfValues = false;
    for (auto [op, time] : times)
      if (auto product = dyn_cast<ProductOp>(op); product && getTile(product.getRhs()) == tile) {
        bool isScores = product.getContraction() == Contraction::Scores;
        (isScores ? isOfScores : isOfValues) = true;
      }
    return isOfScores == isOfValues ? "tiles" : isOfScores ? "K" : "V";
  }

  /// When the wait for a token stands, which may be that of a later round.
  std::optional<int64_t> getArrival(mlir::Value token) const {
    for (int64_t round = 0; round < kMaxRounds; ++round) {
      for (Operation *user : token.getUsers())
        if (auto found = times.find(user); found != times.end() && isa<WaitOp>(user))
          return found->second + round * int64_t(times.size());
      mlir::Value next;
      for (auto [yielded, argument] : zip_equal(loop.getYieldedValues(), loop.getRegionIterArgs()))
        if (yielded == token)
          next = argument;
      if (!next)
        return std::nullopt;
      token = next;
    }
    return std::nullopt;
  }

  /// A stage that is released is filled again, and waited for `stages` rounds later.
  std::optional<int64_t> getNextWait(ReleaseOp release, int64_t stages) const {
    mlir::Value tile = getTile(release->getOperand(0));
    for (auto [op, time] : times)
      if (auto wait = dyn_cast<WaitOp>(op))
        for (mlir::Value stage : wait.getStages())
          if (getTile(stage) == tile)
            return time + stages * int64_t(times.size());
    return std::nullopt;
  }

  int64_t getEnd(ProductOp product) const {
    int64_t time = times.lookup(product);
    if (product.getAsync())
      for (Operation *user : product->getUsers())
        if (auto found = times.find(user); found != times.end())
          return found->second + 1;
    return time + 1;
  }

  mutable LoopLikeOpInterface loop; ///< its accessors are not const
  MapVector<Operation *, int64_t> times;
};
} // namespace

json::Array driver::describeTimelines(mlir::ModuleOp module) {
  json::Array timelines;
  module->walk([&](LoopLikeOpInterface loop) {
    Round round(loop);
    auto function = loop->getParentOfType<mlir::gpu::GPUFuncOp>();
    if (!function || !round.isInnermost())
      return;
    auto roles = loop->getParentOfType<WarpRolesOp>();
    json::Object timeline = round.describe(roles ? roles.getStages() : 1);
    timeline["kernel"] = function.getName().str();
    timeline["producer"] = bool(roles);
    if (!is_contained(timelines, json::Value(json::Object(timeline)))) // loops of full and of partial tiles
      timelines.push_back(std::move(timeline));
  });
  return timelines;
}
