//===- OpsProducts.cpp - MatMul, Gemm, Conv, Einsum -----------------------===//
//
// One contraction each, with sums in f32 for narrower floats.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GraphOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;

using Names = std::vector<std::string>;

static Values one(Value value) {
  Values values;
  values.push_back(std::move(value));
  return values;
}

static Error checkFloats(NodeView &view, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (!isFloat(view.get(i).element) || view.get(i).element != view.get(0).element)
      return view.fail("expected inputs of one type of floats, found " + getDataTypeName(int64_t(view.get(i).element)));
  return Error::success();
}

/// sum of lhs * rhs over the loops that the result's map leaves out.
static Value addContraction(GraphText &text, const Sizes &sizes, const std::vector<std::string> &map,
                            llvm::ArrayRef<Operand> operands, size_t loops, llvm::ArrayRef<size_t> reductions) {
  DataType element = operands[0].value->element, type = getComputeType(element);
  Value zeros = text.addFilled(type, sizes, "0.0");
  // A product of constants is a tensor, too.
  std::vector<Value> tensors;
  for (const Operand &operand : operands) {
    tensors.push_back(*operand.value);
    tensors.back().splat.clear();
  }
  Operand given[] = {{&tensors[0], operands[0].map}, {&tensors[1], operands[1].map}};
  Value sum = text.addGeneric(zeros, map, given, loops, reductions, [&](Body &body, const Names &names) {
    std::string name = getElementName(type).str(), lhs = body.cast(names[0], element, type);
    std::string rhs = body.cast(names[1], element, type);
    std::string product = body.add("arith.mulf " + lhs + ", " + rhs + " : " + name);
    return body.add("arith.addf " + names[2] + ", " + product + " : " + name);
  });
  return text.cast(sum, element);
}

static bool canMeet(const Size &lhs, const Size &rhs) { return !lhs.number || !rhs.number || lhs.number == rhs.number; }

/// The last two dimensions are matrices; those in front broadcast.
static Expected<Value> multiply(NodeView &view, Value lhs, Value rhs) {
  GraphText &text = view.text;
  bool isRow = lhs.getRank() == 1, isColumn = rhs.getRank() == 1;
  if (lhs.getRank() == 0 || rhs.getRank() == 0)
    return view.fail("expected inputs of rank 1 or more, found rank 0");
  if (isRow)
    lhs = text.reshape(lhs, {fixed(1), lhs.sizes[0]});
  if (isColumn)
    rhs = text.reshape(rhs, {rhs.sizes[0], fixed(1)});
  Size inner = lhs.sizes.back(), rows = lhs.sizes[lhs.getRank() - 2], columns = rhs.sizes.back();
  if (!canMeet(inner, rhs.sizes[rhs.getRank() - 2]))
    return view.fail(formatv("expected as many columns of the first input as rows of the second, found {0} and {1}",
                             *inner.number, *rhs.sizes[rhs.getRank() - 2].number));
  Value before = lhs, after = rhs;
  before.sizes.resize(lhs.getRank() - 2);
  after.sizes.resize(rhs.getRank() - 2);
  std::optional<Sizes> batch = broadcastSizes({&before, &after});
  if (!batch)
    return view.fail("expected batches that broadcast to each other, found others");
  size_t count = batch->size();
  auto getMap = [&](const Value &value, size_t row, size_t column) {
    std::vector<std::string> map;
    for (size_t i = 0; i + 2 < value.getRank(); ++i) {
      size_t dim = count - (value.getRank() - 2) + i;
      map.push_back(value.sizes[i].number == 1 && (*batch)[dim].number != 1 ? "0" : "d" + std::to_string(dim));
    }
    map.push_back("d" + std::to_string(row));
    map.push_back("d" + std::to_string(column));
    return map;
  };
  Sizes sizes = *batch;
  sizes.push_back(rows);
  sizes.push_back(columns);
  Operand operands[] = {{&lhs, getMap(lhs, count, count + 2)}, {&rhs, getMap(rhs, count + 2, count + 1)}};
  Value product = addContraction(text, sizes, getDims(count + 2), operands, count + 3, {count + 2});
  if (isRow)
    sizes.erase(sizes.end() - 2);
  if (isColumn)
    sizes.pop_back();
  return text.reshape(product, sizes);
}

