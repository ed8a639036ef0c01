//===- CheckBitcodeTest.cpp - the embedded argument check -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Compiler/CheckBitcode.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"

#include "gtest/gtest.h"

namespace {

TEST(CheckBitcode, DefinesTheCheckAndNeedsOnlyLibc) {
  llvm::LLVMContext context;
  llvm::Expected<std::unique_ptr<llvm::Module>> module =
      llvm::parseBitcodeFile(llvm::MemoryBufferRef(attn::getCheckArgumentsBitcode(), "check"), context);
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  EXPECT_FALSE(llvm::verifyModule(**module, &llvm::errs()));
  EXPECT_EQ((*module)->getSourceFileName(), "CheckArguments.c");
  ASSERT_NE((*module)->getFunction("attn_check_arguments"), nullptr);
  for (llvm::Function &function : **module) {
    if (function.isDeclaration() && !function.isIntrinsic()) {
      EXPECT_EQ(function.getName(), "vsnprintf");
    }
    for (const char *attribute : {"target-cpu", "target-features", "tune-cpu"})
      EXPECT_FALSE(function.hasFnAttribute(attribute)) << function.getName().str() << " has " << attribute;
  }
}

} // namespace
