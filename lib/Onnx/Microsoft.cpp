//===- Microsoft.cpp - com.microsoft's attention nodes --------------------===//
//
// MultiHeadAttention and GroupQueryAttention of ONNX Runtime 1.32, as the
// Attention node that computes the same. If there is none, the error says what
// to write instead.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "OnnxChecks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;

namespace {

/// An input of the operator: an input of Attention, or one that is refused or not needed.
struct InputRow {
  StringRef name;
  std::optional<Input> meaning;
  StringRef instead; ///< what to write; empty where the kernel does not need the input
};

/// An attribute: one of Attention; one that must have its default (for other values, `instead` says what to write); or
/// one that has no effect without a refused input.
struct AttributeRow {
  StringRef name, meaning;
  Attribute::Kind kind;
  StringRef instead;
};

} // namespace

static constexpr StringRef kSplitProjection = "add the bias with Add nodes in front of it";
static constexpr StringRef kNormalise = "write the normalization of query and key in front of the node";
static constexpr StringRef kFloatCache = "write the node with a cache of floats";
static constexpr StringRef kNoSink = "write the node without a sink";
static constexpr StringRef kRotate =
    "apply RotaryEmbedding (opset 23) to query and key in front of the node, with do_rotary = 0";

static constexpr InputRow kMultiHeadInputs[] = {
    {"query", kQ, ""},
    {"key", kK, ""},
    {"value", kV, ""},
    {"bias", std::nullopt, kSplitProjection},
    {"key_padding_mask", kLengths, ""},
    {"attention_bias", kMask, ""},
    {"past_key", kPastKey, ""},
    {"past_value", kPastValue, ""},
    {"past_sequence_length", std::nullopt,
     "write the node without a shared buffer, or Attention (opset 24) with nonpad_kv_seqlen"},
    {"cache_indirection", std::nullopt, "write the node without beam search"},
};
static constexpr AttributeRow kMultiHeadAttributes[] = {
    {"num_heads", "q_num_heads", Attribute::Kind::Int, ""},
    {"scale", "scale", Attribute::Kind::Float, ""},
    {"unidirectional", "is_causal", Attribute::Kind::Int, ""},
    {"mask_filter_value", "", Attribute::Kind::Float, ""},
};
static constexpr InputRow kGroupQueryInputs[] = {
    {"query", kQ, ""},
    {"key", kK, ""},
    {"value", kV, ""},
    {"past_key", kPastKey, ""},
    {"past_value", kPastValue, ""},
    {"seqlens_k", kLengths, ""},
    {"total_sequence_length", std::nullopt, ""},
    {"cos_cache", std::nullopt, kRotate},
    {"sin_cache", std::nullopt, kRotate},
    {"position_ids", std::nullopt, kRotate},
    {"attention_bias", kMask, ""},
    {"head_sink", std::nullopt, kNoSink},
    {"k_scale", std::nullopt, kFloatCache},
    {"v_scale", std::nullopt, kFloatCache},
    {"q_norm_weight", std::nullopt, kNormalise},
    {"k_norm_weight", std::nullopt, kNormalise},
};
static constexpr AttributeRow kGroupQueryAttributes[] = {
    {"num_heads", "q_num_heads", Attribute::Kind::Int, ""},
    {"kv_num_heads", "kv_num_heads", Attribute::Kind::Int, ""},
    {"scale", "scale", Attribute::Kind::Float, ""},
    {"softcap", "softcap", Attribute::Kind::Float, ""},
    {"local_window_size", "left_window_size", Attribute::Kind::Int, ""},
    {"causal", "is_causal", Attribute::Kind::Int, ""},
    {"do_rotary", "", Attribute::Kind::Int, kRotate},
    {"rotary_interleaved", "", Attribute::Kind::Int, ""},
    {"smooth_softmax", "", Attribute::Kind::Int, kNoSink},
    {"qk_output", "", Attribute::Kind::Int, "write Attention with qk_matmul_output"},
    {"sliding_window_cache", "", Attribute::Kind::Int, "write a cache of all keys"},
    {"k_quant_type", "", Attribute::Kind::String, kFloatCache},
    {"v_quant_type", "", Attribute::Kind::String, kFloatCache},
    {"kv_cache_bit_width", "", Attribute::Kind::Int, ""},
    {"qk_norm_epsilon", "", Attribute::Kind::Float, ""},
};

