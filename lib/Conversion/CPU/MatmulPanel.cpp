//===- MatmulPanel.cpp - a block of the right matrix of a product ---------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MatmulPanel.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

void MatmulPanel::allocate() { buffer = vb.stackBuffer({depth, vectors * vb.lanes}); }

void MatmulPairs::allocate() { buffer = vb.stackBuffer({depth / 2, 2 * vectors * vb.lanes}, getElementType()); }

void MatmulPanel::pack(Value rows, Value columns, const At &at, const VectorAt &vectorAt) {
  isTransposed ? packTransposed(rows, columns, at) : packRows(rows, vectorAt);
}

void MatmulPanel::packRows(Value rows, const VectorAt &vectorAt) {
  vb.loop(vb.index(0), rows, 1, {}, [&](Value k, ValueRange) {
    for (int64_t v = 0; v < vectors; ++v)
      vb.store(vb.convert(vectorAt(k, v), vb.elementType), buffer, {k, vb.index(v * vb.lanes)});
    return Values();
  });
}

void MatmulPanel::packTransposed(Value rows, Value columns, const At &at) {
  TransposeSide from{source, [&](Value j, Value k) { return at(k, j); }, /*columnsContiguous=*/true};
  TransposeSide to{{buffer, {}}, [](Value j, Value k) { return Values{k, j}; }};
  emitPack(vb, from, to, columns, vectors * vb.lanes, rows);
}

void MatmulPairs::packTransposed(Value rows, Value columns, const At &at) {
  TransposeSide from{source, [&](Value j, Value pair) { return at(vb.multiply(pair, 2), j); },
                     /*columnsContiguous=*/true, /*holdsPairs=*/true};
  TransposeSide to{{buffer, {}},
                   [&](Value j, Value pair) { return Values{pair, vb.multiply(j, 2)}; },
                   /*columnsContiguous=*/false,
                   /*holdsPairs=*/true};
  emitPack(vb, from, to, columns, vectors * vb.lanes, vb.divide(rows, 2));
}

void MatmulPairs::packRows(Value rows, const VectorAt &vectorAt) {
  auto packPair = [&](Value pair, bool hasOdd) {
    Value k = vb.multiply(pair, 2);
    for (int64_t v = 0; v < vectors; ++v) {
      Value even = vectorAt(k, v), odd = hasOdd ? vectorAt(vb.add(k, 1), v) : vb.zero(even.getType());
      Value both = vector::InterleaveOp::create(vb.b, vb.loc, even, odd);
      vb.store(both, buffer, {pair, vb.index(2 * v * vb.lanes)});
    }
    return Values();
  };
  Value whole = vb.divide(rows, 2), all = vb.divide(vb.add(rows, 1), 2);
  vb.loop(vb.index(0), whole, 1, {}, [&](Value pair, ValueRange) { return packPair(pair, /*hasOdd=*/true); });
  vb.loop(whole, all, 1, {}, [&](Value pair, ValueRange) { return packPair(pair, /*hasOdd=*/false); });
}

Value MatmulPanel::isFinite(Value rows) {
  auto zeroAt = [&](int64_t, Value, bool isPair) { return vb.zero(isPair ? vb.b.getI32Type() : getElementType()); };
  Values sums = multiply(1, rows, zeroAt);
  Value sum = sums.front();
  for (Value next : llvm::drop_begin(sums))
    sum = arith::AddFOp::create(vb.b, vb.loc, sum, next);
  return vector::ReductionOp::create(vb.b, vb.loc, vector::CombiningKind::AND, vb.isEqual(sum, 0));
}

Values attn::cpu::emitProducts(VectorBuilder &vb, int64_t rows, int64_t vectors, Value count, const ScalarAt &scalarAt,
                               function_ref<Value(Value, int64_t)> vectorAt, bool skipsZeros) {
  auto addNonZero = [&](Value, Value scalar, Value vector, Value sum) {
    return vb.multiplyAddNonZero(scalar, vector, sum);
  };
  auto widened = [&](int64_t r, Value k) { return vb.convert(scalarAt(r, k, /*isPair=*/false), vb.elementType); };
  return emitRegisterKernel(vb, rows, vectors, count, Values(rows * vectors, vb.splat(0)), widened, vectorAt,
                            skipsZeros ? Combine(addNonZero) : Combine());
}

Values MatmulPanel::multiply(int64_t rows, Value count, const ScalarAt &scalarAt, bool skipsZeros) {
  auto vectorAt = [&](Value k, int64_t v) { return vb.load(buffer, {k, vb.index(v * vb.lanes)}); };
  return emitProducts(vb, rows, vectors, count, scalarAt, vectorAt, skipsZeros);
}

Values MatmulPairs::multiply(int64_t rows, Value count, const ScalarAt &scalarAt, bool skipsZeros) {
  auto add = [&](Value, Value pair, Value pairs, Value sum) {
    return skipsZeros ? vb.multiplyAddNonZeroPairs(pair, pairs, sum) : vb.multiplyAddPairs(pair, pairs, sum);
  };
  Value whole = vb.divide(count, 2);
  Values sums = emitRegisterKernel(
      vb, rows, vectors, whole, Values(rows * vectors, vb.splat(0)),
      [&](int64_t r, Value pair) { return scalarAt(r, vb.multiply(pair, 2), /*isPair=*/true); },
      [&](Value pair, int64_t v) { return vb.loadPairs(buffer, {pair, vb.index(2 * v * vb.lanes)}); }, add);
  // The last row of an odd number is paired with 0.
  Value rest = vb.remainder(count, 2);
  if (isConstantIntValue(rest, 0))
    return sums;
  return emitRegisterKernel(
      vb, rows, vectors, rest, sums,
      [&](int64_t r, Value) {
        Value bits = arith::BitcastOp::create(vb.b, vb.loc, vb.b.getI16Type(),
                                              scalarAt(r, vb.multiply(whole, 2), /*isPair=*/false));
        return arith::ExtUIOp::create(vb.b, vb.loc, vb.b.getI32Type(), bits);
      },
      [&](Value, int64_t v) { return vb.loadPairs(buffer, {whole, vb.index(2 * v * vb.lanes)}); }, add);
}
