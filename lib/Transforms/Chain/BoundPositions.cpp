//===- BoundPositions.cpp - attn-bound-positions --------------------------===//
//
// Bounds the positions at which regions of attn ops read tensors and attn.accumulate adds. Before, docs/Semantics.md
// holds: a position of static sizes and constants that is out of bounds is an error, any other one is clamped. After,
// every position is in bounds, whatever lowers the region.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Analysis/PositionRanges.h"
#include "attn/IR/Decompose.h"
#include "attn/Transforms/Passes.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>

namespace attn {
#define GEN_PASS_DEF_BOUNDPOSITIONSPASS
#include "attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// Stands for a dynamic size.
static constexpr int64_t kLargestSize = std::numeric_limits<int64_t>::max();

namespace {

/// One op of a region that reads from a tensor or adds to one.
struct Access {
  Value tensor;
  MutableOperandRange indices;

  ShapedType getType() const { return cast<ShapedType>(tensor.getType()); }
};

} // namespace

static std::optional<Access> getAccess(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Access>>(op)
      .Case<tensor::ExtractOp>([](auto read) { return Access{read.getTensor(), read.getIndicesMutable()}; })
      .Case<memref::LoadOp>([](auto read) { return Access{read.getMemref(), read.getIndicesMutable()}; })
      .Case<AccumulateOp>([](auto sum) { return Access{sum.getDestination(), sum.getIndicesMutable()}; })
      .Default([](Operation *) { return std::nullopt; });
}

/// True for an argument of a public function, possibly read or cast: the caller passes the size of the problem, and the
/// checked entry tests it (lib/Conversion/Kernel/SizeClasses.cpp).
static bool isGivenByCaller(Value tensor) {
  while (Operation *op = tensor.getDefiningOp()) {
    if (!isa<bufferization::ToTensorOp, tensor::CastOp>(op))
      return false;
    tensor = op->getOperand(0);
  }
  auto function = dyn_cast<FunctionOpInterface>(cast<BlockArgument>(tensor).getOwner()->getParentOp());
  return function && function.isPublic();
}

/// True where a dimension of dynamic size is indexed by a plain position, and so has the size of the scores.
static bool hasSizeOfScores(Operation *op, Value index, Value tensor, PositionSource source) {
  auto position = index.getDefiningOp<IndexOp>();
  return position && !isShifted(op, position.getKind()) &&
         llvm::is_contained({IndexKind::Batch, IndexKind::Head, IndexKind::Query, IndexKind::Key},
                            position.getKind()) &&
         (source == PositionSource::Compiler || isGivenByCaller(tensor));
}

namespace {

/// Bounds the positions of one attn op.
class PositionBounds {
public:
  PositionBounds(RewriterBase &rewriter, Operation *op, PositionSource source) : b(rewriter), op(op), source(source) {}

  LogicalResult bound(Region &region) {
    SmallVector<Operation *> accesses;
    for (Operation &nested : region.front())
      if (getAccess(&nested))
        accesses.push_back(&nested);
    if (accesses.empty())
      return success();
    PositionRanges ranges(op, region);
    LogicalResult result = success();
    for (Operation *nested : accesses) {
      Access access = *getAccess(nested);
      for (int64_t dim = 0, rank = access.getType().getRank(); dim < rank; ++dim)
        if (failed(bound(nested, access, dim, ranges.get(access.indices[dim].get()))))
          result = failure();
    }
    return result;
  }

private:
  LogicalResult bound(Operation *nested, Access &access, int64_t dim, const PositionRange &range) {
    OpOperand &index = access.indices[dim];
    bool isDynamic = access.getType().isDynamicDim(dim);
    int64_t size = isDynamic ? kLargestSize : access.getType().getDimSize(dim);
    if (isDynamic
            ? hasSizeOfScores(op, index.get(), access.tensor, source) || isClamped(index.get(), access.tensor, dim)
            : range.isInside(size))
      return success();
    if (source == PositionSource::User && ((range.isStatic && !isDynamic) || range.isOutside(size) || size == 0))
      return refuse(nested, access, dim, range);
    if (size == 0)
      return success();
    Location loc = nested->getLoc();
    Value last = getLast(nested, access, dim), clamped = index.get();
    b.setInsertionPoint(nested);
    if (isDynamic || !range.values.smax().slt(size))
      clamped = arith::MinSIOp::create(b, loc, clamped, last);
    if (isDynamic || range.values.smin().isNegative())
      clamped = arith::MaxSIOp::create(b, loc, clamped, getConstant(nested, 0));
    b.modifyOpInPlace(nested, [&] { index.set(clamped); });
    return success();
  }

