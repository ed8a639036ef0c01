//===- LayerVerifiers.cpp - constraints of the ops around attention -------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Attn.h"

using namespace mlir;
using namespace attn;

/// C11 of the ops without indexing maps: all tensors with a result of the output's type, or all memrefs with none.
static LogicalResult verifyForm(Operation *op, Value output) {
  bool isTensor = isa<RankedTensorType>(output.getType());
  for (Value operand : op->getOperands())
    if (isa<ShapedType>(operand.getType()) && isa<RankedTensorType>(operand.getType()) != isTensor)
      return op->emitOpError("C11: expected operands that are all tensors or all memrefs, found both");
  if (op->getNumResults() != (isTensor ? 1u : 0u))
    return op->emitOpError("C11: expected ")
           << (isTensor ? "one result" : "no results") << ", found " << op->getNumResults();
  if (isTensor && op->getResult(0).getType() != output.getType())
    return op->emitOpError("C11: expected a result of its output's type ")
           << output.getType() << ", found " << op->getResult(0).getType();
  return success();
}

static bool isInteger32(Value value, int64_t rank) {
  auto type = cast<ShapedType>(value.getType());
  return type.getRank() == rank && type.getElementType().isInteger(32);
}

LogicalResult GatherPagesOp::verify() {
  if (failed(verifyForm(*this, getOutput())))
    return failure();
  auto cache = cast<ShapedType>(getCache().getType()), output = cast<ShapedType>(getOutput().getType());
  if (cache.getRank() != 4)
    return emitOpError("C17: expected a cache of 4 dimensions in the order of page_layout, found ") << cache;
  if (!isInteger32(getBlockTable(), 2) || !isInteger32(getLengths(), 1))
    return emitOpError("C17: expected block_table of two dimensions and lengths of one, of i32, found ")
           << getBlockTable().getType() << " and " << getLengths().getType();
  if (output.getRank() != 4)
    return emitOpError("C17: expected an output (B, Hkv, Sk, D), found ") << output;
  if (getBatch())
    return success(); // a tile
  bool rowsFirst = getPageLayout() == PageLayout::NHD;
  int64_t page = cache.getDimSize(rowsFirst ? 1 : 2), heads = cache.getDimSize(rowsFirst ? 2 : 1);
  auto differ = [](int64_t x, int64_t y) { return !ShapedType::isDynamic(x) && !ShapedType::isDynamic(y) && x != y; };
  auto table = cast<ShapedType>(getBlockTable().getType());
  if (ShapedType::isDynamic(page) || ShapedType::isDynamic(heads) || ShapedType::isDynamic(cache.getDimSize(3)))
    return emitOpError("C17: expected a static page size, heads and head size, found ") << cache;
  if (page < 1)
    return emitOpError("C17: expected a page size of at least 1, found ") << page;
  if (differ(output.getDimSize(0), table.getDimSize(0)) || differ(output.getDimSize(1), heads) ||
      differ(output.getDimSize(3), cache.getDimSize(3)) ||
      differ(table.getDimSize(0), cast<ShapedType>(getLengths().getType()).getDimSize(0)))
    return emitOpError("C17: expected an output (B, Hkv, Sk, D) of the cache ")
           << cache << " and the block_table " << table << ", found " << output;
  if (!ShapedType::isDynamic(output.getDimSize(2)) && !ShapedType::isDynamic(table.getDimSize(1)) &&
      output.getDimSize(2) > table.getDimSize(1) * page)
    return emitOpError("C17: expected at most ")
           << table.getDimSize(1) * page << " keys, the pages of block_table times the page size, found "
           << output.getDimSize(2);
  return success();
}

LogicalResult KvAppendOp::verify() { return verifyForm(*this, getOutput()); }

LogicalResult MultiHeadOp::verify() { return verifyForm(*this, getOutput()); }
