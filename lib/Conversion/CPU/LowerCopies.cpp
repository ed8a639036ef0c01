//===- LowerCopies.cpp - attn-lower-copies --------------------------------===//
//
// Before: memref.copy as bufferisation leaves it. After: only copies that are
// one memcpy; the others are linalg, which becomes loops. Upstream's lowering
// would call `memrefCopy` of MLIR's runner library for them, which no kernel has.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"

namespace attn {
#define GEN_PASS_DEF_LOWERCOPIESPASS
#include "attn/Conversion/Passes.h.inc"
} // namespace attn

using namespace mlir;

/// True for a buffer that upstream's lowering of memref.copy copies by one memcpy.
static bool isContiguous(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  return type.getLayout().isIdentity() ||
         (type.hasStaticShape() && type.getNumElements() > 0 && memref::isStaticShapeAndContiguousRowMajor(type));
}

namespace {
struct LowerCopiesPass : public attn::impl::LowerCopiesPassBase<LowerCopiesPass> {
  void runOnOperation() override {
    getOperation().walk([](memref::CopyOp copy) {
      // Bufferisation leaves copies of a slice onto itself.
      if (copy.getSource() == copy.getTarget())
        return copy.erase();
      if (isContiguous(copy.getSource()) && isContiguous(copy.getTarget()))
        return;
      // target[i] = source[i]
      OpBuilder b(copy);
      linalg::makeMemRefCopyOp(b, copy.getLoc(), copy.getSource(), copy.getTarget());
      copy.erase();
    });
  }
};
} // namespace
