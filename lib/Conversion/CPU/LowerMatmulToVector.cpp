//===- LowerMatmulToVector.cpp - attn-lower-matmul-to-vector --------------===//
//
// Before: linalg contractions of matmul form on memrefs. After: scf loops over
// vectors of the target's width, C[i][j] += sum_k A[i][k] B[k][j] with columns j
// as lanes. A tile is a block of rows by a panel of a few vectors of columns; the
// part of B that it needs is copied to the stack, a block of the depth at a time
// (MatmulPanel), as pairs of bf16 where the target multiplies those faster.
// Ops of another form are left to convert-linalg-to-loops.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Matmul.h"
#include "MatmulPanel.h"
#include "attn/Conversion/Passes.h"
#include "attn/Target/PassTarget.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "llvm/Support/MathExtras.h"

namespace attn {
#define GEN_PASS_DEF_LOWERMATMULTOVECTORPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using namespace attn::cpu;

/// Bytes of a panel of B: the L1 caches of all targets hold it beside the rows of A.
static constexpr int64_t kPanelBytes = 32 * 1024;
/// If B is read in place: the number of rows at a time, and the bytes of a run along them. There are fewer rows than
/// ways of an L1 cache, as rows a power of two apart share one set of it.
static constexpr int64_t kStreamDepth = 6, kStreamBytes = 4096;

namespace {

/// Emits the loops of one contraction.
class MatmulLowering {
public:
  MatmulLowering(VectorBuilder &vb, linalg::LinalgOp op, const Matmul &matmul)
      : vb(vb), b(vb.b), loc(vb.loc), op(op), m(matmul), sizes(op.getStaticLoopRanges()),
        domain(sizes.size(), vb.index(0)) {
    numRows = m.row ? sizes[*m.row] : 1;
    numColumns = sizes[m.column];
    numDepth = sizes[m.depth];
    bool hasFewRows = !ShapedType::isDynamic(numRows) && numRows < kMinPackedRows;
    isPacked = !hasFewRows || m.isGathered || !m.b.isInnermost(m.column) || m.scale;
    panelVectors = getPanelVectors(vb.target, vb.elementType.getWidth(), numColumns);
    panelColumns = panelVectors * vb.lanes;
    isPartial = ShapedType::isDynamic(numColumns) || numColumns % panelColumns != 0;
    registerRows = getRegisterRows(vb.target, panelVectors);
    if (!ShapedType::isDynamic(numRows))
      registerRows = std::clamp<int64_t>(numRows, 1, registerRows);
    // Blocks of the register kernel's rows; or all rows, as in a tile of attn-tile-matmul.
    tileRows = !ShapedType::isDynamic(numRows) && numRows <= kTileRows ? std::max<int64_t>(numRows, 1)
                                                                       : kTileRows / registerRows * registerRows;
    int64_t elementBytes = vb.elementType.getWidth() / 8, perRow = isPacked && canMultiplyPairs() ? 2 : 1;
    int64_t together = m.hasNibbles ? 2 : perRow; // rows of B
    isPanel = isPacked && perRow == 1 && isPanelOfB(/*isNarrow=*/hasFewRows && m.scale);
    tileColumns = isPacked ? panelColumns : llvm::alignTo(kStreamBytes / elementBytes, panelColumns);
    panelDepth = isPacked ? kPanelBytes / (panelColumns * elementBytes) * perRow : kStreamDepth;
    if (isPacked && numDepth > panelDepth) // blocks that are about equal
      panelDepth = llvm::divideCeil(numDepth, llvm::divideCeil(numDepth, panelDepth));
    else if (!ShapedType::isDynamic(numDepth))
      panelDepth = std::clamp<int64_t>(numDepth, 1, panelDepth);
    panelDepth = llvm::alignTo(panelDepth, together);
    bool isTransposed = !m.isGathered && !m.b.isInnermost(m.column);
    if (perRow > 1)
      panel = std::make_unique<MatmulPairs>(vb, m.b, isTransposed, panelDepth, panelVectors);
    else if (isPacked && !isPanel)
      panel = std::make_unique<MatmulPanel>(vb, m.b, isTransposed, panelDepth, panelVectors);
  }

