//===- MaskVerifiers.cpp - constraints of what removes keys ---------------===//
//
// Causal alignments, windows, chunks, lengths, packed sequences and boolean
// masks: what attn.mask, attn.sdpa and attn.multi_head share.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Verifiers.h"
#include "attn/IR/Words.h"
#include <array>

using namespace mlir;
using namespace attn;

/// The bound of windows, too: added to an offset of up to 2^61, to which predicates clamp it, nothing wraps.
static constexpr int kMaxNumberBits = 40;

/// C5: an alignment is spelled out unless the sizes make every alignment the same.
static LogicalResult verifyCausal(Operation *op, std::optional<Attribute> causal, bool hasLengths) {
  if (!causal || isa<CausalAlignmentAttr>(*causal))
    return success();
  if (!isa<UnitAttr>(*causal))
    return op->emitOpError("C5: expected causal to be #attn.causal<top_left>, #attn.causal<bottom_right> or "
                           "#attn.causal<offset>, found ")
           << *causal;
  int64_t queries = getStaticSize(op, DimKind::Query), keys = getStaticSize(op, DimKind::Key);
  if (queries == keys && !ShapedType::isDynamic(queries) && !hasLengths)
    return success();
  auto print = [](int64_t size) { return ShapedType::isDynamic(size) ? std::string("?") : std::to_string(size); };
  return op->emitOpError("C5: causal needs an alignment unless the numbers of queries and keys are static and equal, "
                         "found Sq = ")
         << print(queries) << " and Sk = " << print(keys) << (hasLengths ? " with lengths of their own" : "")
         << "; write causal = #attn.causal<top_left> (keeps j <= i) or causal = #attn.causal<bottom_right> "
            "(keeps j <= i + Sk - Sq)";
}

/// Lengths per batch index: the queries and keys of a sequence may differ in number even if those of the problem do
/// not.
static bool hasLengths(MaskOp op) { return op.getQLengths() || op.getKvLengths(); }
template <typename OpTy> static bool hasLengths(OpTy op) {
  return op.getQLengths() || op.getKvLengths() || op.getCuSeqlensQ();
}

/// Rows or keys begin at an origin in a whole whose sizes are unknown.
template <typename OpTy> static bool hasOrigin(OpTy op) { return op.getQOrigin() || op.getKOrigin(); }

/// C12: a window or chunk is placed by the causal alignment or by one of its own.
template <typename OpTy> static LogicalResult verifyAlignment(OpTy op) {
  bool isPlaceable = hasPlacedWord(op);
  if (op.getAlign() && (!isPlaceable || op.getCausal()))
    return op.emitOpError("C12: expected align only for a ") << joinPlacedWords() << " without causal, found it "
                                                             << (op.getCausal() ? "beside causal" : "without a window");
  int64_t queries = getStaticSize(op, DimKind::Query), keys = getStaticSize(op, DimKind::Key);
  bool isPlaced = op.getCausal() || op.getAlign() ||
                  (queries == keys && !ShapedType::isDynamic(queries) && !hasLengths(op) && !hasOrigin(op));
  if (!isPlaceable || isPlaced)
    return success();
  return op.emitOpError("C12: a ") << joinPlacedWords()
                                   << " without causal needs an alignment unless the numbers of queries and keys are "
                                      "static and equal; write align = #attn.causal<top_left> or align = "
                                      "#attn.causal<bottom_right>";
}

/// C22: a prefix adds to what other words keep.
template <typename OpTy> static LogicalResult verifyPrefix(OpTy op) {
  if (!op.getPrefix() || op.getCausal() || hasPlacedWord(op))
    return success();
  return op.emitOpError("C22: expected prefix beside causal, window or chunk, found it alone, where every key is kept "
                        "already; leave it out, or write causal = #attn.causal<top_left>");
}

