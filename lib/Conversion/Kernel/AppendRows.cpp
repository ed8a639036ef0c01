//===- AppendRows.cpp - appends rows of K or V to a cache -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Conversion/AppendRows.h"
#include "ConvertRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

namespace {

class AppendedRows {
public:
  AppendedRows(OpBuilder &b, KvAppendOp op, AppendLoop loop)
      : b(b), loc(op.getLoc()), op(op), loop(loop), input(op.getInput()), cache(op.getOutput()),
        dims(op.getCacheDims()) {}

  void emit() {
    forEach(0, [&](Value batch) {
      Value first = loadIndex(op.getPositions(), batch);
      forEach(2, [&](Value n) {
        Value row = arith::AddIOp::create(b, loc, first, n);
        if (op.getBlockTable())
          emitPagedRow(batch, n, row);
        else
          ifBelow(row, getSize(cache, dims.row), [&] { copyRow(batch, n, batch, row); });
      });
    });
  }

private:
  void emitPagedRow(Value batch, Value n, Value row) {
    Value pageSize = getSize(cache, dims.row), entry = arith::DivUIOp::create(b, loc, row, pageSize);
    ifBelow(entry, getSize(op.getBlockTable(), 1), [&] {
      Value page = loadIndex(op.getBlockTable(), {batch, entry});
      ifBelow(page, getSize(cache, 0), [&] { copyRow(batch, n, page, arith::RemUIOp::create(b, loc, row, pageSize)); });
    });
  }

  /// cache[page, head, row, :] = input[batch, head, n, :] for every head, in the order of the cache's dimensions and in
  /// its type.
  void copyRow(Value batch, Value n, Value page, Value row) {
    forEach(1, [&](Value head) {
      Value scale = op.getScale();
      if (scale && cast<MemRefType>(scale.getType()).getRank() == 1)
        scale = memref::LoadOp::create(b, loc, scale, head);
      else if (scale)
        scale = memref::LoadOp::create(b, loc, scale, ValueRange{batch, head, n});
      forEach(3, [&](Value column) {
        Value element = memref::LoadOp::create(b, loc, input, ValueRange{batch, head, n, column});
        element = emitConverted(b, loc, element, scale, cast<MemRefType>(cache.getType()).getElementType());
        memref::StoreOp::create(b, loc, element, cache, dims.getPosition(page, row, head, column));
      });
    });
  }

  Value getSize(Value memref, unsigned dim) { return b.createOrFold<memref::DimOp>(loc, memref, dim); }

  /// if (0 <= x < size): a negative value is a large unsigned one.
  void ifBelow(Value x, Value size, function_ref<void()> body) {
    Value isBelow = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, x, size);
    auto branch = scf::IfOp::create(b, loc, isBelow, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    body();
  }

  Value loadIndex(Value memref, ValueRange indices) {
    Value value = memref::LoadOp::create(b, loc, memref, indices);
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), value);
  }

  void forEach(unsigned dim, function_ref<void(Value)> body) {
    OpBuilder::InsertionGuard guard(b);
    loop(dim, body);
  }

  OpBuilder &b;
  Location loc;
  KvAppendOp op;
  AppendLoop loop;
  Value input, cache;
  CacheDims dims;
};

} // namespace

void attn::emitAppendedRows(OpBuilder &builder, KvAppendOp op, AppendLoop loop) {
  AppendedRows(builder, op, loop).emit();
}
