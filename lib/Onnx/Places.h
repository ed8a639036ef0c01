//===- Places.h - tensors of positions --------------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_ONNX_PLACES_H
#define ATTN_LIB_ONNX_PLACES_H

#include "GraphOps.h"

namespace attn::onnx {

/// Records in a node's outputs which elements are their own positions (Value::places).
void notePlaces(NodeView &view, Values &results);

/// GatherND at such positions is a view of the source, without index checks. Nothing if the positions differ, or may be
/// outside the source.
std::optional<Value> takePlaces(GraphBuilder &b, const Value &source, const Value &indices);

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_PLACES_H
