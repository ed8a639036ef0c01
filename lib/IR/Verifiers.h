//===- Verifiers.h - checks that several verifiers share --------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_IR_VERIFIERS_H
#define ATTN_LIB_IR_VERIFIERS_H

#include "attn/IR/Attn.h"

namespace attn {

/// C10: an empty region, or one block of pure scalar ops with these arguments that yields these types. A null type
/// stands for any float. `meaning` completes "expected … to yield".
mlir::LogicalResult verifyScalarRegion(mlir::Operation *op, mlir::Region &region, llvm::StringRef name,
                                       llvm::ArrayRef<mlir::Type> arguments, llvm::ArrayRef<mlir::Type> results,
                                       llvm::StringRef meaning);

/// C4: the operand is floating point; of type `expected` if given.
mlir::LogicalResult verifyFloat(mlir::Operation *op, mlir::Value operand, llvm::StringRef name,
                                mlir::Type expected = {}, llvm::StringRef reason = "");
mlir::LogicalResult verifyMaskMod(mlir::Operation *op, mlir::Region &region);
mlir::LogicalResult verifyScoreMod(mlir::Operation *op, mlir::Region &region, llvm::StringRef name, mlir::Type type);
/// C4, C2 of a sink: one float per query head.
mlir::LogicalResult verifySink(mlir::Operation *op, mlir::Value sink);
/// C16.
mlir::LogicalResult verifyDropout(mlir::Operation *op, std::optional<llvm::APFloat> p, mlir::Value seed);

/// C11: all tensors with a result for each destination, or all memrefs with none.
mlir::LogicalResult verifyForm(mlir::Operation *op);

/// C6: finite and greater than 0, and a normal number in the type of the accumulation.
mlir::LogicalResult verifySoftcap(mlir::Operation *op, std::optional<llvm::APFloat> softcap,
                                  mlir::Type accumulationType, llvm::StringRef name = "softcap");
/// C9: a finite attribute, also in the type of the accumulation, or a value of that type (may be null), not both.
mlir::LogicalResult verifyScale(mlir::Operation *op, mlir::Value value, std::optional<llvm::APFloat> scale,
                                mlir::Type accumulationType);

/// C8: booleans, true = attend; bytes in a packed tile.
mlir::LogicalResult verifyMask(mlir::Operation *op, mlir::Value mask);
/// C5, C12, C13, C14: mask sugar.
mlir::LogicalResult verifySpelledOutMask(MaskOp op);
mlir::LogicalResult verifySpelledOutMask(SdpaOp op);
mlir::LogicalResult verifySpelledOutMask(SdpaBackwardOp op);
mlir::LogicalResult verifySpelledOutMask(MultiHeadOp op);
/// C13, C15: packed sequences.
mlir::LogicalResult verifyPacked(SdpaOp op);
mlir::LogicalResult verifyPacked(SdpaBackwardOp op);
/// C13: integers (may be null), `excess` more than batch indices.
mlir::LogicalResult verifyPerBatch(mlir::Operation *op, mlir::Value operand, llvm::StringRef name, int64_t excess = 0);

/// C21: scales of quantised keys and values (KvScale.cpp).
mlir::LogicalResult verifyKvScale(SdpaOp op);
mlir::LogicalResult verifyKvScale(SdpaBackwardOp op);

} // namespace attn

#endif // ATTN_LIB_IR_VERIFIERS_H
