//===- ProblemChecks.cpp - what a problem line may not combine ------------===//
//
// Each check is one sentence of docs/Semantics.md or of the ops' constraints,
// reported at the word of the line: a caret is more useful than an error about
// generated IR.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ProblemIR.h"
#include "ProblemParser.h"
#include "attn/Problem/ProblemText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace attn;
using llvm::StringRef;

/// The address space of a process on x86-64; below it, no byte offset overflows an int64.
static constexpr int64_t kMaxTensorBytes = int64_t(1) << 47;

llvm::Error ProblemParser::checkHeads() {
  if (problem.sizes.hq == Problem::kDynamic && problem.sizes.hkv == Problem::kDynamic) {
    if (problem.layout == Problem::Layout::BSD)
      return error(wordOf("hq"), "expected numbers of heads in layout=bsd, which has no dimension for them, found "
                                 "'hq?'; write a number as hq8");
    return llvm::Error::success();
  }
  if (problem.sizes.hq == Problem::kDynamic || problem.sizes.hkv == Problem::kDynamic)
    return error(
        wordOf("hkv").empty() ? wordOf("hq") : wordOf("hkv"),
        llvm::formatv("expected both numbers of heads to be dynamic, which means equal, or neither, found hq{0} "
                      "and hkv{1}; write hq? hkv?, or numbers of both",
                      printSize(problem.sizes.hq), printSize(problem.sizes.hkv)));
  if (problem.sizes.hq % problem.sizes.hkv != 0)
    return error(
        wordOf("hkv"),
        llvm::formatv("expected a divisor of the {0} query heads, found {1} key heads; write a number of query "
                      "heads that is a multiple of it",
                      problem.sizes.hq, problem.sizes.hkv));
  return llvm::Error::success();
}

/// Keys and values of another type than queries: only the types with a meaning and a lowering.
llvm::Error ProblemParser::checkKeyTypes() {
  if (!wordOf("kvscale").empty() && !problem.isQuantised())
    return error(wordOf("kvscale"),
                 "expected kvscale only with kv=int8, kv=fp8 or kv=e5m2, which have scales; leave it out");
  if (problem.kv == Problem::KvElement::Same)
    return llvm::Error::success();
  bool isFloat = !problem.isQuantised();
  if (isFloat && printKvElement(problem) == printElement(problem.element)) {
    problem.kv = Problem::KvElement::Same;
    return llvm::Error::success();
  }
  if (isFloat && problem.element != Problem::Element::F32)
    return error(wordOf("kv"), llvm::formatv("expected 16-bit keys and values beside f32, found them beside {0}; write "
                                             "f32, or leave kv out",
                                             printElement(problem.element)));
  bool isToken = problem.kvScale == Problem::KvScale::Token;
  if (isToken && problem.layout == Problem::Layout::Varlen && !problem.paged)
    return error(wordOf("kvscale"), "expected a scale a head with layout=varlen, whose keys have no dimension of their "
                                    "own in (batch, head, key), found one a token; write kvscale=head");
  if (isToken && problem.paged && problem.sizes.sk == Problem::kDynamic)
    return error(wordOf("kvscale"),
                 "expected a number of keys with kvscale=token and paged, found 'sk?'; write sk as a "
                 "number, or kvscale=slot, scales in pages");
  if (problem.hasScalesInPages() && !problem.paged)
    return error(wordOf("kvscale"), "expected kvscale=page and kvscale=slot only with paged; write kvscale=token, or "
                                    "paged=16");
  return llvm::Error::success();
}

