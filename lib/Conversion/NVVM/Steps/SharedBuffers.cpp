//===- SharedBuffers.cpp - buffers that become tiles in shared memory -----===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PipelineCopies.h"
#include "mlir/IR/IRMapping.h"
#include <map>

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

bool attn::nvvm::isInSharedMemory(Value memref) {
  auto space = dyn_cast_or_null<gpu::AddressSpaceAttr>(cast<MemRefType>(memref.getType()).getMemorySpace());
  return space && space.getValue() == gpu::AddressSpace::Workgroup;
}

Value attn::nvvm::createSharedTile(OpBuilder &b, Location loc, ArrayRef<int64_t> shape, Type type) {
  auto space = gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  return memref::AllocOp::create(b, loc, MemRefType::get(shape, type, MemRefLayoutAttrInterface(), space));
}

Value attn::nvvm::getPartOfTile(OpBuilder &b, Location loc, Value tile, ArrayRef<OpFoldResult> sizes) {
  auto type = cast<MemRefType>(tile.getType());
  bool isWhole = llvm::all_of(llvm::zip_equal(sizes, type.getShape()),
                              [](auto pair) { return isConstantIntValue(std::get<0>(pair), std::get<1>(pair)); });
  if (isWhole)
    return tile;
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)), strides(type.getRank(), b.getIndexAttr(1));
  return memref::SubViewOp::create(b, loc, tile, offsets, sizes, strides);
}

/// The destination of a pack or gather.
static OpOperand &getFilled(Operation *fill) { return cast<DestinationStyleOpInterface>(fill).getDpsInitsMutable()[0]; }

/// The pack or gather that fills the operand's rows: the last one before its op. Null without one.
static Operation *findFill(OpOperand &operand) {
  Value buffer = getRoot(operand.get());
  Operation *op = operand.getOwner();
  auto isFound = [&] { return isa<PackOp, GatherPagesOp>(op) && getRoot(getFilled(op).get()) == buffer; };
  while (!isFound()) {
    op = op->getPrevNode() ? op->getPrevNode() : op->getParentOp();
    if (isa<gpu::GPUFuncOp>(op))
      return nullptr;
  }
  return op;
}

/// Clones `view` for the buffer that `mapping` has in place of its own.
static Value cloneView(RewriterBase &b, Value view, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(view))
    return known;
  auto op = view.getDefiningOp<ViewLikeOpInterface>();
  cloneView(b, op.getViewSource(), mapping);
  b.setInsertionPointAfter(op);
  return b.clone(*op, mapping)->getResult(0);
}

LogicalResult attn::nvvm::separateBuffers(RewriterBase &b, ArrayRef<TileUse> uses) {
  llvm::DenseMap<Value, unsigned> owners;
  SmallVector<std::pair<TileUse, Operation *>> moved;
  llvm::SmallSetVector<Operation *, 8> kept, replaced;
  for (TileUse use : uses) {
    Value buffer = getRoot(use.operand->get());
    if (!isBuffer(buffer.getDefiningOp()))
      continue;
    Operation *fill = findFill(*use.operand);
    bool isOwner = owners.try_emplace(buffer, use.tile).first->second == use.tile;
    if (!isOwner && !fill)
      return use.operand->getOwner()->emitOpError("expected its operands in tiles of their own; run attn-tile");
    (isOwner ? kept : replaced).insert(fill);
    if (!isOwner)
      moved.push_back({use, fill});
  }
  llvm::DenseMap<unsigned, IRMapping> mappings; // per tile: from buffers of others, and their views, to its own
  std::map<std::pair<Operation *, unsigned>, Operation *> fills;
  for (auto [use, fill] : moved) {
    IRMapping &mapping = mappings[use.tile];
    Operation *buffer = getRoot(use.operand->get()).getDefiningOp();
    if (!mapping.contains(buffer->getResult(0))) {
      b.setInsertionPointAfter(buffer);
      b.clone(*buffer, mapping);
    }
    use.operand->set(cloneView(b, use.operand->get(), mapping));
    Operation *&own = fills[{fill, use.tile}];
    if (own)
      continue;
    Value tile = cloneView(b, getFilled(fill).get(), mapping);
    b.setInsertionPointAfter(fill);
    own = b.clone(*fill);
    getFilled(own).set(tile);
  }
  for (Operation *fill : replaced)
    if (!kept.contains(fill))
      b.eraseOp(fill);
  return success();
}

static void replaceViews(RewriterBase &b, Value from, Value to) {
  for (OpOperand &use : llvm::make_early_inc_range(from.getUses())) {
    auto view = dyn_cast<memref::SubViewOp>(use.getOwner());
    if (!view) {
      use.set(to);
      continue;
    }
    b.setInsertionPoint(view);
    Value moved = memref::SubViewOp::create(b, view.getLoc(), to, view.getMixedOffsets(), view.getMixedSizes(),
                                            view.getMixedStrides());
    replaceViews(b, view, moved);
    b.eraseOp(view);
  }
}

void attn::nvvm::moveBuffer(RewriterBase &b, Value buffer, Value tile) {
  Operation *allocation = buffer.getDefiningOp();
  b.setInsertionPoint(allocation);
  SmallVector<OpFoldResult> sizes = memref::getMixedSizes(b, allocation->getLoc(), buffer);
  replaceViews(b, buffer, getPartOfTile(b, allocation->getLoc(), tile, sizes));
  b.eraseOp(allocation);
}