namespace {

class Translator {
public:
  Translator(const Node &node, const Model &model, StringRef title, AttentionNode &result)
      : node(node), model(model), title(title), result(result), isGroupQuery(node.opType == "GroupQueryAttention") {}
  Expected<Node> run();

private:
  Error fail(const llvm::Twine &text) { return llvm::createStringError(title + ": " + text); }
  Error takeInputs(llvm::ArrayRef<InputRow> rows);
  Error takeAttributes(llvm::ArrayRef<AttributeRow> rows);
  Error checkCausal();
  Error checkLengths();
  void checkCache();
  void add(StringRef name, int64_t integer);

  const Node &node;
  const Model &model;
  StringRef title;
  AttentionNode &result;
  bool isGroupQuery;
  Node attention;
};

} // namespace

bool attn::onnx::isMicrosoftAttention(const Node &node) {
  return node.domain == kMicrosoftDomain &&
         (node.opType == "MultiHeadAttention" || node.opType == "GroupQueryAttention");
}

void Translator::add(StringRef name, int64_t integer) {
  Attribute &attribute = attention.attributes.emplace_back();
  attribute.name = name;
  attribute.kind = int64_t(Attribute::Kind::Int);
  attribute.integer = integer;
}

Error Translator::takeInputs(llvm::ArrayRef<InputRow> rows) {
  if (node.inputs.size() > rows.size())
    return fail(formatv("expected at most {0} inputs, found {1}", rows.size(), node.inputs.size()));
  attention.inputs.resize(kNumInputs);
  for (auto [i, name] : llvm::enumerate(node.inputs)) {
    const InputRow &row = rows[i];
    if (name.empty())
      continue;
    if (!row.meaning && !row.instead.empty())
      return fail("expected no " + row.name + ", found it; " + row.instead);
    if (!row.meaning)
      continue;
    attention.inputs[*row.meaning] = name;
    result.places[*row.meaning] = i;
  }
  for (Input input : {kK, kV})
    if (attention.inputs[input].empty())
      return fail("expected query, key and value apart, found them packed in one input; write a Split in front of the "
                  "node");
  while (attention.inputs.back().empty() && attention.inputs.size() > kNumRequiredInputs)
    attention.inputs.pop_back();
  return Error::success();
}

/// True if an attribute has its default. Exporters write defaults, also of attributes of later versions.
static bool isDefault(const Attribute &attribute) {
  switch (Attribute::Kind(attribute.kind)) {
  case Attribute::Kind::Int: return attribute.integer == 0 || attribute.integer == -1;
  case Attribute::Kind::Float: return attribute.real == 0;
  case Attribute::Kind::String: return attribute.string.empty() || attribute.string == "NONE";
  case Attribute::Kind::Ints: return attribute.integers.empty();
  default: return false;
  }
}

static StringRef getKindName(Attribute::Kind kind) {
  return kind == Attribute::Kind::Int ? "INT" : kind == Attribute::Kind::Float ? "FLOAT" : "STRING";
}

