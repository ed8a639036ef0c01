//===- Order.cpp - sums over blocks in a fixed order ----------------------===//
//
// attn.take_ticket, attn.await_order and attn.pass_order define when a block adds; attn.exchange and attn.add_rows what
// it adds (PTX ISA, "Memory Consistency Model"). A turn passes between warps of different blocks:
//
//   consumers add, arrive at empty | producer waits for empty, adds 1 to the count
//   (release) | producer of the next block reads the count (acquire), arrives at
//   full | its consumers wait for full, and add
//
// The producer reads the count while the consumers multiply. It passes a turn on when it requests the next one.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WarpTile.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// Warps and rows of a wgmma.
static constexpr int64_t kGroupWarps = 4, kGroupRows = 64;

static Value isZero(WarpBuilder &wb, Value number) {
  return arith::CmpIOp::create(wb.b, wb.loc, arith::CmpIPredicate::eq, number, wb.constant(0));
}

/// The address of the count at `place`.
static Value getAddress(WarpBuilder &wb, Value turns, Value place) {
  GlobalView view(wb, turns, wb.b.getMultiDimIdentityMap(1));
  // A producer has few registers; its loop would keep the address in some.
  return view.getAddress(wb, wb.hide(view.getOffset(wb, {{0u, wb.fromIndex(place)}})));
}

/// Run by one thread, after it has observed what the other threads of its block have added.
static void countTurn(WarpBuilder &wb, Value address) {
  wb.assemble("fence.acq_rel.gpu; red.release.gpu.global.add.u32 [$0], 1;", "l,~{memory}", {address});
}

/// Run by one thread, which then observes what other blocks have added.
static void awaitCount(WarpBuilder &wb, Value address, Value turn) {
  wb.assemble("{ .reg .pred p; .reg .b32 r; W: ld.acquire.gpu.global.b32 r, [$0]; setp.ne.u32 p, r, $1; @p bra W; }",
              "l,r,~{memory}", {address, turn});
}

void KernelLowering::takeTickets() {
  for (auto op : llvm::make_early_inc_range(kernel.getBody().front().getOps<TakeTicketOp>())) {
    wb.b.setInsertionPoint(op);
    wb.loc = op.getLoc();
    Value shared = wb.sharedAt(wb.constant(layout.ticketOffset));
    wb.when(isZero(wb, wb.thread), [&] {
      Value address = getAddress(wb, op.getTurns(), arith::ConstantIndexOp::create(wb.b, wb.loc, 0));
      wb.assemble("{ .reg .b32 r; atom.relaxed.gpu.global.add.u32 r, [$0], 1; st.shared.b32 [$1], r; }",
                  "l,r,~{memory}", {address, shared});
    });
    wb.barrier();
    rewriter.replaceOp(op, wb.toIndex(wb.load(wb.b.getI32Type(), shared, 4)));
  }
}

LogicalResult KernelLowering::lowerAwaitOrder(AwaitOrderOp op) {
  Value address = getAddress(wb, op.getTurns(), op.getPlace()), turn = wb.fromIndex(op.getTurn());
  if (!order) { // all threads copy
    wb.when(isZero(wb, wb.thread), [&] { awaitCount(wb, address, turn); });
    wb.barrier();
    return success();
  }
  if (!op.getByProducer()) {
    order->ring.waitFor(wb, /*isEmpty=*/false);
    return success();
  }
  order->ring.fill(wb, [&](const SharedTile &, Value lane) {
    wb.when(isZero(wb, lane), [&] {
      passTurn();
      awaitCount(wb, address, turn);
    });
    wb.store(address, order->current, 8);
  });
  return success();
}

void KernelLowering::passTurn() {
  Value current = wb.load(LLVM::LLVMPointerType::get(wb.b.getContext()), order->current, 8);
  Value number = LLVM::PtrToIntOp::create(wb.b, wb.loc, wb.b.getI64Type(), current);
  Value isAny = arith::CmpIOp::create(wb.b, wb.loc, arith::CmpIPredicate::ne, number, wb.constant64(0));
  wb.when(isAny, [&] { countTurn(wb, current); });
}

