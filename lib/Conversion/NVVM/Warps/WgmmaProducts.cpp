//===- WgmmaProducts.cpp - products of 16-bit tiles by four warps ---------===//
//
// wgmma m64nNk16 (PTX ISA, "Asynchronous warpgroup level matrix instructions"): four warps have 16 rows each, and N
// columns. A warp's part of the accumulator is that of N / 8 adjacent m16n8 accumulators, so scores, weights and acc
// have the layout of mma. Q, K and V are read from shared memory by descriptors: Q and K with the depth (D) along their
// rows, V with the depth (keys) across them. P is in registers.
//
// An asm statement is one wgmma with tied accumulators. wgmma reads and writes registers until wgmma.wait_group, so no
// other instruction may touch them between the fence and the wait; otherwise ptxas serialises each wgmma (its notes
// C7510 to C7515). Empty asm statements keep LLVM from such code: before the fence, after which it would put constants,
// and after the wait, before which it would read results.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Products.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace attn;
using namespace attn::nvvm;

/// Depth of one wgmma in elements, and the rows of Q of its four warps.
static constexpr int64_t kDepth = 16, kRows = 64, kElementBytes = 2;
/// Chunks of a panel's row that the depth of one wgmma covers.
static constexpr int64_t kDepthChunks = 2;
/// Rows of a panel after which its swizzle repeats.
static constexpr int64_t kSwizzleRows = 8;
/// Registers of P in one wgmma.
static constexpr size_t kWeightRegisters = 4;

