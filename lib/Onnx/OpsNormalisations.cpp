//===- OpsNormalisations.cpp - normalisations of more inputs --------------===//
//
// com.microsoft's sums before a normalisation, and normalisations of groups of
// channels: LayerNormalization or RMSNormalization (OpsReductions.cpp) of other
// operands.
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

/// The default of com.microsoft's operators.
static constexpr double kSkipEpsilon = 1e-12;
/// From this opset on, GroupNormalization has a scale per channel; before, one per group.
static constexpr int64_t kChannelScaleOpset = 21;

//===----------------------------------------------------------------------===//
// com.microsoft
//===----------------------------------------------------------------------===//

/// input + skip + bias, over the sizes of the input.
static Expected<Value> addSkip(NodeView &view, size_t bias) {
  std::vector<const Value *> operands = {&view.get(0), &view.get(1)};
  if (view.has(bias))
    operands.push_back(&view.get(bias));
  const Value &input = view.get(0);
  std::optional<Sizes> sizes = broadcastSizes(operands);
  bool isAlike = llvm::all_of(operands, [&](const Value *value) { return value->element == input.element; });
  if (!isFloat(input.element) || !isAlike || !sizes || sizes->size() != input.getRank() ||
      !llvm::all_of_zip(*sizes, input.sizes, canMeet))
    return view.fail("expected an input, skip and bias of one type of floats, of which the last two broadcast to the "
                     "input, found others");
  return view.b.addComputed(input.element, input.sizes, operands, [&](Args x) {
    mlir::Value sum = x[0];
    for (mlir::Value other : x.drop_front())
      sum = view.b.make<arith::AddFOp>(sum, other);
    return sum;
  });
}

/// SkipLayerNormalization (input, skip, gamma, beta, bias), SkipSimplifiedLayerNormalization (input, skip, gamma,
/// bias); outputs: the normalised sum, mean, 1 / deviation, the sum.
static Expected<Values> buildSkip(NodeView &view) {
  bool isSimplified = view.getOp() == "SkipSimplifiedLayerNormalization";
  if (isSimplified && (view.asks(1) || view.asks(2)))
    return view.fail("expected the outputs 0 and 3, found another");
  Expected<Value> sum = addSkip(view, isSimplified ? 3 : 4);
  if (!sum)
    return sum.takeError();
  Values operands = {*sum, view.get(2)};
  if (!isSimplified && view.has(3))
    operands.push_back(view.get(3));
  Expected<Values> results =
      buildAs(view, isSimplified ? "RMSNormalization" : "LayerNormalization", std::move(operands),
              {makeAttribute("epsilon", float(view.getReal("epsilon", kSkipEpsilon)))});
  if (!results)
    return results.takeError();
  results->resize(3);
  results->push_back(*sum);
  return results;
}

/// ONNX Runtime's name of RMSNormalization before opset 23.
static Expected<Values> buildSimplified(NodeView &view) {
  return buildAs(view, "RMSNormalization", view.operands,
                 {makeAttribute("axis", view.getInteger("axis", -1)),
                  makeAttribute("epsilon", float(view.getReal("epsilon", 1e-5))),
                  makeAttribute("stash_type", view.getInteger("stash_type", 1))});
}

//===----------------------------------------------------------------------===//
// Of channels
//===----------------------------------------------------------------------===//

/// A value for each channel as (channels, 1, …).
static Expected<Value> makeColumn(NodeView &view, size_t index, const Size &count) {
  const Value &value = view.get(index);
  if (value.getRank() != 1 || !canMeet(value.sizes[0], count))
    return view.fail(formatv("expected input {0} of rank 1 and as long as there are channels, found another", index));
  Sizes sizes(view.get(0).getRank() - 1, fixed(1));
  sizes[0] = value.sizes[0];
  return view.b.reshape(value, sizes);
}

static Error checkChannels(NodeView &view, size_t count) {
  if (Error error = checkFloats(view, count))
    return error;
  if (view.get(0).getRank() < 2)
    return view.fail(formatv("expected an input (batch, channels, sizes), found rank {0}", view.get(0).getRank()));
  return Error::success();
}

