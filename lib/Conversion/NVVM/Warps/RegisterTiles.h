//===- RegisterTiles.h - the registers of tiles from op to op ---*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_NVVM_REGISTERTILES_H
#define ATTN_LIB_CONVERSION_NVVM_REGISTERTILES_H

#include "WarpTile.h"

namespace attn::nvvm {

/// The registers of a state are written in place. Verifies that nothing reads the value of `use` after its op, and that
/// the op is in no loop that the value is not in.
mlir::LogicalResult verifyLastUse(mlir::OpOperand &use);

} // namespace attn::nvvm

#endif // ATTN_LIB_CONVERSION_NVVM_REGISTERTILES_H
