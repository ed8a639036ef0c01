//===- GraphFunction.cpp - nodes of a graph as a function -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GraphFunction.h"
#include "attn/Onnx/Onnx.h"
#include "attn/Support/CNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace attn;
using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::join;
using llvm::StringRef;

const Value *GraphFunction::find(StringRef name) const {
  auto found = values.find(name);
  return found == values.end() ? nullptr : &found->second;
}

std::string GraphFunction::makeArgumentName(StringRef name) {
  std::string text = makeCName(name);
  while (!names.insert(text).second)
    text += "_";
  return text;
}

Error GraphFunction::addArgument(StringRef name, const TensorType &type) {
  Sizes sizes;
  for (const Dimension &dimension : type.shape)
    sizes.push_back({dimension.size, dimension.symbol.str()});
  if (type.elementType == 0 || !type.hasShape)
    return llvm::createStringError("expected a tensor type with a shape for " + quote(name) +
                                   ", found none; write onnx.shape_inference.infer_shapes(model), or export with "
                                   "value_info");
  return addArgument(name, DataType(type.elementType), sizes);
}

Error GraphFunction::addArgument(StringRef name, DataType element, const Sizes &sizes, bool areOwn) {
  if (getElementName(element).empty())
    return llvm::createStringError("expected " + quote(name) +
                                   " of FLOAT, DOUBLE, FLOAT16, BFLOAT16, INT32, INT64 or BOOL, found " +
                                   getDataTypeName(int64_t(element)));
  Value value = {element, sizes, "%a" + std::to_string(arguments.size())};
  if (Error error = checkValue(value))
    return llvm::createStringError(quote(name) + ": " + llvm::toString(std::move(error)));
  for (auto [dim, size] : llvm::enumerate(value.sizes)) {
    if (size.number || (areOwn && dims.contains(size.value)))
      continue;
    Size &known = symbols[areOwn ? "" : size.value];
    if (areOwn || size.value.empty() || known.value.empty()) {
      std::string index = text.addIndex(fixed(int64_t(dim)));
      known = {std::nullopt, text.makeName()};
      text.line("{0} = tensor.dim {1}, {2} : {3}", known.value, value.name, index, printType(value));
      dims.insert(known.value);
    }
    size = known;
  }
  arguments.push_back(formatv("{0}: {1} {{attn.name = \"{2}\"}", value.name, printType(value), makeArgumentName(name)));
  values[name] = std::move(value);
  return Error::success();
}

bool GraphFunction::addSizes(StringRef name, const Value &list, const SizeTable &table) {
  Sizes integers;
  for (const Size &size : *list.integers) {
    Size total = fixed(0);
    const SizeSum sum = table.get(size);
    for (const auto &[factors, number] : sum.getTerms()) {
      Size product = fixed(number);
      for (const std::string &factor : factors) {
        auto known = symbols.find(factor);
        if (known == symbols.end())
          return false;
        product = text.multiply(product, known->second);
      }
      total = text.add(total, product);
    }
    integers.push_back(total);
  }
  Value value = list;
  value.integers = std::move(integers);
  values[name] = std::move(value);
  return true;
}

/// The exporter knows what equals a size of an input, or is a number, by more than arithmetic on sizes.
void GraphFunction::useDeclared(StringRef name, Value &value) {
  auto found = model.types.find(name);
  if (found == model.types.end() || !found->second.hasShape || found->second.shape.size() != value.getRank() ||
      value.name.empty())
    return;
  Value known = value;
  for (auto [size, dimension] : llvm::zip(known.sizes, found->second.shape)) {
    if (size.number || dims.contains(size.value))
      continue;
    if (auto symbol = symbols.find(dimension.symbol); !dimension.symbol.empty() && symbol != symbols.end())
      size = symbol->second;
    else if (dimension.size && *dimension.size > 0)
      size = fixed(*dimension.size);
  }
  if (printType(known) != printType(value)) {
    known.name = text.makeName();
    text.line("{0} = tensor.cast {1} : {2} to {3}", known.name, value.name, printType(value), printType(known));
  }
  value = std::move(known);
}

Error GraphFunction::addNode(const Node &node) {
  Values operands;
  for (StringRef name : node.inputs)
    operands.push_back(name.empty() ? Value() : *find(name));
  NodeView view(node, std::move(operands), model, text);
  Expected<Values> results = printNode(view);
  if (!results)
    return results.takeError();
  for (auto [i, value] : llvm::enumerate(*results))
    if (view.asks(i)) {
      useDeclared(node.outputs[i], value);
      values[node.outputs[i]] = std::move(value);
    }
  return Error::success();
}

/// The caller makes the results: it must be able to calculate their sizes from what it passes.
Error GraphFunction::checkResult(StringRef name, const Value &value) const {
  for (auto [dim, size] : llvm::enumerate(value.sizes)) {
    if (!size.number && !text.isTold(size))
      return llvm::createStringError(
          formatv("expected sizes of results that are arithmetic on sizes of inputs, found one that a comparison "
                  "decides on in dimension {0} of {1}; make outputs of what it is calculated from",
                  dim, quote(name)));
  }
  return Error::success();
}

Expected<std::string> GraphFunction::finish(StringRef name, StringRef kind, llvm::ArrayRef<StringRef> results) {
  std::vector<std::string> types, returned, declared;
  for (StringRef result : results) {
    Value value = *find(result);
    if (Error error = checkResult(result, value))
      return std::move(error);
    std::string source = text.getName(value);
    // A kernel returns no argument, constant or other result as it is.
    if (value.name.empty() || StringRef(source).starts_with("%a") || !taken.insert(source).second) {
      Value init = text.addEmpty(value.element, value.sizes);
      std::string copy = text.makeName();
      text.line("{0} = linalg.copy ins({1} : {2}) outs({3} : {2}) -> {2}", copy, source, printType(value), init.name);
      source = copy;
    }
    returned.push_back(source);
    types.push_back(printType(value));
    declared.push_back(formatv("{0} {{attn.name = \"{1}\"}", types.back(), makeArgumentName(result)));
  }
  return formatv("func.func @{0}({1})\n    -> ({2}) attributes {{{6} = \"{7}\"} {{\n{3}  return {4} : {5}\n}\n", name,
                 join(arguments, ", "), join(declared, ", "), text.getText(), join(returned, ", "), join(types, ", "),
                 kOnnxAttr, kind)
      .str();
}
