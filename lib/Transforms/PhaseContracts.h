//===- PhaseContracts.h - what attn-verify-phase checks ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_PHASECONTRACTS_H
#define ATTN_LIB_TRANSFORMS_PHASECONTRACTS_H

#include "mlir/IR/Operation.h"

namespace attn {

/// A rule about each op after a phase; `expected` ends its error.
struct Contract {
  llvm::StringRef phase;
  bool (*isBroken)(mlir::Operation *op);
  llvm::StringRef expected;
};

/// Those of phases gpu and steps (KernelContracts.cpp).
llvm::ArrayRef<Contract> getKernelContracts();

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_PHASECONTRACTS_H
