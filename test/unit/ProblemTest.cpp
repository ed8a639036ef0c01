//===- ProblemTest.cpp - problem lines --------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ProblemText.h"
#include "attn/Support/OtherWords.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace attn;
using attn::test::canonical;
using attn::test::reason;

namespace {

/// What the error of a word that is no token says to write.
std::string advice(llvm::StringRef word) {
  std::string text = reason("sq1 d1 " + word.str());
  std::string start = "expected a token of problem lines, found '" + word.str() + "'; ";
  EXPECT_EQ(text.substr(0, start.size()), start);
  return text.substr(std::min(start.size(), text.size()));
}

TEST(Problem, Defaults) {
  EXPECT_EQ(canonical("sq128 d64"), "b1 hq1 hkv1 sq128 sk128 d64 dv64 f32");
  EXPECT_EQ(canonical(" hq8\tsq0  d1 "), "b1 hq8 hkv8 sq0 sk0 d1 dv1 f32");
}

TEST(Problem, EveryTokenRoundTrips) {
  constexpr llvm::StringRef lines[] = {
      "b2 hq8 hkv2 sq113 sk203 d64 dv80 f64 causal=bottom_right softcap=30 scale=0.1 bias=1,8,113,203 mask=1,1,113,203 "
      "out=lse",
      "b1 hq1 hkv1 sq1 sk0 d59 dv1 bf16 causal=top_left scale=-1e-05",
      "b1 hq1 hkv1 sq1 sk1 d1 dv1 f16 softcap=1.5e+300 scale=0 bias=1,1,1,1",
  };
  for (llvm::StringRef line : lines)
    EXPECT_EQ(canonical(line), line);
}

TEST(Problem, OrderIsFree) {
  EXPECT_EQ(canonical("mask=bool out=lse f64 d8 hkv2 sk7 hq4 sq5 b3"),
            "b3 hq4 hkv2 sq5 sk7 d8 dv8 f64 mask=3,4,5,7 out=lse");
}

TEST(Problem, ScalesReadBackExactly) {
  for (double scale : {0.1, 1.0 / 3, 1e-300, 5e-324, -1.7976931348623157e308}) {
    Problem problem;
    problem.words[Word::scale] = scale;
    llvm::Expected<Problem> parsed = parseProblem(printProblem(problem));
    ASSERT_TRUE(bool(parsed)) << llvm::toString(parsed.takeError());
    EXPECT_EQ(*parsed, problem);
  }
}

TEST(Problem, WindowBoundsMayBeLeftOut) {
  EXPECT_EQ(canonical("sq9 d1 window=127,0"), "b1 hq1 hkv1 sq9 sk9 d1 dv1 f32 window=127,0");
  EXPECT_EQ(canonical("sq9 d1 window=127,"), "b1 hq1 hkv1 sq9 sk9 d1 dv1 f32 window=127,");
  EXPECT_EQ(canonical("sq9 d1 window=,3 layout=bshd"), "b1 hq1 hkv1 sq9 sk9 d1 dv1 f32 window=,3 layout=bshd");
}

TEST(Problem, LayoutBhsdIsTheDefault) { EXPECT_EQ(canonical("sq1 d1 layout=bhsd"), canonical("sq1 d1")); }

TEST(Problem, ErrorsShowThePlace) {
  EXPECT_EQ(canonical("b2 sq4\thq0 d64"),
            "problem line, column 8: expected a number of query heads from 1 to 2147483647, found "
            "'hq0'; write a number as hq8, or hq?\n"
            "  b2 sq4 hq0 d64\n"
            "         ^~~");
  EXPECT_EQ(canonical("b2 d64  "),
            "problem line, column 7: expected a query length from 0 to 2147483647, found no 'sq'; write "
            "a number as sq128, or sq?\n"
            "  b2 d64\n"
            "        ^");
  EXPECT_EQ(
      canonical("sq1 d1 \xc3\xa9=1 \x01"),
      "problem line, column 8: expected a token of problem lines, found '?\?=1'; write one of b, hq, hkv, sq, sk, "
      "d, dv, f32, f64, bf16, f16, kv, kvscale, result, causal, window, align, chunk, prefix, softcap, scale, bias, "
      "mask, "
      "sink, "
      "q_lengths, kv_lengths, q_origin, k_origin, dropout, b_origin, h_origin, whole, scale=?, paged, pages, layout, "
      "strided, out, grad, into\n"
      "  sq1 d1 ?\?=1 ?\n"
      "         ^~~~");
}

TEST(Problem, Sizes) {
  EXPECT_EQ(reason("sq-1 d64"),
            "expected a query length from 0 to 2147483647, found 'sq-1'; write a number as sq128, or sq?");
  for (llvm::StringRef wrong :
       {"sq", "sq=4", "sq1x", "sq2147483648", "sq99999999999999999999999", "sq+1", "sq1.5", "sq0x1"})
    EXPECT_EQ(reason(wrong.str() + " d64"), "expected a query length from 0 to 2147483647, found '" + wrong.str() +
                                                "'; write a number as sq128, or sq?");
  for (llvm::StringRef zero : {"b0", "hq0", "hkv0", "d0", "dv0"})
    EXPECT_TRUE(llvm::StringRef(reason("sq1 d1 " + zero.str())).contains("found '" + zero.str() + "'")) << zero.str();
  EXPECT_EQ(reason("sq1"), "expected a head size from 1 to 2147483647, found no 'd'; write a number as d64");
  EXPECT_EQ(reason("b2147483647 sq2147483647 d1"),
            "expected tensors of at most 2^47 bytes, found more in q; write smaller sizes");
  EXPECT_EQ(reason("hq65536 hkv1 sq65536 sk65536 d1 mask=bool"),
            "expected tensors of at most 2^47 bytes, found more in mask; write smaller sizes");
}

TEST(Problem, CausalNeedsAnAlignment) {
  for (llvm::StringRef wrong : {"causal", "causal=", "causal=yes"})
    EXPECT_EQ(reason("sq1 d1 " + wrong.str()), "expected an alignment, found '" + wrong.str() +
                                                   "'; write causal=top_left, causal=bottom_right or causal=offset");
}

TEST(Problem, Numbers) {
  for (llvm::StringRef wrong : {"0", "-1", "nan", "inf", "", "1e999", "3x", "1,5"})
    EXPECT_EQ(reason("sq1 d1 softcap=" + wrong.str()),
              "expected a positive number, found 'softcap=" + wrong.str() + "'; write softcap=30 or the like");
  for (llvm::StringRef wrong : {"nan", "-inf", "", "1e999", "x"})
    EXPECT_EQ(reason("sq1 d1 scale=" + wrong.str()),
              "expected a finite number, found 'scale=" + wrong.str() +
                  "'; write scale=0.125 or the like, or scale=? for one that each call gives");
}

TEST(Problem, ScaleOfEachCall) {
  EXPECT_EQ(canonical("sq1 d1 scale=? dropout=0.5 sink grad=scale,q"),
            "b1 hq1 hkv1 sq1 sk1 d1 dv1 f32 sink dropout=0.5 scale=? grad=scale,q");
  EXPECT_EQ(reason("sq1 d1 scale=? scale=0.5"), "expected 'scale=?' alone, found 'scale=0.5' as well; leave one out");
  EXPECT_EQ(reason("sq1 d1 scale=0.5 scale=?"), "expected 'scale=0.5' alone, found 'scale=?' as well; leave one out");
  for (llvm::StringRef line : {"sq1 d1 grad=scale", "sq1 d1 scale=0.5 grad=scale"})
    EXPECT_EQ(reason(line),
              "expected one of q, k, v, found scale, which has no gradient here; write scale=? for one that has");
  EXPECT_EQ(reason("sq1 d1 scale=? grad=seed"),
            "expected one of q, k, v, scale, found seed, which has no gradient here");
}

TEST(Problem, NothingTwice) {
  EXPECT_EQ(reason("sq1 d1 sq2"), "expected 'sq1' alone, found 'sq2' as well; leave one out");
  EXPECT_EQ(reason("sq1 d1 f32 f64"), "expected 'f32' alone, found 'f64' as well; leave one out");
  EXPECT_EQ(reason("sq1 d1 out=lse,lse"), "expected further outputs, found 'out=lse,lse'; write out=lse, out=weights, "
                                          "out=lse,weights, or some of lse, max, "
                                          "log_sum and key_sums");
}

TEST(Problem, UnknownTokens) {
  EXPECT_EQ(reason("sq1 d1 casual=top_left"),
            "expected a token of problem lines, found 'casual=top_left'; did you mean 'causal'?");
  // Other case and separators, letters in another order; what is far from every name gets all of them.
  for (llvm::StringRef word : {"Causal=top_left", "casual", "caussal"})
    EXPECT_EQ(advice(word), "did you mean 'causal'?") << word.str();
  EXPECT_EQ(advice("KV-lengths"), "did you mean 'kv_lengths'?");
  EXPECT_EQ(advice("D64"), "did you mean 'd'?");
  EXPECT_EQ(advice("zebra").substr(0, 19), "write one of b, hq,");
}

// A word of another system, whatever name of ours is near it by letters.
TEST(Problem, WordsOfOtherSystems) {
  constexpr std::pair<llvm::StringRef, llvm::StringRef> words[] = {
      {"int8", "kv=int8"},
      {"i8", "kv=int8"},
      {"fp8", "kv=fp8"},
      {"float8_e4m3fn", "kv=fp8"},
      {"e5m2", "kv=e5m2"},
      {"int4", "kv=int8 or kv=fp8"},
      {"fp32", "f32"},
      {"fp16", "f16"},
      {"half", "f16"},
      {"bfloat16", "bf16"},
      {"double", "f64"},
      {"dtype=bf16", "f32, f64, bf16 or f16 alone"},
      {"alibi", "score_mod { ... }"},
      {"alibi_slopes", "score_mod { ... }"},
      {"score_mod", "score_mod { ... }"},
      {"segment_ids", "mask_mod { ... }"},
      {"rope", "nothing: q and k are given rotated"},
      {"batch=2", "b2"},
      {"bs2", "b2"},
      {"heads=8", "hq8"},
      {"num_heads=8", "hq8"},
      {"h8", "hq8"},
      {"n_heads=8", "hq8"},
      {"num_kv_heads=2", "hkv2"},
      {"kv_heads=2", "hkv2"},
      {"gqa", "hkv2 beside hq8"},
      {"seq=128", "sq128"},
      {"seqlen=128", "sq128"},
      {"s128", "sq128"},
      {"kv_len=128", "sk203"},
      {"head_dim=64", "d64"},
      {"headdim64", "d64"},
      {"dk64", "d64"},
      {"is_causal=true", "causal=top_left"},
      {"isCausal", "causal=top_left"},
      {"sliding_window=128", "window=SIZE-1,0"},
      {"window_size=127,0", "window=LEFT,RIGHT"},
      {"attn_mask", "mask=bool"},
      {"dropout_p=0.1", "dropout=0.1"},
      {"sm_scale=0.1", "scale=0.125"},
      {"softmax_scale=0.1", "scale=0.125"},
      {"logits_soft_cap=30", "softcap=30"},
      {"bshd", "layout=bshd"},
      {"bnsd", "layout=bhsd"},
      {"varlen", "layout=varlen"},
      {"cu_seqlens_q", "layout=varlen"},
      {"block_table", "paged=16"},
      {"page_size=16", "paged=16"},
      {"cache_seqlens", "kv_lengths"},
      {"return_lse", "out=lse"},
      {"lse", "out=lse"},
      {"weights", "out=weights"},
      {"backward", "grad=q,k,v"},
      {"num_splits=4", "nothing: the compiler chooses"},
      {"target=avx2", "--target="},
      {"prefill", "nothing: the sizes say it"},
      {"padded", "q_lengths and kv_lengths"},
      {"qkv", "strided"},
      {"bottom_right", "causal=bottom_right"},
      {"per_token", "kvscale=token"},
  };
  for (auto [word, line] : words)
    EXPECT_TRUE(llvm::StringRef(advice(word)).starts_with(("write " + line).str()))
        << word.str() << ": " << advice(word);
  // No name has two rows, and none is a token of ours, which would never reach its row.
  llvm::StringSet<> names;
  for (const OtherWord &row : getOtherWords()) {
    for (llvm::StringRef name : llvm::split(row.names, ", "))
      EXPECT_TRUE(names.insert(name).second) << name.str();
    EXPECT_TRUE(row.attribute.empty() || !findWord(row.attribute) || !findWord(row.attribute)->assembly.empty())
        << row.attribute.str();
  }
}

TEST(Problem, DynamicSizes) {
  EXPECT_EQ(canonical("b? hq? sq? sk? d64"), "b? hq? hkv? sq? sk? d64 dv64 f32");
  EXPECT_EQ(canonical("b? hq8 hkv2 sq? d64 mask=bool bias=1,8,?,1"),
            "b? hq8 hkv2 sq? sk? d64 dv64 f32 bias=1,8,?,1 mask=?,8,?,?");
  EXPECT_EQ(reason("sq? d64 bias=1,1,3,1"),
            "expected 1 or ? in the query dimension of bias, found 3; write bias=1,1,?,?, with 1 where it broadcasts");
  EXPECT_EQ(reason("sq3 d64 bias=1,1,?,1"),
            "expected 1 or 3 in the query dimension of bias, found ?; write bias=1,1,3,3, with 1 where it broadcasts");
  EXPECT_EQ(reason("sq1 d?"), "expected a head size from 1 to 2147483647, found 'd?'; write a number as d64");
  EXPECT_EQ(reason("hq? hkv2 sq1 d1"), "expected both numbers of heads to be dynamic, which means equal, or neither, "
                                       "found hq? and hkv2; write hq? hkv?, or numbers of both");
  EXPECT_EQ(reason("hq? sq1 d1 layout=bsd"), "expected numbers of heads in layout=bsd, which has no dimension for "
                                             "them, found 'hq?'; write a number as hq8");
}

TEST(Problem, NewTokensRoundTrip) {
  constexpr llvm::StringRef lines[] = {
      "b2 hq8 hkv2 sq113 sk203 d64 dv64 f32 causal=offset sink q_lengths kv_lengths dropout=0.1 out=lse,weights",
      "b2 hq8 hkv2 sq113 sk203 d64 dv64 f32 window=1,2 align=offset layout=bsd out=weights",
      "b2 hq8 hkv2 sq113 sk203 d64 dv64 f32 causal=bottom_right sink layout=varlen out=lse",
      "b2 hq8 hkv2 sq113 sk203 d64 dv64 f32 kv_lengths paged=16",
      "b? hq8 hkv2 sq113 sk? d64 dv64 f32 mask=1,8,113,1 kv_lengths paged=5,hnd pages=70 layout=bsd",
      "b? hq8 hkv2 sq? sk? d64 dv64 f32 causal=offset kv_lengths paged=16 layout=varlen",
  };
  for (llvm::StringRef line : lines)
    EXPECT_EQ(canonical(line), line);
  EXPECT_EQ(canonical("sq1 d1 kv_lengths paged=16,nhd"), canonical("sq1 d1 kv_lengths paged=16"));
}

TEST(Problem, MalformedNewTokens) {
  for (llvm::StringRef wrong : {"dropout=1.5", "dropout=-0.1", "dropout=nan", "dropout=", "dropout"})
    EXPECT_EQ(reason("sq1 d1 " + wrong.str()),
              "expected a probability from 0 to 1, found '" + wrong.str() + "'; write dropout=0.1 or the like");
  for (llvm::StringRef wrong : {"paged=0", "paged=", "paged=16,", "paged=16,ndh", "paged=16,nhd,hnd"})
    EXPECT_EQ(reason("sq1 d1 kv_lengths " + wrong.str()),
              "expected a page size from 1 to 2147483647 and a page layout, found '" + wrong.str() +
                  "'; write paged=16 or paged=16,hnd");
  EXPECT_EQ(reason("sq1 d1 sink=1"), "expected a token of problem lines, found 'sink=1'; did you mean 'sink'?");
}

TEST(Problem, RegionsFollowTheLine) {
  constexpr llvm::StringRef text = "b1 hq8 hkv8 sq3 sk3 d4 dv4 f32\n"
                                   "captures(%slopes : tensor<8xf32>, %doc : tensor<1x3xi32>)\n"
                                   "score_mod {\n^bb0(%s: f32):\n  attn.yield %s : f32\n}\n"
                                   "mask_mod { %t = arith.constant true attn.yield %t : i1 }";
  llvm::Expected<Problem> problem = parseProblem(text);
  ASSERT_TRUE(bool(problem)) << llvm::toString(problem.takeError());
  EXPECT_EQ(printProblem(*problem), text);
  EXPECT_EQ(printProblemLine(*problem), text.split('\n').first);
  ASSERT_EQ(problem->captures.size(), 2u);
  EXPECT_EQ(problem->captures[1].name, "doc");
  EXPECT_EQ(problem->captures[1].type, "tensor<1x3xi32>");
  std::string owned = llvm::cantFail(problemToMLIR(*problem));
  llvm::StringRef ir = owned;
  EXPECT_TRUE(ir.contains("%arg3: tensor<8xf32> {attn.name = \"slopes\"}, %arg4: tensor<1x3xi32>"));
  EXPECT_TRUE(ir.contains("outs(%0 : tensor<1x8x3x4xf32>) score_mod {\n    ^bb0(%arg5: f32):\n"));
  EXPECT_TRUE(ir.contains("} mask_mod {\n      %true = arith.constant true\n      attn.yield %true : i1\n    } -> "));
}

/// Captured arrays may have any other name than the arguments and results; what is printed beside them has a dot.
TEST(Problem, NamesOfCapturedArrays) {
  auto refusal = [](llvm::StringRef line, llvm::StringRef name) {
    llvm::Expected<Problem> problem = parseProblem(
        (line + "\ncaptures(%" + name + " : tensor<4xf32>)\nscore_mod {\n^bb0(%s: f32):\n  attn.yield %s : f32\n}")
            .str());
    return problem ? "" : llvm::toString(problem.takeError());
  };
  EXPECT_EQ(refusal("hq4 hkv4 sq3 sk5 d4", "k_scale"), "");
  EXPECT_EQ(refusal("hq4 hkv4 sq3 sk5 d4 bf16 out=weights", "result"), "");
  EXPECT_EQ(refusal("hq4 hkv4 sq3 sk5 d4 kv=int8", "k_scale"),
            "problem captures: expected another name than those of the kernel's arguments and results, found %k_scale; "
            "write one as %captured_k_scale");
  EXPECT_NE(refusal("hq4 hkv4 sq3 sk5 d4 out=lse", "lse"), "");
}

TEST(Problem, MalformedRegions) {
  std::pair<llvm::StringRef, llvm::StringRef> cases[] = {
      {"nonsense", "problem regions: expected captures(...), score_mod { ... } and mask_mod { ... }, in this order, "
                   "found 'nonsense'"},
      {"mask_mod {} score_mod {}",
       "problem regions: expected captures(...), score_mod { ... } and mask_mod { ... }, in "
       "this order, found 'score_mod {}'"},
      {"score_mod { {}", "problem regions: expected { ... } after score_mod, found '{ {}'"},
      {"score_mod", "problem regions: expected { ... } after score_mod, found ''"},
      {"captures", "problem captures: expected (%name : type, ...), found ''"},
      {"captures(%a : f32", "problem captures: expected (%name : type, ...), found '%a : f32'"},
      {"captures(a : f32)", "problem captures: expected %name : type, found 'a : f32'"},
      {"captures(%a)", "problem captures: expected %name : type, found '%a'"},
      {"captures(%a : f32, %a : f32)", "problem captures: expected each name once, found %a twice"}};
  for (auto [text, message] : cases)
    EXPECT_EQ(canonical(("sq1 d1\n" + text).str()), message);
}

TEST(Problem, LongLines) {
  EXPECT_EQ(canonical(std::string(5000, 'x')), "problem line: expected at most 4096 characters, found 5000");
}

TEST(Problems, CommentsAndBlankLinesAreSkipped) {
  llvm::Expected<std::vector<Problem>> problems = parseProblems("# sizes\n\nsq1 d2\r\n  \t\nsq3 d4 # decode\nsq5 d6");
  ASSERT_TRUE(bool(problems)) << llvm::toString(problems.takeError());
  ASSERT_EQ(problems->size(), 3u);
  EXPECT_EQ(problems->at(0).sizes.sq, 1);
  EXPECT_EQ(problems->at(1).sizes.d, 4);
  EXPECT_EQ(problems->at(2).sizes.sq, 5);
}

TEST(Problems, ErrorsNameTheLine) {
  llvm::Expected<std::vector<Problem>> problems = parseProblems("sq1 d1\n\n  sq1 hqs1");
  ASSERT_FALSE(bool(problems));
  EXPECT_EQ(llvm::toString(problems.takeError()),
            "problem line, line 3, column 7: expected a token of problem lines, found 'hqs1'; did you mean 'hq'?\n"
            "    sq1 hqs1\n"
            "        ^~~~");
}

TEST(Problem, LinearAttention) {
  EXPECT_EQ(canonical("linear sq5 d8"), "linear b1 hq1 hkv1 sq5 d8 dv8 f32");
  constexpr llvm::StringRef lines[] = {
      "linear b2 hq8 hkv4 sq? d64 dv80 bf16 decay=channel erase write before normalize=1e-05 scale=1 slots=24 "
      "layout=bshd",
      "linear b? hq8 hkv4 sq113 d64 dv64 f64 decay=head beta slots=?",
      "linear b3 hq1 hkv1 sq9 d1 dv1 f16 layout=varlen",
      "linear b1 hq4 hkv2 sq65 d32 dv32 f32 decay=head beta grad=q,k,beta,state",
  };
  for (llvm::StringRef line : lines)
    EXPECT_EQ(canonical(line), line);
}

TEST(Problem, MistakesInLinearAttention) {
  std::pair<llvm::StringRef, llvm::StringRef> cases[] = {
      {"linear sq5 d8 causal=top_left",
       "expected a token of lines of linear attention, found 'causal=top_left'; write b, hq, hkv, sq, d, dv, an "
       "element type, layout, grad, or one of decay, beta, erase, write, before, normalize, scale, slots"},
      {"linear sq5 d8 decay=row", "expected what has a decay, found 'decay=row'; write decay=head or decay=channel"},
      {"linear sq5 d8 beta beta", "expected 'beta' once, found 'beta' as well; leave one out"},
      {"linear sq5 d8 beta=1", "expected beta alone, found 'beta=1'; write beta"},
      {"linear sq5 d8 normalize=0",
       "expected a number above 0 that is added to the sum of squares, found 'normalize=0'; write normalize or "
       "normalize=1e-6"},
      {"linear sq5 d8 beta erase", "expected beta or erase, found both; leave one out"},
      {"linear sq5 d8 before", "expected erase beside before, found none; write erase"},
      {"linear sq5 d8 hq? hkv?", "expected static numbers of heads, found '?'; write hq32 hkv16 or the like"},
      {"linear hq4 hkv3 sq5 d8",
       "expected hq, the heads of value, to be a multiple of hkv, those of query and key, found 4 and 3"},
      {"linear sq5 d8 layout=bsd", "expected layout=bhsd, layout=bshd or layout=varlen, found layout=bsd"},
      {"linear b? sq5 d8 layout=varlen",
       "expected a static number of sequences beside layout=varlen, found b?; write b4 or the like"},
  };
  for (auto [line, message] : cases)
    EXPECT_EQ(reason(line.str()), message);
}

} // namespace
