//===- WarpState.cpp - init_state, merge_states and finalize of a block ---===//
//
// The state is in the registers of the threads from the first step to the last. The state of a key split is stored to
// memory at the end of the block, and another kernel merges it.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Producer.h"
#include "WarpScores.h"
#include "attn/IR/Decompose.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>
#include <numbers>

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

static constexpr double kLog2e = std::numbers::log2e, kLn2 = std::numbers::ln2;
static const double kMinusInf = -std::numeric_limits<double>::infinity();

static Value isFirstOfQuad(WarpBuilder &wb) {
  return arith::CmpIOp::create(wb.b, wb.loc, arith::CmpIPredicate::eq, wb.quadLane, wb.constant(0));
}

Value KernelLowering::getRow(int64_t fragment, int64_t half) {
  return wb.add(wb.add(wb.firstRow, wb.quad), fragment * kFragmentRows + half * 8);
}

TileState KernelLowering::createSums(int64_t columns) {
  TileState sums;
  sums.fragments = wb.warpRows / kFragmentRows;
  sums.valueBlocks = llvm::divideCeil(columns / wb.columnGroups, kBlockColumns);
  // Rows of panels, and of f32, have whole pairs of blocks.
  if (wb.instruction.readsPanels() || !wb.instruction.takesNarrow)
    sums.valueBlocks = llvm::alignTo(sums.valueBlocks, 2);
  sums.isInterleaved = llvm::any_of(tiles, [](const auto &each) { return bool(each.second.bytes); });
  sums.acc = RegisterArray(wb, kernel.getBody().front(), sums.fragments * sums.valueBlocks * kFragmentElements);
  return sums;
}

FailureOr<TileState> KernelLowering::findState(Value acc, Value rowMax, Value rowSum, Operation *op) {
  const auto *found = find<TileState>(acc, op);
  const auto *max = find<RegisterArray>(rowMax, op), *sum = find<RegisterArray>(rowSum, op);
  if (!found || !max || !sum)
    return failure();
  TileState state = *found;
  state.max = *max;
  state.sum = *sum;
  return state;
}

LogicalResult KernelLowering::lowerInitState(InitStateOp op) {
  TileRows rows(wb, op);
  if (rows.count() > wb.blockRows)
    return op.emitOpError("expected at most ")
           << wb.blockRows << " rows, those of the schedule's block, found " << rows.count();
  if (!isInRegisters(op.getAcc().getType()))
    return op.emitOpError("expected a state in registers; run attn-tiles-to-registers");
  TileState state = createSums(getStaticSize(op, DimKind::ValueSize));
  state.max = RegisterArray(wb, kernel.getBody().front(), state.fragments * kThreadRows);
  state.sum = RegisterArray(wb, kernel.getBody().front(), state.fragments * kThreadRows);
  lowered[op.getResult(0)] = state;
  lowered[op.getResult(1)] = state.max;
  lowered[op.getResult(2)] = state.sum;
  for (int64_t fragment = 0; fragment < state.fragments; ++fragment) {
    for (int64_t i = 0; i < state.valueBlocks * kFragmentElements; ++i)
      state.acc.set(wb, state.accIndex(fragment, 0, i), wb.real(0));
    for (int64_t half = 0; half < kThreadRows; ++half) {
      Value max = wb.real(kMinusInf), sum = wb.real(0);
      if (!op.getStart().empty()) {
        // m = start, l = (m == -inf) ? 0 : 1, in one thread of the quad
        auto [head, query] = rows.split(wb, getRow(fragment, half));
        Value start = evaluateRegion(wb, op.getStart(), {}, [&, head = head, query = query](IndexOp index) {
          return index.getKind() == IndexKind::Query ? query : index.getKind() == IndexKind::Head ? head : Value();
        });
        max = wb.convert(start, wb.b.getF32Type());
        Value isFirst = isFirstOfQuad(wb);
        Value counts = wb.select(isFirst, wb.real(1), wb.real(0));
        sum = wb.select(wb.isEqual(max, kMinusInf), wb.real(0), counts);
      }
      state.max.set(wb, TileState::rowIndex(fragment, half), max);
      state.sum.set(wb, TileState::rowIndex(fragment, half), sum);
    }
  }
  return success();
}

