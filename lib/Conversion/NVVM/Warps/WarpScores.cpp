//===- WarpScores.cpp - attn.map_scores for a block of warps --------------===//
//
// A thread has a few scores of a few rows, and the code of each is scalar. What depends only on the row is the same for
// all of its scores; LLVM's CSE finds it.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WarpScores.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

ScoreTile::ScoreTile(WarpBuilder &wb, Operation *op) : fragments(wb.warpRows / kFragmentRows) {
  OpFoldResult count = getDomainSizes(wb.b, op)[getDomainPosition(op, DimKind::Key)];
  // With a known number of keys, round up only to the depth of the second product's instruction.
  int64_t depth = kFragmentRows, keys = getConstantIntValue(count).value_or(wb.keyTile);
  keyBlocks = llvm::alignTo(keys, depth) / kBlockColumns;
  bool isWhole = getConstantIntValue(count) && keys % depth == 0;
  keyCount = isWhole ? Value() : wb.fromIndex(count);
  hasPadding = !isWhole;
}

void ScoreTile::forEach(WarpBuilder &wb, function_ref<void(size_t i, int64_t row, Value key)> body) const {
  for (int64_t fragment = 0; fragment < fragments; ++fragment)
    for (int64_t keyBlock = 0; keyBlock < keyBlocks; ++keyBlock)
      for (int64_t element = 0; element < kFragmentElements; ++element)
        body(at(fragment, keyBlock, element), TileState::rowIndex(fragment, element / 2),
             wb.add(wb.multiply(wb.quadLane, 2), keyBlock * kBlockColumns + element % 2));
}

ScorePositions::ScorePositions(WarpBuilder &wb, Operation *op, const ScoreTile &tile, const ScoreFunctions &functions,
                               RowKind rowKind, const OperandTiles &operands)
    : wb(wb), functions(functions), rowKind(rowKind), tileRows(wb, op), columnCount(tile.keyCount) {
  for (auto [view, operand, inShared] :
       {std::tuple(&bias, functions.bias, &operands.bias), {&mask, functions.mask, &operands.mask}})
    if (operand.value && !*inShared)
      *view = GlobalView(wb, operand.value, operand.map);
  bool hasKeys = rowKind == RowKind::Keys;
  unsigned rowDim = tileRows.numBatch + (hasKeys ? 1 : 0);
  if (int64_t keys = getStaticSize(op, DimKind::Key); hasKeys && !ShapedType::isDynamic(keys) && keys < wb.blockRows)
    lastKey = keys - 1;
  for (int64_t i = 0; i < tile.fragments * kThreadRows; ++i) {
    Value row = wb.add(wb.add(wb.firstRow, wb.quad), i / kThreadRows * kFragmentRows + i % kThreadRows * 8);
    auto [head, position] = hasKeys ? std::pair(Value(), row) : tileRows.split(wb, row);
    // Where operands have fewer rows than the tile, rows beyond the end use the last one.
    for (const GlobalView *view : {&bias, &mask})
      if (*view && position && view->getStride(rowDim) &&
          view->getStaticSize(rowDim) != (hasKeys ? wb.blockRows : tileRows.queries)) {
        position = wb.minimum(position, wb.add(view->getSize(wb, rowDim), -1));
        break;
      }
    rows.push_back({head, position});
  }
  biases = operands.bias ? loadTile(tile, *operands.bias, getElementTypeOrSelf(functions.bias.value.getType()))
                         : loadPairs(tile, bias);
  masks = operands.mask ? loadTile(tile, *operands.mask, wb.b.getI1Type()) : loadPairs(tile, mask);
  drawKept(tile);
}

Value ScorePositions::getAddress(const GlobalView &view, const Row &at, Value column) const {
  unsigned queryDim = tileRows.numBatch;
  auto [query, key] = rowKind == RowKind::Keys ? std::pair(column, at.position) : std::pair(at.position, column);
  SmallVector<std::pair<unsigned, Value>> indices = {{queryDim, query}, {queryDim + 1, key}};
  if (at.head)
    indices.push_back({queryDim - 1, at.head});
  return view.getAddress(wb, view.getOffset(wb, indices));
}

