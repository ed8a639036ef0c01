//===- ProblemText.h - words that lines and IR share ------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_PROBLEM_PROBLEMTEXT_H
#define ATTN_PROBLEM_PROBLEMTEXT_H

#include "attn/Problem/Problem.h"
#include "llvm/ADT/SmallVector.h"

namespace attn {

/// The values of kvscale.
inline constexpr std::pair<llvm::StringRef, Problem::KvScale> kKvScales[] = {{"head", Problem::KvScale::Head},
                                                                             {"token", Problem::KvScale::Token},
                                                                             {"page", Problem::KvScale::Page},
                                                                             {"slot", Problem::KvScale::Slot}};

llvm::StringRef printElement(Problem::Element element);
/// The type of k and v as IR spells it.
llvm::StringRef printKvElement(const Problem &problem);
/// The words of a line that tensors do not show: those after the element type, of bias and mask only that they are
/// there.
llvm::SmallVector<std::string> getFeatureWords(const Problem &problem);

/// The arguments of a line of linear attention that have gradients.
std::vector<std::string> getLinearInputs(const Problem &problem);

} // namespace attn

#endif // ATTN_PROBLEM_PROBLEMTEXT_H