LogicalResult KernelLowering::lowerStoreState(StoreStateOp op) {
  FailureOr<TileState> found = findState(op.getAcc(), op.getRowMax(), op.getRowSum(), op);
  if (failed(found))
    return failure();
  const TileState &state = *found;
  SmallVector<AffineMap> maps = attn::getMaps(op);
  TileRows rows(wb, op);
  GlobalView acc(wb, op.getOutputAcc(), maps[3]), max(wb, op.getOutputMax(), maps[4]),
      sum(wb, op.getOutputSum(), maps[5]);
  int64_t columns = getStaticSize(op, DimKind::ValueSize) / wb.columnGroups;
  Value isFirst = wb.both(wb.isFirstColumnGroup(), isFirstOfQuad(wb));
  // Two interleaved pairs are four columns.
  int64_t pairs = state.isInterleaved ? 2 : 1;
  auto type = VectorType::get({2 * pairs}, wb.b.getF32Type());
  for (int64_t fragment = 0; fragment < state.fragments; ++fragment)
    for (int64_t half = 0; half < kThreadRows; ++half) {
      Value row = getRow(fragment, half), l = wb.quadSum(state.sum.get(wb, TileState::rowIndex(fragment, half)));
      Value isInside = rows.isInside(wb, acc, row);
      wb.when(isInside, [&] {
        wb.when(isFirst, [&] {
          wb.store(state.max.get(wb, TileState::rowIndex(fragment, half)),
                   max.getAddress(wb, rows.getOffset(wb, max, row)), 4);
          wb.store(l, sum.getAddress(wb, rows.getOffset(wb, sum, row)), 4);
        });
        Value start = rows.getOffset(wb, acc, row);
        for (int64_t block = 0; block * kBlockColumns < columns; block += pairs) {
          Value column = wb.placeInGroups(state.getPairColumn(wb, block), columns);
          Values elements;
          for (int64_t i = 0; i < 2 * pairs; ++i)
            elements.push_back(state.acc.get(wb, state.pairIndex(fragment, half, block + i / 2, i % 2)));
          Value all = vector::FromElementsOp::create(wb.b, wb.loc, type, elements);
          auto store = [&] { wb.store(all, acc.getAddress(wb, wb.add(start, wb.widen(column))), 8 * pairs); };
          bool isWhole = (block + 1) * kBlockColumns <= columns;
          wb.when(isWhole ? Value() : wb.isLess(column, wb.constant(columns)), store);
        }
      });
    }
  return success();
}

LogicalResult KernelLowering::lowerMergeStates(MergeStatesOp op) {
  FailureOr<TileState> found = findState(op.getAcc(), op.getRowMax(), op.getRowSum(), op);
  if (failed(found))
    return failure();
  const TileState &state = *found;
  SmallVector<AffineMap> maps = getMaps(op);
  TileRows rows(wb, op);
  GlobalView acc(wb, op.getOtherAcc(), maps[0]), max(wb, op.getOtherMax(), maps[1]), sum(wb, op.getOtherSum(), maps[2]);
  int64_t columns = getStaticSize(op, DimKind::ValueSize);
  auto pair = VectorType::get({2}, wb.b.getF32Type());
  for (int64_t fragment = 0; fragment < state.fragments; ++fragment)
    for (int64_t half = 0; half < kThreadRows; ++half) {
      if (fragment * kFragmentRows + half * 8 >= rows.count())
        continue; // no warp has such a row
      int64_t i = TileState::rowIndex(fragment, half);
      Value row = getRow(fragment, half);
      // Rows beyond the last one count as the last one, and are not stored. Without a branch, loads of a key split
      // start before the previous one is merged.
      bool areThere = acc.getStaticSize(rows.numBatch) == rows.queries;
      wb.when(areThere ? Value() : rows.isInside(wb, acc, row), [&] {
        Value other = wb.load(wb.b.getF32Type(), max.getAddress(wb, rows.getOffset(wb, max, row)), 4);
        Value otherSum = wb.load(wb.b.getF32Type(), sum.getAddress(wb, rows.getOffset(wb, sum, row)), 4);
        Value old = state.max.get(wb, i), largest = wb.maxf(old, other);
        Value finite = wb.select(wb.isEqual(largest, kMinusInf), wb.real(0), largest);
        auto factor = [&](Value m) { return wb.exp2(wb.mulf(wb.subf(m, finite), wb.real(kLog2e))); };
        Value mine = factor(old), theirs = factor(other);
        Value isFirst = isFirstOfQuad(wb);
        Value added = wb.select(isFirst, wb.mulf(theirs, otherSum), wb.real(0));
        state.max.set(wb, i, largest);
        state.sum.set(wb, i, wb.addf(wb.mulf(mine, state.sum.get(wb, i)), added));
        Value start = rows.getOffset(wb, acc, row);
        for (int64_t block = 0; block * kBlockColumns < columns; ++block) {
          Value column = wb.add(wb.multiply(wb.quadLane, 2), block * kBlockColumns);
          bool isWhole = (block + 1) * kBlockColumns <= columns;
          wb.when(isWhole ? Value() : wb.isLess(column, wb.constant(columns)), [&] {
            Value both = wb.load(pair, acc.getAddress(wb, wb.add(start, wb.widen(column))), 8);
            for (int64_t e = 0; e < 2; ++e) {
              int64_t place = state.accIndex(fragment, block, 2 * half + e);
              Value x = vector::ExtractOp::create(wb.b, wb.loc, both, ArrayRef<int64_t>{e});
              state.acc.set(wb, place, wb.addf(wb.mulf(mine, state.acc.get(wb, place)), wb.mulf(theirs, x)));
            }
          });
        }
      });
    }
  return success();
}

