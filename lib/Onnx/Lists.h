//===- Lists.h - short lists of known integers ------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_ONNX_LISTS_H
#define ATTN_LIB_ONNX_LISTS_H

#include "GraphOps.h"

namespace attn::onnx {

/// Elements of a list, at most.
inline constexpr size_t kMaxList = 256;

/// Known integers of any rank.
Value makeList(DataType element, const Sizes &sizes, Sizes integers);
/// The sizes that lists broadcast to, where these are few elements.
std::optional<Sizes> getCommonSizes(llvm::ArrayRef<const Value *> lists);
/// The elements of a list over the sizes that it broadcasts to.
Sizes broadcastList(const Value &list, const Sizes &sizes);
/// The node's outputs where it moves the elements of a list: a view, a part, a concatenation, a broadcast.
std::optional<Values> moveList(NodeView &view);

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_LISTS_H
