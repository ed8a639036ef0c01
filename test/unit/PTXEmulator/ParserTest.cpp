//===- ParserTest.cpp - PTX text: what is read, what is refused -----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RunPTX.h"

#include "PTXEmulator/Syntax.h"

#include <random>

using namespace attn::ptx;

namespace {

std::string errorOf(const std::string &text) {
  auto module = parseModule(text, "x.ptx");
  return module ? "" : llvm::toString(module.takeError());
}
std::string errorOfBody(const std::string &body) { return errorOf(makeModule("u64 out", body)); }

TEST(Parser, Errors) {
  EXPECT_EQ(errorOf(".frob"), "x.ptx:1: expected a directive of a module, found '.frob'");
  EXPECT_EQ(errorOf("\n.address_size 32"), "x.ptx:2: expected .address_size 64, found 32");
  EXPECT_EQ(errorOf("/* no end"), "x.ptx:1: expected */ before the end");
  EXPECT_EQ(errorOf(".visible .entry k()\n{\nret;\n"), "x.ptx:4: expected an instruction, found the end");
  EXPECT_EQ(errorOf(".entry k(.reg .u32 a) { ret; }"),
            "x.ptx:1: expected .param (parameters in registers are not read), found '.reg'");
  EXPECT_EQ(errorOf(".global .align 3 .b8 a[4];"), "x.ptx:1: expected an alignment that is a power of two, found 3");
  EXPECT_EQ(errorOf(".global .b8 a[99999999999];"), "x.ptx:1: expected at most 256 MiB for 'a'");
  EXPECT_EQ(errorOf(".global .b8 a[1] = {1, 2};"), "x.ptx:1: expected at most 1 bytes of initial data, found 2");
  EXPECT_EQ(errorOfBody("bra NOWHERE;"), "x.ptx:7: expected a label 'NOWHERE', found none");
  EXPECT_EQ(errorOfBody("L: L: ret;"), "x.ptx:7: expected another name than 'L', which is a label above");
  EXPECT_EQ(errorOfBody("@r ret;"), "x.ptx:7: expected a predicate register, found 'r'");
  EXPECT_EQ(errorOfBody("mov.u32 r 5;"), "x.ptx:7: expected ',', found '5'");
  EXPECT_EQ(errorOfBody("mov.f32 r, 0f12;"), "x.ptx:7: expected 8 hexadecimal digits after 0f, 16 after 0d");
  EXPECT_EQ(errorOfBody("call f, #;"), "x.ptx:7: expected PTX, found a character that starts no token");
  EXPECT_EQ(errorOf(".func f #"), "x.ptx:1: expected PTX, found a character that starts no token");
  EXPECT_EQ(errorOf(".func (.reg .b32 r"), "x.ptx:1: expected ')', found the end");
  EXPECT_EQ(errorOfBody("mov.u32 r, #;"), "x.ptx:7: expected PTX, found a character that starts no token");
  EXPECT_EQ(errorOfBody(".reg .b32 r<99999999>;"), "x.ptx:7: expected at most 131072 registers, found ';'");
  EXPECT_EQ(errorOfBody("mov.u32 r, " + std::string(100, '[') + ";"),
            "x.ptx:7: expected at most 64 brackets within each other, found '['");
  EXPECT_EQ(errorOfBody(std::string(100, '{')), "x.ptx:7: expected at most 64 scopes within each other, found '{'");
}

TEST(Parser, RangesOfRegistersAndScopes) {
  // %r1<3> is %r10 … %r12; the inner %p is another register; labels are local to their scope.
  using U32 = std::vector<uint32_t>;
  EXPECT_EQ(evaluate<uint32_t>(".reg .b32 %r<3>, %r1<3>; mov.u32 %r1, 1; mov.u32 %r11, 10; mov.u32 %r2, 0;"
                               "{ .reg .b32 %r2; mov.u32 %r2, 100; bra L; add.u32 %r1, %r1, 1000; L: }"
                               "{ bra L; add.u32 %r1, %r1, 2000; L: } add.u32 d, %r1, %r11; add.u32 d, d, %r2;",
                               U32{0}),
            U32{11});
}

TEST(Parser, WhatIsPassedOver) {
  GlobalMemory memory;
  Launch arguments{{1, 1, 1}, {1, 1, 1}};
  const Report report = launch(R"(
// a comment with ; and }
.version 8.3
.target sm_80, debug
.address_size 64
.file 1 "a.cu"
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.func helper(.param .b32 a) { ret; }
.visible .entry k() .maxntid 128, 1, 1 .minnctapersm 2
{
  .reg .b32 %r<2>;
  .loc 1 3 5, function_name $L__info, inlined_at 1 2 3
  .pragma "nounroll";
  mov.u32 %r1, 0x10U; /* over
  lines */ mov.u32 %r1, -0b101;
  ret;
}
.section .debug_abbrev { .b8 1, 2
.b8 3 }
)",
                               memory, arguments, "k");
  expectClean(report);
  EXPECT_EQ(report.warpInstructions(), 3u);
}

