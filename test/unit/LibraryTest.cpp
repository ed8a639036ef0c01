//===- LibraryTest.cpp - which kernel of a library takes a call -----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn-c/attn.h"
#include "attn-c/attn_dispatch.h"

#include "llvm/ADT/StringRef.h"
#include "gtest/gtest.h"

#include <string>
#include <vector>

namespace {

/// Kernels of one input and one output, (rows, columns): 4 x 8 and, of the features "causal=top_left out=lse", n x 8
/// and n x n.
struct Library : testing::Test {
  static constexpr int64_t staticShape[] = {4, 8}, rowsShape[] = {-1, 8}, anyShape[] = {-1, -1};
  static constexpr int32_t rowsSymbols[] = {0, -1}, squareSymbols[] = {0, 0};
  using Specs = std::vector<attn_argument_spec>;
  static Specs specs(const int64_t *shape, const int32_t *symbols) {
    return {{"q", shape, symbols, nullptr, 2, 0, 0, 0, kDLFloat, 32, {}, {}, {}, {}},
            {"out", shape, symbols, nullptr, 2, 0, 1, 0, kDLFloat, 32, {}, {}, {}, {}}};
  }
  Specs exact = specs(staticShape, nullptr), rows = specs(rowsShape, rowsSymbols),
        square = specs(anyShape, squareSymbols);
  attn_library_kernel kernels[4] = {{"exact", nullptr, exact.data(), 2},
                                    {"rows", nullptr, rows.data(), 2},
                                    {"lse_rows", nullptr, rows.data(), 2},
                                    {"lse_square", nullptr, square.data(), 2}};
  attn_library_group groups[2] = {{"", "sq{0.0} d{0.1} {0}", 0, 2},
                                  {"causal=top_left out=lse", "sq{0.0} d{0.1} {0} causal=top_left out=lse", 2, 2}};
  attn_library library = {groups, 2, kernels};
  int64_t shapes[2][2] = {{4, 8}, {4, 8}};
  DLTensor tensors[2];
  const DLTensor *arguments[2] = {&tensors[0], &tensors[1]};
  const attn_library_kernel *found = nullptr;
  char message[512] = "not written";

