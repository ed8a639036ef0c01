//===- OpsConvolution.cpp - Conv ------------------------------------------===//
//
// One contraction over the padded input; groups are a dimension of their own.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Shared.h"

#include "llvm/ADT/STLExtras.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;

namespace {
/// One of the spatial dimensions.
struct Spatial {
  int64_t before = 0, after = 0, stride = 1, dilation = 1, kernel = 0;
  Size size;
  /// The extent of the input that one result reads.
  int64_t getReach() const { return dilation * (kernel - 1) + 1; }
};

/// The attributes that do not depend on the input's sizes.
struct ConvAttributes {
  StringRef padding;
  std::vector<int64_t> pads, strides, dilations;
};
} // namespace

static Expected<ConvAttributes> readAttributes(NodeView &view, size_t count) {
  ConvAttributes result;
  result.padding = view.getString("auto_pad", "NOTSET");
  result.pads = view.getIntegers("pads").value_or(std::vector<int64_t>(2 * count, 0));
  result.strides = view.getIntegers("strides").value_or(std::vector<int64_t>(count, 1));
  result.dilations = view.getIntegers("dilations").value_or(std::vector<int64_t>(count, 1));
  if (!llvm::is_contained({"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}, result.padding))
    return view.fail("expected auto_pad of NOTSET, VALID, SAME_UPPER or SAME_LOWER, found " + result.padding);
  if (result.padding != "NOTSET")
    result.pads.assign(2 * count, 0);
  if (result.pads.size() != 2 * count || result.strides.size() != count || result.dilations.size() != count)
    return view.fail(formatv("expected pads, strides and dilations of {0} dimensions, found others", count));
  for (const std::vector<int64_t> *list : {&result.pads, &result.strides, &result.dilations})
    for (int64_t number : *list)
      if (number < (list == &result.pads ? 0 : 1) || number > kMaxSize)
        return view.fail(
            formatv("expected pads from 0 and strides and dilations from 1 to {0}, found {1}", kMaxSize, number));
  return result;
}

/// Pads so that there are ceil(size / stride) results; an odd pad goes to the end (SAME_UPPER) or the start.
static Error padAlike(NodeView &view, bool isUpper, Spatial &dim) {
  // With a stride of 1 they do not depend on the size.
  if (dim.stride != 1 && !dim.size.number)
    return view.fail("expected fixed spatial sizes where auto_pad is SAME_UPPER or SAME_LOWER and a stride is not 1, "
                     "found a symbol");
  int64_t size = dim.size.number.value_or(kMaxSize), count = (size + dim.stride - 1) / dim.stride;
  int64_t sum = std::max<int64_t>((count - 1) * dim.stride + dim.getReach() - size, 0);
  dim.before = isUpper ? sum / 2 : sum - sum / 2;
  dim.after = sum - dim.before;
  return Error::success();
}

static Expected<std::vector<Spatial>> readSpatial(NodeView &view) {
  size_t count = view.get(0).getRank() - 2;
  Expected<ConvAttributes> attributes = readAttributes(view, count);
  if (!attributes)
    return attributes.takeError();
  std::optional<std::vector<int64_t>> declared = view.getIntegers("kernel_shape");
  std::vector<Spatial> spatial;
  for (size_t i = 0; i < count; ++i) {
    std::optional<int64_t> kernel = view.get(1).sizes[i + 2].number;
    if (!kernel || *kernel < 1)
      return view.fail("expected weights of fixed spatial sizes of at least 1, found others");
    if (declared && (declared->size() != count || (*declared)[i] != *kernel))
      return view.fail(
          formatv("expected kernel_shape as the weights have it, {0} in dimension {1}, found another", *kernel, i));
    Spatial dim = {
        attributes->pads[i],     attributes->pads[count + i], attributes->strides[i], attributes->dilations[i], *kernel,
        view.get(0).sizes[i + 2]};
    if (StringRef(attributes->padding).starts_with("SAME"))
      if (Error error = padAlike(view, attributes->padding == "SAME_UPPER", dim))
        return std::move(error);
    if (dim.size.number && *dim.size.number + dim.before + dim.after < dim.getReach())
      return view.fail(formatv("expected a padded input of at least {0} elements in dimension {1}, found {2}",
                               dim.getReach(), i + 2, *dim.size.number + dim.before + dim.after));
    spatial.push_back(dim);
  }
  return spatial;
}

/// (size + before + after - reach) / stride + 1; 0 where the run's input is shorter than the kernel.
static Size getOutputSize(GraphBuilder &b, const Spatial &dim) {
  int64_t more = dim.before + dim.after - dim.getReach() + dim.stride;
  if (dim.size.number)
    return fixed((*dim.size.number + more) / dim.stride);
  return b.divide(b.maximum(b.add(dim.size, fixed(more)), fixed(0)), fixed(dim.stride));
}

/// Zeros around the input, where there are any.
static Value addPads(GraphBuilder &b, const Value &image, llvm::ArrayRef<Spatial> spatial) {
  Sizes padded = {image.sizes[0], image.sizes[1]}, offsets = {fixed(0), fixed(0)};
  for (const Spatial &dim : spatial) {
    padded.push_back(b.add(dim.size, fixed(dim.before + dim.after)));
    offsets.push_back(fixed(dim.before));
  }
  bool isPadded = llvm::any_of(spatial, [](const Spatial &dim) { return dim.before + dim.after > 0; });
  return isPadded ? b.insert(image, b.addZeros(image.element, padded), offsets) : image;
}

/// The channels as (groups, channels of one).
static Value splitChannels(GraphBuilder &b, const Value &value, size_t channel, int64_t groups) {
  Sizes sizes = value.sizes;
  sizes[channel] = fixed(*sizes[channel].number / groups);
  sizes.insert(sizes.begin() + channel, fixed(groups));
  return b.reshape(value, sizes);
}

static Error checkConv(NodeView &view, int64_t groups) {
  if (Error error = checkFloats(view, view.has(2) ? 3 : 2))
    return error;
  const Value &image = view.get(0), &weights = view.get(1);
  if (image.getRank() < 3 || weights.getRank() != image.getRank() ||
      (view.has(2) && (view.get(2).getRank() != 1 || !canMeet(view.get(2).sizes[0], weights.sizes[0]))))
    return view.fail("expected an input (batch, channels, sizes), weights (outputs, channels, sizes) and a bias "
                     "(outputs), found others");
  std::optional<int64_t> channels = image.sizes[1].number, outputs = weights.sizes[0].number;
  std::optional<int64_t> inGroup = weights.sizes[1].number;
  if (groups < 1 || groups > kMaxSize)
    return view.fail(formatv("expected group from 1 to {0}, found {1}", kMaxSize, groups));
  if (groups > 1 && (!channels || !outputs || !inGroup))
    return view.fail("expected fixed numbers of channels where group is not 1, found a symbol");
  if (channels && inGroup && *channels != *inGroup * groups)
    return view.fail(formatv("expected {0} channels of the input in {1} groups of the weights' {2}, found {3}",
                             *inGroup * groups, groups, *inGroup, *channels));
  if (groups > 1 && *outputs % groups != 0)
    return view.fail(formatv("expected outputs in {0} groups, found {1}", groups, *outputs));
  return Error::success();
}

/// Y(n, g, o, x…) = sum X(n, g, c, x * stride + k * dilation) * W(g, o, c, k), over c and k, plus B(g, o). The
/// dimension g exists if there are several groups.
static Expected<Values> buildConv(NodeView &view) {
  int64_t groups = view.getInteger("group", 1);
  if (Error error = checkConv(view, groups))
    return std::move(error);
  Expected<std::vector<Spatial>> spatial = readSpatial(view);
  if (!spatial)
    return spatial.takeError();
  GraphBuilder &b = view.b;
  bool isGrouped = groups > 1;
  Value image = addPads(b, view.get(0), *spatial), weights = view.get(1);
  Sizes sizes = {image.sizes[0], weights.sizes[0]};
  for (const Spatial &dim : *spatial)
    sizes.push_back(getOutputSize(b, dim));
  if (isGrouped) {
    image = splitChannels(b, image, 1, groups);
    weights = splitChannels(b, weights, 0, groups);
  }
  // Loops: n, then the group, the output, the spatial dimensions; after them c and k.
  size_t output = isGrouped ? 2 : 1, first = output + 1, channel = first + spatial->size();
  Exprs imageMap = {b.dim(0)}, weightsMap;
  if (isGrouped) {
    imageMap.push_back(b.dim(1));
    weightsMap.push_back(b.dim(1));
  }
  imageMap.push_back(b.dim(channel));
  weightsMap.append({b.dim(output), b.dim(channel)});
  std::vector<size_t> reductions = {channel};
  for (auto [i, dim] : llvm::enumerate(*spatial)) {
    size_t kernel = channel + 1 + i;
    imageMap.push_back(b.dim(first + i) * dim.stride + b.dim(kernel) * dim.dilation);
    weightsMap.push_back(b.dim(kernel));
    reductions.push_back(kernel);
  }
  Sizes results = {sizes[0]};
  if (isGrouped)
    results.push_back(fixed(groups));
  results.push_back(isGrouped ? fixed(*sizes[1].number / groups) : sizes[1]);
  results.insert(results.end(), sizes.begin() + 2, sizes.end());
  Operand operands[] = {{&image, imageMap}, {&weights, weightsMap}};
  size_t loops = channel + 1 + spatial->size();
  Value sum = b.reshape(addContraction(b, results, b.getDims(channel), operands, loops, reductions), sizes);
  if (!view.has(2))
    return one(sum);
  Sizes column(spatial->size() + 1, fixed(1));
  column[0] = sizes[1];
  Value bias = b.reshape(view.get(2), column);
  return one(
      b.addElementwise(sum.element, sizes, {&sum, &bias}, [&](Args x) { return b.make<arith::AddFOp>(x[0], x[1]); }));
}

llvm::ArrayRef<RuleRow> attn::onnx::getConvolutionRules() {
  static constexpr RuleRow rows[] = {{"Conv", buildConv, 2, 3}};
  return rows;
}
