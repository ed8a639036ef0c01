//===- PackWeights.cpp - attn-pack-weights --------------------------------===//
//
// Before: tiles of products (attn-tile-matmul) that read panels of columns of
// constant matrices. After: each such matrix is a constant of its panels, one after
// the other, (panel, depth, column); so a tile reads its panel from start to end and
// nothing packs it in a call.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Matmul.h"
#include "attn/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include <cstring>

namespace attn {
#define GEN_PASS_DEF_PACKWEIGHTSPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {
/// A panel of a constant matrix: all of its depth, `columns` columns from a multiple of them on.
struct Panel {
  linalg::LinalgOp product;
  OpOperand *operand; ///< of the product: weights, or the scales of quantised ones
  tensor::ExtractSliceOp slice;
  DenseElementsAttr matrix;
  bool isTransposed; ///< columns are the rows of the matrix
  int64_t columns;
};
} // namespace

/// True where `offset` is a multiple of `step`: of constants, and of loops of such a step from 0 on.
static bool isMultiple(OpFoldResult offset, int64_t step) {
  if (std::optional<int64_t> constant = getConstantIntValue(offset))
    return *constant % step == 0;
  auto iv = dyn_cast<BlockArgument>(cast<Value>(offset));
  auto forall = iv ? dyn_cast<scf::ForallOp>(iv.getOwner()->getParentOp()) : scf::ForallOp();
  if (!forall || iv.getArgNumber() >= forall.getRank())
    return false;
  return isConstantIntValue(forall.getMixedLowerBound()[iv.getArgNumber()], 0) &&
         isConstantIntValue(forall.getMixedStep()[iv.getArgNumber()], step);
}

static FailureOr<Panel> matchPanel(linalg::LinalgOp op, unsigned input) {
  bool isScaled = cpu::hasScaledWeights(op);
  if (!op.hasPureTensorSemantics() || !op->getParentOfType<scf::ForallOp>() || op.getNumDpsInputs() <= input ||
      op->getNumResults() != 1 || (!linalg::isaContractionOpInterface(op) && !isScaled))
    return failure();
  OpOperand &b = *op.getDpsInputOperand(input);
  AffineMap map = op.getMatchingIndexingMap(&b), result = op.getIndexingMapsArray().back();
  auto slice = b.get().getDefiningOp<tensor::ExtractSliceOp>();
  DenseElementsAttr matrix;
  if (!slice || !matchPattern(slice.getSource(), m_Constant(&matrix)) || matrix.isSplat() ||
      (!isScaled && matrix.getElementType() != getElementTypeOrSelf(op->getResult(0))) ||
      !slice.getType().hasStaticShape() || slice.getType().getRank() != 2 || slice.getSourceType().getRank() != 2 ||
      map.getNumResults() != 2 || !slice.hasUnitStride() || result.getNumResults() == 0)
    return failure();
  Panel panel{op, &b, slice, matrix, map.getResult(0) == result.getResults().back(), 0};
  if (panel.isTransposed && !isa<linalg::GenericOp>(op))
    return failure();
  unsigned column = panel.isTransposed ? 0 : 1;
  panel.columns = slice.getType().getDimSize(column);
  if (map.getResult(column) != result.getResults().back() || slice.getSourceType().getDimSize(column) % panel.columns ||
      slice.getSourceType().getDimSize(1 - column) != slice.getType().getDimSize(1 - column) ||
      !isMultiple(slice.getMixedOffsets()[column], panel.columns))
    return failure();
  return panel;
}

/// True for weights of 4 bits, of an even number of rows and in blocks of an even number of them.
static bool areNibbles(const Panel &panel) {
  auto generic = dyn_cast<linalg::GenericOp>(*panel.product);
  if (!generic || panel.isTransposed || !panel.matrix.getElementType().isInteger(8) ||
      panel.matrix.getType().getDimSize(0) % 2 != 0)
    return false;
  AffineMap scales = generic.getIndexingMapsArray()[2];
  auto block = dyn_cast<AffineBinaryOpExpr>(scales.getResult(0));
  auto divisor = block ? dyn_cast<AffineConstantExpr>(block.getRHS()) : AffineConstantExpr();
  return block && block.getKind() == AffineExprKind::FloorDiv && divisor && divisor.getValue() % 2 == 0 &&
         llvm::all_of(panel.matrix.getRawData(), [](char byte) { return int8_t(byte) >= -8 && int8_t(byte) < 8; });
}

/// packed[p][k][j] of two rows: that of row 2k in the low 4 bits, that of row 2k + 1 in the high ones.
static DenseElementsAttr joinNibbles(DenseElementsAttr packed) {
  ShapedType type = packed.getType();
  int64_t depth = type.getDimSize(1), columns = type.getDimSize(2);
  ArrayRef<char> from = packed.getRawData();
  std::vector<char> to(from.size() / 2);
  for (size_t i = 0; i < to.size(); ++i) {
    size_t row = i / columns, low = 2 * row * columns + i % columns; // 2 (p depth / 2 + k) = p depth + 2k
    to[i] = char((from[low] & 15) | (from[low + columns] << 4));
  }
  return DenseElementsAttr::getFromRawBuffer(type.clone({type.getDimSize(0), depth / 2, columns}), to);
}

