//===- ExternalData.h - weights in files beside the model -------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_ONNX_EXTERNALDATA_H
#define ATTN_LIB_ONNX_EXTERNALDATA_H

#include "attn/Onnx/OnnxModel.h"

namespace attn::onnx {

/// Maps the files of the model's tensors, which must be inside `folder`. Errors start with `name`.
llvm::Error loadExternalData(Model &model, llvm::StringRef folder, llvm::StringRef name);

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_EXTERNALDATA_H
