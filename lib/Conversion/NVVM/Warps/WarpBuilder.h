//===- WarpBuilder.h - the code of one thread -------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_NVVM_WARPBUILDER_H
#define ATTN_LIB_CONVERSION_NVVM_WARPBUILDER_H

#include "attn/IR/Attn.h"
#include "attn/Target/BlockLayout.h"
#include "attn/Target/TargetInfo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace attn::nvvm {

using Values = llvm::SmallVector<mlir::Value>;

constexpr int64_t kFragmentRows = 16, kBlockColumns = 8;
/// Elements of a fragment that a thread has, and the rows that contain them.
constexpr int64_t kFragmentElements = 4, kThreadRows = 2;

/// Builds the code of one thread. Values are i32 and f32 unless noted otherwise; positions are those of the thread.
class WarpBuilder {
public:
  /// Computes the positions at the entry of `kernel`.
  WarpBuilder(mlir::OpBuilder &builder, mlir::gpu::GPUFuncOp kernel, BlockAttr schedule);

  /// Recomputes the positions in a way that LLVM cannot prove equal to the old ones. What an iteration of a loop over
  /// tiles derives from them is then computed in that iteration, not kept in registers from the first one on.
  void placeAgain() { place(readThread()); }
  /// An opaque copy of the integer `x`: what is computed from it is not hoisted out of loops.
  mlir::Value hide(mlir::Value x);
  /// The thread index, as an opaque value.
  mlir::Value readThread();