/// packed[p][k][j] = matrix[k][p * columns + j], or matrix[p * columns + j][k] of a transposed one.
static DenseElementsAttr pack(const Panel &panel) {
  ShapedType type = panel.matrix.getType();
  int64_t bytes = type.getElementTypeBitWidth() / 8, columns = panel.columns;
  int64_t depth = type.getDimSize(panel.isTransposed ? 1 : 0), count = type.getDimSize(panel.isTransposed ? 0 : 1);
  ArrayRef<char> from = panel.matrix.getRawData();
  std::vector<char> to(from.size());
  for (int64_t p = 0; p < count / columns; ++p)
    for (int64_t k = 0; k < depth; ++k) {
      char *row = to.data() + (p * depth + k) * columns * bytes;
      if (!panel.isTransposed)
        std::memcpy(row, from.data() + (k * count + p * columns) * bytes, columns * bytes);
      else
        for (int64_t j = 0; j < columns; ++j)
          std::memcpy(row + j * bytes, from.data() + ((p * columns + j) * depth + k) * bytes, bytes);
    }
  auto packed = RankedTensorType::get({count / columns, depth, columns}, type.getElementType());
  return DenseElementsAttr::getFromRawBuffer(packed, to);
}

namespace {
struct PackWeightsPass : public attn::impl::PackWeightsPassBase<PackWeightsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Panel> panels;
    getOperation().walk([&](linalg::LinalgOp op) {
      for (unsigned input : {1, 2})
        if (FailureOr<Panel> panel = matchPanel(op, input); succeeded(panel))
          panels.push_back(*panel);
    });
    IRRewriter rewriter(&getContext());
    llvm::MapVector<std::tuple<Attribute, int64_t, int64_t>, Value> constants;
    llvm::SetVector<Operation *> matrices;
    for (Panel &panel : panels) {
      Value &packed = constants[{panel.matrix, panel.columns, int64_t(panel.isTransposed)}];
      if (!packed) {
        rewriter.setInsertionPointToStart(&getOperation().getBody().front());
        DenseElementsAttr elements = pack(panel);
        packed = arith::ConstantOp::create(rewriter, panel.slice.getLoc(),
                                           areNibbles(panel) ? joinNibbles(elements) : elements);
      }
      matrices.insert(panel.slice.getSource().getDefiningOp());
      readPanel(rewriter, panel, packed);
    }
    for (Operation *matrix : matrices)
      if (matrix->use_empty())
        rewriter.eraseOp(matrix);
  }

private:
  /// float(byte) becomes float(((k odd) ? byte : byte << 4) >> 4) of the byte of two rows.
  void readNibbles(RewriterBase &rewriter, linalg::GenericOp product) {
    OpBuilder::InsertionGuard guard(rewriter);
    Location loc = product.getLoc();
    SmallVector<AffineMap> maps = product.getIndexingMapsArray();
    AffineExpr depth = maps[1].getResult(0);
    maps[1] = AffineMap::get(maps[1].getNumDims(), 0, {depth.floorDiv(2), maps[1].getResult(1)}, &getContext());
    product.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
    BlockArgument byte = product.getBody()->getArgument(1);
    rewriter.setInsertionPointToStart(product.getBody());
    auto getConstant = [&](int64_t number) -> Value {
      return arith::ConstantOp::create(rewriter, loc, rewriter.getI8IntegerAttr(number));
    };
    Value row = linalg::IndexOp::create(rewriter, loc, cast<AffineDimExpr>(depth).getPosition());
    row = arith::IndexCastOp::create(rewriter, loc, rewriter.getI64Type(), row);
    Value isOdd = arith::TruncIOp::create(rewriter, loc, rewriter.getI1Type(), row);
    Value shift = arith::SelectOp::create(rewriter, loc, isOdd, getConstant(0), getConstant(4));
    Value up = arith::ShLIOp::create(rewriter, loc, byte, shift);
    Value nibble = arith::ShRSIOp::create(rewriter, loc, up, getConstant(4));
    rewriter.replaceUsesWithIf(byte, nibble, [&](OpOperand &use) { return use.getOwner() != up.getDefiningOp(); });
  }

  void readPanel(RewriterBase &rewriter, Panel &panel, Value packed) {
    auto shape = cast<RankedTensorType>(packed.getType()).getShape();
    rewriter.setInsertionPoint(panel.slice);
    Location loc = panel.slice.getLoc();
    AffineExpr number = rewriter.getAffineDimExpr(0).floorDiv(panel.columns);
    OpFoldResult first = panel.slice.getMixedOffsets()[panel.isTransposed ? 0 : 1], zero = rewriter.getIndexAttr(0),
                 one = rewriter.getIndexAttr(1);
    OpFoldResult index = affine::makeComposedFoldedAffineApply(rewriter, loc, number, {first});
    auto type = RankedTensorType::get(shape.drop_front(), panel.matrix.getElementType());
    Value slice = tensor::ExtractSliceOp::create(
        rewriter, loc, type, packed, ArrayRef<OpFoldResult>{index, zero, zero},
        ArrayRef<OpFoldResult>{one, rewriter.getIndexAttr(shape[1]), rewriter.getIndexAttr(shape[2])},
        ArrayRef<OpFoldResult>{one, one, one});
    rewriter.modifyOpInPlace(panel.product, [&] {
      panel.operand->set(slice);
      if (shape[1] != panel.slice.getType().getDimSize(0) && !panel.isTransposed)
        readNibbles(rewriter, cast<linalg::GenericOp>(*panel.product));
      auto generic = dyn_cast<linalg::GenericOp>(*panel.product);
      if (!generic || !panel.isTransposed)
        return;
      SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
      maps[1] = AffineMap::get(maps[1].getNumDims(), 0, {maps[1].getResult(1), maps[1].getResult(0)}, &getContext());
      generic.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
    });
    if (panel.slice->use_empty())
      rewriter.eraseOp(panel.slice);
  }
};
} // namespace
