//===- PackParts.cpp - packs of elements as parts of bf16 ----------------===//
//
// Rows are split into parts. Packs of parts, as pairs or columns, are packs of bf16
// (StateTile.cpp), part by part.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "VectorTile.h"

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// The dimension of the parts of an operand that has some.
static unsigned getPartsDim(const Operand &operand) {
  for (auto [i, expr] : llvm::enumerate(operand.map.getResults()))
    if (isa<AffineConstantExpr>(expr) && operand.getSize(i) != 1)
      return i;
  llvm_unreachable("an operand with parts");
}

/// Splits the elements of rows into parts; parts of missing rows are 0.
static LogicalResult splitRows(RewriterBase &rewriter, PackOp op, const TargetInfo &target) {
  SmallVector<AffineMap> maps = getMaps(op);
  unsigned numBatch = getNumBatchDims(op);
  Operand input{op.getInput(), maps[0]}, output{op.getOutput(), maps[1]};
  int64_t columns = getStaticSize(op, DimKind::HeadSize), parts = getNumParts(output.memref, output.map);
  unsigned partsDim = getPartsDim(output);
  VectorBuilder vb(rewriter, op.getLoc(), target, rewriter.getF32Type());
  Type type = getElementTypeOrSelf(input.memref.getType());
  if (!isa<FloatType>(type) || type.getIntOrFloatBitWidth() > vb.elementType.getWidth() ||
      ShapedType::isDynamic(columns) || !output.isInnermost(numBatch + 1) || !getNumRows(vb, input, numBatch))
    return op.emitOpError(
        "expected rows of floats, of a static size and at most 32 bits, and parts of bf16 with columns "
        "innermost; run attn-tile");
  TransposeSide from = getSide(vb, input, numBatch), to = getSide(vb, output, numBatch);
  auto store = [&](Value row, Value column, ValueRange values) {
    Values indices = to.getIndices(row, column);
    for (auto [part, value] : llvm::enumerate(values)) {
      indices[partsDim] = vb.index(part);
      if (isa<VectorType>(value.getType()))
        vb.store(value, output.memref, indices);
      else
        memref::StoreOp::create(rewriter, vb.loc, value, output.memref, indices);
    }
  };
  /// body(column, whether it is the first of a vector)
  auto forEachColumn = [&](function_ref<void(Value, bool)> body) {
    int64_t whole = from.columnsContiguous ? columns / vb.lanes * vb.lanes : 0;
    for (bool isVector : {true, false})
      vb.loop(vb.index(isVector ? 0 : whole), vb.index(isVector ? whole : columns), isVector ? vb.lanes : 1, {},
              [&](Value column, ValueRange) {
                body(column, isVector);
                return Values();
              });
  };
  Value rows = getNumRows(vb, input, numBatch), all = getNumRows(vb, output, numBatch);
  vb.loop(vb.index(0), rows, 1, {}, [&](Value row, ValueRange) {
    forEachColumn([&](Value column, bool isVector) {
      Values at = from.getIndices(row, column);
      Value element =
          isVector ? vb.load(input.memref, at) : memref::LoadOp::create(rewriter, vb.loc, input.memref, at).getResult();
      Values values = vb.splitParts(vb.convert(element, vb.elementType), parts);
      for (Value &value : values)
        value = vb.getUpperHalf(value);
      store(row, column, values);
    });
    return Values();
  });
  vb.loop(rows, all, 1, {}, [&](Value row, ValueRange) {
    forEachColumn([&](Value column, bool isVector) {
      Type type = isVector ? Type(VectorType::get({vb.lanes}, rewriter.getBF16Type())) : rewriter.getBF16Type();
      store(row, column, Values(parts, vb.zero(type)));
    });
    return Values();
  });
  rewriter.eraseOp(op);
  return success();
}

// Parts are copied part by part, by a function: its code is long, and whole and short tiles have equal ones.
LogicalResult attn::cpu::packParts(RewriterBase &rewriter, PackOp op, const TargetInfo &target) {
  SmallVector<AffineMap> maps = getMaps(op);
  int64_t parts = getNumParts(op.getOutput(), maps[1]), inputParts = getNumParts(op.getInput(), maps[0]);
  if (inputParts == 1)
    return splitRows(rewriter, op, target);
  if (inputParts != parts)
    return op.emitOpError("expected as many parts as its input has, ") << inputParts << ", found " << parts;
  Location loc = op.getLoc();
  auto getPart = [&](Value memref, AffineMap map, Value part) {
    SmallVector<OpFoldResult> sizes = memref::getMixedSizes(rewriter, loc, memref);
    SmallVector<OpFoldResult> offsets(sizes.size(), rewriter.getIndexAttr(0)),
        strides(sizes.size(), rewriter.getIndexAttr(1));
    unsigned dim = getPartsDim({memref, map});
    sizes[dim] = rewriter.getIndexAttr(1);
    offsets[dim] = part;
    return memref::SubViewOp::create(rewriter, loc, memref, offsets, sizes, strides).getResult();
  };
  VectorBuilder vb(rewriter, loc, target, rewriter.getF32Type());
  auto region = scf::ExecuteRegionOp::create(rewriter, loc, TypeRange(), /*no_inline=*/true);
  rewriter.createBlock(&region.getRegion());
  PackOp copy;
  vb.loop(vb.index(0), vb.index(parts), 1, {}, [&](Value part, ValueRange) {
    copy = PackOp::create(rewriter, loc, TypeRange(), getPart(op.getInput(), maps[0], part),
                          getPart(op.getOutput(), maps[1], part), op.getMapsAttr());
    return Values();
  });
  scf::YieldOp::create(rewriter, loc);
  rewriter.eraseOp(op);
  return lowerPack(rewriter, copy, target);
}