/// The type of an element in memory: a boolean is a byte.
static Type getLoadedType(const GlobalView &view) {
  Type type = view.getElementType();
  return type.isInteger(1) ? IntegerType::get(type.getContext(), 8) : type;
}

/// The two bf16 or f16 of a register. LLVM takes two instructions to widen the second bf16, and one to copy both for a
/// comparison.
static std::array<Value, 2> splitFloats(WarpBuilder &wb, Value pair, Type type) {
  if (type.isBF16()) {
    auto asFloat = [&](Value bits) -> Value { return LLVM::BitcastOp::create(wb.b, wb.loc, wb.b.getF32Type(), bits); };
    return {asFloat(arith::ShLIOp::create(wb.b, wb.loc, pair, wb.constant(16))),
            asFloat(arith::AndIOp::create(wb.b, wb.loc, pair, wb.constant(int32_t(0xffff0000))))};
  }
  Value vector = LLVM::BitcastOp::create(wb.b, wb.loc, VectorType::get({2}, type), pair);
  return {vector::ExtractOp::create(wb.b, wb.loc, vector, 0), vector::ExtractOp::create(wb.b, wb.loc, vector, 1)};
}

Values ScorePositions::loadTile(const ScoreTile &tile, const SharedTile &operand, Type type) const {
  Values elements(tile.values.size());
  if (!type.isInteger(1)) { // a matrix of ldmatrix lies as a half of an accumulator
    MatrixReader reader(wb, operand, wb.firstRow);
    for (int64_t fragment = 0; fragment < tile.fragments; ++fragment)
      for (int64_t keyBlock = 0; keyBlock < tile.keyBlocks; keyBlock += 2)
        for (auto [n, pair] :
             llvm::enumerate(reader.load(wb, fragment * kFragmentRows, keyBlock, /*isTransposed=*/false)))
          llvm::copy(splitFloats(wb, pair, type), &elements[tile.at(fragment, keyBlock + n / 2, n % 2 * 2)]);
    return elements;
  }
  // Bytes: two of a row, tested where they lie.
  Value row = wb.add(wb.firstRow, wb.quad), inBlock = wb.multiply(wb.quadLane, 2);
  for (int64_t fragment = 0; fragment < tile.fragments; ++fragment)
    for (int64_t keyBlock = 0; keyBlock < tile.keyBlocks; ++keyBlock)
      for (int64_t half = 0; half < kThreadRows; ++half) {
        int64_t column = keyBlock * kBlockColumns, rowsBelow = fragment * kFragmentRows + half * 8;
        Value chunk = operand.at(wb, row, wb.constant(column / kChunkBytes), rowsBelow);
        Value offset = wb.add(inBlock, column % kChunkBytes);
        Value address = LLVM::GEPOp::create(wb.b, wb.loc, chunk.getType(), wb.b.getI8Type(), chunk, offset);
        Value both = arith::ExtUIOp::create(wb.b, wb.loc, wb.b.getI32Type(), wb.load(wb.b.getI16Type(), address, 2));
        for (int64_t element : {0, 1})
          elements[tile.at(fragment, keyBlock, half * 2 + element)] =
              arith::AndIOp::create(wb.b, wb.loc, both, wb.constant(0xff << (8 * element)));
      }
  return elements;
}

Values ScorePositions::loadPairs(const ScoreTile &tile, const GlobalView &view) const {
  unsigned keyDim = tileRows.numBatch + 1;
  std::optional<int64_t> count = columnCount ? getConstantIntValue(columnCount) : 2; // of whole tiles, even
  if (!view || rowKind == RowKind::Keys || !view.isContiguous(keyDim) || !count || *count % 2 != 0 ||
      view.getRowAlignment(keyDim) < 2 * view.getElementBytes())
    return {};
  auto pairType = VectorType::get({2}, getLoadedType(view));
  Values elements(tile.values.size());
  tile.forEach(wb, [&](size_t i, int64_t row, Value column) {
    if (i % 2 != 0)
      return;
    if (columnCount) // columns out of range read what the last ones read
      column = wb.minimum(column, wb.constant(*count - 2));
    Value pair = wb.load(pairType, getAddress(view, rows[row], column), 2 * view.getElementBytes());
    for (int64_t element : {0, 1})
      elements[i + element] = vector::ExtractOp::create(wb.b, wb.loc, pair, element);
  });
  return elements;
}

