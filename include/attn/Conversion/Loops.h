//===- Loops.h - loop annotations for LLVM ----------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_CONVERSION_LOOPS_H
#define ATTN_CONVERSION_LOOPS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace attn {

/// Keeps LLVM (and, through PTX, ptxas) from unrolling an scf.for: loads of its iterations would be hoisted out of the
/// outer loops, and take too many registers.
inline void keepRolled(mlir::Operation *loop) {
  mlir::MLIRContext *ctx = loop->getContext();
  auto unroll = mlir::LLVM::LoopUnrollAttr::get(ctx, /*disable=*/mlir::BoolAttr::get(ctx, true), /*count=*/{},
                                                /*runtimeDisable=*/{}, /*full=*/{}, /*followupUnrolled=*/{},
                                                /*followupRemainder=*/{}, /*followupAll=*/{});
  // scf-to-cf forwards attributes of the LLVM dialect to the branch.
  loop->setAttr("loop_annotation", mlir::LLVM::LoopAnnotationAttr::get(ctx, {}, {}, {}, unroll, {}, {}, {}, {}, {}, {},
                                                                       {}, {}, {}, {}, {}));
}

} // namespace attn

#endif // ATTN_CONVERSION_LOOPS_H
