//===- Source.cpp - where the IR comes from -------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "attn/Onnx/Onnx.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;

Expected<std::unique_ptr<MemoryBuffer>> Source::open(bool isText) const {
  if (problem) {
    Expected<Problem> parsed = parseProblem(*problem);
    if (!parsed)
      return parsed.takeError();
    Expected<std::string> text = problemToMLIR(*parsed);
    if (!text)
      return text.takeError();
    return MemoryBuffer::getMemBufferCopy(*text, "problem");
  }
  // Read once: --check compiles the source again.
  static std::unique_ptr<MemoryBuffer> standardInput;
  if (file == "-") {
    if (!standardInput) {
      auto buffer = MemoryBuffer::getSTDIN();
      if (!buffer)
        return createFileError("standard input", buffer.getError());
      standardInput = std::move(*buffer);
    }
    return MemoryBuffer::getMemBuffer(standardInput->getMemBufferRef());
  }
  bool isModel = StringRef(file).ends_with(".onnx");
  auto buffer = MemoryBuffer::getFile(file, /*IsText=*/!isModel);
  if (!buffer)
    return createFileError(file, buffer.getError());
  if (!isModel)
    return std::move(*buffer);
  return onnxToMLIR((*buffer)->getBuffer(), file, sys::path::parent_path(file), isText);
}
