//===- Passes.cpp - the passes for MLIR's C API ---------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Conversion/Passes.h"
#include "attn-c/attn_mlir.h"
#include "attn/InitAll.h"
#include "attn/Raise/Raise.h"
#include "attn/Transforms/Passes.h"
#include "mlir/CAPI/Pass.h"

using namespace attn;

#include "attn/Conversion/Passes.capi.cpp.inc"
#include "attn/Raise/Passes.capi.cpp.inc"
#include "attn/Transforms/Passes.capi.cpp.inc"

void mlirRegisterAttnPasses() { attn::registerAllPasses(); }
