//===- StepFormulas.h - the ops of a step as linalg -------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_IR_STEPFORMULAS_H
#define ATTN_LIB_IR_STEPFORMULAS_H

#include "FormulaParts.h"

namespace attn {

Values decomposeProduct(Formula &f, ProductOp op);
Values decomposeRowMax(Formula &f, RowMaxOp op);
Values decomposeRescale(Formula &f, RescaleOp op);
Values decomposeWeights(Formula &f, WeightsOp op);

} // namespace attn

#endif // ATTN_LIB_IR_STEPFORMULAS_H
