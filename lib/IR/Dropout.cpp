//===- Dropout.cpp - dropout as arithmetic on positions -------------------===//
//
// Whether a weight is kept depends on (seed, offset, b, h, i, j) alone, so the
// reference and the kernels of every target agree bit by bit: all of them run
// the integers that are built here. Philox4x32-10 is that of Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "llvm/ADT/TypeSwitch.h"
#include <array>
#include <cmath>

using namespace mlir;
using namespace attn;

namespace {

using Words = std::array<Value, 4>;

/// i32 and i64 as two of them.
class Philox {
public:
  Philox(OpBuilder &builder, Location loc) : b(builder), loc(loc) {}

  Value low(Value wide) { return arith::TruncIOp::create(b, loc, b.getI32Type(), wide); }
  Value high(Value wide) { return low(arith::ShRUIOp::create(b, loc, wide, constant(b.getI64Type(), 32))); }
  Value constant(Type type, uint64_t value) {
    return arith::ConstantOp::create(b, loc, IntegerAttr::get(type, APInt(type.getIntOrFloatBitWidth(), value)));
  }

  /// Ten rounds; the Weyl sequence bumps the key between them.
  Words run(Words counter, Value key0, Value key1) {
    for (int round = 0; round < kRounds; ++round) {
      Value product0 = multiply(counter[0], kMultiplier0), product1 = multiply(counter[2], kMultiplier1);
      counter = {exclusiveOr(exclusiveOr(high(product1), counter[1]), key0), low(product1),
                 exclusiveOr(exclusiveOr(high(product0), counter[3]), key1), low(product0)};
      key0 = arith::AddIOp::create(b, loc, key0, constant(b.getI32Type(), kWeyl0));
      key1 = arith::AddIOp::create(b, loc, key1, constant(b.getI32Type(), kWeyl1));
    }
    return counter;
  }

private:
  static constexpr int kRounds = 10;
  static constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  static constexpr uint64_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;

  Value multiply(Value word, uint64_t factor) {
    Value wide = arith::ExtUIOp::create(b, loc, b.getI64Type(), word);
    return arith::MulIOp::create(b, loc, wide, constant(b.getI64Type(), factor));
  }
  Value exclusiveOr(Value x, Value y) { return arith::XOrIOp::create(b, loc, x, y); }

  OpBuilder &b;
  Location loc;
};

/// Hq, Sq and Sk by which weights are indexed, built before `op`: the sizes of the whole that it is a part of, or its
/// own.
SmallVector<Value> getSizes(OpBuilder &b, Operation *op, unsigned count) {
  auto whole = llvm::TypeSwitch<Operation *, std::array<Value, 3>>(op)
                   .Case<SdpaOp, SdpaBackwardOp>([](auto sdpa) {
                     return std::array<Value, 3>{sdpa.getWholeHq(), sdpa.getWholeSq(), sdpa.getWholeSk()};
                   })
                   .Default([](Operation *) { return std::array<Value, 3>(); });
  SmallVector<Value> sizes;
  Location loc = op->getLoc();
  if (whole[0])
    for (Value size : ArrayRef(whole).take_back(count))
      sizes.push_back(b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), size));
  else
    for (OpFoldResult size : ArrayRef(getDomainSizes(b, op)).take_front(getNumBatchDims(op) + 2).take_back(count))
      sizes.push_back(getValueOrCreateConstantIndexOp(b, loc, size));
  return sizes;
}

} // namespace

void attn::buildDropout(OpBuilder &builder, Operation *op, Value seed, Value offset, double p, Type type,
                        Region &region) {
  Location loc = op->getLoc();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  SmallVector<IndexKind> kinds = {IndexKind::Query, IndexKind::Key};
  unsigned numBatch = getNumBatchDims(op);
  if (numBatch > 0)
    kinds.insert(kinds.begin(), IndexKind::Head);
  if (numBatch > 1)
    kinds.insert(kinds.begin(), IndexKind::Batch);
  SmallVector<Value> sizes = getSizes(builder, op, kinds.size() - 1);

  Block *block = builder.createBlock(&region, region.end(), {type}, {loc});
  Philox philox(builder, loc);
  // idx = ((b Hq + h) Sq + i) Sk + j, as u64, of positions in the whole
  Value index;
  for (auto [i, kind] : llvm::enumerate(kinds)) {
    if (index)
      index = arith::MulIOp::create(builder, loc, index, sizes[i - 1]);
    // The terms that are the same for all keys come first.
    index = addOrigin(builder, op, kind, index);
    Value position = IndexOp::create(builder, loc, builder.getIndexType(), kind);
    index = index ? arith::AddIOp::create(builder, loc, index, position).getResult() : position;
  }
  // r > p (2^32 - 1) for an integer r is r > floor(p (2^32 - 1)).
  auto threshold = builder.getI64IntegerAttr(static_cast<int64_t>(std::floor(p * 4294967295.0)));
  Value isKept = RandomKeepOp::create(builder, loc, builder.getI1Type(), index, seed, offset, threshold);
  Value factor = createFloatConstant(builder, loc, type, p < 1 ? 1 / (1 - p) : 1);
  Value kept = arith::MulFOp::create(builder, loc, block->getArgument(0), factor);
  Value zero = createFloatConstant(builder, loc, type, 0);
  YieldOp::create(builder, loc, ValueRange{arith::SelectOp::create(builder, loc, isKept, kept, zero)});
}

std::array<Value, 4> attn::buildRandomWords(OpBuilder &builder, Location loc, Value index, Value seed, Value offset) {
  Philox philox(builder, loc);
  return philox.run({philox.low(offset), philox.high(offset), philox.low(index), philox.high(index)}, philox.low(seed),
                    philox.high(seed));
}

Value RandomKeepOp::buildComparison(OpBuilder &builder, Location loc, Value random) {
  Value threshold = Philox(builder, loc).constant(builder.getI32Type(), static_cast<uint64_t>(getThreshold()));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ugt, random, threshold);
}

Value RandomKeepOp::buildFormula(OpBuilder &builder, Location loc, ValueRange operands) {
  Adaptor given(operands, *this);
  Philox philox(builder, loc);
  Type i64 = builder.getI64Type(), i32 = builder.getI32Type();
  Value wide = arith::IndexCastOp::create(builder, loc, i64, given.getIndex());
  Value block4 = arith::AndIOp::create(builder, loc, wide, philox.constant(i64, ~uint64_t(3)));
  Words words = buildRandomWords(builder, loc, block4, given.getSeed(), given.getOffset());
  Value word = arith::AndIOp::create(builder, loc, philox.low(wide), philox.constant(i32, 3));
  Value random = words[3];
  for (int i = 2; i >= 0; --i) {
    Value isWord =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, word, philox.constant(i32, uint64_t(i)));
    random = arith::SelectOp::create(builder, loc, isWord, words[i], random);
  }
  return buildComparison(builder, loc, random);
}

void attn::expandRandomKeep(Operation *root) {
  root->walk([](RandomKeepOp op) {
    OpBuilder builder(op);
    op.replaceAllUsesWith(op.buildFormula(builder, op.getLoc(), op->getOperands()));
    op.erase();
  });
}
