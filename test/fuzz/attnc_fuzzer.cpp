//===- attnc_fuzzer.cpp - IR files under libFuzzer ------------------------===//
//
// What attnc does with a file, up to vector code: it is refused with a message,
// or every phase takes it. Upstream's parser and passes are on the way and not
// instrumented: a crash whose stack has no frame of attn is theirs.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Compiler/Compiler.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  attn::CompileOptions options;
  options.target = "x86-64-v3";
  std::string diagnostics;
  llvm::raw_string_ostream os(diagnostics);
  auto compiler = attn::Compiler::create(options, os);
  if (!compiler)
    abort();
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  bool isFine = mlir::succeeded((*compiler)->parse(llvm::MemoryBuffer::getMemBufferCopy(text, "input.mlir"))) &&
                mlir::succeeded((*compiler)->run(attn::Phase::Vector));
  if (!isFine && diagnostics.empty())
    abort(); // refused without a word
  return 0;
}