static Expected<Values> printMatMul(NodeView &view) {
  if (Error error = checkOperands(view, 2, 2))
    return std::move(error);
  if (Error error = checkFloats(view, 2))
    return std::move(error);
  Expected<Value> product = multiply(view, view.get(0), view.get(1));
  if (!product)
    return product.takeError();
  return one(*product);
}

/// alpha * A' * B' + beta * C
static Expected<Values> printGemm(NodeView &view) {
  if (Error error = checkOperands(view, 2, 3))
    return std::move(error);
  if (Error error = checkFloats(view, view.has(2) ? 3 : 2))
    return std::move(error);
  if (view.get(0).getRank() != 2 || view.get(1).getRank() != 2)
    return view.fail("expected matrices of rank 2, found others");
  Value lhs = view.get(0), rhs = view.get(1);
  if (view.getInteger("transA", 0))
    lhs = view.text.transpose(lhs, {1, 0});
  if (view.getInteger("transB", 0))
    rhs = view.text.transpose(rhs, {1, 0});
  Expected<Value> product = multiply(view, lhs, rhs);
  if (!product)
    return product.takeError();
  double alpha = view.getReal("alpha", 1.0), beta = view.has(2) ? view.getReal("beta", 1.0) : 0.0;
  std::vector<const Value *> operands = {&*product};
  if (view.has(2))
    operands.push_back(&view.get(2));
  std::optional<Sizes> sizes = broadcastSizes(operands);
  if (!sizes || sizes->size() != 2 || !canMeet((*sizes)[0], product->sizes[0]) ||
      !canMeet((*sizes)[1], product->sizes[1]))
    return view.fail("expected C that broadcasts to the product, found others");
  if (alpha == 1.0 && !view.has(2))
    return one(*product);
  DataType element = product->element, type = getComputeType(element);
  return one(view.text.addElementwise(element, product->sizes, operands, [&](Body &body, const Names &names) {
    std::string name = getElementName(type).str();
    auto scale = [&](std::string value, double factor) {
      value = body.cast(value, element, type);
      if (factor == 1.0)
        return value;
      std::string constant = body.add(formatv("arith.constant {0:e17} : {1}", factor, name).str());
      return body.add("arith.mulf " + value + ", " + constant + " : " + name);
    };
    std::string result = scale(names[0], alpha);
    if (view.has(2))
      result = body.add("arith.addf " + result + ", " + scale(names[1], beta) + " : " + name);
    return body.cast(result, type, element);
  }));
}

//===----------------------------------------------------------------------===//
// Conv
//===----------------------------------------------------------------------===//

/// One of the spatial dimensions.
namespace {
struct Spatial {
  int64_t before = 0, after = 0, stride = 1, dilation = 1, size = 0, kernel = 0;
  int64_t getOutput() const { return (size + before + after - dilation * (kernel - 1) - 1) / stride + 1; }
};
} // namespace