/// A placed word needs an alignment for its diagonal, unless the lengths are equal; an alignment needs such a word.
llvm::Error ProblemParser::checkAlignment() {
  const WordValues &words = problem.words;
  if (words.has(Word::align)) {
    for (const WordInfo &word : getWords())
      if (word.form == WordForm::Aligned && word.word != Word::align && words.has(word.word))
        return error(wordOf("align"), llvm::formatv("expected align only without {0}, which says the alignment itself; "
                                                    "leave it out",
                                                    word.token));
    if (!words.hasPlaced())
      return error(wordOf("align"), "expected align only with a " + joinPlacedWords() + ", found none; leave it out");
  }
  if (words.has(Word::prefix) && !words.hasPlaced() && !words.has(Word::causal))
    return error(wordOf("prefix"), "expected prefix beside causal, " + joinPlacedWords() +
                                       ", found it alone, where every key is kept already; leave it out");
  if (!words.hasPlaced() || words.getAlignment())
    return llvm::Error::success();
  StringRef name =
      llvm::find_if(getWords(), [&](const WordInfo &word) { return word.isPlaced && words.has(word.word); })->token;
  constexpr StringRef advice = "write align=top_left, align=bottom_right or align=offset";
  bool hasLengths = llvm::any_of(getWords(), [&](const WordInfo &word) {
    return word.counts != WordCounts::Nothing && problem.hasArgument(word);
  });
  if (words.has(Word::q_origin) || words.has(Word::k_origin))
    return error(wordOf(name),
                 llvm::formatv("expected an alignment of the {0} beside q_origin and k_origin, whose sizes "
                               "are not those of the whole; write align=top_left or align=offset",
                               name));
  if (hasLengths || problem.sizes.sq == Problem::kDynamic || problem.sizes.sk == Problem::kDynamic)
    return error(wordOf(name), llvm::formatv("expected an alignment of the {0}, as the numbers of queries and keys may "
                                             "differ from call to call; {1}",
                                             name, advice));
  if (problem.sizes.sq != problem.sizes.sk)
    return error(wordOf(name),
                 llvm::formatv("expected an alignment of the {0}, as {1} queries and {2} keys differ; {3}", name,
                               problem.sizes.sq, problem.sizes.sk, advice));
  return llvm::Error::success();
}

/// Parts do not tell where the bottom-right corner of the whole is. Dropout indexes by sizes of the whole.
llvm::Error ProblemParser::checkOrigins() {
  const WordValues &words = problem.words;
  bool hasRows = words.has(Word::q_origin) || words.has(Word::k_origin);
  bool hasAny = hasRows || words.has(Word::b_origin) || words.has(Word::h_origin);
  StringRef first;
  for (Word word : {Word::q_origin, Word::k_origin, Word::b_origin, Word::h_origin})
    if (first.empty() && words.has(word))
      first = getWord(word).token;
  if (hasRows && words.getAlignment() == Alignment::BottomRight)
    return error(wordOf(first), llvm::formatv("expected no bottom_right beside {0}, as the sizes of the whole are not "
                                              "those of its part; write {1}=offset, with Sk - Sq of the whole in "
                                              "each call",
                                              first, words.has(Word::causal) ? "causal" : "align"));
  if (words.has(Word::dropout_p) && hasAny && !words.has(Word::whole_hq))
    return error(wordOf(first), llvm::formatv("expected whole beside dropout and {0}, the sizes that dropout counts "
                                              "weights by, found none; write whole as well",
                                              first));
  if (words.has(Word::whole_hq) && !words.has(Word::dropout_p))
    return error(wordOf("whole"), "expected whole beside dropout, which alone reads it, found it alone; leave it out");
  bool isOfMasks = !words.has(Word::whole_hq) && !words.has(Word::b_origin) && !words.has(Word::h_origin) &&
                   problem.scoreMod.empty();
  if (problem.outputs.weights && (hasAny || words.has(Word::whole_hq)) && !isOfMasks)
    return error(wordOf("out"), "expected no weights beside origins of heads, of score_mod or of dropout, whose path "
                                "does not have them; write out=lse, or leave it out");
  return llvm::Error::success();
}

