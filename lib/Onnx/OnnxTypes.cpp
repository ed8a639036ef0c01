//===- OnnxTypes.cpp - element types and shapes of a node -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "OnnxChecks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::formatv;
using llvm::StringRef;

static std::string printDimension(const Dimension &dimension) {
  return dimension.size ? std::to_string(*dimension.size) : "symbolic " + quote(dimension.symbol);
}

static Dimension fixed(int64_t size) { return {size, ""}; }

namespace {

class TypeChecker {
public:
  TypeChecker(const Node &node, Model &model, StringRef title, AttentionNode &result)
      : node(node), model(model), title(title), result(result) {}
  Error run();

private:
  Error checkRows();
  Error checkPrecision();
  Error checkCache();
  Error checkPresent();
  Error checkHeads();
  Error checkMask();
  Error checkMaskKeys(const Dimension &found);
  Error declareOutputs();

  Error fail(const llvm::Twine &text) { return llvm::createStringError(title + ": " + text); }
  /// The type of an existing input: a ranked tensor.
  Error readType(Input input, TensorType &type);
  Error checkElement(Input input, const TensorType &type, int64_t expected);
  /// Makes `known` and the found size one; fails where both are numbers and differ.
  Error unify(Dimension &known, const TensorType &type, Input input, unsigned dim, StringRef what);

  const Node &node;
  Model &model;
  StringRef title;
  AttentionNode &result;
  int64_t elementType = 0, valueType = 0; ///< of Q, K and Y; of V
  Dimension heads, kvHeads, headSize, valueSize;
};

} // namespace

Error TypeChecker::readType(Input input, TensorType &type) {
  StringRef name = node.inputs[input];
  auto found = model.types.find(name);
  std::string what = (kInputNames[input] + " (" + quote(name) + ")").str();
  if (found == model.types.end() || found->second.elementType == 0 || !found->second.hasShape)
    return fail("expected a tensor type with a shape for " + what +
                ", found none; add it with onnx.shape_inference.infer_shapes, or export with value_info as "
                "torch.onnx.export does");
  type = found->second;
  for (const Dimension &dimension : type.shape)
    if (dimension.size && (*dimension.size < 0 || *dimension.size > kMaxSize))
      return fail(formatv("expected sizes from 0 to {0} in {1}, found {2}", kMaxSize, what, *dimension.size));
  return Error::success();
}

Error TypeChecker::checkElement(Input input, const TensorType &type, int64_t expected) {
  if (type.elementType == expected)
    return Error::success();
  return fail(formatv("expected element type {0} of {1}, found {2}", getDataTypeName(expected), kInputNames[input],
                      getDataTypeName(type.elementType)));
}

Error TypeChecker::unify(Dimension &known, const TensorType &type, Input input, unsigned dim, StringRef what) {
  const Dimension &found = type.shape[dim];
  if (!known.size)
    known = found.size || known.symbol.empty() ? found : known;
  else if (found.size && *found.size != *known.size)
    return fail(formatv("expected {0} in dimension {1} of {2} ({3}), found {4}", *known.size, dim, kInputNames[input],
                        what, *found.size));
  return Error::success();
}