  void emit() {
    SmallVector<OpFoldResult> counts;
    for (unsigned dim : m.batch)
      counts.push_back(getCount(dim, 1));
    counts.push_back(m.row && !isWholeTile() ? getCount(*m.row, tileRows) : b.getIndexAttr(1));
    counts.push_back(getCount(m.column, tileColumns));
    auto forall = scf::ForallOp::create(b, loc, counts, ValueRange(), /*mapping=*/std::nullopt);
    b.setInsertionPoint(forall.getTerminator());
    // Inside the loop, so that each thread has its own.
    if (panel)
      panel->allocate();
    SmallVector<Value> ivs = forall.getInductionVars();
    for (auto [dim, iv] : llvm::zip(m.batch, ivs))
      domain[dim] = iv;
    emitTile(vb.multiply(ivs[ivs.size() - 2], tileRows), vb.multiply(ivs.back(), tileColumns));
    b.setInsertionPointAfter(forall);
    if (isSerial()) {
      IRRewriter rewriter(b);
      // Cannot fail: there are no results.
      (void)scf::forallToForLoop(rewriter, forall);
    }
  }

private:
  /// True if both operands hold bf16, with contiguous pairs: in A along rows, in B at least along columns.
  bool canMultiplyPairs() const {
    auto isBF16 = [](const Operand &operand) { return getElementTypeOrSelf(operand.memref.getType()).isBF16(); };
    if (vb.target.bf16DotRate <= 1 || m.isGathered || !vb.elementType.isF32() || !isBF16(m.a) || !isBF16(m.b))
      return false;
    bool isEven = !ShapedType::isDynamic(numDepth) && numDepth % 2 == 0;
    return m.a.isInnermost(m.depth) && (m.b.isInnermost(m.column) || isEven);
  }

  /// True if B is one panel as attn-pack-weights writes them: contiguous rows, in the type of the sums or, for a few
  /// rows of A, which widen each weight once, in that of quantised weights.
  bool isPanelOfB(bool isNarrow) const {
    auto [strides, offset] = cast<MemRefType>(m.b.memref.getType()).getStridesAndOffset();
    return numColumns == panelColumns && !m.skipsZeros && strides.size() == 2 && strides[0] == panelColumns &&
           m.b.isInnermost(m.column) && (isNarrow || getElementTypeOrSelf(m.b.memref.getType()) == vb.elementType);
  }

  Value getSize(unsigned dim) {
    if (!ShapedType::isDynamic(sizes[dim]))
      return vb.index(sizes[dim]);
    for (const Operand &operand : {m.a, m.b, m.c})
      for (auto [i, expr] : llvm::enumerate(operand.map.getResults()))
        if (expr == getAffineDimExpr(dim, b.getContext()))
          return memref::DimOp::create(b, loc, operand.memref, i);
    llvm_unreachable("a linalg op's dimensions are found in its operands");
  }

  /// ceil(size / step)
  OpFoldResult getCount(unsigned dim, int64_t step) {
    if (!ShapedType::isDynamic(sizes[dim]))
      return b.getIndexAttr(llvm::divideCeil(sizes[dim], step));
    return arith::CeilDivUIOp::create(b, loc, getSize(dim), vb.index(step)).getResult();
  }

  /// True for a tile of attn-tile-matmul whose number of rows is known at run time alone.
  bool isWholeTile() { return isPanel && ShapedType::isDynamic(numRows) && op->getParentOfType<scf::ForallOp>(); }

  /// Little work, or inside a loop that is parallel already.
  bool isSerial() {
    if (op->getParentOfType<scf::ForallOp>())
      return true;
    int64_t work = 1;
    for (int64_t size : sizes)
      if (ShapedType::isDynamic(size) || llvm::MulOverflow(work, size, work))
        return false;
    return work < kMinParallelWork;
  }

  /// Null for a row or depth that the operand lacks.
  SmallVector<Value> getPosition(Value row, Value depth, Value column) {
    SmallVector<Value> position(domain);
    if (m.row && row)
      position[*m.row] = row;
    if (depth)
      position[m.depth] = depth;
    position[m.column] = column;
    return position;
  }
  Values getIndices(const Operand &operand, Value row, Value depth, Value column) {
    return operand.getIndices(vb, getPosition(row, depth, column));
  }

