//===- onnx_fuzzer.cpp - ONNX models under libFuzzer ------------------------===//
//
// A file is refused with a printable text that names it, or becomes functions of
// its nodes and of its graph.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Onnx/Onnx.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cstdlib>

static void require(bool condition) {
  if (!condition)
    abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> ir = attn::onnxToMLIR(
      llvm::StringRef(reinterpret_cast<const char *>(data), size), "fuzz.onnx", std::nullopt, /*isText=*/true);
  if (!ir) {
    std::string error = llvm::toString(ir.takeError());
    require(llvm::StringRef(error).starts_with("fuzz.onnx: ") && llvm::all_of(error, llvm::isPrint));
    return 0;
  }
  llvm::StringRef text = (*ir)->getBuffer();
  require(text.contains("func.func @"));
  require(llvm::all_of(text, [](char c) { return c == '\n' || llvm::isPrint(c); }));
  return 0;
}
