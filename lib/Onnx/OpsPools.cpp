//===- OpsPools.cpp - MaxPool, AveragePool --------------------------------===//
//
// A reduction over windows of the padded image.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Windows.h"

#include "llvm/ADT/STLExtras.h"

using namespace attn::onnx;
using llvm::Expected;

/// Y(n, c, x…) joins X(n, c, x * stride + k * dilation) over k, from `start` on. The last x is the innermost loop.
static Value reduceWindows(GraphBuilder &b, const Value &image, llvm::ArrayRef<Spatial> spatial, mlir::Value start,
                           Join join) {
  size_t count = spatial.size(), k = 1 + count, last = k + count; // loops: n, c, x… but the last, k…, the last x
  Sizes sizes = {image.sizes[0], image.sizes[1]}, kernel;
  Exprs places = b.getDims(2), map = b.getDims(k), extents;
  std::vector<size_t> reductions;
  for (auto [i, dim] : llvm::enumerate(spatial)) {
    mlir::AffineExpr x = b.dim(i + 1 < count ? 2 + i : last);
    places.push_back(x * dim.stride + b.dim(k + i) * dim.dilation);
    extents.push_back(b.dim(k + i));
    reductions.push_back(k + i);
    sizes.push_back(getOutputSize(b, dim));
    kernel.push_back(fixed(dim.kernel));
  }
  map.push_back(b.dim(last));
  Value window = b.addEmpty(image.element, kernel); // says how far k runs
  Operand operands[] = {{&image, places}, {&window, extents}};
  return b.addGeneric(b.addFilled(getComputeType(image.element), sizes, start), map, operands, last + 1, reductions,
                      [&](Args x) { return join(x[2], b.cast(x[0], x[2].getType())); });
}

static bool hasPads(llvm::ArrayRef<Spatial> spatial) {
  return llvm::any_of(spatial, [](const Spatial &dim) { return dim.before + dim.after > 0; });
}

/// The largest element of each window; its mean, of all elements or of those that are no pads.
static Expected<Values> buildPool(NodeView &view) {
  const Value &image = view.get(0);
  if (!isFloat(image.element) || image.getRank() < 3)
    return view.fail("expected an input of floats (batch, channels, sizes), found another");
  std::optional<std::vector<int64_t>> kernel = view.getIntegers("kernel_shape");
  if (!kernel || kernel->size() + 2 != image.getRank())
    return view.fail("expected kernel_shape with a size for each dimension after the channels, found another");
  if (view.asks(1))
    return view.fail("expected no output of indices, found one");
  Sizes extents;
  for (int64_t size : *kernel)
    extents.push_back(fixed(size));
  Expected<std::vector<Spatial>> spatial = readSpatial(view, extents);
  if (!spatial)
    return spatial.takeError();
  GraphBuilder &b = view.b;
  mlir::Type type = b.getElementType(getComputeType(image.element));
  bool includesPads = view.getInteger("count_include_pad", 0) != 0 || !hasPads(*spatial);
  if (view.getInteger("ceil_mode", 0) != 0) {
    if (view.getOp() == "AveragePool" && includesPads && hasPads(*spatial))
      return view.fail("expected count_include_pad = 0 beside ceil_mode = 1, found 1");
    includesPads = false;
    for (Spatial &dim : *spatial) { // one more result where elements are left: its window begins before they end
      if (dim.after + dim.stride > dim.getReach())
        return view.fail(
            "expected strides and pads at the end of one window together beside ceil_mode = 1, found more");
      dim.after += dim.stride - 1;
    }
  }
  if (view.getOp() == "MaxPool") {
    Value padded = addPads(b, image, *spatial, b.infinity(b.getElementType(image.element), /*isNegative=*/true));
    Value largest = reduceWindows(b, padded, *spatial, b.infinity(type, /*isNegative=*/true),
                                  [&](mlir::Value so, mlir::Value x) { return b.make<arith::MaximumFOp>(so, x); });
    return one(b.cast(largest, image.element));
  }
  auto sum = [&](const Value &of) {
    mlir::Value zero = b.zero(b.getElementType(of.element));
    return reduceWindows(b, addPads(b, of, *spatial, zero), *spatial, b.zero(type),
                         [&](mlir::Value so, mlir::Value x) { return b.make<arith::AddFOp>(so, x); });
  };
  Value sums = sum(image), counts;
  if (!includesPads) {
    Sizes plane = image.sizes;
    plane[0] = plane[1] = fixed(1);
    counts = sum(b.addFilled(image.element, plane, b.real(1.0, b.getElementType(image.element))));
  } else {
    int64_t count = 1;
    for (int64_t size : *kernel)
      count *= size;
    counts = b.addFilled(getComputeType(image.element), {fixed(1)}, b.real(double(count), type));
  }
  Value mean = b.addElementwise(sums.element, sums.sizes, {&sums, &counts},
                                [&](Args x) { return b.make<arith::DivFOp>(x[0], x[1]); });
  return one(b.cast(mean, image.element));
}

llvm::ArrayRef<RuleRow> attn::onnx::getPoolRules() {
  static constexpr RuleRow rows[] = {{"AveragePool", buildPool, 1, 1}, {"MaxPool", buildPool, 1, 1}};
  return rows;
}
