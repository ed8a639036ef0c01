//===- LinearTile.cpp - tiles of linear attention and their sizes ---------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LinearTile.h"
#include "Matmul.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// Tokens of a chunk: more make triangles of it, fewer load and store the state more often. With a decay a channel the
/// triangles are computed token by token.
static constexpr int64_t kChunk = 32, kChannelChunk = 16;
/// A static number of tokens up to this is one chunk, with the state in place.
static constexpr int64_t kDirectTokens = 8;
/// Most bytes of a buffer on the stack.
static constexpr int64_t kStackBytes = 1024 * 1024;
/// Bytes of the states of a task.
static constexpr int64_t kStateBytes = 512 * 1024;

//===----------------------------------------------------------------------===//
// TileOps
//===----------------------------------------------------------------------===//

Tile TileOps::buffer(int64_t rows, int64_t columns) {
  auto memref = MemRefType::get({rows, columns}, type);
  IntegerAttr alignment = b.getI64IntegerAttr(kBufferAlignment);
  AffineMap map = b.getMultiDimIdentityMap(2);
  if (memref.getNumElements() * type.getWidth() / 8 > kStackBytes) // freed by the deallocation of a later pass
    return {memref::AllocOp::create(b, loc, memref, alignment), map};
  return {memref::AllocaOp::create(b, loc, memref, alignment), map};
}

Tile TileOps::part(const Tile &tile, OpFoldResult row, OpFoldResult rows, int64_t column, int64_t columns) {
  int64_t all = cast<MemRefType>(tile.memref.getType()).getDimSize(1);
  OpFoldResult one = b.getIndexAttr(1);
  Value memref = memref::SubViewOp::create(b, loc, tile.memref, {row, b.getIndexAttr(column)},
                                           {rows, b.getIndexAttr(columns < 0 ? all : columns)}, {one, one});
  return {memref, tile.map};
}

void TileOps::fill(const Tile &tile, double value) {
  linalg::FillOp::create(b, loc, createFloatConstant(b, loc, getElementTypeOrSelf(tile.memref.getType()), value),
                         tile.memref);
}

void TileOps::prefetch(const Tile &tile, OpFoldResult rows, int64_t columns, bool isWrite) {
  unsigned bits = getElementTypeOrSelf(tile.memref.getType()).getIntOrFloatBitWidth();
  auto touch = [&](Value row, Value column) {
    SmallVector<Value> indices;
    for (AffineExpr expr : tile.map.getResults())
      indices.push_back(expr == dim(0) ? row : expr == dim(1) ? column : index(0));
    memref::PrefetchOp::create(b, loc, tile.memref, indices, isWrite, /*localityHint=*/3, /*isDataCache=*/true);
  };
  loop(index(0), toValue(rows), 1, [&](Value row) {
    loop(index(0), index(columns), kBufferAlignment * 8 / bits, [&](Value column) { touch(row, column); });
  });
}

TileUse TileOps::dropConstants(const TileUse &use) {
  auto type = cast<MemRefType>(use.memref.getType());
  SmallVector<OpFoldResult> offsets, sizes, strides(type.getRank(), b.getIndexAttr(1));
  SmallVector<int64_t> kept;
  SmallVector<AffineExpr> exprs;
  for (auto [i, expr] : llvm::enumerate(use.map.getResults())) {
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    offsets.push_back(b.getIndexAttr(constant ? constant.getValue() : 0));
    sizes.push_back(constant ? b.getIndexAttr(1) : memref::getMixedSize(b, loc, use.memref, i));
    if (constant)
      continue;
    kept.push_back(type.getDimSize(i));
    exprs.push_back(expr);
  }
  if (exprs.size() == offsets.size())
    return use;
  MemRefType reduced = memref::SubViewOp::inferRankReducedResultType(kept, type, offsets, sizes, strides);
  Value view = memref::SubViewOp::create(b, loc, reduced, use.memref, offsets, sizes, strides);
  return {view, AffineMap::get(use.map.getNumDims(), 0, exprs, b.getContext())};
}

