//===- Outlining.h - loops and buffers in functions of their own -*- C++ -*-===//
//
// Shared by the passes that move the body of an scf.forall into a function, for threads or for a GPU, and that make
// memrefs of a function's pointers.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_CONVERSION_OUTLINING_H
#define ATTN_CONVERSION_OUTLINING_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace attn {

/// The number of iterations of a forall, an index. `mapping` maps its bounds in another function.
mlir::Value createTileCount(mlir::OpBuilder &b, mlir::scf::ForallOp forall, const mlir::IRMapping &mapping = {});

/// Clones the body of a forall for the iteration with this index. The last induction variable varies fastest: the query
/// tiles of one head are consecutive. `mapping` maps the outside values of the body and the bounds.
void cloneTile(mlir::OpBuilder &b, mlir::scf::ForallOp forall, mlir::Value tile, mlir::IRMapping &mapping);

/// The buffer at an !llvm.ptr as a memref; the sizes of its dynamic dimensions are i64, and so are the strides of all
/// dimensions but the last. A buffer without strides is contiguous.
mlir::Value createMemref(mlir::OpBuilder &b, mlir::Location loc, const mlir::LLVMTypeConverter &converter,
                         mlir::MemRefType type, mlir::Value pointer, mlir::ValueRange dynamicSizes,
                         mlir::ValueRange strides = {});

} // namespace attn

#endif // ATTN_CONVERSION_OUTLINING_H