/// Q, K and V: rank 4 with heads, or rank 3 with the heads in the last dimension.
Error TypeChecker::checkRows() {
  TensorType types[kNumRequiredInputs];
  for (Input input : {kQ, kK, kV})
    if (Error error = readType(input, types[input]))
      return error;
  elementType = types[kQ].elementType;
  result.elements.query = DataType(elementType);
  valueType = types[kV].elementType;
  result.elements.value = DataType(valueType);
  for (auto [name, type] : {std::pair("Q", elementType), {"V", valueType}})
    if (!isFloat(DataType(type)))
      return fail(formatv("expected element type FLOAT, DOUBLE, FLOAT16 or BFLOAT16 of {0}, found {1}", name,
                          getDataTypeName(type)));
  result.isPacked = types[kQ].shape.size() == 3;
  for (Input input : {kQ, kK, kV}) {
    if (Error error = checkElement(input, types[input], input == kV ? valueType : elementType))
      return error;
    size_t rank = types[input].shape.size();
    if (rank != types[kQ].shape.size() || (rank != 3 && rank != 4))
      return fail(formatv("expected Q, K and V all of rank 3 or all of rank 4, found rank {0} of {1}", rank,
                          kInputNames[input]));
  }
  if (result.sizes.heads)
    heads = fixed(result.sizes.heads);
  if (result.sizes.kvHeads)
    kvHeads = fixed(result.sizes.kvHeads);
  if (result.isPacked && !(heads.size && kvHeads.size))
    return fail("expected q_num_heads and kv_num_heads with Q, K and V of rank 3, found none");
  for (Input input : {kQ, kK, kV}) {
    const TensorType &type = types[input];
    Dimension &length = input == kQ ? result.sizes.queries : result.sizes.newKeys;
    Dimension &count = input == kQ ? heads : kvHeads;
    Dimension &size = input == kV ? valueSize : headSize;
    if (Error error = unify(result.sizes.batch, type, input, 0, "batch"))
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

/// The softmax is computed in f32, or f64 for doubles. ONNX permits a narrower precision; a wider one is not supported.
Error TypeChecker::checkPrecision() {
  if (!result.softmaxPrecision)
    return Error::success();
  DataType found = DataType(*result.softmaxPrecision);
  if (isFloat(found) && (found != DataType::Double || result.elements.query == DataType::Double))
    return Error::success();
  return fail(formatv("expected softmax_precision FLOAT (1), FLOAT16 (10) or BFLOAT16 (16), or DOUBLE (11) with DOUBLE "
                      "inputs, found {0} ({1})",
                      getDataTypeName(*result.softmaxPrecision), *result.softmaxPrecision));
}

Error TypeChecker::checkCache() {
  for (Input input : {kPastKey, kPastValue}) {
    if (!result.has[input])
      continue;
    TensorType type;
    if (Error error = readType(input, type))
      return error;
    if (Error error = checkElement(input, type, input == kPastValue ? valueType : elementType))
      return error;
    if (type.shape.size() != 4)
      return fail(formatv("expected {0} of rank 4, found rank {1}", kInputNames[input], type.shape.size()));
    if (Error error = unify(result.sizes.batch, type, input, 0, "batch"))
      return error;
    if (Error error = unify(kvHeads, type, input, 1, "heads"))
      return error;
    if (Error error = unify(result.sizes.pastKeys, type, input, 2, "length"))
      return error;
    if (Error error = unify(input == kPastKey ? headSize : valueSize, type, input, 3, "head size"))
      return error;
  }
  if (Error error = checkPresent())
    return error;
  // The number of rows of present_key is a sum of two sizes, which a kernel's entry cannot check.
  if (result.has[kPastKey] && !result.lengths.appends && !result.getKeys().size)
    return fail("expected fixed lengths of K and past_key, found " +
                printDimension(result.sizes.newKeys.size ? result.sizes.pastKeys : result.sizes.newKeys) +
                "; write the lengths, or keep the cache outside of the node, with nonpad_kv_seqlen");
  // On the left, the window of query i ends past - left_window_size keys after i: #attn.window can express this only if
  // the last key belongs to the last query.
  bool isBehind = result.has[kPastKey] && !result.lengths.appends && result.window.left &&
                  *result.window.left < *result.sizes.pastKeys.size;
  if (isBehind && result.sizes.queries.size != result.sizes.newKeys.size)
    return fail(formatv("expected as many queries as new keys with a left_window_size of less than the {0} past keys, "
                        "found {1} and {2}",
                        *result.sizes.pastKeys.size, printDimension(result.sizes.queries),
                        printDimension(result.sizes.newKeys)));
  if (!result.has[kLengths])
    return Error::success();
  TensorType type;
  if (Error error = readType(kLengths, type))
    return error;
  if (Error error = checkElement(kLengths, type, int64_t(result.lengths.element)))
    return error;
  if (type.shape.size() != (result.lengths.isColumn ? 2 : 1))
    return fail(formatv("expected nonpad_kv_seqlen of rank 1, found rank {0}", type.shape.size()));
  return unify(result.sizes.batch, type, kLengths, 0, "batch");
}

/// For a node that appends at lengths, the present cache has the length of the past one, as both share a buffer, a
/// fixed length, or the sum if it is not an output. A kernel's result has no other size.
Error TypeChecker::checkPresent() {
  if (!result.lengths.appends)
    return Error::success();
  const Dimension &past = result.sizes.pastKeys, &fresh = result.sizes.newKeys;
  if (past.size && fresh.size)
    result.sizes.presentKeys = fixed(*past.size + *fresh.size);
  for (Output output : {kPresentKey, kPresentValue}) {
    if (!result.asks[output])
      continue;
    auto found = model.types.find(node.outputs[output]);
    bool isKnown = found != model.types.end() && found->second.hasShape && found->second.shape.size() == 4;
    const Dimension declared = isKnown ? found->second.shape[2] : Dimension();
    if (declared.size)
      result.sizes.presentKeys = declared;
    else if (!declared.symbol.empty() && declared.symbol == past.symbol)
      result.sizes.presentKeys = past;
    else if (!result.sizes.presentKeys.size)
      return fail(formatv("expected {0} of the length of past_key, a buffer that both share, or of a fixed length, "
                          "found {1}; write the symbol {2} or a number in dimension 2 of {0}, or leave it out",
                          kOutputNames[output], printDimension(declared), quote(past.symbol)));
    return Error::success();
  }
  return Error::success();
}

/// The kernel is compiled for the heads and their sizes.
Error TypeChecker::checkHeads() {
  const std::tuple<const Dimension &, int64_t &, StringRef> sizes[] = {
      {heads, result.sizes.heads, "heads of Q"},
      {kvHeads, result.sizes.kvHeads, "heads of K"},
      {headSize, result.sizes.headSize, "head size of Q"},
      {valueSize, result.sizes.valueSize, "head size of V"}};
  for (auto [size, into, what] : sizes) {
    if (!size.size || *size.size == 0)
      return fail("expected a fixed number >= 1 as " + what + ", found " + printDimension(size));
    into = *size.size;
  }
  if (result.sizes.heads % result.sizes.kvHeads != 0)
    return fail(formatv("expected the heads of Q in a multiple of the {0} heads of K, found {1}", result.sizes.kvHeads,
                        result.sizes.heads));
  return Error::success();
}

/// The last dimension. Opset 23 broadcasts it; from opset 24 on it may be shorter, and the keys after it are removed.
Error TypeChecker::checkMaskKeys(const Dimension &found) {
  MaskDimension &dimension = result.mask.emplace_back();
  Dimension keys = result.getKeys();
  if (result.lengths.appends && !(found.size && keys.size))
    return fail(
        formatv("expected fixed lengths of past_key, key and attention_bias where there are all three, found {0}",
                printDimension(found.size ? result.sizes.pastKeys : found)));
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

Error TypeChecker::checkMask() {
  if (!result.has[kMask])
    return Error::success();
  TensorType type;
  if (Error error = readType(kMask, type))
    return error;
  result.elements.mask = DataType(type.elementType);
  if (!isFloat(result.elements.mask) &&
      !llvm::is_contained({DataType::Bool, DataType::Int8, DataType::Int32, DataType::Int64}, result.elements.mask))
    return fail("expected element type BOOL, FLOAT, DOUBLE, FLOAT16, BFLOAT16, INT8, INT32 or INT64 of attn_mask, "
                "found " +
                getDataTypeName(type.elementType) + "; write a Cast to one of them in front of the model");
  size_t rank = type.shape.size();
  if (rank < 1 || rank > kScoreRank)
    return fail(formatv("expected attn_mask of rank 1 to 4, found rank {0}", rank));
  Dimension headCount = fixed(result.sizes.heads);
  Dimension *full[] = {&result.sizes.batch, &headCount, &result.sizes.queries};
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

Error TypeChecker::declareOutputs() {
  for (unsigned i = 0; i < kNumOutputs; ++i) {
    if (!result.asks[i])
      continue;
    const int64_t expected = i == kPresentValue ? valueType : elementType;
    TensorType computed = {expected, true, result.getOutputShape(Output(i))};
    TensorType &declared = model.types[node.outputs[i]];
    if (declared.elementType != 0 && declared.elementType != expected)
      return fail(formatv("expected element type {0} of output {1}, found {2}", getDataTypeName(expected),
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

Error TypeChecker::run() {
  for (auto check : {&TypeChecker::checkRows, &TypeChecker::checkPrecision, &TypeChecker::checkCache,
                     &TypeChecker::checkHeads, &TypeChecker::checkMask, &TypeChecker::declareOutputs})
    if (Error error = (this->*check)())
      return error;
  return Error::success();
}

Error attn::onnx::checkTypes(const Node &node, Model &model, StringRef title, AttentionNode &result) {
  return TypeChecker(node, model, title, result).run();
}