/// Packed sequences have their lengths in cu_seqlens, paged keys in kv_lengths, and scores have no dense dimension.
llvm::Error ProblemParser::checkPacking() {
  if (problem.layout != Problem::Layout::Varlen)
    return llvm::Error::success();
  for (const WordInfo &word : getWords())
    if (!word.notPacked.empty() && problem.words.has(word.word) && !(problem.paged && word.counts == WordCounts::Keys))
      return error(wordOf(word.token),
                   llvm::formatv("expected no {0} with layout=varlen, {1}", word.token, word.notPacked));
  bool hasOrigin = problem.words.has(Word::q_origin) || problem.words.has(Word::k_origin);
  if (problem.sizes.b == Problem::kDynamic && (problem.hasOffset() || hasOrigin) && !problem.paged)
    return error(wordOf("b"), llvm::formatv("expected a number of sequences with layout=varlen and {0}, found 'b?'; "
                                            "write a number as b2",
                                            problem.hasOffset() ? "offsets" : "origins"));
  if (problem.outputs.weights)
    return error(wordOf("out"), "expected no weights with layout=varlen, whose sequences have scores of different "
                                "sizes; write out=lse, or leave it out");
  return llvm::Error::success();
}

llvm::Error ProblemParser::checkPages() {
  if (!problem.paged) {
    if (problem.pages)
      return error(wordOf("pages"), "expected pages only with paged, found none; write paged=16 or the like");
    return llvm::Error::success();
  }
  if (const WordInfo &lengths = getLengths(WordCounts::Keys); !problem.words.has(lengths.word))
    return error(wordOf("paged"), llvm::formatv("expected {0} with paged, which say what of the pages is in use; write "
                                                "{0} as well",
                                                lengths.token));
  if (problem.sizes.hq == Problem::kDynamic)
    return error(wordOf("hq"), "expected numbers of heads with paged, whose pages hold a known number of them, found "
                               "'hq?'; write a number as hq8");
  if (problem.sizes.sk != Problem::kDynamic)
    return llvm::Error::success();
  if (problem.outputs.weights)
    return error(wordOf("out"),
                 "expected no weights with paged and 'sk?', found out=weights; write a number of keys, or "
                 "out=lse");
  // The keys are whole pages of the block table: no argument has their number as a dimension.
  for (const WordInfo &word : getWords())
    if (const auto *shape = problem.words.get<ScoreShape>(word.word); shape && shape->back() != 1)
      return error(wordOf(word.token), llvm::formatv("expected size 1 in the key dimension of {0} with paged and sk?, "
                                                     "found {1}; write sk as a number, or 1",
                                                     word.token, printSize(shape->back())));
  return llvm::Error::success();
}

/// A chain with its score matrix returns only lse, and out in the type of q. Sums of weights are already a gradient, of
/// whole pages.
llvm::Error ProblemParser::checkOutputs() {
  if (problem.isResultWide && problem.element == Problem::Element::F64)
    return error(wordOf("result"), "expected result=f32 beside f32 or 16-bit q, found it beside f64; leave it out");
  if (problem.isResultWide && problem.outputs.weights)
    return error(wordOf("result"), "expected no result=f32 with weights, which are of the type of q as out is; leave "
                                   "one out");
  problem.isResultWide &= problem.element != Problem::Element::F32; // which it is anyway
  if (problem.outputs.weights && (problem.outputs.max || problem.outputs.logSum))
    return error(wordOf("out"), "expected max and log_sum without weights, whose path does not have them; leave the "
                                "weights out");
  if (!problem.outputs.keySums)
    return llvm::Error::success();
  if (problem.outputs.weights)
    return error(wordOf("out"), "expected key_sums without weights, which can be summed as they are; leave one out");
  if (!problem.grad.empty())
    return error(wordOf("grad"), "expected no grad with key_sums, which have no gradient; leave one out");
  if (problem.paged && problem.sizes.sk != Problem::kDynamic && problem.sizes.sk % problem.paged->size != 0)
    return error(wordOf("sk").empty() ? wordOf("out") : wordOf("sk"),
                 llvm::formatv("expected a number of keys in whole pages with paged and key_sums, found {0} with pages "
                               "of {1}; write sk{2}, or sk?",
                               problem.sizes.sk, problem.paged->size, problem.getTablePages() * problem.paged->size));
  return llvm::Error::success();
}

