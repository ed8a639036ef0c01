//===- RemarkPrinter.h - remarks as lines of text ---------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_COMPILER_REMARKPRINTER_H
#define ATTN_LIB_COMPILER_REMARKPRINTER_H

#include "attn/Compiler/Compiler.h"
#include "mlir/IR/MLIRContext.h"

namespace attn {

/// Prints each remark of category attn that passes the filter as `FILE:LINE:COLUMN: remark: KIND CODE: TEXT`.
mlir::LogicalResult enableRemarks(mlir::MLIRContext &context, RemarkFilter filter, llvm::raw_ostream &os);

} // namespace attn

#endif // ATTN_LIB_COMPILER_REMARKPRINTER_H
