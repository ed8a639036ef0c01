//===- Predicate.cpp - spelled-out masks become regions -------------------===//
//
// The sugar of sdpa and mask (causal, window, lengths …) becomes arith on
// attn.index, joined with the op's own region; a sink becomes the start of a
// row. Later passes do not know the word causal. A new kind of spelled-out mask
// is one more `keepIf` in buildPredicate.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
#include "attn/IR/Words.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>

using namespace mlir;
using namespace attn;

namespace {

/// The names of the attributes that buildPredicate turns into arith.
auto getMaskAttributes() {
  auto isMask = [](const WordInfo &word) { return word.kind == WordKind::MaskAttribute; };
  return llvm::map_range(llvm::make_filter_range(getWords(), isMask), [](const WordInfo &word) { return word.name; });
}

/// Their values on an op; each may be null.
struct MaskAttributes {
#define ATTN_MASK_ATTRIBUTE(NAME, ...) Attribute NAME;
#include "attn/Support/Words.def"
};

MaskAttributes readMaskAttributes(Operation *op) {
  return {
#define ATTN_MASK_ATTRIBUTE(NAME, ...) .NAME = op->getAttr(#NAME),
#include "attn/Support/Words.def"
  };
}

/// The operands that buildPredicate reads; each may be null.
struct MaskOperands {
  Value queryLengths, keyLengths, offset, querySequences, keySequences;
};

MaskOperands getMaskOperands(Operation *op) {
  if (auto mask = dyn_cast<MaskOp>(op))
    return {mask.getQLengths(), mask.getKvLengths(), mask.getCausalOffset(), {}, {}};
  return llvm::TypeSwitch<Operation *, MaskOperands>(op).Case<SdpaOp, SdpaBackwardOp>([](auto whole) -> MaskOperands {
    return {whole.getQLengths(), whole.getKvLengths(), whole.getCausalOffset(), whole.getCuSeqlensQ(),
            whole.getCuSeqlensK()};
  });
}

Region *getMaskMod(Operation *op) {
  return llvm::TypeSwitch<Operation *, Region *>(op)
      .Case<MaskOp, SdpaOp, SdpaBackwardOp>([](auto masked) { return &masked.getMaskMod(); })
      .Default([](Operation *) { return nullptr; });
}

/// Builds scalars inside a region of `op`, and the values they capture before `op`.
class RegionBuilder {
public:
  RegionBuilder(OpBuilder &builder, Operation *op, Operation *domain)
      : b(builder), loc(op->getLoc()), op(op), domain(domain), operands(getMaskOperands(op)) {}

  Value index(IndexKind kind) { return IndexOp::create(b, loc, b.getIndexType(), kind); }
  /// The index in the whole that the operands are a part of.
  Value position(IndexKind kind) { return addOrigin(b, op, kind, index(kind)); }
  Value constant(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  Value add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(loc, x, y); }
  Value quotient(Value x, int64_t y) { return b.createOrFold<arith::FloorDivSIOp>(loc, x, constant(y)); }
  Value subtract(Value x, Value y) { return b.createOrFold<arith::SubIOp>(loc, x, y); }

  Value readElement(Value array, Value position) {
    return isa<TensorType>(array.getType()) ? tensor::ExtractOp::create(b, loc, array, position).getResult()
                                            : memref::LoadOp::create(b, loc, array, position).getResult();
  }

  /// array[position] as an index.
  Value read(Value array, Value position) {
    Value element = readElement(array, position);
    return element.getType().isIndex() ? element : arith::IndexCastOp::create(b, loc, b.getIndexType(), element);
  }

  /// The effective number of queries (or keys) of a batch index; null if it is that of the whole problem.
  Value getLength(DimKind kind) {
    Value lengths = kind == DimKind::Query ? operands.queryLengths : operands.keyLengths;
    Value sequences = kind == DimKind::Query ? operands.querySequences : operands.keySequences;
    if (lengths)
      return read(lengths, index(IndexKind::Batch));
    if (!sequences)
      return {};
    Value batch = index(IndexKind::Batch), first = read(sequences, batch);
    return subtract(read(sequences, add(batch, constant(1))), first);
  }

  /// off of an alignment: 0 for top_left, Sk - Sq with effective lengths for bottom_right, causal_offset[b] for offset.
  Value getOffset(Attribute alignment) {
    auto attr = dyn_cast_or_null<CausalAlignmentAttr>(alignment);
    // Without an alignment, the verifier guarantees Sq = Sk.
    if (!attr || attr.getValue() == CausalAlignment::TopLeft)
      return constant(0);
    if (attr.getValue() == CausalAlignment::Offset)
      return readPerBatch(b, loc, operands.offset);
    auto getSize = [&](DimKind kind) {
      Value length = getLength(kind);
      return length ? length : getDomainSize(kind);
    };
    Value keys = getSize(DimKind::Key);
    return subtract(keys, getSize(DimKind::Query));
  }

private:
  /// A size of the whole problem: a constant, or a value before `domain` that the region captures.
  Value getDomainSize(DimKind kind) {
    OpFoldResult size;
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(domain);
      size = getDomainSizes(b, domain)[getDomainPosition(domain, kind)];
    }
    return getValueOrCreateConstantIndexOp(b, loc, size);
  }

