//===- KvAppend.cpp - new rows of K or V into a cache ---------------------===//
//
// On memrefs, so that the cache is written in place and nothing of it but the
// new rows is touched: a loop over batch indices, rows, heads and columns. A row
// whose place is not in the cache is not written, whatever positions and table
// hold.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "VectorTile.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

namespace {

class KvAppendLowering {
public:
  KvAppendLowering(RewriterBase &rewriter, KvAppendOp op)
      : b(rewriter), loc(op.getLoc()), op(op), input(op.getInput()), cache(op.getOutput()), dims(op.getCacheDims()) {}

  void emit() {
    forEach(getSize(input, 0), [&](Value batch) {
      Value first = loadIndex(op.getPositions(), batch);
      forEach(getSize(input, 2), [&](Value n) {
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

  /// cache[page, head, row, :] = input[batch, head, n, :] for every head, in the order of the cache's dimensions.
  void copyRow(Value batch, Value n, Value page, Value row) {
    forEach(getSize(input, 1), [&](Value head) {
      forEach(getSize(input, 3), [&](Value column) {
        Value element = memref::LoadOp::create(b, loc, input, ValueRange{batch, head, n, column});
        Values place = {page, page, page, column};
        place[dims.row] = row;
        place[dims.head] = head;
        memref::StoreOp::create(b, loc, element, cache, place);
      });
    });
  }

  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  Value getSize(Value memref, unsigned dim) { return b.createOrFold<memref::DimOp>(loc, memref, dim); }

  /// if (0 <= x < size): a negative number is a large unsigned one.
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

  void forEach(Value count, function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(b, loc, index(0), count, index(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  RewriterBase &b;
  Location loc;
  KvAppendOp op;
  Value input, cache;
  CacheDims dims;
};

} // namespace

LogicalResult attn::cpu::lowerKvAppend(RewriterBase &rewriter, KvAppendOp op) {
  rewriter.setInsertionPoint(op);
  KvAppendLowering(rewriter, op).emit();
  rewriter.eraseOp(op);
  return success();
}
