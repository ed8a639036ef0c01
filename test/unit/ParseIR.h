//===- ParseIR.h - IR of text, for tests ------------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_UNIT_PARSEIR_H
#define ATTN_TEST_UNIT_PARSEIR_H

#include "attn/InitAll.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

namespace attn::test {

/// A test with a context that knows every dialect; made once, for it takes a while.
class IRTest : public testing::Test {
protected:
  static mlir::MLIRContext *getContext() {
    static mlir::DialectRegistry registry = [] {
      mlir::DialectRegistry result;
      registerAllDialects(result);
      return result;
    }();
    static mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    context.printOpOnDiagnostic(false);
    return &context;
  }

  static mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, getContext());
    EXPECT_TRUE(bool(module)) << text.str();
    return module;
  }

  /// The only op of a kind in the module.
  template <typename OpTy> static OpTy getOnly(mlir::ModuleOp module) {
    llvm::SmallVector<OpTy> ops;
    module.walk([&](OpTy op) { ops.push_back(op); });
    EXPECT_EQ(ops.size(), 1u);
    return ops.front();
  }
};

} // namespace attn::test

#endif // ATTN_TEST_UNIT_PARSEIR_H