/// C12: integer attributes are within their bounds.
static LogicalResult verifyNumbers(Operation *op) {
  for (const WordInfo &word : getWords()) {
    // An unsigned getter would hide a sign.
    auto number = word.kind == WordKind::MaskAttribute ? op->getAttrOfType<IntegerAttr>(word.name) : IntegerAttr();
    if (number && number.getInt() < word.minimum)
      return op->emitOpError("C12: expected ")
             << word.name << " to be at least " << word.minimum << ", found " << number.getInt();
    if (number && number.getInt() > int64_t(1) << kMaxNumberBits)
      return op->emitOpError("C12: expected ") << word.name << " to be at most 2^" << kMaxNumberBits << ", found "
                                               << number.getInt() << "; leave it out for no such bound";
  }
  return success();
}

LogicalResult attn::verifyMask(Operation *op, Value mask) {
  if (!mask || getElementTypeOrSelf(mask.getType()).isInteger(1))
    return success();
  // A packed tile holds its booleans as bytes.
  if (isa<OnlineStepOp>(op) && getElementTypeOrSelf(mask.getType()).isInteger(8))
    return success();
  return op->emitOpError("C8: expected mask to have element type i1 (true = attend), found ")
         << getElementTypeOrSelf(mask.getType()) << "; an additive mask is a bias";
}

LogicalResult attn::verifyPerBatch(Operation *op, Value operand, StringRef name, int64_t excess) {
  if (!operand)
    return success();
  ShapedType type = cast<ShapedType>(operand.getType());
  if (type.getRank() != 1 || !(type.getElementType().isInteger(32) || type.getElementType().isInteger(64)))
    return op->emitOpError("C13: expected ") << name << " to have one dimension of i32 or i64, found " << type;
  if (getNumBatchDims(op) == 0)
    return op->emitOpError("C13: expected a batch dimension beside ") << name << ", found none";
  int64_t batch = getStaticDomain(op).front(), found = type.getDimSize(0);
  if (ShapedType::isDynamic(batch) || ShapedType::isDynamic(found) || found == batch + excess)
    return success();
  return op->emitOpError("C13: expected ") << name << " to have " << batch + excess << " elements, one a batch index"
                                           << (excess ? " and one more" : "") << ", found " << found;
}

/// True if `op` has this alignment.
template <typename OpTy> static bool isAligned(OpTy op, CausalAlignment value) {
  return llvm::any_of(std::array<Attribute, 2>{op.getCausalAttr(), op.getAlignAttr()}, [&](Attribute attribute) {
    auto alignment = dyn_cast_or_null<CausalAlignmentAttr>(attribute);
    return alignment && alignment.getValue() == value;
  });
}
/// True if an operand gives the diagonal of `op`.
template <typename OpTy> static bool hasOffsetAlignment(OpTy op) { return isAligned(op, CausalAlignment::Offset); }

/// C27: parts do not tell where the bottom-right corner of the whole is; dropout indexes by sizes of the whole.
template <typename OpTy> static LogicalResult verifyOrigins(OpTy op) {
  if (hasOrigin(op) && isa_and_nonnull<UnitAttr>(op.getCausalAttr()))
    return op.emitOpError("C27: expected causal to say its alignment beside q_origin and k_origin, whose numbers of "
                          "queries and keys are not those of the whole; write causal = #attn.causal<top_left>");
  if (hasOrigin(op) && isAligned(op, CausalAlignment::BottomRight))
    return op.emitOpError("C27: expected no alignment #attn.causal<bottom_right> beside q_origin and k_origin, whose "
                          "numbers of queries and keys are not those of the whole; write #attn.causal<offset> with "
                          "Sk - Sq of the whole as causal_offset");
  if constexpr (requires { op.getWholeHq(); }) {
    bool hasAny = hasOrigin(op) || op.getBOrigin() || op.getHOrigin();
    if (op.getDropoutP() && hasAny && !op.getWholeHq())
      return op.emitOpError("C27: expected the sizes of the whole beside dropout with an origin, found none; write "
                            "whole(%hq, %sq, %sk : i64, i64, i64)");
    if (!op.getDropoutP() && op.getWholeHq())
      return op.emitOpError("C27: expected whole beside dropout, which alone reads it, found it alone; leave it out");
    if (bool(op.getWholeHq()) != bool(op.getWholeSq()) || bool(op.getWholeHq()) != bool(op.getWholeSk()))
      return op.emitOpError("C27: expected three sizes of the whole, Hq, Sq and Sk; write "
                            "whole(%hq, %sq, %sk : i64, i64, i64)");
  }
  return success();
}

