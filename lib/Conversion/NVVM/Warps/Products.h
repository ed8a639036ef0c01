//===- Products.h - the two products of a step ------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_NVVM_PRODUCTS_H
#define ATTN_LIB_CONVERSION_NVVM_PRODUCTS_H

#include "WarpTile.h"

namespace attn::nvvm {

/// S = Q K^T and O += P V of one warp, on tiles in shared memory, for one instruction.
class Products {
public:
  /// The lowering of attn.product; tiles that it does not read may be empty.
  static std::unique_ptr<Products> create(WarpBuilder &wb, const InstructionInfo &instruction, mlir::FloatType type,
                                          const SharedTile &query, const SharedTile &key, const SharedTile &value);
  virtual ~Products() = default;
  /// Fragments of S: (fragment, block of 8 keys, element).
  virtual Values multiplyKeys(int64_t keyBlocks) = 0;
  /// acc += P V for the fragments `weights`, rounded to the type of V.
  virtual void multiplyValues(const Values &weights, int64_t keyBlocks, const TileState &state) = 0;
  /// For asynchronous instructions: returns the input of finishProduct. Weights are packed.
  virtual Values startKeys(int64_t) { llvm_unreachable("no asynchronous instruction"); }
  virtual Values startValues(llvm::ArrayRef<mlir::Value>, const TileState &) {
    llvm_unreachable("no asynchronous instruction");
  }
  /// dS K on a tile that all warps have written: with 64 rows, each of two groups computes half of the `columns`; with
  /// 128, its own rows.
  virtual Values startExchanged(int64_t) { llvm_unreachable("no asynchronous instruction"); }

protected:
  Products(WarpBuilder &wb, const SharedTile &query, const SharedTile &key, const SharedTile &value)
      : wb(wb), query(query), key(key), value(value), fragments(wb.warpRows / kFragmentRows) {}

  WarpBuilder &wb;
  SharedTile query, key, value;
  int64_t fragments;
};

/// m16n8k16 of bf16 or f16 (MmaProducts.cpp).
std::unique_ptr<Products> createMmaProducts(WarpBuilder &wb, mlir::FloatType type, const SharedTile &query,
                                            const SharedTile &key, const SharedTile &value);
/// m64nNk16 of bf16 or f16, by four warps (WgmmaProducts.cpp).
std::unique_ptr<Products> createWgmmaProducts(WarpBuilder &wb, mlir::FloatType type, const SharedTile &query,
                                              const SharedTile &key, const SharedTile &value);
/// The results of a wgmma product, once at most `pending` later ones are in flight.
Values finishProduct(WarpBuilder &wb, llvm::ArrayRef<mlir::Value> acc, int64_t pending);
void setAcc(WarpBuilder &wb, const TileState &state, llvm::ArrayRef<mlir::Value> acc);
/// Weights, packed in pairs, as the A operand of wgmma. Uses asm, which stays before the fence.
Values packWeights(WarpBuilder &wb, llvm::ArrayRef<mlir::Value> weights, mlir::FloatType type);
/// f32: m16n8k8 of rounded elements, or multiply-adds (SingleProducts.cpp).
std::unique_ptr<Products> createSingleProducts(WarpBuilder &wb, const SharedTile &query, const SharedTile &key,
                                               const SharedTile &value);

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_PRODUCTS_H
