//===- ExternalModels.h - registrations joined by ExternalModels.cpp ------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_IR_EXTERNALMODELS_H
#define ATTN_LIB_IR_EXTERNALMODELS_H

#include "mlir/IR/DialectRegistry.h"

namespace attn {

void registerTilingModels(mlir::DialectRegistry &registry);
void registerBufferizationModels(mlir::DialectRegistry &registry);

} // namespace attn

#endif // ATTN_LIB_IR_EXTERNALMODELS_H
