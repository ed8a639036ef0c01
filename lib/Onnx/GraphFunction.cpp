//===- GraphFunction.cpp - nodes of a graph as a function -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GraphFunction.h"
#include "AttentionBuilder.h"
#include "attn/IR/Attn.h"
#include "attn/Onnx/Onnx.h"
#include "attn/Support/CNames.h"

#include "llvm/ADT/STLExtras.h"

using namespace attn;
using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;

GraphFunction::GraphFunction(const Model &model, mlir::MLIRContext &context)
    : model(model), function(mlir::func::FuncOp::create(mlir::UnknownLoc::get(&context), "",
                                                        mlir::FunctionType::get(&context, {}, {}))),
      block(function->addEntryBlock()), b(function->getLoc(), block) {}

const Value *GraphFunction::find(StringRef name) const {
  auto found = values.find(name);
  return found == values.end() ? nullptr : &found->second;
}

mlir::DictionaryAttr GraphFunction::nameArgument(StringRef name) {
  std::string text = makeCName(name);
  while (!names.insert(text).second)
    text += "_";
  return b.getDictionaryAttr(b.getNamedAttr(kNameAttr, b.getStringAttr(text)));
}

mlir::Value GraphFunction::addParameter(StringRef name, mlir::Type type) {
  arguments.push_back(nameArgument(name));
  return block->addArgument(type, b.getLoc());
}

Error GraphFunction::addArgument(StringRef name, const TensorType &type) {
  if (type.elementType == 0 || !type.hasShape)
    return llvm::createStringError("expected a tensor type with a shape for " + quote(name) +
                                   ", found none; write onnx.shape_inference.infer_shapes(model), or export with "
                                   "value_info");
  Sizes sizes;
  for (const Dimension &dimension : type.shape)
    sizes.push_back({dimension.size});
  return addArgument(name, DataType(type.elementType), std::move(sizes), [&](size_t dim) {
    StringRef symbol = type.shape[dim].symbol;
    return symbol.empty() ? nullptr : &symbols[symbol];
  });
}

Error GraphFunction::addArgument(StringRef name, const Value &outside) {
  return addArgument(name, outside.element, outside.sizes,
                     [&](size_t dim) { return &outsides[outside.sizes[dim].value]; });
}

Error GraphFunction::addArgumentLike(StringRef name, const Value &value) {
  Sizes own = value.sizes;
  return addArgument(name, value.element, value.sizes,
                     [&](size_t dim) { return dims.contains(own[dim].value) ? &own[dim] : nullptr; });
}

Error GraphFunction::addArgument(StringRef name, DataType element, Sizes sizes,
                                 llvm::function_ref<Size *(size_t)> find) {
  if (!isElement(element))
    return llvm::createStringError("expected " + quote(name) +
                                   " of FLOAT, DOUBLE, FLOAT16, BFLOAT16, INT32, INT64 or BOOL, found " +
                                   getDataTypeName(int64_t(element)));
  Value value = {element, std::move(sizes)};
  if (Error error = checkValue(value))
    return llvm::createStringError(quote(name) + ": " + llvm::toString(std::move(error)));
  value.ir = addParameter(name, b.getType(value));
  for (auto [dim, size] : llvm::enumerate(value.sizes)) {
    if (size.number)
      continue;
    Size *known = find(dim);
    size = known && known->value ? *known : b.addDim(value.ir, dim);
    dims.insert(size.value);
    if (known)
      *known = size;
  }
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
      for (unsigned factor : factors) {
        auto known = outsides.find(table.getSize(factor).value);
        if (known == outsides.end())
          return false;
        product = b.multiply(product, known->second);
      }
      total = b.add(total, product);
    }
    integers.push_back(total);
  }
  Value value = list;
  value.integers = std::move(integers);
  values[name] = std::move(value);
  return true;
}

/// Exporters declare equal or constant sizes that arithmetic on sizes cannot derive.
void GraphFunction::useDeclared(StringRef name, Value &value) {
  auto found = model.types.find(name);
  if (found == model.types.end() || !found->second.hasShape || found->second.shape.size() != value.getRank() ||
      !value.ir)
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
  if (b.getType(known) != b.getType(value))
    known.ir = b.make<tensor::CastOp>(b.getType(known), value.ir);
  value = std::move(known);
}

Error GraphFunction::addNode(const Node &node) {
  Values operands;
  for (StringRef name : node.inputs)
    operands.push_back(name.empty() ? Value() : *find(name));
  // What remarks and errors name; without one, as values do.
  b.setLoc(
      mlir::NameLoc::get(b.getStringAttr(node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name)));
  NodeView view(node, std::move(operands), model, b);
  Expected<Values> results = buildNode(view);
  if (!results)
    return results.takeError();
  for (auto [i, value] : llvm::enumerate(*results))
    if (view.asks(i)) {
      useDeclared(node.outputs[i], value);
      values[node.outputs[i]] = std::move(value);
    }
  return Error::success();
}

/// The caller allocates the results, so it must be able to compute their sizes from the arguments.
Error GraphFunction::checkResult(StringRef name, const Value &value) const {
  for (auto [dim, size] : llvm::enumerate(value.sizes)) {
    if (!size.number && !b.isTold(size))
      return llvm::createStringError(
          formatv("expected sizes of results that are arithmetic on sizes of inputs, found one that a comparison "
                  "decides on in dimension {0} of {1}; make outputs of what it is calculated from",
                  dim, quote(name)));
  }
  return Error::success();
}

void GraphFunction::addAttention(const AttentionNode &node) {
  AttentionInputs inputs;
  AttentionBuilder builder(b, node, inputs);
  for (unsigned i = 0; i < kNumInputs; ++i)
    if (node.has[i])
      inputs[i] = addParameter(kInputNames[i], b.getType(builder.getInput(Input(i))));
  for (auto [name, value] : llvm::zip_equal(kOutputNames, builder.build()))
    values[name] = value;
}

Expected<mlir::func::FuncOp> GraphFunction::finish(StringRef name, StringRef kind, llvm::ArrayRef<StringRef> results) {
  llvm::SmallVector<mlir::Value> returned;
  llvm::SmallVector<mlir::DictionaryAttr> declared;
  for (StringRef result : results) {
    const Value value = *find(result);
    if (Error error = checkResult(result, value))
      return std::move(error);
    mlir::Value source = b.get(value);
    // A kernel cannot return an argument, a constant or another result.
    if (!value.ir || mlir::isa<mlir::BlockArgument>(source) || !taken.insert(source).second)
      source = b.make<linalg::CopyOp>(source, b.addEmpty(value.element, value.sizes).ir);
    returned.push_back(source);
    declared.push_back(nameArgument(result));
  }
  mlir::func::ReturnOp::create(b, returned);
  function->setName(name);
  function->setType(b.getFunctionType(block->getArgumentTypes(), mlir::ValueRange(returned).getTypes()));
  function->setAllArgAttrs(arguments);
  function->setAllResultAttrs(declared);
  function->getOperation()->setAttr(kOnnxAttr, b.getStringAttr(kind));
  return function.release();
}
