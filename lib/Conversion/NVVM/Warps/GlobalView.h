//===- GlobalView.h - operands in global memory -----------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_NVVM_GLOBALVIEW_H
#define ATTN_LIB_CONVERSION_NVVM_GLOBALVIEW_H

#include "WarpBuilder.h"

namespace attn::nvvm {

/// Divisors of the offset and the strides of a memref, in elements (ViewAlignment.cpp); 0 is divisible by everything.
struct ViewDivisors {
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;
};
ViewDivisors getViewDivisors(mlir::Value memref);
/// A power of two up to 64 that an integer is a multiple of; positions of keys count as multiples of it.
int64_t getKnownPower(mlir::Value value);

/// Bytes of an element in memory, where a boolean has one.
int64_t getElementBytes(mlir::Type type);

/// An operand in global memory, with its map from the domain of the op: a pointer, and strides by domain dimension.
class GlobalView {
public:
  GlobalView() = default;
  GlobalView(WarpBuilder &wb, mlir::Value memref, mlir::AffineMap map);
  explicit operator bool() const { return base != nullptr; }
  /// In elements, an i64; null where the operand does not have the dimension.
  mlir::Value getStride(unsigned dim) const { return strides[dim]; }
  /// An i32.
  mlir::Value getSize(WarpBuilder &wb, unsigned dim) const;
  std::optional<int64_t> getStaticSize(unsigned dim) const;
  bool isContiguous(unsigned dim) const { return contiguous[dim]; }
  /// Alignment in bytes, at most 16, of the elements at index 0 of `columnDim`.
  unsigned getRowAlignment(unsigned columnDim) const;
  mlir::Type getElementType() const { return elementType; }
  int64_t getElementBytes() const { return nvvm::getElementBytes(elementType); }
  /// The address `offset` elements (i64) after the first one.
  mlir::Value getAddress(WarpBuilder &wb, mlir::Value offset) const;
  /// sum of stride(dim) * index; indices are i32, null for dimensions of size 1.
  mlir::Value getOffset(WarpBuilder &wb, llvm::ArrayRef<std::pair<unsigned, mlir::Value>> indices) const;

private:
  mlir::Value base;
  mlir::Type elementType;
  Values strides;
  llvm::SmallVector<mlir::OpFoldResult> sizes;
  llvm::SmallVector<bool> contiguous;
  ViewDivisors divisors; ///< strides by domain dimension
};

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_GLOBALVIEW_H
