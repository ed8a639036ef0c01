//===- OpsResize.cpp - Resize ---------------------------------------------===//
//
// One dimension after the other: a sum of a few elements of each line, with
// weights that are constants, or the nearest element.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Shared.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;

namespace {
/// A dimension: result x lies at getPlace(x) of the input.
struct Line {
  int64_t before = 0, after = 0; ///< sizes
  double scale = 1.0;            ///< of the result by the input

  double getPlace(StringRef mode, int64_t x) const {
    double extent = scale * double(before); // `after` before it is rounded
    if (mode == "asymmetric")
      return double(x) / scale;
    if (mode == "align_corners")
      return extent == 1.0 ? 0.0 : double(x) * double(before - 1) / (extent - 1.0);
    if (mode == "pytorch_half_pixel" && extent <= 1.0)
      return 0.0;
    double halfPixel = (double(x) + 0.5) / scale - 0.5;
    return mode == "half_pixel_symmetric" ? halfPixel + double(before) / 2.0 * (1.0 - double(after) / extent)
                                          : halfPixel;
  }
};

/// The t-th element of the input that each result reads, and its weight.
struct Tap {
  std::vector<int64_t> places;
  std::vector<double> weights;
};
} // namespace

/// The weight of an element at a distance: a triangle, or Keys' cubic ("Cubic convolution interpolation for digital
/// image processing", 1981) with its free parameter.
static double getWeight(bool isCubic, double a, double distance) {
  double d = std::abs(distance);
  if (!isCubic)
    return std::max(1.0 - d, 0.0);
  if (d <= 1.0)
    return ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0;
  return d < 2.0 ? ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a : 0.0;
}

static int64_t round(StringRef mode, double place) {
  return int64_t(mode == "floor"               ? std::floor(place)
                 : mode == "ceil"              ? std::ceil(place)
                 : mode == "round_prefer_ceil" ? std::floor(place + 0.5)
                                               : std::ceil(place - 0.5));
}

/// Elements beyond an end are the last one there, or with exclude_outside are left out.
static std::vector<Tap> getTaps(NodeView &view, const Line &line) {
  StringRef mode = view.getString("mode", "nearest"),
            places = view.getString("coordinate_transformation_mode", "half_pixel");
  bool isNearest = mode == "nearest", isCubic = mode == "cubic", excludes = view.getInteger("exclude_outside", 0) != 0;
  std::vector<Tap> taps(isNearest ? 1 : isCubic ? 4 : 2);
  for (int64_t x = 0; x < line.after; ++x) {
    double place = line.getPlace(places, x), sum = 0.0;
    int64_t first = isNearest ? round(view.getString("nearest_mode", "round_prefer_floor"), place)
                              : int64_t(std::floor(place)) - isCubic;
    for (auto [t, tap] : llvm::enumerate(taps)) {
      int64_t at = first + int64_t(t), inside = std::clamp<int64_t>(at, 0, line.before - 1);
      double weight = isNearest ? 1.0
                      : excludes && at != inside
                          ? 0.0
                          : getWeight(isCubic, view.getReal("cubic_coeff_a", -0.75), place - double(at));
      tap.places.push_back(inside);
      tap.weights.push_back(weight);
      sum += weight;
    }
    for (Tap &tap : taps)
      tap.weights.back() /= excludes ? sum : 1.0;
  }
  return taps;
}

static Expected<Value> resizeLine(NodeView &view, const Value &value, size_t axis, const Line &line) {
  GraphBuilder &b = view.b;
  mlir::Type type = b.getElementType(getComputeType(value.element));
  Value sum;
  for (const Tap &tap : getTaps(view, line)) {
    Sizes count = {fixed(line.after)}, sizes = value.sizes, along(value.getRank() - axis, fixed(1));
    sizes[axis] = along[0] = count[0];
    Value places = {DataType::Int64, count, b.constant(b.getI64TensorAttr(tap.places))};
    Expected<Values> gathered = buildAs(view, "Gather", {value, places}, {makeAttribute("axis", int64_t(axis))});
    if (!gathered || view.getString("mode", "nearest") == "nearest")
      return gathered ? Expected<Value>(gathered->front()) : gathered.takeError();
    llvm::SmallVector<mlir::Attribute> weights;
    for (double weight : tap.weights)
      weights.push_back(b.getFloatAttr(type, weight));
    auto weightType = mlir::RankedTensorType::get({line.after}, type);
    Value weight = {getComputeType(value.element), count,
                    b.constant(mlir::DenseElementsAttr::get(weightType, weights))};
    weight = b.reshape(weight, along);
    std::vector<const Value *> operands = {&gathered->front(), &weight};
    if (sum)
      operands.push_back(&sum);
    sum = b.addElementwise(weight.element, sizes, operands, [&](Args x) {
      mlir::Value product = b.make<arith::MulFOp>(b.cast(x[0], type), x[1]);
      return operands.size() == 3 ? b.make<arith::AddFOp>(x[2], product) : product;
    });
  }
  return sum;
}

