//===- BF16Pairs.cpp - sums of products of pairs of bf16 ------------------===//
//
// vdpbf16ps, on 64-bit Arm bfdot, adds two products of bf16 to a lane of f32: twice the multiply-adds
// per instruction, if the processor issues as many of them per second (TargetInfo::bf16DotRate). Both
// operands hold adjacent pairs: those of Q and K along the head, those of P and V along the keys.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ArmProducts.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// A part with no bits left is the element times this: 0 times infinity would be NaN.
static constexpr double kTinyPart = 0x1p-40;

/// An integer, or one in all lanes.
static Value getConstant(VectorBuilder &vb, Type type, int32_t value) {
  TypedAttr number = vb.b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    number = DenseElementsAttr::get(vector, value);
  return arith::ConstantOp::create(vb.b, vb.loc, number);
}

static VectorType getPairsType(VectorBuilder &vb) { return VectorType::get({2 * vb.lanes}, vb.b.getBF16Type()); }

Value VectorBuilder::collapsePairs(Value memref) {
  SmallVector<ReassociationIndices> groups;
  int64_t rank = cast<MemRefType>(memref.getType()).getRank();
  for (int64_t dim = 0; dim + 2 < rank; ++dim)
    groups.push_back({dim});
  groups.push_back({rank - 2, rank - 1});
  return memref::CollapseShapeOp::create(b, loc, memref, groups);
}

Value VectorBuilder::loadPair(Value memref, ValueRange indices) {
  Value pair = vector::LoadOp::create(b, loc, VectorType::get({2}, b.getBF16Type()), memref, indices);
  Value bits = vector::BitCastOp::create(b, loc, VectorType::get({1}, b.getI32Type()), pair);
  return vector::ExtractOp::create(b, loc, bits, 0);
}

Value VectorBuilder::loadPairs(Value pairs, ValueRange indices) {
  return vector::LoadOp::create(b, loc, getPairsType(*this), pairs, indices);
}

Value VectorBuilder::loadFirstPairs(Value pairs, ValueRange indices, int64_t count) {
  VectorType type = getPairsType(*this);
  SmallVector<bool> bits(2 * lanes);
  std::fill_n(bits.begin(), 2 * count, true);
  Value mask = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(VectorType::get({2 * lanes}, b.getI1Type()), ArrayRef<bool>(bits)));
  return vector::MaskedLoadOp::create(b, loc, type, pairs, indices, mask, zero(type));
}

Value VectorBuilder::narrow(Value vector) {
  if (target.hasBf16Matrices)
    return convert(vector, b.getBF16Type());
  return x86vector::CvtPackedF32ToBF16Op::create(b, loc, VectorType::get({lanes}, b.getBF16Type()), vector);
}

Value VectorBuilder::makePairs(Value even, Value odd) {
  return vector::InterleaveOp::create(b, loc, narrow(even), narrow(odd));
}

Value VectorBuilder::makePairsByIntegers(Value even, Value odd) {
  auto bits = VectorType::get({lanes}, b.getI32Type());
  // A bf16 is the upper half of a float: plus half of its last bit, and the other half cut off.
  auto round = [&](Value x) -> Value {
    return arith::AddIOp::create(b, loc, vector::BitCastOp::create(b, loc, bits, x), getConstant(*this, bits, 0x8000));
  };
  return joinPairs(round(even), round(odd));
}

Value VectorBuilder::joinPairs(Value even, Value odd) {
  auto bits = VectorType::get({lanes}, b.getI32Type());
  Value low = arith::ShRUIOp::create(b, loc, even, getConstant(*this, bits, 16));
  // mask ? odd : even, bit by bit. LLVM would make a permutation of two registers of it, which takes two cycles.
  Value pairs =
      assembly(bits, {low, odd, getConstant(*this, bits, ~0xffff)}, "vpternlogd $$0xd8, $3, $2, $0", "=v,0,v,v");
  return vector::BitCastOp::create(b, loc, getPairsType(*this), pairs);
}

Values VectorBuilder::splitParts(Value value, int64_t parts) {
  Values result;
  Type type = value.getType(), bits = b.getI32Type();
  if (auto vector = dyn_cast<VectorType>(type))
    bits = vector.clone(bits);
  auto toBits = [&](Value x) -> Value { return arith::BitcastOp::create(b, loc, bits, x); };
  auto constant = [&](double x) -> Value {
    TypedAttr number = b.getF32FloatAttr(x);
    if (auto vector = dyn_cast<VectorType>(type))
      number = DenseElementsAttr::get(vector, float(x));
    return arith::ConstantOp::create(b, loc, number);
  };
  Value upperHalf = getConstant(*this, bits, ~0xffff), zero = constant(0), tiny = constant(kTinyPart);
  for (int64_t part = 0; part + 1 < parts; ++part) {
    // Truncation keeps the sign of the value, so the rest has it, too.
    Value upper = arith::AndIOp::create(b, loc, toBits(value), upperHalf);
    result.push_back(upper);
    Value rest = arith::SubFOp::create(b, loc, value, arith::BitcastOp::create(b, loc, type, upper));
    // A rest of 0, or NaN of an infinite or NaN value, is replaced by a part that adds nothing to the others, by an
    // infinity or by NaN.
    Value isSome = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ONE, rest, zero);
    value = select(isSome, rest, arith::MulFOp::create(b, loc, value, tiny));
  }
  result.push_back(arith::AddIOp::create(b, loc, toBits(value), getConstant(*this, bits, 0x8000)));
  return result;
}