  LogicalResult refuse(Operation *nested, const Access &access, int64_t dim, const PositionRange &range) {
    ShapedType type = access.getType();
    InFlightDiagnostic diag = nested->emitOpError("C10: expected positions ");
    if (type.isDynamicDim(dim))
      diag << "from 0 on";
    else if (type.getDimSize(dim) == 0)
      diag << "in a tensor that has elements";
    else
      diag << "from 0 to " << type.getDimSize(dim) - 1;
    diag << " in dimension " << dim << " of " << type << ", found " << range.values.smin().getSExtValue() << " to "
         << range.values.smax().getSExtValue() << " possible";
    if (range.mayWrap())
      diag << ", as the arithmetic may leave 64 bits";
    diag << "; keep them inside by arith.maxsi and arith.minsi, or by arith.remui, or take a larger tensor";
    return diag;
  }

  /// Inserted at the start of the region: a region that moves to another function takes its constants along.
  Value getConstant(Operation *nested, int64_t value) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(nested->getBlock());
    return arith::ConstantIndexOp::create(b, nested->getLoc(), value);
  }

  /// size - 1; computed before the op where the size is dynamic.
  Value getLast(Operation *nested, const Access &access, int64_t dim) {
    if (!access.getType().isDynamicDim(dim))
      return getConstant(nested, access.getType().getDimSize(dim) - 1);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(op);
    Location loc = nested->getLoc();
    Value size = isa<TensorType>(access.tensor.getType())
                     ? tensor::DimOp::create(b, loc, access.tensor, dim).getResult()
                     : memref::DimOp::create(b, loc, access.tensor, dim).getResult();
    return arith::SubIOp::create(b, loc, size, arith::ConstantIndexOp::create(b, loc, 1));
  }

  /// Matches the clamp that this pass builds for a dynamic size.
  static bool isClamped(Value index, Value tensor, int64_t dim) {
    auto positive = index.getDefiningOp<arith::MaxSIOp>();
    auto inside = positive && matchPattern(positive.getRhs(), m_Zero())
                      ? positive.getLhs().getDefiningOp<arith::MinSIOp>()
                      : arith::MinSIOp();
    auto last = inside ? inside.getRhs().getDefiningOp<arith::SubIOp>() : arith::SubIOp();
    auto size =
        last && matchPattern(last.getRhs(), m_One()) ? last.getLhs().getDefiningOp<ShapedDimOpInterface>() : nullptr;
    return size && size.getShapedValue() == tensor && getConstantIntValue(size.getDimension()) == dim;
  }

  RewriterBase &b;
  Operation *op;
  PositionSource source;
};

} // namespace

/// True where a batch dimension, rows or keys are empty: no region is evaluated.
static bool hasNoPositions(Operation *op) {
  SmallVector<int64_t> domain = getStaticDomain(op);
  unsigned numBatch = getNumBatchDims(op);
  return llvm::any_of(llvm::enumerate(domain), [&](auto size) {
    bool isPosition = size.index() < numBatch ||
                      llvm::is_contained({DimKind::Query, DimKind::Key}, getDomainDims(op)[size.index() - numBatch]);
    return isPosition && size.value() == 0;
  });
}

LogicalResult attn::boundPositions(RewriterBase &rewriter, Operation *op, PositionSource source) {
  OpBuilder::InsertionGuard guard(rewriter);
  if (hasNoPositions(op))
    return success();
  LogicalResult result = success();
  for (Region &region : op->getRegions())
    if (!region.empty() && failed(PositionBounds(rewriter, op, source).bound(region)))
      result = failure();
  return result;
}

/// True for a tile from attn-tile: its positions are those of a bounded op plus the tile's offset.
static bool isTile(Operation *op, bool isTiled) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<SdpaOp, SdpaBackwardOp, MaskOp, ModifyOp>([](auto) { return false; })
      .Default([&](Operation *) { return isTiled; });
}

namespace {
struct BoundPositionsPass : public attn::impl::BoundPositionsPassBase<BoundPositionsPass> {
  void runOnOperation() override {
    bool isTiled = getOperation()->hasAttr(kPathAttr);
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op).Case<OnlineStepOp, BackwardStepOp>(
          [&](auto step) { isTiled |= step.getSchedule().has_value(); });
      if (isStructuredOp(op) && op->getNumRegions() > 0)
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : ops)
      if (!isTile(op, isTiled) && failed(boundPositions(rewriter, op, PositionSource::User)))
        signalPassFailure();
  }
};
} // namespace
