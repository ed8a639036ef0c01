//===- LinearNode.h - the LinearAttention operators -------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_ONNX_LINEARNODE_H
#define ATTN_LIB_ONNX_LINEARNODE_H

#include "GraphOps.h"

namespace attn::onnx {

/// LinearAttention of opset 27, and com.microsoft's, which has the same inputs: an attn.linear between reshapes.
llvm::Expected<Values> buildLinearAttention(NodeView &view);

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_LINEARNODE_H
