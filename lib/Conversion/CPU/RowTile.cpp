//===- RowTile.cpp - rows, lanes and their sums ---------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RowTile.h"
#include "attn/IR/Decompose.h"
#include "attn/Schedule/Schedule.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

TileRows::TileRows(VectorBuilder &vb, Operation *op) : vb(vb), numBatch(getNumBatchDims(op)) {
  SmallVector<int64_t> domain = getStaticDomain(op);
  queries = domain[numBatch];
  if (numBatch > 0)
    heads = domain[numBatch - 1];
  if (!ShapedType::isDynamic(queries))
    return;
  count = vb.multiply(getValueOrCreateConstantIndexOp(vb.b, vb.loc, getDomainSizes(vb.b, op)[numBatch]), heads);
  if (auto step = dyn_cast<OnlineStepOp>(op))
    queries = step.getSchedule()->getQueryTile();
}

Values TileRows::forEach(ValueRange init, function_ref<Values(Value, ValueRange)> body) const {
  return isStatic() ? vb.loop(getMaxCount(), 1, init, body) : vb.loop(vb.index(0), count, 1, init, body);
}

Value TileRows::getHead(Value row) const {
  if (heads == 1)
    return {};
  if (!isStatic())
    return vb.remainder(row, heads);
  return queries == 1 ? row : vb.divide(row, queries);
}

Value TileRows::getQuery(Value row) const {
  if (heads == 1)
    return row;
  if (!isStatic())
    return vb.divide(row, heads);
  return queries == 1 ? vb.index(0) : vb.remainder(row, queries);
}

Values TileRows::getDomain(Value row, ValueRange tail) const {
  Values domain(numBatch);
  if (numBatch > 0)
    domain.back() = getHead(row);
  domain.push_back(getQuery(row));
  domain.append(tail.begin(), tail.end());
  return domain;
}

Values attn::cpu::forEachVector(VectorBuilder &vb, int64_t columns, ValueRange init,
                                function_ref<Values(Value, Value, ValueRange)> body) {
  int64_t whole = columns / vb.lanes * vb.lanes;
  Values state(init);
  if (whole == vb.lanes)
    state = body(vb.index(0), Value(), state);
  else if (whole > 0)
    state = vb.loop(whole, vb.lanes, state,
                    [&](Value column, ValueRange carried) { return body(column, Value(), carried); });
  return columns > whole ? body(vb.index(whole), vb.getMask(columns - whole), state) : state;
}

/// The even (odd) ones of the units of `a` and then of `b`, in each group of lanes.
static Value takeUnits(VectorBuilder &vb, Value a, Value b, int64_t unit, int64_t group, bool odd) {
  SmallVector<int64_t> lanes;
  for (int64_t first = 0; first < vb.lanes; first += group)
    for (int64_t source : {int64_t(0), vb.lanes})
      for (int64_t u = odd; u < group / unit; u += 2)
        for (int64_t i = 0; i < unit; ++i)
          lanes.push_back(source + first + u * unit + i);
  return vector::ShuffleOp::create(vb.b, vb.loc, a, b, lanes);
}

/// A tree: each round adds neighbouring lanes of two vectors into one. First within 128 bits, where shuffles are cheap,
/// then across; n vectors of n lanes cost 2 (n - 1) shuffles and n - 1 additions.
Value attn::cpu::sumLanes(VectorBuilder &vb, Values vectors) {
  int64_t group = std::min<int64_t>(vb.lanes, 128 / vb.elementType.getWidth());
  for (int64_t width = 1; width < vb.lanes; width *= 2) {
    int64_t unit = width < group ? 1 : group, within = width < group ? group : vb.lanes;
    Values next;
    for (size_t i = 0; i < vectors.size(); i += 2) {
      Value even = takeUnits(vb, vectors[i], vectors[i + 1], unit, within, false);
      Value odd = takeUnits(vb, vectors[i], vectors[i + 1], unit, within, true);
      next.push_back(isa<FloatType>(getElementTypeOrSelf(even.getType()))
                         ? arith::AddFOp::create(vb.b, vb.loc, even, odd).getResult()
                         : arith::AddIOp::create(vb.b, vb.loc, even, odd).getResult());
    }
    vectors = std::move(next);
  }
  return vectors.front();
}

Value attn::cpu::reduceLanes(VectorBuilder &vb, Value vector, function_ref<Value(Value, Value)> combine) {
  for (int64_t distance = vb.lanes / 2; distance > 0; distance /= 2) {
    SmallVector<int64_t> lanes;
    for (int64_t i = 0; i < vb.lanes; ++i)
      lanes.push_back(i ^ distance);
    vector = combine(vector, vector::ShuffleOp::create(vb.b, vb.loc, vector, vector, lanes));
  }
  return vector;
}

Value attn::cpu::loadRowScalar(VectorBuilder &vb, const Operand &statistic, ArrayRef<Value> domain) {
  return vb.broadcast(
      memref::LoadOp::create(vb.b, vb.loc, statistic.memref, statistic.getIndices(vb, domain)).getResult());
}

void attn::cpu::storeRowScalar(VectorBuilder &vb, Value vector, const Operand &statistic, ArrayRef<Value> domain) {
  Value scalar = vector::ExtractOp::create(vb.b, vb.loc, vector, 0);
  memref::StoreOp::create(vb.b, vb.loc, scalar, statistic.memref, statistic.getIndices(vb, domain));
}

bool attn::cpu::isRowMajorState(Operation *op, Value acc, AffineMap map) {
  unsigned numBatch = getNumBatchDims(op), value = getDomainPosition(op, DimKind::ValueSize);
  return Operand{acc, map}.isInnermost(value) && !Operand{acc, map}.isInnermost(numBatch);
}

