//===- KeptWeights.cpp - dropout of a tile of weights ---------------------===//
//
// One call of Philox has the numbers of four keys of a query, which lie in several lanes: in a pair of lanes where rows
// are queries, in the same lanes of four quads where rows are keys. There each lane makes as many calls as it has
// scores divided by four, keeps a bit for each number, and the lanes exchange these bits.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WarpScores.h"
#include "attn/IR/Decompose.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// Numbers of one call.
static constexpr int64_t kWords = 4;

/// The coefficient of the key in an index of `region`, if it is a sum that has one.
static std::optional<int64_t> getKeyCoefficient(Value value, Region &region) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getParentRegion() != &region)
    return 0;
  if (auto index = dyn_cast<IndexOp>(op))
    return index.getKind() == IndexKind::Key;
  int64_t sum = 0;
  bool isSum = isa<arith::AddIOp, arith::IndexCastOp>(op);
  for (Value operand : op->getOperands()) {
    std::optional<int64_t> coefficient = getKeyCoefficient(operand, region);
    if (!coefficient || (!isSum && *coefficient != 0))
      return std::nullopt;
    sum += *coefficient;
  }
  return sum;
}

/// The attn.random_keep of a region whose indices from a multiple of kWords on are those of as many keys; null if there
/// is none, or several.
static RandomKeepOp findSharedCall(Region *region) {
  if (!region || !llvm::hasSingleElement(region->getOps<RandomKeepOp>()))
    return {};
  RandomKeepOp op = *region->getOps<RandomKeepOp>().begin();
  return getKeyCoefficient(op.getIndex(), *region) == 1 && getKnownPower(op.getIndex()) >= kWords ? op : RandomKeepOp();
}

Value ScorePositions::evaluateIn(IRMapping &known, Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op || op->getParentRegion() != functions.weightMod)
    return value;
  if (!known.contains(value)) {
    for (Value operand : op->getOperands())
      evaluateIn(known, operand);
    wb.b.clone(*op, known);
  }
  return known.lookup(value);
}

std::array<Value, kWords> ScorePositions::callRandom(RandomKeepOp op, Value head, Value query, Value key) const {
  IRMapping known;
  for (auto index : op->getBlock()->getOps<IndexOp>()) {
    Value position = index.getKind() == IndexKind::Key     ? key
                     : index.getKind() == IndexKind::Query ? query
                     : index.getKind() == IndexKind::Head  ? head
                                                           : Value();
    known.map(index.getResult(), wb.toIndex(position ? position : wb.constant(0)));
  }
  Value index = wb.fromIndex(evaluateIn(known, op.getIndex()), 64);
  return buildRandomWords(wb.b, wb.loc, index, evaluateIn(known, op.getSeed()), evaluateIn(known, op.getOffset()));
}

void ScorePositions::drawKept(const ScoreTile &tile) {
  RandomKeepOp op = findSharedCall(functions.weightMod);
  if (!op)
    return;
  OpBuilder &b = wb.b;
  auto mask = [&](Value x, int64_t bits) -> Value { return arith::AndIOp::create(b, wb.loc, x, wb.constant(bits)); };
  bool hasKeys = rowKind == RowKind::Keys;
  keptBits = hasKeys ? kWords : 2;
  keyBlocks = tile.keyBlocks;
  // The lane's place among those that exchange bits, and whether it is the second of a pair.
  Value place = hasKeys ? mask(wb.quad, kWords - 1) : mask(wb.quadLane, 1);
  Value isOdd = arith::CmpIOp::create(b, wb.loc, arith::CmpIPredicate::ne, mask(place, 1), wb.constant(0));
  for (int64_t fragment = 0; fragment < tile.fragments; ++fragment)
    for (int64_t first = 0; first < keyBlocks; first += 32 / keptBits) {
      Values own(hasKeys ? 1 : 2, wb.constant(0));
      for (int64_t block = first; block < std::min(keyBlocks, first + 32 / keptBits); ++block) {
        Value head, query, key;
        if (hasKeys) {
          // Lane c of the four takes rows 8 (c / 2) + 0 … 3 and column c % 2.
          Value half = wb.multiply(mask(place, 2), 4);
          key = wb.add(wb.add(wb.add(wb.firstRow, mask(wb.quad, 4)), half), fragment * kFragmentRows);
          query = wb.add(wb.add(wb.multiply(wb.quadLane, 2), mask(place, 1)), block * kBlockColumns);
        } else {
          // The even lane takes the first row of both, the odd one the second.
          const Row &even = rows[fragment * kThreadRows], &odd = rows[fragment * kThreadRows + 1];
          head = even.head ? wb.select(isOdd, odd.head, even.head) : Value();
          query = wb.select(isOdd, odd.position, even.position);
          key = wb.add(wb.multiply(mask(wb.quadLane, 2), 2), block * kBlockColumns);
        }
        for (auto [i, word] : llvm::enumerate(callRandom(op, head, query, key))) {
          int64_t number = (block - first) * kWords + i; // of the words so far
          int64_t bit = hasKeys ? number : (block - first) * 2 + i % 2;
          Value &bits = own[hasKeys ? 0 : i / 2];
          Value set = wb.select(op.buildComparison(b, wb.loc, word), wb.constant(int32_t(1u << bit)), wb.constant(0));
          bits = arith::OrIOp::create(b, wb.loc, bits, set);
        }
      }
      if (hasKeys) {
        for (int64_t call = 0; call < kWords; ++call) {
          Value source = arith::OrIOp::create(b, wb.loc, mask(wb.lane, ~(4 * (kWords - 1))), wb.constant(4 * call));
          kept.push_back(arith::ShRUIOp::create(b, wb.loc, wb.shuffleFrom(own[0], source), place));
        }
      } else {
        Value other = wb.shuffleXor(wb.select(isOdd, own[0], own[1]), 1);
        kept.push_back(wb.select(isOdd, other, own[0]));
        kept.push_back(wb.select(isOdd, own[1], other));
      }
    }
}

Value ScorePositions::getKept(size_t i) const {
  if (kept.empty())
    return {};
  int64_t element = i % kFragmentElements, block = i / kFragmentElements % keyBlocks;
  int64_t fragment = i / kFragmentElements / keyBlocks, blocks = 32 / keptBits;
  bool hasKeys = rowKind == RowKind::Keys;
  // Of each fragment and pack of blocks: the element's own with rows of keys, else its row's.
  int64_t packs = llvm::divideCeil(keyBlocks, blocks), pack = fragment * packs + block / blocks;
  Value bits = hasKeys ? kept[pack * kWords + element] : kept[pack * kThreadRows + element / 2];
  int64_t bit = block % blocks * keptBits + (hasKeys ? 0 : element % 2);
  Value isSet = arith::AndIOp::create(wb.b, wb.loc, bits, wb.constant(int32_t(1u << bit)));
  return arith::CmpIOp::create(wb.b, wb.loc, arith::CmpIPredicate::ne, isSet, wb.constant(0));
}
