//===- OnnxChecks.h - the two halves of checkAttention ----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_ONNX_ONNXCHECKS_H
#define ATTN_LIB_ONNX_ONNXCHECKS_H

#include "attn/Onnx/OnnxAttention.h"

namespace attn::onnx {

/// Attention-23, with nonpad_kv_seqlen since 24, and with windows since 25; up to the opset of onnx 1.23.
inline constexpr int64_t kFirstOpset = 23, kPaddingOpset = 24, kWindowOpset = 25, kLastOpset = 28;
inline constexpr int64_t kMaxSize = (int64_t(1) << 31) - 1;
/// The elements of one tensor; no product of its sizes overflows.
inline constexpr int64_t kMaxElements = int64_t(1) << 40;
/// Q, K and V.
inline constexpr size_t kNumRequiredInputs = 3;
/// Dimensions of the scores, which a mask broadcasts to.
inline constexpr size_t kScoreRank = 4;

/// True for a floating-point type that Attention takes.
bool isFloat(DataType type);

/// Checks the operator of an Attention node, which operands it has, and its attributes (OnnxOperator.cpp). The numbers
/// of heads are 0 if no attribute gives them.
llvm::Error checkOperator(const Node &node, const Model &model, llvm::StringRef title, AttentionNode &result);

/// com.microsoft's node as an Attention node of the last opset; properties that such a node lacks go into `result`.
llvm::Expected<Node> translateMicrosoft(const Node &node, const Model &model, llvm::StringRef title,
                                        AttentionNode &result);

/// Element types, shapes and the sizes that they agree on, for a checked operator (OnnxTypes.cpp).
llvm::Error checkTypes(const Node &node, Model &model, llvm::StringRef title, AttentionNode &result);

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_ONNXCHECKS_H
