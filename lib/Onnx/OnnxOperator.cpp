//===- OnnxOperator.cpp - operator, operands and attributes of a node -----===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "OnnxChecks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace attn::onnx;
using llvm::Error;
using llvm::formatv;
using llvm::StringRef;

namespace {
struct AttributeRow {
  StringRef name;
  Attribute::Kind kind;
};
} // namespace

static constexpr AttributeRow kAttributes[] = {
    {"is_causal", Attribute::Kind::Int},         {"kv_num_heads", Attribute::Kind::Int},
    {"q_num_heads", Attribute::Kind::Int},       {"qk_matmul_output_mode", Attribute::Kind::Int},
    {"scale", Attribute::Kind::Float},           {"softcap", Attribute::Kind::Float},
    {"softmax_precision", Attribute::Kind::Int}, {"left_window_size", Attribute::Kind::Int},
    {"right_window_size", Attribute::Kind::Int},
};

namespace {

class OperatorChecker {
public:
  OperatorChecker(const Node &node, const Model &model, StringRef title, AttentionNode &result)
      : node(node), model(model), title(title), result(result) {}
  Error run();

private:
  Error checkOperator();
  Error checkOperands();
  Error checkAttributes();
  Error readAttributes();

  Error fail(const llvm::Twine &text) { return llvm::createStringError(title + ": " + text); }
  Error readInteger(StringRef name, int64_t minimum, int64_t maximum, std::optional<int64_t> &into);
  Error readReal(StringRef name, std::optional<double> &into);

  const Node &node;
  const Model &model;
  StringRef title;
  AttentionNode &result;
};

} // namespace

Error OperatorChecker::checkOperator() {
  for (const Function &function : model.functions)
    if (isStandardDomain(function.domain) && function.name == "Attention")
      return fail("expected ONNX's own Attention, found a function of that name in the model; leave it out");
  if (!node.overload.empty())
    return fail("expected no overload, found " + quote(node.overload));
  if (model.opset < kFirstOpset || model.opset > kLastOpset)
    return fail(formatv("expected opset {0} to {1}, found {2}; convert the model with onnx.version_converter",
                        kFirstOpset, kLastOpset, model.opset));
  return Error::success();
}

Error OperatorChecker::checkOperands() {
  size_t most = model.opset < kPaddingOpset ? kLengths : kNumInputs;
  if (node.inputs.size() < kNumRequiredInputs || node.inputs.size() > most)
    return fail(formatv("expected {0} to {1} inputs in opset {2}, found {3}", kNumRequiredInputs, most, model.opset,
                        node.inputs.size()));
  if (node.outputs.empty() || node.outputs.size() > kNumOutputs)
    return fail(formatv("expected 1 to {0} outputs, found {1}", unsigned(kNumOutputs), node.outputs.size()));
  for (unsigned i = 0; i < kNumInputs; ++i)
    result.has[i] = i < node.inputs.size() && !node.inputs[i].empty();
  for (unsigned i = 0; i < kNumOutputs; ++i)
    result.asks[i] = i < node.outputs.size() && !node.outputs[i].empty();
  for (Input input : {kQ, kK, kV})
    if (!result.has[input])
      return fail("expected input " + kInputNames[input] + ", found it left out");
  if (!result.asks[kY])
    return fail("expected output Y, found it left out");
  if (result.has[kPastKey] != result.has[kPastValue])
    return fail(formatv("expected past_key and past_value together, found {0} alone",
                        kInputNames[result.has[kPastKey] ? kPastKey : kPastValue]));
  if (result.has[kLengths] && !result.lengths.countsFromFirst &&
      (result.has[kPastKey] || result.asks[kPresentKey] || result.asks[kPresentValue]))
    return fail("expected nonpad_kv_seqlen without past_key, past_value, present_key and present_value, found both; "
                "leave one out");
  return Error::success();
}