/// Only one attention on tensors can be differentiated, by float arguments.
llvm::Error ProblemParser::checkGradients() {
  if (problem.grad.empty())
    return llvm::Error::success();
  if (problem.outputs.weights)
    return error(wordOf("out"), "expected no weights with grad, found out=weights; write out=lse, or leave it out");
  if (problem.paged)
    return error(wordOf("paged"), "expected no pages with grad, which has no rule for them; leave one out");
  llvm::SmallVector<StringRef> known = {"q"};
  if (problem.isQuantised())
    known.append({"k_scale", "v_scale"});
  else
    known.append({"k", "v"});
  for (Word word : {Word::bias, Word::sink, Word::scale_value})
    if (problem.words.has(word))
      known.push_back(getWord(word).argument);
  for (const Problem::Capture &capture : problem.captures)
    known.push_back(capture.name);
  for (StringRef name : problem.grad)
    if (!llvm::is_contained(known, name)) {
      const WordInfo &scale = getWord(Word::scale_value);
      std::string advice = name == scale.argument ? ("; write " + scale.example + " for one that has").str() : "";
      return error(wordOf("grad"), llvm::formatv("expected one of {0}, found {1}, which has no gradient here{2}",
                                                 llvm::join(known, ", "), name, advice));
    }
  return llvm::Error::success();
}

/// A destination that is added to has the type of the sums and the shape of the result.
llvm::Error ProblemParser::checkInto() {
  if (problem.into.empty())
    return llvm::Error::success();
  auto refuse = [&](const llvm::Twine &text) { return error(wordOf("into"), text); };
  bool hasState = llvm::is_contained(problem.into, "state");
  if (hasState && problem.into.size() > 1)
    return refuse("expected into=state alone, or names of arguments that have gradients; leave one out");
  bool isWide =
      problem.isResultWide || problem.element == Problem::Element::F32 || problem.element == Problem::Element::F64;
  if (!isWide)
    return refuse(
        llvm::formatv("expected results of the type of the sums beside into, found {0}, in which each call would "
                      "round them; write result=f32 as well",
                      printElement(problem.element)));
  if (problem.layout == Problem::Layout::BSD)
    return refuse(
        "expected heads as a dimension of out and of gradients beside into, found layout=bsd; write layout=bshd, "
        "whose memory is the same");
  if (!hasState) {
    for (StringRef name : problem.into) {
      if (!llvm::is_contained({"q", "k", "v"}, name))
        return refuse(llvm::formatv("expected state, or some of q, k and v, found {0}", name));
      if (!llvm::is_contained(problem.grad, name))
        return refuse(llvm::formatv("expected the gradient of {0} beside into={0}, found none; write grad={1}", name,
                                    llvm::join(problem.into, ",")));
    }
    if (problem.kv != Problem::KvElement::Same && !problem.isQuantised() &&
        problem.into != std::vector<std::string>{"q"})
      return refuse(
          llvm::formatv("expected into=q alone beside kv={0}, the type of the gradients of k and v, in which each "
                        "call would round them; leave k and v out",
                        printKvElement(problem)));
    if (llvm::is_contained(problem.grad, "scale") || problem.isQuantised())
      return refuse("expected no gradient of a scale beside into, whose products are rounded apart; leave one out");
    return llvm::Error::success();
  }
  if (!problem.grad.empty())
    return refuse(
        "expected no grad beside into=state, whose state has a gradient of its own; take the gradients from lse "
        "of the whole row: write out=lse and grad without into=state");
  for (auto [isWanted, name] : {std::pair(problem.outputs.weights, "weights"), {problem.outputs.keySums, "key_sums"}})
    if (isWanted)
      return error(wordOf("out"),
                   llvm::formatv("expected no {0} beside into=state: they are of the keys of one call, and "
                                 "lse would be that of all; leave one out",
                                 name));
  if (problem.outputs.max != problem.outputs.logSum)
    return error(wordOf("out"), "expected max and log_sum together beside into=state, found one of them; write "
                                "out=max,log_sum, or out=lse");
  if (!problem.outputs.lse && !problem.outputs.max)
    return refuse(
        "expected lse beside into=state, as it says how much of a row has been summed, found none; write out=lse, "
        "or out=max,log_sum");
  if (problem.words.has(Word::sink))
    return error(wordOf("sink"),
                 "expected no sink beside into=state, where it would count once more with each call; give "
                 "it to the call that makes the state");
  return llvm::Error::success();
}

