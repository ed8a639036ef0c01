//===- WarpSums.cpp - the sums of gradients of a block of warps -----------===//
//
// Sums stay in registers: they start at 0 and are rounded once, when they are stored. This file also lowers delta, the
// row sum that all gradient kernels read.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WarpTile.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

static const double kInfinity = std::numeric_limits<double>::infinity();

LogicalResult KernelLowering::lowerZeros(linalg::FillOp op) {
  APFloat value(0.0);
  if (!matchPattern(op.getInputs()[0], m_ConstantFloat(&value)) || !value.isPosZero())
    return op.emitOpError("expected zeros, the start of sums in registers");
  auto type = dyn_cast<RankedTensorType>(op.getOutputs()[0].getType());
  if (!type || !isInRegisters(type))
    return op.emitOpError("expected sums in registers; run attn-tiles-to-registers");
  TileState state = createSums(type.getShape().back());
  state.lse = RegisterArray(wb, kernel.getBody().front(), state.fragments * kThreadRows);
  lowered[op.getResult(0)] = state;
  for (int64_t i = 0; i < state.fragments * kThreadRows; ++i)
    state.lse.set(wb, i, wb.real(0));
  for (int64_t i = 0, e = state.fragments * state.valueBlocks * kFragmentElements; i < e; ++i)
    state.acc.set(wb, i, wb.real(0));
  return success();
}

/// Stores sums from registers to global memory, two adjacent elements at a time. A row without keys is 0, whatever K
/// contains.
LogicalResult KernelLowering::lowerPack(PackOp op) {
  const auto *found = find<TileState>(op.getInput(), op);
  if (!found)
    return failure();
  const TileState &state = *found;
  SmallVector<AffineMap> maps = attn::getMaps(op);
  GlobalView output(wb, op.getOutput(), maps[1]);
  unsigned rowDim = getNumBatchDims(op), columnDim = rowDim + 1;
  Type type = output.getElementType();
  int64_t columns = cast<ShapedType>(op.getInput().getType()).getShape().back(), bytes = output.getElementBytes();
  bool isPair =
      output.isContiguous(columnDim) && columns % 2 == 0 && output.getRowAlignment(columnDim) % (2 * bytes) == 0;
  Value count = output.getSize(wb, rowDim);
  for (int64_t fragment = 0; fragment < state.fragments; ++fragment)
    for (int64_t half = 0; half < kThreadRows; ++half) {
      Value row = getRow(fragment, half);
      Value isEmpty = wb.isEqual(state.lse.get(wb, TileState::rowIndex(fragment, half)), -kInfinity);
      wb.when(wb.isLess(row, count), [&] {
        Value start = output.getOffset(wb, {{rowDim, row}});
        for (int64_t block = 0; block * kBlockColumns < columns; ++block) {
          auto getSum = [&](int64_t e) {
            Value sum = state.acc.get(wb, state.accIndex(fragment, block, 2 * half + e));
            return wb.convert(wb.select(isEmpty, wb.real(0), sum), type);
          };
          Value column = wb.add(wb.multiply(wb.quadLane, 2), block * kBlockColumns);
          bool isWhole = (block + 1) * kBlockColumns <= columns;
          wb.when(isWhole ? Value() : wb.isLess(column, wb.constant(columns)), [&] {
            auto getAddress = [&](int64_t e) {
              return output.getAddress(wb, wb.add(start, output.getOffset(wb, {{columnDim, wb.add(column, e)}})));
            };
            if (isPair) {
              Value both = vector::FromElementsOp::create(wb.b, wb.loc, VectorType::get({2}, type),
                                                          ValueRange{getSum(0), getSum(1)});
              wb.store(both, getAddress(0), 2 * bytes);
              return;
            }
            for (int64_t e = 0; e < 2; ++e)
              wb.store(getSum(e), getAddress(e), bytes);
          });
        }
      });
    }
  return success();
}

/// delta = sum_e dout output - dlse: the lanes of a warp take the columns of a row in turn.
LogicalResult KernelLowering::lowerRowDelta(RowDeltaOp op) {
  SmallVector<AffineMap> maps = attn::getMaps(op);
  GlobalView output(wb, op.getOutput(), maps[0]), dout(wb, op.getDout(), maps[1]), lse(wb, op.getLse(), maps[2]),
      delta(wb, op.getDelta(), maps.back()), dlse;
  if (op.getDlse())
    dlse = GlobalView(wb, op.getDlse(), maps[3]);
  unsigned rowDim = getNumBatchDims(op), columnDim = rowDim + 1;
  int64_t columns = getStaticSize(op, DimKind::ValueSize);
  Value count = delta.getSize(wb, rowDim);
  auto loop = scf::ForOp::create(wb.b, wb.loc, wb.constant(0), wb.constant(wb.warpRows), wb.constant(1));
  OpBuilder::InsertionGuard guard(wb.b);
  wb.b.setInsertionPointToStart(loop.getBody());
  Value row = wb.add(wb.firstRow, loop.getInductionVar());
  wb.when(wb.isLess(row, count), [&] {
    auto read = [&](const GlobalView &view, Value column) {
      Value offset = view.getOffset(wb, {{rowDim, row}});
      if (column)
        offset = wb.add(offset, view.getOffset(wb, {{columnDim, column}}));
      return wb.convert(wb.load(view.getElementType(), view.getAddress(wb, offset), view.getElementBytes()),
                        wb.b.getF32Type());
    };
    Value sum = wb.real(0);
    for (int64_t first = 0; first < columns; first += wb.lanes) {
      Value column = wb.add(wb.lane, first);
      // The lanes without a column read the last one.
      bool isWhole = first + wb.lanes <= columns;
      Value last = isWhole ? column : wb.minimum(column, wb.constant(columns - 1));
      Value next = wb.fma(read(dout, last), read(output, last), sum);
      sum = isWhole ? next : wb.select(wb.isLess(column, wb.constant(columns)), next, sum);
    }
    for (int64_t distance = wb.lanes / 2; distance > 0; distance /= 2)
      sum = wb.addf(sum, wb.shuffleXor(sum, distance));
    if (dlse)
      sum = wb.subf(sum, read(dlse, {}));
    sum = wb.select(wb.isEqual(read(lse, {}), -kInfinity), wb.real(0), sum);
    Value isFirst = arith::CmpIOp::create(wb.b, wb.loc, arith::CmpIPredicate::eq, wb.lane, wb.constant(0));
    wb.when(isFirst, [&] {
      wb.store(wb.convert(sum, delta.getElementType()), delta.getAddress(wb, delta.getOffset(wb, {{rowDim, row}})),
               delta.getElementBytes());
    });
  });
  return success();
}
