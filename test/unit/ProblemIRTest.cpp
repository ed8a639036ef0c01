//===- ProblemIRTest.cpp - problem lines as IR files ------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Problem/Problem.h"

#include "gtest/gtest.h"

using namespace attn;

namespace {

std::string getText(llvm::StringRef line) {
  llvm::Expected<Problem> problem = parseProblem(line);
  llvm::Expected<std::string> text = problem ? problemToMLIR(*problem) : problem.takeError();
  return text ? *text : llvm::toString(text.takeError());
}

/// The part of the IR after the result types.
std::string bodyOf(llvm::StringRef line) { return llvm::StringRef(getText(line)).split("}) {\n").second.str(); }

void expectSteps(llvm::StringRef line, std::initializer_list<llvm::StringRef> steps) {
  std::string text = getText(line);
  for (llvm::StringRef step : steps)
    EXPECT_TRUE(llvm::StringRef(text).contains(step)) << step.str() << "\n" << text;
}

TEST(ProblemIR, Plain) {
  EXPECT_EQ(getText("sq3 d4"), R"(// b1 hq1 hkv1 sq3 sk3 d4 dv4 f32
module {
  func.func @sdpa(%arg0: tensor<1x1x3x4xf32> {attn.name = "q"}, %arg1: tensor<1x1x3x4xf32> {attn.name = "k"}, %arg2: tensor<1x1x3x4xf32> {attn.name = "v"}) -> (tensor<1x1x3x4xf32> {attn.name = "out"}) {
    %0 = tensor.empty() : tensor<1x1x3x4xf32>
    %1 = attn.sdpa ins(%arg0, %arg1, %arg2 : tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>) outs(%0 : tensor<1x1x3x4xf32>) -> tensor<1x1x3x4xf32>
    return %1 : tensor<1x1x3x4xf32>
  }
}
)");
}

TEST(ProblemIR, OfEverything) {
  EXPECT_EQ(
      getText(
          "b2 hq4 hkv2 sq3 sk5 d8 dv7 f64 causal=bottom_right softcap=30 scale=1e-05 bias=1,4,3,5 mask=bool out=lse"),
      R"(// b2 hq4 hkv2 sq3 sk5 d8 dv7 f64 causal=bottom_right softcap=30 scale=1e-05 bias=1,4,3,5 mask=2,4,3,5 out=lse
module {
  func.func @sdpa(%arg0: tensor<2x4x3x8xf64> {attn.name = "q"}, %arg1: tensor<2x2x5x8xf64> {attn.name = "k"}, %arg2: tensor<2x2x5x7xf64> {attn.name = "v"}, %arg3: tensor<1x4x3x5xf64> {attn.name = "bias"}, %arg4: tensor<2x4x3x5xi1> {attn.name = "mask"}) -> (tensor<2x4x3x7xf64> {attn.name = "out"}, tensor<2x4x3xf64> {attn.name = "lse"}) {
    %0 = tensor.empty() : tensor<2x4x3x7xf64>
    %1 = tensor.empty() : tensor<2x4x3xf64>
    %2:2 = attn.sdpa ins(%arg0, %arg1, %arg2 : tensor<2x4x3x8xf64>, tensor<2x2x5x8xf64>, tensor<2x2x5x7xf64>) bias(%arg3 : tensor<1x4x3x5xf64>) mask(%arg4 : tensor<2x4x3x5xi1>) outs(%0, %1 : tensor<2x4x3x7xf64>, tensor<2x4x3xf64>) {causal = #attn.causal<bottom_right>, scale = 1.000000e-05 : f64, softcap = 3.000000e+01 : f64} -> tensor<2x4x3x7xf64>, tensor<2x4x3xf64>
    return %2#0, %2#1 : tensor<2x4x3x7xf64>, tensor<2x4x3xf64>
  }
}
)");
}

TEST(ProblemIR, OfPackedHeads) {
  EXPECT_EQ(getText("b? hq4 hkv2 sq3 sk5 d8 layout=bsd"), R"(// b? hq4 hkv2 sq3 sk5 d8 dv8 f32 layout=bsd
#map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d4)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1 floordiv 2, d4)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1 floordiv 2, d5)>
#map3 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d5)>
module {
  func.func @sdpa(%arg0: tensor<?x3x32xf32> {attn.name = "q"}, %arg1: tensor<?x5x16xf32> {attn.name = "k"}, %arg2: tensor<?x5x16xf32> {attn.name = "v"}) -> (tensor<?x3x32xf32> {attn.name = "out"}) {
    %c0 = arith.constant 0 : index
    %dim = tensor.dim %arg0, %c0 : tensor<?x3x32xf32>
    %expanded = tensor.expand_shape %arg0 [[0], [1], [2, 3]] output_shape [%dim, 3, 4, 8] : tensor<?x3x32xf32> into tensor<?x3x4x8xf32>
    %expanded_0 = tensor.expand_shape %arg1 [[0], [1], [2, 3]] output_shape [%dim, 5, 2, 8] : tensor<?x5x16xf32> into tensor<?x5x2x8xf32>
    %expanded_1 = tensor.expand_shape %arg2 [[0], [1], [2, 3]] output_shape [%dim, 5, 2, 8] : tensor<?x5x16xf32> into tensor<?x5x2x8xf32>
    %0 = tensor.empty(%dim) : tensor<?x3x32xf32>
    %expanded_2 = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [%dim, 3, 4, 8] : tensor<?x3x32xf32> into tensor<?x3x4x8xf32>
    %1 = attn.sdpa ins(%expanded, %expanded_0, %expanded_1 : tensor<?x3x4x8xf32>, tensor<?x5x2x8xf32>, tensor<?x5x2x8xf32>) outs(%expanded_2 : tensor<?x3x4x8xf32>) {maps = [#map, #map1, #map2, #map3]} -> tensor<?x3x4x8xf32>
    %collapsed = tensor.collapse_shape %1 [[0], [1], [2, 3]] : tensor<?x3x4x8xf32> into tensor<?x3x32xf32>
    return %collapsed : tensor<?x3x32xf32>
  }
}
)");
}

TEST(ProblemIR, OfPages) {
  EXPECT_EQ(bodyOf("b2 hq4 hkv2 sq3 sk9 d8 dv7 kv_lengths causal=bottom_right paged=4,hnd"),
            R"(    %0 = tensor.empty() : tensor<2x2x9x8xf32>
    %1 = attn.gather_pages ins(%arg1, %arg4 : tensor<6x2x4x8xf32>, tensor<2x3xi32>) lengths(%arg3 : tensor<2xi32>) outs(%0 : tensor<2x2x9x8xf32>) {page_layout = #attn.page_layout<hnd>} -> tensor<2x2x9x8xf32>
    %2 = tensor.empty() : tensor<2x2x9x7xf32>
    %3 = attn.gather_pages ins(%arg2, %arg4 : tensor<6x2x4x7xf32>, tensor<2x3xi32>) lengths(%arg3 : tensor<2xi32>) outs(%2 : tensor<2x2x9x7xf32>) {page_layout = #attn.page_layout<hnd>} -> tensor<2x2x9x7xf32>
    %4 = tensor.empty() : tensor<2x4x3x7xf32>
    %5 = attn.sdpa ins(%arg0, %1, %3 : tensor<2x4x3x8xf32>, tensor<2x2x9x8xf32>, tensor<2x2x9x7xf32>) kv_lengths(%arg3 : tensor<2xi32>) outs(%4 : tensor<2x4x3x7xf32>) {causal = #attn.causal<bottom_right>} -> tensor<2x4x3x7xf32>
    return %5 : tensor<2x4x3x7xf32>
  }
}
)");
}

TEST(ProblemIR, OfSequences) {
  EXPECT_EQ(bodyOf("b3 hq4 hkv2 sq9 sk8 d8 sink causal=offset layout=varlen out=lse"),
            R"(    %0 = tensor.empty() : tensor<9x4x8xf32>
    %1 = tensor.empty() : tensor<4x9xf32>
    %2:2 = attn.sdpa ins(%arg0, %arg1, %arg2 : tensor<9x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>) sink(%arg3 : tensor<4xf32>) causal_offset(%arg4 : tensor<3xi32>) cu_seqlens(%arg5, %arg6 : tensor<4xi32>, tensor<4xi32>) outs(%0, %1 : tensor<9x4x8xf32>, tensor<4x9xf32>) {causal = #attn.causal<offset>} -> tensor<9x4x8xf32>, tensor<4x9xf32>
    return %2#0, %2#1 : tensor<9x4x8xf32>, tensor<4x9xf32>
  }
}
)");
}

TEST(ProblemIR, OfWeights) {
  EXPECT_EQ(bodyOf("b2 hq4 hkv4 sq3 sk5 d4 bf16 mask=bool sink q_lengths dropout=0.5 out=weights"),
            R"(    %0 = tensor.empty() : tensor<2x4x3x5xf32>
    %1 = attn.scores ins(%arg0, %arg1 : tensor<2x4x3x4xbf16>, tensor<2x4x5x4xbf16>) outs(%0 : tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
    %2 = tensor.empty() : tensor<2x4x3x5xf32>
    %3 = attn.scale ins(%1 : tensor<2x4x3x5xf32>) outs(%2 : tensor<2x4x3x5xf32>) {scale = 5.000000e-01 : f64} -> tensor<2x4x3x5xf32>
    %4 = tensor.empty() : tensor<2x4x3x5xf32>
    %5 = attn.mask ins(%3 : tensor<2x4x3x5xf32>) mask(%arg3 : tensor<2x4x3x5xi1>) q_lengths(%arg5 : tensor<2xi32>) outs(%4 : tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
    %6 = tensor.empty() : tensor<2x4x3x5xf32>
    %7 = attn.softmax ins(%5 : tensor<2x4x3x5xf32>) sink(%arg4 : tensor<4xf32>) q_lengths(%arg5 : tensor<2xi32>) outs(%6 : tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
    %8 = tensor.empty() : tensor<2x4x3x5xf32>
    %9 = attn.dropout ins(%7 : tensor<2x4x3x5xf32>) dropout(%arg6, %arg7 : i64, i64) outs(%8 : tensor<2x4x3x5xf32>) {dropout_p = 5.000000e-01 : f64} -> tensor<2x4x3x5xf32>
    %10 = tensor.empty() : tensor<2x4x3x5xbf16>
    %11 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9 : tensor<2x4x3x5xf32>) outs(%10 : tensor<2x4x3x5xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %14 = arith.truncf %in : f32 to bf16
      linalg.yield %14 : bf16
    } -> tensor<2x4x3x5xbf16>
    %12 = tensor.empty() : tensor<2x4x3x4xbf16>
    %13 = attn.apply ins(%11, %arg2 : tensor<2x4x3x5xbf16>, tensor<2x4x5x4xbf16>) outs(%12 : tensor<2x4x3x4xbf16>) -> tensor<2x4x3x4xbf16>
    return %13, %11 : tensor<2x4x3x4xbf16>, tensor<2x4x3x5xbf16>
  }
}
)");
}

TEST(ProblemIR, OfScalesOfEachCall) {
  expectSteps("sq3 d4 f16 dropout=0.5 scale=?", {"dropout(%arg3, %arg4 : i64, i64) scale_value(%arg5 : f32)"});
  expectSteps("sq3 d4 f64 scale=? out=weights",
              {"attn.scale ins(%1 : tensor<1x1x3x3xf64>) scale_value(%arg3 : f64) outs(%2 : tensor<1x1x3x3xf64>) ->"});
}

/// A captured array may be called as an argument that the problem does not have.
TEST(ProblemIR, OfCapturesCalledAsWords) {
  std::string text = bodyOf("sq3 d4\ncaptures(%scale : tensor<1xf32>, %sink : tensor<1xf32>)");
  EXPECT_FALSE(llvm::StringRef(text).contains("scale")) << text;
  EXPECT_FALSE(llvm::StringRef(text).contains("sink")) << text;
}

TEST(ProblemIR, OfQuantisedKeys) {
  expectSteps("b2 hq4 hkv2 sq3 sk5 d8 kv=fp8 kvscale=token kv_lengths",
              {"attn.sdpa ins(%arg0, %arg1, %arg2 : tensor<2x4x3x8xf32>, tensor<2x2x5x8xf8E4M3FN>, "
               "tensor<2x2x5x8xf8E4M3FN>) kv_lengths(%arg3 : tensor<2xi32>) kv_scale(%arg4, %arg5 : tensor<2x2x5xf32>, "
               "tensor<2x2x5xf32>)"});
}

/// The unfused chain has no key heads: its regions read them off the query heads.
TEST(ProblemIR, OfWeightsWithKeyHeads) {
  std::string region = "\nmask_mod {\n  %0 = attn.index kv_head : index\n  %t = arith.cmpi eq, %0, %0 : index\n"
                       "  attn.yield %t : i1\n}";
  expectSteps("hq6 hkv2 sq3 d4 out=weights" + region,
              {"attn.index head : index", "arith.constant 3 : index", "arith.divui"});
  expectSteps("hq6 hkv2 sq3 d4" + region, {"attn.index kv_head : index"});
}

/// Regions and types of captures are MLIR, and the only parts of a problem that may be none.
TEST(ProblemIR, OfNoMLIR) {
  EXPECT_EQ(getText("sq3 d4\nmask_mod {\n  %t = arith.constant true\n  attn.yield %u : i1\n}"),
            "problem:4:14: error: use of undeclared SSA value name\n  attn.yield %u : i1\n             ^");
  EXPECT_EQ(
      getText("sq3 d4\nscore_mod {\n^bb0(%s: f32):\n  attn.yield %s : f32\n}\nmask_mod {\n  attn.yield %u : i1\n}"),
      "problem:7:14: error: use of undeclared SSA value name\n  attn.yield %u : i1\n             ^");
  EXPECT_EQ(getText("sq3 d4\ncaptures(%a : tensor<wrong>)"), "tensor<wrong>:1:8: error: expected non-function type");
}

} // namespace
