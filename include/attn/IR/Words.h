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

/// The operands of a sdpa, or of a step of the chain, that are words and that it has.
llvm::SmallVector<std::pair<const WordInfo *, mlir::Value>> getWordOperands(mlir::Operation *op);
/// The word that an operand of such an op is; null where it is none.
const WordInfo *findWord(mlir::OpOperand &operand);

/// The value of a word that is an attribute as one; null where the word is not there, or an operand.
mlir::Attribute getWordAttribute(mlir::MLIRContext *context, const WordValue &value);

/// The words of a sdpa or sdpa_backward under their names: its attributes as they are, but those of the dialect as
/// text, which stock tools can read; units for its operands.
mlir::DictionaryAttr noteWords(mlir::Operation *op);
/// The value of one entry of what noteWords gave; nullopt where it is none.
std::optional<WordValue> readWord(mlir::NamedAttribute note);

/// True where `op` has an attribute that an alignment places.
bool hasPlacedWord(mlir::Operation *op);
/// True where a mask word of `op` depends on more than an offset says about a part of its rows or keys: the positions
/// themselves count. A word of which the table says nothing does.
bool countsPositions(mlir::Operation *op, bool hasRows, bool hasKeys);
/// Fails where `op` has a score function that the op named `into`, which it becomes, cannot have: it would be dropped.
/// `expanded` are words that become regions instead. Mask words always do.
llvm::LogicalResult checkWordsKept(mlir::Operation *op, llvm::StringRef into, llvm::ArrayRef<Word> expanded = {});

} // namespace attn

#endif // ATTN_IR_WORDS_H