  void SetUp() override {
    for (int i = 0; i < 2; ++i)
      tensors[i] = {nullptr, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shapes[i], nullptr, 0};
  }
  void setShape(int64_t m, int64_t n) {
    for (auto &shape : shapes)
      shape[0] = m, shape[1] = n;
  }
  int32_t find(const char *features, int64_t count = 2) {
    return attn_find_kernel(&library, features, arguments, count, &found, message, sizeof(message));
  }
  std::string findName(const char *features) { return find(features) == ATTN_OK ? found->name : message; }
};

TEST_F(Library, TheSpecialBeforeTheGeneral) {
  EXPECT_EQ(findName(""), "exact");
  EXPECT_EQ(findName(nullptr), "exact");
  setShape(5, 8);
  EXPECT_EQ(findName(""), "rows");
}

TEST_F(Library, WordsInAnyOrder) {
  EXPECT_EQ(findName("  out=lse   causal=top_left "), "lse_rows");
  setShape(6, 6);
  EXPECT_EQ(findName("causal=top_left out=lse"), "lse_square");
}

TEST_F(Library, EqualNamesAreEqualSizes) {
  setShape(5, 7);
  EXPECT_EQ(find("causal=top_left out=lse"), ATTN_NO_SUCH_KERNEL);
  setShape(7, 7);
  shapes[1][0] = 6;
  EXPECT_EQ(find("causal=top_left out=lse"), ATTN_NO_SUCH_KERNEL);
}

TEST_F(Library, SaysTheMissingLine) {
  setShape(4, 9);
  tensors[0].dtype = {kDLBfloat, 16, 1};
  EXPECT_EQ(find("out=lse causal=top_left"), ATTN_NO_SUCH_KERNEL);
  EXPECT_EQ(found, nullptr);
  EXPECT_STREQ(message,
               "expected tensors that one of the 2 kernels of features 'causal=top_left out=lse' takes, found q "
               "bf16 [4, 9], out f32 [4, 9]; add the problem line 'sq4 d9 bf16 causal=top_left out=lse'");
}

TEST_F(Library, SaysWhatTheOutputIsNot) {
  shapes[1][1] = 9;
  EXPECT_EQ(find(""), ATTN_NO_SUCH_KERNEL);
  EXPECT_STREQ(message,
               "out: expected f32 [4, 8] beside the other arguments, as kernel 'exact' takes it, found f32 [4, 9]");
  shapes[1][1] = 8;
  setShape(5, 8);
  tensors[1].dtype = {kDLFloat, 64, 1};
  EXPECT_EQ(find(""), ATTN_NO_SUCH_KERNEL);
  EXPECT_STREQ(message,
               "out: expected f32 [?, 8] beside the other arguments, as kernel 'rows' takes it, found f64 [5, 8]");
}

TEST_F(Library, NamesTypesAsProblemLinesDo) {
  const std::pair<DLDataType, const char *> types[] = {
      {{6, 8, 1}, "bool"},  {{kDLUInt, 8, 1}, "uint8"}, {{10, 8, 1}, "fp8"},
      {{12, 8, 1}, "e5m2"}, {{kDLInt, 8, 1}, "int8"},   {{5, 64, 1}, "type code 5 with 64 bits"}};
  for (auto [type, name] : types) {
    tensors[1].dtype = type;
    EXPECT_EQ(find(""), ATTN_NO_SUCH_KERNEL);
    EXPECT_TRUE(llvm::StringRef(message).ends_with("found " + std::string(name) + " [4, 8]")) << message;
  }
}

TEST_F(Library, SaysNoLineForTypesThatLinesDoNotHave) {
  for (DLDataType type : {DLDataType{kDLFloat, 32, 2}, DLDataType{kDLInt, 32, 1}}) {
    tensors[0].dtype = type;
    EXPECT_EQ(find(""), ATTN_NO_SUCH_KERNEL);
    llvm::StringRef text(message);
    EXPECT_TRUE(text.contains(type.lanes == 2 ? "found q f32 of 2 lanes [4, 8]" : "found q int32 [4, 8]")) << message;
    EXPECT_TRUE(text.ends_with("; write a q of f32, f64, bf16 or f16")) << message;
  }
}

TEST_F(Library, SaysNoLineThatTensorsDoNotSay) {
  groups[0].line = "";
  setShape(4, 9);
  EXPECT_EQ(find(""), ATTN_NO_SUCH_KERNEL);
  EXPECT_TRUE(llvm::StringRef(message).ends_with("found q f32 [4, 9], out f32 [4, 9]; add a problem line for them"));
}

TEST_F(Library, SaysTheFeaturesThereAre) {
  for (const char *features : {"causal", "causal=top_left", "causal=top_left out=lse sink", "causal=top_left out=ls"}) {
    EXPECT_EQ(find(features), ATTN_NO_SUCH_KERNEL);
    EXPECT_EQ(std::string(message),
              "expected the features of a kernel of this library, one of '', 'causal=top_left out=lse'; found '" +
                  std::string(features) + "': add a problem line with these words");
  }
}

TEST_F(Library, Counts) {
  EXPECT_EQ(find("", 1), ATTN_WRONG_COUNT);
  EXPECT_STREQ(message, "expected 2 arguments (q, out) for the features '', found 1");
}

TEST_F(Library, NullPointers) {
  arguments[1] = nullptr;
  EXPECT_EQ(find(""), ATTN_NULL_ARGUMENT);
  EXPECT_STREQ(message, "argument 1: expected a tensor, found a null pointer");
  arguments[1] = &tensors[1];
  tensors[1].shape = nullptr;
  EXPECT_EQ(find(""), ATTN_NULL_ARGUMENT);
  EXPECT_STREQ(message, "argument 1: expected a shape, found a null pointer");
  EXPECT_EQ(attn_find_kernel(&library, "", nullptr, 2, &found, message, sizeof(message)), ATTN_NULL_ARGUMENT);
}

TEST_F(Library, ShortAndAbsentMessages) {
  setShape(3, 3);
  char two[2] = "x";
  EXPECT_EQ(attn_find_kernel(&library, "", arguments, 2, &found, two, sizeof(two)), ATTN_NO_SUCH_KERNEL);
  EXPECT_STREQ(two, "e");
  EXPECT_EQ(attn_find_kernel(&library, "", arguments, 2, &found, nullptr, 0), ATTN_NO_SUCH_KERNEL);
}

} // namespace
