//===- TileOperands.cpp - operands of a tile ------------------------------===//
//
// Slices, packed and widened rows, and pages.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TileBuilder.h"
#include "attn/Target/BlockLayout.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

/// Rows at a distance of kAliasBytes, or a multiple of it, share a quarter of the sets of an L1 cache of 64 sets.
static constexpr int64_t kAliasBytes = 256, kLineBytes = 64;
/// Bytes that a lane sums in a byte product.
static constexpr int64_t kByteDepth = 4;

/// Positions of the batch dimensions, then of `named`.
SmallVector<unsigned> attn::getPositions(const StepShape &s, ArrayRef<unsigned> named) {
  SmallVector<unsigned> positions = llvm::to_vector(llvm::seq<unsigned>(0, s.numBatch));
  positions.append(named.begin(), named.end());
  return positions;
}

AffineMap attn::getTileMap(const StepShape &s, ArrayRef<unsigned> named) {
  return AffineMap::getMultiDimMapWithTargets(s.domainSizes.size(), getPositions(s, named), s.loc.getContext());
}

SmallVector<unsigned, 2> attn::getAccDims(const TileShape &s) {
  return isRowMajor(s) ? SmallVector<unsigned, 2>{s.queryPos(), s.valuePos()}
                       : SmallVector<unsigned, 2>{s.valuePos(), s.queryPos()};
}

SmallVector<AffineMap> attn::getTileStateMaps(const TileShape &s) {
  SmallVector<unsigned> kept = getPositions(s, {s.queryPos(), s.valuePos()});
  AffineMap row = restrictDomain(getTileMap(s, {s.queryPos()}), kept);
  return {restrictDomain(getTileMap(s, getAccDims(s)), kept), row, row};
}

DomainTile::DomainTile(OpBuilder &b, ArrayRef<OpFoldResult> domainSizes, ValueRange batch)
    : offsets(batch.begin(), batch.end()), sizes(batch.size(), b.getIndexAttr(1)) {
  offsets.append(domainSizes.size() - batch.size(), b.getIndexAttr(0));
  llvm::append_range(sizes, domainSizes.drop_front(batch.size()));
}

scf::ForallOp attn::createParallelTiles(OpBuilder &b, Location loc, ArrayRef<OpFoldResult> bounds, ValueRange inits,
                                        ScheduleAttr schedule) {
  bool isSingle = llvm::all_of(bounds, [](OpFoldResult size) { return isConstantIntValue(size, 1); });
  if (!isSingle || !isa<BlockAttr>(schedule))
    return scf::ForallOp::create(b, loc, bounds, inits, std::nullopt);
  SmallVector<Attribute> blocks;
  for (size_t dim = 0; dim < bounds.size(); ++dim) {
    auto id = static_cast<gpu::MappingId>(static_cast<size_t>(gpu::MappingId::LinearDim0) + dim);
    blocks.push_back(gpu::GPUBlockMappingAttr::get(b.getContext(), id));
  }
  return scf::ForallOp::create(b, loc, bounds, inits, b.getArrayAttr(blocks));
}

void attn::insertInParallel(OpBuilder &b, scf::ForallOp forall, Value value, Value output, const Slice &slice) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(forall.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(b, forall.getLoc(), value, output, slice.offsets, slice.sizes, slice.strides);
}

Slice attn::getSlice(OpBuilder &b, Location loc, const DomainTile &at, AffineMap map) {
  Slice slice = getOperandSlice(b, loc, map, at.offsets, at.sizes);
  if (!at.queryStart)
    return slice;
  for (auto [expr, offset] : llvm::zip_equal(map.getResults(), slice.offsets)) {
    Value start = expr == b.getAffineDimExpr(at.queryPos()) ? at.queryStart
                  : expr == b.getAffineDimExpr(at.keyPos()) ? at.keyStart
                                                            : Value();
    if (start)
      offset = add(b, loc, start, toValue(b, loc, offset));
  }
  return slice;
}

Slice attn::getDimSlice(OpBuilder &b, Location loc, Value whole, unsigned dim, OpFoldResult offset, OpFoldResult size) {
  Slice slice;
  slice.sizes = tensor::getMixedSizes(b, loc, whole);
  slice.offsets.assign(slice.sizes.size(), b.getIndexAttr(0));
  slice.strides.assign(slice.sizes.size(), b.getIndexAttr(1));
  slice.offsets[dim] = offset;
  slice.sizes[dim] = size;
  return slice;
}

