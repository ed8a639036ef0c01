//===- ValueChecks.cpp - conditions on a kernel's integers ----------------===//
//
// Derived from the uses: lengths must not exceed the dimension that they count, and page numbers not the cache.
// Integers that the kernel itself computes have no check, as no caller passes them.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ValueChecks.h"
#include "attn/IR/Words.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

ValueChecks::ValueChecks(func::FuncOp function, SizeClasses &classes) : function(function), classes(classes) {
  function.walk([&](Operation *op) {
    for (auto [word, list] : getWordOperands(op))
      if (word->counts != WordCounts::Nothing)
        addList(op, *word, list);
    TypeSwitch<Operation *>(op)
        .Case<GatherPagesOp, KvAppendOp>([&](auto listed) { addOp(listed); })
        .Case<LinearOp, LinearBackwardOp>(
            [&](auto linear) { addLinear(linear, linear.getCuSeqlens(), linear.getSlots(), linear.getState()); });
  });
}

ArrayRef<ValueCheck> ValueChecks::get(Value argument) const {
  auto found = checks.find(argument);
  return found == checks.end() ? ArrayRef<ValueCheck>() : ArrayRef<ValueCheck>(found->second);
}

Value attn::lookThroughRead(Value value) {
  auto read = value ? value.getDefiningOp<bufferization::ToTensorOp>() : bufferization::ToTensorOp();
  return read ? read.getBuffer() : value;
}

std::optional<int64_t> ValueChecks::getArgument(Value value) {
  value = lookThroughRead(value);
  auto argument = dyn_cast_or_null<BlockArgument>(value);
  if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
    return std::nullopt;
  return argument.getArgNumber();
}

/// A constant, or a dimension of an argument in the same class.
std::optional<SizePlace> ValueChecks::findPlace(Value tensor, unsigned dim) {
  unsigned id = classes.find(tensor, dim);
  if (int64_t size = classes.getStaticSize(id); !ShapedType::isDynamic(size))
    return SizePlace{-1, size};
  for (BlockArgument argument : function.getArguments())
    if (auto type = dyn_cast<ShapedType>(argument.getType()); type && type.hasRank())
      for (int64_t other = 0; other < type.getRank(); ++other)
        if (classes.find(argument, other) == id)
          return SizePlace{argument.getArgNumber(), other};
  return std::nullopt;
}

/// The same for a dimension of an op's domain, from an operand that has it.
std::optional<SizePlace> ValueChecks::findPlace(Operation *op, DimKind kind) {
  AffineExpr wanted = getAffineDimExpr(getDomainPosition(op, kind), op->getContext());
  for (auto [i, map] : llvm::enumerate(getMaps(op)))
    for (auto [dim, expr] : llvm::enumerate(map.getResults()))
      if (expr == wanted)
        if (std::optional<SizePlace> place = findPlace(op->getOperand(i), dim))
          return place;
  return std::nullopt;
}

void ValueChecks::add(Value argument, const ValueCheck &check) {
  SmallVector<ValueCheck, 0> &list = checks[lookThroughRead(argument)];
  if (!llvm::is_contained(list, check))
    list.push_back(check);
}

void ValueChecks::addList(Operation *op, const WordInfo &word, Value list) {
  std::optional<SizePlace> limit = findPlace(op, word.counts == WordCounts::Queries ? DimKind::Query : DimKind::Key);
  if (!limit || !getArgument(list))
    return;
  ValueCheck check;
  check.limit[0] = *limit;
  if (word.shape == WordShape::PrefixSums) {
    check.kind = ValueCheck::Kind::PrefixSums;
    // Shapes do not imply that there is one more element than sequences.
    if (auto sdpa = dyn_cast<SdpaOp>(op); sdpa && sdpa.getKvLengths())
      check.lengths = getArgument(sdpa.getKvLengths()).value_or(-1);
  }
  add(list, check);
}

void ValueChecks::addLengths(Value argument, std::optional<SizePlace> limit) {
  if (!limit || !getArgument(argument))
    return;
  ValueCheck check;
  check.limit[0] = *limit;
  add(argument, check);
}

void ValueChecks::addOp(GatherPagesOp op) {
  Value cache = op.getCache(), table = op.getBlockTable(), lengths = op.getLengths();
  SizePlace page = {-1, op.getPageSize()};
  std::optional<SizePlace> pages = findPlace(cache, 0), width = findPlace(table, 1);
  std::optional<int64_t> lengthsArgument = getArgument(lengths);
  // The view may end in the middle of a page.
  std::optional<SizePlace> rows = findPlace(op.getOutput(), 2);
  if (rows)
    addLengths(lengths, rows);
  if (!lengthsArgument)
    return;
  ValueCheck check;
  if (!rows && width) {
    check.limit[0] = *width;
    check.limit[1] = page;
    add(lengths, check);
  }
  if (!pages || !getArgument(table))
    return;
  check = ValueCheck();
  check.kind = ValueCheck::Kind::BlockTable;
  check.limit[0] = *pages;
  check.lengths = *lengthsArgument;
  check.page = page;
  add(table, check);
}

void ValueChecks::addOp(KvAppendOp op) {
  Value table = op.getBlockTable(), cache = op.getOutput(), positions = op.getPositions();
  bool isPaged = bool(table);
  std::optional<SizePlace> rows = findPlace(op.getInput(), 2), page = findPlace(cache, op.getCacheDims().row);
  std::optional<SizePlace> pages = findPlace(cache, 0), width = isPaged ? findPlace(table, 1) : SizePlace();
  std::optional<int64_t> positionsArgument = getArgument(positions);
  if (!rows || !page || !pages || !width || !positionsArgument)
    return;
  ValueCheck check;
  check.kind = ValueCheck::Kind::Positions;
  check.limit[0] = *page;
  check.limit[1] = *width;
  check.rows = *rows;
  add(positions, check);
  if (!isPaged || !getArgument(table))
    return;
  check = ValueCheck();
  check.kind = ValueCheck::Kind::AppendTable;
  check.limit[0] = *pages;
  check.lengths = *positionsArgument;
  check.page = *page;
  check.rows = *rows;
  add(table, check);
}

void ValueChecks::addLinear(Operation *op, Value sums, Value slots, Value state) {
  std::optional<SizePlace> tokens = findPlace(op, DimKind::Query);
  if (sums && tokens && getArgument(sums)) {
    ValueCheck check;
    check.kind = ValueCheck::Kind::PrefixSums;
    check.limit[0] = *tokens;
    add(sums, check);
  }
  if (slots && getArgument(slots))
    if (std::optional<SizePlace> places = findPlace(state, 0)) {
      ValueCheck check;
      check.kind = ValueCheck::Kind::Slots;
      check.limit[0] = *places;
      add(slots, check);
    }
}
