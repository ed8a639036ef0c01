//===- SharedBuffers.cpp - buffers that become tiles in shared memory -----===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PipelineCopies.h"

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