/// True where a wait always precedes `op`: Q has arrived, for all threads.
static bool waitsBefore(Operation *op) {
  for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode()) {
    if (isa<WaitOp>(before))
      return true;
    auto loop = dyn_cast<scf::ForOp>(before);
    std::optional<APInt> trips = loop ? loop.getStaticTripCount() : std::nullopt;
    if (trips && trips->sgt(0) && !loop.getBody()->getOps<WaitOp>().empty())
      return true;
  }
  return false;
}

/// Waits until each warp may overwrite the tile of Q in its rows. Where output rows are laid out as those of Q
/// (`sharesRows`), their readers are the warp itself, or the warps that multiply together.
static void waitForReaders(WarpBuilder &wb, bool sharesRows) {
  if (!sharesRows)
    return wb.barrier();
  int64_t warps = wb.instruction.warps;
  if (warps == 1)
    return wb.syncWarp();
  Value id = wb.add(wb.divide(wb.warp, warps), kFirstGroupBarrier);
  NVVM::BarrierOp::create(wb.b, wb.loc, Type(), id, wb.constant(warps * wb.lanes), NVVM::BarrierReductionAttr(),
                          Value());
}

namespace {
/// A thread's part of a row of a finished state: two elements of each block of columns.
struct FinishedRow {
  const TileState &state;
  int64_t fragment, half;
  Value row, l, isEmpty, inverse;

  FinishedRow(WarpBuilder &wb, const TileState &state, int64_t fragment, int64_t half, Value row)
      : state(state), fragment(fragment), half(half), row(row),
        l(wb.quadSum(state.sum.get(wb, TileState::rowIndex(fragment, half)))), isEmpty(wb.isEqual(l, 0)),
        inverse(arith::DivFOp::create(wb.b, wb.loc, wb.real(1), l)) {}

  /// (l == 0) ? 0 : acc / l, by one division a row
  Value getQuotient(WarpBuilder &wb, int64_t pair, int64_t e) const {
    Value x = wb.mulf(state.acc.get(wb, state.pairIndex(fragment, half, pair, e)), inverse);
    return wb.select(isEmpty, wb.real(0), x);
  }
};
} // namespace

/// Stores the row to shared memory, as pairs of 16-bit elements.
static void stageRow(WarpBuilder &wb, const FinishedRow &finished, const SharedTile &staged, int64_t columns,
                     Type type) {
  for (int64_t pair = 0; pair * kBlockColumns < columns; ++pair) {
    Value packed = wb.packPair(finished.getQuotient(wb, pair, 0), finished.getQuotient(wb, pair, 1), type);
    Value column = wb.placeInGroups(finished.state.getPairColumn(wb, pair), columns);
    Value place = staged.at(wb, finished.row, wb.divide(column, kBlockColumns));
    place = LLVM::GEPOp::create(wb.b, wb.loc, place.getType(), wb.b.getI32Type(), place,
                                ArrayRef<LLVM::GEPArg>{wb.divide(wb.remainder(column, kBlockColumns), 2)});
    wb.store(packed, place, 4);
  }
}