  mlir::Value constant(int64_t value) { return mlir::arith::ConstantIntOp::create(b, loc, value, 32); }
  mlir::Value constant64(int64_t value) { return mlir::arith::ConstantIntOp::create(b, loc, value, 64); }
  mlir::Value real(double value) {
    return mlir::arith::ConstantOp::create(b, loc, b.getF32FloatAttr(static_cast<float>(value)));
  }
  mlir::Value add(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::AddIOp>(loc, x, y); }
  mlir::Value add(mlir::Value x, int64_t y) { return y == 0 ? x : add(x, constant(y)); }
  mlir::Value multiply(mlir::Value x, int64_t y) { return b.createOrFold<mlir::arith::MulIOp>(loc, x, constant(y)); }
  mlir::Value multiply64(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::MulIOp>(loc, x, y); }
  mlir::Value divide(mlir::Value x, int64_t y) { return b.createOrFold<mlir::arith::DivUIOp>(loc, x, constant(y)); }
  mlir::Value remainder(mlir::Value x, int64_t y) { return b.createOrFold<mlir::arith::RemUIOp>(loc, x, constant(y)); }
  mlir::Value widen(mlir::Value x) { return mlir::arith::ExtSIOp::create(b, loc, b.getI64Type(), x); }
  mlir::Value toIndex(mlir::Value x) { return mlir::arith::IndexCastUIOp::create(b, loc, b.getIndexType(), x); }
  /// An index, as an i32 or i64.
  mlir::Value fromIndex(mlir::OpFoldResult x, unsigned width = 32);
  mlir::Value isLess(mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpIOp::create(b, loc, mlir::arith::CmpIPredicate::slt, x, y);
  }
  mlir::Value both(mlir::Value x, mlir::Value y) { return x ? mlir::arith::AndIOp::create(b, loc, x, y) : y; }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) {
    return mlir::arith::SelectOp::create(b, loc, condition, x, y);
  }
  mlir::Value minimum(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::MinSIOp>(loc, x, y); }

  mlir::Value addf(mlir::Value x, mlir::Value y) { return mlir::arith::AddFOp::create(b, loc, x, y); }
  mlir::Value subf(mlir::Value x, mlir::Value y) { return mlir::arith::SubFOp::create(b, loc, x, y); }
  mlir::Value mulf(mlir::Value x, mlir::Value y) { return mlir::arith::MulFOp::create(b, loc, x, y); }
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z);
  /// Returns the other operand where one is NaN: max.f32.
  mlir::Value maxf(mlir::Value x, mlir::Value y) { return mlir::LLVM::MaxNumOp::create(b, loc, x, y); }
  /// Returns NaN where one operand is NaN: min.NaN.f32.
  mlir::Value minf(mlir::Value x, mlir::Value y) { return mlir::LLVM::MinimumOp::create(b, loc, x, y); }
  mlir::Value isEqual(mlir::Value x, double y) {
    return mlir::arith::CmpFOp::create(b, loc, mlir::arith::CmpFPredicate::OEQ, x, real(y));
  }
  /// 2^x, log2 x and 1 / x by the special function unit: relative error 2^-22; subnormals are flushed to 0.
  mlir::Value exp2(mlir::Value x) { return intrinsic("llvm.nvvm.ex2.approx.ftz.f", x); }
  mlir::Value log2(mlir::Value x) { return intrinsic("llvm.nvvm.lg2.approx.ftz.f", x); }
  mlir::Value reciprocal(mlir::Value x) { return intrinsic("llvm.nvvm.rcp.approx.ftz.f", x); }
  mlir::Value convert(mlir::Value x, mlir::Type to);
  /// Packs two f32 into a register of 16-bit floats, `low` first.
  mlir::Value packPair(mlir::Value low, mlir::Value high, mlir::Type elementType);

  /// The value of lane ^ distance; of lane `source`.
  mlir::Value shuffleXor(mlir::Value x, int64_t distance) {
    return shuffle(mlir::NVVM::ShflKind::bfly, x, constant(distance));
  }
  mlir::Value shuffleFrom(mlir::Value x, mlir::Value source) { return shuffle(mlir::NVVM::ShflKind::idx, x, source); }
  /// Reductions over the quad that shares a row.
  mlir::Value quadMax(mlir::Value x);
  mlir::Value quadSum(mlir::Value x);

  /// True in all lanes where the flag is set in any lane.
  mlir::Value anyOfWarp(mlir::Value flag) {
    return mlir::NVVM::VoteSyncOp::create(b, loc, b.getI1Type(), constant(-1), flag, mlir::NVVM::VoteSyncKind::any);
  }

  /// A barrier of all threads, or of the first `barrierThreads` where that is set.
  void barrier();
  void syncWarp() { mlir::NVVM::SyncWarpOp::create(b, loc, constant(-1)); }
  void commitCopies() { mlir::NVVM::CpAsyncCommitGroupOp::create(b, loc); }
  /// Waits until at most `pending` groups of copies are in flight.
  void waitForCopies(int64_t pending) { mlir::NVVM::CpAsyncWaitGroupOp::create(b, loc, pending); }

  /// Makes this thread's writes to shared memory visible to wgmma, after a barrier.
  void publishToProducts() {
    mlir::NVVM::FenceProxyOp::create(
        b, loc, mlir::NVVM::ProxyKind::async_shared,
        mlir::NVVM::SharedSpaceAttr::get(b.getContext(), mlir::NVVM::SharedSpace::shared_cta));
  }

  /// The warp's number among those with other rows.
  mlir::Value getRowWarp();
  /// The place of `x` among what all groups of warps that share rows have, where each has `size`.
  mlir::Value placeInGroups(mlir::Value x, int64_t size) {
    return columnGroup ? add(x, multiply(columnGroup, size)) : x;
  }
  /// True in the first of the groups of warps that share rows, for what they have in common; null where there is one.
  mlir::Value isFirstColumnGroup();

  /// The address `byteOffset` bytes into shared memory.
  mlir::Value sharedAt(mlir::Value byteOffset);
  mlir::Value load(mlir::Type type, mlir::Value pointer, unsigned alignment);
  void store(mlir::Value value, mlir::Value pointer, unsigned alignment);

  /// Rounds an f32 to the precision of the products.
  mlir::Value roundToFragment(mlir::Value x);
  /// Loads 8 x 8 matrices of 16-bit elements, two or four; lane l provides the address of row l % 8 of matrix l / 8.
  Values loadMatrices(mlir::Value pointer, bool isTransposed, int64_t count);
  /// The inverse, for four matrices; pairs of their elements are i32.
  void storeMatrices(mlir::Value pointer, llvm::ArrayRef<mlir::Value> matrices, bool isTransposed);
  /// acc + A B for fragments m16n8k16 of `type` (bf16, f16), or m16n8k8 of f32 that roundToFragment has rounded.
  Values multiplyFragments(mlir::Type type, mlir::ValueRange a, mlir::ValueRange bOperand, mlir::ValueRange acc);

  /// An asm statement with side effects, without results.
  void assemble(llvm::StringRef text, llvm::StringRef constraints, mlir::ValueRange operands);

  /// if (condition) body(); null is true.
  void when(mlir::Value condition, llvm::function_ref<void()> body);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const InstructionInfo &instruction;
  mlir::Value thread, lane, warp, quad, quadLane; ///< quad = lane / 4, quadLane = lane % 4
  mlir::Value firstRow;                           ///< of the warp
  int64_t lanes, threads, warpRows, blockRows, keyTile, barrierThreads = 0;
  int64_t columnGroups = 1; ///< groups of warps that share rows, each with a part of V's columns
  mlir::Value columnGroup;  ///< of the warp; null where there is one
  bool hasFloat8 = false;   ///< instructions convert e4m3

private:
  void place(mlir::Value number);
  mlir::Value intrinsic(llvm::StringRef name, mlir::Value x);
  mlir::Value shuffle(mlir::NVVM::ShflKind kind, mlir::Value x, mlir::Value by);

  mlir::Value sharedBase;
};

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_WARPBUILDER_H