TEST(Parser, LaunchesThatDoNotFit) {
  auto module = parseModule(".entry k(.param .u32 a) .reqntid 64, 1, 1 { ret; } .entry l() .maxntid 32 { ret; }"
                            ".entry m() { .local .b8 big[1048576]; .reg .b64 x; mov.u64 x, big; ret; }");
  ASSERT_TRUE(bool(module));
  GlobalMemory memory;
  auto errorOf = [&](const std::string &entry, Dim3 block, std::vector<ParameterBytes> parameters) {
    Launch arguments{{1, 1, 1}, block};
    arguments.parameters = parameters;
    auto report = run(*module, entry, memory, arguments);
    return report ? "" : llvm::toString(report.takeError());
  };
  EXPECT_EQ(errorOf("x", {1, 1, 1}, {}), "expected an entry of the module (k, l, m), found 'x'");
  EXPECT_EQ(errorOf("k", {64, 1, 1}, {}), "expected 1 parameters of 'k', found 0");
  EXPECT_EQ(errorOf("k", {64, 1, 1}, {scalar(uint64_t(1))}), "expected 4 bytes for parameter 0 (.u32), found 8");
  EXPECT_EQ(errorOf("k", {32, 2, 1}, {scalar(1)}), "expected the block of .reqntid, 64 in dimension 0, found 32");
  EXPECT_EQ(errorOf("l", {33, 1, 1}, {}), "expected at most the 32 threads of .maxntid, found 33");
  EXPECT_EQ(errorOf("l", {32, 33, 1}, {}), "expected a block of 1 to 1024 threads, found 1056");
  EXPECT_EQ(errorOf("m", {32, 1, 1}, {}), "expected at most 524288 bytes of local memory a thread, found 1048576");
}

/// Text with a few characters changed, lines dropped or exchanged: an error, findings or a result, never a crash.
TEST(Parser, MutatedText) {
  std::mt19937 generator(7);
  auto pick = [&](size_t below) { return std::uniform_int_distribution<size_t>(0, below - 1)(generator); };
  const std::string alphabet = "0123456789[]{}(),;:@!|+-.%_rpx \n\"";
  size_t parsed = 0, executed = 0;
  for (const char *name : {"vector_add.ptx", "mma_gemm.ptx"}) {
    const std::string original = readInput(name);
    for (int round = 0; round < 300; ++round) {
      std::string text = original;
      for (size_t changes = 1 + pick(3); changes > 0; --changes) {
        const size_t at = pick(text.size());
        const size_t line = text.rfind('\n', at) + 1, end = std::min(text.find('\n', at), text.size() - 1);
        switch (pick(4)) {
        case 0: text[at] = alphabet[pick(alphabet.size())]; break;
        case 1: text.erase(at, 1 + pick(4)); break;
        case 2: text.erase(line, end + 1 - line); break;
        case 3: text.insert(pick(text.size()), text.substr(line, end + 1 - line)); break;
        }
      }
      auto module = parseModule(text);
      if (!module) {
        llvm::consumeError(module.takeError());
        continue;
      }
      ++parsed;
      for (const Function &function : module->functions) {
        GlobalMemory memory;
        Launch arguments{{1, 1, 1}, {64, 1, 1}};
        arguments.maxInstructions = 3000;
        for (const Parameter &parameter : function.parameters)
          arguments.parameters.push_back(parameter.size == 8
                                             ? pointer(memory.allocate("buffer", std::vector<uint8_t>(8192)))
                                             : ParameterBytes(parameter.size, 1));
        auto report = run(*module, function.name, memory, arguments);
        if (!report) {
          llvm::consumeError(report.takeError());
          continue;
        }
        executed += !report->counters.empty();
        report->toJSON();
      }
    }
  }
  EXPECT_GT(parsed, 50u);
  EXPECT_GT(executed, 20u);
}

TEST(Report, LoopsAndTheirInstructions) {
  GlobalMemory memory;
  Launch arguments{{1, 1, 1}, {64, 1, 1}};
  // Outer: 3 times; inner: 4 times each, and the larger part.
  const Report report = launch(makeModule("", R"(.reg .pred p; .reg .b32 i, j, s; mov.u32 i, 0;
OUTER:
  mov.u32 j, 0;
INNER:
  mad.lo.u32 s, i, j, s; add.u32 j, j, 1; setp.lt.u32 p, j, 4;
  @p bra INNER;
  add.u32 i, i, 1; setp.lt.u32 p, i, 3;
  @p bra OUTER;
  ret;)"),
                               memory, arguments);
  expectClean(report);
  ASSERT_EQ(report.program->loops.size(), 2u);
  ASSERT_TRUE(report.mainLoop());
  EXPECT_EQ(report.mainLoop()->label, "INNER");
  EXPECT_EQ(report.mainLoop()->depth, 2);
  const auto mix = report.mix(report.mainLoop());
  EXPECT_EQ(mix.at("mad.lo.u32"), 2u * 3 * 4);
  EXPECT_EQ(mix.at("bra"), 2u * 3 * 4);
  EXPECT_EQ(report.mix().at("add.u32"), 2u * 3 * 5);
  EXPECT_EQ(report.warpInstructions(), 2u * (1 + 3 * (1 + 4 * 4 + 3) + 1));
}

} // namespace