/// The same for a map over the domain of finalize.
static Slice getOutputSlice(OpBuilder &b, const TileShape &s, const TilePosition &at, AffineMap map) {
  // From the domain (batch…, query, value) to that of the step.
  SmallVector<AffineExpr> dims;
  for (unsigned position = 0; position <= s.numBatch; ++position)
    dims.push_back(b.getAffineDimExpr(position));
  dims.push_back(b.getAffineDimExpr(s.valuePos()));
  return getSlice(b, s, at, map.replaceDimsAndSymbols(dims, {}, s.domainSizes.size(), 0));
}

OutputSlices attn::sliceOutputs(OpBuilder &b, const TileShape &s, const TilePosition &at, FinalizeOp finalize,
                                ValueRange outputs) {
  OutputSlices result;
  result.maps = llvm::to_vector(llvm::drop_begin(getMaps(finalize), 3));
  for (auto [map, output] : llvm::zip_equal(result.maps, outputs)) {
    result.slices.push_back(getOutputSlice(b, s, at, map));
    result.parts.push_back(createSlice(b, s.step.getLoc(), output, result.slices.back()));
  }
  return result;
}

SmallVector<Value> attn::finalizeTile(OpBuilder &b, const TileShape &s, FinalizeOp finalize, const TileState &state,
                                      const OutputSlices &outputs) {
  SmallVector<AffineMap> tileMaps = getTileStateMaps(s);
  llvm::append_range(tileMaps, outputs.maps);
  llvm::StringMap<Value> byName;
  const SmallVector<OperandSpec> specs = getOperandSpecs(finalize);
  for (auto [part, spec] : llvm::zip(outputs.parts, ArrayRef(specs).drop_front(3)))
    byName[spec.name] = part;
  auto tiled =
      FinalizeOp::create(b, s.step.getLoc(), ValueRange(outputs.parts).getTypes(), state[0], state[1], state[2],
                         outputs.parts[0], byName.lookup("lse"), byName.lookup("max"), byName.lookup("log_sum"),
                         /*cu_seqlens_q=*/Value(), b.getAffineMapArrayAttr(tileMaps), finalize.getAccumulateAttr());
  return SmallVector<Value>(tiled->getResults());
}

void attn::createFinalize(OpBuilder &b, const TileShape &s, FinalizeOp finalize, const TileState &state,
                          ValueRange outputs, const OutputSlices &sliced, InsertFn insert) {
  for (auto [value, output, slice] :
       llvm::zip_equal(finalizeTile(b, s, finalize, state, sliced), outputs, sliced.slices))
    insert(value, output, slice);
}

void attn::createFinalize(OpBuilder &b, const TileShape &s, const TilePosition &at, FinalizeOp finalize,
                          const TileState &state, ValueRange outputs, InsertFn insert) {
  createFinalize(b, s, finalize, state, outputs, sliceOutputs(b, s, at, finalize, outputs), insert);
}

/// A tensor of a tile's size: 1 for each batch dimension except the tile's heads, the schedule's query and key tile,
/// and whole heads.
Value attn::emptyTile(OpBuilder &b, const TileShape &s, ArrayRef<unsigned> dims, Type type) {
  Location loc = s.step.getLoc();
  SmallVector<int64_t> shape(s.numBatch, 1);
  if (s.numBatch > 0 && llvm::is_contained(dims, s.queryPos()))
    shape.back() = getHeadsPerTile(s);
  for (unsigned dim : dims)
    shape.push_back(getTileSize(s, dim));
  return tensor::EmptyOp::create(b, loc, shape, type);
}

/// Like emptyTile, but rows of a multiple of kAliasBytes are padded by a line: lines of a column of the tile then map
/// to all sets of the L1 cache instead of a few.
static Value emptyPaddedTile(OpBuilder &b, const TileShape &s, ArrayRef<unsigned> dims, Type type) {
  Location loc = s.step.getLoc();
  Value tile = emptyTile(b, s, dims, type);
  auto tileType = cast<RankedTensorType>(tile.getType());
  int64_t elementBytes = type.getIntOrFloatBitWidth() / 8;
  if (tileType.getShape().back() * elementBytes % kAliasBytes != 0)
    return tile;
  SmallVector<int64_t> shape(tileType.getShape());
  shape.back() += kLineBytes / elementBytes;
  tile.getDefiningOp()->erase();
  Value padded = tensor::EmptyOp::create(b, loc, shape, type);
  OpFoldResult columns = b.getIndexAttr(tileType.getShape().back());
  return createSlice(b, loc, padded, getDimSlice(b, loc, padded, shape.size() - 1, b.getIndexAttr(0), columns));
}

