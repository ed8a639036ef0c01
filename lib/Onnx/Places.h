//===- Places.h - tensors of positions --------------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_ONNX_PLACES_H
#define ATTN_LIB_ONNX_PLACES_H

#include "GraphOps.h"

namespace attn::onnx {

/// Notes in a node's outputs where their elements are positions in dimensions of theirs (Value::places).
void notePlaces(NodeView &view, Values &results);

/// What GatherND reads at such positions: a view of the source, which needs no test of an index. Nothing where the
/// positions are others, or may be outside of the source.
std::optional<Value> takePlaces(GraphBuilder &b, const Value &source, const Value &indices);

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_PLACES_H