Error Translator::takeAttributes(llvm::ArrayRef<AttributeRow> rows) {
  for (const Attribute &attribute : node.attributes) {
    const AttributeRow *row = llvm::find_if(rows, [&](const auto &other) { return other.name == attribute.name; });
    if (row == rows.end()) {
      if (isDefault(attribute))
        continue;
      return fail("expected no attribute " + quote(attribute.name) + " of " + node.opType +
                  ", or one that is off (0, -1, empty or NONE), found it");
    }
    if (attribute.kind != int64_t(row->kind))
      return fail(formatv("expected attribute {0} of kind {1}, found kind {2}", row->name, getKindName(row->kind),
                          attribute.kind));
    if (!row->instead.empty() && !isDefault(attribute))
      return fail(
          formatv("expected {0} = {1}, found {2}; {3}", row->name, row->kind == Attribute::Kind::String ? "NONE" : "0",
                  row->kind == Attribute::Kind::String ? quote(attribute.string) : std::to_string(attribute.integer),
                  row->instead));
    // 0 is the default scale.
    if (row->meaning.empty() || (row->name == "scale" && attribute.real == 0))
      continue;
    attention.attributes.push_back(attribute);
    attention.attributes.back().name = row->meaning;
    // The window counts the query's own key.
    if (row->name == "local_window_size" && attribute.integer == 0)
      return fail("expected local_window_size >= 1, or -1 for none, found 0");
    if (row->name == "local_window_size" && attribute.integer > 0)
      --attention.attributes.back().integer;
  }
  if (!isGroupQuery) {
    const Attribute *heads = node.findAttribute("num_heads");
    if (!heads)
      return fail("expected num_heads, found none");
    add("kv_num_heads", heads->integer);
    return checkCausal();
  }
  const Attribute *causal = node.findAttribute("causal"), *window = node.findAttribute("local_window_size");
  if (!causal)
    add("is_causal", 1);
  else if (causal->integer == 0 && window && window->integer > 0)
    return fail(formatv("expected local_window_size = -1 with causal = 0, found {0}", window->integer));
  return Error::success();
}

/// ONNX Runtime documents its causal mask only for self-attention.
Error Translator::checkCausal() {
  const Attribute *causal = node.findAttribute("unidirectional");
  if (!causal || causal->integer == 0)
    return Error::success();
  if (attention.inputs.size() > kLengths)
    return fail(
        "expected key_padding_mask or unidirectional = 1, found both; write attention_bias in the place of one");
  auto getLength = [&](Input input) {
    auto found = model.types.find(attention.inputs[input]);
    bool isKnown = found != model.types.end() && found->second.shape.size() == 3;
    return isKnown ? found->second.shape[1] : Dimension();
  };
  Dimension queries = getLength(kQ), keys = getLength(kK);
  if (queries.size == keys.size && (queries.size || (queries.symbol == keys.symbol && !queries.symbol.empty())))
    return Error::success();
  return fail("expected as many queries as new keys with unidirectional = 1, found others; write attention_bias");
}

/// key_padding_mask and seqlens_k: i32, one element per batch index.
Error Translator::checkLengths() {
  if (attention.inputs.size() <= kLengths)
    return isGroupQuery ? fail("expected seqlens_k, found none") : Error::success();
  StringRef name = isGroupQuery ? "seqlens_k" : "key_padding_mask";
  auto found = model.types.find(attention.inputs[kLengths]);
  bool isKnown = found != model.types.end() && found->second.hasShape;
  size_t rank = isKnown ? found->second.shape.size() : 1;
  bool isColumn = isGroupQuery && rank == 2 && found->second.shape[1].size == 1;
  if (rank != 1 && !isColumn)
    return fail("expected " + name + " of rank 1 (the number of keys of each batch index), found rank " +
                std::to_string(rank) + "; write a mask of keys as attention_bias");
  result.lengths = {DataType::Int32, isGroupQuery ? 1 : 0, /*countsFromFirst=*/true, isColumn};
  return Error::success();
}

/// New keys are written after the past ones, at the positions of seqlens_k; a cache without rows has none.
void Translator::checkCache() {
  if (!isGroupQuery || attention.inputs.size() <= kPastKey || attention.inputs[kPastKey].empty())
    return;
  auto found = model.types.find(attention.inputs[kPastKey]);
  bool isKnown = found != model.types.end() && found->second.shape.size() == 4;
  result.lengths.appends = !(isKnown && found->second.shape[2].size == 0);
}

Expected<Node> Translator::run() {
  attention.name = node.name;
  attention.opType = "Attention";
  attention.outputs = node.outputs;
  if (Error error = isGroupQuery ? takeInputs(kGroupQueryInputs) : takeInputs(kMultiHeadInputs))
    return std::move(error);
  if (Error error = isGroupQuery ? takeAttributes(kGroupQueryAttributes) : takeAttributes(kMultiHeadAttributes))
    return std::move(error);
  if (Error error = checkLengths())
    return std::move(error);
  checkCache();
  return attention;
}

Expected<Node> attn::onnx::translateMicrosoft(const Node &node, const Model &model, StringRef title,
                                              AttentionNode &result) {
  return Translator(node, model, title, result).run();
}
