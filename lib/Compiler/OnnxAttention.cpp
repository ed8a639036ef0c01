//===- OnnxAttention.cpp - one Attention node, checked --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Compiler/OnnxAttention.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace attn::onnx;
using llvm::Error;
using llvm::formatv;
using llvm::StringRef;

/// Attention-23 and Attention-24; the latter is the newest up to the opset of onnx 1.22.
static constexpr int64_t kFirstOpset = 23, kPaddingOpset = 24, kLastOpset = 27;
static constexpr int64_t kMaxSize = (int64_t(1) << 31) - 1;
static constexpr size_t kMaxQuoted = 64;
/// Dimensions of the scores, which a mask broadcasts to.
static constexpr size_t kScoreRank = 4;
static constexpr size_t kRequiredInputs = 3;

std::string attn::onnx::quote(StringRef text) {
  std::string quoted = "'";
  for (char c : text.take_front(kMaxQuoted))
    quoted += llvm::isPrint(c) ? c : '?';
  return quoted + (text.size() > kMaxQuoted ? "…'" : "'");
}

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
    {"softmax_precision", Attribute::Kind::Int},
};

/// The MLIR name of a floating-point type that Attention takes.
static StringRef getFloatName(int64_t type) {
  switch (DataType(type)) {
  case DataType::Float: return "f32";
  case DataType::Double: return "f64";
  case DataType::Float16: return "f16";
  case DataType::BFloat16: return "bf16";
  default: return "";
  }
}