/// The first keys of a tile, as many as the current step has; an index of `keyDim` covers `perIndex` of them.
Value attn::sliceKeys(OpBuilder &b, const TileShape &s, const TilePosition &at, Value tileTensor, unsigned keyDim,
                      int64_t perIndex) {
  Location loc = s.step.getLoc();
  OpFoldResult size =
      affine::makeComposedFoldedAffineApply(b, loc, b.getAffineDimExpr(0).ceilDiv(perIndex), {at.sizes[s.keyPos()]});
  return createSlice(b, loc, tileTensor, getDimSlice(b, loc, tileTensor, keyDim, b.getIndexAttr(0), size));
}

bool attn::takesDynamicRows(const TileShape &s) {
  if (isGpu(s) || (getConstantIntValue(s.domainSizes[s.queryPos()]) && !getPackedSequences(s.step)))
    return false;
  return isDecode(s) || (getQueryTile(s) > s.schedule.getLanes() && s.schedule.getInfo().keyMultiple == 1);
}

Value attn::sliceQueries(OpBuilder &b, const TileShape &s, const TilePosition &at, Value tileTensor, unsigned dim) {
  if (!takesDynamicRows(s))
    return tileTensor;
  Location loc = s.step.getLoc();
  SmallVector<OpFoldResult> extent = tensor::getMixedSizes(b, loc, tileTensor);
  SmallVector<OpFoldResult> origin(extent.size(), b.getIndexAttr(0)), unit(extent.size(), b.getIndexAttr(1));
  extent[dim] = at.rows;
  if (!isDecode(s)) {
    int64_t lanes = s.schedule.getLanes();
    Value vectors = affine::makeComposedAffineApply(b, loc, b.getAffineDimExpr(0).ceilDiv(lanes) * lanes, {at.rows});
    extent[dim] = b.createOrFold<arith::MinSIOp>(loc, index(b, loc, getQueryTile(s)), vectors);
  }
  return tensor::ExtractSliceOp::create(b, loc, tileTensor, origin, extent, unit);
}

/// The slice of `operand` in the current tile, transposed from the dimensions `from` to `to` with padded rows.
Value attn::pack(OpBuilder &b, const TileShape &s, const TilePosition &at, Value operand, AffineMap map,
                 ArrayRef<unsigned> from, ArrayRef<unsigned> to) {
  Location loc = s.step.getLoc();
  Value slice = createSlice(b, loc, operand, getSlice(b, s, at, map));
  Type type = getElementTypeOrSelf(operand.getType());
  // A boolean becomes a byte: vectors of i1 have no memory layout. Q gets the type of the products.
  if (type.isInteger(1))
    type = b.getI8Type();
  else if (operand == s.step.getQuery())
    type = s.rowType;
  // Register kernels that are narrower than a tile walk down columns of Q^T.
  auto prefill = dyn_cast<PrefillAttr>(s.schedule);
  bool isPadded = operand == s.step.getQuery() && prefill && !usesPairs(s) &&
                  prefill.getBlockVectors() * prefill.getLanes() < getTileSize(s, s.queryPos());
  Value target = isPadded ? emptyPaddedTile(b, s, to, type) : emptyTile(b, s, to, type);
  if (llvm::is_contained(to, s.keyPos()))
    target = sliceKeys(b, s, at, target, s.numBatch + (llvm::find(to, s.keyPos()) - to.begin()));
  if (isDecode(s) && llvm::is_contained(to, s.queryPos()))
    target = sliceQueries(b, s, at, target, s.numBatch + (llvm::find(to, s.queryPos()) - to.begin()));
  SmallVector<unsigned> kept = getPositions(s, from);
  auto packed =
      PackOp::create(b, loc, target.getType(), slice, target,
                     b.getAffineMapArrayAttr({restrictDomain(map, kept), restrictDomain(getTileMap(s, to), kept)}));
  return packed->getResult(0);
}

/// The map of rows of K or V over the domain (batch…, row, column) of attn.pack: they have one batch index and head
/// here.
AffineMap attn::getRowMap(const TileShape &s, AffineMap map, unsigned column) {
  Builder b(s.step.getContext());
  SmallVector<AffineExpr> exprs;
  for (AffineExpr expr : map.getResults()) {
    AffineExpr position = b.getAffineConstantExpr(0);
    if (expr == b.getAffineDimExpr(s.keyPos()))
      position = b.getAffineDimExpr(s.numBatch);
    else if (expr == b.getAffineDimExpr(column))
      position = b.getAffineDimExpr(s.numBatch + 1);
    exprs.push_back(position);
  }
  return AffineMap::get(s.numBatch + 2, 0, exprs, b.getContext());
}