/// Stores a fragment in panels to shared memory, given its upper and lower rows of the thread.
static void stageFragment(WarpBuilder &wb, ArrayRef<FinishedRow> halves, const SharedTile &staged, int64_t columns,
                          Type type) {
  MatrixReader blocks(wb, staged, wb.firstRow);
  for (int64_t pair = 0; pair * kBlockColumns < columns; pair += 2) {
    Values matrices;
    for (int64_t block : {pair, pair + 1})
      for (const FinishedRow &row : halves)
        matrices.push_back(wb.packPair(row.getQuotient(wb, block, 0), row.getQuotient(wb, block, 1), type));
    blocks.store(wb, halves.front().fragment * kFragmentRows, pair, matrices);
  }
}

/// Stores the row element by element to global memory.
static void storeRow(WarpBuilder &wb, const FinishedRow &finished, const TileRows &rows, const GlobalView &output,
                     int64_t columns) {
  Value start = rows.getOffset(wb, output, finished.row);
  for (int64_t block = 0; block * kBlockColumns < columns; ++block)
    for (int64_t e = 0; e < 2; ++e) {
      Value column = wb.add(wb.placeInGroups(finished.state.getPairColumn(wb, block), columns), e);
      bool isWhole = (block + 1) * kBlockColumns <= columns;
      wb.when(isWhole ? Value() : wb.isLess(column, wb.constant(columns)), [&] {
        Value x = wb.convert(finished.getQuotient(wb, block, e), output.getElementType());
        Value offset = wb.add(start, output.getOffset(wb, {{rows.numBatch + 1, column}}));
        wb.store(x, output.getAddress(wb, offset), output.getElementBytes());
      });
    }
}

/// (l == 0) ? -inf : m + ln l, or one of its terms
static void storeRowResult(WarpBuilder &wb, const FinishedRow &finished, const TileRows &rows, RowResult kind,
                           const GlobalView &view) {
  Value max = finished.state.max.get(wb, TileState::rowIndex(finished.fragment, finished.half)), value = max;
  if (kind != RowResult::Max) {
    value = wb.mulf(wb.log2(finished.l), wb.real(kLn2));
    value = kind == RowResult::Lse ? wb.addf(max, value) : value;
  }
  value = wb.select(finished.isEmpty, wb.real(kMinusInf), value);
  wb.store(wb.convert(value, view.getElementType()), view.getAddress(wb, rows.getOffset(wb, view, finished.row)),
           view.getElementBytes());
}

/// Copies the rows of a warp from shared to global memory, 16 bytes per thread: of its columns.
static void storeStagedRows(WarpBuilder &wb, const SharedTile &staged, const TileRows &rows, const GlobalView &output) {
  int64_t chunks = staged.layout.usedChunks / wb.columnGroups, total = wb.warpRows * chunks, lanes = wb.lanes;
  auto vectorType = VectorType::get({kChunkBytes / 4}, wb.b.getI32Type());
  for (int64_t first = 0; first < total; first += lanes) {
    Value index = wb.add(wb.lane, first), row = wb.add(wb.firstRow, wb.divide(index, chunks)),
          chunk = wb.placeInGroups(wb.remainder(index, chunks), chunks), isInside = rows.isInside(wb, output, row);
    if (first + lanes > total) {
      Value isThere = wb.isLess(index, wb.constant(total));
      isInside = isInside ? wb.both(isInside, isThere) : isThere;
    }
    wb.when(isInside, [&] {
      Value piece = wb.load(vectorType, staged.at(wb, row, chunk), kChunkBytes);
      Value offset = wb.add(rows.getOffset(wb, output, row), wb.widen(wb.multiply(chunk, kChunkBytes / 2)));
      wb.store(piece, output.getAddress(wb, offset), output.getRowAlignment(rows.numBatch + 1));
    });
  }
}