static Error checkResize(NodeView &view) {
  StringRef places = view.getString("coordinate_transformation_mode", "half_pixel"),
            mode = view.getString("mode", "nearest");
  if (!isFloat(view.get(0).element))
    return view.fail("expected an input of floats, found " + getDataTypeName(int64_t(view.get(0).element)));
  if (!llvm::is_contained({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"},
                          places))
    return view.fail("expected a coordinate_transformation_mode other than tf_crop_and_resize, found " + places);
  if (!llvm::is_contained({"nearest", "linear", "cubic"}, mode))
    return view.fail("expected mode nearest, linear or cubic, found " + mode);
  if (view.getInteger("antialias", 0) != 0 || view.getString("keep_aspect_ratio_policy", "stretch") != "stretch")
    return view.fail("expected antialias = 0 and keep_aspect_ratio_policy stretch, found others");
  if (view.has(2) == view.has(3) && (!view.has(3) || !view.get(2).data || getNumElements(view.get(2).data->type) != 0))
    return view.fail("expected scales or sizes, found both or neither");
  return Error::success();
}

/// The elements of a constant of floats.
static std::optional<std::vector<double>> getReals(GraphBuilder &b, const Value &value) {
  if (value.element != DataType::Float || !value.data || value.getRank() != 1)
    return std::nullopt;
  std::vector<double> reals;
  auto elements = mlir::dyn_cast_if_present<mlir::DenseFPElementsAttr>(getElements(*value.data, b.getType(value)));
  if (!elements)
    return std::nullopt;
  for (const llvm::APFloat &x : elements)
    reals.push_back(x.convertToFloat());
  return reals;
}

static Expected<Values> buildResize(NodeView &view) {
  if (Error error = checkResize(view))
    return std::move(error);
  GraphBuilder &b = view.b;
  Value value = view.get(0);
  std::optional<std::vector<int64_t>> list = view.getIntegers("axes");
  Expected<std::vector<size_t>> axes = view.getAxes(list.value_or(countUp(value.getRank())), value.getRank());
  if (!axes)
    return axes.takeError();
  std::optional<Sizes> sizes = view.has(3) ? view.get(3).integers : std::nullopt;
  std::optional<std::vector<double>> scales = view.has(3) ? std::nullopt : getReals(b, view.get(2));
  if ((!sizes && !scales) || (sizes ? sizes->size() : scales->size()) != axes->size())
    return view.fail("expected a constant scale or size for each dimension, found others");
  for (size_t i = 0; i < axes->size(); ++i) {
    size_t axis = list ? cantFail(view.getAxis((*list)[i], value.getRank())) : i;
    if (scales ? (*scales)[i] == 1.0 : isSame(value.sizes[axis], (*sizes)[i]))
      continue;
    if (!value.sizes[axis].number || *value.sizes[axis].number == 0 || (sizes && !(*sizes)[i].number))
      return view.fail(formatv("expected fixed sizes above 0 of dimension {0}, which changes, found another", axis));
    Line line{*value.sizes[axis].number};
    line.after = sizes ? *(*sizes)[i].number : int64_t(std::floor(double(line.before) * (*scales)[i]));
    line.scale = scales ? (*scales)[i] : double(line.after) / double(line.before);
    if (line.after < 1 || line.after > kMaxSize)
      return view.fail(formatv("expected a size above 0, found {0} of dimension {1}", line.after, axis));
    Expected<Value> resized = resizeLine(view, value, axis, line);
    if (!resized)
      return resized.takeError();
    value = *resized;
  }
  return one(b.cast(value, view.get(0).element));
}

llvm::ArrayRef<RuleRow> attn::onnx::getResizeRules() {
  static constexpr RuleRow rows[] = {{"Resize", buildResize, 1, 4}};
  return rows;
}
