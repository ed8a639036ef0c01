//===- Words.h - Words.def on ops -------------------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_WORDS_H
#define ATTN_IR_WORDS_H

#include "attn/IR/Attn.h"
#include "attn/Support/Words.h"

namespace attn {

/// The operands of a sdpa, or of a step of the chain, that are words and present.
llvm::SmallVector<std::pair<const WordInfo *, mlir::Value>> getWordOperands(mlir::Operation *op);
/// The word of an operand of such an op; null for other operands.
const WordInfo *findWord(mlir::OpOperand &operand);

/// The value of a word as an attribute; null where the word is missing, or is an operand.
mlir::Attribute getWordAttribute(mlir::MLIRContext *context, const WordValue &value);

/// The words of a sdpa or sdpa_backward by name: attributes, with those of the dialect as text that stock tools can
/// read, and units for operands.
mlir::DictionaryAttr noteWords(mlir::Operation *op);
/// The value of one entry of the result of noteWords; nullopt for other attributes.
std::optional<WordValue> readWord(mlir::NamedAttribute note);

/// True where `op` has an attribute whose diagonal an alignment defines.
bool hasPlacedWord(mlir::Operation *op);
/// True where a mask word of `op` cannot be expressed by an offset for a part of its rows or keys, as it uses absolute
/// positions. This is assumed for a word without data in the table.
bool countsPositions(mlir::Operation *op, bool hasRows, bool hasKeys);
/// Fails where `op` has a score function that the op named `into`, which replaces it, does not support and would drop.
/// `expanded` are words that become regions instead. Mask words always do.
llvm::LogicalResult checkWordsKept(mlir::Operation *op, llvm::StringRef into, llvm::ArrayRef<Word> expanded = {});

} // namespace attn

#endif // ATTN_IR_WORDS_H
