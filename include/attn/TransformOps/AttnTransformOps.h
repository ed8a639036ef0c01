//===- AttnTransformOps.h - transform dialect ops for attention -*- C++ -*-===//
//
// Ops with which scripts of the transform dialect raise, fuse and tile attention.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TRANSFORMOPS_ATTNTRANSFORMOPS_H
#define ATTN_TRANSFORMOPS_ATTNTRANSFORMOPS_H

#include "attn/IR/Attn.h"
#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.h"

#define GET_OP_CLASSES
#include "attn/TransformOps/AttnTransformOps.h.inc"

namespace attn {

/// Adds transform.attn.raise and its siblings to the transform dialect.
void registerTransformDialectExtension(mlir::DialectRegistry &registry);

} // namespace attn

#endif // ATTN_TRANSFORMOPS_ATTNTRANSFORMOPS_H
