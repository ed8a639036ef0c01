//===- CapiPrintTest.cpp - what a kernel becomes, as text -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CapiExample.h"
#include "attn-c/attn_print.h"

#include "gmock/gmock.h"
#include <cstring>

using testing::HasSubstr;
using testing::Not;

namespace {

constexpr const char *kLine = "sq8 sk16 d16 f32";

/// The text, or what attn_print says in its place, after the status.
std::string print(const char *text, const attn_compile_options *options, attn_text what, const char *phase = nullptr,
                  attn_source_kind kind = ATTN_SOURCE_PROBLEM) {
  char *printed = nullptr, *message = nullptr;
  attn_status status = attn_print(kind, text, std::strlen(text), options, what, phase, &printed, &message);
  EXPECT_EQ(status == ATTN_OK, printed != nullptr);
  EXPECT_EQ(status == ATTN_OK, message == nullptr);
  std::string found = printed ? printed : std::to_string(status) + ": " + message;
  attn_free_string(printed);
  attn_free_string(message);
  return found;
}

TEST(CapiPrint, IRAfterAPhase) {
  attn_compile_options options = {"x86-64-v3", "none", 0, 0};
  EXPECT_THAT(print(kLine, &options, ATTN_TEXT_IR, "input"), HasSubstr("attn.sdpa"));
  EXPECT_THAT(print(kLine, &options, ATTN_TEXT_IR, "tile"), HasSubstr("attn.online_step"));
  EXPECT_THAT(print(kLine, &options, ATTN_TEXT_IR), HasSubstr("llvm.func @sdpa"));
  EXPECT_THAT(print(kLine, nullptr, ATTN_TEXT_IR, "fuse"), HasSubstr("attn.sdpa"));
}

TEST(CapiPrint, CodeOfTheTarget) {
  attn_compile_options options = {"x86-64-v3", "none", 0, 0}, gpu = {"sm_80", nullptr, 0, 0};
  EXPECT_THAT(print(kLine, &options, ATTN_TEXT_ASSEMBLY), HasSubstr("vfmadd"));
  EXPECT_THAT(print("sq128 d64 f16", &gpu, ATTN_TEXT_ASSEMBLY), HasSubstr(".target sm_80"));
}

TEST(CapiPrint, RemarksAndWarningsAlone) {
  std::string remarks = print(kLine, nullptr, ATTN_TEXT_REMARKS);
  EXPECT_THAT(remarks, HasSubstr("remark: "));
  EXPECT_THAT(remarks, Not(HasSubstr("func.func")));
}

TEST(CapiPrint, WhatIsRefused) {
  attn_compile_options gpu = {"sm_80", nullptr, 0, 0}, unknown = {"z80", nullptr, 0, 0}, serial = {nullptr, "no", 0, 0};
  // 10 is ATTN_WRONG_VALUE, 20 ATTN_COMPILE_ERROR.
  EXPECT_THAT(print(kLine, &gpu, ATTN_TEXT_IR, "vector"),
              testing::AllOf(HasSubstr("10: expected a phase of the way to 'sm_80', one of input, "),
                             HasSubstr("nvvm, llvm, found 'vector'")));
  EXPECT_THAT(print(kLine, nullptr, ATTN_TEXT_REMARKS, "fuse"),
              HasSubstr("10: expected a phase with ATTN_TEXT_IR alone, found 'fuse'"));
  EXPECT_THAT(print(kLine, nullptr, attn_text(7)), HasSubstr("10: expected ATTN_TEXT_IR, "));
  EXPECT_THAT(print(kLine, &unknown, ATTN_TEXT_IR), HasSubstr("20: "));
  EXPECT_THAT(print(kLine, &serial, ATTN_TEXT_IR), HasSubstr("20: expected parallel to be openmp or none"));
  EXPECT_THAT(print("sq8 d16 f33", nullptr, ATTN_TEXT_IR), HasSubstr("20: problem line, column"));
  EXPECT_THAT(print("func.func @f( {", nullptr, ATTN_TEXT_IR, "fuse", ATTN_SOURCE_MLIR), HasSubstr("input.mlir:1:"));
  char *text = nullptr, *message = nullptr;
  EXPECT_EQ(attn_print(ATTN_SOURCE_PROBLEM, nullptr, 0, nullptr, ATTN_TEXT_IR, nullptr, &text, &message),
            ATTN_NULL_ARGUMENT);
  EXPECT_STREQ(message, "expected a source and a place for the text, found null");
  attn_free_string(message);
  EXPECT_EQ(attn_print(ATTN_SOURCE_PROBLEM, kLine, 16, nullptr, ATTN_TEXT_IR, nullptr, nullptr, nullptr),
            ATTN_NULL_ARGUMENT);
}

} // namespace
