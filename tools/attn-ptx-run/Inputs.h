//===- Inputs.h - inputs that bring faults to light -------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTN_PTX_RUN_INPUTS_H
#define ATTN_TOOLS_ATTN_PTX_RUN_INPUTS_H

#include "../common/Driver.h"

namespace attn::ptx {

/// Random arguments of a kernel. Q is `magnitude` times as large as in `attnc run`: with 128, a maximum that is not the
/// row's lets powers of two overflow; with 2^31, some rows' scores are beyond what one multiply-add brings to the
/// exponent. Rows of Q, K, V and their scales beyond the lengths, page tails and pages that no sequence has are NaN (of
/// int8: 127). Where the rows of batch indices lie one behind the other, K and V of each second one are NaN as well: of
/// the odd ones in magnitude 1, of the even ones in others.
llvm::Expected<std::vector<NpyArray>> drawInputs(const Kernel &kernel, const driver::ArgumentOptions &options,
                                                 double magnitude);

/// The same numbers in the type of `to`.
void copyFloats(const NpyArray &from, NpyArray &to);

/// Makes row j of V a one in column j modulo D, so that an output is the weight of few keys, and how each weight was
/// rounded shows. False, and nothing is changed, where it is not known which row of V is of which key.
bool separateKeys(const Kernel &kernel, llvm::MutableArrayRef<NpyArray> arrays);

} // namespace attn::ptx

#endif // ATTN_TOOLS_ATTN_PTX_RUN_INPUTS_H
