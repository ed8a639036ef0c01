//===- Words.cpp - Words.def on ops ---------------------------------------===//
//
// Checks that each row of Words.def has its attribute or operand, and derives
// from the rows an op's operands by word, and its words as notes on a function.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Words.h"
#include "attn/IR/ScoreFunctions.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Each row is of an op
//===----------------------------------------------------------------------===//

#define ATTN_ATTRIBUTE(NAME, ...)                                                                                      \
  template <typename Op>                                                                                               \
  concept has_attribute_##NAME = requires(typename Op::Properties attributes) { attributes.NAME; };                    \
  static_assert(has_attribute_##NAME<SdpaOp>, "Words.def: expected attn.sdpa to have the attribute " #NAME);           \
  static_assert(has_attribute_##NAME<SdpaBackwardOp>,                                                                  \
                "Words.def: expected attn.sdpa_backward to have the attribute " #NAME);
#define ATTN_OPERAND(NAME, ...)                                                                                        \
  template <typename Op>                                                                                               \
  concept has_operand_##NAME = requires { Op::odsIndex_##NAME; };                                                      \
  static_assert(has_operand_##NAME<SdpaOp>, "Words.def: expected attn.sdpa to have the operand " #NAME);
#include "attn/Support/Words.def"

// A mask word exists on every op that has a predicate.
#define ATTN_MASK_ATTRIBUTE(NAME, ...)                                                                                 \
  static_assert(has_attribute_##NAME<MaskOp>, "Words.def: expected attn.mask to have the attribute " #NAME);
#define ATTN_MASK_OPERAND(NAME, ...)                                                                                   \
  static_assert(has_operand_##NAME<MaskOp>, "Words.def: expected attn.mask to have the operand " #NAME);               \
  static_assert(has_operand_##NAME<SdpaBackwardOp>,                                                                    \
                "Words.def: expected attn.sdpa_backward to have the operand " #NAME);
#include "attn/Support/Words.def"

// Every lowering and the reference read the words that change scores of a step from ScoreFunctions.
#define ATTN_ATTRIBUTE(NAME, ...)                                                                                      \
  template <typename Functions>                                                                                        \
  concept has_field_##NAME = requires(Functions functions) { functions.NAME; };                                        \
  static_assert(has_field_##NAME<ScoreFunctions> ||                                                                    \
                    !(has_attribute_##NAME<OnlineStepOp> || has_attribute_##NAME<MapScoresOp> ||                       \
                      has_attribute_##NAME<BackwardStepOp>),                                                           \
                "Words.def: expected ScoreFunctions to have the field " #NAME);
#include "attn/Support/Words.def"

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static SmallVector<std::pair<const WordInfo *, OpOperand *>> findWordOperands(Operation *op) {
  SmallVector<std::pair<const WordInfo *, OpOperand *>> operands;
  auto add = [&]<typename OpTy>(OpTy typed) {
#define ATTN_OPERAND(NAME, ...)                                                                                        \
  if constexpr (has_operand_##NAME<OpTy>) {                                                                            \
    auto [first, count] = typed.getODSOperandIndexAndLength(OpTy::odsIndex_##NAME);                                    \
    for (OpOperand &operand : op->getOpOperands().slice(first, count))                                                 \
      operands.push_back({&getWord(Word::NAME), &operand});                                                            \
  }
#include "attn/Support/Words.def"
  };
  TypeSwitch<Operation *>(op).Case<SdpaOp, MaskOp, SoftmaxOp, DropoutOp, SdpaBackwardOp>(add).Default(
      [](Operation *) {});
  return operands;
}

SmallVector<std::pair<const WordInfo *, Value>> attn::getWordOperands(Operation *op) {
  SmallVector<std::pair<const WordInfo *, Value>> operands;
  for (auto [word, operand] : findWordOperands(op))
    operands.push_back({word, operand->get()});
  return operands;
}

const WordInfo *attn::findWord(OpOperand &operand) {
  for (auto [word, found] : findWordOperands(operand.getOwner()))
    if (found == &operand)
      return word;
  return nullptr;
}

bool attn::hasPlacedWord(Operation *op) {
  return llvm::any_of(getWords(), [&](const WordInfo &word) { return word.isPlaced && op->hasAttr(word.name); });
}

bool attn::countsPositions(Operation *op, bool hasRows, bool hasKeys) {
  return llvm::any_of(getWords(), [&](const WordInfo &word) {
    bool isMask = word.kind == WordKind::MaskAttribute && op->hasAttr(word.name);
    bool countsRows = !word.isPlaced && !word.ignoresRows;
    return isMask && !word.isDistance && (hasKeys || (hasRows && countsRows));
  });
}

LogicalResult attn::checkWordsKept(Operation *op, StringRef into, ArrayRef<Word> expanded) {
  ArrayRef<StringAttr> kept = OperationName(into, op->getContext()).getAttributeNames();
  for (const WordInfo &word : getWords())
    if (word.kind == WordKind::Attribute && op->hasAttr(word.name) && !llvm::is_contained(expanded, word.word) &&
        llvm::none_of(kept, [&](StringAttr name) { return name == word.name; }))
      return op->emitOpError("expected no ") << word.name << ", which " << into << " does not have";
  return success();
}

//===----------------------------------------------------------------------===//
// Values of attributes
//===----------------------------------------------------------------------===//

namespace {
struct AttributeMaker {
  MLIRContext *context;
  Attribute operator()(Alignment alignment) const {
    return CausalAlignmentAttr::get(context, *symbolizeCausalAlignment(printAlignment(alignment)));
  }
  Attribute operator()(const KeyBounds &bounds) const { return WindowAttr::get(context, bounds.left, bounds.right); }
  Attribute operator()(int64_t number) const { return Builder(context).getI64IntegerAttr(number); }
  Attribute operator()(double real) const { return Builder(context).getF64FloatAttr(real); }
  template <typename Other> Attribute operator()(const Other &) const { return {}; }
};
} // namespace

Attribute attn::getWordAttribute(MLIRContext *context, const WordValue &value) {
  return std::visit(AttributeMaker{context}, value);
}

//===----------------------------------------------------------------------===//
// Notes on a function
//===----------------------------------------------------------------------===//

DictionaryAttr attn::noteWords(Operation *op) {
  Builder b(op->getContext());
  NamedAttrList notes;
  for (const WordInfo &word : getWords()) {
    Attribute attribute = word.isAttribute() ? op->getAttr(word.name) : Attribute();
    if (!attribute)
      continue;
    if (isa<AttnDialect>(attribute.getDialect())) {
      std::string text;
      llvm::raw_string_ostream(text) << attribute;
      attribute = b.getStringAttr(text);
    }
    notes.set(word.name, attribute);
  }
  for (auto [word, value] : getWordOperands(op))
    notes.set(word->name, b.getUnitAttr());
  return notes.getDictionary(op->getContext());
}

/// Parses the text of an attribute of the dialect; null if it is none.
static Attribute parseNote(StringAttr text) {
  ScopedDiagnosticHandler silence(text.getContext(), [](Diagnostic &) { return success(); });
  return parseAttribute(text.getValue(), text.getContext());
}

std::optional<WordValue> attn::readWord(NamedAttribute note) {
  const WordInfo *word = findWord(note.getName());
  if (!word)
    return std::nullopt;
  Attribute value = note.getValue();
  if (!word->isAttribute())
    return isa<UnitAttr>(value) ? std::optional<WordValue>(true) : std::nullopt;
  if (auto text = dyn_cast<StringAttr>(value))
    value = parseNote(text);
  switch (word->form) {
  case WordForm::Aligned:
    if (isa_and_nonnull<UnitAttr>(value)) // for square masks, whose corners coincide
      return Alignment::TopLeft;
    if (auto alignment = dyn_cast_or_null<CausalAlignmentAttr>(value))
      return parseWordValue(*word, stringifyCausalAlignment(alignment.getValue()));
    return std::nullopt;
  case WordForm::Bounds:
    if (auto bounds = dyn_cast_or_null<WindowAttr>(value))
      return KeyBounds{bounds.getLeft(), bounds.getRight()};
    return std::nullopt;
  case WordForm::Integer:
    if (auto number = dyn_cast_or_null<IntegerAttr>(value))
      return number.getInt();
    return std::nullopt;
  default:
    if (auto number = dyn_cast_or_null<FloatAttr>(value))
      return number.getValueAsDouble();
    return std::nullopt;
  }
}
