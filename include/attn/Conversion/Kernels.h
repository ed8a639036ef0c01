//===- Kernels.h - what a kernel's arguments are ----------------*- C++ -*-===//
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

/// Element types of a kernel's C entry, and what each surface calls them.
enum class ElementKind { F32, F64, BF16, F16, F8E4M3FN, F8E5M2, I1, I8, I32, I64 };
struct ElementInfo {
  llvm::StringLiteral numpyName, cName;
  int64_t bytes;      ///< in memory; a boolean is a byte
  int64_t dlpackCode; ///< DLDataTypeCode, 6 for booleans, 10 for float8_e4m3fn, 12 for float8_e5m2
};
const ElementInfo &getElementInfo(ElementKind kind);
std::optional<ElementKind> getElementKind(mlir::Type type);

/// A size that a call knows: dimension `dim` of argument `argument`, or the number `dim` where `argument` is -1.
struct SizePlace {
  int64_t argument = -1, dim = 1;
  bool operator==(const SizePlace &) const = default;
};

/// What the integers of an argument must be, beside their type: tested by the checked entry, last of all.
struct ValueCheck {
  /// In the order of attn_value_kind of attn_runtime.h, from 1.
  enum class Kind { Lengths = 1, PrefixSums, BlockTable, Positions, AppendTable };
  Kind kind = Kind::Lengths;
  /// The values go up to limit[0] * limit[1].
  SizePlace limit[2];
  /// Tables: the argument that holds the lengths or positions, and the rows of a page. Prefix sums: the argument that
  /// has one element less than they, or -1.
  int64_t lengths = -1;
  SizePlace page;
  /// Positions and tables that are appended to: how many rows are written from each position on.
  SizePlace rows;

  bool operator==(const ValueCheck &) const = default;
  mlir::Attribute toAttribute(mlir::MLIRContext *ctx) const;
  static ValueCheck fromAttribute(mlir::Attribute attribute);
  static llvm::StringRef getName(Kind kind);
};

/// One argument of a kernel, in the order of its C entry: the arguments of the function, then the results that have no
/// destination among them.
struct KernelArgument {
  std::string name;
  ElementKind element = ElementKind::F32;
  llvm::SmallVector<int64_t> shape; ///< empty for a scalar; kDynamic where only the call says it
  /// For each dimension the place of its size in the kernel's list of dynamic sizes, -1 where it is static.
  llvm::SmallVector<int32_t> symbols;
  llvm::SmallVector<ValueCheck, 0> checks;
  bool isOutput = false;
  bool isUpdated = false; ///< an output of which the kernel reads or keeps old values, as kv_append does
  bool isScalar = false;  ///< passed by value, not by pointer
  bool isStrided =
      false;           ///< the call says the strides of all dimensions but the last, whose is 1; others: C-contiguous
  int64_t result = -1; ///< of an output: which of the function's results it holds

  /// Of the first element, in bytes: its own size, and on a GPU, but for integers, what kernels read at once.
  int64_t getAlignment(bool isGpu) const;

  /// Elements between neighbours of each dimension; kDynamic where the call says it or a dynamic size is a factor.
  llvm::SmallVector<int64_t> getStrides() const;
  /// int64 parameters of the plain C entry, after all sizes: the strides that the call says, as "q_stride0".
  llvm::SmallVector<std::string> getStrideNames() const;
  /// The sizes as text: a number, or the name in `sizes`; the strides likewise, as "sk * 64".
  llvm::SmallVector<std::string> printShape(llvm::ArrayRef<std::string> sizes) const;
  llvm::SmallVector<std::string> printStrides(llvm::ArrayRef<std::string> sizes) const;
};

/// The type of a strided argument: strides known at run time, 1 for the last dimension, no offset.
mlir::MemRefType getStridedMemref(mlir::ShapedType type);

/// Of a kernel of a processor: bytes of its buffers on the heap, -1 where its sizes say them; and where it takes a
/// workspace instead.
constexpr llvm::StringLiteral kHeapAttr = "attn.heap", kWorkspaceAttr = "attn.workspace";

/// The arguments that attn-describe-kernels has attached to a function.
llvm::SmallVector<KernelArgument> getKernelArguments(mlir::Operation *function);
/// The names of its dynamic sizes: int64 parameters of the plain C entry, after the arguments.
llvm::SmallVector<std::string> getKernelSizes(mlir::Operation *function);
/// For each dynamic size how it follows from the others; empty where an argument says it.
llvm::SmallVector<SizeFormula> getSizeFormulas(mlir::Operation *function);
/// What a call must hold to beside equal sizes: reads of a slice lie inside, and sizes that are arithmetic are equal
/// where the function takes them to be.
llvm::SmallVector<SizeLimit> getSizeLimits(mlir::Operation *function);

} // namespace attn

#endif // ATTN_CONVERSION_KERNELS_H
