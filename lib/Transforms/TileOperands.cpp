//===- TileOperands.cpp - operands of a tile ------------------------------===//
//
// Slices, packed and widened rows, pages, and regions in the positions of a tile.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TileBuilder.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

using State = TileBuilder::State;

/// Rows so far apart, or at a multiple of it, share a quarter of the sets of a first-level cache of 64 sets.
static constexpr int64_t kAliasBytes = 256, kLineBytes = 64;

/// Positions of the batch dimensions, then of `named`.
SmallVector<unsigned> TileBuilder::getPositions(ArrayRef<unsigned> named) {
  SmallVector<unsigned> positions = llvm::to_vector(llvm::seq<unsigned>(0, numBatch));
  positions.append(named.begin(), named.end());
  return positions;
}

AffineMap TileBuilder::getTileMap(ArrayRef<unsigned> named) {
  return AffineMap::getMultiDimMapWithTargets(domainSizes.size(), getPositions(named), b.getContext());
}

void TileBuilder::createFinalize(FinalizeOp finalize, const State &state, ValueRange outputs, Insert insert) {
  SmallVector<AffineMap> outputMaps(llvm::drop_begin(getMaps(finalize), 3)), tileMaps = getTileStateMaps();
  SmallVector<Slice> slices;
  SmallVector<Value> parts;
  for (auto [map, output] : llvm::zip(outputMaps, outputs)) {
    tileMaps.push_back(map);
    slices.push_back(getOutputSlice(map));
    parts.push_back(createSlice(b, loc, output, slices.back()));
  }
  auto tiled = FinalizeOp::create(b, loc, ValueRange(parts).getTypes(), state[0], state[1], state[2], parts[0],
                                  parts.size() > 1 ? parts[1] : Value(), /*cu_seqlens_q=*/Value(),
                                  b.getAffineMapArrayAttr(tileMaps));
  for (auto [value, output, slice] : llvm::zip(tiled->getResults(), outputs, slices))
    insert(value, output, slice);
}

SmallVector<AffineMap> TileBuilder::getTileStateMaps() {
  SmallVector<unsigned> kept = getPositions({queryPos, valuePos});
  AffineMap row = restrictDomain(getTileMap({queryPos}), kept);
  return {restrictDomain(getTileMap(getAccDims()), kept), row, row};
}

Slice TileBuilder::getSlice(AffineMap map) {
  Slice slice = getOperandSlice(b, loc, map, offsets, sizes);
  if (!queryStart)
    return slice;
  for (auto [expr, offset] : llvm::zip_equal(map.getResults(), slice.offsets)) {
    Value start = expr == b.getAffineDimExpr(queryPos) ? queryStart
                  : expr == b.getAffineDimExpr(keyPos) ? keyStart
                                                       : Value();
    if (start)
      offset = add(start, toValue(offset));
  }
  return slice;
}

Slice TileBuilder::getOutputSlice(AffineMap map) {
  // From the domain (batch…, query, value) to that of the step.
  SmallVector<AffineExpr> dims;
  for (unsigned position = 0; position <= numBatch; ++position)
    dims.push_back(b.getAffineDimExpr(position));
  dims.push_back(b.getAffineDimExpr(valuePos));
  return getSlice(map.replaceDimsAndSymbols(dims, {}, domainSizes.size(), 0));
}

/// A tile-sized tensor: 1 for each batch dimension but the heads of the tile, the schedule's query and key tile, whole
/// heads.
Value TileBuilder::emptyTile(ArrayRef<unsigned> dims, Type type) {
  SmallVector<int64_t> shape(numBatch, 1);
  if (numBatch > 0 && llvm::is_contained(dims, queryPos))
    shape.back() = headsPerTile;
  for (unsigned dim : dims)
    shape.push_back(dim == queryPos ? queryTile : dim == keyPos ? keyTile : *getConstantIntValue(domainSizes[dim]));
  return tensor::EmptyOp::create(b, loc, shape, type);
}

