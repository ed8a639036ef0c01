//===- Kernels.h - descriptions of a kernel's arguments ---------*- C++ -*-===//
//
// The description of a kernel's buffers, attached before bufferisation as the
// attribute attn.arguments and read by the checked entry, header and manifest.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_CONVERSION_KERNELS_H
#define ATTN_CONVERSION_KERNELS_H

#include "attn/Support/CNames.h"
#include "attn/Support/SizeFormula.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Types.h"
#include "mlir/IR/Value.h"
#include <string>

namespace attn {

/// Element types of a kernel's C entry, and their names in each interface.
enum class ElementKind { F32, F64, BF16, F16, F8E4M3FN, F8E5M2, I1, I8, I32, I64 };
struct ElementInfo {
  llvm::StringLiteral numpyName, cName;
  int64_t bytes;      ///< in memory; a boolean is a byte
  int64_t dlpackCode; ///< DLDataTypeCode, 6 for booleans, 10 for float8_e4m3fn, 12 for float8_e5m2
};
const ElementInfo &getElementInfo(ElementKind kind);
std::optional<ElementKind> getElementKind(mlir::Type type);

/// A size known at run time: dimension `dim` of argument `argument`, or the constant `dim` where `argument` is -1.
struct SizePlace {
  int64_t argument = -1, dim = 1;
  bool operator==(const SizePlace &) const = default;
};

/// A condition on the integers of an argument, which the checked entry tests after all others.
struct ValueCheck {
  /// In the order of attn_value_kind of attn_runtime.h, from 1.
  enum class Kind { Lengths = 1, PrefixSums, BlockTable, Positions, AppendTable, Slots };
  Kind kind = Kind::Lengths;
  /// The values go up to limit[0] * limit[1].
  SizePlace limit[2];
  /// Tables: the argument with the lengths or positions, and the rows of a page. Prefix sums: the argument that has one
  /// element fewer, or -1.
  int64_t lengths = -1;
  SizePlace page;
  /// Positions and tables of an append: the number of rows written from each position on.
  SizePlace rows;

  bool operator==(const ValueCheck &) const = default;
  mlir::Attribute toAttribute(mlir::MLIRContext *ctx) const;
  static ValueCheck fromAttribute(mlir::Attribute attribute);
  static llvm::StringRef getName(Kind kind);
};

/// One argument of a kernel, in the order of its C entry: the arguments of the function, then the results without a
/// destination among them.
struct KernelArgument {
  std::string name;
  ElementKind element = ElementKind::F32;
  llvm::SmallVector<int64_t> shape; ///< empty for a scalar; kDynamic where only known at run time
  /// The index of each dimension's size in the kernel's list of dynamic sizes; -1 where it is static.
  llvm::SmallVector<int32_t> symbols;
  llvm::SmallVector<ValueCheck, 0> checks;
  bool isOutput = false;
  bool isUpdated = false; ///< an output whose old contents the kernel reads or keeps, as kv_append does
  bool isScalar = false;  ///< passed by value, not by pointer
  bool isStrided = false; ///< run-time strides for all dimensions but the last, whose stride is 1; others: C-contiguous
  int64_t result = -1;    ///< for an output: the index of the function's result that it holds

  /// Alignment of the first element in bytes: its own size; on a GPU, except for integers, the width of a kernel's
  /// loads.
  int64_t getAlignment(bool isGpu) const;

  /// Strides in elements; kDynamic for a run-time stride, or where a dynamic size is a factor.
  llvm::SmallVector<int64_t> getStrides() const;
  /// int64 parameters of the plain C entry, after all sizes: the run-time strides, as "q_stride0".
  llvm::SmallVector<std::string> getStrideNames() const;
  /// The sizes as text: a constant, or the name in `sizes`; the strides likewise, as "sk * 64".
  llvm::SmallVector<std::string> printShape(llvm::ArrayRef<std::string> sizes) const;
  llvm::SmallVector<std::string> printStrides(llvm::ArrayRef<std::string> sizes) const;
};

/// The type of a strided argument: strides known at run time, 1 for the last dimension, no offset.
mlir::MemRefType getStridedMemref(mlir::ShapedType type);

/// For a kernel of a processor: bytes of its heap buffers, -1 where they depend on its sizes; and whether it takes a
/// workspace instead.
constexpr llvm::StringLiteral kHeapAttr = "attn.heap", kWorkspaceAttr = "attn.workspace";

/// The arguments that attn-describe-kernels has attached to a function.
llvm::SmallVector<KernelArgument> getKernelArguments(mlir::Operation *function);
/// The names of its dynamic sizes: int64 parameters of the plain C entry, after the arguments.
llvm::SmallVector<std::string> getKernelSizes(mlir::Operation *function);
/// A formula for each dynamic size; empty where an argument has it.
llvm::SmallVector<SizeFormula> getSizeFormulas(mlir::Operation *function);
/// The constraints on a call in addition to equal sizes: slices that are read are in bounds, and computed sizes are
/// equal where the function assumes it.
llvm::SmallVector<SizeLimit> getSizeLimits(mlir::Operation *function);

} // namespace attn

#endif // ATTN_CONVERSION_KERNELS_H
