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

#include "attn/Conversion/CNames.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Types.h"
#include "mlir/IR/Value.h"
#include <string>

namespace attn {

/// Element types of a kernel's C entry, and what each surface calls them.
enum class ElementKind { F32, F64, BF16, F16, I1, I8, I32, I64 };
struct ElementInfo {
  llvm::StringLiteral numpyName, cName;
  int64_t bytes;      ///< in memory; a boolean is a byte
  int64_t dlpackCode; ///< DLDataTypeCode, 6 for booleans
};
const ElementInfo &getElementInfo(ElementKind kind);
std::optional<ElementKind> getElementKind(mlir::Type type);

/// One argument of a kernel, in the order of its C entry: inputs, then outputs. C-contiguous.
struct KernelArgument {
  std::string name;
  ElementKind element = ElementKind::F32;
  llvm::SmallVector<int64_t> shape; ///< empty for a scalar
  bool isOutput = false;
  bool isScalar = false; ///< passed by value, not by pointer

  /// Elements between neighbours of each dimension, row-major.
  llvm::SmallVector<int64_t> getStrides() const;
};

/// The arguments that attn-describe-kernels has attached to a function.
llvm::SmallVector<KernelArgument> getKernelArguments(mlir::Operation *function);

/// The tensor that a value is written to: through ops in destination-passing style, to an argument or a tensor.empty.
mlir::Value getDestination(mlir::Value value);

} // namespace attn

#endif // ATTN_CONVERSION_KERNELS_H