static Expected<std::vector<Spatial>> readSpatial(NodeView &view) {
  size_t count = view.get(0).getRank() - 2;
  StringRef padding = view.getString("auto_pad", "NOTSET");
  std::vector<int64_t> pads = view.getIntegers("pads").value_or(std::vector<int64_t>(2 * count, 0));
  std::vector<int64_t> strides = view.getIntegers("strides").value_or(std::vector<int64_t>(count, 1));
  std::vector<int64_t> dilations = view.getIntegers("dilations").value_or(std::vector<int64_t>(count, 1));
  if ((padding != "NOTSET" && padding != "VALID") || view.getInteger("group", 1) != 1)
    return view.fail("expected pads as numbers and group = 1, found others");
  if (pads.size() != 2 * count || strides.size() != count || dilations.size() != count)
    return view.fail(formatv("expected pads, strides and dilations of {0} dimensions, found others", count));
  std::vector<Spatial> spatial;
  for (size_t i = 0; i < count; ++i) {
    std::optional<int64_t> size = view.get(0).sizes[i + 2].number, kernel = view.get(1).sizes[i + 2].number;
    for (int64_t number : {pads[i], pads[count + i], strides[i], dilations[i]})
      if (number < 0 || number > kMaxSize)
        return view.fail(formatv("expected pads, strides and dilations from 0 to {0}, found {1}", kMaxSize, number));
    if (!size || !kernel || *kernel < 1 || strides[i] < 1 || dilations[i] < 1)
      return view.fail("expected fixed spatial sizes, strides and dilations of at least 1, found others");
    spatial.push_back({pads[i], pads[count + i], strides[i], dilations[i], *size, *kernel});
    if (spatial.back().size + spatial.back().before + spatial.back().after <
        spatial.back().dilation * (spatial.back().kernel - 1) + 1)
      return view.fail("expected a kernel within the padded input, found a larger one");
  }
  return spatial;
}

/// Y(n, o, x…) = sum X(n, c, x * stride + k * dilation) * W(o, c, k), over c and k, plus B(o).
static Expected<Values> printConv(NodeView &view) {
  if (Error error = checkOperands(view, 2, 3))
    return std::move(error);
  if (Error error = checkFloats(view, view.has(2) ? 3 : 2))
    return std::move(error);
  Value image = view.get(0), weights = view.get(1);
  if (image.getRank() < 3 || weights.getRank() != image.getRank() || !canMeet(image.sizes[1], weights.sizes[1]) ||
      (view.has(2) && (view.get(2).getRank() != 1 || !canMeet(view.get(2).sizes[0], weights.sizes[0]))))
    return view.fail("expected an input (batch, channels, sizes) and weights (outputs, channels, sizes), found others");
  Expected<std::vector<Spatial>> spatial = readSpatial(view);
  if (!spatial)
    return spatial.takeError();
  size_t count = spatial->size(), channel = 2 + count;
  Sizes sizes = {image.sizes[0], weights.sizes[0]}, padded = {image.sizes[0], image.sizes[1]};
  Sizes offsets = {fixed(0), fixed(0)};
  std::vector<std::string> imageMap = {"d0", "d" + std::to_string(channel)};
  std::vector<std::string> weightsMap = {"d1", "d" + std::to_string(channel)};
  std::vector<size_t> reductions = {channel};
  bool isPadded = false;
  for (auto [i, dim] : llvm::enumerate(*spatial)) {
    sizes.push_back(fixed(dim.getOutput()));
    padded.push_back(fixed(dim.size + dim.before + dim.after));
    offsets.push_back(fixed(dim.before));
    isPadded |= dim.before + dim.after > 0;
    size_t kernel = channel + 1 + i;
    imageMap.push_back(formatv("d{0} * {1} + d{2} * {3}", i + 2, dim.stride, kernel, dim.dilation));
    weightsMap.push_back("d" + std::to_string(kernel));
    reductions.push_back(kernel);
  }
  if (isPadded)
    image = view.text.insert(image, view.text.addFilled(image.element, padded, "0.0"), offsets);
  Operand operands[] = {{&image, imageMap}, {&weights, weightsMap}};
  Value sum = addContraction(view.text, sizes, getDims(channel), operands, channel + 1 + count, reductions);
  if (!view.has(2))
    return one(sum);
  Sizes column(count + 1, fixed(1));
  column[0] = sizes[1];
  Value bias = view.text.reshape(view.get(2), column);
  return one(view.text.addElementwise(sum.element, sizes, {&sum, &bias}, [&](Body &body, const Names &names) {
    return body.add("arith.addf " + names[0] + ", " + names[1] + " : " + getElementName(sum.element));
  }));
}

llvm::ArrayRef<RuleRow> attn::onnx::getProductRules() {
  static constexpr RuleRow rows[] = {{"Conv", printConv}, {"Gemm", printGemm}, {"MatMul", printMatMul}};
  return rows;
}
