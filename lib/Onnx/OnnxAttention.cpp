//===- OnnxAttention.cpp - one Attention node, checked --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Onnx/OnnxAttention.h"
#include "OnnxChecks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::StringRef;

static constexpr size_t kMaxQuoted = 64;

std::string attn::onnx::quote(StringRef text) {
  std::string quoted = "'";
  for (char c : text.take_front(kMaxQuoted))
    quoted += llvm::isPrint(c) ? c : '?';
  return quoted + (text.size() > kMaxQuoted ? "...'" : "'");
}

const Attribute *Node::findAttribute(StringRef attribute) const {
  auto found = llvm::find_if(attributes, [&](const Attribute &other) { return other.name == attribute; });
  return found == attributes.end() ? nullptr : &*found;
}

DataType AttentionNode::getComputeElement() const {
  if (elements.query == elements.value)
    return elements.query;
  bool hasDouble = elements.query == DataType::Double || elements.value == DataType::Double;
  return hasDouble ? DataType::Double : DataType::Float;
}

static Dimension fixed(int64_t size) { return {size, ""}; }

Dimension AttentionNode::getKeys() const {
  if (lengths.appends)
    return sizes.presentKeys;
  if (!has[kPastKey])
    return sizes.newKeys;
  if (sizes.newKeys.size && sizes.pastKeys.size)
    return fixed(*sizes.newKeys.size + *sizes.pastKeys.size);
  return {};
}

std::vector<Dimension> AttentionNode::getInputShape(Input input) const {
  auto rows = [&](int64_t count, const Dimension &length, int64_t size) -> std::vector<Dimension> {
    if (isPacked)
      return {sizes.batch, length, fixed(count * size)};
    return {sizes.batch, fixed(count), length, fixed(size)};
  };
  switch (input) {
  case kQ: return rows(sizes.heads, sizes.queries, sizes.headSize);
  case kK: return rows(sizes.kvHeads, sizes.newKeys, sizes.headSize);
  case kV: return rows(sizes.kvHeads, sizes.newKeys, sizes.valueSize);
  case kPastKey: return {sizes.batch, fixed(sizes.kvHeads), sizes.pastKeys, fixed(sizes.headSize)};
  case kPastValue: return {sizes.batch, fixed(sizes.kvHeads), sizes.pastKeys, fixed(sizes.valueSize)};
  case kLengths:
    return lengths.isColumn ? std::vector<Dimension>{sizes.batch, fixed(1)} : std::vector<Dimension>{sizes.batch};
  default: break;
  }
  const Dimension full[kScoreRank] = {sizes.batch, fixed(sizes.heads), sizes.queries, getKeys()};
  std::vector<Dimension> shape;
  for (auto [i, dimension] : llvm::enumerate(mask))
    shape.push_back(dimension.isBroadcast ? fixed(1)
                    : dimension.prefix    ? fixed(*dimension.prefix)
                                          : full[kScoreRank - mask.size() + i]);
  return shape;
}

std::vector<Dimension> AttentionNode::getOutputShape(Output output) const {
  switch (output) {
  case kPresentKey: return {sizes.batch, fixed(sizes.kvHeads), getKeys(), fixed(sizes.headSize)};
  case kPresentValue: return {sizes.batch, fixed(sizes.kvHeads), getKeys(), fixed(sizes.valueSize)};
  case kScores: return {sizes.batch, fixed(sizes.heads), sizes.queries, getKeys()};
  default: break;
  }
  if (isPacked)
    return {sizes.batch, sizes.queries, fixed(sizes.heads * sizes.valueSize)};
  return {sizes.batch, fixed(sizes.heads), sizes.queries, fixed(sizes.valueSize)};
}

llvm::Expected<AttentionNode> attn::onnx::checkAttention(const Node &node, Model &model, StringRef title) {
  AttentionNode result;
  if (isMicrosoftAttention(node)) {
    llvm::Expected<Node> translated = translateMicrosoft(node, model, title, result);
    if (!translated)
      return translated.takeError();
    int64_t opset = std::exchange(model.opset, kLastOpset);
    Error error = checkOperator(*translated, model, title, result);
    if (!error)
      error = checkTypes(*translated, model, title, result);
    model.opset = opset;
    if (error)
      return std::move(error);
    return result;
  }
  if (Error error = checkOperator(node, model, title, result))
    return std::move(error);
  if (Error error = checkTypes(node, model, title, result))
    return std::move(error);
  return result;
}
