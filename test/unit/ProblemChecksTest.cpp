//===- ProblemChecksTest.cpp - words of a problem line beside each other ----===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ProblemText.h"

using namespace attn;
using attn::test::canonical;
using attn::test::reason;

namespace {

TEST(ProblemChecks, WindowIsPlacedByOneAlignment) {
  EXPECT_EQ(canonical("sq9 sk8 d1 window=1,0 align=bottom_right"),
            "b1 hq1 hkv1 sq9 sk8 d1 dv1 f32 window=1,0 align=bottom_right");
  EXPECT_EQ(reason("sq9 sk8 d1 window=1,0"), "expected an alignment of the window, as 9 queries and 8 keys differ; "
                                             "write align=top_left, align=bottom_right or align=offset");
  EXPECT_EQ(reason("sq9 d1 align=top_left"), "expected align only with a window or chunk, found none; leave it out");
  EXPECT_EQ(reason("sq9 d1 causal=top_left window=1,0 align=top_left"),
            "expected align only without causal, which says the alignment itself; leave it out");
}

TEST(ProblemChecks, HeadsAreGroups) {
  EXPECT_EQ(
      canonical("hq8 hkv3 sq1 d1"),
      "problem line, column 5: expected a divisor of the 8 query heads, found 3 key heads; write a number of query "
      "heads that is a multiple of it\n"
      "  hq8 hkv3 sq1 d1\n"
      "      ^~~~");
}

TEST(ProblemChecks, BiasAndMaskBroadcast) {
  EXPECT_EQ(reason("b2 hq8 hkv2 sq3 sk5 d1 bias=1,2,3,5"),
            "expected 1 or 8 in the head dimension of bias, found 2; write bias=2,8,3,5, with 1 where it broadcasts");
  EXPECT_EQ(reason("b2 sq3 sk5 d1 mask=2,1,3,4"),
            "expected 1 or 5 in the key dimension of mask, found 4; write mask=2,1,3,5, with 1 where it broadcasts");
  EXPECT_EQ(reason("sq1 d1 bias=1,1,1"),
            "expected four sizes: batch, heads, queries, keys, found 'bias=1,1,1'; write bias=1,8,113,203 or the like");
  EXPECT_EQ(reason("sq1 d1 mask=boolean"), "expected 'bool' or four sizes: batch, heads, queries, keys, found "
                                           "'mask=boolean'; write mask=bool, mask=1,1,113,203 or the like");
}

TEST(ProblemChecks, KeysOfAnotherType) {
  for (llvm::StringRef line :
       {"b1 hq8 hkv2 sq1 sk203 d64 dv64 f32 kv=int8 causal=bottom_right",
        "b1 hq8 hkv2 sq1 sk203 d64 dv64 f64 kv=fp8 kvscale=token",
        "b1 hq8 hkv2 sq1 sk? d64 dv64 f32 kv=int8 kvscale=page kv_lengths paged=16",
        "b? hq8 hkv2 sq? sk? d64 dv64 f32 kv=bf16", "b1 hq1 hkv1 sq1 sk1 d1 dv1 f32 kv=f16",
        "b1 hq1 hkv1 sq1 sk1 d1 dv1 bf16 kv=int8 out=lse", "b1 hq1 hkv1 sq1 sk1 d1 dv1 f32 kv=fp8 out=weights",
        "b1 hq1 hkv1 sq1 sk1 d1 dv1 bf16 kv=e5m2"})
    EXPECT_EQ(canonical(line), line);
  EXPECT_EQ(canonical("sq1 d1 kv=int8 kvscale=head"), "b1 hq1 hkv1 sq1 sk1 d1 dv1 f32 kv=int8");
  EXPECT_EQ(canonical("sq1 d1 bf16 kv=bf16 out=weights"), "b1 hq1 hkv1 sq1 sk1 d1 dv1 bf16 out=weights");
  std::pair<llvm::StringRef, llvm::StringRef> wrong[] = {
      {"kv=int4", "expected the type of k and v, found 'kv=int4'; write kv=int8, kv=fp8, kv=e5m2, kv=bf16 or kv=f16"},
      {"kv=fp8 kvscale=row", "expected what has a scale, found 'kvscale=row'; write kvscale=head, kvscale=token, "
                             "kvscale=page or kvscale=slot"},
      {"kvscale=head", "expected kvscale only with kv=int8, kv=fp8 or kv=e5m2, which have scales; leave it out"},
      {"f64 kv=f16", "expected 16-bit keys and values beside f32, found them beside f64; write f32, or leave kv out"},
      {"kv=int8 kvscale=token layout=varlen",
       "expected a scale a head with layout=varlen, whose keys have no dimension of their own in (batch, head, key), "
       "found one a token; write kvscale=head"},
      {"kv=int8 kvscale=token sk? paged=16 kv_lengths",
       "expected a number of keys with kvscale=token and paged, found 'sk?'; write sk as a number, or kvscale=slot, "
       "scales in pages"},
      {"kv=int8 kvscale=slot",
       "expected kvscale=page and kvscale=slot only with paged; write kvscale=token, or paged=16"}};
  for (auto [line, text] : wrong)
    EXPECT_EQ(reason("sq1 d1 " + line.str()), text);
}

TEST(ProblemChecks, WideResults) {
  for (llvm::StringRef line : {"b1 hq8 hkv2 sq1 sk203 d64 dv64 bf16 result=f32 causal=bottom_right",
                               "b1 hq8 hkv8 sq1 sk203 d64 dv64 f16 kv=int8 result=f32 out=lse grad=q"})
    EXPECT_EQ(canonical(line), line);
  EXPECT_EQ(canonical("sq1 d1 result=f32"), "b1 hq1 hkv1 sq1 sk1 d1 dv1 f32");
  EXPECT_EQ(reason("sq1 d1 bf16 result=bf16"),
            "expected the type of out and of gradients beside 16-bit q, found 'result=bf16'; write result=f32");
  EXPECT_EQ(reason("sq1 d1 f64 result=f32"),
            "expected result=f32 beside f32 or 16-bit q, found it beside f64; leave it out");
  EXPECT_EQ(reason("sq1 d1 bf16 result=f32 out=weights"),
            "expected no result=f32 with weights, which are of the type of q as out is; leave one out");
}

TEST(ProblemChecks, Into) {
  for (llvm::StringRef line :
       {"b1 hq8 hkv2 sq1 sk203 d64 dv64 bf16 result=f32 out=lse into=state",
        "b1 hq8 hkv8 sq1 sk203 d64 dv64 f64 layout=varlen out=lse,max,log_sum into=state",
        "b1 hq8 hkv8 sq1 sk203 d64 dv64 f32 layout=bshd grad=q,k,v,bias bias=1,1,1,203 into=k,v"})
    EXPECT_EQ(canonical(line).empty(), false);
  EXPECT_EQ(canonical("sq1 d1 out=lse into=state"), "b1 hq1 hkv1 sq1 sk1 d1 dv1 f32 out=lse into=state");
  EXPECT_EQ(canonical("sq1 d1 grad=q,k into=k"), "b1 hq1 hkv1 sq1 sk1 d1 dv1 f32 grad=q,k into=k");
  EXPECT_EQ(reason("sq1 d1 into=q,q"),
            "expected what is added to in place of overwriting it, each once, found 'into=q,q'; write into=state, or "
            "into=q,k,v or some of these");
  EXPECT_EQ(reason("sq1 d1 out=lse grad=q into=state,q"),
            "expected into=state alone, or names of arguments that have gradients; leave one out");
  EXPECT_EQ(reason("sq1 d1 bf16 out=lse into=state"),
            "expected results of the type of the sums beside into, found bf16, in which each call would round them; "
            "write result=f32 as well");
  EXPECT_EQ(reason("hq2 sq1 d1 layout=bsd out=lse into=state"),
            "expected heads as a dimension of out and of gradients beside into, found layout=bsd; write layout=bshd, "
            "whose memory is the same");
  EXPECT_EQ(reason("sq1 d1 into=x"), "expected state, or some of q, k and v, found x");
  EXPECT_EQ(reason("sq1 d1 grad=q into=k"), "expected the gradient of k beside into=k, found none; write grad=k");
  EXPECT_EQ(reason("sq1 d1 scale=? grad=q,scale into=q"),
            "expected no gradient of a scale beside into, whose products are rounded apart; leave one out");
  EXPECT_EQ(reason("sq1 d1 kv=f16 grad=q,k into=q,k"),
            "expected into=q alone beside kv=f16, the type of the gradients of k and v, in which each call would round "
            "them; leave k and v out");
  EXPECT_EQ(reason("sq1 d1 out=lse grad=q into=state"),
            "expected no grad beside into=state, whose state has a gradient of its own; take the gradients from lse of "
            "the whole row: write out=lse and grad without into=state");
  for (llvm::StringRef output : {"weights", "key_sums"})
    EXPECT_EQ(reason(("sq1 d1 into=state out=lse," + output).str()),
              ("expected no " + output +
               " beside into=state: they are of the keys of one call, and lse would be that of "
               "all; leave one out")
                  .str());
  EXPECT_EQ(
      reason("sq1 d1 into=state out=lse,max"),
      "expected max and log_sum together beside into=state, found one of them; write out=max,log_sum, or out=lse");
  EXPECT_EQ(
      reason("sq1 d1 into=state"),
      "expected lse beside into=state, as it says how much of a row has been summed, found none; write out=lse, or "
      "out=max,log_sum");
  EXPECT_EQ(
      reason("sq1 d1 sink into=state out=lse"),
      "expected no sink beside into=state, where it would count once more with each call; give it to the call that "
      "makes the state");
}

TEST(ProblemChecks, Origins) {
  for (llvm::StringRef line :
       {"b2 hq8 hkv2 sq113 sk203 d64 dv64 f32 causal=offset prefix=9 q_lengths q_origin k_origin out=lse,weights",
        "b? hq8 hkv2 sq? sk? d64 dv64 f32 window=1,2 align=top_left k_origin dropout=0.1 b_origin h_origin whole",
        "b2 hq8 hkv2 sq113 sk203 d64 dv64 f32 causal=top_left q_origin b_origin layout=varlen out=lse"})
    EXPECT_EQ(canonical(line), line);
  std::pair<llvm::StringRef, llvm::StringRef> wrong[] = {
      {"causal=bottom_right q_origin",
       "expected no bottom_right beside q_origin, as the sizes of the whole are not those of its part; write "
       "causal=offset, with Sk - Sq of the whole in each call"},
      {"window=1,0 align=bottom_right k_origin",
       "expected no bottom_right beside k_origin, as the sizes of the whole are not those of its part; write "
       "align=offset, with Sk - Sq of the whole in each call"},
      {"chunk=4 q_origin", "expected an alignment of the chunk beside q_origin and k_origin, whose sizes are not those "
                           "of the whole; write align=top_left or align=offset"},
      {"dropout=0.1 h_origin", "expected whole beside dropout and h_origin, the sizes that dropout counts weights by, "
                               "found none; write whole as well"},
      {"whole", "expected whole beside dropout, which alone reads it, found it alone; leave it out"},
      {"dropout=0.1 whole out=weights", "expected no weights beside origins of heads, of score_mod or of dropout, "
                                        "whose path does not have them; write out=lse, or leave it out"},
      {"layout=varlen b? causal=top_left q_origin",
       "expected a number of sequences with layout=varlen and origins, found 'b?'; write a number as b2"},
      {"q_origin=3", "expected a token of problem lines, found 'q_origin=3'; did you mean 'q_origin'?"}};
  for (auto [line, text] : wrong)
    EXPECT_EQ(reason("sq9 d1 " + line.str()), text);
}

TEST(ProblemChecks, ConflictsAreRefused) {
  std::pair<llvm::StringRef, llvm::StringRef> cases[] = {
      {"layout=varlen q_lengths",
       "expected no q_lengths with layout=varlen, whose cu_seqlens say the lengths; leave it out"},
      {"layout=varlen kv_lengths",
       "expected no kv_lengths with layout=varlen, whose cu_seqlens say the lengths; leave it out"},
      {"layout=varlen mask=bool", "expected no mask with layout=varlen, whose sequences have scores of different "
                                  "sizes; leave it out, or write a region"},
      {"layout=varlen out=lse,weights", "expected no weights with layout=varlen, whose sequences have scores of "
                                        "different sizes; write out=lse, or leave it out"},
      {"layout=varlen dropout=0.5",
       "expected no dropout with layout=varlen, whose scores have no index of their own; leave it out"},
      {"layout=varlen b? causal=offset",
       "expected a number of sequences with layout=varlen and offsets, found 'b?'; write a number as b2"},
      {"layout=varlen paged=4 kv_lengths mask=bool",
       "expected no mask with layout=varlen, whose sequences have scores of different sizes; leave it out, or write a "
       "region"},
      {"paged=4", "expected kv_lengths with paged, which say what of the pages is in use; write kv_lengths as well"},
      {"pages=4", "expected pages only with paged, found none; write paged=16 or the like"},
      {"hq? paged=4 kv_lengths",
       "expected numbers of heads with paged, whose pages hold a known number of them, found 'hq?'; write a number as "
       "hq8"},
      {"sk? paged=4 kv_lengths out=weights",
       "expected no weights with paged and 'sk?', found out=weights; write a number "
       "of keys, or out=lse"},
      {"sk? paged=4 kv_lengths bias=1,1,1,?", "expected size 1 in the key dimension of bias with paged and sk?, found "
                                              "?; write sk as a number, or 1"},
      {"causal=offset window=1,0 align=offset",
       "expected align only without causal, which says the alignment itself; leave it out"}};
  for (auto [line, text] : cases)
    EXPECT_EQ(reason("sq9 d1 " + line.str()), text);
  for (llvm::StringRef mayDiffer : {"kv_lengths", "q_lengths", "layout=varlen", "sk?"})
    EXPECT_EQ(reason("sq9 d1 window=1,0 " + mayDiffer.str()),
              "expected an alignment of the window, as the numbers of queries and keys may differ from call to call; "
              "write align=top_left, align=bottom_right or align=offset");
}

} // namespace
