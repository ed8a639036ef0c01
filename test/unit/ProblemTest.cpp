//===- ProblemTest.cpp - problem lines --------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Compiler/Problem.h"

#include "gtest/gtest.h"

using namespace attn;

namespace {

/// The canonical form of a line, or its error.
std::string canonical(llvm::StringRef line) {
  llvm::Expected<Problem> problem = parseProblem(line);
  return problem ? printProblem(*problem) : llvm::toString(problem.takeError());
}

/// The first line of the error, without the place.
std::string reason(llvm::StringRef line) {
  std::string text = canonical(line);
  llvm::StringRef first = llvm::StringRef(text).split('\n').first;
  return first.starts_with("problem line, column ") ? first.split(": ").second.str() : text;
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
    problem.scale = scale;
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

TEST(Problem, WindowIsPlacedByOneAlignment) {
  EXPECT_EQ(canonical("sq9 sk8 d1 window=1,0 align=bottom_right"),
            "b1 hq1 hkv1 sq9 sk8 d1 dv1 f32 window=1,0 align=bottom_right");
  EXPECT_EQ(reason("sq9 sk8 d1 window=1,0"), "expected an alignment of the window, as 9 queries and 8 keys differ; "
                                             "write align=top_left or align=bottom_right");
  EXPECT_EQ(reason("sq9 d1 align=top_left"),
            "expected align only with a window, found no window; write causal=... or window=...");
  EXPECT_EQ(reason("sq9 d1 causal=top_left window=1,0 align=top_left"),
            "expected align only without causal, which says the alignment itself; leave it out");
}

TEST(Problem, LayoutBhsdIsTheDefault) { EXPECT_EQ(canonical("sq1 d1 layout=bhsd"), canonical("sq1 d1")); }

TEST(Problem, ErrorsShowThePlace) {
  EXPECT_EQ(canonical("b2 sq4\thq0 d64"),
            "problem line, column 8: expected a number of query heads, at least 1, found 'hq0'; write a number as hq8\n"
            "  b2 sq4 hq0 d64\n"
            "         ^~~");
  EXPECT_EQ(canonical("b2 d64  "),
            "problem line, column 7: expected a query length of at least 0, found no 'sq'; write "
            "a number as sq128\n"
            "  b2 d64\n"
            "        ^");
  EXPECT_EQ(
      canonical("sq1 d1 \xc3\xa9=1 \x01"),
      "problem line, column 8: expected a token of problem lines, found '?\?=1'; write one of b, hq, hkv, sq, sk, "
      "d, dv, f32, f64, bf16, f16, causal, softcap, scale, bias, mask, layout, out, window, align\n"
      "  sq1 d1 ?\?=1 ?\n"
      "         ^~~~");
}

TEST(Problem, Sizes) {
  EXPECT_EQ(reason("sq-1 d64"), "expected a query length of at least 0, found 'sq-1'; write a number as sq128");
  for (llvm::StringRef wrong :
       {"sq", "sq=4", "sq1x", "sq2147483648", "sq99999999999999999999999", "sq+1", "sq1.5", "sq0x1"})
    EXPECT_EQ(reason(wrong.str() + " d64"),
              "expected a query length of at least 0, found '" + wrong.str() + "'; write a number as sq128");
  for (llvm::StringRef zero : {"b0", "hq0", "hkv0", "d0", "dv0"})
    EXPECT_TRUE(llvm::StringRef(reason("sq1 d1 " + zero.str())).contains("found '" + zero.str() + "'")) << zero.str();
  EXPECT_EQ(reason("sq1"), "expected a head size of at least 1, found no 'd'; write a number as d64");
  EXPECT_EQ(reason("b2147483647 sq2147483647 d1"),
            "expected tensors of at most 2^47 bytes, found more in q; write smaller sizes");
  EXPECT_EQ(reason("hq65536 hkv1 sq65536 sk65536 d1 mask=bool"),
            "expected tensors of at most 2^47 bytes, found more in mask; write smaller sizes");
}

TEST(Problem, HeadsAreGroups) {
  EXPECT_EQ(
      canonical("hq8 hkv3 sq1 d1"),
      "problem line, column 5: expected a divisor of the 8 query heads, found 3 key heads; write a number of query "
      "heads that is a multiple of it\n"
      "  hq8 hkv3 sq1 d1\n"
      "      ^~~~");
}

TEST(Problem, CausalNeedsAnAlignment) {
  for (llvm::StringRef wrong : {"causal", "causal=", "causal=yes"})
    EXPECT_EQ(reason("sq1 d1 " + wrong.str()),
              "expected an alignment, found '" + wrong.str() + "'; write causal=top_left or causal=bottom_right");
}

TEST(Problem, Numbers) {
  for (llvm::StringRef wrong : {"0", "-1", "nan", "inf", "", "1e999", "3x", "1,5"})
    EXPECT_EQ(reason("sq1 d1 softcap=" + wrong.str()),
              "expected a positive number, found 'softcap=" + wrong.str() + "'; write softcap=30 or the like");
  for (llvm::StringRef wrong : {"nan", "-inf", "", "1e999", "x"})
    EXPECT_EQ(reason("sq1 d1 scale=" + wrong.str()),
              "expected a finite number, found 'scale=" + wrong.str() + "'; write scale=0.125 or the like");
}

TEST(Problem, BiasAndMaskBroadcast) {
  EXPECT_EQ(reason("b2 hq8 hkv2 sq3 sk5 d1 bias=1,2,3,5"),
            "expected 1 or 8 in the head dimension of bias, found 2; write bias=2,8,3,5, with 1 where it broadcasts");
  EXPECT_EQ(reason("b2 sq3 sk5 d1 mask=2,1,3,4"),
            "expected 1 or 5 in the key dimension of mask, found 4; write mask=2,1,3,5, with 1 where it broadcasts");
  EXPECT_EQ(reason("sq1 d1 bias=1,1,1"),
            "expected four sizes: batch, heads, queries, keys, found 'bias=1,1,1'; write bias=1,8,113,203 or the like");
  EXPECT_EQ(reason("sq1 d1 mask=boolean"), "expected 'bool' or four sizes: batch, heads, queries, keys, found "
                                           "'mask=boolean'; write mask=bool, mask=1,1,113,203 or the like");
}

TEST(Problem, NothingTwice) {
  EXPECT_EQ(reason("sq1 d1 sq2"), "expected 'sq1' alone, found 'sq2' as well; leave one out");
  EXPECT_EQ(reason("sq1 d1 f32 f64"), "expected 'f32' alone, found 'f64' as well; leave one out");
  EXPECT_EQ(reason("sq1 d1 out=lse,lse"), "expected further outputs, found 'out=lse,lse'; write out=lse");
}

TEST(Problem, UnknownTokens) {
  EXPECT_EQ(reason("sq1 d1 casual=top_left"),
            "expected a token of problem lines, found 'casual=top_left'; did you mean 'causal'?");
  EXPECT_EQ(reason("sq1 d1 fp32"), "expected a token of problem lines, found 'fp32'; did you mean 'f32'?");
}

TEST(Problem, TokensOfLaterVersions) {
  for (llvm::StringRef later : {"sink=1", "dropout=0.1,1,2", "kv_lengths=3"})
    EXPECT_EQ(reason("sq1 d1 " + later.str()), "'" + later.str() + "' is not supported yet; leave it out");
  EXPECT_EQ(reason("sq? d1"), "'sq?' is not supported yet; write a number as sq128");
  EXPECT_EQ(reason("sq1 d1 layout=bsd"), "'layout=bsd' is not supported yet; write layout=bhsd or layout=bshd");
  EXPECT_EQ(reason("sq1 d1 out=lse,weights"), "'out=lse,weights' is not supported yet; write out=lse");
  EXPECT_EQ(reason("sq1 d1 bias=1,1,?,1"), "'bias=1,1,?,1' is not supported yet; write bias=1,8,113,203 or the like");
}

TEST(Problem, LongLines) {
  EXPECT_EQ(canonical(std::string(5000, 'x')), "problem line: expected at most 4096 characters, found 5000");
}

TEST(Problems, CommentsAndBlankLinesAreSkipped) {
  llvm::Expected<std::vector<Problem>> problems = parseProblems("# sizes\n\nsq1 d2\r\n  \t\nsq3 d4 # decode\nsq5 d6");
  ASSERT_TRUE(bool(problems)) << llvm::toString(problems.takeError());
  ASSERT_EQ(problems->size(), 3u);
  EXPECT_EQ(problems->at(0).sq, 1);
  EXPECT_EQ(problems->at(1).d, 4);
  EXPECT_EQ(problems->at(2).sq, 5);
}

TEST(Problems, ErrorsNameTheLine) {
  llvm::Expected<std::vector<Problem>> problems = parseProblems("sq1 d1\n\n  sq1 hqs1");
  ASSERT_FALSE(bool(problems));
  EXPECT_EQ(llvm::toString(problems.takeError()),
            "problem line, line 3, column 7: expected a token of problem lines, found 'hqs1'; did you mean 'hq'?\n"
            "    sq1 hqs1\n"
            "        ^~~~");
}

TEST(Problem, IR) {
  EXPECT_EQ(problemToMLIR(*parseProblem("sq3 d4")), R"(// b1 hq1 hkv1 sq3 sk3 d4 dv4 f32
func.func @sdpa(%q: tensor<1x1x3x4xf32> {attn.name = "q"}, %k: tensor<1x1x3x4xf32> {attn.name = "k"}, %v: tensor<1x1x3x4xf32> {attn.name = "v"})
    -> (tensor<1x1x3x4xf32> {attn.name = "out"}) {
  %out_init = tensor.empty() : tensor<1x1x3x4xf32>
  %out = attn.sdpa ins(%q, %k, %v : tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>)
      outs(%out_init : tensor<1x1x3x4xf32>) -> tensor<1x1x3x4xf32>
  return %out : tensor<1x1x3x4xf32>
}
)");
}

TEST(Problem, IROfEverything) {
  std::string text = problemToMLIR(*parseProblem("b2 hq4 hkv2 sq3 sk5 d8 dv7 f64 causal=bottom_right softcap=30 "
                                                 "scale=1e-05 bias=1,4,3,5 mask=bool out=lse"));
  EXPECT_EQ(
      text,
      R"(// b2 hq4 hkv2 sq3 sk5 d8 dv7 f64 causal=bottom_right softcap=30 scale=1e-05 bias=1,4,3,5 mask=2,4,3,5 out=lse
func.func @sdpa(%q: tensor<2x4x3x8xf64> {attn.name = "q"}, %k: tensor<2x2x5x8xf64> {attn.name = "k"}, %v: tensor<2x2x5x7xf64> {attn.name = "v"}, %bias: tensor<1x4x3x5xf64> {attn.name = "bias"}, %mask: tensor<2x4x3x5xi1> {attn.name = "mask"})
    -> (tensor<2x4x3x7xf64> {attn.name = "out"}, tensor<2x4x3xf64> {attn.name = "lse"}) {
  %out_init = tensor.empty() : tensor<2x4x3x7xf64>
  %lse_init = tensor.empty() : tensor<2x4x3xf64>
  %out, %lse = attn.sdpa ins(%q, %k, %v : tensor<2x4x3x8xf64>, tensor<2x2x5x8xf64>, tensor<2x2x5x7xf64>)
      bias(%bias : tensor<1x4x3x5xf64>)
      mask(%mask : tensor<2x4x3x5xi1>)
      outs(%out_init, %lse_init : tensor<2x4x3x7xf64>, tensor<2x4x3xf64>) {causal = #attn.causal<bottom_right>, scale = 1.0e-05 : f64, softcap = 30.0 : f64} -> tensor<2x4x3x7xf64>, tensor<2x4x3xf64>
  return %out, %lse : tensor<2x4x3x7xf64>, tensor<2x4x3xf64>
}
)");
}

} // namespace