/// LayerNormalization of each channel of each element of the batch.
static Expected<Values> buildInstance(NodeView &view) {
  if (Error error = checkChannels(view, 3))
    return std::move(error);
  if (view.get(0).getRank() < 3)
    return view.fail("expected an input (batch, channels, sizes), found rank 2");
  Values operands = {view.get(0)};
  for (size_t i : {1, 2}) {
    Expected<Value> column = makeColumn(view, i, view.get(0).sizes[1]);
    if (!column)
      return column.takeError();
    operands.push_back(*column);
  }
  Expected<Values> results =
      buildAs(view, "LayerNormalization", std::move(operands),
              {makeAttribute("axis", int64_t(2)), makeAttribute("epsilon", float(view.getReal("epsilon", 1e-5)))});
  if (!results)
    return results.takeError();
  return one(results->front());
}

/// LayerNormalization of groups of channels.
static Expected<Values> buildGroup(NodeView &view) {
  if (Error error = checkChannels(view, 3))
    return std::move(error);
  const Value &input = view.get(0);
  int64_t groups = view.getInteger("num_groups", 0);
  std::optional<int64_t> channels = input.sizes[1].number;
  if (!channels || groups < 1 || *channels % groups != 0)
    return view.fail(formatv("expected a fixed number of channels that num_groups divides, found {0} groups", groups));
  bool isOfChannel = view.model.opset >= kChannelScaleOpset;
  Sizes split = input.sizes, column(input.getRank(), fixed(1));
  split[1] = fixed(*channels / groups);
  split.insert(split.begin() + 1, fixed(groups));
  column[0] = fixed(groups);
  if (isOfChannel)
    column[1] = split[2];
  Values operands = {view.b.reshape(input, split)};
  for (size_t i : {1, 2}) {
    if (view.get(i).getRank() != 1 || !canMeet(view.get(i).sizes[0], fixed(isOfChannel ? *channels : groups)))
      return view.fail(formatv("expected input {0} of rank 1 and as long as there are {1}, found another", i,
                               isOfChannel ? "channels" : "groups"));
    operands.push_back(view.b.reshape(view.get(i), column));
  }
  Expected<Values> results =
      buildAs(view, "LayerNormalization", std::move(operands),
              {makeAttribute("axis", int64_t(2)), makeAttribute("epsilon", float(view.getReal("epsilon", 1e-5))),
               makeAttribute("stash_type", view.getInteger("stash_type", 1))});
  if (!results)
    return results.takeError();
  return one(view.b.reshape(results->front(), input.sizes));
}

/// As inference has it: (x - mean) / sqrt(variance + epsilon) * scale + bias, with given mean and variance.
static Expected<Values> buildBatch(NodeView &view) {
  if (Error error = checkChannels(view, 5))
    return std::move(error);
  if (view.getInteger("training_mode", 0) != 0)
    return view.fail("expected training_mode = 0, found another");
  const Value &input = view.get(0);
  Values columns;
  for (size_t i = 1; i < 5; ++i) {
    Expected<Value> column = makeColumn(view, i, input.sizes[1]);
    if (!column)
      return column.takeError();
    columns.push_back(*column);
  }
  std::vector<const Value *> operands = {&input};
  for (const Value &column : columns)
    operands.push_back(&column);
  GraphBuilder &b = view.b;
  return one(b.addComputed(input.element, input.sizes, operands, [&](Args x) {
    mlir::Value variance = b.make<arith::AddFOp>(x[4], b.real(view.getReal("epsilon", 1e-5), x[4].getType()));
    mlir::Value centered = b.make<arith::SubFOp>(x[0], x[3]), deviation = b.make<math::SqrtOp>(variance);
    mlir::Value normal = b.make<arith::DivFOp>(centered, deviation);
    return b.make<arith::AddFOp>(b.make<arith::MulFOp>(normal, x[1]), x[2]);
  }));
}

llvm::ArrayRef<RuleRow> attn::onnx::getNormalisationRules() {
  static constexpr RuleRow rows[] = {
      {"BatchNormalization", buildBatch, 5, 5},
      {"GroupNormalization", buildGroup, 3, 3},
      {"InstanceNormalization", buildInstance, 3, 3},
      {"SimplifiedLayerNormalization", buildSimplified, 0, SIZE_MAX},
      {"com.microsoft.SimplifiedLayerNormalization", buildSimplified, 0, SIZE_MAX},
      {"com.microsoft.SkipLayerNormalization", buildSkip, 3, 5},
      {"com.microsoft.SkipSimplifiedLayerNormalization", buildSkip, 3, 4},
  };
  return rows;
}
