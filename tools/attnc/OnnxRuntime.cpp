//===- OnnxRuntime.cpp - attnc MODEL.onnx --emit=ort -o OUT.onnx ----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Onnx/Onnx.h"
#include "attnc.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace attn;
using namespace attn::driver;

int driver::writeOnnxRuntimeModel(const CompileCommand &command) {
  StringRef file = command.source.file;
  if (!file.ends_with(".onnx"))
    return reportError(createStringError("expected MODEL.onnx with --emit=ort, found " +
                                         (file.empty() ? "a problem line" : "'" + file.str() + "'")));
  if (command.output.empty() || !(command.header + command.manifest + command.weights).empty())
    return reportError(createStringError("expected -o OUT.onnx with --emit=ort, and no other output, found " +
                                         Twine(command.output.empty() ? "none" : "another one")));
  auto buffer = MemoryBuffer::getFile(file, /*IsText=*/false);
  if (!buffer)
    return reportError(createFileError(file, buffer.getError()));
  Expected<OnnxRuntimeModel> model = rewriteForOnnxRuntime((*buffer)->getBuffer(), file, sys::path::parent_path(file));
  if (!model)
    return reportError(model.takeError());
  for (const std::string &reason : model->left)
    errs() << (command.options.failOnFallback ? "error: " : "remark: ") << reason << "; the node stays as it is\n";
  if (command.options.failOnFallback && !model->left.empty())
    return 1;
  return writeFiles({{command.output, model->bytes}}, file);
}