static bool canReadPages(const TileShape &s, GatherPagesOp gather, AffineMap map) {
  Type type = getElementTypeOrSelf(gather.getCache().getType());
  // Pages that a prefill kernel of a CPU would have to widen are gathered, which widens them.
  bool isRead = isRowMajor(s) || type == (usesPairs(s) ? Type(s.rowType) : getAccumulationType(type));
  return isRead && gather.getPageSize() % getTileSize(s, s.keyPos()) == 0 && visitsOnly(s.step, gather, map);
}

/// True where K or V is gathered from its pages, which widens it: the other one is then widened too in a decode kernel.
static bool gathersRows(const TileShape &s) {
  auto isGathered = [&](Value operand, AffineMap map) {
    auto gather = operand.getDefiningOp<GatherPagesOp>();
    return gather && !canReadPages(s, gather, map);
  };
  return isGathered(s.step.getKey(), s.maps[1]) || isGathered(s.step.getValue(), s.maps[2]);
}

static bool readsPages(const TileShape &s, GatherPagesOp gather, AffineMap map) {
  bool isWide = isGpu(s) || getElementTypeOrSelf(gather.getCache().getType()) == s.rowType;
  return canReadPages(s, gather, map) && (isWide || (isDecode(s) && !gathersRows(s)));
}

/// True where the products read K or V in its pages.
bool attn::liesInPages(const TileShape &s, Value operand, AffineMap map) {
  auto gather = operand.getDefiningOp<GatherPagesOp>();
  return gather && readsPages(s, gather, map);
}

/// The element type of a tile of K or V: that of Q, or bytes that a kernel of a GPU keeps.
static Type getTileType(const TileShape &s) {
  Type type = getElementTypeOrSelf(s.step.getKey().getType());
  auto block = dyn_cast<BlockAttr>(s.schedule);
  if (!block || !isQuantised(type))
    return s.rowType;
  int64_t bytes = s.rowType.getIntOrFloatBitWidth() / 8;
  int64_t keyBytes =
      BlockLayout::getKeyBytes(getStaticSize(s.step, DimKind::HeadSize), getStaticSize(s.step, DimKind::ValueSize),
                               bytes, /*keyBytes=*/1, block.getInstruction().getInfo().readsPanels(), block.getWarps());
  return keyBytes < bytes ? type : Type(s.rowType);
}

/// True where rows of K or V are used in place.
bool attn::readsInPlace(const TileShape &s, Value operand, AffineMap map) {
  if (operand.getDefiningOp<GatherPagesOp>())
    return liesInPages(s, operand, map);
  // A decode kernel of a CPU widens in registers, either both K and V or neither.
  return getElementTypeOrSelf(operand.getType()) == getTileType(s) || (isDecode(s) && !isGpu(s) && !gathersRows(s));
}

/// The rows of a key tile within one page, at their place in the page cache.
static Value loadPage(OpBuilder &b, const TileShape &s, const TilePosition &at, GatherPagesOp gather,
                      const Slice &slice, AffineMap &map, unsigned column) {
  Location loc = s.step.getLoc();
  Value cache = gather.getCache();
  int64_t page = gather.getPageSize();
  CacheDims dims = gather.getCacheDims();
  // (batch, kv head, key, column) of the view that the operand is
  AffineExpr dim = b.getAffineDimExpr(0);
  Value entry = affine::makeComposedAffineApply(b, loc, dim.floorDiv(page), {slice.offsets[2]});
  OpFoldResult row = affine::makeComposedFoldedAffineApply(b, loc, dim % page, {slice.offsets[2]});
  Value number =
      tensor::ExtractOp::create(b, loc, gather.getBlockTable(), ValueRange{toValue(b, loc, slice.offsets[0]), entry});
  number = arith::IndexCastOp::create(b, loc, b.getIndexType(), number);
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  AffineExpr first = b.getAffineConstantExpr(0);
  Slice inPage{dims.getPosition<OpFoldResult>(number, row, slice.offsets[1], zero),
               dims.getPosition<OpFoldResult>(one, slice.sizes[2], one, slice.sizes[3]),
               {one, one, one, one}};
  auto exprs = dims.getPosition(first, b.getAffineDimExpr(s.keyPos()), first, b.getAffineDimExpr(column));
  map = AffineMap::get(s.domainSizes.size(), 0, exprs, b.getContext());
  return createSlice(b, loc, cache, inPage);
}