/// C13, C14 of sdpa and mask.
template <typename OpTy> static LogicalResult verifySpelledOutOperands(OpTy op) {
  if (hasOffsetAlignment(op) != bool(op.getCausalOffset()))
    return op.emitOpError("C14: expected causal_offset(%v) beside the alignment #attn.causal<offset>, found ")
           << (op.getCausalOffset() ? "causal_offset" : "the alignment") << " alone";
  if (failed(verifyPerBatch(op, op.getQLengths(), "q_lengths")) ||
      failed(verifyPerBatch(op, op.getKvLengths(), "kv_lengths")) ||
      failed(verifyPerBatch(op, op.getQOrigin(), "q_origin")) ||
      failed(verifyPerBatch(op, op.getKOrigin(), "k_origin")) || failed(verifyOrigins(op)))
    return failure();
  return verifyPerBatch(op, op.getCausalOffset(), "causal_offset");
}

template <typename OpTy> static LogicalResult verifySpelledOut(OpTy op) {
  if (failed(verifyCausal(op, op.getCausal(), hasLengths(op))) || failed(verifyNumbers(op)) ||
      failed(verifyPrefix(op)) || failed(verifyAlignment(op)))
    return failure();
  return verifySpelledOutOperands(op);
}
LogicalResult attn::verifySpelledOutMask(MaskOp op) { return verifySpelledOut(op); }
LogicalResult attn::verifySpelledOutMask(SdpaOp op) { return verifySpelledOut(op); }
LogicalResult attn::verifySpelledOutMask(SdpaBackwardOp op) { return verifySpelledOut(op); }

/// Its queries and keys are the same rows, so every alignment but an offset is the same.
LogicalResult attn::verifySpelledOutMask(MultiHeadOp op) {
  Attribute causal = op.getCausalAttr();
  if (causal && !isa<UnitAttr, CausalAlignmentAttr>(causal))
    return op.emitOpError("C5: expected causal alone, #attn.causal<top_left> or #attn.causal<bottom_right>, found ")
           << causal;
  if (hasOffsetAlignment(op))
    return op.emitOpError("C14: expected no alignment #attn.causal<offset>, as there is no causal_offset");
  if (op.getAlignAttr() && (causal || !hasPlacedWord(op)))
    return op.emitOpError("C12: expected align only for a window without causal, found it ")
           << (causal ? "beside causal" : "without a window");
  return success();
}

template <typename OpTy> static LogicalResult verifySequences(OpTy op) {
  if (!op.getCuSeqlensQ())
    return success();
  if (getNumBatchDims(op) != 2)
    return op.emitOpError("C15: expected the batch dimensions (sequence, head) beside cu_seqlens, found ")
           << getNumBatchDims(op);
  bool isOfQueries = !op.getCuSeqlensK();
  for (NamedAttribute note : noteWords(op)) {
    const WordInfo *word = findWord(note.getName());
    bool isOfKeys = isOfQueries && word->counts == WordCounts::Keys;
    if (!word->notPacked.empty() && !isOfKeys)
      return op.emitOpError("C15: expected no ") << word->token << " with packed sequences, " << word->notPacked;
  }
  if (failed(verifyPerBatch(op, op.getCuSeqlensQ(), "cu_seqlens of queries", /*excess=*/1)))
    return failure();
  return isOfQueries ? success() : verifyPerBatch(op, op.getCuSeqlensK(), "cu_seqlens of keys", /*excess=*/1);
}
LogicalResult attn::verifyPacked(SdpaOp op) {
  std::optional<uint64_t> minimum = op.getMinQueries();
  if (minimum && (!op.getCuSeqlensQ() || static_cast<int64_t>(*minimum) < 1))
    return op.emitOpError("C15: expected min_queries of 1 or greater beside cu_seqlens, found ")
           << static_cast<int64_t>(*minimum) << (op.getCuSeqlensQ() ? "" : " without cu_seqlens")
           << "; leave min_queries out";
  return verifySequences(op);
}
LogicalResult attn::verifyPacked(SdpaBackwardOp op) { return verifySequences(op); }