  /// Columns of B, 0 in lanes outside of `mask`: they are multiplied, and what they hold may be NaN.
  Value loadAlongColumns(ArrayRef<Value> position, Value mask) {
    Value vector = vb.loadAlong(m.b, m.column, position, mask);
    bool isMasked = !mask || m.b.getStrideAlong(m.column).has_value();
    return isMasked ? vector : vb.select(mask, vector, vb.zero(vector.getType()));
  }

  /// Vector `v` of a row of B, in f32 where it is scaled: quantised weights times the scales of their block.
  Value loadWeights(Value depth, Value column, int64_t v) {
    SmallVector<Value> position = getPosition({}, depth, column);
    Value weights = loadAlongColumns(position, masks[v]);
    if (!m.scale)
      return weights;
    Value scales = loadScales(position, v);
    if (!m.hasNibbles)
      return arith::MulFOp::create(b, loc, widen(weights), scales);
    // The nibble of an odd row is 4 bits further up.
    Value shift = vb.subtract(vb.index(28), vb.multiply(vb.remainder(depth, 2), 4));
    return scaleNibbles(weights, arith::IndexCastOp::create(b, loc, b.getI32Type(), shift), scales);
  }
  Value loadScales(ArrayRef<Value> position, int64_t v) {
    return widen(vb.loadAlong(*m.scale, m.column, position, masks[v]));
  }

  /// float((bytes << shift) >> 28) * scales, in 32 bits
  Value scaleNibbles(Value bytes, Value shift, Value scales) {
    auto type = VectorType::get({vb.lanes}, b.getI32Type());
    Value wide = arith::ExtSIOp::create(b, loc, type, bytes);
    auto splat = [&](Value number) { return vector::BroadcastOp::create(b, loc, type, number); };
    Value up = arith::ShLIOp::create(b, loc, wide, splat(shift));
    Value bits = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(28));
    Value nibbles = arith::ShRSIOp::create(b, loc, up, splat(bits));
    Value numbers = arith::SIToFPOp::create(b, loc, VectorType::get({vb.lanes}, vb.elementType), nibbles);
    return arith::MulFOp::create(b, loc, numbers, scales);
  }

  /// emitProducts of nibbles: the two rows of a byte at a time.
  Values multiplyNibbles(int64_t rows, Value first, Value depth, Value column, const ScalarAt &scalarAt) {
    auto getShift = [&](int64_t bits) -> Value { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(bits)); };
    return vb.loop(vb.index(0), depth, 2, Values(rows * panelVectors, vb.splat(0)), [&](Value k, ValueRange carried) {
      Values sums(carried), even, odd;
      for (int64_t v = 0; v < panelVectors; ++v) {
        SmallVector<Value> position = getPosition({}, vb.add(first, k), vb.add(column, v * vb.lanes));
        Value bytes = loadAlongColumns(position, masks[v]), scales = loadScales(position, v);
        even.push_back(scaleNibbles(bytes, getShift(28), scales));
        odd.push_back(scaleNibbles(bytes, getShift(24), scales));
      }
      for (int64_t part : {0, 1})
        for (int64_t r = 0; r < rows; ++r) {
          Value scalar = vb.broadcast(widen(scalarAt(r, vb.add(k, part), /*isPair=*/false)));
          for (int64_t v = 0; v < panelVectors; ++v)
            sums[r * panelVectors + v] = vb.multiplyAdd(scalar, (part ? odd : even)[v], sums[r * panelVectors + v]);
        }
      return sums;
    });
  }

  Value widen(Value value) { return vb.convert(value, vb.elementType); }

  /// Lanes past the last column are 0, and not read from memory.
  Value loadColumns(const Operand &operand, ArrayRef<Value> indices, int64_t v) {
    return widen(vb.loadMasked(operand.memref, indices, masks[v]));
  }

