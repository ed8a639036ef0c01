//===- CapturesTest.cpp - classes of accesses to captured tensors ----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Analysis/Captures.h"
#include "ParseIR.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

namespace {

class Captures : public attn::test::IRTest {
protected:
  /// The last read of a score_mod with the indices %b, %h, %g (of K), %i and %j; what it reads has a dimension for each
  /// index in `position`.
  static CaptureAccess classify(StringRef position, StringRef body = "") {
    unsigned rank = position.empty() ? 0 : 1 + position.count(',');
    std::string type = "tensor<";
    for (unsigned i = 0; i < rank; ++i)
      type += "?x";
    OwningOpRef<ModuleOp> module = parse((R"(
func.func @f(%q: tensor<2x6x4x8xf32>, %k: tensor<2x3x5x8xf32>, %x: )" +
                                          type + R"(f32>, %row: index,
             %pages: tensor<?xi32>, %o: tensor<2x6x4x8xf32>) -> tensor<2x6x4x8xf32> {
  %r = attn.sdpa ins(%q, %k, %k : tensor<2x6x4x8xf32>, tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>)
      outs(%o : tensor<2x6x4x8xf32>) score_mod {
      ^bb0(%s : f32):
        %b = attn.index batch : index
        %h = attn.index head : index
        %g = attn.index kv_head : index
        %i = attn.index query : index
        %j = attn.index key : index
        %c2 = arith.constant 2 : index
        )" + body + "\n%read = tensor.extract %x[" +
                                          position + "] : " + type + R"(f32>
        %y = arith.addf %s, %read : f32
        attn.yield %y : f32
      } -> tensor<2x6x4x8xf32>
  return %r : tensor<2x6x4x8xf32>
})")
                                             .str());
    Region &region = getOnly<SdpaOp>(*module).getScoreMod();
    tensor::ExtractOp last;
    for (auto extract : region.getOps<tensor::ExtractOp>())
      last = extract;
    return classifyCapture(region, last.getIndices());
  }

  static CaptureClass getClass(StringRef position, StringRef body = "") { return classify(position, body).kind; }
};

TEST_F(Captures, HeadAndBatch) {
  for (StringRef position : {"", "%h", "%g", "%b, %h", "%c2", "%row"})
    EXPECT_EQ(getClass(position), CaptureClass::HeadBatch) << position.str();
  EXPECT_EQ(getClass("%n", "%n = arith.divui %h, %c2 : index"), CaptureClass::HeadBatch);
}

TEST_F(Captures, OneAxis) {
  for (StringRef position : {"%i", "%h, %i", "%i, %i"})
    EXPECT_EQ(getClass(position), CaptureClass::Query) << position.str();
  for (StringRef position : {"%j", "%b, %j"})
    EXPECT_EQ(getClass(position), CaptureClass::Key) << position.str();
  EXPECT_EQ(getClass("%n", "%n = arith.divui %j, %c2 : index"), CaptureClass::Key);
  // Through another read: the page of a key.
  EXPECT_EQ(getClass("%n", "%p = tensor.extract %pages[%j] : tensor<?xi32>\n%n = arith.index_cast %p : i32 to index"),
            CaptureClass::Key);
}

TEST_F(Captures, QueryAndKey) {
  for (StringRef position : {"%i, %j", "%j, %i", "%h, %i, %j", "%b, %g, %c2, %i, %j"})
    EXPECT_EQ(getClass(position), CaptureClass::QueryKey) << position.str();
  EXPECT_EQ(getClass("%m, %n", "%m = arith.addi %row, %i : index\n%n = arith.subi %j, %c2 : index"),
            CaptureClass::QueryKey);
}

TEST_F(Captures, Scattered) {
  EXPECT_EQ(getClass("%n", "%n = arith.subi %i, %j : index"), CaptureClass::Scattered);
  EXPECT_EQ(getClass("%h, %n", "%n = arith.addi %i, %j : index"), CaptureClass::Scattered);
  // Two keys share an element.
  EXPECT_EQ(getClass("%i, %n", "%n = arith.divui %j, %c2 : index"), CaptureClass::Scattered);
  EXPECT_EQ(getClass("%n, %j", "%n = arith.subi %c2, %i : index"), CaptureClass::Scattered) << "not written as a shift";
  EXPECT_EQ(getClass("%n", "%m = arith.fptosi %s : f32 to i32\n%n = arith.index_cast %m : i32 to index"),
            CaptureClass::Scattered);
}

TEST_F(Captures, Sharing) {
  auto check = [](StringRef position, bool isOfBatch, bool isOfHead, StringRef body = "") {
    CaptureAccess access = classify(position, body);
    EXPECT_EQ(access.isOfBatch, isOfBatch) << position.str();
    EXPECT_EQ(access.isOfHead, isOfHead) << position.str();
  };
  check("", false, false);
  check("%h", false, true);
  check("%g, %j", false, true);
  check("%b, %i, %j", true, false);
  check("%b, %h, %i, %j", true, true);
  check("%n", false, false, "%n = arith.divui %h, %c2 : index");
  check("%n", false, false, "%n = arith.addi %b, %h : index");
}

} // namespace