Error OperatorChecker::readInteger(StringRef name, int64_t minimum, int64_t maximum, std::optional<int64_t> &into) {
  const Attribute *attribute = node.findAttribute(name);
  if (!attribute)
    return Error::success();
  into = attribute->integer;
  if (*into >= minimum && *into <= maximum)
    return Error::success();
  return fail(formatv("expected {0} from {1} to {2}, found {3}", name, minimum, maximum, *into));
}

Error OperatorChecker::readReal(StringRef name, std::optional<double> &into) {
  const Attribute *attribute = node.findAttribute(name);
  if (!attribute)
    return Error::success();
  into = attribute->real;
  return std::isfinite(*into) ? Error::success() : fail(formatv("expected a finite {0}, found {1:e}", name, *into));
}

Error OperatorChecker::checkAttributes() {
  for (const Attribute &attribute : node.attributes) {
    const AttributeRow *row = llvm::find_if(kAttributes, [&](const auto &row) { return row.name == attribute.name; });
    if (row == std::end(kAttributes)) {
      auto names = llvm::map_range(kAttributes, [](const AttributeRow &row) { return row.name; });
      return fail("expected an attribute of Attention, found " + quote(attribute.name) + "; write one of " +
                  llvm::join(names, ", "));
    }
    if (node.findAttribute(attribute.name) != &attribute)
      return fail("expected one attribute " + quote(attribute.name) + ", found another");
    if (!attribute.reference.empty())
      return fail("expected a value for " + row->name + ", found a reference to " + quote(attribute.reference));
    if (attribute.kind != int64_t(row->kind))
      return fail(formatv("expected attribute {0} of kind {1}, found kind {2}", row->name,
                          row->kind == Attribute::Kind::Int ? "INT" : "FLOAT", attribute.kind));
  }
  return Error::success();
}

Error OperatorChecker::readAttributes() {
  std::optional<int64_t> isCausal, mode, queryHeads, keyHeads, precision;
  for (auto [name, least, most, into] : {std::tuple("is_causal", 0, int64_t(1), &isCausal),
                                         {"qk_matmul_output_mode", 0, 3, &mode},
                                         {"q_num_heads", 1, kMaxSize, &queryHeads},
                                         {"kv_num_heads", 1, kMaxSize, &keyHeads},
                                         {"softmax_precision", 0, kMaxSize, &precision}})
    if (Error error = readInteger(name, least, most, *into))
      return error;
  if (Error error = readReal("scale", result.scale))
    return error;
  if (Error error = readReal("softcap", result.softcap))
    return error;
  for (auto [name, into] :
       {std::pair("left_window_size", &result.window.left), {"right_window_size", &result.window.right}}) {
    if (node.findAttribute(name) && model.opset < kWindowOpset)
      return fail(formatv("expected {0} in opset {1} or later, found opset {2}", name, kWindowOpset, model.opset));
    if (Error error = readInteger(name, -1, kMaxSize, *into))
      return error;
    if (*into == -1)
      into->reset();
  }
  result.isCausal = isCausal == 1;
  result.sizes.heads = queryHeads.value_or(0);
  result.sizes.kvHeads = keyHeads.value_or(0);
  result.softmaxPrecision = precision;
  result.mode = ScoresMode(mode.value_or(0));
  if (result.softcap && *result.softcap < 0)
    return fail(formatv("expected softcap >= 0, found {0:e}; 0 is none", *result.softcap));
  if (result.softcap == 0.0)
    result.softcap.reset();
  return Error::success();
}

Error OperatorChecker::run() {
  for (auto check : {&OperatorChecker::checkOperator, &OperatorChecker::checkOperands,
                     &OperatorChecker::checkAttributes, &OperatorChecker::readAttributes})
    if (Error error = (this->*check)())
      return error;
  return Error::success();
}

Error attn::onnx::checkOperator(const Node &node, const Model &model, StringRef title, AttentionNode &result) {
  return OperatorChecker(node, model, title, result).run();
}