/// The thread's row `row`, and a column.
class ScorePositions::Position : public ScorePosition {
public:
  Position(const ScorePositions &all, size_t i, int64_t row, Value column)
      : ScorePosition(all.wb.b, all.wb.loc, all.wb.b.getF32Type()), wb(all.wb), all(all), i(i), row(all.rows[row]),
        column(column) {
    if (all.functions.bias.value)
      flags = arith::FastMathFlags::contract;
  }

  Value load(const ScoreOperand &operand) override;
  Value evaluate(Region &region, ValueRange arguments) override;

private:
  /// Columns out of range read what the last one reads.
  Value clampColumn() { return all.columnCount ? wb.minimum(column, wb.add(all.columnCount, -1)) : column; }
  /// (query, key); `columnValue` is one of them.
  std::pair<Value, Value> getPosition(const Row &at, Value columnValue) {
    return all.rowKind == RowKind::Keys ? std::pair(columnValue, at.position) : std::pair(at.position, columnValue);
  }

  WarpBuilder &wb;
  const ScorePositions &all;
  size_t i; ///< of the tile
  const Row &row;
  Value column;
};

Value ScorePositions::Position::load(const ScoreOperand &operand) {
  bool isBias = operand.value == all.functions.bias.value;
  const GlobalView &view = isBias ? all.bias : all.mask;
  const Values &elements = isBias ? all.biases : all.masks;
  if (!elements.empty())
    return convert(elements[i], type);
  Value address = all.getAddress(view, row, clampColumn());
  return convert(wb.load(getLoadedType(view), address, view.getElementBytes()), type);
}

Value ScorePositions::Position::evaluate(Region &region, ValueRange arguments) {
  bool readsMemory = false;
  region.walk([&](memref::LoadOp) { readsMemory = true; });
  Row there = row;
  if (readsMemory && all.lastKey) // rows out of range read what the last one reads
    there.position = wb.minimum(row.position, wb.constant(*all.lastKey));
  auto [query, key] = getPosition(there, readsMemory ? clampColumn() : column);
  auto resolve = [&, query = query, key = key](IndexOp index) -> Value {
    switch (index.getKind()) {
    case IndexKind::Key: return key;
    case IndexKind::Query: return query;
    case IndexKind::Head: return row.head;
    default: return Value();
    }
  };
  return evaluateRegion(wb, region, arguments, resolve, all.getKept(i));
}

Value ScorePositions::evaluateScore(size_t i, int64_t row, Value column, Value score) const {
  Position at(*this, i, row, column);
  return attn::evaluateScore(at, functions, score);
}

Value ScorePositions::evaluateWeight(size_t i, int64_t row, Value column, Value weight) const {
  Position at(*this, i, row, column);
  return attn::evaluateWeight(at, functions, weight);
}

Value ScorePositions::evaluate(Region &region, size_t i, int64_t row, Value column, ValueRange arguments) const {
  Position at(*this, i, row, column);
  return at.evaluate(region, arguments);
}

LogicalResult KernelLowering::lowerMapScores(MapScoresOp op) {
  const auto *input = find<ScoreTile>(op.getInput(), op);
  if (!input)
    return failure();
  ScoreTile tile = *input;
  ScoreFunctions functions = ScoreFunctions::of(op);
  OperandTiles operands;
  for (auto [inShared, operand] :
       {std::pair(&operands.bias, functions.bias.value), {&operands.mask, functions.mask.value}})
    if (const TileRing *ring = operand ? findRing(operand) : nullptr)
      *inShared = ring->getTile(wb);
  ScorePositions positions(wb, op, tile, functions, RowKind::Queries, operands);
  tile.forEach(wb, [&](size_t i, int64_t row, Value key) {
    Value &s = tile.values[i];
    s = positions.evaluateScore(i, row, key, s);
    if (tile.hasPadding)
      s = wb.select(wb.isLess(key, tile.keyCount), s, wb.real(-std::numeric_limits<double>::infinity()));
  });
  tile.hasPadding = false;
  lowered[op.getResults().front()] = std::move(tile);
  return success();
}
