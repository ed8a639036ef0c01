//===- LinearNode.h - operators of linear attention -------------*- C++ -*-===//
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

/// CausalConvWithState: a convolution of each channel over a few tokens, which the state has of earlier calls.
llvm::Expected<Values> buildCausalConv(NodeView &view);

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_LINEARNODE_H
