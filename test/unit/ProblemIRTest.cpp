//===- ProblemIRTest.cpp - problem lines as IR files ------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Problem/Problem.h"

#include "gtest/gtest.h"

using namespace attn;

namespace {

TEST(ProblemIR, Plain) {
  EXPECT_EQ(problemToMLIR(*parseProblem("sq3 d4")), R"(// b1 hq1 hkv1 sq3 sk3 d4 dv4 f32
func.func @sdpa(%q: tensor<1x1x3x4xf32> {attn.name = "q"}, %k: tensor<1x1x3x4xf32> {attn.name = "k"}, %v: tensor<1x1x3x4xf32> {attn.name = "v"})
    -> (tensor<1x1x3x4xf32> {attn.name = "out"}) {
  %out.init = tensor.empty() : tensor<1x1x3x4xf32>
  %out = attn.sdpa ins(%q, %k, %v : tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>)
      outs(%out.init : tensor<1x1x3x4xf32>) -> tensor<1x1x3x4xf32>
  return %out : tensor<1x1x3x4xf32>
}
)");
}

TEST(ProblemIR, OfEverything) {
  std::string text = problemToMLIR(*parseProblem("b2 hq4 hkv2 sq3 sk5 d8 dv7 f64 causal=bottom_right softcap=30 "
                                                 "scale=1e-05 bias=1,4,3,5 mask=bool out=lse"));
  EXPECT_EQ(
      text,
      R"(// b2 hq4 hkv2 sq3 sk5 d8 dv7 f64 causal=bottom_right softcap=30 scale=1e-05 bias=1,4,3,5 mask=2,4,3,5 out=lse
func.func @sdpa(%q: tensor<2x4x3x8xf64> {attn.name = "q"}, %k: tensor<2x2x5x8xf64> {attn.name = "k"}, %v: tensor<2x2x5x7xf64> {attn.name = "v"}, %bias: tensor<1x4x3x5xf64> {attn.name = "bias"}, %mask: tensor<2x4x3x5xi1> {attn.name = "mask"})
    -> (tensor<2x4x3x7xf64> {attn.name = "out"}, tensor<2x4x3xf64> {attn.name = "lse"}) {
  %out.init = tensor.empty() : tensor<2x4x3x7xf64>
  %lse.init = tensor.empty() : tensor<2x4x3xf64>
  %out, %lse = attn.sdpa ins(%q, %k, %v : tensor<2x4x3x8xf64>, tensor<2x2x5x8xf64>, tensor<2x2x5x7xf64>)
      bias(%bias : tensor<1x4x3x5xf64>)
      mask(%mask : tensor<2x4x3x5xi1>)
      outs(%out.init, %lse.init : tensor<2x4x3x7xf64>, tensor<2x4x3xf64>) {causal = #attn.causal<bottom_right>, softcap = 30.0 : f64, scale = 1.0e-05 : f64} -> tensor<2x4x3x7xf64>, tensor<2x4x3xf64>
  return %out, %lse : tensor<2x4x3x7xf64>, tensor<2x4x3xf64>
}
)");
}

/// The part of the IR after the result types.
std::string bodyOf(llvm::StringRef line) {
  llvm::Expected<Problem> problem = parseProblem(line);
  if (!problem)
    return llvm::toString(problem.takeError());
  std::string text = problemToMLIR(*problem);
  return llvm::StringRef(text).split(") {\n").second.str();
}

TEST(ProblemIR, OfPackedHeads) {
  EXPECT_EQ(bodyOf("b? hq4 hkv2 sq3 sk5 d8 layout=bsd"), R"(  %index.q0 = arith.constant 0 : index
  %size.b = tensor.dim %q, %index.q0 : tensor<?x3x32xf32>
  %q.heads = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [%size.b, 3, 4, 8] : tensor<?x3x32xf32> into tensor<?x3x4x8xf32>
  %k.heads = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [%size.b, 5, 2, 8] : tensor<?x5x16xf32> into tensor<?x5x2x8xf32>
  %v.heads = tensor.expand_shape %v [[0], [1], [2, 3]] output_shape [%size.b, 5, 2, 8] : tensor<?x5x16xf32> into tensor<?x5x2x8xf32>
  %out.init = tensor.empty(%size.b) : tensor<?x3x32xf32>
  %out.init.heads = tensor.expand_shape %out.init [[0], [1], [2, 3]] output_shape [%size.b, 3, 4, 8] : tensor<?x3x32xf32> into tensor<?x3x4x8xf32>
  %out.heads = attn.sdpa ins(%q.heads, %k.heads, %v.heads : tensor<?x3x4x8xf32>, tensor<?x5x2x8xf32>, tensor<?x5x2x8xf32>)
      outs(%out.init.heads : tensor<?x3x4x8xf32>) {maps = [affine_map<(b, h, i, j, d, e) -> (b, i, h, d)>, affine_map<(b, h, i, j, d, e) -> (b, j, h floordiv 2, d)>, affine_map<(b, h, i, j, d, e) -> (b, j, h floordiv 2, e)>, affine_map<(b, h, i, j, d, e) -> (b, i, h, e)>]} -> tensor<?x3x4x8xf32>
  %out = tensor.collapse_shape %out.heads [[0], [1], [2, 3]] : tensor<?x3x4x8xf32> into tensor<?x3x32xf32>
  return %out : tensor<?x3x32xf32>
}
)");
}

TEST(ProblemIR, OfPages) {
  EXPECT_EQ(bodyOf("b2 hq4 hkv2 sq3 sk9 d8 dv7 kv_lengths causal=bottom_right paged=4,hnd"),
            R"(  %k.rows.init = tensor.empty() : tensor<2x2x9x8xf32>
  %k.rows = attn.gather_pages ins(%k, %block_table : tensor<6x2x4x8xf32>, tensor<2x3xi32>) lengths(%kv_lengths : tensor<2xi32>)
      outs(%k.rows.init : tensor<2x2x9x8xf32>) {page_layout = #attn.page_layout<hnd>} -> tensor<2x2x9x8xf32>
  %v.rows.init = tensor.empty() : tensor<2x2x9x7xf32>
  %v.rows = attn.gather_pages ins(%v, %block_table : tensor<6x2x4x7xf32>, tensor<2x3xi32>) lengths(%kv_lengths : tensor<2xi32>)
      outs(%v.rows.init : tensor<2x2x9x7xf32>) {page_layout = #attn.page_layout<hnd>} -> tensor<2x2x9x7xf32>
  %out.init = tensor.empty() : tensor<2x4x3x7xf32>
  %out = attn.sdpa ins(%q, %k.rows, %v.rows : tensor<2x4x3x8xf32>, tensor<2x2x9x8xf32>, tensor<2x2x9x7xf32>)
      kv_lengths(%kv_lengths : tensor<2xi32>)
      outs(%out.init : tensor<2x4x3x7xf32>) {causal = #attn.causal<bottom_right>} -> tensor<2x4x3x7xf32>
  return %out : tensor<2x4x3x7xf32>
}
)");
}

TEST(ProblemIR, OfSequences) {
  EXPECT_EQ(bodyOf("b3 hq4 hkv2 sq9 sk8 d8 sink causal=offset layout=varlen out=lse"),
            R"(  %out.init = tensor.empty() : tensor<9x4x8xf32>
  %lse.init = tensor.empty() : tensor<4x9xf32>
  %out, %lse = attn.sdpa ins(%q, %k, %v : tensor<9x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>)
      sink(%sink : tensor<4xf32>)
      causal_offset(%causal_offset : tensor<3xi32>)
      cu_seqlens(%cu_seqlens_q, %cu_seqlens_k : tensor<4xi32>, tensor<4xi32>)
      outs(%out.init, %lse.init : tensor<9x4x8xf32>, tensor<4x9xf32>) {causal = #attn.causal<offset>} -> tensor<9x4x8xf32>, tensor<4x9xf32>
  return %out, %lse : tensor<9x4x8xf32>, tensor<4x9xf32>
}
)");
}

TEST(ProblemIR, OfWeights) {
  std::string text = bodyOf("b2 hq4 hkv4 sq3 sk5 d4 bf16 mask=bool sink q_lengths dropout=0.5 out=weights");
  for (llvm::StringRef step :
       {"%chain.scores = attn.scores ins(%q, %k : tensor<2x4x3x4xbf16>, tensor<2x4x5x4xbf16>)",
        "%chain.scaled = attn.scale ins(%chain.scores : tensor<2x4x3x5xf32>)", "{scale = 0.5 : f64}",
        "%chain.masked = attn.mask ins(%chain.scaled : tensor<2x4x3x5xf32>)\n      mask(%mask : tensor<2x4x3x5xi1>)\n"
        "      q_lengths(%q_lengths : tensor<2xi32>)",
        "%chain.probabilities = attn.softmax ins(%chain.masked : tensor<2x4x3x5xf32>)\n      sink(%sink : "
        "tensor<4xf32>)\n"
        "      q_lengths(%q_lengths : tensor<2xi32>)",
        "%chain.dropped = attn.dropout ins(%chain.probabilities : tensor<2x4x3x5xf32>)\n      dropout(%seed, %offset : "
        "i64, i64)",
        "%each.result = arith.truncf %each.from : f32 to bf16",
        "%out = attn.apply ins(%weights, %v :", "return %out, %weights : tensor<2x4x3x4xbf16>, tensor<2x4x3x5xbf16>"}) {
    EXPECT_TRUE(llvm::StringRef(text).contains(step)) << step.str() << "\n" << text;
  }
}

TEST(ProblemIR, OfScalesOfEachCall) {
  EXPECT_TRUE(llvm::StringRef(bodyOf("sq3 d4 f16 dropout=0.5 scale=?"))
                  .contains("      dropout(%seed, %offset : i64, i64)\n      scale_value(%scale : f32)\n"));
  EXPECT_TRUE(llvm::StringRef(bodyOf("sq3 d4 f64 scale=? out=weights"))
                  .contains("attn.scale ins(%chain.scores : tensor<1x1x3x3xf64>)\n      scale_value(%scale : f64)\n"
                            "      outs(%chain.scaled.init : tensor<1x1x3x3xf64>) -> "));
}

/// A captured array may be called as an argument that the problem does not have.
TEST(ProblemIR, OfCapturesCalledAsWords) {
  std::string text = bodyOf("sq3 d4\ncaptures(%scale : tensor<1xf32>, %sink : tensor<1xf32>)");
  EXPECT_FALSE(llvm::StringRef(text).contains("scale")) << text;
  EXPECT_FALSE(llvm::StringRef(text).contains("sink")) << text;
}

TEST(ProblemIR, OfQuantisedKeys) {
  std::string text = bodyOf("b2 hq4 hkv2 sq3 sk5 d8 kv=fp8 kvscale=token kv_lengths");
  for (llvm::StringRef step : {"attn.sdpa ins(%q, %k, %v : tensor<2x4x3x8xf32>, tensor<2x2x5x8xf8E4M3FN>, "
                               "tensor<2x2x5x8xf8E4M3FN>)\n      kv_lengths(%kv_lengths : tensor<2xi32>)\n"
                               "      kv_scale(%k_scale, %v_scale : tensor<2x2x5xf32>, tensor<2x2x5xf32>)\n"})
    EXPECT_TRUE(llvm::StringRef(text).contains(step)) << step.str() << "\n" << text;
}

/// The unfused chain has no key heads: its regions read them off the query heads.
TEST(ProblemIR, OfWeightsWithKeyHeads) {
  constexpr llvm::StringRef region = "\nmask_mod {\n  %0 = attn.index kv_head : index\n}";
  EXPECT_TRUE(llvm::StringRef(bodyOf("hq6 hkv2 sq3 d4 out=weights" + region.str()))
                  .contains("%head.0 = attn.index head : index %group.0 = arith.constant 3 : index "
                            "%0 = arith.divui %head.0, %group.0 : index"));
  EXPECT_TRUE(llvm::StringRef(bodyOf("hq6 hkv2 sq3 d4" + region.str())).contains("attn.index kv_head : index"));
}

} // namespace