void TileOps::map(unsigned loops, bool isReduction, ArrayRef<TileUse> inputs, const TileUse &output,
                  function_ref<Value(OpBuilder &, ValueRange)> body) {
  SmallVector<utils::IteratorType> iterators(loops, utils::IteratorType::parallel);
  if (isReduction)
    iterators.back() = utils::IteratorType::reduction;
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  auto add = [&](const TileUse &use) {
    TileUse own = dropConstants(use);
    operands.push_back(own.memref);
    maps.push_back(AffineMap::get(loops, 0, own.map.getResults(), b.getContext()));
  };
  llvm::for_each(inputs, add);
  add(output);
  Value into = operands.pop_back_val();
  linalg::GenericOp::create(b, loc, TypeRange(), operands, into, maps, iterators,
                            [&](OpBuilder &nested, Location, ValueRange args) {
                              SmallVector<Value> elements;
                              for (Value arg : args)
                                elements.push_back(convertFloat(nested, loc, arg, type));
                              Value result = body(nested, elements);
                              result = convertFloat(nested, loc, result, args.back().getType());
                              linalg::YieldOp::create(nested, loc, result);
                            });
}

void TileOps::product(const TileUse &left, const TileUse &right, const TileUse &output) {
  map(3, /*isReduction=*/true, {left, right}, output, [&](OpBuilder &nested, ValueRange x) -> Value {
    return arith::AddFOp::create(nested, loc, x[2], arith::MulFOp::create(nested, loc, x[0], x[1]));
  });
}

void TileOps::loop(Value lower, Value upper, int64_t step, function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, loc, lower, upper, index(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// The heads of value that read one head of key.
static int64_t getGroup(LinearOp op, int64_t heads) {
  AffineExpr head = getKvHeadMap(op).getResult(0);
  bool isShared = isa<AffineConstantExpr>(head) && !ShapedType::isDynamic(heads);
  return isShared ? std::max<int64_t>(heads, 1) : getGroupSize(op);
}

/// True where a panel of the state is rows of contiguous columns in the type of the accumulation.
static bool isRowMajor(LinearOp op) {
  AffineMap map = getMaps(op).back();
  unsigned token = getNumBatchDims(op);
  ArrayRef<AffineExpr> last = map.getResults().take_back(2);
  return last.size() == 2 && last[0] == getAffineDimExpr(token + 1, op.getContext()) &&
         last[1] == getAffineDimExpr(token + 2, op.getContext());
}

void attn::cpu::enterIfSlot(TileOps &ops, Value slot) {
  Value hasSlot = arith::CmpIOp::create(ops.b, ops.loc, arith::CmpIPredicate::sge, slot, ops.index(0));
  auto branch = scf::IfOp::create(ops.b, ops.loc, hasSlot, /*withElseRegion=*/false);
  ops.b.setInsertionPointToStart(branch.thenBlock());
}

LinearShape::LinearShape(LinearOp op, const TargetInfo &target, std::optional<int64_t> tokens) {
  SmallVector<int64_t> domain = getStaticDomain(op);
  unsigned token = getNumBatchDims(op);
  bits = getElementTypeOrSelf(op.getState().getType()).getIntOrFloatBitWidth();
  keySize = domain[token + 1];
  valueSize = domain[token + 2];
  erasesOwn = bool(op.getErase());
  hasErase = erasesOwn || op.getBeta();
  hasChannels = op.hasChannelDecay();
  sets = op.getWrite() ? 2 : 1;
  // In f64 one token is a padded chunk: of the kernel in place, whose sums have one lane, LLVM 22.1 makes wrong code
  // for AVX-512 (its IR is right up to instruction selection).
  bool isInPlace = bits == 32 && tokens && *tokens > 0 && *tokens <= kDirectTokens && isRowMajor(op);
  chunk = hasChannels ? kChannelChunk : kChunk;
  if (tokens && *tokens > 0)
    chunk = std::min<int64_t>(chunk, isInPlace ? *tokens : llvm::alignTo(*tokens, kDirectTokens));
  setPanels(target);
  int64_t bytes = panels * panelColumns * keySize * bits / 8, group = token > 0 ? getGroup(op, domain[token - 1]) : 1;
  heads = group;
  while (heads > 1 && (heads * bytes > kStateBytes || group % heads != 0))
    --heads;
  if (isInPlace) {
    isDirect = true;
    panels = 1;
    panelColumns = valueSize;
  }
}

void LinearShape::setPanels(const TargetInfo &target) {
  isDirect = false;
  panelColumns = getPanelVectors(target, bits, valueSize) * target.getLanes(bits);
  panels = llvm::divideCeil(valueSize, panelColumns);
}