LogicalResult KernelLowering::lowerStore(CopyOp op, const SharedTile &tile) {
  if (!op.getTensorMap() || !op.getFirst())
    return op.emitOpError("expected box, and from with the first row of the warp, beside a tile in shared memory");
  wb.publishToProducts();
  wb.syncWarp();
  auto store = [&] {
    Value first = tile.getAddress(wb, wb.multiply(wb.fromIndex(op.getFirst()), tile.layout.getPitch()));
    copyPanels(wb, tile.layout, first, op.getTensorMap(), getBegin(wb, op), getElementBytes(op.getOutput().getType()),
               /*barrier=*/Value());
    wb.assemble("cp.async.bulk.commit_group;", "~{memory}", {});
  };
  Value isWhole = arith::CmpIOp::create(wb.b, wb.loc, arith::CmpIPredicate::eq, wb.lane, wb.constant(0));
  if (readsMemory(op.getOutput())) {
    // A box knows no end in memory: of a warp whose rows contain it, the lanes store those in front of it.
    SmallVector<AffineMap> maps = attn::getMaps(op);
    TileRows rows(getRoot(op.getInput()), maps[0], tile.layout.rows);
    GlobalView output(wb, op.getOutput(), maps[1]);
    Value last = wb.add(wb.firstRow, wb.warpRows - 1), size = output.getSize(wb, rows.numBatch);
    isWhole = wb.both(isWhole, wb.isLess(last, size));
    wb.when(wb.isLess(size, wb.add(last, 1)), [&] { storeStagedRows(wb, tile, rows, output); });
  }
  wb.when(isWhole, store);
  return success();
}

void attn::nvvm::waitForStores(WarpBuilder &wb) {
  wb.assemble("cp.async.bulk.wait_group.read 0;", "~{memory}", {});
  wb.syncWarp();
}

LogicalResult KernelLowering::lowerFinalize(FinalizeOp op) {
  FailureOr<TileState> found = findState(op.getAcc(), op.getRowMax(), op.getRowSum(), op);
  if (failed(found))
    return failure();
  const TileState &state = *found;
  SmallVector<AffineMap> maps = getMaps(op);
  TileRows rows(wb, op);
  // The tile of the output is copied behind this op.
  std::optional<SharedTile> ownTile = findTile(op.getOutput());
  GlobalView output = ownTile ? GlobalView() : GlobalView(wb, op.getOutput(), maps[3]);
  Type type = getElementTypeOrSelf(op.getOutput().getType());
  int64_t allColumns = getStaticSize(op, DimKind::ValueSize), columns = allColumns / wb.columnGroups;
  // 16-bit rows are staged in shared memory, so that each thread stores 16 bytes: in the place of Q, which the last
  // step has read by then, or in front of the stages of Q.
  SharedTile staged;
  staged.layout = SharedTileLayout(wb.blockRows, allColumns, 2, wb.instruction.readsPanels());
  bool isStaged = ownTile || (type.getIntOrFloatBitWidth() == 16 && output.isContiguous(rows.numBatch + 1) &&
                              columns % (kChunkBytes / 2) == 0 && layout.bytes > 0);
  if (ownTile) {
    staged = *ownTile;
    waitForStores(wb);
  } else if (isStaged) {
    bool isThere = !rings.empty() || waitsBefore(op);
    if (!isThere)
      wb.waitForCopies(0); // for Q, if there was no key to multiply with
    if (layout.queryOffset != 0)
      wb.syncWarp(); // its lanes have read what they staged of the tile before
    else
      waitForReaders(wb, isThere && !wb.columnGroup && staged.layout.getPitch() == layout.query.getPitch());
  }
  SmallVector<std::pair<RowResult, GlobalView>, 0> results;
  for (auto [map, result] : llvm::zip_equal(ArrayRef(maps).drop_front(4), getRowResults(op)))
    results.emplace_back(result.first, GlobalView(wb, result.second, map));
  Value isFirst = wb.both(wb.isFirstColumnGroup(), isFirstOfQuad(wb));
  for (int64_t fragment = 0; fragment < state.fragments; ++fragment) {
    SmallVector<FinishedRow, 0> halves;
    for (int64_t half = 0; half < kThreadRows; ++half) {
      FinishedRow finished(wb, state, fragment, half, getRow(fragment, half));
      halves.push_back(finished);
      if (isStaged && !ownTile)
        stageRow(wb, finished, staged, columns, type);
      if (!isStaged)
        wb.when(rows.isInside(wb, output, finished.row), [&] { storeRow(wb, finished, rows, output, columns); });
      if (!results.empty())
        wb.when(wb.both(rows.isInside(wb, results.front().second, finished.row), isFirst), [&] {
          for (const auto &[kind, view] : results)
            storeRowResult(wb, finished, rows, kind, view);
        });
    }
    if (ownTile)
      stageFragment(wb, halves, staged, columns, type);
  }
  if (isStaged && !ownTile) {
    wb.syncWarp();
    storeStagedRows(wb, staged, rows, output);
  }
  return success();
}
