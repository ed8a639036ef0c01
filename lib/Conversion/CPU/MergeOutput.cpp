//===- MergeOutput.cpp - a state that is added to what the outputs hold ---===//
//
// attn.finalize with `accumulate`: the results of a row are those of the new
// state and of the old results, merged; the old output is read where it is
// written.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RowTile.h"
#include "attn/IR/Decompose.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// The old results of a row of a merging finalize, lse, max and log_sum, null where it has none.
static SmallVector<Value, 3> loadOldResults(VectorBuilder &vb, FinalizeOp op, ArrayRef<Value> domain) {
  SmallVector<Value, 3> olds(3);
  SmallVector<AffineMap> maps = getMaps(op);
  for (auto [map, result] : llvm::zip_equal(ArrayRef(maps).drop_front(4), getRowResults(op)))
    olds[static_cast<unsigned>(result.first)] =
        memref::LoadOp::create(vb.b, vb.loc, result.second, Operand{result.second, map}.getIndices(vb, domain));
  return olds;
}

std::pair<Value, Value> attn::cpu::mergeOldRow(VectorBuilder &vb, FinalizeOp op, ArrayRef<Value> domain) {
  SmallVector<AffineMap> maps = getMaps(op);
  Operand max{op.getRowMax(), maps[1]}, sum{op.getRowSum(), maps[2]};
  Value m = memref::LoadOp::create(vb.b, vb.loc, max.memref, max.getIndices(vb, domain));
  Value l = memref::LoadOp::create(vb.b, vb.loc, sum.memref, sum.getIndices(vb, domain));
  SmallVector<Value, 3> olds = loadOldResults(vb, op, domain);
  MergedRow merged = mergeRow(vb.b, vb.loc, m, l, olds[0], olds[1], olds[2]);
  for (auto [map, result] : llvm::zip_equal(ArrayRef(maps).drop_front(4), getRowResults(op))) {
    Value value = mergeRowResult(vb.b, vb.loc, result.first, merged, l, olds[static_cast<unsigned>(result.first)]);
    memref::StoreOp::create(vb.b, vb.loc, value, result.second, Operand{result.second, map}.getIndices(vb, domain));
  }
  return {merged.factor, merged.oldFactor};
}

void attn::cpu::addOldOutput(VectorBuilder &vb, const Operand &output, int64_t columns, bool isContiguous,
                             function_ref<Values(Value column)> getDomain, Value oldFactor,
                             function_ref<Value(Value column, Value mask)> getNew) {
  Value factor = vb.broadcast(oldFactor), isNone = vb.isEqual(factor, 0);
  // What an empty state holds may be NaN.
  auto merge = [&](Value old, Value added) {
    return vb.multiplyAdd(vb.select(isNone, vb.splat(0), old), factor, added);
  };
  forEachVector(vb, columns, {}, [&](Value column, Value mask, ValueRange) {
    Value added = getNew(column, mask);
    if (isContiguous) {
      Values indices = output.getIndices(vb, getDomain(column));
      vb.storeMasked(merge(vb.loadMasked(output.memref, indices, mask), added), output.memref, indices, mask);
      return Values();
    }
    int64_t count = mask ? columns % vb.lanes : vb.lanes;
    SmallVector<Values> places;
    Value old = vb.splat(0);
    for (int64_t lane = 0; lane < count; ++lane) {
      places.push_back(output.getIndices(vb, getDomain(vb.add(column, lane))));
      Value element = memref::LoadOp::create(vb.b, vb.loc, output.memref, places.back());
      old = vector::InsertOp::create(vb.b, vb.loc, element, old, lane);
    }
    Value merged = merge(old, added);
    for (auto [lane, place] : llvm::enumerate(places)) {
      Value element = vector::ExtractOp::create(vb.b, vb.loc, merged, static_cast<int64_t>(lane));
      memref::StoreOp::create(vb.b, vb.loc, element, output.memref, place);
    }
    return Values();
  });
}