/// The rows of K or V for the current keys: a view where they can be used in place, otherwise a tile with their widened
/// or gathered elements (`tile`, or a new one). Updates `map`.
Value attn::loadRows(OpBuilder &b, const TileShape &s, const TilePosition &at, Value operand, AffineMap &map,
                     unsigned column, Value tile) {
  Location loc = s.step.getLoc();
  auto gather = operand.getDefiningOp<GatherPagesOp>();
  Slice slice = getSlice(b, s, at, map);
  if (readsInPlace(s, operand, map))
    return gather ? loadPage(b, s, at, gather, slice, map, column) : createSlice(b, loc, operand, slice);
  bool isPadded = !isDecode(s) && !isGpu(s);
  if (!tile)
    tile = isPadded ? emptyPaddedTile(b, s, {s.keyPos(), column}, s.rowType)
                    : emptyTile(b, s, {s.keyPos(), column}, getTileType(s));
  Value target = sliceKeys(b, s, at, tile, s.numBatch);
  AffineMap tileMap = getTileMap(s, {s.keyPos(), column});
  if (getHeadsPerTile(s) > 1) // they share one head of the tile
    tileMap = tileMap.replace(b.getAffineDimExpr(s.numBatch - 1), b.getAffineConstantExpr(0), s.domainSizes.size(), 0);
  if (gather) {
    // The view is (batch, kv head, key, column), independent of the map.
    auto tiled =
        GatherPagesOp::create(b, loc, target.getType(), gather.getCache(), gather.getBlockTable(), gather.getLengths(),
                              toValue(b, loc, slice.offsets[0]), toValue(b, loc, slice.offsets[1]),
                              toValue(b, loc, slice.offsets[2]), target, gather.getPageLayoutAttr(), IntegerAttr());
    map = tileMap;
    return tiled->getResult(0);
  }
  auto packed =
      PackOp::create(b, loc, target.getType(), createSlice(b, loc, operand, slice), target,
                     b.getAffineMapArrayAttr({getRowMap(s, map, column), b.getMultiDimIdentityMap(s.numBatch + 2)}));
  map = tileMap;
  return packed->getResult(0);
}

/// The integers of a decode tile's Q, after the floats.
static SmallVector<Value> packBytes(OpBuilder &b, const TileShape &s, Value rows) {
  Location loc = s.step.getLoc();
  SmallVector<int64_t> shape(cast<RankedTensorType>(rows.getType()).getShape());
  int64_t columns = llvm::alignTo(shape.pop_back_val(), kByteDepth * s.schedule.getLanes());
  Value scales = tensor::EmptyOp::create(b, loc, shape, b.getF32Type());
  Value sums = tensor::EmptyOp::create(b, loc, shape, b.getI32Type());
  shape.append({2, columns});
  Value digits = tensor::EmptyOp::create(b, loc, shape, b.getI8Type());
  SmallVector<Type> types = {digits.getType(), scales.getType(), sums.getType()};
  return SmallVector<Value>(PackBytesOp::create(b, loc, types, rows, digits, scales, sums)->getResults());
}

SmallVector<Value> attn::packQuery(OpBuilder &b, const TileShape &s, const TilePosition &at) {
  Location loc = s.step.getLoc();
  if (usesPairs(s)) {
    Value slice = createSlice(b, loc, s.step.getQuery(), getSlice(b, s, at, s.maps[0]));
    return {packPairs(b, s, at, slice, restrictDomain(s.maps[0], getPositions(s, {s.queryPos(), s.headPos()})),
                      s.headPos(), s.queryPos())};
  }
  SmallVector<unsigned> rowMajor = {s.queryPos(), s.headPos()}, lanesInnermost = {s.headPos(), s.queryPos()};
  SmallVector<Value> query = {
      pack(b, s, at, s.step.getQuery(), s.maps[0], rowMajor, isRowMajor(s) ? rowMajor : lanesInnermost)};
  if (s.schedule.getInfo().instruction == Instruction::Bytes)
    llvm::append_range(query, packBytes(b, s, query.front()));
  return query;
}

TileState attn::initState(OpBuilder &b, const TileShape &s, const TilePosition &at, InitStateOp init, bool withStart) {
  Location loc = s.step.getLoc();
  Value acc = emptyTile(b, s, getAccDims(s), s.stateType), max = emptyTile(b, s, {s.queryPos()}, s.stateType),
        sum = emptyTile(b, s, {s.queryPos()}, s.stateType);
  if (isDecode(s))
    for (Value *part : {&acc, &max, &sum})
      *part = sliceQueries(b, s, at, *part, s.numBatch);
  auto tiled = InitStateOp::create(b, loc, TypeRange{acc.getType(), max.getType(), sum.getType()}, acc, max, sum,
                                   b.getAffineMapArrayAttr(getTileStateMaps(s)));
  if (withStart)
    cloneRegion(b, s, at, init.getStart(), tiled.getStart(), tiled);
  return TileState(tiled.getResults());
}
