//===- OpsReductions.cpp - sums, softmax, normalisations ------------------===//
//
// Narrow floats are summed up in f32.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Shared.h"

#include "llvm/ADT/STLExtras.h"

using namespace attn::onnx;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;

Value attn::onnx::addReduction(GraphBuilder &b, const Value &value, llvm::ArrayRef<size_t> axes, mlir::Value start,
                               Join join, llvm::function_ref<mlir::Value(mlir::Value)> map) {
  Sizes kept, full = value.sizes;
  Exprs results;
  for (size_t i = 0; i < value.getRank(); ++i) {
    if (llvm::is_contained(axes, i)) {
      full[i] = fixed(1);
      continue;
    }
    kept.push_back(value.sizes[i]);
    results.push_back(b.dim(i));
  }
  Value init = b.addFilled(getComputeType(value.element), kept, start);
  Operand operand = {&value, b.getDims(value.getRank())};
  Value result = b.addGeneric(init, results, operand, value.getRank(), axes, [&](Args x) {
    mlir::Value element = b.cast(x[0], start.getType());
    return join(x[1], map ? map(element) : element);
  });
  return b.reshape(result, full);
}

Value attn::onnx::addSum(GraphBuilder &b, const Value &value, llvm::ArrayRef<size_t> axes,
                         llvm::function_ref<mlir::Value(mlir::Value)> map) {
  return addReduction(
      b, value, axes, b.zero(b.getElementType(getComputeType(value.element))),
      [&](mlir::Value sum, mlir::Value x) { return b.either<arith::AddFOp, arith::AddIOp>(sum, x); }, map);
}

/// The search for the largest (smallest) element starts with the least (greatest) value of its type.
Value attn::onnx::addExtreme(GraphBuilder &b, const Value &value, llvm::ArrayRef<size_t> axes, bool isMax) {
  mlir::Type type = b.getElementType(getComputeType(value.element));
  mlir::Value start;
  if (isFloat(value.element)) {
    start = b.infinity(type, isMax);
  } else {
    unsigned bits = type.getIntOrFloatBitWidth();
    llvm::APInt edge = isMax ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getSignedMaxValue(bits);
    start = b.integer(edge.getSExtValue(), type);
  }
  return addReduction(b, value, axes, start, [&](mlir::Value so, mlir::Value x) {
    return isMax ? b.either<arith::MaximumFOp, arith::MaxSIOp>(so, x)
                 : b.either<arith::MinimumFOp, arith::MinSIOp>(so, x);
  });
}

/// sum / count, in the type of the sum.
static Value addMean(GraphBuilder &b, const Value &sum, const Value &of, llvm::ArrayRef<size_t> axes) {
  Size count = fixed(1);
  for (size_t axis : axes)
    count = b.multiply(count, of.sizes[axis]);
  return b.addElementwise(sum.element, sum.sizes, {&sum}, [&](Args x) {
    mlir::Type type = x[0].getType();
    mlir::Value divisor = count.number
                              ? b.real(double(*count.number), type)
                              : b.make<arith::UIToFPOp>(type, b.make<arith::IndexCastOp>(b.getI64Type(), count.value));
    return b.make<arith::DivFOp>(x[0], divisor);
  });
}

//===----------------------------------------------------------------------===//
// Reduce…
//===----------------------------------------------------------------------===//

