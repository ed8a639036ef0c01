//===- OnnxAttention.h - one Attention node, checked ------------*- C++ -*-===//
//
// Between reader and builder: inputs, attributes and types of a node against
// the operator's definition (onnx 1.23, Attention-23 to 25), and the sizes
// that they agree on.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_ONNX_ONNXATTENTION_H
#define ATTN_ONNX_ONNXATTENTION_H

#include "attn/Onnx/OnnxModel.h"

#include <array>

namespace attn::onnx {

// The operator's formal names, which are those of the kernel's arguments.
enum Input : unsigned { kQ, kK, kV, kMask, kPastKey, kPastValue, kLengths, kNumInputs };
enum Output : unsigned { kY, kPresentKey, kPresentValue, kScores, kNumOutputs };
inline constexpr llvm::StringLiteral kInputNames[] = {
    "Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"};
inline constexpr llvm::StringLiteral kOutputNames[] = {"Y", "present_key", "present_value", "qk_matmul_output"};

/// What qk_matmul_output is, by the number of qk_matmul_output_mode.
enum class ScoresMode { Scaled, Softcapped, Masked, Weights };

/// How attn_mask lies over one dimension of the scores.
struct MaskDimension {
  bool isBroadcast = false;
  /// Keys that the mask has, where they are fewer than all: the others are removed.
  std::optional<int64_t> prefix;
};

/// What the input of lengths holds.
struct LengthsForm {
  DataType element = DataType::Int64;
  int64_t offset = 0;           ///< what is missing to the number of keys
  bool countsFromFirst = false; ///< the first query stands at the first key behind the past, whatever the lengths are
  bool isColumn = false;        ///< (batch, 1) in the place of (batch)
  bool appends = false;         ///< new keys lie in front of the last of the keys that it counts, behind past ones
};

struct NodeElements {
  DataType query = DataType::Undefined; ///< of Q, K and Y
  DataType value = DataType::Undefined; ///< of V and of its cache
  DataType mask = DataType::Undefined;
};

/// Keys that a query sees on each side of its own; none where a side has no bound.
struct WindowBounds {
  std::optional<int64_t> left, right;
};

/// What inputs and outputs agree on.
struct NodeSizes {
  Dimension batch, queries, newKeys, pastKeys;
  /// Of a node that appends at lengths: rows of the cache that it makes; no size where the sum of the others is it.
  Dimension presentKeys;
  int64_t heads = 0, kvHeads = 0, headSize = 0, valueSize = 0;
};

struct AttentionNode {
  NodeElements elements;
  std::array<unsigned, kNumInputs> places = {0, 1, 2, 3, 4, 5, 6}; ///< of the inputs in the node's list
  LengthsForm lengths;
  std::array<bool, kNumInputs> has;   ///< the inputs that the node has
  std::array<bool, kNumOutputs> asks; ///< the outputs that it asks for
  bool isPacked = false;              ///< Q, K, V and Y are (batch, rows, heads · size), not (batch, heads, rows, size)
  NodeSizes sizes;
  std::vector<MaskDimension> mask; ///< of the last dimensions of (batch, head, query, key)
  std::optional<double> scale, softcap;
  std::optional<int64_t> softmaxPrecision; ///< a DataType
  bool isCausal = false;
  WindowBounds window;
  ScoresMode mode = ScoresMode::Scaled;

  bool hasBooleanMask() const { return has[kMask] && elements.mask == DataType::Bool; }
  /// The widest type of Q, K and V, which the kernel computes with: f32 for f16 beside bf16.
  DataType getComputeElement() const;
  /// Past and new keys; no size where only the run knows it.
  Dimension getKeys() const;
  std::vector<Dimension> getInputShape(Input input) const;
  std::vector<Dimension> getOutputShape(Output output) const;
};

/// True for com.microsoft's MultiHeadAttention and GroupQueryAttention.
bool isMicrosoftAttention(const Node &node);
inline bool isAttention(const Node &node) {
  return (isStandardDomain(node.domain) && node.opType == "Attention") || isMicrosoftAttention(node);
}

/// Checks a node of the model; `title` starts every error. The types of its outputs go into `model.types`, for the
/// nodes that read them; where the model says them already, they must agree.
llvm::Expected<AttentionNode> checkAttention(const Node &node, Model &model, llvm::StringRef title);

/// Text of the file for a message: printable, and not long.
std::string quote(llvm::StringRef text);

} // namespace attn::onnx

#endif // ATTN_ONNX_ONNXATTENTION_H