  /// Rows from `row`, columns from `column`: all of the depth, a block at a time.
  void emitTile(Value row, Value column) {
    Value lastRow = !m.row          ? vb.add(row, 1)
                    : isWholeTile() ? getSize(*m.row)
                                    : vb.minimum(vb.add(row, tileRows), getSize(*m.row));
    if (isPacked)
      createMasks(column);
    Value lastColumn = isPacked ? Value() : vb.minimum(vb.add(column, tileColumns), getSize(m.column));
    auto emitBlock = [&](Value first, Value depth) {
      if (isPacked) {
        if (panel)
          pack(first, depth, column);
        emitRowsOfPanel(row, lastRow, first, depth, column);
        return Values();
      }
      return vb.loop(column, lastColumn, panelColumns, {}, [&](Value panelColumn, ValueRange) {
        createMasks(panelColumn);
        prefetchRows(first, panelColumn);
        emitRows(row, lastRow, first, depth, panelColumn, m.skipsZeros);
        return Values();
      });
    };
    if (ShapedType::isDynamic(numDepth)) {
      Value end = getSize(m.depth);
      vb.loop(vb.index(0), end, panelDepth, {}, [&](Value first, ValueRange) {
        Value depth = vb.minimum(vb.index(panelDepth), vb.subtract(end, first));
        return emitBlock(first, depth);
      });
      return;
    }
    forEachBlock(vb, b.getIndexAttr(numDepth), panelDepth, {},
                 [&](Value first, int64_t depth, ValueRange) { return emitBlock(first, vb.index(depth)); });
  }

  /// Prefetches the same columns of the next rows of B: the run of this row ends before a hardware prefetcher starts.
  /// Measured on Zen 4, out of memory: 0.89 of OpenBLAS, 0.71 without.
  void prefetchRows(Value first, Value column) {
    int64_t perLine = kBufferAlignment / (getElementTypeOrSelf(m.b.memref.getType()).getIntOrFloatBitWidth() / 8);
    Value last = vb.subtract(getSize(m.depth), vb.index(1));
    unsigned locality = vb.target.prefetchesIntoL2 ? 2 : 3;
    for (int64_t r = 0; r < panelDepth; ++r)
      for (int64_t j = 0; j < panelColumns; j += perLine) {
        Values indices = getIndices(m.b, {}, vb.minimum(vb.add(first, panelDepth + r), last), vb.add(column, j));
        memref::PrefetchOp::create(b, loc, m.b.memref, indices, /*isWrite=*/false, locality, /*isDataCache=*/true);
      }
  }

  /// Masks of the existing columns of a panel.
  void createMasks(Value column) {
    masks.assign(panelVectors, Value());
    if (!isPartial)
      return;
    Value count = vb.subtract(getSize(m.column), column);
    for (int64_t v = 0; v < panelVectors; ++v)
      masks[v] = vb.createMask(vb.subtract(count, vb.index(v * vb.lanes)));
  }

  /// panel[k][j] = B[first + k][column + j], 0 beyond the last column.
  void pack(Value first, Value depth, Value column) {
    auto at = [&](Value k, Value j) { return getIndices(m.b, {}, vb.add(first, k), vb.add(column, j)); };
    auto vectorAt = [&](Value k, int64_t v) { return loadWeights(vb.add(first, k), vb.add(column, v * vb.lanes), v); };
    panel->pack(depth, vb.subtract(getSize(m.column), column), at, vectorAt);
  }