LogicalResult KernelLowering::lowerPassOrder(PassOrderOp op) {
  if (order) {
    wb.syncWarp();
    order->ring.release(wb);
    return success();
  }
  wb.barrier();
  wb.when(isZero(wb, wb.thread), [&] { countTurn(wb, getAddress(wb, op.getTurns(), op.getPlace())); });
  return success();
}

LogicalResult KernelLowering::lowerExchange(ExchangeOp op) {
  const auto *factors = find<PackedWeights>(op.getInput(), op);
  std::optional<SharedTile> tile = findTile(op.getOutput());
  if (!factors || !tile)
    return failure();
  // Buffers of the exchange alternate.
  Value count = wb.load(wb.b.getI32Type(), exchanges, 4);
  wb.store(wb.add(count, 1), exchanges, 4);
  tile->stage = wb.multiply(wb.remainder(count, BlockLayout::kExchanges), tile->layout.getBytes());
  // A warp has 16 keys. Of the four matrices, matrix m has the queries from 8 (m / 2) and the keys from 8 (m % 2).
  Value thread = wb.readThread(), lane = wb.remainder(thread, wb.lanes), matrix = wb.divide(lane, 8);
  Value query = wb.add(wb.remainder(lane, 8), wb.multiply(wb.divide(matrix, 2), 8));
  Value chunk = wb.add(wb.multiply(wb.divide(thread, wb.lanes), 2), wb.remainder(matrix, 2));
  Values packed = factors->registers.getAll(wb, wb.b.getI32Type());
  for (size_t first = 0; first < packed.size(); first += 4)
    wb.storeMatrices(tile->at(wb, query, chunk, int64_t(first / 4) * kFragmentRows),
                     ArrayRef<Value>(packed).slice(first, 4), /*isTransposed=*/true);
  wb.publishToProducts();
  return success();
}

SharedTile KernelLowering::getExchanged(const SharedTile &tile) {
  SharedTile last = tile;
  Value count = wb.add(wb.load(wb.b.getI32Type(), exchanges, 4), -1);
  last.stage = wb.multiply(wb.remainder(count, BlockLayout::kExchanges), tile.layout.getBytes());
  return last;
}

LogicalResult KernelLowering::lowerAddRows(AddRowsOp op) {
  const auto *part = find<ScoreTile>(op.getInput(), op);
  if (!part)
    return failure();
  AffineMap map = cast<AffineMapAttr>(op.getMaps()[1]).getValue();
  unsigned rowDim = map.getNumDims() - 3, columnDim = map.getNumDims() - 1;
  GlobalView view(wb, op.getOutput(), map);
  if (!view.isContiguous(columnDim) || view.getRowAlignment(columnDim) < 2 * sizeof(float))
    return op.emitOpError("expected rows of f32 at multiples of 8 bytes");
  // With 64 rows, a group has half of the columns; with 128 rows, its own 64 rows.
  Value thread = wb.readThread(), lane = wb.remainder(thread, wb.lanes), warp = wb.divide(thread, wb.lanes);
  Value group = wb.divide(warp, kGroupWarps);
  Value row = wb.add(wb.multiply(wb.remainder(warp, kGroupWarps), kFragmentRows), wb.divide(lane, 4));
  Value column = wb.multiply(wb.remainder(lane, 4), 2);
  if (layout.exchange.layout.rows > kGroupRows)
    row = wb.add(row, wb.multiply(group, kGroupRows));
  else
    column = wb.add(column, wb.multiply(group, part->keyBlocks * kBlockColumns));
  Values values = part->values;
  for (int64_t half = 0; half < kThreadRows; ++half) {
    Value own = wb.add(row, half * 8);
    wb.when(wb.isLess(own, view.getSize(wb, rowDim)), [&] {
      Value address = view.getAddress(wb, view.getOffset(wb, {{rowDim, own}, {columnDim, column}}));
      for (int64_t block = 0; block < part->keyBlocks; ++block) {
        size_t first = part->at(0, block, half * 2);
        std::string text = "red.relaxed.gpu.global.add.v2.f32 [$0 + " +
                           std::to_string(block * kBlockColumns * sizeof(float)) + "], {$1, $2};";
        wb.assemble(text, "l,f,f,~{memory}", {address, values[first], values[first + 1]});
      }
    });
  }
  return success();
}