Value VectorBuilder::getUpperHalf(Value bits) {
  Type half = b.getI16Type(), type = b.getBF16Type();
  if (auto vector = dyn_cast<VectorType>(bits.getType())) {
    half = vector.clone(half);
    type = vector.clone(type);
  }
  Value shifted = arith::ShRUIOp::create(b, loc, bits, getConstant(*this, bits.getType(), 16));
  return arith::BitcastOp::create(b, loc, type, arith::TruncIOp::create(b, loc, half, shifted));
}

Value VectorBuilder::multiplyAddPairs(Value pair, Value pairs, Value acc) {
  Value operand = b.createOrFold<vector::BitCastOp>(loc, getPairsType(*this), pair);
  if (target.hasBf16Matrices)
    return emitBf16Dot(*this, acc, operand, pairs);
  return x86vector::DotBF16Op::create(b, loc, acc.getType(), acc, operand, pairs);
}

Value VectorBuilder::multiplyAddNonZeroPairs(Value pair, Value pairs, Value acc) {
  auto bits = VectorType::get({lanes}, b.getI32Type());
  Value both = vector::BitCastOp::create(b, loc, bits, pairs);
  // A bf16 is the upper half of a float.
  auto constant = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(bits, value));
  };
  auto even = [&](Value of) -> Value { return arith::ShLIOp::create(b, loc, of, constant(16)); };
  auto odd = [&](Value of) -> Value { return arith::AndIOp::create(b, loc, of, constant(~0xffff)); };
  auto add = [&](Value x, Value y) {
    Value scalar = vector::BitCastOp::create(b, loc, vectorType, x);
    acc = multiplyAddNonZero(scalar, vector::BitCastOp::create(b, loc, vectorType, y), acc);
  };
  add(even(pair), even(both));
  add(odd(pair), odd(both));
  return acc;
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// Rows 2p and 2p + 1 of `columns` elements become row p of pairs.
static void interleaveRows(VectorBuilder &vb, Value even, Value odd, function_ref<Values(Value, Value)> fromAt,
                           Value from, Value to, function_ref<Values(Value)> toAt, int64_t columns, bool isContiguous) {
  OpBuilder &b = vb.b;
  Location loc = vb.loc;
  int64_t done = 0;
  // Vectors of a whole register; then of half and a quarter of one, as often as they fit.
  for (int64_t width = 2 * vb.lanes; isContiguous && width >= vb.lanes / 2; width /= 2) {
    int64_t end = done + (columns - done) / width * width;
    auto type = VectorType::get({width}, vb.b.getBF16Type());
    if (end > done)
      vb.loop(vb.index(done), vb.index(end), width, {}, [&](Value column, ValueRange) {
        auto load = [&](Value row) -> Value {
          if (!row)
            return arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
          return vector::LoadOp::create(b, loc, type, from, fromAt(row, column));
        };
        Value first = load(even), second = load(odd);
        for (int64_t half = 0; half < 2; ++half) {
          SmallVector<int64_t> order;
          for (int64_t i = 0; i < width / 2; ++i)
            order.append({half * width / 2 + i, width + half * width / 2 + i});
          vb.store(vector::ShuffleOp::create(b, loc, first, second, order), to, toAt(vb.add(column, half * width / 2)));
        }
        return Values();
      });
    done = end;
  }
  if (done < columns)
    vb.loop(vb.index(done), vb.index(columns), 1, {}, [&](Value column, ValueRange) {
      Values target = toAt(column);
      for (Value row : {even, odd}) {
        Value element = row ? memref::LoadOp::create(b, loc, from, fromAt(row, column)).getResult()
                            : arith::ConstantOp::create(b, loc, b.getZeroAttr(b.getBF16Type())).getResult();
        memref::StoreOp::create(b, loc, element, to, target);
        target.back() = vb.add(target.back(), 1);
      }
      return Values();
    });
}

void attn::cpu::emitPairRows(VectorBuilder &vb, const TransposeSide &rows, Value count, Value pairs, int64_t columns) {
  pairs = vb.collapsePairs(pairs);
  int64_t rank = cast<MemRefType>(pairs.getType()).getRank();
  auto emitPair = [&](Value pair, bool hasOdd) {
    Value even = arith::MulIOp::create(vb.b, vb.loc, pair, vb.index(2));
    auto toAt = [&](Value column) {
      Values indices(rank, vb.index(0));
      indices[rank - 2] = pair;
      indices[rank - 1] = vb.b.createOrFold<arith::MulIOp>(vb.loc, column, vb.index(2));
      return indices;
    };
    interleaveRows(vb, even, hasOdd ? vb.add(even, 1) : Value(), rows.getIndices, rows.operand.memref, pairs, toAt,
                   columns, rows.columnsContiguous);
  };
  Value whole = vb.divide(count, 2);
  Value all = vb.divide(vb.add(count, 1), 2);
  vb.loop(vb.index(0), whole, 1, {}, [&](Value pair, ValueRange) {
    emitPair(pair, /*hasOdd=*/true);
    return Values();
  });
  vb.loop(whole, all, 1, {}, [&](Value pair, ValueRange) {
    emitPair(pair, /*hasOdd=*/false);
    return Values();
  });
}
