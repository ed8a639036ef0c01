//===- RemarkPrinter.h - remarks of a compilation ---------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_COMPILER_REMARKPRINTER_H
#define ATTN_LIB_COMPILER_REMARKPRINTER_H

#include "attn/Compiler/Compiler.h"
#include "mlir/IR/MLIRContext.h"

namespace attn {

/// Passes on each remark of category attn that passes the filter.
mlir::LogicalResult enableRemarks(mlir::MLIRContext &context, RemarkFilter filter,
                                  std::function<void(const RemarkRecord &)> onRemark);

/// Prints a remark as `FILE:LINE:COLUMN: remark: KIND CODE: TEXT [FUNCTION]`.
void printRemark(llvm::raw_ostream &os, const RemarkRecord &remark);

} // namespace attn

#endif // ATTN_LIB_COMPILER_REMARKPRINTER_H