/// An asm statement with side effects whose f32 results are tied to `acc`; `operands` are additional inputs.
static Values createAsm(WarpBuilder &wb, StringRef text, ArrayRef<Value> acc, ArrayRef<Value> operands) {
  std::string constraints;
  for (size_t i = 0; i < acc.size(); ++i)
    constraints += "=f,";
  for (size_t i = 0; i < acc.size(); ++i)
    constraints += llvm::formatv("{0},", i);
  for (Value operand : operands)
    constraints += operand.getType().isInteger(64) ? "l," : "r,";
  constraints.pop_back();
  Values all(acc);
  llvm::append_range(all, operands);
  auto resultType =
      LLVM::LLVMStructType::getLiteral(wb.b.getContext(), SmallVector<Type>(acc.size(), wb.b.getF32Type()));
  Value result = LLVM::InlineAsmOp::create(wb.b, wb.loc, resultType, all, text, constraints,
                                           /*has_side_effects=*/true, /*is_align_stack=*/false,
                                           LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
                     .getRes();
  Values results;
  for (size_t i = 0; i < acc.size(); ++i)
    results.push_back(LLVM::ExtractValueOp::create(wb.b, wb.loc, result, i));
  return results;
}

static Values keepInRegisters(WarpBuilder &wb, ArrayRef<Value> values) { return createAsm(wb, "", values, {}); }

Values attn::nvvm::finishProduct(WarpBuilder &wb, ArrayRef<Value> acc, int64_t pending) {
  NVVM::WgmmaWaitGroupSyncOp::create(wb.b, wb.loc, uint64_t(pending));
  return keepInRegisters(wb, acc);
}

Values attn::nvvm::packWeights(WarpBuilder &wb, ArrayRef<Value> weights, FloatType type) {
  StringRef text = type.isBF16() ? "cvt.rn.bf16x2.f32 $0, $2, $1;" : "cvt.rn.f16x2.f32 $0, $2, $1;";
  Values packed;
  for (size_t i = 0; i < weights.size(); i += 2)
    packed.push_back(LLVM::InlineAsmOp::create(wb.b, wb.loc, wb.b.getI32Type(), ValueRange{weights[i], weights[i + 1]},
                                               text, "=r,f,f",
                                               /*has_side_effects=*/true, /*is_align_stack=*/false,
                                               LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
                         .getRes());
  return packed;
}

namespace {
class WgmmaProducts : public Products {
public:
  WgmmaProducts(WarpBuilder &wb, FloatType type, const SharedTile &query, const SharedTile &key,
                const SharedTile &value)
      : Products(wb, query, key, value), type(type) {
    assert(fragments == 1 && "a warp has 16 rows of a wgmma");
  }

  Values multiplyKeys(int64_t keyBlocks) override { return finishProduct(wb, startKeys(keyBlocks), 0); }

  void multiplyValues(const Values &weights, int64_t keyBlocks, const TileState &state) override {
    Values packed = packWeights(wb, weights, type);
    setAcc(wb, state, finishProduct(wb, startValues(packed, state), 0));
  }

  Values startKeys(int64_t keyBlocks) override {
    Value group = wb.divide(wb.getRowWarp(), kRows / kFragmentRows);
    Value queries = getDescriptor(query, wb.multiply(group, kRows * query.layout.getPitch()), kChunkBytes);
    Value keys = getDescriptor(key, Value(), kChunkBytes);
    Values scores(keyBlocks * kFragmentElements, LLVM::UndefOp::create(wb.b, wb.loc, wb.b.getF32Type()));
    fence();
    for (int64_t chunk = 0; chunk < query.layout.chunks; chunk += kDepthChunks) {
      Value a = advance(queries, getDepthOffset(query, chunk)), b = advance(keys, getDepthOffset(key, chunk));
      scores = multiply(scores, {a, b}, /*accumulates=*/chunk > 0, /*isTransposed=*/false);
    }
    commit();
    return scores;
  }

  Values startValues(ArrayRef<Value> weights, const TileState &state) override {
    int64_t panels = state.valueBlocks * kBlockColumns * kElementBytes / value.layout.getPitch();
    Value columns = wb.columnGroup ? wb.multiply(wb.columnGroup, panels * value.layout.getPanelBytes()) : Value();
    Value values = getDescriptor(value, columns, value.layout.getPanelBytes());
    Values acc;
    for (int64_t i = 0; i < state.valueBlocks * kFragmentElements; ++i)
      acc.push_back(state.acc.get(wb, i));
    acc = keepInRegisters(wb, acc);
    fence();
    for (size_t first = 0; first < weights.size(); first += kWeightRegisters) {
      Values operands(weights.slice(first, kWeightRegisters));
      operands.push_back(advance(values, first / kWeightRegisters * kDepth * value.layout.getPitch()));
      acc = multiply(acc, operands, /*accumulates=*/true, /*isTransposed=*/true);
    }
    commit();
    return acc;
  }

  Values startExchanged(int64_t columns) override {
    Value group = wb.divide(wb.warp, kRows / kFragmentRows), rows, half;
    const SharedTileLayout &layout = value.layout;
    if (query.layout.rows > kRows) {
      rows = wb.multiply(group, kRows * query.layout.getPitch());
    } else {
      columns /= 2;
      int64_t bytes = columns * kElementBytes;
      half = wb.multiply(group, bytes == layout.getPitch() ? layout.getPanelBytes() : bytes);
    }
    Value factors = getDescriptor(query, rows, kChunkBytes), keys = getDescriptor(value, half, layout.getPanelBytes());
    Values acc(columns / kBlockColumns * kFragmentElements, LLVM::UndefOp::create(wb.b, wb.loc, wb.b.getF32Type()));
    fence();
    for (int64_t row = 0; row < layout.rows; row += kDepth) {
      Value a = advance(factors, getDepthOffset(query, row * kElementBytes / kChunkBytes));
      acc = multiply(acc, {a, advance(keys, row * layout.getPitch())}, /*accumulates=*/row > 0, /*isTransposed=*/true);
    }
    commit();
    return acc;
  }

private:
  /// PTX ISA, "Matrix Descriptor Format", with a swizzle of 128 bytes; sizes are in units of 16 bytes. `panelStride`
  /// matters only where the depth is across the rows.
  Value getDescriptor(const SharedTile &tile, Value byteOffset, int64_t panelStride) {
    Value address = tile.getAddress(wb, byteOffset);
    uint64_t facts = uint64_t(panelStride / kChunkBytes) << 16 |
                     uint64_t(kSwizzleRows * tile.layout.getPitch() / kChunkBytes) << 32 | uint64_t(1) << 62;
    Value start = arith::ExtUIOp::create(wb.b, wb.loc, wb.b.getI64Type(), wb.divide(address, kChunkBytes));
    Value descriptor = arith::OrIOp::create(wb.b, wb.loc, start, wb.constant64(facts));
    return tile.isAddressedAgain ? wb.hide(descriptor) : descriptor;
  }

  Value advance(Value descriptor, int64_t bytes) {
    return bytes == 0 ? descriptor : wb.add(descriptor, wb.constant64(bytes / kChunkBytes));
  }

  /// The offset of a chunk of the depth, in a tile with the depth along its rows. The hardware swizzles the sum of the
  /// start address and this offset, so the offset is not swizzled.
  static int64_t getDepthOffset(const SharedTile &tile, int64_t chunk) {
    return chunk / kPanelChunks * tile.layout.getPanelBytes() + chunk % kPanelChunks * kChunkBytes;
  }

  /// acc + A B, or A B. The operands are descriptors; A may instead be four registers.
  Values multiply(ArrayRef<Value> acc, ArrayRef<Value> operands, bool accumulates, bool isTransposed) {
    size_t next = 2 * acc.size();
    auto list = [&](size_t first, size_t count) {
      return llvm::join(
          llvm::map_range(llvm::seq(first, first + count), [](size_t i) { return llvm::formatv("${0}", i).str(); }),
          ", ");
    };
    bool hasRegisters = operands.size() > 2;
    std::string a = hasRegisters ? "{" + list(next, 4) + "}" : list(next, 1);
    StringRef name = type.isBF16() ? "bf16" : "f16";
    // D, A, B, scale-d, signs of A and B, and for descriptors whether the depth is across the rows
    std::string text =
        llvm::formatv("wgmma.mma_async.sync.aligned.m64n{0}k16.f32.{1}.{1} {{{2}}, {3}, ${4}, {5}, 1, 1, {6}{7};",
                      acc.size() * 2, name, list(0, acc.size()), a, next + operands.size() - 1, int(accumulates),
                      hasRegisters ? "" : "0, ", int(isTransposed));
    return createAsm(wb, text, acc, operands);
  }

  void fence() { NVVM::WgmmaFenceAlignedOp::create(wb.b, wb.loc); }
  void commit() { NVVM::WgmmaGroupSyncAlignedOp::create(wb.b, wb.loc); }

  FloatType type;
};
} // namespace

std::unique_ptr<Products> attn::nvvm::createWgmmaProducts(WarpBuilder &wb, FloatType type, const SharedTile &query,
                                                          const SharedTile &key, const SharedTile &value) {
  return std::make_unique<WgmmaProducts>(wb, type, query, key, value);
}
