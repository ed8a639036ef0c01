//===- AppendRows.h - appends rows of K or V to a cache ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_CONVERSION_APPENDROWS_H
#define ATTN_CONVERSION_APPENDROWS_H

#include "attn/IR/Attn.h"

namespace attn {

/// Runs the body for the indices of dimension `dim` of the new rows, (batch, head, row, column): a loop, or the share
/// of one thread.
using AppendLoop = llvm::function_ref<void(unsigned dim, llvm::function_ref<void(mlir::Value)> body)>;

/// The code of an attn.kv_append on memrefs: writes the new rows into the cache in place and touches nothing else. A
/// row outside of the cache is not written, whatever positions and table contain. The loops are, from the outside, over
/// batch indices, rows, heads and columns.
void emitAppendedRows(mlir::OpBuilder &builder, KvAppendOp op, AppendLoop loop);

} // namespace attn

#endif // ATTN_CONVERSION_APPENDROWS_H
