//===- SizeReader.h - sizes as formulas of argument sizes -------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_KERNEL_SIZEREADER_H
#define ATTN_LIB_CONVERSION_KERNEL_SIZEREADER_H

#include "SizeClasses.h"
#include "attn/Support/SizeFormula.h"

namespace attn {

/// The dynamic sizes of a kernel: those of arguments, and those of results that follow from them.
class SizeReader {
public:
  explicit SizeReader(SizeClasses &classes) : classes(classes) {}

  /// The index of the class in the list, or nothing.
  std::optional<unsigned> find(unsigned id) const;
  unsigned add(unsigned id);
  /// The index of a size with this formula, an existing one if possible.
  unsigned add(unsigned id, const SizeFormula &formula);
  llvm::ArrayRef<unsigned> getClasses() const { return ids; }
  /// By index; empty where an argument has the size.
  llvm::ArrayRef<SizeFormula> getFormulas() const { return formulas; }

  /// Nothing where the size is not a formula of sizes in the list, or the formula is too long.
  std::optional<SizeFormula> read(mlir::Value tensor, unsigned dim) const;
  std::optional<SizeFormula> read(mlir::OpFoldResult index) const;

private:
  std::optional<SizeFormula> join(SizeWord::Op op, mlir::ArrayRef<mlir::OpFoldResult> values) const;
  std::optional<SizeFormula> readArithmetic(mlir::Value index) const;

  SizeClasses &classes;
  llvm::SmallVector<unsigned> ids;
  llvm::SmallVector<SizeFormula> formulas;
};

/// Removes the conditions `a <= b` on sizes, cf.assert of arith.cmpi, from the function and returns them. Others stay.
llvm::SmallVector<SizeLimit> takeSizeLimits(mlir::func::FuncOp function, const SizeReader &sizes);

} // namespace attn

#endif // ATTN_LIB_CONVERSION_KERNEL_SIZEREADER_H