  /// Uses slower code if zeros are skipped and the panel holds NaN or infinity, which is rare.
  void emitRowsOfPanel(Value row, Value lastRow, Value first, Value depth, Value column) {
    if (!m.skipsZeros)
      return emitRows(row, lastRow, first, depth, column, /*skipsZeros=*/false);
    auto branch = scf::IfOp::create(b, loc, panel->isFinite(depth), /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    emitRows(row, lastRow, first, depth, column, /*skipsZeros=*/false);
    b.setInsertionPointToStart(branch.elseBlock());
    emitRows(row, lastRow, first, depth, column, /*skipsZeros=*/true);
  }

  /// Blocks of the register kernel's rows, then the rest: one block if the number of rows is static, else blocks of
  /// half as many rows each, so that few rows are few blocks.
  void emitRows(Value row, Value lastRow, Value first, Value depth, Value column, bool skipsZeros) {
    auto loop = [&](int64_t rows) {
      Value end = vb.subtract(lastRow, vb.remainder(vb.subtract(lastRow, row), rows));
      vb.loop(row, end, rows, {}, [&](Value i, ValueRange) {
        emitRegisterBlock(i, rows, first, depth, column, skipsZeros);
        return Values();
      });
      row = end;
    };
    loop(registerRows);
    if (!ShapedType::isDynamic(numRows)) {
      if (numRows % registerRows > 0)
        loop(numRows % registerRows);
      return;
    }
    for (int64_t rows = llvm::bit_floor(uint64_t(registerRows - 1)); rows > 0; rows /= 2)
      loop(rows);
  }

  /// C[row + r][column + j] += sum_k A[row + r][first + k] B[first + k][column + j] for `rows` rows and a panel's j.
  void emitRegisterBlock(Value row, int64_t rows, Value first, Value depth, Value column, bool skipsZeros) {
    Values rowIndices;
    for (int64_t r = 0; r < rows; ++r)
      rowIndices.push_back(vb.add(row, r));
    auto scalarAt = [&](int64_t r, Value k, bool isPair) -> Value {
      Values indices = getIndices(m.a, rowIndices[r], vb.add(first, k), column);
      if (isPair)
        return vb.loadPair(m.a.memref, indices);
      return memref::LoadOp::create(b, loc, m.a.memref, indices);
    };
    Values sums;
    if (panel) {
      sums = panel->multiply(rows, depth, scalarAt, skipsZeros);
    } else if (m.hasNibbles) {
      sums = multiplyNibbles(rows, first, depth, column, scalarAt);
    } else {
      auto vectorAt = [&](Value k, int64_t v) {
        if (m.scale)
          return loadWeights(vb.add(first, k), vb.add(column, v * vb.lanes), v);
        return loadColumns(m.b, getIndices(m.b, {}, vb.add(first, k), vb.add(column, v * vb.lanes)), v);
      };
      sums = emitProducts(vb, rows, panelVectors, depth, scalarAt, vectorAt, skipsZeros);
    }
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < panelVectors; ++v) {
        Values indices = getIndices(m.c, rowIndices[r], {}, vb.add(column, v * vb.lanes));
        Value old = loadColumns(m.c, indices, v);
        Value sum = arith::AddFOp::create(b, loc, old, sums[r * panelVectors + v]);
        vb.storeMasked(sum, m.c.memref, indices, masks[v]);
      }
  }

  VectorBuilder &vb;
  OpBuilder &b;
  Location loc;
  linalg::LinalgOp op;
  const Matmul &m;
  SmallVector<int64_t> sizes;
  SmallVector<Value> domain; ///< the batch dimensions' positions
  int64_t numRows, numColumns, numDepth;
  int64_t panelVectors, panelColumns, panelDepth, registerRows, tileRows, tileColumns;
  bool isPartial, isPacked, isPanel = false;
  std::unique_ptr<MatmulPanel> panel; ///< where B is copied, if it is
  Values masks;
};

struct LowerMatmulToVectorPass : public attn::impl::LowerMatmulToVectorPassBase<LowerMatmulToVectorPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetInfo> info = getTarget(getOperation(), getArgument(), target);
    if (failed(info))
      return signalPassFailure();
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp op : ops) {
      FailureOr<Matmul> matmul = matchMatmul(op);
      if (failed(matmul))
        continue;
      if (FailureOr<linalg::LinalgOp> collapsed = collapseRows(rewriter, op, *matmul); succeeded(collapsed)) {
        op = *collapsed;
        matmul = matchMatmul(op);
        assert(succeeded(matmul) && "expected the same product over fewer dimensions");
      }
      rewriter.setInsertionPoint(op);
      auto type = cast<FloatType>(getElementTypeOrSelf(matmul->c.memref.getType()));
      VectorBuilder vb(rewriter, op.getLoc(), *info, type);
      MatmulLowering(vb, op, *matmul).emit();
      rewriter.eraseOp(op);
    }
  }
};
} // namespace
