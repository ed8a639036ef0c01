//===- Verifiers.h - checks of scalar regions -------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_IR_VERIFIERS_H
#define ATTN_LIB_IR_VERIFIERS_H

#include "attn/IR/Attn.h"

namespace attn {

/// C10: an empty region, or one block of pure scalar ops with these arguments that ends by yielding these types. A null
/// type stands for any float. `meaning` completes "expected … to yield".
mlir::LogicalResult verifyScalarRegion(mlir::Operation *op, mlir::Region &region, llvm::StringRef name,
                                       llvm::ArrayRef<mlir::Type> arguments, llvm::ArrayRef<mlir::Type> results,
                                       llvm::StringRef meaning);

/// C21: scales of quantised keys and values (KvScale.cpp).
mlir::LogicalResult verifyKvScale(SdpaOp op);

} // namespace attn

#endif // ATTN_LIB_IR_VERIFIERS_H