  OpBuilder &b;
  Location loc;
  Operation *op, *domain;
  MaskOperands operands;
};

} // namespace

/// The region in which attn-analyze-mask writes the ranges that a tile visits.
static Region *getRanges(Operation *op) {
  return llvm::TypeSwitch<Operation *, Region *>(op)
      .Case<SdpaOp>([](SdpaOp sdpa) { return &sdpa.getKeyRanges(); })
      .Case<SdpaBackwardOp>([](SdpaBackwardOp backward) { return &backward.getQueryRanges(); })
      .Default([](Operation *) { return nullptr; });
}

/// True if buildPredicate has conjuncts to build besides the op's own region.
static bool spellsOutPredicate(Operation *op) {
  if (!isa<MaskOp, SdpaOp, SdpaBackwardOp>(op))
    return false;
  MaskOperands operands = getMaskOperands(op);
  // Once the op is analysed, the lengths of packed sequences are in mask_mod, but its cu_seqlens stay.
  Region *ranges = operands.querySequences ? getRanges(op) : nullptr;
  bool areSequencesNew = ranges && ranges->empty();
  return areSequencesNew || operands.queryLengths || operands.keyLengths ||
         llvm::any_of(getMaskAttributes(), [&](StringRef name) { return op->hasAttr(name); });
}

bool attn::hasWordsToExpand(Operation *op) {
  auto sdpa = dyn_cast<SdpaOp>(op);
  return spellsOutPredicate(op) || (sdpa && sdpa.getSink()) || hasOrigins(op) || hasScoreWords(op);
}

bool attn::hasPredicate(Operation *op) {
  Region *region = getMaskMod(op);
  return spellsOutPredicate(op) || (region && !region->empty());
}

static bool asksForKey(Region &region) {
  bool asks = false;
  region.walk([&](IndexOp op) { asks |= op.getKind() == IndexKind::Key; });
  return asks;
}

bool attn::asksForKeys(OnlineStepOp step) {
  return step.getBias() || step.getMask() || asksForKey(step.getScoreMod()) || asksForKey(step.getWeightMod());
}

bool attn::asksForKeys(SdpaOp op) { return op.getBias() || op.getMask() || asksForKey(op.getScoreMod()); }

Region *attn::getKeyRangesRegion(Operation *op) {
  return llvm::TypeSwitch<Operation *, Region *>(op)
      .Case<SdpaOp, OnlineStepOp>([](auto ranged) { return &ranged.getKeyRanges(); })
      .Default([](Operation *) { return nullptr; });
}

bool attn::visitsKeysBy(Operation *op, ArrayRef<IndexKind> kinds) {
  // With one batch dimension, that dimension is the heads.
  bool isBatchHead = getNumBatchDims(op) == 1 && llvm::is_contained(kinds, IndexKind::Head);
  return llvm::TypeSwitch<Operation *, bool>(op).Case<SdpaOp, OnlineStepOp>([&](auto ranged) {
    Region &region = ranged.getKeyRanges().empty() ? ranged.getMaskMod() : ranged.getKeyRanges();
    return region
        .walk([&](IndexOp index) {
          bool asks =
              llvm::is_contained(kinds, index.getKind()) || (isBatchHead && index.getKind() == IndexKind::Batch);
          return asks ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  });
}

/// True where `bound` + `offset` is at most lengths[batch].
static bool isBoundedBy(Value bound, int64_t offset, Value lengths) {
  Operation *op = bound.getDefiningOp();
  if (isa_and_nonnull<arith::MinSIOp>(op))
    return llvm::any_of(op->getOperands(), [&](Value value) { return isBoundedBy(value, offset, lengths); });
  if (auto add = dyn_cast_or_null<arith::AddIOp>(op)) {
    std::optional<int64_t> constant = getConstantIntValue(add.getRhs());
    return constant && isBoundedBy(add.getLhs(), offset + *constant, lengths);
  }
  auto cast = dyn_cast_or_null<arith::IndexCastOp>(op);
  auto length = cast ? cast.getIn().getDefiningOp<tensor::ExtractOp>() : tensor::ExtractOp();
  auto batch = length && length.getIndices().size() == 1 ? length.getIndices()[0].getDefiningOp<IndexOp>() : IndexOp();
  return offset <= 0 && batch && length.getTensor() == lengths && batch.getKind() == IndexKind::Batch;
}

bool attn::visitsOnly(Operation *op, GatherPagesOp gather, AffineMap map) {
  Region *ranges = getKeyRangesRegion(op);
  // The sequences are those of the op.
  bool isPlain = map.getNumResults() > 0 && map.getResult(0) == getAffineDimExpr(0, op->getContext());
  return isPlain && getNumBatchDims(op) > 1 && ranges && !ranges->empty() &&
         isBoundedBy(cast<YieldOp>(ranges->front().getTerminator()).getValues()[1], 0, gather.getLengths());
}

SmallVector<Value> attn::inlineRegion(OpBuilder &builder, Region &region, ValueRange arguments,
                                      function_ref<Value(IndexOp)> getIndex,
                                      function_ref<Value(ScoreFunction, Value)> apply) {
  IRMapping mapping;
  mapping.map(region.front().getArguments(), arguments);
  auto lookUp = [&](ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) { return mapping.lookupOrDefault(value); });
  };
  for (Operation &op : region.front().without_terminator()) {
    if (auto index = dyn_cast<IndexOp>(op))
      mapping.map(index.getResult(), getIndex(index));
    else if (auto function = dyn_cast<ScoreFunction>(op); function && apply)
      mapping.map(op.getResult(0), apply(function, mapping.lookupOrDefault(op.getOperand(0))));
    else if (auto keep = dyn_cast<RandomKeepOp>(op); keep && apply)
      mapping.map(keep.getResult(), keep.buildFormula(builder, op.getLoc(), lookUp(op.getOperands())));
    else
      builder.clone(op, mapping);
  }
  return lookUp(region.front().getTerminator()->getOperands());
}