bool attn::cpu::usesByteDot(OnlineStepOp step) {
  return step.getSchedule()->getInfo().instruction == Instruction::Bytes;
}

/// K and V of a tile as the products of bytes read them.
static LogicalResult verifyByteOperands(OnlineStepOp op) {
  SmallVector<AffineMap> maps = getMaps(op);
  SmallVector<int64_t> domain = getStaticDomain(op);
  unsigned head = getNumBatchDims(op) + 2;
  for (auto [number, position] : {std::pair(1u, head), std::pair(2u, head + 1)}) {
    Operand operand{op->getOperand(number), maps[number]};
    if (!getElementTypeOrSelf(operand.memref.getType()).isInteger(8) || !operand.isInnermost(position) ||
        domain[position] % TargetInfo::kByteDotColumns != 0 || domain[position] > TargetInfo::kMaxByteDotSum)
      return op.emitOpError("expected K and V of int8 for products of bytes, columns innermost, a multiple of ")
             << TargetInfo::kByteDotColumns << " and at most " << TargetInfo::kMaxByteDotSum << ", found "
             << operand.memref.getType() << "; run attn-tile";
  }
  return success();
}

/// Checks that AMX tiles can multiply Q, K and V of a tile; 8-bit K and V are widened.
static LogicalResult verifyTileOperands(OnlineStepOp op) {
  SmallVector<AffineMap> maps = getMaps(op);
  SmallVector<int64_t> domain = getStaticDomain(op);
  unsigned numBatch = getNumBatchDims(op), head = numBatch + 2;
  for (auto [number, position] : {std::pair(0u, head), std::pair(1u, head), std::pair(2u, head + 1)}) {
    Operand operand{op->getOperand(number), maps[number]};
    Type type = getElementTypeOrSelf(operand.memref.getType());
    if (!(type.isBF16() || (number > 0 && isQuantised(type))) || !operand.isInnermost(position) ||
        domain[position] % TargetInfo::kTileDepth != 0)
      return op.emitOpError("expected Q, K and V of bf16, or K and V of 8 bits, columns innermost, a multiple of ")
             << TargetInfo::kTileDepth << ", for products by tiles, found " << operand.memref.getType()
             << "; run attn-tile";
  }
  int64_t queries = domain[numBatch], heads = numBatch > 0 ? domain[numBatch - 1] : 1;
  if (ShapedType::isDynamic(queries) || queries * heads % TargetInfo::kTileRows != 0 || !op.getMoreKeys().empty())
    return op.emitOpError("expected keys of one segment and a static number of rows, a multiple of ")
           << TargetInfo::kTileRows << ", for products by tiles";
  return success();
}

LogicalResult attn::cpu::verifyDecodeStep(OnlineStepOp op) {
  auto type = cast<FloatType>(getElementTypeOrSelf(op.getAcc().getType()));
  ScheduleAttr schedule = *op.getSchedule();
  SmallVector<int64_t> domain = getStaticDomain(op);
  unsigned numBatch = getNumBatchDims(op);
  for (auto [position, size] : llvm::enumerate(domain)) {
    bool isKeys = position == numBatch + 1, isQueries = position == numBatch, isBatch = position + 1 < numBatch;
    if ((ShapedType::isDynamic(size) && !isKeys && !isQueries) || (isBatch && size != 1))
      return op.emitOpError("expected a decode tile of one batch index, of static size but for its keys and queries; "
                            "run attn-tile");
  }
  if (ShapedType::isDynamic(domain[numBatch]) && usesByteDot(op))
    return op.emitOpError("expected a static number of queries for products of bytes, found a dynamic one; write "
                          "instruction = fma");
  if (failed(verifyTileKeys(op)))
    return failure();
  int64_t queries = ShapedType::isDynamic(domain[numBatch]) ? schedule.getQueryTile() : domain[numBatch];
  int64_t block = cast<DecodeAttr>(schedule).getKeyBlock(queries * (numBatch > 0 ? domain[numBatch - 1] : 1));
  int64_t segments = op.getKeySegments().size(), rows = domain[numBatch + 1];
  if (segments > 1 && (segments != block || ShapedType::isDynamic(rows)))
    return op.emitOpError("expected keys of one segment, or of ")
           << block << ", as many as a block of products has keys, of static size, found " << segments;
  if (usesByteDot(op) && op.getQueryBytes().empty())
    return op.emitOpError("expected query_bytes for products of bytes; run attn-tile");
  SmallVector<AffineMap> maps = getMaps(op);
  bool usesPairs = schedule.getInfo().depth == 2, usesTiles = schedule.getInfo().keyMultiple > 1;
  if ((usesByteDot(op) && failed(verifyByteOperands(op))) || (usesTiles && failed(verifyTileOperands(op))))
    return failure();
  for (unsigned number = 0; usesPairs && number < 3; ++number) {
    Operand operand{op->getOperand(number), maps[number]};
    if (!getElementTypeOrSelf(operand.memref.getType()).isBF16() ||
        !operand.isInnermost(numBatch + (number == 2 ? 3 : 2)))
      return op.emitOpError("expected Q, K and V of bf16, columns innermost, for products of pairs, found ")
             << operand.memref.getType() << "; run attn-tile";
  }
  if ((!usesPairs && !usesTiles && getElementTypeOrSelf(op.getQuery().getType()) != type) ||
      !Operand{op.getQuery(), maps[0]}.isInnermost(numBatch + 2) ||
      !Operand{op.getAcc(), maps[maps.size() - 3]}.isInnermost(numBatch + 3))
    return op.emitOpError("expected Q of the type of the state, ") << type << ", and columns innermost; run attn-tile";
  return success();
}
