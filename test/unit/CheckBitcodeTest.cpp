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

struct Code {
  llvm::StringRef bitcode;
  const char *file, *function;
};

TEST(CheckBitcode, DefinesItsFunctionAndNeedsOnlyLibc) {
  const llvm::Triple x86("x86_64-unknown-linux-gnu"), arm("aarch64-unknown-linux-gnu"),
      riscv("riscv64-unknown-linux-gnu"), wasm("wasm32-unknown-unknown");
  const Code codes[] = {{attn::getCheckArgumentsBitcode(x86), "CheckArguments.c", "attn_check_arguments"},
                        {attn::getProcessorBitcode(x86), "Processor.c", "attn_select_variant"},
                        {attn::getLibraryBitcode(x86), "Library.c", "attn_find_kernel"},
                        {attn::getCheckArgumentsBitcode(arm), "CheckArguments.c", "attn_check_arguments"},
                        {attn::getProcessorBitcode(arm), "Processor.c", "attn_select_variant"},
                        {attn::getLibraryBitcode(arm), "Library.c", "attn_find_kernel"},
                        {attn::getCheckArgumentsBitcode(riscv), "CheckArguments.c", "attn_check_arguments"},
                        {attn::getProcessorBitcode(riscv), "Processor.c", "attn_select_variant"},
                        {attn::getLibraryBitcode(riscv), "Library.c", "attn_find_kernel"},
                        {attn::getCheckArgumentsBitcode(wasm), "CheckArguments.c", "attn_check_arguments"},
                        {attn::getMapWeightsBitcode(wasm), "MapWeights.c", "attn_map_weights"},
                        {attn::getWebLibraryBitcode(), "WebLibrary.c", "vsnprintf"}};
  for (const Code &code : codes) {
    llvm::LLVMContext context;
    llvm::Expected<std::unique_ptr<llvm::Module>> module =
        llvm::parseBitcodeFile(llvm::MemoryBufferRef(code.bitcode, "code"), context);
    ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
    EXPECT_FALSE(llvm::verifyModule(**module, &llvm::errs()));
    EXPECT_EQ((*module)->getSourceFileName(), code.file);
    ASSERT_NE((*module)->getFunction(code.function), nullptr);
    for (llvm::Function &function : **module) {
      if (function.isDeclaration() && !function.isIntrinsic()) {
        bool isAuxiliary = !(*module)->getTargetTriple().isX86() && function.getName() == "getauxval";
        EXPECT_TRUE(isAuxiliary || function.getName() == "vsnprintf") << function.getName().str();
      }
      for (const char *attribute : {"target-cpu", "target-features", "tune-cpu"})
        EXPECT_FALSE(function.hasFnAttribute(attribute)) << function.getName().str() << " has " << attribute;
    }
  }
}

} // namespace
