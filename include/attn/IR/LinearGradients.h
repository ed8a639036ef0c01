//===- LinearGradients.h - the op of linear attention's gradients -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_LINEARGRADIENTS_H
#define ATTN_IR_LINEARGRADIENTS_H

#include "attn/IR/Attn.h"

#define GET_OP_CLASSES
#include "attn/IR/AttnLinearGradOps.h.inc"

#endif // ATTN_IR_LINEARGRADIENTS_H
