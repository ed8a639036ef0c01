//===- OnnxElements.cpp - operands of an Attention node in other types ----===//
//
// Q, V and the mask may each have a type of their own. The kernel computes in the
// widest of Q and V; a mask is cast to the type of Q, as the operator's function
// body has it.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "OnnxPrinter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace attn::onnx;
using llvm::StringRef;

static bool isInteger(StringRef element) { return element.starts_with("i"); }

static unsigned getBits(StringRef element) {
  unsigned bits = 0;
  element.ltrim("bfi").getAsInteger(10, bits);
  return bits;
}

/// The ops that make `to` of `from`: of f16 and bf16 beside each other by f32.
static std::vector<std::pair<StringRef, StringRef>> getConversions(StringRef from, StringRef to) {
  if (isInteger(from))
    return {{"arith.sitofp", to}};
  if (getBits(from) == getBits(to))
    return {{"arith.extf", "f32"}, {"arith.truncf", to}};
  return {{getBits(from) < getBits(to) ? "arith.extf" : "arith.truncf", to}};
}

/// The tensor with its elements in another type.
Tensor FunctionPrinter::addConverted(const Tensor &tensor, StringRef name, StringRef element) {
  if (tensor.element == element)
    return tensor;
  Tensor result = addEmpty((name + "_init").str(), tensor.sizes, element);
  std::vector<std::string> dims, iterators(tensor.sizes.size(), "\"parallel\"");
  for (size_t i = 0; i < tensor.sizes.size(); ++i)
    dims.push_back("d" + std::to_string(i));
  std::string map = printMap(llvm::join(dims, ", "), llvm::join(dims, ", "));
  line("%{0} = linalg.generic {{indexing_maps = [{1}, {1}], iterator_types = [{2}]} ins({3} : {4}) outs({5} : {6}) {{",
       name, map, llvm::join(iterators, ", "), tensor.value, printType(tensor), result.value, printType(result));
  line("^bb0(%element: {0}, %init: {1}):", tensor.element, element);
  std::string value = "%element";
  StringRef from = tensor.element;
  for (auto [op, to] : getConversions(tensor.element, element)) {
    std::string converted = ("%as_" + to).str();
    line("  {0} = {1} {2} : {3} to {4}", converted, op, value, from, to);
    value = converted;
    from = to;
  }
  line("  linalg.yield {0} : {1}", value, element);
  line("} -> {0}", printType(result));
  result.value = ("%" + name).str();
  return result;
}

/// attn_mask in the type of Q; narrower floats, which are exact in it, stay. Integers are numbers to add, as floats
/// are.
Tensor FunctionPrinter::addMask() {
  Tensor mask = getInput(kMask);
  if (!node.has[kMask] || mask.element == "i1" || mask.element == node.elements.query ||
      (!isInteger(mask.element) && getBits(mask.element) < getBits(node.elements.query)))
    return mask;
  // Its own sizes, so that the entry knows them for those of this tensor.
  const std::vector<Dimension> shape = node.getInputShape(kMask);
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    mask.sizes[dim] = addSize(shape[dim], llvm::formatv("attn_mask_dim_{0}", dim).str(), kMask, dim);
  return addConverted(mask, "attn_mask_converted", node.elements.query);
}