/// Like emptyTile, but rows of a multiple of kAliasBytes are a line further apart: down a column of the tile, lines
/// then fall on all sets of the first-level cache instead of a few.
Value TileBuilder::emptyPaddedTile(ArrayRef<unsigned> dims, Type type) {
  Value tile = emptyTile(dims, type);
  auto tileType = cast<RankedTensorType>(tile.getType());
  int64_t elementBytes = type.getIntOrFloatBitWidth() / 8;
  if (tileType.getShape().back() * elementBytes % kAliasBytes != 0)
    return tile;
  SmallVector<int64_t> shape(tileType.getShape());
  shape.back() += kLineBytes / elementBytes;
  tile.getDefiningOp()->erase();
  Value padded = tensor::EmptyOp::create(b, loc, shape, type);
  SmallVector<OpFoldResult> origin(shape.size(), b.getIndexAttr(0)), unit(shape.size(), b.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(b, loc, padded, origin,
                                        getAsIndexOpFoldResult(b.getContext(), tileType.getShape()), unit);
}

/// The first keys of a tile, as many as the current step has; `perIndex` of them lie under an index of `keyDim`.
Value TileBuilder::sliceKeys(Value tileTensor, unsigned keyDim, int64_t perIndex) {
  auto type = cast<RankedTensorType>(tileTensor.getType());
  OpFoldResult size =
      affine::makeComposedFoldedAffineApply(b, loc, b.getAffineDimExpr(0).ceilDiv(perIndex), {sizes[keyPos]});
  if (isConstantIntValue(size, type.getDimSize(keyDim)))
    return tileTensor;
  SmallVector<OpFoldResult> extent = tensor::getMixedSizes(b, loc, tileTensor);
  SmallVector<OpFoldResult> origin(extent.size(), b.getIndexAttr(0)), unit(extent.size(), b.getIndexAttr(1));
  extent[keyDim] = size;
  return tensor::ExtractSliceOp::create(b, loc, tileTensor, origin, extent, unit);
}

/// The slice of `operand` under the current tile, transposed from the dimensions `from` to `to` with padded rows.
Value TileBuilder::pack(Value operand, AffineMap map, ArrayRef<unsigned> from, ArrayRef<unsigned> to) {
  Value slice = createSlice(b, loc, operand, getSlice(map));
  Type type = getElementTypeOrSelf(operand.getType());
  // A boolean becomes a byte: vectors of i1 have no memory form. Q becomes what is multiplied.
  if (type.isInteger(1))
    type = b.getI8Type();
  else if (operand == step.getQuery())
    type = rowType;
  // Register kernels that are narrower than a tile walk down columns of Q^T.
  auto prefill = dyn_cast<PrefillAttr>(schedule);
  bool isPadded =
      operand == step.getQuery() && prefill && !usesPairs && prefill.getBlockVectors() * prefill.getLanes() < queryTile;
  Value target = isPadded ? emptyPaddedTile(to, type) : emptyTile(to, type);
  if (llvm::is_contained(to, keyPos))
    target = sliceKeys(target, numBatch + (llvm::find(to, keyPos) - to.begin()));
  SmallVector<unsigned> kept = getPositions(from);
  auto packed =
      PackOp::create(b, loc, target.getType(), slice, target,
                     b.getAffineMapArrayAttr({restrictDomain(map, kept), restrictDomain(getTileMap(to), kept)}));
  return packed->getResult(0);
}

/// Rows of K or V under the domain (batch…, row, column) of attn.pack: they have one batch index and head here.
AffineMap TileBuilder::getRowMap(AffineMap map, unsigned column) {
  SmallVector<AffineExpr> exprs;
  for (AffineExpr expr : map.getResults()) {
    AffineExpr position = b.getAffineConstantExpr(0);
    if (expr == b.getAffineDimExpr(keyPos))
      position = b.getAffineDimExpr(numBatch);
    else if (expr == b.getAffineDimExpr(column))
      position = b.getAffineDimExpr(numBatch + 1);
    exprs.push_back(position);
  }
  return AffineMap::get(numBatch + 2, 0, exprs, b.getContext());
}

/// The rows of K or V under the current keys: a view where they can be used as they lie, otherwise a tile that holds
/// them widened, or gathered from pages. Updates `map`.
Value TileBuilder::loadRows(Value operand, AffineMap &map, unsigned column) {
  auto gather = operand.getDefiningOp<GatherPagesOp>();
  Type type = getElementTypeOrSelf(operand.getType());
  Slice slice = getSlice(map);
  // A decode kernel of a CPU widens in registers, both K and V or none.
  if (!gather && (type == rowType || (isDecode && !isGpu && !gathersRows())))
    return createSlice(b, loc, operand, slice);
  if (gather && readsPages(gather, map))
    return loadPage(gather, slice, map, column);
  bool isPadded = !isDecode && !isGpu;
  Value tile = isPadded ? emptyPaddedTile({keyPos, column}, rowType) : emptyTile({keyPos, column}, rowType);
  Value target = sliceKeys(tile, numBatch);
  AffineMap tileMap = getTileMap({keyPos, column});
  if (headsPerTile > 1) // they share one head of the tile
    tileMap = tileMap.replace(b.getAffineDimExpr(numBatch - 1), b.getAffineConstantExpr(0), domainSizes.size(), 0);
  if (gather) {
    // The view is (batch, kv head, key, column), whatever the map makes of it.
    auto tiled = GatherPagesOp::create(b, loc, target.getType(), gather.getCache(), gather.getBlockTable(),
                                       gather.getLengths(), toValue(slice.offsets[0]), toValue(slice.offsets[1]),
                                       toValue(slice.offsets[2]), target, gather.getPageLayoutAttr());
    map = tileMap;
    return tiled->getResult(0);
  }
  auto packed =
      PackOp::create(b, loc, target.getType(), createSlice(b, loc, operand, slice), target,
                     b.getAffineMapArrayAttr({getRowMap(map, column), b.getMultiDimIdentityMap(numBatch + 2)}));
  map = tileMap;
  return packed->getResult(0);
}

bool TileBuilder::canReadPages(GatherPagesOp gather, AffineMap map) {
  Type type = getElementTypeOrSelf(gather.getCache().getType());
  // Pages that a prefill kernel of a CPU would have to widen are gathered, which widens them.
  bool isRead = isRowMajor || type == (usesPairs ? b.getBF16Type() : getAccumulationType(type));
  return isRead && gather.getPageSize() % keyTile == 0 && visitsOnly(step, gather, map);
}

/// True where K or V is gathered from its pages, which widens it: a decode kernel then finds the other one widened too.
bool TileBuilder::gathersRows() {
  auto isGathered = [&](Value operand, AffineMap map) {
    auto gather = operand.getDefiningOp<GatherPagesOp>();
    return gather && !canReadPages(gather, map);
  };
  return isGathered(step.getKey(), maps[1]) || isGathered(step.getValue(), maps[2]);
}

bool TileBuilder::readsPages(GatherPagesOp gather, AffineMap map) {
  bool isWide = isGpu || getElementTypeOrSelf(gather.getCache().getType()) == rowType;
  return canReadPages(gather, map) && (isWide || (isDecode && !gathersRows()));
}

/// True where the products read K or V in its pages.
bool TileBuilder::liesInPages(Value operand, AffineMap map) {
  auto gather = operand.getDefiningOp<GatherPagesOp>();
  return gather && readsPages(gather, map);
}

/// The rows of a key tile that lies in one page, where they are in the cache.
Value TileBuilder::loadPage(GatherPagesOp gather, const Slice &slice, AffineMap &map, unsigned column) {
  Value cache = gather.getCache();
  int64_t page = gather.getPageSize();
  CacheDims dims = gather.getCacheDims();
  // (batch, kv head, key, column) of the view that the operand is
  AffineExpr dim = b.getAffineDimExpr(0);
  Value entry = affine::makeComposedAffineApply(b, loc, dim.floorDiv(page), {slice.offsets[2]});
  OpFoldResult row = affine::makeComposedFoldedAffineApply(b, loc, dim % page, {slice.offsets[2]});
  Value number =
      tensor::ExtractOp::create(b, loc, gather.getBlockTable(), ValueRange{toValue(slice.offsets[0]), entry});
  number = arith::IndexCastOp::create(b, loc, b.getIndexType(), number);
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  AffineExpr first = b.getAffineConstantExpr(0);
  Slice inPage{dims.getPosition<OpFoldResult>(number, row, slice.offsets[1], zero),
               dims.getPosition<OpFoldResult>(one, slice.sizes[2], one, slice.sizes[3]),
               {one, one, one, one}};
  auto exprs = dims.getPosition(first, b.getAffineDimExpr(keyPos), first, b.getAffineDimExpr(column));
  map = AffineMap::get(domainSizes.size(), 0, exprs, b.getContext());
  return createSlice(b, loc, cache, inPage);
}

void TileBuilder::packQuery() {
  if (usesPairs) {
    Value slice = createSlice(b, loc, step.getQuery(), getSlice(maps[0]));
    packedQuery = packPairs(slice, restrictDomain(maps[0], getPositions({queryPos, headPos})), headPos, queryPos);
    return;
  }
  SmallVector<unsigned> rowMajor = {queryPos, headPos}, lanesInnermost = {headPos, queryPos};
  packedQuery = pack(step.getQuery(), maps[0], rowMajor, isRowMajor ? rowMajor : lanesInnermost);
}

State TileBuilder::initState(InitStateOp init, bool withStart) {
  Value acc = emptyTile(getAccDims(), stateType), max = emptyTile({queryPos}, stateType),
        sum = emptyTile({queryPos}, stateType);
  auto tiled = InitStateOp::create(b, loc, TypeRange{acc.getType(), max.getType(), sum.getType()}, acc, max, sum,
                                   b.getAffineMapArrayAttr(getTileStateMaps()));
  if (withStart)
    cloneRegion(init.getStart(), tiled.getStart(), tiled);
  return State(tiled.getResults());
}

/// A region in the positions of the current tile.
void TileBuilder::cloneRegion(Region &from, Region &to, Operation *before) {
  if (from.empty())
    return;
  IRMapping mapping;
  from.cloneInto(&to, mapping);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(before);
  // Lanes beyond the last row read what the last row reads: a captured tensor ends there.
  bool readsRows = false;
  to.walk([&](tensor::ExtractOp) { readsRows = true; });
  if (readsRows && !isConstantIntValue(rows, queryTile)) {
    Value lastRow = b.createOrFold<arith::SubIOp>(loc, endQuery, index(1));
    lastRow = b.createOrFold<arith::MaxSIOp>(loc, lastRow, index(0));
    SmallVector<IndexOp> queries;
    to.walk([&](IndexOp op) {
      if (op.getKind() == IndexKind::Query)
        queries.push_back(op);
    });
    for (IndexOp op : queries) {
      OpBuilder::InsertionGuard inside(b);
      b.setInsertionPointAfter(op);
      auto clamped = arith::MinSIOp::create(b, loc, op, lastRow);
      op.getResult().replaceAllUsesExcept(clamped, clamped);
    }
  }
  shiftIndex(b, to, offsets, step);
}