static std::string printDimension(const Dimension &dimension) {
  return dimension.size ? std::to_string(*dimension.size) : "symbolic " + quote(dimension.symbol);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static Dimension fixed(int64_t size) { return {size, ""}; }

Dimension AttentionNode::getKeys() const {
  if (!has[kPastKey])
    return newKeys;
  if (newKeys.size && pastKeys.size)
    return fixed(*newKeys.size + *pastKeys.size);
  return {};
}

std::vector<Dimension> AttentionNode::getInputShape(Input input) const {
  auto rows = [&](int64_t count, const Dimension &length, int64_t size) -> std::vector<Dimension> {
    if (isPacked)
      return {batch, length, fixed(count * size)};
    return {batch, fixed(count), length, fixed(size)};
  };
  switch (input) {
  case kQ: return rows(heads, queries, headSize);
  case kK: return rows(kvHeads, newKeys, headSize);
  case kV: return rows(kvHeads, newKeys, valueSize);
  case kPastKey: return {batch, fixed(kvHeads), pastKeys, fixed(headSize)};
  case kPastValue: return {batch, fixed(kvHeads), pastKeys, fixed(valueSize)};
  case kLengths: return {batch};
  default: break;
  }
  const Dimension full[kScoreRank] = {batch, fixed(heads), queries, getKeys()};
  std::vector<Dimension> shape;
  for (auto [i, dimension] : llvm::enumerate(mask))
    shape.push_back(dimension.isBroadcast ? fixed(1)
                    : dimension.prefix    ? fixed(*dimension.prefix)
                                          : full[kScoreRank - mask.size() + i]);
  return shape;
}

std::vector<Dimension> AttentionNode::getOutputShape(Output output) const {
  switch (output) {
  case kPresentKey: return {batch, fixed(kvHeads), getKeys(), fixed(headSize)};
  case kPresentValue: return {batch, fixed(kvHeads), getKeys(), fixed(valueSize)};
  case kScores: return {batch, fixed(heads), queries, getKeys()};
  default: break;
  }
  if (isPacked)
    return {batch, queries, fixed(heads * valueSize)};
  return {batch, fixed(heads), queries, fixed(valueSize)};
}

//===----------------------------------------------------------------------===//
// The checks
//===----------------------------------------------------------------------===//

namespace {

class Checker {
public:
  Checker(const Node &node, Model &model, StringRef title) : node(node), model(model), title(title) {}
  llvm::Expected<AttentionNode> run();

private:
  Error checkOperator();
  Error checkOperands();
  Error checkAttributes();
  Error checkPrecision();
  Error checkRows();
  Error checkHeads();
  Error checkCache();
  Error checkMask();
  Error checkMaskKeys(const Dimension &found);
  Error declareOutputs();

  Error fail(const llvm::Twine &text) { return llvm::createStringError(title + ": " + text); }
  const Attribute *findAttribute(StringRef name) const;
  Error readInteger(StringRef name, int64_t minimum, int64_t maximum, std::optional<int64_t> &into);
  Error readReal(StringRef name, std::optional<double> &into);
  /// The type of an input that the node has: a ranked tensor.
  Error readType(Input input, TensorType &type);
  Error checkElement(Input input, const TensorType &type, int64_t expected);
  /// Makes `known` and the found size one; fails where both are numbers and differ.
  Error unify(Dimension &known, const TensorType &type, Input input, unsigned dim, StringRef what);

  const Node &node;
  Model &model;
  StringRef title;
  AttentionNode result;
  std::optional<int64_t> queryHeads, keyHeads;
  int64_t elementType = 0;
  Dimension heads, kvHeads, headSize, valueSize;
};

} // namespace

Error Checker::checkOperator() {
  if (!isStandardDomain(node.domain) || node.opType != "Attention") {
    // What exporters that inline functions leave of an Attention node.
    auto isNamed = [](StringRef name) { return [name](const Node &other) { return other.opType == name; }; };
    bool isBody = llvm::any_of(model.nodes, isNamed("Softmax")) && llvm::any_of(model.nodes, isNamed("MatMul"));
    std::string found =
        quote(isStandardDomain(node.domain) ? node.opType.str() : (node.domain + "." + node.opType).str());
    return fail("expected an Attention node, found operator " + found +
                (isBody ? "; this looks like the standard function body of Attention: write the Attention node itself, "
                          "without inlining functions, and it becomes one flash kernel"
                        : "; write a model whose graph holds Attention nodes only"));
  }
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

Error Checker::checkOperands() {
  size_t most = model.opset < kPaddingOpset ? kLengths : kNumInputs;
  if (node.inputs.size() < kRequiredInputs || node.inputs.size() > most)
    return fail(formatv("expected {0} to {1} inputs in opset {2}, found {3}", kRequiredInputs, most, model.opset,
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
  if (result.has[kLengths] && (result.has[kPastKey] || result.asks[kPresentKey] || result.asks[kPresentValue]))
    return fail("expected nonpad_kv_seqlen without past_key, past_value, present_key and present_value, found both; "
                "leave one out");
  return Error::success();
}

const Attribute *Checker::findAttribute(StringRef name) const {
  auto found = llvm::find_if(node.attributes, [&](const Attribute &other) { return other.name == name; });
  return found == node.attributes.end() ? nullptr : &*found;
}

Error Checker::readInteger(StringRef name, int64_t minimum, int64_t maximum, std::optional<int64_t> &into) {
  const Attribute *attribute = findAttribute(name);
  if (!attribute)
    return Error::success();
  into = attribute->integer;
  if (*into >= minimum && *into <= maximum)
    return Error::success();
  return fail(formatv("expected {0} from {1} to {2}, found {3}", name, minimum, maximum, *into));
}

Error Checker::readReal(StringRef name, std::optional<double> &into) {
  const Attribute *attribute = findAttribute(name);
  if (!attribute)
    return Error::success();
  into = attribute->real;
  return std::isfinite(*into) ? Error::success() : fail(formatv("expected a finite {0}, found {1}", name, *into));
}

Error Checker::checkAttributes() {
  for (const Attribute &attribute : node.attributes) {
    const AttributeRow *row = llvm::find_if(kAttributes, [&](const auto &row) { return row.name == attribute.name; });
    if (row == std::end(kAttributes)) {
      auto names = llvm::map_range(kAttributes, [](const AttributeRow &row) { return row.name; });
      return fail("expected an attribute of Attention, found " + quote(attribute.name) + "; write one of " +
                  llvm::join(names, ", "));
    }
    if (findAttribute(attribute.name) != &attribute)
      return fail("expected one attribute " + quote(attribute.name) + ", found another");
    if (!attribute.reference.empty())
      return fail("expected a value for " + row->name + ", found a reference to " + quote(attribute.reference));
    if (attribute.kind != int64_t(row->kind))
      return fail(formatv("expected attribute {0} of kind {1}, found kind {2}", row->name,
                          row->kind == Attribute::Kind::Int ? "INT" : "FLOAT", attribute.kind));
  }
  std::optional<int64_t> isCausal, mode;
  if (Error error = readInteger("is_causal", 0, 1, isCausal))
    return error;
  if (Error error = readInteger("qk_matmul_output_mode", 0, 3, mode))
    return error;
  if (Error error = readInteger("q_num_heads", 1, kMaxSize, queryHeads))
    return error;
  if (Error error = readInteger("kv_num_heads", 1, kMaxSize, keyHeads))
    return error;
  if (Error error = readReal("scale", result.scale))
    return error;
  if (Error error = readReal("softcap", result.softcap))
    return error;
  result.isCausal = isCausal == 1;
  result.mode = ScoresMode(mode.value_or(0));
  if (result.softcap && *result.softcap < 0)
    return fail(formatv("expected softcap >= 0, found {0}; 0 is none", *result.softcap));
  if (result.softcap == 0.0)
    result.softcap.reset();
  return Error::success();
}

/// The softmax is computed in f32, of doubles in f64. A narrower precision than that is what ONNX permits; a wider one
/// is not there.
Error Checker::checkPrecision() {
  const Attribute *precision = findAttribute("softmax_precision");
  if (!precision)
    return Error::success();
  StringRef found = getFloatName(precision->integer);
  if (!found.empty() && (found != "f64" || result.element == "f64"))
    return Error::success();
  return fail(formatv("expected softmax_precision FLOAT (1), FLOAT16 (10) or BFLOAT16 (16), or DOUBLE (11) with DOUBLE "
                      "inputs, found {0} ({1})",
                      getDataTypeName(precision->integer), precision->integer));
}

Error Checker::readType(Input input, TensorType &type) {
  StringRef name = node.inputs[input];
  auto found = model.types.find(name);
  std::string what = (kInputNames[input] + " (" + quote(name) + ")").str();
  if (found == model.types.end() || found->second.elementType == 0 || !found->second.hasShape)
    return fail("expected a tensor type with a shape for " + what +
                ", found none; add it with onnx.shape_inference.infer_shapes");
  type = found->second;
  for (const Dimension &dimension : type.shape)
    if (dimension.size && (*dimension.size < 0 || *dimension.size > kMaxSize))
      return fail(formatv("expected sizes from 0 to {0} in {1}, found {2}", kMaxSize, what, *dimension.size));
  return Error::success();
}

Error Checker::checkElement(Input input, const TensorType &type, int64_t expected) {
  if (type.elementType == expected)
    return Error::success();
  return fail(formatv("expected element type {0} of {1}, found {2}", getDataTypeName(expected), kInputNames[input],
                      getDataTypeName(type.elementType)));
}

Error Checker::unify(Dimension &known, const TensorType &type, Input input, unsigned dim, StringRef what) {
  const Dimension &found = type.shape[dim];
  if (!known.size)
    known = found.size || known.symbol.empty() ? found : known;
  else if (found.size && *found.size != *known.size)
    return fail(formatv("expected {0} in dimension {1} of {2} ({3}), found {4}", *known.size, dim, kInputNames[input],
                        what, *found.size));
  return Error::success();
}

/// Q, K and V: rank 4 with heads, or rank 3 with the heads in the last dimension.
Error Checker::checkRows() {
  TensorType types[kRequiredInputs];
  for (Input input : {kQ, kK, kV})
    if (Error error = readType(input, types[input]))
      return error;
  elementType = types[kQ].elementType;
  result.element = getFloatName(elementType);
  if (result.element.empty())
    return fail("expected element type FLOAT, DOUBLE, FLOAT16 or BFLOAT16 of Q, found " + getDataTypeName(elementType));
  result.isPacked = types[kQ].shape.size() == 3;
  for (Input input : {kQ, kK, kV}) {
    if (Error error = checkElement(input, types[input], elementType))
      return error;
    size_t rank = types[input].shape.size();
    if (rank != types[kQ].shape.size() || (rank != 3 && rank != 4))
      return fail(formatv("expected Q, K and V all of rank 3 or all of rank 4, found rank {0} of {1}", rank,
                          kInputNames[input]));
  }
  if (queryHeads)
    heads = fixed(*queryHeads);
  if (keyHeads)
    kvHeads = fixed(*keyHeads);
  if (result.isPacked && !(queryHeads && keyHeads))
    return fail("expected q_num_heads and kv_num_heads with Q, K and V of rank 3, found none");
  for (Input input : {kQ, kK, kV}) {
    const TensorType &type = types[input];
    Dimension &length = input == kQ ? result.queries : result.newKeys;
    Dimension &count = input == kQ ? heads : kvHeads;
    Dimension &size = input == kV ? valueSize : headSize;
    if (Error error = unify(result.batch, type, input, 0, "batch"))
      return error;
    if (Error error = unify(length, type, input, result.isPacked ? 1 : 2, "length"))
      return error;
    if (!result.isPacked) {
      if (Error error = unify(count, type, input, 1, "heads"))
        return error;
      if (Error error = unify(size, type, input, 3, "head size"))
        return error;
      continue;
    }
    const Dimension &hidden = type.shape[2];
    if (!hidden.size || *hidden.size % *count.size != 0)
      return fail(formatv("expected a multiple of {0} heads in dimension 2 of {1}, found {2}", *count.size,
                          kInputNames[input], printDimension(hidden)));
    TensorType split = {type.elementType, true, {fixed(*hidden.size / *count.size)}};
    if (Error error = unify(size, split, input, 0, "size of one head"))
      return error;
  }
  return Error::success();
}

Error Checker::checkCache() {
  for (Input input : {kPastKey, kPastValue}) {
    if (!result.has[input])
      continue;
    TensorType type;
    if (Error error = readType(input, type))
      return error;
    if (Error error = checkElement(input, type, elementType))
      return error;
    if (type.shape.size() != 4)
      return fail(formatv("expected {0} of rank 4, found rank {1}", kInputNames[input], type.shape.size()));
    if (Error error = unify(result.batch, type, input, 0, "batch"))
      return error;
    if (Error error = unify(kvHeads, type, input, 1, "heads"))
      return error;
    if (Error error = unify(result.pastKeys, type, input, 2, "length"))
      return error;
    if (Error error = unify(input == kPastKey ? headSize : valueSize, type, input, 3, "head size"))
      return error;
  }
  if (!result.has[kLengths])
    return Error::success();
  TensorType type;
  if (Error error = readType(kLengths, type))
    return error;
  if (Error error = checkElement(kLengths, type, int64_t(DataType::Int64)))
    return error;
  if (type.shape.size() != 1)
    return fail(formatv("expected nonpad_kv_seqlen of rank 1, found rank {0}", type.shape.size()));
  return unify(result.batch, type, kLengths, 0, "batch");
}

/// The kernel is compiled for the heads and their sizes.
Error Checker::checkHeads() {
  const std::tuple<const Dimension &, int64_t &, StringRef> sizes[] = {{heads, result.heads, "heads of Q"},
                                                                       {kvHeads, result.kvHeads, "heads of K"},
                                                                       {headSize, result.headSize, "head size of Q"},
                                                                       {valueSize, result.valueSize, "head size of V"}};
  for (auto [size, into, what] : sizes) {
    if (!size.size || *size.size == 0)
      return fail("expected a fixed number >= 1 as " + what + ", found " + printDimension(size));
    into = *size.size;
  }
  if (result.heads % result.kvHeads != 0)
    return fail(formatv("expected the heads of Q in a multiple of the {0} heads of K, found {1}", result.kvHeads,
                        result.heads));
  return Error::success();
}

/// The last dimension. Opset 23 broadcasts it; from opset 24 on it may be short, and the keys behind it are removed.
Error Checker::checkMaskKeys(const Dimension &found) {
  MaskDimension &dimension = result.mask.emplace_back();
  Dimension keys = result.getKeys();
  if (!found.size || (keys.size && *found.size == *keys.size))
    return Error::success();
  if (model.opset < kPaddingOpset && *found.size == 1) {
    dimension.isBroadcast = true;
    return Error::success();
  }
  if (!keys.size)
    return fail(formatv("expected a symbol in the last dimension of attn_mask, as the number of keys is one, found {0}",
                        *found.size));
  if (model.opset < kPaddingOpset || *found.size > *keys.size)
    return fail(formatv("expected {0} {1} in the last dimension of attn_mask (keys) in opset {2}, found {3}",
                        model.opset < kPaddingOpset ? "1 or" : "at most", *keys.size, model.opset, *found.size));
  dimension.prefix = *found.size;
  return Error::success();
}

Error Checker::checkMask() {
  if (!result.has[kMask])
    return Error::success();
  TensorType type;
  if (Error error = readType(kMask, type))
    return error;
  result.isBooleanMask = type.elementType == int64_t(DataType::Bool);
  if (!result.isBooleanMask && type.elementType != elementType)
    return fail(formatv("expected element type BOOL or {0} of attn_mask, found {1}", getDataTypeName(elementType),
                        getDataTypeName(type.elementType)));
  size_t rank = type.shape.size();
  if (rank < 1 || rank > kScoreRank)
    return fail(formatv("expected attn_mask of rank 1 to 4, found rank {0}", rank));
  Dimension headCount = fixed(result.heads);
  Dimension *full[] = {&result.batch, &headCount, &result.queries};
  constexpr StringRef names[] = {"batch", "heads", "queries"};
  for (size_t i = 0; i + 1 < rank; ++i) {
    size_t position = kScoreRank - rank + i;
    result.mask.push_back({type.shape[i].size == 1, std::nullopt});
    if (result.mask.back().isBroadcast)
      continue;
    if (Error error = unify(*full[position], type, kMask, i, names[position]))
      return error;
  }
  return checkMaskKeys(type.shape.back());
}

Error Checker::declareOutputs() {
  for (unsigned i = 0; i < kNumOutputs; ++i) {
    if (!result.asks[i])
      continue;
    TensorType computed = {elementType, true, result.getOutputShape(Output(i))};
    TensorType &declared = model.types[node.outputs[i]];
    if (declared.elementType != 0 && declared.elementType != elementType)
      return fail(formatv("expected element type {0} of output {1}, found {2}", getDataTypeName(elementType),
                          kOutputNames[i], getDataTypeName(declared.elementType)));
    if (declared.hasShape && declared.shape.size() != computed.shape.size())
      return fail(formatv("expected output {0} of rank {1}, found rank {2}", kOutputNames[i], computed.shape.size(),
                          declared.shape.size()));
    if (declared.hasShape)
      for (auto [dim, sizes] : llvm::enumerate(llvm::zip_equal(declared.shape, computed.shape)))
        if (auto [found, expected] = sizes; found.size && expected.size && *found.size != *expected.size)
          return fail(formatv("expected {0} in dimension {1} of output {2}, found {3}", *expected.size, dim,
                              kOutputNames[i], *found.size));
    declared = std::move(computed);
  }
  return Error::success();
}

llvm::Expected<AttentionNode> Checker::run() {
  for (auto check : {&Checker::checkOperator, &Checker::checkOperands, &Checker::checkAttributes, &Checker::checkRows,
                     &Checker::checkPrecision, &Checker::checkCache, &Checker::checkHeads, &Checker::checkMask,
                     &Checker::declareOutputs})
    if (Error error = (this->*check)())
      return std::move(error);
  return result;
}

llvm::Expected<AttentionNode> attn::onnx::checkAttention(const Node &node, Model &model, StringRef title) {
  return Checker(node, model, title).run();
}
