//===- OpsCausalConv.cpp - CausalConvWithState ----------------------------===//
//
// The convolution of a few tokens in front of linear attention: a Concat, a Conv
// of each channel and a Swish, whose lowerings make one loop of them.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LinearNode.h"
#include "Shared.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;

Expected<Values> attn::onnx::buildCausalConv(NodeView &view) {
  enum Input : size_t { Rows, Weight, Bias, PastState };
  GraphBuilder &b = view.b;
  StringRef activation = view.getString("activation", "none");
  bool isSwish = activation == "silu" || activation == "swish";
  if (!isSwish && activation != "none")
    return view.fail("expected activation silu, swish or none, found " + activation);
  if (Error error = checkFloats(view, 2))
    return std::move(error);
  const Value &rows = view.get(Rows), &weight = view.get(Weight);
  if (view.getInteger("ndim", 1) != 1 || rows.getRank() != 3 || weight.getRank() != 3 || !weight.sizes[2].number ||
      !weight.sizes[0].number || *weight.sizes[2].number < 1)
    return view.fail("expected an input (batch, channels, length) and a weight (channels, 1, k) of fixed sizes, found "
                     "others");
  Size before = fixed(*weight.sizes[2].number - 1);
  Sizes stateSizes = {rows.sizes[0], rows.sizes[1], before};
  if (view.has(PastState) && (view.get(PastState).getRank() != 3 || view.get(PastState).element != rows.element ||
                              !canMeet(view.get(PastState).sizes[2], before)))
    return view.fail(
        formatv("expected past_state (batch, channels, {0}) of the input's type, found others", *before.number));
  Value state = view.has(PastState) ? b.reshape(view.get(PastState), stateSizes) : b.addZeros(rows.element, stateSizes);
  Expected<Values> joined = buildAs(view, "Concat", {state, rows}, {makeAttribute("axis", int64_t(2))});
  if (!joined)
    return joined.takeError();
  Values operands = {joined->front(), weight};
  if (view.has(Bias))
    operands.push_back(view.get(Bias));
  Expected<Values> output = buildAs(view, "Conv", operands, {makeAttribute("group", *weight.sizes[0].number)});
  if (output && isSwish)
    output = buildAs(view, "Swish", {output->front()});
  if (!output)
    return output.takeError();
  Value result = b.reshape(output->front(), rows.sizes);
  if (!view.asks(1))
    return Values{result, Value()};
  return Values{result, b.slice(joined->front(), {fixed(0), fixed(0), rows.sizes[2]}, stateSizes)};
}