static Expected<Values> buildReduce(NodeView &view) {
  const Value &value = view.get(0);
  bool takesIntegers = llvm::is_contained({"ReduceMax", "ReduceMin", "ReduceSum"}, view.getOp());
  if (!isFloat(value.element) && (!takesIntegers || value.element == DataType::Bool))
    return view.fail("expected an input of floats, found " + getDataTypeName(int64_t(value.element)));
  Expected<std::optional<std::vector<int64_t>>> list = view.getList("axes", 1);
  if (!list)
    return list.takeError();
  bool isOfAll = !*list || (*list)->empty();
  if (isOfAll && view.getInteger("noop_with_empty_axes", 0) != 0)
    return view.fail("expected axes, found none");
  std::vector<int64_t> reduced = isOfAll ? countUp(value.getRank()) : **list;
  StringRef op = view.getOp();
  if (op.starts_with("Global")) // over all but batch and channels
    reduced.erase(reduced.begin(), reduced.begin() + std::min<size_t>(2, reduced.size()));
  Expected<std::vector<size_t>> axes = view.getAxes(reduced, value.getRank());
  if (!axes)
    return axes.takeError();
  GraphBuilder &b = view.b;
  Value result;
  if (op == "ReduceMax" || op == "ReduceMin" || op == "GlobalMaxPool")
    result = addExtreme(b, value, *axes, op != "ReduceMin");
  else if (op == "ReduceSumSquare" || op == "ReduceL2")
    result = addSum(b, value, *axes, [&](mlir::Value x) { return b.make<arith::MulFOp>(x, x); });
  else
    result = addSum(b, value, *axes);
  if (op == "ReduceMean" || op == "GlobalAveragePool")
    result = addMean(b, result, value, *axes);
  if (op == "ReduceL2")
    result =
        b.addElementwise(result.element, result.sizes, {&result}, [&](Args x) { return b.make<math::SqrtOp>(x[0]); });
  result = view.b.cast(result, value.element);
  if (view.getInteger("keepdims", 1) != 0)
    return one(result);
  Sizes sizes;
  for (size_t i = 0; i < value.getRank(); ++i)
    if (!llvm::is_contained(*axes, i))
      sizes.push_back(value.sizes[i]);
  return one(view.b.reshape(result, sizes));
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// Before opset 13 the dimensions from `axis` on are one.
static constexpr int64_t kFirstSoftmaxOpset = 13;

/// The axis of Softmax or LogSoftmax, whose one input is of floats.
static Expected<size_t> getSoftmaxAxis(NodeView &view) {
  const Value &value = view.get(0);
  bool isOld = view.model.opset < kFirstSoftmaxOpset;
  Expected<size_t> axis = view.getAxis(view.getInteger("axis", isOld ? 1 : -1), value.getRank());
  if (!axis)
    return axis.takeError();
  if (!isFloat(value.element))
    return view.fail("expected an input of floats, found " + getDataTypeName(int64_t(value.element)));
  if (isOld && *axis + 1 != value.getRank())
    return view.fail(formatv("expected the last axis in opset {0}, found {1}", view.model.opset, *axis));
  return *axis;
}

static Expected<Values> buildSoftmax(NodeView &view) {
  Expected<size_t> axis = getSoftmaxAxis(view);
  if (!axis)
    return axis.takeError();
  const Value &value = view.get(0);
  Value input = view.b.cast(value, getComputeType(value.element));
  mlir::Value source = view.b.get(input), init = view.b.addEmpty(input.element, value.sizes).ir;
  Value result = {input.element, value.sizes,
                  view.b.make<linalg::SoftmaxOp>(mlir::TypeRange(init.getType()), source, init, *axis)};
  return one(view.b.cast(result, value.element));
}

/// x - max - log(sum exp(x - max)), in f32 for narrower floats.
static Expected<Values> buildLogSoftmax(NodeView &view) {
  Expected<size_t> axis = getSoftmaxAxis(view);
  if (!axis)
    return axis.takeError();
  const Value &value = view.get(0);
  GraphBuilder &b = view.b;
  Value input = b.cast(value, getComputeType(value.element));
  Value largest = addExtreme(b, input, *axis, /*isMax=*/true);
  Value shifted = b.addElementwise(input.element, value.sizes, {&input, &largest},
                                   [&](Args x) { return b.make<arith::SubFOp>(x[0], x[1]); });
  Value sum = addSum(b, shifted, *axis, [&](mlir::Value x) { return b.make<math::ExpOp>(x); });
  return one(b.addComputed(value.element, value.sizes, {&shifted, &sum},
                           [&](Args x) { return b.make<arith::SubFOp>(x[0], b.make<math::LogOp>(x[1])); }));
}

//===----------------------------------------------------------------------===//
// Normalisations
//===----------------------------------------------------------------------===//

/// LayerNormalization: (x - mean) / sqrt(var + epsilon) * scale + bias over the axes from `axis` on;
/// RMSNormalization leaves the mean and the bias out. Outputs behind the first are those that training keeps.
static Expected<Values> buildNormalization(NodeView &view) {
  bool isCentered = view.getOp() == "LayerNormalization";
  const Value &value = view.get(0), &scale = view.get(1);
  Expected<size_t> axis = view.getAxis(view.getInteger("axis", -1), value.getRank());
  if (!axis)
    return axis.takeError();
  std::vector<const Value *> operands = {&value, &scale};
  if (view.has(2))
    operands.push_back(&view.get(2));
  std::optional<Sizes> sizes = broadcastSizes(operands);
  bool isAlike = llvm::all_of(operands, [&](const Value *other) { return other->element == value.element; });
  if (!isFloat(value.element) || !isAlike || !sizes || sizes->size() != value.getRank())
    return view.fail("expected an input, scale and bias of one type of floats that broadcast to the input, found "
                     "others");
  if (view.getInteger("stash_type", 1) != 1)
    return view.fail("expected stash_type = 1 (FLOAT), found another");
  std::vector<size_t> axes;
  for (size_t i = *axis; i < value.getRank(); ++i)
    axes.push_back(i);
  GraphBuilder &b = view.b;
  Value centered = b.cast(value, getComputeType(value.element)), mean;
  if (isCentered) {
    mean = addMean(b, addSum(b, centered, axes), value, axes);
    centered = b.addElementwise(centered.element, value.sizes, {&centered, &mean},
                                [&](Args x) { return b.make<arith::SubFOp>(x[0], x[1]); });
  }
  Value squares = addSum(b, centered, axes, [&](mlir::Value x) { return b.make<arith::MulFOp>(x, x); });
  Value variance = addMean(b, squares, value, axes);
  Value inverse = b.addElementwise(variance.element, variance.sizes, {&variance}, [&](Args x) {
    mlir::Type type = x[0].getType();
    mlir::Value sum = b.make<arith::AddFOp>(x[0], b.real(view.getReal("epsilon", 1e-5), type));
    return b.make<arith::DivFOp>(b.real(1.0, type), b.make<math::SqrtOp>(sum));
  });
  operands[0] = &centered;
  operands.insert(operands.begin() + 1, &inverse);
  Value result = b.addComputed(value.element, value.sizes, operands, [&](Args x) {
    mlir::Value normal = b.make<arith::MulFOp>(b.make<arith::MulFOp>(x[0], x[1]), x[2]);
    return view.has(2) ? b.make<arith::AddFOp>(normal, x[3]) : normal;
  });
  return isCentered ? Values{result, mean, inverse} : Values{result};
}

llvm::ArrayRef<RuleRow> attn::onnx::getReductionRules() {
  static constexpr RuleRow rows[] = {
      {"GlobalAveragePool", buildReduce, 1, 1},
      {"GlobalMaxPool", buildReduce, 1, 1},
      {"LayerNormalization", buildNormalization, 2, 3},
      {"LogSoftmax", buildLogSoftmax, 1, 1},
      {"RMSNormalization", buildNormalization, 2, 2},
      {"ReduceL2", buildReduce, 1, 2},
      {"ReduceMax", buildReduce, 1, 2},
      {"ReduceMean", buildReduce, 1, 2},
      {"ReduceMin", buildReduce, 1, 2},
      {"ReduceSum", buildReduce, 1, 2},
      {"ReduceSumSquare", buildReduce, 1, 2},
      {"Softmax", buildSoftmax, 1, 1},
  };
  return rows;
}
