//===- Windows.cpp - what convolutions and pools read ---------------------===//
//
// Strides, dilations and pads of the spatial dimensions, as attributes say them.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Windows.h"

#include "llvm/ADT/STLExtras.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;

namespace {
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

Expected<std::vector<Spatial>> attn::onnx::readSpatial(NodeView &view, const Sizes &extents) {
  size_t count = view.get(0).getRank() - 2;
  Expected<ConvAttributes> attributes = readAttributes(view, count);
  if (!attributes)
    return attributes.takeError();
  std::optional<std::vector<int64_t>> declared = view.getIntegers("kernel_shape");
  std::vector<Spatial> spatial;
  for (size_t i = 0; i < count; ++i) {
    std::optional<int64_t> kernel = extents[i].number;
    if (!kernel || *kernel < 1 || *kernel > kMaxSize)
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

Size attn::onnx::getOutputSize(GraphBuilder &b, const Spatial &dim) {
  int64_t more = dim.before + dim.after - dim.getReach() + dim.stride;
  if (dim.size.number)
    return fixed((*dim.size.number + more) / dim.stride);
  return b.divide(b.maximum(b.add(dim.size, fixed(more)), fixed(0)), fixed(dim.stride));
}

Value attn::onnx::addPads(GraphBuilder &b, const Value &image, llvm::ArrayRef<Spatial> spatial, mlir::Value pad) {
  Sizes padded = {image.sizes[0], image.sizes[1]}, offsets = {fixed(0), fixed(0)};
  for (const Spatial &dim : spatial) {
    padded.push_back(b.add(dim.size, fixed(dim.before + dim.after)));
    offsets.push_back(fixed(dim.before));
  }
  bool isPadded = llvm::any_of(spatial, [](const Spatial &dim) { return dim.before + dim.after > 0; });
  return isPadded ? b.insert(image, b.addFilled(image.element, padded, pad), offsets) : image;
}
