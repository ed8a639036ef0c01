//===- LinearProblem.h - problem lines of linear attention ------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_PROBLEM_LINEARPROBLEM_H
#define ATTN_LIB_PROBLEM_LINEARPROBLEM_H

#include "attn/Problem/Problem.h"

namespace attn {

/// The first word of such a line.
inline constexpr llvm::StringLiteral kLinearWord = "linear";

/// A word that only these lines have, `beta` or `decay=head`.
struct LinearToken {
  llvm::StringRef name;
  /// Completes "expected …" and "write …".
  llvm::StringRef what, example;
  /// Stores what follows the `=`, which is empty where the word stands alone; false where it is malformed.
  bool (*store)(Problem::Linear &linear, llvm::StringRef value);
};
llvm::ArrayRef<LinearToken> getLinearTokens();
/// The tokens of other lines that these lines have as well.
bool isSharedToken(llvm::StringRef name);

/// What is wrong with the problem as a whole, as "expected …"; empty where nothing is.
std::string checkLinear(const Problem &problem);
std::string printLinearLine(const Problem &problem);
mlir::OwningOpRef<mlir::ModuleOp> buildLinear(mlir::MLIRContext &context, const Problem &problem, llvm::StringRef name);

} // namespace attn

#endif // ATTN_LIB_PROBLEM_LINEARPROBLEM_H