Value attn::inlineScoreRegion(OpBuilder &builder, Location loc, Region &region, Value x) {
  if (region.empty())
    return x;
  Value argument = convertFloat(builder, loc, x, region.getArgument(0).getType());
  auto clone = [&](IndexOp index) -> Value { return builder.clone(*index)->getResult(0); };
  return convertFloat(builder, loc, inlineRegion(builder, region, argument, clone).front(), x.getType());
}

void attn::buildPredicate(OpBuilder &builder, Operation *op, Region &region, Operation *domain) {
  Location loc = op->getLoc();
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&region);
  RegionBuilder rb(builder, op, domain ? domain : op);
  SmallVector<Value> conjuncts;
  auto keepIf = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    conjuncts.push_back(arith::CmpIOp::create(builder, loc, predicate, lhs, rhs));
  };
  using enum arith::CmpIPredicate;

  if (Value length = rb.getLength(DimKind::Key))
    keepIf(slt, rb.index(IndexKind::Key), length);
  if (Value length = rb.getLength(DimKind::Query))
    keepIf(slt, rb.index(IndexKind::Query), length);
  auto joinFrom = [&](size_t first) {
    Value all = conjuncts[first];
    for (Value conjunct : ArrayRef(conjuncts).drop_front(first + 1))
      all = arith::AndIOp::create(builder, loc, all, conjunct);
    conjuncts.truncate(first);
    return all;
  };
  size_t numLengths = conjuncts.size();
  // All rows of the table: one without a condition here does not compile.
  auto [causal, windowAttr, align, chunk, prefix] = readMaskAttributes(op);
  auto window = cast_or_null<WindowAttr>(windowAttr);
  auto getNumber = [](Attribute attribute) { return cast<IntegerAttr>(attribute).getInt(); };
  if (causal || window || chunk) {
    // The key on the query's diagonal, i + off, and distances from it.
    Value key = rb.position(IndexKind::Key);
    Value diagonal = rb.add(rb.position(IndexKind::Query), rb.getOffset(causal ? causal : align));
    // causal: j <= i + off; window: i + off - left <= j <= i + off + right
    if (causal)
      keepIf(sle, key, diagonal);
    if (window && window.getLeft())
      keepIf(sge, key, rb.add(diagonal, rb.constant(-*window.getLeft())));
    if (window && window.getRight())
      keepIf(sle, key, rb.add(diagonal, rb.constant(*window.getRight())));
    // chunk: (i + off) floordiv c = j floordiv c
    if (chunk)
      keepIf(eq, rb.quotient(diagonal, getNumber(chunk)), rb.quotient(key, getNumber(chunk)));
  }
  // prefix: j < n, or what causal, window and chunk keep
  if (prefix && conjuncts.size() > numLengths) {
    Value isNear = joinFrom(numLengths);
    keepIf(slt, rb.position(IndexKind::Key), rb.constant(getNumber(prefix)));
    conjuncts.back() = arith::OrIOp::create(builder, loc, isNear, conjuncts.back());
  }
  if (Region *maskMod = getMaskMod(op); maskMod && !maskMod->empty())
    conjuncts.append(inlineRegion(builder, *maskMod, {}, [&](IndexOp index) -> Value {
      Value local = builder.clone(*index)->getResult(0);
      return isShifted(op, index.getKind()) ? addOrigin(builder, op, index.getKind(), local) : local;
    }));
  // A window without bounds, and no other mask, keeps everything.
  if (conjuncts.empty())
    conjuncts.push_back(arith::ConstantIntOp::create(builder, loc, 1, 1));
  YieldOp::create(builder, loc, joinFrom(0));
}