llvm::Error ProblemParser::checkScoreShape(StringRef name, const ScoreShape &shape) {
  const ScoreShape full = {problem.sizes.b, problem.sizes.hq, problem.sizes.sq, problem.sizes.sk};
  constexpr StringRef dims[] = {"batch", "head", "query", "key"};
  for (auto [size, fullSize, dim] : llvm::zip_equal(shape, full, dims))
    if (size != 1 && size != fullSize)
      return error(wordOf(name),
                   llvm::formatv("expected 1 or {0} in the {1} dimension of {2}, found {3}; write {2}={4},{5},{6},{7}, "
                                 "with 1 where it broadcasts",
                                 printSize(fullSize), dim, name, printSize(size), printSize(full[0]),
                                 printSize(full[1]), printSize(full[2]), printSize(full[3])));
  return llvm::Error::success();
}

llvm::Error ProblemParser::checkSize(StringRef name, llvm::ArrayRef<int64_t> shape) {
  // Empty dimensions count as 1: kernels multiply strides of empty tensors too. Dynamic ones are the call's to test.
  int64_t bytes = sizeof(double);
  bool overflows = false;
  for (int64_t size : shape)
    overflows |= llvm::MulOverflow(bytes, std::max<int64_t>(size, 1), bytes);
  if (!overflows && bytes <= kMaxTensorBytes)
    return llvm::Error::success();
  return errorAtEnd(llvm::formatv("expected tensors of at most 2^{0} bytes, found more in {1}; write smaller sizes",
                                  llvm::Log2_64(kMaxTensorBytes), name));
}

llvm::Error ProblemParser::checkSizes() {
  const auto &[b, hq, hkv, sq, sk, d, dv] =
      std::tie(problem.sizes.b, problem.sizes.hq, problem.sizes.hkv, problem.sizes.sq, problem.sizes.sk,
               problem.sizes.d, problem.sizes.dv);
  int64_t keyRows = sk, keyBatches = b;
  if (problem.paged) {
    keyRows = std::max<int64_t>(problem.getTablePages(), 1) * problem.paged->size;
    if (problem.pages)
      keyRows = *problem.pages, keyBatches = problem.paged->size;
  }
  llvm::SmallVector<std::pair<StringRef, llvm::SmallVector<int64_t>>> tensors = {{"q", {b, hq, sq, d}},
                                                                                 {"k", {keyBatches, hkv, keyRows, d}},
                                                                                 {"v", {keyBatches, hkv, keyRows, dv}},
                                                                                 {"out", {b, hq, sq, dv}}};
  for (const WordInfo &word : getWords())
    if (const auto *shape = problem.words.get<ScoreShape>(word.word))
      tensors.push_back({word.token, {shape->begin(), shape->end()}});
  if (problem.outputs.weights)
    tensors.push_back({"weights", {b, hq, sq, sk}});
  for (const auto &[name, shape] : tensors)
    if (llvm::Error failure = checkSize(name, shape))
      return failure;
  return llvm::Error::success();
}

llvm::Error ProblemParser::check() {
  if (llvm::Error failure = checkHeads())
    return failure;
  if (llvm::Error failure = checkKeyTypes())
    return failure;
  if (llvm::Error failure = checkAlignment())
    return failure;
  if (llvm::Error failure = checkOrigins())
    return failure;
  if (llvm::Error failure = checkPacking())
    return failure;
  if (llvm::Error failure = checkPages())
    return failure;
  if (llvm::Error failure = checkOutputs())
    return failure;
  if (llvm::Error failure = checkGradients())
    return failure;
  if (llvm::Error failure = checkInto())
    return failure;
  for (const WordInfo &word : getWords())
    if (const auto *shape = problem.words.get<ScoreShape>(word.word))
      if (llvm::Error failure = checkScoreShape(word.token, *shape))
        return failure;
  if (llvm::Error failure = checkSizes())
    return failure;
  return checkCaptureNames(problem);
}
