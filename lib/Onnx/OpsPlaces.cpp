//===- OpsPlaces.cpp - tensors of positions -------------------------------===//
//
// Exporters index a mask of (batch, keys) by tensors of its own positions, made
// by Range, Unsqueeze, Expand and Concat. Such a read is a view.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Places.h"

#include "llvm/ADT/STLExtras.h"

using namespace attn::onnx;
using llvm::StringRef;

static bool isNumber(NodeView &view, size_t operand, int64_t number) {
  return view.getNumbers(operand) == std::vector<int64_t>{number};
}

/// The dimension of the result that dimension `dim` of the operand becomes.
static std::optional<size_t> moveUnsqueezed(NodeView &view, size_t dim, size_t rank) {
  auto list = drop(view.getList("axes", 1));
  auto axes = list && *list ? drop(view.getAxes(**list, rank)) : std::nullopt;
  if (!axes)
    return std::nullopt;
  for (size_t i = 0, source = 0; i < rank; ++i)
    if (!llvm::is_contained(*axes, i) && source++ == dim)
      return i;
  return std::nullopt;
}

static std::vector<size_t> concatenate(NodeView &view, size_t rank) {
  int64_t axis = view.getInteger("axis", 0);
  if (rank == 0 || (axis != -1 && axis != int64_t(rank) - 1))
    return {};
  std::vector<size_t> places;
  for (const Value &value : view.operands) {
    if (value.places.size() != 1 || value.places[0] + 1 == rank || value.sizes.back().number != 1)
      return {};
    places.push_back(value.places[0]);
  }
  return places;
}

void attn::onnx::notePlaces(NodeView &view, Values &results) {
  if (results.size() != 1 || !results[0].ir)
    return;
  Value &result = results[0];
  StringRef op = view.getOp();
  if (op == "Range" && isNumber(view, 0, 0) && isNumber(view, 2, 1))
    result.places = {0};
  else if (op == "Concat")
    result.places = concatenate(view, result.getRank());
  if (!view.has(0) || view.get(0).places.size() != 1)
    return;
  const Value &value = view.get(0);
  size_t dim = value.places[0];
  if (op == "Cast" && !isFloat(result.element) && result.element != DataType::Bool)
    result.places = {dim};
  std::optional<size_t> moved;
  if (op == "Unsqueeze")
    moved = moveUnsqueezed(view, dim, result.getRank());
  if (op == "Expand")
    moved = dim + result.getRank() - value.getRank();
  // A dimension that is repeated has one position.
  if (moved && isSame(result.sizes[*moved], value.sizes[dim]))
    result.places = {*moved};
}

std::optional<Value> attn::onnx::takePlaces(GraphBuilder &b, const Value &source, const Value &indices) {
  size_t depth = indices.places.size();
  if (depth == 0 || indices.sizes.back().number != int64_t(depth) || depth > source.getRank())
    return std::nullopt;
  size_t numIndices = indices.getRank() - 1;
  Sizes sizes(indices.sizes.begin(), indices.sizes.end() - 1);
  Exprs map;
  for (auto [place, size] : llvm::zip(indices.places, source.sizes)) {
    if (place >= numIndices || !isSame(size, indices.sizes[place]))
      return std::nullopt;
    map.push_back(b.dim(place));
  }
  for (size_t dim = depth; dim < source.getRank(); ++dim) {
    sizes.push_back(source.sizes[dim]);
    map.push_back(b.dim(numIndices + dim - depth));
  }
  Operand operand = {&source, map};
  return b.addGeneric(b.addEmpty(source.element, sizes), b.getDims(sizes.size()), operand, sizes.size(), {},
                      [](Args x) { return x[0]; });
}
