//===- OpsConvolution.cpp - Conv ------------------------------------------===//
//
// A product of matrices: of the weights with the padded input, from which its
// panels are gathered, or of patches that do not overlap with the weights. Groups
// of one channel are a sum over neighbours.
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

namespace {
/// A convolution whose operands are checked: X (batch, channels, x…) with its pads, W (outputs, channels of a group,
/// k…).
struct Convolution {
  Convolution(GraphBuilder &b, Value image, Value weights, std::vector<Spatial> spatial, int64_t groups)
      : b(b), image(std::move(image)), weights(std::move(weights)), spatial(std::move(spatial)), groups(groups),
        batch(this->image.sizes[0]) {
    for (const Spatial &dim : this->spatial) {
      positions.push_back(getOutputSize(b, dim));
      kernel.push_back(fixed(dim.kernel));
    }
  }

  GraphBuilder &b;
  Value image, weights;
  std::vector<Spatial> spatial;
  int64_t groups;
  Size batch;
  Sizes positions, kernel; ///< x… of the result, k… of the weights

  bool isPointwise() const {
    return llvm::all_of(spatial, [](const Spatial &dim) { return dim.kernel == 1 && dim.stride == 1; });
  }
};
} // namespace

static Sizes join(std::initializer_list<Sizes> parts) {
  Sizes all;
  for (const Sizes &part : parts)
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// Y(n, o, x) = sum_c W(o, c) X(n, c, x), x all positions: a product on the image as it lies.
static Value multiplyPoints(const Convolution &conv) {
  GraphBuilder &b = conv.b;
  Size positions = b.multiply(conv.positions), outputs = conv.weights.sizes[0];
  Value image = b.reshape(conv.image, {conv.batch, conv.image.sizes[1], positions});
  Value weights = b.reshape(conv.weights, {outputs, conv.weights.sizes[1]});
  Operand operands[] = {{&weights, {b.dim(1), b.dim(3)}}, {&image, {b.dim(0), b.dim(3), b.dim(2)}}};
  return addContraction(b, {conv.batch, outputs, positions}, b.getDims(3), operands, 4, {3});
}

/// Y(n, c, o, x…) = sum_k X(n, c, x * stride + k * dilation) W(c, o, k): channels of their own. The last x is the
/// innermost loop, as its elements are neighbours in X and Y.
static Value multiplyChannels(const Convolution &conv) {
  GraphBuilder &b = conv.b;
  size_t count = conv.spatial.size(), k = 2 + count, last = k + count;
  Size multiplier = fixed(*conv.weights.sizes[0].number / conv.groups);
  Value weights = b.reshape(conv.weights, join({{fixed(conv.groups), multiplier}, conv.kernel}));
  // Loops: n, c, o, x… but the last, k…, the last x.
  Exprs places = b.getDims(2), map = b.getDims(2 + count), kernel = {b.dim(1), b.dim(2)};
  std::vector<size_t> reductions;
  for (auto [i, dim] : llvm::enumerate(conv.spatial)) {
    mlir::AffineExpr x = b.dim(i + 1 < count ? 3 + i : last);
    places.push_back(x * dim.stride + b.dim(k + i) * dim.dilation);
    kernel.push_back(b.dim(k + i));
    reductions.push_back(k + i);
  }
  map.push_back(b.dim(last));
  Operand operands[] = {{&conv.image, places}, {&weights, kernel}};
  Sizes sizes = join({{conv.batch, fixed(conv.groups), multiplier}, conv.positions});
  return addContraction(b, sizes, map, operands, last + 1, reductions);
}

/// Y(n, x…, o) = sum P(n, x…, j) W(o, j) with P(n, x…, (c, k…)) = X(n, c, x * stride + k), of patches that do not
/// overlap: elements of a patch are neighbours in X, and who reads patches of an image wants a row each.
static Value multiplyPatches(const Convolution &conv) {
  GraphBuilder &b = conv.b;
  size_t count = conv.spatial.size(), c = 1 + count;
  Sizes patch = join({{conv.weights.sizes[1]}, conv.kernel});
  Exprs places = {b.dim(0), b.dim(c)};
  for (auto [i, dim] : llvm::enumerate(conv.spatial))
    places.push_back(b.dim(1 + i) * dim.stride + b.dim(c + 1 + i));
  Sizes all = join({{conv.batch}, conv.positions, patch});
  Operand source = {&conv.image, places};
  Value patches = b.addGeneric(b.addEmpty(conv.image.element, all), b.getDims(all.size()), source, all.size(), {},
                               [](Args e) { return e[0]; });
  Size depth = b.multiply(patch), positions = b.multiply(conv.positions), outputs = conv.weights.sizes[0];
  patches = b.reshape(patches, {conv.batch, positions, depth});
  Value weights = b.reshape(conv.weights, {outputs, depth});
  Operand operands[] = {{&patches, {b.dim(0), b.dim(1), b.dim(3)}}, {&weights, {b.dim(2), b.dim(3)}}};
  Value sum = addContraction(b, {conv.batch, positions, outputs}, b.getDims(3), operands, 4, {3});
  return b.transpose(sum, {0, 2, 1});
}

/// Y(n, g, o, x…) = sum X(n, (g, c), x * stride + k * dilation) W(g, o, j), j = (c, k…) one dimension of the product:
/// its panels are gathered from the image (im2col, a tile at a time).
static Value multiplyPlaces(const Convolution &conv) {
  GraphBuilder &b = conv.b;
  bool isGrouped = conv.groups > 1;
  size_t count = conv.spatial.size(), o = 1 + isGrouped, x = o + 1;
  mlir::AffineExpr j = b.dim(x + count), channel = j;
  Size channels = conv.weights.sizes[1], depth = b.multiply(join({{channels}, conv.kernel}));
  Exprs places, weightMap = {b.dim(o), j};
  for (size_t i = count; i-- > 0;) {
    const Spatial &dim = conv.spatial[i];
    places.insert(places.begin(), b.dim(x + i) * dim.stride + channel % dim.kernel * dim.dilation);
    channel = channel.floorDiv(dim.kernel);
  }
  if (isGrouped) {
    channel = b.dim(1) * *channels.number + channel;
    weightMap.insert(weightMap.begin(), b.dim(1));
  }
  places.insert(places.begin(), {b.dim(0), channel});
  Sizes outputs = isGrouped ? Sizes{fixed(conv.groups), fixed(*conv.weights.sizes[0].number / conv.groups)}
                            : Sizes{conv.weights.sizes[0]};
  Value weights = b.reshape(conv.weights, join({outputs, {depth}}));
  Operand operands[] = {{&weights, weightMap}, {&conv.image, places}};
  Sizes sizes = join({{conv.batch}, outputs, conv.positions});
  return addContraction(b, sizes, b.getDims(x + count), operands, x + count + 1, {x + count});
}

static Expected<Values> buildConv(NodeView &view) {
  int64_t groups = view.getInteger("group", 1);
  if (Error error = checkConv(view, groups))
    return std::move(error);
  Expected<std::vector<Spatial>> spatial =
      readSpatial(view, Sizes(view.get(1).sizes.begin() + 2, view.get(1).sizes.end()));
  if (!spatial)
    return spatial.takeError();
  GraphBuilder &b = view.b;
  Value image = addPads(b, view.get(0), *spatial, b.zero(b.getElementType(view.get(0).element)));
  Convolution conv(b, image, view.get(1), std::move(*spatial), groups);
  Sizes sizes = join({{conv.batch, conv.weights.sizes[0]}, conv.positions});
  bool isOfChannels = groups > 1 && conv.weights.sizes[1].number == 1, isOfPoints = groups == 1 && conv.isPointwise();
  bool areApart = groups == 1 && llvm::all_of(conv.spatial, [](const Spatial &dim) {
                    return dim.stride >= dim.kernel && dim.dilation == 1;
                  });
  Value sum = isOfChannels ? multiplyChannels(conv)
              : isOfPoints ? multiplyPoints(conv)
              : areApart   ? multiplyPatches(conv)
                           : multiplyPlaces(conv);
  sum = b.reshape(sum, sizes);
  if (!view.has(2))
    return one(sum);
  Sizes column(conv.positions.size() + 1, fixed(1));
  column[0] = sizes[1];
  Value added = b.reshape(view.get(2), column);
  return one(
      b.addElementwise(sum.element, sizes, {&sum, &added}, [&](Args x) { return b.make<arith::AddFOp>(x[0], x[1]); }));
}

llvm::ArrayRef<RuleRow> attn::onnx::getConvolutionRules() {
  static constexpr RuleRow rows[] = {{"Conv", buildConv, 2, 3}};
  return rows;
}