void attn::buildStart(OpBuilder &builder, SdpaOp op, Region &region, Type type) {
  Location loc = op.getLoc();
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&region);
  RegionBuilder rb(builder, op, op);
  Value start = op.getSink() ? rb.readElement(op.getSink(), rb.index(IndexKind::Head))
                             : inlineRegion(builder, op.getStart(), {}, [&](IndexOp index) -> Value {
                                 return builder.clone(*index)->getResult(0);
                               }).front();
  start = convertFloat(builder, loc, start, type);
  // Rows past the length are empty, with or without a sink.
  if (Value length = rb.getLength(DimKind::Query)) {
    Value isRow = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, rb.index(IndexKind::Query), length);
    Value none = createFloatConstant(builder, loc, type, -std::numeric_limits<double>::infinity());
    start = arith::SelectOp::create(builder, loc, isRow, start, none);
  }
  YieldOp::create(builder, loc, start);
}

void attn::expandWords(OpBuilder &builder, Operation *op, Operation *target, Type type) {
  if (!hasWordsToExpand(op))
    return;
  if (hasScoreWords(op))
    expandScoreWords(builder, op, target, type ? type : getAccumulationType(getElementTypeOrSelf(op->getOperand(0))));
  Region predicate, start;
  bool hasMask = hasPredicate(op);
  // A user's start region does not handle lengths.
  if (auto sdpa = dyn_cast<SdpaOp>(op); sdpa && (sdpa.getSink() || (!sdpa.getStart().empty() && sdpa.getQLengths())))
    buildStart(builder, sdpa, start, getAccumulationType(getElementTypeOrSelf(sdpa.getQuery().getType())));
  if (hasMask)
    buildPredicate(builder, op, predicate);
  for (StringRef name : getMaskAttributes())
    target->removeAttr(name);
  if (hasMask)
    getMaskMod(target)->takeBody(predicate);
  if (hasOrigins(op))
    llvm::TypeSwitch<Operation *>(target)
        .Case<SdpaOp>([&](SdpaOp sdpa) { shiftByOrigins(builder, op, sdpa.getScoreMod()); })
        .Case<SdpaBackwardOp>([&](SdpaBackwardOp backward) {
          shiftByOrigins(builder, op, backward.getScoreMod());
          shiftByOrigins(builder, op, backward.getScoreGrad());
        });
  clearOrigins(target);
  if (auto mask = dyn_cast<MaskOp>(target)) {
    mask.getQLengthsMutable().clear();
    mask.getKvLengthsMutable().clear();
    mask.getCausalOffsetMutable().clear();
    return;
  }
  if (auto sdpa = dyn_cast<SdpaOp>(target)) {
    if (!start.empty())
      sdpa.getStart().takeBody(start);
    sdpa.getSinkMutable().clear();
  }
  llvm::TypeSwitch<Operation *>(target).Case<SdpaOp, SdpaBackwardOp>([](auto whole) {
    whole.getQLengthsMutable().clear();
    whole.getKvLengthsMutable().clear();
    whole.getCausalOffsetMutable().clear();
  });
}

void attn::spellOutAlignment(Operation *op) {
  int64_t queries = getStaticSize(op, DimKind::Query), keys = getStaticSize(op, DimKind::Key);
  if (queries == keys && !ShapedType::isDynamic(queries))
    return;
  auto topLeft = CausalAlignmentAttr::get(op->getContext(), CausalAlignment::TopLeft);
  if (isa_and_nonnull<UnitAttr>(op->getAttr("causal")))
    op->setAttr("causal", topLeft);
  else if (hasPlacedWord(op) && !op->hasAttr("causal") && !op->hasAttr("align"))
    op->setAttr("align", topLeft);
}

void attn::copySpelledOutMasks(MaskOp from, SdpaOp to) {
  for (StringRef name : getMaskAttributes())
    if (Attribute attribute = from->getAttr(name))
      to->setAttr(name, attribute);
  if (Value lengths = from.getQLengths())
    to.getQLengthsMutable().assign(lengths);
  if (Value lengths = from.getKvLengths())
    to.getKvLengthsMutable().assign(lengths);
  if (Value offset = from.getCausalOffset())
    to.getCausalOffsetMutable().assign(offset);
}
